"""What most launchers have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from modak.jobs.spec import JobSpec, Resources
from modak.launchers.threads import openmp
from modak.script.bash import Line
from modak.text.words import Word

if TYPE_CHECKING:
    from modak.schedulers import Scheduler

USUAL: Final = "mpirun"
"""The launcher under a scheduler that has none of its own, if the system file names none."""


def kept_back(program: str, handed_on: frozenset[str], signal: str) -> str:
    """Why a signal does not reach the ranks of a program that passes only the signals ``handed_on``; empty if it does."""
    if signal in handed_on:
        return ""
    if not handed_on:
        return f"{program} passes no signal to the application: use application.checkpoint instead"
    better = "USR1" if "USR1" in handed_on else "TERM"
    why = f"{program} passes {', '.join(sorted(handed_on))} to the application, but not {signal}"
    return f"{why}: use {better}, or application.checkpoint"


class Plain:
    """No ssh, no Slurm step, the job's own layout, OpenMP's variables, no set-up, the command unchanged, signals passed on.

    A launcher overrides what differs.
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
        """Empty: no signal is known that would not reach the ranks."""
        return ""
