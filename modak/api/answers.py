"""Schemas of the answers, and what all schemas of addresses are made of, for the OpenAPI document.

Nothing is checked against them while the service runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from modak import schemas
from modak.facts import Layout, SeriesKey

Schema = dict[str, Any]
Responses = dict[int | str, dict[str, Any]]


def ref(name: str) -> Schema:
    """A reference to a component."""
    return {"$ref": f"#/components/schemas/{name}"}


TEXT: Final[Schema] = {"type": "string"}


def object_of(required: tuple[str, ...], /, **properties: Schema) -> Schema:
    """An object, with the names of the properties that it always has."""
    return {"type": "object", "required": list(required), "properties": properties}


def text(description: str, **also: Any) -> Schema:
    """A text."""
    return {**TEXT, "description": description, **also}


def whole(description: str) -> Schema:
    """A count."""
    return {"type": "integer", "minimum": 0, "description": description}


def list_of(of: Schema, description: str) -> Schema:
    """A list."""
    return {"type": "array", "items": of, "description": description}


def request_body(schema: Schema, **also: Any) -> dict[str, Any]:
    """The OpenAPI entry of a body in JSON that we read ourselves."""
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema, **also}}}}


def json_response(
    schema: Schema, description: str = "The answer", *, status: int = 200, headers: Mapping[str, Schema] | None = None, **also: Any
) -> Responses:
    """The OpenAPI entry of an answer in JSON."""
    entry: dict[str, Any] = {"description": description, "content": {"application/json": {"schema": schema, **also}}}
    return {status: entry | ({"headers": dict(headers)} if headers else {})}


def page(name: str) -> Schema:
    """A page of a list of components."""
    items = {"type": "array", "items": ref(name)}
    following = text("`cursor` of the next page; left out on the last one")
    return object_of(("items",), items=items, next=following)


def components() -> dict[str, Schema]:
    """The components that routes refer to, beside the kinds of :mod:`modak.schemas`."""
    return {
        "problem": PROBLEM,
        "recommendation": RECOMMENDATION,
        "validation": VALIDATION,
        "predictions": _predictions(),
        "measured_result": _measured(),
        "model": MODEL,
        **_of_models(),
        "load_report": LOAD_REPORT,
        "changed": object_of(
            ("changed",),
            changed={"type": "boolean", "description": "false: everything was there already"},
            notes=list_of(
                TEXT, "results that look wrong, or no more, beside a new description of their system; names in rules that nothing has"
            ),
        ),
        "audit_entry": AUDIT_ENTRY,
        "result_token": RESULT_TOKEN,
        "infrastructure": INFRASTRUCTURE,
        "script": SCRIPT,
        "scaling_model": SCALING_MODEL,
        "container_mapping": CONTAINER_MAPPING,
    }


PROBLEM: Final = {
    **object_of(
        ("type", "title", "status", "detail", "errors"),
        type=text("the kind of error, for programs"),
        title=text("the same in words"),
        status={"type": "integer", "description": "of HTTP"},
        detail=text("all faults in one text"),
        errors=list_of(
            object_of(("field", "message"), field=text("dotted path, or the file and line"), message=text("what is allowed there")),
            "the faults one by one",
        ),
        more_errors={"type": "integer", "description": "how many more there are"},
        warnings=list_of(ref("Notice"), "how a request was read that is then refused, where something of it was changed or left out"),
    ),
    "description": "RFC 9457",
    "examples": [
        {
            "type": "urn:modak:problem:the-request-is-wrong",
            "title": "the request is wrong",
            "status": 422,
            "detail": "job_options.node_count: allowed: a whole number",
            "errors": [{"field": "job_options.node_count", "message": "allowed: a whole number"}],
        }
    ],
}
_NOTICES: Final = list_of(ref("Notice"), "what was done instead of what was asked, or should be known")
RECOMMENDATION: Final = object_of(
    ("choices", "decisions", "advice", "warnings"),
    choices=list_of(ref("Choice"), "best first"),
    decisions=list_of(TEXT, "why the first is first"),
    advice=list_of(TEXT, "what the evidence says of it"),
    warnings=_NOTICES,
    least_work={"type": "number", "description": "what the efficiencies are relative to: node-hours, in weak scaling hours"},
    missed=text("with `closest`, where nothing meets the constraints: what stands in the way"),
)


VALIDATION: Final = object_of(
    ("valid", "warnings"),
    valid={"type": "boolean", "description": "true; a wrong request is refused instead"},
    warnings=_NOTICES,
)


def _predictions() -> Schema:
    number = {"type": ["number", "null"]}
    counts = ("nodes", "ranks_per_node", "threads_per_rank", "gpus_per_node", "batch_size", "numa_mode", "hyperthreads")
    cells = schemas.components("points")["points"]["properties"]
    row = {
        "type": "object",
        "additionalProperties": {"type": ["string", "null"]},
        "description": "the row as it was sent, `params.NAME` as text, and what is predicted; null: an empty cell, or no prediction",
        "required": ["predicted", "lower", "upper", "unit", "basis", "model", "results_used", "extrapolation"],
        "properties": {
            **{name: cell if name in counts else {**cell, "type": ["string", "null"]} for name, cell in cells.items() if name != "params"},
            "predicted": {**number, "description": "in `unit`"},
            "lower": {**number, "description": "lower end of the interval, in `unit`"},
            "upper": {**number, "description": "upper end of the interval, in `unit`"},
            "unit": {"type": ["string", "null"], "description": "the row's own, or that of the metric"},
            "basis": schemas.components("response")["Prediction"]["properties"]["basis"],
            "model": {"type": ["string", "null"], "description": "what says so"},
            "results_used": whole("how many measured results it rests on"),
            "extrapolation": {**number, "description": "doublings beyond the measured sizes"},
        },
    }
    level = {"type": "number", "description": "probability that an interval holds the next run's value"}
    return object_of(
        ("rows", "level", "warnings"), rows=list_of(row, "in the order that they were sent in"), level=level, warnings=_NOTICES
    )


def _measured() -> Schema:
    """A result in a list; unknown columns are left out."""
    sent = schemas.components("result")["result"]
    known = {name: _without_null(field) for name, field in sent["properties"].items() if name != "params"}
    return {
        "type": "object",
        "required": ["application", "metric", "unit", "value", "id"],
        "properties": {
            **known,
            "id": whole("its number, which doubts and confirmations name"),
            "suspect": text("why no model rests on it"),
            "doubted": {"type": "boolean", "description": "true: `suspect` is a doubt of this service, not of the row's file"},
            "by_hand": {"type": "boolean", "description": "true: somebody doubted or confirmed it, and no load judges it"},
            "replaced_at": text("when another took its place", format="date-time"),
            "replaced_by": text("who loaded that one"),
            "replaced_from": text("the file of that one"),
        },
        "additionalProperties": TEXT,
        "description": "one measured value; `params.NAME` are further parameters, as text",
    }


def _without_null(field: Schema) -> Schema:
    if "enum" in field:
        return {**field, "enum": [word for word in field["enum"] if word is not None]}
    kinds = field["type"] if isinstance(field["type"], list) else [field["type"]]
    return {**field, "type": next(kind for kind in kinds if kind != "null")}


def _of_models() -> dict[str, Schema]:
    """What the results of a model have in common."""
    columns = schemas.components("result")["result"]["properties"]
    known = {name: _without_null(columns[name]) for name in (*SeriesKey.model_fields, *Layout.model_fields) if name != "params"}
    counts = {name: known.pop(name) for name in Layout.model_fields}
    params = {"type": "object", "additionalProperties": TEXT, "description": "further parameters by name"}
    series = object_of(("application", "metric", "unit"), **known, params=params)
    return {
        "series": series | {"description": "what its results have in common, in the columns of the results table"},
        "layout": object_of((), **counts) | {"description": "the counts that they have in common"},
    }


_NUMBERS: Final[Schema] = {"type": "array", "items": {"type": "number"}}
_PAIR: Final = list_of({"type": "integer"}, "GPUs per node, threads per rank")
MODEL: Final = object_of(
    ("id", "application", "series", "layout", "scale", "sizes", "costs", "repeats", "nodes", "mixture", "results_used"),
    id=text("changes with the series and the layout, not with the results"),
    application=text("what ran"),
    series={"$ref": "#/components/schemas/series"},
    layout={"$ref": "#/components/schemas/layout"},
    scale={"enum": ["nodes", "ranks", "gpus", "threads"], "description": "the count that varies"},
    sizes={**_NUMBERS, "description": "that count, ascending"},
    costs={**_NUMBERS, "description": "median at each size: seconds, or for a rate seconds for one of its unit (a sample, a FLOP)"},
    repeats=list_of({"type": "integer"}, "results at each size"),
    nodes=list_of({"type": "integer"}, "the most nodes at each size"),
    scatter=object_of(("deviation", "freedom"), deviation={"type": "number", "description": "standard"}, freedom=whole("degrees"))
    | {"description": "of the log costs of repeats; absent: nothing was repeated"},
    mixture={"type": "object", "additionalProperties": True, "description": "coefficients and weights of the forms, for MODAK itself"},
    result_ids=list_of(
        {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]},
        "numbers of those results; [first, last] of several that follow each other",
    ),
    results_used=whole("how many results it rests on"),
    ranks_per_gpu={"type": "number", "description": "of a curve over GPUs whose ranks per node vary with these"},
    threads_on=list_of(_PAIR, "of a curve over GPUs whose threads vary with these"),
)
_ROWS: Final = {
    "rows": whole("read"),
    "new": whole("that were not there"),
    "duplicates": whole("that were there"),
}
_FILE: Final = object_of(
    ("name", "format", "sha256", "rows", "new", "duplicates"),
    name=text("as it was sent"),
    format=text("as it was read"),
    sha256=text("of its content"),
    **_ROWS,
    already_loaded=text("when the same content was loaded before", format="date-time"),
)
LOAD_REPORT: Final = object_of(
    ("rows", "new", "duplicates", "notes"),
    version=text("of the data, from now on"),
    **_ROWS,
    replaced=whole("whose place others took"),
    series_count=whole("series that changed"),
    models=whole("fitted models that rest on them; the next use fits them anew"),
    suspicious_count=whole("rows that no model rests on until they are confirmed"),
    dry_run={"type": "boolean", "description": "true: nothing was changed"},
    series=list_of(TEXT, "the first of the series that changed"),
    suspicious=list_of(TEXT, "the first of the suspicious rows, and why"),
    notes=list_of(TEXT, "what else to know"),
    files=list_of(_FILE, "one by one"),
)
AUDIT_ENTRY: Final = object_of(
    ("id", "at", "principal", "request_id", "action", "target", "outcome"),
    id=whole("its number"),
    at=text("when", format="date-time"),
    principal=text("who"),
    request_id=text("`X-Request-ID` of the answer"),
    action=text("what"),
    target=text("of what"),
    outcome=text("`done`, or how else it ended"),
)
RESULT_TOKEN: Final = object_of(
    ("token", "expires_at"), token=text("to send one result of the plan with"), expires_at=text("until when", format="date-time")
)
_ID: Final = text("the same on every server", format="uuid")
_NODE: Final = object_of(
    (),
    ncpus=whole("sockets"),
    cpu=object_of((), arch=text("x86_64, aarch64, ppc64le"), microarch=text("skylake"), ncores=whole("cores of a socket"),
                  nthreads=whole("threads of a core")) | {"description": "each processor"},
    naccel=whole("accelerators"),
    accel=object_of((), type=text("gpu"), model=text("its name")) | {"description": "each accelerator"},
    memory=whole("bytes"),
)  # fmt: skip
_PARTITION: Final = object_of(
    ("nnodes", "default", "node"),
    nnodes={"type": ["integer", "null"], "description": "nodes"},
    default={"type": "boolean", "description": "whether jobs get it that name none"},
    node=_NODE | {"description": "each of its nodes"},
)
INFRASTRUCTURE: Final = object_of(
    ("id", "name", "description", "configuration"),
    id=_ID,
    name=text("of the system"),
    description=text("its title"),
    configuration=object_of(
        (),
        scheduler=text("slurm"),
        storage={"type": "object", "description": "by address", "additionalProperties": object_of((), storage_class=text("its kind"))},
        partitions={"type": "object", "description": "by name", "additionalProperties": _PARTITION},
    )
    | {"description": "what it consists of"},
)
SCRIPT: Final = object_of(
    ("id", "conditions", "data"),
    id=_ID,
    description=text("the rule's title; left out if it was sent without one"),
    conditions=object_of(
        (),
        application=object_of(
            ("name", "feature"),
            name=text("of a framework, an MPI library or an application"),
            feature={
                "type": "object",
                "description": "what must be on: graph compilers, distribution, version",
                "additionalProperties": {"type": ["boolean", "string"]},
            },
        )
        | {"description": "what it is for"},
        infrastructure=object_of((), name=text("of a system"), storage_class=text("kind of storage")) | {"description": "where it is for"},
    )
    | {"description": "when it is added: all that is given must hold"},
    data=object_of(("stage", "raw"), stage={"enum": ["pre", "post"], "description": "before or after the run"}, raw=text("shell text"))
    | {"description": "what is added"},
)
SCALING_MODEL: Final = object_of(
    ("id", "opt_dsl_code", "model"),
    id=_ID,
    opt_dsl_code=text("names joined by _"),
    model=object_of(
        ("name", "F"),
        name={"enum": ["amdahl"], "description": "Amdahl's law"},
        F={"type": "number", "description": "parallel fraction, 0 to 1"},
    )
    | {"description": "how the application scales"},
)
_ON: Final[Schema] = {"type": "object", "description": "what the image has, by name", "additionalProperties": {"type": "boolean"}}
CONTAINER_MAPPING: Final = object_of(
    ("id", "opt_dsl_code", "app_name", "version", "enable_opt_build", "target", "selectors", "container_name", "container_type"),
    id=_ID,
    opt_dsl_code=text("names joined by _"),
    app_name=text("the framework"),
    version=text("its version"),
    enable_opt_build={"type": "boolean", "description": "built from source"},
    target=object_of(("cpu_type", "acc_type"), cpu_type=text("x86, arm, power"), acc_type=text("nvidia, amd, intel, fpga, none"))
    | {"description": "what it is built for"},
    selectors=_ON,
    container_name=text("repository/name:tag"),
    container_type={"enum": ["docker", "shub"], "description": "kind of registry"},
    container_registry=text("host of the registry, or library"),
)
