"""The choice among the candidates of a request, and its form in the answer."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from modak.choosing.candidates import Candidates
from modak.choosing.objective import Ranking, Scored, pareto
from modak.choosing.scoring import Evidence
from modak.choosing.shapes import Shape
from modak.choosing.software import Software, in_image, whose_mpi
from modak.dsl import Choice, Configuration, Notice
from modak.perfmodel import Curve
from modak.prepared import Prepared
from modak.target import Target


@dataclass(frozen=True)
class Decision:
    """The ranked candidates of a request, before any text is written."""

    target: Target
    evidence: Evidence
    ranking: Ranking
    facts: Prepared
    """What the decision rests on."""
    asked: Hashable = None
    """A cache key: equal for requests with the same target whose essence differs only in counts."""
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
        return int(self.scored.nodes[self.best])

    def shape_at(self, index: int) -> Shape:
        """Shape of one candidate."""
        return self.candidates.shapes[int(self.scored.shape[index])]

    def own_curve(self, index: int) -> Curve | None:
        """The curve measured in exactly the configuration of one candidate; ``None``: its prediction rests on others, or on a ratio."""
        found = self.evidence.predictions_at(index)
        if self.shape_at(index).inferred or found.curve is None or found.curve.estimated is not None or found.differences:
            return None
        return found.curve


def choice_of(decision: Decision, index: int, software: Software | None = None, why_not: str | None = None) -> Choice:
    """One candidate in the form of the answer."""
    scored = decision.scored
    shape, nodes = decision.shape_at(index), int(scored.nodes[index])
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
        global_batch=shape.global_batch(nodes, ranks),
        workers=shape.workers(nodes, ranks),
        opt_build=shape.opt_build or None,
    )
    prediction = decision.evidence.prediction(index)
    hours = None if prediction.value is None else nodes * prediction.value / 3600
    efficiency = float(scored.efficiency[index])
    return Choice(
        configuration=configuration,
        prediction=prediction,
        node_hours=hours,
        energy_kwh=hours * scored.power_w / 1000 if hours is not None and scored.power_w else None,
        cost=hours * scored.price if hours is not None and scored.price else None,
        efficiency=round(efficiency, 4) if hours is not None and math.isfinite(efficiency) else None,
        why_not=why_not,
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
