"""The addresses that MODAK's callers already use, in the shapes that they read.

`/get_image`, `/get_build`, `/get_optimisation` and `/get_job_content` answer the request's own document with one thing
filled in; what is absent is left out. A caller that treats everything but 200 as no script gets its warnings inside 200,
as `job.warnings`. The four lists (`/infrastructures`, `/scripts`, `/scaling_models`, `/container_mappings`) are views of
the systems, rules, models and images that are known; writing them is closed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from fastapi import FastAPI, Request
from starlette.responses import Response

from modak.api import shapes
from modak.api.bodies import Body, document
from modak.api.native import Strict, Wanted, closed, described, service_of
from modak.api.problems import answer
from modak.errors import NotFound
from modak.response import job_of, with_image
from modak.service import Service

TAG: Final = "published names"


def add_routes(app: FastAPI) -> None:
    """Add the published addresses to ``app``."""
    request = described("request")
    add = app.add_api_route
    add("/get_image", get_image, methods=["POST"], tags=[TAG], summary="The image for a request", openapi_extra=request)
    add("/get_build", get_build, methods=["POST"], tags=[TAG], summary="The build job for a request", openapi_extra=request)
    add("/get_optimisation", get_optimisation, methods=["POST"], tags=[TAG], summary="The job script for a request", openapi_extra=request)
    add(
        "/get_job_content",
        get_optimisation,
        methods=["POST"],
        tags=[TAG],
        summary="An older name of /get_optimisation",
        openapi_extra=request,
    )
    add_list(app, "/infrastructures", "infrastructure", infrastructures)
    add_list(app, "/scripts", "script", scripts)
    add_list(app, "/scaling_models", "scaling model", scaling_models)
    add_list(app, "/container_mappings", "container mapping", container_mappings)


def get_image(request: Request, body: Body, strict: Strict = False) -> Response:
    """The request with `job.application.container_runtime`: the caller's own where nothing better is known."""
    return _only(request, body, strict)


def get_build(request: Request, body: Body, strict: Strict = False) -> Response:
    """The request with the text of the build job as `job.build_script`, where there is something to build."""
    return _only(request, body, strict, build_script="build_content")


def get_optimisation(request: Request, body: Body, strict: Strict = False) -> Response:
    """The request with the text of the job script as `job.job_content`, and `job.application.container_runtime`."""
    return _only(request, body, strict, job_content="job_content")


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
    """Add reading of one list and of its items, and close writing it."""

    def every(request: Request) -> Response:
        """All of them, as one list."""
        return answer(find(service_of(request)))

    def one(request: Request, id: Wanted) -> Response:
        """One of them by its `id`."""
        for item in find(service_of(request)):
            if item["id"] == id:
                return answer(item)
        raise NotFound(f"no {what} has that id", field="id")

    app.add_api_route(path, every, methods=["GET"], tags=[TAG], summary=f"Every {what}", name=path)
    app.add_api_route(f"{path}/{{id}}", one, methods=["GET"], tags=[TAG], summary=f"One {what}", name=f"one of {path}")
    for method, at in (("POST", path), ("PUT", f"{path}/{{id}}"), ("DELETE", f"{path}/{{id}}")):
        app.add_api_route(at, closed, methods=[method], tags=["closed"], summary="Closed", name=f"{method} {at}")


def _only(request: Request, body: Body, strict: bool, **wanted: str) -> Response:
    """The caller's document with the image and the ``wanted`` texts alone, and the warnings if there are any."""
    sent = document(body)
    answered = job_of(service_of(request).optimise(sent, strict=strict, keep=False))[1]
    top, job = with_image(sent, answered["plan"]["configuration"].get("image"))
    job |= {name: answered[content] for name, content in wanted.items() if content in answered}
    warnings = answered["plan"].get("warnings")
    if warnings:
        job["warnings"] = warnings
    return answer({**sent, top: job} if top in sent else {top: job})
