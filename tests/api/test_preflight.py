"""Scripts without checks, over HTTP, on the command line and in the document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from modak.cli import main


def test_a_script_without_checks_over_http(web: TestClient, document: dict[str, Any]) -> None:
    """``?preflight=false``; nothing else changes."""
    checked = web.post("/optimise", json=document).json()["job"]["job_content"]
    bare = web.post("/optimise?preflight=false", json=document).json()["job"]["job_content"]
    assert "\n# --- checks\n" in checked
    assert "\n# --- checks\n" not in bare
    assert {line for line in checked.split("\n") if line.startswith("#SBATCH")} == {
        line for line in bare.split("\n") if line.startswith("#SBATCH")
    }
    assert web.post("/optimise?preflight=false", json=[1]).status_code == 422


def test_a_script_without_checks_on_the_command_line(
    packaged_database: Path, tmp_path: Path, document: dict[str, Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """``--no-preflight``."""
    monkeypatch.setenv("MODAK_DATABASE_URL", f"sqlite:///{packaged_database}")
    (tmp_path / "request.json").write_text(json.dumps(document))
    for option, there in (("--preflight", True), ("--no-preflight", False)):
        main(["optimise", str(tmp_path / "request.json"), "--script", option])
        assert ("\n# --- checks\n" in capsys.readouterr().out) == there
