"""Enroot: an image is a SquashFS file. Under ``srun`` Slurm's Pyxis starts it, by options of srun (never of sbatch)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from modak.dsl import Notice
from modak.jobs.spec import JobSpec
from modak.launchers.family import apart
from modak.runtimes import image
from modak.runtimes.base import Runtime
from modak.script.bash import Line, holds, need, run
from modak.text.grammar import SQUASHFS_ENDINGS
from modak.text.words import Word, variable, word

_UNBOUND: Final = "Enroot uses the MPI of the image: the host's MPI is not bound into the container"
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
        unbound = (_UNBOUND,) if image.container(job).host_mpi else ()
        alone = (_ALONE % job.launcher,) if apart(job) and not job.slurm_step else ()
        return (*image.unproven(job), *image.notices(*unbound, *alone))

    def fetching(self, job: JobSpec) -> str:
        """Imported into a file."""
        return image.fetch(job, lambda name: f"enroot import -o {file_name(job)} docker://{name} fetches it")

    def setup(self, job: JobSpec) -> tuple[Line, ...]:
        """``$ENROOT_DIR/<name>.sqsh``, else ``$SINGULARITY_DIR/…``, else the submit directory."""
        return (image.locate(job, variable("ENROOT_DIR", ":-${SINGULARITY_DIR:-${PWD}}"), file_name(job)),)

    def preflight(self, job: JobSpec) -> tuple[Line, ...]:
        """Checks of the command or of Pyxis, of the image, and of what is bound."""
        how = image.how_to_get(job, "ENROOT_DIR", self.fetching(job))
        advice = "this srun has no --container-image: Slurm's Pyxis plug-in is not installed here"
        pyxis = need(holds(run("srun", "--help"), "--container-image"), image.NO_RUNTIME, advice)
        separators = " :," if job.slurm_step else " :"  # both write lines of an fstab
        runtime = pyxis if job.slurm_step else image.runtime_present(self.name)
        return (runtime, image.present("-r", how), *image.bind_paths(job, separators))

    def wrap(self, job: JobSpec, command: tuple[Word, ...]) -> tuple[Word, ...]:
        """The submit directory is bound, and the command starts there."""
        places = image.bound(job, command)
        here = variable("PWD")
        if job.slurm_step:
            mounts = [part for at, place in enumerate(places) for part in ("," if at else "", place, ":", place)]
            bound = (word("--container-mounts=", *mounts), word("--container-workdir=", here))
            return (word("--container-image=", image.IMAGE), *bound, *command)
        exported = (each for name in job.environment for each in ("--env", name))
        mounted = (each for place in places for each in ("--mount", word(place, ":", place)))
        inside: tuple[Word, ...] = ("env", word("--chdir=", here), *command)
        return (self.name, "start", *exported, *mounted, image.IMAGE, *inside)

    def build(self, job: JobSpec, definition: Word, context: Word) -> tuple[Line, ...]:
        """Podman builds the image, and Enroot imports it, into a file that gets its name when it is complete."""
        called = image.tag(file_name(job).lower().removesuffix(".sqsh"))
        return (
            image.runtime_present("podman"),
            image.runtime_present(self.name),
            run("podman", "build", "-t", called, "-f", definition, context),
            image.part(),
            run(self.name, "import", "--output", image.PART, f"podman://{called}"),
            image.complete(),
        )


def file_name(job: JobSpec) -> str:
    """The file's name: ``.sif`` becomes ``.sqsh``; another SquashFS file keeps its name."""
    return image.renamed(image.container(job).file, ".sqsh")
