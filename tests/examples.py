"""Requests of ``examples/``, and their answers on the packaged facts."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from modak.dsl import Request
from modak.facts import Facts, Queue
from modak.normalise import normalise
from modak.optimise import Answer, optimise
from modak.text.documents import with_value

Known = Callable[[str | None], Facts]
EXAMPLES = Path(__file__).parent.parent / "examples"


def example(name: str, **changes: Any) -> Request:
    """A request of ``examples/``; ``changes`` replace parts of it, ``a__b`` being the key ``b`` of section ``a``."""
    document = json.loads((EXAMPLES / f"{name}.json").read_text())
    for path, value in changes.items():
        document = with_value(document, ("job", *path.split("__")), value)
    return normalise(document).request


def answer(request: Request, known: Known) -> Answer:
    """The answer on the packaged facts."""
    return optimise(request, known(request.workload_name))


def nobody_ran_this(known: Known, queues: tuple[Queue, ...] = (), **job: Any) -> Answer:
    """The answer to a request for three days on a partition that allows two, of a program without results."""
    facts = known(None)
    here = facts.systems["supermuc-ng"]
    thin = here.partitions[0].model_copy(update={"queues": queues, "max_wall_time_s": 172_800})
    system = here.model_copy(update={"partitions": (thin,)})
    options = {"wall_time_limit": "72:00:00", "node_count": 4, **job.pop("job_options", {})}
    application = {"app_tag": "nobody-ran-this", "app_type": "mpi", "executable": "./a", **job.pop("application", {})}
    document = {"job": {"target": {"name": "supermuc-ng"}, "application": application, "job_options": options}}
    return optimise(normalise(document).request, replace(facts, systems={"supermuc-ng": system}))
