"""OpenACC applications: directives that a compiler turns into accelerator code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from modak.dsl import FrameworkOptions
from modak.frameworks.base import Number, Parallel
from modak.text.grammar import Name


class OpenAccOptions(FrameworkOptions):
    """Options of an OpenACC application; ``version`` is the compiler's."""

    compiler: Name | None = None
    """``nvhpc``, ``pgi``, ``cray``, ``gcc``."""
    number_of_acc: Number | None = None
    """Accelerators per node."""

    def unused(self) -> Mapping[str, str]:
        """The compiler, by which no results are chosen."""
        why = "has no effect: optimisation.workload.compiler names the one that the application was built with"
        return {"compiler": why} if self.compiler else {}


OPENACC: Final = Parallel("openacc", options=OpenAccOptions)
"""An application with OpenACC directives."""
