"""The reasons for a decision: a line for each choice among the candidates, and for each alternative why it was not chosen."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from modak.choosing.decision import Decision, choice_of
from modak.choosing.effects import in_words
from modak.choosing.failures import FAILED_ONCE, failed_at_other_problems, failed_once
from modak.choosing.nodeshare import largest_node_share
from modak.choosing.objective import DEFAULT_EFFICIENCY, further_than
from modak.choosing.openswitch import BELOW_SINGLE, OpenSwitch, SwitchEvidence
from modak.choosing.requirements import is_build
from modak.choosing.scoring import telling
from modak.choosing.sensitivity import sensitivity
from modak.choosing.shapes import Shape
from modak.choosing.software import no_image
from modak.choosing.switching import effect_on, obstacle
from modak.choosing.workload import MOST_NAMED, with_problem
from modak.dsl import Choice, Request
from modak.perfmodel.fitting.precisions import USUAL_PRECISION, canonical_precision
from modak.text.amounts import cell, counted, format_duration, join_names, share
from modak.text.choices import named

SMALL_PART: Final = 0.5
"""A job that takes no more than this of its nodes is told so where it is unknown whether it is charged for whole ones."""


def why(request: Request, decision: Decision) -> tuple[str, ...]:
    """One line for each choice that was made among candidates."""
    lines = [
        *decision.candidates.decisions,
        *_switch_lines(request, decision),
        *decision.ranking.decisions,
        *_failed_line(request, decision),
    ]
    if not decision.evidence.known:
        return (*lines, f"time: not predicted, because {_nothing_known(request, decision)}", *_stopped_line(request, decision))
    choice = choice_of(decision, decision.best)
    shape = decision.shape
    lines.append(_layout_line(decision, shape))
    lines += _part_line(request, decision, shape)
    lines += _cores_line(request, decision, shape)
    lines += _build_line(request, decision, shape)
    lines += _params_line(decision, shape)
    lines.append(_nodes_line(decision, choice))
    lines += _stopped_line(request, decision)
    lines += _start_line(decision, choice)
    lines += _efficiency_line(decision, choice)
    wanted = request.optimisation.objective
    return (*lines, *sensitivity(decision.scored, decision.ranking, wanted, partial(describe_candidate, decision)))


def _nothing_known(request: Request, decision: Decision) -> str:
    if request.workload_name is None:
        return "the request names no application (application.app_tag)"
    if decision.amounts_needed:
        return f"the results need more than the request states: {decision.amounts_needed[0].message}"
    if not decision.measured_on:
        return "there are no usable results of this application"
    where = join_names([name or "an unnamed system" for name in decision.measured_on], MOST_NAMED)
    return f"none of the results of this application (on {where}) gives a time here"


def _failed_line(request: Request, decision: Decision) -> Iterator[str]:
    """A line if a run of the choice failed, or several did at other problem sizes."""
    if not decision.facts.failed:
        return
    target, facts, shape, nodes = decision.target, decision.facts, decision.shape, decision.nodes
    alone = decision.candidates.with_pairs([(shape, np.array([nodes]))])
    if failed_once(request, target, alone, facts):
        yield f"{describe_candidate(decision, decision.best)}: {FAILED_ONCE}"
    elif count := failed_at_other_problems(request, target, decision.candidates, shape, nodes, facts):
        told = f"{counted(count, 'run')} with other problems failed, and none ended well, so this one may fail, too"
        yield f"{describe_candidate(decision, decision.best)}: {told}"


def _switch_lines(request: Request, decision: Decision) -> Iterator[str]:
    """One line for each open switch: whether it is on, and why; if its effect is unknown, which runs would decide. One line for the
    precision if nothing is known of any."""
    request, target = with_problem(request, decision.candidates.problem), decision.target
    image_for = partial(no_image, request, decision.facts, target)
    where = f"{counted(decision.nodes, 'node')} of {target.title}"
    precisions: list[bool] = []  # whether one may be chosen by what is known
    for each in decision.candidates.tried:
        stop, evidence = None, _both_ways(decision, each.switch)
        if evidence is None:
            stop, evidence = obstacle(each.switch, decision.shape, target, image_for), _by_pairs(request, decision, each)
        if each.switch.column == "precision":
            precisions.append(evidence is not None and stop is None)
        if line := _switch_line(each.switch, decision.shape, evidence, stop, where):
            yield line
    if precisions and not any(precisions):
        yield _unknown_precision(decision.shape, where)


def _switch_line(switch: OpenSwitch, shape: Shape, evidence: str | None, stop: str | None, where: str) -> str | None:
    """The line for one switch; ``None`` if nothing is known of it and it is on, or a precision. ``stop``: why the shape cannot have it."""
    on = switch.is_on(shape)
    if stop and not on:
        return f"{switch.name}: off, because {stop}" if evidence or switch.column != "precision" else None
    if evidence is not None:
        return f"{switch.name}: {'on' if on else 'off'}, {evidence}"
    if on or switch.column == "precision":
        return None
    return f"{switch.name}: off, because its effect is unknown: compare one run with it and one without it on {where}"


def _unknown_precision(shape: Shape, where: str) -> str:
    """The line for a precision that nothing decides: that of the shape, and which runs would decide."""
    own = shape.precision or USUAL_PRECISION
    other = BELOW_SINGLE[0] if canonical_precision(own) == USUAL_PRECISION else USUAL_PRECISION
    kept = f"as measured ({shape.precision})" if shape.precision else "as the program has it"
    return f"precision: {kept}, because no pair of results shows its effect: compare one run with {own} and one with {other} on {where}"


def _by_pairs(request: Request, decision: Decision, each: SwitchEvidence) -> str | None:
    """The effect of a switch by pairs of other runs, and why one that helps is off; ``None`` without pairs."""
    estimate, shape, switch = effect_on(request, decision.target, decision.shape, decision.nodes, each), decision.shape, each.switch
    if estimate is None or not estimate.helps or switch.is_on(shape):
        return str(estimate) if estimate else None
    instead = (shape.compiler if switch.column == "compiler" else shape.precision) if switch.excluded_by(shape) else None
    return f"{estimate}; the choice has {instead} instead" if instead else f"{estimate}{_with_it(decision, switch)}"


def _both_ways(decision: Decision, switch: OpenSwitch) -> str | None:
    """The effect of a switch at the chosen size by the application's own curves; ``None`` if it was not measured both on and off."""
    scored, best, shapes = decision.scored, decision.best, decision.candidates.shapes
    rivals = np.array([switch.tells_apart(decision.shape, each) for each in shapes])
    found = np.flatnonzero(rivals[scored.shape] & (scored.nodes == scored.nodes[best]) & np.isfinite(scored.time)).tolist()
    if not found:
        return None
    pair = (best, min(found, key=lambda i: float(scored.time[i])))
    on, off = pair if switch.is_on(decision.shape) else pair[::-1]
    spread = math.hypot(*(float(scored.width.above[index]) for index in (on, off)))
    basis = " and ".join(dict.fromkeys(scored.basis[index] for index in (on, off)))
    with_it, without = (decision.evidence.prediction(index).results_used for index in (on, off))
    rests = f"{basis}: {counted(with_it, 'result')} with it, {without} without"
    ratio = in_words(math.log(scored.time[on] / scored.time[off]), spread, rests)
    return f"{ratio}{_ruled_out(decision, pair[1], 'with it' if pair[1] == on else 'without it')}"


