"""Forecasts from related series: the same application in other containers, with other compilers, problem sizes or systems.

Two series are alike if the *ratio* of their costs has stayed the same so far. Names and labels do not count, except the framework:
another framework is another program, which communicates differently on several nodes. The curve of each relative is moved to the
target's measured sizes (by a level, and by a slope that ridge keeps small). The forecasts are averaged in log space with the target's
own (partial pooling), with weights that fall with a power of the error so far.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from modak.arrays import Array, Flags, Ints
from modak.grouping import grouped
from modak.perfmodel.fitting import startup
from modak.perfmodel.fitting.curves import FEW_SIZES, Curve
from modak.perfmodel.fitting.merging import curve_label
from modak.perfmodel.fitting.scaling import UNKNOWN_ERROR, Forecast, Mixture, Series, evaluate
from modak.perfmodel.forecasting.curveset import CurveSet

FLOOR: Final = 0.03
"""Added to errors of log cost: smaller differences are noise of replicates."""
UNKNOWN_LIKENESS: Final = 0.1
"""Used as dissimilarity of relatives that share only one size with the target."""
OTHER_PROGRAM: Final = 0.1
"""Added in quadrature to the dissimilarity of a relative of another framework. For applications in several frameworks, it reduces the error
at the two largest sizes of 60 public training series by a third (median 9.7 to 6.4 %)."""
RECENCY: Final = 0.5
"""Weights of common sizes fall by ``exp`` of this per doubling below the target's largest size."""
RIDGE: Final = 0.3
"""Squared doublings of prior evidence that the ratio of two relatives does not change."""
POWER: Final = 3.0
"""Weights fall with this power of the error."""
MOST: Final = 8
"""At most this many relatives are used, the most alike ones."""


@dataclass(frozen=True)
class Kin:
    """A relative, and how its curve is moved: ``ln cost = ln relative's cost + level + slope * doublings beyond its last size``."""

    relative: Series
    level: float
    slope: float
    dissimilarity: float
    """Root mean square of the change of the log ratio of costs a doubling."""


def align_relatives(series: Series, relatives: Sequence[Series], apart: npt.ArrayLike = 0.0) -> tuple[Kin, ...]:
    """The ``relatives`` whose measured range contains a size of ``series``, the most alike first.

    ``apart`` (one number, or one for each of them) is added to their dissimilarity in quadrature. The result does not depend on their
    order: of equals, those measured at the largest sizes come first.
    """
    return _compared(series, stack_series(relatives), apart)


def _compared(series: Series, several: SeriesStack, apart: npt.ArrayLike, wanted: Flags | bool = True) -> tuple[Kin, ...]:
    """:func:`align_relatives` with those of several series that are ``wanted``."""
    costs = several.log_costs(series.log_work[0])
    near = np.asarray(np.isfinite(costs).any(axis=1)) & wanted
    if not near.any():
        return ()
    moves = _moves(series, costs[near], np.broadcast_to(apart, near.shape)[near])
    least = np.partition(moves[:, 2], MOST - 1)[MOST - 1] if len(moves) > MOST else np.inf
    alike = moves[:, 2] <= least
    found = [Kin(several.series[place], *move) for place, move in zip(np.flatnonzero(near)[alike], moves[alike].tolist(), strict=True)]
    return tuple(sorted(found, key=_order)[:MOST])


class SeriesStack(NamedTuple):
    """Several series as one, since there may be thousands."""

    series: Sequence[Series]
    sizes: Array
    """The logs of all sizes, of one series after the other, ..."""
    work: Array
    """... and of the work there."""
    first: Ints
    """The place of each one's first size, and of its last:"""
    last: Ints

    def log_costs(self, log_sizes: Array) -> Array:
        """Logs of the cost of each series at each size: measured, or with work ``ln(y p)`` linear in doublings between measured sizes; NaN
        beyond them. ``[series, size]``."""
        if not self.series:
            return np.empty((0, len(log_sizes)))
        _, sizes, work, first, last = self
        if len(self.series) < len(log_sizes):  # a loop over what there are fewer of
            pairs = zip(first, last, strict=True)
            up_to = np.array([np.searchsorted(sizes[start : end + 1], log_sizes, side="right") for start, end in pairs])
        else:
            up_to = np.column_stack([np.add.reduceat(sizes <= size, first, dtype=np.int_) for size in log_sizes])
        here = first[:, None] + np.maximum(up_to - 1, 0)
        there = np.minimum(here + 1, last[:, None])
        gap = np.where(there > here, sizes[there] - sizes[here], 1.0)
        line = (work[there] - work[here]) / gap * (log_sizes - sizes[here]) + work[here]
        return np.where((log_sizes >= sizes[first, None]) & (log_sizes <= sizes[last, None]), line - log_sizes, np.nan)


