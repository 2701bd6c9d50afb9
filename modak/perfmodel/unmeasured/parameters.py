"""Throughput from parameters of applications: operations, activations, parameters, batch size, image size.

There are two models. For an *unseen application on a known configuration*: a quadratic in the logs of its parameters, plus the
residuals of similar applications (kernel ridge regression). For a *known application on a new system* with some calibration runs: its
throughput on those known systems that are most like the new one, or its time as a sum of times elsewhere and of work; plus the residuals of
similar applications, as above. Leave-one-out errors are those of Rasmussen and Williams 2006, eq. 5.12.

Throughputs are natural logs, in samples/s or any other unit; arrays have one row per application.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Final, NamedTuple

import numpy as np

from modak.arrays import Array, Flags, Ints

EXTENSIVE: Final = ("activations", "parameters")
"""Columns that grow with the operations; the feature is their ratio to the operations."""
SMALLEST: Final = 0.005
"""Added to operations (in 10^9) before taking logs: published counts are rounded to two digits."""
LENGTH: Final = 1.0
"""Distance, in standard deviations of features, over which the residuals of applications are alike (decision 113)."""
NOISE: Final = 0.1
"""Variance of a single result, relative to the variance that similarity explains."""
QUADRATIC_RIDGE: Final = 0.1
"""Ridge of the quadratic."""
MOST: Final = 1500
"""At most this many applications support a model; more are thinned evenly."""
DIRECTIONS: Final = 6
"""At most so many principal components of the differences between known systems tell which applications are alike."""
CLOSE: Final = 0.01
"""Added to the median deviation of a known system from the new one: smaller differences are noise."""
LEAST_MISS: Final = 0.02
"""A calibration run that is off by less is never an outlier."""
TRUST: Final = 6.0
"""The weight of a known system falls with this power of its deviation."""
TRANSFER_LENGTH: Final = 5.0
"""Distance, in standard deviations, over which the corrections of applications are alike."""
TRANSFER_POWER: Final = 8.0
"""The two bases with their corrections are averaged with weights that fall with this power of their leave-one-out error."""
SUM_RIDGE: Final = 0.02
"""Ridge of the sum of times, relative to one calibration run."""
LEVEL: Final = 10.0
"""Variance of the level of a system without any run, relative to the variance that similarity explains: nearly nothing is known of it."""
FILL_RIDGE: Final = 3.0
"""Ridge of the regression that fills in missing throughputs."""
FILL_ROUNDS: Final = 3


class ParameterModel(NamedTuple):
    """Log throughput on one configuration, from ``m`` features of ``n`` measured applications."""

    columns: tuple[str, ...]
    centre: Array
    """Mean of each feature ``[m]``, and its standard deviation:"""
    scale: Array
    quadratic: Array
    """Coefficients."""
    support: Array
    """Standardised features ``[n, m]``."""
    weights: Array
    """Of the applications ``[n]``."""
    half_width: float
    """90th percentile of the absolute leave-one-out error of log throughput."""


@dataclass(frozen=True)
class Estimate:
    """Log throughputs with the half-width of their 90 % interval."""

    log_throughput: Array
    half_width: Array


def features(columns: Mapping[str, Array]) -> Array:
    """Logs of the columns, extensive ones divided by the operations; one row per application. All values must be positive.

    ``columns`` are named as in :data:`EXTENSIVE`, ``operations`` (10^9), ``image``, ``batch`` or anything else that is positive.
    """
    work = np.log(np.asarray(columns["operations"], dtype=np.float64) + SMALLEST) if "operations" in columns else 0.0
    made = []
    for name, values in columns.items():
        log = work if name == "operations" else np.log(np.asarray(values, dtype=np.float64))
        made.append(log - work if name in EXTENSIVE else log)
    return np.column_stack(made)


def fit(columns: Mapping[str, Array], log_throughput: Array) -> ParameterModel:
    """The model of one configuration from ``m`` measured applications: ``columns`` as for :func:`features`, ``log_throughput [m]``."""
    from sklearn.linear_model import Ridge

    rows = features(columns)
    keep = thinned(len(rows), MOST)
    rows, target = rows[keep], np.asarray(log_throughput, dtype=np.float64)[keep]
    centre, scale = rows.mean(axis=0), _spread(rows)
    at = (rows - centre) / scale
    base = _quadratic(at)
    coefficients: Array = Ridge(alpha=QUADRATIC_RIDGE, fit_intercept=False).fit(base, target - target.mean()).coef_
    coefficients[0] += target.mean()  # the level is not shrunk: a prediction does not depend on the unit
    weights, left_out = _kernel_ridge(at, target - base @ coefficients)
    return ParameterModel(
        columns=tuple(columns),
        centre=centre,
        scale=scale,
        quadratic=coefficients,
        support=at,
        weights=weights,
        half_width=float(np.quantile(np.abs(left_out), 0.9)),
    )


def predict(model: ParameterModel, columns: Mapping[str, Array]) -> Estimate:
    """Log throughput of applications with these parameters; the interval widens with the distance to the measured ones."""
    at = (features({name: columns[name] for name in model.columns}) - model.centre) / model.scale
    similarity = _similarity(at, model.support, LENGTH)
    log = _quadratic(at) @ model.quadratic + similarity @ model.weights
    return Estimate(log, model.half_width * (2.0 - similarity.max(axis=1)))


def transfer(elsewhere: Array, columns: Mapping[str, Array], measured: Ints, log_throughput: Array) -> Estimate:
    """Log throughput on a new system of all applications, from calibration runs of some.

    ``elsewhere [application, configuration]``: log throughputs on known configurations, NaN where not measured;
    ``columns``: as for :func:`features`; ``measured [k]``: places of the calibration runs; ``log_throughput [k]``: their results.
    """
    filled, rows = _fill(elsewhere), features(columns)
    profile = _profile(filled, rows)
    similarity = _similarity(profile, profile[measured], TRANSFER_LENGTH)
    parts = np.column_stack([np.exp(-filled), *columns.values(), np.ones(len(filled))])
    bases = ((_mean_of_systems, filled), (_sum_of_times, parts))
    found = [_corrected(base, table, similarity, measured, log_throughput) for base, table in bases]
    left_out = np.array([one.left_out for one in found])
    trust = np.maximum(np.abs(left_out).mean(axis=1), 1e-9) ** -TRANSFER_POWER
    trust /= trust.sum()
    log = trust @ np.array([one.log_throughput for one in found])
    return Estimate(log, np.full(len(log), _reach(trust @ left_out)))


def most_telling(elsewhere: Array, columns: Mapping[str, Array], measured: Flags, most: int) -> tuple[int, ...]:
    """At most ``most`` applications to measure on a new system, in this order: places of rows.

    ``elsewhere``, ``columns``: as for :func:`transfer`; ``measured [application]``: whether it was measured there already. Each is the one
    after which the least variance of all applications is left (Cohn 1996, "Neural network exploration using optimal experiment design";
    of Gaussian processes Seo et al. 2000). Unknown are the level of the system, and corrections, which alike applications share.
    """
    filled, rows = _fill(elsewhere), features(columns)
    slowest_first = np.argsort(filled.mean(axis=1), kind="stable")
    known, unknown = (slowest_first[mask[slowest_first]] for mask in (measured, ~measured))
    kept = np.union1d(unknown[thinned(len(unknown), MOST)], known[thinned(len(known), MOST)])
    profile = _profile(filled, rows)[kept]
    covariance = _similarity(profile, profile, TRANSFER_LENGTH) + LEVEL
    covariance = _after(covariance, np.flatnonzero(measured[kept]))
    open_, found = ~measured[kept], list[int]()
    while open_.any() and len(found) < most:
        gain = (covariance**2).sum(axis=0) / (np.diag(covariance) + NOISE)
        place = int(np.argmax(np.where(open_, gain, -1.0)))
        covariance, open_[place] = _after(covariance, np.array([place])), False
        found.append(int(kept[place]))
    return tuple(found)


def _after(covariance: Array, places: Ints) -> Array:
    """The covariance after a run of each of the applications at ``places``."""
    columns = covariance[:, places]
    of_runs = columns[places] + NOISE * np.eye(len(places))
    return np.asarray(covariance - columns @ np.linalg.solve(of_runs, columns.T))


Base = Callable[[Array, Ints, Array], Array]
"""Log throughputs of all applications on a new system, from a table with a row for each, and calibration runs (places and results)."""


def _mean_of_systems(filled: Array, measured: Ints, log_throughput: Array) -> Array:
    """The mean of the known configurations, weighted by how well each predicts the calibration runs, at their level."""
    offset = log_throughput[:, None] - filled[measured]
    deviation = np.median(np.abs(offset - np.median(offset, axis=0)), axis=0)
    trust = (deviation + CLOSE) ** -TRUST
    base = filled @ (trust / trust.sum())
    return np.asarray(base + np.median(log_throughput - base[measured]))


def _sum_of_times(parts: Array, measured: Ints, log_throughput: Array) -> Array:
    """From the time of a sample as a non-negative sum of ``parts [application, part]``: its times elsewhere, its work, and a constant.

    Errors are relative to the measured times; outliers count less, as in :func:`_robust_solve`.
    """
    from scipy.optimize import nnls

    relative = parts[measured] * np.exp(log_throughput)[:, None]
    scale = relative.mean(axis=0)
    shrink = SUM_RIDGE * np.eye(len(scale))
    weight, shares = np.ones(len(measured)), np.zeros(len(scale))
    for _ in range(3):
        root = np.sqrt(weight)
        shares, _ = nnls(np.vstack([relative / scale * root[:, None], shrink]), np.append(root, np.zeros(len(scale))), maxiter=1000)
        weight = _counted(np.abs(relative / scale @ shares - 1))
    base = -np.log(parts @ (shares / scale))
    return np.asarray(base + np.median(log_throughput - base[measured]))


def _profile(filled: Array, rows: Array) -> Array:
    """What tells which applications are alike: their features, and which known systems suit them; each with a standard deviation of 1."""
    difference = filled - filled.mean(axis=1, keepdims=True)
    axes, sizes, _ = np.linalg.svd(difference - difference.mean(axis=0), full_matrices=False)
    components = (axes * np.sqrt(len(rows)))[:, sizes > 1e-6 * np.sqrt(len(rows))]
    return np.column_stack([(rows - rows.mean(axis=0)) / _spread(rows), components[:, :DIRECTIONS]])


class _Corrected(NamedTuple):
    """Log throughputs ``[application]``, and leave-one-out errors of the calibration runs ``[k]``, by one base."""

    log_throughput: Array
    left_out: Array


def _corrected(base: Base, table: Array, similarity: Array, measured: Ints, log_throughput: Array) -> _Corrected:
    """The base, plus the residuals of the calibration runs by their ``similarity [application, k]`` to the others.

    Base and correction of a left-out run are both found without it.
    """
    first, runs = base(table, measured, log_throughput), np.arange(len(measured))
    without = np.array([base(table[measured], np.delete(runs, k), np.delete(log_throughput, k)) for k in runs])
    seen = similarity[measured]
    inverse = np.linalg.inv(seen + NOISE * np.eye(len(measured)))
    left_out = (inverse * (log_throughput - without)).sum(axis=1) / np.diag(inverse)
    return _Corrected(first + similarity @ _robust_solve(seen, log_throughput - first[measured]), left_out)


def _kernel_ridge(at: Array, target: Array) -> tuple[Array, Array]:
    """Weights of applications ``at [n, m]`` that explain a target, and leave-one-out errors (eq. 5.12), both ``[n]``: from the inverse of
    their similarity and noise."""
    from scipy.linalg.lapack import dpotrf, dpotri

    factor, _ = dpotrf(_similarity(at, at, LENGTH) + NOISE * np.eye(len(target)), lower=1)
    half, _ = dpotri(factor, lower=1)
    inverse = np.tril(half) + np.tril(half, -1).T
    weights = inverse @ target
    return weights, weights / np.diag(inverse)


def thinned(count: int, most: int) -> Ints:
    """Indices of at most ``most`` of ``count`` rows, evenly spread."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64))


