"""Whether an image is suitable for a request, and which criteria decide between suitable images.

Labels are typed: versions are compared as versions, processors by their ancestry, MPI libraries by their binary interface.
The catalogue is not known here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from packaging.version import Version

from modak import plugins
from modak.facts import Image, mpi_family
from modak.launchers.family import compatible
from modak.recipes.plan import Extras, Hardware
from modak.text.grammar import IMAGE_ENDINGS, version_range

_MINOR_COMPATIBLE_SINCE: Final = 11
"""From this CUDA on, minor versions are compatible with the drivers of their major one (NVIDIA, CUDA Compatibility)."""


@dataclass(frozen=True)
class Wanted:
    """The labels that a request wants, and the hardware that the image must run on. ``None``: any, or unknown."""

    framework: str
    version: str | None = None
    """A version or range: ``2.1``, ``2.*``, ``>=1.14,<2``."""
    hardware: Hardware = field(default_factory=Hardware)
    """Without a microarchitecture only images for any processor of the architecture can run."""
    inside: Extras = field(default_factory=Extras)
    """Without graph compilers that are switched off; its MPI is that of the ranks: the host's where it is bound into the container."""
    own_mpi: str | None = None
    """The MPI family, in the containers, of the measured runs: an image with another one is taken only if no suitable one has it."""
    opt_build: bool = False
    runtime: str | None = None
    recipe_version: str | None = None
    """The version that a recipe would build for this request; ``None``: no recipe does."""
    seconds: tuple[tuple[str, float], ...] = ()
    """Images with results, each with the predicted time of this run in it."""


Value = float | str | tuple[int, ...]


def obstacle(image: Image, wanted: Wanted, beside: Image | None = None) -> str | None:
    """Why an image is not suitable, apart from its version; ``None``: it is. With ``beside`` only what that one does not lack, too."""
    found = ((check, why) for check in _CHECKS if (why := check(image, wanted)))
    return next((why for check, why in found if beside is None or not check(beside, wanted)), None)


def criteria(image: Image, wanted: Wanted) -> tuple[tuple[str, Value], ...]:
    """The criteria for choosing between suitable images, the most important first: reason and value; smaller is better."""
    labels = image.labels
    unasked = image.verified_on is None and labels.source == "opt-build"  # if one was requested, that has decided before
    spare = len({*labels.distribution} - {wanted.inside.distribution}) + (labels.mpi is not None and wanted.inside.mpi is None)
    return (
        ("its MPI is that of the measured runs, or nearer to it", _from_own_mpi(image, wanted)),
        ("it can be pulled", not is_there(image)),
        ("it needs no accelerator", labels.accelerator != wanted.hardware.accelerator),
        ("it is built from source", wanted.opt_build and labels.source != "opt-build"),
        ("it is verified", image.verified_on is None),
        ("it is not an unverified source build, which was not requested", unasked),
        ("its version is newer", _newest_first(labels.version)),
        ("the driver fully supports its CUDA", _ahead(image, wanted)),
        ("it has the MPI of the job", wanted.inside.mpi is not None and labels.mpi != wanted.inside.mpi),
        ("its MPI has the version of the job", not _same_mpi_version(image, wanted)),
        ("it is compiled for a CPU closer to that of the target", distance(labels.microarchitecture, wanted.hardware.microarchitecture)),
        ("it contains less that was not requested", spare),
        ("it is the project's own image", labels.source != "hub"),
        ("more is known of its contents", -_known_of(image)),
        ("the models predict it to be faster", dict(wanted.seconds).get(image.reference, math.inf)),
        ("its name comes first in the alphabet", image.reference),
    )


