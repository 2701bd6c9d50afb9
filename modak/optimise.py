"""THE MAIN FLOW: a request and what is known become a plan. Pure: values in, values out.

    resolve -> candidates -> predict -> rank -> image -> rules -> job -> script -> plan

Each step takes what the ones before it decided, and says in one line what it decides itself: the reasons are part of
the answer.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from modak import __version__, advice
from modak.amounts import counted, span
from modak.batchsize import global_batch
from modak.candidates import Candidates, Shape, enumerate_candidates
from modak.chosen import Chosen
from modak.dsl import Choice, Configuration, Notice, Objective, Plan, Request, Texts
from modak.effects import in_words
from modak.errors import Infeasible, UnknownName
from modak.essence import OUTFIT, essence, key, outfit_key
from modak.facts import Facts
from modak.grammar import clock
from modak.jobs import Job, build_of, choose_launcher, definition_of, job_of
from modak.jobspec import JobSpec
from modak.objective import Ranking, Scored, nearest, pareto, rank
from modak.perfmodel.matching import SPREAD
from modak.prepared import Prepared, prepared
from modak.scoring import Columns, Evidence, columns, score
from modak.script import job as jobscript
from modak.script.build import render_build
from modak.sensitivity import lines as sensitivity
from modak.software import Software, choose_software
from modak.switching import OpenSwitch, with_switches
from modak.switching import lines as switch_lines
from modak.target import Target, place_of, resolve
from modak.tuning.hint import hint
from modak.workload import unsaid

MOST_ALTERNATIVES = 6
MOST_ON_FRONT = 10
START_UP_S = 120
"""Added to a wall time where nobody measured the start-up of a job on that system."""
WALL_TIME_STEP_S = 300


@dataclass(frozen=True)
class Answer:
    """The plan, and the files that go with it."""

    plan: Plan
    texts: Texts


@dataclass(frozen=True)
class Recommendation:
    """Ranked configurations, best first, and what the reader should know."""

    choices: tuple[Choice, ...]
    warnings: tuple[Notice, ...]
    decisions: tuple[str, ...] = ()
    """Why the first is the first."""
    advice: tuple[str, ...] = ()
    missed: str | None = None
    """Where nothing meets the constraints and the closest was asked for: what stands in the way."""


@dataclass(frozen=True)
class Decision:
    """What was chosen before any text is made."""

    target: Target
    candidates: Candidates
    scored: Scored
    evidence: Evidence
    ranking: Ranking
    asked: tuple[Hashable, ...] = ()
    """The same for requests with the same target and essence."""

    @property
    def best(self) -> int:
        """Index of the chosen candidate."""
        return self.ranking.best


@dataclass(frozen=True)
class Settled:
    """All that is decided for a request, and the texts: what is left is to say why."""

    request: Request
    decision: Decision
    software: Software
    job: Job
    plan_id: str
    wall_time_s: int | None
    why_wall_time: tuple[str, ...]
    texts: Texts
    warnings: tuple[Notice, ...]


def optimise(request: Request, facts: Facts, warnings: Sequence[Notice] = ()) -> Answer:
    """The plan for a request; ``warnings`` are those that normalising it gave.

    Raises :class:`modak.errors.Infeasible` where no configuration meets the constraints, and
    :class:`modak.errors.RequestError` where something cannot be expressed safely.
    """
    settled = settle(request, facts, warnings)
    return Answer(plan_of(settled), settled.texts)


def settle(request: Request, facts: Facts, warnings: Sequence[Notice] = ()) -> Settled:
    """Steps 1 to 8: the texts for a request, and the decisions that they rest on. Raises as :func:`optimise` does."""
    known = prepared(facts)
    decision = decide(request, known)
    target, shape, nodes = decision.target, _shape(decision), _nodes(decision)
    launcher, _ = choose_launcher(request, target, nodes * shape.ranks_per_node)
    software = known.software.get(
        (*decision.asked, *outfit_key(request), shape, nodes, launcher),
        lambda: choose_software(essence(request, OUTFIT), known, target, shape, nodes, launcher),
    )
    wall_time, why_wall_time = _wall_time(request, decision)
    plan_id = _plan_id(request, known)
    job = job_of(request, target, shape, nodes, software, wall_time_s=wall_time, plan_id=plan_id)
    script = jobscript.render(job.spec, target.scheduler)
    definition, definition_name = definition_of(software, target)
    build = build_of(request, job.spec, definition)
    build_script = render_build(job.spec, build, target.scheduler) if build else None
    return Settled(
        request,
        decision,
        software,
        job,
        plan_id,
        wall_time,
        why_wall_time,
        Texts(script.text, build_script.text if build_script else "", definition, definition_name),
        _each_once(
            warnings,
            target.warnings,
            decision.candidates.warnings,
            _without_figures(request, target),
            _without_samples(request, decision, known),
            software.warnings,
            job.warnings,
            script.warnings,
        ),
    )


def plan_of(settled: Settled) -> Plan:
    """Step 9: the answer, with its reasons, alternatives and advice."""
    request, decision, software, job = settled.request, settled.decision, settled.software, settled.job
    choice = _as_run(choice_of(decision, decision.best, software), job.spec)
    return Plan(
        id=settled.plan_id,
        configuration=choice.configuration,
        prediction=choice.prediction,
        node_hours=choice.node_hours,
        energy_kwh=choice.energy_kwh,
        cost=choice.cost,
        efficiency=choice.efficiency,
        alternatives=alternatives(decision),
        image=software.image_summary,
        recipe=_recipe(software, settled.texts),
        rules=software.rules.names,
        wall_time_s=settled.wall_time_s,
        decisions=(*decision.target.decisions, *_why(request, decision), *software.decisions, *settled.why_wall_time, *job.decisions),
        advice=(*advice.advise(_chosen(request, decision, software.reference), software.rules.held), *hint(request)),
        warnings=settled.warnings,
    )


def _recipe(software: Software, texts: Texts) -> Mapping[str, Any] | None:
    """The recipe with the file that is built from it."""
    shown = software.recipe_summary
    return {**(shown or {}), "file": texts.definition_name, "content": texts.definition} if texts.definition else shown


def recommend(request: Request, facts: Facts, *, closest: bool = False) -> Recommendation:
    """The best of the objective, then the best of each other layout, then some of the front of time against node-hours.

    Raises :class:`modak.errors.UnknownName` for a system of which neither facts nor results are known, and
    :class:`modak.errors.Infeasible` where nothing meets the constraints; with ``closest`` what comes closest is the one choice then.
    """
    try:
        return _recommended(request, facts, decide(request, facts))
    except Infeasible as stands:
        if not closest:
            raise
        return replace(_recommended(request, facts, decide(request, facts, nearest)), missed=stands.faults[0].message)


def _recommended(request: Request, facts: Facts, decision: Decision) -> Recommendation:
    target = decision.target
    if target.name and target.system is None and not decision.evidence.known:
        raise UnknownName("system", target.name, facts.systems, field="target.name")
    first = (decision.best, *_best_of_other_shapes(decision, (decision.best,)))
    choices = tuple(choice_of(decision, index) for index in dict.fromkeys((*first, *_front(decision, MOST_ON_FRONT))))
    figures = (*_without_figures(request, target), *_without_samples(request, decision, facts))
    warnings = _each_once(target.warnings, decision.candidates.warnings, figures)
    counsel = (*advice.advise(_chosen(request, decision), ()), *advice.guesses([choice.prediction for choice in choices[1:]]))
    return Recommendation(choices, warnings, (*target.decisions, *_why(request, decision)), counsel)


def decide(request: Request, facts: Facts, ranked: Callable[[Scored, Objective, float | None], Ranking] = rank) -> Decision:
    """Steps 1 to 4: where it runs, what can run there, how long each takes, and which is best."""
    known = prepared(facts)
    place = place_of(request, known)
    target = known.targets.get(place, lambda: resolve(request, known))
    asked = (*place, *key(request))
    predicted = known.columns.get(asked, lambda: _predicted(essence(request), target, known, place))
    scored, evidence = score(request, target, predicted)
    ranking = ranked(scored, request.optimisation.objective, least_efficiency(request))
    return Decision(target, predicted.candidates, scored, evidence, ranking, asked)


def _predicted(request: Request, target: Target, facts: Prepared, place: Hashable) -> Columns:
    """Every configuration that can run there, and what a unit of the workload takes on it."""
    candidates = enumerate_candidates(request, target, facts.models)
    return columns(request, target, with_switches(candidates, request, target, facts.tried), facts, place)


def least_efficiency(request: Request) -> float | None:
    """The parallel efficiency that the request asks for outside its objective."""
    return request.application.minimal_efficiency or getattr(request.optimisation.options, "scaling_efficiency", None)


def choice_of(decision: Decision, index: int, software: Software | None = None, why_not: str | None = None) -> Choice:
    """One candidate as the answer shows it."""
    scored = decision.scored
    shape, nodes = decision.candidates.shapes[int(scored.shape[index])], int(scored.nodes[index])
    configuration = Configuration(
        nodes=nodes,
        ranks_per_node=shape.ranks_per_node,
        threads_per_rank=shape.threads_per_rank,
        gpus_per_node=shape.gpus_per_node,
        hyperthreads=shape.hyperthreads,
        numa_mode=shape.numa_mode,
        mpi=shape.mpi,
        mpi_from=shape.mpi_from,
        compiler=shape.compiler,
        framework_version=software.framework_version if software else shape.framework_version,
        precision=shape.precision,
        image=software.reference if software else None,
        batch_size=shape.batch_size,
        global_batch=global_batch(shape, nodes),
        workers=nodes * shape.workers_per_node,
        opt_build=shape.opt_build or None,
    )
    prediction = decision.evidence.prediction(scored, index)
    known = prediction.value is not None
    efficiency = float(scored.efficiency[index])
    return Choice(
        configuration=configuration,
        prediction=prediction,
        node_hours=float(scored.node_hours[index]) if known else None,
        energy_kwh=float(scored.node_hours[index]) * scored.power_w / 1000 if known and scored.power_w else None,
        cost=float(scored.node_hours[index]) * scored.price if known and scored.price else None,
        efficiency=round(efficiency, 4) if known and efficiency == efficiency else None,
        why_not=why_not,
    )


def _as_run(choice: Choice, spec: JobSpec) -> Choice:
    """The choice with what only the job says of it."""
    runtime = spec.container.runtime if spec.container else "none"
    configuration = choice.configuration.model_copy(update={"runtime": runtime, "total_ranks": spec.resources.total_ranks})
    return choice.model_copy(update={"configuration": configuration})


def alternatives(decision: Decision) -> tuple[Choice, ...]:
    """What else was close: the next smaller size that misses, the front of time against node-hours, the other layouts."""
    if not decision.evidence.known:
        return ()
    others = _best_of_other_shapes(decision, (decision.best,))
    picked = dict.fromkeys(index for index in (*_missed(decision), *others, *_front(decision, 3)) if index != decision.best)
    return tuple(choice_of(decision, index, why_not=_why_not(decision, index)) for index in list(picked)[:MOST_ALTERNATIVES])


def _shape(decision: Decision) -> Shape:
    return decision.candidates.shapes[int(decision.scored.shape[decision.best])]


def _nodes(decision: Decision) -> int:
    return int(decision.scored.nodes[decision.best])


def _best_of_other_shapes(decision: Decision, taken: Sequence[int]) -> tuple[int, ...]:
    """The best feasible candidate of each shape that is not among ``taken``."""
    order = np.array(decision.ranking.order, dtype=np.int64)
    shapes, first = np.unique(decision.scored.shape[order], return_index=True)
    seen = decision.scored.shape[list(taken)]
    return tuple(int(order[at]) for at, shape in sorted(zip(first, shapes, strict=True)) if shape not in seen)


def _front(decision: Decision, most: int) -> tuple[int, ...]:
    """Points of the Pareto front of time against node-hours, fastest first, spread evenly over it."""
    if not decision.evidence.known:
        return ()
    front = pareto(decision.scored, decision.ranking.order)
    return front[:: max(1, -(-len(front) // most))]


def _missed(decision: Decision, *, fewer: int = 1) -> tuple[int, ...]:
    """Candidates of the chosen shape with the next fewer nodes: what the constraints excluded."""
    scored, best = decision.scored, decision.best
    smaller = np.flatnonzero((scored.shape == scored.shape[best]) & (scored.nodes < scored.nodes[best]))
    nearest = smaller[::-1][:fewer].tolist()
    return tuple(index for index in nearest if index not in decision.ranking.order)


def _why_not(decision: Decision, index: int) -> str:
    scored, best = decision.scored, decision.best
    if index not in decision.ranking.order:
        return "does not meet the constraints"
    time = scored.time[index] / scored.time[best]
    hours = scored.node_hours[index] / scored.node_hours[best]
    return f"{time:.2f} x the time, {hours:.2f} x the node-hours of the choice"


def _why(request: Request, decision: Decision) -> tuple[str, ...]:
    """One line for each choice that was made among candidates."""
    own = partial(_both_ways, decision)
    told = switch_lines(request, decision.target, _shape(decision), _nodes(decision), decision.candidates.tried, own)
    lines = [*decision.candidates.decisions, *told, *decision.ranking.decisions]
    if not decision.evidence.known:
        return (*lines, "time: not predicted, no result of this application can be used")
    choice = choice_of(decision, decision.best)
    shape = _shape(decision)
    lines.append(_layout_line(decision, shape))
    lines.append(_nodes_line(decision, choice))
    wanted = request.optimisation.objective
    return (*lines, *sensitivity(decision.scored, decision.ranking, wanted, partial(_described, decision)))


def _both_ways(decision: Decision, switch: OpenSwitch) -> str | None:
    """What the run's own curves say of a switch at the chosen size; ``None`` where it was not measured with and without."""
    scored, best, shapes = decision.scored, decision.best, decision.candidates.shapes
    rivals = np.array([switch.tells_apart(_shape(decision), each) for each in shapes])
    found = np.flatnonzero(rivals[scored.shape] & (scored.nodes == scored.nodes[best]) & np.isfinite(scored.time)).tolist()
    if not found:
        return None
    pair = (best, min(found, key=lambda i: float(scored.time[i])))
    on, off = pair if switch.is_on(_shape(decision)) else pair[::-1]
    spread = math.hypot(float(scored.spread[on]), float(scored.spread[off]))
    basis = " and ".join(dict.fromkeys(scored.basis[index] for index in (on, off)))
    with_it, without = (decision.evidence.prediction(scored, index).results_used for index in (on, off))
    rests = f"{basis}: {counted(with_it, 'result')} with it, {without} without"
    return in_words(math.log(scored.time[on] / scored.time[off]), spread, rests)


