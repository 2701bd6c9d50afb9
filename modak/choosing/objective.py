"""Rank predicted configurations by time, node-hours, energy or cost, under a deadline, a budget and a minimum efficiency.

A deadline is met at the stated confidence: P(time <= deadline) >= confidence, by the prediction interval. Parallel efficiency is
E(n) = T(r) r / (T(n) n): the node-seconds of the best layout at its reference size ``r``, over those of the configuration. So a layout that
wastes its cores is inefficient even if it scales well. References are the smallest measured size, and half of it, which is as far as sizes
beyond the measured ones are considered; see :class:`modak.choosing.scoring.Reference`. More than 1 is told of measured sizes only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal, NamedTuple

import numpy as np

from modak.arrays import Array, Flags, Ints
from modak.choosing.timelimits import START_UP_S
from modak.dsl import Basis, Minimise, Objective
from modak.dsl.document import LONGEST_S
from modak.errors import Infeasible
from modak.perfmodel.intervals import Z90, HalfWidths, TruncatedForecast, bound
from modak.text.amounts import as_given, counted, format_duration, format_number
from modak.text.units import clock

DEFAULT_EFFICIENCY: Final = 0.5
"""Minimum efficiency if a request states no objective: as fast as possible while half of the node-hours do useful work. The time that a job
is assumed to take to start (:data:`START_UP_S`, on each node) is not useful, so that a run of seconds does not get a whole machine."""
CONFIDENCES: Final = tuple(percent / 100 for percent in range(50, 100))
"""Confidences to suggest if the deadline cannot be met at the requested one."""
ALIKE: Final = 1e-4
"""Scores that differ by a smaller part than this are equal in the digits that answers show: what a fit leaves of perfect scaling."""
UNREQUESTED_DOUBLINGS: Final = 1.0
"""Sizes more than this many doublings beyond the measured ones are chosen only on request (``max_nodes``, or a number of nodes or ranks),
or if they are the nearest."""


@dataclass(frozen=True)
class Scored:
    """Predicted configurations as columns of one length, sorted by nodes and then by the width of the interval, which decides between equal
    scores.

    Times are in seconds; NaN without prediction.
    """

    shape: Ints
    nodes: Ints
    time: Array
    width: HalfWidths
    """Half-widths of the 90 % interval of log time."""
    doublings: Array
    efficiency: Array
    basis: tuple[Basis, ...]
    rates: Mapping[str, float] = field(default_factory=dict)
    """What a node-hour takes, as :func:`modak.choosing.spending.rates` has it."""
    taken: Array | None = None
    """The nodes that each is charged for, with parts of them; ``None``: all of its ``nodes``."""
    of_nodes: Array | None = None
    """Beside ``taken`` the efficiency if whole nodes count."""
    most_nodes: int | None = None
    """As in :class:`modak.choosing.candidates.Candidates`."""
    grows: bool = False
    """Whether the problem grows with the number of nodes, so that times of different sizes are not of the same work."""
    least_work: float = math.inf
    """What efficiency is relative to: node-seconds, or seconds if the problem grows; infinite if nothing was measured."""
    wider: Callable[[], Scored] | None = None
    """The same without ``max_nodes``, by which a refusal says how many nodes would do; ``None``: not to be predicted."""
    longest: Callable[[int], float] | None = None
    """As :func:`modak.choosing.timelimits.longest_run` has it."""
    start: Array | None = None
    """What each job takes to start beside its time, in seconds; ``None``: nothing."""
    stopped: Array | None = None
    """The seconds that each takes at least, because runs were stopped; 0: nothing is known. ``None``: of any."""
    predicted: TruncatedForecast | None = None
    """What the models predict of each whose time they predict, and which of these are known to take longer; ``None``: time and width."""

    @property
    def one_size_each(self) -> bool:
        """Whether each shape has one size: that of the request, which leaves none to be chosen, or the only one that can run."""
        return int(self.shape.max()) + 1 == len(self.shape)

    @cached_property
    def nearest(self) -> Array:
        """Doublings beyond the measured sizes of the nearest configuration on as many nodes as each."""
        first, counts = self._sizes
        return np.repeat(np.fmin.reduceat(self.doublings, first), counts)

    @cached_property
    def _sizes(self) -> tuple[Ints, Ints]:
        """Of each number of nodes, by which they are sorted: the first configuration, and how many there are."""
        first = np.flatnonzero(np.concatenate(([True], self.nodes[1:] != self.nodes[:-1])))
        return first, np.concatenate((first[1:], [len(self.nodes)])) - first

    def for_sizes(self, value: Callable[[int], float]) -> Array:
        """What a number of nodes has, for each configuration."""
        first, counts = self._sizes
        return np.repeat([float(value(nodes)) for nodes in self.nodes[first].tolist()], counts)

    @property
    def charged(self) -> Array | Ints:
        """The nodes that each is charged for, with parts of them where jobs share nodes."""
        return self.nodes if self.taken is None else self.taken

    @property
    def node_hours(self) -> Array:
        """Nodes x time, in hours."""
        return np.asarray(self.charged * self.time / 3600.0)

    @property
    def job_node_hours(self) -> Array:
        """The same with the start-up of a job that is assumed for the default minimum of efficiency."""
        return np.asarray(self.charged * (self.time + START_UP_S) / 3600.0)

    def next_smaller(self, index: int) -> int | None:
        """The configuration of the same shape with the next smaller number of nodes; ``None``: there is none."""
        smaller = np.flatnonzero((self.shape == self.shape[index]) & (self.nodes < self.nodes[index]))
        return int(smaller[-1]) if len(smaller) else None

    def next_larger(self, index: int) -> int | None:
        """The configuration of the same shape with the next larger number of nodes; ``None``: there is none."""
        larger = np.flatnonzero((self.shape == self.shape[index]) & (self.nodes > self.nodes[index]))
        return int(larger[0]) if len(larger) else None

    @property
    def useful(self) -> Array:
        """Parallel efficiency of whole nodes with the start-up of a job that is assumed for the default minimum, which is about adding
        nodes: most programs use the last cores of a node badly, and are run on several all the same."""
        efficiency = self.efficiency if self.of_nodes is None else self.of_nodes
        return np.asarray(efficiency * self.time / (self.time + START_UP_S))

    def bound(self, confidence: float) -> Array:
        """The time that is not exceeded with this probability."""
        return bound(self.time, self.width, confidence) if self.predicted is None else self.predicted.bound(confidence)

    def bound_of(self, index: int, confidence: float) -> float:
        """The same of one configuration."""
        if self.predicted is not None:
            return float(self.predicted.bound(confidence)[index])
        return float(bound(self.time[index], self.width.at(index), confidence))

    def least_s(self, index: int) -> float:
        """The seconds that a configuration takes at least, because runs were stopped; 0: nothing is known."""
        return 0.0 if self.stopped is None else float(self.stopped[index])


@dataclass(frozen=True)
class Ranking:
    """Scores of configurations, and how they were ranked."""

    score: Array
    """Of each configuration of :class:`Scored`; smaller is better, infinite if not feasible."""
    explain: Callable[[], tuple[str, ...]]
    """Works out the decisions, which scripts alone do not need."""
    minimise: Minimise
    by_default: bool = False
    """Whether the default efficiency was demanded, and is reached."""
    limits: Array | None = None
    """Doublings beyond the measured sizes up to which each configuration was considered; ``None``: no limit."""
    min_efficiency: float | None = None
    """The one that was demanded."""
    met: Flags | None = None
    """Configurations that meet the constraints; ``None``: all."""
    stopped: Flags | None = None
    """Configurations that are left out because the wall time limit may stop them, and others not."""

    @cached_property
    def decisions(self) -> tuple[str, ...]:
        """How the configurations were ranked, in words."""
        return self.explain()

    @cached_property
    def best(self) -> int:
        """Index of the best configuration."""
        return int(self.score.argmin())

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Indices of the feasible configurations, best first."""
        ranked = self.score.argsort(kind="stable")
        return tuple(ranked[: np.isfinite(self.score).sum()].tolist())


