"""Accuracy of a model on results that it has not seen: which results to hide, and figures for the predictions.

Pure: series in, tasks out; predictions in, figures out. Errors are relative to the measured cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from modak.perfmodel.forms import Array
from modak.perfmodel.intervals import PUBLISHED, Calibration, Sides, half_widths
from modak.perfmodel.relatives import compare, pool
from modak.perfmodel.scaling import Forecast, Series, evaluate, fit_many

LEAST_SIZES = 5
"""Shorter series are not hidden from: what would be left shows nothing."""
KEEP = 0.75
"""The efficiency of the decision that is judged: the largest size that keeps it."""


@dataclass(frozen=True)
class Observed:
    """A series with what it may be grouped by: its collection, and the application whose other series are its relatives."""

    series: Series
    collection: str
    application: str


@dataclass(frozen=True)
class Task:
    """One question: what is shown, what is hidden. ``place`` is the series' own."""

    place: int
    shown: Series
    asked: tuple[float, ...]
    actual: tuple[float, ...]
    nodes: tuple[int, ...] | None
    """Where sizes are none."""


@dataclass(frozen=True)
class Summary:
    """Absolute relative errors, in parts of one; ``off_by_double`` and ``non_positive`` are parts of all predictions."""

    count: int
    median: float
    p90: float
    off_by_double: float
    non_positive: float


@dataclass(frozen=True)
class Coverage:
    """How often intervals held what was measured, and how wide they were (median of ``upper / value``)."""

    overall: float
    by_collection: Mapping[str, float]
    median_width: float


@dataclass(frozen=True)
class Bin:
    """Forecasts of one bin: their number, the median width of their intervals, how often these held, the median error."""

    name: str
    count: int
    median_width: float
    coverage: float
    median_error: float


Split = Callable[[int], Iterable[tuple[Sequence[int], Sequence[int]]]]


def _largest(count: int) -> Split:
    return lambda n: [(range(n - count), range(n - count, n))]


def _smaller_half(n: int) -> Iterable[tuple[Sequence[int], Sequence[int]]]:
    half = (n + 1) // 2
    yield range(half), range(half, n)


def _each_inner(n: int) -> Iterable[tuple[Sequence[int], Sequence[int]]]:
    for out in range(1, n - 1):
        yield [place for place in range(n) if place != out], [out]


def _every_prefix(n: int) -> Iterable[tuple[Sequence[int], Sequence[int]]]:
    for shown in range(1, n):
        yield range(shown), range(shown, n)


PROTOCOLS: Mapping[str, Split] = {
    "largest one": _largest(1),
    "largest two": _largest(2),
    "smaller half": _smaller_half,
    "each inner size": _each_inner,
    "every prefix": _every_prefix,
}
"""What is hidden from a series of ``n`` sizes: pairs of the places shown and hidden."""


def tasks(observed: Sequence[Observed], protocol: str, least_sizes: int = LEAST_SIZES) -> tuple[Task, ...]:
    """The tasks that a protocol makes of all series with ``least_sizes`` sizes or more."""
    made = []
    for place, one in enumerate(observed):
        if len(one.series.sizes) >= least_sizes:
            made += [_task(place, one.series, shown, hidden) for shown, hidden in PROTOCOLS[protocol](len(one.series.sizes))]
    return tuple(made)


def forecasts(all_tasks: Sequence[Task]) -> tuple[Forecast, ...]:
    """Our forecast of each task, from its own series alone."""
    mixtures = fit_many([task.shown for task in all_tasks])
    return tuple(evaluate(mixture, task.asked, task.nodes) for mixture, task in zip(mixtures, all_tasks, strict=True))


def with_relatives(all_tasks: Sequence[Task], observed: Sequence[Observed], own: Sequence[Forecast]) -> tuple[Forecast, ...]:
    """The same after the other series of the application (in the same collection, whole) have had their say."""
    families: dict[tuple[str, str], list[int]] = {}
    for place, one in enumerate(observed):
        families.setdefault((one.collection, one.application), []).append(place)
    pooled = []
    for task, forecast in zip(all_tasks, own, strict=True):
        one = observed[task.place]
        others = [observed[place].series for place in families[(one.collection, one.application)] if place != task.place]
        pooled.append(pool(forecast, task.shown.sizes[-1], compare(task.shown, others), task.asked))
    return tuple(pooled)


