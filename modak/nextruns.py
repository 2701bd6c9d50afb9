"""The next runs worth measuring for a request, by how much they would improve its decision.

Each configuration has a probability to be the right choice (:mod:`modak.choiceprobability`). The *interval of the decision* is the mean
half-width of the predicted times, weighted with these probabilities. Runs are ranked by how far they are expected to narrow it per
node-hour (:mod:`modak.perfmodel.planning`). Before all others come the two runs, with and without, that would decide an open switch of
which no results show the effect.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np

from modak import plugins
from modak.arrays import Array, Flags, Ints
from modak.choiceprobability import FEW, LIKELY, choice_probabilities, likely_layouts, too_many
from modak.choosing.candidates import Candidates, enumerate_candidates
from modak.choosing.decision import Decision, choice_of, decide
from modak.choosing.failures import FAILED_ONCE, LEFT_OUT, after_failures, failed_once, most_without_memory
from modak.choosing.fieldpaths import with_document_fields
from modak.choosing.nodes import node_power
from modak.choosing.objective import UNREQUESTED_DOUBLINGS, Ranking, Scored, rank_closest
from modak.choosing.openswitch import BUILD, OpenSwitch
from modak.choosing.reasons import describe_candidate
from modak.choosing.requirements import is_hybrid, without_compilers
from modak.choosing.scoring import predict_candidates, question, score, usable_curves
from modak.choosing.shapes import Shape
from modak.choosing.software import missing_compilers, no_image
from modak.choosing.switching import apply_effects, bare, evidence_for, with_switches
from modak.choosing.topology import with_few_threads
from modak.choosing.unmeasured import with_unmeasured
from modak.choosing.workload import amounts_needed, speed_printed, with_problem, with_setting
from modak.dsl import Choice, Notice, Request
from modak.errors import Infeasible
from modak.facts import Facts, SeriesKey
from modak.optimise import missing_figures
from modak.perfmodel import Curve, Predictor, Question
from modak.perfmodel.fitting.cellgroups import Scale, size_of
from modak.perfmodel.planning import ALIKE, LEAST, CandidateRun, Step, Width, propose
from modak.prepared import prepared
from modak.target import Target, resolve
from modak.text.amounts import as_given, format_number, percent
from modak.text.choices import AMOUNTS, HOURS
from modak.text.documents import Json
from modak.text.words import line, shell, variables

SETTLED: Final = (
    "the sizes that may be right were measured, or lie between measured ones: one more run would not narrow the interval, which mostly "
    "allows for the scatter of runs"
)

LONG_S: Final = 1200.0
"""A run in which two minutes of start-up are a tenth (judgement): a shorter one measures the speed of a program as well."""


@dataclass(frozen=True)
class Likely:
    """A layout with the probability that it is the right one. ``choice``, the candidate at ``index``, has the median of the drawn sizes."""

    index: int
    choice: Choice
    probability: float
    nodes: tuple[int, int]
    """5 % and 95 % quantiles of the drawn node counts."""


@dataclass(frozen=True)
class Proposal:
    """A run to measure, by the index of its candidate, and its effect on the decision's interval; ``None``: nothing is predicted."""

    index: int
    choice: Choice
    node_hours: float | None = None
    """Including the start of the job."""
    step: Step | None = None

    def as_json(self, today: float | None) -> Json:
        """The choice; where times are predicted, with what it takes including the start of the job, and what it does to the interval, whose
        half-width ``today`` is in log time. Intervals are factors, ``narrower`` is the part of that which it removes.
        """
        told: Json = self.choice.model_dump(mode="json", exclude_none=True)
        if today is None or self.step is None:
            return told
        hours = self.node_hours or 0.0
        longer = hours / self.choice.node_hours if self.choice.node_hours else 1.0
        return {
            **told,
            **{field: told[field] * longer for field in (*HOURS.values(), *(field for field, _ in AMOUNTS.values())) if field in told},
            "node_hours": hours,
            "interval_before": math.exp(self.step.before),
            "interval_after": math.exp(self.step.after),
            "narrower": (self.step.before - self.step.after) / today,
            "narrower_per_node_hour": self.step.per_node_hour / today,
        }


