"""Accuracy of a model on hidden results: which results to hide (tasks), and figures for the predictions.

Errors are relative to the measured cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from modak.arrays import Array
from modak.perfmodel.fitting.scaling import Series
from modak.perfmodel.intervals import HalfWidths

LEAST_SIZES: Final = 5
"""Shorter series are not used: too few sizes would be left."""
KEEP: Final = 0.75
"""The decision that is judged: the largest size with at least this parallel efficiency."""


@dataclass(frozen=True)
class Observed:
    """A series with its collection, and its application, whose other series are its relatives."""

    series: Series
    collection: str
    application: str


@dataclass(frozen=True)
class Task:
    """One prediction task: the shown sizes, and the hidden sizes with their costs. ``place`` is the index of the series."""

    place: int
    shown: Series
    asked: tuple[float, ...]
    actual: tuple[float, ...]
    nodes: tuple[int, ...] | None
    """Nodes at the hidden sizes; ``None`` if sizes are nodes."""


@dataclass(frozen=True)
class Summary:
    """Absolute relative errors as fractions; ``off_by_double`` (error above 1) and ``non_positive`` are fractions of all predictions."""

    count: int
    median: float
    p90: float
    off_by_double: float
    non_positive: float


@dataclass(frozen=True)
class Coverage:
    """Fraction of measurements inside their intervals, and the median of ``upper / value``."""

    overall: float
    by_collection: Mapping[str, float]
    median_width: float


@dataclass(frozen=True)
class Bin:
    """Forecasts of one bin: their number, median interval width, coverage and median error."""

    name: str
    count: int
    median_width: float
    coverage: float
    median_error: float


Split = Callable[[int], Iterable[tuple[Sequence[int], Sequence[int]]]]
"""The tasks of a series of ``n`` sizes, as pairs of the indices shown and hidden."""


def largest(count: int) -> Split:
    """One task: the largest sizes are hidden."""
    return lambda n: [(range(n - count), range(n - count, n))]


def each_inner(n: int) -> Iterable[tuple[Sequence[int], Sequence[int]]]:
    """A task for each size between the smallest and the largest, which alone is hidden."""
    for out in range(1, n - 1):
        yield [place for place in range(n) if place != out], [out]


def tasks(observed: Sequence[Observed], split: Split, least_sizes: int = LEAST_SIZES) -> tuple[Task, ...]:
    """The tasks of all series with at least ``least_sizes`` sizes."""
    made = []
    for place, one in enumerate(observed):
        if len(one.series.sizes) >= least_sizes:
            for shown, hidden in split(len(one.series.sizes)):
                asked = one.series.at(hidden)
                made.append(Task(place, one.series.at(shown), asked.sizes, asked.costs, asked.nodes))
    return tuple(made)


def summarise(actual: Array, predicted: Array) -> Summary:
    """Figures of predictions; both arrays have one length."""
    error = np.abs(predicted / actual - 1)
    return Summary(
        count=len(error),
        median=float(np.median(error)),
        p90=float(np.quantile(error, 0.9)),
        off_by_double=float(np.mean(error > 1)),
        non_positive=float(np.mean(~(predicted > 0))),
    )


def coverage(miss: Array, width: HalfWidths, collections: Sequence[str]) -> Coverage:
    """Coverage of the intervals; ``collections`` is the collection of each miss."""
    held = width.holds(miss)
    names = np.array(collections)
    each = {str(name): float(held[names == name].mean()) for name in np.unique(names)}
    return Coverage(float(held.mean()), each, float(np.exp(np.median(width.middle))))


def bins(miss: Array, width: HalfWidths, by: Array, edges: Sequence[float], names: Sequence[str]) -> tuple[Bin, ...]:
    """Widths and coverage in bins of ``by`` (doublings, or disagreement): below the first of the edges, from one up to the next, and from
    the last one on; ``names`` of all of these. Empty bins are left out."""
    places = np.digitize(by, edges)
    return tuple(_bin(names[place], miss[places == place], width.at(np.flatnonzero(places == place))) for place in np.unique(places))


def _bin(name: str, miss: Array, width: HalfWidths) -> Bin:
    return Bin(
        name,
        count=len(miss),
        median_width=float(np.exp(np.median(width.middle))),
        coverage=float(width.holds(miss).mean()),
        median_error=float(np.median(np.abs(np.expm1(-miss)))),
    )


def efficient_size(sizes: Array, costs: Array, keep: float = KEEP) -> float:
    """The largest size whose efficiency, relative to the smallest size, is ``keep`` or more."""
    efficiency = costs[0] * sizes[0] / (costs * sizes)
    return float(sizes[np.flatnonzero(efficiency >= keep)[-1]])


def decisions(all_tasks: Sequence[Task], observed: Sequence[Observed], predicted: Sequence[Array], keep: float = KEEP) -> float:
    """The fraction of tasks in which the predictions lead to the same :func:`efficient_size` as the measurements."""
    right = []
    for task, values in zip(all_tasks, predicted, strict=True):
        whole = observed[task.place].series
        sizes, costs = np.array(whole.sizes), np.array(whole.costs)
        guess = costs.copy()
        guess[np.searchsorted(sizes, task.asked)] = values
        right.append(efficient_size(sizes, guess, keep) == efficient_size(sizes, costs, keep))
    return float(np.mean(right))
