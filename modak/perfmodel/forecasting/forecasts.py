"""The forecast of a curve at any sizes: by its own forms, pooled with comparable curves of the same application, its kin.

:func:`pooled_forecast` has the steps. Which curves are kin, how alike they are, and what they tell,
:mod:`modak.perfmodel.forecasting.pooling` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from modak.arrays import Array, Flags, Ints
from modak.cache import Cache
from modak.perfmodel import intervals
from modak.perfmodel.fitting import nodestep, scaling
from modak.perfmodel.fitting.curves import FEW_SIZES, Curve
from modak.perfmodel.forecasting import neighbours, pooling
from modak.perfmodel.forecasting.curveset import CurveSet
from modak.perfmodel.forecasting.repeats import RERUN_SPREAD, at_least, noise
from modak.perfmodel.intervals import Z90

MOST_FORECASTS: Final = 4096
"""At most so many forecasts are kept for further questions."""


class ForecastPoints(NamedTuple):
    """What a forecast is made for."""

    sizes: Array
    nodes: Array
    """At each of the sizes ``[n]``."""

    def beside(self, curve: Curve) -> Array | None:
        """The nodes where the sizes of a curve count something else."""
        return None if curve.scale == "nodes" else self.nodes


class PooledForecast(NamedTuple):
    """The forecast of a curve at ``n`` sizes, and of others that contributed: arrays ``[n]``."""

    log_value: Array
    width: intervals.HalfWidths
    doublings: Array
    """Beyond the measured sizes on either side."""
    reached: Flags
    """Where kin were measured."""
    others: tuple[scaling.Series, ...]
    """The measured values of ``k`` other curves."""
    contributed: Flags
    """Where each of these contributed: ``[k, n]``."""
    noise: float
    """See :func:`modak.perfmodel.forecasting.repeats.noise`; the intervals are at least this wide."""
    smallest: int
    """The smallest measured number of nodes."""

    @property
    def pooled(self) -> Flags:
        """Where others contributed: beyond the measured sizes, and also between them if these are few."""
        return np.asarray(self.contributed.any(axis=0))

    @property
    def as_log_forecast(self) -> neighbours.LogForecast:
        """The same with a standard deviation in place of each interval."""
        return neighbours.LogForecast(self.log_value, self.width.middle / Z90, self.doublings)

    def at(self, places: Ints) -> PooledForecast:
        """The forecast at some of the sizes, with those others that contributed there."""
        contributed = self.contributed[:, places]
        used = np.flatnonzero(contributed.any(axis=1))
        return self._replace(
            log_value=self.log_value[places],
            width=self.width.at(places),
            doublings=self.doublings[places],
            reached=self.reached[places],
            others=tuple(self.others[k] for k in used.tolist()),
            contributed=contributed[used],
        )


class Forecasts:
    """The forecasts of an application's ``curves`` on ``nodes [n]`` (ascending): each is made once, for all of them, whatever it is asked
    for."""

    def __init__(self, curves: Sequence[Curve], nodes: Array) -> None:
        self._curves, self._nodes = CurveSet(curves), nodes
        self._made = Cache(MOST_FORECASTS)

    def of(self, curve: Curve, per_node: float, nodes: Array) -> PooledForecast:
        """That of a curve for a size of ``per_node`` on a node, on some of the numbers of nodes."""

        def made() -> PooledForecast:
            return pooled_forecast(curve, self._curves.without(curve), self._nodes * per_node, self._nodes)

        return self._made.get((id(curve), per_node), made).at(np.searchsorted(self._nodes, nodes))


def pooled_forecast(curve: Curve, others: CurveSet, sizes: Array, nodes: Array) -> PooledForecast:
    """The curve's own forecast at ``sizes [n]`` on ``nodes [n]``, pooled with its kin where these were measured.

    ``others``: those of the application, among which kin are searched. A curve of one size is pooled with its kin everywhere: alone it
    says nothing of how the run scales. So is one of few sizes if some of its kin were measured at larger ones. A curve on few numbers of
    nodes is predicted from results of the same run that do not state their layout, if these are on more (:func:`_by_ratio`). A curve within
    one node is also predicted from another layout on several (:func:`_off_the_node`). Beyond its sizes, where no kin was measured, another
    configuration that was tells, too (:func:`_joined`). In weak scaling the cost of a unit of size is forecast.
    """
    at = ForecastPoints(sizes, nodes)
    forecast = _joined(_as_measured(curve, others, at), curve, others, at)
    return forecast._replace(log_value=forecast.log_value + np.log(sizes)) if curve.grows else forecast


def _as_measured(curve: Curve, others: CurveSet, at: ForecastPoints) -> PooledForecast:
    """The forecast of the curve and its kin, without other configurations: of costs as in :attr:`~modak.perfmodel.Curve.measured`."""
    silent = _silent_curve(curve, others)
    return _by_ratio(curve, silent, others, at) if silent else _off_the_node(_pooled(curve, others, at), curve, others, at)


def _pooled(curve: Curve, others: CurveSet, at: ForecastPoints) -> PooledForecast:
    """The forecast of the curve's own forms; pooled with its kin where these were measured, and with the forecasts of these beyond."""
    beside = at.beside(curve)
    own = scaling.evaluate(curve.mixture, at.sizes, beside)
    few, beyond = len(curve.sizes) <= FEW_SIZES, own.doublings > 0
    kin = pooling.kin_of(curve, others) if few or beyond.any() else ()
    reached = pooling.reached(kin, at.sizes, beside)
    measured, continued = (beyond | few) & reached, beyond & ~reached & pooling.continued_by(kin, curve)

    value, width = own.log_value, intervals.half_widths(own)
    if measured.any():
        together = pooling.pool(own, curve.sizes[-1], kin, at.sizes, nodes=beside)
        # Relatives do not know how much runs scatter: between the sizes the interval is not narrower than at a size measured once.
        once = np.where(beyond, 0.0, RERUN_SPREAD)
        least = width.each(lambda side: np.minimum(side, once))
        pooled_width = intervals.half_widths(together).each(np.maximum, least)
        value, width = np.where(measured, together.log_value, value), pooled_width.where(measured, width)
    if continued.any():
        forecasts = pooling.forecasts_of(kin, others, at.sizes, beside)
        # Its interval is that of a series alone: nobody ran there.
        together = replace(pooling.pool(own, curve.sizes[-1], kin, at.sizes, forecasts, beside), relatives=0)
        value = np.where(continued, together.log_value, value)
        width = intervals.half_widths(together).where(continued, width)

    doublings = own.doublings
    if beside is not None:
        doublings = np.maximum(doublings, scaling.beyond(beside, min(curve.nodes), max(curve.nodes)))
        if not curve.mixture.single_node:
            width = width.widened(Z90 * nodestep.unlike(_nodes_apart(curve, at.sizes, beside), beside, curve.nodes))
    of_repeats = noise(curve, others)
    return PooledForecast(
        log_value=value,
        width=at_least(width, of_repeats),
        doublings=doublings,
        reached=reached,
        others=tuple(one.relative for one in kin),
        contributed=np.repeat((measured | continued)[None], len(kin), axis=0),
        noise=of_repeats,
        smallest=min(curve.nodes),
    )


