"""Podman-HPC: images by name, from its own storage; modules of the site provide GPUs and the host's MPI."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from modak.dsl import Notice
from modak.jobs.spec import JobSpec
from modak.launchers.family import ONE_ABI, by_mpi, pmi
from modak.runtimes import image
from modak.runtimes.base import Runtime
from modak.script.bash import Line, assign, run
from modak.text.grammar import registry_host
from modak.text.words import Word, variable, word

_BY_MODULE: Final = "Podman-HPC provides the host's MPI by a module of the site (--mpich, --openmpi-pmix): its library is not bound"


@dataclass(frozen=True)
class PodmanHpc(Runtime):
    """``podman-hpc run``."""

    name: str = "podman-hpc"
    reads: frozenset[str] = frozenset(("docker", "private"))
    version_command: tuple[str, ...] = ("podman-hpc", "--version")

    def warnings(self, job: JobSpec) -> tuple[Notice, ...]:
        """A module of the site provides the host's MPI; it is not bound."""
        return (*image.unproven(job), *(image.notices(_BY_MODULE) if image.container(job).host_mpi else ()))

    def fetching(self, job: JobSpec) -> str:
        """Pulled into its own store."""
        return image.fetch(job, lambda name: f"podman-hpc pull {_full(name)} fetches it, once")

    def setup(self, job: JobSpec) -> tuple[Line, ...]:
        """The image's name."""
        return (assign("MODAK_IMAGE", self._called(job)),)

    def preflight(self, job: JobSpec) -> tuple[Line, ...]:
        """Checks of the command, the image, and what is bound. ``image exists`` would not find an image that another node pulled."""
        listed = image.listed(self.name, image.untagged(self._called(job)), self.fetching(job))
        return (image.runtime_present(self.name), listed, *image.bind_paths(job))

    def wrap(self, job: JobSpec, command: tuple[Word, ...]) -> tuple[Word, ...]:
        """The host's environment is passed on; the command starts in the submit directory."""
        has = image.container(job)
        gpu = ("--device=/dev/dri",) if has.gpu_vendor == "intel" else ("--gpu",) if has.gpu_vendor else ()
        binds = (each for place in image.bound(job, command) for each in ("--volume", word(place, ":", place)))
        here = variable("PWD")
        return (self.name, "run", "--rm", "--env-host", *gpu, *self._connected(job), *binds, "--workdir", here, image.IMAGE, *command)

    def build(self, job: JobSpec, definition: Word, context: Word) -> tuple[Line, ...]:
        """Built by an ordinary user, then made readable for jobs."""
        return (
            image.runtime_present(self.name),
            run(self.name, "build", "-t", image.IMAGE, "-f", definition, context),
            run(self.name, "migrate", image.IMAGE),
        )

    def _called(self, job: JobSpec) -> str:
        """The image's name in its storage."""
        name = image.registry_name(job)
        return _full(name) if image.container(job).reference.startswith("docker://") else name

    def _connected(self, job: JobSpec) -> tuple[str, ...]:
        """What connects the ranks: the site's MPI module, which also gives access to the node's namespaces; where no MPI does, those
        namespaces themselves, because Podman's own have 64 MB of shared memory, a network of the node alone, and another host name."""
        if not by_mpi(job):
            return ("--ipc=host", *(("--network=host", "--uts=host") if job.resources.nodes > 1 else ()))
        family = image.container(job).mpi or job.launcher_flavour
        if family in ONE_ABI:
            return ("--mpich",)
        return ("--openmpi-pmi2" if family == "openmpi" and pmi(job) == "pmi2" else "--openmpi-pmix",)


def _full(name: str) -> str:
    """The image's name with its registry, by default Docker's: an image pulled under a short name is not found afterwards.

    >>> _full("ubuntu:24.04"), _full("pytorch/pytorch:2.8.0"), _full("localhost:5000/solver:1")
    ('docker.io/library/ubuntu:24.04', 'docker.io/pytorch/pytorch:2.8.0', 'localhost:5000/solver:1')
    """
    if "/" not in name:
        return f"docker.io/library/{name}"
    return name if registry_host(name) else f"docker.io/{name}"
