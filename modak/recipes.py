"""What an image would be built from: one :class:`Recipe`, planned from what a request wants.

Three variants, as in the MODAK paper: ``hub`` takes the project's own image, ``pip`` installs its wheels, ``opt-build``
compiles its sources for the target's processor and GPU. Versions, base images and build tools come from the framework
plug-in's rows (:class:`modak.frameworks.base.Toolchain`); :mod:`modak.recipetext` writes the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from modak import plugins
from modak.errors import RequestError, unknown
from modak.facts import ImageLabels
from modak.faults import faults_of
from modak.frameworks.base import SourceBuild, Toolchain, release
from modak.grammar import ImageReference, Name, image_file, version_range

Variant = Literal["hub", "pip", "opt-build"]
Release = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,4}(\.[0-9]{1,4}){0,3}(\.?(a|b|rc|post|dev)[0-9]{1,4})?$", max_length=32)]
"""A released version as projects tag it: no epoch, no local part, no blank."""
Capability = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,2}\.[0-9]$")]
MPI: Final[Mapping[str, tuple[str, str]]] = {
    "openmpi": ("4.1.8", ">=3,<6"),
    "mpich": ("4.2.3", ">=3.1,<5"),
    "intel-mpi": ("2021.14", ">=2021.1"),
}
"""MPI libraries that a recipe can install: the version where none is asked for, and the range."""


class Recipe(BaseModel):
    """What to build: typed, frozen, complete. :func:`plan` makes one from wishes, :func:`recipe` from plain values."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    framework: Name
    version: Release
    variant: Variant
    accelerator: Literal["nvidia", "none"] = "none"
    compute_capability: Capability | None = None
    """Of the GPU that a source build is for; not given: the row's own choice."""
    architecture: Literal["x86_64", "aarch64"] = "x86_64"
    microarchitecture: Name | None = None
    """The archspec target of a source build; not given: any processor of the architecture."""
    distribution: Literal["horovod"] | None = None
    mpi: Literal["openmpi", "mpich", "intel-mpi"] | None = None
    mpi_version: Release | None = None
    base: ImageReference | None = None
    """The image that ``hub`` takes, where its name does not follow from the version."""

    @property
    def reference(self) -> str:
        """The name that the image has once it is built."""
        parts = [self.framework, self.version, self.variant, "cpu" if self.accelerator == "none" else "gpu"]
        gpu = f"sm{self.compute_capability.replace('.', '')}" if self.compute_capability and self.variant == "opt-build" else None
        mpi = f"{self.mpi}{mpi_version(self)}" if self.mpi else None
        parts += [part for part in (gpu, self.microarchitecture, self.distribution, mpi) if part]
        return f"private://modak/modak:{'-'.join(parts)}"

    @property
    def image_file(self) -> str:
        """The file that the build makes, under the name that job scripts look for."""
        return image_file(self.reference)

    def singularity(self) -> str:
        """The Singularity (or Apptainer) definition file."""
        from modak.recipetext import written

        return written(self, "singularity")

    def dockerfile(self) -> str:
        """The Dockerfile: what Charliecloud's ``ch-image`` and Podman build from."""
        from modak.recipetext import written

        return written(self, "docker")

    def text(self, runtime: str) -> tuple[str, str]:
        """The text that a runtime builds from, and the usual name of its file."""
        if runtime in ("apptainer", "singularity"):
            return self.singularity(), self.image_file.removesuffix(".sif") + ".def"
        return self.dockerfile(), "Dockerfile"


@dataclass(frozen=True)
class Hardware:
    """The hardware that an image is built for. ``None``: unknown, so for any."""

    accelerator: Literal["nvidia", "amd", "none"] = "none"
    compute_capability: str | None = None
    architecture: str = "x86_64"
    microarchitecture: str | None = None


@dataclass(frozen=True)
class Extras:
    """What the image carries beside the framework. ``None``: nothing is asked."""

    compilers: tuple[str, ...] = ()
    distribution: str | None = None
    mpi: str | None = None
    mpi_version: str | None = None


def plan(framework: str, version: str | None, variant: Variant, hardware: Hardware, extras: Extras | None = None) -> Recipe | None:
    """The recipe for a wanted version or range; ``None`` where nothing here can build all that is wanted.

    Horovod needs an MPI: Open MPI where none is named. A version of an MPI that cannot be installed gives ``None``, since
    a host's library can only be bound over the same one.
    """
    more = extras or Extras()
    family = more.mpi or ("openmpi" if more.distribution == "horovod" else None)
    chosen = release(_usable(framework, variant, hardware, more.distribution), version)
    if chosen is None or not _carries(framework, chosen, more.compilers) or (family and not _installs(family, more.mpi_version)):
        return None
    values = {
        "framework": framework,
        "version": chosen,
        "variant": variant,
        "accelerator": hardware.accelerator,
        "compute_capability": hardware.compute_capability if hardware.accelerator == "nvidia" else None,
        "architecture": hardware.architecture,
        "microarchitecture": _target(hardware) if variant == "opt-build" else None,
        "distribution": more.distribution,
        "mpi": family,
        "mpi_version": more.mpi_version if family else None,
    }
    return recipe(values)


def recipe(values: Mapping[str, Any]) -> Recipe:
    """A recipe from plain values, checked as a whole. Raises :class:`modak.errors.RequestError` that says what is allowed."""
    try:
        made = Recipe.model_validate(values)
    except ValidationError as wrong:
        raise RequestError(faults=faults_of(wrong, model=Recipe)) from None
    row = toolchain(made)
    if made.distribution and not made.mpi:
        raise RequestError(f"{made.distribution} needs an MPI library; allowed: {', '.join(MPI)}", field="mpi")
    if made.mpi and not _installs(made.mpi, made.mpi_version):
        raise RequestError(f"{made.mpi} {made.mpi_version} cannot be installed; allowed: {MPI[made.mpi][1]}", field="mpi_version")
    compiler_flags(made, row)
    return made


