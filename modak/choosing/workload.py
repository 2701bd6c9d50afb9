"""The time of the whole workload from the time of one unit of work: start-up + units x cost."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from modak.dsl import Notice, Request, Workload
from modak.facts import canonical_name
from modak.perfmodel import Curve
from modak.perfmodel.fitting import startup
from modak.perfmodel.fitting.startup import PARTS
from modak.results.metrics import METRICS, UNITS_OF_WORK, Metric, metric_of, work_unit
from modak.results.units import Amount, parse_amount, singular
from modak.tuning.setting import recorded


@dataclass(frozen=True)
class Units:
    """How many units of a metric the workload has, and their name."""

    count: float
    per: str
    unit_scale: float = 1.0
    """Factor from the curve's cost to the time of one ``per``: for a throughput of samples, the samples per epoch."""


@dataclass(frozen=True)
class Problem:
    """What is computed: a data set, and parameters by which results tell problems apart."""

    dataset: str | None = None
    params: Mapping[str, float | str] = field(default_factory=dict)


PREFERRED: Final = ("epoch", "step", "run")
"""Order of preference if an application has results per epoch, per step and per run; the unit of a stated amount comes first."""
MOST_NAMED: Final = 3
"""If there are more other problems, or systems, only their number is given."""


def units(request: Request, curve: Curve) -> Units | None:
    """The units that turn a curve's cost into the workload's time; ``None`` if the request does not state its amount of work.

    The request's ``amount`` is divided by a rate in its unit. A time per epoch is multiplied by ``epochs`` (default 1), and scaled to its
    ``samples`` if its results give their own (``params.samples``); a time per step by ``steps``, a time per sample (or a throughput of
    samples) by ``epochs`` x ``samples``; an ``amount`` in these units takes their place. The time of a whole run is used as it is, unless
    its results give its length (``params.epochs``, ``params.steps``, ``params.amount``).
    """
    work = request.optimisation.workload
    kind = metric_of(curve.series)
    amount = _amount(work)
    if amount and (rate := work_unit(kind)) and amount.counts == rate.counts:
        return Units(amount.number, amount.one, rate.seconds)
    if amount and kind.per == amount.one == "sample":
        return Units(amount.number, "sample")
    if kind.per == "sample":
        return Units(stated(work, "epoch") or 1.0, "epoch", work.samples) if work.samples else None
    if kind.per in PARTS:
        return Units(stated(work, kind.per) or 1.0, kind.per, _samples_scale(work, curve) if kind.per == "epoch" else 1.0)
    return _of_run(work, curve) if kind.per == "run" else None


def speed_printed(work: Workload) -> str | None:
    """The metric that the program prints, if it is a rate or the time of a part of the run, which a shorter run tells as well."""
    if work.metric is None:
        return None
    printed = work.metric.measure
    return work.metric.name if printed.is_rate or printed.per in UNITS_OF_WORK else None


def _amount(work: Workload) -> Amount | None:
    """The amount of work that the request gives; ``None``: it gives none."""
    return parse_amount(work.amount) if work.amount else None


def _samples_scale(work: Workload, curve: Curve) -> float:
    """The samples of a requested epoch over those of a measured one; 1 if either is not known."""
    measured = startup.samples_of(curve.series) if work.samples else None
    return work.samples / measured if work.samples and measured else 1.0


def stated(work: Workload, per: Literal["epoch", "step"]) -> float | None:
    """The requested number of epochs or steps, from ``amount`` or from the field of that name; ``None``: not given.

    An amount of samples is so many epochs of the request's ``samples``.
    """
    amount = _amount(work)
    if amount and amount.one == per:
        return amount.number
    if amount and amount.one == "sample" and per == "epoch" and work.samples:
        return amount.number / work.samples
    return work.epochs if per == "epoch" else work.steps


def only_one(work: Workload, per: str | None) -> Literal["epoch", "step"] | None:
    """The part of the run that a time ``per`` such a part is for, because the request does not give their number; ``None``: it is for the
    whole run."""
    return next((each for each in PARTS if each == per and stated(work, each) is None), None)


def _of_run(work: Workload, curve: Curve) -> Units:
    """A whole run; if both request and results give its length in the same unit, that many units."""
    asked, done = requested_lengths(work), startup.lengths(curve.series.params)
    both = next((name for name in asked if name in done), None)
    return Units(asked[both], singular(both), 1 / done[both]) if both else Units(1.0, "run")


def requested_lengths(work: Workload) -> dict[str, float]:
    """The requested length of the run, by unit: ``epochs``, ``steps``, or the unit of the amount."""
    amount = _amount(work)
    said = {f"{per}s": count for per in PARTS if (count := stated(work, per))}
    return said | ({amount.counts: amount.number} if amount else {})


