"""The library of forms: functions for the cost of a run over its size, and how each is fitted.

Every form is linear in its features and fitted to the relative error, for all folds of all series of one length at once. Sizes ``p``
count nodes, ranks, GPUs or threads; costs ``y`` are in seconds (per unit for a throughput). ``z = ln(y p)`` is the log of the work:
constant in perfect scaling. ``L`` is the number of doublings of ``p``. Arrays are ``[fold, size]``.

Each kind of form has the methods

- ``fit(p, y, use)``: coefficients, one row per fold. Sizes with ``use`` 0 are not used.
- ``log_cost(coefficients, p, knots, use)``: log cost at sizes ``p [fold, m]``, by coefficients that were fitted to those of the sizes
  ``knots [fold, n]`` with ``use`` 1.
- ``log_cost_of_series(fitted, at)``: the same for one series, fitted to all its sizes, from terms that are computed once for all forms:
  ``[m]``.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

NOISE: Final = 0.03
"""Standard deviation of the log cost of one published result, for the trend forms."""
WIDE: Final = 100.0
"""Prior variance of the intercept: practically free."""
TINY: Final = np.finfo(np.float64).tiny
"""A cost above 0, where the features of a form add up to none."""


class Terms(NamedTuple):
    """What the forms of one series have in common at the sizes ``p [m]`` that are asked for."""

    log_p: Array
    from_last: Array
    """``ln(p / p_last)``."""
    from_first: Array
    """Doublings from the first measured size."""
    known: Array
    """The same for the measured sizes: ``[size]``."""
    wander: Array
    """The part of the integrated Wiener process in the kernel: ``[m, size]``."""
    powers: Mapping[float, Array]
    """``(p / p_last)^e`` by exponent."""


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

    def log_cost(self, coefficients: Array, p: Array, knots: Array, use: Array) -> Array:
        """Log cost ``[fold, m]`` at sizes ``p``, by the coefficients of each fold."""
        ratio = p / _last(knots, use)
        cost = np.stack([ratio**e for e in self.exponents], axis=-1) @ coefficients[:, :, None]
        return np.asarray(np.log(np.maximum(cost[..., 0], TINY)))

    def log_cost_of_series(self, fitted: Sequence[float], at: Terms) -> Array:
        """Log cost ``[m]`` of one series by its ``fitted`` coefficients, at the sizes of ``at``."""
        cost = sum(c * at.powers[e] for c, e in zip(fitted, self.exponents, strict=True) if c)
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

    def log_cost(self, coefficients: Array, p: Array, knots: Array, use: Array) -> Array:
        """Log cost ``[fold, m]`` at sizes ``p``, by the coefficients of each fold."""
        return np.asarray(coefficients[:, :1] + coefficients[:, 1:2] * np.log2(p / _last(knots, use)) - np.log(p))

    def log_cost_of_series(self, fitted: Sequence[float], at: Terms) -> Array:
        """Log cost ``[m]`` of one series by its ``fitted`` coefficients, at the sizes of ``at``."""
        return fitted[0] + fitted[1] / math.log(2) * at.from_last - at.log_p


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

    def log_cost(self, coefficients: Array, p: Array, knots: Array, use: Array) -> Array:
        """Log cost ``[fold, m]`` at sizes ``p``, by the coefficients of each fold."""
        anchor = _first(knots, use)
        doublings, known = np.log2(p / anchor), np.log2(knots / anchor)
        bend: Array = np.einsum("fmn,fn->fm", self._kernel(doublings[:, :, None], known[:, None, :]), coefficients[:, 1:])
        return np.asarray(coefficients[:, :1] + self.slope * doublings + bend - np.log(p))

    def log_cost_of_series(self, fitted: Sequence[float], at: Terms) -> Array:
        """Log cost ``[m]`` of one series by its ``fitted`` coefficients, at the sizes of ``at``."""
        weights = np.array(fitted[1:])
        slope = self.slope + self.spread**2 * float(weights @ at.known)
        found: Array = fitted[0] + WIDE * weights.sum() + slope * at.from_first + self.wander**2 * (at.wander @ weights) - at.log_p
        return found

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


def log_costs(sizes: Sequence[float], coefficients: Sequence[Sequence[float]], p: Array) -> Array:
    """Log cost ``[form, m]`` of one series at ``p [m]``, by coefficients that were fitted to all its ``sizes``."""
    log_p = np.log(p)
    from_last, from_first = log_p - math.log(sizes[-1]), log_p / math.log(2) - math.log2(sizes[0])
    known = np.log2(np.array(sizes)) - math.log2(sizes[0])
    at = Terms(log_p, from_last, from_first, known, wander(from_first[:, None], known), {e: np.exp(e * from_last) for e in EXPONENTS})
    rows = np.empty((len(FORMS), len(p)))
    for row, form, fitted in zip(rows, FORMS, coefficients, strict=True):
        row[:] = form.log_cost_of_series(fitted, at)
    return rows


def _first(p: Array, use: Array) -> Array:
    """The first used size of each fold: ``[fold, 1]``."""
    return np.asarray(np.where(use > 0, p, np.inf).min(axis=1))[:, None]


def _last(p: Array, use: Array) -> Array:
    """The last used size of each fold: ``[fold, 1]``."""
    return np.asarray(np.where(use > 0, p, 0.0).max(axis=1))[:, None]


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
