"""The library of forms: functions for the cost of a run over its size, and how each is fitted.

Every form is linear in its features and fitted to the relative error, for all folds of all series of one length at once. Sizes ``p``
count nodes, ranks, GPUs or threads; costs ``y`` are in seconds (per unit for a throughput). ``z = ln(y p)`` is the log of the work:
constant in perfect scaling. ``L`` is the number of doublings of ``p``. Arrays are ``[fold, size]``.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

NOISE = 0.03
"""Standard deviation of the log cost of one published result, for the trend forms."""
WIDE = 100.0
"""Prior variance of the intercept: practically free."""


@dataclass(frozen=True)
class NonNegative:
    """``y = sum c_k u^(e_k)``, ``c_k >= 0``, ``u = p / p_last``: the terms of Amdahl, of boundaries, of trees and of contention.

    Least squares of the relative error with weights ``exp(-recency * doublings before the last size)``.
    """

    name: str
    exponents: tuple[float, ...]
    recency: float = 0.0
    least: int = 2


@dataclass(frozen=True)
class Line:
    """``z = a + b L`` by weighted least squares; ``ridge`` pulls the slope towards ``slope``."""

    name: str
    recency: float = 0.0
    slope: float = 0.0
    ridge: float = 1e-9
    least: int = 2


@dataclass(frozen=True)
class Trend:
    """``z = a + b L + W(L)``: a straight line whose slope wanders, as a smoothing spline does.

    ``b ~ N(slope, spread^2)``; ``W`` is an integrated Wiener process with ``wander^2`` a doubling (Wahba 1978: its posterior
    mean is the cubic smoothing spline). Linear in the kernel functions of the measured sizes; a line beyond them.
    """

    name: str
    spread: float
    wander: float
    slope: float
    least: int = 1


Form = NonNegative | Line | Trend

FORMS: tuple[Form, ...] = (
    NonNegative("1 + p^-1/2 + p^-2/3 + 1/p", (0.0, -0.5, -2 / 3, -1.0)),
    NonNegative("1 + 1/p, recent", (0.0, -1.0), recency=0.7),
    NonNegative("1 + 1/p + p", (0.0, -1.0, 1.0)),
    NonNegative("1 + 1/p + p + p^2", (0.0, -1.0, 1.0, 2.0)),
    NonNegative("p^-2/3 + 1/p", (-2 / 3, -1.0)),
    Line("power law, recent", recency=1.2),
    Line("power law", recency=0.5),
    Line("power law, shrunken", slope=0.05, ridge=1.0),
    Trend("trend, stiff", spread=0.2, wander=0.1, slope=0.05),
    Trend("trend", spread=0.2, wander=0.2, slope=0.05),
    Trend("trend, losing", spread=0.1, wander=0.2, slope=0.1),
    Line("perfect scaling from the last size", recency=30.0, ridge=1e6, least=1),
)
"""The library. It and the constants above were chosen by comparing variants on public series (see docs/model-quality.md)."""


def fingerprint(library: Sequence[Form]) -> str:
    """Eight hexadecimal digits that tell one library from another: coefficients belong to the library that they were fitted with."""
    return f"{zlib.crc32(repr((tuple(library), NOISE, WIDE)).encode()):08x}"


def fit(form: Form, p: Array, y: Array, use: Array) -> Array:
    """Coefficients, one row per fold. Sizes with ``use`` 0 are not used."""
    anchor = _anchor(form, p, use)
    if isinstance(form, NonNegative):
        return _fit_nonnegative(form, p, y, use, anchor)
    return _fit_line(form, p, y, use, anchor) if isinstance(form, Line) else _fit_trend(form, p, y, use, anchor)


def log_cost(form: Form, coefficients: Array, p: Array, knots: Array, use: Array) -> Array:
    """Log cost at sizes ``p [fold, m]``, by coefficients that were fitted to those of the sizes ``knots [fold, n]`` with ``use`` 1."""
    anchor = _anchor(form, knots, use)
    doublings = np.log2(p / anchor)
    if isinstance(form, NonNegative):
        cost = np.stack([(p / anchor) ** e for e in form.exponents], axis=-1) @ coefficients[:, :, None]
        return np.asarray(np.log(np.maximum(cost[..., 0], np.finfo(np.float64).tiny)))
    if isinstance(form, Line):
        return np.asarray(coefficients[:, :1] + coefficients[:, 1:2] * doublings - np.log(p))
    known = np.log2(knots / anchor)
    bend: Array = np.einsum("fmn,fn->fm", _kernel(form, doublings[:, :, None], known[:, None, :]), coefficients[:, 1:])
    return np.asarray(coefficients[:, :1] + form.slope * doublings + bend - np.log(p))


def log_costs(sizes: Sequence[float], coefficients: Sequence[Sequence[float]], p: Array) -> Array:
    """Log cost ``[form, m]`` of one series at ``p [m]``. As :func:`log_cost` for every form, with common terms computed once."""
    log_p = np.log(p)
    from_last, from_first = log_p - math.log(sizes[-1]), log_p / math.log(2) - math.log2(sizes[0])
    known = np.log2(np.array(sizes)) - math.log2(sizes[0])
    low, high = np.minimum(np.abs(from_first[:, None]), known), np.maximum(np.abs(from_first[:, None]), known)
    wander = np.where(from_first[:, None] * known > 0, low * low * (3 * high - low) / 6, 0.0)
    powers = {e: np.exp(e * from_last) for e in {e for form in FORMS if isinstance(form, NonNegative) for e in form.exponents}}
    tiny = np.finfo(np.float64).tiny
    rows = np.empty((len(FORMS), len(p)))
    for row, form, fitted in zip(rows, FORMS, coefficients, strict=True):
        if isinstance(form, NonNegative):
            row[:] = np.log(np.maximum(sum(c * powers[e] for c, e in zip(fitted, form.exponents, strict=True) if c), tiny))
        elif isinstance(form, Line):
            row[:] = fitted[0] + fitted[1] / math.log(2) * from_last - log_p
        else:
            weights = np.array(fitted[1:])
            slope = form.slope + form.spread**2 * float(weights @ known)
            row[:] = fitted[0] + WIDE * weights.sum() + slope * from_first + form.wander**2 * (wander @ weights) - log_p
    return rows


def _anchor(form: Form, p: Array, use: Array) -> Array:
    """The size that features are relative to: the first used one for trends, the last used one for the others. ``[fold, 1]``."""
    seen = np.where(use > 0, p, np.inf).min(axis=1) if isinstance(form, Trend) else np.where(use > 0, p, 0.0).max(axis=1)
    return np.asarray(seen)[:, None]


def _fit_nonnegative(form: NonNegative, p: Array, y: Array, use: Array, anchor: Array) -> Array:
    """Exact non-negative least squares: of all subsets of features with a non-negative solution, the one with the least residual.

    Ties go to fewer features, so that a series with fewer sizes than features has a unique solution.
    """
    ratio = p / anchor
    design = np.stack([ratio**e for e in form.exponents], axis=-1) / y[..., None]
    weight = use * np.exp(form.recency * np.minimum(np.log2(ratio), 0.0))
    scale = np.sqrt(np.einsum("fmk,fm->fk", design**2, weight))
    normal = np.einsum("fmi,fm,fmj->fij", design, weight, design) / scale[:, :, None] / scale[:, None, :]
    right = np.einsum("fmi,fm->fi", design, weight) / scale
    best = np.full(len(p), -np.inf)
    answer = np.zeros_like(right)
    for size in range(1, len(form.exponents) + 1):
        for subset in combinations(range(len(form.exponents)), size):
            _try_subset(list(subset), normal, right, best, answer)
    return np.asarray(answer / scale)


def _try_subset(subset: list[int], normal: Array, right: Array, best: Array, answer: Array) -> None:
    """Where this subset's solution is non-negative and explains more than ``best``, store it in ``best`` and ``answer`` (in place)."""
    part = normal[:, subset][:, :, subset]
    solution = np.linalg.solve(part + 1e-9 * np.eye(len(subset)), right[:, subset][..., None])[..., 0]
    explained = 2 * (solution * right[:, subset]).sum(axis=1) - np.einsum("fi,fij,fj->f", solution, part, solution)
    better = (solution >= 0).all(axis=1) & (explained > best + 1e-12)
    best[better] = explained[better]
    answer[better] = 0.0
    answer[np.ix_(better, subset)] = solution[better]


