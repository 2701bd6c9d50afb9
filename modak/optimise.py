"""THE MAIN FLOW: a request and the known facts become a plan. Pure: values in, values out.

    resolve -> candidates -> predict -> rank -> image -> rules -> job -> script -> plan

The first four are :func:`modak.choosing.decision.decide`, the next four :func:`solve`, the last one :func:`plan_of`.
Each step uses the decisions of the steps before it, and describes its own decision in one line: the reasons are part of
the answer.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from modak import __version__
from modak.advice import sentences
from modak.choosing.chosen import chosen
from modak.choosing.counts import check_limits, stated_counts
from modak.choosing.decision import Decision, best_of_other_shapes, choice_of, decide, pareto_front, with_causes
from modak.choosing.fieldpaths import with_document_fields
from modak.choosing.objective import rank_closest
from modak.choosing.reasons import missed, why, why_not
from modak.choosing.reducedrequest import SOFTWARE_FIELDS, reduce_request, software_fields_key, without_counts, without_nodes
from modak.choosing.requirements import without_compilers
from modak.choosing.software import Software, choose_software
from modak.choosing.spending import SPENDINGS
from modak.choosing.workload import nearest_lengths, unused_length, with_problem
from modak.dsl import Choice, Costed, Notice, Plan, Request, Texts
from modak.errors import Conflict, Fault, Infeasible, ModakError, UnknownName, nearest_name, unknown
from modak.facts import Facts, canonical_name
from modak.jobs.assembly import JobTemplate, PlannedJob, choose_launcher, job_template, planned_job, template_for_size
from modak.jobs.building import build_of, definition_of, why_little_time, why_there
from modak.jobs.spec import JobSpec
from modak.jobs.walltime import beyond_limit, wall_time_of, wrong_queue
from modak.prepared import Prepared, prepared
from modak.script import job as jobscript
from modak.script.build import render_build
from modak.script.parts import Script
from modak.target import Target, resolve, uncharged, unused_image
from modak.tuning.request import tuning_hint

MOST_ALTERNATIVES: Final = 6
MOST_ON_FRONT: Final = 10


@dataclass(frozen=True)
class Answer:
    """The plan, and the texts of its files."""

    plan: Plan
    texts: Texts


@dataclass(frozen=True)
class Recommendation:
    """Ranked configurations, best first, with reasons, advice and warnings."""

    choices: tuple[Choice, ...]
    warnings: tuple[Notice, ...]
    decisions: tuple[str, ...] = ()
    """Why the first one was chosen."""
    advice: tuple[str, ...] = ()
    least_work: float | None = None
    """What the efficiencies are relative to, in node-hours (in weak scaling in hours); ``None``: unknown."""
    missed: str | None = None
    """If nothing meets the constraints and the closest configuration was asked for: which constraint is not met."""


@dataclass(frozen=True)
class Solution:
    """All decisions for a request, and its texts; only the reasons are missing."""

    request: Request
    decision: Decision
    software: Software
    job: PlannedJob
    why_wall_time: tuple[str, ...]
    texts: Texts
    warnings: tuple[Notice, ...]


def optimise(request: Request, facts: Facts, warnings: Sequence[Notice] = ()) -> Answer:
    """The plan for a request; ``warnings`` are those of its normalisation.

    Raises :class:`modak.errors.Infeasible` if no configuration meets the constraints, and
    :class:`modak.errors.RequestError` if something cannot be written safely into a script.
    """
    solution = solve(request, facts, warnings)
    return Answer(plan_of(solution), solution.texts)


def check(request: Request, facts: Facts) -> tuple[Notice, ...]:
    """What would be done instead of what the request says of its target, account and counts, without choosing a configuration.

    Raises :class:`modak.errors.Infeasible` for more nodes or memory than a job there can have.
    """
    target = resolve(request, prepared(facts))
    counts = stated_counts(request, target)
    check_limits(counts, request, target)
    queue = wrong_queue(request, target, counts.nodes) if counts.nodes else ()
    noted = with_document_fields(request, (*counts.warnings, *unused_image(request, target)))
    return _each_once(target.warnings, queue, noted, missing_figures(request, target), uncharged(request, target))


def solve(request: Request, facts: Facts, warnings: Sequence[Notice] = ()) -> Solution:
    """Steps 1 to 8: the texts for a request, and the decisions behind them. Raises the errors of :func:`optimise`.

    A signal that the launcher does not pass on is left out of all of them: no time follows it, and no other job continues the run.
    """
    known = prepared(facts)
    plan_id = _plan_id(request, warnings, known)
    found = _solved(request, known, warnings, plan_id)
    lost = jobscript.lost_signal(found.job.spec, found.decision.target.scheduler)
    if not lost:
        return found
    try:
        return _solved(request.changed(job_options={"signal": None}), known, (*warnings, *lost), plan_id)
    except Infeasible as error:
        raise with_causes(error, lost) from None


def _solved(request: Request, known: Prepared, warnings: Sequence[Notice], plan_id: str) -> Solution:
    """The same for a request whose signal reaches the application, or is left out of the script alone."""
    decision = decide(request, known)
    request = without_compilers(request, decision.given_up)
    software, key = _software(request, decision, decision.best)
    target, nodes = decision.target, decision.nodes
    usual = _configured(request, decision, software, key)
    wall_time, why_wall_time = wall_time_of(request, decision)
    job = planned_job(request, target, nodes, software, usual, wall_time_s=wall_time, plan_id=plan_id)
    script = _script(job.spec, target, known)
    definition, definition_name = definition_of(software, target)
    build = build_of(request, target, job.spec, definition)
    build_script = render_build(job.spec, build, target.scheduler) if build else None
    return Solution(
        request=request,
        decision=decision,
        software=software,
        job=job,
        why_wall_time=(*why_wall_time, *((*why_there(build, target), *why_little_time(build, target)) if build else ())),
        texts=Texts(script.text, build_script.text if build_script else "", definition, definition_name),
        warnings=_each_once(
            warnings,
            _of_decision(request, decision, beyond_limit(request, decision)),
            with_document_fields(request, (*unused_image(request, target), *software.warnings, *job.warnings)),
            script.warnings,
            build_script.warnings if build_script else (),
            () if any(one.field == "job_options.account" for one in script.warnings) else uncharged(request, target),
        ),
    )


def _software(request: Request, decision: Decision, index: int) -> tuple[Software, tuple[Hashable, ...]]:
    """Image and rules of a candidate, and their cache key. They depend on the number of nodes only where results name images, otherwise on
    whether there are several."""
    target, shape, nodes, facts = decision.target, decision.shape_at(index), decision.nodes_at(index), decision.facts
    launcher, _ = choose_launcher(request, target, nodes * shape.ranks_per_node)
    key = (decision.asked, *software_fields_key(request), shape, launcher, nodes if facts.names_images else nodes > 1)
    found = facts.software.get(key, lambda: choose_software(_for_software(request, decision), facts, target, shape, nodes, launcher))
    return found, key


def _configured(request: Request, decision: Decision, software: Software, key: tuple[Hashable, ...]) -> JobTemplate:
    """What all jobs of the chosen configuration have in common. Most of it is the same for all numbers of nodes above one that have the
    same software; ``key``: the cache key of the software."""
    target, shape, nodes = decision.target, decision.shape, decision.nodes
    usual = decision.facts.configured.get(
        key, lambda: job_template(without_nodes(reduce_request(request, SOFTWARE_FIELDS)), target, shape, min(nodes, 2), software)
    )
    return template_for_size(usual, target, shape, nodes)


def _for_software(request: Request, decision: Decision) -> Request:
    """The part of the request on which image and rules depend."""
    lengths = nearest_lengths(request.optimisation.workload, decision.facts.lengths)
    return with_problem(without_counts(reduce_request(request, SOFTWARE_FIELDS, lengths)), decision.candidates.problem)


def _script(job: JobSpec, target: Target, facts: Facts) -> Script:
    """The job's script. If the job cannot be started there, the error also says that the system is unknown: that may be the cause."""
    try:
        return jobscript.render(job, target.scheduler)
    except Conflict as error:
        if target.system or not target.name:
            raise
        raise Conflict(faults=(*error.faults, Fault("target.name", unknown("system", target.name, facts.systems)))) from None