def _layout_line(decision: Decision, shape: Shape) -> str:
    """Why this layout: how much faster it is than the next one at the same size."""
    ranks, threads, nodes = shape.ranks_per_node, shape.threads_per_rank, _nodes(decision)
    text = f"layout: {counted(ranks, 'rank')} x {counted(threads, 'thread')} a node{_mpi_text(shape)}"
    scored, best = decision.scored, decision.best
    laid_out = np.array([each.laid_out_as(shape) for each in decision.candidates.shapes])
    rivals = np.flatnonzero(~laid_out[scored.shape] & (scored.nodes == nodes) & np.isfinite(scored.time)).tolist()
    if not rivals:
        return f"{text}, the only one with a prediction"
    fastest: dict[str, float] = {}
    for index in sorted(rivals, key=lambda i: scored.time[i]):
        fastest.setdefault(_shape_text(decision, index), float(scored.time[index] / scored.time[best]))
    described = ", ".join(f"{layout} takes {ratio:.2f} x as long" for layout, ratio in list(fastest.items())[:3])
    return f"{text}: at {counted(nodes, 'node')} {described}"


def _described(decision: Decision, index: int) -> str:
    """A candidate in words: its nodes, its layout, and what is switched on."""
    shape, nodes = decision.candidates.shapes[int(decision.scored.shape[index])], int(decision.scored.nodes[index])
    on = [text for text in (shape.compiler, shape.precision, "opt-build" if shape.opt_build else None) if text]
    return f"{counted(nodes, 'node')} x {_shape_text(decision, index)}{' with ' if on else ''}{', '.join(on)}"


