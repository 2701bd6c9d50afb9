"""Whether a setting is better than another: the ratio of their costs from repeats of both, with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Gain:
    """The factor by which the better setting's cost lies below the other's; ``lower`` above 1: better beyond doubt at ``level``."""

    value: float
    lower: float
    upper: float
    level: float
    runs: tuple[int, int]
    basis: str = "measured"
    unit: str = "1"


def gain(before: Sequence[float], after: Sequence[float], level: float = 0.9) -> Gain | None:
    """Costs of one setting over those of another, from the difference of their mean logs and their pooled spread (Student's t).

    ``None`` where not both have two runs or more: nothing is known of the spread then.
    """
    if min(len(before), len(after)) < 2:
        return None
    from scipy.special import stdtrit

    logs = np.log(np.asarray(before)), np.log(np.asarray(after))
    freedom = len(before) + len(after) - 2
    pooled = sum(float(((one - one.mean()) ** 2).sum()) for one in logs) / freedom
    middle = float(logs[0].mean() - logs[1].mean())
    reach = float(stdtrit(freedom, 0.5 + level / 2)) * float(np.sqrt(pooled * (1 / len(before) + 1 / len(after))))
    value, lower, upper = (float(np.exp(edge)) for edge in (middle, middle - reach, middle + reach))
    return Gain(value, lower, upper, level, (len(before), len(after)))