def plan_of(solution: Solution) -> Plan:
    """Step 9: the answer, with reasons, alternatives and advice."""
    request, decision, software, job = solution.request, solution.decision, solution.software, solution.job
    choice = _as_run(choice_of(decision, decision.best, software), job.spec)
    return Plan(
        **{name: getattr(choice, name) for name in Costed.model_fields},
        id=job.spec.plan_id,
        alternatives=alternatives(decision),
        image=software.image_summary,
        recipe=_recipe(software, solution.texts),
        rules=software.rules.names,
        wall_time_s=job.spec.attributes.wall_time_s,
        decisions=(*decision.target.decisions, *why(request, decision), *software.decisions, *solution.why_wall_time, *job.decisions),
        advice=(*sentences.advise(chosen(request, decision, software), software.rules.held), *tuning_hint(request)),
        warnings=solution.warnings,
    )


def _recipe(software: Software, texts: Texts) -> Mapping[str, Any] | None:
    """The recipe together with its definition file."""
    shown = software.recipe.model_dump(mode="json", exclude_none=True) if software.recipe else None
    return {**(shown or {}), "file": texts.definition_name, "content": texts.definition} if texts.definition else shown


def recommend(request: Request, facts: Facts, *, closest: bool = False) -> Recommendation:
    """The best configuration of each layout and some of the Pareto front of time and node-hours, the best by the objective first.

    Raises :class:`modak.errors.UnknownName` for a system that is neither described nor measured, unless there are results of no system
    and its name is like none that is known, and :class:`modak.errors.Infeasible` if nothing meets the constraints, or no job may have the
    requested time or nodes; with ``closest`` the configuration that comes closest is returned instead.
    """
    try:
        decision = decide(request, facts)
        wall_time_of(request, decision)
        return _recommended(request, decision, beyond_limit(request, decision))
    except Infeasible as error:
        if not closest:
            raise
        return replace(_recommended(request, decide(request, facts, rank_closest)), missed=error.faults[0].message)


