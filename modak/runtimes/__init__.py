"""Container runtimes: each puts its words between the launcher and the command, and says what it needs of its surroundings.

A variant is a frozen dataclass that keeps :class:`Runtime`. The image's place is the script's variable ``MODAK_IMAGE``.
"""

from __future__ import annotations

from typing import Final, Protocol

from modak.dsl import Notice
from modak.jobspec import JobSpec
from modak.runtimes.apptainer import Apptainer
from modak.runtimes.charliecloud import Charliecloud
from modak.runtimes.enroot import Enroot
from modak.runtimes.none import NoContainer
from modak.runtimes.podman_hpc import PodmanHpc
from modak.runtimes.sarus import Sarus
from modak.script.bash import Line
from modak.words import Word


class Runtime(Protocol):
    """How a command runs in an image."""

    @property
    def name(self) -> str:
        """Its name in requests and policies."""

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other names that find it."""

    def warnings(self, job: JobSpec) -> tuple[Notice, ...]:
        """What it cannot do for this job."""

    def fetching(self, job: JobSpec) -> str:
        """How the image comes from its registry, or is made: a few words, with the command. Empty: nothing is known of that."""

    def setup(self, job: JobSpec) -> tuple[Line, ...]:
        """Variables of the script that :meth:`wrap` uses, ``MODAK_IMAGE`` among them.

        This and :meth:`preflight` see the job without what one run alone has (:func:`modak.script.surroundings.of_any_run`).
        """

    def preflight(self, job: JobSpec) -> tuple[Line, ...]:
        """Checks that end the job early with a sentence."""

    def wrap(self, job: JobSpec, command: tuple[Word, ...]) -> tuple[Word, ...]:
        """The command inside the image."""

    def build(self, job: JobSpec, definition: Word, context: Word) -> tuple[Line, ...]:
        """Commands that make the image from a definition file, with the directory that it lies in."""


BUILTIN: Final[tuple[Runtime, ...]] = (
    Apptainer("apptainer"),
    Apptainer("singularity"),
    Charliecloud(),
    PodmanHpc(),
    Sarus(),
    Enroot(),
    NoContainer(),
)
