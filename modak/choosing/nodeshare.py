"""The part of a node that a job takes, and is charged for, where jobs share nodes: the largest of its parts of cores, GPUs and memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from modak import plugins
from modak.arrays import Array
from modak.choosing.memory import cores_of_rank, given_gb, needed_gb
from modak.choosing.shapes import Shape
from modak.dsl import Request
from modak.target import Target
from modak.text.amounts import format_number


class NodeShare(NamedTuple):
    """So many of the cores of a node, of its GPUs, or of its memory."""

    taken: float
    of: float
    what: str

    @property
    def share(self) -> float:
        """As a fraction of the node."""
        return min(1.0, self.taken / self.of)

    def __str__(self) -> str:
        return f"{format_number(self.taken)} of {format_number(self.of)} {self.what}"


def largest_node_share(request: Request, target: Target, shape: Shape, nodes: int) -> NodeShare | None:
    """What a job on so many nodes takes most of on each of them, as its script asks for it; ``None``: it gets whole nodes, or what a node
    has is unknown. Whether other jobs may have the rest, :attr:`modak.target.Target.shares_nodes` says.
    """
    node, options = target.whole_node, request.job_options
    alone = options.node_exclusive and plugins.find("schedulers", target.scheduler).exclusive
    if node is None or alone or not target.is_recorded or target.gives_whole_nodes or target.asks_for_whole_nodes:
        return None
    cores = min(shape.ranks_per_node * cores_of_rank(request, target, shape), node.usable_cores)
    memory = _memory_gb(request, target, shape.ranks_per_node, cores, nodes)
    parts = (
        NodeShare(shape.gpus_per_node, node.accelerators, "GPUs"),
        NodeShare(cores, node.usable_cores, "cores"),
        NodeShare(memory, node.job_memory_gb or 0.0, "GB of memory"),
    )
    largest = max((one for one in parts if one.of), key=lambda one: one.share)
    return largest if largest.share < 1 else None


def _memory_gb(request: Request, target: Target, ranks: int, cores: int, nodes: int) -> float:
    """The memory of a node that a job gets: what the request states, else what the scheduler gives or, if that is more, the job needs; 0:
    the part of its cores, or not known."""
    options, own = request.job_options, target.partition.resource_directives if target.partition else ()
    scheduler = plugins.find("schedulers", target.scheduler)
    if not scheduler.memory or (own and not any("{memory" in text for text in own)):
        return 0.0
    of_node = nodes == 1 or bool(own) or scheduler.memory_of_several  # otherwise the script cannot ask for memory of each node
    if asked := max((options.memory_limit or 0) if of_node else 0, (options.minimum_memory_per_processor or 0) * cores):
        return asked / 1e9
    usable, needed = target.whole_node.usable_memory_gb if target.whole_node else None, needed_gb(request, ranks)
    given = needed if own else given_gb(target, cores)
    if not of_node:
        return min(usable, given) if usable else 0.0
    queue = None if own else target.limits_for(1, None)  # the site's own options ask for the part of the cores
    if (limit := queue.memory_of_node_gb() if queue else None) and not given:
        return min(limit, usable or limit)  # as the script asks for then
    return min(usable, max(given, needed)) if usable and given else 0.0


def node_shares(request: Request, target: Target, shapes: Iterable[Shape]) -> Array | None:
    """The fraction of a node that a job of each shape is charged for, on one node and, in a second row, on several; ``None``: all of it,
    because jobs do not share nodes there, as far as is known."""
    if not target.shares_nodes:
        return None
    rows = [[largest_node_share(request, target, shape, nodes) for nodes in (1, 2)] for shape in shapes]
    return np.array([[1.0 if part is None else part.share for part in row] for row in rows]).T