@dataclass(frozen=True)
class MeasurementPlan:
    """Layouts that may be the right choice, the most probable first, and runs to measure, in this order."""

    decision: Decision
    likely: tuple[Likely, ...]
    half_width: float | None
    """Of the decision's interval today, in log time; ``None``: nothing is predicted."""
    proposals: tuple[Proposal, ...]
    notes: tuple[str, ...]
    warnings: tuple[Notice, ...]

    def as_json(self) -> Json:
        """``likely``, the ``interval`` of the decision as a factor, ``runs`` with their ``node_hours`` in all, and ``notes``."""
        likely = [
            {**one.choice.model_dump(mode="json", exclude_none=True), "probability": one.probability, "nodes": list(one.nodes)}
            for one in self.likely
        ]
        runs = [one.as_json(self.half_width) for one in self.proposals]
        total = sum(one.node_hours or 0.0 for one in self.proposals)
        interval = None if self.half_width is None else math.exp(self.half_width)
        return {"likely": likely, "interval": interval, "runs": runs, "node_hours": total, "notes": list(self.notes)}


def next_runs(
    request: Request,
    facts: Facts,
    most: int = 5,
    budget: float | None = None,
    least: float = LEAST,
    go_on: Callable[[], None] = lambda: None,
) -> MeasurementPlan:
    """At most ``most`` runs, in the order in which to measure them, together within ``budget`` node-hours. ``least``: the smallest part of
    today's interval that a run has to narrow. ``go_on`` is called between the candidates, and ends the work if it raises.

    Raises :class:`modak.errors.Infeasible` if no configuration meets the constraints in any draw.
    """
    request, target = with_setting(request, facts.models), resolve(request, facts)
    chosen = _chosen(request, facts)
    request, decision = _predicted(without_compilers(request, chosen.given_up), target, facts, chosen.shape)
    warnings = _warnings(request, chosen, decision)
    if not decision.evidence.known:
        if needed := amounts_needed(request, decision.facts.needing_more):  # there are results, perhaps of the very first runs
            return MeasurementPlan(decision, (), None, (), (), (*warnings, *needed))
        first = _first(request, decision, most)
        notes = (_nothing(decision), *_of_runs(request, decision, facts, first))
        return MeasurementPlan(decision, (), None, first, notes, (*warnings, *_one_log(request, target, first)))
    probabilities = choice_probabilities(request, decision.scored)
    known, width = usable_curves(request, target, facts.models), _width(request, facts, decision, probabilities, go_on)
    likely, today = _likely(decision, probabilities), width(known)
    pairs = _pairs(decision, chosen.shape, chosen.nodes, probabilities)
    places = list(dict.fromkeys((*pairs, *_worth_a_look(decision, probabilities))))
    runs = [_run(request, decision, place) for place in places]

    def proposed(most: int, budget: float | None, least: float) -> tuple[Proposal, ...]:
        steps = propose(known, runs, width, most, budget, first=range(len(pairs)), least=least)
        return tuple(Proposal(places[step.run], choice_of(decision, places[step.run]), runs[step.run].node_hours, step) for step in steps)

    proposals = proposed(most, budget, least)
    notes = (*_too_many(decision, probabilities), *_enough(len(proposals), most, budget, least))
    notes += tuple(_of_runs(request, decision, facts, proposals))
    if not proposals:
        notes += tuple(_why_enough(likely, decision, today, budget, least, partial(proposed, 1)))
    return MeasurementPlan(decision, likely, today, proposals, notes, (*warnings, *_one_log(request, target, proposals)))


def _predicted(request: Request, target: Target, facts: Facts, chosen: Shape) -> tuple[Request, Decision]:
    """The request with its problem, and every candidate that can be measured, with predicted times; not ranked."""
    found = enumerate_candidates(request, target, facts.models)
    request = with_problem(request, found.problem)
    image_for = partial(no_image, request, facts, target)
    measured = with_switches(found, request, target, facts.tried, image_for)
    too_few = most_without_memory(request, target, found, facts)
    wider = with_unmeasured(request, target, measured, image_for, chosen, too_few, facts.models)
    candidates = _runnable(wider, request, target, facts)
    evidence = score(request, target, predict_candidates(request, target, after_failures(request, target, candidates, facts), facts))
    return request, Decision(target, evidence, Ranking(np.zeros(0), tuple, "time"), prepared(facts))


