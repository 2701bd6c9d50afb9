"""Schemas of the answers, for the OpenAPI document: what each field of them says, and whether it is always there.

Nothing is checked against them while the service runs.
"""

from __future__ import annotations

from typing import Final

from modak import schemas
from modak.api.openapi import (
    BOOLEAN,
    INTEGER,
    NUMBER,
    TEXT,
    Maybe,
    boolean,
    by_name,
    list_of,
    number,
    object_of,
    one_of,
    ref,
    text,
    time,
    whole,
)
from modak.facts import Layout, SeriesKey
from modak.facts.results import FLAGS, NUMBERS
from modak.schemas import Schema


def components() -> dict[str, Schema]:
    """The components that routes refer to, beside the kinds of :mod:`modak.schemas`."""
    return {
        "problem": PROBLEM,
        "recommendation": RECOMMENDATION,
        "validation": VALIDATION,
        "predictions": _predictions(),
        "measured_result": _measured_result(),
        "model": MODEL,
        "series": _series(),
        "layout": _layout(),
        "load_report": LOAD_REPORT,
        "changed": CHANGED,
        "audit_entry": AUDIT_ENTRY,
        "result_token": RESULT_TOKEN,
        "infrastructure": INFRASTRUCTURE,
        "script": SCRIPT,
        "scaling_model": SCALING_MODEL,
        "container_mapping": CONTAINER_MAPPING,
    }


