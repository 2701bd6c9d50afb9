"""Pages for a browser, below ``/ui/``: what the other addresses answer, to look at. They need the same scopes (:mod:`modak.api.access`)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Annotated, Any, Final
from urllib.parse import parse_qsl

from fastapi import FastAPI, Query, Request
from starlette.responses import RedirectResponse, Response

from modak import schemas, web
from modak.api import html
from modak.api.access import ANY, scope_of
from modak.api.bodies import Body, RawBody, WrongType
from modak.api.direct import one_at_a_time
from modak.api.native import Cursor, Doubted, UsedBy, Wanted, address, service_of
from modak.api.problems import alone, public_faults
from modak.errors import BadSyntax, ModakError, NotFound
from modak.response import job_of, section
from modak.service import Service
from modak.text import choices, listings
from modak.text.amounts import counted
from modak.text.documents import strict_json
from modak.web import form, reference

if TYPE_CHECKING:
    from modak.perfmodel.fitting.curves import Curve
    from modak.perfmodel.plotlines import PlotLine

Shown = tuple[str, dict[str, Any]]
"""The name of a template and its values; ``status`` among them is that of the answer."""
Label = Annotated[str, Query(max_length=200)]
OfPlan = Annotated[str, Query(max_length=600)]
FORM: Final = "application/x-www-form-urlencoded"
MOST_FIELDS: Final = 50
FILTERS: Final = ("application", "system", "metric")
MOST_NAMES: Final = 500
"""Applications that a page offers to choose from: more of them are looked for by a part of the name."""
MOST_LISTED: Final = 500
"""Systems, images or rules on one page, or curves below one picture."""
MODEL: Final = ("sizes", "results", "error at the next size", "scaled", "id")
"""What the table beside a picture says of each curve."""


def add_routes(app: FastAPI) -> None:
    """Add the pages to ``app``; programs do not need them, so the OpenAPI document leaves them out."""
    pages: tuple[tuple[str, Callable[..., Shown | Response]], ...] = (
        ("/ui/", ask),
        ("/ui/models", models),
        ("/ui/results", results),
        ("/ui/jobs", jobs),
        ("/ui/plans/{id}", plan),
        ("/ui/api", addresses),
        ("/ui/words", words),
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


def ask(request: Request, plan: OfPlan = "") -> Shown:
    """The form of a new job; with a plan the request of that one, filled in if the form can say it, and as a document."""
    service = service_of(request)
    if not plan:
        return "ask", _asked(service, {})
    with alone(called={"id": "plan"}):
        asked = service.store.plans.get(plan).request
    return "ask", _asked(service, (form.filled(asked) or {}) | {"document": json.dumps(asked, indent=2, ensure_ascii=False)})


def optimise(request: Request, body: Body) -> Shown | Response:
    """The way to the plan's page, which can be loaded again and passed on; or the form again with what is wrong."""
    service, values = service_of(request), _fields(body)
    try:
        sent = strict_json(values.get("document") or json.dumps(form.document(values)))
        made = job_of(service.optimise(sent))[1]["plan"]
    except ModakError as error:
        told = [(fault.field.removeprefix("job."), fault.message) for fault in public_faults(error, request.scope)]
        if values.get("document"):
            found = [(path or "Request", "document", message) for path, message in told]
        else:
            found = [(*form.called(path), form.in_words(message)) for path, message in told]
        faults = sorted(found, key=lambda fault: form.place(fault[1]))
        return "ask", {**_asked(service, values), "faults": faults, "status": error.status}
    return RedirectResponse(f"plans/{made['id']}", 303)


def plan(request: Request, id: Wanted) -> Shown:
    """A plan that was made, by a form or otherwise."""
    kept = service_of(request).store.plans.get(id)
    until = kept.expires_at.date().isoformat() if kept.expires_at else ""
    return "plan", {**_plan(kept.response, kept.request), "until": until}


