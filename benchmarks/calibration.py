"""The constants of :mod:`modak.perfmodel.intervals`, fitted to the errors of forecasts."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_matrix, hstack, identity

from modak.arrays import Array
from modak.perfmodel.intervals import FEATURES, KNOTS, LEAST, LEAST_SLOPE


def fit_width(rows: Array, misses: Array, weights: Array, level: float = 0.9) -> tuple[float, ...]:
    """Coefficients of ``FEATURES``: quantile regression of ``ln(|miss| + LEAST)`` with non-negative slopes, by linear programming.

    ``rows [m, feature]`` as :func:`modak.perfmodel.intervals.features` gives them, ``misses [m]`` in log cost, ``weights [m]``.
    """
    count, columns = rows.shape
    equal = hstack([csr_matrix(rows), identity(count), -identity(count)])
    price = np.concatenate([np.zeros(columns), level * weights, (1 - level) * weights])
    slopes = [(LEAST_SLOPE if name in ("ln(disagreement)", "ln(doublings)") else 0.0, None) for name in FEATURES[1:]]
    bounds = [(None, None), *slopes, *[(0, None)] * (2 * count)]
    answer = linprog(price, A_eq=equal, b_eq=np.log(np.abs(misses) + LEAST), bounds=bounds, method="highs")
    return tuple(float(value) for value in answer.x[:columns])


def fit_shape(relative: Array, weights: Array) -> tuple[float, ...]:
    """Weighted quantiles at ``KNOTS`` of absolute log errors in half-widths, scaled to 1 at 0.9."""
    order = np.argsort(relative)
    part = (np.cumsum(weights[order]) - 0.5 * weights[order]) / weights.sum()
    knots = np.interp(KNOTS, part, relative[order])
    knots[0] = 0.0
    return tuple(float(value) for value in np.maximum.accumulate(knots / knots[KNOTS.index(0.9)]))
