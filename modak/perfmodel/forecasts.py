"""The forecast of a curve at any sizes: by its own forms, pooled with comparable curves of the same application, its kin.

:func:`pooled_forecast` has the steps. Where a curve and its kin are compared, see :mod:`modak.perfmodel.relatives`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from modak.facts import same_name
from modak.grouping import grouped
from modak.perfmodel import intervals, joining, nodestep, relatives, scaling, startup
from modak.perfmodel.curves import FEW_SIZES, Curve, Scatter
from modak.perfmodel.forms import Array
from modak.perfmodel.matching import Z90

RERUN_SPREAD: Final = 0.08
"""Half-width of the 90 % interval of log cost at a measured size, at most, unless repeats show more: replicates of published runs differ by
about 5 %."""
USUAL: Final = 2.0
"""Degrees of freedom of the usual scatter when it is combined with that of repeats. Judgement: two repeats alone say little."""


class PooledForecast(NamedTuple):
    """The forecast of a curve and its kin: arrays of one shape."""

    log_value: Array
    width: intervals.Sides
    doublings: Array
    """Beyond the measured sizes on either side."""
    pooled: npt.NDArray[np.bool_]
    """Where kin contributed: beyond the measured sizes, and also between them if these are few."""
    kin: Sequence[relatives.Kin]
    noise: float
    """See :func:`noise`; the intervals are at least this wide."""
    smallest: int
    """The smallest measured number of nodes."""

    def at(self, places: npt.NDArray[np.int_]) -> PooledForecast:
        """The forecast at some of the sizes, which must be in one row."""
        return self._replace(
            log_value=self.log_value[places],
            width=self.width.at(places),
            doublings=self.doublings[places],
            pooled=self.pooled[places],
        )


class Forecasts:
    """The forecasts of an application's ``curves`` on ``nodes [n]``: each is made once, whatever it is asked for."""

    def __init__(self, curves: Sequence[Curve], nodes: Array) -> None:
        self.nodes = nodes
        self._curves = curves
        self._made: dict[tuple[int, float], PooledForecast] = {}

    def of(self, curve: Curve, per_node: float, places: npt.NDArray[np.int_]) -> PooledForecast:
        """That of a curve for a size of ``per_node`` on a node, at some of the numbers of nodes."""
        made = (id(curve), per_node)
        if made not in self._made:
            self._made[made] = pooled_forecast(curve, self._curves, self.nodes * per_node, self.nodes)
        return self._made[made].at(places)


def pooled_forecast(curve: Curve, curves: Sequence[Curve], sizes: Array, nodes: Array, level: float = 0.9) -> PooledForecast:
    """The curve's own forecast at ``sizes`` on ``nodes``, pooled with its kin where these were measured; intervals at ``level``.

    ``curves``: those of the application, among which kin are searched. A curve of one size is pooled with its kin everywhere: alone it
    says nothing of how the run scales. So is one of few sizes if some of its kin were measured at larger ones. A curve on few numbers of
    nodes is predicted from results of the same run that do not state their layout, if these are on more (:func:`_moved`). Beyond its sizes,
    where no kin was measured, another configuration that was tells, too (:func:`_joined`). In weak scaling the cost of a unit of size is
    forecast.
    """
    forecast = _joined(_as_measured(curve, curves, sizes, nodes, level), curve, curves, sizes, nodes, level)
    return forecast._replace(log_value=forecast.log_value + np.log(sizes)) if curve.grows else forecast


