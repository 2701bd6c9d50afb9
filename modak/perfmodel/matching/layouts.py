"""Layouts of a run on its nodes, and how far one is from another."""

from __future__ import annotations

import math
from typing import Final

from modak.facts import Layout

COUNTS: Final = ("ranks_per_node", "threads_per_rank", "gpus_per_node", "batch_size")
"""The counts that make a layout within a node."""


def distance(one: Layout, other: Layout) -> float:
    """Sum of the doublings between two layouts, over the counts that both give. No GPUs are one doubling below one GPU.

    >>> distance(Layout(ranks_per_node=4, threads_per_rank=12), Layout(ranks_per_node=2, threads_per_rank=24))
    2.0
    """
    return sum(abs(log_ratio(one, other, name)) for name in COUNTS) / math.log(2)


def unasked(asked: Layout, there: Layout) -> bool:
    """Whether a measured layout states its ranks or threads where the one in question leaves them open."""
    return any(getattr(asked, name) is None and getattr(there, name) is not None for name in COUNTS[:2])


def log_ratio(one: Layout, other: Layout, name: str) -> float:
    """Of a count of the other layout to that of the first; 0 if one of them does not give it. No GPUs are half a GPU."""
    counts = getattr(one, name), getattr(other, name)
    return 0.0 if None in counts else math.log(max(counts[1], 0.5) / max(counts[0], 0.5))


def even_share(asked: Layout, there: Layout) -> float:
    """Log of the ranks times threads of a layout over those in question; what is unknown counts as one."""
    return math.log(math.prod((getattr(there, name) or 1) / (getattr(asked, name) or 1) for name in COUNTS[:2]))
