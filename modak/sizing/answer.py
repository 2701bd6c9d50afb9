"""The answer of a sizing: figures that never stand without unit, interval and basis."""

from __future__ import annotations

from typing import Literal

from modak.dsl import Basis, Document, Notice

FigureBasis = Basis | Literal["given", "published"]
"""``given``: the request says so; ``published``: the cited source does; others as of a prediction."""


class Figure(Document):
    """One number. ``lower`` to ``upper`` holds the right one with probability ``level``; equal ends: it is no estimate.

    ``upper`` ``None`` beside a value: more than the system has.
    """

    value: float | None = None
    lower: float | None = None
    upper: float | None = None
    level: float = 0.9
    unit: str
    basis: FigureBasis = "none"
    why: str
    """What it follows from, in one line, with its source where that is a publication."""


class Asked(Document):
    """Something that a sizing has to know: what the request says of it, or that it says nothing."""

    name: str
    question: str
    field: str
    said: str | None = None


class Network(Document):
    """The interconnect that so many nodes need, and what the system has."""

    needed: str
    has: str | None = None
    enough: bool | None = None
    """``None``: the system's is unknown, or there is only one node."""
    basis: FigureBasis = "published"
    why: str


class Storage(Document):
    """Room and rate for the data set, against what the system has."""

    capacity: Figure
    rate: Figure
    """From the shared storage into all nodes together, where every byte is read once an epoch."""
    rate_per_node: Figure
    sample: str | None = None
    """The smallest sample storage that holds the data set."""
    enough: bool | None = None
    """Whether the system's storage has the room, and the rate where that is known; ``None``: unknown."""
    why: tuple[str, ...] = ()


class Platform(Document):
    """What the goal needs of one partition of one system."""

    system: str
    partition: str
    kind: Literal["production", "reference"]
    title: str
    cooling: Literal["air", "water"] | None = None
    condition: str | None = None
    feasible: bool | None = None
    """Whether the goal is met with the confidence asked for; ``None``: nothing is known of the time."""
    nodes: Figure
    """The fewest that meet the goal."""
    at_nodes: int | None = None
    """The nodes that all other figures are for: those; where the goal is out of reach, the fastest number."""
    gpus: Figure | None = None
    accelerator: str | None = None
    layout: str | None = None
    time: Figure
    node_hours: Figure
    network: Network | None = None
    storage: Storage
    notes: tuple[str, ...] = ()


class Sizing(Document):
    """All platforms, those that meet the goal first; what was asked of the request; and what no formula determines."""

    goal: str
    asked: tuple[Asked, ...]
    platforms: tuple[Platform, ...]
    cautions: tuple[str, ...]
    sources: tuple[str, ...]
    warnings: tuple[Notice, ...] = ()
