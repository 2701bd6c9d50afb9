"""Published models to compare with: perfect scaling, Amdahl, power law, USL and Ernest.

Each takes the sizes and costs of one series (arrays) and the sizes to predict, and returns their costs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from modak.arrays import Array

Baseline = Callable[[Array, Array, Array], Array]


def perfect(sizes: Array, costs: Array, asked: Array) -> Array:
    """Perfect scaling from the largest size."""
    return np.asarray(costs[-1] * sizes[-1] / asked)


def amdahl(sizes: Array, costs: Array, asked: Array) -> Array:
    """``a + b / p``, non-negative, least relative error (Amdahl 1967)."""
    return _non_negative([np.ones_like, lambda p: 1 / p], sizes, costs, asked, relative=True)


def power_law(sizes: Array, costs: Array, asked: Array) -> Array:
    """``a p^b``: a straight line in log-log space."""
    slope, level = np.polyfit(np.log(sizes), np.log(costs), 1)
    return np.asarray(np.exp(level + slope * np.log(asked)))


def usl(sizes: Array, costs: Array, asked: Array) -> Array:
    """Universal scalability law (Gunther 2007): ``(1 + s (p - 1) + k p (p - 1)) / p``, non-negative, least relative error."""
    return _non_negative([lambda p: 1 / p, lambda p: (p - 1) / p, lambda p: p - 1], sizes, costs, asked, relative=True)


def ernest(sizes: Array, costs: Array, asked: Array) -> Array:
    """``a + b / p + c ln p + d p``, non-negative, least absolute squares, as published (Venkataraman et al., NSDI 2016)."""
    return _non_negative([np.ones_like, lambda p: 1 / p, np.log, lambda p: p], sizes, costs, asked, relative=False)


BASELINES: Final[Mapping[str, Baseline]] = {
    "perfect scaling": perfect,
    "Amdahl": amdahl,
    "power law": power_law,
    "USL": usl,
    "Ernest": ernest,
}
"""All of them by name."""


def _non_negative(terms: Sequence[Callable[[Array], Array]], sizes: Array, costs: Array, asked: Array, relative: bool) -> Array:
    from scipy.optimize import nnls

    design = np.column_stack([term(sizes) for term in terms])
    target = np.ones_like(costs) if relative else costs
    scaled = design / costs[:, None] if relative else design
    largest = np.maximum(np.abs(scaled).max(axis=0), np.finfo(np.float64).tiny)
    coefficients, _ = nnls(scaled / largest, target)
    return np.asarray(np.column_stack([term(asked) for term in terms]) @ (coefficients / largest))