def _reach(left_out: Array) -> float:
    """90th percentile of the absolute errors of future runs, from the leave-one-out errors of ``n`` (4 or more) calibration runs.

    The percentile of few errors is too small. So the rank is the conformal one, and the tail that of Student's t with ``n - 3`` degrees of
    freedom, because level, spread and the weights of the bases come from the same runs.
    """
    from scipy.special import ndtri, stdtrit

    count = len(left_out)
    tail = float(stdtrit(count - 3, 0.95) / ndtri(0.95))
    return tail * float(np.quantile(np.abs(left_out), min(0.9 * (1 + 1 / count), 1.0)))


def _robust_solve(covariance: Array, target: Array) -> Array:
    """Weights of the calibration runs; outliers count less (Huber 1964, by iterative reweighting)."""
    weight: Array = np.ones(len(target))
    answer: Array = np.zeros(len(target))
    for _ in range(5):
        answer = np.asarray(np.linalg.solve(covariance + NOISE * np.diag(1 / weight), target), dtype=np.float64)
        weight = _counted(np.abs(target - covariance @ answer))
    return answer


def _counted(off: Array) -> Array:
    """Weights of runs by how far they are off."""
    return np.asarray(1.0 / np.maximum(off / (1.5 * max(1.48 * float(np.median(off)), LEAST_MISS)), 1.0))


