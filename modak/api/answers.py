"""Schemas of the answers, for the OpenAPI document. Nothing is checked against them while the service runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from modak import schemas

Schema = dict[str, Any]
Responses = dict[int | str, dict[str, Any]]


def ref(name: str) -> Schema:
    """A reference to a component."""
    return {"$ref": f"#/components/schemas/{name}"}


def told(schema: Schema, description: str = "The answer", *, status: int = 200, headers: Mapping[str, Schema] | None = None) -> Responses:
    """The OpenAPI entry of an answer in JSON."""
    entry: dict[str, Any] = {"description": description, "content": {"application/json": {"schema": schema}}}
    return {status: entry | ({"headers": dict(headers)} if headers else {})}


def page(name: str) -> Schema:
    """A page of a list of components."""
    items = {"type": "array", "items": ref(name)}
    following = _text("`cursor` of the next page; left out on the last one")
    return _object(("items",), items=items, next=following)


def components() -> dict[str, Schema]:
    """The components that routes refer to, beside the kinds of :mod:`modak.schemas`."""
    return {
        "recommendation": RECOMMENDATION,
        "predictions": _predictions(),
        "measured_result": _measured(),
        "model": MODEL,
        "load_report": LOAD_REPORT,
        "changed": _object(("changed",), changed={"type": "boolean", "description": "false: everything was there already"}),
        "audit_entry": AUDIT_ENTRY,
        "result_token": RESULT_TOKEN,
        "infrastructure": INFRASTRUCTURE,
        "script": SCRIPT,
        "scaling_model": SCALING_MODEL,
        "container_mapping": CONTAINER_MAPPING,
    }


def _object(required: tuple[str, ...], /, **properties: Schema) -> Schema:
    return {"type": "object", "required": list(required), "properties": properties}


def _text(description: str, **also: Any) -> Schema:
    return {"type": "string", "description": description, **also}


def _whole(description: str, **also: Any) -> Schema:
    return {"type": "integer", "minimum": 0, "description": description, **also}


def _list(of: Schema, description: str) -> Schema:
    return {"type": "array", "items": of, "description": description}


_LINES: Final[Schema] = {"type": "string"}
_NOTICES: Final = _list(ref("Notice"), "what was done instead of what was asked, or should be known")
RECOMMENDATION: Final = _object(
    ("choices", "decisions", "advice", "warnings"),
    choices=_list(ref("Choice"), "best first"),
    decisions=_list(_LINES, "why the first is first"),
    advice=_list(_LINES, "what the evidence says of it"),
    warnings=_NOTICES,
    missed=_text("with `closest`, where nothing meets the constraints: what stands in the way"),
)


def _predictions() -> Schema:
    number = {"type": ["number", "null"]}
    counts = ("nodes", "ranks_per_node", "threads_per_rank", "gpus_per_node", "batch_size", "numa_mode", "hyperthreads")
    cells = schemas.components("points")["points"]["properties"]
    row = {
        "type": "object",
        "patternProperties": {"^params[.]": {"type": ["string", "null"]}},
        "description": "the row as it was sent, and what is predicted; null: an empty cell, or no prediction",
        "required": ["predicted", "lower", "upper", "unit", "basis", "model", "results_used", "extrapolation"],
        "properties": {
            **{name: cell if name in counts else {**cell, "type": ["string", "null"]} for name, cell in cells.items() if name != "params"},
            "predicted": {**number, "description": "in `unit`"},
            "lower": {**number, "description": "lower end of the interval, in `unit`"},
            "upper": {**number, "description": "upper end of the interval, in `unit`"},
            "unit": {"type": ["string", "null"], "description": "the row's own, or that of the metric"},
            "basis": schemas.components("response")["Prediction"]["properties"]["basis"],
            "model": {"type": ["string", "null"], "description": "what says so"},
            "results_used": _whole("how many measured results it rests on"),
            "extrapolation": {**number, "description": "doublings beyond the measured sizes"},
        },
    }
    level = {"type": "number", "description": "probability that an interval holds the next run's value"}
    return _object(("rows", "level", "warnings"), rows=_list(row, "in the order that they were sent in"), level=level, warnings=_NOTICES)


def _measured() -> Schema:
    """A result in a list; unknown columns are left out."""
    sent = schemas.components("result")["result"]
    known = {name: _without_null(field) for name, field in sent["properties"].items() if name != "params"}
    return {
        "type": "object",
        "required": ["application", "metric", "unit", "value", "id"],
        "properties": {
            **known,
            "id": _whole("its number, which doubts and confirmations name"),
            "suspect": _text("why no model rests on it"),
            "doubted": {"const": True, "description": "`suspect` is a doubt of this service, not of the row's file"},
            "replaced_at": _text("when another took its place", format="date-time"),
            "replaced_by": _text("who loaded that one"),
            "replaced_from": _text("the file of that one"),
        },
        "patternProperties": dict.fromkeys(sent["patternProperties"], _LINES),
        "description": "one measured value; `params.NAME` are further parameters, as text",
    }


def _without_null(field: Schema) -> Schema:
    if "enum" in field:
        return {**field, "enum": [word for word in field["enum"] if word is not None]}
    kinds = field["type"] if isinstance(field["type"], list) else [field["type"]]
    return {**field, "type": next(kind for kind in kinds if kind != "null")}


_NUMBERS: Final[Schema] = {"type": "array", "items": {"type": "number"}}
MODEL: Final = _object(
    ("id", "application", "series", "layout", "scale", "sizes", "costs", "repeats", "nodes", "mixture", "results_used"),
    id=_text("changes with the series and the layout, not with the results"),
    application=_text("what ran"),
    series={"type": "object", "description": "what its results have in common, in the columns of the results table"},
    layout={"type": "object", "description": "the counts that they have in common"},
    scale={"enum": ["nodes", "ranks", "gpus", "threads"], "description": "the count that varies"},
    sizes={**_NUMBERS, "description": "that count, ascending"},
    costs={**_NUMBERS, "description": "median at each size: seconds, or for a rate seconds for one of its unit (a sample, a FLOP)"},
    repeats=_list({"type": "integer"}, "results at each size"),
    nodes=_list({"type": "integer"}, "the most nodes at each size"),
    scatter={"type": "object", "description": "deviation and freedom of the log costs of repeats; absent: nothing was repeated"},
    mixture={"type": "object", "description": "coefficients and weights of the forms, for MODAK itself"},
    result_ids=_list(
        {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]},
        "numbers of those results; [first, last] of several that follow each other",
    ),
    results_used=_whole("how many results it rests on"),
    ranks_per_gpu={"type": "number", "description": "of a curve over GPUs whose ranks per node vary with these"},
    told={"type": "object", "description": "what stands behind a curve that was not measured"},
)
_ROWS: Final = {
    "rows": _whole("read"),
    "new": _whole("that were not there"),
    "duplicates": _whole("that were there"),
}
_FILE: Final = _object(
    ("name", "format", "sha256", "rows", "new", "duplicates"),
    name=_text("as it was sent"),
    format=_text("as it was read"),
    sha256=_text("of its content"),
    **_ROWS,
    already_loaded=_text("when the same content was loaded before", format="date-time"),
)
LOAD_REPORT: Final = _object(
    ("rows", "new", "duplicates", "notes"),
    version=_text("of the data, from now on"),
    **_ROWS,
    replaced=_whole("whose place others took"),
    series_count=_whole("series that changed"),
    models=_whole("fitted models that rest on them; the next use fits them anew"),
    suspicious_count=_whole("rows that no model rests on until they are confirmed"),
    dry_run={"type": "boolean", "description": "true: nothing was changed"},
    series=_list(_LINES, "the first of the series that changed"),
    suspicious=_list(_LINES, "the first of the suspicious rows, and why"),
    notes=_list(_LINES, "what else to know"),
    files=_list(_FILE, "one by one"),
)
AUDIT_ENTRY: Final = _object(
    ("id", "at", "principal", "request_id", "action", "target", "outcome"),
    id=_whole("its number"),
    at=_text("when", format="date-time"),
    principal=_text("who"),
    request_id=_text("`X-Request-ID` of the answer"),
    action=_text("what"),
    target=_text("of what"),
    outcome=_text("`done`, or how else it ended"),
)
RESULT_TOKEN: Final = _object(
    ("token", "expires_at"), token=_text("to send one result of the plan with"), expires_at=_text("until when", format="date-time")
)
_ID: Final = _text("the same on every server", format="uuid")
_NODE: Final = _object(
    (),
    ncpus=_whole("sockets"),
    cpu=_object((), arch=_text("x86_64, aarch64, ppc64le"), microarch=_text("skylake"), ncores=_whole("cores of a socket"),
                nthreads=_whole("threads of a core")),
    naccel=_whole("accelerators"),
    accel=_object((), type=_text("gpu"), model=_text("its name")),
    memory=_whole("bytes"),
)  # fmt: skip
_PARTITION: Final = _object(
    ("nnodes", "default", "node"), nnodes={"type": ["integer", "null"], "description": "nodes"}, default={"type": "boolean"}, node=_NODE
)
INFRASTRUCTURE: Final = _object(
    ("id", "name", "description", "configuration"),
    id=_ID,
    name=_text("of the system"),
    description=_text("its title"),
    configuration=_object(
        (),
        scheduler=_text("slurm"),
        storage={"type": "object", "description": "by address", "additionalProperties": _object((), storage_class=_text("its kind"))},
        partitions={"type": "object", "description": "by name", "additionalProperties": _PARTITION},
    ),
)
SCRIPT: Final = _object(
    ("id", "conditions", "data"),
    id=_ID,
    description=_text("the rule's title; left out if it was sent without one"),
    conditions=_object(
        (),
        application=_object(
            ("name", "feature"),
            name=_text("of a framework, an MPI library or an application"),
            feature={
                "type": "object",
                "description": "what must be on: graph compilers, distribution, version",
                "additionalProperties": {"type": ["boolean", "string"]},
            },
        ),
        infrastructure=_object((), name=_text("of a system"), storage_class=_text("kind of storage")),
    ),
    data=_object(("stage", "raw"), stage={"enum": ["pre", "post"], "description": "before or after the run"}, raw=_text("shell text")),
)
SCALING_MODEL: Final = _object(
    ("id", "opt_dsl_code", "model"),
    id=_ID,
    opt_dsl_code=_text("names joined by _"),
    model=_object(("name", "F"), name={"enum": ["amdahl"]}, F={"type": "number", "description": "parallel fraction, 0 to 1"}),
)
_ON: Final[Schema] = {"type": "object", "description": "what the image has, by name", "additionalProperties": {"type": "boolean"}}
CONTAINER_MAPPING: Final = _object(
    ("id", "opt_dsl_code", "app_name", "version", "enable_opt_build", "target", "selectors", "container_name", "container_type"),
    id=_ID,
    opt_dsl_code=_text("names joined by _"),
    app_name=_text("the framework"),
    version=_text("its version"),
    enable_opt_build={"type": "boolean", "description": "built from source"},
    target=_object(("cpu_type", "acc_type"), cpu_type=_text("x86, arm, power"), acc_type=_text("nvidia, amd, intel, fpga, none")),
    selectors=_ON,
    container_name=_text("repository/name:tag"),
    container_type={"enum": ["docker", "shub"]},
    container_registry=_text("host of the registry, or library"),
)
