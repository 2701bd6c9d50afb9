"""Answers from curves: a cost with an interval and a basis, for many sizes in one call.

A question names what it knows of a run; the curve that is least unlike it answers. Beyond its measured sizes other curves
of the application have a say (:mod:`modak.perfmodel.relatives`). Every attribute in which curve and question differ widens
the interval by a spread that is added in quadrature, so that weak evidence shows as a wide interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from modak.dsl import Basis
from modak.facts import Layout
from modak.perfmodel import intervals, layouts, relatives, scaling
from modak.perfmodel.curves import FEW_SIZES, Curve
from modak.perfmodel.forms import Array
from modak.perfmodel.matching import NORMAL, Match, Power, Question, best_match, closed, matches, same_name, seen, shape_spread

NOISE = 0.08
"""Half-width of the 90 % interval of log cost at a measured size, at most, unless repeats show more: replicates of published runs differ by
about 5 %."""
USUAL = 2.0
"""Degrees of freedom that this usual scatter counts as beside that of a curve's own repeats. Judgement: two repeats alone say little."""
MOST_LAYOUTS = 8
"""More measured layouts than this do not change what is told of another one."""
FAR_DOUBLINGS = 4.0
"""Beyond this many doublings past the measured sizes a prediction is hardly more than a guess: warnings say so."""


@dataclass(frozen=True)
class Predictions:
    """Costs at the sizes asked for: arrays of one shape. ``spread`` is half the width of the 90 % interval of the log of cost."""

    value: Array
    spread: Array
    basis: tuple[Basis, ...]
    doublings: Array
    curve: Curve | None = None
    differences: tuple[str, ...] = ()
    """Attributes in which the evidence differs from the question."""
    others: tuple[scaling.Series, ...] = ()
    """What was measured of other curves that had a say."""

    def quantile(self, probability: float) -> Array:
        """The cost that is not exceeded with this probability."""
        return bound(self.value, self.spread, probability)


def bound(value: Array, spread: Array, probability: float) -> Array:
    """The value that is not exceeded with a probability in (0, 1); ``spread`` as in :class:`Predictions`."""
    reach = intervals.stretch(abs(2 * probability - 1))
    return np.asarray(value * np.exp(math.copysign(reach, probability - 0.5) * spread))


def predict(curves: Sequence[Curve], question: Question, nodes: npt.ArrayLike, power: Power | None = None) -> Predictions:
    """Cost of the question's kind of run on each of ``nodes`` (any shape); basis ``none`` and NaN without evidence."""
    count = np.atleast_1d(np.asarray(nodes, dtype=np.float64))
    question = closed(curves, question)
    match = best_match(curves, question, power)
    if match is None:
        nothing = np.full(count.shape, np.nan)
        unknown: Basis = "none"
        return Predictions(nothing, nothing, (unknown,) * count.size, np.zeros(count.shape))
    if match.shape:
        return _across_layouts(_peers(match, curves, question, power), question.layout, count, curves)
    return _answer(match, question.layout, count, kin_of(match.curve, curves))


class Foretold(NamedTuple):
    """What a curve and its kin say at sizes: arrays of one shape. ``width`` is half that of the interval of the log cost."""

    log_value: Array
    width: Array
    doublings: Array
    """Beyond the measured sizes on either side."""
    heard: npt.NDArray[np.bool_]
    """Whether kin had a say: beyond the measured sizes, and between them where these are few."""


def foretell(curve: Curve, kin: Sequence[relatives.Kin], sizes: Array, nodes: Array, level: float = 0.9) -> Foretold:
    """The curve's own forecast at ``sizes`` on ``nodes``, pooled with that of its kin where these reach; intervals at ``level``."""
    own = scaling.evaluate(curve.mixture, sizes, nodes if curve.scale != "nodes" else None)
    width, few = intervals.half_width(own, level), len(curve.sizes) <= FEW_SIZES
    heard = ((own.doublings > 0) | few) & relatives.reached(kin, sizes)
    value = own.log_value
    if heard.any():
        pooled = relatives.pool(own, curve.sizes[-1], kin, sizes)
        value = np.where(heard, pooled.log_value, value)
        width = np.where(heard, intervals.half_width(pooled, level), width)
    return Foretold(value, np.maximum(width, _of_repeats(curve) * intervals.stretch(level)), own.doublings, heard)


def kin_of(curve: Curve, curves: Sequence[Curve]) -> tuple[relatives.Kin, ...]:
    """Other curves over the same kind of size and of the same metric, as far as they are alike so far. ``curves``: of one application."""
    comparable = [one for one in curves if one is not curve and _comparable(one, curve)]
    same, others = ([one.measured for one in comparable if _other_program(curve, one) == apart] for apart in (False, True))
    return relatives.compare(curve.measured, same, others)


