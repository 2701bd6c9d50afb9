"""Scripts without checks, over HTTP, on the command line and in the document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from tests.conftest import Run


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


def test_a_script_without_checks_on_the_command_line(run: Run, tmp_path: Path, document: dict[str, Any]) -> None:
    """``--no-preflight``."""
    (tmp_path / "request.json").write_text(json.dumps(document))
    for option, there in (("--preflight", True), ("--no-preflight", False)):
        assert ("\n# --- checks\n" in run("optimise", tmp_path / "request.json", "--script", option).out) == there
