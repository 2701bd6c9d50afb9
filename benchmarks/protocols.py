"""Which sizes of a series are hidden, by name of the protocol, and what is forecast in their place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from modak.arrays import Array
from modak.grouping import grouped
from modak.perfmodel.fitting.scaling import Forecast, evaluate, fit_many
from modak.perfmodel.forecasting.pooling import align_relatives, pool
from modak.perfmodel.validation.evaluation import Observed, Split, Task, each_inner, largest


def smaller_half(n: int) -> Iterable[tuple[Sequence[int], Sequence[int]]]:
    """One task: the smaller half of the sizes is shown."""
    half = (n + 1) // 2
    yield range(half), range(half, n)


def every_prefix(n: int) -> Iterable[tuple[Sequence[int], Sequence[int]]]:
    """A task for each number of the smallest sizes that may be shown."""
    for shown in range(1, n):
        yield range(shown), range(shown, n)


PROTOCOLS: Mapping[str, Split] = {
    "largest one": largest(1),
    "largest two": largest(2),
    "smaller half": smaller_half,
    "each inner size": each_inner,
}


def forecasts(tasks: Sequence[Task]) -> tuple[Forecast, ...]:
    """MODAK's forecast of each task, from its own series only."""
    fits = fit_many([task.shown for task in tasks])
    return tuple(evaluate(mixture, task.asked, task.nodes) for mixture, task in zip(fits, tasks, strict=True))


def with_relatives(tasks: Sequence[Task], observed: Sequence[Observed], own: Sequence[Forecast]) -> tuple[Forecast, ...]:
    """The forecasts ``own``, pooled with the other series of the application in the same collection, of which nothing is hidden."""
    names = [(one.collection, one.application) for one in observed]
    places = grouped(range(len(observed)), names.__getitem__)
    pooled = []
    for task, forecast in zip(tasks, own, strict=True):
        others = [observed[place].series for place in places[names[task.place]] if place != task.place]
        pooled.append(pool(forecast, task.shown.sizes[-1], align_relatives(task.shown, others), task.asked))
    return tuple(pooled)


def misses(tasks: Sequence[Task], answers: Sequence[Forecast]) -> Array:
    """Log of measured over forecast cost, of all tasks concatenated."""
    return np.concatenate([np.log(task.actual) - answer.log_value for task, answer in zip(tasks, answers, strict=True)])
