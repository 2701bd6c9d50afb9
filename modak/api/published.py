"""The addresses that MODAK's callers already use, in the shapes that they read.

`/get_image`, `/get_build`, `/get_optimisation` and `/get_job_content` answer the request's own document with one thing
filled in; what is absent is left out. A caller that treats everything but 200 as no script gets its warnings inside 200,
as `job.warnings`. The four lists (`/infrastructures`, `/scripts`, `/scaling_models`, `/container_mappings`) are views of
the systems, rules, models and images that are known; they are written under MODAK's own addresses.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final

from fastapi import FastAPI, Request
from starlette.responses import Response

from modak.api import shapes
from modak.api.answers import ref
from modak.api.bodies import document, read
from modak.api.direct import SHORT, add_direct, is_open, one_at_a_time
from modak.api.native import Strict, Wanted, described, service_of
from modak.api.problems import answer_document
from modak.api.queries import TOLERANT
from modak.api.tags import tagged, unless_known
from modak.dsl import Texts
from modak.errors import NotFound
from modak.response import with_image
from modak.service import Service

TAG: Final = TOLERANT
ANSWERED: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "The caller's own document with one thing filled in; what is absent is left out",
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "properties": {
                        "job": {
                            "type": "object",
                            "properties": {
                                "application": {
                                    "type": "object",
                                    "description": "as sent, with `container_runtime` where an image is known",
                                },
                                "job_content": {"type": "string", "description": "text of the job script, as it can be submitted"},
                                "build_script": {
                                    "type": "string",
                                    "description": "text of the job that builds the application or its image",
                                },
                                "warnings": {
                                    "type": "array",
                                    "description": "what was read in another way, or could not be had",
                                    "items": {"type": "object", "properties": {"field": {"type": "string"}, "message": {"type": "string"}}},
                                },
                            },
                        }
                    },
                },
                "example": {"job": {"application": {"app_tag": "solver"}, "job_content": "#!/bin/bash\n#SBATCH --job-name=solver\n…"}},
            }
        },
    }
}


def add_routes(app: FastAPI) -> None:
    """Add the published addresses to ``app``."""
    request = described("request")
    for path, endpoint, summary in (
        ("/get_optimisation", get_optimisation, "The job script for a request"),
        ("/get_job_content", get_optimisation, "An older name of /get_optimisation"),
        ("/get_image", get_image, "The image for a request"),
        ("/get_build", get_build, "The build job for a request"),
    ):
        add_direct(app, path, endpoint, methods=["POST"], tags=[TAG], summary=summary, responses=ANSWERED, openapi_extra=request)
    add_list(app, "/infrastructures", "infrastructure", infrastructures)
    add_list(app, "/scripts", "script", scripts)
    add_list(app, "/scaling_models", "scaling model", scaling_models)
    add_list(app, "/container_mappings", "container mapping", container_mappings)


async def get_image(request: Request, strict: Strict = False) -> Response:
    """The request with `job.application.container_runtime`: the caller's own where nothing better is known."""
    return await _only(request, strict)


async def get_build(request: Request, strict: Strict = False) -> Response:
    """The request with the text of the build job as `job.build_script`, where there is something to build."""
    return await _only(request, strict, "build_script", attrgetter("build_script"))


async def get_optimisation(request: Request, strict: Strict = False) -> Response:
    """The request with the text of the job script as `job.job_content`, and `job.application.container_runtime`."""
    return await _only(request, strict, "job_content", attrgetter("job_script"))


def infrastructures(service: Service) -> list[dict[str, Any]]:
    """Systems."""
    facts = service.facts()
    return [shapes.infrastructure(system, facts) for system in facts.systems.values()]


def scripts(service: Service) -> list[dict[str, Any]]:
    """Rules."""
    return [entry for rule in service.facts().rules for entry in shapes.scripts(rule)]


def scaling_models(service: Service) -> list[dict[str, Any]]:
    """Those curves that are one of the published models."""
    return [shape for curve in service.store.models() if (shape := shapes.scaling_model(curve))]


def container_mappings(service: Service) -> list[dict[str, Any]]:
    """Images of the two kinds that the published shape has."""
    return [shapes.container_mapping(image) for image in service.facts().images if image.reference.startswith(("docker://", "shub://"))]


def add_list(app: FastAPI, path: str, what: str, find: Callable[[Service], list[dict[str, Any]]]) -> None:
    """Add reading of one list and of its items."""

    def every(request: Request) -> Response:
        """All of them, as one list."""
        return unless_known(request, find)

    def one(request: Request, id: Wanted) -> Response:
        """One of them by its `id`."""
        return unless_known(request, lambda service: found(service, id))

    def found(service: Service, id: str) -> dict[str, Any]:
        for item in find(service):
            if item["id"] == id:
                return item
        raise NotFound(f"no {what} has that id", field="id")

    add, shown = app.add_api_route, ref(what.replace(" ", "_"))
    add(path, every, methods=["GET"], tags=[TAG], summary=f"Every {what}", name=path, responses=tagged({"type": "array", "items": shown}))
    add(f"{path}/{{id}}", one, methods=["GET"], tags=[TAG], summary=f"One {what}", name=f"one of {path}", responses=tagged(shown))


async def _only(request: Request, strict: bool, name: str = "", text: Callable[[Texts], str] = lambda texts: "") -> Response:
    """The caller's document with the image and one text alone, and the warnings if there are any."""
    body = await read(request)
    sent = document(body)
    settled = service_of(request).settle_at_once(sent, strict=strict) if len(body.content) <= SHORT and is_open(request) else None
    if settled is None:
        settled = await one_at_a_time(request, lambda service: service.settle(sent, strict=strict))
    top, job = with_image(sent, settled.software.reference)
    if text(settled.texts):
        job[name] = text(settled.texts)
    if settled.warnings:
        job["warnings"] = [warning.model_dump() for warning in settled.warnings]
    return answer_document({**sent, top: job} if top in sent else {top: job})
