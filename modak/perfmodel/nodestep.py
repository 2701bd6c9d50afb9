"""The step from one node to several, and predictions for several nodes if only one was measured."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from modak.perfmodel.forms import NOISE, WIDE, Array

STEP = 0.05
"""Log of the cost of leaving one node, before it has been measured: between the medians of two public collections (0.014, 0.13)."""
STEP_SPREAD = 0.1
"""Standard deviation of that log cost from program to program."""
NODE_SLOPE = 0.03
"""Log work that is lost with each doubling of nodes, before more than one has been measured: the median of all public series."""
FRESH = 0.75
"""How much that is believed, rather than that what a node's workers lose among themselves goes on beyond it: a new node brings its own
memory and links."""
SLOPE_SPREAD = 0.1
"""Standard deviation of the slope of log work between doublings, when the step is told apart from the slope."""


def estimate(sizes: Sequence[float], costs: Sequence[float], nodes: Sequence[int] | None) -> float:
    """Log cost of leaving one node: expected where all ran on one, told apart from the slope by ridge where some did not.

    ``z = a + b L + step * [nodes > 1]`` with ``b ~ N(STEP, SLOPE_SPREAD^2)`` and ``step ~ N(STEP, STEP_SPREAD^2)``.
    """
    if nodes is None or min(nodes) > 1:
        return 0.0
    p = np.array(sizes)
    several = np.array([count > 1 for count in nodes], dtype=np.float64)
    if not several.any():
        return STEP
    if (several == (p > p[0])).all():
        return 0.0  # one size is one node: a node count, not a layout within a node
    doublings = np.log2(p)
    design = np.column_stack([np.ones_like(doublings), doublings - doublings.mean(), several])
    prior = np.array([0.0, STEP, STEP])
    precision = np.diag([1 / WIDE, 1 / SLOPE_SPREAD**2, 1 / STEP_SPREAD**2])
    z = np.log(np.array(costs) * p)
    normal = design.T @ design / NOISE**2 + precision
    change = np.linalg.solve(normal, design.T @ (z - design @ prior) / NOISE**2)
    return float(change[2] + prior[2])


def multiplied(nodes: Array, step: float, whole: tuple[Array, Array], node: tuple[Array, Array]) -> tuple[Array, Array]:
    """Log cost and disagreement where only one node was measured: ``whole``, what the series tells of all workers together, and
    ``node``, what it tells of one node's share, which is multiplied. Each is log cost and disagreement at each size."""
    several = (nodes > 1).astype(np.float64)
    (middle, spread), (alone, doubt) = whole, node
    told = alone - np.log(nodes) + NODE_SLOPE * np.log2(nodes) + step * several
    share = FRESH * several
    both = (1 - share) * middle + share * told
    variance = (1 - share) * (spread**2 + (middle - both) ** 2) + share * (doubt**2 + (told - both) ** 2)
    return both, np.sqrt(variance + (STEP_SPREAD * several) ** 2)
