"""Sarus: images by name, from its own storage; it passes the host's environment on, and hooks provide GPUs and the host's MPI."""

from __future__ import annotations

from dataclasses import dataclass

from modak.dsl import Notice
from modak.jobs.spec import JobSpec
from modak.runtimes.base import Runtime
from modak.runtimes.image import (
    IMAGE,
    NO_IMAGE,
    bind_paths,
    bound,
    by_mpi,
    container,
    fetch,
    registry_name,
    runtime_present,
    unproven,
    untagged,
)
from modak.script.bash import Line, assign, holds, need, run, variable, word
from modak.text.words import Word


@dataclass(frozen=True)
class Sarus(Runtime):
    """``sarus run``."""

    name: str = "sarus"
    reads: frozenset[str] = frozenset(("docker", "private"))
    version_command: tuple[str, ...] = ("sarus", "--version")

    def warnings(self, job: JobSpec) -> tuple[Notice, ...]:
        """A hook provides the host's MPI; it needs an MPI with MPICH's binary interface in the image."""
        if container(job).mpi != "openmpi" or not by_mpi(job):
            return unproven(job)
        advice = (
            "Sarus' MPI hook replaces libraries of MPICH's interface; the image holds Open MPI, whose ranks use the image's own library"
        )
        return (*unproven(job), Notice(field="target.container_runtime", message=advice))

    def fetching(self, job: JobSpec) -> str:
        """Pulled into its own store."""
        return fetch(job, lambda image: f"sarus pull {image} fetches it, once")

    def setup(self, job: JobSpec) -> tuple[Line, ...]:
        """The image's name."""
        return (assign("MODAK_IMAGE", registry_name(job, self.name)),)

    def preflight(self, job: JobSpec) -> tuple[Line, ...]:
        """Checks of the command, the image in its storage, and what is bound."""
        name = registry_name(job, self.name)
        how = self.fetching(job) or "load it there under that name"
        listed = holds(run(self.name, "images"), untagged(name).removeprefix("library/"))
        return (runtime_present(self.name), need(listed, NO_IMAGE, IMAGE, f" is not among sarus' images: {how}"), *bind_paths(job, ","))

    def wrap(self, job: JobSpec, command: tuple[Word, ...]) -> tuple[Word, ...]:
        """The command starts in the submit directory."""
        has = container(job)
        hook = ("--mpi",) if by_mpi(job) and has.mpi != "openmpi" else ()
        mounts = (word("--mount=type=bind,source=", *place, ",destination=", *place) for place in bound(job, command))
        return (self.name, "run", *hook, *mounts, word("--workdir=", variable("PWD")), word(IMAGE), *command)

    def build(self, job: JobSpec, definition: Word, context: Word) -> tuple[Line, ...]:
        """Podman builds and saves the image, and Sarus loads it. Podman would refuse to replace the archive of an earlier build."""
        archive = word(context, "/image.tar") if isinstance(context, str) else "image.tar"
        return (
            runtime_present("podman"),
            runtime_present(self.name),
            run("rm", "-f", "--", archive),
            run("podman", "build", "-t", word(IMAGE), "-f", definition, context),
            run("podman", "save", "-o", archive, word(IMAGE)),
            run(self.name, "load", archive, word(IMAGE)),
        )
