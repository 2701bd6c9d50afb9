"""The command line writes to a service as it does to its own database."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from modak.cli import main
from tests.api.site import Site, listening
from tests.api.test_access_writes import RULE
from tests.conftest import tool

EXAMPLE = Path(__file__).parents[2] / "examples/3dgan-supermuc-ng.json"
ROWS = "application,nodes,metric,value,unit\nsolver,1,wall_time,100,s\n"


@pytest.fixture
def remote(own_database: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A service on the loopback interface that the command line is told of, without a token yet."""
    site = Site(own_database)
    with listening(site.app) as address, site:
        monkeypatch.setenv("MODAK_SERVER", address)
        yield site


def test_results_rules_and_confirmations_reach_the_service(
    remote: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a token of the right scope; without one, or with another, one line says why not."""
    (tmp_path / "a.csv").write_text(ROWS)
    (tmp_path / "b.csv").write_text(ROWS.replace("100", "101"))
    (tmp_path / "notes.md").write_text("not a table")
    (tmp_path / "rule.json").write_text(json.dumps({"rules": [RULE]}))
    assert main(["load", str(tmp_path / "a.csv")]) == 1
    assert capsys.readouterr().err.startswith("modak: MODAK_TOKEN: is not set; this needs a token of the service")
    monkeypatch.setenv("MODAK_TOKEN", remote.keys["load"])
    assert main(["load", str(tmp_path / "a.csv"), "--map", "nodes=nodes", "--json"]) == 0
    assert main(["load", str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]) == 0
    told = capsys.readouterr()
    assert "2 rows read, 1 new, 1 there already" in told.out
    assert main(["rules", "add", str(tmp_path / "rule.json")]) == 1
    assert capsys.readouterr().err.startswith("modak: MODAK_TOKEN: the scope 'admin' is needed, which this token lacks: ")
    monkeypatch.setenv("MODAK_TOKEN", remote.keys["admin"])
    assert main(["rules", "add", str(tmp_path / "rule.json")]) == 0
    assert main(["results", "confirm", "1"]) == 0
    assert main(["audit"]) == 0
    shown = capsys.readouterr().out
    assert "key:load" in shown
    assert "rule quiet" in shown


def test_options_of_a_load_and_a_removal_reach_the_service(
    remote: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Columns renamed and filled in, a row that replaces another, or only would; an entry that goes."""
    monkeypatch.setenv("MODAK_TOKEN", remote.keys["admin"])
    (tmp_path / "a.csv").write_text(ROWS.replace("value", "secs"))
    assert main(["load", str(tmp_path / "a.csv"), "--map", "secs=value", "--set", "system=zenith"]) == 0
    (tmp_path / "wide.csv").write_text("application,metric,1 node,2 nodes\nsizes,wall_time,9,5\n")
    assert main(["load", str(tmp_path / "wide.csv"), "--wide", "nodes"]) == 0

    def stored() -> list[tuple[str, float]]:
        return [(one["system"], one["value"]) for one in remote.call("GET", "/results?application=solver").json()["items"]]

    again = ["load", str(tmp_path / "b.csv"), "--set", "system=zenith", "--replace"]
    (tmp_path / "b.csv").write_text(ROWS.replace("100", "101"))
    assert main([*again, "--dry-run"]) == 0
    assert stored() == [("zenith", 100)]
    assert main(again) == 0
    assert stored() == [("zenith", 101)]
    (tmp_path / "rule.json").write_text(json.dumps({"rules": [RULE]}))
    assert main(["rules", "add", str(tmp_path / "rule.json")]) == 0
    assert main(["rules", "remove", str(RULE["name"])]) == 0
    assert remote.call("GET", f"/rules/{RULE['name']}").status_code == 404


def test_files_of_one_name_are_told_apart(
    remote: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the paths that were given; where these are of the whole machine, by what differs in them."""
    for folder, value in (("a", "100"), ("12:30", "x")):
        (tmp_path / "logs" / folder).mkdir(parents=True)
        (tmp_path / "logs" / folder / "r.csv").write_text(ROWS.replace("100", value))
    monkeypatch.setenv("MODAK_TOKEN", remote.keys["admin"])
    monkeypatch.chdir(tmp_path)
    for given, told in (("logs", "logs/12:30"), (str(tmp_path / "logs"), "12:30"), ("../" + tmp_path.name, "12:30")):
        assert main(["load", given]) == 1
        assert capsys.readouterr().err.startswith(f"modak: {told}/r.csv:2: column 'value'")
    assert main(["load", "./logs/a/r.csv"]) == 0
    assert main(["results", "doubt", "--file", "./logs/a/r.csv", "--why", "another one's"]) == 0


def test_a_period_reaches_the_service(
    remote: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With its end and its filters."""
    monkeypatch.setenv("MODAK_TOKEN", remote.keys["admin"])
    monkeypatch.chdir(tmp_path)
    days = "".join(f"periodic,{day},wall_time,{day},s,2026-03-0{day}\n" for day in (1, 2, 3))
    Path("days.csv").write_text(f"application,nodes,metric,value,unit,measured_at\n{days}")
    assert main(["load", "days.csv"]) == 0
    capsys.readouterr()
    period = ["--since", "2026-03-02", "--until", "2026-03-02", "--where", "application=periodic"]
    assert main(["results", "doubt", *period, "--why", "a bad day"]) == 0
    assert capsys.readouterr().out.startswith("1 result measured since 2026-03-02 until 2026-03-02, application periodic is not used")


def test_a_files_name_cannot_end_its_own_quotes(
    remote: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the header that names it; the service gets another letter there."""
    monkeypatch.setenv("MODAK_TOKEN", remote.keys["load"])
    monkeypatch.chdir(tmp_path)
    Path('a"; name="b\\.csv').write_text(ROWS.replace("100", "x"))
    assert main(["load", 'a"; name="b\\.csv']) == 1
    assert capsys.readouterr().err.startswith("modak: a_; name=_b_.csv:2: column 'value'")


@pytest.mark.parametrize(("scope", "files"), [("load", 1), ("read", 0), (None, 0)])
def test_a_token_for_the_result_is_written_beside_the_script(
    remote: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scope: str | None, files: int
) -> None:
    """For its owner's eyes alone, where the caller may load; it lets the result come back once."""
    if scope:
        monkeypatch.setenv("MODAK_TOKEN", remote.keys[scope])
    assert main(["optimise", str(EXAMPLE), "-o", str(tmp_path)]) == 0
    plan = json.loads((tmp_path / "response.json").read_text())["job"]["plan"]["id"]
    found = list(tmp_path.glob("*.token"))
    assert [file.name for file in found] == [f"modak-{plan}.token"] * files
    for file in found:
        assert file.stat().st_mode & 0o777 == 0o600
        report: dict[str, Any] = {"modak_result": 1, "plan": plan, "exit_status": 1, "results": []}
        assert remote.call("POST", f"/plans/{plan}/result", file.read_text().strip(), json=report).status_code == 200


def test_a_job_that_fails_sends_that_it_did(remote: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own script does, by the token beside it, with which the next start sends its time."""
    tool("curl", "curl")
    monkeypatch.setenv("MODAK_TOKEN", remote.keys["load"])
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\ntest -e mended\n")
    program.chmod(0o755)
    application = {"executable": "./program"}
    asked = {"application": application, "target": {"job_scheduler_type": "shell"}, "optimisation": {"workload": {"application": "solver"}}}
    (tmp_path / "request.json").write_text(json.dumps({"job": asked}))
    assert main(["optimise", str(tmp_path / "request.json"), "-o", str(tmp_path)]) == 0
    environment = {"PATH": os.environ["PATH"], "MODAK_SERVER": os.environ["MODAK_SERVER"]}
    (script,) = tmp_path.glob("*.sh")
    statuses = [subprocess.run(["bash", script.name], cwd=tmp_path, env=environment).returncode]
    (tmp_path / "mended").touch()
    statuses.append(subprocess.run(["bash", script.name], cwd=tmp_path, env=environment).returncode)
    stored = remote.call("GET", "/results?application=solver").json()["items"]
    assert (statuses, sorted(one["metric"] for one in stored)) == ([1, 0], ["failed_runs", "wall_time"])
