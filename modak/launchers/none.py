"""No launcher: the command is one process on the first node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from modak.jobspec import JobSpec, Resources
from modak.launchers.threads import openmp
from modak.script.bash import Line
from modak.words import Word

if TYPE_CHECKING:
    from modak.schedulers import Scheduler


@dataclass(frozen=True)
class NoLauncher:
    """The command itself."""

    name: str = "none"
    aliases: tuple[str, ...] = ()

    def unfit(self, job: JobSpec, scheduler: Scheduler) -> str:
        """It starts one process."""
        return f"without a launcher {job.resources.ranks} ranks cannot be started" if job.resources.ranks > 1 else ""

    def needs_ssh(self, job: JobSpec, scheduler: Scheduler) -> bool:
        """Never: it stays on its node."""
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

    def preflight(self, job: JobSpec, scheduler: Scheduler) -> tuple[Line, ...]:
        """Nothing."""
        return ()

    def words(self, job: JobSpec, scheduler: Scheduler, exported: tuple[str, ...]) -> tuple[Word, ...]:
        """Nothing."""
        return ()

    def inside(self, job: JobSpec, scheduler: Scheduler) -> tuple[Word, ...]:
        """The command."""
        return job.command
