"""A sizing by the command line, over HTTP and through a service: the same answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from modak import schemas
from modak.api import create_app
from modak.cli import main
from modak.service import open_service
from modak.settings import read_settings
from tests.api.document import API
from tests.conftest import ROOT

EXAMPLE = ROOT / "examples/sizing-small.json"


@pytest.fixture
def database(packaged_database: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The packaged knowledge, for this process and the command line."""
    monkeypatch.setenv("MODAK_DATABASE_URL", f"sqlite:///{packaged_database}")
    return f"sqlite:///{packaged_database}"


@pytest.fixture
def printed(database: str, capsys: pytest.CaptureFixture[str]) -> Any:
    """What ``modak size --json`` prints."""
    assert main(["size", str(EXAMPLE), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_all_three_say_the_same(printed: Any, database: str) -> None:
    """Command line, ``POST /sizings``, the service's own method."""
    document = json.loads(EXAMPLE.read_text())
    settings = read_settings({"MODAK_DATABASE_URL": database})
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


def test_people_read_a_line_a_platform_and_what_no_formula_determines(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With intervals, and the inputs that the request does not give."""
    assert main(["size", str(EXAMPLE), "--deadline", "30-00:00:00", "--system", "fujitsu-primeflex-large"]) == 0
    text = capsys.readouterr().out
    assert "P(time <= 30-00:00:00) >= 0.9" in text
    assert sum(line.startswith("fujitsu-primeflex-large") for line in text.splitlines()) == 3
    assert "no formula determines it" in text
    assert "transferred" in text


def test_a_goal_without_a_date_ends_with_status_1(database: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """One line that names the field."""
    document = json.loads(EXAMPLE.read_text())
    del document["job"]["optimisation"]["objective"]
    (tmp_path / "job.json").write_text(json.dumps(document))
    assert main(["size", str(tmp_path / "job.json")]) == 1
    assert "optimisation.objective.deadline: how soon" in capsys.readouterr().err
