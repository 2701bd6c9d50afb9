"""A system that tests make up."""

from __future__ import annotations

from typing import Any

from modak.facts import Node, Partition, Source, System


def site(node: Node, nodes: int = 4, **fields: Any) -> System:
    """A system of one partition, ``main``, with so many of these nodes."""
    named = {"name": "site", "title": "a site", "site": "somewhere", "scheduler": "slurm"}
    sources = (Source(fields=("*",), citation="made for these tests"),)
    return System(**named | {"partitions": (Partition(name="main", nodes=nodes, node=node),), "sources": sources} | fields)
