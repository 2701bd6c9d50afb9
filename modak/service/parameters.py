"""Predictions from numeric parameters, for applications that never ran on a system: which results are read for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

from modak.choosing.measured import agreeing
from modak.dsl import Request
from modak.facts import Facts, Result, same_name
from modak.perfmodel.unseen import need_others, numbers_of
from modak.prepared import Prepared
from modak.store import Store
from modak.store.results import MOST_WITH_PARAMETERS
from modak.target import Target, find_system


def untried(request: Request, facts: Facts, *, everywhere: bool = False) -> tuple[frozenset[str], ...]:
    """The target by its names, if the request has numeric parameters and no results there agree with it.

    ``everywhere``: if the request names no target, each such known system.
    """
    if not numbers_of(request.optimisation.workload.params):
        return ()
    name = request.target.name
    asked = (name,) if name else tuple(facts.systems) if everywhere else ()
    places = (Target(name=one, system=find_system(one, facts)).names for one in asked)
    run = {same_name(curve.series.system) for curve in agreeing(facts.models, request)}
    return tuple(names for names in places if names.isdisjoint(run))


def with_parameters(store: Store, request: Request, facts: Prepared, places: Sequence[frozenset[str]]) -> Prepared:
    """The facts with curves from parameters, for an application that never ran in these places (each given by its names).

    They are fitted to the results of each place; if these are too few for some configuration, or if the application ran elsewhere, to all
    results of their metrics.
    """
    from modak.perfmodel.estimated import estimated_curves

    work = request.optimisation.workload
    curves_from = partial(estimated_curves, str(request.workload_name), work.params, batch=work.batch_size)
    spelt = store.systems()
    here = {names: _of_place(store, [name for name in spelt if same_name(name) in names]) for names in places}
    left = [names for names in places if facts.models or need_others(here[names])]
    estimated = [curves_from(names, results) for names, results in here.items() if names not in left]
    metrics = sorted({result.series.metric for names in left for result in here[names]})
    results = [result for metric in metrics for result in store.having_parameters({"metric": metric})]
    found = (*chain.from_iterable(estimated), *curves_from(frozenset().union(*left), results))
    return facts.changed(models=(*facts.models, *found)) if found else facts


def for_rows(store: Store, questions: Sequence[Mapping[str, Any]], answered: Sequence[Mapping[str, Any]]) -> list[Result]:
    """Results of any application in the metrics of those rows that have parameters and weak answers, at most
    :data:`MOST_WITH_PARAMETERS`."""
    from modak.perfmodel.rows import WEAK

    weak = [
        row for row, answer in zip(questions, answered, strict=True)
        if answer["basis"] in WEAK and any(name.startswith("params.") for name, value in row.items() if value not in (None, ""))
    ]  # fmt: skip
    metrics = sorted({str(row["metric"]) for row in weak if row.get("metric")})
    return [result for metric in metrics for result in store.having_parameters({"metric": metric})][:MOST_WITH_PARAMETERS]


def _of_place(store: Store, spelt: Sequence[str]) -> list[Result]:
    """The results with parameters on a system, under all of its names as results spell them."""
    return [result for name in sorted(spelt) for result in store.having_parameters({"system": name})]
