"""How an image is built: one :class:`Recipe`, planned from what a request wants.

Three variants, as in the MODAK paper: ``hub`` takes the project's own image, ``pip`` installs its wheels, ``opt-build``
compiles its sources for the target's processor and GPU. Versions, base images and build tools come from the framework
plug-in's rows (:class:`modak.frameworks.base.Toolchain`); :mod:`modak.recipes.text` writes the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, get_args

from packaging.version import Version
from pydantic import ConfigDict, StringConstraints

from modak import plugins
from modak.errors import RequestError, unknown
from modak.facts import Vendor
from modak.frameworks.base import Toolchain
from modak.recipes.mpilibs import LIBRARIES
from modak.recipes.versions import as_released, library_release, release_for
from modak.text.described import Described
from modak.text.faults import validated
from modak.text.grammar import ImageReference, Name, VersionRange, image_file

Variant = Literal["hub", "pip", "opt-build"]
VARIANTS: Final[tuple[Variant, ...]] = get_args(Variant)
Device = Literal[Vendor, "none"]
DEVICES: Final[Mapping[Device, str]] = {
    "none": "processors",
    "nvidia": "GPUs of NVIDIA",
    "amd": "GPUs of AMD",
    "intel": "GPUs of Intel",
}
"""What users call them."""
Linux = Literal["ubuntu18", "ubuntu20", "ubuntu22", "ubuntu24", "debian12"]
Release = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,4}(\.[0-9]{1,4}){0,3}(\.?(a|b|rc|post|dev)[0-9]{1,4})?$", max_length=32)]
"""A released version as projects tag it: no epoch, no local part, no blank."""
Capability = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,2}\.[0-9]$")]


class Recipe(Described):
    """What to build: typed, frozen, complete. :func:`plan` makes one for a request, :func:`recipe` one from plain values."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    framework: Name
    """The framework or MPI library for which it is used."""
    version: Release
    """Of the framework or library."""
    asked: VersionRange | None = None
    """The version or range that was asked for; it changes a comment, not the image."""
    variant: Variant
    """From the project's own image, from packages, or from source."""
    accelerator: Device = "none"
    """Maker of the GPUs for which it is built."""
    compute_capability: Capability | None = None
    """Of the GPU that a source build is for; not given: the default of the framework's build."""
    architecture: Literal["x86_64", "aarch64"] = "x86_64"
    """Of the processors on which it runs."""
    microarchitecture: Name | None = None
    """The archspec target of a source build; not given: any processor of the architecture."""
    add_ons: tuple[Name, ...] = ()
    """Graph compilers that are programs of their own: ``ngraph``, ``glow``."""
    distribution: Literal["horovod"] | None = None
    """How several processes train together."""
    mpi: Literal["openmpi", "mpich", "intel-mpi"] | None = None
    """The MPI library inside."""
    mpi_version: Release | None = None
    """Of the MPI library."""
    base: ImageReference | None = None
    """The base image, where it is not that of the build table: an official image of another name, a site's Linux."""
    linux: Linux | None = None
    """The Linux of ``base``, where it is not that of the build table."""

    @property
    def reference(self) -> str:
        """The name that the image has once it is built."""
        parts = [self.framework, self.version, self.variant, {"none": "cpu", "amd": "rocm", "intel": "xpu"}.get(self.accelerator, "gpu")]
        gpu = f"sm{self.compute_capability.replace('.', '')}" if self.compute_capability and self.variant == "opt-build" else None
        mpi = f"{self.mpi}{self.mpi_version}" if self.mpi else None
        arm = self.architecture if self.architecture != "x86_64" else None
        parts += [part for part in (arm, gpu, self.microarchitecture, self.linux, *self.add_ons, self.distribution, mpi) if part]
        return f"private://modak/modak:{'-'.join(parts)}"

    @property
    def image_file(self) -> str:
        """The name of the file that the build makes, which job scripts look for."""
        return image_file(self.reference)


@dataclass(frozen=True)
class Hardware:
    """The hardware that an image is built for, or has to run on. ``None``: unknown, so for any."""

    accelerator: Device = "none"
    compute_capability: str | None = None
    architecture: str = "x86_64"
    microarchitecture: str | None = None
    driver_cuda: str | None = None
    """The newest CUDA that the driver supports."""


@dataclass(frozen=True)
class Extras:
    """What an image contains beside the framework, or has to. ``None``: nothing."""

    compilers: tuple[str, ...] = ()
    distribution: str | None = None
    mpi: str | None = None
    mpi_version: str | None = None


def plan(framework: str, version: str | None, variant: Variant, hardware: Hardware, extras: Extras | None = None) -> Recipe | None:
    """The recipe for a version or range of versions; ``None``: there is no recipe for all that is wanted.

    Horovod needs an MPI library: Open MPI, unless another one is named. There is no recipe with an MPI version that cannot be
    installed, because a host's library can only replace the same version in the container.
    """
    more = extras or Extras()
    family = more.mpi or ("openmpi" if more.distribution == "horovod" else None)
    found = release_for(framework, usable(framework, variant, hardware, more.distribution), version)
    if found is None or not _carries(framework, found, variant, more.compilers):
        return None
    if family and (framework in LIBRARIES or family not in LIBRARIES or not LIBRARIES[family].pinned(more.mpi_version)):
        return None
    separate = [item.name for item in plugins.find("frameworks", framework).compilers if not item.built_in]
    values = {
        "framework": framework,
        "version": found,
        "asked": version,
        "variant": variant,
        "accelerator": hardware.accelerator,
        "compute_capability": hardware.compute_capability if hardware.accelerator == "nvidia" else None,
        "architecture": hardware.architecture,
        "microarchitecture": _target(hardware) if variant == "opt-build" else None,
        "add_ons": tuple(name for name in more.compilers if name in separate),
        "distribution": more.distribution,
        "mpi": family,
        "mpi_version": more.mpi_version if family else None,
    }
    return recipe(values)


