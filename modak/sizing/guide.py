"""Statements of a source about sizing, besides its configurations: facts of `benchmarks_db/sizing/`, each figure with a citation."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from modak.facts import Count, Fact, Positive, Prose, Source
from modak.text.grammar import Name


class Ask(Fact):
    """Something that a sizing has to know, and the field of the request that says it."""

    name: Name
    question: Prose
    field: Annotated[str, Field(pattern=r"^[a-z_.]+$")]


class Caution(Fact):
    """A sentence on what no formula determines, and the section of the source that it rests on."""

    text: Prose
    section: Prose


class InterconnectClass(Fact):
    """A class of network, and the largest cluster that it is viable for; ``None``: any."""

    name: Name
    title: Prose
    least_gbit_s: Positive
    max_nodes: Count | None = None


class StorageSample(Fact):
    """A sample of a shared storage."""

    name: Name
    capacity_tb: Positive
    rack_units: Count


class NodeStorage(Fact):
    """What one node gets from a shared storage, at most."""

    most_gbs: Positive


class Variant(Fact):
    """How a partition of a reference system is cooled, and under which condition it is offered."""

    system: Name
    partition: Name
    cooling: Literal["air", "water"]
    condition: Prose | None = None


class Guide(Fact):
    """One source's guidance. Interconnects go from the smallest clusters to the largest, storage from small to large."""

    title: Prose
    asks: tuple[Ask, ...]
    cautions: tuple[Caution, ...]
    interconnects: Annotated[tuple[InterconnectClass, ...], Field(min_length=1)]
    storage: Annotated[tuple[StorageSample, ...], Field(min_length=1)]
    node_storage: NodeStorage
    variants: tuple[Variant, ...] = ()
    sources: Annotated[tuple[Source, ...], Field(min_length=1)]

    def interconnect(self, nodes: int) -> InterconnectClass:
        """The least class that is viable for so many nodes."""
        fitting = (one for one in self.interconnects if one.max_nodes is None or nodes <= one.max_nodes)
        return next(fitting, self.interconnects[-1])

    def sample(self, terabytes: float) -> StorageSample | None:
        """The smallest sample that holds so much; ``None``: it is more than the largest."""
        return next((one for one in self.storage if terabytes <= one.capacity_tb), None)

    def variant(self, system: str, partition: str) -> Variant | None:
        """What is said of a partition."""
        return next((one for one in self.variants if (one.system, one.partition) == (system, partition)), None)

    def cites(self, section: str) -> str:
        """A reference to one of the source's sections; the citations in full are in ``sources``."""
        return f"{self.title}, section {section}"
