"""OpenCL applications: kernels that the run time compiles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from modak.dsl import FrameworkOptions
from modak.frameworks.base import Number, Parallel
from modak.text.grammar import Name


class OpenClOptions(FrameworkOptions):
    """Options of an OpenCL application; ``version`` is the compiler's."""

    compiler: Name | None = None
    number_of_acc: Number | None = None
    """Accelerators per node."""

    def unused(self) -> Mapping[str, str]:
        """The compiler, by which no results are chosen."""
        why = "has no effect: optimisation.workload.compiler names the one that the application was built with"
        return {"compiler": why} if self.compiler else {}


OPENCL: Final = Parallel("opencl", aliases=("opencc",), options=OpenClOptions)
"""An application with OpenCL kernels."""
