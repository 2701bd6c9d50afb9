"""Slurm's own launcher."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import fill
from typing import Final

from modak.jobs.spec import JobSpec
from modak.launchers.base import Launcher, openmp
from modak.launchers.family import answers, pmi
from modak.schedulers import Scheduler
from modak.schedulers.slurm import foreign, hint
from modak.script.bash import WIDEST, Line, cached, comment
from modak.script.shelltext import ours
from modak.text.words import Word

_SRUN: Final = "SRUN_CPUS_PER_TASK "
"""What many scripts export because steps do not inherit it, and hand on to jobs that they submit: a step of one task a node could then
have more CPUs than the job has there."""


@dataclass(frozen=True)
class Srun(Launcher):
    """``srun``."""

    name: str = "srun"

    def unfit(self, job: JobSpec, scheduler: Scheduler) -> str:
        """It works under Slurm only."""
        return "" if scheduler.is_slurm else f"srun starts processes under Slurm, not under {scheduler.name}"

    def slurm_step(self, job: JobSpec, scheduler: Scheduler) -> bool:
        """Always."""
        return True

    def environment(self, job: JobSpec) -> Mapping[str, str]:
        """OpenMP's; for Intel MPI also the site's library of Slurm's process manager."""
        mpi = next((mpi for mpi in job.system.mpi if mpi.family == "intel-mpi"), None) if job.system else None
        intel = job.launcher_flavour == "intel-mpi" and mpi and mpi.pmi_library
        return {**openmp(job.resources), **({"I_MPI_PMI_LIBRARY": intel} if intel else {})}

    def setup(self, job: JobSpec, scheduler: Scheduler) -> tuple[Line, ...]:
        """What is not this job's is unset."""
        return own_environment(job)

    def preflight(self, job: JobSpec, scheduler: Scheduler) -> tuple[Line, ...]:
        """A check that Slurm has the process manager that the ranks' MPI needs: without it each rank would wait, or be alone."""
        wanted = pmi(job)
        if not wanted:
            return ()
        return (answers("srun --mpi=list", (wanted,), f"this Slurm does not offer {wanted}: the ranks could not connect to each other"),)

    def words(self, job: JobSpec, scheduler: Scheduler, exported: tuple[str, ...]) -> tuple[Word, ...]:
        """A step on the whole allocation.

        Since Slurm 22.05 a step does not inherit ``--cpus-per-task``; it does inherit ``--export=NONE`` of the job.
        A hint and ``--cpu-bind`` exclude each other (srun would ignore the hint). The hint also binds ranks to cores, one thread per core.
        """
        has, single, manager = job.resources, hint(job), pmi(job)
        return (
            "srun",
            f"--nodes={has.nodes}",
            f"--ntasks={has.ranks}",
            f"--ntasks-per-node={has.ranks_per_node}",
            f"--cpus-per-task={job.cpus_per_task}",
            f"--hint={single}" if single else "--cpu-bind=none" if has.oversubscribed else "--cpu-bind=cores",
            *((f"--mpi={manager}",) if manager else ()),
            *(("--overcommit",) if has.oversubscribed else ()),
            "--export=ALL",
            "--kill-on-bad-exit=1",
        )


def own_environment(job: JobSpec, *more: str) -> tuple[Line, ...]:
    """Variables that are not this job's, and ``more``, unset."""
    why = comment("srun would take these for options; they may be of the environment in which this script was submitted")
    return why, _unset((*more, *foreign(job)))


@cached
def _unset(names: tuple[str, ...]) -> Line:
    """``unset SRUN_… SLURM_{A,B,…}``, without the part of the names that all others have, in as few lines as they fit in."""
    short = [name.removeprefix("SLURM_") for name in names]
    groups = fill(" ".join(short), WIDEST - 10, initial_indent=" " * len(_SRUN)).split("\n")
    groups = [group.strip().replace(" ", ",") for group in groups]
    return ours(f"unset {_SRUN}" + " \\\n    ".join("SLURM_" + (f"{{{group}}}" if "," in group else group) for group in groups))
