"""JSON Schemas are complete, and say the same as the readers and models."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from modak import dsl, plugins
from modak.errors import UnknownName
from modak.schemas import KINDS, OPENAPI, components, request_schema, schema

ROOT = Path(__file__).parent.parent


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
    """Plain JSON, closed, with every reference to be found in it."""
    found = schema(kind)
    assert json.loads(json.dumps(found)) == found
    assert found["title"] == f"MODAK {kind}"
    assert found["additionalProperties"] is False
    assert {name.removeprefix("#/$defs/") for name in references(found)} <= set(found.get("$defs", {}))


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_schema_serves_openapi(kind: str) -> None:
    """Its parts refer to each other as components."""
    found = components(kind)
    assert kind in found
    assert {name.removeprefix(OPENAPI.format(model="")) for name in references(found)} <= set(found)


@pytest.mark.parametrize(
    "path", [*sorted((ROOT / "examples").glob("*.json")), ROOT / "tests/requests/all-job-options.json"], ids=lambda p: p.stem
)
def test_our_requests_are_in_the_schema(path: Path) -> None:
    """Every key of the examples, and of the request with all job options, is known to the schema."""
    found = request_schema()
    assert list(unknown(json.loads(path.read_text()), found, found)) == []


def test_every_framework_and_its_options_are_in_the_request() -> None:
    """In both ways of writing the chosen section."""
    found = request_schema()
    optimisation = found["$defs"]["Optimisation"]["properties"]
    for variant in plugins.all_of("frameworks"):
        kind, prefix = ("hpc", "parallelisation") if variant.kind == "parallel" else ("ai_training", "ai_framework")
        for section in (kind, f"app_type-{kind}"):
            sections = resolved(optimisation[section], found)["properties"]
            assert sections[variant.name] == sections[f"{prefix}-{variant.name}"]
            assert set(variant.options.model_fields) <= set(resolved(sections[variant.name], found)["properties"])


def test_fields_are_described() -> None:
    """What stands below a field in the source is what an editor shows."""
    options = request_schema()["$defs"]["JobOptions"]["properties"]
    assert options["request_gpus"]["description"] == "GPUs per node."
    assert "hh:mm" in json.dumps(options["wall_time_limit"])


def test_a_response_is_a_request_with_a_plan() -> None:
    """It has all of the request, the texts and the plan."""
    found = schema("response")
    job = found["$defs"]["Job"]["properties"]
    assert {
        "job_options",
        "application",
        "target",
        "optimisation",
        "job_content",
        "job_script",
        "build_content",
        "build_script",
        "plan",
    } == set(job)
    assert set(resolved(job["plan"], found)["properties"]) == set(dsl.Plan.model_fields)


def test_an_unknown_kind_names_the_known_ones() -> None:
    """As any unknown name."""
    with pytest.raises(UnknownName, match="did you mean 'request'"):
        schema("requests")
