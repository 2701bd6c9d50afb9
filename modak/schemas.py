"""JSON Schemas (2020-12) of all documents: for editors, for clients, for the OpenAPI document.

``schema("request")`` describes requests in their documented spellings: what it accepts, ``--strict`` accepts. The other kinds are
generated from the models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, get_args

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import DictSchema

from modak import dsl, facts, plugins
from modak.errors import UnknownName
from modak.recipes.plan import Recipe
from modak.sizing.answer import Sizing
from modak.text.documents import SCHEMA_KEY

Schema = dict[str, Any]
Made = tuple[Schema, dict[str, Schema]]
"""The schema of a document, and those of its parts by name."""
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
LOCAL: Final = "#/$defs/{model}"
OPENAPI: Final = "#/components/schemas/{model}"


def schema(kind: str) -> Schema:
    """The schema of ``request``, ``response``, ``result``, ``points``, ``system``, ``processor``, ``accelerator``, ``image``, ``rule``
    or ``sizing``, complete in itself.

    Raises :class:`modak.errors.UnknownName` for another kind.
    """
    if kind not in KINDS:
        raise UnknownName("schema", kind, (*KINDS, "openapi"), field="kind")  # the service generates the latter
    main, parts = KINDS[kind](LOCAL)
    if kind in _WRITTEN_BY_USERS:
        main["properties"][SCHEMA_KEY] = {"type": "string", "description": "where an editor finds this schema; has no effect"}
    return {"$schema": DIALECT, **main, "title": f"MODAK {kind}", **({"$defs": parts} if parts else {})}


_WRITTEN_BY_USERS: Final = ("request", "system", "image", "rule")


def components(*kinds: str) -> dict[str, Schema]:
    """The same schemas as parts of an OpenAPI document, by name: the kinds, and the models that they refer to."""
    found: dict[str, Schema] = {}
    for kind in kinds:
        main, parts = KINDS[kind](OPENAPI)
        found |= {COMPONENTS.get(kind, kind): main, **parts}
    return found


COMPONENTS: Final[Mapping[str, str]] = {"request": "request_document", "response": "response_document"}
"""Other names of kinds there: HTTP client libraries have classes called Request and Response."""


_YEAR_S: Final = 365 * 86_400
_SECONDS: Final[Schema] = {  # what is said of one type does not concern the other, and editors tell what is wrong with either
    "type": ["string", "integer"],
    "pattern": r"^([0-9]{1,4}-)?[0-9]{1,5}:[0-5]?[0-9](:[0-5]?[0-9])?$",
    "minimum": 60,
    "maximum": _YEAR_S,
}
_SPAN: Final = "[d-]hh:mm:ss, hh:mm or seconds"
_SIZE: Final[Schema] = {
    "type": "string",
    # bytes need seven digits, because less than 1 MB is refused; without any unit they are a warning
    "pattern": r"^([0-9]{1,16}(\.[0-9]{1,6})?\s*[kKmMgGtTpP][iI]?[bB]?|[0-9]{7,16}(\.[0-9]{1,6})?\s*[bB])$",
    "description": "10 GB, 10G, 512MiB, 64000000 B",
}
_MODELS: Final = list(dsl.Config.allowed("parallelisation"))
_TEXTS: Final[Schema] = {"type": ["string", "array"], "items": {"type": "string"}}


def _words(what: str) -> Schema:
    return {**_TEXTS, "description": f"{what}: a command line as text (${{NAME}} is its one expansion), or a list of literal words"}


_AS_WRITTEN: Final[Mapping[str, Schema]] = {
    "wall_time_limit": {**_SECONDS, "description": f"{_SPAN}; not given: from the prediction, within the limit of the partition"},
    "deadline": {**_SECONDS, "description": f"the whole workload is done by then: {_SPAN}"},
    "size_bytes": {**_SIZE, "type": ["string", "number"], "exclusiveMinimum": 0, "description": "to read: a size, or bytes as a number"},
    "memory_limit": {**_SIZE, "title": "Memory per node"},
    "minimum_memory_per_processor": {**_SIZE, "title": "Memory per core"},
    "copy_environment_variable": {**_TEXTS, "description": "names of variables: a list, or text with commas"},
    "request_event_notification": {**_TEXTS, "description": f"Torque's letters (abe, n) or {', '.join(get_args(dsl.Event))}, all"},
    "parallelisation": {
        "anyOf": [
            {"enum": _MODELS},
            {"type": "array", "items": {"enum": _MODELS}},
            {
                "type": "string",
                "pattern": rf"^[\[\]\s,'\x22]*(({'|'.join(_MODELS)})([\[\]\s,'\x22]+|$))*$",
                "description": "several: [mpi, openmp]",
            },
        ],
        "description": "programming models: one, or a list",
    },
    "tuner": {"enum": ["cresta", "autotune"], "description": "the tuner"},
    "executable": _words("the program"),
    "arguments": _words("its arguments"),
    "pre_execution": _words("runs before the program"),
    "post_execution": _words("runs after the program"),
    "checkpoint": _words("runs when the signal before the time limit comes"),
    "metric_file": {
        "type": "string",
        "description": "the file that workload.metric is read from in place of the output, as the host sees it; ${NAME} may stand in it",
    },
    "from": {"type": "string", "description": "a path; ${NAME} may stand in one outside of the job's own directory"},
    "to": {"type": "string", "description": "a path; ${NAME} may stand in one outside of the job's own directory"},
}
"""Fields whose documented spelling differs from the canonical value."""
_PARAMETER: Final[Schema] = {"anyOf": [{"type": ["number", "boolean", "null"]}, {"type": "string", "maxLength": 500}]}
_HYPHENED: Final = ("pre_execution", "post_execution")


def _request(refs: str) -> Made:
    """The request document, both ways of writing the chosen section, with the options of every framework plug-in."""
    main, models = of_model(dsl.Request, refs)
    parts = {name: _as_written(name, part) for name, part in {**models, "Job": main}.items() if name not in _CANONICAL_MODELS}
    parts["Optimisation"] = _with_chosen_section(parts["Optimisation"], refs)
    parts["Config"]["properties"]["ai_framework"] = {"enum": list(plugins.names("frameworks")), "description": "the framework"}
    parts["Job"] |= {"title": "Job", "description": "Every section, and every field of one, may be left out or null."}
    for variant in plugins.all_of("frameworks"):
        options, more = of_model(variant.options, refs)
        parts |= {variant.options.__name__: _described(options), **more}
    parts |= {f"Section_{kind}": _section(allowed, refs) for kind, allowed in _KINDS_OF_APPLICATION.items()}
    told = {refs.format(model=name): part["description"] for name, part in parts.items() if "description" in part}
    job = _explained({"$ref": refs.format(model="Job")}, told)
    top = {"type": "object", "required": ["job"], "additionalProperties": False, "properties": {"job": job}, "examples": [_EXAMPLE]}
    return top, {name: _nullable(part, told) for name, part in parts.items()}


_EXAMPLE: Final[Schema] = {
    "job": {
        "job_options": {"account": "pr12ab"},
        "application": {
            "app_tag": "solver",
            "app_type": "mpi",
            "container_runtime": "docker://registry.example.org/solver:1.4",
            "executable": "./solver",
            "arguments": "mesh.h5",
        },
        "target": {"name": "supermuc-ng"},
        "optimisation": {
            "workload": {"dataset": "mesh-8m", "steps": 2000, "compiler": "gcc-12", "memory_per_rank_gb": 1.5},
            "objective": {"minimise": "node_hours", "deadline": "02:00:00", "max_nodes": 64},
        },
    }
}
"""What most requests have; MODAK chooses the nodes, ranks and threads that none of them gives."""
_CANONICAL_MODELS: Final = ("FrameworkOptions", "Variable", "Joined")
"""Models that no user writes: what sections and words are read into."""
_CANONICAL_FIELDS: Final = ("framework", "options", "further", "written", "config", "data")
"""The same of the fields of ``optimisation``: the chosen section becomes these."""


def _with_chosen_section(optimisation: Schema, refs: str) -> Schema:
    """``optimisation`` with a section for each kind of application, under its name or the published longer one."""
    own = {name: field for name, field in optimisation["properties"].items() if name not in _CANONICAL_FIELDS}
    chosen = {kind: {"$ref": refs.format(model=f"Section_{kind}")} for kind in _KINDS_OF_APPLICATION}
    longer = {f"app_type-{kind}": section for kind, section in chosen.items()}
    return {**optimisation, "properties": {**own, **chosen, **longer}}


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
    described = "what the application is: its framework's options under the name of the framework, its configuration and its data"
    return {"type": "object", "description": described, "additionalProperties": False, "properties": properties}


def _as_written(model: str, part: Schema) -> Schema:
    """A model's schema with the fields as users write them."""
    properties = {name: {**_AS_WRITTEN.get(name, field)} for name, field in part.get("properties", {}).items()}
    properties |= {name: write(properties[name]) for (of, name), write in _WRITTEN_OTHERWISE.items() if of == model}
    properties |= {name.replace("_", "-"): properties[name] for name in _HYPHENED if name in properties}
    return {**part, "properties": properties} if properties else part


