"""Which curves of an application are kin of another one: comparable, and measured at a size of it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from modak.perfmodel import relatives, scaling, startup
from modak.perfmodel.curves import FEW_SIZES, Curve
from modak.perfmodel.forms import Array


def alike(curve: Curve, curves: Sequence[Curve]) -> list[Curve]:
    """The other curves that are comparable with one."""
    return [one for one in curves if one is not curve and _comparable(one, curve)]


def kin_of(curve: Curve, curves: Sequence[Curve]) -> tuple[relatives.Kin, ...]:
    """Those of the comparable ``curves`` that share a measured size with ``curve``, the most alike first."""
    apart = [relatives.OTHER_PROGRAM if _other_program(curve, one) else 0.0 for one in curves]
    return relatives.compare(curve.measured, [one.measured for one in curves], apart)


def continued_by(kin: Sequence[relatives.Kin], curve: Curve) -> bool:
    """Whether kin also contribute where none of them was measured: to a curve of one size, and to one of few sizes if one of them has
    larger ones. Where these end, the curve alone would go on as if they had shown nothing."""
    few, last = len(curve.sizes) <= FEW_SIZES, curve.sizes[-1]
    return bool(kin) and (len(curve.sizes) == 1 or (few and max(one.relative.sizes[-1] for one in kin) > last))


def forecasts_of(kin: Sequence[relatives.Kin], curves: Sequence[Curve], sizes: Array, nodes: Array | None) -> list[scaling.Forecast]:
    """The forecasts of kin, each by itself. ``curves``: those among which they are."""
    fits = {one.measured: one.mixture for one in curves}
    return [scaling.evaluate(fits[one.relative], sizes, nodes) for one in kin]


def _comparable(one: Curve, other: Curve) -> bool:
    """Whether two curves have the same metric, unit and scale, or are both of times of whole runs, whatever these are called: a job
    measures ``wall_time``.

    Times under other names that differ by more than :data:`~modak.perfmodel.startup.SAME_TIME` are of a part of the run.
    """
    if one.scale != other.scale:
        return False
    if (one.series.metric, one.series.unit) == (other.series.metric, other.series.unit):
        return True
    if not (startup.is_whole(one.series) and startup.is_whole(other.series)):
        return False
    there = np.interp(np.log(other.sizes), np.log(one.sizes), np.log(one.costs))
    return bool(np.abs(np.log(other.costs) - there).min() < math.log(startup.SAME_TIME))


def _other_program(curve: Curve, other: Curve) -> bool:
    """Whether two curves are known to be of different frameworks."""
    one, another = curve.labels["framework"], other.labels["framework"]
    return None not in (one, another) and one != another