def _joined(forecast: PooledForecast, curve: Curve, others: CurveSet, at: ForecastPoints) -> PooledForecast:
    """The forecast, joined with those of configurations that share no size with the curve and were measured nearer
    (:mod:`modak.perfmodel.forecasting.neighbours`)."""
    away = np.flatnonzero((forecast.doublings > 0) & ~forecast.reached)
    found = neighbours.neighbours(curve, others) if away.size else []
    own = forecast.as_log_forecast
    for one, some in neighbours.nearest_neighbours(found, at.sizes[away], own.doublings[away]):
        here = away[some]
        other = _told_by(one, curve, others.without(one.curve), ForecastPoints(at.sizes[here], at.nodes[here]), forecast.noise)
        joint, factor = neighbours.combine_forecasts(own.at(here), other)
        forecast = _with(forecast, here, joint, factor, one.curve.measured)
    return forecast


def _off_the_node(forecast: PooledForecast, curve: Curve, others: CurveSet, at: ForecastPoints) -> PooledForecast:
    """The forecast of a curve over counts within one node; on several, joined with what another layout of the same run shows of leaving
    the node: its cost there, times the ratio of the costs of both on one node."""
    several = np.flatnonzero(at.nodes > 1)
    other = _over_nodes(curve, others) if curve.mixture.single_node and several.size else None
    if other is None:
        return forecast
    nodes, one = at.nodes[several], np.ones(several.shape)
    there, on_one = (_pooled(other, others.without(other), ForecastPoints(on, on)) for on in (nodes, one))
    share = _pooled(curve, others, ForecastPoints(at.sizes[several] / nodes, one))
    parts = there.as_log_forecast.deviation, share.as_log_forecast.deviation, pooling.UNKNOWN_LIKENESS * np.log2(nodes)
    own = forecast.as_log_forecast.at(several)
    moved = own._replace(log_value=there.log_value + share.log_value - on_one.log_value, deviation=np.sqrt(sum(part**2 for part in parts)))
    return _with(forecast, several, *neighbours.combine_forecasts(own, moved), other.measured)


