"""The wall time that a job asks for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Final

from modak.choosing.decision import Decision
from modak.choosing.timelimits import binding_limit, is_continued, limits_hold
from modak.choosing.workload import only_one
from modak.dsl import Notice, Request
from modak.errors import Infeasible
from modak.facts import Partition, Queue
from modak.schedulers.header import LEFT_TO_REQUEST
from modak.target import Target
from modak.text.amounts import as_given, counted, counted_range
from modak.text.units import clock

WALL_TIME_STEP_S: Final = 300
LONGER: Final = 2
"""Wall time of a run that takes longer than one which was stopped, as a multiple of that one's time. Nothing tells how much longer."""
_HUNG: Final = "if it hung, 'modak results doubt' takes it out"
_UPPER: Final = "the upper bound of the prediction"


def wall_time_of(request: Request, decision: Decision) -> tuple[int | None, tuple[str, ...]]:
    """The wall time in seconds and why: the request's, else the prediction's upper bound and the job's start, within the partition's limit.
    What is predicted for one epoch, or step, of a run of unknown length is no bound of it.

    A deadline that is to be met with more confidence than the upper bound needs a later bound: the job must not be stopped before it.
    Raises :class:`modak.errors.Infeasible` if more is requested than a job there can have, unless the run is over before, or is to be
    continued by another job: then it gets all that there is.
    """
    seconds, why = _wall_time(request, decision)
    if decision.target.scheduler != "shell":
        return seconds, (why,)
    return seconds, (
        f"{why}; a plain shell does not stop the run then" if seconds else "wall time: no limit, because a plain shell has none",
    )


def _wall_time(request: Request, decision: Decision) -> tuple[int | None, str]:
    part = only_one(request.optimisation.workload, decision.evidence.per(decision.best))
    upper = decision.evidence.upper(decision.best)
    if asked := request.job_options.wall_time_limit:
        return _requested(request, decision, asked, upper, of_whole_run=part is None)
    if part:
        return _without_bound(request, decision, f"the prediction is for one {part}, and the request does not say how many the run has")
    if upper is None:
        return _without_bound(request, decision, "there is no prediction")
    return _predicted(request, decision, upper)


def _requested(request: Request, decision: Decision, asked: int, upper: float | None, *, of_whole_run: bool) -> tuple[int, str]:
    """What the request asks for, or as much of it as a job there can have; ``of_whole_run``: the prediction is not of one epoch or step."""
    if limit := binding_limit(request, decision.target, decision.nodes):
        over_before = of_whole_run and _is_over_by(limit, decision, request.optimisation.objective.confidence)
        if not (over_before or is_continued(request)):
            raise Infeasible(_without_end(request, decision, limit), field="job_options.wall_time_limit")
        return limit, f"wall time: {clock(limit)}, the partition's limit; {clock(asked)} is requested"
    ends = 0 if upper is None else math.ceil(upper + _beside_run_s(request, decision))
    later = f"; {_UPPER} plus {_beside_run(request)} is {clock(ends)}" if ends > asked else ""
    return asked, f"wall time: {clock(asked)}, as requested{later}"


def _without_bound(request: Request, decision: Decision, unknown: str) -> tuple[int | None, str]:
    """The partition's default, or what else the site wants, where no prediction says how long the run takes; ``unknown``: why not. More
    than the default, which may be unknown, if a run was stopped that may have had no more than that."""
    partition, most = decision.target.partition, decision.target.max_wall_time_s(decision.nodes)
    default, stopped = partition.default_wall_time_s if partition else None, decision.scored.least_s(decision.best)
    if default and LONGER * stopped > default:
        return _within_limit(request, decision, LONGER * stopped, _longer_than(stopped))
    if default and (most is None or default <= most):
        return default, f"wall time: {clock(default)}, the partition's default, because {unknown}"
    if default and most:
        return most, f"wall time: {clock(most)}, all that such a job may have, because {unknown}"
    if most and _has_to_be_given(decision):
        return most, f"wall time: {clock(most)}, the partition's limit, because the site wants one and {unknown}"
    if stopped:
        return _within_limit(request, decision, LONGER * stopped, _longer_than(stopped))
    return None, f"wall time: left to the scheduler, because {unknown}"


