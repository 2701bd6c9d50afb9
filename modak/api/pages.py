"""Pages for a browser, below ``/ui/``: what the other addresses answer, to look at. They need the same scopes (:mod:`modak.api.access`)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Annotated, Any, Final
from urllib.parse import parse_qsl

from fastapi import FastAPI, Query, Request
from starlette.responses import RedirectResponse, Response

from modak import schemas, web
from modak.api import html
from modak.api.access import scope_of
from modak.api.bodies import Body, RawBody, WrongType
from modak.api.direct import one_at_a_time
from modak.api.native import Cursor, UsedBy, Wanted, address, service_of
from modak.api.problems import public_faults
from modak.errors import BadSyntax, ModakError, NotFound
from modak.response import job_of, section
from modak.service import Service
from modak.text import choices, listings
from modak.text.documents import strict_json
from modak.web import form, reference

if TYPE_CHECKING:
    from modak.perfmodel.lines import PlotLine

Shown = tuple[str, dict[str, Any]]
"""The name of a template and its values; ``status`` among them is that of the answer."""
Label = Annotated[str, Query(max_length=200)]
FORM: Final = "application/x-www-form-urlencoded"
MOST_FIELDS: Final = 50
FILTERS: Final = ("application", "system", "metric")
MODEL: Final = ("sizes", "results", "error at the next size", "id")
"""What the table beside a picture says of each curve."""


class OtherSite(ModakError):
    """A page of another site sent the form."""

    status = 403
    title = "the form is of another site"


def add_routes(app: FastAPI) -> None:
    """Add the pages to ``app``; programs do not need them, so the OpenAPI document leaves them out."""
    pages: tuple[tuple[str, Callable[..., Shown | Response]], ...] = (
        ("/ui/", ask),
        ("/ui/models", models),
        ("/ui/results", results),
        ("/ui/plans/{id}", plan),
        ("/ui/api", addresses),
        *((f"/ui/{kind}", _listing(kind)) for kind in ("systems", "images", "rules")),
    )
    for path, make in pages:
        app.add_api_route(path, _page(make), methods=["GET"], include_in_schema=False, response_model=None)
    app.add_api_route("/ui/plans", _page(optimise), methods=["POST"], include_in_schema=False, response_model=None)
    app.add_api_route("/ui/models.svg", picture, methods=["GET"], include_in_schema=False)
    for name, kind in (("style.css", "text/css"), ("icon.svg", "image/svg+xml")):
        app.add_api_route(f"/ui/{name}", _static(name, kind), methods=["GET"], include_in_schema=False)
    redirections = {"/": "ui/", "/ui": "ui/", "/docs": "ui/api", "/ui/plans": "./"}  # the last: what a browser shows after a form was sent
    for path, there in redirections.items():
        app.add_api_route(path, _elsewhere(there), methods=["GET"], include_in_schema=False)


def ask(request: Request) -> Shown:
    """The form of a new job."""
    return "ask", _asked(service_of(request), {})


def optimise(request: Request, body: Body) -> Shown | Response:
    """The way to the plan's page, which can be loaded again and passed on; or the form again with what is wrong."""
    if request.headers.get("sec-fetch-site") == "cross-site":
        raise OtherSite("fill in the form of this service instead")
    service, values = service_of(request), _fields(body)
    try:
        sent = strict_json(values.get("document") or json.dumps(form.document(values)))
        made = job_of(service.optimise(sent))[1]["plan"]
    except ModakError as error:
        called = form.called if not values.get("document") else lambda path: (path or "Request", "document")
        found = [(*called(fault.field.removeprefix("job.")), fault.message) for fault in public_faults(error, request.scope)]
        faults = sorted(found, key=lambda fault: form.place(fault[1]))
        return "ask", {**_asked(service, values), "faults": faults, "status": error.status}
    return RedirectResponse(f"plans/{made['id']}", 303)


def plan(request: Request, id: Wanted) -> Shown:
    """A plan that was made, by a form or otherwise."""
    kept = service_of(request).store.plans.get(id)
    until = kept.expires_at.date().isoformat() if kept.expires_at else ""
    return "plan", {**_plan(kept.response, kept.request), "until": until}


def results(request: Request, cursor: Cursor = "", used_by: UsedBy = "") -> Shown:
    """Measured results: those of an application, a system and a metric, or those behind a plan."""
    values = {name: value for name in FILTERS if (value := request.query_params.get(name, "").strip()) and not used_by}
    service = service_of(request)
    found = service.used_by(used_by, cursor=cursor) if used_by else service.results(values, cursor=cursor)
    shown = {"filters": FILTERS, "values": values, "applications": service.store.applications(), "used_by": used_by}
    asked = {"used_by": used_by} if used_by else values
    also = ("source",) if used_by else ()
    following = {**asked, "cursor": found["next"]} if "next" in found else {}
    return "results", {**shown, "table_of": listings.as_text(*listings.results(found["items"], also)), "following": following}