def _plugin(kind: str, field: Schema) -> Schema:
    """A field that names a plug-in of that kind."""
    return {"enum": list(plugins.names(kind)), "description": field["description"]}


def _signal(field: Schema) -> Schema:
    """Also as text: ``B:USR1@120``."""
    pattern = rf"^(B:)?(SIG)?({'|'.join(get_args(dsl.SignalName))})(@[0-9]{{2,5}})?$"
    return {**field, "anyOf": [*field["anyOf"], {"type": "string", "pattern": pattern, "description": "USR1@120"}]}


def _site_resources(field: Schema) -> Schema:
    """Also as text with commas."""
    as_list = {name: value for name, value in field.items() if name != "description"}
    as_text = {"type": "string", "description": "with commas: matlab=2,scratch=1"}
    return {"anyOf": [as_list, as_text], "description": field["description"]}


_WRITTEN_OTHERWISE: Final[Mapping[tuple[str, str], Callable[[Schema], Schema]]] = {
    ("JobOptions", "signal"): _signal,
    ("JobOptions", "site_resources"): _site_resources,
    ("Workload", "batch_size"): lambda field: {**field, "anyOf": [*field["anyOf"], {"const": "auto"}]},
    ("Workload", "params"): lambda field: {**field, "additionalProperties": _PARAMETER},
    ("Target", "job_scheduler_type"): partial(_plugin, "schedulers"),
    ("Target", "container_runtime"): partial(_plugin, "runtimes"),
}
"""Fields of one model whose documented spelling follows from that of its canonical value."""


