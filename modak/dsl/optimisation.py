"""What MODAK has to decide: objective, framework and its switches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field, SerializeAsAny

from modak.dsl.document import Amount, Count, Document, Fraction, Seconds
from modak.dsl.tuning import Autotuning
from modak.dsl.work import Config, Data, Workload
from modak.text.grammar import Name, VersionRange

Switch = bool | Literal["auto"]
"""A compiler switch: on, off, or what the evidence says."""
Minimise = Literal["time", "node_hours", "energy", "cost"]
"""A quantity to minimise."""
LEARNING: Final = ("ai_training", "ai_inference")
"""Kinds of applications whose distribution gives each rank a GPU of its own."""


class OptBuild(Document):
    """The hardware that the image has to support."""

    cpu_type: Literal["x86", "arm", "power", "amd"] | None = None
    """The processor."""
    acc_type: Literal["nvidia", "amd", "intel", "fpga", "none"] | None = None
    """The accelerator."""


class Objective(Document):
    """What to minimise, and under which constraints."""

    minimise: Minimise | None = None
    """The quantity to minimise. Default: ``node_hours`` with a deadline, otherwise ``time``."""
    deadline: Seconds | None = None
    max_nodes: Count | None = None
    """Upper limit for the number of nodes."""
    min_efficiency: Fraction | None = None
    """Lower limit for the parallel efficiency, above 0 and at most 1."""
    budget_node_hours: Amount | None = None
    """Upper limit for node-hours."""
    confidence: Annotated[float, Field(ge=0.5, lt=1, allow_inf_nan=False)] = 0.9
    """One-sided: P(time <= deadline) >= confidence."""

    @property
    def constrained(self) -> bool:
        """Whether it states any limit."""
        return any(limit is not None for limit in (self.deadline, self.max_nodes, self.min_efficiency, self.budget_node_hours))


class FrameworkOptions(Document):
    """Options that every framework has."""

    version: VersionRange | None = None
    """That version (``2.1`` is not 2.10 or 2.1.1), ``2.1.*``, or a range: ``>=1.14,<2``."""

    def value_of(self, name: str) -> Any:
        """The value of an option; ``None``: not given, or not an option of this framework (where ``getattr`` would take long)."""
        return self.__dict__.get(name)

    def unused(self) -> Mapping[str, str]:
        """Options that are given and have no effect, each with the reason and what to give instead."""
        return {}


class Optimisation(Document):
    """What MODAK has to decide, and what it needs to know about the application."""

    enable_opt_build: Switch = False
    """Whether to use an image built from source; ``auto``: if results show that it helps."""
    enable_autotuning: bool = False
    """Whether the answer says what a tuner would change."""
    app_type: Literal["ai_training", "ai_inference", "hpc", "big_data"] | None = None
    """The kind of application; decides which section is read."""
    opt_build: OptBuild = OptBuild()
    autotuning: Autotuning | None = None
    config: Config = Config()
    data: Data | None = None
    framework: Name | None = None
    """Name of the framework plug-in; written as the key of the chosen section."""
    options: SerializeAsAny[FrameworkOptions] = FrameworkOptions()
    """The framework plug-in's own options."""
    written: Mapping[Name, str] = Field(default={}, exclude=True)
    """The paths of the options in the document that was sent, by plug-in."""
    further: Mapping[Name, SerializeAsAny[FrameworkOptions]] = {}
    """Options of what stands beside the framework, by plug-in: OpenMP in an MPI application."""
    objective: Objective = Objective()
    workload: Workload = Workload()
