"""The command line writes to a service as it does to its own database."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.site import Site, listening
from tests.api.test_access_writes import RULE
from tests.conftest import Run, tool

EXAMPLE = Path(__file__).parents[2] / "examples/3dgan-supermuc-ng.json"
ROWS = "application,nodes,metric,value,unit\nsolver,1,wall_time,100,s\n"


@pytest.fixture
def remote(own_database: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A service on the loopback interface that the command line is told of, without a token yet."""
    site = Site(own_database)
    with listening(site.app) as address, site:
        monkeypatch.setenv("MODAK_SERVER", address)
        yield site


def test_results_rules_and_confirmations_reach_the_service(remote: Site, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a token of the right scope; without one, or with another, one line says why not."""
    first, second, rule = tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "rule.json"
    first.write_text(ROWS)
    second.write_text(ROWS.replace("100", "101"))
    (tmp_path / "notes.md").write_text("not a table")
    rule.write_text(json.dumps({"rules": [RULE]}))
    refused = run("load", first)
    assert (refused.status, refused.err.startswith("modak: MODAK_TOKEN: is not set; this needs a token of the service")) == (1, True)
    monkeypatch.setenv("MODAK_TOKEN", remote.keys["load"])
    assert run("load", first, "--map", "nodes=nodes", "--json").status == 0
    assert "2 rows read, 1 new, 1 there already" in run("load", first, second).out
    refused = run("rules", "add", rule)
    assert refused.status == 1
    assert refused.err.startswith("modak: MODAK_TOKEN: the scope 'admin' is needed, which this token lacks: ")
    monkeypatch.setenv("MODAK_TOKEN", remote.keys["admin"])
    for words in (("rules", "add", rule), ("results", "confirm", 1)):
        assert run(*words).status == 0
    shown = run("audit").out
    assert ("key:load" in shown, "rule quiet" in shown) == (True, True)


def test_options_of_a_load_and_a_removal_reach_the_service(remote: Site, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns renamed and filled in, a row that replaces another, or only would; an entry that goes."""
    monkeypatch.setenv("MODAK_TOKEN", remote.keys["admin"])
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text(ROWS.replace("value", "secs"))
    Path("wide.csv").write_text("application,metric,1 node,2 nodes\nsizes,wall_time,9,5\n")
    Path("b.csv").write_text(ROWS.replace("100", "101"))
    Path("rule.json").write_text(json.dumps({"rules": [RULE]}))

    def stored() -> list[tuple[str, float]]:
        return [(one["system"], one["value"]) for one in remote.call("GET", "/results?application=solver").json()["items"]]

    again = ("load", "b.csv", "--set", "system=zenith", "--replace")
    for words, left in (
        (("load", "a.csv", "--map", "secs=value", "--set", "system=zenith"), 100),
        (("load", "wide.csv", "--wide", "nodes"), 100),
        ((*again, "--dry-run"), 100),
        (again, 101),
        (("rules", "add", "rule.json"), 101),
        (("rules", "remove", RULE["name"]), 101),
    ):
        assert run(*words).status == 0
        assert stored() == [("zenith", left)]
    assert remote.call("GET", f"/rules/{RULE['name']}").status_code == 404


def test_files_of_one_name_are_told_apart(remote: Site, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the paths that were given; where these are of the whole machine, by what differs in them."""
    for folder, value in (("a", "100"), ("12:30", "x")):
        (tmp_path / "logs" / folder).mkdir(parents=True)
        (tmp_path / "logs" / folder / "r.csv").write_text(ROWS.replace("100", value))
    monkeypatch.setenv("MODAK_TOKEN", remote.keys["admin"])
    monkeypatch.chdir(tmp_path)
    for given, told in (("logs", "logs/12:30"), (tmp_path / "logs", "12:30"), ("../" + tmp_path.name, "12:30")):
        ran = run("load", given)
        assert (ran.status, ran.err.startswith(f"modak: {told}/r.csv:2: column 'value'")) == (1, True)
    assert run("load", "./logs/a/r.csv").status == 0
    assert run("results", "doubt", "--file", "./logs/a/r.csv", "--why", "another one's").status == 0


def test_a_period_reaches_the_service(remote: Site, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its end and its filters."""
    monkeypatch.setenv("MODAK_TOKEN", remote.keys["admin"])
    monkeypatch.chdir(tmp_path)
    days = "".join(f"periodic,{day},wall_time,{day},s,2026-03-0{day}\n" for day in (1, 2, 3))
    Path("days.csv").write_text(f"application,nodes,metric,value,unit,measured_at\n{days}")
    assert run("load", "days.csv").status == 0
    period = ("--since", "2026-03-02", "--until", "2026-03-02", "--where", "application=periodic")
    out = run("results", "doubt", *period, "--why", "a bad day").out
    assert out.startswith("1 result measured since 2026-03-02 until 2026-03-02, application periodic is not used")


def test_a_files_name_cannot_end_its_own_quotes(remote: Site, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the header that names it; the service gets another letter there."""
    monkeypatch.setenv("MODAK_TOKEN", remote.keys["load"])
    monkeypatch.chdir(tmp_path)
    Path('a"; name="b\\.csv').write_text(ROWS.replace("100", "x"))
    ran = run("load", 'a"; name="b\\.csv')
    assert (ran.status, ran.err.startswith("modak: a_; name=_b_.csv:2: column 'value'")) == (1, True)


@pytest.mark.parametrize(("scope", "files"), [("load", 1), ("read", 0), (None, 0)])
def test_a_token_for_the_result_is_written_beside_the_script(
    remote: Site, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scope: str | None, files: int
) -> None:
    """For its owner's eyes alone, where the caller may load; it lets the result come back once."""
    if scope:
        monkeypatch.setenv("MODAK_TOKEN", remote.keys[scope])
    assert run("optimise", EXAMPLE, "-o", tmp_path).status == 0
    plan = json.loads((tmp_path / "response.json").read_text())["job"]["plan"]["id"]
    found = list(tmp_path.glob("*.token"))
    assert [file.name for file in found] == [f"modak-{plan}.token"] * files
    for file in found:
        assert file.stat().st_mode & 0o777 == 0o600
        report: dict[str, Any] = {"modak_result": 1, "plan": plan, "exit_status": 1, "results": []}
        assert remote.call("POST", f"/plans/{plan}/result", file.read_text().strip(), json=report).status_code == 200


def test_a_job_that_fails_sends_that_it_did(remote: Site, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own script does, by the token beside it, with which the next start sends its time."""
    tool("curl", "curl")
    monkeypatch.setenv("MODAK_TOKEN", remote.keys["load"])
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\ntest -e mended\n")
    program.chmod(0o755)
    application = {"executable": "./program"}
    asked = {"application": application, "target": {"job_scheduler_type": "shell"}, "optimisation": {"workload": {"application": "solver"}}}
    (tmp_path / "request.json").write_text(json.dumps({"job": asked}))
    assert run("optimise", tmp_path / "request.json", "-o", tmp_path).status == 0
    environment = {"PATH": os.environ["PATH"], "MODAK_SERVER": os.environ["MODAK_SERVER"]}
    (script,) = tmp_path.glob("*.sh")
    statuses = [subprocess.run(["bash", script.name], cwd=tmp_path, env=environment).returncode]
    (tmp_path / "mended").touch()
    statuses.append(subprocess.run(["bash", script.name], cwd=tmp_path, env=environment).returncode)
    stored = remote.call("GET", "/results?application=solver").json()["items"]
    assert (statuses, sorted(one["metric"] for one in stored)) == ([1, 0], ["failed_runs", "wall_time"])