def rank(scored: Scored, objective: Objective) -> Ranking:
    """Feasible configurations, best first.

    Raises :class:`modak.errors.Infeasible`, with the closest configuration and the constraint that cannot be met.
    """
    minimise = _minimised(scored, objective)
    known = np.isfinite(scored.time)
    if not known.any():
        return _unpredicted(scored, objective)
    constraints = tuple(_constraints(scored, objective))
    allowed = _meeting(constraints, known)
    limits = _furthest(scored, objective, allowed)
    near = allowed & (scored.doublings <= limits)
    if objective.max_nodes or scored.one_size_each:
        near |= _worth_its_doubt(scored, minimise, allowed)
    if not near.any():
        raise Infeasible(_what_stands_in_the_way(scored, objective, constraints, known), field="optimisation.objective")
    by_default = not _states_an_aim(objective) and scored.nodes[0] < scored.nodes[-1]
    default, feasible = _kept_by_default(scored, near) if by_default else (None, near)
    score = _best_alike(np.where(feasible, scores(scored, minimise), np.inf), scored.shape)
    stopped = _stopped(scored, objective.confidence, feasible, int(score.argmin()))

    def explain() -> tuple[str, ...]:
        first = f"objective: minimise {minimise.replace('_', '-')}" + _in_words(constraints)
        if default:
            counted_whole = "" if scored.of_nodes is None or default == "growing" else ", whole nodes counted"
            first += f", {_DEFAULTS[default]}{counted_whole} (the default: the request states no objective)"
        if stopped is not None:
            first += f", among configurations that end within the wall time limit (at confidence {as_given(objective.confidence)})"
        _, without_limit = _kept_by_default(scored, allowed) if by_default else (None, allowed)
        if not (without_limit & ~near).any():
            return (first,)
        return first, _not_considered(scored, objective, float(limits.max()))

    score = score if stopped is None else _best_alike(np.where(stopped, np.inf, score), scored.shape)
    return Ranking(score, explain, minimise, default == "useful", limits, objective.min_efficiency, allowed, stopped)


