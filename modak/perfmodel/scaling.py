"""How the cost of a run changes with its size: a library of linear forms, and their combination.

Every form is linear in its features. Each is fitted to relative error over a series, and again over every prefix of the
series, so that its error at the *next* size is known; forms are averaged in log space with weights that fall with that
error. A forecast therefore rests on how well a form has foretold this very series, never on how closely it follows the
points it was given.

Sizes ``p`` count nodes, ranks or GPUs; costs ``y`` are seconds, or seconds a sample for a throughput. ``z = ln(y p)`` is
the log of the work spent: constant where a program scales perfectly. ``L`` counts doublings of ``p``.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

POWER = 4.0
"""Weights of forms fall with this power of their validation error when they extrapolate."""
SCALE = 0.3
"""Validation errors (in log cost) well below this do not tell forms apart: with few sizes they are mostly noise."""
POWER_INSIDE = 6.0
"""The same power between measured sizes, where leave-one-out errors are more numerous and tell more."""
SCALE_INSIDE = 0.05
"""The same scale between measured sizes."""
EXACT = 0.01
"""A form that is wrong by less than this has found the law of the series ..."""
SHARPNESS = 0.5
"""... and weighs more by this power."""
GUARD = 0.5
"""The part of a gain above linear that is believed beyond the largest size: caches fill only once."""
STEP = 0.05
"""Log of the cost of leaving one node, before it has been measured: between the medians of two public collections (0.014, 0.13)."""
STEP_SPREAD = 0.1
"""Standard deviation of that log cost from program to program."""
SLOPE_SPREAD = 0.1
"""Standard deviation of the slope of ``z`` between doublings, when the step is told apart from the slope."""
NOISE = 0.03
"""Standard deviation of log cost of one published point, where the trend forms need it."""
FOLDS = 24
"""At most this many prefixes, and as many left-out sizes, validate one series: the last ones."""
WIDE = 100.0
"""Variance of an intercept that is as good as free."""


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


@dataclass(frozen=True)
class Series:
    """What was measured: a cost at each size, sizes ascending and distinct. ``nodes`` at each size where it is known."""

    sizes: tuple[float, ...]
    costs: tuple[float, ...]
    nodes: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Mixture:
    """A fitted series, as plain numbers: every form's coefficients, its weights, and what its validation showed.

    ``coefficients[k]`` belong to ``FORMS[k]``; ``outside`` and ``inside`` are the weights beyond and between the measured
    sizes. ``step`` is the log cost of more than one node, where ``nodes`` tell (else 0).
    """

    sizes: tuple[float, ...]
    coefficients: tuple[tuple[float, ...], ...]
    outside: tuple[float, ...]
    inside: tuple[float, ...]
    error: float | None
    """Weighted error of log cost at the next size, over the prefixes; ``None`` where there are too few sizes to say."""
    error_inside: float | None
    """The same at sizes left out between others."""
    step: float = 0.0
    single_node: bool = False
    """Whether all sizes ran on one node, so that ``step`` is an expectation and not a measurement."""

    def as_json(self) -> dict[str, Any]:
        """Plain lists and numbers; :func:`from_json` reads them."""
        return asdict(self)


@dataclass(frozen=True)
class Forecast:
    """Forecasts at sizes: arrays of one shape. ``log_value`` is the natural log of cost."""

    log_value: Array
    disagreement: Array
    """Weighted standard deviation of the forms' log costs."""
    doublings: Array
    """Doublings beyond the measured sizes on either side; 0 between them."""
    error: Array
    """Validation error that applies (see :class:`Mixture`); NaN where unknown."""
    sizes: int
    """How many sizes the series has."""
    relatives: int = 0
    """How many other series had a say (:mod:`modak.perfmodel.relatives`)."""

    @property
    def value(self) -> Array:
        """Cost; positive."""
        return np.exp(self.log_value)


