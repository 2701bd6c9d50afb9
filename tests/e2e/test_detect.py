"""`modak systems detect` on a real Slurm: what it writes is added as it stands, and jobs for it are accepted."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.e2e.slurm import Slurm


class Modak:
    """The command line of a user of the cluster, on a database of its own."""

    def __init__(self, slurm: Slurm, folder: Path) -> None:
        self.environment = {**slurm.environment, "HOME": str(folder), "PYTHONPATH": str(ROOT)}
        self.folder = folder

    def __call__(self, *words: str | Path, status: int = 0) -> subprocess.CompletedProcess[str]:
        """Run a command that is expected to end so."""
        ran = subprocess.run(
            [sys.executable, "-m", "modak", *map(str, words)],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert ran.returncode == status, ran.stderr
        return ran


@pytest.fixture
def modak(slurm: Slurm, tmp_path: Path) -> Modak:
    """MODAK, which knows nothing of the cluster."""
    return Modak(slurm, tmp_path)


def test_the_cluster_is_described_as_it_is(modak: Modak, slurm: Slurm) -> None:
    """Name, partitions, nodes, cores, memory and limits as slurm.conf has them; nodes that Slurm hides are left out and said. Those of a
    cloud that are powered down it hides in 22.05, and shows in 24.11."""
    ran = modak("systems", "detect")
    system = tomllib.loads(ran.stdout)
    assert (system["name"], system["scheduler"]) == ("throwaway", "slurm")
    seen = {
        one["name"]: (one["nodes"], one["node"]["cores"], one["node"]["usable_memory_gb"], one["max_wall_time_s"])
        for one in system["partitions"]
    }
    gpu, paper = (2, 32, 134.217728, 14400), (1000, 48, 94.37184, 172800)
    shown = {"paper": paper, "general": paper} if _number(slurm, "paper") else {}
    assert seen == {"main": (2, 2, 4.194304, 3600), "gpu": gpu, "spare": gpu, **shown}
    assert [one["name"] for one in system["partitions"] if one.get("default")] == ["main"]
    assert ("note: partition paper is left out" in ran.stderr) == (not shown)


def _number(slurm: Slurm, partition: str) -> int:
    """The nodes that Slurm shows in a partition."""
    return int(slurm.run("sinfo", "-h", "-p", partition, "-o", "%D").stdout or 0)


def test_a_probe_asks_a_node_of_each_partition(modak: Modak, slurm: Slurm) -> None:
    """In one job each, which ends; the citations say so."""
    system = tomllib.loads(modak("systems", "detect", "--probe").stdout)
    assert {one["citation"].split(", on ")[-1] for one in system["sources"] if "lscpu" in one["citation"]} >= {
        "a node of partition main",
        "a node of partition gpu",
        "a node of partition spare",
    }
    assert "modak-detect" not in slurm.run("squeue", "--noheader", "--format=%j").stdout


def test_a_probe_that_got_no_node_is_noted(modak: Modak, slurm: Slurm) -> None:
    """A partition whose jobs have two nodes: the note quotes Slurm."""
    made = slurm.run("scontrol", "create", "PartitionName=pairs", "Nodes=node[1-2]", "MinNodes=2", "MaxTime=01:00:00")
    assert made.returncode == 0, made.stderr
    try:
        notes = modak("systems", "detect", "--probe").stderr
    finally:
        slurm.run("scontrol", "delete", "PartitionName=pairs")
    assert "note: the probe of partition pairs: exit status 1: srun: error: " in notes


def test_a_probe_asks_for_a_gpu_to_see_its_model(slurm: Slurm, tmp_path: Path) -> None:
    """A program in place of nvidia-smi shows GPUs as it does where sites confine jobs: those of the job alone."""
    folder = tmp_path / "bin"
    folder.mkdir()
    shown = '[ "$CUDA_VISIBLE_DEVICES" ] && echo Tesla V100-SXM2-32GB, 32768 || echo No devices were found'
    (folder / "nvidia-smi").write_text(f"#!/bin/sh\n{shown}\n")
    (folder / "nvidia-smi").chmod(0o755)
    user = slurm.knowing(PATH=f"{folder}:{slurm.environment['PATH']}")
    system = tomllib.loads(Modak(user, tmp_path)("systems", "detect", "--probe").stdout)
    node = {one["name"]: one["node"] for one in system["partitions"]}["gpu"]
    assert (node["accelerator"], node["accelerators"]) == ("v100-sxm2-32gb", 2)


def test_what_is_detected_can_be_added_asked_for_and_submitted(modak: Modak, slurm: Slurm, tmp_path: Path) -> None:
    """The printed command adds it; then nothing has drifted, and Slurm takes a script for every partition."""
    added = modak("systems", "detect", "-o", "out").stdout.split()
    modak(*added[1:])
    assert modak("systems", "detect", "--diff").stdout == ""
    for partition, limit in (("main", "00:30:00"), ("gpu", "03:00:00")):
        request = {
            "job_options": {"job_name": "hello", "partition": partition, "wall_time_limit": limit, "node_count": 2},
            "application": {"executable": "hostname", "app_type": "mpi", "container_runtime": "none"},
            "target": {"name": "throwaway", "container_runtime": "none"},
        }
        (tmp_path / "request.json").write_text(json.dumps({"job": request}))
        script = tmp_path / f"{partition}.sh"
        script.write_text(modak("optimise", "request.json", "--script").stdout)
        taken, message = slurm.accepts(script)
        assert taken, f"{message}\n{script.read_text()}"
        assert f"--partition={partition}" in script.read_text() or partition == "main"


def test_a_job_asks_for_memory_where_slurm_would_give_it_little(modak: Modak, slurm: Slurm, tmp_path: Path) -> None:
    """One of the two cores, so half of the node's memory, in place of 100 MiB."""
    made = slurm.run("scontrol", "create", "PartitionName=lean", "Nodes=node[1-2]", "DefMemPerCPU=100", "MaxTime=01:00:00")
    assert made.returncode == 0, made.stderr
    try:
        modak(*modak("systems", "detect", "-o", "out").stdout.split()[1:])
        application = {"executable": "sleep", "arguments": ["1"], "app_type": "other"}
        request = {"job_options": {"partition": "lean", "core_count": 1, "wall_time_limit": 300}, "application": application}
        target = {"name": "throwaway", "container_runtime": "none"}
        (tmp_path / "request.json").write_text(json.dumps({"job": {**request, "target": target}}))
        script = tmp_path / "job.sh"
        script.write_text(modak("optimise", "request.json", "--script").stdout)
        done = slurm.submit(script, tmp_path)
        shown = slurm.run("scontrol", "show", "job", done.id).stdout
        assert (done.state, "MinMemoryNode=2000M" in shown) == ("COMPLETED", True), shown
    finally:
        slurm.run("scontrol", "delete", "PartitionName=lean")


