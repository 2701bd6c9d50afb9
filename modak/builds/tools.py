"""The programs that build, convert and run images: where they are, and which environment variables they get."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from modak.builds.order import Order
from modak.errors import Unavailable
from modak.settings import user

_SEEN: Final = re.compile(
    r"PATH|HOME|LANG|LC_ALL|USER|LOGNAME|TMPDIR|XDG_RUNTIME_DIR|(?i:https?|ftp|no|all)_proxy"
    r"|SSL_CERT_(?:FILE|DIR)|CURL_CA_BUNDLE|REQUESTS_CA_BUNDLE|(?:APPTAINER|SINGULARITY|CH|CHARLIECLOUD|CONTAINERS)_[A-Z_]+"
)


@dataclass(frozen=True)
class Command:
    """One command of a build, and its step as users read it."""

    step: str
    words: tuple[str, ...]
    variables: tuple[tuple[str, str], ...] = ()
    """Its environment variables in addition to :func:`environment`."""


@dataclass(frozen=True)
class Builder(ABC):
    """A tool that makes images of one kind, and runs them."""

    runtime: str
    """The runtime's name in requests."""
    ending: str
    """The ending of its image files."""
    storage: str
    """Where it keeps files of its own, perhaps on another disk than the images: its setting, and the default."""

    @abstractmethod
    def programs(self) -> tuple[str, ...]:
        """The paths of the programs that a build needs. Raises :class:`modak.errors.Unavailable` where one is not installed."""

    @abstractmethod
    def runner(self) -> str:
        """The path of the program that runs images. Raises likewise."""

    @abstractmethod
    def commands(self, order: Order, work: Path, image: Path) -> Iterator[Command]:
        """The commands that make ``image``, and the order's further forms beside it, from the file ``recipe`` in ``work``."""

    def tidy(self, work: Path, step: str) -> tuple[tuple[str, ...], ...]:
        """The words of commands that remove what was left outside of ``work`` by a build whose last step was this one; they may fail."""
        return ()

    @abstractmethod
    def step(self, line: str) -> str | None:
        """The step of the recipe that begins with a line of the tool's output; ``None``: none does."""

    @abstractmethod
    def fault(self, line: str) -> str | None:
        """The reason for a failure in a line of the tool's output; ``None``: there is none."""

    @abstractmethod
    def run(self, image: Path, work: Path) -> tuple[str, ...]:
        """The words before a command that runs it inside the image, isolated from the host's files and variables."""


def find(*names: str) -> str:
    """The path of the first of these programs that is installed. Raises :class:`modak.errors.Unavailable` where none is."""
    for name in names:
        if path := shutil.which(name):
            return path
    raise Unavailable(f"{' or '.join(names)} is not on this machine: install it, or load the module that provides it")


def environment(program: str, work: Path, extra: Iterable[tuple[str, str]] = ()) -> Mapping[str, str]:
    """The variables of a tool: paths, proxies, certificates and its own settings; no token, database, or settings of pip or Python.

    The program's folder comes first in ``PATH``, because Charliecloud's programs are scripts for the Python beside them. Charliecloud's
    build cache is off by default: it is a Git repository, which needs a user name and is slow with many files.
    """
    seen = {name: value for name, value in os.environ.items() if _SEEN.fullmatch(name)}
    path = os.pathsep.join((str(Path(program).parent), seen.get("PATH", os.defpath)))
    return {"HOME": str(work), "USER": user(), "CH_IMAGE_CACHE": "disabled", **seen, "PATH": path, **dict(extra)}


def printed_version(program: str) -> str:
    """The version that a program prints (the first number with a dot); ``0``: none."""
    answer = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=30, check=False)  # noqa: S603
    found = re.search(r"[0-9]+(?:\.[0-9]+)+", answer.stdout + answer.stderr)
    return found[0] if found else "0"
