"""``modak tune``: a search in a folder for the best setting of a request, its report, and the script of that setting."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from statistics import geometric_mean
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from modak.choosing.problem import as_spelt
from modak.dsl import Configuration, Request
from modak.errors import Fault, RequestError, Unavailable, strictly
from modak.facts import Facts
from modak.files import write_all
from modak.normalise import normalise
from modak.optimise import optimise
from modak.service import Service
from modak.target import resolve
from modak.text.grammar import InsidePath
from modak.tuner.limits import SearchOptions
from modak.tuner.runners import runner_for
from modak.tuner.search import Search
from modak.tuner.study import Trial, opened
from modak.tuning.request import aim_of, grid_of, with_space
from modak.tuning.setting import setting_of
from modak.tuning.start import starts
from modak.tuning.trial import base_request, identity, set_to
from modak.tuning.verdict import gain

BASE: Final = "base.json"


def tune(
    service: Service, document: Any, folder: Path, options: SearchOptions, *, here: bool, strict: bool = False, say: Callable[[str], None]
) -> dict[str, Any]:
    """Search, or continue the folder's search. Returns the report as JSON; the best setting's script is ``folder/job.sh``.

    Raises :class:`modak.errors.RequestError` for a request that names nothing to tune, and as :func:`modak.tuner.study.opened` does.
    """
    _needs_optuna()
    place = _below(folder)
    read = normalise(document, strict=strict)
    facts = service.facts_for(with_space(read.request))
    request, notices = as_spelt(with_space(read.request), facts)
    if strict and notices:
        raise RequestError(faults=strictly(Fault(one.field, one.message) for one in notices))
    base = base_request(request, _configuration(place, request, facts), resolve(request, facts))
    space, aim = grid_of(base), aim_of(base)
    runner = runner_for(resolve(base, facts).scheduler, here=here)
    asked = request.optimisation.autotuning
    if asked:
        budget = asked.budget_node_hours if options.budget_node_hours is None else options.budget_node_hours
        options = replace(options, trials=options.trials or asked.trials, budget_node_hours=budget)
    first = starts(base, facts, space, service.earlier(base), aim)
    with opened(place, space, identity(base), first) as study:
        search = Search(service, base, facts, space, aim, study, runner, options, say)
        try:
            stopped = search.run_trials()
            return _report(search, stopped, [warning.model_dump() for warning in (*read.warnings, *notices)])
        except KeyboardInterrupt:
            begun = ", ".join(search.under_way())
            say(f"the same command goes on with the search{f'; left to run: {begun}' if begun else ''}")
            raise


def _report(search: Search, stopped: str, warnings: list[dict[str, str]]) -> dict[str, Any]:
    """The report, after best and default setting were run again where they differ. The script has the better one of both."""
    folder, trials = search.study.folder, search.study.trials()
    good = [trial for trial in trials if trial.cost is not None]
    if not good:
        raise RequestError(f"no trial gave a measurement ({stopped}); their output is in {folder}", field=str(folder))
    best = min(good, key=lambda trial: (trial.cost, trial.number))
    before, after = search.confirmed(best.point) if best.point != search.space.default else ([], [])
    search.stored()
    factor, confirmed = gain(before, after), _confirmed(before, after)
    if before and after and not factor:
        search.notes.append("no gain is given: a single run does not show how much runs scatter (--confirm 2 or more)")
    point = search.space.default if confirmed is False else best.point
    setting = set_to(search.base, search.space, point)
    write_all({folder / "job.sh": optimise(setting, search.facts).texts.job_script})
    return {
        "folder": str(folder),
        "metric": search.aim.metric,
        "unit": search.aim.unit,
        "better": search.aim.better,
        "stopped": stopped,
        "node_hours": search.study.node_hours(),
        "trials": [_trial(search, trial) for trial in trials],
        "best": _trial(search, best),
        "default": next((_trial(search, one) for one in good if one.point == search.space.default), None),
        "gain": asdict(factor) if factor else None,
        "confirmed": confirmed,
        "setting": setting_of(setting).model_dump(mode="json"),
        "layout": search.space.of_kind("layout", point),
        "script": str(folder / "job.sh"),
        "notes": search.notes,
        "warnings": warnings,
    }


def _confirmed(before: Sequence[float], after: Sequence[float]) -> bool | None:
    """Whether the best setting, run again, was as good as the default one, which had costs ``before``; ``None``: that was not run again."""
    if not before:
        return None
    return bool(after) and geometric_mean(after) <= geometric_mean(before)  # the best one may have run once, and never again


def _trial(search: Search, trial: Trial) -> dict[str, Any]:
    run = trial.run
    return {
        "number": trial.number,
        "state": trial.state,
        "setting": search.space.values(trial.point),
        "value": None if run.value is None else search.aim.seen(run.value),
        "unit": search.aim.unit,
        "basis": "measured" if run.value is not None else "none",
        "nodes": run.nodes,
        "node_hours": run.node_hours,
        "job": run.job,
        "why": run.why,
        "fault": run.fault,
    }


def _configuration(place: Path, request: Request, facts: Facts) -> Configuration:
    """The configuration that the request's plan chose when the search began."""
    kept = place / BASE
    if kept.exists():
        return Configuration.model_validate(json.loads(kept.read_text(encoding="utf-8")))
    chosen = optimise(request, facts).plan.configuration
    write_all({kept: chosen.model_dump_json()})
    return chosen


def _below(folder: Path) -> Path:
    """The folder as a path below the current one, from which the jobs are submitted.

    Raises :class:`modak.errors.RequestError` for a folder elsewhere, and for a name that a script cannot contain.
    """
    try:
        inside = (Path.cwd() / folder).resolve().relative_to(Path.cwd().resolve()).as_posix()
        return Path(TypeAdapter(InsidePath).validate_python(inside))
    except (ValueError, ValidationError):
        text = "a folder below this one, of letters, digits and ._+@-: the jobs start here and write there"
        raise RequestError(text, field="--output") from None


def _needs_optuna() -> None:
    try:
        import optuna  # noqa: F401 - whether it is there
    except ImportError:
        raise Unavailable("Optuna is not installed: pip install 'modak[tune]'", field="modak tune") from None