@pytest.mark.parametrize(("exclusive", "share", "cpus"), [(False, 0.25, 8), (True, None, 32)])
def test_slurm_gives_a_job_the_part_of_a_node_that_is_counted(
    modak: Modak, slurm: Slurm, tmp_path: Path, exclusive: bool, share: float | None, cpus: int
) -> None:
    """Eight of the 32 cores, or all, because the job asks for its node alone."""
    modak(*modak("systems", "detect", "-o", "out").stdout.split()[1:])
    options = {"partition": "gpu", "core_count": 8, "node_count": 1, "wall_time_limit": 300, "node_exclusive": exclusive}
    application = {"executable": "sleep", "arguments": ["1"], "app_type": "other"}
    request = {"job_options": options, "application": application, "target": {"name": "throwaway"}}
    (tmp_path / "request.json").write_text(json.dumps({"job": request}))
    plan = json.loads(modak("optimise", "request.json", "--json", "-o", "job").stdout)["job"]["plan"]
    done = slurm.submit(tmp_path / "job" / "job.sh", tmp_path)
    shown = slurm.run("scontrol", "show", "job", done.id).stdout
    assert (plan.get("node_share"), f"billing={cpus}\n" in shown) == (share, True), shown


def test_a_partition_that_changed_has_drifted(modak: Modak, slurm: Slurm) -> None:
    """The administrator shortens a limit: the field, what is stored, what is seen; status 1."""
    modak(*modak("systems", "detect", "-o", "out").stdout.split()[1:])
    assert slurm.run("scontrol", "update", "PartitionName=gpu", "MaxTime=02:00:00").returncode == 0
    try:
        assert modak("systems", "detect", "--diff", status=1).stdout == "partitions.gpu.max_wall_time_s: 14400 → 7200\n"
    finally:
        slurm.run("scontrol", "update", "PartitionName=gpu", "MaxTime=04:00:00")