def _with_it(decision: Decision, switch: OpenSwitch) -> str:
    """Why the choice is without a switch that is predicted to help, as the rest of a sentence; empty if it is not known."""
    shape = replace(switch.turned_on(decision.shape), inferred=())
    shapes = [place for place, each in enumerate(decision.candidates.shapes) if replace(each, inferred=()) == shape]
    found = np.flatnonzero(np.isin(decision.scored.shape, shapes) & (decision.scored.nodes == decision.nodes))
    return _ruled_out(decision, int(found[0]), "with it") if found.size else ""


def _ruled_out(decision: Decision, other: int, way: str) -> str:
    """Why a candidate of the same size that is faster than the choice is not the choice, as the rest of a sentence; empty if it is slower
    or meets the constraints. ``way``: how it differs from the choice."""
    scored, best = decision.scored, decision.best
    if not scored.time[other] < scored.time[best] or np.isfinite(decision.ranking.score[other]):
        return ""
    several = decision.nodes > 1
    beyond = f"{'are' if several else 'is'} {further_than(_limit(decision, other))} beyond the measured sizes"
    unmet = _unmet(decision, other, f"{'do' if several else 'does'} not meet the constraints")
    out = beyond if _too_far(decision, other) else unmet
    return f"; {way}, {counted(decision.nodes, 'node')} {out}"


