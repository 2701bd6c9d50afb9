"""Rank predicted configurations by time, node-hours, energy or cost, under a deadline, a budget and a minimum efficiency.

A deadline is met at the stated confidence: P(time <= deadline) >= confidence, by the prediction interval. Parallel efficiency is
E(n) = T(r) r / (T(n) n): the node-seconds of the best layout at the smallest size ``r`` that it was measured at, over those of the
configuration. So a layout that wastes its cores is inefficient even if it scales well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from modak.dsl import Basis, Minimise, Objective
from modak.dsl.document import LONGEST_S
from modak.errors import Infeasible
from modak.perfmodel.intervals import bound
from modak.text.amounts import counted, span
from modak.text.units import clock

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
DEFAULT_EFFICIENCY = 0.5
"""Minimum efficiency if a request states no objective: as fast as possible while half of the node-hours do useful work."""
START_UP_S = 120.0
"""Time of each node that starting a job is assumed to take, for that default: so a run of seconds does not get a whole machine."""
SURE = tuple(percent / 100 for percent in range(50, 100))
"""Confidences to suggest if the deadline cannot be met at the requested one."""
FAR = 1.0
"""Sizes more than this many doublings beyond the measured ones are chosen only on request (``max_nodes``)."""


@dataclass(frozen=True)
class Scored:
    """Predicted configurations as columns of one length, sorted by nodes and then by spread, which decides between equal scores.

    Times are in seconds; NaN without prediction.
    """

    shape: npt.NDArray[np.int64]
    nodes: npt.NDArray[np.int64]
    time: Array
    spread: Array
    """Half-width of the 90 % interval of log time towards longer times, ..."""
    below: Array
    """... and towards shorter ones."""
    doublings: Array
    efficiency: Array
    basis: tuple[Basis, ...]
    power_w: float | None = None
    """Of a node, in watts; ``None``: unknown."""
    price: float | None = None
    """Of a node-hour; ``None``: unknown."""
    most_nodes: int | None = None
    """As in :class:`modak.choosing.candidates.Candidates`."""

    @property
    def node_hours(self) -> Array:
        """Nodes x time, in hours."""
        hours: Array = self.nodes * self.time / 3600.0
        return hours

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
        """Parallel efficiency with the start-up of a job that is assumed for the default minimum."""
        part: Array = self.efficiency * self.time / (self.time + START_UP_S)
        return part

    def bound(self, confidence: float) -> Array:
        """The time that is not exceeded with this probability."""
        return bound(self.time, self.spread, self.below, confidence)

    def bound_of(self, index: int, confidence: float) -> float:
        """The same of one configuration."""
        return float(bound(self.time[index], self.spread[index], self.below[index], confidence))


@dataclass(frozen=True)
class Ranking:
    """Scores of configurations, and how they were ranked."""

    score: Array
    """Of each configuration of :class:`Scored`; smaller is better, infinite if not feasible."""
    told: Callable[[], tuple[str, ...]]
    """Works out the decisions, which scripts alone do not need."""
    minimise: Minimise
    by_default: bool = False
    """Whether the default efficiency was demanded."""

    @cached_property
    def decisions(self) -> tuple[str, ...]:
        """How the configurations were ranked, in words."""
        return self.told()

    @cached_property
    def best(self) -> int:
        """Index of the best configuration."""
        return int(self.score.argmin())

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Indices of the feasible configurations, best first."""
        ranked = self.score.argsort(kind="stable")
        return tuple(ranked[: np.isfinite(self.score).sum()].tolist())


def rank(scored: Scored, objective: Objective, min_efficiency: float | None = None) -> Ranking:
    """Feasible configurations, best first.

    Raises :class:`modak.errors.Infeasible`, with the closest configuration and the constraint that cannot be met.
    """
    minimise = _minimised(objective)
    floor = _floor(objective, min_efficiency)
    known = np.isfinite(scored.time)
    if not np.count_nonzero(known):  # in a third of the time of any()
        nothing = ("objective: not applied, because nothing could be predicted",)
        return Ranking(np.zeros(scored.nodes.shape), lambda: nothing, minimise)
    silent = objective.minimise is None and objective.deadline is None and objective.budget_node_hours is None
    by_default = bool(floor is None and silent and scored.nodes[0] < scored.nodes[-1])
    allowed = near = _feasible(scored, known, objective, floor)
    if objective.max_nodes is None and not np.count_nonzero(near := allowed & (scored.doublings <= FAR)):
        near = allowed
    feasible = _useful(scored, near) if by_default else near
    if not np.count_nonzero(feasible):
        raise Infeasible(_what_stands_in_the_way(scored, objective, floor, known), field="optimisation.objective")

    def told() -> tuple[str, ...]:
        first = f"objective: minimise {minimise.replace('_', '-')}" + _conditions(objective, floor)
        if by_default:
            useful_part = f"a parallel efficiency >= {DEFAULT_EFFICIENCY:g} including {span(START_UP_S)} of start-up"
            first += f", at {useful_part} (the default: the request states no objective)"
        if not ((_useful(scored, allowed) if by_default else allowed) & ~near).any():
            return (first,)
        why = f"sizes more than {FAR:g} doubling beyond the measured ones are not considered"
        return first, f"{why}; set max_nodes to consider them"

    return Ranking(np.where(feasible, scores(scored, minimise), np.inf), told, minimise, by_default)