def _comparable(one: Curve, other: Curve) -> bool:
    """Whether costs of two curves are of one thing: the same metric, over the same kind of size."""
    return (one.scale, one.series.metric, one.series.unit) == (other.scale, other.series.metric, other.series.unit)


def _other_program(curve: Curve, other: Curve) -> bool:
    """Whether two curves are known to be of different frameworks."""
    known = (curve.series.framework, other.series.framework)
    return None not in known and same_name(known[0]) != same_name(known[1])


def _answer(match: Match, layout: Layout, nodes: Array, kin: Sequence[relatives.Kin]) -> Predictions:
    curve = match.curve
    per_node = {"nodes": 1, "ranks": layout.ranks_per_node or 1, "gpus": layout.gpus_per_node or 1}[curve.scale]
    sizes = nodes * per_node
    told, few, known = foretell(curve, kin, sizes, nodes), len(curve.sizes) <= FEW_SIZES, np.array(curve.sizes)
    measured = np.isin(sizes, known) & ((curve.scale == "nodes") | (np.interp(sizes, known, curve.nodes) == nodes))
    value = np.where(measured, np.interp(sizes, known, np.array(curve.costs)), np.exp(told.log_value)) * match.factor
    spread = np.hypot(np.where(measured, np.maximum(np.minimum(told.width, NOISE), _of_repeats(curve)), told.width), NORMAL * match.doubt)
    doublings = told.doublings if curve.scale == "nodes" else np.maximum(told.doublings, np.log2(nodes / max(curve.nodes)))
    kinds = zip(measured.ravel(), (doublings > 0).ravel(), told.heard.ravel(), strict=True)
    basis = tuple(_basis(match, few, bool(m), bool(d), bool(h)) for m, d, h in kinds)
    others = tuple(one.relative for one in kin) if told.heard.any() else ()
    return Predictions(value, spread, basis, doublings, curve, match.differences, others)


def _of_repeats(curve: Curve) -> float:
    """:data:`NOISE` times how much more than usual the curve's repeats scatter; 0 where they do not.

    A run and the measured one differ by the root of two times the deviation of either.
    """
    if curve.scatter is None:
        return 0.0
    shown = 2 * (curve.scatter.deviation * NORMAL / NOISE) ** 2
    more = (USUAL + curve.scatter.freedom * shown) / (USUAL + curve.scatter.freedom)
    return NOISE * math.sqrt(more) if more > 1 else 0.0


def _peers(match: Match, curves: Sequence[Curve], question: Question, power: Power | None) -> list[Match]:
    """The match and those of other layouts that differ from the question in the same ways, the nearest first."""
    apart = set(match.differences) - set(match.shape)
    alike = [
        one
        for one in matches(curves, question, power)
        if one.shape and set(one.differences) - set(one.shape) == apart and _comparable(one.curve, match.curve)
    ]
    near = sorted(alike, key=lambda one: (layouts.distance(one.curve.layout, question.layout), *seen(one)))
    return [match, *(one for one in near if one.curve is not match.curve)][:MOST_LAYOUTS]


def _across_layouts(peers: Sequence[Match], layout: Layout, nodes: Array, curves: Sequence[Curve]) -> Predictions:
    """From curves of other layouts together: each at the nodes asked for, with an even share for each worker."""
    told = [_answer(replace(one, spread=0.0), layout, nodes, kin_of(one.curve, curves)) for one in peers]
    measured = [one.curve.layout for one in peers]
    mutual = np.array([[layouts.distance(one, other) for other in measured] for one in measured])
    asked = np.array([layouts.distance(one, layout) for one in measured])
    logs, spreads = np.log([one.value.ravel() for one in told]), np.array([one.spread.ravel() for one in told])
    log_cost, deviation = layouts.between(asked, mutual, logs, spreads / NORMAL)
    apart = math.sqrt(max(peers[0].spread ** 2 - shape_spread(peers[0].curve, layout, peers[0].shape) ** 2, 0.0))
    spread = NORMAL * np.hypot(deviation, apart).reshape(nodes.shape)
    transferred: Basis = "transferred"
    value = np.exp(log_cost).reshape(nodes.shape)
    others = (*(one.curve.measured for one in peers[1:]), *(series for one in told for series in one.others))
    return replace(told[0], value=value, spread=spread, basis=(transferred,) * nodes.size, others=others)


def _basis(match: Match, few: bool, measured: bool, beyond: bool, heard: bool) -> Basis:
    if not match.own or match.curve.told:
        return "transferred"
    if measured:
        return "measured"
    if few:
        return "transferred" if heard else "heuristic"
    return "extrapolated" if beyond else "interpolated"