def _too_far(decision: Decision, index: int) -> bool:
    """Whether a candidate is further beyond the measured sizes than is considered."""
    return bool(decision.scored.doublings[index] > _limit(decision, index))


def _further(decision: Decision, index: int) -> bool:
    """The same, and further than the choice, which may be so far itself because it is worth its doubt."""
    doublings = decision.scored.doublings
    return _too_far(decision, index) and bool(doublings[index] > doublings[decision.best])


def _limit(decision: Decision, index: int) -> float:
    """Doublings beyond the measured sizes up to which a candidate is considered."""
    limits = decision.ranking.limits
    return math.inf if limits is None else float(limits[index])


def _unmet(decision: Decision, index: int, otherwise: str) -> str:
    """Why a candidate is left out: because it may not end within the wall time limit, or ``otherwise``."""
    stopped = decision.ranking.stopped
    return "may not end within the wall time limit" if stopped is not None and stopped[index] else otherwise


def _layout_line(decision: Decision, shape: Shape) -> str:
    """Why this layout: how much faster it is than the next one at the same size."""
    ranks, threads = shape.ranks_per_node, shape.threads_per_rank
    text = f"layout: {counted(ranks, 'rank')} per node x {counted(threads, 'thread')} per rank{_beside_counts(decision, shape)}"
    rivals = {index: _shape_text(decision, index) for index in _same_size(decision) if not decision.shape_at(index).laid_out_as(shape)}
    return f"{text}{_against(decision, rivals, ': ')}"


def _same_size(decision: Decision) -> list[int]:
    """The candidates on the chosen number of nodes that have a prediction."""
    scored = decision.scored
    return np.flatnonzero((scored.nodes == decision.nodes) & np.isfinite(scored.time)).tolist()


def _against(decision: Decision, rivals: Mapping[int, str], before: str) -> str:
    """How much longer the rivals take, by their names. Faster ones were ruled out: they would not say why this is the choice; the fastest
    of those that were measured too far away is named after them, because a run would tell."""
    time, at = decision.scored.time, f"at {counted(decision.nodes, 'node')}"
    slower = {i: name for i, name in rivals.items() if np.isfinite(decision.ranking.score[i]) or time[i] >= time[decision.best]}
    if slower:
        text = f"{before}{at} {_how_much_longer(decision, slower)}"
    else:
        text = f", the only one {'considered' if rivals else 'with a prediction'} {at}"
    far = min((i for i in rivals if i not in slower and _too_far(decision, i)), key=lambda i: float(time[i]), default=None)
    return text if far is None else f"{text}; {_worth_measuring(decision, far, rivals[far])}"


def _worth_measuring(decision: Decision, index: int, name: str) -> str:
    ratio, far = decision.scored.time[index] / decision.scored.time[decision.best], decision.scored.doublings[index]
    return f"{name} may take {ratio:.2f} x as long, but was measured {far:.2g} doublings away: one run there would tell"


def _how_much_longer(decision: Decision, rivals: Mapping[int, str]) -> str:
    """How long candidates take, by their names: of each name the fastest one, at most three."""
    time = decision.scored.time
    fastest: dict[str, int] = {}
    for index in sorted(rivals, key=lambda i: float(time[i])):
        fastest.setdefault(rivals[index], index)
    return ", ".join(f"{name} takes {time[index] / time[decision.best]:.2f} x as long" for name, index in list(fastest.items())[:3])


def _part_line(request: Request, decision: Decision, shape: Shape) -> Iterator[str]:
    """Which part of its nodes a job takes, if only that part is charged, or may be: then if it is half of them at most."""
    part, target = largest_node_share(request, decision.target, shape, decision.nodes), decision.target
    if part is None:
        return
    takes = f"part of a node: {part} ({share(part.share)})"
    if target.shares_nodes:
        yield f"{takes}, which node-hours, energy, cost and efficiency count, because jobs on {target.title} share nodes"
    elif part.share <= SMALL_PART:
        yield f"{takes}; node-hours count whole nodes, unless the file of {target.title} says that jobs share them (whole_nodes = false)"