def _warnings(request: Request, chosen: Decision, decision: Decision) -> tuple[Notice, ...]:
    """``chosen``: what would be chosen today; ``decision``: as :func:`_predicted` makes it."""
    of_request = with_document_fields(request, (*decision.candidates.warnings, *chosen.relaxed, *chosen.given_up.values()))
    return tuple(dict.fromkeys((*decision.target.warnings, *missing_figures(request, decision.target), *of_request)))


def _of_runs(request: Request, decision: Decision, facts: Facts, runs: Sequence[Proposal]) -> Iterator[str]:
    """What should be known of the proposed runs."""
    yield from _second_tries(request, decision, facts, runs)
    yield from _of_program(decision, runs)
    yield from _shorter(request, runs)
    yield from _one_folder(request, decision.target, runs)


def _one_log(request: Request, target: Target, runs: Sequence[Proposal]) -> tuple[Notice, ...]:
    """A warning if several runs, which may be submitted together, write the file of the metric under one name."""
    log, job = request.application.metric_file, plugins.find("schedulers", target.scheduler).job_id
    if log is None or job is None or len(runs) < 2 or not {job, "MODAK_SCRATCH", "TMPDIR"}.isdisjoint(variables((log,))):
        return ()
    why = f"{shell(log)}: runs at the same time would all write it, and read each other's metric"
    way = f"put ${{{job}}} into its name, also in the command, or submit the runs one after the other"
    return (Notice(field="application.metric_file", message=f"{why}: {way}"),)


def _one_folder(request: Request, target: Target, runs: Sequence[Proposal]) -> Iterator[str]:
    """That runs which are submitted together share what their steps before the run write, unless it has a name of the job's."""
    steps, job = request.application.pre_execution, plugins.find("schedulers", target.scheduler).job_id
    if len(runs) < 2 or not steps or job is None or steps[0] in ("source", "."):
        return
    if any(name in line(steps) for name in (job, "MODAK_SCRATCH", "TMPDIR")):
        return
    way = f"submit them one after the other, or put ${{{job}}} into the names of its files"
    yield f"pre-execution: runs at the same time would write over what it has prepared for another: {way}"


def _second_tries(request: Request, decision: Decision, facts: Facts, runs: Sequence[Proposal]) -> Iterator[str]:
    """Which failed runs to leave alone from now on, and which runs are tried once more."""
    yield from (why for why in decision.candidates.decisions if why.startswith(LEFT_OUT))
    failed = failed_once(request, decision.target, decision.candidates, facts)
    for one in runs:
        if (decision.shape_at(one.index), decision.nodes_at(one.index)) in failed:
            yield f"{describe_candidate(decision, one.index)}: {FAILED_ONCE}"


def _of_program(decision: Decision, runs: Sequence[Proposal]) -> Iterator[str]:
    """That open switches are a matter of the program, too: else the result of a run counts as one with a switch that it did not have."""
    switches, shapes = [each.switch for each in decision.candidates.tried], [decision.shape_at(one.index) for one in runs]
    names = [one.name for one in switches if one.name != BUILD and any(map(one.is_on, shapes))]
    if names:
        only = "see to it that the program uses it in the runs that name it, and in no others"
        yield f"{', '.join(names)}: scripts set only environment variables; {only}"


def _shorter(request: Request, runs: Sequence[Proposal]) -> Iterator[str]:
    """That less work tells as much, if the program prints its speed, or the time of an epoch, and a run is, or may be, long."""
    work, times = request.optimisation.workload, [one.choice.prediction.value for one in runs]
    length = next((name for name in ("amount", "steps", "epochs") if getattr(work, name) is not None), None)
    if (speed := speed_printed(work)) and length and any(time is None or time > LONG_S for time in times):
        way = f"give less in optimisation.workload.{length}, and in the command"
        yield f"a shorter run is enough, because the program prints its {speed}: {way}"


def _chosen(request: Request, facts: Facts) -> Decision:
    """What would be chosen today, or if nothing meets the constraints, or has not failed, what comes closest."""
    try:
        return decide(request, facts)
    except Infeasible:
        return decide(request, prepared(facts).changed(failed=()), rank_closest)


