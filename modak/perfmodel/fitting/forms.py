"""The library of forms: functions for the cost of a run over its size, and how each is fitted.

Every form is linear in its features and fitted to the relative error, for all folds of all series of one length at once. Sizes ``p``
count nodes, ranks, GPUs or threads; costs ``y`` are in seconds (per unit for a throughput). ``z = ln(y p)`` is the log of the work:
constant in perfect scaling. ``L`` is the number of doublings of ``p``. Arrays are ``[fold, size]``.

Each kind of form has the methods

- ``fit(p, y, use)``: coefficients, one row per fold. Sizes with ``use`` 0 are not used.
- ``log_cost(coefficients, at)``: log cost by fitted coefficients, from :class:`Terms` that are computed once for all forms.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from modak.arrays import Array

NOISE: Final = 0.03
"""Standard deviation of the log cost of one published result, for the trend forms."""
WIDE: Final = 100.0
"""Prior variance of the intercept: practically free."""
TINY: Final = np.finfo(np.float64).tiny
"""A cost above 0, where the features of a form add up to none."""


class Terms(NamedTuple):
    """What all forms need at ``m`` sizes ``p``, where they were fitted to ``n`` sizes; with an axis for folds before the others, or without
    one."""

    log_p: Array
    from_last: Array
    """``ln(p / p_last)``, from the last size of the fit."""
    from_first: Array
    """Doublings from its first size."""
    known: Array
    """The same for its sizes: ``[n]``."""
    wander: Array
    """The part of the integrated Wiener process in the kernel: ``[m, n]``."""
    powers: Mapping[float, Array]
    """``(p / p_last)^e`` by exponent."""


class ModelAverage(NamedTuple):
    """What several forms tell together at ``m`` sizes, arrays ``[m]``."""

    log_cost: Array
    """Weighted mean."""
    disagreement: Array
    """Weighted standard deviation."""


@dataclass(frozen=True)
class NonNegative:
    """``y = sum c_k u^(e_k)``, ``c_k >= 0``, ``u = p / p_last``: the terms of Amdahl, of boundaries, of trees and of contention.

    Least squares of the relative error with weights ``exp(-recency * doublings before the last size)``.
    """

    name: str
    exponents: tuple[float, ...]
    recency: float = 0.0
    least: int = 2

    def fit(self, p: Array, y: Array, use: Array) -> Array:
        """Exact non-negative least squares: of all subsets of features with a non-negative solution, the one with the least residual.

        Ties go to fewer features, so that a series with fewer sizes than features has a unique solution.
        """
        ratio = p / _last(p, use)
        design = np.stack([ratio**e for e in self.exponents], axis=-1) / y[..., None]
        weight = use * np.exp(self.recency * np.minimum(np.log2(ratio), 0.0))
        scale = np.sqrt(np.einsum("fmk,fm->fk", design**2, weight))
        normal = np.einsum("fmi,fm,fmj->fij", design, weight, design) / scale[:, :, None] / scale[:, None, :]
        right = np.einsum("fmi,fm->fi", design, weight) / scale
        best = np.full(len(p), -np.inf)
        answer = np.zeros_like(right)
        for size in range(1, len(self.exponents) + 1):
            for subset in combinations(range(len(self.exponents)), size):
                _try_subset(list(subset), normal, right, best, answer)
        return np.asarray(answer / scale)

    def log_cost(self, coefficients: Array, at: Terms) -> Array:
        """Log cost ``[m]``, or ``[fold, m]``."""
        cost = sum(coefficients[..., k, None] * at.powers[e] for k, e in enumerate(self.exponents))
        return np.asarray(np.log(np.maximum(cost, TINY)))


@dataclass(frozen=True)
class Line:
    """``z = a + b L`` by weighted least squares; ``ridge`` pulls the slope towards ``slope``."""

    name: str
    recency: float = 0.0
    slope: float = 0.0
    ridge: float = 1e-9
    least: int = 2

    def fit(self, p: Array, y: Array, use: Array) -> Array:
        """``[level, slope]``; doublings are counted from the last used size."""
        doublings = np.log2(p / _last(p, use))
        weight = use * np.exp(self.recency * np.minimum(doublings, 0.0))
        z = np.log(y * p) - self.slope * doublings
        total = weight.sum(axis=1)
        middle = (weight * doublings).sum(axis=1) / total
        centred = doublings - middle[:, None]
        slope = (weight * centred * z).sum(axis=1) / ((weight * centred**2).sum(axis=1) + self.ridge)
        level = (weight * z).sum(axis=1) / total - slope * middle
        return np.column_stack([level, slope + self.slope])

    def log_cost(self, coefficients: Array, at: Terms) -> Array:
        """Log cost ``[m]``, or ``[fold, m]``."""
        level, slope = coefficients[..., 0, None], coefficients[..., 1, None]
        return np.asarray(level + slope / math.log(2) * at.from_last - at.log_p)


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

    def fit(self, p: Array, y: Array, use: Array) -> Array:
        """``[mean, one weight per size]``: weights of the kernel functions, 0 for sizes that are not used."""
        doublings = np.log2(p / _first(p, use))
        z = np.log(y * p) - self.slope * doublings
        mean = (use * z).sum(axis=1) / use.sum(axis=1)
        covariance = self._kernel(doublings[:, :, None], doublings[:, None, :]) * use[:, :, None] * use[:, None, :]
        noise = np.where(use > 0, NOISE**2, 1.0)
        weights = np.linalg.solve(covariance + noise[:, :, None] * np.eye(p.shape[1]), ((z - mean[:, None]) * use)[..., None])[..., 0]
        return np.column_stack([mean, weights * use])

    def log_cost(self, coefficients: Array, at: Terms) -> Array:
        """Log cost ``[m]``, or ``[fold, m]``."""
        mean, weights = coefficients[..., :1], coefficients[..., 1:]
        level = mean + WIDE * weights.sum(axis=-1, keepdims=True)
        slope = self.slope + self.spread**2 * np.vecdot(weights, at.known)[..., None]
        return np.asarray(level + slope * at.from_first + self.wander**2 * np.matvec(at.wander, weights) - at.log_p)

    def _kernel(self, a: Array, b: Array) -> Array:
        """Covariance of ``z`` at two sizes, in doublings from the first: a free level, a slope, an integrated Wiener process."""
        return np.asarray(WIDE + self.spread**2 * a * b + self.wander**2 * wander(a, b))


Form = NonNegative | Line | Trend

FORMS: Final[tuple[Form, ...]] = (
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
EXPONENTS: Final = frozenset(e for form in FORMS if isinstance(form, NonNegative) for e in form.exponents)
"""Those of all forms of the library."""


def fingerprint() -> str:
    """Eight hexadecimal digits that tell one library from another: coefficients belong to the library that they were fitted with."""
    return f"{zlib.crc32(repr((FORMS, NOISE, WIDE)).encode()):08x}"


def terms(p: Array, knots: Array, use: Array) -> Terms:
    """The terms at sizes ``p [m]`` of forms that were fitted to those of the sizes ``knots [n]`` with ``use`` 1; or of several folds."""
    first, last = np.log2(_first(knots, use)), np.log(_last(knots, use))
    log_p = np.log(p)
    from_last, from_first = log_p - last, log_p / math.log(2) - first
    known = np.log2(knots) - first
    bend = wander(from_first[..., :, None], known[..., None, :])
    return Terms(log_p, from_last, from_first, known, bend, {e: np.exp(e * from_last) for e in EXPONENTS})


def log_costs(coefficients: Iterable[npt.ArrayLike], at: Terms) -> Array:
    """Log costs by all forms, by the coefficients of each: ``[form, m]``, or ``[fold, form, m]``."""
    return np.stack([form.log_cost(np.asarray(fitted), at) for form, fitted in zip(FORMS, coefficients, strict=True)], axis=-2)


def _first(p: Array, use: Array) -> Array:
    """The first used size of each fold: ``[fold, 1]``."""
    return np.asarray(np.where(use > 0, p, np.inf).min(axis=-1, keepdims=True))


def _last(p: Array, use: Array) -> Array:
    """The last used size of each fold: ``[fold, 1]``."""
    return np.asarray(np.where(use > 0, p, 0.0).max(axis=-1, keepdims=True))


def _try_subset(subset: list[int], normal: Array, right: Array, best: Array, answer: Array) -> None:
    """Where this subset's solution is non-negative and explains more than ``best``, store it in ``best`` and ``answer`` (in place)."""
    part = normal[:, subset][:, :, subset]
    solution = np.linalg.solve(part + 1e-9 * np.eye(len(subset)), right[:, subset][..., None])[..., 0]
    explained = 2 * (solution * right[:, subset]).sum(axis=1) - np.einsum("fi,fij,fj->f", solution, part, solution)
    better = (solution >= 0).all(axis=1) & (explained > best + 1e-12)
    best[better] = explained[better]
    answer[better] = 0.0
    answer[np.ix_(better, subset)] = solution[better]


def wander(a: Array, b: Array) -> Array:
    """Covariance of an integrated Wiener process at two places, 0 where they are on different sides of its origin."""
    low, high = np.minimum(np.abs(a), np.abs(b)), np.maximum(np.abs(a), np.abs(b))
    return np.where(a * b > 0, low * low * (3 * high - low) / 6, 0.0)
