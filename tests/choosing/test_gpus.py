"""Candidates and the GPUs that nodes have, that a request asks for, or that results used."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from modak.errors import Infeasible
from modak.optimise import recommend
from modak.perfmodel import fit
from tests.choosing.asked import SPREAD, TRAINING, asked, candidates, changed, layouts, of_mpi
from tests.examples import Known
from tests.runs import ran


def test_results_that_do_not_state_their_gpus_hardly_ran_on_few_of_them(known: Known) -> None:
    """Times of steps without a batch size are no rate: all layouts have the time of the rate that states none."""
    steps = [ran(0.1, nodes=1, gpus_per_node=gpus, system="dgx-1-v100", metric="step_time") for gpus in (1, 8)]
    models = fit([*steps, ran(5000.0, nodes=1, system="dgx-1-v100", metric="throughput", unit="samples/s")])
    work = {**SPREAD, "workload": {"samples": 1e6}}
    choices = recommend(asked("dgx-1-v100", optimisation=work), replace(known(None), models=models)).choices
    assert len({choice.prediction.value for choice in choices}) == 1
    assert choices[0].configuration.gpus_per_node == 8


@pytest.mark.parametrize(("kind", "gpus"), [(None, 4), ("none", 0)])
def test_runs_on_gpus_keep_them_where_the_system_is_not_described(known: Known, kind: str | None, gpus: int) -> None:
    """Results are often loaded before anybody writes down what the machine is; a request without accelerators has none."""
    runs = [ran(10.0 / n, nodes=n, ranks_per_node=4, gpus_per_node=4, system="here") for n in (1, 2)]
    found = candidates(known, "here", measured=runs, optimisation={"opt_build": {"acc_type": kind}})
    assert {shape.gpus_per_node for shape in found.shapes} == {gpus}


@pytest.mark.parametrize(
    ("options", "ranks"),
    [
        ({"jax": {}}, {(1, 8)}),
        ({"pytorch": {}}, {(1, 8)}),
        ({"pytorch": {"distribution": "ddp"}}, {(1, 8), (4, 2)}),
        ({"pytorch": {}, "config": {"distributed_training": True}}, {(1, 8), (4, 2)}),
    ],
)
def test_one_rank_that_drove_several_gpus_does_so_again(known: Known, options: dict[str, Any], ranks: set[tuple[int, int]]) -> None:
    """Four ranks would all take the four GPUs; but one rank of DDP, or of torchrun on several nodes, would leave three of them idle,
    whatever the accounting counted. Four ranks share its threads."""
    runs = [ran(10.0 / gpus, nodes=1, ranks_per_node=1, threads_per_rank=8, gpus_per_node=gpus, system="here") for gpus in (1, 4)]
    found = candidates(known, "here", measured=runs, optimisation={"app_type": "ai_training", "ai_training": options})
    assert {(shape.ranks_per_node, shape.threads_per_rank) for shape in found.shapes} == ranks
    assert any("with a rank for each GPU" in line for line in found.decisions) == ((4, 2) in ranks)


def test_as_many_ranks_per_gpu_as_were_measured_are_started(known: Known) -> None:
    """Two on each, however many GPUs a node gives to the job."""
    runs = [ran(9.0 / gpus, nodes=1, ranks_per_node=2 * gpus, gpus_per_node=gpus, system="here") for gpus in (1, 4)]
    found = candidates(known, "here", measured=runs)
    assert {(shape.ranks_per_node, shape.gpus_per_node) for shape in found.shapes} == {(2, 1), (8, 4)}


@pytest.mark.parametrize(
    ("options", "one_for_all"), [({"nvcaffe": {"distribution": "nccl"}}, True), ({"pytorch": {"distribution": "ddp"}}, False)]
)
def test_more_gpus_than_were_measured_have_as_many_ranks_each_unless_one_drives_all(
    known: Known, options: dict[str, Any], one_for_all: bool
) -> None:
    """A second process of NVCaffe would take the GPUs of the first."""
    runs = [ran(9.0, nodes=1, ranks_per_node=1, threads_per_rank=1, gpus_per_node=1, system="dgx-1-v100")]
    found = candidates(known, "dgx-1-v100", measured=runs, optimisation={"app_type": "ai_training", "ai_training": options})
    counts = {(shape.ranks_per_node, shape.gpus_per_node) for shape in found.shapes}
    assert counts == {(1 if one_for_all else gpus, gpus) for gpus in (1, 2, 4, 8)}


def test_results_that_tell_gpus_alone_are_of_one_process_in_inference_and_share_the_cores(known: Known) -> None:
    """A rank for each GPU would answer all requests four times; one GPU of eight has an eighth of the 40 cores, but for a
    job that has the node for itself."""
    rate = {"system": "dgx-1-v100", "metric": "throughput", "unit": "tokens/s"}
    runs = [ran(100.0 * gpus, nodes=1, gpus_per_node=gpus, **rate) for gpus in (1, 4)]
    wanted = {"app_type": "ai_inference", "ai_inference": {"pytorch": {}}, "workload": {"amount": "1e6 tokens"}}
    assert layouts(candidates(known, "dgx-1-v100", measured=runs, optimisation=wanted)) == {(1, 5, 1), (1, 20, 4), (1, 40, 8)}
    alone = candidates(known, "dgx-1-v100", measured=runs, optimisation=wanted, job_options__node_exclusive=True)
    assert layouts(alone) == {(1, 40, 1), (1, 40, 4), (1, 40, 8)}


@pytest.mark.parametrize(("said", "found"), [(True, {1, 2, 4, 8}), (False, {1})])
@pytest.mark.parametrize("ranks", [None, 1])
def test_a_distributed_program_that_ran_on_one_gpu_takes_those_beside_it(
    known: Known, ranks: int | None, said: bool, found: set[int]
) -> None:
    """With a rank for each. On another node the idle GPUs of the first one would be idle, too."""
    run = ran(9e4, nodes=1, gpus_per_node=1, ranks_per_node=ranks, system="dgx-1-v100", metric="epoch_time")
    training = {"app_type": "ai_training", "ai_training": {"config": {"distributed_training": said}}}
    shapes = candidates(known, "dgx-1-v100", measured=[run], optimisation=training).shapes
    assert {(shape.ranks_per_node, shape.gpus_per_node) for shape in shapes} == {(gpus, gpus) for gpus in found}


@pytest.mark.parametrize(
    ("scheduler", "ssh", "most"), [("slurm", False, 16), ("pbspro", None, 16), ("pbspro", False, 1), ("shell", None, 1)]
)
def test_results_over_gpus_of_several_nodes_scale_on_a_new_system(known: Known, scheduler: str, ssh: bool | None, most: int) -> None:
    """Elsewhere a node was filled, then two: here all counts of nodes are candidates, but where nothing starts torchrun on them."""
    node = known(None).systems["dgx-1-v100"].default_partition.model_copy(update={"nodes": 16})
    there = changed(known, "dgx-1-v100", name="new", scheduler=scheduler, ssh_between_nodes=ssh, partitions=(node,))
    series = {"system": "elsewhere", "framework": "pytorch", "metric": "epoch_time"}
    runs = [ran(100.0 / (n * gpus), nodes=n, gpus_per_node=gpus, **series) for n, gpus in ((1, 1), (1, 4), (2, 4))]
    found = candidates(there, "new", measured=runs, optimisation=SPREAD)
    assert [int(grid.max()) for grid in found.nodes] == [most]
    assert any("only single-node runs" in line for line in found.decisions) == (most == 1)


@pytest.mark.parametrize(("measured", "asked", "found"), [((4, 3, 4), 2, (2, 3, 2)), ((8, 1, 4), 2, (4, 1, 2)), ((1, 12, 1), 4, (4, 3, 4))])
def test_layouts_measured_on_more_or_fewer_gpus_keep_their_ranks_per_gpu(
    known: Known, measured: tuple[int, ...], asked: int, found: tuple[int, ...]
) -> None:
    """And their threads, as far as there are cores: an MPI program got one thread for each rank, and its cores stayed idle."""
    system, counts = "skylake-bronze-1080ti", dict(zip(("ranks_per_node", "threads_per_rank", "gpus_per_node"), measured, strict=True))
    run = ran(10.0, nodes=1, system=system, **counts)
    assert layouts(of_mpi(known, [run], system, job_options__request_gpus=asked)) == {found}


@pytest.mark.parametrize(("nodes", "ranks"), [({}, 4), ({"job_options__node_count": 4}, 4), ({"job_options__node_count": 2}, 8)])
def test_of_the_numbers_of_ranks_that_a_program_runs_with_those_with_a_gpu_each_are_taken(
    known: Known, nodes: dict[str, Any], ranks: int
) -> None:
    """And not those that fill the cores: 32 processes would share four GPUs."""
    found = candidates(known, "skylake-bronze-1080ti", application__allowed_ranks=[16, 32, 64], optimisation=SPREAD, **nodes)
    assert {(shape.ranks_per_node, shape.gpus_per_node) for shape in found.shapes} == {(ranks, 4)}


def test_gpus_that_are_not_a_ranks_own_stay_where_fewer_ranks_are_asked_for(known: Known) -> None:
    """8 ranks on 4 GPUs were measured; 6 ranks have these GPUs, too."""
    run = ran(10.0, nodes=1, ranks_per_node=8, gpus_per_node=4, system="here")
    found = of_mpi(known, [run], "here", application__mpi_ranks=6)
    assert {(shape.ranks_per_node, shape.gpus_per_node) for shape in found.shapes} == {(6, 4)}


def test_more_gpus_than_there_are_become_those_there_are(known: Known) -> None:
    """With a warning."""
    found = candidates(known, "hlrs-testbed", optimisation=TRAINING, job_options__request_gpus=8)
    assert found.shapes[0].gpus_per_node == 1
    assert [warning.field for warning in found.warnings] == ["job_options.request_gpus"]


@pytest.mark.parametrize(
    ("partition", "says"),
    [
        (None, "none: if they have GPUs, enter 'accelerator' (the model) and 'accelerators' (their number) in its node there"),
        ("thin", "none; partitions with GPUs: fat (takes only jobs that name it in job_options.partition)"),
    ],
)
def test_gpus_that_no_node_is_known_to_have_are_refused(known: Known, partition: str | None, says: str) -> None:
    """As nodes are detected whose scheduler counts GPUs and does not name their model: the job ran without them, with a warning."""
    thin, fat = known(None).systems["supermuc-ng"].partitions
    node = fat.node.model_copy(update={"accelerator": "v100-sxm2-16gb", "accelerators": 2})
    gpus = fat.model_copy(update={"node": node, "only_if_named": True})
    there = changed(known, partitions=(thin, gpus if partition else fat))
    with pytest.raises(Infeasible) as refused:
        candidates(there, job_options={"request_gpus": 2, "partition": partition})
    asked = "job_options.request_gpus: 2 GPUs per node requested, but the system file gives nodes of supermuc-ng/thin"
    assert str(refused.value) == f"{asked} {says}"


def test_gpus_of_another_maker_than_the_requested_one_are_warned_of(known: Known) -> None:
    """The job uses what is there, which images and scripts then fit."""
    found = candidates(known, "hlrs-testbed", optimisation={**TRAINING, "opt_build": {"acc_type": "intel"}})
    (warning,) = found.warnings
    assert (warning.field, warning.message) == (
        "optimisation.opt_build.acc_type",
        "the GPUs of hlrs-testbed are nvidia's, not intel's; the job uses these",
    )


@pytest.mark.parametrize(
    ("system", "gpus", "used"),
    [("hlrs-testbed", None, "CPUs and GPUs"), ("hlrs-testbed", 0, "CPUs"), ("zenith", None, "CPUs"), (None, None, "CPUs")],
)
def test_an_fpga_is_told_not_to_be_used(known: Known, system: str | None, gpus: int | None, used: str) -> None:
    """On a system with NVIDIA's GPUs the answer is one for these."""
    found = candidates(known, system, optimisation={"opt_build": {"acc_type": "fpga"}}, job_options__request_gpus=gpus)
    (told,) = [one.message for one in found.warnings if one.field == "optimisation.opt_build.acc_type"]
    assert told == f"FPGAs are not supported: the job is planned for the {used} of {system or 'the target'}"


@pytest.mark.parametrize(
    ("job", "field"),
    [
        ({"job_options": {"request_gpus": 1}}, "job_options.request_gpus"),
        ({"optimisation": {"app_type": "hpc", "hpc": {"openacc": {"number_of_acc": 1}}}}, "optimisation.hpc.openacc.number_of_acc"),
        (
            {"optimisation": {"app_type": "hpc", "app_type-hpc": {"mpi": {}, "parallelisation-opencl": {"number_of_acc": 1}}}},
            "optimisation.app_type-hpc.parallelisation-opencl.number_of_acc",
        ),
    ],
)
def test_gpus_that_no_node_has_are_refused_where_they_are_asked_for(known: Known, job: dict[str, Any], field: str) -> None:
    """Under the key that the request has, not the one that it is read as."""
    with pytest.raises(Infeasible) as wrong:
        candidates(known, **job)
    assert [fault.field for fault in wrong.value.faults] == [field]