def _runnable(candidates: Candidates, request: Request, target: Target, facts: Facts) -> Candidates:
    """The candidates without those whose graph compiler no suitable image has: their scripts would run without it."""
    kept = [pair for pair in candidates.pairs if not missing_compilers(request, facts, target, pair[0])]
    return candidates.with_pairs(kept) if kept else candidates  # if none, it is a part of the framework and cannot be switched off


def _pairs(decision: Decision, shape: Shape, nodes: int, probabilities: Array | None = None) -> tuple[int, ...]:
    """For each open switch of which no results show the effect the two candidates that would, with it and without it: a shape and its
    counterpart, on so many nodes. With ``probabilities`` only where both may be the right choice."""
    of_layouts = None if probabilities is None else np.bincount(decision.scored.shape, probabilities)
    found: list[int] = []
    for each in decision.candidates.tried:
        pair = [] if each.pairs else _with_and_without(decision, each.switch, shape, nodes)
        likely = of_layouts is None or all(of_layouts[decision.scored.shape[index]] >= LIKELY for index in pair)
        if likely and any(decision.own_curve(index) is None for index in pair):
            found += pair
    return tuple(dict.fromkeys(found))


def _with_and_without(decision: Decision, switch: OpenSwitch, shape: Shape, nodes: int) -> list[int]:
    """The candidates of a shape with a switch and without it, on so many nodes; empty: they are not both there."""
    scored, shapes = decision.scored, [bare(each) for each in decision.candidates.shapes]
    both = [bare(switch.turned_on(shape)), bare(switch.turned_off(shape))]
    if bare(shape) not in both or not all(one in shapes for one in both):
        return []
    rows = [np.flatnonzero((scored.shape == shapes.index(one)) & (scored.nodes == nodes)) for one in both]
    return [int(row[0]) for row in rows] if all(row.size for row in rows) else []


def _too_many(decision: Decision, probabilities: Array) -> tuple[str, ...]:
    """A note if so many layouts are equally good that each is unlikely."""
    total = np.bincount(decision.scored.shape, probabilities)
    if not too_many(total):
        return ()
    return (f"{np.count_nonzero(total)} layouts may be the right choice, most with less than {percent(LIKELY)}: {FEW} stand for all",)


def _enough(found: int, most: int, budget: float | None, least: float) -> tuple[str, ...]:
    """A note if fewer than ``most`` runs were found."""
    if found >= most:
        return ()
    within = "" if budget is None else f" within {as_given(budget)} node-hours"
    by = f" by {percent(least)} or more" if least else ""
    return (f"{'after these, ' if found else ''}no run narrows the interval of the decision{by}{within}",)


def _why_enough(
    likely: Sequence[Likely],
    decision: Decision,
    today: float,
    budget: float | None,
    least: float,
    proposed: Callable[[float | None, float], Sequence[Proposal]],
) -> Iterator[str]:
    """Why no run is worth measuring, and which would be the next: of those ``proposed`` for another budget and gain, or else a repeat."""
    if budget is not None and (found := proposed(None, least)):
        yield f"{_named(decision, found[0], today)}: a larger budget allows it"
        return
    if all(one.choice.prediction.basis in ("measured", "interpolated") for one in likely):
        yield SETTLED
    if found := proposed(budget, 0.0):
        yield f"to narrow it all the same, measure {_named(decision, found[0], today)}; '--gain 0' proposes such runs"
    elif found := proposed(None, 0.0):
        yield f"to narrow it all the same, measure {_named(decision, found[0], today)}: a larger budget and '--gain 0' allow it"
    else:
        yield _repeats(decision, likely[0].index, budget)


def _repeats(decision: Decision, index: int, budget: float | None) -> str:
    """What to repeat: of the candidate's layout the nearest measured size, or if none was measured the candidate, within the budget."""
    scored, nodes = decision.scored, decision.scored.nodes
    of_layout = np.flatnonzero(scored.shape == scored.shape[index]).tolist()
    measured = [place for place in of_layout if scored.basis[place] == "measured"]
    hours = scored.job_node_hours
    allowed = [place for place in measured or [index] if budget is None or hours[place] <= budget]
    if not allowed:
        return "repeats would show how much runs scatter, but cost more than the budget"
    nearest = min(allowed, key=lambda place: abs(math.log(nodes[place] / nodes[index])))
    run, cost = f"to narrow it all the same, run {describe_candidate(decision, nearest)}", f"{format_number(hours[nearest])} node-hours"
    if not measured:
        return f"{run} ({cost}): it tells about as much as a repeat of the size next to it that was measured"
    return f"{run} several times ({cost} each time): repeats show how much runs scatter"


