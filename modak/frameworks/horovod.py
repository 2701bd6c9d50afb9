"""Horovod: a layer that distributes another framework's training over MPI ranks (or GPUs, with NCCL)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from modak.dsl import FrameworkOptions, Switch
from modak.frameworks.base import Carrier, Compiler, Framework, Kind
from modak.text.grammar import VersionRange


class HorovodOptions(FrameworkOptions):
    """Options of Horovod; ``version`` is Horovod's, ``framework_version`` that of the framework below."""

    framework: Literal["tensorflow", "keras", "pytorch", "mxnet"] = "tensorflow"
    framework_version: VersionRange | None = None
    xla: Switch | None = None
    fusion_threshold: Annotated[int, Field(ge=0, le=2**34)] | None = None
    """Bytes that are gathered before one all-reduce; 0 switches fusion off."""
    cycle_time: Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)] | None = None
    """Milliseconds between two all-reduces."""


@dataclass(frozen=True)
class Horovod(Framework):
    """Horovod over TensorFlow, Keras, PyTorch or MXNet."""

    name: str = "horovod"
    kind: Kind = "distribution"
    options: type[FrameworkOptions] = HorovodOptions
    compilers: tuple[Compiler, ...] = (Compiler("xla", "xla"),)

    def carrier(self, options: FrameworkOptions) -> Carrier | None:
        """Images of the framework below, which must carry the label ``horovod``."""
        framework = options.value_of("framework") or "tensorflow"
        return Carrier("tensorflow" if framework == "keras" else framework, options.value_of("framework_version"))

    def environment(self, options: FrameworkOptions) -> Mapping[str, str]:
        """``HOROVOD_FUSION_THRESHOLD`` (bytes) and ``HOROVOD_CYCLE_TIME`` (milliseconds), where they are asked for."""
        threshold, cycle = options.value_of("fusion_threshold"), options.value_of("cycle_time")
        fusion = {} if threshold is None else {"HOROVOD_FUSION_THRESHOLD": str(threshold)}
        return fusion if cycle is None else fusion | {"HOROVOD_CYCLE_TIME": f"{cycle:g}"}
