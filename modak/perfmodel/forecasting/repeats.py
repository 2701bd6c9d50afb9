"""How much runs scatter: no interval of a next run is narrower than that."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from typing import Final

import numpy as np

from modak.perfmodel.fitting.curves import Curve, Scatter
from modak.perfmodel.fitting.merging import curve_label
from modak.perfmodel.forecasting.curveset import CurveSet
from modak.perfmodel.intervals import Z90, HalfWidths

RERUN_SPREAD: Final = 0.08
"""Half-width of the 90 % interval of log cost at a measured size, at most, unless runs are seen to scatter more: replicates of published
runs differ by about 5 %."""
USUAL: Final = 2.0
"""Degrees of freedom of the usual scatter when it is combined with what is seen. Judgement: two repeats alone say little."""
SURE: Final = 0.95
"""The probability above which the test says so."""
TINY: Final = 1e-6
"""The least scatter of repeats in that test: some tables give the same value twice."""


def noise(curve: Curve, others: CurveSet) -> float:
    """The least half-width of the intervals of log cost: :data:`RERUN_SPREAD` times the factor by which runs scatter more than usual; 0 if
    they do not.

    The scatter is that of the curve's repeats, and of its single runs around its forms. It is combined with the usual one of the
    application on that system, which is seen in the ``others``. Few runs do not tell the scatter well: what exceeds the usual one is
    larger by the ratio of the quantiles of Student's distribution and the normal one. Costs that are themselves unsure are so for the next
    run.
    """
    unsure = Z90 * curve.unsure
    of_kind = others.of_all(_by_kind).get(_kind(curve), ())
    own, beside = _seen(curve), [each for place, each in of_kind if place not in others.out]
    more = _combined(own, max(1.0, _combined(beside, 1.0)))
    if more <= 1:
        return math.hypot(RERUN_SPREAD, unsure) if unsure else 0.0
    from scipy.special import stdtrit

    few = float(stdtrit(USUAL + sum(one.freedom for one in (*own, *beside)), 0.95)) / Z90
    return math.hypot(RERUN_SPREAD * math.sqrt(1 + (more - 1) * few**2), unsure)


def scatters(curve: Curve) -> bool:
    """Whether the runs of a curve are seen to scatter more than usual, by themselves."""
    return _combined(_seen(curve), 1.0) > 1


def _seen(curve: Curve) -> list[Scatter]:
    """That of a curve's repeats, and that of its single runs, unless by the repeats the forms do not follow the program (the F-test of
    lack of fit, Fisher 1922)."""
    repeats, single = curve.scatter, curve.misfit
    if not repeats or not single:
        return [one for one in (repeats, single) if one]
    from scipy.special import fdtr

    ratio = (single.deviation / max(repeats.deviation, TINY)) ** 2
    return [repeats] if fdtr(single.freedom, repeats.freedom, ratio) > SURE else [repeats, single]


def _kind(curve: Curve) -> Hashable:
    """What curves of an application have in common that are expected to scatter alike: metric and system."""
    return curve.series.metric, curve_label("system", curve.series.system)


def _by_kind(curves: Sequence[Curve]) -> Mapping[Hashable, Sequence[tuple[int, Scatter]]]:
    """The scatter that is seen in curves, each with the curve's place."""
    seen: dict[Hashable, list[tuple[int, Scatter]]] = defaultdict(list)
    for place, curve in enumerate(curves):
        seen[_kind(curve)] += [(place, each) for each in _seen(curve)]
    return seen


def _combined(seen: Sequence[Scatter], usual: float) -> float:
    """The variance of runs in units of the variance behind :data:`RERUN_SPREAD`; ``usual`` counts as :data:`USUAL` degrees of freedom.

    The difference of two runs has twice the variance of one, hence the factor of 2.
    """
    freedom = sum(one.freedom for one in seen)
    shown = sum(one.freedom * 2 * (one.deviation * Z90 / RERUN_SPREAD) ** 2 for one in seen)
    return (USUAL * usual + shown) / (USUAL + freedom)


def at_least(width: HalfWidths, of_repeats: float) -> HalfWidths:
    """The intervals, widened to at least :func:`noise`."""
    return width.each(lambda side: np.maximum(side, of_repeats))
