"""The user's own proof: sizes of the database at hand are hidden, foretold and compared, beside the models the field uses.

The largest sizes of every curve are hidden (extrapolation), or each inner size in turn (interpolation). At least
:data:`SHOWN` sizes stay. Errors are parts of the measured cost: seconds, or the inverse of a throughput.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from modak.perfmodel import evaluation
from modak.perfmodel.baselines import BASELINES
from modak.perfmodel.curves import FEW_SIZES, Curve
from modak.perfmodel.evaluation import Bin, Coverage, Observed, Summary, Task
from modak.perfmodel.forms import Array
from modak.perfmodel.intervals import half_width
from modak.perfmodel.predict import FAR_DOUBLINGS
from modak.perfmodel.scaling import Forecast

SHOWN = FEW_SIZES
"""At least so many sizes are shown: with fewer there is no curve to judge, only a guess."""
DOUBLINGS = (1e-9, 1.01, 2.01, 3.01)
"""Edges of the bins that widths are shown by: between the sizes, up to one doubling beyond them, up to two, up to three, more."""
BINS = ("between sizes", "up to 1 doubling", "up to 2", "up to 3", "more than 3")
ALONE, RELATIVES = "MODAK, series alone", "MODAK, with relatives"


@dataclass(frozen=True)
class Judged:
    """How one model did. ``decisions`` is the part of tasks whose largest size that keeps 75 % efficiency came out exactly."""

    name: str
    errors: Summary
    decisions: float
    coverage: Coverage | None = None
    """Of its intervals, by application; ``None``: the model has none."""
    bins: tuple[Bin, ...] = ()
    """By doublings beyond the shown sizes."""


@dataclass(frozen=True)
class Proof:
    """What was hidden and how each model did, ours first."""

    holdout: str
    level: float
    series: int
    """How many curves were asked about."""
    left_out: int
    """How many have too few sizes."""
    predictions: int
    far: int
    """How many of these lie so many doublings beyond the shown sizes that they are guesses (:data:`FAR_DOUBLINGS`)."""
    models: tuple[Judged, ...]

    def as_json(self) -> dict[str, object]:
        """Plain values; errors, coverage and decisions as parts of one."""
        return asdict(self)


def prove(
    curves: Sequence[Curve], holdout: str = "largest:2", level: float = 0.9, judged: Callable[[Curve], bool] = lambda curve: True
) -> Proof:
    """Hide, predict, compare. Only curves that are ``judged`` are asked about; all are each other's relatives.

    ``holdout``: ``largest:K`` or ``each``. Raises ``ValueError`` for another text, or where no curve has enough sizes.
    """
    observed = [_observed(curve) for curve in curves]
    asked = {place for place, curve in enumerate(curves) if judged(curve)}
    todo = [task for task in _tasks(observed, holdout) if task.place in asked]
    if not todo:
        raise ValueError(f"no curve has enough sizes: {least_sizes(holdout)} are needed, so that at least {SHOWN} are shown")
    places = {task.place for task in todo}
    return Proof(
        holdout=holdout,
        level=level,
        series=len(places),
        left_out=len(asked - places),
        predictions=sum(len(task.asked) for task in todo),
        far=sum(size > task.shown.sizes[-1] * 2**FAR_DOUBLINGS for task in todo for size in task.asked),
        models=(*_ours(todo, observed, holdout, level), *_theirs(todo, observed)),
    )


def least_sizes(holdout: str) -> int:
    """Sizes that a curve must have to be judged: those shown and those hidden; one more where each inner size is hidden in turn.

    >>> least_sizes("largest:2"), least_sizes("each")
    (5, 5)
    """
    return SHOWN + 2 if holdout == "each" else SHOWN + _largest(holdout)


def _largest(holdout: str) -> int:
    found = re.fullmatch(r"largest:([1-9]\d?)", holdout)
    if found is None:
        raise ValueError(f"{holdout!r} is no way to hide sizes: largest:2, largest:1 (or another number), or each")
    return int(found[1])


def _tasks(observed: Sequence[Observed], holdout: str) -> tuple[Task, ...]:
    if holdout == "each":
        return evaluation.tasks(observed, "each inner size", least_sizes(holdout))
    hidden = _largest(holdout)
    return tuple(task for task in evaluation.tasks(observed, "every prefix", least_sizes(holdout)) if len(task.asked) == hidden)


def _observed(curve: Curve) -> Observed:
    """Relatives are curves of the same application, over the same kind of size, in the same metric."""
    return Observed(curve.measured, curve.series.application, f"{curve.scale} {curve.series.metric}")


def _ours(todo: Sequence[Task], observed: Sequence[Observed], holdout: str, level: float) -> list[Judged]:
    """Our forecasts from each series alone, and after its relatives: these have no say between measured sizes."""
    alone = evaluation.forecasts(todo)
    answers = {ALONE: (alone, [half_width(one, level) for one in alone])}
    if holdout != "each":
        pooled = evaluation.with_relatives(todo, observed, alone)
        answers[RELATIVES] = (pooled, [_width(own, one, level) for own, one in zip(alone, pooled, strict=True)])
    return [_judged(name, todo, observed, forecasts, np.concatenate(widths)) for name, (forecasts, widths) in answers.items()]


def _width(own: Forecast, pooled: Forecast, level: float) -> Array:
    """Half-widths: the pooled one where a relative reaches the size."""
    return np.where(pooled.log_value != own.log_value, half_width(pooled, level), half_width(own, level))


def _judged(name: str, todo: Sequence[Task], observed: Sequence[Observed], answers: Sequence[Forecast], width: Array) -> Judged:
    miss = evaluation.misses(todo, answers)
    far = np.concatenate([answer.doublings for answer in answers])
    owners = [observed[task.place].collection for task in todo for _ in task.asked]
    coverage = evaluation.coverage(miss, width, owners)
    return _figures(name, todo, observed, [answer.value for answer in answers], coverage, _bins(miss, width, far))


def _bins(miss: Array, width: Array, far: Array) -> tuple[Bin, ...]:
    places = np.digitize(far, DOUBLINGS)
    parts = [(BINS[place], places == place) for place in np.unique(places)]
    return tuple(replace(evaluation.bins(miss[here], width[here], far[here], DOUBLINGS, "")[0], name=name) for name, here in parts)


def _theirs(todo: Sequence[Task], observed: Sequence[Observed]) -> list[Judged]:
    return [
        _figures(name, todo, observed, [model(np.array(t.shown.sizes), np.array(t.shown.costs), np.array(t.asked)) for t in todo])
        for name, model in BASELINES.items()
    ]


def _figures(
    name: str,
    todo: Sequence[Task],
    observed: Sequence[Observed],
    values: Sequence[Array],
    coverage: Coverage | None = None,
    bins: tuple[Bin, ...] = (),
) -> Judged:
    actual = np.concatenate([task.actual for task in todo])
    errors = evaluation.summarise(actual, np.concatenate(values))
    return Judged(name, errors, evaluation.decisions(todo, observed, values), coverage, bins)
