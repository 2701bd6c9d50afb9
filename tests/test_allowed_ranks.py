"""Requests that allow some numbers of ranks alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from modak.errors import Infeasible
from modak.knowledge import packaged_root, read_guide
from modak.normalise import normalise
from modak.optimise import optimise, recommend
from modak.perfmodel import fit
from modak.prepared import prepared
from modak.sizing.size import size
from tests.examples import Known, answer, example
from tests.runs import ran


def test_allowed_ranks_that_all_share_cores_are_as_few_as_possible(known: Known) -> None:
    """On 20 cores 40 ranks wait for each other less than 80."""
    counts = {"application__allowed_ranks": [40, 80], "job_options__node_count": 1}
    request = example("code-aster-mpi", optimisation__workload__memory_per_rank_gb=None, **counts)
    assert answer(request, known).plan.configuration.ranks_per_node == 40


def test_only_allowed_numbers_of_ranks_are_chosen(known: Known) -> None:
    """Of powers of two of ranks, 128 are the fewest with which it meets its deadline: on 32 nodes, not on the 24 that would be enough."""
    powers = [2**exponent for exponent in range(4, 11)]
    found = recommend(example("3dgan-supermuc-ng", application__allowed_ranks=powers), known("3dgan"))
    first = found.choices[0].configuration
    assert (first.nodes, first.ranks_per_node) == (32, 4)
    assert {choice.configuration.nodes * choice.configuration.ranks_per_node for choice in found.choices} <= set(powers)


def test_a_sizing_has_allowed_numbers_of_ranks_alone(known: Known) -> None:
    """The same as the choice: 24 nodes would be enough."""
    request = example("3dgan-supermuc-ng", application__allowed_ranks=[2**exponent for exponent in range(4, 11)])
    found = size(request, known("3dgan"), read_guide(packaged_root() / "sizing/primeflex.toml"))
    assert {one.at_nodes for one in found.platforms if one.feasible} == {32}


@pytest.mark.parametrize("nodes", [None, 1])
def test_allowed_ranks_without_results_fill_a_node_as_far_as_they_can(known: Known, nodes: int | None) -> None:
    """Of powers of two, 16 of its 20 cores get a rank; two ranks on one node would be allowed, too, and 64 would share cores."""
    powers = [2**exponent for exponent in range(1, 7)]
    counts = {"application__allowed_ranks": powers, "job_options__node_count": nodes}
    request = example("code-aster-mpi", optimisation__workload__memory_per_rank_gb=None, **counts)
    chosen = answer(request, known).plan.configuration
    assert (chosen.nodes, chosen.ranks_per_node) == (1, 16)


@pytest.mark.parametrize(("allowed", "chosen"), [([125, 1000], (5, 25)), ([1000], (25, 40)), ([27, 64, 125], (2, 32))])
def test_allowed_ranks_may_need_more_nodes_to_be_even(known: Known, allowed: list[int], chosen: tuple[int, int]) -> None:
    """On 48 cores 125 ranks are 42 on each of three nodes, but one too many; where another number fills its nodes, that one is taken."""
    job = {"job": {"application": {"app_type": "mpi", "executable": "./a", "allowed_ranks": allowed}, "target": {"name": "supermuc-ng"}}}
    made = answer(normalise(job).request, known).plan.configuration
    assert (made.nodes, made.ranks_per_node) == chosen


def test_allowed_ranks_hold_for_each_number_of_nodes(known: Known) -> None:
    """Also for one that is asked for after another."""
    facts, asked = prepared(known("3dgan")), {"application__allowed_ranks": [64, 128]}
    layouts = [
        optimise(example("3dgan-supermuc-ng", job_options__node_count=nodes, optimisation__objective={}, **asked), facts).plan.configuration
        for nodes in (16, 32, 64)
    ]
    assert [(chosen.nodes, chosen.ranks_per_node) for chosen in layouts] == [(16, 4), (32, 4), (64, 2)]


def test_allowed_ranks_hold_on_the_nodes_that_are_named(known: Known) -> None:
    """Two nodes have 18 or 32 each; 36 would fill one node best."""
    application = {"app_type": "mpi", "executable": "./a", "allowed_ranks": [36, 64]}
    job = {"application": application, "target": {"name": "supermuc-ng"}, "job_options": {"request_specific_nodes": "n1,n2"}}
    made = answer(normalise({"job": job}).request, known).plan.configuration
    assert (made.nodes, made.ranks_per_node) == (2, 32)


@pytest.mark.parametrize(
    ("counts", "chosen", "told"),
    [
        ({"node_count": 2, "process_count_per_node": 4}, (2, 4), []),
        ({"node_count": 2, "process_count_per_node": 2}, (2, 2), []),
        ({"node_count": 2, "process_count_per_node": 3}, (2, 4), ["job_options.process_count_per_node"]),
        ({"process_count_per_node": 8}, (1, 8), []),
        ({"process_count_per_node": 3}, (1, 8), ["job_options.process_count_per_node"]),
        ({"process_count_per_node": 8, "mpi_ranks": 4}, (1, 4), ["job_options.process_count_per_node"]),
        ({"process_count_per_node": 3, "mpi_ranks": 8}, (3, 3), []),
        ({"node_count": 2, "mpi_ranks": 8}, (2, 4), []),
        ({"node_count": 2, "mpi_ranks": 6}, (2, 3), ["application.mpi_ranks"]),
    ],
)
def test_counts_beside_allowed_ranks_are_kept_or_told(
    known: Known, counts: dict[str, int], chosen: tuple[int, int], told: list[str]
) -> None:
    """A layout that has an allowed number of ranks is no contradiction; of one that has none the nodes are kept."""
    ranks = {"mpi_ranks": counts.pop("mpi_ranks")} if "mpi_ranks" in counts else {}
    application = {"app_type": "mpi", "executable": "./a", "allowed_ranks": [4, 8], **ranks}
    job = {"application": application, "target": {"name": "supermuc-ng"}, "job_options": {"account": "a", **counts}}
    found = answer(normalise({"job": job}).request, known).plan
    made = found.configuration
    assert ((made.nodes, made.ranks_per_node), [one.field for one in found.warnings]) == (chosen, told)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"memory_limit": "1 TB"}, "job_options.memory_limit: 1000 GB per node requested"),
        ({"node_count": 99_999}, "job_options.node_count: 99999 nodes requested"),
    ],
)
def test_what_keeps_even_the_fewest_ranks_from_running_is_told(known: Known, options: dict[str, object], why: str) -> None:
    """Not that their number does not fit."""
    application = {"app_type": "mpi", "executable": "./a", "allowed_ranks": [8, 27]}
    job = {"application": application, "target": {"name": "supermuc-ng"}, "job_options": {**options, "partition": "thin"}}
    with pytest.raises(Infeasible, match=why):
        answer(normalise({"job": job}).request, known)


def test_a_layout_without_a_rival_on_its_nodes_is_called_the_only_one_there(known: Known) -> None:
    """Another one was measured, too, on other nodes, where its ranks are as many as the program runs with."""
    runs = [ran(100.0, nodes=nodes, ranks_per_node=ranks, threads_per_rank=1) for nodes, ranks in ((1, 48), (2, 32))]
    job = {"application": {"app_tag": "solver", "app_type": "mpi", "allowed_ranks": [48, 64]}, "target": {"name": "supermuc-ng"}}
    found = recommend(normalise({"job": job}).request, replace(known(None), models=fit(runs)))
    (why,) = [line for line in found.decisions if line.startswith("layout: ")]
    assert why.endswith("the only one with a prediction at 1 node")
