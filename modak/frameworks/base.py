"""What a framework plug-in is, and its parts: graph compilers, build tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Final, Literal

from packaging.version import Version
from pydantic import Field

from modak.dsl import FrameworkOptions
from modak.text.grammar import version_range

Kind = Literal["ai", "parallel", "distribution"]
"""A training or inference framework; a way to run in parallel; a layer that distributes another framework."""
Number = Annotated[int, Field(ge=1, le=10_000_000)]
"""A count in a request: a number, or its digits as text."""
NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True)
class Compiler:
    """A graph compiler of a framework, and the option that enables it."""

    name: str
    """The name on labels of images: ``xla``, ``ngraph``, ``glow``, ``inductor``, ``jit``."""
    option: str
    """The field of the framework's options."""
    versions: str | None = None
    """The versions of the framework that have it (a version range); ``None``: all."""
    always: bool = False
    """It cannot be switched off."""
    built_in: bool = True
    """Every build of the framework has it; otherwise it is a program of its own."""
    added: tuple[str, str] | None = None
    """For one that is not built in: the variant of recipes that adds it, and the versions of the framework to which it can be added."""
    capability: str | None = None
    """The least compute capability of NVIDIA GPUs that it compiles for; ``None``: any."""

    def exists_for(self, version: str) -> bool:
        """Whether a framework of that version has this compiler."""
        return self.versions is None or version_range(self.versions).contains(version)

    def comes_with(self, version: str, variant: str) -> bool:
        """Whether an image from a recipe of that variant has this compiler, as part of the framework or added to it."""
        where, versions = (variant, self.versions or ">=0") if self.built_in else self.added or ("", "")
        return where == variant and version_range(versions).contains(version)


@dataclass(frozen=True)
class Carrier:
    """The framework whose images a request wants (its name on labels), and the wanted version."""

    framework: str
    version: str | None = None


@dataclass(frozen=True)
class Cuda:
    """The CUDA that a framework is built against: version, cuDNN, and the development image that has both."""

    version: str
    cudnn: str
    base: str


@dataclass(frozen=True)
class Toolchain:
    """One row of a framework's build table: what a range of versions is installed and built with.

    Rows repeat what the project itself states as tested. ``release`` is built if the wanted range allows several versions.
    """

    versions: str
    release: str
    distro: str
    """The Linux of the base image: ``ubuntu18``, ``ubuntu24``, ``debian12``."""
    python: str
    """The version of that Linux distribution's Python."""
    packages: tuple[str, ...] = ()
    """The distribution's packages, which ``hub`` installs for a program without an official image."""
    pip: tuple[str, ...] = ()
    """What pip installs for processors; ``{version}`` stands for the version."""
    pip_nvidia: tuple[str, ...] = ()
    pip_options: tuple[str, ...] = ()
    pip_options_nvidia: tuple[str, ...] = ()
    locked: tuple[str, ...] = ()
    """Exact versions of the release's dependencies on x86_64, keys of :data:`modak.recipes.wheels.SHA256`; empty: pip resolves them."""
    locked_nvidia: tuple[str, ...] = ()
    cuda: Cuda | None = None
    """The CUDA for source builds, and for wheels that need CUDA in the image."""
    pip_needs_cuda: bool = False
    source: bool = False
    """Whether these versions can be built from source."""
    architectures: tuple[str, ...] = ("x86_64",)
    capabilities: tuple[str, str] | None = None
    """Oldest and newest CUDA compute capability that the row's wheels and CUDA support."""
    bazel: str | None = None
    compiler: tuple[str, str] = ("gcc", "7.5.0")
    """Compiler family and version of that Linux, as archspec names them."""
    horovod: str | None = None
    """The Horovod release that can be built with these versions; ``None``: none can."""
    hub: str | None = None
    """The official image for CPUs; ``None``: there is none, or its name does not follow from the version."""
    hub_nvidia: str | None = None
    hub_amd: str | None = None
    rocm: str | None = None
    """The ROCm of ``hub_amd``."""
    note: str | None = None
    """What to know before building it, in one line."""
    earlier: tuple[str, ...] = ()
    """Releases among ``versions`` for ranges that ``release`` is not in."""

    def official(self, accelerator: str) -> str | None:
        """The image that ``hub`` uses."""
        return {"nvidia": self.hub_nvidia, "amd": self.hub_amd, "none": self.hub}.get(accelerator)

    def wheels(self, accelerator: str) -> tuple[str, ...]:
        """What pip installs."""
        return {"nvidia": self.pip_nvidia, "none": self.pip}.get(accelerator, ())

    def wheel_options(self, accelerator: str) -> tuple[str, ...]:
        """Options of ``pip install`` for :meth:`wheels`."""
        return self.pip_options_nvidia if accelerator == "nvidia" else self.pip_options

    def covers(self, version: str) -> bool:
        """Whether this row is for that version."""
        return version_range(self.versions).contains(version)

    def serves(self, capability: str | None) -> bool:
        """Whether it supports a GPU of that compute capability; an unknown one counts as supported."""
        if capability is None or self.capabilities is None:
            return True
        oldest, newest = self.capabilities
        return Version(oldest) <= Version(capability) <= Version(newest)


