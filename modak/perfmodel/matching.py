"""Which curve is nearest to a question: differences of attributes and layouts, each with the spread that it adds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from modak.facts import Layout, SeriesKey
from modak.grouping import grouped
from modak.perfmodel import layouts, startup
from modak.perfmodel.curves import Curve
from modak.perfmodel.forms import Array
from modak.perfmodel.magnitudes import magnitude
from modak.perfmodel.precisions import REDUCED, same_precision
from modak.perfmodel.questions import SPREAD, Question, both_differ
from modak.results.metrics import metric_of

WORK_SPREAD: Final[Mapping[str, float]] = {"dataset": 2.9, "params": 1.1}
"""As :data:`SPREAD`, for costs of a whole run or a step, where another problem is another amount of work. With these spreads, 90 % of 427
costs in public tables of HPC codes lie in the 90 % interval that is predicted from another problem of the same code."""
OTHER_EPOCH: Final = 1.5
"""The spread of ``dataset`` for the time of an epoch that is not scaled, because the question or results (``params.samples``) do not tell
of how many samples it is: data sets have from thousands of them to millions. Judgement."""
OTHER_SIZE: Final = math.log(4)
"""The spread of ``params`` grows with the absolute log ratio of their numbers, beyond this: work is a power of the size of a problem.
Judgement: a problem eight times as large says less than one twice as large in another layout."""
SHAPE_SPREAD: Final = 0.5
"""The same for another number of ranks, threads or GPUs per node. Used to find the nearest curve; the prediction itself is made by
:mod:`modak.perfmodel.layouts`."""
BATCH_SPREAD: Final = 0.2
"""The same for each doubling of the batch size, if nothing else in the layout differs: log throughputs of BERT and ResNet-50 on V100 in
eight frameworks grow by 0.09 a doubling on one GPU, by 0.18 on eight and by 0.26 on 32 (medians of 25 pairs each)."""
DEVICE_SPREAD: Final = 1.2
"""Added between runs on GPUs and on processors only: a factor of 7 in the 90 % interval. Judgement: GPUs are faster by about an order of
magnitude, but by how much depends on the program."""
UNKNOWN_DEVICE_SPREAD: Final = 0.8
"""Added if nobody knows whether results from another system were on GPUs, as the question is: :data:`DEVICE_SPREAD` or none, equally
likely."""
Z90: Final = 1.645
"""95 % quantile of the standard normal distribution: half of a 90 % interval, in standard deviations."""
REDUCED_SPREAD: Final = 0.2
"""The spread between precisions of half the width (:data:`REDUCED`), which run on the same units. Judgement."""
DOUBLING_SPREAD: Final = 0.15
"""The same for each doubling between the sizes in question and the measured ones. Used to find the nearest curve of another kind of run:
intervals, of which :mod:`modak.perfmodel.intervals` tells the width, grow by about as much (factors of 1.25, 1.5 and 1.8 at one to three
doublings)."""
TELLS: Final = 2
"""A curve of as many sizes shows how the run scales."""
SAME: Final = 0.05
"""A curve with a smaller spread than this counts as measured in the configuration of the question."""

Power = Callable[[str | None, str | None, int | None, int | None], Sequence[float | None]]
"""Figures of the power of a system's and partition's node: of so many of its GPUs (``None``: all; 0: of its processors, with so many
threads, ``None``: all cores), each in a unit of its own. Nodes are compared by the first that is known (not ``None``) of both. The last
one, the number of cores, is known only of nodes without GPUs, or if none are used."""


@dataclass(frozen=True)
class Match:
    """A curve from which a question may be answered."""

    curve: Curve
    question: Question
    power: Power | None
    spread: float
    attributes: tuple[str, ...]
    """The attributes in which they differ."""
    shape: tuple[str, ...]
    """The counts of the layout in which they differ."""

    @property
    def differences(self) -> tuple[str, ...]:
        """All in which they differ."""
        return self.attributes + self.shape

    @cached_property
    def factor(self) -> float:
        """Factor from the curve's cost to that of the question."""
        curve, layout = self.curve, self.question.layout
        away = "system" in self.attributes or _on_other_nodes(curve, self.attributes, self.question)
        ratio = _power_ratio(curve, self.question, self.power) if away else None
        factor = ratio or 1.0
        if self.shape:
            factor *= 1.0 if ratio else _even_share(curve, self.question, self.power)
            factor *= _batches(curve, layout) if curve.per_batch else 1.0
        return factor

    def asked_with(self, layout: Layout) -> Match:
        """The match with another layout in question."""
        shape = _shape_differences(self.curve, layout, _other_device(self.curve, layout, self.power))
        asked = replace(self, question=replace(self.question, layout=layout), shape=tuple(shape))
        return replace(asked, spread=math.hypot(self.unlikeness, asked._of_shape))

    @property
    def unlikeness(self) -> float:
        """The spread for the attributes in which they differ, without that of the layout."""
        return math.sqrt(max(self.spread**2 - self._of_shape**2, 0.0))

    @property
    def _of_shape(self) -> float:
        return shape_spread(self.curve, self.question.layout, self.shape) if self.shape else 0.0

    def unlike(self, other: Match) -> float:
        """The standard deviation of the log ratio of costs of this configuration to those of another one, whatever their layouts."""
        names = dict.fromkeys((*self.attributes, *other.attributes))
        alike = {name for name in names if getattr(self.curve.series, name) == getattr(other.curve.series, name)}
        differing = [name for name in names if name not in alike]
        return math.sqrt(sum(spread**2 for spread in _spreads(differing, self.curve, self.question)))

    @property
    def device(self) -> tuple[bool, bool]:
        """Whether the results are of another device (GPUs beside processors), and whether nobody knows of which."""
        layout = self.question.layout
        return _other_device(self.curve, layout, self.power), bool(layout.gpus_per_node) and _unknown_device(self.curve, self.power)

    @property
    def doubt(self) -> float:
        """The spread; for a curve that is only estimated, combined with the spread of the estimate."""
        return math.hypot(self.spread, self.curve.estimated.half_width / Z90) if self.curve.estimated else self.spread

    @property
    def own(self) -> bool:
        """Whether the curve was measured in the configuration of the question."""
        return self.spread < SAME


