"""The programs that build, convert and run images: where they are, and what of this process's environment they see."""

from __future__ import annotations

import getpass
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from modak.builds.order import Order
from modak.errors import Unavailable

_SEEN: Final = re.compile(
    r"PATH|HOME|LANG|LC_ALL|USER|LOGNAME|TMPDIR|XDG_RUNTIME_DIR|(?i:https?|ftp|no|all)_proxy"
    r"|SSL_CERT_(?:FILE|DIR)|CURL_CA_BUNDLE|REQUESTS_CA_BUNDLE|(?:APPTAINER|SINGULARITY|CH|CHARLIECLOUD|CONTAINERS)_[A-Z_]+"
)


@dataclass(frozen=True)
class Command:
    """One command of a build, and what it does in words for people."""

    step: str
    words: tuple[str, ...]
    variables: tuple[tuple[str, str], ...] = ()
    """What it sees beside :func:`environment`."""


class Builder(Protocol):
    """A tool that makes images of one kind, and runs them."""

    @property
    def runtime(self) -> str:
        """The runtime in the words of requests."""

    @property
    def ending(self) -> str:
        """How its image files end."""

    @property
    def programs(self) -> tuple[str, ...]:
        """What must be installed to build."""

    def commands(self, order: Order, work: Path, image: Path) -> Iterator[Command]:
        """What makes ``image`` from the recipe that lies in ``work`` as ``recipe``, and the order's further forms beside it."""

    def tidy(self, work: Path) -> tuple[Command, ...]:
        """What takes away that the commands left outside of ``work``; it may fail."""

    def step(self, line: str) -> str | None:
        """The step of the recipe that a line of the tool's output begins; ``None``: none."""

    def fault(self, line: str) -> str | None:
        """What a line says of why the tool failed; ``None``: nothing."""

    def run(self, image: Path, work: Path) -> tuple[str, ...]:
        """Words before a command that is to run inside the image, apart from the host's files and variables."""


def find(*names: str) -> str:
    """The path of the first program of these that is there. Raises :class:`modak.errors.Unavailable` that names them."""
    for name in names:
        if path := shutil.which(name):
            return path
    raise Unavailable(f"{' or '.join(names)} is not on this machine: install it, or load the module that provides it")


def environment(program: str, work: Path, extra: Iterable[tuple[str, str]] = ()) -> Mapping[str, str]:
    """What a tool sees: paths, proxies, certificates and its own settings; no token, no database, no setting of pip's or Python's.

    The program's own folder comes first in ``PATH``: Charliecloud's are scripts for the Python that they were installed with. Its
    build cache, a Git repository that needs a user's name and takes long over many files, is off unless the caller's settings say.
    """
    seen = {name: value for name, value in os.environ.items() if _SEEN.fullmatch(name)}
    path = os.pathsep.join((str(Path(program).parent), seen.get("PATH", os.defpath)))
    return {"HOME": str(work), "USER": _user(), "CH_IMAGE_CACHE": "disabled", **seen, "PATH": path, **dict(extra)}


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user need not have a name
        return str(os.getuid())


def version(program: str) -> str:
    """What a program says of its version: the first number with a dot."""
    told = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=30, check=False)  # noqa: S603
    found = re.search(r"[0-9]+(?:\.[0-9]+)+", told.stdout + told.stderr)
    return found[0] if found else "0"