def _stopped(scored: Scored, confidence: float, feasible: Flags, best: int) -> Flags | None:
    """Which of the ``feasible`` configurations may be stopped before their end, if the ``best`` is one of them and others are not: who asks
    for the fewest node-hours does not ask for a job that ends without its result."""
    if scored.longest is None:
        return None
    start = np.zeros(scored.time.shape) if scored.start is None else scored.start
    if scored.bound_of(best, confidence) + start[best] <= scored.longest(int(scored.nodes[best])):
        return None
    stopped = feasible & (scored.bound(confidence) + start > scored.for_sizes(scored.longest))
    return None if (stopped == feasible).all() else stopped


def _unpredicted(scored: Scored, objective: Objective) -> Ranking:
    """All configurations as they are, if no time is known; of the constraints only ``max_nodes`` can be judged."""
    if objective.max_nodes and scored.nodes[0] > objective.max_nodes:
        raise Infeasible(_beyond_most_nodes(scored.nodes, objective), field="optimisation.objective")
    kept = f" but for nodes <= {objective.max_nodes}" if objective.max_nodes else ""
    nothing = (f"objective: not applied{kept}, because nothing could be predicted",)
    return Ranking(np.zeros(scored.nodes.shape), lambda: nothing, _minimised(scored, objective))


def _states_an_aim(objective: Objective) -> bool:
    """Whether the objective says more than ``max_nodes``."""
    return bool(objective.minimise or objective.deadline or objective.budget_node_hours or objective.min_efficiency)


def _furthest(scored: Scored, objective: Objective, allowed: Flags) -> Array:
    """Doublings beyond the measured sizes up to which each configuration is considered: at least to the nearest of the ``allowed`` ones;
    with ``max_nodes``, which asks for sizes and not for layouts that nobody ran there, not much further than any on as many nodes."""
    if objective.max_nodes is not None:
        return scored.nearest + UNREQUESTED_DOUBLINGS
    return np.full(scored.time.shape, max(UNREQUESTED_DOUBLINGS, float(scored.doublings.min(where=allowed, initial=math.inf))))


def rank_closest(scored: Scored, objective: Objective) -> Ranking:
    """A ranking of one configuration: the one that comes closest to constraints which none meets."""
    constraints = tuple(_constraints(scored, objective))
    score = np.full(scored.time.shape, np.inf)
    score[_closest(scored, constraints)] = 0.0
    decisions = (f"objective: no configuration meets it{_in_words(constraints)}; this one comes closest",)
    return Ranking(score, lambda: decisions, _minimised(scored, objective))


def _minimised(scored: Scored, objective: Objective) -> Minimise:
    """The request's aim, or the default one; node-hours for an aim that takes a figure which is not recorded."""
    wanted: Minimise = objective.minimise or ("node_hours" if objective.deadline else "time")
    return wanted if wanted == "time" or wanted in scored.rates else "node_hours"