def results(request: Request, cursor: Cursor = "", used_by: UsedBy = "", model: Label = "", doubted: Doubted = False) -> Shown:
    """Measured results: those of an application, a system and a metric, all or doubted ones; or those behind a plan, or behind a curve."""
    values = {name: value for name in FILTERS if (value := request.query_params.get(name, "").strip()) and not used_by}
    service = service_of(request)
    asked: dict[str, str]
    if used_by:
        with alone(called={"id": "used_by"}):
            found, asked = service.used_by(used_by, cursor=cursor), {"used_by": used_by}
    elif model:
        values = {"application": values.get("application", "")}
        with alone(called={"id": "model"}):
            found, asked = service.behind_curve(values["application"], model, cursor), {**values, "model": model}
    else:
        found, asked = service.results(values, cursor=cursor, doubted=doubted), values | ({"doubted": "true"} if doubted else {})
    also = ("source",) if used_by or model else ()
    names = _names(service, values.get("application", "") if not found["items"] else "")
    listed = {"filters": FILTERS, "values": values, "names": names, "doubted": "doubted" in asked}
    behind = {"used_by": used_by, "model": "" if used_by else model}
    following = {**asked, "cursor": found["next"]} if "next" in found else {}
    return "results", {**listed, **behind, "table_of": listings.as_text(*listings.results(found["items"], also)), "following": following}


def jobs(request: Request, application: Label = "", system: Label = "") -> Shown:
    """Predicted times of plans beside those of their jobs: of an application, on a system, or of all."""
    service, values = service_of(request), {"application": application.strip(), "system": system.strip()}
    found = service.outcomes(values["application"] or None, values["system"] or None, limit=MOST_LISTED)
    table = listings.as_text(*choices.outcomes(found["items"]))
    said = choices.track_record(found) if found["jobs"] else ""
    return "jobs", {"values": values, "names": _names(service), "table_of": table, "said": said}


def models(request: Request, application: Label = "", id: Label = "", used_by: UsedBy = "") -> Shown:
    """The applications; or the curves of one of them, with a picture for each metric and kind of size: all, one, or those behind a plan."""
    service, application = service_of(request), application.strip()
    chosen = {name: value for name, value in (("id", id), ("used_by", used_by)) if value and application}
    known = service.curves(application) if application else {}
    pictures = []
    for (metric, scale), named in _in_pictures(known, _chosen(service, known, id, used_by)).items():
        measured = {"application": application, "metric": metric}
        behind = {"application": application, "model": id} if id else {"used_by": used_by} if used_by else measured
        pictures.append({**_described(metric, scale, named), "measured": behind, "query": {**measured, "over": scale, **chosen}})
    doubted = sum(one.count for one in service.store.doubted(application)[application]) if application else 0
    told = {"doubted": counted(doubted, "doubted result") if doubted else "", "id": id, "used_by": used_by}
    return "models", {"application": application, "names": _names(service, application), "pictures": pictures, **told}


def words(request: Request) -> Shown:
    """What the words on the other pages mean."""
    return "words", {}


def addresses(request: Request) -> Shown:
    """The addresses for programs, as the OpenAPI document describes them."""
    groups = reference.reference(request.app.openapi(), scope_of)
    shown = {"address": address(request), "anonymous": request.app.state.settings.anonymous, "schemas": schemas.KINDS, "any": ANY}
    return "api", {"groups": groups, **shown}


async def picture(request: Request, application: Label, metric: Label, over: Label, id: Label = "", used_by: UsedBy = "") -> Response:
    """Curves of an application: measured points, models with their intervals, perfect scaling.

    One at a time: matplotlib's settings are those of the whole process, and drawing takes long.
    """
    return await one_at_a_time(request, lambda service: _picture(service, application, (metric, over), id, used_by), "drawing")


def _picture(service: Service, application: str, shown: tuple[str, str], model_id: str, used_by: str) -> Response:
    from modak import plotting
    from modak.perfmodel.plotlines import plot_lines, title

    known = service.curves(application)
    named = _in_pictures(known, _chosen(service, known, model_id, used_by)).get(shown, [])[: plotting.MOST]
    if not named:
        raise NotFound("no curves of that metric over that kind of size", field="metric")
    curves = [curve for _, curve in named]
    failed = service.facts().with_own_names(service.store.failed(application))
    lines = plot_lines(curves, list(known.values()), failed=failed)
    lines = tuple(replace(line, label=label) for line, (label, _) in zip(lines, named, strict=True))
    policy = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}  # matplotlib styles within the drawing
    return Response(_drawn(lines, title(curves)), 200, html.HEADERS | policy, "image/svg+xml")


def _chosen(service: Service, known: Mapping[str, Curve], model_id: str, used_by: str) -> Mapping[str, Curve]:
    """As :meth:`modak.service.Service.chosen`, with the query parameter as the place of its faults."""
    with alone(called={} if model_id else {"id": "used_by"}):
        return service.chosen(known, model_id, used_by)