def versions(framework: str, variant: Variant) -> tuple[str, ...]:
    """Version ranges of a framework that a variant can build for processors, oldest first.

    >>> versions("pytorch", "opt-build")[:2], versions("cntk", "pip")
    (('1.4.*', '1.5.*'), ())
    """
    return tuple(row.versions for row in _usable(framework, variant, Hardware(), None))


def labels(made: Recipe) -> ImageLabels:
    """What the built image carries, as a catalogue entry would say it."""
    row, nvidia = toolchain(made), made.accelerator == "nvidia"
    oldest, newest = row.capabilities or (None, None)
    one = made.compute_capability if made.variant == "opt-build" else None
    compilers = plugins.find("frameworks", made.framework).compilers
    return ImageLabels(
        framework=made.framework,
        version=made.version,
        source=made.variant,
        compilers=tuple(item.name for item in compilers if item.built_in and item.exists_for(made.version)),
        distribution=(made.distribution,) if made.distribution else (),
        architecture=made.architecture,
        microarchitecture=made.microarchitecture,
        accelerator=made.accelerator,
        cuda=row.cuda.version if nvidia and row.cuda else None,
        compute_capability_min=(one or oldest) if nvidia else None,
        compute_capability_max=newest if nvidia else None,
        mpi=made.mpi,
        mpi_version=mpi_version(made),
        python=None if made.variant == "hub" else row.python,
    )


def mpi_version(made: Recipe) -> str | None:
    """The version of MPI that is installed; ``None``: no MPI is."""
    return (made.mpi_version or MPI[made.mpi][0]) if made.mpi else None


def toolchain(made: Recipe) -> Toolchain:
    """The build row of a recipe. Raises :class:`modak.errors.RequestError` that lists the versions there are rows for."""
    if made.variant == "hub" and made.base:
        return Toolchain(
            made.version, made.version, "ubuntu22", "3.10", architectures=(made.architecture,), hub=made.base, hub_nvidia=made.base
        )
    hardware = Hardware(made.accelerator, made.compute_capability, made.architecture, made.microarchitecture)
    rows = _usable(made.framework, made.variant, hardware, made.distribution)
    found = next((row for row in rows if row.covers(made.version)), None)
    if found is None:
        able = ", ".join(row.versions for row in rows) or "none"
        device = "processors" if made.accelerator == "none" else f"GPUs of capability {made.compute_capability or 'any'}"
        extra = f" with {made.distribution}" if made.distribution else ""
        raise RequestError(
            f"{made.framework} {made.version}{extra} has no {made.variant} recipe for {device}; allowed: {able}", field="version"
        )
    return found


def compiler_flags(made: Recipe, row: Toolchain) -> tuple[str, ...]:
    """The compiler's flags for the target processor, or for the nearest ancestor that the row's compiler knows."""
    if made.microarchitecture is None or made.variant != "opt-build":
        return ()
    import archspec.cpu

    known = archspec.cpu.TARGETS
    target = known.get(made.microarchitecture)
    if target is None or str(target.family) != made.architecture:
        same = [name for name in known if str(known[name].family) == made.architecture]
        raise RequestError(unknown(f"{made.architecture} processor", made.microarchitecture, same), field="microarchitecture")
    for each in (target, *sorted(target.ancestors, key=lambda item: -len(item.ancestors))):
        try:
            return tuple(each.optimization_flags(*row.compiler).split())
        except archspec.cpu.UnsupportedMicroarchitecture:
            continue
    return ()


def source_build(made: Recipe, row: Toolchain) -> SourceBuild:
    """What the framework plug-in is asked to compile."""
    return SourceBuild(
        made.version, row, compiler_flags(made, row), made.accelerator == "nvidia", made.compute_capability, made.architecture
    )


def _target(hardware: Hardware) -> str | None:
    """The processor to compile for; a name that archspec does not know (a site's own) gives code for any."""
    import archspec.cpu

    found = archspec.cpu.TARGETS.get(hardware.microarchitecture)
    return hardware.microarchitecture if found is not None and str(found.family) == hardware.architecture else None


def _usable(framework: str, variant: Variant, hardware: Hardware, distribution: str | None) -> tuple[Toolchain, ...]:
    """The framework's build rows that can make what is wanted."""
    if hardware.accelerator == "amd" or distribution not in (None, "horovod"):
        return ()
    rows: tuple[Toolchain, ...] = plugins.find("frameworks", framework).toolchains
    return tuple(row for row in rows if _makes(row, variant, hardware) and (distribution is None or (row.horovod and variant != "hub")))


def _makes(row: Toolchain, variant: Variant, hardware: Hardware) -> bool:
    """Whether a row has what the variant takes, for that GPU where there is one."""
    nvidia = hardware.accelerator == "nvidia"
    if hardware.architecture not in row.architectures or (nvidia and not row.serves(hardware.compute_capability)):
        return False
    if variant == "opt-build":
        return row.source
    if variant == "pip":
        return bool(row.pip_nvidia if nvidia else row.pip)
    return bool(row.hub_nvidia if nvidia else row.hub)


def _carries(framework: str, version: str, wanted: tuple[str, ...]) -> bool:
    """Whether a plain build of that version has the graph compilers that are wanted."""
    compilers = plugins.find("frameworks", framework).compilers
    return set(wanted) <= {item.name for item in compilers if item.built_in and item.exists_for(version)}


def _installs(family: str, version: str | None) -> bool:
    return family in MPI and (version is None or version_range(MPI[family][1]).contains(version))
