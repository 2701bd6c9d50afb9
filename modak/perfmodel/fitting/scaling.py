"""How the cost of a run changes with its size: the forms of one series, and their combination.

Each form (:mod:`modak.perfmodel.fitting.forms`) is fitted to a series, and again to every prefix of it, so that its error at the *next*
size is known. Forms are averaged in log space with weights that fall with that error. So a form counts by how well it has predicted this
series, not by how closely it follows the points that it was fitted to.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from modak.arrays import Array, Flags
from modak.grouping import grouped
from modak.perfmodel.fitting import forms, nodestep
from modak.perfmodel.fitting.forms import FORMS, ModelAverage

POWER: Final = 4.0
"""Weights of forms fall with this power of their validation error (beyond the measured sizes)."""
SCALE: Final = 0.3
"""Added to validation errors (in log cost): much smaller differences are noise of series with few sizes."""
POWER_INSIDE: Final = 6.0
"""The same power between measured sizes, where leave-one-out errors are more numerous and more reliable."""
SCALE_INSIDE: Final = 0.05
"""The same scale between measured sizes."""
EXACT: Final = 0.01
"""Forms with an error well below this have found the law of the series ..."""
SHARPNESS: Final = 0.5
"""... and gain weight by this power."""
FOLDS: Final = 24
"""A series is validated with at most this many prefixes and this many left-out sizes, the last ones."""
UNKNOWN_ERROR: Final = 0.15
"""Used as validation error of a series with too few sizes to have one."""
FADES: Final = 0.25
"""Beyond the measured sizes, what the forms missed at the nearest of them is added, less by this factor with each doubling from there: so
the forecast goes on from what was measured, and follows the forms further away. Public series do not tell how fast (0 to 0.5)."""
MISSED: Final = 0.35
"""In the middle of two measured sizes, the part of what the forms missed there that counts as doubt, in quadrature with their disagreement;
nearer to them less. Where they missed by more than 0.2, 90 % of the sizes left out of public series are then in the interval."""
CROWDED: Final = 0.04
"""Log cost that each doubling of ranks or threads beyond the measured ones adds on one node, to what the forms tell: its cores share memory
and power, and losses grow up to the last of them. Chosen among 0.02 to 0.1 on 29 public series within a node and 90 others."""
CEILING: Final = 0.1
"""Beyond the measured sizes, losses (of log work, per doubling) above the worst of the series plus this are doubted."""
CEILING_WITHIN: Final = 0.3
"""The same within one node, where more ranks or threads share its memory: once that is used up, each doubling may lose all that it adds."""
FORETOLD: Final = 0.005
"""A form whose errors (in log cost) at the next sizes are below this is believed, even if it predicts larger losses than seen so far."""
QUARTERS: Final = (0.25, 0.5, 0.75)
"""Points between two measured sizes (in log space) at which the disagreement of the forms is evaluated."""

Number = TypeVar("Number", int, float)


@dataclass(frozen=True)
class Series:
    """Measured costs at ascending, distinct sizes, and the number of ``nodes`` at each size; ``None`` if sizes are nodes."""

    sizes: tuple[float, ...]
    costs: tuple[float, ...]
    nodes: tuple[int, ...] | None = None
    on_cores: bool = False
    """Whether sizes are ranks or threads, which share the memory of their nodes, and not GPUs, which have their own."""

    def at(self, places: Sequence[int]) -> Series:
        """The series at some of its sizes."""

        def some(column: Sequence[Number]) -> tuple[Number, ...]:
            return tuple(column[place] for place in places)

        return Series(some(self.sizes), some(self.costs), self.nodes and some(self.nodes), self.on_cores)

    @cached_property
    def log_work(self) -> tuple[Array, Array]:
        """The logs of the sizes and of the work ``y p`` there."""
        sizes = np.array(self.sizes)
        return np.log(sizes), np.log(np.array(self.costs) * sizes)


@dataclass(frozen=True)
class Mixture:
    """A fitted series, as plain numbers: coefficients and weights of every form, and validation errors.

    ``coefficients[k]`` belong to ``FORMS[k]``; ``outside`` and ``inside`` are the weights beyond and between the measured
    sizes. ``missed`` is the log of measured over forecast cost at each size, between the sizes; ``missed_beyond`` that at the first and at
    the last one, beyond them. ``step`` is the log cost of more than one node, where ``nodes`` tell (else 0).
    """

    sizes: tuple[float, ...]
    coefficients: tuple[tuple[float, ...], ...]
    outside: tuple[float, ...]
    inside: tuple[float, ...]
    error: float | None
    """Weighted mean error of log cost at the next size, over the prefixes; ``None``: too few sizes."""
    error_inside: float | None
    """The same at inner sizes that were left out."""
    missed: tuple[float, ...] = ()
    missed_beyond: tuple[float, ...] = ()
    step: float = 0.0
    single_node: bool = False
    """Whether all sizes ran on one node, so that ``step`` is expected and not measured."""
    crowds: bool = False
    """Whether these are ranks or threads on one node, where losses grow up to its last core."""
    steepest: float = 0.0
    """The largest loss of log work per doubling between two measured sizes; at least 0."""
    doubt: float = 0.0
    """The largest disagreement of the forms between the measured sizes, with the most that they missed there."""
    least_error: float | None = None
    """As ``error``, of the best form."""


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
    """How many other series contributed (:mod:`modak.perfmodel.forecasting.pooling`)."""
    doubt: float = 0.0
    """The largest disagreement between measured sizes ..."""
    error_inside: float = math.nan
    """... and the validation error there: no forecast beyond them is more certain."""
    smaller: Flags | bool = False
    """Which of the sizes are below the measured ones."""
    crowded: Flags | bool = False
    """Which of the sizes are more ranks or threads on the one node that was measured."""

    @property
    def value(self) -> Array:
        """Cost; positive."""
        return np.exp(self.log_value)


def fit_many(series: Sequence[Series]) -> tuple[Mixture, ...]:
    """One mixture per series, in order. Series of one length are fitted together, with all their prefixes.

    Raises ``ValueError`` for sizes that are not ascending and positive, or costs that are not positive.
    """
    for one in series:
        _check(one)
    fitted: dict[int, Mixture] = {}
    for places in grouped(range(len(series)), lambda place: len(series[place].sizes)).values():
        fitted.update(zip(places, _fit_equal([series[place] for place in places]), strict=True))
    return tuple(fitted[place] for place in range(len(series)))


def beyond(at: npt.ArrayLike, first: float, last: float) -> Array:
    """Doublings between sizes ``at`` (any shape) and the range from the ``first`` to the ``last`` measured one; 0 within it."""
    sizes = np.asarray(at, dtype=np.float64)
    return np.asarray(np.maximum(np.maximum(np.log2(sizes / last), np.log2(first / sizes)), 0.0))


def evaluate(mixture: Mixture, sizes: npt.ArrayLike, nodes: npt.ArrayLike | None = None) -> Forecast:
    """The mixture's forecast at ``sizes`` (any shape); ``nodes`` are the node counts there, if sizes count something else."""
    asked = np.asarray(sizes, dtype=np.float64)
    p = asked.ravel()
    on = None if nodes is None else np.broadcast_to(np.asarray(nodes, dtype=np.float64), asked.shape).ravel()
    within = np.full(p.shape, mixture.crowds) if on is None else mixture.crowds & (on == 1)
    told = _combined(mixture, p, within)
    if on is not None and mixture.step:
        told = _across_nodes(mixture, p, on, told)
    first, last = mixture.sizes[0], mixture.sizes[-1]
    doublings = beyond(p, first, last)
    inside = _nan(mixture.error_inside)
    error = np.where((p >= first) & (p <= last), inside, _nan(mixture.error))
    log_value, disagreement, doublings, error = (values.reshape(asked.shape) for values in (*told, doublings, error))
    return Forecast(
        log_value,
        disagreement,
        doublings,
        error,
        len(mixture.sizes),
        doubt=mixture.doubt,
        error_inside=inside,
        smaller=asked < first,
        crowded=(within & (p > last)).reshape(asked.shape),
    )


