"""Candidates of a request, as tests ask for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from modak.choosing.candidates import Candidates, enumerate_candidates
from modak.dsl import Request
from modak.facts import Result
from modak.normalise import normalise
from modak.perfmodel import fit
from modak.target import resolve
from tests.examples import Known

TRAINING = {"app_type": "ai_training", "ai_training": {"pytorch": {}}}
SPREAD = {"app_type": "ai_training", "ai_training": {"pytorch": {}, "config": {"distributed_training": True}}}


def asked(system: str | None = "supermuc-ng", application: str = "solver", **job: Any) -> Request:
    """A request for a system; ``a__b`` is the field ``b`` of section ``a``."""
    sections: dict[str, Any] = {"target": {"name": system} if system else {}, "application": {"app_tag": application}}
    for path, value in job.items():
        section, _, name = path.partition("__")
        sections[section] = {**sections.get(section, {}), name: value} if name else value
    return normalise({"job": sections}).request


def candidates(
    known: Known, system: str | None = "supermuc-ng", application: str = "solver", measured: Iterable[Result] = (), **job: Any
) -> Candidates:
    """The candidates for it by these results, or else by the packaged ones."""
    request, facts = asked(system, application, **job), known(application)
    return enumerate_candidates(request, resolve(request, facts), fit(measured) or facts.models)


def of_mpi(known: Known, measured: Iterable[Result] = (), system: str | None = "supermuc-ng", **job: Any) -> Candidates:
    """Those of an MPI program."""
    return candidates(known, system, measured=measured, application__app_type="mpi", **job)


def changed(known: Known, system: str = "supermuc-ng", **fields: Any) -> Known:
    """The packaged facts without results, and with a system that has other fields."""
    facts = known(None)
    there = facts.systems[system].model_copy(update=fields)
    return lambda _: replace(facts, systems={**facts.systems, there.name: there})


def layouts(found: Candidates) -> set[tuple[int, int, int]]:
    """Ranks, threads and GPUs a node."""
    return {(shape.ranks_per_node, shape.threads_per_rank, shape.gpus_per_node) for shape in found.shapes}
