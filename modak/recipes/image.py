"""The image that a recipe makes: what it is built on, and its labels."""

from __future__ import annotations

from dataclasses import dataclass

from modak import plugins
from modak.errors import RequestError
from modak.facts import ImageLabels
from modak.frameworks.base import SourceBuild, Toolchain
from modak.recipes.linux import LINUX
from modak.recipes.mpilibs import LIBRARIES
from modak.recipes.pins import DIGESTS
from modak.recipes.plan import Recipe, compiler_flags, toolchain


@dataclass(frozen=True)
class Base:
    """The base image, as a recipe's text names it."""

    image: str
    bootstrap: str
    """Where it comes from: the value of ``Bootstrap`` in a definition file."""
    linux: str
    """A key of :data:`modak.recipes.linux.LINUX`."""

    @property
    def held(self) -> str:
        """The image by its digest, where one is known. Singularity accepts no tag beside a digest; Charliecloud accepts no digest."""
        digest = DIGESTS.get(self.image)
        return f"{self.image.rsplit(':', 1)[0]}@{digest}" if digest else self.image

    @property
    def python(self) -> str:
        """The version of the Linux distribution's Python."""
        return LINUX[self.linux].python


def base_of(made: Recipe) -> Base:
    """The base image: the one that the recipe names, the project's own, the one with the CUDA that the build needs, or plain Linux."""
    row = toolchain(made)
    linux = made.linux or row.distro
    if made.base:
        return _named(made.base, linux)
    nvidia = made.accelerator == "nvidia"
    needs_cuda = nvidia and (made.variant == "opt-build" or row.pip_needs_cuda or made.distribution)
    plain = row.cuda.base if needs_cuda and row.cuda else LINUX[linux].image
    official = row.official(made.accelerator) if made.variant == "hub" else None
    image = official.format(version=made.version).removeprefix("docker://") if official else plain
    return Base(image, "docker", linux)


def source_build(made: Recipe, row: Toolchain) -> SourceBuild:
    """What the framework plug-in has to compile."""
    nvidia = made.accelerator == "nvidia"
    return SourceBuild(made.version, row, compiler_flags(made, row), nvidia, made.compute_capability, made.architecture, made.add_ons)


def image_labels(made: Recipe) -> ImageLabels:
    """The labels of the built image, as in a catalogue entry."""
    framework = plugins.find("frameworks", made.framework)
    itself = made.framework in LIBRARIES
    return ImageLabels(
        framework=made.framework,
        version=made.version,
        source=made.variant,
        compilers=tuple(
            item.name for item in framework.compilers if (item.built_in and item.exists_for(made.version)) or item.name in made.add_ons
        ),
        distribution=(made.distribution,) if made.distribution else (),
        architecture=made.architecture,
        microarchitecture=made.microarchitecture,
        accelerator=made.accelerator,
        **_of_accelerator(made),
        mpi=made.framework if itself else made.mpi,
        mpi_version=made.version if itself else made.mpi_version,
        python=None if made.variant == "hub" or itself else base_of(made).python,
    )


def _of_accelerator(made: Recipe) -> dict[str, str | None]:
    """The labels that tell with what of its accelerator's vendor the image is built, and for which of its GPUs."""
    row = toolchain(made)
    if made.accelerator == "amd":
        return {"rocm": row.rocm}
    if made.accelerator != "nvidia":
        return {}
    framework = plugins.find("frameworks", made.framework)
    kernels = framework.kernels(source_build(made, row)) if made.variant == "opt-build" else row.capabilities
    oldest, newest = kernels or (None, None)
    return {"cuda": row.cuda.version if row.cuda else None, "compute_capability_min": oldest, "compute_capability_max": newest}


def _named(reference: str, linux: str) -> Base:
    scheme, separator, rest = reference.partition("://")
    if not separator:
        return Base(reference, "localimage", linux)
    if scheme not in ("docker", "oras", "library"):
        raise RequestError(f"a base image is pulled from docker://, oras:// or library://, or is a file; not {scheme}://", field="base")
    return Base(rest, scheme, linux)