def nearest(scored: Scored, objective: Objective, min_efficiency: float | None = None) -> Ranking:
    """A ranking of one configuration: the one that comes closest to constraints which none meets."""
    score = np.full(scored.time.shape, np.inf)
    score[closest(scored, objective, min_efficiency)] = 0.0
    said = _conditions(objective, _floor(objective, min_efficiency))
    return Ranking(score, lambda: (f"objective: no configuration meets it{said}; this one comes closest",), _minimised(objective))


def _floor(objective: Objective, min_efficiency: float | None) -> float | None:
    """The minimum efficiency: the higher of the objective's and that of the rest of the request; ``None``: neither is given."""
    return max(filter(None, (objective.min_efficiency, min_efficiency)), default=None)


def _minimised(objective: Objective) -> Minimise:
    return objective.minimise or ("node_hours" if objective.deadline else "time")


def pareto(scored: Scored, among: Sequence[int]) -> tuple[int, ...]:
    """The configurations of ``among`` on the Pareto front of time and node-hours, fastest first."""
    indices = np.array(among, dtype=np.int64)
    time, hours = scored.time[indices], scored.node_hours[indices]
    fastest_first = np.lexsort((hours, time))
    cheapest_so_far = np.minimum.accumulate(hours[fastest_first])
    better = np.concatenate([[True], cheapest_so_far[1:] < cheapest_so_far[:-1]])[: len(indices)]
    return tuple(indices[fastest_first[better]].tolist())


def _conditions(objective: Objective, floor: float | None) -> str:
    parts = []
    if objective.deadline:
        parts.append(f"P(time <= {clock(objective.deadline)}) >= {objective.confidence:g}")
    if objective.budget_node_hours:
        parts.append(f"node-hours <= {objective.budget_node_hours:g}")
    if objective.max_nodes:
        parts.append(f"nodes <= {objective.max_nodes}")
    if floor:
        parts.append(f"parallel efficiency >= {floor:g}")
    return f" with {', '.join(parts)}" if parts else ""


def _feasible(scored: Scored, known: Flags, objective: Objective, floor: float | None) -> Flags:
    """Which of the ``known`` configurations meet the constraints."""
    feasible = known  # no comparison holds for NaN
    if objective.deadline:
        feasible = feasible & (scored.bound(objective.confidence) <= objective.deadline)
    if objective.budget_node_hours:
        feasible = feasible & (scored.node_hours <= objective.budget_node_hours)
    if objective.max_nodes:
        feasible = feasible & (scored.nodes <= objective.max_nodes)
    if floor:
        feasible = feasible & (scored.efficiency >= floor)
    return feasible


def _useful(scored: Scored, feasible: Flags) -> Flags:
    """The feasible configurations with the default efficiency; if none has it, those on the fewest nodes."""
    useful: Flags = feasible & (scored.useful >= DEFAULT_EFFICIENCY)
    if not np.count_nonzero(useful):
        useful = feasible & (scored.nodes == np.where(feasible, scored.nodes, scored.nodes.max()).min())
    return useful


def scores(scored: Scored, minimise: Minimise) -> Array:
    """What is minimised, for every configuration."""
    match minimise:
        case "time":
            return scored.time
        case "node_hours" | "energy" | "cost":
            # Energy and cost are node-hours times what a node draws or costs: on one partition the order is the same.
            return scored.node_hours


def closest(scored: Scored, objective: Objective, min_efficiency: float | None = None) -> int:
    """The configuration that misses the constraints by the smallest factor."""
    floor = _floor(objective, min_efficiency)
    excess = np.zeros(scored.time.shape)
    for worst, allowed in _demands(scored, objective, floor):
        excess = np.maximum(excess, np.log(np.nan_to_num(worst, nan=np.inf) / allowed))
    return int(np.lexsort((np.nan_to_num(scored.time, nan=np.inf), excess))[0])