def _cores_line(request: Request, decision: Decision, shape: Shape) -> Iterator[str]:
    """Which fewer cores may do for a job on a part of a node, if less than half of the time of the choice's cores is useful."""
    node, time, best = decision.target.node, decision.scored.time, decision.best
    whole = decision.target.gives_whole_nodes or request.job_options.node_exclusive
    if decision.nodes > 1 or shape.gpus_per_node or decision.scored.grows or node is None or whole:
        return
    shapes = {i: decision.shape_at(i) for i in _same_size(decision)}
    cores = {i: each.ranks_per_node * each.cores_per_rank(node.threads_per_core) for i, each in shapes.items() if not each.gpus_per_node}
    most = float(min(cores[i] * time[i] for i in cores)) / DEFAULT_EFFICIENCY
    enough = [i for i in decision.ranking.order if i in cores and cores[i] * time[i] <= most]
    if enough and best not in enough:
        fewer = min(enough, key=lambda i: float(time[i]))
        takes = _how_much_longer(decision, {fewer: _shape_text(decision, fewer)})
        useful = f"of the time of {cores[best]} less than half is useful"
        where = "" if decision.target.shares_nodes else "where jobs share nodes, "
        yield f"cores: {cores[fewer]} may do, because {takes}, and {useful}; {where}request its ranks and threads"


def _build_line(request: Request, decision: Decision, shape: Shape) -> Iterator[str]:
    """Which build of the application was measured, and how long others take at the same size, each in its best layout."""
    if not is_build(shape.compiler):
        return
    if request.optimisation.workload.compiler:
        yield f"build: {shape.compiler}, as requested"
        return
    compilers = {index: decision.shape_at(index).compiler for index in _same_size(decision)}
    rivals = {index: compiler for index, compiler in compilers.items() if compiler not in (None, shape.compiler)}
    yield f"build: {shape.compiler}{_against(decision, rivals, ', ')}"


def _params_line(decision: Decision, shape: Shape) -> Iterator[str]:
    """Which values of the open parameters were chosen, and how long others take at the same size, each in its best layout."""
    if shape.params:
        values = {index: decision.shape_at(index).params for index in _same_size(decision)}
        rivals = {index: named(params) for index, params in values.items() if params != shape.params}
        yield f"parameters: {named(shape.params)}{_against(decision, rivals, '; ')}"


def describe_candidate(decision: Decision, index: int) -> str:
    """A candidate in words: nodes, layout, switches that are on, and the batch and the framework's version if candidates differ in them."""
    shape, nodes = decision.shape_at(index), decision.nodes_at(index)
    batches = {each.batch_size for each in decision.candidates.shapes}
    versions = {each.framework_version for each in decision.candidates.shapes}
    batch = f"batch size {shape.batch_size}" if shape.batch_size and len(batches) > 1 else None
    version = f"framework version {shape.framework_version}" if shape.framework_version and len(versions) > 1 else None
    build = "opt-build" if shape.opt_build else None
    on = [text for text in (version, shape.compiler, shape.precision, build, batch, named(shape.params)) if text]
    return f"{counted(nodes, 'node')} x {_shape_text(decision, index)}{' with ' if on else ''}{', '.join(on)}"


def _shape_text(decision: Decision, index: int) -> str:
    shape = decision.shape_at(index)
    return f"{shape.ranks_per_node}x{shape.threads_per_rank}{_beside_counts(decision, shape)}"


def _beside_counts(decision: Decision, shape: Shape) -> str:
    gpus, counts = shape.gpus_per_node, (shape.ranks_per_node, shape.threads_per_rank)
    alike = [each for each in decision.candidates.shapes if (each.ranks_per_node, each.threads_per_rank) == counts]

    def differs(name: str) -> bool:
        return any(getattr(each, name) != getattr(shape, name) for each in alike)

    mpi = shape.mpi if differs("mpi") else None
    parts = [
        counted(gpus, "GPU") if gpus and (gpus != shape.ranks_per_node or differs("gpus_per_node")) else None,
        f"{shape.mpi or 'MPI'} of the {shape.mpi_from}" if shape.mpi_from else mpi,
        "hyper-threads" if shape.hyperthreads else None,
        counted(shape.numa_mode, "NUMA domain") if shape.numa_mode and differs("numa_mode") else None,
    ]
    said = ", ".join(filter(None, parts))
    return f" ({said})" if said else ""


