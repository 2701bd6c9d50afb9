"""How cost varies over layouts: what is known of it before any was measured.

The cost of a layout, beyond an even share of the work among its workers, varies smoothly with the logs of ranks, threads and GPUs per
node, of the batch size, and of ranks times threads: more workers gain less each, and beyond the cores nothing
(:mod:`modak.perfmodel.laws.kriging`). The constants are from public tables of several layouts of a program (decision 98).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from modak.arrays import Array, Ints
from modak.facts import Layout
from modak.perfmodel.laws.kriging import REPEAT, UNLIKE, Slope, krige, random_walk_covariances
from modak.perfmodel.matching.layouts import COUNTS, log_ratio

EITHER: Final = Slope.everywhere((0.0, 0.3))
"""The slope of ranks, and that of threads, of log cost beyond an even share, where their product is the same. This and the others below are
from public tables of several layouts of a program."""
WORKERS: Final = Slope(above=(0.7, 0.4), below=(0.2, 0.4), between=(0.5, 0.4))
"""That of ranks times threads: more than were measured hardly help, fewer cost nearly their share."""
EITHER_ON_GPUS: Final = Slope.everywhere((0.0, 0.15), bend=0.3)
WORKERS_ON_GPUS: Final = Slope(above=(-0.1, 0.2), below=(-0.2, 0.2), between=(-0.1, 0.2), bend=0.3)
"""Both where GPUs do the work, which is shared among these alone: ranks and threads feed them."""
GPUS: Final = Slope(above=(0.15, 0.2), below=(0.1, 0.2), between=(0.15, 0.2))
"""That of GPUs: more of them lose a little of an even share."""
BATCH: Final = Slope(above=(0.0, 0.4), below=(-0.5, 0.4), between=(-0.2, 0.4))
"""That of the batch size, of the cost of a sample: a GPU that is full gains nothing by a larger one."""
SMOOTHNESS: Final = np.array(
    [
        (0.05, 0.02, 0.04),
        (0.15, 0.02, 0.40),
        (0.4, 0.02, 0.26),
        (0.4, 0.06, 0.08),
        (0.4, 0.2, 0.12),
        (0.4, 0.5, 0.07),
        (1.0, 0.06, 0.03),
    ]
)
"""How smooth costs are over layouts (:func:`modak.perfmodel.laws.kriging.krige`): around the trend are caches, sockets, and counts that
divide the work badly."""
RATIO: Final = 0.25
"""Standard deviation of the slope of the log ratio of two systems, programs or problems over the log of a count, and of its change around
that between layouts of which a count differs by a factor of e (which grows with the square root of the distance). For what is more alike
than :data:`ALIKE` both are less, in proportion. From public tables of several systems, programs or problems in the same layouts."""
ALIKE: Final = 0.5
"""Standard deviation of the log ratio of two programs, and of others that are about as unlike. Judgement: no table tells how much less
images or versions of a program drift."""
LOSS: Final = 1.4
"""Half-width of the interval towards higher costs, over that of equal sides, :func:`beyond` the measured layouts; towards lower costs it is
:data:`modak.perfmodel.intervals.GAIN`. The last cores of a node and their hyper-threads lose more than they ever gain, and nothing shows
it before they are used: of such runs in public tables 18 % were slower than an interval with equal sides, and 1 % faster."""


def count_ratios(asked: Layout, there: Layout, hyperthreads: tuple[bool, bool] = (False, False)) -> list[float]:
    """Log ratios of the counts of a measured layout to those of the one in question: of each of :data:`COUNTS`, and of ranks times threads;
    0 where one of them does not give it, and between GPUs and none. Of ranks times threads also if one of them gives either alone: then
    nothing is known of a share. ``hyperthreads``: whether each of them uses two threads of a core, which count as one."""
    ratios = {name: log_ratio(asked, there, name) for name in COUNTS}
    ratios["threads_per_rank"] += math.log(2) * (hyperthreads[0] - hyperthreads[1])
    if not (asked.gpus_per_node and there.gpus_per_node):
        ratios["gpus_per_node"] = 0.0
    told = all((getattr(asked, name) is None) == (getattr(there, name) is None) for name in COUNTS[:2])
    return [*ratios.values(), ratios["ranks_per_node"] + ratios["threads_per_rank"] if told else 0.0]


def beyond(away: Array) -> bool:
    """Whether the layout in question has more ranks times threads than all of several measured ones, by their :func:`count_ratios`
    ``[k, 5]``."""
    workers = away[:, -1]
    return bool((workers < 0).all() and np.ptp(workers))


def krige_layout(
    away: Array, log_costs: Array, spreads: Array, ratios: Sequence[tuple[float, Array]] = (), *, on_gpus: bool = False
) -> tuple[Array, Array]:
    """Log cost of an unmeasured layout and its standard deviation, both ``[n]``, at each of ``n`` sizes.

    ``away [k, 5]``: the :func:`count_ratios` of ``k`` measured layouts; ``log_costs [k, n]`` and ``spreads [k, n]`` (standard
    deviations): the cost in question by each of them, if work is shared evenly among workers. ``ratios``: see :func:`ratios_of`; none: all
    costs are of the configuration in question.
    """
    either, workers = (EITHER_ON_GPUS, WORKERS_ON_GPUS) if on_gpus else (EITHER, WORKERS)
    slopes = [_known(slope, column) for slope, column in zip((either, either, GPUS, BATCH, workers), away.T, strict=True)]
    return krige(away, log_costs, np.hypot(spreads, REPEAT), slopes, SMOOTHNESS, ratios)


def ratios_of(away: Array, kind: Ints, unlike: Array) -> list[tuple[float, Array]]:
    """Possible covariances ``[k, k]`` of the log ratios of costs to those of the configuration in question, with their probabilities.

    ``away``: see :func:`krige_layout`; ``kind [k]``: 0 for results of the configuration in question, 1, 2, … for those of others, of which
    ``unlike [k]`` are the standard deviations of the ratios. What sets the configuration in question apart from all others is half of the
    covariance: it is the same for all of these.
    """
    others = np.where(np.equal.outer(kind, kind), 1.0, 0.5) * np.outer(kind > 0, kind > 0)
    counts = away[:, : len(COUNTS)]
    drifts = counts @ counts.T + random_walk_covariances(counts)
    return [(share, others * _ratio_of(factor * unlike, drifts)) for factor, share in UNLIKE]


def _ratio_of(unlike: Array, drifts: Array) -> Array:
    """Covariances ``[k, k]`` of log ratios, of which ``unlike [k]`` are the standard deviations; ``drifts``: if all drift by one."""
    drift = RATIO * np.minimum(unlike / ALIKE, 1.0)
    return np.asarray(np.outer(unlike, unlike) + np.outer(drift, drift) * drifts)


def _known(slope: Slope, away: Array) -> Slope:
    """The slope of a number that ``away`` is from: one measured value alone is no end of a range, beyond which other slopes hold."""
    return slope if np.ptp(away) else slope._replace(above=slope.between, below=slope.between)
