"""Microsoft Cognitive Toolkit: finished with 2.7, images remain."""

from __future__ import annotations

from typing import Final, Literal

from modak.dsl import FrameworkOptions
from modak.frameworks.base import Framework, Toolchain


class CntkOptions(FrameworkOptions):
    """Options of CNTK."""

    distribution: Literal["mpi"] | None = None


CNTK: Final = Framework(
    "cntk",
    aliases=("microsoft-cognitive-toolkit",),
    options=CntkOptions,
    toolchains=(
        Toolchain(
            versions="==2.7",
            release="2.7",
            distro="ubuntu18",
            python="3.6",
            capabilities=("3.0", "7.5"),
            hub="docker://mcr.microsoft.com/cntk/release:2.7-cpu-python3.5",
            hub_nvidia="docker://mcr.microsoft.com/cntk/release:2.7-gpu-python3.5-cuda10.0-cudnn7.3",
            note="unverified: not built since CNTK ended in 2019, and its image may be gone",
        ),
    ),
)
"""CNTK; its data-parallel training is an MPI program."""
