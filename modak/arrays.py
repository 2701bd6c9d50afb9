"""Types of arrays, and a median."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


def median(values: npt.ArrayLike) -> float:
    """The median of one value or more: that of numpy takes ten times as long for the few runs of a layout.

    >>> median([3.0, 1.0, 2.0]), median([4.0, 1.0])
    (2.0, 2.5)
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    half = len(ordered) // 2
    return float(ordered[half] + ordered[~half]) / 2
