"""Candidates and the GPUs that nodes have, that a request asks for, or that results used."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from modak.choosing.candidates import enumerate_candidates
from modak.errors import Infeasible
from modak.facts import Layout, Result, SeriesKey
from modak.normalise import normalise
from modak.optimise import recommend
from modak.perfmodel import fit
from modak.target import Target, resolve
from tests.choosing.asked import SPREAD, TRAINING, Known, candidates, layouts


def test_results_that_do_not_state_their_gpus_hardly_ran_on_few_of_them(known: Known) -> None:
    """Times of steps without a batch size are no rate: all layouts have the time of the rate that states none."""
    step = SeriesKey(application="net", system="dgx-1-v100", metric="step_time", unit="s")
    rate = step.model_copy(update={"metric": "throughput", "unit": "samples/s"})
    steps = [Result(series=step, layout=Layout(nodes=1, gpus_per_node=gpus), value=0.1) for gpus in (1, 8)]
    models = fit([*steps, Result(series=rate, layout=Layout(nodes=1), value=5000.0)])
    work = {**SPREAD, "workload": {"application": "net", "samples": 1e6}}
    request = normalise({"job": {"optimisation": work, "target": {"name": "dgx-1-v100"}}}).request
    choices = recommend(request, replace(known(None), models=models)).choices
    assert len({choice.prediction.value for choice in choices}) == 1
    assert choices[0].configuration.gpus_per_node == 8


@pytest.mark.parametrize(("kind", "gpus"), [(None, 4), ("none", 0)])
def test_runs_on_gpus_keep_them_where_the_system_is_not_described(kind: str | None, gpus: int) -> None:
    """Results are often loaded before anybody writes down what the machine is; a request without accelerators has none."""
    series = SeriesKey(application="net", system="here", metric="epoch_time", unit="s")
    curves = fit([Result(series=series, layout=Layout(nodes=n, ranks_per_node=4, gpus_per_node=4), value=10.0 / n) for n in (1, 2)])
    wanted = {"opt_build": {"acc_type": kind}}
    request = normalise({"job": {"application": {"app_tag": "net"}, "optimisation": wanted, "target": {"name": "here"}}}).request
    shapes = enumerate_candidates(request, Target(system=None, name="here"), curves).shapes
    assert {shape.gpus_per_node for shape in shapes} == {gpus}


@pytest.mark.parametrize(
    ("options", "ranks"),
    [
        ({"jax": {}}, {1}),
        ({"pytorch": {}}, {1}),
        ({"pytorch": {"distribution": "ddp"}}, {1, 4}),
        ({"pytorch": {}, "config": {"distributed_training": True}}, {1, 4}),
    ],
)
def test_one_rank_that_drove_several_gpus_does_so_again(options: dict[str, Any], ranks: set[int]) -> None:
    """Four ranks would all take the four GPUs; but one rank of DDP, or of torchrun on several nodes, would leave three of them idle,
    whatever the accounting counted."""
    series = SeriesKey(application="net", system="here", metric="epoch_time", unit="s")
    ways = [Layout(nodes=1, ranks_per_node=1, gpus_per_node=gpus) for gpus in (1, 4)]
    curves = fit([Result(series=series, layout=one, value=10.0 / (one.gpus_per_node or 1)) for one in ways])
    wanted = {"app_type": "ai_training", "ai_training": options}
    request = normalise({"job": {"application": {"app_tag": "net"}, "optimisation": wanted, "target": {"name": "here"}}}).request
    found = enumerate_candidates(request, Target(system=None, name="here"), curves)
    assert {shape.ranks_per_node for shape in found.shapes} == ranks
    assert any("with a rank for each GPU" in line for line in found.decisions) == (4 in ranks)


def test_as_many_ranks_per_gpu_as_were_measured_are_started() -> None:
    """Two on each, however many GPUs a node gives to the job."""
    series = SeriesKey(application="net", system="here", metric="epoch_time", unit="s")
    curves = fit(
        [Result(series=series, layout=Layout(nodes=1, ranks_per_node=2 * gpus, gpus_per_node=gpus), value=9.0 / gpus) for gpus in (1, 4)]
    )
    request = normalise({"job": {"application": {"app_tag": "net"}, "target": {"name": "here"}}}).request
    found = enumerate_candidates(request, Target(system=None, name="here"), curves)
    assert {(shape.ranks_per_node, shape.gpus_per_node) for shape in found.shapes} == {(2, 1), (8, 4)}


def test_results_that_tell_gpus_alone_are_of_one_process_in_inference_and_share_the_cores(known: Known) -> None:
    """A rank for each GPU would answer all requests four times; one GPU of eight has an eighth of the 40 cores, but for a
    job that has the node for itself."""
    series = SeriesKey(application="net", system="dgx-1-v100", metric="throughput", unit="tokens/s")
    curves = fit([Result(series=series, layout=Layout(nodes=1, gpus_per_node=gpus), value=100.0 * gpus) for gpus in (1, 4)])
    wanted = {"app_type": "ai_inference", "ai_inference": {"pytorch": {}}, "workload": {"application": "net", "amount": "1e6 tokens"}}
    request = normalise({"job": {"optimisation": wanted, "target": {"name": "dgx-1-v100"}}}).request
    assert layouts(enumerate_candidates(request, resolve(request, known("net")), curves)) == {(1, 5, 1), (1, 20, 4), (1, 40, 8)}
    alone = request.changed(job_options={"node_exclusive": True})
    assert layouts(enumerate_candidates(alone, resolve(alone, known("net")), curves)) == {(1, 40, 1), (1, 40, 4), (1, 40, 8)}


@pytest.mark.parametrize(("said", "found"), [(True, {1, 2, 4, 8}), (False, {1})])
@pytest.mark.parametrize("ranks", [None, 1])
def test_a_distributed_program_that_ran_on_one_gpu_takes_those_beside_it(
    known: Known, ranks: int | None, said: bool, found: set[int]
) -> None:
    """With a rank for each. On another node the idle GPUs of the first one would be idle, too."""
    series = SeriesKey(application="net", system="dgx-1-v100", metric="epoch_time", unit="s")
    curves = fit([Result(series=series, layout=Layout(nodes=1, gpus_per_node=1, ranks_per_node=ranks), value=9e4)])
    training = {"app_type": "ai_training", "ai_training": {"config": {"distributed_training": said}}}
    request = normalise({"job": {"application": {"app_tag": "net"}, "target": {"name": "dgx-1-v100"}, "optimisation": training}}).request
    shapes = enumerate_candidates(request, resolve(request, known(None)), curves).shapes
    assert {(shape.ranks_per_node, shape.gpus_per_node) for shape in shapes} == {(gpus, gpus) for gpus in found}


@pytest.mark.parametrize(
    ("scheduler", "ssh", "most"), [("slurm", False, 16), ("pbspro", None, 16), ("pbspro", False, 1), ("shell", None, 1)]
)
def test_results_over_gpus_of_several_nodes_scale_on_a_new_system(known: Known, scheduler: str, ssh: bool | None, most: int) -> None:
    """Elsewhere a node was filled, then two: here all counts of nodes are candidates, but where nothing starts torchrun on them."""
    facts = known("nobody-ran-this")
    node = facts.systems["dgx-1-v100"].default_partition.model_copy(update={"nodes": 16})
    system = facts.systems["dgx-1-v100"].model_copy(
        update={"name": "new", "scheduler": scheduler, "ssh_between_nodes": ssh, "partitions": (node,)}
    )
    facts = replace(facts, systems={**facts.systems, "new": system})
    series = SeriesKey(application="net", system="elsewhere", framework="pytorch", metric="epoch_time", unit="s")
    ways = [Layout(nodes=nodes, gpus_per_node=gpus) for nodes, gpus in ((1, 1), (1, 4), (2, 4))]
    curves = fit([Result(series=series, layout=one, value=100.0 / ((one.nodes or 1) * (one.gpus_per_node or 1))) for one in ways])
    wanted = {"app_type": "ai_training", "ai_training": {"config": {"distributed_training": True}, "pytorch": {}}}
    request = normalise({"job": {"application": {"app_tag": "net"}, "optimisation": wanted, "target": {"name": "new"}}}).request
    found = enumerate_candidates(request, resolve(request, facts), curves)
    assert [int(grid.max()) for grid in found.nodes] == [most]
    assert any("only single-node runs" in line for line in found.decisions) == (most == 1)


@pytest.mark.parametrize(("measured", "asked", "found"), [((4, 3, 4), 2, (2, 3, 2)), ((8, 1, 4), 2, (4, 1, 2)), ((1, 12, 1), 4, (4, 3, 4))])
def test_layouts_measured_on_more_or_fewer_gpus_keep_their_ranks_per_gpu(
    known: Known, measured: tuple[int, ...], asked: int, found: tuple[int, ...]
) -> None:
    """And their threads, as far as there are cores: an MPI program got one thread for each rank, and its cores stayed idle."""
    facts, names = known("nobody-ran-this"), ("ranks_per_node", "threads_per_rank", "gpus_per_node")
    series = SeriesKey(application="solver", system="skylake-bronze-1080ti", metric="wall_time", unit="s")
    layout = Layout(nodes=1, **dict(zip(names, measured, strict=True)))
    job = {"application": {"app_tag": "solver", "app_type": "mpi"}, "job_options": {"request_gpus": asked}}
    request = normalise({"job": {**job, "target": {"name": series.system}}}).request
    curves = fit([Result(series=series, layout=layout, value=10.0)])
    assert layouts(enumerate_candidates(request, resolve(request, facts), curves)) == {found}


@pytest.mark.parametrize(("nodes", "ranks"), [({}, 4), ({"job_options__node_count": 4}, 4), ({"job_options__node_count": 2}, 8)])
def test_of_the_numbers_of_ranks_that_a_program_runs_with_those_with_a_gpu_each_are_taken(
    known: Known, nodes: dict[str, Any], ranks: int
) -> None:
    """And not those that fill the cores: 32 processes would share four GPUs."""
    found = candidates(known, "skylake-bronze-1080ti", application__allowed_ranks=[16, 32, 64], optimisation=SPREAD, **nodes)
    assert {(shape.ranks_per_node, shape.gpus_per_node) for shape in found.shapes} == {(ranks, 4)}


def test_gpus_that_are_not_a_ranks_own_stay_where_fewer_ranks_are_asked_for() -> None:
    """8 ranks on 4 GPUs were measured; 6 ranks have these GPUs, too."""
    series = SeriesKey(application="solver", system="here", metric="wall_time", unit="s")
    curves = fit([Result(series=series, layout=Layout(nodes=1, ranks_per_node=8, gpus_per_node=4), value=10.0)])
    job = {"application": {"app_tag": "solver", "app_type": "mpi", "mpi_ranks": 6}, "target": {"name": "here"}}
    found = enumerate_candidates(normalise({"job": job}).request, Target(system=None, name="here"), curves)
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
    facts = known("nobody-ran-this")
    thin, fat = facts.systems["supermuc-ng"].partitions
    gpus = fat.model_copy(
        update={"node": fat.node.model_copy(update={"accelerator": "v100-sxm2-16gb", "accelerators": 2}), "only_if_named": True}
    )
    here = facts.systems["supermuc-ng"].model_copy(update={"partitions": (thin, gpus if partition else fat)})
    job = {"target": {"name": "supermuc-ng"}, "application": {"app_tag": "x"}, "job_options": {"request_gpus": 2, "partition": partition}}
    request = normalise({"job": job}).request
    with pytest.raises(Infeasible) as refused:
        enumerate_candidates(request, resolve(request, replace(facts, systems={"supermuc-ng": here})), facts.models)
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
