"""Enroot: an image is a SquashFS file. Under ``srun`` Slurm's Pyxis starts it, by options of srun (never of sbatch)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from modak.dsl import Notice
from modak.jobs.spec import JobSpec
from modak.runtimes.base import Runtime
from modak.runtimes.image import (
    IMAGE,
    NO_RUNTIME,
    PART,
    bind_paths,
    bound,
    by_mpi,
    complete,
    container,
    fetch,
    how_to_get,
    image_present,
    locate,
    part,
    renamed,
    runtime_present,
    tag,
    unproven,
)
from modak.script.bash import Line, holds, need, run, variable, word
from modak.text.grammar import SQUASHFS_ENDINGS
from modak.text.words import Word

_ALONE: Final = (
    "Enroot hands no variables of %s on to its containers, unless a hook of the site's does: "
    "ranks of MPI may each take themselves for the only one; start them by srun with Pyxis, or take another runtime"
)


@dataclass(frozen=True)
class Enroot(Runtime):
    """``enroot start``, or Pyxis' options of ``srun``."""

    name: str = "enroot"
    aliases: tuple[str, ...] = ("pyxis",)
    reads: frozenset[str] = frozenset(("docker", "private", *SQUASHFS_ENDINGS))
    version_command: tuple[str, ...] = ("enroot", "version")

    def warnings(self, job: JobSpec) -> tuple[Notice, ...]:
        """No option binds the host's MPI at every site; without Pyxis, the launcher's variables do not reach the ranks."""
        said = []
        if container(job).host_mpi:
            said.append("Enroot uses the MPI of the image: the host's MPI is not bound into the container")
        if by_mpi(job) and not job.slurm_step:
            said.append(_ALONE % job.launcher)
        return (*unproven(job), *(Notice(field="target.container_runtime", message=each) for each in said))

    def fetching(self, job: JobSpec) -> str:
        """Imported into a file."""
        return fetch(job, lambda image: f"enroot import -o {file_name(job)} docker://{image} fetches it")

    def setup(self, job: JobSpec) -> tuple[Line, ...]:
        """``$ENROOT_DIR/<name>.sqsh``, else ``$SINGULARITY_DIR/…``, else the submit directory."""
        return (locate(job, "ENROOT_DIR:-${SINGULARITY_DIR:-${PWD}}", file_name(job)),)

    def preflight(self, job: JobSpec) -> tuple[Line, ...]:
        """Checks of the command or of Pyxis, of the image, and of what is bound."""
        how = how_to_get(job, "ENROOT_DIR", self.fetching(job))
        advice = "this srun has no --container-image: Slurm's Pyxis plug-in is not installed here"
        pyxis = need(holds(run("srun", "--help"), "--container-image"), NO_RUNTIME, advice)
        separators = " :," if job.slurm_step else " :"  # both write lines of an fstab
        return (pyxis if job.slurm_step else runtime_present(self.name), image_present("-r", how), *bind_paths(job, separators))

    def wrap(self, job: JobSpec, command: tuple[Word, ...]) -> tuple[Word, ...]:
        """The submit directory is bound, and the command starts there."""
        places = bound(job, command)
        here = variable("PWD")
        if job.slurm_step:
            mounts = [part for at, place in enumerate(places) for part in ("," if at else "", *place, ":", *place)]
            return (word("--container-image=", IMAGE), word("--container-mounts=", *mounts), word("--container-workdir=", here), *command)
        exported = (each for name in job.environment for each in ("--env", name))
        mounted = (each for place in places for each in ("--mount", word(*place, ":", *place)))
        inside: tuple[Word, ...] = ("env", word("--chdir=", here), *command)
        return (self.name, "start", *exported, *mounted, word(IMAGE), *inside)

    def build(self, job: JobSpec, definition: Word, context: Word) -> tuple[Line, ...]:
        """Podman builds the image, and Enroot imports it, into a file that gets its name when it is complete."""
        called = tag(file_name(job).lower().removesuffix(".sqsh"))
        return (
            runtime_present("podman"),
            runtime_present(self.name),
            run("podman", "build", "-t", called, "-f", definition, context),
            part(),
            run(self.name, "import", "--output", PART, f"podman://{called}"),
            complete(),
        )


def file_name(job: JobSpec) -> str:
    """The file's name: ``.sif`` becomes ``.sqsh``; another SquashFS file keeps its name."""
    return renamed(container(job).file, ".sqsh")
