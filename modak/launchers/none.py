"""No launcher: the command is one process on the first node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from modak.jobs.spec import JobSpec
from modak.launchers.base import Launcher
from modak.schedulers import Scheduler
from modak.script.bash import Line, comment
from modak.script.shelltext import ours
from modak.text.words import Word

_OF_A_RANK: Final = ("PMI_FD", "PMIX_NAMESPACE", "SLURM_STEP_ID", "SLURM_STEPID")
"""What MPICH, PMIx and Open MPI 4 read. ``srun`` and ``mpirun`` give their ranks others."""


@dataclass(frozen=True)
class NoLauncher(Launcher):
    """The command itself."""

    name: str = "none"

    def unfit(self, job: JobSpec, scheduler: Scheduler) -> str:
        """It starts one process only."""
        return f"without a launcher {job.resources.ranks} ranks cannot be started" if job.resources.ranks > 1 else ""

    def setup(self, job: JobSpec, scheduler: Scheduler) -> tuple[Line, ...]:
        """Under Slurm, what MPI takes for the sign of a rank is unset. sbatch passes it on from an interactive session."""
        if not scheduler.is_slurm:
            return ()
        why = comment("a program with MPI would look for the process manager of the session in which this script was submitted")
        return why, ours(f"unset {' '.join(_OF_A_RANK)}")

    def words(self, job: JobSpec, scheduler: Scheduler, exported: tuple[str, ...]) -> tuple[Word, ...]:
        """Nothing."""
        return ()