@dataclass(frozen=True)
class SourceBuild:
    """A source build: the version, the compiler's flags, the GPU."""

    version: str
    toolchain: Toolchain
    flags: tuple[str, ...] = ()
    """Compiler flags of the target processor, for instance ``-march=broadwell``."""
    nvidia: bool = False
    compute_capability: str | None = None
    architecture: str = "x86_64"
    add_ons: tuple[str, ...] = ()
    """Graph compilers that are programs of their own."""


@dataclass(frozen=True)
class Inspection:
    """The test that runs in an image: Python with ``module`` imported, which fails if the image does not contain it."""

    module: str = ""
    exercise: str = ""
    """Lines that compute something."""
    says: Mapping[str, str] = field(default_factory=dict)
    """Expressions for properties of the framework's build: ``version``, ``cuda``, ``rocm``, ``flags``."""
    compilers: Mapping[str, str] = field(default_factory=dict)
    """Lines that use a graph compiler; they exit with 75 where it cannot be tested."""
    shell: str = ""
    """For an MPI library, in place of Python: commands that print its version; they exit with 75 where it cannot be tested."""


@dataclass(frozen=True)
class Framework:
    """What MODAK needs to know about a framework. Variants override the defaults."""

    name: str
    """The name in requests and on images."""
    aliases: tuple[str, ...] = ()
    """Other names that callers use."""
    kind: Kind = "ai"
    options: type[FrameworkOptions] = FrameworkOptions
    """The model of its options: frozen, unknown keys forbidden. The words of ``distribution`` are how it spreads training."""
    compilers: tuple[Compiler, ...] = ()
    toolchains: tuple[Toolchain, ...] = field(default=(), repr=False)
    """What its versions are installed and built with; empty: no recipes."""
    inspection: Inspection | None = field(default=None, repr=False)
    """The test that runs in its images; ``None``: it has no images, or nothing can be tested."""
    drives_all_gpus: bool = False
    """One process trains on all GPUs of a node (``caffe train --gpu all``), also if there are several nodes."""

    def carrier(self, options: FrameworkOptions) -> Carrier | None:
        """The framework whose images are suitable for these options; ``None``: no framework image at all."""
        return Carrier(self.name, options.version)

    @property
    def is_front_end(self) -> bool:
        """Whether it runs on another framework."""
        found = self.carrier(self.options())
        return found is not None and found.framework != self.name

    def environment(self, options: FrameworkOptions) -> Mapping[str, str]:
        """Environment variables that the options need."""
        return NOTHING

    def build_packages(self, build: SourceBuild) -> tuple[str, ...]:
        """Packages of the Linux distribution that a source build needs beyond compiler, git and Python."""
        return ()

    def build_commands(self, build: SourceBuild) -> tuple[str, ...]:
        """Shell commands of a source build, in an activated Python environment; empty: there is no source build."""
        return ()

    def kernels(self, build: SourceBuild) -> tuple[str, str] | None:
        """Oldest and newest CUDA compute capability that a source build for GPUs has kernels for; ``None``: unknown, or it has none."""
        return build.toolchain.capabilities


@dataclass(frozen=True)
class Parallel(Framework):
    """A way to run in parallel: the application brings its own image, or runs without one."""

    kind: Kind = "parallel"

    def carrier(self, options: FrameworkOptions) -> Carrier | None:
        """None: no image of a framework is wanted."""
        return None


def machine_code(capability: str, toolchain: Toolchain) -> tuple[str, str]:
    """Oldest and newest compute capability on which machine code for one of them runs: the others of its major version that are not older
    [CUDA C++ programming guide, section on binary compatibility]. Only PTX would also be compiled for later ones.

    >>> machine_code("8.0", Toolchain("2.*", "2.1", "ubuntu24", "3.12", capabilities=("6.0", "12.1")))
    ('8.0', '8.9')
    """
    newest = f"{Version(capability).major}.9"
    last = toolchain.capabilities[1] if toolchain.capabilities else newest
    return capability, min(newest, last, key=Version)


def release(toolchains: tuple[Toolchain, ...], wanted: str | None) -> str | None:
    """The version to build for a wanted version or range: the highest known release within it, else the version itself.

    >>> rows = (Toolchain("2.1.*", "2.1.0", "ubuntu18", "3.6"), Toolchain("2.2.*", "2.2.3", "ubuntu18", "3.6"))
    >>> [release(rows, wanted) for wanted in ("2.1", "2.1.4", "2.*", "2.2", "3.0", None)]
    ['2.1.0', '2.1.4', '2.2.3', '2.2.0', None, '2.2.3']
    """
    known = [each for row in toolchains for each in (row.release, *row.earlier)]
    found = [each for each in known if wanted is None or version_range(wanted).contains(each)]
    if found:
        return max(found, key=Version)
    named = _named(wanted)
    return named if named and any(row.covers(named) for row in toolchains) else None


def _named(wanted: str | None) -> str | None:
    """The only version that a range allows, with three numbers as releases are tagged; ``None``: it allows several."""
    specifiers = list(version_range(wanted)) if wanted else []
    if len(specifiers) != 1 or specifiers[0].operator != "==" or specifiers[0].version.endswith(".*"):
        return None
    version = Version(specifiers[0].version)
    return f"{version}.0" if version.release == (version.major, version.minor) and not version.is_prerelease else str(version)
