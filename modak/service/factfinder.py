"""The facts that a request is answered with: what is known, the models of its application, and what other results tell of it."""

from __future__ import annotations

from typing import Final

from modak.cache import Cache
from modak.choosing.openswitch import left_open
from modak.dsl import Request
from modak.facts import parameter
from modak.prepared import Prepared
from modak.service import parameters
from modak.service.factcache import FactCache, Switches
from modak.store import Store

MOST_ESTIMATED: Final = 32
"""Questions about applications that never ran on their target, whose answers from parameters are kept."""
SWITCHES: Final = ("compiler", "precision", "params.build")
"""Columns of results that tell how switches were set."""


class FactFinder:
    """Facts for requests, from memory where they are there. Every method may be called from several threads."""

    def __init__(self, store: Store) -> None:
        self._store, self._cache = store, FactCache(store)
        self._estimated = Cache(MOST_ESTIMATED)

    def facts(self, application: str | None) -> Prepared:
        """The newest facts, with the models of one application."""
        return self._cache.facts(application)

    def ready(self, request: Request) -> Prepared | None:
        """The facts for a request if they are in memory and the newest; ``None``: they have to be read, or told from parameters."""
        facts = self._cache.ready(request.workload_name, _left(request))
        return None if facts is None or parameters.untried(request, facts) else facts

    def facts_for(self, request: Request, *, everywhere: bool = False) -> Prepared:
        """The facts for a request: with what other applications tell of the switches that it leaves open, and, where its application never
        ran on its target, with what its parameters tell of it (``everywhere``: of every known system, where the request names none).
        """
        left = _left(request)
        facts = self._cache.facts(request.workload_name, left)
        places = parameters.untried(request, facts, everywhere=everywhere)
        if not places:
            return facts
        params = tuple(sorted((name, parameter(value)) for name, value in request.optimisation.workload.params.items()))
        key = (facts.version, request.workload_name, places, left, params, request.optimisation.workload.batch_size)
        return self._estimated.get(key, lambda: parameters.with_parameters(self._store, request, facts, places))


def _left(request: Request) -> Switches:
    """The switches that a request leaves to the evidence, as the store takes them; ``()``: none."""
    left = left_open(request)
    return tuple(tuple(each.on for each in left if each.column == column) for column in SWITCHES) if left else ()
