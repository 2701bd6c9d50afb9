"""Candidates within the memory that nodes have, or GPUs."""

from __future__ import annotations

import re
from contextlib import nullcontext
from typing import Any

import pytest

from modak.choosing.candidates import Candidates, enumerate_candidates
from modak.errors import Infeasible
from modak.facts import Facts, Layout, Node, Result, SeriesKey
from modak.normalise import normalise
from modak.perfmodel import fit
from modak.target import resolve
from tests.choosing.asked import TRAINING, candidates, layouts
from tests.examples import Known
from tests.systems import site


def test_ranks_and_memory_on_a_partition_that_is_not_recorded_are_as_requested(known: Known) -> None:
    """Its nodes may be more, and larger."""
    asked = {"partition": "other", "process_count_per_node": 40, "minimum_memory_per_processor": "100 GB"}
    found = candidates(known, "hlrs-testbed", application__app_type="mpi", application__mpi_ranks=4000, job_options=asked)
    assert found.nodes[0].tolist() == [100]


def test_memory_for_each_core_that_a_node_does_not_have_is_refused(known: Known) -> None:
    """48 ranks on the 77 GB of a thin node; 38 of them would have it."""
    asked = {"partition": "thin", "process_count_per_node": 48, "minimum_memory_per_processor": "2 GB"}
    with pytest.raises(Infeasible, match=r"job_options.minimum_memory_per_processor: 96 GB for the cores of a node .* 77 GB usable"):
        candidates(known, application__app_type="mpi", job_options=asked)
    assert candidates(known, application__app_type="mpi", job_options={**asked, "process_count_per_node": 38}).shapes


def test_hyper_threads_have_the_memory_of_their_cores(known: Known) -> None:
    """40 ranks of two threads take 40 cores, and not the 48 of the node."""
    asked = {"partition": "thin", "process_count_per_node": 40, "minimum_memory_per_processor": "1.9 GB"}
    found = candidates(known, application__app_type="mpi", application__threads=2, job_options=asked)
    assert layouts(found) == {(40, 2, 0)}


@pytest.mark.parametrize(
    ("counts", "section", "chosen"),
    [
        ({}, {"mpi": {}}, (38, 1, 0)),
        ({"mpi_ranks": 96}, {"mpi": {}}, (32, 1, 0)),
        ({"allowed_ranks": [32, 48]}, {"mpi": {}}, (32, 1, 0)),
        ({"threads": 12}, {"mpi": {}, "openmp": {}}, (2, 12, 0)),
        ({}, {"mpi": {}, "openmp": {}}, (2, 19, 0)),
        ({}, {"openmp": {}}, (1, 38, 0)),
    ],
)
def test_open_counts_use_as_many_cores_as_have_the_memory(
    known: Known, counts: dict[str, Any], section: dict[str, Any], chosen: tuple[int, ...]
) -> None:
    """Of the 48 of a thin node, the 38 that have 2 GB each of its 77 GB: in ranks, or in their threads."""
    asked = {"app_type": "hpc", "hpc": section}
    given: dict[str, Any] = {f"application__{name}": value for name, value in counts.items()}
    given["job_options__minimum_memory_per_processor"] = "2 GB"
    found = candidates(known, optimisation=asked, application__app_type="hpc", **given)
    assert layouts(found) == {chosen}


def test_memory_for_each_core_counts_also_beside_memory_of_a_node(known: Known) -> None:
    """However little it is: schedulers get both."""
    both = {"minimum_memory_per_processor": "2 GB", "memory_limit": "10 GB"}
    assert layouts(candidates(known, application__app_type="mpi", job_options=both)) == {(38, 1, 0)}


def test_ranks_left_out_for_the_memory_of_cores_are_explained(known: Known) -> None:
    """With what each core needs."""
    found = candidates(known, application__app_type="mpi", job_options__minimum_memory_per_processor="2 GB")
    assert "ranks per node: at most 38, because each core needs 2 GB of its memory" in found.decisions


def test_what_does_not_fit_the_usable_memory_is_no_candidate(known: Known) -> None:
    """Four ranks of 20 GB exceed the 77 GB of a thin node; two do not."""
    workload = {"workload": {"application": "3dgan", "memory_per_rank_gb": 20}}
    assert layouts(candidates(known, application="3dgan", optimisation=workload)) == {(1, 48, 0), (2, 48, 0)}


@pytest.mark.parametrize(
    ("gigabytes", "section", "chosen"),
    [
        (1, {"mpi": {}}, (48, 1, 0)),
        (4, {"mpi": {}}, (18, 1, 0)),
        (60, {"mpi": {}}, (1, 1, 0)),
        (60, {"mpi": {}, "openmp": {}}, (1, 48, 0)),
    ],
)
def test_as_many_ranks_as_fit_the_memory_are_tried(known: Known, gigabytes: int, section: dict[str, Any], chosen: tuple[int, ...]) -> None:
    """Of the 77 GB of a node, as many on each of its two sockets: 18 ranks of 4 GB, of 19 that fit."""
    asked = {"app_type": "hpc", "hpc": section, "workload": {"memory_per_rank_gb": gigabytes}}
    found = candidates(known, optimisation=asked, application__app_type="mpi")
    assert layouts(found) == {chosen}
    assert any(why.startswith("ranks per node: at most") for why in found.decisions) is (gigabytes > 1)


def test_ranks_are_no_more_than_have_the_cores_that_the_request_gives_each(known: Known) -> None:
    """Also those of one thread, where their number is open: twelve of four cores fill a node of 48."""
    found = candidates(known, application__app_type="mpi", application__threads=1, job_options__core_count_per_process=4)
    assert layouts(found) == {(12, 1, 0)}


