"""What the whole workload costs, given what one unit of it costs: start-up + units x cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from modak.dsl import Notice, Request
from modak.metrics import metric
from modak.perfmodel import Curve


@dataclass(frozen=True)
class Units:
    """How many units of a metric make the workload, and what a unit is called."""

    count: float
    per: str
    unit_scale: float = 1.0
    """Units of the metric in one ``per``: samples in an epoch, where the metric is a throughput."""


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


def unsaid(request: Request, curves: Iterable[Curve]) -> tuple[Notice, ...]:
    """What the request would have to say for these curves to tell a time; nothing where it says it, or none of them would."""
    measured = (metric(curve.series.metric, curve.series.unit) for curve in curves if curve.told is None)
    counted = sorted({f"{one.name} in {one.unit}" for one in measured if one.per == "sample"})
    if request.optimisation.workload.samples or not counted:
        return ()
    message = f"there are results ({', '.join(counted)}); how many samples an epoch has is needed to make a time of them"
    return (Notice(field="optimisation.workload.samples", message=message),)