def _predicted(request: Request, decision: Decision, upper: float) -> tuple[int, str]:
    """The end of the prediction's interval, or of a wider one for a deadline, and the job's start, within the limit; at least twice what a
    run that was stopped shows it to exceed."""
    bound, objective = _UPPER, request.optimisation.objective
    if objective.deadline and (longest := decision.scored.bound_of(decision.best, objective.confidence)) > upper:
        upper, bound = longest, f"{bound} at confidence {as_given(objective.confidence)}"
    if (longest := LONGER * (stopped := decision.scored.least_s(decision.best))) > upper:
        upper, bound = longest, _longer_than(stopped)
    return _within_limit(request, decision, upper, bound)


def _longer_than(stopped: float) -> str:
    return f"{LONGER} x the {clock(math.ceil(stopped))} that a stopped run shows it to exceed"


def _within_limit(request: Request, decision: Decision, seconds: float, bound: str) -> tuple[int, str]:
    """So many seconds, which are the ``bound`` of the run, and what the job takes beside it, within the limit."""
    wanted = math.ceil((seconds + _beside_run_s(request, decision)) / WALL_TIME_STEP_S) * WALL_TIME_STEP_S
    limit = decision.target.max_wall_time_s(decision.nodes)
    if limit and wanted > limit:
        return limit, f"wall time: {clock(limit)}, the partition's limit; {bound} plus {_beside_run(request)} is {clock(wanted)}"
    return wanted, f"wall time: {clock(wanted)}, {bound} plus {_beside_run(request)}"


def _beside_run_s(request: Request, decision: Decision) -> float:
    """The job's start, and what follows its signal: a run that gets it is not over, or may stop early."""
    signal = request.job_options.signal
    return _start_up_s(decision) + (signal.seconds if signal else 0)


def _beside_run(request: Request) -> str:
    """The same in words."""
    return "the job's start and the time after its signal" if request.job_options.signal else "the job's start"


def _is_over_by(seconds: int, decision: Decision, confidence: float) -> bool:
    """Whether the run ends in time, as sure as the choice is."""
    return decision.scored.bound_of(decision.best, confidence) + _start_up_s(decision) <= seconds


def _start_up_s(decision: Decision) -> float:
    """What is added to the prediction."""
    return 0.0 if decision.scored.start is None else float(decision.scored.start[decision.best])


def _without_end(request: Request, decision: Decision, limit: int) -> str:
    """The message for a run that no job there can hold, with what can be done."""
    asked = request.job_options.wall_time_limit or 0
    limits = tuple(_limits(decision.target.system.partitions if decision.target.system else ()))
    longer, most = _named(limits, asked), max((seconds for _, seconds in limits), default=0)
    chain = "with application.checkpoint, or a signal, each job asks for that, and the next one continues it"
    elsewhere = f"; longer jobs may run in {', '.join(longer)}" if longer else ""
    if limit < most < asked:
        elsewhere = f"; {clock(int(most))} is the most, in {', '.join(_named(limits, most))}"
    return f"{clock(asked)} requested, but {_at_most(decision, limit)}: ask for no more; {chain}{elsewhere}"


def _named(limits: Iterable[tuple[str, float]], seconds: float) -> list[str]:
    """Where a job may run so long. Kinds of nodes, and queues, may share a name."""
    return list(dict.fromkeys(name for name, longest in limits if longest >= seconds))


def _limits(partitions: Iterable[Partition]) -> Iterator[tuple[str, float]]:
    """The queues with their quality of service and sizes, and partitions without queues, each with the seconds that a job may run there;
    infinite: unknown."""
    for partition in partitions:
        for queue in partition.queues:
            qos = f"qos {queue.qos}, " if queue.qos else ""
            yield f"{queue.name} ({qos}{counted_range(queue.min_nodes, queue.max_nodes, 'node')})", partition.longest_in(queue)
        if not partition.queues:
            yield partition.queue or partition.name, partition.max_wall_time_s or math.inf


def _has_to_be_given(decision: Decision) -> bool:
    """Whether the site rejects jobs that do not say their wall time."""
    system = decision.target.system
    directives = system.mandatory_directives if system else ()
    return any(LEFT_TO_REQUEST.get(each.removesuffix("=")) == "wall_time_s" for each in directives)


def beyond_limit(request: Request, decision: Decision) -> tuple[Notice, ...]:
    """Warnings if the queue does not take a job of so many nodes, allows less than the requested wall time, or if a limit stops the run, or
    has stopped one that took longer than predicted.

    Raises the error of :func:`wrong_queue`.
    """
    queue, too_long = wrong_queue(request, decision.target, decision.nodes), _too_long(request, decision)
    return (*queue, *too_long, *_too_short(request, decision), *_stopped_before(request, decision))