def _nullable(part: Schema, told: Mapping[str, str]) -> Schema:
    """A model's schema that accepts ``null`` for optional fields, without defaults that are objects; ``told`` as for :func:`_explained`."""
    required = part.get("required", ())
    fields = {name: _explained(field, told) for name, field in part.get("properties", {}).items()}
    properties = {name: field if name in required else _or_null(field) for name, field in fields.items()}
    return {**part, "properties": properties} if fields else part


def _explained(field: Schema, told: Mapping[str, str]) -> Schema:
    """A field that refers to a model, with the model's description, of those by reference: editors offer keys with that of the field."""
    found = (told[way["$ref"]] for way in field.get("anyOf", [field]) if way.get("$ref") in told)
    described = field.get("description") or next(found, None)
    return {**field, "description": described} if described else field


def _or_null(field: Schema) -> Schema:
    kept: Schema = {name: field[name] for name in ("title", "description") if name in field}
    # generators of clients take a field that has a default as one that is always there
    if field.get("default") not in (None, []) and not isinstance(field["default"], dict):
        kept["default"] = field["default"]
    value = {name: inner for name, inner in field.items() if name not in ("title", "description", "default")}
    ways = [way for way in (value["anyOf"] if value.keys() == {"anyOf"} else [value]) if way != _NULL]
    if len(ways) == 1 and ways[0].keys() & {"type", "enum"} and "const" not in ways[0]:
        # editors then know what to write after the key
        kind = ways[0].get("type", [])
        kinds = {"type": [*([kind] if isinstance(kind, str) else kind), "null"]} if kind else {}
        words = {"enum": [*ways[0]["enum"], None]} if "enum" in ways[0] else {}
        return {**ways[0], **kinds, **words, **kept}
    return {"anyOf": [*ways, _NULL], **kept}