def _combined(mixture: Mixture, p: Array, within: Flags) -> ModelAverage:
    """What the forms tell, without the step between nodes; ``within [size]``: on one node that gets crowded.

    The forecast goes through what was measured, wherever the forms are. The part of an extrapolation that is not believed still counts as
    disagreement.
    """
    logs = _log_costs(mixture, p)
    inner, outer = (p >= mixture.sizes[0]) & (p <= mixture.sizes[-1]), p > mixture.sizes[-1]
    told, missed = _averaged(mixture, logs, inner), _missed(mixture, p, inner)
    log_cost, disagreement = told.log_cost + missed, np.hypot(told.disagreement, MISSED * missed * _way(mixture, p))
    if not outer.any():
        return ModelAverage(log_cost, disagreement)
    rise = np.log(p[outer] / mixture.sizes[-1])
    losses = logs[:, outer] - _log_costs(mixture, np.array(mixture.sizes[-1:])) + rise
    doublings, crowded = rise / math.log(2), within[outer]
    most = (mixture.steepest + np.where(crowded, CEILING_WITHIN, CEILING)) * doublings
    log_cost[outer] -= np.array(mixture.outside) @ excess(losses, most, mixture.least_error)
    log_cost[outer] += CROWDED * doublings * crowded
    return ModelAverage(log_cost, disagreement)


