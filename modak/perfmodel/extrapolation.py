"""Limits on extrapolation: how much log work ``z = ln(y p)`` a form may gain or lose beyond the largest measured size.

A loss is more log work than at the largest size, a (superlinear) gain is less.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from modak.perfmodel.forms import Array

CEILING: Final = 0.1
"""Losses per doubling beyond that of the series' worst doubling plus this are doubted."""
CEILING_WITHIN: Final = 0.3
"""The same within one node, where more ranks or threads share its memory: once that is used up, each doubling may lose all that it adds."""
FORETOLD: Final = 0.005
"""A form whose errors (in log cost) at the next sizes are below this is believed, even if it predicts larger losses than seen so far."""


def excess(losses: Array, doublings: Array, steepest: float, error: float | None, ceiling: npt.ArrayLike = CEILING) -> Array:
    """The part to subtract from ``losses [form, size]`` at ``doublings [size]`` beyond the largest size.

    Of a loss, the part above ``steepest + ceiling`` per doubling, unless ``error`` (validation error of the best form; ``None``:
    unknown) is small. ``steepest`` is the largest measured loss per doubling. Of a superlinear gain, all: caches fill only once.
    """
    doubted = 1.0 if error is None else 1 - 1 / (1 + (error / FORETOLD) ** 2)
    return np.asarray(doubted * np.maximum(losses - (steepest + np.asarray(ceiling)) * doublings, 0.0) + np.minimum(losses, 0.0))
