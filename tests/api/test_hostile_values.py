"""Numbers, types, sections and names that make no sense: refused by field, or answered; never a failure of the service."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.testclient import TestClient

from modak.text import documents
from tests.api.test_hostile_fields import BASE, with_value
from tests.api.witness import witness

JSON = {"Content-Type": "application/json"}
COUNTS = (
    *("job_options.node_count", "job_options.process_count_per_node", "job_options.core_count_per_process", "job_options.core_count"),
    *("application.mpi_ranks", "application.threads", "application.build.build_parallelism", "optimisation.objective.max_nodes"),
)
FRACTIONS = ("application.minimal_efficiency", "optimisation.objective.min_efficiency", "optimisation.objective.confidence")
SECTIONS = (
    *("job_options", "application", "target", "optimisation", "optimisation.opt_build", "optimisation.workload", "optimisation.objective"),
    *("optimisation.ai_training", "optimisation.app_type-hpc", "optimisation.autotuning", "application.build"),
)
TEXTS = ("job_options.job_name", "application.app_tag", "target.name", "application.build.src", "optimisation.workload.application")


@pytest.fixture(scope="module", autouse=True)
def warm(web: TestClient) -> None:
    """Whatever is opened and imported once, is."""
    assert web.post("/optimise", json=with_value("job_options.job_name", "base")).status_code == 200


def post(web: TestClient, field: str, value: Any) -> int:
    """The status of a request with one value changed, while nothing else happens in the process."""
    with witness().watching():
        answer = web.post("/optimise", content=json.dumps(with_value(field, value)), headers=JSON)
    assert answer.status_code < 500
    assert answer.status_code == 200 or answer.json()["errors"]
    return int(answer.status_code)


@pytest.mark.parametrize("value", [0, -1, 10**9, 2**63, 10**19, 2.5, True, "2; x", "1e3", "0x10", "٣", [2], {"a": 1}, 1e308])
@pytest.mark.parametrize("field", COUNTS)
def test_a_count_is_a_whole_number_within_reason(web: TestClient, field: str, value: Any) -> None:
    """Nothing else: no text that starts with one, no other script's digits, no list, no truth value."""
    assert post(web, field, value) == 422


@pytest.mark.parametrize("value", [True, False, "8", [8], {}, 10**400], ids=lambda value: str(value)[:8])
@pytest.mark.parametrize("end", ["low", "high", "step", "factor"])
def test_the_steps_of_a_tuner_are_numbers(web: TestClient, end: str, value: Any) -> None:
    """No truth value counts as 0 or 1, and no text as the number that it shows."""
    steps = {"low": 1, "high": 8, end: value}
    assert post(web, "optimisation.autotuning.space", {"layout": {"threads": steps}}) in (400, 422)


@pytest.mark.parametrize("value", [0, -1, 1.5, 10**19, True, "half", [0.5]])
@pytest.mark.parametrize("field", FRACTIONS)
def test_a_fraction_lies_between_nothing_and_one(web: TestClient, field: str, value: Any) -> None:
    """And is a number."""
    assert post(web, field, value) == 422


def test_next_to_no_work_under_next_to_full_confidence_is_answered(web: TestClient) -> None:
    """Its start-up is unknown, so that its interval is as wide as any."""
    objective, workload = {"deadline": 60, "confidence": 0.9999999999}, {"epochs": 1e-30}
    asked = {"objective": objective, "workload": workload, "ai_training": {"mxnet": {}}}
    application = {"executable": "./train", "app_tag": "resnet50"}
    answer = web.post("/optimise", json={"job": {"application": application, "target": {"name": "dgx-1-v100"}, "optimisation": asked}})
    assert answer.status_code == 409
    assert "closest: 1 node" in answer.text


@pytest.mark.parametrize(
    "value", [0, -60, 59, 10**9, True, "1 fortnight, 2:00:00", "99:99:99", "25:00:00:00", "12:00:00; x", "UNLIMITED", [3600]]
)
def test_a_wall_time_is_a_time(web: TestClient, value: Any) -> None:
    """Nothing that a scheduler would take for no limit at all."""
    assert post(web, "job_options.wall_time_limit", value) == 422


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "9" * 21, "9" * 5000, "1" + "0" * 400 + ".5"])
@pytest.mark.parametrize("field", ["job_options.node_count", "application.minimal_efficiency", "unknown"])
def test_a_number_that_json_readers_disagree_on_is_400(web: TestClient, field: str, text: str) -> None:
    """Wherever it stands, known field or not."""
    body = json.dumps(with_value(field, "HERE")).replace('"HERE"', text)
    assert web.post("/optimise", content=body, headers=JSON).status_code == 400


