"""The decision for a request, steps 1 to 4 of :mod:`modak.optimise`, and its form in the answer.

What several requests have in common is worked out once, and kept with the facts: the caches of :mod:`modak.prepared`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from modak.choosing.candidates import Candidates, enumerate_candidates, on_nodes
from modak.choosing.failures import after_failures
from modak.choosing.fieldpaths import with_document_fields
from modak.choosing.mpi import whose_mpi
from modak.choosing.objective import Ranking, Scored, pareto, rank, rank_closest
from modak.choosing.openswitch import left_open
from modak.choosing.reducedrequest import Counts, ReducedRequest, counts_of, key_of_any_size, reduce_request, with_counts, without_counts
from modak.choosing.requirements import compilers, stated_nodes, without_compilers
from modak.choosing.scoring import CandidatePredictions, Evidence, predict_candidates, score
from modak.choosing.shapes import Shape
from modak.choosing.software import Software, in_image, missing_compilers, no_image
from modak.choosing.spending import spent
from modak.choosing.switching import with_switches
from modak.choosing.workload import amounts_needed, nearest_lengths, with_problem, with_setting
from modak.dsl import Choice, Configuration, Notice, Objective, Request
from modak.errors import Fault, Infeasible
from modak.facts import Facts
from modak.perfmodel import Curve
from modak.prepared import Prepared, prepared
from modak.target import Target, resolve, target_key
from modak.text.amounts import as_given
from modak.text.numbering import Numbers


@dataclass(frozen=True)
class Decision:
    """The ranked candidates of a request, before any text is written."""

    target: Target
    evidence: Evidence
    ranking: Ranking
    facts: Prepared
    """What the decision rests on."""
    asked: Hashable = None
    """A cache key: equal for requests with the same target that, reduced, differ only in counts."""
    amounts_needed: tuple[Notice, ...] = ()
    """If results exist but give no time: what the request would have to state."""
    relaxed: tuple[Notice, ...] = ()
    """Constraints that the counts of the request do not meet, and that do not bind it."""
    given_up: Mapping[str, Notice] = field(default_factory=dict)
    """Graph compilers that no suitable image has, with a warning about each: the decision is that of the request without them."""

    @cached_property
    def candidates(self) -> Candidates:
        """What was ranked."""
        return self.evidence.columns.candidates

    @cached_property
    def scored(self) -> Scored:
        """The same with predicted times."""
        return self.evidence.scored

    @property
    def best(self) -> int:
        """Index of the chosen candidate."""
        return self.ranking.best

    @property
    def measured_on(self) -> tuple[str | None, ...]:
        """If no time is predicted: the systems of the application's results; ``None``: some name no system."""
        return () if self.evidence.known else self.facts.measured_on

    @property
    def shape(self) -> Shape:
        """Shape of the chosen candidate."""
        return self.shape_at(self.best)

    @property
    def nodes(self) -> int:
        """Number of nodes of the chosen candidate."""
        return self.nodes_at(self.best)

    def shape_at(self, index: int) -> Shape:
        """Shape of one candidate."""
        return self.candidates.shapes[int(self.scored.shape[index])]

    def nodes_at(self, index: int) -> int:
        """Number of nodes of one candidate."""
        return int(self.scored.nodes[index])

    def own_curve(self, index: int) -> Curve | None:
        """The curve measured in exactly the configuration of one candidate; ``None``: its prediction rests on others, or on a ratio."""
        found = self.evidence.predictions_at(index)
        if self.shape_at(index).inferred or found.curve is None or found.curve.estimated is not None or found.differences:
            return None
        return found.curve


Ranker = Callable[[Scored, Objective], Ranking]
""":func:`rank`, or :func:`rank_closest`."""


def decide(request: Request, facts: Facts, ranker: Ranker = rank) -> Decision:
    """Steps 1 to 4: where the job runs, what can run there, how long each configuration takes, and which is best.

    What runs without a graph compiler, because no suitable image has it, takes as long as without it, and may run best elsewhere.
    """
    known = prepared(facts)
    request = with_setting(request, known.models)
    try:
        found, infeasible = _decided(request, known, ranker), None
    except Infeasible as error:
        if not compilers(request):
            raise
        found, infeasible = _decided(request, known, rank_closest), error  # without missing compilers the request may be feasible
    missing = known.missing.get((found.asked, found.shape), lambda: missing_compilers(request, known, found.target, found.shape))
    if missing and (without := without_compilers(request, missing)) != request:
        try:
            found = decide(without, known, ranker)
        except Infeasible as error:
            raise with_causes(error, with_document_fields(request, missing.values())) from None
        return replace(found, given_up={**missing, **found.given_up})
    if infeasible:
        raise infeasible
    return found


