"""A training step of PyTorch in a container on one node, from the request to what the job wrote."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from modak.jobs.spec import JobSpec, Resources
from modak.script.job import render
from tests.conftest import tool
from tests.e2e.slurm import Slurm
from tests.e2e.test_job_scripts import slurm_for
from tests.e2e.test_scripts_for_real import answered, ran, system, told
from tests.e2e.torch_image import INSTALLED

TRAIN = """
import os, time, torch, torch.distributed as dist

ranks = int(os.environ.get("WORLD_SIZE", 1))
if ranks > 1:
    dist.init_process_group("gloo")
torch.manual_seed(0)
inputs, wanted = torch.randn(64, 8), torch.randn(64, 1)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
model = torch.nn.parallel.DistributedDataParallel(model) if ranks > 1 else model
optimiser = torch.optim.SGD(model.parameters(), lr=0.05)
started, losses = time.perf_counter(), []
for step in range(2):
    loss = torch.nn.functional.mse_loss(model(inputs), wanted)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    losses.append(loss.item())
took = time.perf_counter() - started
rank = int(os.environ.get("RANK", 0))
# one write a line: torchrun leaves Python without buffers, and what another node says may come between a text and its end
print(f"rank {rank} of {ranks} threads {torch.get_num_threads()} learns {losses[1] < losses[0]}\\n", end="", flush=True)
if rank == 0:
    print(f"rate: {2 * 64 * ranks / took:.3f} samples/s\\n", end="", flush=True)
if ranks > 1:
    dist.barrier()
    os._exit(0)  # gloo's threads may abort where the peer is gone a moment earlier
"""
METRIC = {"name": "throughput", "unit": "samples/s", "pattern": "rate: ([0-9.]+) samples/s"}


def wanted(runtime: str, nodes: int, ranks: int, threads: int = 1) -> dict[str, Any]:
    """The request, with so many ranks on each node."""
    layout = {"node_count": nodes, "process_count_per_node": ranks, "core_count_per_process": threads}
    return {
        "application": {"app_tag": "net", "app_type": "python", "executable": "python3 train.py", "container_runtime": "torch.sif"},
        "job_options": {**layout, "wall_time_limit": 600},
        "target": {"name": "throwaway", "container_runtime": runtime},
        "optimisation": {
            "app_type": "ai_training",
            "app_type-ai_training": {"config": {"ai_framework": "pytorch"}, "ai_framework-pytorch": {"version": "2.13"}},
            "workload": {"application": "net", "batch_size": 64, "metric": METRIC},
        },
    }


def learned(output: str) -> list[str]:
    """What the ranks say in the end, wherever in a line: what another process says may lack its end of line until later."""
    return sorted(re.findall(r"rank \d+ of \d+ threads \d+ learns \w+", output))


@pytest.mark.parametrize(("runtime", "ranks", "threads"), [("charliecloud", 1, 2), ("apptainer", 2, 1)])
def test_a_training_step(slurm: Slurm, torch_image: Path, tmp_path: Path, runtime: str, ranks: int, threads: int) -> None:
    """One process, and two under torchrun that exchange their gradients: the loss falls, and the rate comes back as a result."""
    (tmp_path / "train.py").write_text(TRAIN)
    texts = answered(system(), wanted(runtime, 1, ranks, threads))
    assert ("torchrun --nnodes=1 --nproc-per-node=2" in texts.job_script) == (ranks == 2)
    job = ran(slurm.knowing(SINGULARITY_DIR=torch_image.parent), texts, tmp_path)
    said = learned(job.output)
    assert (job.state, said) == ("COMPLETED", [f"rank {rank} of {ranks} threads {threads} learns True" for rank in range(ranks)]), job
    rate = re.search(r"rate: ([0-9.]+)", job.output)
    assert rate
    _, measured = told(tmp_path)["results"]
    assert (measured["metric"], measured["value"], measured["ranks_per_node"]) == ("throughput", pytest.approx(float(rate[1])), ranks)


@pytest.mark.parametrize(
    ("scheduler", "family", "starter"),
    [
        ("slurm", "openmpi", "srun "),
        ("torque", "openmpi", 'mpirun --hostfile "${PBS_NODEFILE:?}" -n 2 --map-by ppr:1:node'),
        ("torque", "mpich", "mpirun -n 2 -ppn 1 "),
    ],
)
def test_training_over_two_nodes(slurm: Slurm, torch_image: Path, tmp_path: Path, scheduler: str, family: str, starter: str) -> None:
    """One torchrun a node, by Slurm's own launcher or by the MPI launcher of a site with another scheduler, and one world of four ranks."""
    (tmp_path / "train.py").write_text(TRAIN)
    texts = answered(system(family, scheduler=scheduler, launcher=None), wanted("apptainer", 2, 2))
    assert f"\n{starter}" in texts.job_script
    command = ("qsub",) if scheduler == "torque" else ("sbatch", "--parsable")
    job = ran(slurm_for(slurm, family, tmp_path, torch_image.parent), texts, tmp_path, command=command)
    said = learned(job.output)
    assert (job.state, said) == ("COMPLETED", [f"rank {rank} of 4 threads 1 learns True" for rank in range(4)]), job
    assert told(tmp_path)["results"][1]["nodes"] == 2


