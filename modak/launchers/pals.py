"""``mpiexec`` of HPE Cray's PALS (Parallel Application Launch Service), whose daemons start ranks under PBS Pro without ssh."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from modak.jobs.spec import JobSpec
from modak.launchers.base import Launcher, openmp
from modak.launchers.family import OTHER_MPI
from modak.schedulers import Scheduler
from modak.script.bash import Line, installed
from modak.text.words import Word


@dataclass(frozen=True)
class Pals(Launcher):
    """PALS."""

    name: str = "pals"
    aliases: tuple[str, ...] = ("cray-pals",)

    def unfit(self, job: JobSpec, scheduler: Scheduler) -> str:
        """It works under PBS Pro and Slurm only."""
        fits = scheduler.is_slurm or scheduler.name == "pbspro"
        return "" if fits else f"mpiexec of PALS starts processes under PBS Pro or Slurm, not under {scheduler.name}"

    def preflight(self, job: JobSpec, scheduler: Scheduler) -> tuple[Line, ...]:
        """A check that ``mpiexec`` is on the node."""
        return (installed("mpiexec", OTHER_MPI, "mpiexec is not on this node: load the PALS module"),)

    def environment(self, job: JobSpec) -> Mapping[str, str]:
        """OpenMP's."""
        return openmp(job.resources, bound=not job.resources.hyperthreads)

    def words(self, job: JobSpec, scheduler: Scheduler, exported: tuple[str, ...]) -> tuple[Word, ...]:
        """Ranks, ranks a node, and cores of a rank, to which it is bound. The environment goes along.

        ``depth`` counts CPUs in the order of their numbers, in which the second hardware threads come after the last core: ranks that use
        hyper-threads are not bound.
        """
        has = job.resources
        none = has.oversubscribed or has.hyperthreads
        bound = ("--cpu-bind", "none") if none else ("--depth", str(has.cores_per_rank), "--cpu-bind", "depth")
        return ("mpiexec", "-n", str(has.ranks), "--ppn", str(has.ranks_per_node), *bound)