def stack_series(several: Sequence[Series]) -> SeriesStack:
    """Several series as one."""
    sizes = np.array([*chain.from_iterable(one.sizes for one in several)])
    costs = np.array([*chain.from_iterable(one.costs for one in several)])
    after = np.cumsum([len(one.sizes) for one in several], dtype=np.int_)
    return SeriesStack(several, np.log(sizes), np.log(costs * sizes), np.concatenate([[0], after[:-1]]), after - 1)


def log_costs(several: Sequence[Series], log_sizes: Array) -> Array:
    """:meth:`SeriesStack.log_costs`."""
    return stack_series(several).log_costs(log_sizes)


def _order(one: Kin) -> tuple[float, float, tuple[float, ...], tuple[float, ...]]:
    return one.dissimilarity, -one.relative.sizes[-1], one.relative.sizes, one.relative.costs


def reached(kin: Sequence[Kin], sizes: Array, nodes: Array | None = None) -> Flags:
    """Which sizes (any shape) lie in the measured range of any of them, so that it contributes to :func:`pool`.

    ``nodes``: the nodes there, if sizes count something else. Of workers on several nodes, which communicate over the network, runs of as
    many on one node tell nothing, and the other way round.
    """
    seen = np.isfinite(_measured(kin, sizes.ravel(), None if nodes is None else nodes.ravel()))
    return np.asarray(seen.any(axis=0)).reshape(sizes.shape)


def _measured(kin: Sequence[Kin], sizes: Array, nodes: Array | None) -> Array:
    """Log costs of kin at ``sizes [n]`` as they were measured, NaN where they were not (:func:`reached`): ``[k, n]``."""
    costs = log_costs([one.relative for one in kin], np.log(sizes))
    if nodes is None:
        return costs
    alike = [_as_many_nodes(one.relative, sizes, nodes) for one in kin]
    return np.where(np.reshape(alike, costs.shape), costs, np.nan)


def _as_many_nodes(relative: Series, sizes: Array, nodes: Array) -> Flags:
    """Whether a relative was measured on one node beside the sizes that are asked for on one, and on several beside the others."""
    if relative.nodes is None:
        return np.ones(sizes.shape, dtype=bool)
    several, last = np.array(relative.nodes) > 1, len(relative.nodes) - 1
    below = several[np.maximum(np.searchsorted(relative.sizes, sizes, side="right") - 1, 0)]
    above = several[np.minimum(np.searchsorted(relative.sizes, sizes), last)]
    return np.asarray((below == (nodes > 1)) & (above == (nodes > 1)))


def pool(
    own: Forecast,
    last: float,
    kin: Sequence[Kin],
    sizes: npt.ArrayLike,
    forecasts: Sequence[Forecast] = (),
    nodes: npt.ArrayLike | None = None,
) -> Forecast:
    """The forecast ``own`` at ``sizes [n]`` on ``nodes [n]``, pooled with ``k`` kin; unchanged where none was measured (:func:`reached`).

    The mean of log costs over the target (``i = 0``) and its kin, and the standard deviation of that mixture::

        log cost = sum_i w_i y_i        disagreement^2 = sum_i w_i ((y_i - log cost)^2 + d_i^2) + walk
        w_0 ~ (error + FLOOR)^-POWER    w_i ~ (dissimilarity_i + FLOOR)^-POWER / sqrt(k)    sum_i w_i = 1

    The total weight of relatives grows only with the square root of their number, since their errors are alike. ``forecasts`` of the kin
    at ``sizes`` count where these were not measured, with their own errors and disagreements ``d``; without them, nothing does. Beyond
    ``last``, the target's largest measured size, the ratio of its costs to those of a relative walks on, by :data:`UNKNOWN_LIKENESS` per
    doubling: of one relative alone, nothing else tells how far off it may be. ``relatives`` of the result counts the contributors.
    """
    if not kin:
        return own
    told = _told(kin, last, np.asarray(sizes, dtype=np.float64), None if nodes is None else np.asarray(nodes, dtype=np.float64), forecasts)
    contributes = np.isfinite(told.log_costs)
    error = _error(own)
    weights = np.vstack([(error + FLOOR) ** -POWER, contributes * (told.dissimilarity + FLOOR) ** -POWER / np.sqrt(len(kin))])
    weights /= weights.sum(axis=0)
    logs = np.vstack([own.log_value, np.where(contributes, told.log_costs, 0.0)])
    log_cost = (weights * logs).sum(axis=0)
    doubts = np.vstack([own.disagreement, told.disagreement])
    walk = UNKNOWN_LIKENESS**2 * own.doublings * _concentration(weights[1:]) ** 2
    return replace(
        own,
        log_value=log_cost,
        disagreement=np.sqrt((weights * ((logs - log_cost) ** 2 + doubts**2)).sum(axis=0) + walk),
        error=(weights * np.vstack([error, told.dissimilarity])).sum(axis=0),
        relatives=int(contributes.any(axis=1).sum()),
    )


