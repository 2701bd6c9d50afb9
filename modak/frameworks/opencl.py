"""OpenCL applications: kernels that the run time compiles."""

from __future__ import annotations

from dataclasses import dataclass

from modak.dsl import FrameworkOptions
from modak.frameworks.base import Number, ParallelBase
from modak.text.grammar import Name


class OpenClOptions(FrameworkOptions):
    """Options of an OpenCL application; ``version`` is the compiler's."""

    compiler: Name | None = None
    number_of_acc: Number | None = None
    """Accelerators per node."""


@dataclass(frozen=True)
class OpenCl(ParallelBase):
    """An application with OpenCL kernels."""

    name: str = "opencl"
    aliases: tuple[str, ...] = ("opencc",)
    options: type[FrameworkOptions] = OpenClOptions