def excess(losses: Array, most: Array, error: float | None) -> Array:
    """The part of ``losses [form, size]`` of log work beyond the largest size that is not believed, and has to be subtracted.

    Of a loss, the part above the ``most [size]`` that may be expected, unless ``error`` (validation error of the best form; ``None``:
    unknown) is small. Of a superlinear gain, all: caches fill only once.
    """
    doubted = 1.0 if error is None else 1 - 1 / (1 + (error / FORETOLD) ** 2)
    return np.asarray(doubted * np.maximum(losses - most, 0.0) + np.minimum(losses, 0.0))


def _log_costs(mixture: Mixture, p: Array) -> Array:
    """The log costs by all forms: ``[form, size]``."""
    sizes = np.array(mixture.sizes)
    return forms.log_costs(mixture.coefficients, forms.terms(p, sizes, np.ones_like(sizes)))


def _missed(mixture: Mixture, p: Array, inner: Flags) -> Array:
    """What the forms miss: between the measured sizes in proportion to the logs of the sizes, beyond them as at the nearest, fading."""
    at, first, last = np.log2(p), math.log2(mixture.sizes[0]), math.log2(mixture.sizes[-1])
    away = np.maximum(at - last, first - at)
    of_ends = np.where(away == at - last, mixture.missed_beyond[1], mixture.missed_beyond[0])
    return np.where(inner, np.interp(at, np.log2(mixture.sizes), mixture.missed), of_ends * FADES ** np.maximum(away, 0.0))


def _way(mixture: Mixture, p: Array) -> Array:
    """How far sizes are from the measured ones beside them: 1 in the middle of two (in logs), 0 at and beyond measured sizes."""
    place = np.interp(np.log2(p), np.log2(mixture.sizes), np.arange(len(mixture.sizes))) % 1
    return np.asarray(2 * np.sqrt(place * (1 - place)))


def _averaged(mixture: Mixture, logs: Array, inner: Flags) -> ModelAverage:
    """The weighted mean and standard deviation over forms, by the weights that hold between the measured sizes and beyond them."""
    inside, outside = np.array(mixture.inside), np.array(mixture.outside)
    middle = np.where(inner, inside @ logs, outside @ logs)
    squares = (logs - middle) ** 2
    return ModelAverage(middle, np.sqrt(np.where(inner, inside @ squares, outside @ squares)))


def _across_nodes(mixture: Mixture, p: Array, nodes: Array, whole: ModelAverage) -> ModelAverage:
    """What the forms tell with the step to several nodes; ``whole`` is without it."""
    stepped = whole._replace(log_cost=whole.log_cost + mixture.step * (nodes > 1))
    if not mixture.single_node:
        return stepped
    return nodestep.multiplied(nodes, mixture.step, stepped, _combined(mixture, p / nodes, np.full(p.shape, mixture.crowds)))


def _check(series: Series) -> None:
    sizes, costs = np.array(series.sizes), np.array(series.costs)
    if not (len(sizes) == len(costs) > 0 and sizes[0] > 0 and (np.diff(sizes) > 0).all()):
        raise ValueError("sizes: ascending, distinct and positive, one for each cost")
    if not (np.isfinite(costs).all() and (costs > 0).all()):
        raise ValueError("costs: positive and finite")


