"""Cross-validation on the user's own results: sizes are hidden, predicted and compared, by MODAK's and by other models.

The largest sizes of every curve are hidden (extrapolation), or each inner size in turn (interpolation), or each problem size in turn
(:mod:`modak.perfmodel.validation.problemholdout`). At least :data:`SHOWN` sizes of a curve are shown. Errors are fractions of the measured
cost: seconds, or the inverse of a throughput.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final

import numpy as np

from modak.arrays import Array
from modak.grouping import grouped
from modak.perfmodel.fitting.curves import FEW_SIZES, Curve, fitted
from modak.perfmodel.forecasting.curveset import CurveSet
from modak.perfmodel.forecasting.forecasts import PooledForecast, pooled_forecast
from modak.perfmodel.forecasting.repeats import at_least
from modak.perfmodel.intervals import HalfWidths
from modak.perfmodel.predict import FAR_DOUBLINGS
from modak.perfmodel.validation import evaluation
from modak.perfmodel.validation.baselines import BASELINES
from modak.perfmodel.validation.evaluation import Bin, Coverage, Observed, Summary, Task
from modak.perfmodel.validation.problemholdout import hide_problems

SHOWN: Final = FEW_SIZES
"""At least this many sizes are shown: fewer do not make a curve."""
DOUBLINGS: Final = (1e-9, 1.01, 2.01, 3.01)
"""Edges of the bins, in doublings beyond the shown sizes; :data:`BINS` are their names."""
BINS: Final = ("between sizes", "up to 1 doubling", "up to 2", "up to 3", "more than 3")
ALONE, RELATIVES = "MODAK, series alone", "MODAK, with relatives"
TREND, NEAREST = "MODAK", "nearest problem"
PROBLEM: Final = "problem"
"""The holdout that hides each problem size in turn."""


@dataclass(frozen=True)
class Accuracy:
    """Figures of one model. ``decisions``: fraction of tasks for which the largest size with 75 % efficiency is predicted exactly
    (``None``: not with problem sizes)."""

    name: str
    errors: Summary
    decisions: float | None = None
    coverage: Coverage | None = None
    """Of its intervals, by application; ``None``: the model has no intervals."""
    bins: tuple[Bin, ...] = ()
    """By doublings beyond the shown sizes."""


@dataclass(frozen=True)
class HoldoutReport:
    """What was hidden, and the figures of each model, MODAK's first."""

    holdout: str
    level: float
    series: int
    """Number of curves that were predicted."""
    left_out: int
    """Number of curves with too few sizes, or of a problem over whose size no others tell a trend."""
    predictions: int
    far: int
    """How many predictions are more than :data:`FAR_DOUBLINGS` beyond the shown sizes."""
    models: tuple[Accuracy, ...]

    def as_json(self) -> dict[str, object]:
        """Plain values; errors, coverage and decisions are fractions."""
        return asdict(self)


def cross_validate(
    curves: Sequence[Curve],
    holdout: str = "largest:2",
    level: float = 0.9,
    judged: Callable[[Curve], bool] = lambda curve: True,
    go_on: Callable[[], None] = lambda: None,
) -> HoldoutReport:
    """Hide, predict, compare. Only curves that are ``judged`` are predicted; all may be relatives of these. ``go_on`` is called between
    curves, and ends the work if it raises.

    ``holdout``: ``largest:K``, ``each`` or ``problem``. Raises ``ValueError`` for another text, or if no curve has enough sizes.
    """
    if holdout == PROBLEM:
        return _of_problems(curves, level, judged, go_on)
    observed = [_observed(curve) for curve in curves]
    asked = {place for place, curve in enumerate(curves) if judged(curve)}
    split = evaluation.each_inner if holdout == "each" else evaluation.largest(_largest(holdout))
    todo = [task for task in evaluation.tasks(observed, split, least_sizes(holdout)) if task.place in asked]
    if not todo:
        raise ValueError(f"no curve has enough sizes: {least_sizes(holdout)} are needed, so that at least {SHOWN} are shown")
    places = {task.place for task in todo}
    return HoldoutReport(
        holdout=holdout,
        level=level,
        series=len(places),
        left_out=len(asked - places),
        predictions=sum(len(task.asked) for task in todo),
        far=sum(size > task.shown.sizes[-1] * 2**FAR_DOUBLINGS for task in todo for size in task.asked),
        models=(*_ours(todo, curves, observed, level, go_on, pooled=holdout != "each"), *_theirs(todo, observed)),
    )


def least_sizes(holdout: str) -> int:
    """Sizes that a curve must have to be judged: shown plus hidden ones; with ``each``, one more; with ``problem``, any.

    >>> least_sizes("largest:2"), least_sizes("each"), least_sizes("problem")
    (5, 5, 1)
    """
    if holdout == PROBLEM:
        return 1
    return SHOWN + 2 if holdout == "each" else SHOWN + _largest(holdout)


def _largest(holdout: str) -> int:
    found = re.fullmatch(r"largest:([1-9]\d?)", holdout)
    if found is None:
        raise ValueError(f"{holdout!r} is no way to hide sizes: largest:2, largest:1 (or another number), each, or problem")
    return int(found[1])


