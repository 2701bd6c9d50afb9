"""MODAK's own addresses: requests in, documents out."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Final

from fastapi import FastAPI, Path, Query, Request
from starlette.responses import PlainTextResponse, Response

from modak import schemas
from modak.api.bodies import Body, document, read, table
from modak.api.direct import SHORT, add_direct, in_time, one_at_a_time
from modak.api.etags import tagged, unless_known
from modak.api.openapi import TEXT, json_response, list_of, object_of, page_of, ref, request_bodies, request_body, text
from modak.api.problems import NOSNIFF, alone, answer, answer_text
from modak.api.queries import once
from modak.errors import NotFound, RequestError
from modak.perfmodel.planning import LEAST
from modak.response import job_of, locations, without_preflight
from modak.results import filters as allowed
from modak.service import KEYS, Service
from modak.service.service import MOST_LINES

Strict = Annotated[bool, Query(description="turn every warning into an error")]
Closest = Annotated[bool, Query(description="if nothing meets the constraints: the closest choice and `missed`, instead of an error")]
Preflight = Annotated[bool, Query(description="false: omit the checks of the node from the script")]
Limit = Annotated[int, Query(ge=1, le=1000, description="most items in one answer")]
Cursor = Annotated[str, Query(max_length=600, description="`next` of the previous answer")]
PlanId = Annotated[str, Path(max_length=600, description="`plan.id` of an answer")]
Kind = Annotated[str, Path(max_length=600, description="kind of document", json_schema_extra={"enum": [*schemas.KINDS, "openapi"]})]
Wanted = Annotated[str, Path(max_length=600, description="its name or id, as answers and lists give it; an image's is its reference")]
UsedBy = Annotated[str, Query(max_length=600, description="id of a plan: only results that its prediction is based on")]
Replaced = Annotated[bool, Query(description="the last results that were replaced, with `replaced_at`, `replaced_by`, `replaced_from`")]
Doubted = Annotated[bool, Query(description="only results that no model uses until they are confirmed")]
Column = Annotated[str, Query(max_length=100, description="`system`, `compiler`, … or `params.NAME`; or `measured_at`")]
Values = Annotated[
    list[str] | None,
    Query(max_length=100, description="only these values, compared with the first; of `measured_at` a date: before it and since it"),
]
Holdout = Annotated[
    str,
    Query(max_length=20, description="what is hidden: the largest sizes (`largest:2`), each inner size (`each`) or `problem` size in turn"),
]
Label = Annotated[str | None, Query(max_length=600, description="only this one")]
Models = Annotated[list[str] | None, Query(max_length=50, description="`id` of each")]
Lines = Annotated[int, Query(ge=1, le=MOST_LINES, description="most lines: those with the most sizes come first")]
Level = Annotated[float, Query(gt=0, lt=1, description="probability that the interval contains the next run's value")]

Chosen = Annotated[int, Query(ge=1, le=500, description="most rows of each configuration")]
Proposed = Annotated[int, Query(ge=1, le=50, description="most runs")]
Budget = Annotated[float | None, Query(ge=0, allow_inf_nan=False, description="most node-hours of all runs together")]
Gain = Annotated[
    float, Query(ge=0, allow_inf_nan=False, description="smallest part of today's interval of the decision that a run has to narrow")
]
Scripts = Annotated[bool, Query(description="with the `texts` of each run: its job script, and what it needs built")]


def add_routes(app: FastAPI) -> None:
    """Add MODAK's own addresses to ``app``."""
    add = app.add_api_route
    summary = "Choose a configuration and write the job script"
    add_direct(app, "/optimise", optimise, methods=["POST"], tags=["ask"], summary=summary, responses=FILLED, openapi_extra=REQUEST)
    for path, endpoint, shown, summary, body in (
        ("/recommendations", recommendations, json_response(ref("recommendation")), "Rank the configurations", REQUEST),
        ("/validations", validations, json_response(ref("validation")), "Check a request", REQUEST),
        ("/predictions", predictions, json_response(ref("predictions")), "Predict the rows of a result table", POINTS),
        ("/calibrations", calibrations, json_response(ref("calibration")), "The rows of a result table to measure first", POINTS),
        ("/proposals", proposals, json_response(ref("proposals")), "The next runs worth measuring", REQUEST),
        ("/sizings", sizings, SIZED, "How much hardware a goal needs", REQUEST),
    ):
        add(path, endpoint, responses=shown, methods=["POST"], tags=["ask"], summary=summary, openapi_extra=body)
    add("/plans/{id}", plan, responses=FILLED, methods=["GET"], tags=["plans"], summary="A plan that was made")
    add("/plans/{id}/script", script, methods=["GET"], tags=["plans"], summary="A plan's job script", response_class=PlainTextResponse)
    add("/plans/{id}/build", build, methods=["GET"], tags=["plans"], summary="A plan's build job", response_class=PlainTextResponse)
    listed = json_response(page_of("measured_result"))
    add("/results", results, responses=listed, methods=["GET"], tags=["data"], summary="Measured results", openapi_extra=FILTERS)
    compared = json_response(ref("comparison"))
    add("/comparisons", comparisons, responses=compared, methods=["GET"], tags=["data"], summary="Compare results", openapi_extra=FILTERS)
    evaluation, drawn = json_response(ref("evaluation")), json_response(ref("lines"))
    add("/evaluations", evaluations, responses=evaluation, methods=["GET"], tags=["data"], summary="Errors of the models on hidden results")
    became = json_response(ref("outcomes"))
    add("/outcomes", outcomes, responses=became, methods=["GET"], tags=["data"], summary="Predicted times, and those of the jobs")
    add("/lines", lines, responses=drawn, methods=["GET"], tags=["data"], summary="The numbers of a plot")
    for kind in (*KEYS, "models"):
        add_listing(app, kind)
    add("/openapi.json", openapi, methods=["GET"], include_in_schema=False)
    add("/schema/{kind}", schema, responses=json_response({"type": "object"}), methods=["GET"], tags=["about"], summary="A JSON Schema")
    add("/health", health, responses=json_response(HEALTH), methods=["GET"], tags=["about"], summary="Whether the service runs")
    add("/ready", ready, responses=json_response(READY), methods=["GET"], tags=["about"], summary="Whether the service can answer")