def _demands(scored: Scored, objective: Objective, floor: float | None) -> Iterator[tuple[Array, float]]:
    """For each constraint the figure of every configuration, and the largest that is allowed."""
    if objective.max_nodes:
        yield scored.nodes.astype(np.float64), objective.max_nodes
    if objective.deadline:
        yield scored.bound(objective.confidence), objective.deadline
    if objective.budget_node_hours:
        yield scored.node_hours, objective.budget_node_hours
    if floor:
        yield 1 / scored.efficiency, 1 / floor


def _what_stands_in_the_way(scored: Scored, objective: Objective, floor: float | None, known: Flags) -> str:
    """Which constraint cannot be met, the closest configuration, and which relaxed constraints could be met."""
    within = known & (scored.nodes <= (objective.max_nodes or np.inf))
    if not within.any():
        return f"no configuration runs on max_nodes = {objective.max_nodes} or fewer: the smallest has {scored.nodes[known].min()}"
    near = closest(scored, objective, floor)
    bound = scored.bound(objective.confidence)
    described = (
        f"closest: {counted(scored.nodes[near], 'node')}, {span(scored.time[near])} predicted ({scored.basis[near]}), "
        f"at most {span(bound[near])} at confidence {objective.confidence:g}, "
        f"{scored.node_hours[near]:.3g} node-hours, efficiency {scored.efficiency[near]:.2f}"
    )
    would_do = list(_would_do(scored, objective, floor, known))
    give = "; feasible with: " + ", or ".join(would_do) if would_do else ""
    return f"{_obstacle(scored, objective, floor, within)}; {described}{give}"


def _obstacle(scored: Scored, objective: Objective, floor: float | None, within: Flags) -> str:
    """The constraints that no configuration meets, each by itself; else that they exclude each other."""
    bound, hours = scored.bound(objective.confidence)[within].min(), scored.node_hours[within].min()
    alone = []
    if objective.deadline and bound > objective.deadline:
        alone.append(f"the deadline of {clock(objective.deadline)} cannot be met at confidence {objective.confidence:g}")
    if objective.budget_node_hours and hours > objective.budget_node_hours:
        alone.append(f"a budget of {counted(objective.budget_node_hours, 'node-hour')} is not enough")
    if floor and np.nan_to_num(scored.efficiency[within], nan=0.0).max() < floor:
        alone.append(f"no configuration has a parallel efficiency of {floor:g}")
    return ", and ".join(alone) or "no configuration meets all constraints together"


def _would_do(scored: Scored, objective: Objective, floor: float | None, known: Flags) -> Iterator[str]:
    """For each constraint, a value that could be met with all others kept."""
    late = False
    if objective.deadline:
        others = _feasible(scored, known, objective.model_copy(update={"deadline": None}), floor)
        if late := bool(others.any()):
            longest = math.ceil(scored.bound(objective.confidence)[others].min())
            if longest <= LONGEST_S:
                yield f"a deadline of {clock(longest)}"
            surest = max((c for c in SURE if scored.bound(c)[others].min() <= objective.deadline), default=None)
            if surest is not None:
                yield f"confidence {surest:g}"
    if objective.budget_node_hours:
        others = _feasible(scored, known, objective.model_copy(update={"budget_node_hours": None}), floor)
        if others.any():
            yield f"a budget of {_rounded_up(scored.node_hours[others].min()):g} node-hours"
    if floor:
        others = _feasible(scored, known, objective, None)
        if others.any() and (most := math.floor(100 * np.nan_to_num(scored.efficiency[others]).max()) / 100):
            yield f"an efficiency of {most:g}"
    if not late:
        return  # more nodes save time, but neither node-hours nor efficiency
    smallest, largest, limit = scored.nodes[0], scored.nodes[-1], objective.max_nodes or math.inf
    if smallest == largest < limit:
        if largest < (scored.most_nodes or 0):
            yield f"perhaps node_count above {largest} (not examined: no result shows how the application scales over nodes)"
    elif limit < (scored.most_nodes or math.inf):
        yield f"perhaps max_nodes above {limit} (not examined)"


def _rounded_up(value: float) -> float:
    """Rounded up to three significant digits."""
    step = 10.0 ** (math.floor(math.log10(value)) - 2)
    return math.ceil(value / step) * step
