"""The documents that callers of the published service send, each as it is: what comes back is a script that runs their application."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

DOCUMENTS = sorted((Path(__file__).parents[1] / "requests").glob("*.json"))
CHANGED = {
    "accelerator-empty": "optimisation.opt_build.acc_type",
    "autotuning-any-text": "optimisation.autotuning.tuner",
    "cloud": "target.name",
    "fortran-build": "application.build.src",
    "misspelt-learning": "optimisation.app_type-ai_training.config.type",
    "no-optimisation": "job_options.process_count_per_node",
    "numbers-as-text": "job_options.node_count",
    "opencl-and-opencc": "optimisation.app_type-hpc.config.parallelisation",
    "queue-that-is-not-there": "job_options.queue",
    "scheduler-batch": "target.job_scheduler_type",
    "scheduler-pbs": "target.queue_type",
    "short-tensorflow": "optimisation.opt_build.acc_type",
    "trailing-blank": "job_options.wall_time_limit",
    "unknown-keys": "job_options.node_cout",
    "unresolved-email": "job_options.email_address",
}
"""A field of each document that says something in other words, or that cannot be had: it has a warning."""


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


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_options_of_a_document_reach_the_scheduler(web: TestClient, path: Path) -> None:
    """The job's name, its account and its events stand in the header of a script that has one."""
    sent = json.loads(path.read_text())
    job = web.post("/get_optimisation", json=sent).json()["job"]
    options = sent.get("job", sent).get("job_options") or {}
    header = [line for line in job["job_content"].splitlines() if re.match(r"#(SBATCH|PBS) ", line)]
    for name in ("job_name", "account"):
        assert not header or not options.get(name) or any(options[name] in line for line in header)


@pytest.mark.parametrize(("name", "field"), CHANGED.items())
def test_what_was_read_in_another_way_is_named(web: TestClient, name: str, field: str) -> None:
    """By the dotted path that the caller wrote, inside the 200."""
    sent = json.loads((DOCUMENTS[0].parent / f"{name}.json").read_text())
    warnings = web.post("/get_optimisation", json=sent).json()["job"]["warnings"]
    assert field in {warning["field"] for warning in warnings}


@pytest.mark.parametrize("name", CHANGED)
def test_with_strict_a_warning_is_an_error(web: TestClient, name: str) -> None:
    """422 with the same field, for callers that look at the status."""
    sent = json.loads((DOCUMENTS[0].parent / f"{name}.json").read_text())
    answer = web.post("/get_optimisation?strict=true", json=sent)
    assert answer.status_code == 422
    assert CHANGED[name] in {error["field"] for error in answer.json()["errors"]}


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