def pareto(scored: Scored, among: Sequence[int]) -> tuple[int, ...]:
    """The configurations of ``among`` on the Pareto front of time and node-hours, fastest first."""
    indices = np.array(among, dtype=np.int64)
    time, hours = (_but_for_rounding(each[indices]) for each in (scored.time, scored.node_hours))
    fastest_first = np.lexsort((hours, time))
    cheapest_so_far = np.minimum.accumulate(hours[fastest_first])
    better = np.concatenate([[True], cheapest_so_far[1:] < cheapest_so_far[:-1]])[: len(indices)]
    return tuple(indices[fastest_first[better]].tolist())


def scores(scored: Scored, minimise: Minimise) -> Array:
    """What is minimised, for every configuration: the time, or node-hours, in whose order all that they take is."""
    return scored.time if minimise == "time" else scored.node_hours


def _best_alike(score: Array, shape: Ints) -> Array:
    """The scores, of which those that are as good as the best of their shape, or of all, are equal to it: the fewest nodes and the surest
    prediction decide."""
    best = np.full(int(shape.max()) + 1, np.inf)
    np.minimum.at(best, shape, score)
    best = np.where(best <= best.min() * (1 + ALIKE), best.min(), best)[shape]
    return np.where(score <= best * (1 + ALIKE), best, score)


def _but_for_rounding(values: Array) -> Array:
    """The values to ten digits: those that are equal but for errors of rounding are equal."""
    fraction, exponent = np.frexp(values)  # value = fraction * 2**exponent, the fraction from 0.5 to 1
    return np.asarray(np.ldexp(fraction.round(10), exponent))


class _Constraint(NamedTuple):
    """A constraint of an objective. Texts are worked out where they are needed."""

    excess: Array
    """The factor by which each configuration misses it; at most 1 if it does not."""
    in_words: Callable[[], str]
    missed: Callable[[], str] = str
    """That no configuration meets it, whatever the other constraints are."""
    instead: Callable[[Flags], Iterable[str]] = lambda others: ()
    """Limits that could be met, from the configurations that meet all other constraints."""


def _constraints(scored: Scored, objective: Objective) -> Iterator[_Constraint]:
    """The constraints of the objective, the deadline first."""
    if deadline := objective.deadline:
        sure = objective.confidence
        yield _Constraint(
            scored.bound(sure) / deadline,
            lambda: f"P(time <= {clock(deadline)}) >= {as_given(sure)}",
            lambda: f"the deadline of {clock(deadline)} cannot be met at confidence {as_given(sure)}",
            lambda others: _later_or_less_sure(scored, deadline, sure, others),
        )
    if budget := objective.budget_node_hours:
        hours = scored.node_hours
        yield _Constraint(
            hours / budget,
            lambda: f"node-hours <= {as_given(budget)}",
            lambda: f"a budget of {budget_in_words(budget)} is not enough",
            lambda others: [f"a budget of {format_number(_rounded_up(hours[others].min()))} node-hours"],
        )
    if most := objective.max_nodes:  # what is missed is judged within it, and sizes beyond it are not predicted
        yield _Constraint(
            scored.nodes / most, lambda: f"nodes <= {most}", instead=lambda others: [f"max_nodes {scored.nodes[others].min()}"]
        )
    if floor := objective.min_efficiency:
        yield _Constraint(
            floor / scored.efficiency,
            lambda: f"parallel efficiency >= {as_given(floor)}",
            lambda: f"no configuration has a parallel efficiency of {as_given(floor)}",
            lambda others: _less_efficient(scored.efficiency[others]),
        )
    if not objective.max_nodes and (guesses := _guesses(scored)).any():
        yield _Constraint(
            np.where(guesses, np.inf, 0.0),
            lambda: "at most 1 doubling beyond the measured sizes where runs were stopped",
            instead=lambda others: [f"max_nodes {scored.nodes[others].min()} (a guess, because runs were stopped)"],
        )


def _guesses(scored: Scored) -> Flags:
    """Far sizes whose prediction a run that was stopped has refuted, and those further away, of which it only tells less: what they take is
    a guess on a guess. None, if there are no others."""
    if scored.predicted is None or scored.one_size_each:
        return np.zeros(scored.time.shape, dtype=bool)
    far = scored.doublings > UNREQUESTED_DOUBLINGS
    refuted = scored.predicted.refuted & far
    nearest = np.full(int(scored.shape.max()) + 1, np.inf)
    np.minimum.at(nearest, scored.shape[refuted], scored.doublings[refuted])
    found = far & (scored.predicted.than > 0) & (scored.doublings >= nearest[scored.shape])
    return np.asarray(found & ~found[np.isfinite(scored.time)].all())