def _over_nodes(curve: Curve, others: CurveSet) -> Curve | None:
    """Of the other layouts of the same run that were measured on one node and on several, the one on the most; of equals, names do not
    decide."""
    found = [one for one in others if one.scale == "nodes" and one.series == curve.series and one.nodes[0] == 1 < one.nodes[-1]]
    alike = [one for one in found if one.layout.batch_size == curve.layout.batch_size and bool(one.on_gpus) == bool(curve.on_gpus)]
    return max(alike, key=lambda one: (len(one.nodes), one.nodes, one.costs), default=None)


def _with(forecast: PooledForecast, here: Ints, joint: neighbours.LogForecast, factor: Array, other: scaling.Series) -> PooledForecast:
    """The forecast with what it and an ``other`` series tell ``here`` together, where its deviation changes by a ``factor``."""
    value, doublings, factors = forecast.log_value.copy(), forecast.doublings.copy(), np.ones(forecast.log_value.shape)
    value[here], doublings[here], factors[here] = joint.log_value, joint.doublings, factor
    used = np.isin(np.arange(len(value)), here)
    return forecast._replace(
        log_value=value,
        width=forecast.width.each(lambda side: side * factors),
        doublings=doublings,
        others=(*forecast.others, other),
        contributed=np.vstack([forecast.contributed, used]),
    )


def _told_by(one: neighbours.Neighbour, curve: Curve, others: CurveSet, at: ForecastPoints, of_repeats: float) -> neighbours.LogForecast:
    """What another configuration tells of the curve: its forecast, moved by the ratio of their costs at the edge of the curve's sizes."""
    edges = np.clip(at.sizes, curve.sizes[0], curve.sizes[-1])
    nodes = np.interp(edges, curve.sizes, curve.nodes)
    here_and_at_edges = ForecastPoints(np.concatenate([at.sizes, edges]), np.concatenate([at.nodes, nodes]))
    both = _as_measured(one.curve, others, here_and_at_edges).as_log_forecast
    there, at_edge = both.at(slice(len(edges))), both.at(slice(len(edges), None))
    ratio = np.log(np.interp(edges, curve.sizes, curve.measured.costs)) - at_edge.log_value
    known = max(RERUN_SPREAD, of_repeats) / Z90
    return neighbours.shift_by_ratio(there, one.spread, ratio, at_edge.deviation, known, np.abs(np.log2(at.sizes / edges)))