def simplest(framework: str, version: str, hardware: Hardware, extras: Extras) -> Recipe | None:
    """The first recipe for all that is wanted: of wheels, the project's image, or, which takes hours, sources; ``None``: there is none."""
    variants: tuple[Variant, ...] = ("pip", "hub", "opt-build")
    return next(filter(None, (plan(framework, version, variant, hardware, extras) for variant in variants)), None)


def recipe(values: Mapping[str, Any]) -> Recipe:
    """A recipe from plain values, checked as a whole, with versions as they were released.

    Raises :class:`modak.errors.RequestError` that names the field and says what is allowed.
    """
    made = validated(Recipe, values, RequestError)
    made = _with_mpi(made.model_copy(update={"version": as_released(made.framework, made.version)}))
    row = toolchain(made)
    if made.distribution and not made.mpi:
        raise RequestError(f"{made.distribution} needs an MPI library; allowed: {', '.join(LIBRARIES)}", field="mpi")
    if not _carries(made.framework, made.version, made.variant, made.add_ons):
        raise RequestError(f"no {made.variant} recipe adds {', '.join(made.add_ons)} to {made.framework} {made.version}", field="add_ons")
    if made.linux and not made.base:
        raise RequestError("'linux' describes 'base': give the base, too", field="linux")
    compiler_flags(made, row)
    return made


def versions(framework: str, variant: Variant, accelerator: Device = "none", distribution: str | None = None) -> tuple[str, ...]:
    """Version ranges of a framework that a variant can build, oldest first; ``distribution``: those that can be built with it.

    >>> versions("pytorch", "opt-build")[:2], versions("cntk", "pip")
    (('1.4.*', '1.5.*'), ())
    """
    rows = usable(framework, variant, Hardware(accelerator), distribution)
    return tuple(dict.fromkeys(row.versions.removeprefix("==") for row in rows))


def toolchain(made: Recipe) -> Toolchain:
    """The row of the build table for a recipe. Raises :class:`modak.errors.RequestError` that lists the versions in the table."""
    hardware = Hardware(made.accelerator, made.compute_capability, made.architecture, made.microarchitecture)
    rows = usable(made.framework, made.variant, hardware, made.distribution)
    if found := next((row for row in rows if row.covers(made.version)), None):
        return found
    if made.variant == "hub" and made.base:
        return Toolchain(made.version, made.version, "ubuntu22", "3.10", hub=made.base, hub_nvidia=made.base, hub_amd=made.base)
    able = ", ".join(dict.fromkeys(row.versions for row in rows)) or "none"
    capability = f"GPUs of capability {made.compute_capability or 'any'}"
    device = capability if made.accelerator == "nvidia" else DEVICES[made.accelerator]
    extra = f" with {made.distribution}" if made.distribution else ""
    what = f"{made.framework} {made.version}{extra} has no {made.variant} recipe for {device}"
    raise RequestError(f"{what}; allowed: {able}", field="version")


def compiler_flags(made: Recipe, row: Toolchain) -> tuple[str, ...]:
    """The compiler's flags for the target processor, or for its nearest ancestor that the row's compiler knows.

    Raises :class:`modak.errors.RequestError` for a processor that is not of the recipe's architecture.
    """
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


def usable(framework: str, variant: Variant, hardware: Hardware, distribution: str | None) -> tuple[Toolchain, ...]:
    """The rows of the framework's build table that fit the variant, the hardware and the distribution."""
    if distribution not in (None, "horovod"):
        return ()
    known = plugins.named("frameworks", framework)  # a backend of Keras need not be one
    rows: tuple[Toolchain, ...] = known.toolchains if known else ()
    return tuple(row for row in rows if _makes(row, variant, hardware) and (distribution is None or (row.horovod and variant != "hub")))


def _makes(row: Toolchain, variant: Variant, hardware: Hardware) -> bool:
    """Whether a row has what the variant needs, and supports the GPU if there is one."""
    device = hardware.accelerator
    if device == "nvidia" and row.cuda and hardware.driver_cuda and Version(row.cuda.version).major > Version(hardware.driver_cuda).major:
        return False
    if hardware.architecture not in row.architectures or (device == "nvidia" and not row.serves(hardware.compute_capability)):
        return False
    if variant == "opt-build":
        return row.source and device in ("nvidia", "none") and (device == "none" or row.cuda is not None or row.capabilities is not None)
    return bool(row.wheels(device) if variant == "pip" else row.official(device))


def _carries(framework: str, version: str, variant: Variant, wanted: tuple[str, ...]) -> bool:
    """Whether a build of that version contains the graph compilers, or the recipe can add them."""
    compilers = plugins.find("frameworks", framework).compilers
    return set(wanted) <= {item.name for item in compilers if item.comes_with(version, variant)}


def _with_mpi(made: Recipe) -> Recipe:
    """The recipe with a released version of its MPI."""
    if made.mpi is None:
        return made.model_copy(update={"mpi_version": None})
    if made.framework in LIBRARIES:
        raise RequestError(f"{made.framework} is an MPI library itself", field="mpi")
    return made.model_copy(update={"mpi_version": library_release(made.mpi, made.mpi_version, "mpi_version")})


def _target(hardware: Hardware) -> str | None:
    """The processor to compile for; ``None`` (any processor) for a name that archspec does not know."""
    import archspec.cpu

    found = archspec.cpu.TARGETS.get(hardware.microarchitecture)
    return hardware.microarchitecture if found is not None and str(found.family) == hardware.architecture else None
