"""JSON Schemas are complete, and say the same as the readers and models."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from modak import dsl, plugins
from modak.errors import DataError, RequestError, UnknownName
from modak.facts import Image, Rule
from modak.ingest.reading import table
from modak.ingest.sources import from_bytes
from modak.knowledge import from_document, read_all, read_array, read_system
from modak.normalise import normalise
from modak.schemas import COMPONENTS, KINDS, OPENAPI, components, schema
from modak.service import open_service
from modak.settings import Settings
from tests.conftest import ROOT


def references(part: Any) -> Iterator[str]:
    """Every reference in a schema."""
    if isinstance(part, dict):
        yield from ([part["$ref"]] if "$ref" in part else [])
        for inner in part.values():
            yield from references(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from references(inner)


def resolved(part: dict[str, Any], whole: dict[str, Any]) -> dict[str, Any]:
    """What a reference, or the first of several possibilities, leads to."""
    while "$ref" in part or "anyOf" in part:
        part = whole["$defs"][part["$ref"].rsplit("/", 1)[1]] if "$ref" in part else part["anyOf"][0]
    return part


def unknown(document: Any, part: dict[str, Any], whole: dict[str, Any], path: str = "") -> Iterator[str]:
    """Keys of a document that the schema does not know."""
    here = resolved(part, whole)
    if isinstance(document, dict) and "properties" in here:
        for key, value in document.items():
            if key in here["properties"]:
                yield from unknown(value, here["properties"][key], whole, f"{path}.{key}")
            elif not any(re.search(pattern, key) for pattern in here.get("patternProperties", {})):
                yield f"{path}.{key}"


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_is_complete_in_itself(kind: str) -> None:
    """Plain JSON, with every reference to be found in it; closed, but for a response, which keeps what the caller wrote."""
    found = schema(kind)
    assert json.loads(json.dumps(found)) == found
    assert found["title"] == f"MODAK {kind}"
    assert found.get("additionalProperties", True) is (kind == "response")
    assert {name.removeprefix("#/$defs/") for name in references(found)} <= set(found.get("$defs", {}))


@pytest.mark.parametrize("kind", KINDS)
def test_patterns_are_those_of_javascript(kind: str) -> None:
    """Validators that read patterns as Unicode ones (Ajv does) refuse the whole schema for an escape without a meaning, and ``(?P<…>``."""
    written = re.findall(r'"pattern": ("(?:[^"\\]|\\.)*")', json.dumps(schema(kind)))
    known = re.compile(r"(?:[^\\]|\\(?:[wWsSdDbB^$\\.*+?()\[\]{}|/]|x[0-9a-f]{2}))*")
    assert [pattern for pattern in map(json.loads, written) if not known.fullmatch(pattern) or re.search(r"\(\?[^:=!]", pattern)] == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_schema_serves_openapi(kind: str) -> None:
    """Its parts refer to each other as components."""
    found = components(kind)
    assert COMPONENTS.get(kind, kind) in found
    assert {name.removeprefix(OPENAPI.format(model="")) for name in references(found)} <= set(found)


@pytest.mark.parametrize(
    "path", [*sorted((ROOT / "examples").glob("*.json")), ROOT / "tests/requests/all-job-options.json"], ids=lambda p: p.stem
)
def test_our_requests_are_in_the_schema(path: Path) -> None:
    """Every key of the examples, and of the request with all job options, is known to the schema."""
    found = schema("request")
    assert list(unknown(json.loads(path.read_text()), found, found)) == []


def test_every_framework_and_its_options_are_in_the_request() -> None:
    """In both ways of writing the chosen section."""
    found = schema("request")
    optimisation = found["$defs"]["Optimisation"]["properties"]
    for variant in plugins.all_of("frameworks"):
        kind, prefix = ("hpc", "parallelisation") if variant.kind == "parallel" else ("ai_training", "ai_framework")
        for section in (kind, f"app_type-{kind}"):
            sections = resolved(optimisation[section], found)["properties"]
            assert sections[variant.name] == sections[f"{prefix}-{variant.name}"]
            assert set(variant.options.model_fields) <= set(resolved(sections[variant.name], found)["properties"])


def test_a_response_has_the_sections_the_texts_and_the_plan() -> None:
    """What was sent may stand there in any spelling, so the sections are open."""
    found = schema("response")
    job = found["$defs"]["FilledJob"]["properties"]
    texts = {"job_content", "job_script", "build_content", "build_script"}
    assert set(job) == {"job_options", "application", "target", "optimisation", "plan"} | texts
    assert set(resolved(job["plan"], found)["properties"]) == set(dsl.Plan.model_fields)


@pytest.mark.parametrize(
    "cells",
    [
        *({}, {"value": 0}, {"value": None}, {"nodes": 2}, {"nodes": 1.5}, {"nodes": -1}, {"nodes": None}, {"hyperthreads": True}),
        *({"hyperthreads": "perhaps"}, {"mpi_from": "host"}, {"mpi_from": "elsewhere"}, {"mpi_from": None}, {"metric": None}),
        *({"params": {"n": 3, "m": "x", "on": True, "o": None}}, {"params": {"n": [3]}}, {"params": "n=3"}, {"params.n": 3}),
        *({"params.n": [3]}, {"colour": "blue"}, {"system": None}, {"compiler": ["gcc"]}),
    ],
)
def test_a_record_is_in_the_schema_if_it_can_be_loaded(cells: dict[str, Any]) -> None:
    """What one refuses, the other does; one without a value is left out beside others."""
    sound = {"application": "a", "metric": "wall_time", "value": 1.5}
    record = {**sound, **cells}
    try:
        list(table(from_bytes(json.dumps([record, sound]).encode(), "r.json")).batches())
        loads = True
    except DataError:
        loads = False
    assert jsonschema_rs.is_valid(schema("result"), record) is loads


def test_an_answer_without_its_plan_or_script_is_not_in_the_schema(own_database: Path, document: dict[str, Any]) -> None:
    """A whole one is, with an image, with a recipe for one and with neither; the sections that were sent may hold anything."""
    response = jsonschema_rs.validator_for(schema("response"))
    with open_service(Settings(database_url=f"sqlite:///{own_database}")) as service:
        answered = service.optimise(document)
    job, plan = answered["job"], answered["job"]["plan"]
    kinds = ({"image": None}, {"image": "private://lrz/x:1"}, {"image": {"reference": "x"}})
    assert [response.is_valid({"job": {**job, "plan": {**plan, **kind}}}) for kind in ({}, *kinds)] == [True, True, False, False]
    assert [response.is_valid({"job": {key: job[key] for key in job if key != left}}) for left in ("plan", "job_content")] == [False, False]
    without = {key: value for key, value in job["job_options"].items() if key != "node_count"}
    assert not any(response.is_valid({"job": {**job, "job_options": sent}}) for sent in (without, {**without, "node_count": "two"}))


def test_an_unknown_kind_names_the_known_ones() -> None:
    """As any unknown name."""
    with pytest.raises(UnknownName, match="did you mean 'request'"):
        schema("requests")


def read_strictly(path: Path) -> list[dict[str, Any]]:
    """The request of a file without what an answer adds, where it is read without a warning."""
    job = json.loads(path.read_text()).get("job", {})
    document = {"job": {name: section for name, section in job.items() if name in dsl.Request.model_fields}}
    try:
        normalise(document, strict=True)
    except RequestError:
        return []
    return [document]


@pytest.mark.parametrize("folder", ["examples", "tests/requests"])
def test_an_editor_accepts_what_strict_reading_accepts(folder: str) -> None:
    """Nulls, sizes as text, durations: what is read without a warning is valid in the schema."""
    checked = jsonschema_rs.validator_for(schema("request"))
    documents = [document for path in sorted((ROOT / folder).glob("*.json")) for document in read_strictly(path)]
    assert len(documents) > 10
    assert [error.message for document in documents for error in checked.iter_errors(document)] == []


def test_the_schema_of_requests_has_an_example() -> None:
    """From which a caller who has no other can start: it is read without a warning."""
    (document,) = schema("request")["examples"]
    assert jsonschema_rs.validator_for(schema("request")).is_valid(document)
    assert normalise(document, strict=True).request.target.name == "supermuc-ng"


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("memory_limit", size) for size in ("10 GB", "10G", "512MiB", "1.5 tib", "512 MIB", "64000000 B", "64000000b")),
        *(("site_resources", value) for value in ("a=1,b=2", ["a=1"], [], "")),
    ],
)
def test_an_editor_accepts_what_strict_reading_does(option: str, value: object) -> None:
    """Every unit of a size, and resources of a site as a list and as text."""
    document = {"job": {"job_options": {option: value}, "application": {"executable": "./solve"}}}
    assert jsonschema_rs.validator_for(schema("request")).is_valid(document)
    assert normalise(document, strict=True).warnings == ()


def test_whatever_may_be_left_out_may_be_null() -> None:
    """As the page on the request says, of sections and of fields; the reader takes it without a warning."""
    checked = jsonschema_rs.validator_for(schema("request"))
    found = schema("request")["$defs"]
    parts = {"job_options": "JobOptions", "application": "Application", "target": "Target", "optimisation": "Optimisation"}
    nulls = {section: dict.fromkeys(found[name]["properties"]) for section, name in parts.items()}
    signal, tuned = {"name": None, "seconds": None}, {"space": {"layout": None}, "setting": {"environment": None, "options": None}}
    for job in (
        {**dict.fromkeys(parts), "application": {"executable": "./solve"}},
        {**nulls, "application": {**nulls["application"], "executable": "./solve"}},
        {"optimisation": {"workload": {"params": {"seed": None, "overlap": True}}}},
        {"job_options": {"signal": signal}, "optimisation": {"enable_autotuning": True, "autotuning": tuned}},
    ):
        assert checked.is_valid({"job": job})
        assert normalise({"job": job}, strict=True).warnings == ()


@pytest.mark.parametrize(
    "value",
    ["mpi", ["mpi", "openmp"], [], "", "[mpi]", "[mpi, openmp]", "mpi,openmp", '["mpi"]', "mpi openmp", "[]", "mpiopenmp", "pthreads"],
)
def test_an_editor_knows_programming_models_in_every_spelling(value: object) -> None:
    """It offers them as words, and accepts a list, or the text of one."""
    document = {
        "job": {"application": {"executable": "./s"}, "optimisation": {"app_type": "hpc", "hpc": {"config": {"parallelisation": value}}}}
    }
    assert jsonschema_rs.validator_for(schema("request")).is_valid(document) is (value not in ("mpiopenmp", "pthreads"))
    if value in ("mpiopenmp", "pthreads"):
        with pytest.raises(RequestError):
            normalise(document, strict=True)
    else:
        assert normalise(document, strict=True).warnings == ()


def test_what_may_be_null_is_no_choice_of_two() -> None:
    """Editors write the colon after a key, and the quotes or brackets of its type, only if the field has a type of its own."""
    found = schema("request")
    parts = [field for part in found["$defs"].values() for field in part.get("properties", {}).values()]
    pairs = [ways for field in parts if len(ways := field.get("anyOf", ())) == 2 and {"type": "null"} in ways]
    assert [ways for ways in pairs if not ways[0].keys() & {"$ref", "const"}] == []
    assert found["$defs"]["Application"]["properties"]["app_tag"]["type"] == ["string", "null"]
    assert found["$defs"]["Objective"]["properties"]["minimise"]["enum"][-1] is None
    for section, field, types in (("Objective", "deadline", ["string", "integer"]), ("Application", "executable", ["string", "array"])):
        assert found["$defs"][section]["properties"][field]["type"] == [*types, "null"]


@pytest.mark.parametrize(
    ("section", "field", "value"),
    [
        ("target", "job_scheduler_type", "solaris"),
        ("target", "container_runtime", "docker"),
        ("job_options", "wall_time_limit", 366 * 86_400),
        ("job_options", "signal", "KILL@60"),
        ("job_options", "memory_limit", "512 B"),
        ("job_options", "memory_limit", "512"),
    ],
)
def test_an_editor_refuses_what_strict_reading_refuses(section: str, field: str, value: object) -> None:
    """Names of variants are those that are there, and ranges those of the reader."""
    document = {"job": {section: {field: value}}}
    assert not jsonschema_rs.validator_for(schema("request")).is_valid(document)
    with pytest.raises(RequestError):
        normalise(document, strict=True)


@pytest.mark.parametrize(
    "kind", ["request", "response", "points", "result", "sizing", "system", "processor", "accelerator", "image", "rule"]
)
def test_every_field_is_described(kind: str) -> None:
    """What an editor shows beside it; a field that refers to a model is described there."""
    found = schema(kind)
    parts = {kind: found, **found.get("$defs", {})}
    bare = [
        f"{name}.{field}"
        for name, part in parts.items()
        for field, told in part.get("properties", {}).items()
        if "description" not in told and not list(references(told))
    ]
    assert bare == []


def test_every_key_of_a_request_is_explained_where_it_is_offered() -> None:
    """Editors list keys with the description of the field, not of the model that it refers to."""
    found = schema("request")
    parts = {"request": found, **found["$defs"]}
    bare = [
        f"{name}.{key}" for name, part in parts.items() for key, field in part.get("properties", {}).items() if "description" not in field
    ]
    assert bare == []


def test_a_request_may_name_its_schema() -> None:
    """As editors expect it; it is no key that the reader warns of, nor one of the interface."""
    document = {"$schema": "./request.schema.json", "job": {"application": {"executable": "./solve"}}}
    assert jsonschema_rs.validator_for(schema("request")).is_valid(document)
    assert normalise(document, strict=True).warnings == ()
    assert set(components("request")["request_document"]["properties"]) == {"job"}


@pytest.mark.parametrize("kind", ["system", "image", "rule"])
def test_an_entry_may_name_its_schema(kind: str, tmp_path: Path) -> None:
    """In a file as in a body, alone as in an array."""
    known = read_all(ROOT / "benchmarks_db")
    entry = {"system": known.systems, "image": known.images, "rule": known.rules}[kind][0]
    plain = json.loads(entry.model_dump_json(exclude_defaults=True))
    named = {"$schema": f"./{kind}.schema.json", **plain}
    assert jsonschema_rs.validator_for(schema(kind)).is_valid(named)
    for document in (named, {"$schema": "", f"{kind}s": [plain]}):
        assert from_document(f"{kind}s", document) == (entry,)
    file = tmp_path / "entry.json"
    file.write_text(json.dumps(named))
    read = (read_system(file),) if kind == "system" else read_array(file, Image) if kind == "image" else read_array(file, Rule)
    assert read == (entry,)


def test_no_default_of_the_schema_is_an_object_or_nothing() -> None:
    """An editor writes defaults into documents; those of sections hold keys that a request does not have. Generated types require fields
    with a default."""
    defaults = [
        field["default"]
        for part in schema("request")["$defs"].values()
        for field in part.get("properties", {}).values()
        if "default" in field
    ]
    assert not any(isinstance(default, dict) or default in (None, []) for default in defaults)