def from_json(document: Mapping[str, Any]) -> Mixture:
    """The mixture that :meth:`Mixture.as_json` wrote, or what JSON made of it."""
    return Mixture(
        sizes=tuple(document["sizes"]),
        coefficients=tuple(tuple(row) for row in document["coefficients"]),
        outside=tuple(document["outside"]),
        inside=tuple(document["inside"]),
        error=document["error"],
        error_inside=document["error_inside"],
        step=document["step"],
        single_node=document["single_node"],
    )


def fit_many(series: Sequence[Series]) -> tuple[Mixture, ...]:
    """One mixture a series, in order. Series of one length are fitted at once, with all their prefixes.

    Raises ``ValueError`` for sizes that are not ascending and positive, or costs that are not positive.
    """
    by_length: dict[int, list[int]] = defaultdict(list)
    for place, one in enumerate(series):
        _check(one)
        by_length[len(one.sizes)].append(place)
    fitted: dict[int, Mixture] = {}
    for places in by_length.values():
        fitted.update(zip(places, _fit_equal([series[place] for place in places]), strict=True))
    return tuple(fitted[place] for place in range(len(series)))


def evaluate(mixture: Mixture, sizes: npt.ArrayLike, several_nodes: npt.ArrayLike | None = None) -> Forecast:
    """The mixture's forecast at ``sizes`` (any shape); ``several_nodes`` says where more than one node runs, if it is known."""
    asked = np.asarray(sizes, dtype=np.float64)
    p = asked.ravel()
    logs = _all_forms(mixture, p)
    first, last = mixture.sizes[0], mixture.sizes[-1]
    beyond = p > last
    if beyond.any():
        logs[:, beyond] = _guarded(logs[:, beyond], _all_forms(mixture, np.array([last])), np.log(last / p[beyond]))
    within = (p >= first) & ~beyond
    weights = np.where(within, np.array(mixture.inside)[:, None], np.array(mixture.outside)[:, None])
    middle = (weights * logs).sum(axis=0)
    spread = np.sqrt((weights * (logs - middle) ** 2).sum(axis=0))
    if several_nodes is not None and mixture.step:
        several = np.asarray(several_nodes, dtype=np.float64).ravel()
        middle = middle + mixture.step * several
        spread = np.hypot(spread, STEP_SPREAD * several * mixture.single_node)
    doublings = np.maximum(np.log2(p / last), 0.0) + np.maximum(np.log2(first / p), 0.0)
    error = np.where(within, _nan(mixture.error_inside), _nan(mixture.error))
    shape = asked.shape
    return Forecast(middle.reshape(shape), spread.reshape(shape), doublings.reshape(shape), error.reshape(shape), len(mixture.sizes))


def _check(series: Series) -> None:
    sizes, costs = np.array(series.sizes), np.array(series.costs)
    if not (len(sizes) == len(costs) > 0 and sizes[0] > 0 and (np.diff(sizes) > 0).all()):
        raise ValueError("sizes: ascending, distinct and positive, one for each cost")
    if not (np.isfinite(costs).all() and (costs > 0).all()):
        raise ValueError("costs: positive and finite")


def _fit_equal(series: Sequence[Series]) -> list[Mixture]:
    """Mixtures of series that all have ``n`` sizes. Arrays: ``[series, fold, form, size]``."""
    p = np.array([one.sizes for one in series])
    y = np.array([one.costs for one in series])
    steps = np.array([_step(one) for one in series])
    several = np.array([[count > 1 for count in one.nodes] if one.nodes else [False] * p.shape[1] for one in series])
    y = y * np.exp(-steps[:, None] * several)
    count, n = p.shape
    masks, next_of, left_out = _folds(n)
    sizes = np.repeat(p, len(masks), axis=0)
    costs = np.repeat(y, len(masks), axis=0)
    use = np.tile(masks, (count, 1))
    fits = [_fit_form(form, sizes, costs, use) for form in FORMS]
    logs = np.stack([_log_cost(form, fit, sizes, _anchor(form, sizes, use), sizes) for form, fit in zip(FORMS, fits, strict=True)], axis=1)
    logs = logs.reshape(count, len(masks), len(FORMS), n)
    miss = np.abs(logs - np.log(y)[:, None, None, :])
    outside, error = _weights(miss, next_of, POWER, SCALE, n)
    inside, error_inside = _weights(miss, left_out, POWER_INSIDE, SCALE_INSIDE, n)
    single = [one.nodes is not None and max(one.nodes) == 1 for one in series]
    return [
        Mixture(
            sizes=series[i].sizes,
            coefficients=tuple(tuple(map(float, fit[i * len(masks)])) for fit in fits),
            outside=tuple(map(float, outside[i])),
            inside=tuple(map(float, inside[i])),
            error=None if error is None else float(error[i]),
            error_inside=None if error_inside is None else float(error_inside[i]),
            step=float(steps[i]),
            single_node=single[i],
        )
        for i in range(count)
    ]


