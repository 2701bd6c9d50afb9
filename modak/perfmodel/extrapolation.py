"""Limits on extrapolation: how much log work ``z = ln(y p)`` a form may gain or lose beyond the largest measured size.

A loss is more log work than at the largest size, a (superlinear) gain is less.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from modak.perfmodel.forms import Array

CEILING: Final = 0.1
"""Losses per doubling beyond that of the series' worst doubling plus this are doubted."""
FORETOLD: Final = 0.005
"""A form whose errors (in log cost) at the next sizes are below this is believed, even if it predicts larger losses than seen so far."""


def excess(losses: Array, doublings: Array, steepest: float, error: float | None) -> Array:
    """The part to subtract from ``losses [form, size]`` at ``doublings [size]`` beyond the largest size.

    Of a loss, the part above ``steepest + CEILING`` per doubling, unless ``error`` (validation error of the best form; ``None``:
    unknown) is small. ``steepest`` is the largest measured loss per doubling. Of a superlinear gain, all: caches fill only once.
    """
    doubted = 1.0 if error is None else 1 - 1 / (1 + (error / FORETOLD) ** 2)
    return np.asarray(doubted * np.maximum(losses - (steepest + CEILING) * doublings, 0.0) + np.minimum(losses, 0.0))
