"""OpenACC applications: directives that a compiler turns into accelerator code."""

from __future__ import annotations

from dataclasses import dataclass

from modak.dsl import FrameworkOptions
from modak.frameworks.base import Number, ParallelBase
from modak.text.grammar import Name


class OpenAccOptions(FrameworkOptions):
    """Options of an OpenACC application; ``version`` is the compiler's."""

    compiler: Name | None = None
    """``nvhpc``, ``pgi``, ``cray``, ``gcc``."""
    number_of_acc: Number | None = None
    """Accelerators per node."""


@dataclass(frozen=True)
class OpenAcc(ParallelBase):
    """An application with OpenACC directives."""

    name: str = "openacc"
    options: type[FrameworkOptions] = OpenAccOptions
