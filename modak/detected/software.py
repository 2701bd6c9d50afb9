"""Container runtimes and MPI libraries, from their own ``--version`` and from the list of modules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from modak.detected.seen import CommandOutput
from modak.facts import ARCHITECTURES
from modak.runtimes import BUILTIN

RUNTIMES: Final[Mapping[str, str]] = {one.version_command[0]: one.name for one in BUILTIN if one.version_command}
"""Programs, and what MODAK calls the runtime."""
_RUNTIME_MODULES: Final[Mapping[str, str]] = {**{name: name for name in RUNTIMES.values()}, "singularityce": "singularity"}
_MPI_MODULES: Final[Mapping[str, str]] = {
    "openmpi": "openmpi",
    "mpich": "mpich",
    "mvapich": "mvapich",
    **dict.fromkeys(("impi", "intel-mpi", "intelmpi"), "intel-mpi"),
}
_MPI_FOLDER: Final = "mpi/"
"""Where Red Hat's packages have their modules (``mpi/openmpi-x86_64``), and some sites theirs (``mpi/openmpi/4.1``)."""
MODULES: Final = (*sorted({*_RUNTIME_MODULES, *_MPI_MODULES}), _MPI_FOLDER)
"""What the names of modules to list begin with (Environment Modules), or have in them (Lmod)."""
_ARCHITECTURE: Final = re.compile(f"-(?:{'|'.join(sorted({*ARCHITECTURES.values()}))})$")
_NUMBER: Final = re.compile(r"-?[0-9][0-9.-]*$")
"""At the end of a module's name (``openmpi4`` of OpenHPC, ``mpi/mpich-3.2-x86_64`` of Red Hat)."""
_VERSION: Final = r"([0-9]{1,5}(?:\.[0-9]{1,5}){0,3})"
_MPI: Final = {
    "openmpi": rf"\(Open ?MPI\) {_VERSION}",
    "intel-mpi": rf"Intel\(R\) MPI Library[^\n]{{0,60}}Version {_VERSION}",
    "mpich": rf"HYDRA build details:\s{{1,20}}Version: {{1,80}}{_VERSION}",
}


class Installed(NamedTuple):
    """An installed program or library under MODAK's name, and the command that listed it.

    ``version`` ``None``: unknown; ``module`` ``None``: it is on PATH without a module.
    """

    name: str
    version: str | None
    module: str | None
    command: str


def runtimes(answers: Mapping[str, CommandOutput]) -> Iterator[Installed]:
    """The container runtimes: those on PATH first, then those of modules."""
    found: dict[str, Installed] = {}
    for program, name in RUNTIMES.items():
        answer = answers[program]
        alias = program == "singularity" and "apptainer" in answer.text.lower() and "apptainer" in found
        if not answer.trouble and not alias:
            found[name] = Installed(name, version(answer.text), None, answer.command)
    for module, (name, number) in _newest(answers["modules"].text, _RUNTIME_MODULES).items():
        found.setdefault(name, Installed(name, number, module, answers["modules"].command))
    yield from found.values()


def mpi(answers: Mapping[str, CommandOutput]) -> Iterator[Installed]:
    """The MPI libraries by family: the newest module of each first, then those on PATH."""
    found = {
        name: Installed(name, number, module, answers["modules"].command)
        for module, (name, number) in _newest(answers["modules"].text, _MPI_MODULES).items()
    }
    answer = answers["mpirun"]
    for family, pattern in _MPI.items():
        if (number := re.search(pattern, answer.text)) and family not in found:
            found[family] = Installed(family, number[1], None, answer.command)
    yield from found.values()


def version(text: str) -> str | None:
    """The first version number of a text.

    >>> version("apptainer version 1.4.5"), version("singularity-ce version 4.1.0-jammy"), version("none")
    ('1.4.5', '4.1.0', None)
    """
    found = re.search(rf"(?<![0-9.]){_VERSION}", text[:1000])
    return found[1] if found else None


def _newest(text: str, families: Mapping[str, str]) -> Mapping[str, tuple[str, str | None]]:
    """``module -t avail``: for each family the site's default module, else the one with the highest version, by its full name.

    >>> dict(_newest("/opt/m:\\nopenmpi/\\nopenmpi/4.1.4\\nopenmpi/10.0\\ngcc/12", {"openmpi": "openmpi"}))
    {'openmpi/10.0': ('openmpi', '10.0')}
    """
    best: dict[str, tuple[bool, tuple[int, ...], str, str | None]] = {}
    for line in text.splitlines():
        full, default = line.strip().removesuffix("(default)"), line.strip().endswith("(default)")
        name, _, build = _ARCHITECTURE.sub("", full.removeprefix(_MPI_FOLDER)).partition("/")
        family = families.get(_NUMBER.sub("", name.lower())) if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+/-]{0,126}", full) else None
        if family is None or full.endswith("/"):
            continue
        number = version(build)
        rank = (default, tuple(map(int, number.split("."))) if number else (), full, number)
        best[family] = max(best.get(family, rank), rank)
    return {full: (family, number) for family, (_, _, full, number) in best.items()}
