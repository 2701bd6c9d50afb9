"""The whole way as a user goes it: describe a system, load results, ask, submit the answer, read what the job wrote."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.e2e.images import LIBRARIES
from tests.e2e.slurm import Slurm

SYSTEM = f"""
name = "throwaway"
title = "The cluster of the tests"
site = "This machine"
scheduler = "slurm"
launcher = "srun"

[[partitions]]
name = "main"
default = true
nodes = 2
max_wall_time_s = 3600
node = {{processor = "xeon-e5-2630-v4", sockets = 1, cores = 2}}

[[runtimes]]
name = "charliecloud"
version = "0.31"
[[runtimes]]
name = "apptainer"
[[runtimes]]
name = "none"

[[mpi]]
family = "openmpi"
default = true
pmi = "pmix"
library_dir = "{LIBRARIES}"

[[sources]]
fields = ["*", "partitions.main"]
citation = "tests/e2e/slurm.py"
"""
RESULTS = """application,system,nodes,ranks_per_node,threads_per_rank,metric,value,unit
hello,throwaway,1,1,1,wall_time,80,s
hello,throwaway,2,1,1,wall_time,41,s
hello,throwaway,1,2,1,wall_time,40,s
hello,throwaway,2,2,1,wall_time,21,s
"""


class Modak:
    """The command line on a database of its own, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *words: str) -> str:
        """What a command writes; a status other than 0 is a failure."""
        environment = {"HOME": str(self.folder), "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
        ran = subprocess.run(
            [sys.executable, "-m", "modak", *words], cwd=self.folder, env=environment, capture_output=True, text=True, timeout=300
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout


@pytest.fixture(scope="module")
def modak(tmp_path_factory: pytest.TempPathFactory) -> Modak:
    """MODAK, told about the cluster and about measured runs there."""
    folder = tmp_path_factory.mktemp("user")
    (folder / "system.toml").write_text(SYSTEM)
    (folder / "results.csv").write_text(RESULTS)
    modak = Modak(folder)
    modak("systems", "add", "system.toml")
    modak("load", "results.csv")
    return modak


def answered(modak: Modak, name: str, program: str, objective: dict[str, object], **target: str) -> tuple[Path, dict[str, Any]]:
    """The folder with the job, and the answer's ``job``."""
    request = {
        "job_options": {"job_name": name},
        "application": {"app_tag": "hello", "app_type": "mpi", "executable": program, "container_runtime": "mpi.sif"},
        "target": {"name": "throwaway", **target},
        "optimisation": {"app_type": "hpc", "app_type-hpc": {"config": {"parallelisation": "mpi"}}, "objective": objective},
    }
    (modak.folder / f"{name}.json").write_text(json.dumps({"job": request}))
    modak("optimise", f"{name}.json", "-o", name)
    folder = modak.folder / name
    return folder, json.loads((folder / "response.json").read_text())["job"]


@pytest.mark.parametrize("runtime", ["charliecloud", "apptainer"])
def test_the_answer_runs_as_it_is(modak: Modak, slurm: Slurm, image_folder: Path, runtime: str) -> None:
    """The fastest layout that was measured is chosen, submitted, and runs in the container on all its ranks."""
    folder, job = answered(modak, runtime, "/opt/hello.openmpi", {"minimise": "time"}, container_runtime=runtime)
    chosen = job["plan"]["configuration"]
    assert (chosen["nodes"], chosen["ranks_per_node"], chosen["runtime"]) == (2, 2, runtime)
    assert job["plan"]["prediction"]["basis"] == "measured"
    ran = slurm.knowing(SINGULARITY_DIR=image_folder).submit(folder / "job.sh", folder)
    assert (ran.state, len(re.findall(r"rank \d of 4 on \S+ sum 6 threads 1\n", ran.output))) == ("COMPLETED", 4), ran


def test_fewest_node_hours_is_another_layout(modak: Modak, slurm: Slurm, image_folder: Path) -> None:
    """One node with two ranks: 40 s there are less than 2 × 21 s."""
    folder, job = answered(modak, "frugal", "/opt/hello.openmpi", {"minimise": "node_hours"})
    assert (job["plan"]["configuration"]["nodes"], job["plan"]["configuration"]["ranks_per_node"]) == (1, 2)
    ran = slurm.knowing(SINGULARITY_DIR=image_folder).submit(folder / "job.sh", folder)
    assert (ran.state, ran.output.count("of 2 on node")) == ("COMPLETED", 2), ran


def test_steps_before_and_after_the_run_and_its_input_know_the_layout(modak: Modak, slurm: Slurm) -> None:
    """A shell before the run writes the number of ranks into a file, starts one process for each, and so do a shell on each rank, and
    what follows the run."""
    before = "sh -c 'echo split $MODAK_RANKS >case.in && srun sh -c \"echo each of \\$SLURM_NTASKS\" && cat case.in'"
    steps = {"pre-execution": before, "post-execution": "sh -c 'echo merged $MODAK_RANKS_PER_NODE on each of $MODAK_NODES'"}
    application = {"app_type": "mpi", "executable": "sh -c 'echo half $((MODAK_RANKS / 2)) of $MODAK_THREADS'", **steps}
    request = {
        "application": application,
        "target": {"name": "throwaway", "container_runtime": "none"},
        "job_options": {"node_count": 2, "process_count_per_node": 2},
    }
    (modak.folder / "steps.json").write_text(json.dumps({"job": request}))
    modak("optimise", "steps.json", "-o", "steps", "--strict")
    folder = modak.folder / "steps"
    ran = slurm.submit(folder / "job.sh", folder)
    said = [ran.output.count(text) for text in ("split 4", "each of 4", "half 2 of 1", "merged 2 on each of 2")]
    assert (ran.state, said) == ("COMPLETED", [1, 4, 4, 1]), ran


def test_the_block_size_that_was_measured_to_be_the_fastest_runs(modak: Modak, slurm: Slurm) -> None:
    """The program and a step before it get it, and the result that the job writes becomes one of its results."""
    rows = (f"blocks,throwaway,1,2,1,{size},wall_time,{time},s" for size, time in ((64, 90), (128, 60), (256, 75)))
    header = "application,system,nodes,ranks_per_node,threads_per_rank,params.NB,metric,value,unit"
    (modak.folder / "blocks.csv").write_text("\n".join((header, *rows)))
    modak("load", "blocks.csv")
    program = {"executable": "sh -c 'echo $0 on a rank' ${MODAK_PARAM_NB}", "pre-execution": "sh -c 'echo $MODAK_PARAM_NB before'"}
    request = {
        "application": {"app_tag": "blocks", "app_type": "mpi", **program},
        "target": {"name": "throwaway", "container_runtime": "none"},
        "optimisation": {"app_type": "hpc", "hpc": {"mpi": {}}, "workload": {"params": {"NB": "auto"}}},
    }
    (modak.folder / "blocks.json").write_text(json.dumps({"job": request}))
    modak("optimise", "blocks.json", "-o", "blocks", "--strict")
    folder = modak.folder / "blocks"
    ran = slurm.submit(folder / "job.sh", folder)
    assert (ran.state, ran.output.count("128 before"), ran.output.count("128 on a rank")) == ("COMPLETED", 1, 2), ran
    (result,) = folder.glob("modak-result-*.json")
    said = modak("load", str(result), "--dry-run")
    assert "1 row read, 1 new" in said
    assert "metric wall_time, unit s, NB 128" in said


def test_slurm_takes_the_script_of_the_demonstration(modak: Modak, slurm: Slurm) -> None:
    """Whole nodes of 48 cores with two threads each, in the partition that SuperMUC-NG calls ``general``."""
    folder, job = example(modak, "3dgan-supermuc-ng")
    taken, message = slurm.accepts(folder / "job.sh")
    assert taken, message
    assert f"using {job['plan']['configuration']['nodes'] * 96} processors" in message


def test_slurms_front_end_takes_the_torque_script_with_gpus(modak: Modak, slurm: Slurm) -> None:
    """The request of the testbed at HLRS; its queue is left open, so the partition with GPUs is named here."""
    folder, job = example(modak, "listing1-hlrs")
    taken, message = slurm.accepts(folder / "job.sh", "--partition=gpu")
    assert taken, message
    assert "in partition gpu" in message
    assert job["plan"]["configuration"]["gpus_per_node"] == 1


def example(modak: Modak, name: str) -> tuple[Path, dict[str, Any]]:
    """The folder with the job of an example, and the answer's ``job``."""
    modak("optimise", str(ROOT / "examples" / f"{name}.json"), "-o", name)
    return modak.folder / name, json.loads((modak.folder / name / "response.json").read_text())["job"]
