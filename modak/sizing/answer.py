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
    """In ``unit``; left out: nothing is known."""
    lower: float | None = None
    """In ``unit``."""
    upper: float | None = None
    """In ``unit``."""
    level: float = 0.9
    """Probability that the interval holds the right one."""
    unit: str
    """Of ``value``, ``lower`` and ``upper``."""
    basis: FigureBasis = "none"
    """What it rests on."""
    why: str
    """What it follows from, in one line, with its source where that is a publication."""


class Asked(Document):
    """Something that a sizing has to know: what the request says of it, or that it says nothing."""

    name: str
    """What it is about."""
    question: str
    """The question."""
    field: str
    """Dotted path of the field of the request that answers it."""
    said: str | None = None
    """What the request says."""


class Network(Document):
    """The interconnect that so many nodes need, and what the system has."""

    needed: str
    """What so many nodes need."""
    has: str | None = None
    """The system's interconnect."""
    enough: bool | None = None
    """``None``: the system's is unknown, or there is only one node."""
    basis: FigureBasis = "published"
    """What the need rests on."""
    why: str
    """What it follows from."""


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
    """What the figures follow from, a line each."""


class Platform(Document):
    """What the goal needs of one partition of one system."""

    system: str
    """Name of the system."""
    partition: str
    """Its partition."""
    kind: Literal["production", "reference"]
    """``reference``: a configuration that can be bought."""
    title: str
    """The system's title."""
    cooling: Literal["air", "water"] | None = None
    """What its nodes are cooled with."""
    condition: str | None = None
    """When a reference configuration is meant."""
    feasible: bool | None = None
    """Whether the goal is met with the confidence asked for; ``None``: nothing is known of the time."""
    nodes: Figure
    """The fewest that meet the goal."""
    at_nodes: int | None = None
    """The nodes that all other figures are for: those; where the goal is out of reach, the fastest number."""
    gpus: Figure | None = None
    accelerator: str | None = None
    """The GPU."""
    layout: str | None = None
    """Ranks and threads of a node."""
    time: Figure
    node_hours: Figure
    network: Network | None = None
    storage: Storage
    notes: tuple[str, ...] = ()
    """What else to know, a line each."""


class Sizing(Document):
    """All platforms, those that meet the goal first; what was asked of the request; and what no formula determines."""

    goal: str
    """What was asked for."""
    asked: tuple[Asked, ...]
    platforms: tuple[Platform, ...]
    cautions: tuple[str, ...]
    """What no formula determines."""
    sources: tuple[str, ...]
    """Citations."""
    warnings: tuple[Notice, ...] = ()
