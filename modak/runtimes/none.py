"""No container: the command runs as it is."""

from __future__ import annotations

from dataclasses import dataclass

from modak.errors import Conflict
from modak.jobs.spec import JobSpec
from modak.runtimes.base import Runtime
from modak.script.bash import Line
from modak.text.words import Word


@dataclass(frozen=True)
class NoContainer(Runtime):
    """The node's own software."""

    name: str = "none"

    def wrap(self, job: JobSpec, command: tuple[Word, ...]) -> tuple[Word, ...]:
        """The command."""
        return command

    def build(self, job: JobSpec, definition: Word, context: Word) -> tuple[Line, ...]:
        """Without a container there is no image."""
        raise Conflict("an image cannot be built without a container runtime", field="target.container_runtime")
