"""Answers from curves: a cost with an interval and a basis, for many sizes in one call.

A question names what it knows of a run; the curve that is least unlike it answers. Beyond its measured sizes other curves
of the application have a say (:mod:`modak.perfmodel.relatives`). Every attribute in which curve and question differ widens
the interval by a spread that is added in quadrature, so that weak evidence shows as a wide interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from modak.dsl import Basis
from modak.facts import Layout
from modak.perfmodel import intervals, layouts, relatives, scaling
from modak.perfmodel.curves import FEW_SIZES, Curve
from modak.perfmodel.forms import Array

SPREAD: Mapping[str, float] = {
    "system": 0.7,
    "dataset": 0.5,
    "params": 0.5,
    "framework": 0.5,
    "precision": 0.4,
    "compiler": 0.3,
    "hyperthreads": 0.3,
    "numa_mode": 0.2,
    "framework_version": 0.15,
    "mpi_from": 0.15,
    "image": 0.1,
    "mpi": 0.1,
    "partition": 0.1,
    "runtime": 0.03,
}
"""Standard deviation of log cost that a difference in an attribute adds. Judgement, in want of a measured figure: a change
of system or framework moves published throughputs by a factor of about two, a container runtime by 1 % or less."""
SHAPE_SPREAD = 0.5
"""The same for another number of ranks, threads or GPUs in a node, to find the nearest evidence; :mod:`modak.perfmodel.layouts` says
what it tells."""
DEVICE_SPREAD = 1.2
"""The same, beside it, between runs on GPUs and on processors alone: the 90 % interval reaches a factor of 7 either way. Judgement: GPUs
are faster by about an order of magnitude, and by how much depends on the program."""
NOISE = 0.08
"""Half-width of the 90 % interval of log cost at a measured size, at most: replicates of published runs differ by about 5 %."""
NORMAL = 1.645
"""Half-widths at 90 % in one standard deviation, for the spreads above."""
MOST_LAYOUTS = 8
"""More measured layouts than this do not change what is told of another one."""
FAR_DOUBLINGS = 4.0
"""Beyond this many doublings past the measured sizes a prediction is hardly more than a guess: warnings say so."""
USUAL_PRECISION = "fp32"
"""What results that do not name their precision are taken to have run in."""
SAME = 0.05
"""Differences that add up to less than this leave the evidence the run's own."""

Power = Callable[[str | None, str | None, int | None, int | None], float | None]
"""Compute power of a system's and partition's node: of so many of its GPUs (``None``: all; 0: of its processors, with so many threads,
``None``: all cores), in any unit that is the same for all; ``None``: unknown."""


@dataclass(frozen=True)
class Question:
    """A kind of run: what is known of it (names of :class:`modak.facts.SeriesKey`), its shape, and its metric."""

    attributes: Mapping[str, Any]
    layout: Layout = field(default_factory=Layout)
    metric: str | None = None


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


@dataclass(frozen=True)
class Match:
    """A curve as evidence for a question."""

    curve: Curve
    spread: float
    differences: tuple[str, ...] = field(default=())
    factor: float = 1.0
    """What the curve's cost is multiplied by."""
    shape: tuple[str, ...] = ()
    """Those of the differences that lie in the layout."""

    @property
    def doubt(self) -> float:
        """The spread with that of what parameters told, where the curve was not measured."""
        return math.hypot(self.spread, self.curve.told.half_width / NORMAL) if self.curve.told else self.spread

    @property
    def own(self) -> bool:
        """The evidence is of the very run that is asked about."""
        return self.spread < SAME


def bound(value: Array, spread: Array, probability: float) -> Array:
    """The value that is not exceeded with a probability in (0, 1); ``spread`` as in :class:`Predictions`."""
    reach = intervals.stretch(abs(2 * probability - 1))
    return np.asarray(value * np.exp(math.copysign(reach, probability - 0.5) * spread))


def predict(curves: Sequence[Curve], question: Question, nodes: npt.ArrayLike, power: Power | None = None) -> Predictions:
    """Cost of the question's kind of run on each of ``nodes`` (any shape); basis ``none`` and NaN without evidence."""
    count = np.atleast_1d(np.asarray(nodes, dtype=np.float64))
    match = best_match(curves, question, power)
    if match is None:
        nothing = np.full(count.shape, np.nan)
        unknown: Basis = "none"
        return Predictions(nothing, nothing, (unknown,) * count.size, np.zeros(count.shape))
    if match.shape:
        return _across_layouts(_peers(match, curves, question, power), question.layout, count, curves)
    return _answer(match, question.layout, count, _kin(match.curve, curves))


