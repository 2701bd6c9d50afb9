"""Apache MXNet (retired upstream since 2023; images and wheels remain)."""

from __future__ import annotations

from typing import Final, Literal

from modak.dsl import FrameworkOptions
from modak.frameworks.base import Cuda, Framework, Inspection, Toolchain

_INSPECTION: Final = Inspection(module="mxnet", exercise="(mxnet.nd.ones((2, 2)) * 2).asnumpy()", says={"version": "mxnet.__version__"})

_OLD: Final = "unverified: not built since MXNet was retired in 2023"


class MXNetOptions(FrameworkOptions):
    """Options of MXNet."""

    distribution: Literal["horovod", "parameter-server"] | None = None


MXNET: Final = Framework(
    "mxnet",
    options=MXNetOptions,
    inspection=_INSPECTION,
    toolchains=(
        Toolchain(
            versions="1.6.*",
            release="1.6.0",
            distro="ubuntu18",
            python="3.6",
            pip=("mxnet-mkl=={version}",),
            pip_nvidia=("mxnet-cu101=={version}.post0",),
            pip_needs_cuda=True,
            cuda=Cuda("10.1", "7", "nvidia/cuda:10.1-cudnn7-devel-ubuntu18.04"),
            horovod="0.19.5",
            capabilities=("3.5", "7.5"),
            hub_nvidia="docker://nvcr.io/nvidia/mxnet:20.03-py3",
            note=_OLD,
        ),
        Toolchain(
            versions="1.9.*",
            release="1.9.1",
            distro="ubuntu20",
            python="3.8",
            pip=("mxnet=={version}", "numpy<1.24"),
            pip_nvidia=("mxnet-cu112=={version}", "numpy<1.24"),
            pip_needs_cuda=True,
            cuda=Cuda("11.2", "8", "nvidia/cuda:11.2.2-cudnn8-devel-ubuntu20.04"),
            capabilities=("5.0", "8.6"),
            hub="docker://mxnet/python:{version}_cpu_py3",
            note=_OLD,
        ),
    ),
)
"""MXNet; its key-value store is the parameter server."""