def _folds(n: int) -> tuple[Array, list[tuple[int, int]], list[tuple[int, int]]]:
    """Which sizes each fold uses: all first, then every prefix, then all but one inner size; and (fold, size it is judged at)."""
    masks = [np.ones(n)]
    next_of = []
    for k in range(max(2, n - FOLDS), n):
        next_of.append((len(masks), k))
        masks.append((np.arange(n) < k).astype(np.float64))
    left_out = []
    for k in range(max(1, n - 1 - FOLDS), n - 1):
        left_out.append((len(masks), k))
        masks.append((np.arange(n) != k).astype(np.float64))
    return np.array(masks), next_of, left_out


def _weights(miss: Array, judged: Sequence[tuple[int, int]], power: float, scale: float, n: int) -> tuple[Array, Array | None]:
    """Weights ``(error + scale)^-power (error + EXACT)^-SHARPNESS`` of the forms of each series, and the weighted error."""
    able = np.array([n >= form.least for form in FORMS], dtype=np.float64)
    if not judged:
        return np.tile(able / able.sum(), (miss.shape[0], 1)), None
    error = np.mean([miss[:, fold, :, size] for fold, size in judged], axis=0)
    raw = able * (error + scale) ** -power * (error + EXACT) ** -SHARPNESS
    weights = raw / raw.sum(axis=1, keepdims=True)
    return weights, (weights * error).sum(axis=1)


def _step(series: Series) -> float:
    """Log cost of leaving one node: expected where all ran on one, told apart from the slope by ridge where some did not.

    ``z = a + b L + step * [nodes > 1]`` with ``b ~ N(STEP, SLOPE_SPREAD^2)`` and ``step ~ N(STEP, STEP_SPREAD^2)``.
    """
    if series.nodes is None or min(series.nodes) > 1:
        return 0.0
    several = np.array([count > 1 for count in series.nodes], dtype=np.float64)
    if not several.any():
        return STEP
    doublings = np.log2(np.array(series.sizes))
    if (several == (np.array(series.sizes) > series.sizes[0])).all():
        return 0.0  # one size is one node: a node count, not a layout within a node
    design = np.column_stack([np.ones_like(doublings), doublings - doublings.mean(), several])
    prior = np.array([0.0, STEP, STEP])
    precision = np.diag([1 / WIDE, 1 / SLOPE_SPREAD**2, 1 / STEP_SPREAD**2])
    z = np.log(np.array(series.costs) * np.array(series.sizes))
    normal = design.T @ design / NOISE**2 + precision
    change = np.linalg.solve(normal, design.T @ (z - design @ prior) / NOISE**2)
    return float(change[2] + prior[2])


def _fit_form(form: Form, p: Array, y: Array, use: Array) -> Array:
    """Coefficients, one row a fold. ``p``, ``y``, ``use``: ``[fold, size]``; sizes with ``use`` 0 are not seen."""
    anchor = _anchor(form, p, use)
    if isinstance(form, NonNegative):
        return _fit_nonnegative(form, p, y, use, anchor)
    return _fit_line(form, p, y, use, anchor) if isinstance(form, Line) else _fit_trend(form, p, y, use, anchor)