@pytest.mark.parametrize(
    ("gigabytes", "told"),
    [(10, "480 GB per node are needed (48 ranks"), (300, "optimisation.workload.memory_per_rank_gb: 300 GB per node are needed (1 rank")],
)
def test_where_no_measured_layout_fits_the_memory_a_rule_of_thumb_does(gigabytes: int, told: str) -> None:
    """Ranks of a larger problem need more of it than those of the measured one, which is said; where not even one fits, so is that."""
    series = SeriesKey(application="solver", system="site", metric="wall_time", unit="s")
    full = {nodes: Layout(nodes=nodes, ranks_per_node=48, threads_per_rank=1) for nodes in (1, 2)}
    results = [Result(series=series, layout=layout, value=900 / nodes) for nodes, layout in full.items()]
    asked = {"app_type": "hpc", "hpc": {"mpi": {}}, "workload": {"memory_per_rank_gb": gigabytes}}
    job = {"target": {"name": "site"}, "application": {"app_tag": "solver", "app_type": "mpi"}, "optimisation": asked}
    request, node = normalise({"job": job}).request, Node(processor="epyc", sockets=2, cores=48, memory_gb=192)
    facts = Facts(version="1", systems={"site": site(node)}, models=tuple(fit(results)))
    with pytest.raises(Infeasible, match=f"^{re.escape(told)}") if gigabytes == 300 else nullcontext():
        found = enumerate_candidates(request, resolve(request, facts), facts.models)
        assert layouts(found) == {(18, 1, 0)}
        assert any(why.startswith(f"layouts that were measured: {told}") for why in found.decisions)


@pytest.mark.parametrize(
    ("counts", "workload", "told"),
    [
        ({"process_count_per_node": 48}, {"memory_per_rank_gb": 4}, "77 GB usable: room for 19 ranks"),
        ({"node_count": 2}, {"memory_per_rank_gb": 4}, "77 GB usable: room for 19 ranks, so 96 ranks need 6 nodes"),
        ({"node_count": 12}, {"memory_per_rank_gb": 15}, "77 GB usable: room for 5 ranks, so 96 ranks need 20 nodes"),
        ({"process_count_per_node": 48}, {"memory_per_rank_gb": 90}, "77 GB usable"),
        (
            {"partition": "thin", "process_count_per_node": 48, "minimum_memory_per_processor": "2 GB"},
            {},
            "77 GB usable: enough for 38 cores",
        ),
    ],
)
def test_counts_that_do_not_fit_the_memory_are_told_with_what_would(
    counts: dict[str, Any], workload: dict[str, Any], told: str, known: Known
) -> None:
    """The next request is right, and not one by trial."""
    ranks = {"application__mpi_ranks": 96} if "node_count" in counts else {}
    asked: dict[str, Any] = {"application__app_type": "mpi", "optimisation": {"workload": workload}, "job_options": counts, **ranks}
    with pytest.raises(Infeasible, match=f"{re.escape(told)}$"):
        candidates(known, **asked)


def test_nothing_that_fits_says_what_is_usable(known: Known) -> None:
    """The line names need and supply, and the field that asks for too much: here not the memory of cores."""
    workload = {"workload": {"application": "3dgan", "memory_per_rank_gb": 90}}
    with pytest.raises(Infeasible, match=r"optimisation.workload.memory_per_rank_gb: 90 GB per node are needed .* 77 GB usable"):
        candidates(known, application="3dgan", optimisation=workload, job_options={"minimum_memory_per_processor": "1 GB"})


def test_memory_is_compared_and_shown_to_the_byte(known: Known) -> None:
    """Not to the last digit of a float, and no node refuses what reads like the memory that it has."""

    def per_node(gigabytes: float) -> Candidates:
        workload = {"workload": {"application": "3dgan", "memory_per_rank_gb": gigabytes, "memory_aside_gb": 0.1}}
        return candidates(known, optimisation=workload, job_options__process_count_per_node=1)

    assert per_node(76.9 + 1e-12).shapes
    with pytest.raises(Infeasible, match=r"77.00000001 GB per node are needed .* 77 GB usable"):
        per_node(76.90000001)


def test_a_memory_limit_beyond_the_nodes_is_infeasible(known: Known) -> None:
    """Overrunning the usable memory takes the node down there; no other partition has nodes with as much."""
    with pytest.raises(Infeasible, match=r"job_options.memory_limit: 900 GB .* 77 GB are usable"):
        candidates(known, job_options__memory_limit="900 GB")


def test_what_lies_in_memory_beside_the_ranks_counts(known: Known) -> None:
    """An image unpacked into memory leaves room for one rank of 38 GB where two fitted."""
    workload = {"workload": {"application": "3dgan", "memory_per_rank_gb": 38}}
    assert layouts(candidates(known, application="3dgan", optimisation=workload)) == {(1, 48, 0), (2, 48, 0)}
    workload["workload"]["memory_aside_gb"] = 4
    assert layouts(candidates(known, application="3dgan", optimisation=workload)) == {(1, 48, 0)}


def test_what_exceeds_a_gpu_is_no_candidate(known: Known) -> None:
    """The line names the GPU and what it has."""
    workload = {**TRAINING, "workload": {"memory_per_gpu_gb": 12}}
    with pytest.raises(
        Infeasible, match=r"optimisation.workload.memory_per_gpu_gb: 12 GB are needed per GPU, but the .*1080 Ti.* has 11 GB"
    ):
        candidates(known, "hlrs-testbed", optimisation=workload, job_options__request_gpus=1)
    fits = {**TRAINING, "workload": {"memory_per_gpu_gb": 11}}
    assert candidates(known, "hlrs-testbed", optimisation=fits, job_options__request_gpus=1).shapes
