"""Flux's own launcher: ``flux run`` inside the job's Flux instance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from modak.jobs.spec import JobSpec, Resources
from modak.launchers.base import Launcher, kept_back
from modak.launchers.family import OTHER_MPI
from modak.schedulers import Scheduler
from modak.script.bash import Line, need, quiet, run
from modak.text.words import Word

HANDED_ON: Final = frozenset({"TERM", "HUP", "ALRM", "USR1", "USR2"})
"""Signals that it passes on to the ranks, by the source of ``flux job attach``, which it becomes. INT is the first of two Ctrl-C."""


@dataclass(frozen=True)
class FluxRun(Launcher):
    """``flux run``."""

    name: str = "flux"
    aliases: tuple[str, ...] = ("flux-run",)

    def unfit(self, job: JobSpec, scheduler: Scheduler) -> str:
        """It works under Flux only; where ranks share GPUs, each node has as many of them."""
        has = job.resources
        if scheduler.launcher != self.name:
            return f"flux run starts processes under Flux, not under {scheduler.name}"
        uneven = _share_gpus(has) and has.ranks % has.nodes
        why = f"flux run gives each rank as many GPUs, or each node as many ranks: {has.gpus_per_node} GPUs of a node cannot be shared by"
        return f"{why} {has.ranks} ranks on {has.nodes} nodes" if uneven else ""

    def preflight(self, job: JobSpec, scheduler: Scheduler) -> tuple[Line, ...]:
        """A check that the script runs in a Flux instance."""
        return (
            need(quiet(run("flux", "getattr", "size")), OTHER_MPI, "there is no Flux instance here: submit the script with flux batch"),
        )

    def untold(self, job: JobSpec, scheduler: Scheduler, signal: str) -> str:
        """It passes most signals on."""
        return kept_back("flux run", HANDED_ON, signal)

    def words(self, job: JobSpec, scheduler: Scheduler, exported: tuple[str, ...]) -> tuple[Word, ...]:
        """Ranks and their cores, by node where ranks share GPUs, else by rank (flux-run(1): per-resource or per-task options). Each rank
        sees all GPUs of its node: NCCL could not use the paths between them otherwise."""
        has = job.resources
        placed: tuple[str, ...]
        if _share_gpus(has):
            cores = str(has.nodes * has.cores_per_node)
            placed = ("--cores", cores, "--tasks-per-node", str(has.ranks // has.nodes), "--gpus-per-node", str(has.gpus_per_node))
        else:
            gpus = ("-g", str(has.gpus_per_node // has.ranks_per_node)) if has.gpus_per_node else ()
            placed = ("-n", str(has.ranks), "-c", str(has.cores_per_rank), *gpus)
        seen = ("-o", "gpu-affinity=off") if has.gpus_per_node else ()
        pmi = ("-o", "pmi=pmix") if job.pmi == "pmix" else ()
        bound = "off" if has.oversubscribed else "per-task"
        return ("flux", "run", "-N", str(has.nodes), *placed, *seen, "-o", f"cpu-affinity={bound}", *pmi)


def _share_gpus(has: Resources) -> bool:
    """Whether a rank has no GPUs of its own: they are not a multiple of the ranks."""
    return has.gpus_per_node % has.ranks_per_node > 0
