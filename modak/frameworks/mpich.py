"""MPICH as an image of its own."""

from __future__ import annotations

from dataclasses import dataclass, field

from modak.frameworks.base import Toolchain
from modak.frameworks.mpilibrary import MpiLibrary, rows


@dataclass(frozen=True)
class Mpich(MpiLibrary):
    """MPICH. The project publishes sources alone."""

    name: str = "mpich"
    toolchains: tuple[Toolchain, ...] = field(
        default=rows(
            "mpich",
            ">=3.1,<6",
            "5.0.2",
            wheels={">=4.0.3,<5": "4.3.2", ">=5,<5.1": "5.0.2"},
            packages=("libmpich-dev", "mpich"),
            packaged={"ubuntu22": "4.0", "debian12": "4.0.2", "ubuntu24": "4.2.0"},
        ),
        repr=False,
    )
