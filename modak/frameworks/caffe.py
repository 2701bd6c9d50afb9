"""Caffe and its two well-known forks: BVLC's own, Intel's for processors, NVIDIA's for GPUs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from modak.dsl import FrameworkOptions
from modak.frameworks.base import Carrier, Cuda, Framework, SourceBuild, Toolchain, machine_code
from modak.recipes.pins import clone

_SOURCE: Final = "/var/tmp/caffe"  # noqa: S108 (a path inside the image that is being built)
_OLD: Final = "unverified: not built since Caffe ended in 2018, and its packages and tags may be gone"
_CUDA_10_1: Final = Cuda("10.1", "7", "nvidia/cuda:10.1-cudnn7-devel-ubuntu18.04")
_USUAL: Final = "6.1"
"""The compute capability for which a source build is made if no GPU is named."""
_LABELS: Final[Mapping[str, str]] = {"bvlc": "caffe", "intel": "intel-caffe", "nvidia": "nvcaffe"}
_LAYERS: Final[Mapping[str, str]] = {"mlsl": "intel", "nccl": "nvidia"}
"""The fork that has a distribution layer; BVLC's own has none."""


class CaffeOptions(FrameworkOptions):
    """Options of Caffe."""

    fork: Literal["bvlc", "intel", "nvidia"] | None = None
    """Default: the one that has the ``distribution``, otherwise ``bvlc``."""
    distribution: Literal["mlsl", "nccl", "mpi"] | None = None


_BVLC: Final = (
    Toolchain(
        versions="==1.0",
        release="1.0",
        distro="ubuntu18",
        python="3.6",
        source=True,
        cuda=_CUDA_10_1,
        capabilities=("3.5", "7.5"),
        hub="docker://bvlc/caffe:cpu",
        hub_nvidia="docker://bvlc/caffe:gpu",
        note=_OLD,
    ),
)
_INTEL: Final = (
    Toolchain(versions="==1.1.6", release="1.1.6", distro="ubuntu18", python="3.6", hub="docker://bvlc/caffe:intel", note=_OLD),
)
_NVIDIA: Final = (
    Toolchain(
        versions="==0.17.3",
        release="0.17.3",
        distro="ubuntu18",
        python="3.6",
        capabilities=("6.0", "7.5"),
        hub_nvidia="docker://nvcr.io/nvidia/caffe:20.03-py3",
        note=_OLD,
    ),
)


@dataclass(frozen=True)
class Caffe(Framework):
    """Caffe; a fork is a different program with its own versions, so images are labelled by fork."""

    name: str = "caffe"
    options: type[FrameworkOptions] = CaffeOptions
    toolchains: tuple[Toolchain, ...] = field(default=_BVLC, repr=False)
    drives_all_gpus: bool = True

    def carrier(self, options: FrameworkOptions) -> Carrier | None:
        """The fork's images."""
        fork = options.value_of("fork") or _LAYERS.get(options.value_of("distribution"), "bvlc")
        return Carrier(_LABELS[fork], options.version)

    def build_packages(self, build: SourceBuild) -> tuple[str, ...]:
        """The libraries that Caffe's installation guide lists."""
        return (
            "cmake", "libboost-all-dev", "libgflags-dev", "libgoogle-glog-dev", "libhdf5-serial-dev", "libleveldb-dev", "liblmdb-dev",
            "libopenblas-dev", "libopencv-dev", "libprotobuf-dev", "libsnappy-dev", "protobuf-compiler",
        )  # fmt: skip

    def kernels(self, build: SourceBuild) -> tuple[str, str] | None:
        """Machine code alone."""
        return machine_code(build.compute_capability or _USUAL, build.toolchain)

    def build_commands(self, build: SourceBuild) -> tuple[str, ...]:
        """The one release, with OpenBLAS, without the Python interface; left alone it asks for Fermi, which CUDA 9 does not know."""
        flags = " ".join(build.flags)
        gpu = f"-DCUDA_ARCH_NAME=Manual -DCUDA_ARCH_BIN={build.compute_capability or _USUAL}" if build.nvidia else "-DCPU_ONLY=ON"
        compiler = f' -DCMAKE_C_FLAGS="{flags}" -DCMAKE_CXX_FLAGS="{flags}"' if flags else ""
        return (
            *clone("https://github.com/BVLC/caffe.git", build.version, _SOURCE),
            f"cmake -S {_SOURCE} -B {_SOURCE}/build -DBLAS=open -DBUILD_python=OFF -DCMAKE_INSTALL_PREFIX=/opt/caffe {gpu}{compiler}",
            f"make -C {_SOURCE}/build -j$(nproc) install",
            f"rm -rf {_SOURCE}",
        )


INTEL_CAFFE: Final = Framework("intel-caffe", aliases=("intelcaffe",), options=CaffeOptions, toolchains=_INTEL, drives_all_gpus=True)
"""Intel's fork, for processors."""
NVCAFFE: Final = Framework("nvcaffe", options=CaffeOptions, toolchains=_NVIDIA, drives_all_gpus=True)
"""NVIDIA's fork, for GPUs."""
