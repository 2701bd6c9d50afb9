"""The choice among the candidates of a request, and a candidate as the answer shows it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from modak.advice.batchsize import global_batch
from modak.choosing.candidates import Candidates
from modak.choosing.objective import Ranking, Scored
from modak.choosing.scoring import Evidence
from modak.choosing.shapes import Shape
from modak.choosing.software import Software
from modak.dsl import Choice, Configuration, Notice
from modak.target import Target


@dataclass(frozen=True)
class Decision:
    """What was chosen before any text is made."""

    target: Target
    candidates: Candidates
    scored: Scored
    evidence: Evidence
    ranking: Ranking
    asked: tuple[Hashable, ...] = ()
    """The same for requests with the same target whose essence differs in counts alone."""
    unsaid: tuple[Notice, ...] = ()
    """What the request would have to say for a time, where there are results and no time."""

    @property
    def best(self) -> int:
        """Index of the chosen candidate."""
        return self.ranking.best

    @property
    def shape(self) -> Shape:
        """What is the same on every node of it."""
        return self.candidates.shapes[int(self.scored.shape[self.best])]

    @property
    def nodes(self) -> int:
        """Its number of nodes."""
        return int(self.scored.nodes[self.best])


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
