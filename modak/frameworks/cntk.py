"""Microsoft Cognitive Toolkit: finished with 2.7, images remain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from modak.dsl import FrameworkOptions
from modak.frameworks.base import Described


class CntkOptions(FrameworkOptions):
    """Options of CNTK."""

    distribution: Literal["mpi"] | None = None


@dataclass(frozen=True)
class Cntk(Described):
    """CNTK; its data-parallel training is an MPI program."""

    name: str = "cntk"
    title: str = "Microsoft Cognitive Toolkit"
    aliases: tuple[str, ...] = ("microsoft-cognitive-toolkit",)
    options: type[FrameworkOptions] = CntkOptions
    distributions: tuple[str, ...] = ("mpi",)
