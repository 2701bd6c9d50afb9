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

NUMBER_OR_NULL: Final[Schema] = {"type": ["number", "null"]}
TEXT_OR_NULL: Final[Schema] = {"type": ["string", "null"]}


def components() -> dict[str, Schema]:
    """The components that routes refer to, beside the kinds of :mod:`modak.schemas`."""
    return {
        "problem": PROBLEM,
        "recommendation": RECOMMENDATION,
        "validation": VALIDATION,
        "predictions": _predictions(),
        "calibration": _calibration(),
        "proposals": _proposals(),
        "comparison": COMPARISON,
        "evaluation": EVALUATION,
        "lines": LINES,
        "outcomes": OUTCOMES,
        "measured_result": _measured_result(),
        "model": MODEL,
        "series": _series(),
        "layout": object_of("the counts that they have in common", **{name: Maybe(_columns()[name]) for name in Layout.model_fields}),
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
_TEXTS: Final = object_of(
    "with `scripts`: empty where there is none",
    job_script=text("to submit"),
    build_script=text("to submit before, if an image or the program has to be built"),
    definition=text("the recipe of that image"),
    definition_name=text("name of its file"),
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
    return _row(
        "the row as it was sent, `params.NAME` as text, and what is predicted; null: an empty cell, or no prediction",
        predicted={**NUMBER_OR_NULL, "description": "in `unit`"},
        lower={**NUMBER_OR_NULL, "description": "lower end of the interval, in `unit`"},
        upper={**NUMBER_OR_NULL, "description": "upper end of the interval, in `unit`"},
        unit={**TEXT_OR_NULL, "description": "the row's own, or that of the metric"},
        basis=schemas.components("response")["Prediction"]["properties"]["basis"],
        model={**TEXT_OR_NULL, "description": "what says so"},
        results_used=whole("how many measured results it rests on"),
        extrapolation={**NUMBER_OR_NULL, "description": "doublings beyond the measured sizes"},
    )


def _row(description: str, **further: Schema) -> Schema:
    """A row of a table that was sent, with further columns."""
    counts = (*Layout.model_fields, *NUMBERS, *FLAGS)
    columns = schemas.components("points")["points"]["properties"]
    sent = {name: column if name in counts else {**column, **TEXT_OR_NULL} for name, column in columns.items() if name != "params"}
    return {
        "type": "object",
        "additionalProperties": TEXT_OR_NULL,
        "description": description,
        "required": list(further),
        "properties": {**sent, **further},
    }


def _calibration() -> Schema:
    row = _row("the row as it was sent; null: an empty cell", value={"type": "null", "description": "to be measured and filled in"})
    return object_of(rows=list_of(row, "in the order in which to measure them"), notes=list_of(TEXT, "what else to know"))


def _proposals() -> Schema:
    likely = _choice(
        probability=number("to be the best layout, not that its time is right"),
        nodes=list_of(INTEGER, "5% and 95% quantiles of the nodes that are then best"),
    )
    run = _choice(
        interval_before=Maybe(number("of the decision, before this run, as a factor; left out where nothing is predicted")),
        interval_after=Maybe(number("of the decision, expected after it")),
        narrower=Maybe(number("the part of today's interval that it takes away")),
        narrower_per_node_hour=Maybe(number("the same for a node-hour")),
        texts=Maybe(_TEXTS),
    )
    return object_of(
        likely=list_of(likely, "what may be the right choice, the most probable first"),
        interval={**NUMBER_OR_NULL, "description": "of the decision today, a factor either way; null: nothing is predicted"},
        runs=list_of(run, "in the order in which to measure them; their node-hours count the start of the job"),
        node_hours=number("of all runs together"),
        notes=list_of(TEXT, "what else to know"),
        warnings=_NOTICES,
    )


def _choice(**further: Schema | Maybe) -> Schema:
    """A choice with further fields."""
    choice, more = schemas.components("response")["Choice"], object_of(**further)
    joined = {"required": [*choice["required"], *more["required"]], "properties": {**choice["properties"], **more["properties"]}}
    return {"type": "object", "additionalProperties": False, **joined}


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


def _columns() -> dict[str, Schema]:
    """The columns of the results table that are values: without their ``null``, because what is empty is left out."""
    sent = schemas.components("result")["result"]["properties"]
    return {name: _without_null(column) for name, column in sent.items() if name != "params"}


def _without_null(column: Schema) -> Schema:
    if "enum" in column:
        return {**column, "enum": [word for word in column["enum"] if word is not None]}
    kinds = column["type"] if isinstance(column["type"], list) else [column["type"]]
    return {**column, "type": next(kind for kind in kinds if kind != "null")}


_TWO: Final = {"minItems": 2, "maxItems": 2}
_COMPARED: Final = object_of(
    equal=by_name({}, "the columns that both have in common"),
    one=text("the value that the other is compared with"),
    other=text("the other value"),
    medians=list_of(NUMBER, "of the one and of the other, in base units") | _TWO,
    counts=list_of(INTEGER, "runs of the one and of the other") | _TWO,
    ratio=number("the other's median divided by the one's"),
    better={**TEXT_OR_NULL, "description": "the better value; null: the medians are equal"},
    beyond_noise={"type": ["boolean", "null"], "description": "whether repeats scatter less (95%); null: nothing was repeated"},
)
_SHIFT: Final = object_of(
    system=text("on which runs take longer, or less"),
    application=Maybe(text("whose runs do; left out: all")),
    since=text("the day", format="date"),
    ratio=number("of what runs take since then to what they took before"),
    low=number("lower end of its interval (95%)"),
    high=number("upper end"),
    sure=boolean("whether that lasts; false: so few days may have been busy ones"),
    configurations=whole("that ran before and since"),
    days_before=whole("on which they ran"),
    days_since=whole("on which they ran"),
    message=text("all of it in words"),
)
COMPARISON: Final = object_of(
    column=text("in which they differ"),
    pairs=Maybe(list_of(_COMPARED, "each value with the first")),
    shifts=Maybe(list_of(_SHIFT, "in place of pairs, for `measured_at` without a date")),
)
_ERRORS: Final = object_of(
    "absolute, relative to the measured cost, as fractions of 1",
    count=whole("predictions"),
    median=number("of them"),
    p90=number("90% quantile"),
    off_by_double=number("the fraction with an error above 1"),
    non_positive=number("the fraction that predicts no positive cost"),
)
_COVERAGE: Final = object_of(
    overall=number("the fraction of measurements inside their intervals"),
    by_collection=by_name(NUMBER, "the same by application"),
    median_width=number("upper end divided by value"),
)
_BIN: Final = object_of(
    "of predictions that are so far beyond what is shown",
    name=text("how far"),
    count=whole("predictions"),
    median_width=number("upper end divided by value"),
    coverage=number("the fraction inside their intervals"),
    median_error=number("as a fraction of 1"),
)
_ACCURACY: Final = object_of(
    name=text("of the model"),
    errors=_ERRORS,
    decisions={**NUMBER_OR_NULL, "description": "how often the largest size with 75% efficiency is found; null: not asked"},
    coverage={"anyOf": [_COVERAGE, {"type": "null"}], "description": "of its intervals; null: it has none"},
    bins=list_of(_BIN, "by doublings beyond the shown sizes"),
)
EVALUATION: Final = object_of(
    holdout=text("what was hidden"),
    level=number("probability that an interval holds the next run's value"),
    series=whole("curves that were predicted"),
    left_out=whole("curves that were not: too few sizes, or no trend over the problem size"),
    predictions=whole("hidden sizes"),
    far=whole("predictions that are guesses, more than four doublings beyond what is shown"),
    models=list_of(_ACCURACY, "MODAK's first"),
    notes=list_of(TEXT, "what else to know"),
)
_LINE: Final = object_of(
    label=text("tells it from the others"),
    metric=text("what is measured"),
    unit=text("of all values"),
    better=one_of("which values are", "lower", "higher"),
    scale=one_of("what sizes count", "nodes", "ranks", "gpus", "threads"),
    measured_x=list_of(NUMBER, "measured sizes"),
    measured_y=list_of(NUMBER, "and their values"),
    stopped_x=list_of(NUMBER, "sizes at which runs were stopped, and none has ended"),
    stopped_y=list_of(NUMBER, "after how many seconds the longest of them was"),
    x=list_of(NUMBER, "sizes of the lines"),
    y=list_of(NUMBER, "the model there"),
    lower=list_of(NUMBER, "lower end of its interval"),
    upper=list_of(NUMBER, "upper end"),
    perfect=list_of(NUMBER, "perfect scaling from the smallest measured size"),
    shifted={
        **TEXT_OR_NULL,
        "description": "what runs take since a day, to which values from before are scaled (`perhaps`: half-way); null: they are not",
    },
)
LINES: Final = object_of(
    title=text("applications and systems"),
    level=number("probability that the intervals hold the next run's value"),
    curves=whole("how many the picture would have in all"),
    lines=list_of(_LINE, "the first of them"),
    notes=list_of(TEXT, "what is left out"),
)
_OUTCOME: Final = object_of(
    job=text("the number of the job; of a job array also that of the task"),
    plan=text("the plan whose script it ran"),
    application=text("what ran"),
    system={**TEXT_OR_NULL, "description": "where"},
    nodes={"type": ["integer", "null"], "minimum": 1, "description": "that it ran on; null: its result does not say"},
    seconds=number("that it took, or after which it was stopped"),
    stopped=boolean("it was stopped before its end, after it had taken longer than predicted"),
    predicted=number("seconds"),
    lower=number("lower end of the prediction's interval, in seconds"),
    upper=number("upper end of the prediction's interval, in seconds"),
    level=number("probability that the interval holds the time"),
    outcome=one_of("the time beside the interval", "within", "longer", "shorter"),
)
OUTCOMES: Final = object_of(
    items=list_of(_OUTCOME, "the newest first"),
    jobs=whole("how many jobs are counted"),
    within=whole("how many took a time within the interval"),
    longer=whole("how many took longer than its upper end"),
    shorter=whole("how many took less than its lower end"),
    median_error={
        **NUMBER_OR_NULL,
        "description": "half of the predictions of jobs that ended are off by no more than this fraction of their time; null: none ended",
    },
)
_PAIR: Final = list_of(INTEGER, "GPUs per node, threads per rank")
_START_UP: Final = object_of(
    seconds=number("median of the runs"),
    deviation=number("standard, of the runs"),
    runs=whole("how many"),
    error=number("standard, of the seconds, if these follow from whole runs; 0: they were measured"),
)
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
    start_up=Maybe({**_START_UP, "description": "of its runs, which costs do not include; absent: unknown"}),
    included=Maybe({**_START_UP, "description": "of its runs, which costs of whole runs include; absent: unknown"}),
    unsure=number("relative standard error of its costs"),
    shifted=Maybe(
        object_of(
            "to which its earlier results are scaled",
            since=text("the day since when runs take longer, or less"),
            ratio=number("of what they take since then to what they took before"),
            sure=boolean("whether that lasts; false: they are scaled half-way to it"),
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