def _as_measured(curve: Curve, curves: Sequence[Curve], sizes: Array, nodes: Array, level: float) -> PooledForecast:
    """The same for costs as in :attr:`~modak.perfmodel.Curve.measured`."""
    if (whole := _without_layout(curve, curves)) is not None:
        return _moved(curve, whole, [one for one in curves if one is not curve], sizes, nodes, level)
    beside = None if curve.scale == "nodes" else nodes
    own = scaling.evaluate(curve.mixture, sizes, beside)
    value, width = own.log_value, intervals.half_widths(own, level)
    few, last, beyond = len(curve.sizes) <= FEW_SIZES, curve.sizes[-1], own.doublings > 0
    alike = [one for one in curves if one is not curve and _scale_alike(one, curve)] if few or beyond.any() else []
    kin = _kin_of(curve, alike)
    pooled = (beyond | few) & relatives.reached(kin, sizes, beside)
    if pooled.any():
        # Relatives do not know how much runs scatter: between the sizes the interval is not narrower than at a size measured once.
        once = np.where(own.doublings == 0, RERUN_SPREAD * intervals.stretch(level), 0.0)
        least = width.each(lambda side: np.minimum(side, once))
        value, width = _replaced_where(pooled, relatives.pool(own, last, kin, sizes, nodes=beside), value, width, level)
        width = width.each(np.maximum, least)
    far = beyond & ~pooled
    if far.any() and _continued_by(kin, curve):
        of_kin = _forecasts_of(kin, alike, sizes, beside)
        continued = replace(relatives.pool(own, last, kin, sizes, of_kin, beside), relatives=0)
        value, width = _replaced_where(far, continued, value, width, level)
        pooled |= far
    of_repeats = noise(curve, curves)
    doublings = own.doublings
    if beside is not None:
        doublings = np.maximum(doublings, _doublings_of_nodes(curve, beside))
        if not curve.mixture.single_node:
            unlike = nodestep.unlike(_nodes_apart(curve, sizes, beside), beside, curve.nodes)
            width = width.widened(Z90 * intervals.stretch(level) * unlike)
    return PooledForecast(value, at_least(width, of_repeats, level), doublings, pooled, kin, of_repeats, min(curve.nodes))


def _joined(forecast: PooledForecast, curve: Curve, curves: Sequence[Curve], sizes: Array, nodes: Array, level: float) -> PooledForecast:
    """The forecast, joined with those of configurations that share no size with the curve and were measured nearer
    (:mod:`modak.perfmodel.joining`)."""
    beside = None if curve.scale == "nodes" else nodes
    away = np.flatnonzero((forecast.doublings > 0) & ~relatives.reached(forecast.kin, sizes, beside))
    found = joining.neighbours(curve, curves) if away.size else []
    if not found:
        return forecast
    half = Z90 * intervals.stretch(level)
    others = [one for one in curves if one is not curve]

    def told(of: PooledForecast) -> joining.Told:
        return joining.Told(of.log_value, of.width.middle / half, of.doublings)

    own, values, widths = told(forecast), forecast.log_value.copy(), np.ones(sizes.shape)
    doublings, pooled, used = forecast.doublings.copy(), forecast.pooled.copy(), []
    for one, some in joining.nearest(found, sizes[away], own.doublings[away]):
        here = away[some]
        edges = np.clip(sizes[here], curve.sizes[0], curve.sizes[-1])
        at, on = np.concatenate([sizes[here], edges]), np.concatenate([nodes[here], np.interp(edges, curve.sizes, curve.nodes)])
        both = told(_as_measured(one.curve, others, at, on, level))
        there, at_edge = (joining.Told(*each) for each in zip(*(np.split(column, 2) for column in both), strict=True))
        ratio = np.log(np.interp(edges, curve.sizes, curve.measured.costs)) - at_edge.log_value
        known = max(RERUN_SPREAD, forecast.noise) / Z90
        theirs = joining.moved(there, one.spread, ratio, at_edge.deviation, known, np.abs(np.log2(sizes[here] / edges)))
        joint, widths[here] = joining.together(joining.Told(*(column[here] for column in own)), theirs)
        values[here], doublings[here], pooled[here] = joint.log_value, joint.doublings, True
        used.append(relatives.Kin(one.curve.measured, level=0.0, slope=0.0, unlikeness=one.spread))
    kin = (*(forecast.kin if forecast.pooled.any() else ()), *used)
    width = forecast.width.each(lambda side: side * widths)
    return forecast._replace(log_value=values, width=width, doublings=doublings, pooled=pooled, kin=kin)


