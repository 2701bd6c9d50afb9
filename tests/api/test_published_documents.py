"""The documents that callers of the published service send, each as it is: what comes back is a script that runs their application."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

DOCUMENTS = sorted((Path(__file__).parents[1] / "requests").glob("*.json"))


def application(document: dict[str, Any]) -> dict[str, Any]:
    """The section on what runs."""
    section: dict[str, Any] = document.get("job", document)["application"]
    return section


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_a_document_gets_a_script_that_runs_its_application(web: TestClient, path: Path) -> None:
    """200, and every word of the command stands in the script: a 200 with an empty script would be worse than an error."""
    sent = json.loads(path.read_text())
    answer = web.post("/get_optimisation", json=sent)
    assert answer.status_code == 200, answer.text
    script = answer.json()["job"]["job_content"]
    told = application(sent)
    words = shlex.split(f"{told.get('executable') or ''} {told.get('arguments') or ''}")
    assert words
    assert all(word in script for word in words if "$" not in word)
    assert script.startswith("#!/bin/bash\n")


@pytest.mark.parametrize("path", ["/get_image", "/get_build", "/get_job_content"])
def test_every_address_takes_every_document(web: TestClient, path: str) -> None:
    """They read what `/get_optimisation` reads."""
    assert {web.post(path, json=json.loads(file.read_text())).status_code for file in DOCUMENTS} == {200}


def test_the_image_is_looked_for_under_the_name_that_callers_give_it(web: TestClient) -> None:
    """`$SINGULARITY_DIR/<last path segment, ':' as '_'>.sif`."""
    sent = json.loads((DOCUMENTS[0].parent / "published-tensorflow.json").read_text())
    job = web.post("/get_optimisation", json=sent).json()["job"]
    name = job["application"]["container_runtime"].rsplit("/", 1)[-1].replace(":", "_")
    assert "SINGULARITY_DIR" in job["job_content"]
    assert f"{name}.sif" in job["job_content"]


def test_optimise_answers_a_script_that_can_be_downloaded(web: TestClient) -> None:
    """The older caller of `/optimise` reads `job.job_script` as an address, and sends numbers as text."""
    sent = json.loads((DOCUMENTS[0].parent / "numbers-as-text.json").read_text())
    job = web.post("/optimise", json=sent).json()["job"]
    assert web.get(job["job_script"]).text == job["job_content"]
