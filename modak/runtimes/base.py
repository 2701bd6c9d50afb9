"""What a container runtime is, with defaults for what many do not need."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from modak.dsl import Notice
from modak.jobs.spec import JobSpec
from modak.recipes.forms import Form
from modak.script.bash import Line
from modak.text.words import Word


@dataclass(frozen=True)
class Runtime(ABC):
    """How a command runs in an image.

    All methods but :meth:`build` see the job without the properties of a single run (:func:`modak.script.surroundings.of_any_run`), and
    whether it has several nodes, but not how many (:func:`modak.script.surroundings.of_any_size`).
    """

    name: str
    """Its name in requests and policies."""
    aliases: tuple[str, ...] = ()
    """Other accepted names."""
    reads: frozenset[str] | None = None
    """Where it takes images from: schemes of references (``docker``) and endings of files (``.sif``); ``None``: every image of the
    catalogue is offered to it."""
    form: Form = "dockerfile"
    """What :meth:`build` makes images from."""
    version_command: tuple[str, ...] = ()
    """Prints its version: by it ``modak systems detect`` finds MODAK's own runtimes; empty: it does not look for it."""

    def warnings(self, job: JobSpec) -> tuple[Notice, ...]:
        """What it cannot do for this job."""
        return ()

    def fetching(self, job: JobSpec) -> str:
        """How to fetch or make the image: a few words, with the command. Empty: unknown."""
        return ""

    def setup(self, job: JobSpec) -> tuple[Line, ...]:
        """Variables of the script that :meth:`wrap` uses, ``MODAK_IMAGE`` among them."""
        return ()

    def preflight(self, job: JobSpec) -> tuple[Line, ...]:
        """Checks that end the job early with a message."""
        return ()

    @abstractmethod
    def wrap(self, job: JobSpec, command: tuple[Word, ...]) -> tuple[Word, ...]:
        """The command inside the image: words of its own, then those of the command, in which variables may be replaced."""

    @abstractmethod
    def build(self, job: JobSpec, definition: Word, context: Word) -> tuple[Line, ...]:
        """Commands that make the image from a definition file, with the directory that it lies in."""
