"""Which curve is nearest to a question, by the spread that their differences add (:mod:`modak.perfmodel.matching.dissimilarity`)."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from modak.arrays import Array, Ints
from modak.cache import Cache
from modak.facts import Layout
from modak.grouping import grouped
from modak.perfmodel.fitting import startup
from modak.perfmodel.fitting.curves import Curve
from modak.perfmodel.intervals import Z90
from modak.perfmodel.matching import dissimilarity, layouts, ratios
from modak.perfmodel.matching.devices import Power, other_device, unknown_device
from modak.perfmodel.matching.magnitudes import magnitude
from modak.perfmodel.matching.questions import SPREAD, Question, of_metric

DOUBLING_SPREAD: Final = 0.15
"""The spread of each doubling between the sizes in question and the measured ones. Used to find the nearest curve of another kind of run:
intervals, of which :mod:`modak.perfmodel.intervals` tells the width, grow by about as much (factors of 1.25, 1.5 and 1.8 at one to three
doublings)."""
TELLS: Final = 2
"""A curve of as many sizes shows how the run scales."""
MOST_KINDS: Final = 64
"""The comparison of curves with so many kinds of runs is kept for further questions."""
SAME: Final = 0.05
"""A curve with a smaller spread than this counts as measured in the configuration of the question."""


@dataclass(frozen=True)
class Match:
    """A curve from which a question may be answered."""

    curve: Curve
    question: Question
    power: Power | None
    attributes: tuple[str, ...]
    """The attributes in which they differ."""
    shape: tuple[str, ...]
    """The counts of the layout in which they differ."""
    dissimilarity: float
    """The spread for these attributes, and for another device."""
    of_layout: float
    """The spread for these counts."""

    @cached_property
    def spread(self) -> float:
        """The spread for all in which they differ."""
        return math.hypot(self.dissimilarity, self.of_layout)

    @property
    def differences(self) -> tuple[str, ...]:
        """All in which they differ."""
        return self.attributes + self.shape

    @property
    def doubt(self) -> float:
        """The spread; for a curve that is only estimated, combined with the spread of the estimate."""
        return math.hypot(self.spread, self.curve.estimated.half_width / Z90) if self.curve.estimated else self.spread

    @property
    def own(self) -> bool:
        """Whether the curve was measured in the configuration of the question."""
        return self.spread < SAME

    @cached_property
    def factor(self) -> float:
        """Factor from the curve's cost to that of the question."""
        return ratios.ratio(self.curve, self.question, self.power, other_nodes=self._other_nodes, other_layout=bool(self.shape))

    @property
    def on_gpus(self) -> bool:
        """Whether GPUs share the work in question: some are asked for, or nodes are compared by theirs, because nobody says."""
        named = self.question.layout.gpus_per_node
        return bool(named) or (self._other_nodes and ratios.by_gpus(self.curve, self.question, self.power))

    @property
    def _other_nodes(self) -> bool:
        """Whether the curve is of another system or kind of nodes."""
        return "system" in self.attributes or dissimilarity.on_other_nodes(self.curve, self.attributes, self.question)

    @property
    def device(self) -> tuple[bool, bool]:
        """Whether the results are of another device (GPUs beside processors), and whether nobody knows of which."""
        layout = self.question.layout
        return other_device(self.curve, layout, self.power), bool(layout.gpus_per_node) and unknown_device(self.curve, self.power)

    @property
    def problem_size(self) -> tuple[float | None, ...]:
        """The numbers among those parameters of the results that the question gives; ``None``: text, or not given."""
        return tuple(magnitude(self.curve.series.params.get(name)) for name in sorted(self.question.params))

    def asked_with(self, layout: Layout) -> Match:
        """The match with another layout in question."""
        shape = dissimilarity.differing_counts(self.curve, layout, self.power)
        question, of_layout = replace(self.question, layout=layout), dissimilarity.of_layout(self.curve, layout, shape)
        return replace(self, question=question, shape=tuple(shape), of_layout=of_layout)

    def taken_as_own(self) -> Match:
        """The match without the spread of what differs, for one who adds it to the answers of several."""
        return replace(self, dissimilarity=0.0, of_layout=0.0)

    def unlike(self, other: Match) -> float:
        """The standard deviation of the log ratio of costs of this configuration to those of another one, whatever their layouts."""
        names = dict.fromkeys((*self.attributes, *other.attributes))
        differing = [name for name in names if self.curve.labels[name] != other.curve.labels[name]]
        run = self.question.with_params(other.curve.series.params, plain=True)
        return dissimilarity.of_attributes(differing, self.curve, run)


