"""MPI families: which launcher and which library work together, and how a script checks it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Final

from packaging.version import Version

from modak.jobs.spec import Container, JobSpec
from modak.script.bash import Line, need
from modak.script.shelltext import ours
from modak.text.words import variable

OTHER_MPI: Final = 77
"""Exit status if launcher and library do not work together."""
OWN_BINDING: Final[Mapping[str, Mapping[str, str]]] = {"mvapich": {"MV2_ENABLE_AFFINITY": "0", "MVP_ENABLE_AFFINITY": "0"}}
"""Variables that switch off what a library does on its own: MVAPICH (2, 3) binds each rank again in ``MPI_Init``, to one core with all of
its threads, whatever the launcher has given it."""
WITHOUT_PMI2: Final = Version("5")
"""The first version of Open MPI without PMI-2: it supports PMIx only."""
VERSION_SAYS: Final[Mapping[str, str]] = {"openmpi": "Open MPI", "mpich": "HYDRA", "mvapich": "HYDRA", "intel-mpi": "Intel(R) MPI"}
"""What ``mpirun --version`` of each family writes."""
TITLES: Final[Mapping[str, str]] = {"openmpi": "Open MPI", "mpich": "MPICH", "mvapich": "MVAPICH", "intel-mpi": "Intel MPI"}
USUAL_PMI: Final[Mapping[str, str]] = {"openmpi": "pmix", "mpich": "pmi2", "mvapich": "pmi2", "intel-mpi": "pmi2"}
"""The interface to Slurm that each family's libraries are commonly built with."""
WITHOUT_MPI: Final = frozenset({"torchrun", "none"})
"""Launchers whose processes no MPI connects: what is known of the MPI, and options for its launcher, do not concern them."""
OWN_NETWORK: Final = frozenset({"jax-distributed", "multi-worker", "parameter-server"})
"""Distribution layers whose workers connect by a network of their own, whichever launcher starts them."""
ONE_ABI: Final = frozenset({"mpich", "intel-mpi", "mvapich"})
"""Families with the same binary interface (the MPICH ABI initiative): programs built with one run with library and launcher of another."""


def apart(job: JobSpec) -> bool:
    """Whether each of several ranks starts by itself, in a container of its own if there is one: torchrun starts those of a node within
    one."""
    return job.resources.ranks > 1 and job.launcher not in WITHOUT_MPI


def by_mpi(job: JobSpec) -> bool:
    """Whether MPI connects the job's ranks, as far as is known: they start apart, and their distribution layer has no network of its
    own."""
    return apart(job) and job.distribution not in OWN_NETWORK


def library_family(job: JobSpec) -> str | None:
    """The MPI family of the library that ranks use: the image's, unless the host's is bound over it."""
    return own_family(job.container) or job.launcher_flavour


def library_environment(job: JobSpec) -> Mapping[str, str]:
    """Variables for the MPI library that ranks use."""
    return {} if job.launcher == "torchrun" else OWN_BINDING.get(library_family(job) or "", {})


def own_family(container: Container | None) -> str | None:
    """The MPI family of an image whose own library the ranks use; ``None``: they use the host's, or the image's is not known."""
    return container.mpi if container and container.host_mpi is None else None


def pmi(job: JobSpec) -> str | None:
    """The value of ``srun --mpi=``: the site's, unless the ranks' library does not support that interface."""
    has = job.container
    version = has.mpi_version if has and own_family(has) else job.launcher_version
    without = library_family(job) == "openmpi" and version and Version(version) >= WITHOUT_PMI2
    return "pmix" if job.pmi == "pmi2" and without else job.pmi


def compatible(one: str, other: str) -> bool:
    """Whether programs built with one family run with the library and launcher of the other."""
    return one == other or {one, other} <= ONE_ABI


def answers(command: str, texts: Iterable[str], advice: str) -> Line:
    """A check that a command of MODAK's own words writes one of the texts, on either stream. If not, the job ends with the advice and with
    what the command wrote, which may be the reason why it failed; with a full stop, because the message needs some text."""
    said = f'MODAK_SAID="$({command} 2>&1 || echo "status $?")."'
    found = " || ".join(f"${{MODAK_SAID}} == *{shlex.quote(text)}*" for text in texts)
    return need(ours(f"{said}\n[[ {found} ]]"), OTHER_MPI, f"{advice}. {command}: ", variable("MODAK_SAID"))