def kind_key(image: Image) -> tuple[Hashable, ...]:
    """The labels that :func:`obstacle` and :func:`criteria` compare, except those by which :func:`within_kind` sorts."""
    labels = image.labels
    hardware = (labels.accelerator, labels.architecture, labels.microarchitecture)
    capability = (labels.compute_capability_min, labels.compute_capability_max, labels.cuda)
    inside = (frozenset(labels.compilers), frozenset(labels.distribution), labels.mpi, labels.mpi_version)
    known = (labels.source, is_there(image), image.verified_on is None, bool(image.refuted), _form(image.reference))
    return (*hardware, *capability, *inside, *known)


def within_kind(image: Image) -> tuple[Value, ...]:
    """A key that sorts images of one kind as :func:`criteria` would, the best first."""
    return (_newest_first(image.labels.version), -_known_of(image), image.reference)


def _known_of(image: Image) -> int:
    """The number of labels that say what is inside."""
    labels = image.labels
    carried = (labels.mpi, labels.cuda, labels.rocm, labels.oneapi, labels.python, *labels.compilers, *labels.distribution)
    return sum(label is not None for label in carried)


def allows(wanted: str, version: Version) -> bool:
    """Whether a version is in the wanted range."""
    return _range(wanted).contains(version)


@lru_cache(maxsize=1024)
def pinned(wanted: str) -> Version | None:
    """The only version that a range allows, without its local part (``+…``); ``None``: it may allow several."""
    exact = (one.version for one in _range(wanted) if one.operator == "==" and not one.version.endswith("*"))
    return next((Version(Version(version).public) for version in exact), None)


def mpi_inside(image: Image) -> str | None:
    """The MPI family of an image; that of an MPI library is itself. ``None``: unknown."""
    return image.labels.mpi or mpi_family(image.labels.framework)


def is_there(image: Image) -> bool:
    """Whether the image can be pulled. ``private://`` images can be used by their owners only, unless they were verified here."""
    return not image.reference.startswith("private://") or image.verified_on is not None


@lru_cache(maxsize=4096)
def runs_on(built_for: str, target: str | None) -> bool:
    """Whether code for one archspec target runs on another: it is the same or an ancestor. Unknown names match only themselves.

    >>> runs_on("haswell", "skylake_avx512"), runs_on("skylake_avx512", "haswell"), runs_on("haswell", None)
    (True, False, False)
    """
    import archspec.cpu

    known = archspec.cpu.TARGETS
    return built_for == target or (built_for in known and target in known and bool(known[built_for] <= known[target]))


@lru_cache(maxsize=4096)
def distance(built_for: str | None, target: str | None) -> int:
    """Generations between the processor that an image is compiled for and the target; the largest for an image for any processor.

    >>> distance("skylake_avx512", "skylake_avx512"), distance("haswell", "skylake_avx512") < distance(None, "skylake_avx512")
    (0, True)
    """
    import archspec.cpu

    known = archspec.cpu.TARGETS
    if built_for == target and target is not None:
        return 0
    if built_for not in known or target not in known:
        return len(known)
    return len(set(known[target].ancestors) - set(known[built_for].ancestors))


def _refuted(image: Image, wanted: Wanted) -> str | None:
    return "that did not match the labels when run" if image.refuted else None


def _accelerator(image: Image, wanted: Wanted) -> str | None:
    """An image for GPUs is also suitable without a GPU; an image without GPU support is not suitable for a GPU."""
    has = image.labels.accelerator
    if has == wanted.hardware.accelerator or wanted.hardware.accelerator == "none":
        return None
    return f"without {wanted.hardware.accelerator} support"


def _architecture(image: Image, wanted: Wanted) -> str | None:
    return f"for {image.labels.architecture}" if image.labels.architecture != wanted.hardware.architecture else None


def _processor(image: Image, wanted: Wanted) -> str | None:
    built_for = image.labels.microarchitecture
    if built_for is None or runs_on(built_for, wanted.hardware.microarchitecture):
        return None
    return f"compiled for {built_for}, which {wanted.hardware.microarchitecture or 'an unknown processor'} may not run"


