"""Limits on what a form may predict beyond the largest size, where no data constrain it: losses and gains of log work, ``z = ln(y p)``.

A loss is more log work than at the largest size, a gain above linear is less.
"""

from __future__ import annotations

import numpy as np

from modak.perfmodel.forms import Array

CEILING = 0.1
"""A form may hardly lose more a doubling than the series has lost in its worst doubling, and this."""
FORETOLD = 0.005
"""A form that has foretold the next sizes with errors (in log cost) below this knows the series, also losses that it has not shown yet."""


def excess(losses: Array, doublings: Array, steepest: float, error: float | None) -> Array:
    """What of losses ``[form, size]``, so many ``doublings [size]`` beyond the largest size, is not believed.

    Of a loss: what is more a doubling than ``steepest`` (so far) and :data:`CEILING`, unless ``error``, that of the form which has foretold
    best, is next to nothing. Of a gain above linear: all, since caches fill only once.
    """
    doubted = 1.0 if error is None else 1 - 1 / (1 + (error / FORETOLD) ** 2)
    return np.asarray(doubted * np.maximum(losses - (steepest + CEILING) * doublings, 0.0) + np.minimum(losses, 0.0))
