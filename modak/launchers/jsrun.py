"""IBM's ``jsrun`` under LSF: one resource set a node, which holds the node's ranks, cores and GPUs (a set cannot span nodes)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from modak.facts import System
from modak.jobs.spec import JobSpec
from modak.launchers.base import Launcher
from modak.launchers.family import OTHER_MPI
from modak.schedulers import Scheduler
from modak.script.bash import Line, installed
from modak.text.words import Word

JSRUN: Final = "jsrun"


def beside(system: System | None) -> bool:
    """Whether the system's scripts run on a node beside those of the job, which only jsrun reaches."""
    return system is not None and system.launcher == JSRUN


@dataclass(frozen=True)
class Jsrun(Launcher):
    """``jsrun``."""

    name: str = JSRUN

    def unfit(self, job: JobSpec, scheduler: Scheduler) -> str:
        """It works under LSF only, and gives every node the same number of ranks."""
        has = job.resources
        if scheduler.name != "lsf":
            return f"jsrun starts processes under LSF, not under {scheduler.name}"
        uneven = has.ranks != has.nodes * has.ranks_per_node
        return f"jsrun gives each of {has.nodes} nodes the same number of ranks; {has.ranks} do not divide evenly" if uneven else ""

    def preflight(self, job: JobSpec, scheduler: Scheduler) -> tuple[Line, ...]:
        """A check that ``jsrun`` is on the node."""
        advice = "jsrun is not on this node: load its module, or use mpirun if this LSF has no jsrun"
        return (installed("jsrun", OTHER_MPI, advice),)

    def words(self, job: JobSpec, scheduler: Scheduler, exported: tuple[str, ...]) -> tuple[Word, ...]:
        """Sets, ranks and cores of a set, GPUs of a set; each rank is bound to its share of the cores. The environment goes along."""
        has = job.resources
        gpus = ("-g", str(has.gpus_per_node)) if has.gpus_per_node else ()
        bound = "none" if has.oversubscribed else f"packed:{has.cores_per_rank}"
        sets = ("jsrun", "-n", str(has.nodes), "-r", "1", "-a", str(has.ranks_per_node), "-c", str(has.cores_per_node))
        return (*sets, *gpus, "-d", "packed", "-b", bound)
