"""No launcher: the command is one process on the first node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from modak.jobs.spec import JobSpec
from modak.launchers.plain import Plain
from modak.script.bash import Line
from modak.text.words import Word

if TYPE_CHECKING:
    from modak.schedulers import Scheduler


@dataclass(frozen=True)
class NoLauncher(Plain):
    """The command itself."""

    name: str = "none"
    aliases: tuple[str, ...] = ()

    def unfit(self, job: JobSpec, scheduler: Scheduler) -> str:
        """It starts one process only."""
        return f"without a launcher {job.resources.ranks} ranks cannot be started" if job.resources.ranks > 1 else ""

    def preflight(self, job: JobSpec, scheduler: Scheduler) -> tuple[Line, ...]:
        """Nothing."""
        return ()

    def words(self, job: JobSpec, scheduler: Scheduler, exported: tuple[str, ...]) -> tuple[Word, ...]:
        """Nothing."""
        return ()
