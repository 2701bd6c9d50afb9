"""Rank predicted configurations: time, node-hours, energy or cost, under a deadline, a budget and an efficiency.

A deadline is met at the stated confidence, from the interval, not from the mean: P(time <= deadline) >= confidence.
Parallel efficiency is E(n) = T(r) r / (T(n) n): the node-seconds of the best layout at the smallest size ``r`` that it was
measured at, over those of the configuration. A layout that wastes its cores is not efficient for scaling well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from modak.dsl import Basis, Objective
from modak.errors import Infeasible
from modak.grammar import clock
from modak.perfmodel.predict import bound

Array = npt.NDArray[np.float64]
DEFAULT_EFFICIENCY = 0.5
"""Where a request states no objective at all: as fast as possible while half of each node's time does useful work."""
START_UP_S = 120.0
"""What starting a job is taken to cost every node, for that default: a run of seconds does not take a machine."""
FAR = 1.0
"""Doublings beyond the measured sizes that are chosen without being asked for."""


@dataclass(frozen=True)
class Scored:
    """Predicted configurations as columns of one length. Times in seconds; NaN where there is no evidence."""

    shape: npt.NDArray[np.int64]
    nodes: npt.NDArray[np.int64]
    time: Array
    spread: Array
    """Half the width of the 90 % interval of the log of time."""
    doublings: Array
    efficiency: Array
    basis: tuple[Basis, ...]
    power_w: float | None = None
    """Per node, where the system says it."""
    price: float | None = None
    """Per node-hour."""

    @property
    def node_hours(self) -> Array:
        """Nodes x time, in hours."""
        hours: Array = self.nodes * self.time / 3600.0
        return hours

    def bound(self, confidence: float) -> Array:
        """The time that is not exceeded with this probability."""
        return bound(self.time, self.spread, confidence)


@dataclass(frozen=True)
class Ranking:
    """Indices into :class:`Scored`, best first, and how they were ranked."""

    order: tuple[int, ...]
    decisions: tuple[str, ...]
    minimise: str


def rank(scored: Scored, objective: Objective, min_efficiency: float | None = None) -> Ranking:
    """Feasible configurations, best first.

    Raises :class:`modak.errors.Infeasible` with the closest configuration and what stands in the way.
    """
    minimise = objective.minimise or ("node_hours" if objective.deadline else "time")
    floor = objective.min_efficiency or min_efficiency
    decisions = [f"objective: least {minimise.replace('_', '-')}" + _conditions(objective, floor)]
    known = np.isfinite(scored.time)
    if not known.any():
        return Ranking(tuple(range(len(scored.nodes))), ("objective: not applied, no prediction rests on evidence",), minimise)
    silent = objective.minimise is None and objective.deadline is None and objective.budget_node_hours is None
    feasible = known & _feasible(scored, objective, floor)
    if floor is None and silent and len(np.unique(scored.nodes)) > 1:
        useful = feasible & (scored.efficiency * scored.time >= DEFAULT_EFFICIENCY * (scored.time + START_UP_S))
        feasible = useful if useful.any() else feasible & (scored.nodes == scored.nodes[known].min())
        decisions[0] += f" while at least {DEFAULT_EFFICIENCY:g} of each node's time, start-up counted, is useful (no objective was stated)"
    near = feasible & (scored.doublings <= FAR)
    if objective.max_nodes is None and near.any() and (feasible & ~near).any():
        decisions.append(f"sizes more than {FAR:g} doubling beyond the measured ones are left out; max_nodes asks for them")
        feasible = near
    if not feasible.any():
        raise Infeasible(_what_stands_in_the_way(scored, objective, floor, known), field="optimisation.objective")
    score = np.where(feasible, _score(scored, minimise), np.inf)
    order = np.lexsort((scored.spread, scored.nodes, score))
    return Ranking(tuple(int(index) for index in order if feasible[index]), tuple(decisions), minimise)


def pareto(scored: Scored, among: Sequence[int]) -> tuple[int, ...]:
    """The configurations of ``among`` that no other beats in both time and node-hours, fastest first."""
    indices = np.array(among, dtype=np.int64)
    time, hours = scored.time[indices], scored.node_hours[indices]
    fastest_first = np.lexsort((hours, time))
    cheapest_so_far = np.minimum.accumulate(hours[fastest_first])
    better = np.concatenate([[True], cheapest_so_far[1:] < cheapest_so_far[:-1]])[: len(indices)]
    return tuple(int(index) for index in indices[fastest_first[better]])


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


def _feasible(scored: Scored, objective: Objective, floor: float | None) -> npt.NDArray[np.bool_]:
    feasible = np.ones(scored.nodes.shape, dtype=bool)
    if objective.deadline:
        feasible &= np.nan_to_num(scored.bound(objective.confidence), nan=np.inf) <= objective.deadline
    if objective.budget_node_hours:
        feasible &= np.nan_to_num(scored.node_hours, nan=np.inf) <= objective.budget_node_hours
    if objective.max_nodes:
        feasible &= scored.nodes <= objective.max_nodes
    if floor:
        feasible &= np.nan_to_num(scored.efficiency, nan=0.0) >= floor
    return feasible


def _score(scored: Scored, minimise: str) -> Array:
    if minimise == "time":
        return scored.time
    # Energy and cost are node-hours times what a node draws or costs: on one partition the order is the same.
    return scored.node_hours


def _what_stands_in_the_way(scored: Scored, objective: Objective, floor: float | None, known: npt.NDArray[np.bool_]) -> str:
    """The closest configuration, and the first constraint that cannot be met."""
    within = known & (scored.nodes <= (objective.max_nodes or np.inf))
    if not within.any():
        return f"nothing runs on at most {objective.max_nodes} nodes"
    bound = np.where(within, scored.bound(objective.confidence), np.inf)
    fastest = int(np.argmin(bound))
    if objective.deadline and bound[fastest] > objective.deadline:
        return (
            f"the deadline of {objective.deadline} s cannot be met at confidence {objective.confidence:g}; "
            f"closest: {scored.nodes[fastest]} nodes, {scored.time[fastest]:.0f} s predicted, at most {bound[fastest]:.0f} s; "
            f"a deadline of {bound[fastest]:.0f} s would be met"
        )
    cheapest = int(np.argmin(np.where(within, scored.node_hours, np.inf)))
    if objective.budget_node_hours and scored.node_hours[cheapest] > objective.budget_node_hours:
        return (
            f"{objective.budget_node_hours:g} node-hours are not enough; the least is {scored.node_hours[cheapest]:.3g} node-hours "
            f"on {scored.nodes[cheapest]} nodes in {scored.time[cheapest]:.0f} s"
        )
    best = int(np.argmax(np.where(within, np.nan_to_num(scored.efficiency, nan=0.0), -1.0)))
    wanted = f"parallel efficiency {floor:g}" if floor else "the objective"
    closest = f"the most efficient is {scored.nodes[best]} nodes at {scored.efficiency[best]:.2f}"
    return f"no configuration meets all constraints together ({wanted} among them); {closest}"
