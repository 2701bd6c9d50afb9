"""MODAK's scripts on a real Grid Engine of two hosts with two slots a queue: what its header asks for, and what its jobs do."""

from __future__ import annotations

import re
import sys
import tomllib
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.e2e.gridengine import GridEngine
from tests.e2e.test_job_scripts import path_with
from tests.e2e.test_scripts_for_real import answered, system, told


def script(folder: Path, application: dict[str, Any], *environments: str, family: str = "openmpi", **options: Any) -> Path:
    """The script for a request, as a file; ``environments``: the site's parallel environments."""
    site = system(family, "mpirun", scheduler="gridengine", mandatory_directives=tuple(f"-pe {name}" for name in environments))
    request = {
        "application": {"app_tag": "small", "app_type": "other", **application},
        "job_options": {"job_name": "small", "partition": "main", "wall_time_limit": 300, **options},
        "target": {"name": "throwaway", "container_runtime": "none"},
    }
    file = folder / "job.sh"
    file.write_text(answered(site, request).job_script)
    return file


def shell(code: str) -> dict[str, Any]:
    """An application."""
    return {"executable": "sh", "arguments": ["-c", code]}


@pytest.mark.parametrize("family", ["openmpi", "mpich"])
def test_mpirun_reaches_both_hosts_without_ssh(gridengine: GridEngine, tmp_path: Path, family: str) -> None:
    """Grid Engine starts its helpers: two ranks on each host."""
    ranks = {**shell("echo rank on $(hostname)"), "app_type": "mpi"}
    job = script(tmp_path, ranks, "smp", "mpi", family=family, node_count=2, process_count_per_node=2, copy_environment=True)
    done = gridengine.knowing(PATH=path_with(family, tmp_path, gridengine.environment["PATH"])).submit(job, tmp_path)
    assert [done.output.count(f"rank on node{host}\n") for host in (1, 2)] == [2, 2], done
    assert (told(tmp_path)["job"], told(tmp_path)["results"][0]["nodes"]) == (done.id, 2)


def test_slots_that_are_spread_over_hosts_stop_a_job_of_one_node(gridengine: GridEngine, tmp_path: Path) -> None:
    """One slot is free on each: the environment gives both, and a program with two threads would run on the first."""
    (tmp_path / "hold.sh").write_text("#!/bin/sh\nsleep 600\n")
    held = [gridengine.sent(tmp_path / "hold.sh", tmp_path, "-q", f"main@{host}") for host in ("node1", "node2")]
    try:
        done = gridengine.submit(script(tmp_path, shell("true"), "mpi", core_count=2), tmp_path)
    finally:
        gridengine.run("qdel", *held)
    assert (done.exit_codes, "the job needs 2 slots on one node" in done.output) == ([75], True), done


def test_the_tasks_of_an_array_have_files_of_their_own(gridengine: GridEngine, tmp_path: Path) -> None:
    """By the request's placeholders, which are Grid Engine's variables in the header; so do their results."""
    options: dict[str, Any] = {"job_array": "1-5:2%2", "core_count": 1, "standard_output_file": "%x-%A_%a.txt"}
    done = gridengine.submit(script(tmp_path, shell("echo case $SGE_TASK_ID"), **options), tmp_path)
    files = [tmp_path / f"small-{done.id}_{index}.txt" for index in (1, 3, 5)]
    assert [file.read_text() for file in files] == ["case 1\n", "case 3\n", "case 5\n"]
    assert [told(tmp_path, f"-{index}")["exit_status"] for index in (1, 3, 5)] == [0, 0, 0]


def test_the_header_says_what_was_asked_for(gridengine: GridEngine, tmp_path: Path) -> None:
    """Read back from Grid Engine itself, of a job that is held."""
    start = (datetime.now() + timedelta(days=300)).replace(hour=14, minute=0, second=0)
    options: dict[str, Any] = {
        **{"account": "ab1", "memory_limit": "2GiB", "request_gpus": 1, "core_count": 2, "requeue": False, "partition": "gpu"},
        **{"email_address": "a@b.de", "request_event_notification": ["begin", "end", "fail"], "defer_job": f"{start:%Y-%m-%dT%H:%M}"},
    }
    job = gridengine.sent(script(tmp_path, shell("true"), "smp", **options), tmp_path)
    said = dict(re.findall(r"^([\w -]+?): +(.*?) *$", gridengine.run("qstat", "-j", job).stdout, re.MULTILINE))
    gridengine.run("qdel", job)
    asked = ("hard resource_list", "project", "parallel environment", "mail_options", "mail_list", "execution_time", "restart")
    seen = [said.get(name) for name in asked]
    assert seen == ["h_rt=300,h_vmem=1024M,gpu=1", "ab1", "smp range: 2", "abe", "a@b.de", start.ctime(), "n"], said


def test_a_job_waits_for_another_and_its_status_is_the_programs(gridengine: GridEngine, tmp_path: Path) -> None:
    """The variables that the request names are copied."""
    first = gridengine.sent(script(tmp_path, shell("sleep 2; echo made >data"), core_count=1), tmp_path)
    options: dict[str, Any] = {"job_dependency": f"afterany:{first}", "copy_environment_variable": ["LICENCE"], "core_count": 1}
    second = script(tmp_path, shell('cat data; echo "$LICENCE"; exit 7'), **options)
    done = gridengine.knowing(LICENCE="27000@server").submit(second, tmp_path)
    assert (done.exit_codes, "made\n27000@server\n" in done.output) == ([7], True), done


def test_the_cell_is_described_as_it_is(gridengine: GridEngine, tmp_path: Path) -> None:
    """Queues with their limits, hosts and cores; the parallel environments for one node and for several."""
    ours = gridengine.knowing(HOME=tmp_path, PYTHONPATH=ROOT)
    ran = ours.run(sys.executable, "-m", "modak", "systems", "detect")
    found = tomllib.loads(ran.stdout)
    seen = {one["name"]: (one["nodes"], one["max_wall_time_s"], one["node"]["sockets"] > 0) for one in found["partitions"]}
    assert (found["scheduler"], seen) == ("gridengine", {"gpu": (2, 14400, True), "main": (2, 3600, True)})
    assert found["mandatory_directives"] == ["-pe smp", "-pe mpi"]