def _fit_line(form: Line, p: Array, y: Array, use: Array, anchor: Array) -> Array:
    doublings = np.log2(p / anchor)
    weight = use * np.exp(form.recency * np.minimum(doublings, 0.0))
    z = np.log(y * p) - form.slope * doublings
    total = weight.sum(axis=1)
    middle = (weight * doublings).sum(axis=1) / total
    centred = doublings - middle[:, None]
    slope = (weight * centred * z).sum(axis=1) / ((weight * centred**2).sum(axis=1) + form.ridge)
    level = (weight * z).sum(axis=1) / total - slope * middle
    return np.column_stack([level, slope + form.slope])


def _fit_trend(form: Trend, p: Array, y: Array, use: Array, anchor: Array) -> Array:
    """``[mean, one weight per size]``: weights of the kernel functions, 0 for sizes that are not used."""
    doublings = np.log2(p / anchor)
    z = np.log(y * p) - form.slope * doublings
    mean = (use * z).sum(axis=1) / use.sum(axis=1)
    covariance = _kernel(form, doublings[:, :, None], doublings[:, None, :]) * use[:, :, None] * use[:, None, :]
    noise = np.where(use > 0, NOISE**2, 1.0)
    weights = np.linalg.solve(covariance + noise[:, :, None] * np.eye(p.shape[1]), ((z - mean[:, None]) * use)[..., None])[..., 0]
    return np.column_stack([mean, weights * use])


def _kernel(form: Trend, a: Array, b: Array) -> Array:
    """Covariance of ``z`` at two sizes, in doublings from the first: a free level, a slope, an integrated Wiener process."""
    low, high = np.minimum(np.abs(a), np.abs(b)), np.maximum(np.abs(a), np.abs(b))
    wander = np.where(a * b > 0, low**2 * (3 * high - low) / 6, 0.0)
    return np.asarray(WIDE + form.spread**2 * a * b + form.wander**2 * wander)
