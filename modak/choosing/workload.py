"""The time of the whole workload from the time of one unit of work: start-up + units x cost."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from modak.dsl import Notice, Request, Workload
from modak.errors import unknown
from modak.facts import parameter
from modak.perfmodel import Curve, startup
from modak.perfmodel.matching import same_name, same_value, tells_of_work
from modak.results.metrics import METRICS, Metric, counted, metric, one_of, parse_amount

Told = tuple[tuple[str, str], ...]
"""What results say of their problem: names with values, in order."""


@dataclass(frozen=True)
class Units:
    """How many units of a metric make the workload, and what a unit is called."""

    count: float
    per: str
    unit_scale: float = 1.0
    """What the curve's cost is multiplied by for one ``per``: samples in an epoch, where the metric is a throughput of them."""


@dataclass(frozen=True)
class Problem:
    """What is computed: a data set, and the parameters by which results tell problems apart."""

    dataset: str | None = None
    params: Mapping[str, float | str] = field(default_factory=dict)


PREFERRED: Final = ("epoch", "step", "run")
"""Where an application has results of several kinds, the one that the workload scales by is asked first: the amount that it states, then
these."""
LENGTHS: Final[tuple[Literal["epoch", "step"], ...]] = ("epoch", "step")
"""What the length of a run is told in."""
MOST_NAMED = 3
"""Of more problems than these the number is told."""
NO_PROBLEM: Final = ("build", "baseline")
"""Parameters that say how results came about, not of which problem they are."""


def units(request: Request, curve: Curve) -> Units | None:
    """The units that turn a curve's cost into the workload's time; ``None`` where the request does not say enough.

    A rate is divided into the ``amount`` that the request states of what it counts. A time per epoch is multiplied by ``epochs`` (one
    where not said), one per step by ``steps``, one per sample (a throughput of samples, too) by ``epochs`` x ``samples``; an ``amount``
    of these takes their place. A time of a whole run stands as it is, unless its results say how long it was (``params.epochs``,
    ``params.steps``, ``params.amount``).
    """
    work = request.optimisation.workload
    kind = metric(curve.series.metric, curve.series.unit)
    amount, rate = parse_amount(work.amount) if work.amount else None, counted(kind)
    if amount and rate and amount.counts == rate[0]:
        return Units(amount.number, amount.one, rate[1])
    if amount and kind.per == amount.one == "sample":
        return Units(amount.number, "sample")
    if kind.per == "sample":
        return Units(stated(work, "epoch") or 1.0, "epoch", work.samples) if work.samples else None
    if kind.per in ("epoch", "step"):
        return Units(stated(work, kind.per) or 1.0, kind.per)
    return _of_run(work, curve) if kind.per == "run" else None


def stated(work: Workload, per: Literal["epoch", "step"]) -> float | None:
    """How many of these the request asks for, by an ``amount`` or by their own field; ``None``: it does not say."""
    amount = parse_amount(work.amount) if work.amount else None
    if amount and amount.one == per:
        return amount.number
    return work.epochs if per == "epoch" else work.steps


def _of_run(work: Workload, curve: Curve) -> Units:
    """A whole run; where both the request and the results say how long, in epochs or steps, so many of these."""
    asked, done = lengths(work), startup.lengths(curve.series)
    both = next((name for name in asked if name in done), None)
    return Units(asked[both], one_of(both), 1 / done[both]) if both else Units(1.0, "run")


def lengths(work: Workload) -> dict[str, float]:
    """How long the run is to be, by what counts: ``epochs``, ``steps``, what the amount is of."""
    amount = parse_amount(work.amount) if work.amount else None
    said = {f"{per}s": count for per in LENGTHS if (count := stated(work, per))}
    return said | ({amount.counts: amount.number} if amount else {})