def models(request: Request, application: Label = "") -> Shown:
    """The applications; or the curves of one of them, with a picture for each metric and kind of size."""
    from modak import plotting
    from modak.choosing.wishes import graph_compilers
    from modak.perfmodel.lines import curve_labels, in_pictures, title
    from modak.service import records

    service, application = service_of(request), application.strip()
    pictures = []
    for (metric, scale), curves in in_pictures(service.curves(application).values() if application else ()).items():
        measured = {"application": application, "metric": metric}
        query = {**measured, "over": scale}
        found = zip(curve_labels(curves, graph_compilers()), map(records.model, curves), strict=True)
        rows = [[label, *(listings.COLUMNS["models"][name](model) for name in MODEL)] for label, model in found]
        table = listings.as_text(("curve", *MODEL), rows)
        named = f"{metric.replace('_', ' ')} over {scale}, {title(curves)}"
        note = f"{len(curves)} curves; the {plotting.MOST} with the most sizes are drawn" if len(curves) > plotting.MOST else ""
        pictures.append({"title": named, "measured": measured, "query": query, "note": note, "table": table})
    return "models", {"application": application, "applications": service.store.applications(), "pictures": pictures}


def addresses(request: Request) -> Shown:
    """The addresses for programs, as the OpenAPI document describes them."""
    groups = reference.reference(request.app.openapi(), scope_of)
    shown = {"address": address(request), "anonymous": request.app.state.settings.anonymous, "schemas": schemas.KINDS}
    return "api", {"groups": groups, **shown}


async def picture(request: Request, application: Label, metric: Label, over: Label) -> Response:
    """Curves of an application: measured points, models with their intervals, perfect scaling.

    One at a time: matplotlib's settings are those of the whole process, and drawing takes long.
    """
    return await one_at_a_time(request, lambda service: _picture(service, application, metric, over), "drawing")


def _picture(service: Service, application: str, metric: str, over: str) -> Response:
    from modak import plotting
    from modak.choosing.wishes import graph_compilers
    from modak.perfmodel.lines import in_pictures, plot_lines, title

    known = list(service.curves(application).values())
    curves = in_pictures(known).get((metric, over), [])[: plotting.MOST]
    if not curves:
        raise NotFound("no curves of that metric over that kind of size", field="metric")
    policy = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}  # matplotlib styles within the drawing
    return Response(
        _drawn(plot_lines(curves, known, graph_compilers=graph_compilers()), title(curves)), 200, html.HEADERS | policy, "image/svg+xml"
    )


@lru_cache(maxsize=64)
def _drawn(shown: tuple[PlotLine, ...], title: str) -> bytes:
    """A picture; drawing it takes a third of a second."""
    from modak.plotting import picture

    return picture(shown, "svg", title)


def _page(make: Callable[..., Shown | Response]) -> Callable[..., Response]:
    """The endpoint that answers with the page that ``make`` chooses; errors become pages as they are sent."""

    @wraps(make)
    def endpoint(request: Request, **asked: Any) -> Response:
        made = make(request, **asked)
        if isinstance(made, Response):
            return made
        template, values = made
        return html.page(template, request.scope, **values)

    return endpoint


def _listing(kind: str) -> Callable[[Request], Shown]:
    def listed(request: Request) -> Shown:
        return "listing", {"kind": kind, "table_of": listings.as_text(*listings.table(kind, service_of(request).listing(kind)))}

    return listed


def _static(name: str, kind: str) -> Callable[[], Response]:
    def file() -> Response:
        return Response(web.static(name), 200, {**html.HEADERS, "Cache-Control": "max-age=3600"}, kind)

    return file


def _elsewhere(there: str) -> Callable[[], Response]:
    """A redirection to a relative address: it holds behind a proxy's prefix, too."""

    def moved() -> Response:
        return RedirectResponse(there, 307)

    return moved


def _asked(service: Service, values: Mapping[str, str]) -> dict[str, Any]:
    """What the form shows: its fields with these values, and what there is to choose from."""
    systems = [("", "not named: a plain script"), *((one["name"], f"{one['name']} – {one['title']}") for one in service.listing("systems"))]
    return {
        "form": form.FORM,
        "values": values,
        "document": values.get("document", ""),
        "faults": [],
        "choices": {form.PROGRAM: form.programs(), "system": systems, "minimise": form.OBJECTIVES},
        "applications": service.store.applications(),
    }


def _fields(body: RawBody) -> dict[str, str]:
    """The fields of a posted form."""
    if body.kind != FORM:
        raise WrongType(f"send {FORM}")
    try:
        return dict(parse_qsl(body.content.decode("ascii"), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict"))
    except ValueError:
        raise BadSyntax("not the fields of a form in UTF-8") from None


def _plan(filled: Mapping[str, Any], request: Any) -> dict[str, Any]:
    """What the page of a plan shows."""
    job = job_of(filled)[1]
    made = job["plan"]
    asked, work = section(job, "application"), section(section(job, "optimisation"), "workload")
    name = work.get("application") or asked.get("app_tag")
    build = job.get("build_content") or ""
    return {
        "id": made["id"],
        "name": asked.get("app_tag") or name or "Plan",
        "target": section(job, "target").get("name"),
        "configuration": choices.configuration(made),
        "steps": list(choices.next_steps(job, "job.sh", "build.sh")),
        "warnings": choices.warnings(made.get("warnings", ())),
        "decisions": made.get("decisions", ()),
        "advice": made.get("advice", ()),
        "alternatives": listings.as_text(*choices.alternatives(made)),
        "application": name if made["prediction"].get("results_used") else None,
        "results_used": made["prediction"].get("results_used"),
        "script": job["job_content"],
        "build": build,
        "request": json.dumps(request, indent=2, ensure_ascii=False),
    }