def best_match(found: Sequence[Match], question: Question, nodes: Array) -> Match:
    """Of matches (at least one) that of the least spread. If it was not measured in the configuration of the question, the distance of its
    sizes from the ``nodes`` in question counts, too. Ties go, in this order, to

    - if the question states a layout, results that do, before those that may be of any, unless the former are of one size and the latter
      of several;
    - rates, whose start-up is known or added, before times of whole runs, and of these to the nearest length;
    - the nearest numbers among the parameters;
    - results that name the counts of the layout asked for, those with as many ranks, GPUs or threads per node, those that name the threads,
      and those that say that threads beyond the cores are hyper-threads (if measured on the nodes of those that do not);
    - more sizes, more results, and what says least that was not asked;
    - the one in the middle by what it costs: names of systems and software decide nothing.
    """
    doubts = [one.doubt for one in found]
    if min(doubts) >= SAME:
        doubts = [
            math.hypot(doubt, DOUBLING_SPREAD * _doublings_outside(_octaves(one.curve), nodes).min())
            for doubt, one in zip(doubts, found, strict=True)
        ]
    doubts = [round(doubt, 9) for doubt in doubts]
    least = min(doubts)
    near = [one for one, doubt in zip(found, doubts, strict=True) if doubt == least]
    asked = any(getattr(question.layout, name) for name in layouts.COUNTS[:3])
    stated = max((len(one.curve.sizes) for one in near if asked and not one.curve.silent), default=0)
    of_any = [one.curve.silent and min(len(one.curve.sizes), TELLS) <= stated for one in near]
    measured_with = [set(one.curve.nodes) for one in near if question.crowded and _says_hyperthreads(one)]
    left_open = [not _says_hyperthreads(one) and any(nodes.issuperset(one.curve.nodes) for nodes in measured_with) for one in near]
    ranks = [(silent, *_nearness(one, question, unclear)) for one, silent, unclear in zip(near, of_any, left_open, strict=True)]
    nearest = min(ranks)
    equal = sorted((one for one, rank in zip(near, ranks, strict=True) if rank == nearest), key=seen)
    return equal[len(equal) // 2]


def alike(found: Sequence[Match], nodes: Array) -> list[npt.NDArray[np.int_]]:
    """The places of ``nodes`` for which the same matches are nearest to a question: those as far from what each was measured on."""
    spans = {_octaves(one.curve) for one in found}
    if len(spans) < 2 or len(nodes) == 1 or min(one.doubt for one in found) < SAME:
        return [np.arange(len(nodes))]
    far = np.array([_doublings_outside(span, nodes) for span in spans])
    far[:, (far == far[0]).all(axis=0)] = 0.0  # as far from each: the nearest is what would be without a distance
    _, group = np.unique(far, axis=1, return_inverse=True)
    return [np.array(places) for places in grouped(range(len(nodes)), group.ravel().tolist().__getitem__).values()]


def _octaves(curve: Curve) -> tuple[int, int]:
    """The doublings of one node, rounded up, of the fewest and the most nodes that a curve was measured on."""
    return (min(curve.nodes) - 1).bit_length(), (max(curve.nodes) - 1).bit_length()


def _doublings_outside(octaves: tuple[int, int], nodes: Array) -> Array:
    """Whole doublings between each of ``nodes`` and what :func:`_octaves` tells. Powers of two divide all sizes into few groups, whatever
    the numbers of nodes are that results have."""
    fewest, most = octaves
    there = np.ceil(np.log2(nodes))
    return np.asarray(np.maximum(np.maximum(there - most, fewest - there), 0.0))


def _says_hyperthreads(match: Match) -> bool:
    """Whether the results say that they used hyper-threads, and were measured in as many ranks, GPUs or threads as are asked for."""
    return bool(match.curve.series.hyperthreads) and not of_another_count(match.curve, match.question.layout)


def _nearness(match: Match, question: Question, unclear: bool) -> tuple[Any, ...]:
    """A sort key of matches of one spread: see :func:`best_match`. ``unclear``: other results say what these leave open."""
    curve, series, layout = match.curve, match.curve.series, question.layout
    varying, other = curve.varying, of_another_count(curve, layout)
    named = (varying, "ranks_per_node") if curve.ranks_per_gpu else (varying,)
    silent = [name for name in layouts.COUNTS if name not in named and getattr(layout, name) and getattr(curve.layout, name) is None]
    threads = "threads_per_rank" in silent  # unsaid or of several numbers
    unasked = sum(bool(getattr(series, name)) and question.attributes.get(name) is None for name in SPREAD)
    whole, apart = _of_whole_runs(curve, question)
    open_counts = (len(silent) - threads, other, threads, unclear)
    other_size = _of_other_size(series, question)
    return whole, apart, other_size, open_counts, -len(curve.sizes), -curve.results_used, unasked, series.metric


def _of_other_size(series: SeriesKey, question: Question) -> float:
    """How far the numbers among the parameters of results are from those in question: the sum of absolute log ratios."""
    asked = question.attributes.get("params", {})
    pairs = ((magnitude(series.params.get(name)), magnitude(text)) for name, text in asked.items())
    return round(sum(abs(math.log(one / other)) for one, other in pairs if one and other), 9)


def _of_whole_runs(curve: Curve, question: Question) -> tuple[int, float]:
    """``(kind, distance)``. Kind: 0 for a rate or a time per unit of work, 1 for the time of a whole run, 2 if the metric is not known to
    be of whole runs. Distance: of the run's length from the one in question, as absolute log ratio.
    """
    if not startup.is_whole(curve.series):
        return 0, 0.0
    done = startup.lengths(curve.series.params)
    apart = min((abs(math.log(asked / done[name])) for name, asked in question.lengths.items() if name in done), default=0.0)
    return 1 if curve.start_up or not startup.maybe_part(curve.series) else 2, round(apart, 9)


def matches(curves: Sequence[Curve], question: Question, power: Power | None) -> list[Match]:
    """Every curve of the question's metric as a match, in the given order."""
    return [_match(curve, question, power) for curve in curves if question.metric in (None, curve.series.metric)]


def _match(curve: Curve, question: Question, power: Power | None) -> Match:
    different, other_device = question.differing(curve.series), _other_device(curve, question.layout, power)
    shape = _shape_differences(curve, question.layout, other_device)
    silent = curve.series.hyperthreads is None and curve.states_threads
    if question.crowded and silent and not shape and not _beyond(curve, question.layout):
        different = [name for name in different if name != "hyperthreads"]
    spreads = _spreads(different, curve, question)
    if shape:
        spreads += [shape_spread(curve, question.layout, shape)]
    if other_device:
        spreads += [DEVICE_SPREAD]
    elif "system" in different and question.layout.gpus_per_node and _unknown_device(curve, power):
        spreads += [UNKNOWN_DEVICE_SPREAD]
    return Match(curve, question, power, math.sqrt(sum(s * s for s in spreads)), tuple(different), tuple(shape))


def _spreads(different: Sequence[str], curve: Curve, question: Question) -> list[float]:
    of_work = not WORK_SPREAD.keys().isdisjoint(different) and tells_of_work(curve)
    spreads = [WORK_SPREAD.get(name, SPREAD[name]) if of_work else SPREAD[name] for name in different]
    if of_work and "params" in different:
        spreads[different.index("params")] *= max(1.0, _of_other_size(curve.series, question) / OTHER_SIZE)
    scaled = question.scales_epochs and startup.samples_of(curve.series) is not None
    if "dataset" in different and metric_of(curve.series).per == "epoch" and not scaled:
        spreads[different.index("dataset")] = OTHER_EPOCH
    if _on_other_nodes(curve, different, question):
        spreads[different.index("partition")] = SPREAD["system"]
    both = (curve.series.precision, question.attributes.get("precision"))
    if "precision" in different and all(same_precision(name) in REDUCED for name in both):
        spreads[different.index("precision")] = REDUCED_SPREAD
    return spreads


def _on_other_nodes(curve: Curve, different: Sequence[str], question: Question) -> bool:
    """Whether a curve was measured on the question's system, on another kind of nodes."""
    return "partition" in different and "system" not in different and curve.series.partition in question.elsewhere


def tells_of_work(curve: Curve) -> bool:
    """Whether the cost grows with the problem: for a whole run, a step or simulated time, but hardly for a sample or an epoch."""
    return metric_of(curve.series).per not in ("sample", "epoch")


def seen(match: Match) -> tuple[float, tuple[float, ...], tuple[float, ...], tuple[int, ...]]:
    """A sort key for equally near curves that does not depend on names: the work at the largest size, then all measured values."""
    curve = match.curve
    counts = tuple(getattr(curve.layout, name) or 0 for name in layouts.COUNTS)
    return match.factor * curve.costs[-1] * curve.sizes[-1], curve.costs, curve.sizes, counts


def _shape_differences(curve: Curve, layout: Layout, other_device: bool) -> list[str]:
    varying, there = curve.varying, curve.layout_on(layout.gpus_per_node) if curve.threads_on else curve.layout
    apart = [name for name in layouts.COUNTS if name != varying and both_differ(getattr(there, name), getattr(layout, name))]
    if curve.ranks_per_gpu and layout.ranks_per_gpu not in (None, curve.ranks_per_gpu) and "ranks_per_node" not in apart:
        apart.append("ranks_per_node")
    return ["gpus_per_node", *apart] if other_device and "gpus_per_node" not in apart else apart


def of_another_count(curve: Curve, layout: Layout) -> bool:
    """Whether the ranks, GPUs or threads that vary along a curve were never as many as those of the layout."""
    varying = curve.varying
    return varying is not None and getattr(layout, varying) not in (None, *curve.per_node)


def _beyond(curve: Curve, layout: Layout) -> bool:
    """Whether the ranks, GPUs or threads that vary along a curve were always fewer than those of the layout."""
    varying = curve.varying
    return varying is not None and (getattr(layout, varying) or 0) > max(curve.per_node)


def shape_spread(curve: Curve, layout: Layout, shape: Sequence[str]) -> float:
    """Standard deviation of log cost for another layout; if only the batch size differs, by its doublings."""
    only_batch = Layout(batch_size=curve.layout.batch_size)
    return min(SHAPE_SPREAD, BATCH_SPREAD * layouts.distance(only_batch, layout)) if list(shape) == ["batch_size"] else SHAPE_SPREAD


def _other_device(curve: Curve, layout: Layout, power: Power | None) -> bool:
    """Whether one of both runs on GPUs and the other is known not to. Results that do not say used none where the nodes have none."""
    if layout.gpus_per_node and curve.on_gpus is None and _has_no_gpus(curve, power):
        return True
    return both_differ(curve.on_gpus, None if layout.gpus_per_node is None else layout.gpus_per_node > 0)


def _has_no_gpus(curve: Curve, power: Power | None) -> bool:
    """Whether the nodes behind a curve are known to have no GPUs."""
    return power is not None and power(curve.series.system, curve.series.partition, None, None)[-1] is not None


def _unknown_device(curve: Curve, power: Power | None) -> bool:
    """Whether neither a curve's results nor their system's description tell whether they used GPUs."""
    known = power(curve.series.system, curve.series.partition, None, None) if power else ()
    return curve.on_gpus is None and not any(known)


def _even_share(curve: Curve, question: Question, power: Power | None) -> float:
    """Ratio of GPUs, else of cores, per unit of size: the curve's over the layout's. 1 if a count is known on one side only.

    Two hyper-threads are one core.
    """
    there, layout = curve.layout, question.layout
    if curve.scale == "gpus" or _other_device(curve, layout, power):
        return 1.0
    if there.gpus_per_node and layout.gpus_per_node:
        return there.gpus_per_node / layout.gpus_per_node
    counts = [name for name in ("ranks_per_node", "threads_per_rank") if name != curve.varying]
    pairs = [(getattr(there, name), getattr(layout, name)) for name in counts]
    if any((one is None) != (other is None) for one, other in pairs):
        return 1.0
    here, behind = (2 if on else 1 for on in (question.attributes.get("hyperthreads"), curve.series.hyperthreads))
    return math.prod((one or 1) / (other or 1) for one, other in pairs) * here / behind


def _batches(curve: Curve, layout: Layout) -> float:
    """Ratio of the samples in a step, per unit of size: the layout's over the curve's. 1 for counts that are known on one side only."""
    pairs = [(curve.layout.batch_size, layout.batch_size)]
    if curve.scale == "nodes":
        pairs.append((curve.layout.gpus_per_node or curve.layout.ranks_per_node, layout.gpus_per_node or layout.ranks_per_node))
    return math.prod(asked / there for there, asked in pairs if there and asked)


def _power_ratio(curve: Curve, question: Question, power: Power | None) -> float | None:
    """Factor from the curve's cost to the question's system: the computing power behind the curve over that in question; ``None``: not
    known of both."""
    if power is None:
        return None
    gpus, threads = _gpus(curve, question.layout.gpus_per_node), _threads(curve, question.layout)
    series, system, partition = curve.series, question.attributes.get("system"), question.attributes.get("partition")
    there = power(series.system, series.partition, gpus[0], threads[0])
    here = power(system, partition, gpus[1], threads[1])
    if gpus == (None, None) and (there[0] is None) != (here[0] is None):
        # No side names GPUs, and only one has some: the program does without.
        there, here = power(series.system, series.partition, 0, threads[0]), power(system, partition, 0, threads[1])
    ratio = next((one / other for one, other in zip(there, here, strict=True) if one and other), None)
    of_workers = curve.scale == "gpus" or (there[-1] and here[-1])  # ranks and threads share cores alone
    return ratio * _share(curve, question.layout) if ratio and of_workers else ratio


def _gpus(curve: Curve, asked: int | None) -> tuple[int | None, int | None]:
    """GPUs in use per node (``None``: all) behind the curve and in question. If sizes count GPUs, an open count in question is 1."""
    if curve.scale == "gpus":
        return max(curve.per_node), 1 if asked is None else asked
    behind = curve.layout.gpus_per_node
    return (0, 0) if {behind, asked} == {None, 0} else (behind, asked)


def _threads(curve: Curve, asked: Layout) -> tuple[int | None, int | None]:
    """Threads per node behind the curve and in question; both ``None``: unknown, nodes are compared as a whole.

    Where one of ranks and threads varies, the other is as on the side that gives it, or one if neither does. If results differ from the
    question in one of them, it is also one if neither gives it.
    """
    names, varies = layouts.COUNTS[:2], curve.varying in layouts.COUNTS[:2]
    pairs = [(max(curve.per_node) if name == curve.varying else getattr(curve.layout, name), getattr(asked, name)) for name in names]
    if varies:
        pairs = [(one or other, other or one) for one, other in pairs]
    if varies or any(both_differ(*pair) for pair in pairs):
        pairs = [pair if any(pair) else (1, 1) for pair in pairs]
    there, here = zip(*pairs, strict=True)
    return (math.prod(there), math.prod(here)) if all(there) and all(here) else (None, None)


def _share(curve: Curve, layout: Layout) -> float:
    """Factor from a ratio per node to one per rank, GPU or thread, if sizes count these: the layout's number per node over the curve's."""
    if curve.scale == "gpus":
        return (layout.gpus_per_node or 1) / max(curve.per_node)
    name = curve.varying
    asked = getattr(layout, name) if name else None
    return asked / max(curve.per_node) if asked else 1.0