def test_results_of_torchruns_ranks_come_from_every_node(slurm: Slurm, torch_image: Path, tmp_path: Path) -> None:
    """torchrun orders nodes by their names: what its first rank wrote may lie in the storage of any of them, the log file, too."""
    files = {"stage_out": [{"from": "out", "to": "results"}], "arguments": "${MODAK_SCRATCH}/out", "metric_file": "${MODAK_SCRATCH}/out/1"}
    writes = "print('rate: 7 samples/s', file=open(f'{sys.argv[1]}/{os.environ[\"SLURM_NODEID\"]}', 'w'))"
    (tmp_path / "train.py").write_text(f"import os, sys; os.makedirs(sys.argv[1]); {writes}\n")
    job = wanted("apptainer", 2, 1)
    texts = answered(system(), {**job, "application": job["application"] | files})
    ended = ran(slurm.knowing(SINGULARITY_DIR=torch_image.parent, TMPDIR="/dev/shm"), texts, tmp_path)
    came = sorted(file.name for file in (tmp_path / "results").glob("*"))
    assert (ended.state, came) == ("COMPLETED", ["0", "1"]), ended
    assert told(tmp_path)["results"][1]["value"] == 7, ended


TWO_NAMES = ("localhost", "127.0.0.1")
"""One machine as two nodes, to MPICH."""
GIVEN: dict[str, dict[str, str]] = {
    "pbspro": {"PBS_ENVIRONMENT": "PBS_BATCH", "PBS_JOBID": "12.server", "PBS_NODEFILE": "".join(f"{name}\n" * 2 for name in TWO_NAMES)},
    "lsf": {"LSB_JOBID": "12", "LSB_JOBINDEX": "0", "LSB_MCPU_HOSTS": " ".join(f"{name} 2" for name in TWO_NAMES)},
    "gridengine": {
        **{"JOB_ID": "12", "SGE_TASK_ID": "undefined", "SGE_ROOT": "/opt/sge", "ARC": "lx-amd64"},
        "PE_HOSTFILE": "".join(f"{name} 2 all.q UNDEFINED\n" for name in TWO_NAMES),
    },
}
"""What each scheduler tells a job of its nodes; ``FILE`` in a name: the variable holds the name of a file with that."""


@pytest.mark.parametrize("scheduler", list(GIVEN))
def test_training_over_the_nodes_that_a_scheduler_tells(tmp_path: Path, scheduler: str) -> None:
    """MPICH starts one torchrun on each, as a script of that scheduler asks it to, and they meet: four ranks in one world."""
    if not (INSTALLED / "torch").is_dir():
        pytest.skip("PyTorch without CUDA is not installed")
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/mpirun").symlink_to(tool("MPICH", "mpirun.mpich"))
    (tmp_path / "bin/hydra_pmi_proxy").symlink_to(tool("MPICH", "hydra_pmi_proxy"))
    known: dict[str, str] = {}
    for name, value in GIVEN[scheduler].items():
        (tmp_path / name).write_text(value)
        known[name] = str(tmp_path / name) if name.endswith("FILE") else value
    job = JobSpec(("python3", "train.py"), Resources(nodes=2, ranks_per_node=2), launcher="torchrun", launcher_flavour="mpich")
    (tmp_path / "job.sh").write_text(render(job, scheduler).text)
    path = f"{tmp_path}/bin:{INSTALLED}/bin:/usr/bin:/bin"
    here = {"PBS_O_WORKDIR": str(tmp_path), "LS_SUBCWD": str(tmp_path), "SGE_O_WORKDIR": str(tmp_path), "HYDRA_LAUNCHER": "fork"}
    environment = {"PATH": path, "HOME": str(tmp_path), "PYTHONPATH": str(INSTALLED), **known, **here}
    done = subprocess.run(["bash", "job.sh"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=200)
    said = learned(done.stdout)
    assert (done.returncode, said) == (0, [f"rank {rank} of 4 threads 1 learns True" for rank in range(4)]), done.stderr
