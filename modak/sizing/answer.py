"""The answer of a sizing. Every figure has a unit, an interval and a basis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from modak.dsl import Basis, Document, Notice

FigureBasis = Basis | Literal["given", "published"]
"""``given``: from the request; ``published``: from the cited source; others as for predictions."""


class Figure(Document):
    """One number. The interval ``lower`` to ``upper`` contains the true one with probability ``level``; equal ends: it is not an estimate.

    A value without ``upper``: the upper end is more than a job there can have.
    """

    value: float | None = None
    """In ``unit``; left out: unknown."""
    lower: float | None = None
    """In ``unit``."""
    upper: float | None = None
    """In ``unit``."""
    level: float = 0.9
    """Probability that the interval contains the true value."""
    unit: str
    """Of ``value``, ``lower`` and ``upper``."""
    basis: FigureBasis = "none"
    """Basis of the value."""
    why: str
    """How it was derived, in one line, with its source if that is a publication."""

    def mapped(self, change: Callable[[float], float], unit: str, why: str) -> Figure:
        """The figure that follows from this one, where larger values give larger ones."""
        ends = {name: None if (end := getattr(self, name)) is None else change(end) for name in ("value", "lower", "upper")}
        return self.model_copy(update={**ends, "unit": unit, "why": why})


class Asked(Document):
    """An input of a sizing, and its value in the request."""

    name: str
    """Name of the input."""
    question: str
    """The question."""
    field: str
    """Dotted path of the field of the request that answers it."""
    said: str | None = None
    """The request's value; left out: not given."""


class Network(Document):
    """The interconnect that this number of nodes needs, and that of the system."""

    needed: str
    """The class of interconnect that is needed."""
    has: str | None = None
    """The system's interconnect."""
    enough: bool | None = None
    """Whether the system's is sufficient; left out: unknown, or only one node."""
    basis: FigureBasis = "published"
    """Basis of the need."""
    why: str
    """How the need was derived."""


class Storage(Document):
    """Capacity and data rate that the data set needs, compared with the system's."""

    capacity: Figure
    rate: Figure
    """From the shared storage into all nodes together, if every byte is read once per epoch."""
    rate_per_node: Figure
    sample: str | None = None
    """The smallest sample storage that holds the data set."""
    enough: bool | None = None
    """Whether the system's storage has the capacity, and the rate if that is known; left out: unknown."""
    why: tuple[str, ...] = ()
    """How the figures were derived, a line each."""


class Platform(Document):
    """The resources of one partition of one system that the goal needs."""

    system: str
    """Name of the system."""
    partition: str
    """Its partition."""
    kind: Literal["production", "reference"]
    """``reference``: a configuration that can be bought."""
    title: str
    """The system's title."""
    cooling: Literal["air", "water"] | None = None
    """Cooling of its nodes."""
    condition: str | None = None
    """The condition under which a reference configuration is offered."""
    feasible: bool | None = None
    """Whether the goal is met with the requested confidence; left out: the time is unknown."""
    nodes: Figure
    """The smallest number that meets the goal."""
    at_nodes: int | None = None
    """The number of nodes of all other figures: the smallest that meets the goal, or the fastest one if the goal is out of reach."""
    gpus: Figure | None = None
    idle_gpus_per_node: int | None = None
    """GPUs of each node that the run does not use; left out: it uses all."""
    accelerator: str | None = None
    """Model of the GPU."""
    layout: str | None = None
    """Ranks per node and threads per rank; GPUs in use, compiler and precision, as far as they are known."""
    time: Figure
    node_hours: Figure
    network: Network | None = None
    storage: Storage
    notes: tuple[str, ...] = ()
    """Notes, a line each."""


class Sizing(Document):
    """All platforms, those that meet the goal first; the inputs; and what no formula determines."""

    goal: str
    """The goal in one line."""
    asked: tuple[Asked, ...]
    platforms: tuple[Platform, ...]
    cautions: tuple[str, ...]
    """What no formula determines."""
    sources: tuple[str, ...]
    """Citations."""
    warnings: tuple[Notice, ...] = ()
