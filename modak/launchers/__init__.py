"""Launchers: each says with which words a command is started on all ranks, and what it needs of its surroundings.

A variant is a frozen dataclass that keeps :class:`Launcher`. Its words stand outside of the container (the runtime's words
follow them, then the command), but for what :meth:`Launcher.inside` puts in front of the command.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from modak.jobspec import JobSpec, Resources
from modak.launchers.flux import FluxRun
from modak.launchers.jsrun import Jsrun
from modak.launchers.mpirun import Mpirun
from modak.launchers.none import NoLauncher
from modak.launchers.srun import Srun
from modak.launchers.torchrun import Torchrun
from modak.schedulers import Scheduler
from modak.script.bash import Line
from modak.words import Word


class Launcher(Protocol):
    """How processes are started.

    Its environment, setup and preflight see the job without what one run alone has (:func:`modak.script.surroundings.of_any_run`), and
    so do its words where they start the count of CPUs before the run.
    """

    @property
    def name(self) -> str:
        """Its name in jobs."""

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other names that find it."""

    def unfit(self, job: JobSpec, scheduler: Scheduler) -> str:
        """Why it cannot start this job under that scheduler; empty where it can."""

    def needs_ssh(self, job: JobSpec, scheduler: Scheduler) -> bool:
        """Whether it reaches the job's other nodes by ssh."""

    def asks(self, has: Resources) -> Resources:
        """What the scheduler is asked for: the job's own layout, unless one task of it starts several ranks."""

    def environment(self, job: JobSpec) -> Mapping[str, str]:
        """Variables that it sets."""

    def setup(self, job: JobSpec, scheduler: Scheduler) -> tuple[Line, ...]:
        """Lines of the script before it."""

    def preflight(self, job: JobSpec, scheduler: Scheduler) -> tuple[Line, ...]:
        """Checks that end the job early with a sentence."""

    def words(self, job: JobSpec, scheduler: Scheduler, exported: tuple[str, ...]) -> tuple[Word, ...]:
        """Its own words. ``exported``: names of variables that every rank must see."""

    def inside(self, job: JobSpec, scheduler: Scheduler) -> tuple[Word, ...]:
        """The command as it runs inside the container."""

    def untold(self, job: JobSpec, signal: str) -> str:
        """Why its ranks would not get a signal that it gets; empty where they do, as far as is known."""


BUILTIN: Final[tuple[Launcher, ...]] = (Srun(), Mpirun(), Jsrun(), FluxRun(), Torchrun(), NoLauncher())
