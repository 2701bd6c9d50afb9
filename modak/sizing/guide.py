"""Guidance on sizing from a published source (`benchmarks_db/sizing/`), each figure with a citation."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from modak.facts import Count, Fact, Positive, Prose, Source
from modak.text.grammar import Name


class Ask(Fact):
    """An input of a sizing, and the field of the request that gives it."""

    name: Name
    question: Prose
    field: Annotated[str, Field(pattern=r"^[a-z_.]+$")]


class Caution(Fact):
    """A sentence on what no formula determines, and its section of the source."""

    text: Prose
    section: Prose


class InterconnectClass(Fact):
    """A class of network, and the largest number of nodes that it is viable for; ``None``: any."""

    name: Name
    title: Prose
    least_gbit_s: Positive
    max_nodes: Count | None = None


class StorageSample(Fact):
    """A sample configuration of a shared storage."""

    name: Name
    capacity_tb: Positive
    rack_units: Count


class NodeStorage(Fact):
    """The largest data rate of one node from a shared storage."""

    most_gbs: Positive


class Variant(Fact):
    """How a partition of a reference system is cooled, and under which condition it is offered."""

    system: Name
    partition: Name
    cooling: Literal["air", "water"]
    condition: Prose | None = None


class Guide(Fact):
    """The guidance of one source. Interconnects are in order of their largest cluster, storage in order of capacity."""

    title: Prose
    asks: tuple[Ask, ...]
    cautions: tuple[Caution, ...]
    interconnects: Annotated[tuple[InterconnectClass, ...], Field(min_length=1)]
    storage: Annotated[tuple[StorageSample, ...], Field(min_length=1)]
    node_storage: NodeStorage
    variants: tuple[Variant, ...] = ()
    sources: Annotated[tuple[Source, ...], Field(min_length=1)]

    def interconnect(self, nodes: int) -> InterconnectClass:
        """The first class that is viable for this number of nodes."""
        fitting = (one for one in self.interconnects if one.max_nodes is None or nodes <= one.max_nodes)
        return next(fitting, self.interconnects[-1])

    def sample(self, terabytes: float) -> StorageSample | None:
        """The smallest sample with this capacity; ``None``: the largest is too small."""
        return next((one for one in self.storage if terabytes <= one.capacity_tb), None)

    def variant(self, system: str, partition: str) -> Variant | None:
        """The variant of a partition; ``None``: not mentioned."""
        return next((one for one in self.variants if (one.system, one.partition) == (system, partition)), None)

    def cites(self, section: str) -> str:
        """A reference to a section of the source; the full citations are in ``sources``."""
        return f"{self.title}, section {section}"
