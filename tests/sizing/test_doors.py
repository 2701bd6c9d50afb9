"""A sizing by the command line, over HTTP and through a service: the same answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from modak import schemas
from modak.api import create_app
from modak.service import open_service
from modak.settings import Settings
from tests.api.document import API
from tests.conftest import ROOT, Run

EXAMPLE = ROOT / "examples/sizing-small.json"


@pytest.fixture
def printed(run: Run) -> Any:
    """What ``modak size --json`` prints."""
    return json.loads(run("size", EXAMPLE, "--json").out)


def test_all_three_say_the_same(printed: Any, packaged_database: Path) -> None:
    """Command line, ``POST /sizings``, the service's own method."""
    document = json.loads(EXAMPLE.read_text())
    settings = Settings(database_url=f"sqlite:///{packaged_database}")
    with open_service(settings) as service, TestClient(create_app(settings)) as web:
        answer = web.post("/sizings", json=document)
        assert answer.status_code == 200, answer.text
        assert answer.json() == service.size(document) == printed


def test_the_answer_is_what_its_schema_says(printed: Any) -> None:
    """Every key is described; the OpenAPI document refers to it."""
    properties = schemas.schema("sizing")["properties"]
    assert set(printed) <= set(properties)
    answer = API["paths"]["/sizings"]["post"]["responses"]["200"]["content"]["application/json"]
    assert answer["schema"] == {"$ref": "#/components/schemas/sizing"}


def test_people_read_a_line_a_platform_and_what_no_formula_determines(run: Run) -> None:
    """With intervals, and the inputs that the request does not give."""
    text = run("size", EXAMPLE, "--deadline", "30-00:00:00", "--system", "fujitsu-primeflex-large").out
    assert "P(time <= 30-00:00:00) >= 0.9" in text
    assert sum(line.startswith("fujitsu-primeflex-large") for line in text.splitlines()) == 3
    assert "no formula determines it" in text
    assert "transferred" in text


def test_a_goal_without_a_date_ends_with_status_1(run: Run, tmp_path: Path) -> None:
    """One line that names the field."""
    document = json.loads(EXAMPLE.read_text())
    del document["job"]["optimisation"]["objective"]
    (tmp_path / "job.json").write_text(json.dumps(document))
    ran = run("size", tmp_path / "job.json")
    assert (ran.status, "optimisation.objective.deadline: how soon" in ran.err) == (1, True)