def _decided(request: Request, facts: Prepared, ranker: Ranker) -> Decision:
    """Steps 1 to 4 for the request as it stands, whatever images have."""
    place = target_key(request, facts)
    target = facts.targets.get(place, lambda: resolve(request, facts))
    asked, predicted = _predictions(request, place, target, facts)
    evidence = score(request, target, predicted)
    try:
        ranking, relaxed = ranking_of(request, evidence.scored, ranker, lambda: _wider(request, place, target, facts))
    except Infeasible as error:  # what was made of the request may be the cause: a data set that is not known
        raise with_causes(error, (*target.warnings, *with_document_fields(request, predicted.candidates.warnings))) from None
    return Decision(
        target=target,
        evidence=evidence,
        ranking=ranking,
        facts=facts,
        asked=asked,
        amounts_needed=() if evidence.known else amounts_needed(request, facts.needing_more),
        relaxed=relaxed,
    )


def _predictions(
    request: Request, place: tuple[Hashable, ...], target: Target, facts: Prepared
) -> tuple[ReducedRequest, CandidatePredictions]:
    """Every configuration with its predicted time of one unit of work, and the cache key of the question."""
    lengths = nearest_lengths(request.optimisation.workload, facts.lengths)
    key = (*place, *key_of_any_size(request), *lengths.values())
    asked = facts.questions.get(key, lambda: ReducedRequest(without_counts(reduce_request(request, lengths=lengths))))
    counts = counts_of(request)

    def predicted() -> CandidatePredictions:
        found = after_failures(asked.request, target, _candidates(asked, counts, target, facts), facts)
        return predict_candidates(asked.request, target, found, facts, asked)

    return asked, facts.columns.get((asked, *counts), predicted)


def _wider(request: Request, place: tuple[Hashable, ...], target: Target, facts: Prepared) -> Scored:
    """The configurations that the request would allow without its ``max_nodes``."""
    objective = request.optimisation.objective.model_copy(update={"max_nodes": None})
    request = request.changed(optimisation={"objective": objective})
    return score(request, target, _predictions(request, place, target, facts)[1]).scored


def ranking_of(
    request: Request, scored: Scored, ranker: Ranker = rank, wider: Callable[[], Scored] | None = None
) -> tuple[Ranking, tuple[Notice, ...]]:
    """The ranking under the constraints of the request, or under those of its objective alone, with a notice.

    ``wider``: predicts also what the objective's ``max_nodes`` excludes, for a refusal. Raises :class:`modak.errors.Infeasible` if nothing
    meets the constraints that bind.

    The published fields for an efficiency cap the counts where they are left open; callers send them with counts that do not reach it.
    Where the counts are open, limits of the objective together with that efficiency are refused. Of it and the objective's own, the higher
    one holds.
    """
    objective = request.optimisation.objective
    least = request.application.minimal_efficiency or request.optimisation.options.value_of("scaling_efficiency")
    if objective.max_nodes:
        scored = replace(scored, wider=wider)
    floor = max(least or 0.0, objective.min_efficiency or 0.0)
    try:
        return ranker(scored, objective.model_copy(update={"min_efficiency": floor}) if least else objective), ()
    except Infeasible:
        if least is None or (objective.constrained and not (request.application.mpi_ranks or stated_nodes(request))):
            raise
    ranking = ranker(scored, objective)
    reached = scored.efficiency[ranking.best]
    how = f"not reached: {reached:.2f} is predicted for the counts given" if math.isfinite(reached) else "not known to be reached"
    message = f"a parallel efficiency of {as_given(least)} is {how}; the counts are kept (leave them out to have them chosen)"
    name = "application.minimal_efficiency" if request.application.minimal_efficiency else "optimisation.options.scaling_efficiency"
    return ranking, (Notice(field=name, message=message),)


