"""The request document with the answer filled in, as the service returns it and ``response.json`` contains it.

The caller's fields keep their spelling and order; MODAK's decisions are added in their places.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from modak.dsl import Plan, Texts
from modak.normalise import ANSWERS
from modak.normalise.sections import OBJECT, as_object
from modak.normalise.spellings import name_of, spellings
from modak.text.documents import Json


def filled(document: Mapping[str, Any], plan: Plan, texts: Texts, address: str = "") -> str:
    """The JSON of ``document`` with image, counts, ``job_content``, ``build_content`` and ``plan`` in ``job``.

    Absent values are left out. With the ``address`` of a service the texts have addresses there, too.
    """
    top, job = job_of(document)
    for name in ANSWERS:
        job.pop(_key(job, name), None)
    chosen = plan.configuration
    _fill(job, "application", {"container_runtime": chosen.image, "mpi_ranks": chosen.ranks, "threads": chosen.threads_per_rank})
    gpus = chosen.gpus_per_node or None
    _fill(job, "job_options", {"node_count": chosen.nodes, "process_count_per_node": chosen.ranks_per_node, "request_gpus": gpus})
    job["job_content"] = texts.job_script
    if texts.build_script:
        job["build_content"] = texts.build_script
    if address:
        job |= locations(address, plan.id, built=bool(texts.build_script))
    text = f'{_text(job)[:-1]},"plan":{plan.model_dump_json(exclude_none=True)}}}'
    parts = (f"{_text(key)}:{text if key == top else _text(value)}" for key, value in document.items())
    return f"{{{','.join(parts)}}}" if top in document else f'{{"{top}":{text}}}'


def locations(address: str, plan_id: str, *, built: bool) -> Json:
    """Addresses at which a service provides the texts of a plan; ``built``: whether there is a build job."""
    place = f"{address}/plans/{plan_id}"
    return {"job_script": f"{place}/script"} | ({"build_script": f"{place}/build"} if built else {})


def with_image(document: Mapping[str, Any], image: str | None) -> tuple[str, Json]:
    """Key and content of the document's job, with ``application.container_runtime`` set if an image is given. An ``application`` that was
    sent as text or ``null`` is an object in it."""
    top, job = job_of(document)
    if image or _key(job, "application") in job:
        _fill(job, "application", {"container_runtime": image})
    return top, job


def without_preflight(document: Any) -> Any:
    """The request for a script without checks. A document that is not an object is returned as it is: reading it reports the error."""
    if not isinstance(document, Mapping):
        return document
    top, job = job_of(document)
    _fill(job, "application", {"preflight": False})
    return {**document, top: job} if top in document else job


def job_of(document: Mapping[str, Any]) -> tuple[str, Json]:
    """The key of the job and a copy of it; a document without that key is the job itself."""
    top = _key(document, "job")
    return (top, dict(document[top])) if top in document else ("job", dict(document))


def section(given: Mapping[str, Any], name: str) -> Json:
    """A copy of one section of a job, which may have been sent as text; empty where there is none."""
    own = as_object(given.get(_key(given, name)), "").value
    return dict(own) if isinstance(own, OBJECT) else {}


def _fill(job: Json, name: str, values: Mapping[str, Any]) -> None:
    """Put ``values`` into one section of ``job``, a copy; ``None`` leaves a value unchanged."""
    own = section(job, name)
    job[_key(job, name)] = own | {_key(own, field): value for field, value in values.items() if value is not None}


def _key(given: Mapping[str, Any], name: str) -> str:
    """The key of ``given`` that is a spelling of ``name``; ``name`` if there is none."""
    if name in given:
        return name
    wanted = spellings((name,))
    return next((key for key in given if name_of(key, wanted)), name)


def _text(value: Any) -> str:
    """JSON as it is sent. Raises :class:`ValueError` for NaN and infinity."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
