"""The kinds of nodes in a partition of the scheduler. In MODAK all nodes of a partition are equal, so each kind becomes one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from modak.detected.seen import SeenNode, SeenPartition, plain
from modak.grouping import grouped
from modak.text.amounts import counted

ALIKE: Final = 1.1
"""Nodes whose memory differs by a smaller factor are of one kind: the memory left for jobs varies from node to node."""


@dataclass(frozen=True)
class NodeKind:
    """Nodes of one kind within a partition."""

    name: str
    """What MODAK's partition is called."""
    partition: SeenPartition
    nodes: tuple[SeenNode, ...]
    constraint: str | None = None
    sole: bool = True
    """Whether all nodes of the partition are of this kind."""
    typed: bool = False
    """Whether the nodes have GPUs of other types, too, so that jobs have to name the type."""

    @property
    def node(self) -> SeenNode:
        """The first of them; all have the same cores and GPUs."""
        return self.nodes[0]

    @property
    def label(self) -> str:
        """The name in messages."""
        return f"partition {plain(self.name, 70)}"


def kinds(seen: SeenPartition, nodes: Sequence[SeenNode]) -> tuple[tuple[NodeKind, ...], tuple[str, ...]]:
    """The kinds of nodes, and notes. The largest kind has the partition's name; another kind is left out if no feature selects it, nor a
    request for GPUs, which it alone has."""
    first, *others = sorted(_groups(nodes), key=lambda group: -count(group))
    if not others:
        return (NodeKind(seen.name, seen, first),), ()
    label = f"partition {plain(seen.name, 64)}"
    features = {group: _telling(group, [other for other in (first, *others) if other is not group]) for group in (first, *others)}
    with_gpus = [group for group in (first, *others) if group[0].gpus]
    selected = [(number, group) for number, group in enumerate(others, 2) if features[group] or with_gpus == [group]]
    named = (NodeKind(f"{seen.name}-kind{number}", seen, group, features[group], sole=False) for number, group in selected)
    lost = sum(map(count, others)) - sum(count(group) for _, group in selected)
    notes = [f"{label} has nodes of {len(others) + 1} kinds"]
    notes += [f"{label}: no feature tells the largest kind from the others, a job may land on any"] * (not features[first])
    notes += [f"{label}: {counted(lost, 'node')} of other kinds left out, no feature selects them"] * bool(lost)
    return (NodeKind(seen.name, seen, first, features[first], sole=False), *named), tuple(notes)


def by_gpu(kind: NodeKind) -> tuple[NodeKind, ...]:
    """The kind; for nodes with GPUs of several types one for each type, of which the first keeps the name."""
    types = kind.node.gpus
    if len({one.type for one in types if one.type}) < max(2, len(types)):
        return (kind,)
    names = (kind.name, *(f"{kind.name}-{one.type}" for one in types[1:]))
    alone = ((name, tuple(replace(node, gpus=(gpu,)) for node in kind.nodes)) for name, gpu in zip(names, types, strict=True))
    return tuple(replace(kind, name=name, nodes=nodes, typed=True) for name, nodes in alone)


def _groups(nodes: Sequence[SeenNode]) -> Iterator[tuple[SeenNode, ...]]:
    """Nodes with equal cores and GPUs, split where memory differs by more than :data:`ALIKE`."""
    keyed = grouped(nodes, lambda node: (node.sockets, node.cores, node.threads_per_core, node.cpus, node.gpus))
    for group in keyed.values():
        current: list[SeenNode] = []
        for node in sorted(group, key=_memory):
            if current and _memory(node) > _memory(current[0]) * ALIKE:
                yield tuple(current)
                current = []
            current.append(node)
        yield tuple(current)


def _memory(node: SeenNode) -> float:
    return node.usable_memory_gb or node.memory_gb or 0.0


def _telling(group: Sequence[SeenNode], others: Sequence[Sequence[SeenNode]]) -> str | None:
    """A feature that all nodes of the group have and no other node of the partition has."""
    common = set(group[0].features).intersection(*(node.features for node in group))
    return min(common.difference(*(node.features for other in others for node in other)), default=None)


def count(nodes: Sequence[SeenNode]) -> int:
    """The number of nodes."""
    return sum(node.count for node in nodes)