class Matcher:
    """Compares curves with questions. Tables ask for many parameters of one kind of run: all else is compared once."""

    def __init__(self, power: Power | None) -> None:
        self._power = power
        self._compared = Cache(MOST_KINDS)

    def matches(self, curves: Sequence[Curve], question: Question) -> list[Match]:
        """Every curve of the question's metric as a match, in the given order."""
        open_ = question.without_params
        compared: dict[int, _Compared] = self._compared.get(open_, dict)
        differ = question.tests.get("params", lambda _: False)
        found = []
        for curve in of_metric(curves, question.metric):
            one = compared.get(id(curve)) or compared.setdefault(id(curve), self._compare(curve, open_))
            of_params = dissimilarity.of_attributes(["params"], curve, question) if differ(curve.series.params) else 0.0
            attributes, unlike = one.with_params if of_params else one.attributes, math.hypot(one.dissimilarity, of_params)
            found.append(Match(curve, question, self._power, attributes, one.shape, unlike, one.of_layout))
        return found

    def _compare(self, curve: Curve, question: Question) -> _Compared:
        """A curve with a question whose parameters are open."""
        shape = dissimilarity.differing_counts(curve, question.layout, self._power)
        found = dissimilarity.differing_attributes(curve, question, same_layout=not shape)
        attributes = tuple(name for name in found if name != "params")
        of_device = dissimilarity.of_device(curve, question, self._power, other_system="system" in attributes)
        return _Compared(
            attributes=attributes,
            with_params=tuple(name for name in SPREAD if name in (*attributes, "params")),
            shape=tuple(shape),
            dissimilarity=math.hypot(dissimilarity.of_attributes(attributes, curve, question), of_device),
            of_layout=dissimilarity.of_layout(curve, question.layout, shape),
        )


class _Compared(NamedTuple):
    """What of a match holds for all parameters."""

    attributes: tuple[str, ...]
    with_params: tuple[str, ...]
    """The attributes if parameters differ, too."""
    shape: tuple[str, ...]
    dissimilarity: float
    of_layout: float


