"""``/builds``: order an image, look how far it is, read what its tools print, stop it. Changes and logs take the scope ``admin``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import FastAPI, Path, Request
from starlette.responses import Response

from modak.api.access import actor_of
from modak.api.bodies import Body, document
from modak.api.native import Limit, address, service_of
from modak.api.openapi import TEXT, Maybe, json_response, list_of, object_of, one_of, ref, request_body, text, time, whole
from modak.api.problems import answer

if TYPE_CHECKING:
    from modak.builds.service import BuildService

Identity = Annotated[str, Path(max_length=64, description="the build's `id`")]
STATE: Final = object_of(
    "how far a build is",
    id=text("its id"),
    state=one_of("whether it waits, runs or how it ended", "queued", "running", "done", "failed", "cancelled"),
    name=text("the image file's name without its ending"),
    runtime=one_of("the container runtime that builds it", "apptainer", "charliecloud"),
    requested_by=text("who ordered it first"),
    requested_at=time("when it was requested"),
    started_at=Maybe(time("when it was started")),
    finished_at=Maybe(time("when it was finished")),
    step=Maybe(text("what it is at")),
    message=Maybe(text("why it failed: the step, and what went wrong in it")),
    image=Maybe(text("the image's reference in the catalogue, once it is done")),
    files=Maybe(
        list_of(
            object_of(
                file=text("its path"),
                sha256=Maybe(text("of its content; left out for a directory")),
                bytes=Maybe(whole("its size")),
            ),
            "every form of the image",
        )
    ),
    findings=Maybe(list_of(TEXT, "what running it showed, a line a label")),
)
LISTED: Final = object_of(items={"type": "array", "items": ref("build_state")})
LOG: Final = object_of(log=text("at most 128 KiB"))


def add_routes(app: FastAPI) -> None:
    """Add the addresses to ``app``."""
    add = app.add_api_route
    build_state = ref("build_state")
    where = {"Location": {"description": "where to look how far it is", "schema": TEXT}}
    add("/builds", order, methods=["POST"], status_code=202, tags=["builds"], summary="Order an image",
        responses=json_response(build_state, "The build", status=202, headers=where),
        openapi_extra=request_body(ref("build_request")))  # fmt: skip
    add("/builds", builds, methods=["GET"], tags=["builds"], summary="The newest builds", responses=json_response(LISTED))
    add("/builds/{id}", build, methods=["GET"], tags=["builds"], summary="How far a build is", responses=json_response(build_state))
    add("/builds/{id}/log", log, methods=["GET"], tags=["builds"], summary="What a build's tools printed", responses=json_response(LOG))
    add("/builds/{id}", cancel, methods=["DELETE"], tags=["builds"], summary="Stop a build", responses=json_response(build_state))


def schemas() -> dict[str, Any]:
    """What the routes refer to, for the OpenAPI document."""
    from modak.builds.request import BuildRequest

    request = BuildRequest.model_json_schema()
    request["properties"]["recipe"]["anyOf"][0] = ref("Recipe")
    return {"build_state": STATE, "build_request": request}


def order(request: Request, body: Body) -> Response:
    """Answers at once. Orders for the same recipe and runtime share one build. `Location` is its URL."""
    from modak.builds.request import read_build_request

    asked, service, building = read_build_request(document(body)), service_of(request), building_of(request)
    state = building.ask(building.order(asked, lambda job: service.optimise(job, keep=False)), actor_of(request))
    return answer(state, status=202, headers={"Location": f"{address(request)}/builds/{state['id']}"})


def builds(request: Request, limit: Limit = 100) -> Response:
    """`items`, the newest first."""
    return answer({"items": building_of(request).builds(limit)})


def build(request: Request, id: Identity) -> Response:
    """`state` is queued, running, done, failed or cancelled."""
    return answer(building_of(request).state(id))


def log(request: Request, id: Identity) -> Response:
    """`log`: the beginning and the end, at most 128 KiB."""
    return answer({"log": building_of(request).log(id)})


def cancel(request: Request, id: Identity) -> Response:
    """For everybody who waits for it. 409 if it has already ended."""
    return answer(building_of(request).cancel(id, actor_of(request)))


def building_of(request: Request) -> BuildService:
    """Building, on this application's store and settings."""
    from modak.builds.service import BuildService

    return BuildService(service_of(request).store, request.app.state.settings)