def nearest_lengths(work: Workload, measured: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """For each unit in which the request gives its length, the nearest measured length."""
    if not measured:
        return {}
    asked = {name: count for name, count in requested_lengths(work).items() if name in measured}
    return {name: _nearest(count, measured[name]) for name, count in asked.items()}


def _nearest(count: float, measured: Sequence[float]) -> float:
    return min(measured, key=lambda one: abs(math.log(one / count)))


def of_one_kind(request: Request, curves: Iterable[Curve], places: Collection[str]) -> tuple[Curve, ...]:
    """Curves that can be turned into the workload's time and that are all per epoch, per step or per run (their kind).

    The kind is chosen among the curves of ``places`` (folded names of the target) if there are any, else among all. Kinds in which the
    request's own data set was measured come first, except whole runs if the request gives a length. If neither the request nor results
    give a length, times of whole runs come first. Stated steps are counted as steps, though a time per step may also be a rate of samples.
    """
    work = request.optimisation.workload
    convertible = [(curve, unit.per) for curve in curves if (unit := units(request, curve)) is not None]
    here = [pair for pair in convertible if canonical_name(pair[0].series.system) in places] or convertible
    of_its_dataset = {per for curve, per in here if work.dataset in (None, curve.series.dataset)}
    if requested_lengths(work):
        of_its_dataset.discard("run")
    kinds = of_its_dataset or {per for _, per in here}
    order = _preferred(work, [curve for curve, per in here if per == "run"])
    kind = next((per for per in order if per in kinds), None)
    return tuple(curve for curve, per in convertible if per == kind)


def _preferred(work: Workload, runs: Iterable[Curve]) -> tuple[str, ...]:
    """Units in order of preference. ``runs``: curves that are per run, which come first if neither request nor results give a length."""
    if amount := _amount(work):
        return amount.one, *PREFERRED
    if not requested_lengths(work) and any(one.series.metric in METRICS and not startup.lengths(one.series.params) for one in runs):
        return "run", *PREFERRED
    return ("step", *PREFERRED) if work.steps else PREFERRED


def with_setting(request: Request, curves: Iterable[Curve]) -> Request:
    """The request whose parameters include those of its job's setting, as far as results tell runs apart by them."""
    setting = recorded(request)
    known = {name for one in curves for name in one.series.params} if setting else set()
    if known.isdisjoint(setting):
        return request
    work = request.optimisation.workload
    params = {**work.params, **{name: value for name, value in setting.items() if name in known}}
    return request.changed(optimisation={"workload": work.model_copy(update={"params": params})})


def with_problem(request: Request, problem: Problem) -> Request:
    """The request with that problem as its own."""
    work = request.optimisation.workload.model_copy(update={"dataset": problem.dataset, "params": problem.params})
    return request.changed(optimisation={"workload": work})


def amounts_needed(request: Request, measured: Sequence[Metric]) -> tuple[Notice, ...]:
    """What the request would have to state so that results of these metrics give a time."""
    work = request.optimisation.workload
    per_sample = [f"{one.name} in {one.unit}" for one in measured if one.per == "sample"]
    rates = [(one, rate.counts) for one in measured if one.per is None and (rate := work_unit(one))]
    notices = []
    if per_sample and not work.samples:
        each = "in all" if request.optimisation.app_type == "ai_inference" else "per epoch"
        message = f"give the number of samples {each}: the results ({', '.join(per_sample)}) cannot be converted to a time without it"
        notices.append(Notice(field="optimisation.workload.samples", message=message))
    for one, what in rates:
        results = f"the results ({one.name} in {one.unit})"
        message = f"give the work of the whole run, {an_amount(what)}: {results} cannot be converted to a time without it"
        notices.append(Notice(field="optimisation.workload.amount", message=message))
    return tuple(notices)


def an_amount(counts: str) -> str:
    """How to write an amount of what a rate counts."""
    return "a number" if counts == "1" else f"for instance '100 {counts}'"


def unused_length(request: Request, curve: Curve, unit: Units | None) -> tuple[Notice, ...]:
    """A warning if the request gives a length of its run that times per epoch or step cannot use: ``5 ns``, or steps where the results
    are per epoch and the number of epochs is not given. ``unit`` as of :func:`units`."""
    work = request.optimisation.workload
    per = next((name for name in PARTS if unit and unit.per == name), None)
    unused = _unused_field(work, per, metric_of(curve.series)) if per else None
    if unused is None:
        return ()
    rest = ""
    if only_one(work, per):
        rest = f"; the predicted time is for one {per}: give workload.{per}s"
        rest += ", or load the results again with their batch_size, nodes and ranks or GPUs" if per == "step" and work.samples else ""
    message = f"not used: the results give a time per {per}{rest}"
    return (Notice(field=f"optimisation.workload.{unused}", message=message),)


def _unused_field(work: Workload, per: Literal["epoch", "step"], kind: Metric) -> str | None:
    """The first field with a length of the run that times ``per`` epoch or step, from results of this ``kind``, cannot use; ``None``: they
    use all that is given."""
    amount, of_samples = _amount(work), per == "epoch" and work.samples
    if amount and amount.one != per and not (of_samples and amount.one == "sample"):
        return "amount"
    if stated(work, per) is not None:
        return None
    used = "samples" if kind.per == "sample" else None
    return next((name for name in ("steps", "epochs", "samples") if getattr(work, name) and name != used), None)
