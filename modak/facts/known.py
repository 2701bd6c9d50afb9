"""All facts together, as the core gets them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from modak.facts.hardware import Accelerator, Processor
from modak.facts.images import Image
from modak.facts.results import DoubtedResults, FailedRuns, Result
from modak.facts.rules import Rule
from modak.facts.systems import System

Known = System | Processor | Accelerator | Image | Rule
"""What can be added to the knowledge, beside results."""


@dataclass(frozen=True)
class Facts:
    """One consistent view of all that is known; ``version`` changes with every change of the data."""

    version: str
    systems: Mapping[str, System] = field(default_factory=dict)
    processors: Mapping[str, Processor] = field(default_factory=dict)
    accelerators: Mapping[str, Accelerator] = field(default_factory=dict)
    images: tuple[Image, ...] = ()
    rules: tuple[Rule, ...] = ()
    models: tuple[Any, ...] = ()
    """Fitted curves (:class:`modak.perfmodel.Curve`) of the application that is asked about."""
    tried: tuple[Result, ...] = ()
    """Results, of any application, that tell what switches do: where one is left to the evidence."""
    doubted: tuple[DoubtedResults, ...] = ()
    """Results of the application that models would use if they were not doubted."""
    failed: tuple[FailedRuns, ...] = ()
    """Failed runs of the application."""
    application: str | None = None
    """What results call the application that is asked about; ``None``: nothing is asked about."""
    similar_application: str | None = None
    """If the application has no results: a measured one with a similar name."""

    @cached_property
    def systems_by_name(self) -> Mapping[str, System]:
        """The systems by their :attr:`~modak.facts.System.folded_names`; of two with the same, the first."""
        return {name: system for system in reversed(tuple(self.systems.values())) for name in system.folded_names}


@dataclass(frozen=True)
class Added:
    """What adding to the knowledge did; true if it changed anything."""

    changed: bool
    notes: tuple[str, ...] = ()
    """Things to know: results that look wrong, or no more, beside a new description of their system; names in rules that nothing has."""

    def __bool__(self) -> bool:
        return self.changed