def nearest_lengths(work: Workload, measured: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Of lengths that runs were measured at the nearest to the request's, by what counts; nothing where it does not say its own."""
    if not measured:
        return {}
    asked = {name: count for name, count in lengths(work).items() if name in measured}
    return {name: _nearest(count, measured[name]) for name, count in asked.items()}


def _nearest(count: float, measured: Sequence[float]) -> float:
    return min(measured, key=lambda one: abs(math.log(one / count)))


def of_one_kind(request: Request, curves: Iterable[Curve], places: Collection[str]) -> tuple[Curve, ...]:
    """Curves that can be turned into the workload's time, as far as they are of one kind: what those in ``places`` tell, else all.

    Kinds that the request's own data set was measured in come first, unless they tell the time of a run whose length is not the request's.
    Where neither the request nor results say how long a run is, times of whole runs are of the very run.
    """
    work = request.optimisation.workload
    convertible = [(curve, unit.per) for curve in curves if (unit := units(request, curve)) is not None]
    here = [pair for pair in convertible if same_name(pair[0].series.system) in places] or convertible
    asked = {"run"} if work.amount or any(stated(work, per) for per in LENGTHS) else set()
    own = {per for curve, per in here if work.dataset in (None, curve.series.dataset)} - asked
    very = not lengths(work) and any(per == "run" and _of_no_length(curve) for curve, per in here)
    order = (*([parse_amount(work.amount).one] if work.amount else ["run"] if very else []), *PREFERRED)
    kind = next((per for kinds in (own, {per for _, per in here}) for per in order if per in kinds), None)
    return tuple(curve for curve, per in convertible if per == kind)


def _of_no_length(curve: Curve) -> bool:
    """Whether a curve is of whole runs, as its metric is known to be, that say nothing of their length."""
    return curve.series.metric in METRICS and not startup.lengths(curve.series)


def of_one_problem(request: Request, curves: Sequence[Curve], places: Collection[str]) -> tuple[Problem, tuple[Notice, ...]]:
    """The problem to predict: the request's, otherwise one of those with results, with a warning if there are several.

    Times of different problems are never compared. Results in ``places`` (folded names) count, else all. Of those that are
    :func:`of one kind <of_one_kind>` the data set with the most is taken, and of it the parameters, where costs grow with the problem; of
    equals, whatever they are called, the one in the middle by what it costs.
    """
    work = request.optimisation.workload
    known = [one for one in curves if one.told is None and has_params(one, work.params) and units(request, one) is not None]
    known = [one for one in known if same_name(one.series.system) in places] or known
    of_kind = of_one_kind(request, known, places)
    dataset, notes = work.dataset, list[Notice]()
    if not dataset:
        taken, names = _most(_by_dataset(of_kind)), _by_dataset(known)
        dataset = dict(taken).get("dataset") if len(names) > 1 else None
        notes += _others(taken, names, "dataset", ())
    of_it = [one for one in of_kind if dataset in (None, one.series.dataset)]
    further = _by_problem((one, _further(one, _asked(work))) for one in of_it)
    if () in further or not all(map(tells_of_work, of_it)):
        return Problem(dataset, work.params), tuple(notes)
    taken, said = _most(further) if len(further) > 1 else (), [f"{per}s" for per in LENGTHS if stated(work, per)]
    return Problem(dataset, {**work.params, **dict(taken)}), (*notes, *_others(taken, further, "params", said))


def unknown_dataset(request: Request, curves: Sequence[Curve]) -> tuple[Notice, ...]:
    """A warning where the application has results, and none of the data set that the request names: a slip, or another amount of work."""
    asked = request.optimisation.workload.dataset
    known = {one.series.dataset for one in curves if one.told is None and one.series.dataset}
    if asked is None or not known or asked in known:
        return ()
    message = f"{unknown('data set', asked, known)}; the times are estimated from results of those"
    return (Notice(field="optimisation.workload.dataset", message=message),)


def has_params(curve: Curve, params: Mapping[str, float | str]) -> bool:
    """Whether a curve's results have these parameters."""
    return all(same_value(curve.series.params.get(name), parameter(value)) for name, value in params.items())


def _asked(work: Workload) -> Collection[str]:
    """Parameters that are asked for; where the request says its length, another one is no other problem."""
    return {*work.params, *(startup.LENGTHS if lengths(work) else ())}


def _further(curve: Curve, asked: Collection[str]) -> Told:
    """Parameters of a problem that are not asked for."""
    return tuple(sorted((name, text) for name, text in curve.series.params.items() if name not in asked and name not in NO_PROBLEM))


def _by_dataset(curves: Iterable[Curve]) -> dict[Told, list[Curve]]:
    return _by_problem((one, (("dataset", one.series.dataset),)) for one in curves if one.series.dataset)


def _by_problem(pairs: Iterable[tuple[Curve, Told]]) -> dict[Told, list[Curve]]:
    found: dict[Told, list[Curve]] = defaultdict(list)
    for curve, told in pairs:
        found[told].append(curve)
    return found


def _most(problems: Mapping[Told, Sequence[Curve]]) -> Told:
    """The problem with the most results; nothing where there is none."""
    counts = {problem: sum(one.results_used for one in of) for problem, of in problems.items()}
    most = max(counts.values(), default=0)
    equal = [problem for problem, count in counts.items() if count == most]
    equal.sort(key=lambda problem: (max(one.costs[-1] * one.sizes[-1] for one in problems[problem]), problem))
    return equal[len(equal) // 2] if equal else ()


def _others(taken: Told, problems: Collection[Told], what: str, said: Collection[str]) -> Iterator[Notice]:
    """That one of several problems was taken; ``said`` are parameters that the request tells in another way."""
    shared = set.intersection(*map(set, problems)) if problems else set()

    def named(problem: Told) -> str:
        parts = (
            repr(text) if name == what else f"{name} {text}" for name, text in problem if (name, text) not in shared and name not in said
        )
        return ", ".join(parts)

    others = sorted({named(problem) for problem in problems} - {named(taken)})
    if taken and others:
        more = f" and {len(others) - MOST_NAMED} more" if len(others) > MOST_NAMED else ""
        rest = ", ".join(text or "none" for text in others[:MOST_NAMED])
        of = f"the prediction uses {named(taken) or 'the results without any'} (others: {rest}{more})"
        yield Notice(field=f"optimisation.workload.{what}", message=f"not given, and there are results for several: {of}")


def with_problem(request: Request, problem: Problem) -> Request:
    """The request as one for that problem."""
    work = request.optimisation.workload.model_copy(update={"dataset": problem.dataset, "params": problem.params})
    return request.model_copy(update={"optimisation": request.optimisation.model_copy(update={"workload": work})})


def unsaid(request: Request, measured: Sequence[Metric]) -> tuple[Notice, ...]:
    """What the request would have to say for results of these metrics to tell a time, where it does not say it."""
    work = request.optimisation.workload
    per_sample = [f"{one.name} in {one.unit}" for one in measured if one.per == "sample"]
    rates = [(one, *rate) for one in measured if one.per is None and (rate := counted(one))]
    notices = []
    if per_sample and not work.samples:
        message = f"give the number of samples per epoch: the results ({', '.join(per_sample)}) cannot be converted to a time without it"
        notices.append(Notice(field="optimisation.workload.samples", message=message))
    for one, what, _ in rates:
        example = "a number" if what == "1" else f"for instance '100 {what}'"
        message = (
            f"give the work of the whole run, {example}: the results ({one.name} in {one.unit}) cannot be converted to a time without it"
        )
        notices.append(Notice(field="optimisation.workload.amount", message=message))
    return tuple(notices)
