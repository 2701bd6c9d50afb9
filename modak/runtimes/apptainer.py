"""Apptainer and SingularityCE: one image format (SIF), the same options; the site says what the command is called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from modak.jobs.spec import JobSpec
from modak.recipes.forms import Form
from modak.runtimes import hostmpi, image
from modak.runtimes.base import Runtime
from modak.script.bash import Line, quiet, run
from modak.text.words import Word, variable

PULLED: Final = ("docker", "oras", "library", "shub")
GPU: Final = {"nvidia": "--nv", "amd": "--rocm"}
"""Intel's GPUs need no option: the host's ``/dev`` is in the container, and the image brings the driver's libraries."""
_LIBRARIES: Final = ":/.singularity.d/libs"
"""The directory in the container into which both bind the GPU driver's libraries."""


@dataclass(frozen=True)
class Apptainer(Runtime):
    """``apptainer exec`` or ``singularity exec``."""

    name: str = "apptainer"
    reads: frozenset[str] = frozenset((*PULLED, "private", ".sif", ".simg"))
    form: Form = "definition"
    version_command: tuple[str, ...] = ("apptainer", "--version")

    def fetching(self, job: JobSpec) -> str:
        """Pulled into a file."""
        has = image.container(job)
        return image.fetch(job, lambda _: f"{self.name} pull {has.file} {has.reference} fetches it", PULLED)

    def setup(self, job: JobSpec) -> tuple[Line, ...]:
        """``$SINGULARITY_DIR/<file>.sif``; the submit directory where that variable is not set."""
        located = image.locate(job, variable("SINGULARITY_DIR", ":-${PWD}"), image.container(job).file)
        return (located, *self._genuine(job), *hostmpi.setup(job, _LIBRARIES))

    def preflight(self, job: JobSpec) -> tuple[Line, ...]:
        """The command, the image, the host MPI."""
        present = () if self._genuine(job) else self._present(job)
        return (*present, *image.bind_paths(job, ":,", here=False), *hostmpi.preflight(job, None))

    def wrap(self, job: JobSpec, command: tuple[Word, ...]) -> tuple[Word, ...]:
        """GPU flags go before the image; the job's directories are bound in (home and the submit directory are there)."""
        has = image.container(job)
        gpu = (GPU[has.gpu_vendor],) if has.gpu_vendor in GPU else ()
        named = (variable(name) for name in image.places(job, command) if name != "HOME")
        binds: tuple[Word, ...] = (*has.policy.binds, *named, *hostmpi.binds(job))
        bound = (each for bind in binds for each in ("--bind", bind))
        return (self.name, "exec", *gpu, *bound, image.IMAGE, *hostmpi.inside(job, command))

    def build(self, job: JobSpec, definition: Word, context: Word) -> tuple[Line, ...]:
        """An unprivileged build. The image gets its name when it is complete, and then replaces an existing one."""
        return (
            image.runtime_present(self.name),
            image.part(),
            run(self.name, "build", "--fakeroot", image.PART, definition),
            image.complete(),
        )

    def _present(self, job: JobSpec) -> tuple[Line, ...]:
        return (image.runtime_present(self.name), image.present("-r", image.how_to_get(job, "SINGULARITY_DIR", self.fetching(job))))

    def _genuine(self, job: JobSpec) -> tuple[Line, ...]:
        return image.genuine(job, self._present(job), quiet(run(self.name, "verify", "--local", image.IMAGE)))