def summarise(actual: Array, predicted: Array) -> Summary:
    """Figures of predictions (arrays of one length)."""
    error = np.abs(predicted / actual - 1)
    return Summary(
        count=len(error),
        median=float(np.median(error)),
        p90=float(np.quantile(error, 0.9)),
        off_by_double=float(np.mean(error > 1)),
        non_positive=float(np.mean(~(predicted > 0))),
    )


def misses(all_tasks: Sequence[Task], answers: Sequence[Forecast]) -> Array:
    """Log of measured over forecast cost, of all tasks in a row."""
    return np.concatenate([np.log(task.actual) - answer.log_value for task, answer in zip(all_tasks, answers, strict=True)])


def widths(answers: Sequence[Forecast], level: float = 0.9, calibration: Calibration = PUBLISHED) -> Sides:
    """How far the intervals reach in log cost, of all forecasts in a row."""
    return in_a_row([half_widths(answer, level, calibration) for answer in answers])


def in_a_row(several: Sequence[Sides]) -> Sides:
    """The intervals of several forecasts as those of one."""
    return Sides(*(np.concatenate(side) for side in zip(*several, strict=True)))


def coverage(miss: Array, width: Sides, collections: Sequence[str]) -> Coverage:
    """How the intervals did; ``collections`` names the collection of each."""
    held = width.holds(miss)
    names = np.array(collections)
    each = {str(name): float(held[names == name].mean()) for name in np.unique(names)}
    return Coverage(float(held.mean()), each, float(np.exp(np.median(width.middle))))


def bins(miss: Array, width: Sides, by: Array, edges: Sequence[float], name: str) -> tuple[Bin, ...]:
    """Widths and coverage by bins of ``by`` (doublings, or disagreement): from each edge up to the next."""
    places = np.digitize(by, edges)
    found = []
    for place in np.unique(places):
        here = places == place
        low = edges[place - 1] if place > 0 else -np.inf
        high = edges[place] if place < len(edges) else np.inf
        held = float(width.holds(miss)[here].mean())
        middle = float(np.exp(np.median(width.middle[here])))
        found.append(Bin(f"{low:g} <= {name} < {high:g}", int(here.sum()), middle, held, float(np.median(np.abs(np.expm1(-miss[here]))))))
    return tuple(found)


def efficient_size(sizes: Array, costs: Array, keep: float = KEEP) -> float:
    """The largest size whose efficiency, relative to the smallest size, is ``keep`` or more."""
    efficiency = costs[0] * sizes[0] / (costs * sizes)
    return float(sizes[np.flatnonzero(efficiency >= keep)[-1]])


def decisions(all_tasks: Sequence[Task], observed: Sequence[Observed], predicted: Sequence[Array], keep: float = KEEP) -> float:
    """The part of tasks in which the predictions of what is hidden lead to the same :func:`efficient_size` as the measurements."""
    right = []
    for task, values in zip(all_tasks, predicted, strict=True):
        whole = observed[task.place].series
        sizes, costs = np.array(whole.sizes), np.array(whole.costs)
        guess = costs.copy()
        guess[np.searchsorted(sizes, task.asked)] = values
        right.append(efficient_size(sizes, guess, keep) == efficient_size(sizes, costs, keep))
    return float(np.mean(right))


def _task(place: int, series: Series, shown: Sequence[int], hidden: Sequence[int]) -> Task:
    nodes = series.nodes
    return Task(
        place=place,
        shown=Series(_pick(series.sizes, shown), _pick(series.costs, shown), None if nodes is None else tuple(nodes[k] for k in shown)),
        asked=_pick(series.sizes, hidden),
        actual=_pick(series.costs, hidden),
        nodes=None if nodes is None else tuple(nodes[k] for k in hidden),
    )


def _pick(values: Sequence[float], places: Sequence[int]) -> tuple[float, ...]:
    return tuple(values[place] for place in places)
