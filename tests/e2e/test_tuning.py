"""A search on a real Slurm: trials are jobs, a killed search goes on where it was, and what it finds beats the job's own setting.

Short searches on a real Grid Engine, and by the commands of Torque."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, tool
from tests.e2e.gridengine import GridEngine
from tests.e2e.slurm import Slurm

PROGRAM = """#!/bin/bash
echo "LEVEL=${LEVEL} $*" >>runs.log
sleep 0.6
echo "rate: $((100 * LEVEL - 30 * ($2 - 32) * ($2 - 32) / 256)) samples/s"
"""
"""Best at level 3 and batch 32; every run leaves a line."""
REQUEST: dict[str, Any] = {
    "application": {"app_tag": "tuned", "app_type": "other", "executable": "./program.sh"},
    "target": {"job_scheduler_type": "slurm", "container_runtime": "none"},
    "optimisation": {
        "enable_autotuning": True,
        "autotuning": {
            "tuner": "autotune",
            "space": {"environment": {"LEVEL": [1, 3]}, "options": {"--batch": [16, 32]}},
            "budget_node_hours": 0.5,
        },
        "workload": {"metric": {"name": "throughput", "unit": "samples/s", "pattern": "rate: ([0-9.]+)"}},
    },
}


class Tuned:
    """A folder from which jobs are submitted, and a database of its own."""

    def __init__(self, folder: Path, slurm: Slurm) -> None:
        self.folder = folder
        self.environment = {**slurm.environment, "MODAK_DATABASE_URL": f"sqlite:///{folder}/modak.db", "PYTHONPATH": str(ROOT)}
        prepare(folder, REQUEST)

    def start(self, *words: str) -> subprocess.Popen[str]:
        """A command of MODAK in the folder."""
        return subprocess.Popen(
            [sys.executable, "-m", "modak", *words],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words: str) -> Any:
        """What a command answers as JSON."""
        with self.start(*words) as process:
            output, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
        return json.loads(output)

    def slip(self, trial: int) -> dict[str, Any]:
        """What is known of a trial's run."""
        file = self.folder / f"tuning-job/trial-{trial:04d}/slip.json"
        return json.loads(file.read_text()) if file.exists() else {}

    def runs(self) -> list[str]:
        """A line for each run of the program."""
        return (self.folder / "runs.log").read_text().splitlines()


def prepare(folder: Path, request: Mapping[str, Any]) -> None:
    """The program and the request."""
    program = folder / "program.sh"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    (folder / "job.json").write_text(json.dumps({"job": request}))


def of_two_trials(scheduler: str) -> dict[str, Any]:
    """The request for another scheduler, with two settings."""
    tuning = REQUEST["optimisation"]["autotuning"] | {"space": {"environment": {"LEVEL": [1, 3]}, "options": {"--batch": [16]}}}
    options = {"wall_time_limit": 300, "core_count": 1}
    target = REQUEST["target"] | {"job_scheduler_type": scheduler}
    return REQUEST | {"job_options": options, "target": target, "optimisation": REQUEST["optimisation"] | {"autotuning": tuning}}


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory, slurm: Slurm) -> Tuned:
    """A search whose process was killed while its second trial ran."""
    tuned = Tuned(tmp_path_factory.mktemp("tuned"), slurm)
    with tuned.start("tune", "job.json", "--confirm", "2") as search:
        until = time.monotonic() + 240
        while not tuned.slip(1).get("job"):
            assert time.monotonic() < until, "no second trial"
            assert search.poll() is None, search.stderr.read() if search.stderr else ""
            time.sleep(0.02)
        os.kill(search.pid, signal.SIGKILL)
    return tuned


@pytest.fixture(scope="module")
def found(killed: Tuned) -> Any:
    """What the search found after it went on."""
    return killed.run("tune", "job.json", "--confirm", "2", "--json")


def test_a_killed_search_goes_on_where_it_was(killed: Tuned, found: Any) -> None:
    """Nothing ran twice: each trial and each run of the comparison left one line."""
    ran = [one for one in found["trials"] if one["job"]]
    assert len(killed.runs()) == len(ran) + 2 * 2
    assert {one["state"] for one in ran} == {"complete"}


def test_the_best_setting_beats_the_jobs_own(found: Any) -> None:
    """By repeated runs of both, beyond the interval."""
    assert found["best"]["setting"] == {"LEVEL": 3, "--batch": 32}
    assert found["default"]["setting"] == {"LEVEL": 1, "--batch": 16}
    assert found["gain"]["lower"] > 1
    assert found["gain"]["runs"] == [2, 2]


def test_every_trial_is_a_result(killed: Tuned, found: Any) -> None:
    """With its setting as parameters; the comparison's runs, too."""
    listed = killed.run("results", "list", "--application", "tuned", "--metric", "throughput", "--json")["items"]
    settings = {(one["params.LEVEL"], one["params.batch"]) for one in listed}
    assert len(listed) == len(killed.runs())
    assert ("3", "32") in settings


def test_the_script_of_the_best_setting_runs_with_it(killed: Tuned, found: Any, slurm: Slurm) -> None:
    """As any other job's."""
    ran = slurm.submit(killed.folder / found["script"], killed.folder)
    assert (ran.state, killed.runs()[-1]) == ("COMPLETED", "LEVEL=3 --batch 32"), ran


def test_trials_are_jobs_of_grid_engine(gridengine: GridEngine, tmp_path: Path) -> None:
    """Two at the same time; both settings are compared in the end."""
    prepare(tmp_path, of_two_trials("gridengine"))
    ours = gridengine.knowing(HOME=tmp_path, PYTHONPATH=ROOT, MODAK_DATABASE_URL=f"sqlite:///{tmp_path}/modak.db")
    modak = (sys.executable, "-m", "modak", "tune", "job.json", "--json", "--confirm", "2", "--jobs", "2")
    ran = ours.run(*modak, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert [(one["setting"]["LEVEL"], one["state"], one["job"].isdecimal()) for one in found["trials"] if one["job"]] == [
        (1, "complete", True),
        (3, "complete", True),
    ]
    assert (found["best"]["setting"]["LEVEL"], found["gain"]["runs"]) == (3, [2, 2])


def test_trials_are_jobs_by_the_commands_of_torque(slurm: Slurm, tmp_path: Path) -> None:
    """As Slurm's front end has them."""
    tool("Slurm's front end for #PBS scripts", "qsub")
    tuned = Tuned(tmp_path, slurm)
    prepare(tmp_path, of_two_trials("torque"))
    found = tuned.run("tune", "job.json", "--confirm", "0", "--json")
    assert [one["state"] for one in found["trials"] if one["job"]] == ["complete", "complete"]
    assert len(tuned.runs()) == 2