def _fit_equal(series: Sequence[Series]) -> list[Mixture]:
    """Mixtures of series that all have ``n`` sizes. Arrays: ``[series, fold, form, size]``."""
    p = np.array([one.sizes for one in series])
    y, steps = _without_steps(series)
    count, n = p.shape
    folds = _folds(n)
    sizes = np.repeat(p, len(folds.masks), axis=0)
    costs = np.repeat(y, len(folds.masks), axis=0)
    use = np.tile(folds.masks, (count, 1))
    fits = [form.fit(sizes, costs, use) for form in FORMS]
    logs = forms.log_costs(fits, forms.terms(sizes, sizes, use)).reshape(count, len(folds.masks), len(FORMS), n)
    whole = [fit[:: len(folds.masks)] for fit in fits]  # to all sizes: [series, coefficient]
    miss = np.abs(logs - np.log(y)[:, None, None, :])
    ahead, between = _errors(miss, folds.next_sizes), _errors(miss, folds.left_out)
    outside, inside = _weights(ahead, POWER, SCALE, n, count), _weights(between, POWER_INSIDE, SCALE_INSIDE, n, count)
    error, error_inside = _weighted(outside, ahead), _weighted(inside, between)
    doubt = _doubt(whole, p, inside)
    missed, missed_beyond = (np.log(y) - (weights[:, :, None] * logs[:, 0]).sum(axis=1) for weights in (inside, outside))
    losses = np.diff(np.log(y * p)) / np.diff(np.log2(p))
    single = [one.nodes is not None and max(one.nodes) == 1 for one in series]
    return [
        Mixture(
            sizes=series[i].sizes,
            coefficients=tuple(tuple(fit[i].tolist()) for fit in whole),
            outside=tuple(outside[i].tolist()),
            inside=tuple(inside[i].tolist()),
            error=error[i],
            error_inside=error_inside[i],
            missed=tuple(missed[i].tolist()),
            missed_beyond=(float(missed_beyond[i, 0]), float(missed_beyond[i, -1])),
            step=float(steps[i]),
            single_node=single[i],
            crowds=single[i] and series[i].on_cores,
            steepest=float(losses[i].max(initial=0.0)),
            doubt=math.hypot(doubt[i], MISSED * np.abs(missed[i]).max()),
            least_error=None if ahead is None else float(ahead[i].min()),
        )
        for i in range(count)
    ]


def _without_steps(series: Sequence[Series]) -> tuple[Array, Array]:
    """Costs ``[series, size]`` as if all sizes were on one node, and the log cost ``[series]`` of leaving it."""
    steps = np.array([nodestep.estimate(one.sizes, one.costs, one.nodes) for one in series])
    several = np.array([one.nodes or (1,) * len(one.sizes) for one in series]) > 1
    return np.array([one.costs for one in series]) * np.exp(-steps[:, None] * several), steps


class _Folds(NamedTuple):
    """Subsets of sizes to fit to: first all, then prefixes, then all but one inner size."""

    masks: Array
    """1 where a fold uses a size: ``[fold, size]``."""
    next_sizes: list[tuple[int, int]]
    """(fold, size) of each prefix and the size that follows it."""
    left_out: list[tuple[int, int]]
    """(fold, size) of each fold without an inner size and that size."""


def _folds(n: int) -> _Folds:
    """The folds of a series with ``n`` sizes; of either kind at most :data:`FOLDS`, those of the largest sizes."""
    every, ends, inner = np.arange(n), range(max(2, n - FOLDS), n), range(max(1, n - 1 - FOLDS), n - 1)
    masks = [every < n, *(every < end for end in ends), *(every != out for out in inner)]
    return _Folds(np.array(masks, dtype=np.float64), list(enumerate(ends, 1)), list(enumerate(inner, 1 + len(ends))))


def _errors(miss: Array, judged: Sequence[tuple[int, int]]) -> Array | None:
    """Mean absolute errors ``[series, form]`` over the (fold, size) judged; ``None`` where there are none."""
    return np.mean([miss[:, fold, :, size] for fold, size in judged], axis=0) if judged else None


def _weights(error: Array | None, power: float, scale: float, n: int, count: int) -> Array:
    """Weights ``(error + scale)^-power (error + EXACT)^-SHARPNESS`` of the forms of each series: ``[series, form]``."""
    able = np.tile([float(n >= form.least) for form in FORMS], (count, 1))
    raw = able if error is None else able * (error + scale) ** -power * (error + EXACT) ** -SHARPNESS
    return np.asarray(raw / raw.sum(axis=1, keepdims=True))


def _weighted(weights: Array, error: Array | None) -> list[float | None]:
    return [None] * len(weights) if error is None else [float(one) for one in (weights * error).sum(axis=1)]


def _doubt(fits: Sequence[Array], p: Array, weights: Array) -> Array:
    """The largest disagreement of the forms, fitted to all sizes ``p [series, size]``, at and between these. ``[series]``."""
    low, ratio = np.log(p[:, :-1, None]), np.diff(np.log(p))[:, :, None]
    at = np.concatenate([p, np.exp(low + ratio * np.array(QUARTERS)).reshape(len(p), -1)], axis=1)
    logs = forms.log_costs(fits, forms.terms(at, p, np.ones_like(p)))
    middle = (weights[:, :, None] * logs).sum(axis=1, keepdims=True)
    return np.asarray(np.sqrt((weights[:, :, None] * (logs - middle) ** 2).sum(axis=1)).max(axis=1))


def _nan(value: float | None) -> float:
    return math.nan if value is None else value
