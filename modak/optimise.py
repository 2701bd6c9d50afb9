"""THE MAIN FLOW: a request and the known facts become a plan. Pure: values in, values out.

    resolve -> candidates -> predict -> rank -> image -> rules -> job -> script -> plan

Each step uses the decisions of the steps before it, and describes its own decision in one line: the reasons are part of
the answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from modak import __version__
from modak.advice import sentences
from modak.choosing.candidates import Candidates, enumerate_candidates, on_nodes
from modak.choosing.chosen import Chosen
from modak.choosing.decision import Decision, choice_of
from modak.choosing.essence import OUTFIT, counts_key, essence, key_of_any_size, outfit_key, without_counts
from modak.choosing.objective import Ranking, Scored, nearest, pareto, rank
from modak.choosing.scoring import Columns, columns, score
from modak.choosing.software import Software, choose_software
from modak.choosing.switching import with_switches
from modak.choosing.workload import nearest_lengths, unsaid, with_problem
from modak.dsl import Choice, Notice, Objective, Plan, Request, Texts
from modak.errors import Infeasible, UnknownName
from modak.facts import Facts
from modak.jobs.assembly import Job, build_of, choose_launcher, definition_of, job_of
from modak.jobs.spec import JobSpec
from modak.perfmodel.matching import SPREAD
from modak.prepared import Prepared, prepared
from modak.reasons import missed, why, why_not
from modak.script import job as jobscript
from modak.script.build import render_build
from modak.target import Target, place_of, resolve
from modak.text.amounts import counted
from modak.text.grammar import clock
from modak.tuning.hint import hint

MOST_ALTERNATIVES = 6
MOST_ON_FRONT = 10
START_UP_S = 120
"""Added to a wall time where the system's file does not say what starting a job takes: what results tell begins with the run, after the
script's checks, copies and images."""
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
    target, shape, nodes = decision.target, decision.shape, decision.nodes
    launcher, _ = choose_launcher(request, target, nodes * shape.ranks_per_node)
    software = known.software.get(
        (*decision.asked, *outfit_key(request), shape, nodes if known.names_images else nodes > 1, launcher),
        lambda: choose_software(
            with_problem(without_counts(essence(request, OUTFIT)), decision.candidates.problem), known, target, shape, nodes, launcher
        ),
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
            _beyond_limit(request, decision),
            decision.unsaid,
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
        decisions=(*decision.target.decisions, *why(request, decision), *software.decisions, *settled.why_wall_time, *job.decisions),
        advice=(*sentences.advise(_chosen(request, decision, software), software.rules.held), *hint(request)),
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
    figures = (*_without_figures(request, target), *decision.unsaid)
    warnings = _each_once(target.warnings, decision.candidates.warnings, figures)
    counsel = (*sentences.advise(_chosen(request, decision), ()), *sentences.guesses([choice.prediction for choice in choices[1:]]))
    return Recommendation(choices, warnings, (*target.decisions, *why(request, decision)), counsel)


def decide(request: Request, facts: Facts, ranked: Callable[[Scored, Objective, float | None], Ranking] = rank) -> Decision:
    """Steps 1 to 4: where it runs, what can run there, how long each takes, and which is best."""
    known = prepared(facts)
    place = place_of(request, known)
    target = known.targets.get(place, lambda: resolve(request, known))
    lengths = nearest_lengths(request.optimisation.workload, known.lengths)
    asked = (*place, *key_of_any_size(request), *lengths.values())
    predicted = known.columns.get(
        (asked, *counts_key(request)), lambda: _predicted(essence(request, lengths=lengths), target, known, asked)
    )
    scored, evidence = score(request, target, predicted)
    ranking = ranked(scored, request.optimisation.objective, least_efficiency(request))
    missing = () if evidence.known else unsaid(request, known.needing_more)
    return Decision(target, predicted.candidates, scored, evidence, ranking, asked, missing)


def _predicted(request: Request, target: Target, facts: Prepared, asked: Hashable) -> Columns:
    """Every configuration that can run there, and what a unit of the workload takes on it; ``asked`` as in :class:`Decision`."""
    candidates = _candidates(request, target, facts, asked)
    return columns(with_problem(request, candidates.problem), target, candidates, facts, asked)


def _candidates(request: Request, target: Target, facts: Prepared, asked: Hashable) -> Candidates:
    """What can run there, with what switches may do; for a given number of nodes it is what it was for another one."""

    def found() -> Candidates:
        each = enumerate_candidates(request, target, facts.models)
        return with_switches(each, with_problem(request, each.problem), target, facts.tried)

    options = request.job_options
    nodes = options.node_count
    if nodes is None or options.request_specific_nodes or request.application.mpi_ranks:
        return found()
    return on_nodes(facts.candidates.get((asked, nodes > 1), found), nodes, request, target)


def least_efficiency(request: Request) -> float | None:
    """The parallel efficiency that the request asks for outside its objective."""
    return request.application.minimal_efficiency or getattr(request.optimisation.options, "scaling_efficiency", None)


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
    picked = dict.fromkeys(index for index in (*missed(decision), *others, *_front(decision, 3)) if index != decision.best)
    return tuple(choice_of(decision, index, why_not=why_not(decision, index)) for index in list(picked)[:MOST_ALTERNATIVES])


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


def _wall_time(request: Request, decision: Decision) -> tuple[int | None, tuple[str, ...]]:
    """The wall time in seconds: the request's, else the prediction's upper bound plus start-up, within the partition's limit."""
    partition = decision.target.partition
    limit = decision.target.longest(decision.nodes)
    asked = request.job_options.wall_time_limit
    if asked:
        return asked, (f"wall time: {clock(asked)}, as requested",)
    upper = decision.evidence.upper(decision.scored, decision.best)
    if upper is None:
        default = partition.default_wall_time_s if partition else None
        taken = f"{clock(default)}, the partition's default" if default else "left to the scheduler"
        return default, (f"wall time: {taken}, because there is no prediction",)
    start_up = 0 if decision.target.system and decision.target.system.start_up_s else START_UP_S
    wanted = -(-int(upper + start_up) // WALL_TIME_STEP_S) * WALL_TIME_STEP_S
    if limit and wanted > limit:
        return limit, (
            f"wall time: {clock(limit)}, the partition's limit; the upper bound of the prediction plus start-up is {clock(wanted)}",
        )
    return wanted, (f"wall time: {clock(wanted)}, the upper bound of the prediction plus start-up",)


def _beyond_limit(request: Request, decision: Decision) -> tuple[Notice, ...]:
    """A warning where the scheduler runs no job for as long as the request asks for."""
    target, asked = decision.target, request.job_options.wall_time_limit
    limit = target.longest(decision.nodes)
    if not (asked and limit and asked > limit):
        return ()
    where = f"{target.title}, queue {target.scheduler_partition}" if target.scheduler_partition else target.title
    text = f"{clock(asked)} requested, but a job of {counted(decision.nodes, 'node')} on {where} may run for at most {clock(limit)}"
    return (Notice(field="job_options.wall_time_limit", message=text),)


def _chosen(request: Request, decision: Decision, software: Software | None = None) -> Chosen:
    prediction = decision.evidence.prediction(decision.scored, decision.best)
    found = decision.evidence.predictions[int(decision.scored.shape[decision.best])]
    unlike = tuple(name for name in found.differences if name in SPREAD)
    unsaid = bool(decision.unsaid)
    image, version = (software.reference, software.framework_version) if software else (None, None)
    return Chosen(request, decision.target, decision.shape, decision.nodes, prediction, found.curve, unlike, image, version, unsaid)


def _without_figures(request: Request, target: Target) -> tuple[Notice, ...]:
    """Objectives that need a figure which the system's file does not have."""
    minimise, node, partition = request.optimisation.objective.minimise, target.node, target.partition
    missing = {"energy": node is None or node.power_w is None, "cost": partition is None or partition.price_per_node_hour is None}
    if minimise is None or not missing.get(minimise):
        return ()
    figure = {"energy": "the power of a node", "cost": "the price per node-hour"}[minimise]
    text = f"{figure} is not recorded for {target.name or 'the target'}; node-hours are minimised instead"
    return (Notice(field="optimisation.objective.minimise", message=text),)


def _each_once(*groups: Sequence[Notice]) -> tuple[Notice, ...]:
    return tuple(dict.fromkeys(warning for group in groups for warning in group))


def _plan_id(request: Request, facts: Facts) -> str:
    """The same request on the same data gives the same plan, under the same name."""
    content = f"{__version__} {facts.version} {request.model_dump_json(exclude_none=True)}"
    return hashlib.sha256(content.encode()).hexdigest()[:20]
