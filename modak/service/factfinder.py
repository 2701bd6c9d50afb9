"""The facts that a request is answered with: what is known, the models of its application, and what other results tell of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Final

from modak.cache import Cache
from modak.choosing.measured import compatible_curves
from modak.choosing.openswitch import left_open
from modak.choosing.problem import as_spelt
from modak.dsl import Request
from modak.facts import Facts, canonical_name, parameters
from modak.perfmodel.unmeasured.configurations import MeasuredRuns, by_configuration, numbers_of
from modak.perfmodel.unmeasured.unseen import transferable_metrics
from modak.prepared import Prepared
from modak.service.factcache import FactCache, Switches
from modak.store import Store
from modak.target import Target, find_system

MOST_MEASURED: Final = 4
"""Groups of results from which parameters are told that are kept: those of a system, and those of its metrics everywhere."""
MOST_ESTIMATED: Final = 32
"""Questions about applications that never ran on their target, whose answers from parameters are kept."""
SWITCHES: Final = ("compiler", "precision", "params.build")
"""Columns of results that tell how switches were set."""


class FactFinder:
    """Facts for requests, from memory where they are there. Every method may be called from several threads."""

    def __init__(self, store: Store) -> None:
        self._store, self._cache = store, FactCache(store)
        self._estimated, self._measured = Cache(MOST_ESTIMATED), Cache(MOST_MEASURED)

    def facts(self, application: str | None) -> Prepared:
        """The newest facts, with the models of one application."""
        return self._cache.facts(application)

    def ready(self, request: Request) -> Prepared | None:
        """The facts for a request if they are in memory and the newest; ``None``: they have to be read, or told from parameters."""
        facts = self._cache.ready(request.workload_name, _left(request))
        return None if facts is None or _untried(as_spelt(request, facts)[0], facts) else facts

    def facts_for(self, request: Request, *, everywhere: bool = False) -> Prepared:
        """The facts for a request: with what other applications tell of the switches that it leaves open, and, where its application never
        ran on its target, with what its parameters tell of it (``everywhere``: of every known system, where the request names none).
        """
        left = _left(request)
        facts = self._cache.facts(request.workload_name, left)
        request, _ = as_spelt(request, facts)
        places = _untried(request, facts, everywhere=everywhere)
        if not places:
            return facts
        params = tuple(sorted(parameters(request.optimisation.workload.params).items()))
        key = (facts.version, request.workload_name, places, left, params, request.optimisation.workload.batch_size)
        return self._estimated.get(key, lambda: self._with_parameters(request, facts, places))

    def _with_parameters(self, request: Request, facts: Prepared, places: Sequence[frozenset[str]]) -> Prepared:
        """The facts with curves from parameters, for an application that never ran in these places (each given by its names).

        They are fitted to the results of each place; if these are too few for some configuration whose applications have such parameters,
        or if the application ran elsewhere, to all results of these metrics.
        """
        from modak.perfmodel.unmeasured.estimated import estimated_curves

        work = request.optimisation.workload
        numbers = numbers_of(work.params)
        curves_from = partial(estimated_curves, str(request.workload_name), work.named, batch=work.batch_size)
        own = frozenset(map(canonical_name, facts.systems))
        here = {names: self._runs(facts, "system", min(names & own or names)) for names in places}
        metrics = {names: measured.metrics if facts.models else transferable_metrics(measured, numbers) for names, measured in here.items()}
        left = [names for names in places if metrics[names]]
        estimated = [curves_from(names, measured) for names, measured in here.items() if names not in left]
        everywhere = self._runs(facts, "metric", *sorted(frozenset().union(*metrics.values())))
        found = (*chain.from_iterable(estimated), *curves_from(frozenset().union(*left), everywhere))
        return facts.changed(models=(*facts.models, *found)) if found else facts

    def _runs(self, facts: Prepared, column: str, *texts: str) -> MeasuredRuns:
        """What was measured with one of these texts in a column; once for each version of the data."""

        def read() -> MeasuredRuns:
            return by_configuration(cell for text in texts for cell in self._store.having_parameters({column: text}))

        return self._measured.get((facts.version, column, texts), read)


def _left(request: Request) -> Switches:
    """The switches that a request leaves to the evidence, as the store takes them; ``()``: none."""
    left = left_open(request)
    return tuple(tuple(each.on for each in left if each.column == column) for column in SWITCHES) if left else ()


def _untried(request: Request, facts: Facts, *, everywhere: bool = False) -> tuple[frozenset[str], ...]:
    """The target by its names, if the request has numeric parameters and no results there agree with it.

    ``everywhere``: if the request names no target, each such known system.
    """
    if not numbers_of(request.optimisation.workload.params):
        return ()
    name = request.target.name
    asked = (name,) if name else tuple(facts.systems) if everywhere else ()
    places = (Target(name=one, system=find_system(one, facts)).names for one in asked)
    run = {canonical_name(curve.series.system) for curve in compatible_curves(facts.models, request)}
    return tuple(names for names in places if names.isdisjoint(run))