def best_match(curves: Sequence[Curve], question: Question, power: Power | None = None) -> Match | None:
    """The curve with the least spread; ties go to more sizes, to more results, then to what says least that was not asked.

    Of what is still equal the one in the middle by what it costs answers: names of systems and software decide nothing.
    """
    matches = _matches(curves, question, power)
    if not matches:
        return None
    ranks = [_nearness(one, question) for one in matches]
    nearest = min(ranks)
    equal = sorted((one for one, rank in zip(matches, ranks, strict=True) if rank == nearest), key=_seen)
    return equal[len(equal) // 2]


def _nearness(match: Match, question: Question) -> tuple[float, int, int, int, str]:
    curve, series = match.curve, match.curve.series
    unasked = sum(bool(getattr(series, name)) and question.attributes.get(name) is None for name in SPREAD)
    return round(match.doubt, 9), -len(curve.sizes), -curve.results_used, unasked, series.metric


def _matches(curves: Sequence[Curve], question: Question, power: Power | None) -> list[Match]:
    return [_match(curve, question, power) for curve in curves if question.metric in (None, curve.series.metric)]


def _match(curve: Curve, question: Question, power: Power | None) -> Match:
    different = [name for name in SPREAD if _differs(name, getattr(curve.series, name), question.attributes.get(name))]
    spreads = [SPREAD[name] for name in different]
    factor = 1.0
    if "system" in different:
        factor = _power_ratio(curve, question, power)
    shape = _shape_differences(curve, question.layout)
    if shape:
        spreads += [SHAPE_SPREAD, DEVICE_SPREAD] if _other_device(curve, question.layout) else [SHAPE_SPREAD]
        factor *= _even_share(curve, question.layout) if "system" not in different else 1.0
    return Match(curve, math.sqrt(sum(s * s for s in spreads)), tuple(different + shape), factor, tuple(shape))


def _seen(match: Match) -> tuple[float, tuple[float, ...], tuple[float, ...], tuple[int, ...]]:
    """What puts equally near evidence into one order, whatever its labels are: the work at its largest size, then all that was measured."""
    curve = match.curve
    counts = tuple(getattr(curve.layout, name) or 0 for name in layouts.COUNTS)
    return match.factor * curve.costs[-1] * curve.sizes[-1], curve.costs, curve.sizes, counts


def _differs(name: str, evidence: Any, asked: Any) -> bool:
    """Whether a known wish meets other evidence; what the question leaves open differs from nothing.

    Evidence without a partition, an image or a word on hyper-threads or precision is taken for the usual ones.
    """
    if isinstance(asked, Mapping):
        return any(str(evidence.get(key)) != str(value) for key, value in asked.items())
    if asked is None or (evidence is None and (name in ("partition", "image") or asked is False or asked == USUAL_PRECISION)):
        return False
    return bool(same_name(evidence) != same_name(asked) if name == "system" else evidence != asked)


def same_name(name: Any) -> str:
    """Underscores, hyphens and case do not tell systems apart."""
    return str(name).lower().replace("_", "-")


def _shape_differences(curve: Curve, layout: Layout) -> list[str]:
    free = {"ranks": ("ranks_per_node",), "gpus": ("gpus_per_node", "ranks_per_node"), "nodes": ()}[curve.scale]
    apart = [name for name in layouts.COUNTS if name not in free and _both_differ(getattr(curve.layout, name), getattr(layout, name))]
    return ["gpus_per_node", *apart] if curve.scale == "gpus" and _other_device(curve, layout) else apart


def _other_device(curve: Curve, layout: Layout) -> bool:
    """Whether one of both is of GPUs and the other known to have none."""
    return _both_differ(curve.on_gpus, None if layout.gpus_per_node is None else layout.gpus_per_node > 0)


def _both_differ(evidence: int | None, asked: int | None) -> bool:
    return evidence is not None and asked is not None and evidence != asked


def _even_share(curve: Curve, layout: Layout) -> float:
    """What computes in a unit of size there, over that here: GPUs, else cores. 1 where a count is known of one side alone."""
    there = curve.layout
    if curve.scale == "gpus" or _other_device(curve, layout):
        return 1.0
    if there.gpus_per_node and layout.gpus_per_node:
        return there.gpus_per_node / layout.gpus_per_node
    counts = ("threads_per_rank",) if curve.scale == "ranks" else ("ranks_per_node", "threads_per_rank")
    pairs = [(getattr(there, name), getattr(layout, name)) for name in counts]
    if any((one is None) != (other is None) for one, other in pairs):
        return 1.0
    return math.prod((one or 1) / (other or 1) for one, other in pairs)


def _power_ratio(curve: Curve, question: Question, power: Power | None) -> float:
    """What the curve's cost is multiplied by on the question's system: the power behind it, over the power that is asked about."""
    if power is None:
        return 1.0
    gpus = _gpus(curve, question.layout.gpus_per_node)
    there = power(curve.series.system, curve.series.partition, gpus[0], _threads(curve.layout))
    here = power(question.attributes.get("system"), question.attributes.get("partition"), gpus[1], _threads(question.layout))
    return there / here * _share(curve, question.layout) if there and here else 1.0


def _gpus(curve: Curve, asked: int | None) -> tuple[int | None, int | None]:
    """The GPUs that compute in a node (``None``: all there are) behind a curve and where it is asked about; one, where sizes count GPUs."""
    if curve.scale == "gpus" and asked is not None:
        return 1, min(asked, 1)
    behind = curve.layout.gpus_per_node
    return (0, 0) if {behind, asked} == {None, 0} else (behind, asked)


def _threads(layout: Layout) -> int | None:
    """Threads in a node; ``None``: they are not known."""
    return layout.ranks_per_node * layout.threads_per_rank if layout.ranks_per_node and layout.threads_per_rank else None


def _share(curve: Curve, layout: Layout) -> float:
    """What makes a ratio of nodes one of ranks, where sizes count those: theirs in a node there, over those here."""
    if curve.scale != "ranks" or not layout.ranks_per_node:
        return 1.0
    return layout.ranks_per_node / max(size / nodes for size, nodes in zip(curve.sizes, curve.nodes, strict=True))


def _kin(curve: Curve, curves: Sequence[Curve]) -> tuple[relatives.Kin, ...]:
    """Other curves over the same kind of size and of the same metric, as far as they are alike so far."""
    others = [one.measured for one in curves if one is not curve and (one.scale, one.series.metric) == (curve.scale, curve.series.metric)]
    return relatives.compare(curve.measured, others)


def _answer(match: Match, layout: Layout, nodes: Array, kin: Sequence[relatives.Kin]) -> Predictions:
    curve = match.curve
    per_node = {"nodes": 1, "ranks": layout.ranks_per_node or 1, "gpus": layout.gpus_per_node or 1}[curve.scale]
    sizes = nodes * per_node
    own = scaling.evaluate(curve.mixture, sizes, nodes if curve.scale != "nodes" else None)
    pooled = relatives.pool(own, curve.sizes[-1], kin, sizes)
    beyond, few = own.doublings > 0, len(curve.sizes) <= FEW_SIZES
    heard = np.asarray((beyond | few) & (np.abs(pooled.log_value - own.log_value) > 0)) if kin else np.zeros(sizes.shape, dtype=bool)
    known = np.array(curve.sizes)
    measured = np.isin(sizes, known) & ((curve.scale == "nodes") | (np.interp(sizes, known, curve.nodes) == nodes))
    value = np.where(measured, np.interp(sizes, known, np.array(curve.costs)), np.where(heard, pooled.value, own.value)) * match.factor
    width = np.where(heard, intervals.half_width(pooled), intervals.half_width(own))
    spread = np.hypot(np.where(measured, np.minimum(width, NOISE), width), NORMAL * match.doubt)
    kinds = zip(measured.ravel(), beyond.ravel(), heard.ravel(), strict=True)
    basis = tuple(_basis(match, few, bool(m), bool(d), bool(h)) for m, d, h in kinds)
    return Predictions(
        value, spread, basis, own.doublings, curve, match.differences, tuple(one.relative for one in kin) if heard.any() else ()
    )


def _peers(match: Match, curves: Sequence[Curve], question: Question, power: Power | None) -> list[Match]:
    """The match and those of other layouts that differ from the question in the same ways, the nearest first."""
    apart = set(match.differences) - set(match.shape)
    alike = [
        one
        for one in _matches(curves, question, power)
        if one.shape and set(one.differences) - set(one.shape) == apart and one.curve.scale == match.curve.scale
    ]
    near = sorted(alike, key=lambda one: (layouts.distance(one.curve.layout, question.layout), *_seen(one)))
    return [match, *(one for one in near if one.curve is not match.curve)][:MOST_LAYOUTS]


def _across_layouts(peers: Sequence[Match], layout: Layout, nodes: Array, curves: Sequence[Curve]) -> Predictions:
    """From curves of other layouts together: each at the nodes asked for, with an even share for each worker."""
    told = [_answer(replace(one, spread=0.0), layout, nodes, _kin(one.curve, curves)) for one in peers]
    measured = [one.curve.layout for one in peers]
    mutual = np.array([[layouts.distance(one, other) for other in measured] for one in measured])
    asked = np.array([layouts.distance(one, layout) for one in measured])
    logs, spreads = np.log([one.value.ravel() for one in told]), np.array([one.spread.ravel() for one in told])
    log_cost, deviation = layouts.between(asked, mutual, logs, spreads / NORMAL)
    apart = math.sqrt(max(peers[0].spread ** 2 - SHAPE_SPREAD**2, 0.0))
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
