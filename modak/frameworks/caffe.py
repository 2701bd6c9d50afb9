"""Caffe and its two well-known forks: BVLC's own, Intel's for processors, NVIDIA's for GPUs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from modak.dsl import FrameworkOptions
from modak.frameworks.base import Carrier, Described

_LABELS: Mapping[str, str] = {"bvlc": "caffe", "intel": "intel-caffe", "nvidia": "nvcaffe"}


class CaffeOptions(FrameworkOptions):
    """Options of Caffe."""

    fork: Literal["bvlc", "intel", "nvidia"] = "bvlc"
    distribution: Literal["mlsl", "nccl", "mpi"] | None = None


@dataclass(frozen=True)
class Caffe(Described):
    """Caffe; a fork is a different program with its own versions, so images are labelled by fork."""

    name: str = "caffe"
    title: str = "Caffe"
    options: type[FrameworkOptions] = CaffeOptions
    distributions: tuple[str, ...] = ("mlsl", "nccl", "mpi")

    def carrier(self, options: FrameworkOptions) -> Carrier | None:
        """The fork's images."""
        return Carrier(_LABELS[getattr(options, "fork", "bvlc")], options.version)