def _nodes_apart(curve: Curve, sizes: Array, nodes: Array) -> Array:
    """Doublings between ``nodes`` and the numbers of nodes that the curve has at ``sizes``: beyond the measured ones, with as much on each
    node as at the nearest of these, but at least one node."""
    at, there = np.log2(np.array(curve.sizes)), np.log2(np.array(curve.nodes))
    asked = np.log2(sizes)
    usual = np.interp(asked, at, there) + np.maximum(asked - at[-1], 0.0) - np.maximum(at[0] - asked, 0.0)
    return np.asarray(np.abs(np.log2(nodes) - np.maximum(usual, 0.0)))


def _silent_curve(curve: Curve, others: CurveSet) -> Curve | None:
    """The curve of the same run without a layout, if ``curve`` has one and was measured on few, and on fewer, numbers of nodes.

    Few are :data:`FEW_SIZES`, and one for a curve over counts within a node.
    """
    measured = len(set(curve.nodes))
    if measured > (FEW_SIZES if curve.scale == "nodes" else 1) or curve.layout_unstated:
        return None
    of_run = (one for place, one in others.of_all(_silent) if place not in others.out and one.series == curve.series)
    return next((one for one in of_run if one.layout.batch_size == curve.layout.batch_size and len(one.sizes) > measured), None)


def _silent(curves: Sequence[Curve]) -> Sequence[tuple[int, Curve]]:
    """Those without a layout, each with its place."""
    return [(place, curve) for place, curve in enumerate(curves) if curve.layout_unstated]


class _Ratio(NamedTuple):
    """The ratio of the costs of a curve to those of the same run without a layout, on each number of nodes."""

    log_ratio: Array
    width: intervals.HalfWidths
    doublings: Array
    """Beyond the counts within a node that the curve was measured at."""
    dissimilarity: float
    """Standard deviation of the change of the ratio with each doubling of nodes."""


def _by_ratio(curve: Curve, silent: Curve, others: CurveSet, at: ForecastPoints) -> PooledForecast:
    """The forecast of ``silent``, times the ratio of the costs of ``curve`` to its costs on the same nodes.

    The interval widens with the distance from the nodes of ``curve``.
    """
    further = others.without(silent)
    measured = np.unique(np.array(curve.nodes, dtype=np.float64))
    forecast, there = (_pooled(silent, further, ForecastPoints(nodes, nodes)) for nodes in (at.nodes, measured))
    if curve.scale == "nodes":
        ratio = _ratio_along_nodes(curve, silent, there, at.nodes)
    else:
        (one_count,) = measured
        own = _pooled(curve, further, ForecastPoints(at.sizes / at.nodes * one_count, np.full(at.nodes.shape, one_count)))
        ratio = _Ratio(own.log_value - there.log_value, own.width, own.doublings, pooling.UNKNOWN_LIKENESS)
    away = np.abs(np.log2(at.nodes[:, None] / measured)).min(axis=-1)
    beyond = np.where((at.nodes < measured[0]) | (at.nodes > measured[-1]), np.minimum(forecast.doublings, away), 0.0)
    width = forecast.width.each(np.hypot, ratio.width).widened(Z90 * ratio.dissimilarity * away)
    of_repeats = noise(curve, others)
    return PooledForecast(
        log_value=forecast.log_value + ratio.log_ratio,
        width=at_least(width, of_repeats),
        doublings=np.maximum(ratio.doublings, beyond),
        reached=forecast.reached,
        others=(silent.measured, *forecast.others),
        contributed=np.vstack([np.ones(at.nodes.shape, dtype=bool), forecast.contributed]),
        noise=of_repeats,
        smallest=min(*curve.nodes, *silent.nodes),
    )


def _ratio_along_nodes(curve: Curve, silent: Curve, there: PooledForecast, nodes: Array) -> _Ratio:
    """That of a curve over nodes, fitted as for other kin. ``there``: the forecast of ``silent`` on the nodes of ``curve``."""
    (kin,) = pooling.shift_relatives(curve.measured, [silent.measured], there.log_value[None])
    none = np.zeros(nodes.shape)
    return _Ratio(kin.level + kin.slope * np.log2(nodes / max(curve.nodes)), intervals.HalfWidths(none, none), none, kin.dissimilarity)
