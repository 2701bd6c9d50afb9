"""What is the same on every node of a run: ranks, threads and GPUs, and the software that they run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from modak.facts import Layout

Params = tuple[tuple[str, str], ...]
"""Names and values of parameters, in the order of the names."""
Origin = Literal["evidence", "assumed", "raised", "fuller", "request", "topology", "plan"]
"""Where a shape comes from.

- ``evidence``: it was measured.
- ``assumed``: it was measured, but the results do not give its ranks per node: the counts follow from a rule of thumb.
- ``raised``: it was measured with fewer ranks than GPUs, and has a rank for each GPU.
- ``fuller``: it has more GPUs on a node, or up to twice as many ranks or threads, than a series over them was measured with.
- ``request``: the request asks for it.
- ``topology``: it was derived from the node.
- ``plan``: it is proposed for measuring.
"""


@dataclass(frozen=True)
class Shape:
    """What is the same on every node of a candidate, and its software variant."""

    ranks_per_node: int
    threads_per_rank: int
    gpus_per_node: int = 0
    hyperthreads: bool = False
    numa_mode: int | None = None
    mpi: str | None = None
    mpi_from: str | None = None
    compiler: str | None = None
    framework: str | None = None
    """The framework that the request names if it runs on another one and results name it (Keras); else that of the request's images."""
    framework_version: str | None = None
    precision: str | None = None
    batch_size: int | None = None
    params: Params = ()
    """The parameters that the request leaves open, with values that were measured together; empty: unknown."""
    opt_build: bool = False
    """Whether results suggest an image that is built from source for the processor."""
    inferred: tuple[str, ...] = ()
    """Switches that are on because results of other runs suggest it; see :mod:`modak.choosing.switching`."""
    origin: Origin = "topology"

    @property
    def workers_per_node(self) -> int:
        """Ranks, or GPUs if there are any."""
        return self.gpus_per_node or self.ranks_per_node

    def workers(self, nodes: int, ranks: int | None = None) -> int:
        """Ranks, or GPUs if there are any, on so many nodes. ``ranks``: their total in the request; the last node may have fewer."""
        most = nodes * self.workers_per_node
        return min(most, ranks or most) if self.workers_per_node == self.ranks_per_node else most

    def global_batch(self, nodes: int, ranks: int | None = None) -> int | None:
        """Samples in one step over all of these workers; ``None``: unknown."""
        return self.batch_size and self.batch_size * self.workers(nodes, ranks)

    def laid_out_as(self, other: Shape) -> bool:
        """Whether both have the same layout on a node; compiler, precision and image may differ."""
        names = ("ranks_per_node", "threads_per_rank", "gpus_per_node", "hyperthreads", "numa_mode", "mpi", "mpi_from")
        return all(getattr(self, name) == getattr(other, name) for name in names)

    @property
    def layout(self) -> Layout:
        """The shape as a layout without a node count."""
        return Layout(
            ranks_per_node=self.ranks_per_node,
            threads_per_rank=self.threads_per_rank,
            gpus_per_node=self.gpus_per_node,
            batch_size=self.batch_size,
        )

    def cores_per_rank(self, threads_per_core: int) -> int:
        """Physical cores per rank; with hyper-threads fewer than its threads."""
        return math.ceil(self.threads_per_rank / (threads_per_core if self.hyperthreads else 1))
