"""A Gaussian process that predicts the costs of untried points of the grid, and how much is still to be gained.

Log costs are modelled with a squared exponential kernel. Its length and the noise of repeats are the most likely ones of a small
table; the scale follows in closed form (C. E. Rasmussen, C. K. I. Williams: Gaussian Processes for Machine Learning, 2006, sections
2.2 and 5.4.1). The coordinate of a number is its rank, from 0 to 1; different texts have the distance 1.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from modak.arrays import Array
from modak.tuning.space import Grid, Point

LENGTHS: Final = (0.15, 0.3, 0.6, 1.2, 2.4)
NOISES: Final = (0.02, 0.05, 0.1, 0.2)
"""Standard deviations of repeats, relative to the scale of differences between settings."""
LEAST_SCALE: Final = 0.03
"""Least standard deviation of log costs; repeated published runs differ by as much."""
MOST_POINTS: Final = 4096
EXCEEDED: Final = 0.95
"""Probability with which a cost exceeds the end of its interval."""


class Fit(NamedTuple):
    """A kernel and its likelihood; the maximum of several is the most likely one."""

    log_likelihood: float
    """Up to a constant."""
    length: float
    noise: float
    """Relative to ``scale``."""
    scale: float


@dataclass(frozen=True)
class Promise:
    """The most promising untried point. Gains are ratios of the best cost so far to its cost."""

    point: Point
    gain: float
    """Expected."""
    most: float
    """At the end of the predicted interval: it is not exceeded with probability 0.95."""


def promise(space: Grid, tried: Sequence[tuple[Point, float]], besides: Collection[Point] = ()) -> Promise | None:
    """The untried point with the largest possible gain, among at most :data:`MOST_POINTS` evenly spread points and those next to the best.

    ``tried``: points with their costs, which are positive; ``besides``: further points that are not considered. ``None``: there is no
    other point, or nothing was tried.
    """
    done = {point for point, _ in tried} | set(besides)
    if not tried:
        return None
    near = space.beside(min(tried, key=lambda one: one[1])[0])
    rest = [point for point in dict.fromkeys((*space.points(MOST_POINTS), *near)) if point not in done]
    if not rest:
        return None
    mean, deviation = _posterior(space, [point for point, _ in tried], np.log([cost for _, cost in tried]), rest)
    best = float(np.log(min(cost for _, cost in tried)))
    reach = _reach(len(tried))
    index = int(np.argmin(mean - reach * deviation))
    return Promise(rest[index], float(np.exp(best - mean[index])), float(np.exp(best - mean[index] + reach * deviation[index])))


def _reach(trials: int) -> float:
    """Standard deviations to the end of the interval, after so many trials.

    Student's t, since mean and scale come from the same trials, and the most likely scale is too small. With a normal quantile 12 % of the
    costs of random processes are beyond their 95 % interval after six trials, with this 7 %.
    """
    from scipy.special import stdtrit

    freedom = max(trials - 1, 1)
    return float(stdtrit(freedom, EXCEEDED)) * math.sqrt(trials / freedom)


def _posterior(space: Grid, points: Sequence[Point], log_cost: Array, rest: Sequence[Point]) -> tuple[Array, Array]:
    """Mean and standard deviation of the log cost at ``rest``."""
    known, asked = _features(space, points), _features(space, rest)
    centre = float(log_cost.mean())
    fit = max(_fit(known, log_cost - centre, length, noise) for length in LENGTHS for noise in NOISES)
    factor = np.linalg.cholesky(_kernel(known, known, fit.length) + fit.noise**2 * np.eye(len(points)))
    across = np.linalg.solve(factor, _kernel(known, asked, fit.length))
    mean = centre + across.T @ np.linalg.solve(factor, log_cost - centre)
    variance = np.maximum(1.0 + fit.noise**2 - (across**2).sum(axis=0), fit.noise**2)
    return mean, fit.scale * np.sqrt(variance)


def _fit(known: Array, residual: Array, length: float, noise: float) -> Fit:
    """The likelihood of a length and a noise, with the scale that makes it largest."""
    factor = np.linalg.cholesky(_kernel(known, known, length) + noise**2 * np.eye(len(known)))
    white = np.linalg.solve(factor, residual)
    scale = max(float(np.sqrt(white @ white / len(known))), LEAST_SCALE)
    likelihood = -0.5 * float(white @ white) / scale**2 - float(np.log(np.diag(factor)).sum()) - len(known) * float(np.log(scale))
    return Fit(likelihood, length, noise, scale)


def _kernel(one: Array, other: Array, length: float) -> Array:
    distance = ((one[:, None, :] - other[None, :, :]) ** 2).sum(axis=2)
    return np.asarray(np.exp(-0.5 * distance / length**2))


def _features(space: Grid, points: Sequence[Point]) -> Array:
    """One row for each point: the rank of ordered values, else one column for each value, scaled so that two differ by 1."""
    columns = []
    for place, parameter in enumerate(space.parameters):
        index = np.array([point[place] for point in points], dtype=np.float64)
        if parameter.ordered:
            columns.append((index / max(1, len(parameter.values) - 1))[:, None])
        else:
            columns.append((index[:, None] == np.arange(len(parameter.values))) / np.sqrt(2.0))
    return np.hstack(columns)