def _doublings_of_nodes(curve: Curve, nodes: Array) -> Array:
    """Doublings between ``nodes`` and those that a curve was measured on; 0 or less between these."""
    return np.asarray(np.maximum(np.log2(nodes / max(curve.nodes)), np.log2(min(curve.nodes) / nodes)))


def _nodes_apart(curve: Curve, sizes: Array, nodes: Array) -> Array:
    """Doublings between ``nodes`` and the numbers of nodes that the curve has at ``sizes``: beyond the measured ones, with as much on each
    node as at the nearest of these, but at least one node."""
    at, there = np.log2(np.array(curve.sizes)), np.log2(np.array(curve.nodes))
    asked = np.log2(sizes)
    usual = np.interp(asked, at, there) + np.maximum(asked - at[-1], 0.0) - np.maximum(at[0] - asked, 0.0)
    return np.asarray(np.abs(np.log2(nodes) - np.maximum(usual, 0.0)))


def _without_layout(curve: Curve, curves: Sequence[Curve]) -> Curve | None:
    """The curve of the same run without a layout, if ``curve`` has one and was measured on few, and on fewer, numbers of nodes.

    Few are :data:`FEW_SIZES`, and one for a curve over counts within a node.
    """
    measured = len(set(curve.nodes))
    if measured > (FEW_SIZES if curve.scale == "nodes" else 1) or curve.silent:
        return None
    silent = (one for one in curves if one.silent and one.series == curve.series)
    return next((one for one in silent if one.layout.batch_size == curve.layout.batch_size and len(one.sizes) > measured), None)


class _Ratio(NamedTuple):
    """The ratio of the costs of a curve to those of ``kin``, on each number of nodes."""

    log_ratio: Array
    width: intervals.Sides
    doublings: Array
    """Beyond the counts within a node that the curve was measured at."""
    kin: relatives.Kin


def _moved(curve: Curve, whole: Curve, others: Sequence[Curve], sizes: Array, nodes: Array, level: float) -> PooledForecast:
    """The forecast of ``whole``, times the ratio of the costs of ``curve`` to its costs on the same nodes.

    The interval widens with the distance from the nodes of ``curve``.
    """
    measured = np.unique(np.array(curve.nodes, dtype=np.float64))
    forecast, there = (_as_measured(whole, others, at, at, level) for at in (nodes, measured))
    if curve.scale == "nodes":
        ratio = _ratio_along_nodes(curve, whole, there, nodes)
    else:
        alone = [one for one in others if one is not whole]
        own = _as_measured(curve, alone, sizes / nodes * measured, np.broadcast_to(measured, nodes.shape), level)
        ratio = _ratio_at_layout(own, whole, there)
    away = np.abs(np.log2(nodes[..., None] / measured)).min(axis=-1)
    beyond = np.where((nodes < measured[0]) | (nodes > measured[-1]), np.minimum(forecast.doublings, away), 0.0)
    width = forecast.width.each(np.hypot, ratio.width).widened(Z90 * intervals.stretch(level) * ratio.kin.unlikeness * away)
    of_repeats = noise(curve, others)
    return PooledForecast(
        log_value=forecast.log_value + ratio.log_ratio,
        width=at_least(width, of_repeats, level),
        doublings=np.maximum(ratio.doublings, beyond),
        pooled=np.ones(nodes.shape, dtype=bool),
        kin=(ratio.kin, *(forecast.kin if forecast.pooled.any() else ())),
        noise=of_repeats,
        smallest=min(*curve.nodes, *whole.nodes),
    )


