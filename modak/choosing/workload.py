"""The time of the whole workload from the time of one unit of work: start-up + units x cost."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from modak.choosing.wishes import is_build
from modak.dsl import Notice, Request, Workload
from modak.errors import unknown
from modak.facts import parameter, same_name
from modak.grouping import grouped
from modak.perfmodel import Curve, startup
from modak.perfmodel.magnitudes import magnitude
from modak.perfmodel.problems import apart, nearest_first
from modak.perfmodel.questions import same_value
from modak.perfmodel.unlikeness import tells_of_work
from modak.results.metrics import METRICS, Metric, metric_of, one_of, parse_amount, work_unit
from modak.text.amounts import listed
from modak.tuning.setting import recorded

Labels = tuple[tuple[str, str], ...]
"""Labels by which results tell problems apart: sorted pairs of name and value."""


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
LENGTHS: Final[tuple[Literal["epoch", "step"], ...]] = ("epoch", "step")
"""Units in which requests give the length of a run."""
MOST_NAMED: Final = 3
"""If there are more other problems, or systems, only their number is given."""
NO_PROBLEM: Final = ("build", "baseline")
"""Parameters that do not identify the problem."""


def units(request: Request, curve: Curve) -> Units | None:
    """The units that turn a curve's cost into the workload's time; ``None`` if the request does not state its amount of work.

    The request's ``amount`` is divided by a rate in its unit. A time per epoch is multiplied by ``epochs`` (default 1), and scaled to its
    ``samples`` if its results give their own (``params.samples``); a time per step by ``steps``, a time per sample (or a throughput of
    samples) by ``epochs`` x ``samples``; an ``amount`` in these units takes their place. The time of a whole run is used as it is, unless
    its results give its length (``params.epochs``, ``params.steps``, ``params.amount``).
    """
    work = request.optimisation.workload
    kind = metric_of(curve.series)
    amount = parse_amount(work.amount) if work.amount else None
    if amount and (rate := work_unit(kind)) and amount.counts == rate[0]:
        return Units(amount.number, amount.one, rate[1])
    if amount and kind.per == amount.one == "sample":
        return Units(amount.number, "sample")
    if kind.per == "sample":
        return Units(stated(work, "epoch") or 1.0, "epoch", work.samples) if work.samples else None
    if kind.per in ("epoch", "step"):
        return Units(stated(work, kind.per) or 1.0, kind.per, _samples_scale(work, curve) if kind.per == "epoch" else 1.0)
    return _of_run(work, curve) if kind.per == "run" else None


def _samples_scale(work: Workload, curve: Curve) -> float:
    """The samples of a requested epoch over those of a measured one; 1 if either is not known."""
    measured = startup.samples_of(curve.series)
    return work.samples / measured if work.samples and measured else 1.0


def stated(work: Workload, per: Literal["epoch", "step"]) -> float | None:
    """The requested number of epochs or steps, from ``amount`` or from the field of that name; ``None``: not given."""
    amount = parse_amount(work.amount) if work.amount else None
    if amount and amount.one == per:
        return amount.number
    return work.epochs if per == "epoch" else work.steps


def _of_run(work: Workload, curve: Curve) -> Units:
    """A whole run; if both request and results give its length in the same unit, that many units."""
    asked, done = lengths(work), startup.lengths(curve.series.params)
    both = next((name for name in asked if name in done), None)
    return Units(asked[both], one_of(both), 1 / done[both]) if both else Units(1.0, "run")


def lengths(work: Workload) -> dict[str, float]:
    """The requested length of the run, by unit: ``epochs``, ``steps``, or the unit of the amount."""
    amount = parse_amount(work.amount) if work.amount else None
    said = {f"{per}s": count for per in LENGTHS if (count := stated(work, per))}
    return said | ({amount.counts: amount.number} if amount else {})


def nearest_lengths(work: Workload, measured: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """For each unit in which the request gives its length, the nearest measured length."""
    if not measured:
        return {}
    asked = {name: count for name, count in lengths(work).items() if name in measured}
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
    here = [pair for pair in convertible if same_name(pair[0].series.system) in places] or convertible
    kinds = {per for _, per in here}
    of_its_dataset = {per for curve, per in here if work.dataset in (None, curve.series.dataset)}
    if work.amount or any(stated(work, per) for per in LENGTHS):
        of_its_dataset.discard("run")
    order = _preferred(work, [curve for curve, per in here if per == "run"])
    kind = next((per for known in (of_its_dataset, kinds) for per in order if per in known), None)
    return tuple(curve for curve, per in convertible if per == kind)


def _preferred(work: Workload, runs: Iterable[Curve]) -> tuple[str, ...]:
    """Units in order of preference. ``runs``: curves that are per run, which come first if neither request nor results give a length."""
    if work.amount:
        return parse_amount(work.amount).one, *PREFERRED
    if not lengths(work) and any(one.series.metric in METRICS and not startup.lengths(one.series.params) for one in runs):
        return "run", *PREFERRED
    return ("step", *PREFERRED) if work.steps else PREFERRED


def of_one_problem(request: Request, curves: Sequence[Curve], places: Collection[str]) -> tuple[Problem, tuple[Notice, ...]]:
    """The problem to predict: the request's, or else a measured one, with a warning if there are several.

    Times of different problems are never compared. Only results in ``places`` (folded names of the target) count, if there are any. If
    nobody ran the requested problem size, results of the nearest one tell which others there are. Among
    curves :func:`of one kind <of_one_kind>`, the data set with the most results is taken (of the request's framework, if it has any), and
    then, if costs grow with the problem, the parameters with the most results. Of equals the one of median cost is taken, so that names
    decide nothing.
    """
    work = request.optimisation.workload
    known = _nearest_problems(request, curves, places)
    of_kind = of_one_kind(request, known, places)
    dataset, notes = work.dataset, list[Notice]()
    if not dataset:
        own = [one for one in of_kind if _of_framework(one, request)] or of_kind
        taken, names = _most(_by_dataset(own)), _by_dataset(known)
        dataset = dict(taken).get("dataset") if len(names) > 1 else None
        notes += _others(taken, names, "dataset", ())
    of_it = [one for one in of_kind if dataset in (None, one.series.dataset)]
    further = grouped(of_it, lambda one: _further(one, _asked(work)))
    if () in further or not all(map(tells_of_work, of_it)):
        return Problem(dataset, work.params), tuple(notes)
    taken, said = _most(further) if len(further) > 1 else (), [f"{per}s" for per in LENGTHS if stated(work, per)]
    return Problem(dataset, {**work.params, **dict(taken)}), (*notes, *_others(taken, further, "params", said))


def _nearest_problems(request: Request, curves: Iterable[Curve], places: Collection[str]) -> list[Curve]:
    """The measured curves that give a time: of the requested parameters, in ``places``, of the nearest size, as far as there are any."""
    params = request.optimisation.workload.params
    usable = [one for one in curves if one.estimated is None and units(request, one) is not None]
    known = [one for one in usable if _has_params(one, params)] or usable
    return _of_nearest_size([one for one in known if same_name(one.series.system) in places] or known, params)


def _of_framework(curve: Curve, request: Request) -> bool:
    """Whether a curve's results name a data set, and are of the request's framework."""
    return curve.series.dataset is not None and same_name(curve.series.framework) == same_name(request.optimisation.framework)


def unknown_dataset(request: Request, curves: Sequence[Curve]) -> tuple[Notice, ...]:
    """A warning if the application has results, but none of the data set that the request names."""
    asked = request.optimisation.workload.dataset
    known = {one.series.dataset for one in curves if one.estimated is None and one.series.dataset}
    if asked is None or not known or asked in known:
        return ()
    message = f"{unknown('data set', asked, known)}; the times are estimated from results of those"
    return (Notice(field="optimisation.workload.dataset", message=message),)


def unknown_build(request: Request, curves: Sequence[Curve]) -> tuple[Notice, ...]:
    """A warning if results name builds of the application, but none of them is the one that the request names."""
    asked = request.optimisation.workload.compiler
    known = {str(one.series.compiler) for one in curves if one.estimated is None and is_build(one.series.compiler)}
    if asked is None or not is_build(asked) or not known or same_name(asked) in map(same_name, known):
        return ()
    message = f"{unknown('build', asked, known)}; the times are estimated from results of those"
    return (Notice(field="optimisation.workload.compiler", message=message),)


def _has_params(curve: Curve, params: Mapping[str, float | str]) -> bool:
    """Whether a curve's results have these parameters."""
    return all(same_value(curve.series.params.get(name), parameter(value)) for name, value in params.items())


def _of_nearest_size(curves: Sequence[Curve], params: Mapping[str, float | str]) -> list[Curve]:
    """The curves whose numbers are those of the parameters, or nearest to them, of the curves that differ from these in numbers alone."""
    asked = {name: parameter(value) for name, value in params.items()}
    away = [(one, ratios) for one in curves if (ratios := apart(asked, one.series.params)) is not None]
    return next((of_size for _, of_size in nearest_first(away)), [])


def _asked(work: Workload) -> Collection[str]:
    """Names of the requested parameters; if the request gives its length, runs of another length are of the same problem."""
    return {*work.params, *(startup.LENGTHS if lengths(work) else ())}


def _further(curve: Curve, asked: Collection[str]) -> Labels:
    """Labels of a curve's problem that the request leaves open."""
    return tuple(sorted((name, text) for name, text in curve.series.params.items() if name not in asked and name not in NO_PROBLEM))


def _by_dataset(curves: Iterable[Curve]) -> dict[Labels, list[Curve]]:
    return grouped((one for one in curves if one.series.dataset), lambda one: (("dataset", str(one.series.dataset)),))


def _most(problems: Mapping[Labels, Sequence[Curve]]) -> Labels:
    """The problem with the most results; empty if there is none."""
    counts = {problem: sum(one.results_used for one in of) for problem, of in problems.items()}
    most = max(counts.values(), default=0)
    equal = [problem for problem, count in counts.items() if count == most]
    equal.sort(key=lambda problem: (max(one.costs[-1] * one.sizes[-1] for one in problems[problem]), problem))
    return equal[len(equal) // 2] if equal else ()


def _others(taken: Labels, problems: Collection[Labels], what: str, said: Collection[str]) -> Iterator[Notice]:
    """A warning if one of several problems was taken; ``said`` are parameters that other fields of the request give."""
    shared = set.intersection(*map(set, problems)) if problems else set()

    def named(problem: Labels) -> str:
        parts = (
            repr(text) if name == what else f"{name} {text}" for name, text in problem if (name, text) not in shared and name not in said
        )
        return ", ".join(parts)

    others = sorted({named(problem) for problem in problems} - {named(taken)})
    if taken and others:
        rest = listed([text or "none" for text in others], MOST_NAMED, "; " if any(", " in text for text in others) else ", ")
        of = f"the prediction uses {named(taken) or 'the results without any'} (others: {rest})"
        yield Notice(field=f"optimisation.workload.{what}", message=f"not given, and there are results for several: {of}")


def with_setting(request: Request, curves: Iterable[Curve]) -> Request:
    """The request whose parameters include those of its job's setting, as far as results tell runs apart by them."""
    setting = recorded(request)
    known = {name for one in curves for name in one.series.params} if setting else set()
    if known.isdisjoint(setting):
        return request
    work = request.optimisation.workload
    params = {**work.params, **{name: value for name, value in setting.items() if name in known}}
    return request.changed(optimisation={"workload": work.model_copy(update={"params": params})})


def unmeasured(request: Request, curve: Curve) -> str:
    """What of a run that lies on a trend nobody ran: its problem size, its setting, or both; or its problem size with a text among its
    parameters (another algorithm ran it, perhaps). ``curve`` is the nearest one."""
    setting = recorded(request)
    there = curve.series.params
    asked = {name: value for name, value in {**request.optimisation.workload.params, **setting}.items() if name in there}
    other = {name for name, value in asked.items() if not same_value(there[name], parameter(value))}
    tuned, texts = other & setting.keys(), sorted(name for name in other - setting.keys() if magnitude(parameter(asked[name])) is None)
    if tuned and tuned == other:
        return "setting"
    those = [*texts, *(["setting"] if tuned else [])]
    return f"problem size with this {' and '.join(those)}" if those else "problem size"


def with_problem(request: Request, problem: Problem) -> Request:
    """The request with that problem as its own."""
    work = request.optimisation.workload.model_copy(update={"dataset": problem.dataset, "params": problem.params})
    return request.changed(optimisation={"workload": work})


def amounts_needed(request: Request, measured: Sequence[Metric]) -> tuple[Notice, ...]:
    """What the request would have to state so that results of these metrics give a time."""
    work = request.optimisation.workload
    per_sample = [f"{one.name} in {one.unit}" for one in measured if one.per == "sample"]
    rates = [(one, *rate) for one in measured if one.per is None and (rate := work_unit(one))]
    notices = []
    if per_sample and not work.samples:
        each = "in all" if request.optimisation.app_type == "ai_inference" else "per epoch"
        message = f"give the number of samples {each}: the results ({', '.join(per_sample)}) cannot be converted to a time without it"
        notices.append(Notice(field="optimisation.workload.samples", message=message))
    for one, what, _ in rates:
        example = "a number" if what == "1" else f"for instance '100 {what}'"
        message = (
            f"give the work of the whole run, {example}: the results ({one.name} in {one.unit}) cannot be converted to a time without it"
        )
        notices.append(Notice(field="optimisation.workload.amount", message=message))
    return tuple(notices)


def unused_length(request: Request, curve: Curve, unit: Units | None) -> tuple[Notice, ...]:
    """A warning if the request gives a length of its run that times per epoch or step cannot use: ``5 ns``, or steps where the results
    are per epoch and the number of epochs is not given. ``unit`` as of :func:`units`."""
    work, kind = request.optimisation.workload, metric_of(curve.series)
    per = next((name for name in LENGTHS if unit and unit.per == name), None)
    if per is None:
        return ()
    known = stated(work, per) is not None
    used = ("samples",) if kind.per == "sample" else ()
    given = [] if known else [name for name in ("steps", "epochs", "samples") if getattr(work, name) and name not in used]
    if work.amount and parse_amount(work.amount).one != per:
        given = ["amount", *given]
    rest = "" if known else f"; the predicted time is for one {per}: give workload.{per}s"
    rest += ", or load the results again with their batch_size, nodes and ranks or GPUs" if per == "step" and work.samples and rest else ""
    message = f"not used: the results give a time per {per}{rest}"
    return tuple(Notice(field=f"optimisation.workload.{name}", message=message) for name in given[:1])
