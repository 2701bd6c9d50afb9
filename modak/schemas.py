"""JSON Schemas (2020-12) of everything that users write or read: for editors, for clients, for the OpenAPI document.

``schema("request")`` is the document as it is sent, in its documented spellings: what it accepts, ``--strict`` accepts.
The other kinds follow from the models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, get_args

from pydantic import BaseModel

from modak import dsl, facts, plugins
from modak.errors import UnknownName
from modak.sizing.answer import Sizing

Schema = dict[str, Any]
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
LOCAL: Final = "#/$defs/{model}"
OPENAPI: Final = "#/components/schemas/{model}"


def schema(kind: str) -> Schema:
    """The schema of ``request``, ``response``, ``result``, ``points``, ``system``, ``image``, ``rule`` or ``sizing``, complete in itself.

    Raises :class:`modak.errors.UnknownName` for another kind.
    """
    if kind not in KINDS:
        raise UnknownName("schema", kind, (*KINDS, "openapi"))  # which the service makes of its addresses
    main, parts = KINDS[kind](LOCAL)
    return {"$schema": DIALECT, **main, "title": f"MODAK {kind}", **({"$defs": parts} if parts else {})}


def components(*kinds: str) -> dict[str, Schema]:
    """The same schemas as parts of an OpenAPI document, by name: the kinds, and the models that they refer to."""
    found: dict[str, Schema] = {}
    for kind in kinds:
        main, parts = KINDS[kind](OPENAPI)
        found |= {kind: main, **parts}
    return found


def request_schema() -> Schema:
    """The request document, both ways of writing the chosen section, with the options of every framework plug-in."""
    return schema("request")


_SECONDS: Final[Schema] = {
    "anyOf": [
        {"type": "integer", "minimum": 60, "description": "seconds"},
        {"type": "string", "pattern": r"^([0-9]{1,4}-)?[0-9]{1,5}:[0-5]?[0-9](:[0-5]?[0-9])?$", "description": "[d-]hh:mm:ss or hh:mm"},
    ]
}
_SIZE: Final[Schema] = {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?\s*[kKmMgGtT]i?[bB]?$", "description": "10 GB, 10G, 512MiB"}
_TEXTS: Final[Schema] = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}


def _words(what: str) -> Schema:
    return {**_TEXTS, "description": f"{what}: a command line as text (${{NAME}} is its one expansion), or a list of literal words"}


_AS_WRITTEN: Final[Mapping[str, Schema]] = {
    "wall_time_limit": _SECONDS,
    "deadline": _SECONDS,
    "memory_limit": {**_SIZE, "title": "Memory per node"},
    "minimum_memory_per_processor": {**_SIZE, "title": "Memory per core"},
    "copy_environment_variable": {**_TEXTS, "description": "names of variables: a list, or text with commas"},
    "request_event_notification": {**_TEXTS, "description": f"Torque's letters (abe, n) or {', '.join(get_args(dsl.Event))}"},
    "parallelisation": {**_TEXTS, "description": "mpi, openmp, openacc, opencl: one, or a list"},
    "executable": _words("the program"),
    "arguments": _words("its arguments"),
    "pre_execution": _words("runs before the program"),
    "post_execution": _words("runs after the program"),
    "checkpoint": _words("runs when the signal before the time limit comes"),
    "from": {"type": "string", "description": "a path; ${NAME} may stand in one outside of the job's own directory"},
    "to": {"type": "string", "description": "a path; ${NAME} may stand in one outside of the job's own directory"},
}
"""Fields whose documented spelling differs from the canonical value."""
_HYPHENED: Final = ("pre_execution", "post_execution")


def _request(refs: str) -> tuple[Schema, dict[str, Schema]]:
    main, parts = _model(dsl.Request)(refs)
    parts = {name: _as_written(part) for name, part in parts.items()}
    optimisation = parts["Optimisation"]["properties"]
    for name in ("framework", "options", "further", "config", "data"):
        optimisation.pop(name)
    for name in ("FrameworkOptions", "Variable", "Joined"):
        parts.pop(name, None)
    for variant in plugins.all_of("frameworks"):
        options, more = _model(variant.options)(refs)
        parts |= {variant.options.__name__: options, **more}
    chosen = {kind: {"$ref": refs.format(model=f"Section_{kind}")} for kind in _KINDS_OF_APPLICATION}
    for kind, allowed in _KINDS_OF_APPLICATION.items():
        parts[f"Section_{kind}"] = _section(allowed, refs)
    optimisation |= chosen | {f"app_type-{kind}": section for kind, section in chosen.items()}
    parts["Config"]["properties"]["ai_framework"] = {"enum": list(plugins.names("frameworks"))}
    parts["JobOptions"]["properties"]["signal"]["anyOf"].append(
        {"type": "string", "pattern": r"^(B:)?(SIG)?[A-Z][A-Z0-9]{2,4}(@[0-9]{1,5})?$"}
    )
    parts["Job"] = main
    top = {"type": "object", "required": ["job"], "additionalProperties": False}
    return {**top, "properties": {"job": {"$ref": refs.format(model="Job")}}}, parts


_KINDS_OF_APPLICATION: Final[Mapping[str, tuple[str, ...]]] = {
    "ai_training": ("ai", "distribution"),
    "ai_inference": ("ai",),
    "hpc": ("parallel",),
    "big_data": ("ai", "parallel", "distribution"),
}


def _section(kinds: tuple[str, ...], refs: str) -> Schema:
    """The section for a kind of application: options of its frameworks under their name, or under the published longer key."""
    frameworks: dict[str, Schema] = {}
    for variant in plugins.all_of("frameworks"):
        if variant.kind in kinds:
            prefix = "parallelisation" if variant.kind == "parallel" else "ai_framework"
            options = {"$ref": refs.format(model=variant.options.__name__)}
            frameworks |= {variant.name: options, f"{prefix}-{variant.name}": options}
    properties = {"config": {"$ref": refs.format(model="Config")}, "data": {"$ref": refs.format(model="Data")}, **frameworks}
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _as_written(part: Schema) -> Schema:
    """A model's schema with the fields as users write them."""
    properties = {name: {**_AS_WRITTEN.get(name, field)} for name, field in part.get("properties", {}).items()}
    properties |= {name.replace("_", "-"): properties[name] for name in _HYPHENED if name in properties}
    return {**part, "properties": properties} if properties else part


