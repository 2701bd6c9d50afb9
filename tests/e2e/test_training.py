"""A training step of PyTorch in a container on one node, from the request to what the job wrote."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.slurm import Slurm
from tests.e2e.test_scripts_for_real import answered, ran, system, told

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
print(f"rank {rank} of {ranks} threads {torch.get_num_threads()} learns {losses[1] < losses[0]}\\n", end="", flush=True)
if rank == 0:
    print(f"rate: {2 * 64 * ranks / took:.3f} samples/s", flush=True)
if ranks > 1:
    dist.barrier()
    os._exit(0)  # gloo's threads may abort where the peer is gone a moment earlier
"""
METRIC = {"name": "throughput", "unit": "samples/s", "pattern": "rate: ([0-9.]+) samples/s"}


@pytest.mark.parametrize(("runtime", "ranks", "threads"), [("charliecloud", 1, 2), ("apptainer", 2, 1)])
def test_a_training_step(slurm: Slurm, torch_image: Path, tmp_path: Path, runtime: str, ranks: int, threads: int) -> None:
    """One process, and two under torchrun that exchange their gradients: the loss falls, and the rate comes back as a result."""
    (tmp_path / "train.py").write_text(TRAIN)
    request: dict[str, Any] = {
        "application": {"app_tag": "net", "app_type": "python", "executable": "python3 train.py", "container_runtime": "torch.sif"},
        "job_options": {"node_count": 1, "process_count_per_node": ranks, "core_count_per_process": threads, "wall_time_limit": 600},
        "target": {"name": "throwaway", "container_runtime": runtime},
        "optimisation": {
            "app_type": "ai_training",
            "app_type-ai_training": {"config": {"ai_framework": "pytorch"}, "ai_framework-pytorch": {"version": "2.13"}},
            "workload": {"application": "net", "batch_size": 64, "metric": METRIC},
        },
    }
    texts = answered(system(), request)
    assert ("torchrun --nnodes=1 --nproc-per-node=2" in texts.job_script) == (ranks == 2)
    job = ran(slurm.knowing(SINGULARITY_DIR=torch_image.parent), texts, tmp_path, patience_s=240)
    said = sorted(line for line in job.output.splitlines() if line.startswith("rank "))
    assert (job.state, said) == ("COMPLETED", [f"rank {rank} of {ranks} threads {threads} learns True" for rank in range(ranks)]), job
    rate = re.search(r"rate: ([0-9.]+)", job.output)
    assert rate
    _, measured = told(tmp_path)["results"]
    assert (measured["metric"], measured["value"], measured["ranks_per_node"]) == ("throughput", pytest.approx(float(rate[1])), ranks)
