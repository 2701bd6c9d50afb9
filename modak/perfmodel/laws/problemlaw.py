"""How cost varies over the size of a problem: what is known of it before any was measured.

Work is nearly a power of the size of a problem, and overheads hide it in small problems: the power changes slowly. So the log of the cost
is a smooth function of the log of each number among the parameters (:mod:`modak.perfmodel.laws.kriging`). The constants are from public
tables of programs over their problem sizes (decision 96).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from modak.arrays import Array, Ints
from modak.perfmodel.laws.kriging import Slope, krige, random_walk_covariances

BEYOND: Final = (1.3, 1.5)
"""Mean and standard deviation, before anything is measured, of the power of a number in the cost of a run or a step, at a value above all
measured ones."""
BELOW: Final = (0.0, 0.9)
"""The same at a value below all measured ones, where overheads remain; and in the cost of a sample or an epoch, which hardly depends on the
problem."""
BETWEEN: Final = (1.0, 1.5)
"""The same at or between measured values, where it matters little."""
SMOOTHNESS: Final = np.array(
    [
        (0.05, 0.02, 0.25),
        (0.15, 0.02, 0.18),
        (0.4, 0.02, 0.09),
        (0.4, 0.06, 0.17),
        (0.4, 0.2, 0.25),
        (0.4, 0.5, 0.02),
        (1.0, 0.06, 0.02),
        (1.0, 0.5, 0.02),
    ]
)
"""How smooth costs are over problem sizes (:func:`modak.perfmodel.laws.kriging.krige`): around the law are caches, and sizes that
divide badly."""
INTERACTION: Final = 0.5
"""How much the power of a number changes with each other number, compared with how much it changes with its own: where overheads hide the
work of few rows, they hide that of few columns, too."""
RATIO: Final = 0.1
"""Standard deviation of the change of the log ratio of two layouts, systems or programs between problems whose size differs by a factor of
e; it grows with the square root of the distance, and for what is less alike than :data:`LEAST_RATIO` (processors beside GPUs) in
proportion to that. This and the next one are from public tables of variants of programs (decision 96)."""
RATIO_POWER: Final = 0.05
"""Standard deviation of the power of a number in that ratio, likewise: one algorithm may do less work than another for each row, and more
before the first."""
LEAST_RATIO: Final = 0.5
"""The least standard deviation of the log ratio of results that the question does not tell apart, but that differ in what it leaves open.
Judgement."""


def krige_problem(
    away: Array, log_costs: Array, spreads: Array, ratios: Sequence[tuple[float, Array]] = (), *, of_work: bool = True
) -> tuple[Array, Array]:
    """Log cost of an unmeasured problem and its standard deviation, both ``[n]``, at each of ``n`` sizes of the job.

    ``away [k, m]``: log ratios of ``m`` numbers of ``k`` measured problems to the one in question; ``log_costs [k, n]`` and ``spreads [k,
    n]`` (standard deviations): their costs. ``ratios``: possible covariances ``[n, k, k]`` of the log ratios of these costs to those of the
    configuration in question, with their probabilities; none: all costs are of this configuration. ``of_work``: whether costs grow with the
    problem.
    """
    slope = Slope(BEYOND if of_work else BELOW, BELOW, BETWEEN)
    numbers = away.shape[1]
    # What few sizes tell of several numbers, they do not tell of each as surely.
    return krige(away, log_costs, spreads, [slope] * numbers, SMOOTHNESS, ratios, interaction=INTERACTION, power=1 / numbers)


def ratios_of(away: Array, kind: Ints, unlike: Array, doubt: Array, tails: Array) -> list[tuple[float, Array]]:
    """Possible covariances ``[n, k, k]`` of the log ratios of the costs of ``k`` problems to those of the configuration in question, with
    their probabilities, for :func:`krige_problem`.

    ``away [k, m]`` as there; ``kind [k]``: costs of one kind have a ratio in common, which changes with the problem; ``unlike [k]``:
    standard deviations of these ratios, 0 for costs of the configuration itself; ``doubt [k, n]``: variances of what else is not known of
    the costs of a kind together; ``tails``: as :data:`~modak.perfmodel.laws.kriging.UNLIKE`.
    """
    changes = RATIO**2 * random_walk_covariances(away) + RATIO_POWER**2 * (away @ away.T)
    # Beside others, the costs of the configuration itself do not follow what all have in common exactly, either.
    scale = np.maximum(unlike / LEAST_RATIO, (unlike > 0) | (kind.max() > 0))
    covariance = np.equal.outer(kind, kind) * (unlike**2 + doubt.T[:, None] + scale**2 * changes)
    return [(share, factor**2 * covariance) for factor, share in tails]
