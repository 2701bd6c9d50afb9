"""What the whole workload costs, given what one unit of it costs: start-up + units x cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from modak.dsl import Notice, Request
from modak.metrics import metric
from modak.perfmodel import Curve
from modak.perfmodel.matching import same_name


@dataclass(frozen=True)
class Units:
    """How many units of a metric make the workload, and what a unit is called."""

    count: float
    per: str
    unit_scale: float = 1.0
    """Units of the metric in one ``per``: samples in an epoch, where the metric is a throughput."""


MOST_NAMED = 3
"""Of more data sets than these the number is told."""


def units(request: Request, curve: Curve) -> Units | None:
    """The units that turn a curve's cost into the workload's time; ``None`` where the request does not say enough.

    A time per epoch is multiplied by ``epochs`` (one where not said), one per step by ``steps``, one per sample (a
    throughput of samples, too) by ``epochs`` x ``samples``; a time of a whole run stands as it is.
    """
    work = request.optimisation.workload
    per = metric(curve.series.metric, curve.series.unit).per
    if per == "sample":
        return Units(work.epochs or 1.0, "epoch", work.samples) if work.samples else None
    if per == "epoch":
        return Units(work.epochs or 1.0, "epoch")
    if per == "step":
        return Units(work.steps or 1.0, "step")
    return Units(1.0, "run") if per == "run" else None


def of_one_dataset(request: Request, curves: Sequence[Curve], places: Collection[str]) -> tuple[str | None, tuple[Notice, ...]]:
    """The data set that is asked about: the request's, else one where results are of several, with a warning.

    Times of different problems are never compared. Results in ``places`` (folded names) count, else all. The data set with the most of
    them is taken; of equals, whatever they are called, the one in the middle by what it costs.
    """
    asked = request.optimisation.workload.dataset
    known = [] if asked else [one for one in curves if one.told is None and units(request, one) is not None]
    by_name: dict[str, list[Curve]] = defaultdict(list)
    for curve in [one for one in known if same_name(one.series.system) in places] or known:
        if curve.series.dataset:
            by_name[curve.series.dataset].append(curve)
    if len(by_name) < 2:
        return asked, ()
    counts = {name: sum(one.results_used for one in of) for name, of in by_name.items()}
    equal = [name for name, count in counts.items() if count == max(counts.values())]
    equal.sort(key=lambda name: (max(one.costs[-1] * one.sizes[-1] for one in by_name[name]), name))
    taken = equal[len(equal) // 2]
    others = sorted(set(by_name) - {taken})
    more = f" and {len(others) - MOST_NAMED} more" if len(others) > MOST_NAMED else ""
    rest = ", ".join(map(repr, others[:MOST_NAMED])) + more
    message = f"not said, and there are results of several: the times are those of {taken!r} (others: {rest})"
    return taken, (Notice(field="optimisation.workload.dataset", message=message),)


def with_dataset(request: Request, dataset: str | None) -> Request:
    """The request as one for that data set."""
    work = request.optimisation.workload.model_copy(update={"dataset": dataset})
    return request.model_copy(update={"optimisation": request.optimisation.model_copy(update={"workload": work})})


def unsaid(request: Request, per_sample: Sequence[str]) -> tuple[Notice, ...]:
    """What the request would have to say for results of a sample (in words) to tell a time; nothing where it says it, or there are none."""
    if request.optimisation.workload.samples or not per_sample:
        return ()
    message = f"there are results ({', '.join(per_sample)}); how many samples an epoch has is needed to make a time of them"
    return (Notice(field="optimisation.workload.samples", message=message),)
