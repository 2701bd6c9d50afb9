"""OpenCL applications: kernels that the run time compiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from modak.dsl import FrameworkOptions
from modak.frameworks.base import Carrier, FrameworkBase, Number
from modak.text.grammar import Name


class OpenClOptions(FrameworkOptions):
    """Options of an OpenCL application; ``version`` is the compiler's."""

    compiler: Name | None = None
    number_of_acc: Number | None = None
    """Accelerators per node."""


@dataclass(frozen=True)
class OpenCl(FrameworkBase):
    """An application with OpenCL kernels."""

    name: str = "opencl"
    title: str = "OpenCL application"
    kind: Literal["ai", "parallel", "distribution"] = "parallel"
    options: type[FrameworkOptions] = OpenClOptions

    def carrier(self, options: FrameworkOptions) -> Carrier | None:
        """None: the application brings its own image, or runs without one."""
        return None
