"""How much better one setting is than another: the ratio of their costs from repeated runs, with an interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

LEVEL: Final = 0.9
"""Probability that the interval contains the true ratio."""


@dataclass(frozen=True)
class Gain:
    """The cost of one setting over that of another, with its interval at ``level``; ``lower`` above 1: the other one is better."""

    value: float
    lower: float
    upper: float
    runs: tuple[int, int]
    level: float = LEVEL
    basis: str = "measured"
    unit: str = "1"


def gain(before: Sequence[float], after: Sequence[float]) -> Gain | None:
    """The ratio of the costs ``before`` to those ``after``, from their mean logs and pooled standard deviation (Student's t).

    ``None`` where one of them has fewer than two runs, because the spread is then unknown.
    """
    if min(len(before), len(after)) < 2:
        return None
    from scipy.special import stdtrit

    logs = np.log(np.asarray(before)), np.log(np.asarray(after))
    freedom = len(before) + len(after) - 2
    pooled = sum(float(((one - one.mean()) ** 2).sum()) for one in logs) / freedom
    middle = float(logs[0].mean() - logs[1].mean())
    reach = float(stdtrit(freedom, 0.5 + LEVEL / 2)) * float(np.sqrt(pooled * (1 / len(before) + 1 / len(after))))
    value, lower, upper = (float(np.exp(edge)) for edge in (middle, middle - reach, middle + reach))
    return Gain(value, lower, upper, (len(before), len(after)))
