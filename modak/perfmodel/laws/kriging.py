"""Predict a cost from costs at other places: ordinary kriging of its log over the logs of numbers, along a trend.

How steep the trend is, is known roughly beforehand. How smooth the cost is around it, each program tells itself: the slope does a random
walk, which makes a cubic smoothing spline (Wahba 1990, section 1.5) of each number, and predictions of several smoothnesses are averaged by
their restricted likelihood (Patterson and Thompson 1971). The kriging itself: Cressie 1993, section 3.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from modak.arrays import Array, Flags, Ints
from modak.perfmodel.fitting.forms import wander

REPEAT: Final = 0.05
"""Standard deviation of the log cost of a run: replicates of published runs differ by about 5 %."""
UNLIKE: Final = np.array([(1.0, 0.5), (4.0, 0.5)])
"""Rows of two: a factor on the standard deviations of log ratios between configurations, and how often it applies. Two compilers may differ
by some per cent, and two algorithms in all but the result. From public tables of several systems, programs or problems in the same layouts,
and of variants of programs over the same problem sizes."""

Prior = tuple[float, float]
"""Mean and standard deviation of a slope, before anything is measured."""


class Slope(NamedTuple):
    """What is known beforehand of the slope of log cost over the log of a number, by where the place in question is."""

    above: Prior
    """Above all measured values of the number."""
    below: Prior
    between: Prior
    """Also at a measured value."""
    bend: float = 1.0
    """A factor on how much it changes."""

    @classmethod
    def everywhere(cls, prior: Prior, bend: float = 1.0) -> Slope:
        """The same wherever the place in question is."""
        return cls(prior, prior, prior, bend)


def krige(
    away: Array,
    log_costs: Array,
    spreads: Array,
    slopes: Sequence[Slope],
    smoothness: Array,
    ratios: Sequence[tuple[float, Array]] = (),
    *,
    interaction: float = 0.0,
    power: float = 1.0,
) -> tuple[Array, Array]:
    """Log cost of the place in question and its standard deviation, both ``[n]``, at each of ``n`` sizes of the job.

    ``away [k, m]``: log ratios of ``m`` numbers of ``k`` measured places to those in question; ``log_costs [k, n]`` and ``spreads [k, n]``
    (standard deviations): their costs; ``slopes``: one for each number. ``smoothness``: rows of three, the standard deviation of the change
    of a slope over a factor of e, that of log cost at one place around the smooth curve, and the share of programs like that. ``ratios``:
    possible covariances ``[n, k, k]`` of what sets these costs apart from the one in question, with their probabilities; none: they are
    not set apart. ``interaction``: how much the slope of a number changes with each other number, compared with how much it changes with
    its own. ``power`` of the likelihoods of the smoothnesses and ratios: below 1, they are told apart less surely.
    """
    priors = [_prior(values, slope) for values, slope in zip(away.T, slopes, strict=True)]
    mean_slope, doubt = np.array(priors).T  # [m]
    bends = sum(slope.bend**2 * wander(values[:, None], values) for values, slope in zip(away.T, slopes, strict=True))
    trend, curvature = (away * doubt**2) @ away.T, bends + interaction**2 * _products(away)  # [k, k]
    probabilities, of_ratios = zip(*(ratios or [(1.0, np.zeros((1, 1, 1)))]), strict=True)
    # Each of h hypotheses is a smoothness, and what sets the costs apart: [h], and [h, n, k, k].
    bend, wiggle, share = np.tile(smoothness, (len(probabilities), 1)).T
    prior = share * np.repeat(probabilities, len(smoothness))
    apart = np.repeat(of_ratios, len(smoothness), axis=0)
    smooth = trend + bend[:, None, None] ** 2 * curvature  # [h, k, k]
    noise = spreads.T**2 + wiggle[:, None, None] ** 2  # [h, n, k]
    beside_trend = (log_costs - (away @ mean_slope)[:, None]).T  # [n, k]
    told = _kriged(beside_trend, smooth[:, None] + apart + noise[..., None] * np.eye(len(away)))
    # The mean and the standard deviation of a mixture of normal distributions, one for each hypothesis.
    weights = _posterior(prior, power * told.log_likelihood)
    log_cost = (weights * told.log_cost).sum(axis=0)
    variance = told.variance + wiggle[:, None] ** 2 + (told.log_cost - log_cost) ** 2
    return log_cost, np.sqrt((weights * variance).sum(axis=0))


class _Kriged(NamedTuple):
    """What each of ``h`` hypotheses tells of the place in question, at each of ``n`` sizes of the job: arrays ``[h, n]``."""

    log_cost: Array
    variance: Array
    log_likelihood: Array


def _kriged(log_costs: Array, covariances: Array) -> _Kriged:
    """Generalised least squares of a constant through ``log_costs [n, k]`` with ``covariances [h, n, k, k]``, and its restricted likelihood
    but for a constant."""
    factor = np.linalg.cholesky(covariances)
    both = np.stack(np.broadcast_arrays(np.ones(log_costs.shape), log_costs), axis=-1)[None]
    ones, costs = np.moveaxis(np.linalg.solve(factor, both), -1, 0)  # whitened [h, n, k]
    total = (ones**2).sum(axis=-1)
    level = (ones * costs).sum(axis=-1) / total
    misfit = ((costs - level[..., None] * ones) ** 2).sum(axis=-1)
    log_determinant = 2 * np.log(np.diagonal(factor, axis1=-2, axis2=-1)).sum(axis=-1)
    return _Kriged(level, 1 / total, -(misfit + log_determinant + np.log(total)) / 2)


def _posterior(prior: Array, log_likelihood: Array) -> Array:
    """Probabilities ``[h, n]`` of hypotheses with these ``prior [h]`` ones, after what was measured: ``log_likelihood [h, n]``."""
    evidence = log_likelihood + np.log(prior)[:, None]
    weights = np.exp(evidence - evidence.max(axis=0))
    return np.asarray(weights / weights.sum(axis=0))


def random_walk_covariances(away: Array) -> Array:
    """Covariances ``[k, k]`` of random walks over each of ``away [k, m]``, which start at the place in question, on either side of it."""
    one, other = away[:, None], away[None]
    return np.asarray(np.where(one * other > 0, np.minimum(np.abs(one), np.abs(other)), 0.0).sum(axis=-1))


def variance_parts(variances: Array, kind: Ints, sure: Flags) -> tuple[Array, Array, Array]:
    """The ``variances [k, n]`` of log costs, of a ``kind [k]`` each, as sums of three: that of each alone, that which all of its kind share
    (both ``[k, n]``), and that which all share (``[n]``), as sizes of the job beyond all measured ones. What several share is the least
    variance among them; of all, among those that are ``sure [k]`` how unlike they are."""
    together = np.array([variances[kind == one].min(axis=0) for one in kind])
    common = together[sure].min(axis=0) if sure.any() else together.min(axis=0)
    return variances - together, np.maximum(together - common, 0.0), common


def _prior(away: Array, slope: Slope) -> Prior:
    if (away < 0).all():
        return slope.above
    return slope.below if (away > 0).all() else slope.between


def _products(away: Array) -> Array:
    """Covariances ``[k, k]`` of the products of each two of ``away [k, m]``, with a random factor of variance 1 each."""
    squares = away**2
    return np.asarray(((away @ away.T) ** 2 - squares @ squares.T) / 2)
