"""What a recipe stands on: the base image, its Linux that Linux's Python, and its installers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from modak.errors import RequestError
from modak.recipes.pins import DIGESTS
from modak.recipes.plan import Recipe, toolchain


@dataclass(frozen=True)
class Distribution:
    """A Linux: version, official image, its own Python."""

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
"""hpccm knows no Debian; of Ubuntu's packages recipes use those that Debian has under the same names."""
INSTALLERS: Final[Mapping[str, tuple[str, str, str]]] = {
    "3.6": ("pip==21.3.1", "setuptools==59.6.0", "wheel==0.37.1"),
    "3.8": ("pip==25.0.1", "setuptools==75.3.0", "wheel==0.45.1"),
    "3.10": ("pip==25.3", "setuptools==80.9.0", "wheel==0.45.1"),
    "3.11": ("pip==25.3", "setuptools==80.9.0", "wheel==0.45.1"),
    "3.12": ("pip==25.3", "setuptools==80.9.0", "wheel==0.45.1"),
}
"""pip, setuptools and wheel for each Python: the last that serve it, or the last that old packages build with."""


@dataclass(frozen=True)
class Base:
    """The image to begin with, as a recipe's text names it."""

    image: str
    bootstrap: str
    """Singularity's word for where it comes from."""
    linux: str
    """A key of :data:`LINUX`."""

    @property
    def held(self) -> str:
        """The image by its digest, where one is known: Singularity takes no tag beside it, and Charliecloud reads none."""
        digest = DIGESTS.get(self.image)
        return f"{self.image.rsplit(':', 1)[0]}@{digest}" if digest else self.image

    @property
    def python(self) -> str:
        """The Linux's own Python."""
        return LINUX[self.linux].python


def bases(made: Recipe) -> Base:
    """The base image: the one that is named, the project's own, the one with the CUDA that the build needs, or plain Linux."""
    row = toolchain(made)
    linux = made.linux or row.distro
    if made.base:
        return _named(made.base, linux)
    nvidia = made.accelerator == "nvidia"
    needs_cuda = nvidia and (made.variant == "opt-build" or row.pip_needs_cuda or made.distribution)
    plain = row.cuda.base if needs_cuda and row.cuda else LINUX[linux].image
    official = row.official(made.accelerator) if made.variant == "hub" else None
    image = official.format(version=made.version).removeprefix("docker://") if official else plain
    return Base(image, "docker", linux)


def _named(reference: str, linux: str) -> Base:
    scheme, separator, rest = reference.partition("://")
    if not separator:
        return Base(reference, "localimage", linux)
    if scheme not in ("docker", "oras", "library"):
        raise RequestError(f"a base image is pulled from docker://, oras:// or library://, or is a file; not {scheme}://", field="base")
    return Base(rest, scheme, linux)
