"""What launchers that start the ranks on the job's own layout have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from modak.jobspec import JobSpec, Resources
from modak.launchers.threads import openmp
from modak.script.bash import Line
from modak.words import Word

if TYPE_CHECKING:
    from modak.schedulers import Scheduler


class Plain:
    """No ssh, the layout as it is, OpenMP's variables, nothing before, the command unchanged; a variant overrides what differs."""

    def needs_ssh(self, job: JobSpec, scheduler: Scheduler) -> bool:
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