@pytest.mark.parametrize("value", [5, True, "text", [], [1], [[]], 1.5])
@pytest.mark.parametrize("field", SECTIONS)
def test_a_section_is_an_object(web: TestClient, field: str, value: Any) -> None:
    """Of another type it is refused, by name."""
    assert post(web, field, value) == 422


@pytest.mark.parametrize("field", SECTIONS)
def test_a_section_may_be_absent(web: TestClient, field: str) -> None:
    """Callers send null for what they do not have."""
    assert post(web, field, None) == 200


@pytest.mark.parametrize("value", [True, [], ["a"], {}, {"get_input": "x"}, [["a"]], ["a"] * 5000])
@pytest.mark.parametrize("field", TEXTS)
def test_a_text_is_text(web: TestClient, field: str, value: Any) -> None:
    """No list, no object, no truth value."""
    assert post(web, field, value) == 422


@pytest.mark.parametrize("version", ["%", "_", "2.*.*", "2.1 || true", "1.0-$(x)", ";", "2." + "1" * 500, "[2,3]", "' OR '1'='1"])
def test_a_version_is_a_version_or_a_range(web: TestClient, version: str) -> None:
    """What a database takes for a wildcard is none, and refused."""
    told = {"app_type": "ai_training", "ai_training": {"tensorflow": {"version": version}}}
    document = with_value("optimisation", told)
    assert web.post("/optimise", json=document).status_code == 422


@pytest.mark.parametrize(("name", "status"), [("*", 422), ("%", 422), ("super*", 422), ("../x", 422), ("superm", 200), ("nowhere", 200)])
def test_a_name_is_never_a_pattern(web: TestClient, name: str, status: int) -> None:
    """A system is found by its whole name; an unknown one is no system, with a warning that names what is known."""
    answer = web.post("/optimise", json=with_value("target.name", name))
    assert answer.status_code == status
    if status == 200:
        assert any("unknown system" in warning["message"] for warning in answer.json()["job"]["plan"]["warnings"])


@pytest.mark.parametrize("path", ["/systems/%25", "/systems/super%25", "/systems/*", "/images/%25", "/rules/_", "/models/%25"])
def test_nothing_is_found_by_a_pattern(web: TestClient, path: str) -> None:
    """404."""
    assert web.get(path).status_code == 404


@pytest.mark.parametrize(
    "query",
    [
        *("application=%25", "application=3dg%25", "application=' OR '1'='1", "system=*", "params.x=%25", "metric=%ff%fe", "dataset=%01"),
        *("application=3dgan;DROP TABLE results", "partition=" + "x" * 5000),
    ],
)
def test_a_filter_is_exact_text(web: TestClient, query: str) -> None:
    """It matches nothing that is not that text."""
    answer = web.get(f"/results?{query}")
    assert answer.status_code == 200
    assert answer.json()["items"] == []


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        (
            {"job_options.node_count": 2, "application.mpi_ranks": 3, "job_options.process_count_per_node": 7},
            "job_options.process_count_per_node",
        ),
        ({"job_options.core_count": 4096, "target.name": "supermuc-ng"}, "job_options.core_count"),
        (
            {"optimisation.app_type": "hpc", "optimisation.ai_training": {"tensorflow": {}}, "optimisation.app_type-hpc": {}},
            "optimisation.ai_training",
        ),
        (
            {"optimisation.ai_training": {"tensorflow": {}, "pytorch": {}}, "optimisation.app_type": "ai_training"},
            "optimisation.ai_training.pytorch",
        ),
        ({"target.job_scheduler_type": "torque", "target.name": "supermuc-ng"}, "target.job_scheduler_type"),
        ({"application.container_runtime": "docker://a/b:1", "target.container_runtime": "none"}, "application.container_runtime"),
    ],
)
def test_contradictions_are_answered(web: TestClient, changes: dict[str, Any], field: str) -> None:
    """With a script, and a warning of the field that is not followed; an error of it where that is asked for."""
    document: Any = BASE
    for path, value in changes.items():
        document = documents.with_value(document, ("job", *path.split(".")), value)
    answer, strict = web.post("/optimise", json=document), web.post("/optimise?strict=true", json=document)
    assert (answer.status_code, strict.status_code) == (200, 422), answer.text
    job = answer.json()["job"]
    assert job["job_content"].startswith("#!")
    assert field in [warning["field"] for warning in job["plan"]["warnings"]]
    assert field in [error["field"] for error in strict.json()["errors"]]


@pytest.mark.parametrize("document", [{}, {"job": {}}, {"job": {"application": {}}}, {"job": {"target": {}}}, {"jobs": {}}, {"job": None}])
def test_a_request_that_says_nothing_is_no_failure(web: TestClient, document: dict[str, Any]) -> None:
    """It is refused where nothing could be run, and says so; else it is answered."""
    assert web.post("/optimise", json=document).status_code in (200, 422)