class _OfKin(NamedTuple):
    """What kin tell of a target: arrays ``[k, n]``."""

    log_costs: Array
    """Moved to the target; NaN: nothing."""
    dissimilarity: Array
    disagreement: Array


def _told(kin: Sequence[Kin], last: float, sizes: Array, nodes: Array | None, forecasts: Sequence[Forecast]) -> _OfKin:
    """The measured costs of kin, and their ``forecasts`` where they were not measured."""
    log_costs = _measured(kin, sizes, nodes)
    dissimilarity = np.broadcast_to(np.array([[one.dissimilarity] for one in kin]), log_costs.shape)
    disagreement = np.zeros(log_costs.shape)
    if forecasts:
        missing = np.isnan(log_costs)
        log_costs = np.where(missing, [one.log_value for one in forecasts], log_costs)
        dissimilarity = np.where(missing, np.hypot(dissimilarity, [_error(one) for one in forecasts]), dissimilarity)
        disagreement = np.where(missing, [one.disagreement for one in forecasts], disagreement)
    moves = np.array([one.level + one.slope * np.log2(sizes / last) for one in kin])
    return _OfKin(log_costs + moves, dissimilarity, disagreement)


def _concentration(weights: Array) -> Array:
    """The mean weight of relatives ``[n]``, each counted by its ``weights [k, n]``: that of one alone, a little of many."""
    total = weights.sum(axis=0)
    return np.asarray((weights**2).sum(axis=0) / np.where(total > 0, total, 1.0))


def _error(forecast: Forecast) -> Array:
    """The validation errors of a forecast; :data:`modak.perfmodel.fitting.scaling.UNKNOWN_ERROR` where there are none."""
    return np.where(np.isnan(forecast.error), UNKNOWN_ERROR, forecast.error)


def shift_relatives(series: Series, relatives: Sequence[Series], log_costs: Array) -> list[Kin]:
    """The ``relatives`` moved to ``series``, at whose sizes they have these ``log_costs [relative, size]``."""
    return [Kin(relative, *move) for relative, move in zip(relatives, _moves(series, log_costs).tolist(), strict=True)]


def _moves(series: Series, log_costs: Array, apart: npt.ArrayLike = 0.0) -> Array:
    """Level, slope and dissimilarity (:class:`Kin`) of relatives with these ``log_costs [relative, size]`` at the sizes of ``series``.

    Costs at a size are NaN where unknown; those that are known are of neighbouring sizes, and at least one is. ``apart`` is added to the
    dissimilarity in quadrature.
    """
    sizes = np.array(series.sizes)
    common = np.isfinite(log_costs)
    ratio = np.where(common, np.log(np.array(series.costs)) - log_costs, 0.0)
    doublings = np.log2(sizes / sizes[-1])
    weight = np.where(common, np.exp(RECENCY * doublings), 0.0)
    total = weight.sum(axis=1)
    beside = doublings - ((weight * doublings).sum(axis=1) / total)[:, None]
    slope = (weight * beside * ratio).sum(axis=1) / ((weight * beside**2).sum(axis=1) + RIDGE)
    level = (weight * (ratio - slope[:, None] * doublings)).sum(axis=1) / total
    return np.column_stack([level, slope, np.hypot(_dissimilarity(doublings, ratio, weight), apart)])


def _dissimilarity(doublings: Array, ratio: Array, weight: Array) -> Array:
    """Of each row; weights are 0 at sizes that are not common."""
    later = np.where(weight[:, :-1] > 0, weight[:, 1:], 0.0)
    total = later.sum(axis=1)
    squares = (later * (np.diff(ratio) / np.diff(doublings)) ** 2).sum(axis=1)
    return np.where(total > 0, np.sqrt(squares / np.where(total > 0, total, 1.0)), UNKNOWN_LIKENESS)


