"""The cost of leaving one node, and predictions for several nodes if only one was measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from modak.arrays import Array
from modak.perfmodel.fitting.forms import NOISE, WIDE, ModelAverage

STEP: Final = 0.05
"""Expected log cost of leaving one node, before it is measured: between the medians of two public collections (0.014, 0.13)."""
STEP_SPREAD: Final = 0.1
"""Standard deviation of that log cost from program to program."""
OTHER_NODES: Final = 0.05
"""Standard deviation of log cost for each doubling between the nodes in question and those of the results of as many ranks or GPUs: what
leaving one node is expected to cost. Judgement: no public table has the same GPUs on several numbers of nodes."""
NODE_SLOPE: Final = 0.03
"""Expected loss of log work per doubling of nodes, if only one node was measured: the median of all public series."""
FRESH: Final = 0.75
"""Weight of the prediction that losses within a node do not continue beyond it (a new node has its own memory and links), against the
prediction that they do."""
SLOPE_SPREAD: Final = 0.1
"""Standard deviation of the slope of log work between doublings, when the step is told apart from the slope."""


def estimate(sizes: Sequence[float], costs: Sequence[float], nodes: Sequence[int] | None) -> float:
    """Log cost of leaving one node: the expected one if all sizes ran on one node, else estimated together with the slope, by ridge.

    ``z = a + b L + step * [nodes > 1]`` with ``b ~ N(STEP, SLOPE_SPREAD^2)`` and ``step ~ N(STEP, STEP_SPREAD^2)``. Losses that do not grow
    evenly can make it negative, a gain that mostly nobody measured. It is then 0, and the forms alone follow the data, real gains included.
    (For the 11 of 148 public series concerned, the 90th percentile of the errors between sizes is 15 % instead of 22 %.)
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
    return max(float(change[2] + prior[2]), 0.0)


def unlike(apart: Array, nodes: Array, measured: Sequence[int]) -> Array:
    """Standard deviation of log cost on other ``nodes`` than results of as many ranks or GPUs, which are ``apart`` doublings from these.

    ``measured``: the numbers of nodes of a series. If one node is in question, and was not measured, so is the step between nodes.
    """
    step = STEP_SPREAD * ((nodes == 1) & (min(measured) > 1))
    return np.asarray(np.hypot(OTHER_NODES * apart, step))


def multiplied(nodes: Array, step: float, whole: ModelAverage, node: ModelAverage) -> ModelAverage:
    """What the forms tell of several ``nodes [m]`` if only one was measured.

    ``whole``: by the series continued over all workers; ``node``: for one node's share of the workers, which is then divided among the
    nodes.
    """
    several = (nodes > 1).astype(np.float64)
    divided = node.log_cost - np.log(nodes) + NODE_SLOPE * np.log2(nodes) + step * several
    share = FRESH * several
    both = (1 - share) * whole.log_cost + share * divided
    of_whole = whole.disagreement**2 + (whole.log_cost - both) ** 2
    of_node = node.disagreement**2 + (divided - both) ** 2
    variance = (1 - share) * of_whole + share * of_node
    return ModelAverage(both, np.sqrt(variance + (STEP_SPREAD * several) ** 2))
