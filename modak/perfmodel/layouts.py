"""Predict an unmeasured layout from measured layouts of the same application.

The cost of a layout, beyond an even share of the work among its workers, varies smoothly with the logs of ranks, threads and GPUs per
node and of the batch size. It is predicted by ordinary kriging (Cressie 1993, section 3.2) from the costs of the measured layouts, with a
linear trend in each of these logs that ridge keeps small: the nearer the measured layouts are, the narrower the interval.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from modak.facts import Layout
from modak.perfmodel.forms import Array

SPREAD: Final = 0.6
"""Standard deviation of log cost among the layouts of an application: the 3DGAN tables differ by factors of 1.6 to 4.2. Judgement."""
REACH: Final = 3.0
"""Doublings of a count over which layouts become unlike (their correlation falls to 1/e). Judgement, in want of public tables."""
TREND: Final = 0.2
"""Standard deviation of the slope of log cost beyond an even share, per doubling of a count, all else equal: as much as is expected of the
batch size (:data:`~modak.perfmodel.matching.BATCH_SPREAD`). Layouts that show a trend are continued along it. Judgement. On GPUs the
threads of a rank follow none: they feed the GPU, which does the work."""
COUNTS: Final = ("ranks_per_node", "threads_per_rank", "gpus_per_node", "batch_size")
"""The counts that make a layout within a node."""


def steps(one: Layout, other: Layout) -> list[float]:
    """The doublings from one layout to another of each of :data:`COUNTS`; 0 where one of them does not give it. No GPUs are one doubling
    below one GPU."""
    pairs = [(getattr(one, name), getattr(other, name)) for name in COUNTS]
    return [0.0 if a is None or b is None else float(np.log2(max(b, 0.5) / max(a, 0.5))) for a, b in pairs]


def distance(one: Layout, other: Layout) -> float:
    """Sum of the doublings between two layouts, over the counts that both give.

    >>> distance(Layout(ranks_per_node=4, threads_per_rank=12), Layout(ranks_per_node=2, threads_per_rank=24))
    2.0
    """
    return sum(map(abs, steps(one, other)))


def between(away: Array, mutual: Array, log_costs: Array, spreads: Array, *, on_gpus: bool = False) -> tuple[Array, Array]:
    """Log cost of an unmeasured layout and its standard deviation, both ``[n]``, at each of ``n`` sizes.

    ``away [k, count]``: the :func:`steps` from it to the measured layouts; ``mutual [k, k]``: their distances to each other; ``log_costs
    [k, n]`` and ``spreads [k, n]`` (standard deviations): its cost by each of them, if work is shared evenly among workers.
    """
    near = SPREAD**2 * np.exp(-np.abs(away).sum(axis=1) / REACH)
    trend = TREND * away * [name != "threads_per_rank" or not on_gpus for name in COUNTS]
    similarity = SPREAD**2 * np.exp(-mutual / REACH) + trend @ trend.T
    noise = spreads.T[:, :, None] ** 2 * np.eye(len(away))
    solved = np.linalg.solve(similarity + noise + 1e-9 * np.eye(len(away)), np.column_stack([near, np.ones(len(away))]))
    missing, total = 1 - solved[:, :, 0].sum(axis=1), solved[:, :, 1].sum(axis=1)
    weights = solved[:, :, 0] + solved[:, :, 1] * (missing / total)[:, None]
    variance = SPREAD**2 - solved[:, :, 0] @ near + missing**2 / total
    return (weights.T * log_costs).sum(axis=0), np.sqrt(np.maximum(variance, 0.0))
