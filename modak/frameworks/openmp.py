"""OpenMP applications: threads within a rank."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from modak.dsl import FrameworkOptions
from modak.frameworks.base import NOTHING, Number, Parallel
from modak.text.grammar import Name

_BINDING: Final[Mapping[str, str]] = {
    "block": "close",
    "compact": "close",
    "close": "close",
    "simple": "spread",
    "scatter": "spread",
    "spread": "spread",
    "primary": "primary",
    "master": "master",
    "true": "true",
    "false": "false",
    "none": "false",
}


class OpenMpOptions(FrameworkOptions):
    """Options of an OpenMP application; ``version`` is that of the OpenMP specification."""

    number_of_threads: Number | None = None
    """Threads per rank."""
    affinity: Name | None = None
    """``block`` or ``compact`` (neighbouring cores), ``simple`` or ``scatter`` (spread out), or OpenMP's own words."""

    def unused(self) -> Mapping[str, str]:
        """An affinity in a word that is not known."""
        why = f"has no effect: {self.affinity} is unknown; known: {', '.join(_BINDING)}"
        return {"affinity": why} if self.affinity and self.affinity.lower() not in _BINDING else {}


@dataclass(frozen=True)
class OpenMp(Parallel):
    """An application with OpenMP threads."""

    name: str = "openmp"
    options: type[FrameworkOptions] = OpenMpOptions

    def environment(self, options: FrameworkOptions) -> Mapping[str, str]:
        """``OMP_PROC_BIND`` for a known affinity; an unknown word asks for nothing."""
        affinity = options.value_of("affinity")
        binding = _BINDING.get(affinity.lower()) if affinity else None
        return {"OMP_PROC_BIND": binding} if binding else NOTHING
