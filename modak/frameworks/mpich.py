"""MPICH as an image of its own: what an MPI program is compiled with and runs in."""

from __future__ import annotations

from dataclasses import dataclass, field

from modak.dsl import FrameworkOptions
from modak.frameworks.base import Carrier, Described, Kind, Toolchain
from modak.frameworks.openmpi import CUDA_12_6, CUDA_13_0, packaged, source, wheel

_PACKAGES = ("libmpich-dev", "mpich")


@dataclass(frozen=True)
class Mpich(Described):
    """MPICH. The project publishes sources alone."""

    name: str = "mpich"
    title: str = "MPICH"
    kind: Kind = "parallel"
    toolchains: tuple[Toolchain, ...] = field(
        default=(
            source(">=3.1,<6", "5.0.2", CUDA_12_6, "5.0", "9.0"),
            source(">=3.1,<6", "5.0.2", CUDA_13_0, "7.5", "12.1"),
            wheel(">=4.0.3,<5", "4.3.2", "mpich"),
            wheel(">=5,<5.1", "5.0.2", "mpich", ("mpich==5.0.2",)),
            packaged("4.0", "ubuntu22", "3.10", "ubuntu:22.04", _PACKAGES),
            packaged("4.0.2", "debian12", "3.11", "debian:12", _PACKAGES),
            packaged("4.2.0", "ubuntu24", "3.12", "ubuntu:24.04", _PACKAGES),
            packaged("4.2.0", "ubuntu24", "3.12", CUDA_13_0.base, _PACKAGES, gpu=True),
        ),
        repr=False,
    )

    def carrier(self, options: FrameworkOptions) -> Carrier | None:
        """None: a program may run in an image of it, and needs none."""
        return None
