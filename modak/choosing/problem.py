"""Which problem is predicted where a request leaves it open, and what of a problem nobody ran."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from modak.choosing.requirements import is_build
from modak.choosing.workload import MOST_NAMED, Problem, of_one_kind, requested_lengths, stated, units
from modak.dsl import GIVEN, Notice, Request, Workload
from modak.errors import spelt_otherwise, unknown
from modak.facts import canonical_name, other_spellings, parameter, parameters
from modak.grouping import grouped
from modak.perfmodel import Curve
from modak.perfmodel.fitting import startup
from modak.perfmodel.fitting.merging import canonical_setting
from modak.perfmodel.laws.problems import nearest_first, number_ratios
from modak.perfmodel.matching.dissimilarity import tells_of_work
from modak.perfmodel.matching.magnitudes import magnitude
from modak.perfmodel.matching.questions import equal_values, of_exact_text
from modak.prepared import Prepared
from modak.text.amounts import join_names
from modak.tuning.setting import recorded

Labels = tuple[tuple[str, str], ...]
"""Labels by which results tell problems apart: sorted pairs of name and value."""
NO_PROBLEM: Final = ("build", "baseline")
"""Parameters that do not identify the problem."""


def as_spelt(request: Request, facts: Prepared) -> tuple[Request, tuple[Notice, ...]]:
    """The request with application, data set and parameters as results call them, where these know its own spelling not and one other; and
    notices."""
    work, name, called = request.optimisation.workload, request.workload_name, facts.application
    asked = work.dataset or ""
    other = other_spellings([asked], facts.datasets).get(asked) if asked else None
    params = _params_as_spelt(work, facts)
    update: dict[str, Any] = {}
    notices = []
    if name and called and name != called:
        update["application"] = called
        field = "optimisation.workload.application" if work.application else "application.app_tag"
        notices.append(Notice(field=field, message=spelt_otherwise(name, called)))
    if other:
        update["dataset"] = other
        notices.append(Notice(field="optimisation.workload.dataset", message=spelt_otherwise(asked, other)))
    if params:
        update["params"] = {params.get(name, name): value for name, value in work.params.items()}
        field = "optimisation.workload.params"
        notices += [Notice(field=f"{field}.{name}", message=spelt_otherwise(name, called)) for name, called in params.items()]
    changed = request.changed(optimisation={"workload": work.model_copy(update=update)}) if update else request
    return changed, tuple(notices)


def _params_as_spelt(work: Workload, facts: Prepared) -> Mapping[str, str]:
    """The parameters that results spell otherwise, each as these do. Not if two would then be one; nor one that is left open and that
    results call as what is never chosen (:data:`modak.dsl.GIVEN`), such as the length of the run."""
    found = other_spellings(work.params, facts.parameter_names)
    times = Counter(found.get(name, name) for name in work.params)
    given = {name for name in work.open_params if found.get(name) in GIVEN}
    return {name: called for name, called in found.items() if times[called] == 1 and name not in given}


def of_one_problem(request: Request, curves: Sequence[Curve], places: Collection[str]) -> tuple[Problem, tuple[Notice, ...]]:
    """The problem to predict: the request's, or else a measured one, with a warning if there are several.

    Times of different problems are never compared. Only results in ``places`` (folded names of the target) count, if there are any. If
    nobody ran the requested problem size, results of the nearest one tell which others there are. Among
    curves :func:`of one kind <of_one_kind>`, the data set with the most results is taken (of the request's framework, if it has any), and
    then, if costs grow with the problem, the parameters with the most results. Of equals the one of median cost is taken, so that names
    decide nothing.
    """
    known = _nearest_problems(request, curves, places)
    of_kind = of_one_kind(request, known, places)
    dataset, of_dataset = _dataset(request, known, of_kind)
    params, of_params = _params(request.optimisation.workload, [one for one in of_kind if dataset in (None, one.series.dataset)])
    return Problem(dataset, params), (*of_dataset, *of_params)


def _dataset(request: Request, known: Sequence[Curve], of_kind: Sequence[Curve]) -> tuple[str | None, Sequence[Notice]]:
    """The data set: the request's, or one of several that are ``known``, of those ``of_kind``."""
    if asked := request.optimisation.workload.dataset:
        return asked, ()
    own = [one for one in of_kind if _of_framework(one, request)] or of_kind
    taken, several = _most(_by_dataset(own)), _by_dataset(known)
    return dict(taken).get("dataset") if len(several) > 1 else None, [*_others(taken, several, "dataset", ())]


def _params(work: Workload, curves: Sequence[Curve]) -> tuple[Mapping[str, float | str], Sequence[Notice]]:
    """The parameters: the request's, and of those that it leaves open the values with the most results, if they all have some and costs
    depend on them."""
    further = _by_further(curves, _asked(work))
    if () in further or not all(map(tells_of_work, curves)):
        return work.params, ()
    taken, said = _most(further) if len(further) > 1 else (), [f"{per}s" for per in startup.PARTS if stated(work, per)]
    return {**work.params, **dict(taken)}, [*_others(taken, further, "params", said)]


def _nearest_problems(request: Request, curves: Iterable[Curve], places: Collection[str]) -> list[Curve]:
    """The measured curves that give a time: of the requested parameters, in ``places``, of the nearest size, as far as there are any."""
    asked = parameters(request.optimisation.workload.named)
    usable = [one for one in curves if one.estimated is None and units(request, one) is not None]
    of_text = of_exact_text(usable, usable, asked)
    known = [one for one in of_text if _has_params(one, asked)] or of_text or usable
    return of_nearest_size([one for one in known if canonical_name(one.series.system) in places] or known, asked)


def _of_framework(curve: Curve, request: Request) -> bool:
    """Whether a curve's results name a data set, and are of the request's framework."""
    return curve.series.dataset is not None and canonical_name(curve.series.framework) == canonical_name(request.optimisation.framework)


def unknown_labels(request: Request, curves: Iterable[Curve]) -> Iterator[Notice]:
    """A warning if results name data sets, or builds, of the application, but none of them is the one that the request names."""
    work, those = request.optimisation.workload, [one.series for one in curves if one.estimated is None]
    datasets = {one.dataset for one in those if one.dataset}
    builds = {str(one.compiler) for one in those if is_build(one.compiler)}
    instead = "the times are estimated from results of those"
    if work.dataset and datasets and work.dataset not in datasets:
        yield Notice(field="optimisation.workload.dataset", message=f"{unknown('data set', work.dataset, datasets)}; {instead}")
    if work.compiler and is_build(work.compiler) and builds and canonical_name(work.compiler) not in map(canonical_name, builds):
        yield Notice(field="optimisation.workload.compiler", message=f"{unknown('build', work.compiler, builds)}; {instead}")


def _has_params(curve: Curve, asked: Mapping[str, str]) -> bool:
    """Whether a curve's results have these parameters."""
    return all(equal_values(curve.series.params.get(name), text) for name, text in asked.items())


def of_nearest_size(curves: Sequence[Curve], asked: Mapping[str, str]) -> list[Curve]:
    """The curves whose numbers are those of the parameters, or nearest to them, of the curves that differ from these in numbers alone."""
    away = [(one, ratios) for one in curves if (ratios := number_ratios(asked, one.series.params)) is not None]
    return next((of_size for _, of_size in nearest_first(away)), [])


def _asked(work: Workload) -> Collection[str]:
    """Names of the requested parameters; if the request gives its length, runs of another length are of the same problem."""
    return {*work.params, *(startup.LENGTHS if requested_lengths(work) else ())}


def _by_further(curves: Iterable[Curve], asked: Collection[str]) -> dict[Labels, list[Curve]]:
    """Curves by the labels of their problem that the request leaves open, each value in the spelling that comes first."""
    first: dict[tuple[str, str], str] = {}

    def labels(one: Curve) -> Labels:
        further = ((name, text) for name, text in one.series.params.items() if name not in asked and name not in NO_PROBLEM)
        return tuple(sorted((name, first.setdefault((name, canonical_setting(name, text)), text)) for name, text in further))

    return grouped(curves, labels)


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
        rest = join_names([text or "none" for text in others], MOST_NAMED, "; " if any(", " in text for text in others) else ", ")
        of = f"the prediction uses {named(taken) or 'the results without any'} (others: {rest})"
        yield Notice(field=f"optimisation.workload.{what}", message=f"not given, and there are results for several: {of}")


def unmeasured(request: Request, curve: Curve) -> str:
    """What of a run that lies on a trend nobody ran: its problem size, its setting, or both; or its problem size with a text among its
    parameters (another algorithm ran it, perhaps). ``curve`` is the nearest one."""
    setting = recorded(request)
    there = curve.series.params
    asked = {name: value for name, value in {**request.optimisation.workload.named, **setting}.items() if name in there}
    other = {name for name, value in asked.items() if not equal_values(there[name], parameter(value))}
    tuned, texts = other & setting.keys(), sorted(name for name in other - setting.keys() if magnitude(parameter(asked[name])) is None)
    if tuned and tuned == other:
        return "setting"
    those = [*texts, *(["setting"] if tuned else [])]
    return f"problem size with this {' and '.join(those)}" if those else "problem size"