def _capability(image: Image, wanted: Wanted) -> str | None:
    """Whether the image has kernels for the GPU; without a GPU it needs none."""
    there, labels = wanted.hardware, image.labels
    if there.compute_capability is None or there.accelerator != "nvidia":
        return None
    has, oldest, newest = Version(there.compute_capability), labels.compute_capability_min, labels.compute_capability_max
    dead = (oldest and has < Version(oldest)) or (newest and has > Version(newest))
    return f"without kernels for compute capability {there.compute_capability}" if dead else None


def _driver(image: Image, wanted: Wanted) -> str | None:
    """Whether the driver supports the image's CUDA: since 11 any of the same major version, before that none that is newer."""
    if not image.labels.cuda or wanted.hardware.driver_cuda is None or wanted.hardware.accelerator != "nvidia":
        return None
    has, takes = Version(image.labels.cuda), Version(wanted.hardware.driver_cuda)
    dead = has.major > takes.major or (takes.major < _MINOR_COMPATIBLE_SINCE and has > takes)
    return f"for CUDA {image.labels.cuda}, while the driver supports {wanted.hardware.driver_cuda}" if dead else None


def _ahead(image: Image, wanted: Wanted) -> bool:
    """Whether the image's CUDA is newer than the driver's: code that is compiled at run time then fails."""
    return bool(image.labels.cuda and wanted.hardware.driver_cuda and Version(image.labels.cuda) > Version(wanted.hardware.driver_cuda))


def _compilers(image: Image, wanted: Wanted) -> str | None:
    missing = [compiler for compiler in wanted.inside.compilers if compiler not in image.labels.compilers]
    return f"without {' and '.join(missing)}" if missing else None


def _distribution(image: Image, wanted: Wanted) -> str | None:
    asked = wanted.inside.distribution
    return f"without {asked}" if asked and asked not in image.labels.distribution else None


def _mpi(image: Image, wanted: Wanted) -> str | None:
    has = image.labels.mpi
    if wanted.inside.mpi is None or (has and compatible(has, wanted.inside.mpi)):
        return None
    return f"with {has or 'no MPI'} where {wanted.inside.mpi} is needed"


def _from_own_mpi(image: Image, wanted: Wanted) -> int:
    """How far the image's MPI is from the measured one of containers: the same family, the same binary interface, another one, none."""
    has, measured = mpi_inside(image), wanted.own_mpi
    if measured in (None, has):
        return 0
    return 3 if has is None else 2 - compatible(has, measured)


def _runtime(image: Image, wanted: Wanted) -> str | None:
    runtime = plugins.named("runtimes", wanted.runtime or "")
    reads = runtime.reads if runtime else None
    return f"in a format that {wanted.runtime} cannot read" if reads and _form(image.reference) not in reads else None


_CHECKS: Final[tuple[Callable[[Image, Wanted], str | None], ...]] = (
    _refuted,
    _accelerator,
    _architecture,
    _processor,
    _capability,
    _driver,
    _compilers,
    _distribution,
    _mpi,
    _runtime,
)


def _form(reference: str) -> str:
    """The scheme of the reference (``docker``), or the ending of the file."""
    return reference.split("://", 1)[0] if "://" in reference else next((end for end in IMAGE_ENDINGS if reference.endswith(end)), "")


_range: Final = lru_cache(maxsize=1024)(version_range)


@lru_cache(maxsize=4096)
def _newest_first(version: str) -> tuple[int, ...]:
    """A key that sorts newer versions first: ``2.10`` before ``2.1.1`` before ``2.1``, a release before its candidates."""
    parsed = Version(version)
    return (*(-part for part in (*parsed.release, 0, 0, 0, 0, 0)[:6]), int(parsed.is_prerelease))


def _same_mpi_version(image: Image, wanted: Wanted) -> bool:
    has, asked = image.labels.mpi_version, wanted.inside.mpi_version
    return asked is None or (has is not None and Version(has).major == Version(asked).major)