PROBLEM: Final[Schema] = {
    **object_of(
        "RFC 9457",
        type=text("the kind of error, for programs: `urn:modak:problem:` and the title, with hyphens for blanks"),
        title=text("the same in words"),
        status={**INTEGER, "description": "of HTTP"},
        detail=text("all faults in one text"),
        errors=list_of(
            object_of(
                field=text("dotted path (of a request, below `job`), or the file and line; empty: the document as a whole"),
                message=text("what is allowed there"),
            ),
            "the faults one by one",
        ),
        more_errors=Maybe({**INTEGER, "description": "how many more there are"}),
        warnings=Maybe(
            list_of(ref("Notice"), "how a request was read that is then refused, where something of it was changed or left out")
        ),
    ),
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

# --- answers to requests

_NOTICES: Final = list_of(ref("Notice"), "what was done instead of what was asked, or should be known")
RECOMMENDATION: Final = object_of(
    choices=list_of(ref("Choice"), "best first"),
    decisions=list_of(TEXT, "why the first is first"),
    advice=list_of(TEXT, "what the evidence says of it"),
    warnings=_NOTICES,
    least_work=Maybe(number("what the efficiencies are relative to: node-hours, in weak scaling hours")),
    missed=Maybe(text("with `closest`, where nothing meets the constraints: what stands in the way")),
)
VALIDATION: Final = object_of(valid=boolean("true; a wrong request is refused instead"), warnings=_NOTICES)


def _predictions() -> Schema:
    return object_of(
        rows=list_of(_predicted_row(), "in the order that they were sent in"),
        level=number("probability that an interval holds the next run's value"),
        warnings=_NOTICES,
    )


def _predicted_row() -> Schema:
    """The columns of the row that was sent, and those that are predicted."""
    counts = (*Layout.model_fields, *NUMBERS, *FLAGS)
    columns = schemas.components("points")["points"]["properties"]
    sent = {
        name: column if name in counts else {**column, "type": ["string", "null"]} for name, column in columns.items() if name != "params"
    }
    number_or_null, text_or_null = {"type": ["number", "null"]}, {"type": ["string", "null"]}
    predicted = {
        "predicted": {**number_or_null, "description": "in `unit`"},
        "lower": {**number_or_null, "description": "lower end of the interval, in `unit`"},
        "upper": {**number_or_null, "description": "upper end of the interval, in `unit`"},
        "unit": {**text_or_null, "description": "the row's own, or that of the metric"},
        "basis": schemas.components("response")["Prediction"]["properties"]["basis"],
        "model": {**text_or_null, "description": "what says so"},
        "results_used": whole("how many measured results it rests on"),
        "extrapolation": {**number_or_null, "description": "doublings beyond the measured sizes"},
    }
    return {
        "type": "object",
        "additionalProperties": text_or_null,
        "description": "the row as it was sent, `params.NAME` as text, and what is predicted; null: an empty cell, or no prediction",
        "required": list(predicted),
        "properties": {**sent, **predicted},
    }


# --- results and models


def _measured_result() -> Schema:
    """A result in a list; unknown columns are left out."""
    further = {
        "id": whole("its number, which doubts and confirmations name"),
        "suspect": text("why no model rests on it"),
        "doubted": boolean("true: `suspect` is a doubt of this service, not of the row's file"),
        "by_hand": boolean("true: somebody doubted or confirmed it, and no load judges it"),
        "replaced_at": time("when another took its place"),
        "replaced_by": text("who loaded that one"),
        "replaced_from": text("the file of that one"),
    }
    return {
        "type": "object",
        "required": ["application", "metric", "unit", "value", "id"],
        "properties": {**_columns(), **further},
        "additionalProperties": TEXT,
        "description": "one measured value; `params.NAME` are further parameters, as text",
    }


def _series() -> Schema:
    known = {name: column for name, column in _columns().items() if name in SeriesKey.model_fields}
    always = ("application", "metric", "unit")
    return object_of(
        "what its results have in common, in the columns of the results table",
        **{name: known[name] if name in always else Maybe(known[name]) for name in SeriesKey.model_fields if name in known},
        params=Maybe(by_name(TEXT, "further parameters by name")),
    )


def _layout() -> Schema:
    known = _columns()
    return object_of("the counts that they have in common", **{name: Maybe(known[name]) for name in Layout.model_fields})


def _columns() -> dict[str, Schema]:
    """The columns of the results table that are values: without their ``null``, because what is empty is left out."""
    sent = schemas.components("result")["result"]["properties"]
    return {name: _without_null(column) for name, column in sent.items() if name != "params"}


def _without_null(column: Schema) -> Schema:
    if "enum" in column:
        return {**column, "enum": [word for word in column["enum"] if word is not None]}
    kinds = column["type"] if isinstance(column["type"], list) else [column["type"]]
    return {**column, "type": next(kind for kind in kinds if kind != "null")}


_PAIR: Final = list_of(INTEGER, "GPUs per node, threads per rank")
MODEL: Final = object_of(
    id=text("changes with the series and the layout, not with the results"),
    application=text("what ran"),
    series=ref("series"),
    layout=ref("layout"),
    scale=one_of("the count that varies", "nodes", "ranks", "gpus", "threads"),
    sizes=list_of(NUMBER, "that count, ascending"),
    costs=list_of(NUMBER, "median at each size: seconds, or for a rate seconds for one of its unit (a sample, a FLOP)"),
    repeats=list_of(INTEGER, "results at each size"),
    nodes=list_of(INTEGER, "the most nodes at each size"),
    scatter=Maybe(
        object_of("of the log costs of repeats; absent: nothing was repeated", deviation=number("standard"), freedom=whole("degrees"))
    ),
    mixture={"type": "object", "additionalProperties": True, "description": "coefficients and weights of the forms, for MODAK itself"},
    result_ids=Maybe(
        list_of(
            {"anyOf": [INTEGER, {"type": "array", "items": INTEGER}]},
            "numbers of those results; [first, last] of several that follow each other",
        )
    ),
    results_used=whole("how many results it rests on"),
    shifted=Maybe(
        object_of(
            "to which its earlier results are scaled",
            since=text("the day since when runs take longer, or less"),
            ratio=number("of what they take since then to what they took before"),
        )
    ),
    ranks_per_gpu=Maybe(number("of a curve over GPUs whose ranks per node vary with these")),
    threads_on=Maybe(list_of(_PAIR, "of a curve over GPUs whose threads vary with these")),
)

# --- changes

_ROWS: Final = {
    "rows": whole("read"),
    "new": whole("that were not there"),
    "duplicates": whole("that were there"),
}
_FILE: Final = object_of(
    name=text("as it was sent"),
    format=text("as it was read"),
    sha256=text("of its content"),
    **_ROWS,
    already_loaded=Maybe(time("when the same content was loaded before")),
)
LOAD_REPORT: Final = object_of(
    version=Maybe(text("of the data, from now on")),
    **_ROWS,
    replaced=Maybe(whole("whose place others took")),
    series_count=Maybe(whole("series that changed")),
    models=Maybe(whole("fitted models that rest on them; the next use fits them anew")),
    suspicious_count=Maybe(whole("rows that no model rests on until they are confirmed")),
    dry_run=Maybe(boolean("true: nothing was changed")),
    series=Maybe(list_of(TEXT, "the first of the series that changed")),
    suspicious=Maybe(list_of(TEXT, "the first of the suspicious rows, and why")),
    notes=list_of(TEXT, "what else to know"),
    files=Maybe(list_of(_FILE, "one by one")),
)
CHANGED: Final = object_of(
    changed=boolean("false: everything was there already"),
    notes=Maybe(
        list_of(TEXT, "results that look wrong, or no more, beside a new description of their system; names in rules that nothing has")
    ),
)
AUDIT_ENTRY: Final = object_of(
    id=whole("its number"),
    at=time("when"),
    principal=text("who"),
    request_id=text("`X-Request-ID` of the answer"),
    action=text("what"),
    target=text("of what"),
    outcome=text("`done`, or how else it ended"),
)
RESULT_TOKEN: Final = object_of(token=text("to send one result of the plan with"), expires_at=time("until when"))

# --- the published addresses

_ID: Final = text("the same on every server", format="uuid")
_NODE: Final = object_of(
    "each of its nodes",
    ncpus=Maybe(whole("sockets")),
    cpu=Maybe(
        object_of(
            "each processor",
            arch=Maybe(text("x86_64, aarch64, ppc64le")),
            microarch=Maybe(text("skylake")),
            ncores=Maybe(whole("cores of a socket")),
            nthreads=Maybe(whole("threads of a core")),
        )
    ),
    naccel=Maybe(whole("accelerators")),
    accel=Maybe(object_of("each accelerator", type=Maybe(text("gpu")), model=Maybe(text("its name")))),
    memory=Maybe(whole("bytes")),
)
_PARTITION: Final = object_of(
    nnodes={"type": ["integer", "null"], "description": "nodes"},
    default=boolean("whether jobs get it that name none"),
    node=_NODE,
)
INFRASTRUCTURE: Final = object_of(
    id=_ID,
    name=text("of the system"),
    description=text("its title"),
    configuration=object_of(
        "what it consists of",
        scheduler=Maybe(text("slurm")),
        storage=Maybe(by_name(object_of(storage_class=Maybe(text("its kind"))), "by address")),
        partitions=Maybe(by_name(_PARTITION, "by name")),
    ),
)
_FOR_APPLICATION: Final = object_of(
    "what it is for",
    name=text("of a framework, an MPI library or an application"),
    feature=by_name({"type": ["boolean", "string"]}, "what must be on: graph compilers, distribution, version"),
)
_FOR_INFRASTRUCTURE: Final = object_of("where it is for", name=Maybe(text("of a system")), storage_class=Maybe(text("kind of storage")))
SCRIPT: Final = object_of(
    id=_ID,
    description=Maybe(text("the rule's title; left out if it was sent without one")),
    conditions=object_of(
        "when it is added: all that is given must hold",
        application=Maybe(_FOR_APPLICATION),
        infrastructure=Maybe(_FOR_INFRASTRUCTURE),
    ),
    data=object_of("what is added", stage=one_of("before or after the run", "pre", "post"), raw=text("shell text")),
)
SCALING_MODEL: Final = object_of(
    id=_ID,
    opt_dsl_code=text("names joined by _"),
    model=object_of("how the application scales", name=one_of("Amdahl's law", "amdahl"), F=number("parallel fraction, 0 to 1")),
)
CONTAINER_MAPPING: Final = object_of(
    id=_ID,
    opt_dsl_code=text("names joined by _"),
    app_name=text("the framework"),
    version=text("its version"),
    enable_opt_build=boolean("built from source"),
    target=object_of("what it is built for", cpu_type=text("x86, arm, power"), acc_type=text("nvidia, amd, intel, fpga, none")),
    selectors=by_name(BOOLEAN, "what the image has, by name"),
    container_name=text("repository/name:tag"),
    container_type=one_of("kind of registry", "docker", "shub"),
    container_registry=Maybe(text("host of the registry, or library")),
)
