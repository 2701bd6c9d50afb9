"""Applications that run on accelerators by OpenACC (directives that a compiler turns into their code) or OpenCL (kernels that the run time
compiles)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from modak.dsl import FrameworkOptions
from modak.frameworks.base import Number, Parallel
from modak.text.grammar import Name


class AcceleratedOptions(FrameworkOptions):
    """Options that both have; ``version`` is the compiler's."""

    compiler: Name | None = None
    number_of_acc: Number | None = None
    """Accelerators per node."""

    def unused(self) -> Mapping[str, str]:
        """The compiler and its version, by which no results are chosen."""
        why = "has no effect: optimisation.workload.compiler names the one that the application was built with"
        return {name: why for name in ("compiler", "version") if self.value_of(name)}


class OpenAccOptions(AcceleratedOptions):
    """Options of an OpenACC application; ``version`` is the compiler's."""

    compiler: Name | None = None
    """``nvhpc``, ``pgi``, ``cray``, ``gcc``."""


class OpenClOptions(AcceleratedOptions):
    """Options of an OpenCL application; ``version`` is the compiler's."""


OPENACC: Final = Parallel("openacc", aliases=("opencc",), options=OpenAccOptions)
"""An application with OpenACC directives."""
OPENCL: Final = Parallel("opencl", options=OpenClOptions)
"""An application with OpenCL kernels."""