def best_match(found: Sequence[Match], nodes: Array) -> Match:
    """Of matches of a question (at least one) that of the least doubt. If it was not measured in the configuration of the question, the
    distance of its sizes from the ``nodes`` in question counts, too. Of equals, the first by :class:`Nearness` is taken; of equals even
    then, the one in the middle by what it costs: names of systems and software decide nothing.
    """
    near = least(found, _doubts(found, nodes))
    nearest = least(near, [_nearness(one, near) for one in near]) if len(near) > 1 else near
    return sorted(nearest, key=order_of_equals)[len(nearest) // 2]


def least(found: Sequence[Match], ranks: Sequence[float] | Sequence[Nearness]) -> list[Match]:
    """The matches of the least rank."""
    first = min(ranks)
    return [one for one, rank in zip(found, ranks, strict=True) if rank == first]


def _doubts(found: Sequence[Match], nodes: Array) -> list[float]:
    """The doubt of each match; where none is of the question's configuration, combined with its distance from the nodes."""
    doubts = [one.doubt for one in found]
    if min(doubts) >= SAME:
        spans = [one.curve.octaves for one in found]
        away = {span: DOUBLING_SPREAD * float(_doublings_outside(span, nodes).min()) for span in set(spans)}
        doubts = [math.hypot(doubt, away[span]) for doubt, span in zip(doubts, spans, strict=True)]
    return [round(doubt, 9) for doubt in doubts]


class Nearness(NamedTuple):
    """How far results are from a question beside others of the same doubt; the first field in which two differ decides."""

    of_any_layout: bool
    """Whether they may be of any layout, and others state theirs; unless these are of one size, and they are of several."""
    kind: int
    """0 for a rate or a time per unit of work, whose start-up is known or added; 1 for the time of a whole run; 2 if that is not known."""
    other_length: float
    """Of a whole run: absolute log ratio of its length to the one in question."""
    other_size: float
    """See :func:`modak.perfmodel.matching.dissimilarity.of_other_size`."""
    unnamed_counts: int
    """Counts of the layout in question, other than threads, that the results do not name."""
    other_count: bool
    """Whether no run had as many ranks, GPUs or threads, where these vary."""
    unnamed_threads: bool
    unnamed_hyperthreads: bool
    """Whether they do not say that their threads beyond the cores are hyper-threads, and others do."""
    fewer_sizes: int
    fewer_results: int
    unasked: int
    """Attributes that they name and the question does not."""
    metric: str


def _nearness(match: Match, near: Sequence[Match]) -> Nearness:
    """``near``: all matches of the same doubt."""
    curve, series, question = match.curve, match.curve.series, match.question
    kind, other_length = _of_whole_runs(curve, question)
    unnamed = _unnamed_counts(curve, question.layout)
    return Nearness(
        _of_any_layout(curve, question.layout, near),
        kind,
        other_length,
        other_size=dissimilarity.of_other_size(series, question),
        unnamed_counts=len(unnamed - {"threads_per_rank"}),
        other_count=dissimilarity.of_another_count(curve, question.layout),
        unnamed_threads="threads_per_rank" in unnamed,
        unnamed_hyperthreads=_leaves_hyperthreads_open(match, near),
        fewer_sizes=-len(curve.sizes),
        fewer_results=-curve.results_used,
        unasked=sum(bool(getattr(series, name)) and question.attributes.get(name) is None for name in SPREAD),
        metric=series.metric,
    )


def _of_any_layout(curve: Curve, layout: Layout, near: Sequence[Match]) -> bool:
    """:attr:`Nearness.of_any_layout`."""
    if not curve.layout_unstated or not any(getattr(layout, name) for name in layouts.COUNTS[:3]):
        return False
    sizes = max((len(one.curve.sizes) for one in near if not one.curve.layout_unstated), default=0)
    return min(len(curve.sizes), TELLS) <= sizes


def _of_whole_runs(curve: Curve, question: Question) -> tuple[int, float]:
    """:attr:`Nearness.kind` and :attr:`Nearness.other_length`."""
    if not startup.is_whole(curve.series):
        return 0, 0.0
    done = startup.lengths(curve.series.params)
    apart = min((abs(math.log(asked / done[name])) for name, asked in question.lengths.items() if name in done), default=0.0)
    return 1 if curve.start_up or not startup.maybe_part(curve.series) else 2, round(apart, 9)


def _unnamed_counts(curve: Curve, layout: Layout) -> set[str]:
    """Counts of the layout that a curve leaves open; those that vary along it are named."""
    along = {curve.varying, "ranks_per_node"} if curve.ranks_per_gpu else {curve.varying}
    return {name for name in layouts.COUNTS if getattr(layout, name) and getattr(curve.layout, name) is None} - along


def _leaves_hyperthreads_open(match: Match, near: Sequence[Match]) -> bool:
    """Whether others that were measured on the same nodes say that threads beyond the cores are hyper-threads, and these do not."""
    if not match.question.crowded or _says_hyperthreads(match):
        return False
    return any(_says_hyperthreads(one) and set(one.curve.nodes).issuperset(match.curve.nodes) for one in near)


def _says_hyperthreads(match: Match) -> bool:
    """Whether the results say that they used hyper-threads, and were measured in as many ranks, GPUs or threads as are asked for."""
    return bool(match.curve.series.hyperthreads) and not dissimilarity.of_another_count(match.curve, match.question.layout)


def order_of_equals(match: Match) -> tuple[float, tuple[float, ...], tuple[float, ...], tuple[int, ...]]:
    """A sort key for equally near curves that does not depend on names: the work at the largest size, then all measured values."""
    curve = match.curve
    counts = tuple(getattr(curve.layout, name) or 0 for name in layouts.COUNTS)
    return match.factor * curve.costs[-1] * curve.sizes[-1], curve.costs, curve.sizes, counts


def places_by_nearest(found: Sequence[Match], nodes: Array) -> list[Ints]:
    """The places of ``nodes`` for which the same matches are nearest to a question: those as far from what each was measured on."""
    spans = {one.curve.octaves for one in found}
    if len(spans) < 2 or len(nodes) == 1 or min(one.doubt for one in found) < SAME:
        return [np.arange(len(nodes))]
    far = [_doublings_outside(span, nodes).tolist() for span in spans]

    def distances(place: int) -> Hashable:
        """Those of a size; none if they are equal, because then they do not tell which match is nearest."""
        of_size = tuple(of_span[place] for of_span in far)
        return of_size if len(set(of_size)) > 1 else ()

    return [np.array(places) for places in grouped(range(len(nodes)), distances).values()]


def _doublings_outside(octaves: tuple[int, int], nodes: Array) -> Array:
    """Whole doublings between each of ``nodes`` and :attr:`~modak.perfmodel.Curve.octaves`: powers of two divide all sizes into few groups,
    whatever the numbers of nodes are that results have."""
    fewest, most = octaves
    there = np.ceil(np.log2(nodes))
    return np.asarray(np.maximum(np.maximum(there - most, fewest - there), 0.0))