def _named(decision: Decision, one: Proposal, today: float) -> str:
    """A run in words, with what it costs and gains."""
    gain = f", which narrows the interval by {format_number(100 * (one.step.before - one.step.after) / today, 2)}%" if one.step else ""
    return f"{describe_candidate(decision, one.index)} ({format_number(one.node_hours or 0)} node-hours){gain}"


def _width(request: Request, facts: Facts, decision: Decision, probabilities: Array, go_on: Callable[[], None]) -> Width:
    """The half-width of the decision's interval as a function of the known curves."""
    power, scored, target, tried = node_power(facts), decision.scored, decision.target, decision.candidates.tried
    share, beside = decision.evidence.of_work
    spots = []
    for place in likely_layouts(scored, probabilities):
        rows, shape = np.flatnonzero((scored.shape == place) & (probabilities > 0)), decision.candidates.shapes[place]
        spots.append((shape, rows, probabilities[rows]))
    total, all_nodes = sum(weights.sum() for *_, weights in spots), np.concatenate([scored.nodes[rows] for _, rows, _ in spots])

    def half_width(curves: Sequence[Curve], predictor: Predictor, shape: Shape, nodes: Ints) -> Array:
        """With an inferred switch that of the run without it and of the ratio, unless results with it tell more."""
        without = predictor.predictions(question(request, target, evidence_for(shape, tried)), nodes)
        found = apply_effects(without, request, target, shape, nodes, tried).width.middle
        inferred = [each.switch for each in tried if each.switch.name in shape.inferred]
        if not inferred or not any(all(switch.is_on_in(curve.series) for switch in inferred) for curve in curves):
            return found
        return np.minimum(found, predictor.predictions(_question(request, target, shape), nodes).width.middle)

    def width(curves: Sequence[Curve]) -> float:
        go_on()
        predictor = Predictor(curves, all_nodes, power)
        work = ((half_width(curves, predictor, shape, scored.nodes[rows]), rows, weights) for shape, rows, weights in spots)
        return float(sum(weights @ np.hypot(found * share[rows], beside[rows]) for found, rows, weights in work) / total)

    return width


def _question(request: Request, target: Target, shape: Shape) -> Question:
    """The question to the models about a run of a shape, a source build by the name that results have for it."""
    asked = question(request, target, shape)
    return asked.with_params({**asked.params, "build": BUILD}) if shape.opt_build else asked


def _worth_a_look(decision: Decision, probabilities: Array) -> list[int]:
    """Indices of candidates to consider: of every likely layout the powers of two and the two most probable sizes that are not next to
    measured ones.

    Powers of two that are far from the measured sizes are left out, unless a larger size may be chosen.
    """
    scored = decision.scored
    found: list[int] = []
    for place in likely_layouts(scored, probabilities):
        here = (scored.shape == place) & np.isfinite(scored.time)
        new = here & (probabilities > 0) & ~_next_to_measured(scored, here)
        best = np.flatnonzero(new)[np.argsort(-probabilities[new], kind="stable")][:2]
        largest = scored.nodes[here & (probabilities > 0)].max()
        powers = (
            here & ((scored.nodes & (scored.nodes - 1)) == 0) & ((scored.doublings <= UNREQUESTED_DOUBLINGS) | (scored.nodes <= largest))
        )
        found += sorted({*map(int, np.flatnonzero(powers)), *map(int, best)})
    return found


def _next_to_measured(scored: Scored, here: Flags) -> Flags:
    """Which candidates have about the size of a measured one of those ``here``, so that no run of them is proposed."""
    measured = scored.nodes[here & (np.array(scored.basis) == "measured")]
    apart = np.abs(np.log(scored.nodes[:, None] / measured))
    return np.asarray((apart <= ALIKE).any(axis=1))


