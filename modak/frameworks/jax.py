"""JAX: every compiled function goes through XLA."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from modak.dsl import FrameworkOptions, Switch
from modak.frameworks.base import Compiler, Described, Toolchain


class JaxOptions(FrameworkOptions):
    """Options of JAX. ``xla`` is taken because callers send it; it cannot be switched off."""

    xla: Switch | None = None
    distribution: Literal["jax-distributed"] | None = None


@dataclass(frozen=True)
class Jax(Described):
    """JAX; wheels bring their own CUDA."""

    name: str = "jax"
    title: str = "JAX"
    options: type[FrameworkOptions] = JaxOptions
    compilers: tuple[Compiler, ...] = (Compiler("xla", "xla", always=True),)
    distributions: tuple[str, ...] = ("jax-distributed",)
    toolchains: tuple[Toolchain, ...] = (
        Toolchain(
            versions=">=0.4.30,<0.11",
            release="0.10.2",
            distro="ubuntu24",
            python="3.12",
            pip=("jax=={version}",),
            pip_nvidia=("jax[cuda12]=={version}",),
            architectures=("x86_64", "aarch64"),
            capabilities=("5.2", "12.1"),
        ),
    )