def _in_words(constraints: Sequence[_Constraint]) -> str:
    return f" with {', '.join(one.in_words() for one in constraints)}" if constraints else ""


def _meeting(constraints: Iterable[_Constraint], known: Flags) -> Flags:
    """Which of the ``known`` configurations meet the constraints; no comparison holds for NaN."""
    for one in constraints:
        known = known & (one.excess <= 1)
    return known


def _worth_its_doubt(scored: Scored, minimise: Minimise, allowed: Flags) -> Flags:
    """Which of the ``allowed`` configurations is expected to be the best one, however far it is beyond measured sizes.

    A layout that is three times as fast on fewer nodes is no guess to be avoided, if its interval is not wide. What is expected is the mean
    of a log-normal distribution: the wider, the more it lies above the median that is predicted.
    """
    expected = scores(scored, minimise) * np.exp((scored.width.above / Z90) ** 2 / 2)
    return np.asarray(allowed & (expected == expected.min(where=allowed, initial=np.inf)))


def _not_considered(scored: Scored, objective: Objective, limit: float) -> str:
    """What was not considered although it meets the constraints."""
    unless = "are not considered, unless one is expected to be the best"
    if objective.max_nodes:
        return f"layouts that were measured {further_than(UNREQUESTED_DOUBLINGS)} further away than others {unless}"
    if scored.one_size_each:
        return f"layouts that were measured {further_than(limit)} away {unless}; set max_nodes to consider them"
    but = f", except the nearest feasible one ({limit:.2g} doublings beyond)" if limit > UNREQUESTED_DOUBLINGS else ""
    return f"sizes {further_than(UNREQUESTED_DOUBLINGS)} beyond the measured ones are not considered{but}; set max_nodes to consider them"


def further_than(limit: float) -> str:
    """``more than 1 doubling``, for instance."""
    shown = f"{limit:.2g}"
    return f"more than {shown} doubling{'' if shown == '1' else 's'}"


_Default = Literal["useful", "fewest", "growing"]
"""What holds if a request states no objective: the default efficiency; if no size has it, the fewest nodes; in weak scaling, where more
nodes save no time, the fewest that were measured."""
_USEFUL: Final = f"a parallel efficiency >= {DEFAULT_EFFICIENCY:g} including {format_duration(START_UP_S)} for the job to start"
_DEFAULTS: Final[Mapping[_Default, str]] = {
    "useful": f"at {_USEFUL}",
    "fewest": f"on the fewest nodes, because no size has {_USEFUL}",
    "growing": "on the fewest measured nodes, because more nodes run a larger problem (weak scaling) and do not save time",
}


def _kept_by_default(scored: Scored, feasible: Flags) -> tuple[_Default, Flags]:
    """The default that holds for the ``feasible`` configurations, of which there is one at least, and those that meet it."""
    if scored.grows:
        nearest = feasible & (scored.doublings == scored.doublings[feasible].min())
        return "growing", _on_fewest_nodes(scored, nearest)
    useful = feasible & (scored.useful >= DEFAULT_EFFICIENCY)
    return ("useful", useful) if useful.any() else ("fewest", _on_fewest_nodes(scored, feasible))


def _on_fewest_nodes(scored: Scored, feasible: Flags) -> Flags:
    return np.asarray(feasible & (scored.nodes == scored.nodes[feasible].min()))


def _closest(scored: Scored, constraints: Iterable[_Constraint]) -> int:
    """The configuration that misses the constraints by the smallest factor."""
    worst = np.ones(scored.time.shape)
    for one in constraints:
        worst = np.maximum(worst, np.nan_to_num(one.excess, nan=np.inf))
    return int(np.lexsort((np.nan_to_num(scored.time, nan=np.inf), worst))[0])