def _nodes_line(decision: Decision, choice: Choice) -> str:
    predicted, nodes = choice.prediction, choice.configuration.nodes
    given = decision.candidates.given
    if given.nodes or given.ranks:
        return f"nodes: {nodes}, {'as requested' if given.nodes else 'for the requested ' + counted(given.ranks or 1, 'rank')}"
    text = f"nodes: {nodes}, predicted {format_duration(predicted.value)} ({predicted.basis})"
    excluded, scored = missed(decision), decision.scored
    if excluded:
        unmet = _unmet(decision, excluded[0], "would not meet the constraints")
        out = "are further beyond the measured sizes" if _further(decision, excluded[0]) else unmet
        return f"{text}; {_size(decision, excluded[0])} {out}"
    more = scored.next_larger(decision.best) if decision.ranking.by_default else None
    if more is None or more in decision.ranking.order or not scored.useful[more] < DEFAULT_EFFICIENCY:
        return text
    whole = "" if scored.of_nodes is None else " and whole nodes"
    return f"{text}; {_size(decision, more)} would have an efficiency below {DEFAULT_EFFICIENCY:g}, the job's start{whole} included"


def _size(decision: Decision, index: int) -> str:
    scored = decision.scored
    return f"{counted(scored.nodes[index], 'node')} ({format_duration(scored.time[index])} predicted)"


def _stopped_line(request: Request, decision: Decision) -> Iterator[str]:
    """A line if a run that was stopped tells how long the choice takes at least, unless what is predicted is no time of a whole run."""
    best, scored, columns = decision.best, decision.scored, decision.evidence.columns
    without = None if scored.predicted is None or not decision.evidence.known else scored.predicted
    if least := float(without.than[best]) if without else scored.least_s(best):
        nodes, grows = scored.nodes[[best]], columns.grows_each[[best]]
        runs = (run for place, run in telling(request, columns.candidates.stopped) if place == scored.shape[best])
        run = next(run for run in runs if run.least_s(nodes, grows) == least)
        seen = f"a run of this layout was stopped on {counted(run.nodes, 'node')} after {format_duration(run.seconds)}"
        more = ", even if it scales perfectly" if run.nodes < nodes else ""
        longer = f"{describe_candidate(decision, best)} takes more than {format_duration(least)}{more}, because {seen}"
        other = without and format_duration(without.value[best])
        yield f"{longer}; without that, {other} would be predicted" if other and other != format_duration(scored.time[best]) else longer


def _start_line(decision: Decision, choice: Choice) -> Iterator[str]:
    """How much of the time is start-up, and the source of that figure."""
    seconds = choice.prediction.start_up
    if seconds is None:
        return
    curve = decision.evidence.predictions_at(decision.best).curve
    told = []
    if curve and (around := curve.start_up):
        told.append((around.doubt, f"measured on {counted(around.runs, 'run')}, each run's time minus that of the work which it printed"))
    if curve and (within := curve.included) and within.seconds:
        told.append((within.doubt, f"what {counted(within.runs, 'run')} of several lengths have in common"))
    if not told:
        yield f"start-up: {format_duration(seconds)} of the predicted time, as the file of {decision.target.title} says"
        return
    doubt, basis = format_duration(math.hypot(*(doubt for doubt, _ in told))), " and ".join(basis for _, basis in told)
    yield f"start-up: {format_duration(seconds)} of the predicted time, with a standard deviation of {doubt}; {basis}"


def _efficiency_line(decision: Decision, choice: Choice) -> Iterator[str]:
    """What the choice's efficiency is relative to."""
    scored, least = decision.scored, decision.evidence.least
    if choice.efficiency is not None and least is not None:
        known = (
            f"time known, {format_duration(scored.least_work)}"
            if scored.grows
            else f"work known, {cell(scored.least_work / 3600)} node-hours"
        )
        yield f"efficiency: {choice.efficiency:.0%}, relative to the least {known}, on {counted(least.nodes, 'node')} ({least.basis})"


def why_not(decision: Decision, index: int) -> str:
    """Why a candidate was not chosen."""
    scored, best = decision.scored, decision.best
    if index not in decision.ranking.order:
        otherwise = "further beyond the measured sizes" if _further(decision, index) else "does not meet the constraints"
        return _unmet(decision, index, otherwise)
    time = scored.time[index] / scored.time[best]
    hours = scored.node_hours[index] / scored.node_hours[best]
    return f"{time:.2f} x the time, {hours:.2f} x the node-hours of the choice"


def missed(decision: Decision) -> tuple[int, ...]:
    """The candidate of the chosen shape with the next smaller number of nodes, if it does not meet the constraints, or is left out because
    it is further beyond the measured sizes than the choice; else empty."""
    smaller, met = decision.scored.next_smaller(decision.best), decision.ranking.met
    if smaller is None or smaller in decision.ranking.order:
        return ()
    meets = met is None or bool(met[smaller])
    return () if meets and _too_far(decision, smaller) and not _further(decision, smaller) else (smaller,)
