"""MPI families: how the host's launcher and the image's library find each other, and how to see early that they cannot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from packaging.version import Version

from modak.jobs.spec import JobSpec

OTHER_MPI: Final = 77
"""Exit status where launcher and library do not fit."""
WITHOUT_PMI2: Final = Version("5")
"""From here on Open MPI knows PMIx alone."""
VERSION_SAYS: Final[Mapping[str, str]] = {"openmpi": "Open MPI", "mpich": "HYDRA", "mvapich": "HYDRA", "intel-mpi": "Intel(R) MPI"}
"""What ``mpirun --version`` of each family writes."""
TITLES: Final[Mapping[str, str]] = {"openmpi": "Open MPI", "mpich": "MPICH", "mvapich": "MVAPICH", "intel-mpi": "Intel MPI"}
ONE_ABI: Final = (frozenset({"mpich", "intel-mpi", "mvapich"}),)
"""Families with one binary interface (the MPICH ABI initiative): a program built with one runs with the library and launcher of another."""


def library_family(job: JobSpec) -> str | None:
    """The MPI family of the library that ranks use: the image's, unless the host's is bound over it."""
    has = job.container
    if has is None or has.host_mpi is not None:
        return job.launcher_flavour
    return has.mpi or job.launcher_flavour


def pmi(job: JobSpec) -> str | None:
    """What ``srun --mpi=`` is given: the site's word, but for an image whose MPI does not know that interface."""
    has = job.container
    own = has is not None and has.host_mpi is None and has.mpi == "openmpi" and has.mpi_version
    if job.pmi == "pmi2" and own and has and has.mpi_version and Version(has.mpi_version) >= WITHOUT_PMI2:
        return "pmix"
    return job.pmi


def compatible(one: str, other: str) -> bool:
    """Whether programs built with one family run with the library and launcher of the other."""
    return one == other or any({one, other} <= group for group in ONE_ABI)