_NULL: Final[Schema] = {"type": "null"}


AS_SENT: Final[Schema] = {"additionalProperties": True}
"""For objects that keep what was sent: without the words, types of generated clients drop keys that they do not know."""
_SECTION_AS_SENT: Final[Schema] = {"anyOf": [{"type": "object", **AS_SENT}, {"type": "string", "description": "the text of one"}, _NULL]}


def _count(what: str) -> Schema:
    return {"type": "integer", "minimum": 1, "description": what}


_FILLED: Final[Mapping[str, tuple[str, Mapping[str, Schema]]]] = {
    "job_options": (
        "JobOptions",
        {
            "node_count": _count("nodes"),
            "process_count_per_node": _count("ranks per node"),
            "request_gpus": {
                "anyOf": [{"type": ["integer", "null"]}, {"type": "string", "description": "as sent"}],
                "description": "GPUs per node, a whole number, where any are used; else as sent",
            },
        },
    ),
    "application": (
        "Application",
        {
            "mpi_ranks": _count("ranks in total"),
            "threads": _count("OpenMP threads per rank"),
            "container_runtime": {
                "anyOf": [{"type": ["string", "null"]}, {"type": "number", "description": "as sent"}],
                "description": "the image's reference as text, where it runs in one; else as sent",
            },
        },
    ),
}
"""Sections that the answer fills in: the name of their schema, and the fields."""
_TEXTS_OF_PLAN: Final[Mapping[str, str]] = {
    "job_content": "text of the job script",
    "job_script": "where the job script is: an address to download it from, a file's path under `-o`",
    "build_content": "text of the job that builds the image; left out where nothing is built",
    "build_script": "where that is",
}


_OPTIONS: Final[Mapping[str, str]] = {
    "distribution": "how several processes train together",
    "xla": "the compiler XLA: on, off, or what results say",
    "ngraph": "the compiler nGraph, likewise",
    "inductor": "torch.compile with Inductor: on, off, or what results say",
    "glow": "the compiler Glow, likewise",
    "jit": "TorchScript, likewise",
    "backend": "what Keras runs on",
    "fork": "whose Caffe",
    "framework": "what Horovod distributes",
    "framework_version": "its version, as `version` of a framework",
    "library": "the MPI library",
    "compiler": "its name",
}
"""Descriptions of options that several frameworks have, for frameworks that do not describe them themselves."""


def _described(options: Schema) -> Schema:
    properties = {
        name: {"description": _OPTIONS[name], **field} if name in _OPTIONS else field for name, field in options["properties"].items()
    }
    return {**options, "properties": properties}


def _response(refs: str) -> Made:
    """The request stays as the caller wrote it, in any spelling: only what is filled in can be described."""
    plan, more = of_model(dsl.Plan, refs)
    image, labels = of_model(facts.Image, refs)
    recipe, _ = of_model(Recipe, refs)
    written = {"file": {"type": "string", "description": "name of its file"}, "content": {"type": "string", "description": "its text"}}
    more |= labels | {
        "PlanImage": image | {"title": "PlanImage", "required": ["reference", "source"]},  # nobody labelled the image that a request names
        "Recipe": recipe | {"properties": recipe["properties"] | written},
    }
    for field, name in (("image", "PlanImage"), ("recipe", "Recipe")):
        plan["properties"][field]["anyOf"] = [{"$ref": refs.format(model=name)}, _NULL]
    parts = {f"Filled{name}": _filled_section(fields) for name, fields in _FILLED.values()}
    sections = {section: {"$ref": refs.format(model=f"Filled{name}")} for section, (name, _) in _FILLED.items()}
    sections |= {section: {**_SECTION_AS_SENT, "description": "as sent"} for section in ("target", "optimisation")}
    texts = {name: {"type": "string", "description": what} for name, what in _TEXTS_OF_PLAN.items()}
    job = {
        "type": "object",
        "title": "FilledJob",
        "required": [*_FILLED, "job_content", "plan"],
        **AS_SENT,
        "properties": {**sections, **texts, "plan": {"$ref": refs.format(model="Plan")}},
    }
    top = {"type": "object", "required": ["job"], **AS_SENT, "properties": {"job": {"$ref": refs.format(model="FilledJob")}}}
    return top, {**parts, "FilledJob": job, "Plan": plan, **more}


