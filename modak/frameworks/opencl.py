"""OpenCL applications: kernels that the run time compiles."""

from __future__ import annotations

from typing import Final

from modak.dsl import FrameworkOptions
from modak.frameworks.base import Number, Parallel
from modak.text.grammar import Name


class OpenClOptions(FrameworkOptions):
    """Options of an OpenCL application; ``version`` is the compiler's."""

    compiler: Name | None = None
    number_of_acc: Number | None = None
    """Accelerators per node."""


OPENCL: Final = Parallel("opencl", aliases=("opencc",), options=OpenClOptions)
"""An application with OpenCL kernels."""
