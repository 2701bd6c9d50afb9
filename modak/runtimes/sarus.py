"""Sarus: images by name, from its own storage; it passes the host's environment on, and hooks provide GPUs and the host's MPI."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from modak.dsl import Notice
from modak.jobs.spec import JobSpec
from modak.launchers.family import by_mpi
from modak.runtimes import image
from modak.runtimes.base import Runtime
from modak.script.bash import Line, assign, run
from modak.text.words import Word, variable, word

_UNHOOKED: Final = (
    "Sarus' MPI hook replaces libraries of MPICH's interface; the image holds Open MPI, whose ranks use the image's own library"
)


@dataclass(frozen=True)
class Sarus(Runtime):
    """``sarus run``."""

    name: str = "sarus"
    reads: frozenset[str] = frozenset(("docker", "private"))
    version_command: tuple[str, ...] = ("sarus", "--version")

    def warnings(self, job: JobSpec) -> tuple[Notice, ...]:
        """A hook provides the host's MPI; it needs an MPI with MPICH's binary interface in the image."""
        unhooked = image.container(job).mpi == "openmpi" and by_mpi(job)
        return (*image.unproven(job), *(image.notices(_UNHOOKED) if unhooked else ()))

    def fetching(self, job: JobSpec) -> str:
        """Pulled into its own store."""
        return image.fetch(job, lambda name: f"sarus pull {name} fetches it, once")

    def setup(self, job: JobSpec) -> tuple[Line, ...]:
        """The image's name."""
        return (assign("MODAK_IMAGE", image.registry_name(job)),)

    def preflight(self, job: JobSpec) -> tuple[Line, ...]:
        """Checks of the command, the image in its storage, and what is bound."""
        name = image.untagged(image.registry_name(job)).removeprefix("library/")
        listed = image.listed(self.name, name, self.fetching(job))
        return (image.runtime_present(self.name), listed, *image.bind_paths(job, ","))

    def wrap(self, job: JobSpec, command: tuple[Word, ...]) -> tuple[Word, ...]:
        """The command starts in the submit directory."""
        has = image.container(job)
        hook = ("--mpi",) if by_mpi(job) and has.mpi != "openmpi" else ()
        mounts = (word("--mount=type=bind,source=", place, ",destination=", place) for place in image.bound(job, command))
        return (self.name, "run", *hook, *mounts, word("--workdir=", variable("PWD")), image.IMAGE, *command)

    def build(self, job: JobSpec, definition: Word, context: Word) -> tuple[Line, ...]:
        """Podman builds and saves the image, and Sarus loads it. Podman would refuse to replace the archive of an earlier build."""
        archive = word(context, "/image.tar") if isinstance(context, str) else "image.tar"
        return (
            image.runtime_present("podman"),
            image.runtime_present(self.name),
            run("rm", "-f", "--", archive),
            run("podman", "build", "-t", image.IMAGE, "-f", definition, context),
            run("podman", "save", "-o", archive, image.IMAGE),
            run(self.name, "load", archive, image.IMAGE),
        )