def _ratio_along_nodes(curve: Curve, whole: Curve, there: PooledForecast, nodes: Array) -> _Ratio:
    """That of a curve over nodes, fitted as for other kin. ``there``: the forecast of ``whole`` on the nodes of ``curve``."""
    (kin,) = relatives.moved(curve.measured, [whole.measured], there.log_value[None])
    none = np.zeros(nodes.shape)
    return _Ratio(kin.level + kin.slope * np.log2(nodes / max(curve.nodes)), intervals.Sides(none, none), none, kin)


def _ratio_at_layout(own: PooledForecast, whole: Curve, there: PooledForecast) -> _Ratio:
    """That of a curve over counts within a node: on its one number of nodes, where it has the forecast ``own`` at the layout in question,
    and ``whole`` that of ``there``."""
    kin = relatives.Kin(whole.measured, level=0.0, slope=0.0, unlikeness=relatives.UNKNOWN_LIKENESS)
    return _Ratio(own.log_value - there.log_value, own.width, own.doublings, kin)


def at_least(width: intervals.Sides, of_repeats: float, level: float) -> intervals.Sides:
    """The intervals, widened to at least :func:`noise`."""
    return width.each(lambda side: np.maximum(side, of_repeats * intervals.stretch(level)))


def _replaced_where(
    mask: npt.NDArray[np.bool_], pooled: scaling.Forecast, value: Array, width: intervals.Sides, level: float
) -> tuple[Array, intervals.Sides]:
    """The log costs ``value`` and their half-widths, replaced by those of ``pooled`` where ``mask`` is true."""
    replaced = intervals.half_widths(pooled, level).each(lambda new, old: np.where(mask, new, old), width)
    return np.where(mask, pooled.log_value, value), replaced


def _kin_of(curve: Curve, alike: Sequence[Curve]) -> tuple[relatives.Kin, ...]:
    """Those of the comparable curves ``alike`` that share a measured size with ``curve``, the most alike first."""
    by_program = grouped(alike, lambda one: _other_program(curve, one))
    same, other = ([one.measured for one in by_program.get(is_other, ())] for is_other in (False, True))
    return relatives.compare(curve.measured, same, other) if alike else ()


def _continued_by(kin: Sequence[relatives.Kin], curve: Curve) -> bool:
    """Whether kin also contribute where none of them was measured: to a curve of one size, and to one of few sizes if one of them has
    larger ones. Where these end, the curve alone would go on as if they had shown nothing."""
    few, last = len(curve.sizes) <= FEW_SIZES, curve.sizes[-1]
    return bool(kin) and (len(curve.sizes) == 1 or (few and max(one.relative.sizes[-1] for one in kin) > last))


def _forecasts_of(kin: Sequence[relatives.Kin], alike: Sequence[Curve], sizes: Array, nodes: Array | None) -> list[scaling.Forecast]:
    """The forecasts of kin, each by itself. ``alike``: the curves among which they are."""
    fits = {one.measured: one.mixture for one in alike}
    return [scaling.evaluate(fits[one.relative], sizes, nodes) for one in kin]


def _comparable(one: Curve, other: Curve) -> bool:
    """Whether two curves have the same metric, unit and scale."""
    return (one.scale, one.series.metric, one.series.unit) == (other.scale, other.series.metric, other.series.unit)


def _scale_alike(one: Curve, other: Curve) -> bool:
    """Whether two curves are comparable, or both of times of whole runs, whatever these are called: a job measures ``wall_time``.

    Times under other names that differ by more than :data:`~modak.perfmodel.startup.SAME_TIME` are of a part of the run.
    """
    if _comparable(one, other):
        return True
    if one.scale != other.scale or not (startup.is_whole(one.series) and startup.is_whole(other.series)):
        return False
    there = np.interp(np.log(other.sizes), np.log(one.sizes), np.log(one.costs))
    return bool(np.abs(np.log(other.costs) - there).min() < math.log(startup.SAME_TIME))


def _other_program(curve: Curve, other: Curve) -> bool:
    """Whether two curves are known to be of different frameworks."""
    known = (curve.series.framework, other.series.framework)
    return None not in known and same_name(known[0]) != same_name(known[1])


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
