"""The addresses that change the data. :mod:`modak.api.access` has checked the caller; the service makes the changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

from fastapi import FastAPI, Query, Request
from starlette.responses import Response

from modak.admission import LONGEST_REASON
from modak.api.access import actor_of, used_token
from modak.api.bodies import Body, LoadBody, document
from modak.api.native import Cursor, Limit, PlanId, Wanted, service_of
from modak.api.openapi import TEXT, Maybe, json_response, list_of, object_of, page_of, ref, request_bodies, request_body, text, whole
from modak.api.problems import alone, answer
from modak.api.uploads import sources
from modak.errors import RequestError
from modak.service import KEYS
from modak.text.numbering import LARGEST, Measured, Selection

DryRun = Annotated[bool, Query(description="check, and change nothing")]
Replace = Annotated[bool, Query(description="replace entries of the same name; results of the same run, or of the same file")]
Format = Annotated[str | None, Query(max_length=64, description="format of the data, instead of recognising it")]
Renames = Annotated[list[str] | None, Query(max_length=100, description="`OLD=NEW`: rename a column; an empty NEW drops it")]
Wide = Annotated[
    str | None, Query(max_length=100, description="columns named after sizes or runs hold the values; this column gets their numbers")
]
Called = Annotated[
    str, Query(max_length=200, description="name of a file, by which the body can be doubted; if not given, `body.csv`, `body.json` …")
]
Fills = Annotated[list[str] | None, Query(max_length=100, description="`COLUMN=VALUE`: fill the empty cells of a column")]
MOST_NUMBERS: Final = 1000
LONGEST_NAME: Final = 1000
LONGEST_TIME: Final = 40
TAG: Final = "change"


def add_routes(app: FastAPI) -> None:
    """Add the addresses that change the data, and the one that shows who did, to ``app``."""
    add = app.add_api_route
    loaded = json_response(ref("load_report"))
    add("/results", load, responses=loaded, methods=["POST"], tags=[TAG], summary="Load results", openapi_extra=TABLES)
    for path, endpoint, summary, counted, what, more in (
        ("confirmations", confirm, "Confirm doubted results", "confirmed", "how many of them had been doubted", {}),
        ("doubts", doubt, "Doubt results", "doubted", "how many of them nobody had doubted before", {"why": WHY}),
        ("unmarkings", unmark, "Take back confirmations and doubts", "unmarked", "how many somebody had confirmed or doubted", {}),
    ):
        shown = json_response(object_of(**{counted: whole(what)}, **JUDGED))
        asked = request_body(_selection_schema(**more))
        add(f"/results/{path}", endpoint, responses=shown, methods=["POST"], tags=[TAG], summary=summary, openapi_extra=asked)
    for kind in KEYS:
        add_adding(app, kind)
        add_removing(app, kind)
    allowed = json_response(ref("result_token"), status=201)
    token, back = "A token for the plan's result", "A job's measured result comes back"
    add("/plans/{id}/token", allow, responses=allowed, methods=["POST"], tags=[TAG], summary=token, status_code=201)
    add("/plans/{id}/result", result, responses=loaded, methods=["POST"], tags=[TAG], summary=back, openapi_extra=REPORT)
    add("/audit", audit, responses=json_response(page_of("audit_entry")), methods=["GET"], tags=["about"], summary="Who changed what")


UPLOADED: Final = TEXT | {"format": "binary", "contentMediaType": "application/octet-stream"}
TABLES: Final = request_bodies(
    {
        "text/csv": text("a result table"),
        "application/json": list_of({"type": "object"}, "its rows as records"),
        "application/x-ndjson": text("its rows as records, one a line"),
        "text/plain": text("any other format that is known"),
        "multipart/form-data": {"type": "object", "properties": {"file": list_of(UPLOADED, "result files of any known format")}},
    }
)
JUDGED: Final = {
    "loads": whole("how many loads were of a file of the name that was given; 0: numbers were given"),
    "suspicious": list_of(TEXT, "the first of the other results that look wrong now, and why; of unmarked ones, also they"),
    "suspicious_count": whole("how many those are"),
    "freed": list_of({"type": "integer"}, "`id` of the first of the other results that no longer look wrong"),
    "freed_count": whole("how many those are"),
}
WHY: Final = text("the reason, as the results show it", minLength=1, maxLength=LONGEST_REASON)


def _selection_schema(**also: dict[str, Any]) -> dict[str, Any]:
    """The schema of a document that selects results, with its further fields."""
    numbers = {"type": "integer", "minimum": 1, "maximum": LARGEST}
    ways = {
        "results": {"type": "array", "description": "`id` of each", "minItems": 1, "maxItems": MOST_NUMBERS, "items": numbers},
        "file": text(
            "name of a file that was loaded, or of a body that is no form: all that was new in each load of that name",
            minLength=1,
            maxLength=LONGEST_NAME,
        ),
    }
    period = {
        "since": text("a date (from 00:00 UTC), or an instant in ISO 8601", maxLength=LONGEST_TIME),
        "until": text("the last date, or the instant before which they were measured; not given: until now", maxLength=LONGEST_TIME),
        "where": {"type": "object", "description": "texts of columns that they have", "additionalProperties": TEXT},
    }
    return {
        "oneOf": [
            {"type": "object", "required": [first, *also], "additionalProperties": False, "properties": {**way, **also}}
            for first, way in (*((name, {name: way}) for name, way in ways.items()), ("since", period))
        ]
    }


REPORT: Final = request_body({"type": "object", "description": "`modak-result-JOB.json`, as the job script writes it at its end"})


def load(
    request: Request,
    body: LoadBody,
    format: Format = None,
    map: Renames = None,
    set: Fills = None,
    wide: Wide = None,
    name: Called = "",
    replace: Replace = False,
    dry_run: DryRun = False,
) -> Response:
    """All rows or none: `new`, `duplicates`, `replaced`, the `version` of the data, suspicious rows and notes.

    `map=OLD=NEW` renames a column, `map=*=` leaves out all that are not known, and `set=COLUMN=VALUE` fills empty cells of a column;
    both may be repeated.
    """
    from modak.ingest.options import options_of, parse_pairs
    from modak.ingest.reading import Incoming, table

    options = options_of(parse_pairs(map or (), "map"), parse_pairs(set or (), "set"), format, wide)
    service, files = service_of(request), sources(body, name)
    found = Incoming(tuple(table(file, options) for file in files))
    return answer(service.load(found, actor_of(request), dry_run=dry_run, replace=replace))


def confirm(request: Request, body: Body) -> Response:
    """The models use these results from now on; `confirmed` is how many of them had been doubted."""
    return answer(service_of(request).judge("confirm", _selected(document(body)), actor=actor_of(request)))


def doubt(request: Request, body: Body) -> Response:
    """The models do not use these results until they are confirmed; `doubted` is how many of them had not been doubted before."""
    sent = document(body)
    why = sent.get("why") if isinstance(sent, dict) else None
    if not isinstance(why, str):
        raise RequestError("is required: a text that says why these results are doubted", field="why")
    rest = {name: value for name, value in sent.items() if name != "why"}
    return answer(service_of(request).judge("doubt", _selected(rest), why, actor_of(request)))


def unmark(request: Request, body: Body) -> Response:
    """Takes back what was said of these results: loading judges them like all others; `unmarked` is of how many something was said."""
    return answer(service_of(request).judge("unmark", _selected(document(body)), actor=actor_of(request)))


def _selected(sent: Any) -> Selection:
    """The numbers of results, the name of a file, or the period, that a document gives."""
    match sent:
        case {"since": _}:
            return _period(sent)
        case {"file": str(name), **rest} if not rest and 0 < len(name) <= LONGEST_NAME:
            return name
        case {"results": [*numbers], **rest} if not rest and 0 < len(numbers) <= MOST_NUMBERS and all(map(_is_number, numbers)):
            return numbers
    raise RequestError(
        f"allowed: an object with results, a list of 1 to {MOST_NUMBERS} numbers, file, the name of a file, or since, a time",
        field="results",
    )


def _period(sent: Mapping[str, Any]) -> Measured:
    """The period that a document gives."""
    where = sent.get("where", {})
    strange = [name for name in sent if name not in ("since", "until", "where")]
    if strange or not isinstance(where, dict):
        message = "allowed: since and until, two times, and where, an object of columns and their texts"
        raise RequestError(message, field=strange[0] if strange else "where")
    given = {name: value for name, value in sent.items() if name != "where"} | {f"where.{name}": value for name, value in where.items()}
    for name, value in given.items():
        most = LONGEST_TIME if name in ("since", "until") else LONGEST_NAME
        if not isinstance(value, str) or not 0 < len(value) <= most:
            raise RequestError(f"allowed: a text of 1 to {most} characters", field=name)
    return Measured(sent["since"], sent.get("until"), where)


def _changed(changed: bool, notes: Sequence[str]) -> Mapping[str, Any]:
    return {"changed": changed} | ({"notes": notes} if notes else {})


_BESIDE: Final = {"systems": ("processors", "accelerators")}
"""What is sent with entries that need it, because it is new, too."""


def add_adding(app: FastAPI, kind: str) -> None:
    """Add ``POST /kind``."""

    def add(request: Request, body: Body, replace: Replace = False) -> Response:
        """All or none. 201 if something changed, 200 if everything was there already."""
        from modak.knowledge import from_document
        from modak.packaged import name_of

        sent = document(body)
        entries = from_document(kind, sent)
        with alone("" if kind in sent else f"{kind}.{name_of(entries[0])}"):
            added = service_of(request).add(entries, replace=replace, actor=actor_of(request))
        return answer(_changed(added.changed, added.notes), status=201 if added else 200)

    reference = ref(kind.removesuffix("s"))
    beside = {one: Maybe(list_of(ref(one.removesuffix("s")), "those that are not known yet")) for one in _BESIDE.get(kind, ())}
    schema = request_body({"anyOf": [reference, object_of(**{kind: {"type": "array", "items": reference}}, **beside)]})
    summary = f"Add {kind}"
    answers = json_response(ref("changed"), "Everything was there already", example={"changed": False})
    answers |= json_response(ref("changed"), "Something was added or replaced", status=201)
    app.add_api_route(
        f"/{kind}", add, responses=answers, methods=["POST"], tags=[TAG], summary=summary, name=f"add {kind}", openapi_extra=schema
    )


def add_removing(app: FastAPI, kind: str) -> None:
    """Add ``DELETE /kind/NAME``."""

    def remove(request: Request, name: Wanted) -> Response:
        """Results and plans that name it stay."""
        return answer(_changed(True, service_of(request).remove(kind, name, actor_of(request))))

    path, summary = f"/{kind}/{{name:path}}", f"Remove one of the {kind}"
    answers = json_response(ref("changed"), "It is removed")
    app.add_api_route(path, remove, responses=answers, methods=["DELETE"], tags=[TAG], summary=summary, name=f"remove {kind}")


def allow(request: Request, id: PlanId) -> Response:
    """`token`, with which one result of this plan can be sent in the caller's name until `expires_at`; it is shown only here."""
    return answer(service_of(request).allow_result(id, actor_of(request)), status=201)


def result(request: Request, id: PlanId, body: Body) -> Response:
    """Checked against the plan, then loaded; with a job's own token only once. A run that failed is stored as such, and leaves the token
    for the next."""
    return answer(service_of(request).take_result(id, document(body), actor_of(request), used_token(request, id)))


def audit(request: Request, limit: Limit = 100, cursor: Cursor = "") -> Response:
    """`items`, the newest first: `at`, `principal`, `request_id`, `action`, `target`, `outcome`; `next` where there are more."""
    return answer(service_of(request).audit(cursor, limit))


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= LARGEST