def service_of(request: Request) -> Service:
    """The use cases of this application, opened at the first call."""
    opened: Service = request.app.state.service()
    return opened


REQUEST: Final = request_body(ref(schemas.COMPONENTS["request"]))
"""The OpenAPI entry of the body of every address that takes requests."""
FILLED: Final = json_response(ref(schemas.COMPONENTS["response"]), "The document, filled in")
SIZED: Final = json_response(
    ref("sizing"), "The platforms, those that meet the goal first; every figure with unit, interval, basis and what it follows from"
)
HEALTH: Final = object_of(status={"const": "ok", "description": "the process runs"})
READY: Final = object_of(status={"const": "ready", "description": "requests are answered"}, data=text("version of the data"))
POINTS: Final = request_bodies(
    {
        "text/csv": text("a result table without values: a header, then one row a line"),
        "application/json": list_of(ref("points"), "its rows as objects"),
        "application/x-ndjson": text("its rows as objects, one a line"),
    }
)
FILTERS: Final = {
    "parameters": [
        {"name": name, "in": "query", "required": False, "schema": TEXT, "description": "exact text of that column"}
        for name in allowed.COLUMNS
    ]
}


async def optimise(request: Request, strict: Strict = False, preflight: Preflight = True) -> Response:
    """The request document with the answer filled in; `job_script` and `build_script` are URLs for download."""
    given = document(await read(request))
    asked, at = given if preflight else without_preflight(given), address(request)
    return answer_text(await one_at_a_time(request, lambda service: service.optimised(asked, strict=strict, address=at)))