def _response(refs: str) -> tuple[Schema, dict[str, Schema]]:
    main, parts = _request(refs)
    plan, more = _model(dsl.Plan)(refs)
    texts = {name: {"type": "string"} for name in ("job_content", "job_script", "build_content", "build_script")}
    job = parts["Job"]
    parts["Job"] = {**job, "properties": {**job["properties"], **texts, "plan": {"$ref": refs.format(model="Plan")}}}
    return main, {**parts, "Plan": plan, **more}


def _model(model: type[BaseModel]) -> Callable[[str], tuple[Schema, dict[str, Schema]]]:
    """A model's schema and those of the models below it, with references as the place where it stands wants them."""

    def made(refs: str) -> tuple[Schema, dict[str, Schema]]:
        main = model.model_json_schema(ref_template=refs)
        return main, main.pop("$defs", {})

    return made


def _record(required: tuple[str, ...]) -> Callable[[str], tuple[Schema, dict[str, Schema]]]:
    """A row of a results table as a JSON record; ``params`` may also be an object."""

    def made(refs: str) -> tuple[Schema, dict[str, Schema]]:
        from modak.ingest.columns import COLUMNS, NUMBERS, PARAMETER  # numpy is not needed for other kinds

        text, count = {"type": ["string", "null"]}, {"type": ["integer", "null"], "minimum": 0}
        kinds: dict[str, Schema] = {name: dict(count if name in (*NUMBERS, "numa_mode") else text) for name in COLUMNS}
        kinds |= {
            "value": {"type": ["number", "null"], "exclusiveMinimum": 0},
            "hyperthreads": {"type": ["boolean", "null"]},
            "mpi_from": {"enum": ["host", "container", None]},
            "params": {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean", "null"]}},
        }
        pattern = f"^{PARAMETER.pattern}$"
        return {
            "type": "object",
            "required": list(required),
            "additionalProperties": False,
            "properties": kinds | {name: {**kinds[name], "type": _without_null(kinds[name]["type"])} for name in required},
            "patternProperties": {pattern: {"type": ["string", "number", "boolean", "null"]}},
        }, {}

    return made


def _without_null(types: list[str]) -> str:
    return next(name for name in types if name != "null")


KINDS: Final[Mapping[str, Callable[[str], tuple[Schema, dict[str, Schema]]]]] = {
    "request": _request,
    "response": _response,
    "result": _record(("application", "metric", "value")),
    "points": _record(("application", "metric")),
    "system": _model(facts.System),
    "image": _model(facts.Image),
    "rule": _model(facts.Rule),
    "sizing": _model(Sizing),
}