def _what_stands_in_the_way(scored: Scored, objective: Objective, constraints: Sequence[_Constraint], known: Flags) -> str:
    """Which constraints no configuration meets, each by itself; the closest configuration; and which relaxed constraints could be met: one,
    or if none is enough, all that the closest configuration misses."""
    within = known & (scored.nodes <= (objective.max_nodes or np.inf))
    if not within.any():
        return _beyond_most_nodes(scored.nodes[known], objective)
    alone = [one.missed() for one in constraints if not _meeting([one], within).any()]
    obstacle = ", and ".join(alone) or "no configuration meets all constraints together"
    near = _closest(scored, constraints)
    upper = scored.bound_of(near, objective.confidence)
    most = clock(math.ceil(upper)) if objective.deadline and math.isfinite(upper) else format_duration(upper)  # as the deadline is given
    described = (
        f"closest: {counted(scored.nodes[near], 'node')}, {format_duration(scored.time[near])} predicted ({scored.basis[near]}), "
        f"at most {most} at confidence {as_given(objective.confidence)}, "
        f"{format_number(scored.node_hours[near])} node-hours, efficiency {scored.efficiency[near]:.2f}"
    )
    if scored.predicted is not None and (least := scored.predicted.than[near]):
        described += f", more than {format_duration(least)} by a run that was stopped"
    text = f"{obstacle}; {described}"
    offers = [*_would_do(constraints, known), *_more_nodes(scored, objective, constraints, known)]
    if offers:
        return f"{text}; feasible with: {', or '.join(offers)}"
    limits = _limits_of(near, constraints)
    return f"{text}; feasible with all of: {', '.join(limits)}" if limits else text


def _limits_of(index: int, constraints: Sequence[_Constraint]) -> tuple[str, ...]:
    """For each constraint that a configuration misses, the limit that it meets; empty if a request cannot have one of them."""
    alone = np.arange(len(constraints[0].excess)) == index
    found = [next(iter(one.instead(alone)), "") for one in constraints if not one.excess[index] <= 1]
    return tuple(found) if all(found) else ()


def _beyond_most_nodes(nodes: Ints, objective: Objective) -> str:
    return f"no configuration runs on max_nodes = {objective.max_nodes} or fewer: the smallest has {nodes.min()}"


def _would_do(constraints: Sequence[_Constraint], known: Flags) -> Iterator[str]:
    """For each constraint, limits that could be met with all others kept."""
    for place, one in enumerate(constraints):
        others = _meeting((*constraints[:place], *constraints[place + 1 :]), known)
        if others.any():
            yield from one.instead(others)


def _more_nodes(scored: Scored, objective: Objective, constraints: Sequence[_Constraint], known: Flags) -> Iterator[str]:
    """Numbers of nodes with which a deadline may be met, if it alone stands in the way: more save time, but no node-hours."""
    if not (objective.deadline and _meeting(constraints[1:], known).any()):
        return
    smallest, largest, limit = scored.nodes[0], scored.nodes[-1], objective.max_nodes or math.inf
    if smallest == largest < limit:
        if largest < (scored.most_nodes or 0):
            yield f"perhaps node_count above {largest} (not examined: no result shows how the application scales over nodes)"
    elif limit < (scored.most_nodes or math.inf):
        if scored.wider is None:
            yield f"perhaps max_nodes above {limit} (not examined)"
        else:
            yield from _enough_nodes(scored.wider(), objective.model_copy(update={"max_nodes": None}))


def _enough_nodes(scored: Scored, objective: Objective) -> Iterator[str]:
    """The fewest nodes that meet all constraints."""
    enough = np.flatnonzero(_meeting(_constraints(scored, objective), np.isfinite(scored.time)))
    if len(enough):
        far = scored.doublings[enough[0]]
        beyond = f" ({far:.2g} doublings beyond the measured sizes)" if far > UNREQUESTED_DOUBLINGS else ""
        yield f"max_nodes {scored.nodes[enough[0]]}{beyond}"


def _later_or_less_sure(scored: Scored, deadline: int, confidence: float, others: Flags) -> Iterator[str]:
    """A deadline that one of the ``others`` meets, and a confidence at which it meets this one."""
    longest = math.ceil(scored.bound(confidence)[others].min())
    if longest <= LONGEST_S:
        yield f"a deadline of {clock(longest)}"
    surest = max((c for c in CONFIDENCES if scored.bound(c)[others].min() <= deadline), default=None)
    if surest is not None:
        yield f"confidence {surest:g}"


def _less_efficient(known: Array) -> Iterator[str]:
    if most := math.floor(100 * np.nan_to_num(known).max()) / 100:
        yield f"an efficiency of {most:g}"


def budget_in_words(node_hours: float) -> str:
    """A budget of the request, with all its digits."""
    return f"{as_given(node_hours)} node-hour{'' if node_hours == 1 else 's'}"


def _rounded_up(value: float) -> float:
    """Rounded up to three significant digits."""
    step = 10.0 ** (math.floor(math.log10(value)) - 2)
    return math.ceil(value / step) * step