def recommendations(request: Request, body: Body, strict: Strict = False, closest: Closest = False) -> Response:
    """`choices`, best first, with prediction, node-hours and efficiency; `decisions` (the reasons), `advice` and `warnings`."""
    return answer(service_of(request).recommend(document(body), strict=strict, closest=closest))


def validations(request: Request, body: Body, strict: Strict = False) -> Response:
    """`valid`, and the `warnings` of reading the request and of its target; no configuration is chosen. A wrong request is refused."""
    return answer(service_of(request).validate(document(body), strict=strict))


async def predictions(request: Request, body: Body, level: Level = 0.9) -> Response:
    """The same `rows` with `predicted`, `lower`, `upper`, `unit`, `basis`, `model`, `results_used`, `extrapolation`; and `warnings`."""
    content, name = table(body)

    def predicted(service: Service) -> Response:
        return answer(service.predict(content, name, level=level, go_on=partial(in_time, request)))

    return await one_at_a_time(request, predicted, "tables" if len(content) > SHORT else "rows")


async def calibrations(request: Request, body: Body, number: Chosen = 20) -> Response:
    """`rows`: those from which, with results elsewhere, the others can be predicted best, each with an empty `value`; and `notes`."""
    content, name = table(body)
    return await one_at_a_time(request, lambda service: answer(service.calibration(content, name, number=number)), "tables")


async def proposals(
    request: Request,
    body: Body,
    number: Proposed = 5,
    budget: Budget = None,
    gain: Gain = LEAST,
    scripts: Scripts = False,
    strict: Strict = False,
) -> Response:
    """`runs`, those first that narrow the interval of the decision most per node-hour, what is `likely` to be the right choice, `notes`."""
    asked = document(body)

    def proposed(service: Service) -> Response:
        go_on = partial(in_time, request)
        return answer(service.next_runs(asked, most=number, budget=budget, gain=gain, scripts=scripts, strict=strict, go_on=go_on))

    return await one_at_a_time(request, proposed, "proposals")


def sizings(request: Request, body: Body, strict: Strict = False) -> Response:
    """Nodes or GPUs, time, node-hours, network and storage for the known systems and the reference configurations.

    The goal is `optimisation.objective.deadline`; a named `target` restricts the answer to that system.
    """
    return answer(service_of(request).size(document(body), strict=strict))


def plan(request: Request, id: PlanId) -> Response:
    """The document as it was answered."""
    return answer(located(service_of(request).plan(id), request))


def script(request: Request, id: PlanId) -> Response:
    """The text to submit."""
    return _text(service_of(request).texts(id).job_script)


def build(request: Request, id: PlanId) -> Response:
    """The text of the job that builds the image; 404 if nothing is built."""
    found = service_of(request).texts(id).build_script
    if not found:
        raise NotFound("that plan builds nothing", field="id")
    return _text(found)


def results(
    request: Request, limit: Limit = 100, cursor: Cursor = "", used_by: UsedBy = "", replaced: Replaced = False, doubted: Doubted = False
) -> Response:
    """`items` in the columns of the results table, and `next` where there are more. Any text column and `params.NAME` filters."""
    own = ("limit", "cursor", "used_by", "replaced", "doubted")
    filters = {name: value for name, value in request.query_params.items() if name not in own}
    for name in request.query_params:
        once(request, name)
    service = service_of(request)
    if used_by:
        if filters or replaced or doubted:
            raise RequestError("cannot be combined with other filters", field="used_by")
        with alone(called={"id": "used_by"}):
            return answer(service.used_by(used_by, limit=limit, cursor=cursor))
    if replaced:
        if doubted:
            raise RequestError("cannot be combined with doubted", field="replaced")
        return answer(service.replaced(filters, limit=limit, cursor=cursor))
    return answer(service.results(filters, limit=limit, cursor=cursor, doubted=doubted))


