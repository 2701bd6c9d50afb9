"""Answers of a process that remembers nothing: ``python -m tests.uncached DATABASE <documents >answers``.

Every cache of MODAK's is taken away before its modules are imported, and so is what reduces a request to what shall be kept of it; what
is left works each answer out by itself, from all of the request.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from modak.service import Service


def answer(service: Service, document: Any) -> Any:
    """All that a request is answered with, as JSON: the texts, the plan and the warnings in it, or the faults."""
    from modak.errors import ModakError
    from modak.optimise import plan_of

    try:
        settled = service.solve(document)
        return {"texts": asdict(settled.texts), "plan": plan_of(settled).model_dump(mode="json")}
    except ModakError as error:
        return {"refused": type(error).__name__, "faults": [str(fault) for fault in error.faults]}


def answers(database: str, documents: Sequence[Any]) -> list[Any]:
    """The answers to documents, one after the other, on the facts of an SQLite file."""
    from modak.service import open_service
    from modak.settings import read_settings

    with open_service(read_settings({"MODAK_DATABASE_URL": f"sqlite:///{database}"})) as service:
        return [answer(service, document) for document in documents]


def forget() -> None:
    """Take the caches away. What is read of the installation (plug-ins) stays: no request reaches it."""
    from modak import plugins  # noqa: F401

    keeping = functools.lru_cache

    def forgetting(*words: Any, **options: Any) -> Any:
        """What stands in for ``lru_cache``: with the function itself, or with options, as that is called."""

        def decorated(work: Any) -> Any:
            if not work.__module__.startswith("modak."):
                return keeping(*words, **options)(work)
            work.__wrapped__ = work  # as a cached one has
            return work

        if words and callable(words[0]):
            return forgetting()(words[0])
        return decorated

    functools.lru_cache = forgetting
    functools.cache = forgetting

    from modak.cache import Cache
    from modak.script import checker

    Cache.get = lambda self, key, compute: compute()  # type: ignore[method-assign]
    vars(checker).update(_MOST_CACHED_LINES=-1, _LONGEST_CACHED_LINE=-1)

    from modak.choosing import reducedrequest

    reducedrequest.reduce_request = lambda request, *_, **__: request

    from modak.script import surroundings

    surroundings.of_any_run = lambda job: replace(job, environment=dict(sorted(job.environment.items())))
    surroundings.of_any_size = lambda job: job


if __name__ == "__main__":
    forget()
    json.dump(answers(sys.argv[1], json.load(sys.stdin)), sys.stdout)
