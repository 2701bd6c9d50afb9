"""What related series contribute to a short one: the same application in other containers, with other compilers, problem sizes or systems.

Two series are alike as far as the *ratio* of their costs has stayed the same so far; names and labels play no part, but that a series
of another framework is of another program, which sends its gradients in another way once there are several nodes. Each
relative forecasts by its own curve, moved to meet the target's measured sizes (a level, and a slope that ridge keeps small), and
the forecasts are averaged in log space with the target's own: partial pooling, where the weight of each falls with the
square of how wrong it has been.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from modak.perfmodel.forms import Array
from modak.perfmodel.scaling import Forecast, Series

FLOOR = 0.03
"""Errors of log cost below this do not tell series apart: replicates differ as much."""
UNKNOWN_ERROR = 0.15
"""What stands for the validation error of a series with too few sizes to have one."""
UNKNOWN_LIKENESS = 0.1
"""What stands for the unlikeness of a relative that shares one size with the target."""
OTHER_PROGRAM = 0.1
"""Unlikeness of a relative of another framework, beside what was measured: as much as nothing to compare. Where frameworks share an
application, errors at the two largest sizes of 60 public series of training fall by a third (median 9.7 to 6.4 %)."""
RECENCY = 0.5
"""Weights of common sizes fall by ``exp`` of this a doubling before the target's last."""
RIDGE = 0.3
"""Squared doublings of prior evidence that the ratio of two relatives does not change."""
POWER = 3.0
"""Weights fall with this power of the error."""
MOST = 8
"""More relatives than this do not change an answer: the most alike are kept."""


@dataclass(frozen=True)
class Kin:
    """How a relative's curve becomes the target's: ``ln cost = ln relative's cost + level + slope * doublings beyond the last size``."""

    relative: Series
    level: float
    slope: float
    unlikeness: float
    """Root mean square of the change of the log ratio of costs a doubling."""


def compare(series: Series, relatives: Sequence[Series], others: Sequence[Series] = ()) -> tuple[Kin, ...]:
    """Those of ``relatives``, and of ``others`` of other frameworks, that share a size with ``series`` (measured, or between measured
    ones), the most alike first.

    In whatever order they are given: of equals come those that were measured furthest.
    """
    kin = [*(_compare(series, one, 0.0) for one in relatives), *(_compare(series, one, OTHER_PROGRAM) for one in others)]
    return tuple(sorted((one for one in kin if one is not None), key=_order)[:MOST])


def _order(one: Kin) -> tuple[float, float, tuple[float, ...], tuple[float, ...]]:
    return one.unlikeness, -one.relative.sizes[-1], one.relative.sizes, one.relative.costs


def reached(kin: Sequence[Kin], sizes: Array) -> npt.NDArray[np.bool_]:
    """At which sizes (any shape) one of them was measured, or at smaller and larger ones: where it has a say in :func:`pool`."""
    ends = [(one.relative.sizes[0], one.relative.sizes[-1]) for one in kin]
    within = [np.zeros(sizes.shape, dtype=bool), *((sizes >= first) & (sizes <= last) for first, last in ends)]
    return np.asarray(np.any(within, axis=0))


def pool(own: Forecast, last: float, kin: Sequence[Kin], sizes: npt.ArrayLike) -> Forecast:
    """The forecast ``own`` (at ``sizes``) after ``kin`` have had their say; unchanged where none reaches a size.

    ``last`` is the target's largest measured size. Each weighs ``(error + FLOOR)^-POWER``; relatives share a weight that grows with
    the square root of their number, since their errors are alike. ``relatives`` of the answer counts those that were asked.
    """
    if not kin:
        return own
    p = np.asarray(sizes, dtype=np.float64).ravel()
    rows = np.array([_log_cost(one.relative, p) + one.level + one.slope * np.log2(p / last) for one in kin])
    unlike = np.array([one.unlikeness for one in kin])
    heard = np.isfinite(rows)
    error = np.where(np.isnan(own.error.ravel()), UNKNOWN_ERROR, own.error.ravel())
    own_weight = (error + FLOOR) ** -POWER
    weights = np.vstack([own_weight, heard * (unlike[:, None] + FLOOR) ** -POWER / np.sqrt(len(kin))])
    weights /= weights.sum(axis=0)
    logs = np.vstack([own.log_value.ravel(), np.where(heard, rows, 0.0)])
    middle = (weights * logs).sum(axis=0)
    spread = np.sqrt((weights * (logs - middle) ** 2).sum(axis=0) + weights[0] * own.disagreement.ravel() ** 2)
    pooled_error = weights[0] * error + (weights[1:] * unlike[:, None]).sum(axis=0)
    shape = own.log_value.shape
    return Forecast(
        middle.reshape(shape),
        spread.reshape(shape),
        own.doublings,
        pooled_error.reshape(shape),
        own.sizes,
        relatives=int(heard.any(axis=1).sum()),
        doubt=own.doubt,
        error_inside=own.error_inside,
        smaller=own.smaller,
    )


def _compare(series: Series, relative: Series, apart: float) -> Kin | None:
    sizes = np.array(series.sizes)
    ratio = np.log(np.array(series.costs)) - _log_cost(relative, sizes)
    common = np.isfinite(ratio)
    if not common.any():
        return None
    doublings, ratio = np.log2(sizes[common] / sizes[-1]), ratio[common]
    weight = np.exp(RECENCY * doublings)
    centre = (weight * doublings).sum() / weight.sum()
    slope = (weight * (doublings - centre) * ratio).sum() / ((weight * (doublings - centre) ** 2).sum() + RIDGE)
    level = (weight * (ratio - slope * doublings)).sum() / weight.sum()
    return Kin(relative, float(level), float(slope), math.hypot(_unlikeness(doublings, ratio, weight), apart))


def _unlikeness(doublings: Array, ratio: Array, weight: Array) -> float:
    if len(ratio) == 1:
        return UNKNOWN_LIKENESS
    change = np.diff(ratio) / np.diff(doublings)
    return float(np.sqrt((weight[1:] * change**2).sum() / weight[1:].sum()))


def _log_cost(relative: Series, sizes: Array) -> Array:
    """Log of the relative's cost: as measured; work ``ln(y p)`` linear in doublings between measured sizes; NaN beyond them."""
    known = np.array(relative.sizes)
    work = np.interp(np.log(sizes), np.log(known), np.log(np.array(relative.costs) * known))
    return np.where((sizes >= known[0]) & (sizes <= known[-1]), work - np.log(sizes), np.nan)