async def comparisons(request: Request, column: Column, value: Values = None) -> Response:
    """`pairs` that differ in one column only, each value with the first: medians, their ratio, and whether that exceeds the noise of
    repeats; or `shifts`, for `measured_at` without a date. Any text column and `params.NAME` filters, as in `/results`.
    """
    filters = {name: text for name, text in request.query_params.items() if name not in ("column", "value")}
    for name in ("column", *filters):
        once(request, name)

    def compared(service: Service) -> Response:
        return answer(service.compare(column, value or (), filters, go_on=partial(in_time, request)))

    return await one_at_a_time(request, compared, "comparisons")


async def evaluations(
    request: Request, holdout: Holdout = "largest:2", application: Label = None, system: Label = None, level: Level = 0.9
) -> Response:
    """Hides measured sizes, predicts them from the other results, and compares: `models` has ours first, then simpler ones beside it."""

    def evaluated(service: Service) -> Response:
        found = service.evaluate(holdout=holdout, application=application, system=system, level=level, go_on=partial(in_time, request))
        return answer(found)

    return await one_at_a_time(request, evaluated, "evaluations")


async def outcomes(request: Request, application: Label = None, system: Label = None, limit: Limit = 100) -> Response:
    """`items`, the newest first, and figures of all of the newest 1000 jobs whose plans are still stored."""
    return await one_at_a_time(request, lambda service: answer(service.outcomes(application, system, limit=limit)), "outcomes")


async def lines(
    request: Request, model: Models = None, application: Label = None, system: Label = None, level: Level = 0.9, most: Lines = MOST_LINES
) -> Response:
    """`lines` of one picture: measured points, the model with its interval, and perfect scaling. Give models by their ids, or an
    `application`."""
    if not model and application is None:
        raise RequestError("give an application, or the ids of models as model", field="application")

    def drawn(service: Service) -> Response:
        return answer(service.lines(model or (), application, system, level=level, most=most))

    return await one_at_a_time(request, drawn, "lines")


def add_listing(app: FastAPI, kind: str) -> None:
    """Add ``GET /kind`` and ``GET /kind/NAME``."""

    async def every(request: Request, limit: Limit = 100, cursor: Cursor = "") -> Response:
        """A page of `items`; `next` is left out on the last one."""
        return await unless_known(request, lambda service: service.listing_page(kind, limit=limit, cursor=cursor), kind)

    async def one(request: Request, name: Wanted) -> Response:
        """One item by its name."""
        return await unless_known(request, lambda service: service.item(kind, name), kind)

    single = kind.removesuffix("s")
    for path, endpoint, summary, called, shown in (
        (f"/{kind}", every, f"Known {kind}", kind, page_of(single)),
        (f"/{kind}/{{name:path}}", one, f"One of the {kind}", f"one of {kind}", ref(single)),
    ):
        app.add_api_route(path, endpoint, methods=["GET"], tags=["data"], summary=summary, name=called, responses=tagged(shown))


def schema(request: Request, kind: Kind) -> Response:
    """That of a kind of document; `openapi` is the whole service's."""
    return openapi(request) if kind == "openapi" else answer(schemas.schema(kind))


def openapi(request: Request) -> Response:
    """The OpenAPI document."""
    return Response(request.app.state.openapi(), headers=NOSNIFF, media_type="application/json")


async def health() -> Response:
    """Does not query the database."""
    return answer({"status": "ok"})


def ready(request: Request) -> Response:
    """The version of the data; 503 where the database is out of reach, or another host has upgraded it."""
    return answer({"status": "ready", "data": service_of(request).store.ready()})


def located(filled: Mapping[str, Any], request: Request) -> dict[str, Any]:
    """``filled`` with the addresses of its texts."""
    top, job = job_of(filled)
    return {**filled, top: job | locations(address(request), job["plan"]["id"], built="build_content" in job)}


def address(request: Request) -> str:
    """The address of the service as the caller sees it."""
    return str(request.app.state.settings.public_url or str(request.base_url).rstrip("/"))


def _text(content: str) -> Response:
    return PlainTextResponse(content, headers=NOSNIFF)
