"""A launcher of PyTorch's at the beginning of a command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from modak.normalise import Normalised, normalise


def read(
    command: str, *, options: Mapping[str, Any] | None = None, pytorch: Mapping[str, Any] | None = None, **application: Any
) -> Normalised:
    """A request for training with PyTorch."""
    training = {"app_type": "ai_training", "ai_training": {"pytorch": pytorch or {}}}
    job = {"application": {"executable": command, **application}, "job_options": options or {}, "optimisation": training}
    return normalise({"job": job})


@pytest.mark.parametrize(
    ("command", "nodes", "each", "ranks"),
    [
        ("torchrun --nnodes 2 --nproc_per_node=4 train.py", 2, 4, None),
        ("torchrun --nnodes=1:4 --nproc-per-node gpu train.py --nnodes 3", None, None, None),
        ("/env/bin/python -m torch.distributed.run --nproc_per_node 4 train.py", None, 4, None),
        ("env HF_HOME=${HOME}/hf torchrun --nproc_per_node 4 train.py", None, 4, None),
        ("accelerate launch --num_processes 8 --num_machines 2 --mixed_precision bf16 train.py", 2, 4, None),
        ("accelerate launch --num_processes 8 train.py", None, None, 8),
        ("deepspeed --num_nodes 2 --num_gpus 4 train.py", 2, 4, None),
        ("srun -N 2 --ntasks-per-node=1 torchrun --nnodes 2 --nproc_per_node 4 train.py", 2, 4, None),
        ("srun -N 2 --ntasks-per-node=1 env A=1 torchrun --nnodes 2 --nproc_per_node 4 train.py", 2, 4, None),
        ("srun -N 2 --ntasks-per-node=1 bash -c 'torchrun --nnodes 2 --nproc_per_node 4 train.py'", 2, None, None),
    ],
)
def test_the_counts_of_the_launcher_are_those_of_the_job(command: str, nodes: int | None, each: int | None, ranks: int | None) -> None:
    """As those of mpirun are: the launcher itself would wait for ever on other numbers of nodes."""
    found = read(command).request
    assert (found.job_options.node_count, found.job_options.process_count_per_node, found.application.mpi_ranks) == (nodes, each, ranks)


@pytest.mark.parametrize(("given", "each"), [({}, 4), ({"process_count_per_node": 2}, 2)])
def test_the_counts_of_the_request_hold(given: Mapping[str, int], each: int) -> None:
    """What the launcher says otherwise is a warning at the field that is used. Of ranks, the request's own count, or one for each GPU."""
    found = read("torchrun --nnodes 4 --nproc_per_node 8 train.py", options={"node_count": 2, "request_gpus": 4, **given})
    assert (found.request.job_options.node_count, found.request.job_options.process_count_per_node) == (2, each)
    fields = [warning.field for warning in found.warnings]
    assert fields == ["application.executable", "job_options.node_count", "job_options.process_count_per_node"]


@pytest.mark.parametrize(
    ("command", "options", "ranks", "read_as", "fields"),
    [
        ("torchrun --nnodes 3 train.py", {}, 8, (None, 8), ["job_options.node_count"]),
        ("torchrun --nnodes 2 train.py", {}, 8, (2, 8), []),
        ("accelerate launch --num_processes 7 train.py", {"node_count": 2}, None, (2, None), ["application.mpi_ranks"]),
        ("accelerate launch --num_processes 8 train.py", {"node_count": 2}, None, (2, 8), []),
        ("accelerate launch --num_processes 6 --num_machines 4 train.py", {}, None, (4, None), ["application.mpi_ranks"]),
    ],
)
def test_a_count_by_which_nodes_differ_is_left_out(
    command: str, options: Mapping[str, int], ranks: int | None, read_as: tuple[int | None, int | None], fields: list[str]
) -> None:
    """torchrun starts as many ranks on each node: the request would be refused for what only the launcher says."""
    application: dict[str, Any] = {"mpi_ranks": ranks} if ranks else {}
    found = read(command, options=options, **application)
    assert (found.request.job_options.node_count, found.request.application.mpi_ranks) == read_as
    assert [warning.field for warning in found.warnings if "do not divide evenly" in warning.message] == fields


@pytest.mark.parametrize(
    ("option", "given", "precision"),
    [("bf16", None, "bf16-mixed"), ("bf16", "fp32", "fp32"), ("no", None, None), ("fp8", None, None)],
)
def test_the_precision_of_accelerate_is_that_of_the_run(option: str, given: str | None, precision: str | None) -> None:
    """Its ranks compute in it, and the results of runs that give none count as those of single precision."""
    training = {"app_type": "ai_training", "ai_training": {"pytorch": {}}, "workload": {"precision": given}}
    application = {"executable": f"accelerate launch --mixed_precision {option} train.py"}
    found = normalise({"job": {"application": application, "optimisation": training}})
    assert found.request.optimisation.workload.precision == precision
    assert any("precision 'bf16-mixed'" in one.message for one in found.warnings) == (precision == "bf16-mixed")


@pytest.mark.parametrize(
    ("command", "given", "layer"),
    [
        ("torchrun train.py", None, "ddp"),
        ("torchrun train.py", "fsdp", "fsdp"),
        ("deepspeed train.py", None, "deepspeed"),
        ("accelerate launch --use_fsdp train.py", None, "fsdp"),
        ("accelerate launch --use_deepspeed train.py", None, "deepspeed"),
        ("python3 train.py", None, None),
    ],
)
def test_the_launcher_says_that_training_is_distributed(command: str, given: str | None, layer: str | None) -> None:
    """Otherwise it would be planned as one process, on the cores of one. What the request says of it holds."""
    assert read(command, pytorch={"distribution": given}).request.optimisation.options.value_of("distribution") == layer


@pytest.mark.parametrize(("pytorch", "application"), [({"distribution": "horovod"}, {}), ({}, {"app_type": "mpi"})])
def test_where_torchrun_does_not_start_the_ranks_it_says_nothing(pytorch: Mapping[str, Any], application: Mapping[str, Any]) -> None:
    """Another launcher then starts what the command says."""
    found = read("torchrun --nproc_per_node 4 train.py", pytorch=pytorch, **application)
    assert found.request.job_options.process_count_per_node is None
    assert found.request.optimisation.options.value_of("distribution") == pytorch.get("distribution")