def _recommended(request: Request, decision: Decision, of_limits: Sequence[Notice] = ()) -> Recommendation:
    """The configurations; ``of_limits`` as in :func:`_of_decision`."""
    request = without_compilers(request, decision.given_up)
    _check_known(decision)
    shown = dict.fromkeys((decision.best, *best_of_other_shapes(decision), *pareto_front(decision, MOST_ON_FRONT)))
    choices = tuple(_with_image(request, decision, index) for index in sorted(shown, key=decision.ranking.score.__getitem__))
    least = decision.scored.least_work / 3600
    return Recommendation(
        choices=choices,
        warnings=_each_once(_of_decision(request, decision, of_limits), with_document_fields(request, _of_first(request, decision))),
        decisions=(*decision.target.decisions, *why(request, decision)),
        advice=(*sentences.advise(chosen(request, decision), ()), *sentences.guesses([choice.prediction for choice in choices[1:]])),
        least_work=least if math.isfinite(least) else None,
    )


def _of_decision(request: Request, decision: Decision, of_limits: Sequence[Notice]) -> tuple[Notice, ...]:
    """What should be known of a decision; ``of_limits``: of the time and the nodes that a job may have."""
    return (
        *decision.target.warnings,
        *with_document_fields(request, decision.candidates.warnings),
        *missing_figures(request, decision.target),
        *of_limits,
        *decision.amounts_needed,
        *_unused_length(request, decision),
        *with_document_fields(request, (*decision.relaxed, *decision.given_up.values())),
    )