def _filled_section(fields: Mapping[str, Schema]) -> Schema:
    always = [name for name, field in fields.items() if "type" in field]
    return {"type": "object", "description": "as sent, and what was decided", "required": always, **AS_SENT, "properties": dict(fields)}


def of_model(model: type[BaseModel], refs: str) -> Made:
    """A model's schema and those of the models in it; ``refs`` is the template of references."""
    main = model.model_json_schema(ref_template=refs, schema_generator=_Generated)
    return main, main.pop("$defs", {})


class _Generated(GenerateJsonSchema):
    """Objects with any keys of a grammar, without ``patternProperties``: generators of clients pass over these, and the values are lost."""

    def dict_schema(self, schema: DictSchema) -> JsonSchemaValue:
        """The same, with the grammar in ``propertyNames``."""
        found = super().dict_schema(schema)
        for pattern, values in found.pop("patternProperties", {}).items():
            found |= {"additionalProperties": values, "propertyNames": {**found.get("propertyNames", {}), "pattern": pattern}}
        return found


def _record(required: tuple[str, ...], refs: str) -> Made:
    """A row of a results table as a JSON record; ``params`` may also be an object. It has no parts, so ``refs`` is not used."""
    from modak.facts.results import FLAGS
    from modak.ingest.columns import COLUMNS  # numpy is not needed for other kinds
    from modak.ingest.totals import TOTALS
    from modak.ingest.values import WHOLE
    from modak.results.filters import PARAMETERS

    text, flag, count = {"type": ["string", "null"]}, {"type": ["boolean", "null"]}, {"type": ["integer", "null"], "minimum": 0}
    kinds: dict[str, Schema] = {
        "value": {"type": ["number", "null"], "exclusiveMinimum": 0},
        **dict.fromkeys(FLAGS, flag),
        "mpi_from": {"enum": ["host", "container", None]},
        **dict.fromkeys((*WHOLE, *TOTALS), count),
    }
    totals = {total: f"over all nodes; fills {column}" for total, column in TOTALS.items()}
    properties = {name: {**kinds.get(name, text), "description": meaning} for name, meaning in {**COLUMNS, **totals}.items()}
    properties["params"] = {
        "type": "object",
        "additionalProperties": {"type": ["string", "number", "boolean", "null"]},
        "description": "further parameters by name; also written as params.NAME each",
    }
    for name in set(required) - {"value"}:  # a row without a value is left out
        properties[name]["type"], _ = properties[name]["type"]  # not null
    return {
        "type": "object",
        "required": list(required),
        "additionalProperties": False,
        "properties": properties,
        "patternProperties": {f"^{PARAMETERS.pattern}$": {"type": ["string", "number", "boolean", "null"]}},
    }, {}


KINDS: Final[Mapping[str, Callable[[str], Made]]] = {
    "request": _request,
    "response": _response,
    "result": partial(_record, ("application", "metric", "value")),
    "points": partial(_record, ("application", "metric")),
    "system": partial(of_model, facts.System),
    "processor": partial(of_model, facts.Processor),
    "accelerator": partial(of_model, facts.Accelerator),
    "image": partial(of_model, facts.Image),
    "rule": partial(of_model, facts.Rule),
    "sizing": partial(of_model, Sizing),
}