def _fill(elsewhere: Array) -> Array:
    """Fill in missing throughputs, by ridge regression on the other configurations.

    It starts from the configuration's mean plus the application's mean deviation on the others, and shrinks towards a constant ratio.
    """
    known = np.isfinite(elsewhere)
    column = np.nanmean(elsewhere, axis=0)
    off = np.where(known, elsewhere - column, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    filled = np.where(known, elsewhere, column + off[:, None])
    gaps = np.flatnonzero(~known.all(axis=0)) if elsewhere.shape[1] > 1 else ()
    for place in [*gaps] * FILL_ROUNDS:
        seen = known[:, place]
        others = np.delete(filled, place, axis=1)
        base = others.mean(axis=1)
        rows = others - base[:, None]
        rows -= rows[seen].mean(axis=0)
        target = (filled[:, place] - base)[seen]
        slopes = np.linalg.solve(rows[seen].T @ rows[seen] + FILL_RIDGE * np.eye(rows.shape[1]), rows[seen].T @ (target - target.mean()))
        filled[~seen, place] = (base + target.mean() + rows @ slopes)[~seen]
    return filled


def _quadratic(at: Array) -> Array:
    pairs = combinations_with_replacement(range(at.shape[1]), 2)
    return np.column_stack([np.ones(len(at)), at, *(at[:, i] * at[:, j] for i, j in pairs)])


def _similarity(a: Array, b: Array, length: float) -> Array:
    """How alike rows of features are, from 0 to 1, by their distance: ``[a, b]``."""
    square = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1)[None, :] - 2 * a @ b.T
    return np.asarray(np.exp(-np.sqrt(np.maximum(square, 0.0)) / length))


def _spread(rows: Array) -> Array:
    spread = rows.std(axis=0)
    return np.where(spread < 1e-6, 1.0, spread)
