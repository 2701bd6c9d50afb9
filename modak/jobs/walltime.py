"""The wall time that a job asks for."""

from __future__ import annotations

import math
from typing import Final

from modak.choosing.decision import Decision
from modak.dsl import Notice, Request
from modak.schedulers.header import LEFT_TO_REQUEST
from modak.text.amounts import as_given, counted
from modak.text.units import clock

START_UP_S: Final = 120
"""Added to the wall time if the system's file does not give its start-up time: measured times begin with the run, after the script has done
its checks, copied files and unpacked images."""
WALL_TIME_STEP_S: Final = 300


def wall_time_of(request: Request, decision: Decision) -> tuple[int | None, tuple[str, ...]]:
    """The wall time in seconds, and why: the request's, else the prediction's upper bound plus start-up, within the partition's limit.

    A deadline that is to be met with more confidence than the upper bound needs a later bound: the job must not be stopped before it.
    """
    partition, objective = decision.target.partition, request.optimisation.objective
    asked = request.job_options.wall_time_limit
    if asked:
        return asked, (f"wall time: {clock(asked)}, as requested",)
    upper = decision.evidence.upper(decision.best)
    if upper is None:
        if default := partition.default_wall_time_s if partition else None:
            return default, (f"wall time: {clock(default)}, the partition's default, because there is no prediction",)
        if (most := decision.target.max_wall_time_s(decision.nodes)) and _has_to_be_given(decision):
            return most, (f"wall time: {clock(most)}, the partition's limit, because the site wants one and there is no prediction",)
        return None, ("wall time: left to the scheduler, because there is no prediction",)
    bound, sure = "the upper bound of the prediction", objective.confidence
    if objective.deadline and (longest := decision.scored.bound_of(decision.best, sure)) > upper:
        upper, bound = longest, f"{bound} at confidence {as_given(sure)}"
    known = decision.target.system is not None and decision.target.system.start_up_s is not None
    wanted = math.ceil((upper + (0 if known else START_UP_S)) / WALL_TIME_STEP_S) * WALL_TIME_STEP_S
    limit = decision.target.max_wall_time_s(decision.nodes)
    if limit and wanted > limit:
        return limit, (f"wall time: {clock(limit)}, the partition's limit; {bound} plus start-up is {clock(wanted)}",)
    return wanted, (f"wall time: {clock(wanted)}, {bound} plus start-up",)


def _has_to_be_given(decision: Decision) -> bool:
    """Whether the site rejects jobs that do not say their wall time."""
    system = decision.target.system
    directives = system.mandatory_directives if system else ()
    return any(LEFT_TO_REQUEST.get(each.removesuffix("=")) == "wall_time_s" for each in directives)


def beyond_limit(request: Request, decision: Decision) -> tuple[Notice, ...]:
    """Warnings if the queue does not take a job of so many nodes, allows less than the requested wall time, or if a limit stops the run."""
    return (*_wrong_queue(request, decision), *_too_long(request, decision), *_too_short(request, decision))


def _wrong_queue(request: Request, decision: Decision) -> tuple[Notice, ...]:
    target, nodes = decision.target, decision.nodes
    queues = target.partition.queues if target.partition else ()
    named = target.queue_for(nodes)
    if named is None or named.min_nodes <= nodes <= named.max_nodes:
        return ()
    others = dict.fromkeys(
        f"{queue.name} (qos {queue.qos})" if queue.name == named.name else queue.name
        for queue in queues
        if queue.min_nodes <= nodes <= queue.max_nodes
    )
    instead = f"; {' and '.join(others)} would take it" if others else ""
    sizes = f"{named.min_nodes} to {named.max_nodes} nodes"
    text = f"queue {named.name} of {target.title} takes jobs of {sizes}, but this one has {nodes}: the scheduler will reject it{instead}"
    options = request.job_options
    queue = options.queue if options.queue == named.name or not options.partition else None
    field = "queue" if queue else "partition" if options.partition else "node_count"
    return (Notice(field=f"job_options.{field}", message=text),)


def _too_long(request: Request, decision: Decision) -> tuple[Notice, ...]:
    asked = request.job_options.wall_time_limit
    limit = decision.target.max_wall_time_s(decision.nodes) if asked else None
    if not (asked and limit and asked > limit):
        return ()
    text = f"{clock(asked)} requested, but {_at_most(decision, limit)}"
    return (Notice(field="job_options.wall_time_limit", message=text),)


def _at_most(decision: Decision, limit: int) -> str:
    target = decision.target
    where = f"{target.title}, queue {target.scheduler_partition}" if target.scheduler_partition else target.title
    return f"a job of {counted(decision.nodes, 'node')} on {where} may run for at most {clock(limit)}"


def _too_short(request: Request, decision: Decision) -> tuple[Notice, ...]:
    """A warning if the run is not over within the requested time, or the longest that a job may have, even if it is as fast as its interval
    allows, and no other job is said to continue it."""
    options, asked = request.job_options, request.job_options.wall_time_limit
    most, upper = asked or decision.target.max_wall_time_s(decision.nodes), decision.evidence.upper(decision.best)
    if not most or upper is None or upper <= most or options.signal or options.job_dependency or request.application.checkpoint:
        return ()
    found = decision.evidence.prediction(decision.best)
    if found.lower is None or found.lower <= most:
        return ()
    takes = f"{clock(math.ceil(found.lower))} to {clock(math.ceil(upper))} ({found.level:.0%} interval; basis: {found.basis})"
    given = f"{clock(asked)} requested" if asked else _at_most(decision, most)
    instead = "" if asked else "; with application.checkpoint, or a signal, another job can continue it"
    text = f"{given}, but the run takes {takes}: the scheduler will stop it{instead}"
    return (Notice(field="job_options.wall_time_limit", message=text),)
