"""The addresses that MODAK's callers already use, in the shapes that they read.

`/get_image`, `/get_build`, `/get_optimisation` and `/get_job_content` answer the request's own document with one thing
filled in; what is absent is left out. A caller that treats everything but 200 as no script gets its warnings inside 200,
as `job.warnings`. The four lists (`/infrastructures`, `/scripts`, `/scaling_models`, `/container_mappings`) are views of
the systems, rules, models and images that are known. What is sent to three of them is added to these; models are fitted to
results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from fastapi import FastAPI, Request
from pydantic import BaseModel
from starlette.responses import Response

from modak.api.access import actor_of
from modak.api.bodies import Body, document, read
from modak.api.direct import SHORT, add_direct, in_time, one_at_a_time
from modak.api.etags import tagged, unless_known
from modak.api.native import REQUEST, Strict, Wanted, address, service_of
from modak.api.openapi import TEXT, Maybe, json_response, list_of, object_of, ref, request_body, text
from modak.api.problems import alone, answer, answer_document
from modak.api.queries import PUBLISHED
from modak.dsl import Texts
from modak.errors import AlreadyThere, NotFound
from modak.facts import Facts, Known
from modak.packaged import kind_of, name_of
from modak.published import posted, postedsystems, shapes
from modak.response import with_image
from modak.schemas import AS_SENT, OPENAPI, of_model
from modak.service import Service

_JOB: Final = {
    **object_of(
        "as sent, with what was found",
        application=Maybe({"type": "object", **AS_SENT, "description": "as sent, with `container_runtime` where an image is known"}),
        job_content=Maybe(text("text of the job script, as it can be submitted")),
        build_script=Maybe(text("text of the job that builds the application or its image")),
        warnings=Maybe(list_of(ref("Notice"), "what was read in another way, or could not be had")),
    ),
    **AS_SENT,
}
ANSWERED: Final = json_response(
    object_of(job=Maybe(_JOB)) | AS_SENT,
    "The caller's own document with one thing filled in; what is absent is left out",
    example={"job": {"application": {"app_tag": "solver"}, "job_content": "#!/bin/bash\n#SBATCH --job-name=solver\n…"}},
)


def add_routes(app: FastAPI) -> None:
    """Add the published addresses to ``app``."""
    for path, endpoint, summary in (
        ("/get_optimisation", get_optimisation, "The job script for a request"),
        ("/get_job_content", get_optimisation, "An older name of /get_optimisation"),
        ("/get_image", get_image, "The image for a request"),
        ("/get_build", get_build, "The build job for a request"),
    ):
        add_direct(app, path, endpoint, methods=["POST"], tags=[PUBLISHED], summary=summary, responses=ANSWERED, openapi_extra=REQUEST)
    add_list(app, "/infrastructures", "infrastructure", infrastructures)
    add_list(app, "/scripts", "script", scripts)
    add_list(app, "/scaling_models", "scaling model", scaling_models)
    add_list(app, "/container_mappings", "container mapping", container_mappings, keys=("id", "opt_dsl_code"))
    add_creating(app, "/infrastructures", "infrastructure", postedsystems.infrastructure)
    add_creating(app, "/scripts", "script", posted.script)
    add_creating(app, "/container_mappings", "container mapping", posted.container_mapping)


async def get_image(request: Request, strict: Strict = False) -> Response:
    """The request with `job.application.container_runtime`: the caller's own where nothing better is known."""
    return await _only(request, strict)


async def get_build(request: Request, strict: Strict = False) -> Response:
    """The request with the text of the build job as `job.build_script`, where there is something to build."""
    return await _only(request, strict, lambda texts: {"build_script": texts.build_script})


async def get_optimisation(request: Request, strict: Strict = False) -> Response:
    """The request with the text of the job script as `job.job_content`, and `job.application.container_runtime`."""
    return await _only(request, strict, lambda texts: {"job_content": texts.job_script})


def infrastructures(service: Service) -> list[dict[str, Any]]:
    """Systems."""
    facts = service.facts()
    return [shapes.infrastructure(system, facts.processors, facts.accelerators) for system in facts.systems.values()]


def scripts(service: Service) -> list[dict[str, Any]]:
    """Rules whose conditions the published shape can express."""
    return [entry for rule in service.facts().rules for entry in shapes.scripts(rule)]


def scaling_models(service: Service) -> Iterator[dict[str, Any] | None]:
    """Those curves that are one of the published models; nothing for others."""
    return map(shapes.scaling_model, service.store.models_in_turn())


