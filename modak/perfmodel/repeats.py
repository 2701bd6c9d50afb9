"""How much repeated runs scatter: no interval of a next run is narrower than that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from modak.facts import same_name
from modak.perfmodel import intervals
from modak.perfmodel.curves import Curve, Scatter
from modak.perfmodel.intervals import Z90

RERUN_SPREAD: Final = 0.08
"""Half-width of the 90 % interval of log cost at a measured size, at most, unless repeats show more: replicates of published runs differ by
about 5 %."""
USUAL: Final = 2.0
"""Degrees of freedom of the usual scatter when it is combined with that of repeats. Judgement: two repeats alone say little."""


def noise(curve: Curve, curves: Sequence[Curve]) -> float:
    """:data:`RERUN_SPREAD` times the factor by which repeats scatter more than usual; 0 if they do not.

    The scatter is that of the curve's own repeats, combined with the usual one of the application on that system, by repeats of other
    ``curves``.
    """
    group = scatter_group(curve)
    return noise_of(curve.scatter, [one.scatter for one in curves if one.scatter and one is not curve and scatter_group(one) == group])


def noise_of(own: Scatter | None, beside: Sequence[Scatter]) -> float:
    """:func:`noise` by the scatter of a curve and that of the others at its place."""
    usual = max(1.0, _scatter(beside, 1.0))
    more = _scatter([own] if own else [], usual)
    return RERUN_SPREAD * math.sqrt(more) if more > 1 else 0.0


def _scatter(of_repeats: Sequence[Scatter], usual: float) -> float:
    """The variance of repeats in units of the variance behind :data:`RERUN_SPREAD`; ``usual`` counts as :data:`USUAL` degrees of freedom.

    The difference of two runs has twice the variance of one, hence the factor of 2.
    """
    freedom = sum(one.freedom for one in of_repeats)
    shown = sum(one.freedom * 2 * (one.deviation * Z90 / RERUN_SPREAD) ** 2 for one in of_repeats)
    return (USUAL * usual + shown) / (USUAL + freedom)


def scatter_group(curve: Curve) -> tuple[str, str]:
    """Metric and system: curves of an application that have the same are expected to scatter alike."""
    return curve.series.metric, same_name(curve.series.system)


def at_least(width: intervals.Sides, of_repeats: float, level: float) -> intervals.Sides:
    """The intervals, widened to at least :func:`noise`."""
    return width.each(lambda side: np.maximum(side, of_repeats * intervals.stretch(level)))
