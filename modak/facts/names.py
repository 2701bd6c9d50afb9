"""When two names mean the same: spellings of systems, frameworks, compilers, MPI libraries and container runtimes."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

_MPI_SPELLINGS: Final = {"openmpi": "openmpi", "mpich": "mpich", "intelmpi": "intel-mpi", "impi": "intel-mpi", "mvapich": "mvapich"}


@lru_cache(maxsize=512)
def mpi_family(label: str | None) -> str | None:
    """The family of the MPI library that results call so; ``None`` where it is none of :class:`modak.facts.HostMpi`.

    >>> mpi_family("Open MPI 4.1"), mpi_family("intel-mpi 2019"), mpi_family("MVAPICH2"), mpi_family("cray-mpich 8.1"), mpi_family("MPT")
    ('openmpi', 'intel-mpi', 'mvapich', 'mpich', None)
    """
    folded = "".join(filter(str.isalpha, (label or "").lower())).removeprefix("cray")
    return next((family for spelling, family in _MPI_SPELLINGS.items() if folded.startswith(spelling)), None)


@lru_cache(maxsize=512)
def same_mpi(label: str | None) -> str:
    """Equal for labels of results that mean the same MPI library and version, however they write its name.

    >>> same_mpi("Open MPI 4.1"), same_mpi("openmpi-4.1"), same_mpi("impi 2019"), same_mpi("Intel MPI 2019")
    ('openmpi4.1', 'openmpi4.1', 'intel-mpi2019', 'intel-mpi2019')
    """
    folded = same_name(label).replace("-", "")
    spelling = next((one for one in _MPI_SPELLINGS if folded.startswith(one)), "")
    return _MPI_SPELLINGS.get(spelling, "") + folded.removeprefix(spelling)


def same_runtime(name: str) -> str:
    """Equal for container runtimes that run each other's images and take each other's options."""
    return "apptainer" if name == "singularity" else name


def same_name(name: object) -> str:
    """What is equal for names of a system, a framework or a compiler that mean the same: case, underscores, hyphens and spaces do not tell.

    >>> same_name("GCC 9.3"), same_name("gcc-9.3"), same_name("My_Site")
    ('gcc-9.3', 'gcc-9.3', 'my-site')
    """
    return str(name).lower().replace("_", "-").replace(" ", "-")
