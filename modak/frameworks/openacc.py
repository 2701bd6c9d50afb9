"""OpenACC applications: directives that a compiler turns into accelerator code (callers also write ``opencc``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from modak.dsl import FrameworkOptions
from modak.frameworks.base import Carrier, FrameworkBase, Number
from modak.text.grammar import Name


class OpenAccOptions(FrameworkOptions):
    """Options of an OpenACC application; ``version`` is the compiler's."""

    compiler: Name | None = None
    """``nvhpc``, ``pgi``, ``cray``, ``gcc``."""
    number_of_acc: Number | None = None
    """Accelerators per node."""


@dataclass(frozen=True)
class OpenAcc(FrameworkBase):
    """An application with OpenACC directives."""

    name: str = "openacc"
    title: str = "OpenACC application"
    aliases: tuple[str, ...] = ("opencc",)
    kind: Literal["ai", "parallel", "distribution"] = "parallel"
    options: type[FrameworkOptions] = OpenAccOptions

    def carrier(self, options: FrameworkOptions) -> Carrier | None:
        """None: the application brings its own image, or runs without one."""
        return None