def _shape_text(decision: Decision, index: int) -> str:
    shape = decision.candidates.shapes[int(decision.scored.shape[index])]
    return f"{shape.ranks_per_node}x{shape.threads_per_rank}{_mpi_text(shape)}"


def _mpi_text(shape: Shape) -> str:
    parts = [f"{shape.mpi or 'MPI'} of the {shape.mpi_from}" if shape.mpi_from else "", "hyper-threads" if shape.hyperthreads else ""]
    said = ", ".join(part for part in parts if part)
    return f" ({said})" if said else ""


def _nodes_line(decision: Decision, choice: Choice) -> str:
    predicted, nodes = choice.prediction, choice.configuration.nodes
    if decision.candidates.given.nodes or decision.candidates.given.ranks:
        return f"nodes: {nodes}, as the request's counts say"
    text = f"nodes: {nodes}, predicted {span(predicted.value)} ({predicted.basis})"
    missed = _missed(decision)
    if not missed:
        return text
    fewer, scored = missed[0], decision.scored
    return f"{text}; {counted(scored.nodes[fewer], 'node')} ({span(scored.time[fewer])} predicted) would not meet the constraints"


def _wall_time(request: Request, decision: Decision) -> tuple[int | None, tuple[str, ...]]:
    """The wall time in seconds: the request's, else the prediction's upper bound plus start-up, within the partition's limit."""
    partition = decision.target.partition
    limit = decision.target.longest(_nodes(decision))
    asked = request.job_options.wall_time_limit
    if asked:
        over = f"; the partition allows {clock(limit)}" if limit and asked > limit else ""
        return asked, (f"wall time: {clock(asked)}, as requested{over}",)
    upper = decision.evidence.upper(decision.scored, decision.best)
    if upper is None:
        default = partition.default_wall_time_s if partition else None
        taken = f"{clock(default)}, the partition's default" if default else "left to the scheduler"
        return default, (f"wall time: {taken}; there is no prediction to take it from",)
    start_up = 0 if decision.evidence.start_up_s else START_UP_S
    wanted = -(-int(upper + start_up) // WALL_TIME_STEP_S) * WALL_TIME_STEP_S
    if limit and wanted > limit:
        return limit, (f"wall time: {clock(limit)}, the partition's limit; the prediction's upper bound with start-up is {clock(wanted)}",)
    return wanted, (f"wall time: {clock(wanted)}, the upper bound of the prediction plus start-up",)


def _chosen(request: Request, decision: Decision, image: str | None = None) -> Chosen:
    prediction = decision.evidence.prediction(decision.scored, decision.best)
    found = decision.evidence.predictions[int(decision.scored.shape[decision.best])]
    unlike = tuple(name for name in found.differences if name in SPREAD)
    return Chosen(request, decision.target, _shape(decision), _nodes(decision), prediction, found.curve, unlike, image)


def _without_figures(request: Request, target: Target) -> tuple[Notice, ...]:
    """Objectives that need a figure which the system's file does not have."""
    minimise, node, partition = request.optimisation.objective.minimise, target.node, target.partition
    missing = {"energy": node is None or node.power_w is None, "cost": partition is None or partition.price_per_node_hour is None}
    if minimise is None or not missing.get(minimise):
        return ()
    figure = {"energy": "a node's power", "cost": "a price per node-hour"}[minimise]
    text = f"no figure for {figure} is known of {target.name or 'the target'}; node-hours are minimised instead"
    return (Notice(field="optimisation.objective.minimise", message=text),)


def _without_samples(request: Request, decision: Decision, facts: Facts) -> tuple[Notice, ...]:
    """What the request would have to say for a time, where there is none."""
    return () if decision.evidence.known else unsaid(request, prepared(facts).per_sample)


def _each_once(*groups: Sequence[Notice]) -> tuple[Notice, ...]:
    return tuple(dict.fromkeys(warning for group in groups for warning in group))


def _plan_id(request: Request, facts: Facts) -> str:
    """The same request on the same data gives the same plan, under the same name."""
    content = f"{__version__} {facts.version} {request.model_dump_json()}"
    return hashlib.sha256(content.encode()).hexdigest()[:20]
