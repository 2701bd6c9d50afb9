"""Answers from curves: a cost with an interval and a basis, for many sizes in one call.

A question names what it knows of a run; the curve that is least unlike it answers. Beyond its measured sizes other curves
of the application have a say (:mod:`modak.perfmodel.relatives`). Every attribute in which curve and question differ widens
the interval by a spread that is added in quadrature, so that weak evidence shows as a wide interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from modak.dsl import Basis
from modak.facts import Layout
from modak.perfmodel import intervals, relatives, scaling
from modak.perfmodel.curves import FEW_SIZES, Array, Curve

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
"""The same for another number of ranks, threads or GPUs in a node: the 3DGAN tables differ by factors of 1.6 to 4.2."""
NOISE = 0.08
"""Half-width of the 90 % interval of log cost at a measured size, at most: replicates of published runs differ by about 5 %."""
NORMAL = 1.645
"""Half-widths at 90 % in one standard deviation, for the spreads above."""
SAME = 0.05
"""Differences that add up to less than this leave the evidence the run's own."""

Power = Callable[[str | None, str | None], float | None]
"""Compute power of a node of a system and partition, in any unit that is the same for all; ``None``: unknown."""


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
    relatives: int = 0
    """Other curves that had a say."""

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
    return _answer(match, question.layout, count, _kin(match.curve, curves))


def best_match(curves: Sequence[Curve], question: Question, power: Power | None = None) -> Match | None:
    """The curve with the least spread; ties go to more sizes, then to more results, then to the order of the keys."""
    usable = [curve for curve in curves if question.metric in (None, curve.series.metric)]
    if not usable:
        return None
    matches = [_match(curve, question, power) for curve in usable]
    return min(matches, key=lambda m: (round(m.spread, 9), -len(m.curve.sizes), -m.curve.results_used, m.curve.series.model_dump_json()))


def _match(curve: Curve, question: Question, power: Power | None) -> Match:
    different = [name for name in SPREAD if _differs(name, getattr(curve.series, name), question.attributes.get(name))]
    spreads = [SPREAD[name] for name in different]
    factor = 1.0
    if "system" in different:
        factor = _power_ratio(curve, question, power)
    shape = _shape_differences(curve, question.layout)
    if shape:
        spreads.append(SHAPE_SPREAD)
        factor *= _workers(curve.layout) / _workers(question.layout) if "system" not in different else 1.0
    return Match(curve, math.sqrt(sum(s * s for s in spreads)), tuple(different + shape), factor)


def _differs(name: str, evidence: Any, asked: Any) -> bool:
    """Whether a known wish meets other evidence; what the question leaves open differs from nothing.

    Evidence without a partition or a word on hyper-threads is taken for the usual ones.
    """
    if isinstance(asked, Mapping):
        return any(str(evidence.get(key)) != str(value) for key, value in asked.items())
    if asked is None or (evidence is None and (name == "partition" or asked is False)):
        return False
    return bool(same_name(evidence) != same_name(asked) if name == "system" else evidence != asked)


def same_name(name: Any) -> str:
    """Underscores, hyphens and case do not tell systems apart."""
    return str(name).lower().replace("_", "-")


def _shape_differences(curve: Curve, layout: Layout) -> list[str]:
    free = {"ranks": ("ranks_per_node",), "gpus": ("gpus_per_node", "ranks_per_node"), "nodes": ()}[curve.scale]
    names = ("ranks_per_node", "threads_per_rank", "gpus_per_node", "batch_size")
    return [name for name in names if name not in free and _both_differ(getattr(curve.layout, name), getattr(layout, name))]


def _both_differ(evidence: int | None, asked: int | None) -> bool:
    return evidence is not None and asked is not None and evidence != asked


def _workers(layout: Layout) -> float:
    """What computes in a node: GPUs where there are any, else cores."""
    return float(layout.gpus_per_node or (layout.ranks_per_node or 1) * (layout.threads_per_rank or 1))


def _power_ratio(curve: Curve, question: Question, power: Power | None) -> float:
    if power is None:
        return 1.0
    there = power(curve.series.system, curve.series.partition)
    here = power(question.attributes.get("system"), question.attributes.get("partition"))
    return there / here if there and here else 1.0


def _kin(curve: Curve, curves: Sequence[Curve]) -> tuple[relatives.Kin, ...]:
    """Other curves over the same kind of size and of the same metric, as far as they are alike so far."""
    others = [one.measured for one in curves if one is not curve and (one.scale, one.series.metric) == (curve.scale, curve.series.metric)]
    return relatives.compare(curve.measured, others)


def _answer(match: Match, layout: Layout, nodes: Array, kin: Sequence[relatives.Kin]) -> Predictions:
    curve = match.curve
    per_node = {"nodes": 1, "ranks": layout.ranks_per_node or 1, "gpus": layout.gpus_per_node or 1}[curve.scale]
    sizes = nodes * per_node
    own = scaling.evaluate(curve.mixture, sizes, nodes > 1 if curve.scale != "nodes" else None)
    pooled = relatives.pool(own, curve.sizes[-1], kin, sizes)
    beyond, few = own.doublings > 0, len(curve.sizes) <= FEW_SIZES
    heard = np.asarray((beyond | few) & (np.abs(pooled.log_value - own.log_value) > 0)) if kin else np.zeros(sizes.shape, dtype=bool)
    known = np.array(curve.sizes)
    measured = np.isin(sizes, known)
    value = np.where(measured, np.interp(sizes, known, np.array(curve.costs)), np.where(heard, pooled.value, own.value)) * match.factor
    width = np.where(heard, intervals.half_width(pooled), intervals.half_width(own))
    spread = np.hypot(np.where(measured, np.minimum(width, NOISE), width), NORMAL * match.spread)
    kinds = zip(measured.ravel(), beyond.ravel(), heard.ravel(), strict=True)
    basis = tuple(_basis(match, few, bool(m), bool(d), bool(h)) for m, d, h in kinds)
    return Predictions(value, spread, basis, own.doublings, curve, match.differences, len(kin) if heard.any() else 0)


def _basis(match: Match, few: bool, measured: bool, beyond: bool, heard: bool) -> Basis:
    if not match.own:
        return "transferred"
    if measured:
        return "measured"
    if few:
        return "transferred" if heard else "heuristic"
    return "extrapolated" if beyond else "interpolated"