def _of_problems(curves: Sequence[Curve], level: float, judged: Callable[[Curve], bool], go_on: Callable[[], None]) -> HoldoutReport:
    def judged_in_time(curve: Curve) -> bool:
        go_on()
        return judged(curve)

    asked = sum(map(judged, curves))
    found = hide_problems(curves, judged_in_time)
    if not found:
        needed = "three that differ in numbers of params are needed, in whole runs with the same epochs, steps or amount"
        raise ValueError(f"no curve is of a problem size over which others tell a trend: {needed}")
    actual, trend, nearest = (np.concatenate([getattr(one, name) for one in found]) for name in ("costs", "trend", "nearest"))
    miss, width = np.log(actual / trend), HalfWidths.joined([one.width for one in found]).at_level(level)
    owners = [one.curve.series.application for one in found for _ in one.costs]
    doublings = np.repeat([one.doublings for one in found], [len(one.costs) for one in found])
    series = len({id(one.curve) for one in found})
    ours = _with_intervals(Accuracy(TREND, evaluation.summarise(actual, trend)), miss, width, owners, doublings)
    return HoldoutReport(
        holdout=PROBLEM,
        level=level,
        series=series,
        left_out=asked - series,
        predictions=len(actual),
        far=int((doublings > FAR_DOUBLINGS).sum()),
        models=(ours, Accuracy(NEAREST, evaluation.summarise(actual, nearest))),
    )


def _observed(curve: Curve) -> Observed:
    """A curve as a series to judge; relatives are of the same application, scale (nodes, ranks, GPUs, threads) and metric."""
    return Observed(curve.measured, curve.series.application, f"{curve.scale} {curve.series.metric}")


def _ours(
    todo: Sequence[Task], curves: Sequence[Curve], observed: Sequence[Observed], level: float, go_on: Callable[[], None], *, pooled: bool
) -> Iterator[Accuracy]:
    """MODAK's figures from all that is known of the application, and if ``pooled`` also from each series alone: between measured sizes
    relatives do not count. What other runs scatter always counts."""
    shown = fitted([_shown(curves[task.place], task) for task in todo])
    every = grouped(curves, lambda curve: curve.series.application)
    applications = {application: CurveSet(those) for application, those in every.items()}
    hidden = (curves[task.place] for task in todo)
    beside = [applications[curve.series.application].without(curve) for curve in hidden]
    together = [_forecast(*each, go_on) for each in zip(shown, beside, todo, strict=True)]
    if pooled:
        alone = [_forecast(each, CurveSet(()), task, go_on) for each, task in zip(shown, todo, strict=True)]
        wide = [one._replace(width=at_least(one.width, each.noise)) for one, each in zip(alone, together, strict=True)]
        yield _judged(ALONE, todo, observed, wide, level)
    yield _judged(RELATIVES if pooled else ALONE, todo, observed, together, level)


def _shown(curve: Curve, task: Task) -> Curve:
    """The curve at the sizes that are shown, not fitted yet. Its scatter is that of all its repeats, with the degrees of freedom of those
    sizes."""
    places = [curve.sizes.index(size) for size in task.shown.sizes]
    columns = {name: tuple(getattr(curve, name)[place] for place in places) for name in ("sizes", "costs", "repeats", "nodes")}
    freedom = sum(columns["repeats"]) - len(places)
    scatter = curve.scatter.model_copy(update={"freedom": freedom}) if curve.scatter and freedom else None
    return curve.model_copy(update={**columns, "scatter": scatter})


def _forecast(curve: Curve, others: CurveSet, task: Task, go_on: Callable[[], None]) -> PooledForecast:
    """That of the hidden sizes; of weak scaling for one unit of size, as tasks have it."""
    go_on()
    sizes = np.array(task.asked)
    found = pooled_forecast(curve, others, sizes, sizes if task.nodes is None else np.array(task.nodes))
    return found._replace(log_value=found.log_value - np.log(sizes)) if curve.grows else found


def _judged(name: str, todo: Sequence[Task], observed: Sequence[Observed], answers: Sequence[PooledForecast], level: float) -> Accuracy:
    values = [np.exp(answer.log_value) for answer in answers]
    miss = np.log(np.concatenate([task.actual for task in todo]) / np.concatenate(values))
    width, far = HalfWidths.joined(answer.width for answer in answers), np.concatenate([answer.doublings for answer in answers])
    owners = [observed[task.place].collection for task in todo for _ in task.asked]
    return _with_intervals(_figures(name, todo, observed, values), miss, width.at_level(level), owners, far)


def _with_intervals(figures: Accuracy, miss: Array, width: HalfWidths, owners: Sequence[str], doublings: Array) -> Accuracy:
    """The figures, with those of the intervals; ``doublings``: how far each prediction is beyond what is shown."""
    bins = evaluation.bins(miss, width, doublings, DOUBLINGS, BINS)
    return replace(figures, coverage=evaluation.coverage(miss, width, owners), bins=bins)


def _theirs(todo: Sequence[Task], observed: Sequence[Observed]) -> list[Accuracy]:
    return [
        _figures(name, todo, observed, [model(np.array(t.shown.sizes), np.array(t.shown.costs), np.array(t.asked)) for t in todo])
        for name, model in BASELINES.items()
    ]


def _figures(name: str, todo: Sequence[Task], observed: Sequence[Observed], values: Sequence[Array]) -> Accuracy:
    actual = np.concatenate([task.actual for task in todo])
    return Accuracy(name, evaluation.summarise(actual, np.concatenate(values)), evaluation.decisions(todo, observed, values))
