"""Candidates of a request, as tests ask for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from modak.choosing.candidates import Candidates, enumerate_candidates
from modak.facts import Facts
from modak.normalise import normalise
from modak.target import resolve

Known = Callable[[str | None], Facts]
TRAINING = {"app_type": "ai_training", "ai_training": {"pytorch": {}}}
SPREAD = {"app_type": "ai_training", "ai_training": {"pytorch": {}, "config": {"distributed_training": True}}}


def candidates(known: Known, system: str | None = "supermuc-ng", application: str = "nobody-ran-this", **job: Any) -> Candidates:
    """Candidates of a request for a system; ``a__b`` is the field ``b`` of section ``a``."""
    sections: dict[str, Any] = {"target": {"name": system} if system else {}, "application": {"app_tag": application}}
    for path, value in job.items():
        section, _, name = path.partition("__")
        sections[section] = {**sections.get(section, {}), name: value} if name else value
    request = normalise({"job": sections}).request
    facts = known(application)
    return enumerate_candidates(request, resolve(request, facts), facts.models)


def layouts(found: Candidates) -> set[tuple[int, int, int]]:
    """Ranks, threads and GPUs a node."""
    return {(shape.ranks_per_node, shape.threads_per_rank, shape.gpus_per_node) for shape in found.shapes}