class _Kind(NamedTuple):
    """Curves of one scale, metric and unit."""

    rows: Mapping[int, int]
    """The number of each among these, by its place among all curves; none for curves that were put together anew."""
    series: SeriesStack
    programs: Ints
    """The numbers of their frameworks (:attr:`numbers`); -1 where it is not known."""
    numbers: Mapping[Hashable, int]


def kin_of(curve: Curve, others: CurveSet) -> tuple[Kin, ...]:
    """Those of the others that are comparable with ``curve`` and share a measured size with it, the most alike first."""
    measure = _measure(curve)
    kind, further = others.of_all(_by_kind).get(measure), _under_other_names(curve, others)
    if further:
        kind = _of_kind([*(one for one in others if _measure(one) == measure), *further])
    if kind is None:
        return ()
    program = _program(curve)
    unlike = program is not None and (kind.programs >= 0) & (kind.programs != kind.numbers.get(program))
    wanted = np.ones(len(kind.programs), dtype=bool)
    if not further:
        wanted[[kind.rows[place] for place in others.out if place in kind.rows]] = False
    return _compared(curve.measured, kind.series, np.where(unlike, OTHER_PROGRAM, 0.0), wanted)


def _measure(curve: Curve) -> Hashable:
    """What comparable curves have in common, unless both are of times of whole runs."""
    return curve.scale, curve.series.metric, curve.series.unit


def _by_kind(curves: Sequence[Curve]) -> Mapping[Hashable, _Kind]:
    by_measure = grouped(range(len(curves)), lambda place: _measure(curves[place]))
    return {measure: _of_kind([curves[place] for place in places], places) for measure, places in by_measure.items()}


def _of_kind(curves: Sequence[Curve], places: Sequence[int] = ()) -> _Kind:
    programs = [_program(one) for one in curves]
    numbers = {program: number for number, program in enumerate(dict.fromkeys(programs)) if program is not None}
    rows = {place: row for row, place in enumerate(places)}
    return _Kind(rows, stack_series([one.measured for one in curves]), np.array([numbers.get(one, -1) for one in programs]), numbers)


def continued_by(kin: Sequence[Kin], curve: Curve) -> bool:
    """Whether kin also contribute where none of them was measured: to a curve of one size, and to one of few sizes if one of them has
    larger ones. Where these end, the curve alone would go on as if they had shown nothing."""
    few, last = len(curve.sizes) <= FEW_SIZES, curve.sizes[-1]
    return bool(kin) and (len(curve.sizes) == 1 or (few and max(one.relative.sizes[-1] for one in kin) > last))


def forecasts_of(kin: Sequence[Kin], others: CurveSet, sizes: Array, nodes: Array | None) -> list[Forecast]:
    """The forecasts of kin, each by itself. ``others``: those among which they are."""
    fits = others.of_all(_fits)
    return [evaluate(fits[one.relative], sizes, nodes) for one in kin]


def _program(curve: Curve) -> Hashable:
    """The framework, in one spelling; ``None``: not known."""
    return curve_label("framework", curve.series.framework)


def _under_other_names(curve: Curve, others: CurveSet) -> list[Curve]:
    """Those of the others that may be of the same whole runs as a curve, under another name or unit."""
    if not startup.is_whole(curve.series):
        return []
    those = (each for measure, each in others.of_all(_whole_runs).items() if measure != _measure(curve))
    return [one for place, one in chain.from_iterable(those) if place not in others.out and _are_one_run(one, curve)]


def _whole_runs(curves: Sequence[Curve]) -> Mapping[Hashable, Sequence[tuple[int, Curve]]]:
    """Curves of times of whole runs, by their measure, each with its place."""
    whole = (pair for pair in enumerate(curves) if startup.is_whole(pair[1].series))
    return grouped(whole, lambda pair: _measure(pair[1]))


def _are_one_run(one: Curve, other: Curve) -> bool:
    """Whether times of whole runs may be of the same runs, whatever they are called: a job measures ``wall_time``.

    Times under other names that differ by more than :data:`~modak.perfmodel.fitting.startup.SAME_TIME` are of a part of the run.
    """
    if one.scale != other.scale:
        return False
    there = np.interp(np.log(other.sizes), np.log(one.sizes), np.log(one.costs))
    return bool(np.abs(np.log(other.costs) - there).min() < math.log(startup.SAME_TIME))


def _fits(curves: Sequence[Curve]) -> Mapping[Series, Mixture]:
    return {one.measured: one.mixture for one in curves}
