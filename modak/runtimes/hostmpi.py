"""The host's MPI inside a container: its directory is bound over the same directory of the image, and searched before the image's own.

So are the directories of the fabric libraries that it loads (libfabric, UCX, PSM2). Intel MPI under srun also needs Slurm's
process-management library, at its own path.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from modak.facts import HostMpi
from modak.jobs.spec import JobSpec
from modak.script.bash import Line, assign, need, require, run
from modak.text.words import Word, variable, word

MISSING: Final = 73
"""Exit status if the host's MPI, or its mount point in the image, is missing."""

_NOTHING: Final[Mapping[str, str]] = {}


def setup(job: JobSpec, more: str = "") -> tuple[Line, ...]:
    """``MODAK_LIBRARY_PATH``: where the loader searches inside the container. ``more`` is appended."""
    mpi = _mpi(job)
    if not mpi:
        return ()
    fabric = "".join(f":{folder}" for folder in mpi.fabric_dirs)
    if mpi.library_dir:
        return (assign("MODAK_LIBRARY_PATH", f"{mpi.library_dir}{fabric}", variable("LD_LIBRARY_PATH", ":+:${LD_LIBRARY_PATH}"), more),)
    why = f"load the module of the host MPI, {mpi.module or mpi.family}"
    path = assign("MODAK_LIBRARY_PATH", variable("LD_LIBRARY_PATH", f":?{why}"), f"{fabric}{more}")
    return require(mpi.library_dir_variable or "", why), path


def preflight(job: JobSpec, image: Word | None) -> tuple[Line, ...]:
    """Checks that what is bound exists on the host and, if ``image`` (a directory) is given, has a mount point in it."""
    found = []
    absent = " is not on this node: the host MPI cannot be bound into the container"
    for place in _places(job):
        found.append(need(run("test", "-e", place), MISSING, place, absent))
        if image:
            advice = " is not in the image: create it there, empty; it is the mount point of the host MPI"
            found.append(need(run("test", "-e", word(image, place)), MISSING, place, advice))
    return tuple(found)


def binds(job: JobSpec) -> tuple[Word, ...]:
    """``SOURCE:DESTINATION`` of each, both the same."""
    return tuple(word(place, ":", place) for place in _places(job))


def inside(job: JobSpec, command: tuple[Word, ...], other: Mapping[str, str] = _NOTHING) -> tuple[Word, ...]:
    """The command with the host's library path and the variables ``other``, whatever the image's own environment says."""
    path = (word("LD_LIBRARY_PATH=", variable("MODAK_LIBRARY_PATH")),) if _mpi(job) else ()
    settings = (*path, *(f"{name}={value}" for name, value in other.items()))
    return ("env", *settings, *command) if settings else command


def _mpi(job: JobSpec) -> HostMpi | None:
    """The host MPI to bind, if its directory is known."""
    mpi = job.container.host_mpi if job.container else None
    return mpi if mpi and mpi.bindable else None


def _places(job: JobSpec) -> tuple[Word, ...]:
    mpi = _mpi(job)
    if not mpi:
        return ()
    library = mpi.library_dir or variable(mpi.library_dir_variable or "")
    manager = mpi.pmi_library if mpi.family == "intel-mpi" and job.launcher == "srun" else None
    return (library, *mpi.fabric_dirs, *((manager,) if manager else ()))