def _of_first(request: Request, decision: Decision) -> tuple[Notice, ...]:
    """What should be known of the image that the best candidate's job would run in, or why no job can be written for it."""
    try:
        return _software(request, decision, decision.best)[0].warnings
    except ModakError as error:
        return tuple(Notice(field=fault.field, message=fault.message) for fault in error.faults)


def _check_known(decision: Decision) -> None:
    """Raise :class:`modak.errors.UnknownName` for a system of which neither a description nor results (also doubted ones, which advice
    names) are known; but not if results of no system may be meant, and its name is like none that is known."""
    target, facts = decision.target, decision.facts
    if not target.name or target.system or decision.evidence.known:
        return
    measured = {canonical_name(name) for name in (*decision.measured_on, *(one.series.system for one in facts.doubted)) if name}
    if not measured.isdisjoint(target.names):
        return
    known = {*facts.systems, *filter(None, decision.measured_on)}
    if None not in decision.measured_on or nearest_name(target.name, known):
        raise UnknownName("system", target.name, known, field="target.name")


def _with_image(request: Request, decision: Decision, index: int) -> Choice:
    """A candidate with the image that its job would run in, and the framework's version that was measured, else the image's.

    One that no job can be written for is ranked all the same, without an image.
    """
    try:
        software, _ = _software(request, decision, index)
    except ModakError:
        return choice_of(decision, index)
    choice, measured = choice_of(decision, index, software), decision.shape_at(index).framework_version
    named = {"framework_version": measured or choice.configuration.framework_version}
    return choice.model_copy(update={"configuration": choice.configuration.model_copy(update=named)})


def _as_run(choice: Choice, spec: JobSpec) -> Choice:
    """The choice completed from the job: container runtime and total number of ranks."""
    runtime = spec.container.runtime if spec.container else "none"
    configuration = choice.configuration.model_copy(update={"runtime": runtime, "total_ranks": spec.resources.total_ranks})
    return choice.model_copy(update={"configuration": configuration})


def alternatives(decision: Decision) -> tuple[Choice, ...]:
    """Other close configurations: the next smaller size if it is infeasible, the best of each other layout, points of the Pareto front."""
    if not decision.evidence.known:
        return ()
    others = best_of_other_shapes(decision)
    picked = dict.fromkeys(index for index in (*missed(decision), *others, *pareto_front(decision, 3)) if index != decision.best)
    return tuple(choice_of(decision, index, why_not=why_not(decision, index)) for index in list(picked)[:MOST_ALTERNATIVES])


def missing_figures(request: Request, target: Target) -> tuple[Notice, ...]:
    """A warning if the objective needs a figure that the system's file does not have."""
    wanted = SPENDINGS.get(request.optimisation.objective.minimise or "")
    if wanted is None or wanted.per_node_hour(target) is not None:
        return ()
    text = f"{wanted.figure} is not recorded for {target.name or 'the target'}; node-hours are minimised instead"
    return (Notice(field="optimisation.objective.minimise", message=text),)


def _unused_length(request: Request, decision: Decision) -> tuple[Notice, ...]:
    """A warning about a length of the run that the prediction does not use."""
    curve = decision.evidence.predictions_at(decision.best).curve
    return unused_length(request, curve, decision.evidence.units_at(decision.best)) if curve and decision.evidence.known else ()


def _each_once(*groups: Sequence[Notice]) -> tuple[Notice, ...]:
    return tuple(dict.fromkeys(warning for group in groups for warning in group))


def _plan_id(request: Request, warnings: Sequence[Notice], facts: Facts) -> str:
    """Identifies a plan: the same for the same request, warnings of reading it (which the plan repeats), data and version of MODAK."""
    read = "".join(f"{warning.field}: {warning.message}\n" for warning in warnings)
    content = f"{__version__} {facts.version} {request.model_dump_json(exclude_none=True)}{read}"
    return hashlib.sha256(content.encode()).hexdigest()[:20]