def _described(metric: str, scale: str, named: Sequence[tuple[str, Curve]]) -> Mapping[str, Any]:
    """The title of the picture of some curves, a note if it has not all of them, the table below it, and how many ``more`` there are."""
    from modak import plotting
    from modak.perfmodel.plotlines import title
    from modak.service import records

    found = [(label, records.model(curve)) for label, curve in named[:MOST_LISTED]]
    rows = [[label, *(listings.COLUMNS["models"][name](model) for name in MODEL)] for label, model in found]
    return {
        "title": f"{metric.replace('_', ' ')} over {scale}, {title([curve for _, curve in named])}",
        "note": f"{len(named)} curves; {plotting.FEW}" if len(named) > plotting.MOST else "",
        "table": listings.as_text(("curve", *MODEL), rows),
        "more": max(0, len(named) - MOST_LISTED),
    }


def _in_pictures(known: Mapping[str, Curve], chosen: Mapping[str, Curve]) -> dict[tuple[str, str], list[tuple[str, Curve]]]:
    """The chosen ones of the known curves by what one picture can show, with labels that tell them from all others."""
    from modak.choosing.requirements import graph_compilers
    from modak.perfmodel.plotlines import curve_labels, in_pictures

    wanted, labelled = set(map(id, chosen.values())), {}
    for kind, curves in in_pictures(known.values(), all_sizes=len(chosen) < len(known)).items():
        named = zip(curve_labels(curves, graph_compilers()), curves, strict=True)
        if found := [(label, curve) for label, curve in named if id(curve) in wanted]:
            labelled[kind] = found
    return labelled


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


def _listing(kind: str) -> Callable[..., Shown]:
    def listed(request: Request, cursor: Cursor = "") -> Shown:
        found = service_of(request).listing_page(kind, limit=MOST_LISTED, cursor=cursor)
        return "listing", {"kind": kind, "table_of": listings.as_text(*listings.table(kind, found["items"])), "next": found.get("next")}

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
        "choices": {form.PROGRAM: form.programs(), form.RUNTIME: form.runtimes(), "system": systems, "minimise": form.OBJECTIVES},
        "names": _names(service),
    }


def _names(service: Service, typed: str = "") -> dict[str, Any]:
    """The applications that have results: whether there are ``any``, and whether one ``is`` what was typed; those to ``offer`` to whoever
    types, unless they are too many; and those that have in their names what was typed (``alike``), or else the first of all (``first``)."""
    every = service.store.applications()
    alike = [name for name in every if typed.casefold() in name.casefold()] if typed and typed not in every else []
    return {
        "any": bool(every),
        "is": typed in every,
        "offer": every if len(every) <= MOST_NAMES else (),
        "alike": alike[:MOST_NAMES],
        "first": every[:MOST_NAMES],
        "more": max(0, len(alike or every) - MOST_NAMES),
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
    """What the page of a plan shows; of a filled form, with the names that the form has for fields."""
    job = job_of(filled)[1]
    made = job["plan"]
    asked, work = section(job, "application"), section(section(job, "optimisation"), "workload")
    name = work.get("application") or asked.get("app_tag")
    build, said, used = job.get("build_content") or "", made.get("warnings", ()), made["prediction"].get("results_used")
    in_words: Callable[[str], str] = str
    if by_form := form.filled(request) is not None:
        said, in_words = [{**one, "field": form.called(one.get("field", ""))[0]} for one in said], form.in_words
    warnings, decisions, advice = (
        [*map(in_words, texts)] for texts in (choices.warnings(said), made.get("decisions", ()), made.get("advice", ()))
    )
    return {
        "id": made["id"],
        "name": asked.get("app_tag") or name or "Plan",
        "target": section(job, "target").get("name"),
        "configuration": choices.configuration(made),
        "steps": list(choices.next_steps(job, "job.sh", "build.sh")),
        "warnings": warnings,
        "decisions": decisions,
        "advice": advice,
        "unnamed": form.unnamed([*warnings, *decisions, *advice]) if by_form else None,
        "alternatives": listings.as_text(*choices.alternatives(made)),
        "application": name if used else None,
        "results_used": counted(used, "measured result") if used else None,
        "script": job["job_content"],
        "build": build,
    }
