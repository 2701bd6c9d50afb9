"""The Linux distributions that recipes build on: their official images, their Python versions, and pip for these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Distribution:
    """A Linux distribution: its version, official image, and version of Python."""

    version: str
    image: str
    python: str


LINUX: Final[Mapping[str, Distribution]] = {
    "ubuntu18": Distribution("18.04", "ubuntu:18.04", "3.6"),
    "ubuntu20": Distribution("20.04", "ubuntu:20.04", "3.8"),
    "ubuntu22": Distribution("22.04", "ubuntu:22.04", "3.10"),
    "ubuntu24": Distribution("24.04", "ubuntu:24.04", "3.12"),
    "debian12": Distribution("12", "debian:12", "3.11"),
}
HPCCM: Final[Mapping[str, str]] = {"debian12": "ubuntu22"}
"""The Ubuntu that hpccm is told instead of Debian, which it does not know. Recipes use packages with the same names in both."""
INSTALLERS: Final[Mapping[str, tuple[str, str, str]]] = {
    "3.6": ("pip==21.3.1", "setuptools==59.6.0", "wheel==0.37.1"),
    "3.8": ("pip==25.0.1", "setuptools==75.3.0", "wheel==0.45.1"),
    **dict.fromkeys(("3.10", "3.11", "3.12"), ("pip==25.3", "setuptools==80.9.0", "wheel==0.45.1")),
}
"""pip, setuptools and wheel for each Python: the last that serve it, or the last that old packages build with."""