def container_mappings(service: Service) -> list[dict[str, Any]]:
    """Images from the registries that the published shape has; first those that were given a name, by which others may be shown, too."""
    shown = (image for image in service.facts().images if image.reference.partition(":")[0] in shapes.REGISTRIES)
    return [shapes.container_mapping(image) for image in sorted(shown, key=lambda image: image.opt_dsl_code is None)]


def add_list(
    app: FastAPI, path: str, what: str, find: Callable[[Service], Iterable[dict[str, Any] | None]], keys: tuple[str, ...] = ("id",)
) -> None:
    """Add reading of one list and of its items, by any of the ``keys``."""

    async def every(request: Request) -> Response:
        """All of them, as one list."""
        return await unless_known(request, lambda service: list(items(request, service)), what)

    async def one(request: Request, id: Wanted) -> Response:
        """One of them by its `id` (container mappings: also by `opt_dsl_code`)."""
        return await unless_known(request, lambda service: found(request, service, id), what)

    def items(request: Request, service: Service) -> Iterator[dict[str, Any]]:
        for item in find(service):
            in_time(request)
            if item:
                yield item

    def found(request: Request, service: Service, id: str) -> dict[str, Any]:
        for key in keys:
            for item in items(request, service):
                if item[key] == id:
                    return item
        raise NotFound(f"no {what} has that id", field="id")

    add, shown = app.add_api_route, ref(what.replace(" ", "_"))
    listed = tagged({"type": "array", "items": shown})
    add(path, every, methods=["GET"], tags=[PUBLISHED], summary=f"Every {what}", name=path, responses=listed)
    add(f"{path}/{{id}}", one, methods=["GET"], tags=[PUBLISHED], summary=f"One {what}", name=f"one of {path}", responses=tagged(shown))


def add_creating(app: FastAPI, path: str, what: str, read_posted: Callable[[Any, Facts], Sequence[Known]]) -> None:
    """Add creating one item. Unlike elsewhere at the published addresses, unknown query parameters are refused: data is changed."""

    def create(request: Request, body: Body) -> Response:
        """Adds what is sent, in the name of the caller. `Location` is its URL; 409 if it, or another of its name, is there already."""
        service = service_of(request)
        facts = service.facts()
        values = read_posted(document(body), facts)
        item = shapes.shown(values, facts)
        with alone(f"{kind_of(values[0])}s.{name_of(values[0])}", posted.PLACES.get(type(values[0]), {})):
            added = service.add(values, actor=actor_of(request))
        if not added:
            raise AlreadyThere(f"this {what} is there already: {path}/{item['id']}")
        return answer(item, status=201, headers={"Location": f"{address(request)}{path}/{item['id']}"})

    name = what.replace(" ", "_")
    where = {"Location": {"description": "where it can be read", "schema": TEXT}}
    app.add_api_route(
        path, create, methods=["POST"], tags=["change"], summary=f"Add one {what}", name=f"create {path}", status_code=201,
        responses=json_response(ref(name), "What was added", status=201, headers=where),
        openapi_extra=request_body(ref(f"posted_{name}")),
    )  # fmt: skip


def schemas() -> dict[str, Any]:
    """The bodies that create something, for the OpenAPI document."""
    found: dict[str, Any] = {}
    models: Mapping[str, type[BaseModel]] = {
        "posted_script": posted.PostedScript,
        "posted_infrastructure": postedsystems.PostedInfrastructure,
        "posted_container_mapping": posted.PostedMapping,
    }
    for name, model in models.items():
        main, parts = of_model(model, OPENAPI)
        found |= {**parts, name: main}
    return found


async def _only(request: Request, strict: bool, wanted: Callable[[Texts], Mapping[str, str]] = lambda _: {}) -> Response:
    """The caller's document with the image, those ``wanted`` texts that are not empty, and the warnings if there are any."""
    body = await read(request)
    sent = document(body)
    service: Service | None = request.app.state.at_hand() if len(body.content) <= SHORT else None
    solution = service.solve_at_once(sent, strict=strict) if service else None
    if solution is None:
        solution = await one_at_a_time(request, lambda service: service.solve(sent, strict=strict))
    top, job = with_image(sent, solution.software.reference)
    job.update((name, text) for name, text in wanted(solution.texts).items() if text)
    if solution.warnings:
        job["warnings"] = [warning.model_dump() for warning in solution.warnings]
    return answer_document({**sent, top: job} if top in sent else {top: job})