def _anchor(form: Form, p: Array, use: Array) -> Array:
    """The size that features are relative to: the first for trends, the last for the others. ``[fold, 1]``."""
    seen = np.where(use > 0, p, np.inf).min(axis=1) if isinstance(form, Trend) else np.where(use > 0, p, 0.0).max(axis=1)
    return np.asarray(seen)[:, None]


def _fit_nonnegative(form: NonNegative, p: Array, y: Array, use: Array, anchor: Array) -> Array:
    """Exact non-negative least squares: of all subsets of features whose solution is non-negative, the one with least residual.

    Ties go to fewer features, so that a series with fewer sizes than features has one answer too.
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
    """Where this subset's solution is non-negative and explains more than ``best``, write it (both arrays are the caller's own)."""
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
    """``[mean, one weight a size]``: the kernel functions' weights; sizes that are not seen weigh nothing."""
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


def _log_cost(form: Form, fit: Array, p: Array, anchor: Array, knots: Array) -> Array:
    """Log cost at sizes ``p [fold, m]`` by the coefficients ``fit [fold, ...]``; ``knots [fold, n]`` are the measured sizes."""
    doublings = np.log2(p / anchor)
    if isinstance(form, NonNegative):
        cost = np.stack([(p / anchor) ** e for e in form.exponents], axis=-1) @ fit[:, :, None]
        return np.asarray(np.log(np.maximum(cost[..., 0], np.finfo(np.float64).tiny)))
    if isinstance(form, Line):
        return np.asarray(fit[:, :1] + fit[:, 1:2] * doublings - np.log(p))
    known = np.log2(knots / anchor)
    bend: Array = np.einsum("fmn,fn->fm", _kernel(form, doublings[:, :, None], known[:, None, :]), fit[:, 1:])
    return np.asarray(fit[:, :1] + form.slope * doublings + bend - np.log(p))


def _all_forms(mixture: Mixture, p: Array) -> Array:
    """Log cost by every form: ``[form, size]``. The same numbers as :func:`_log_cost`, with what forms share computed once."""
    log_p = np.log(p)
    from_last, from_first = log_p - math.log(mixture.sizes[-1]), log_p / math.log(2) - math.log2(mixture.sizes[0])
    known = np.log2(np.array(mixture.sizes)) - math.log2(mixture.sizes[0])
    low, high = np.minimum(np.abs(from_first[:, None]), known), np.maximum(np.abs(from_first[:, None]), known)
    wander = np.where(from_first[:, None] * known > 0, low * low * (3 * high - low) / 6, 0.0)
    powers = {e: np.exp(e * from_last) for e in {e for form in FORMS if isinstance(form, NonNegative) for e in form.exponents}}
    tiny = np.finfo(np.float64).tiny
    rows = np.empty((len(FORMS), len(p)))
    for row, form, fit in zip(rows, FORMS, mixture.coefficients, strict=True):
        if isinstance(form, NonNegative):
            row[:] = np.log(np.maximum(sum(c * powers[e] for c, e in zip(fit, form.exponents, strict=True) if c), tiny))
        elif isinstance(form, Line):
            row[:] = fit[0] + fit[1] / math.log(2) * from_last - log_p
        else:
            weights = np.array(fit[1:])
            slope = form.slope + form.spread**2 * float(weights @ known)
            row[:] = fit[0] + WIDE * weights.sum() + slope * from_first + form.wander**2 * (wander @ weights) - log_p
    return rows


def _guarded(logs: Array, at_last: Array, fall: Array) -> Array:
    """Beyond the last size a form may fall faster than perfect scaling only by the part :data:`GUARD` of what it claims."""
    perfect = at_last + fall
    return np.where(logs < perfect, perfect - GUARD * (perfect - logs), logs)


def _nan(value: float | None) -> float:
    return math.nan if value is None else value