def _candidates(asked: ReducedRequest, counts: Counts, target: Target, facts: Prepared) -> Candidates:
    """What can run there, including switches. The candidates for a given number of nodes follow from those for another number, unless they
    depend on it, as switches and parameters do that results decide."""

    def enumerated() -> Candidates:
        request = with_counts(asked.request, counts)
        found = enumerate_candidates(request, target, facts.models)
        request = with_problem(request, found.problem)
        return with_switches(found, request, target, facts.tried, partial(no_image, request, facts, target))

    nodes, named, ranks = counts
    by_results = left_open(asked.request) or asked.request.optimisation.workload.open_params
    of_their_size = named or ranks or asked.request.application.allowed_ranks or by_results
    if nodes is None or of_their_size:
        return enumerated()
    return on_nodes(facts.candidates.get((asked, nodes > 1), enumerated), nodes, asked.request, target)


def with_causes(error: Infeasible, notices: Sequence[Notice]) -> Infeasible:
    """The error with what may be its cause."""
    return Infeasible(faults=(*error.faults, *(Fault(one.field, one.message) for one in notices)))


def choice_of(decision: Decision, index: int, software: Software | None = None, why_not: str | None = None) -> Choice:
    """One candidate in the form of the answer."""
    scored = decision.scored
    shape, nodes = decision.shape_at(index), decision.nodes_at(index)
    shape = in_image(shape, software) if software else shape
    image = software.reference if software else None
    ranks = decision.candidates.given.ranks
    configuration = Configuration(
        nodes=nodes,
        ranks_per_node=shape.ranks_per_node,
        threads_per_rank=shape.threads_per_rank,
        gpus_per_node=shape.gpus_per_node,
        hyperthreads=shape.hyperthreads,
        numa_mode=shape.numa_mode,
        mpi=shape.mpi,
        mpi_from=whose_mpi(decision.target, shape, image) if image else shape.mpi_from,
        compiler=shape.compiler,
        framework_version=software.framework_version if software else shape.framework_version,
        precision=shape.precision,
        image=image,
        batch_size=shape.batch_size,
        params=dict(shape.params) or None,
        global_batch=shape.global_batch(nodes, ranks),
        workers=shape.workers(nodes, ranks),
        opt_build=shape.opt_build or None,
    )
    prediction = decision.evidence.prediction(index)
    charged, node = float(scored.charged[index]), decision.target.whole_node
    hours = None if prediction.value is None else charged * prediction.value / 3600
    efficiency = float(scored.efficiency[index])
    return Choice(
        configuration=configuration,
        prediction=prediction,
        node_share=charged / nodes if charged < nodes else None,
        node_hours=hours,
        core_hours=hours * node.usable_cores if hours is not None and node else None,
        gpu_hours=hours * node.accelerators if hours is not None and node and shape.gpus_per_node else None,
        efficiency=round(efficiency, 4) if hours is not None and math.isfinite(efficiency) else None,
        why_not=why_not,
        **spent(hours, scored.rates),
    )


def best_of_other_shapes(decision: Decision) -> tuple[int, ...]:
    """The best feasible candidate of each shape other than the chosen one, best first."""
    order = np.array(decision.ranking.order, dtype=np.int64)
    shapes, first = np.unique(decision.scored.shape[order], return_index=True)
    chosen = decision.scored.shape[decision.best]
    return tuple(int(order[at]) for at, shape in sorted(zip(first, shapes, strict=True)) if shape != chosen)


def pareto_front(decision: Decision, most: int) -> tuple[int, ...]:
    """At most ``most`` (two or more) points of the Pareto front of time and node-hours, evenly spread with both ends, fastest first."""
    if not decision.evidence.known:
        return ()
    front = pareto(decision.scored, decision.ranking.order)
    return front if len(front) <= most else tuple(front[round(i * (len(front) - 1) / (most - 1))] for i in range(most))


def result_ids_behind(decision: Decision) -> Numbers:
    """The results behind the prediction of the choice: those of its own curve, and of other curves that the prediction uses."""
    if not decision.evidence.known:
        return ()
    found = decision.evidence.predictions_at(decision.best)
    alone = decision.scored.basis[decision.best] in ("measured", "interpolated")
    used = set() if alone else set(found.others)
    curves = [found.curve, *(curve for curve in decision.facts.models if used and curve.measured in used)]
    return tuple(dict.fromkeys(numbers for curve in curves if curve for numbers in curve.result_ids))
