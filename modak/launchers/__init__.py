"""Launchers: each says how a command is started on all ranks, and which lines of the script that needs.

A variant is a frozen dataclass that implements :class:`Launcher`. Its words are outside the container (followed by the runtime's
words and the command), except for those that :meth:`Launcher.inside` puts in front of the command.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from modak.jobs.spec import JobSpec, Resources
from modak.launchers.flux import FluxRun
from modak.launchers.jsrun import Jsrun
from modak.launchers.mpirun import Mpirun
from modak.launchers.none import NoLauncher
from modak.launchers.pals import Pals
from modak.launchers.srun import Srun
from modak.launchers.torchrun import Torchrun
from modak.schedulers import Scheduler
from modak.script.bash import Line
from modak.text.words import Word


class Launcher(Protocol):
    """How processes are started.

    Its environment, setup, preflight, ``slurm_step`` and words see the job without the properties of a single run
    (:func:`modak.script.surroundings.of_any_run`); all of these but the words, and ``needs_ssh``, see whether it has several nodes, and
    not how many (:func:`modak.script.surroundings.of_any_size`).
    """

    @property
    def name(self) -> str:
        """Its name in jobs."""

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other accepted names."""

    def unfit(self, job: JobSpec, scheduler: Scheduler) -> str:
        """Why it cannot start this job under this scheduler; empty if it can."""

    def needs_ssh(self, job: JobSpec, scheduler: Scheduler) -> bool:
        """Whether it reaches the job's other nodes by ssh."""

    def slurm_step(self, job: JobSpec, scheduler: Scheduler) -> bool:
        """Whether srun starts the job's processes, as a step of Slurm's."""

    def asks(self, has: Resources) -> Resources:
        """The layout to request from the scheduler: the job's own, unless one task starts several ranks."""

    def environment(self, job: JobSpec) -> Mapping[str, str]:
        """Variables that it sets."""

    def setup(self, job: JobSpec, scheduler: Scheduler) -> tuple[Line, ...]:
        """Lines of the script before the run. ``job.environment``: the variables that every rank must see."""

    def preflight(self, job: JobSpec, scheduler: Scheduler) -> tuple[Line, ...]:
        """Checks that end the job early with a message."""

    def words(self, job: JobSpec, scheduler: Scheduler, exported: tuple[str, ...]) -> tuple[Word, ...]:
        """The launcher's own words. ``exported``: names of variables that every rank must see."""

    def inside(self, job: JobSpec, scheduler: Scheduler) -> tuple[Word, ...]:
        """The command as it runs inside the container."""

    def untold(self, job: JobSpec, scheduler: Scheduler, signal: str) -> str:
        """Why a signal to the launcher would not reach its ranks: the job then goes without it. Empty if it does, as far as is known."""


BUILTIN: Final[tuple[Launcher, ...]] = (Srun(), Mpirun(), Pals(), Jsrun(), FluxRun(), Torchrun(), NoLauncher())
