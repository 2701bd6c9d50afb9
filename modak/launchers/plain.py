"""What launchers that start the ranks on the job's own layout have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from modak.jobs.spec import JobSpec, Resources
from modak.launchers.threads import openmp
from modak.script.bash import Line
from modak.text.words import Word

if TYPE_CHECKING:
    from modak.schedulers import Scheduler

OWN: Final[Mapping[str, str]] = {"slurm": "srun", "flux": "flux"}
"""Launchers that are a scheduler's own: they know the job's nodes, and need neither ssh nor a host file."""
USUAL: Final = "mpirun"
"""What starts ranks under other schedulers, where the system names nothing."""


def kept_back(program: str, handed_on: frozenset[str], signal: str) -> str:
    """Why ranks of a program that hands some signals on would not get another one; empty for one of those."""
    if signal in handed_on:
        return ""
    if not handed_on:
        return f"{program} passes no signal to the application: use application.checkpoint instead"
    better = "USR1" if "USR1" in handed_on else "TERM"
    why = f"{program} passes {', '.join(sorted(handed_on))} to the application, but not {signal}"
    return f"{why}: use {better}, or application.checkpoint"


class Plain:
    """No ssh, no step of Slurm's, the layout as it is, OpenMP's variables, nothing before, the command unchanged, signals handed on.

    A variant overrides what differs.
    """

    def needs_ssh(self, job: JobSpec, scheduler: Scheduler) -> bool:
        """Never."""
        return False

    def slurm_step(self, job: JobSpec, scheduler: Scheduler) -> bool:
        """Never."""
        return False

    def asks(self, has: Resources) -> Resources:
        """The layout as it is."""
        return has

    def environment(self, job: JobSpec) -> Mapping[str, str]:
        """OpenMP's."""
        return openmp(job.resources)

    def setup(self, job: JobSpec, scheduler: Scheduler) -> tuple[Line, ...]:
        """Nothing."""
        return ()

    def inside(self, job: JobSpec, scheduler: Scheduler) -> tuple[Word, ...]:
        """The command."""
        return job.command

    def untold(self, job: JobSpec, scheduler: Scheduler, signal: str) -> str:
        """Nothing is known of signals that it keeps to itself."""
        return ""