def wrong_queue(request: Request, target: Target, nodes: int) -> tuple[Notice, ...]:
    """A warning if the queue that the request names, or the nearest one, does not take a job of so many nodes.

    Raises :class:`modak.errors.Infeasible` for more nodes than it surely takes: Slurm may keep such a job waiting for ever.
    """
    named = target.queue_for(nodes)
    if named is None or named.min_nodes <= nodes <= named.max_nodes:
        return ()
    instead = _takers(target, named, nodes)
    sizes = counted_range(named.min_nodes, named.max_nodes, "node")
    called = f"{named.name} (qos {named.qos})" if named.qos else named.name
    text = f"queue {called} of {target.title} takes jobs of {sizes}, but this one has {nodes}"
    options = request.job_options
    queue = options.queue if options.queue == named.name or not options.partition else None
    field = f"job_options.{'queue' if queue else 'partition' if options.partition else 'node_count'}"
    if nodes > named.max_nodes and limits_hold(request, target):
        raise Infeasible(f"{text}{instead}", field=field)
    return (Notice(field=field, message=f"{text}: the scheduler will reject it{instead}"),)


def _takers(target: Target, named: Queue, nodes: int) -> str:
    """Which other queues would take a job of so many nodes, for the end of a message; empty: none."""
    others = dict.fromkeys(
        f"{queue.name} ({f'qos {queue.qos}' if queue.qos else 'without a qos'})" if queue.name == named.name else queue.name
        for queue in (target.partition.queues_for(nodes) if target.partition else ())
    )
    return f"; {' and '.join(others)} would take it" if others else ""


def _too_long(request: Request, decision: Decision) -> tuple[Notice, ...]:
    asked = request.job_options.wall_time_limit
    limit = decision.target.max_wall_time_s(decision.nodes) if asked else None
    if not (asked and limit and asked > limit):
        return ()
    instead = ": the script asks for that" if binding_limit(request, decision.target, decision.nodes) else ""
    text = f"{clock(asked)} requested, but {_at_most(decision, limit)}{instead}"
    return (Notice(field="job_options.wall_time_limit", message=text),)


def _at_most(decision: Decision, limit: int) -> str:
    target = decision.target
    where = f"{target.title}, queue {target.scheduler_partition}" if target.scheduler_partition else target.title
    return f"a job of {counted(decision.nodes, 'node')} on {where} may run for at most {clock(limit)}"


def _too_short(request: Request, decision: Decision) -> tuple[Notice, ...]:
    """A warning if the run is not over within the requested time, or the longest that a job may have, even if it is as fast as its interval
    allows, and no other job is said to continue it."""
    asked = request.job_options.wall_time_limit
    most, upper = asked or decision.target.max_wall_time_s(decision.nodes), decision.evidence.upper(decision.best)
    if not most or upper is None or upper <= most or is_continued(request):
        return ()
    found = decision.evidence.prediction(decision.best)
    if found.lower is None or found.lower <= most:
        return ()
    takes = f"{clock(math.ceil(found.lower))} to {clock(math.ceil(upper))} ({found.level:.0%} interval; basis: {found.basis})"
    given = f"{clock(asked)} requested" if asked else _at_most(decision, most)
    instead = "" if asked else "; with application.checkpoint, or a signal, another job can continue it"
    text = f"{given}, but the run takes {takes}: the scheduler will stop it{instead}"
    return (Notice(field="job_options.wall_time_limit", message=text),)


def _stopped_before(request: Request, decision: Decision) -> Iterator[Notice]:
    """A warning if by a run that was stopped the choice takes longer than the results allow; without a time, than it is given."""
    best, scored, asked = decision.best, decision.scored, request.job_options.wall_time_limit
    if not (least := scored.least_s(best)):
        return
    longer = f"a run of this layout was stopped, so this one takes more than {clock(math.ceil(least))}"
    if scored.predicted is not None and scored.predicted.than[best]:
        if scored.predicted.refuted[best]:
            most = clock(math.ceil(scored.predicted.upper[best]))
            text = f"{longer}, though at most {most} is predicted without it: how much more is a guess ({_HUNG})"
            yield Notice(field="job_options.wall_time_limit", message=text)
    elif asked and asked <= least:
        yield Notice(field="job_options.wall_time_limit", message=f"{longer}: {clock(asked)} is too short")