def _run(request: Request, decision: Decision, index: int) -> CandidateRun:
    """A candidate as a point of its curve, or of the curve that it would begin."""
    scored, shape, own = decision.scored, decision.shape_at(index), decision.own_curve(index)
    nodes = decision.nodes_at(index)
    curve = decision.evidence.predictions_at(index).curve
    assert curve is not None  # noqa: S101 (its time is known)
    asked = _question(request, decision.target, shape).attributes
    scale: Scale = own.scale if own else "nodes"
    return CandidateRun(
        series=own.series if own else _series(curve.series, asked),
        layout=own.layout if own else shape.layout,
        scale=scale,
        size=size_of(shape.layout.model_copy(update={"nodes": nodes}), scale),
        nodes=nodes,
        cost=decision.evidence.cost_at(index),
        spread=float(scored.width.middle[index]),
        node_hours=float(scored.job_node_hours[index]),
        ranks_per_gpu=own.ranks_per_gpu if own else None,
    )


def _series(like: SeriesKey, asked: Mapping[str, Any]) -> SeriesKey:
    """The series that a run would begin: the attributes asked for, with application and metric of the curve behind the prediction."""
    software = dict.fromkeys(("compiler", "mpi", "mpi_from", "hyperthreads", "numa_mode", "image", "runtime", "partition"))
    params = {**like.params, **asked["params"]} if "params" in asked else like.params
    return like.model_copy(update={**software, **asked, "params": params})


def _likely(decision: Decision, probabilities: Array) -> tuple[Likely, ...]:
    scored, found = decision.scored, []
    total = np.bincount(scored.shape, probabilities)
    for place in sorted(likely_layouts(scored, probabilities), key=lambda place: -total[place]):
        rows = np.flatnonzero(scored.shape == place)
        reached = np.cumsum(probabilities[rows]) / total[place]
        low, middle, high = (rows[min(int(np.searchsorted(reached, part)), len(rows) - 1)] for part in (0.05, 0.5, 0.95))
        spread = (int(scored.nodes[low]), int(scored.nodes[high]))
        found.append(Likely(int(middle), choice_of(decision, int(middle)), float(total[place]), spread))
    return tuple(found)


def _first(request: Request, decision: Decision, most: int) -> tuple[Proposal, ...]:
    """The smallest sizes of a layout, the smallest one also with each open switch of which no results show the effect; then the smallest
    size of each other layout, those with more ranks first.

    The layout is that of the rule of thumb, for a hybrid program the one with a few threads: it is between the others, so its scaling tells
    most of theirs.
    """
    scored, shapes, node = decision.scored, decision.candidates.shapes, decision.target.node
    ranks = {index: one.ranks_per_node for index, one in enumerate(shapes) if _alike_but_for_layout(one, shapes[0])}
    between = with_few_threads(node) if node and is_hybrid(request) else ()
    first = next((index for index in ranks if ranks[index] in between), 0)
    sizes = np.flatnonzero(scored.shape == first).tolist()
    smallest = int(scored.nodes[sizes[0]])
    nearest = sorted(ranks, key=lambda index: (ranks[index] < ranks[first], abs(ranks[index] - ranks[first])))
    layouts = []
    for index in nearest:
        rows = np.flatnonzero(scored.shape == index)
        same = rows[scored.nodes[rows] == smallest]
        layouts += same.tolist() or rows[:1].tolist()
    order = list(dict.fromkeys((sizes[0], *_pairs(decision, shapes[first], smallest), *sizes, *layouts)))[:most]
    return tuple(Proposal(place, choice_of(decision, place)) for place in order)


def _nothing(decision: Decision) -> str:
    """The line if the application has no usable result, with the measured one that its name is like."""
    other = decision.facts.similar_application
    named = f" (there are results of {other!r})" if other else ""
    return f"there is no usable result of this application{named}: these runs give a first look at how it scales"


def _alike_but_for_layout(shape: Shape, other: Shape) -> bool:
    """Whether both run the same software."""
    layout = ("ranks_per_node", "threads_per_rank", "numa_mode", "mpi", "mpi_from")
    return bare(replace(shape, **{name: getattr(other, name) for name in layout})) == bare(other)
