"""Configurations worth predicting: the evidence's, else the topology's, within what the nodes have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given as over
from hypothesis import strategies as st

from modak.choosing.candidates import Candidates, enumerate_candidates
from modak.choosing.grids import node_grid
from modak.choosing.measured import measured_shapes
from modak.choosing.reducedrequest import reduce_request
from modak.choosing.topology import with_few_threads
from modak.choosing.unmeasured import with_unmeasured
from modak.dsl import JobOptions, Request
from modak.errors import Infeasible
from modak.facts import Facts, Layout, Node, Partition, Queue
from modak.optimise import optimise, recommend
from modak.perfmodel import fit
from modak.target import Target, resolve
from tests.choosing.asked import SPREAD, TRAINING, asked, candidates, changed, layouts, of_mpi
from tests.examples import Known
from tests.runs import ran
from tests.systems import site


def trained_by(framework: str, **options: str) -> dict[str, Any]:
    """The section of a training run."""
    return {"app_type": "ai_training", "ai_training": {framework: options}}


OPENMP = {"app_type": "hpc", "hpc": {"config": {"parallelisation": "openmp"}, "openmp": {"number_of_threads": 12}}}
OPENACC = {"app_type": "hpc", "hpc": {"openacc": {}}}
MPI = {"app_type": "hpc", "hpc": {"mpi": {}}}
HYBRID = {"app_type": "hpc", "hpc": {"mpi": {}, "openmp": {}}}


def thin(known: Known, **fields: Any) -> Partition:
    """The default partition of SuperMUC-NG with other fields."""
    return known(None).systems["supermuc-ng"].default_partition.model_copy(update=fields)


def test_measured_layouts_are_the_candidates(known: Known) -> None:
    """The three of the 3DGAN tables, one of them under two MPI libraries."""
    found = candidates(known, application="3dgan")
    assert layouts(found) == {(1, 48, 0), (2, 48, 0), (4, 12, 0)}
    assert len(found.shapes) == 4


@pytest.mark.parametrize(("partition", "where"), [("fat", "thin, with nodes of the same kind"), ("general", "thin"), ("thin", "thin")])
def test_layouts_of_another_partition_are_not_said_to_be_of_this_one(known: Known, partition: str, where: str) -> None:
    """Those of 3DGAN ran in the partition thin, of which general is a queue; fat has the same processors."""
    found = candidates(known, application="3dgan", job_options={"partition": partition})
    assert found.decisions[0].endswith(f"; the ones measured on supermuc-ng/{where}")


def test_layouts_of_an_unknown_partition_are_said_to_be_of_the_target() -> None:
    """Nobody knows which nodes it has; those of results that name none are of the default partition."""
    facts = Facts(version="1", systems={"site": site(Node(processor="epyc", sockets=2, cores=48))})
    run = ran(9, nodes=1, ranks_per_node=8, threads_per_rank=1, system="site", partition="batch")
    found = of_mpi(lambda _: facts, [run], "site")
    assert found.decisions[0].endswith("; the ones measured on site")


@pytest.mark.parametrize(("cores", "ranks"), [(48, {12}), (26, {6}), (22, {4}), (14, set())])
def test_few_threads_divide_the_cores_of_a_domain_or_leave_a_tenth_free(cores: int, ranks: set[int]) -> None:
    """Of 24 cores in a domain four for each rank, of 13 as many, of 11 five; of 7 none: two and three leave one free."""
    assert with_few_threads(Node(processor="any", sockets=2, cores=cores)) == ranks


def test_the_order_of_results_decides_no_tie(known: Known) -> None:
    """Of equally good shapes the first is taken, so their order must not be that in which results were loaded."""
    request, facts = asked(application="3dgan"), known("3dgan")
    shapes = [enumerate_candidates(request, resolve(request, facts), models).shapes for models in (facts.models, facts.models[::-1])]
    assert shapes[0] == shapes[1]


def test_runs_of_no_precision_are_not_answered_by_half_precision(known: Known) -> None:
    """Also if those in half precision alone name the data set that is asked about: the others ran in single precision."""
    plain = {"application": "net", "framework": "pytorch", "system": "dgx-1-v100", "metric": "throughput", "unit": "samples/s"}
    half = {**plain, "precision": "amp", "dataset": "images"}
    runs = [ran(value, nodes=1, gpus_per_node=8, **key) for key, value in ((plain, 1000.0), (half, 3000.0))]
    work = {**SPREAD, "workload": {"application": "net", "dataset": "images", "samples": 3000}}
    choices = recommend(asked("dgx-1-v100", optimisation=work), replace(known(None), models=fit(runs))).choices
    told: dict[Any, Any] = {one.configuration.precision: (one.prediction.value, one.prediction.basis) for one in choices}
    assert told == {"amp": (pytest.approx(1.0), "measured"), "fp32": (pytest.approx(3.0), "transferred")}


@pytest.mark.parametrize(
    ("stated", "shown"),
    [
        ((None, "float32", "fp32"), {"float32"}),
        ((None, "amp", "Mixed"), {"fp32", "Mixed"}),
        ((None, "double"), {None, "double"}),
        ((None,), {None}),
    ],
)
def test_a_precision_has_one_spelling_among_the_choices(known: Known, stated: Sequence[str | None], shown: set[str | None]) -> None:
    """Runs that state none are in the usual one beside results in that or in one below it; a solver's are not, beside double precision."""
    found = of_mpi(known, [ran(100.0, nodes=1, ranks_per_node=4, threads_per_rank=12, precision=name) for name in stated])
    assert sorted(map(str, shown)) == sorted(str(shape.precision) for shape in found.shapes)


@pytest.mark.parametrize(
    "workload",
    [{"dataset": "another"}, {"precision": "fp16"}, {"batch_size": 7}, {"dataset": "another", "precision": "bf16", "batch_size": 7}],
)
def test_measured_layouts_hold_for_another_data_set_precision_or_batch(known: Known, workload: dict[str, Any]) -> None:
    """What was measured of the application on the system is nearer than a rule of thumb; the shapes are as the request says."""
    found = candidates(known, application="3dgan", optimisation={"workload": workload})
    assert layouts(found) == {(1, 48, 0), (2, 48, 0), (4, 12, 0)}
    assert {(shape.precision, shape.batch_size) for shape in found.shapes} == {(workload.get("precision"), workload.get("batch_size"))}


def of_solver(known: Known, workload: dict[str, Any], library: str | None = None) -> Candidates:
    """A solver's runs of two problems on one node: the small one with two MPI libraries, the large one with one."""
    runs = [("small", "openmpi", 4), ("small", "openmpi", 8), ("small", "mpich", 2), ("small", "mpich", 4), ("large", "mpich", 16)]
    costs = {"small": 10.0, "large": 1000.0}
    results = [
        ran(costs[dataset] / ranks, nodes=1, ranks_per_node=ranks, threads_per_rank=1, system="here", dataset=dataset, mpi=mpi)
        for dataset, mpi, ranks in runs
    ]
    wanted = {"app_type": "hpc", "hpc": {"mpi": {"library": library} if library else {}}, "workload": workload}
    return of_mpi(known, results, "here", optimisation=wanted)


@pytest.mark.parametrize(("system", "mpi_from"), [("supermuc-ng", "host"), ("zenith", "container")])
def test_a_layout_of_another_mpi_runs_with_the_requested_one(known: Known, system: str, mpi_from: str) -> None:
    """Its label would else be of a library that the job does not use. That of the host counts where it is the host's that ran."""
    runs = [ran(10.0, nodes=1, ranks_per_node=20, threads_per_rank=1, system=system, mpi="intel-mpi 2019", mpi_from=mpi_from)]
    found = of_mpi(known, runs, system, optimisation={"app_type": "hpc", "hpc": {"mpi": {"library": "openmpi"}}})
    assert {shape.mpi for shape in found.shapes} == {"openmpi"}


def test_ranks_are_not_spread_over_more_nodes_than_a_job_can_have(known: Known) -> None:
    """A script that asks for 20,834 of 6,336 nodes would be refused by the scheduler."""
    with pytest.raises(Infeasible, match=r"1000000 ranks requested, on at least 20834 nodes, .* at most 6336$"):
        of_mpi(known, application__mpi_ranks=1_000_000)


@pytest.mark.parametrize(("kind", "chosen"), [("openmp", (8, 2, 0)), ("openacc", (8, 2, 1))])
def test_a_rule_of_thumb_leaves_room_for_the_ranks(known: Known, kind: str, chosen: tuple[int, int, int]) -> None:
    """One rank for each NUMA domain or GPU would need 20 or 40 nodes for 40 ranks; a job can have five, of 20 cores each."""
    asked = {"app_type": "hpc", "hpc": {"config": {"parallelisation": kind}}}
    for ranks in (37, 40):
        found = candidates(known, "hlrs-testbed", optimisation=asked, application__app_type="mpi", application__mpi_ranks=ranks)
        assert (layouts(found), found.nodes[0].tolist()) == ({chosen}, [5])


@pytest.mark.parametrize(
    ("section", "chosen"),
    [
        ({"mpi": {}}, (48, 1, 0)),
        ({"mpi": {}, "openmp": {}}, (2, 24, 0)),
        ({"config": {"parallelisation": ["mpi", "openmp"]}}, (2, 24, 0)),
        ({"mpi": {}, "openmp": {"number_of_threads": 12}}, (4, 12, 0)),
    ],
)
def test_a_program_with_openmp_beside_mpi_has_threads(known: Known, section: dict[str, Any], chosen: tuple[int, int, int]) -> None:
    """A rank for each NUMA domain, as OpenMP programs are run; without OpenMP, one for each core."""
    found = candidates(known, optimisation={"app_type": "hpc", "hpc": section}, application__app_type="mpi")
    assert layouts(found) == {chosen}


def test_layouts_that_need_too_many_nodes_for_the_ranks_are_left_out(known: Known) -> None:
    """Of three measured layouts only that of four ranks a node has 20,000 ranks on 6,336 nodes."""
    found = candidates(known, application="3dgan", application__mpi_ranks=20_000)
    assert {shape.ranks_per_node for shape in found.shapes} == {4}


@pytest.mark.parametrize(("threads", "layout"), [(12, (4, 12, 0)), (48, (4, 12, 0)), (6, (4, 6, 0))])
def test_threads_that_fit_no_node_beside_the_requested_ranks_were_those_of_fewer(
    known: Known, threads: int, layout: tuple[int, int, int]
) -> None:
    """Results of 48 threads that do not state their ranks had one on each node; four such ranks would share its cores."""
    runs = [ran(10.0 / nodes, nodes=nodes, threads_per_rank=threads) for nodes in (1, 2, 4)]
    assert layouts(candidates(known, measured=runs, optimisation=HYBRID, job_options__process_count_per_node=4)) == {layout}


def test_results_that_tell_no_layout_are_of_a_rank_a_core_for_an_mpi_program(known: Known) -> None:
    """Its script would else start one rank on a node of 48 cores; and the answer does not call the layout measured."""
    found = of_mpi(known, [ran(10.0 / nodes, nodes=nodes) for nodes in (1, 2, 4)])
    assert layouts(found) == {(48, 1, 0)}
    assert "because the results on supermuc-ng/thin do not state ranks_per_node" in found.decisions[0]


def test_rows_that_tell_no_layout_beside_some_that_do_are_some(known: Known) -> None:
    """The reason does not blame all results for what a part of them leaves out."""
    shapes = [Layout(nodes=nodes, ranks_per_node=ranks, threads_per_rank=ranks and 12) for nodes in (1, 2) for ranks in (None, 4)]
    found = of_mpi(known, [ran(10.0, layout) for layout in shapes])
    assert layouts(found) == {(4, 12, 0), (48, 1, 0)}
    assert "the ones measured there, and others derived by a rule of thumb, because some results on" in found.decisions[0]


def test_threads_that_were_not_measured_are_not_said_to_have_no_results(known: Known) -> None:
    """Another number of threads was: what is asked for lies between the measured ones."""
    runs = [ran(10.0, nodes=1, ranks_per_node=1, threads_per_rank=n) for n in (8, 24)]
    found = candidates(known, measured=runs, optimisation=OPENMP)
    assert (layouts(found), "because no layout that was measured there is as requested" in found.decisions[0]) == ({(1, 12, 0)}, True)


@pytest.mark.parametrize(
    ("elsewhere", "section", "expected"),
    [
        ([(4, 1), (24, 1)], {}, {(48, 1, 0)}),
        ([(24, 1)], {"optimisation": {"app_type": "hpc", "hpc": {"openmp": {}}}, "application__app_type": "mpi"}, {(2, 24, 0)}),
        ([(24, 1), (4, 6)], {}, {(2, 24, 0)}),
        ([(24, None)], {}, {(2, 24, 0)}),
    ],
)
def test_a_program_that_only_ran_with_single_threads_gets_a_rank_a_core(
    known: Known, elsewhere: list[tuple[int, int | None]], section: dict[str, Any], expected: set[tuple[int, int, int]]
) -> None:
    """Further threads of a program with MPI alone leave cores idle; other results, or a request that names threads, say it has some."""
    shapes = [Layout(nodes=nodes, ranks_per_node=ranks, threads_per_rank=threads) for nodes in (1, 2) for ranks, threads in elsewhere]
    assert layouts(candidates(known, measured=[ran(10.0, layout, system="elsewhere") for layout in shapes], **section)) == expected


def test_a_measured_layout_is_not_assumed_as_well(known: Known) -> None:
    """A table without layouts is taken for a rank a core, and a job that ran so was loaded: one candidate, not two equal ones."""
    job = Layout(nodes=4, ranks_per_node=48, threads_per_rank=1)
    found = of_mpi(known, [ran(10.0, layout) for layout in (Layout(nodes=1), Layout(nodes=2), job)])
    assert [(shape.ranks_per_node, shape.threads_per_rank, shape.origin) for shape in found.shapes] == [(48, 1, "evidence")]


@pytest.mark.parametrize("threads", [[48], [24, 48]])
def test_results_without_a_layout_are_not_assumed_to_have_run_with_fewer_threads_than_others(threads: list[int], known: Known) -> None:
    """A job of one rank on each node of 48 cores: those that state their layout used 24 or 48 of them, not a single one."""
    stated = [Layout(nodes=4, ranks_per_node=1, threads_per_rank=count) for count in threads]
    runs = [ran(10.0, layout) for layout in (Layout(nodes=1), Layout(nodes=2), *stated)]
    found = of_mpi(known, [*runs, ran(9.0, nodes=2, compiler="gcc-9.3")], job_options__process_count_per_node=1)
    shapes = {(shape.threads_per_rank, shape.compiler, shape.origin) for shape in found.shapes}
    assert shapes == {(count, *of) for count in threads for of in ((None, "evidence"), ("gcc-9.3", "assumed"))}


def test_two_spellings_of_a_build_are_one_candidate(known: Known) -> None:
    """Also where they were measured on different problems, so that they are no one curve."""
    labels = ("gcc 9.3", "gcc-9.3", "GCC_9.3", "intel 19")
    builds = [{"compiler": label, "mpi": f"openmpi {number}"} for number, label in enumerate(labels)]
    found = of_mpi(known, [ran(10.0, nodes=1, ranks_per_node=4, threads_per_rank=12, **build) for build in builds])
    assert {shape.compiler for shape in found.shapes} == {"GCC_9.3", "intel 19"}


def test_a_build_that_the_request_spells_otherwise_is_that_of_the_results(known: Known) -> None:
    """Its layouts are candidates, and those of another build are not."""
    builds = (("GCC 9.3", 4, 12), ("intel 19", 48, 1))
    runs = [ran(10.0, nodes=1, ranks_per_node=ranks, threads_per_rank=threads, compiler=label) for label, ranks, threads in builds]
    assert layouts(of_mpi(known, runs, optimisation={"workload": {"compiler": "gcc-9.3"}})) == {(4, 12, 0)}


@pytest.mark.parametrize(
    ("measured", "chosen"),
    [
        ({(48, 1): (16, 64), (4, 12): (16,)}, {(48, 1, 0), (4, 12, 0)}),  # both were measured at 16
        ({(48, 1): (64,), (4, 12): (16, 32)}, {(48, 1, 0), (4, 12, 0)}),  # a trend
        ({(48, 1): (64,), (4, 12): (16,)}, {(48, 1, 0)}),  # nothing tells how a run of 16 compares with one of 64
        ({(48, 1): (16,), (4, 12): (16,)}, {(48, 1, 0), (4, 12, 0)}),  # none was measured at 64
    ],
)
def test_layouts_of_other_problem_sizes_are_candidates_where_they_can_be_compared(
    measured: dict[tuple[int, int], tuple[int, ...]], chosen: set[tuple[int, int, int]], known: Known
) -> None:
    """Of the problem of 64 cells only one rank a core was run, perhaps the slowest of all layouts that smaller ones were run in."""
    results = [
        ran(10.0 * cells, nodes=1, ranks_per_node=ranks, threads_per_rank=threads, params={"cells": str(cells)})
        for (ranks, threads), sizes in measured.items()
        for cells in sizes
    ]
    assert layouts(of_mpi(known, results, optimisation={"workload": {"params": {"cells": 64}}})) == chosen


def test_a_layout_in_which_many_problem_sizes_were_measured_is_looked_at_once(known: Known) -> None:
    """There may be thousands of sizes, of few layouts."""
    results = [ran(10.0 * cells, nodes=1, ranks_per_node=4, threads_per_rank=12, params={"cells": str(cells)}) for cells in (16, 32, 64)]
    request = asked(application__app_type="mpi", optimisation={"workload": {"params": {"cells": 64}}})
    assert len(measured_shapes(request, resolve(request, known(None)), fit(results), None)) == 1


@pytest.mark.parametrize(
    ("measured", "asked", "ranks"),
    [(("1.1", "1.10"), "1.1", {2}), (("1.1", "1.10"), "1.10", {4}), (("1.10",), "1.1", {2}), (("1.1", "1.10"), 1.1, {2})],
)
def test_layouts_of_another_version_are_no_candidates_beside_those_of_the_one_that_is_asked_for(
    known: Known, measured: tuple[str, ...], asked: str | float, ranks: set[int]
) -> None:
    """1.10 is no 1.1 where both were measured; alone it answers, as in predictions. Nor is its data set that of the run."""
    results = [
        ran(10.0, nodes=1, ranks_per_node=count, threads_per_rank=1, dataset=f"of-{version}", params={"library": version})
        for count, version in zip((2, 4), measured, strict=False)
    ]
    found = of_mpi(known, results, optimisation={"workload": {"params": {"library": asked}}})
    assert {shape.ranks_per_node for shape in found.shapes} == ranks
    assert not found.warnings


def test_runs_of_different_problems_are_not_compared(known: Known) -> None:
    """Where the request names no data set, the one with the most results is taken, and the answer says so."""
    found = of_solver(known, {})
    assert {shape.ranks_per_node for shape in found.shapes} == {2, 4, 8}
    (warning,) = [notice for notice in found.warnings if notice.field == "optimisation.workload.dataset"]
    assert (found.problem.dataset, "'large'" in warning.message) == ("small", True)


def test_data_sets_of_other_systems_are_not_taken_for_results_here_that_tell_none(known: Known) -> None:
    """Measured times of the target stay the run's own, whatever was measured elsewhere."""
    places = [("here", None), ("there", "small"), ("there", "large")]
    runs = [ran(10.0, nodes=1, system=place, dataset=dataset) for place, dataset in places]
    assert candidates(known, "here", measured=runs).problem.dataset is None


def test_a_data_set_that_is_named_is_asked_without_a_warning(known: Known) -> None:
    """As the request says it, however few its results are."""
    found = of_solver(known, {"dataset": "large"})
    warned = [one for one in found.warnings if one.field != "target.name"]
    assert ({shape.ranks_per_node for shape in found.shapes}, found.problem.dataset, warned) == ({16}, "large", [])


@pytest.mark.parametrize(
    ("system", "beside", "name", "measured", "found"),
    [
        ("dgx-1-v100", {}, "gpus_per_node", (1, 2), {1, 2, 4, 8}),
        ("dgx-1-v100", {}, "gpus_per_node", (1, 6), {1, 6, 8}),
        ("dgx-1-v100", {}, "gpus_per_node", (1, 8), {1, 8}),
        ("dgx-1-v100", {}, "gpus_per_node", (1,), {1}),
        ("supermuc-ng", {"threads_per_rank": 1}, "ranks_per_node", (1, 2, 4, 8), {1, 2, 4, 8, 16}),
        ("supermuc-ng", {"threads_per_rank": 2}, "ranks_per_node", (1, 16), {1, 16, 24}),
        ("supermuc-ng", {"ranks_per_node": 1}, "threads_per_rank", (1, 2, 4), {1, 2, 4, 8}),
        ("supermuc-ng", {}, "threads_per_rank", (1, 2, 4), {1, 2, 4, 8}),
    ],
)
def test_a_series_within_a_node_goes_on_before_more_nodes_are_taken(
    known: Known, system: str, beside: dict[str, int], name: str, measured: tuple[int, ...], found: set[int]
) -> None:
    """To twice the largest count, or all GPUs, if the node has room for it. One count alone does not show that more are of any use."""
    runs = [ran(9e4 / count, nodes=1, system=system, **{**beside, name: count}) for count in measured]
    shapes = candidates(known, system, measured=runs).shapes
    assert {getattr(shape, name) for shape in shapes} == found
    assert {shape.origin for shape in shapes if getattr(shape, name) not in measured} <= {"fuller"}


@pytest.mark.parametrize(
    ("kind", "counts", "nodes", "found"),
    [
        ("mpi", {}, (1,), {(1, 1, False), (48, 1, False)}),
        ("python", {}, (1,), {(1, 1, False)}),
        ("mpi", {"process_count_per_node": 1}, (1,), {(1, 1, True)}),
        ("mpi", {}, (1, 2), {(1, 1, True)}),
    ],
)
def test_a_serial_run_is_no_layout_of_a_parallel_program(
    known: Known, kind: str, counts: dict[str, int], nodes: tuple[int, ...], found: set[tuple[int, int, bool]]
) -> None:
    """An MPI program that was measured with one rank got one core of each of two nodes. ``found``: ranks, threads, several nodes."""
    serial = [ran(3600, nodes=each, ranks_per_node=1, threads_per_rank=1) for each in nodes]
    told = candidates(known, measured=serial, application__app_type=kind, job_options=counts)
    pairs = zip(told.shapes, told.nodes, strict=True)
    assert {(shape.ranks_per_node, shape.threads_per_rank, bool(grid.max() > 1)) for shape, grid in pairs} == found


def test_a_serial_run_stays_on_one_node_where_another_system_shows_how_the_program_scales(known: Known) -> None:
    """The layouts by rules of thumb do not, nor those of first runs: one core of each of many nodes is no choice, nor worth measuring."""
    there = [ran(100 / each, nodes=each, ranks_per_node=40, threads_per_rank=1, system="elsewhere") for each in (1, 2, 4)]
    curves = fit([ran(100, nodes=1, ranks_per_node=1, threads_per_rank=1), *there])
    request = asked(application__app_type="mpi")
    target = resolve(request, known(None))
    told = enumerate_candidates(request, target, curves)
    assert {shape.ranks_per_node: bool(grid.max() > 1) for shape, grid in zip(told.shapes, told.nodes, strict=True)} == {1: False, 48: True}
    config = request.optimisation.config.model_copy(update={"parallelisation": ("mpi", "openmp")})
    hybrid = request.changed(optimisation={"config": config})
    found = enumerate_candidates(hybrid, target, curves)
    with_first_runs = with_unmeasured(hybrid, target, found, lambda _: None)
    proposed = [*zip(with_first_runs.shapes, with_first_runs.nodes, strict=True)]
    assert {int(grid.max()) for shape, grid in proposed if shape.origin == "plan"} == {int(max(grid.max() for grid in found.nodes))}
    assert [grid.tolist() for shape, grid in proposed if (shape.ranks_per_node, shape.threads_per_rank) == (1, 1)] == [[1]]


@pytest.mark.parametrize(
    ("ranks", "threads", "found"), [(1, 5, (8, 5, False)), (1, 10, (8, 5, False)), (1, 20, (8, 10, True)), (10, 1, (40, 1, False))]
)
def test_a_fuller_node_gives_its_ranks_no_more_cores_than_it_has(
    known: Known, ranks: int, threads: int, found: tuple[int, int, bool]
) -> None:
    """A DGX-1 has 40 cores and 8 GPUs: ranks that had ten cores each on four GPUs have five on eight. Hyper-threads only as measured."""
    has = {"nodes": 1, "threads_per_rank": threads, "system": "dgx-1-v100"}
    runs = [ran(9e4 / gpus, ranks_per_node=ranks * gpus, gpus_per_node=gpus, **has) for gpus in (1, 2, 4)]
    largest = max(candidates(known, "dgx-1-v100", measured=runs).shapes, key=lambda shape: shape.gpus_per_node)
    assert (largest.ranks_per_node, largest.threads_per_rank, largest.hyperthreads) == found


def test_a_full_node_is_better_than_two_half_empty_ones(known: Known) -> None:
    """Four GPUs were measured on nodes of eight: eight are on one node, at half the node-hours."""
    curves = fit(ran(9e4 / gpus**0.95, nodes=1, gpus_per_node=gpus, system="two-dgx", metric="epoch_time") for gpus in (1, 2, 4))
    dgx = known(None).systems["dgx-1-v100"]
    there = changed(known, dgx.name, name="two-dgx", partitions=tuple(one.model_copy(update={"nodes": 2}) for one in dgx.partitions))
    best = recommend(asked("two-dgx"), replace(there(None), models=curves)).choices[0].configuration
    assert (best.nodes, best.gpus_per_node) == (1, 8)


@pytest.mark.parametrize(("asked", "found"), [("2.9.1", {"2.9.1"}), ("2.*", {"2.0.0", "2.9.1"}), ("3.0", {"2.0.0", "2.9.1"})])
def test_results_of_the_version_that_is_asked_for_come_first(known: Known, asked: str, found: set[str]) -> None:
    """The time of the version that happened to be the fastest is not its own; where there is none of it, any will do."""
    has = {"nodes": 1, "gpus_per_node": 4, "system": "here", "framework": "pytorch", "metric": "epoch_time"}
    runs = [ran(time, framework_version=version, **has) for version, time in (("2.0.0", 10.0), ("2.9.1", 12.0))]
    wanted = {"app_type": "ai_training", "ai_training": {"config": {"distributed_training": True}, "pytorch": {"version": asked}}}
    shapes = candidates(known, "here", measured=runs, optimisation=wanted).shapes
    assert {shape.framework_version for shape in shapes} == found


def test_a_data_set_of_which_nothing_is_known_is_said(known: Known) -> None:
    """A slip would else show as a long limit on the time alone."""
    (message,) = [one.message for one in of_solver(known, {"dataset": "smal"}).warnings if one.field == "optimisation.workload.dataset"]
    assert "unknown data set 'smal'; did you mean 'small'?" in message


@pytest.mark.parametrize(("asked", "told"), [("intel", "unknown build 'intel'; did you mean 'intel-19'?"), ("GCC_9.3", ""), ("xla", "")])
def test_a_build_of_which_nothing_is_known_is_said(known: Known, asked: str, told: str) -> None:
    """Its times would else be those of another build, without a word; spellings of one are known, and graph compilers are no builds."""
    runs = [ran(9.0, nodes=1, ranks_per_node=4, system="here", compiler=compiler) for compiler in ("gcc-9.3", "intel-19")]
    found = candidates(known, "here", measured=runs, optimisation={"workload": {"compiler": asked}})
    messages = [one.message for one in found.warnings if one.field == "optimisation.workload.compiler"]
    assert [told in message for message in messages] == [True] * bool(told)


@pytest.mark.parametrize(
    ("scheduler", "ssh", "most"), [("pbspro", False, 1), ("pbspro", None, 16), ("slurm", False, 16), ("shell", None, 16)]
)
def test_an_mpi_program_has_several_nodes_where_something_starts_it_on_them(
    known: Known, scheduler: str, ssh: bool | None, most: int
) -> None:
    """Else its job would be refused for nodes that the request does not ask for."""
    node = known(None).systems["dgx-1-v100"].default_partition.model_copy(update={"nodes": 16})
    there = changed(known, "dgx-1-v100", name="new", scheduler=scheduler, ssh_between_nodes=ssh, partitions=(node,))
    runs = [ran(10.0 / n, nodes=n, ranks_per_node=40, threads_per_rank=1, system="new") for n in (1, 2)]
    found = of_mpi(there, runs, "new")
    assert [int(grid.max()) for grid in found.nodes] == [most]
    assert any("mpirun needs ssh to start on several nodes" in line for line in found.decisions) == (most == 1)


@pytest.mark.parametrize(("wanted", "said"), [(TRAINING, True), (SPREAD, False)])
def test_a_run_of_one_process_is_told_why_it_has_one_node(known: Known, wanted: dict[str, Any], said: bool) -> None:
    """Who forgets the distribution would wonder why no deadline can be met."""
    found = candidates(known, optimisation=wanted)
    assert any("only single-node runs are considered: neither the request" in line for line in found.decisions) == said


def test_threads_alone_are_told_why_they_have_one_node(known: Known) -> None:
    """Options of training would not give an OpenMP program more."""
    found = candidates(known, optimisation={"app_type": "hpc", "hpc": {"openmp": {}}})
    (line,) = [line for line in found.decisions if line.startswith("only single-node runs")]
    assert "openmp works within one process (unless config.parallelisation names mpi, too)" in line
    assert "training" not in line


@pytest.mark.parametrize(
    ("section", "job", "warned"),
    [
        ({}, {}, True),
        ({"config": {"parallelisation": ["openmp", "mpi"]}}, {}, False),
        ({}, {"application__app_type": "mpi"}, False),
        ({}, {"application__mpi_ranks": 1}, False),
        ({}, {"job_options__process_count_per_node": 1}, False),
    ],
)
def test_threads_alone_are_warned_of_ranks_that_results_have(
    known: Known, section: dict[str, Any], job: dict[str, Any], warned: bool
) -> None:
    """They are followed; but copies of a program without MPI do the same work several times."""
    threads = {"app_type": "hpc", "hpc": {"openmp": {}, **section}}
    measured = [ran(9, nodes=1, ranks_per_node=4, threads_per_rank=12)]
    found = candidates(known, measured=measured, optimisation=threads, **job)
    assert any("results of the application had several ranks" in one.message for one in found.warnings) == warned


@pytest.mark.parametrize(("library", "ranks"), [("openmpi", {4, 8}), ("mpich", {2, 4})])
def test_runs_of_another_mpi_library_are_no_candidates(known: Known, library: str, ranks: set[int]) -> None:
    """A request for one library is not answered with the layouts and times of another."""
    found = of_solver(known, {"dataset": "small"}, library)
    assert {(shape.ranks_per_node, shape.mpi) for shape in found.shapes} == {(count, library) for count in ranks}


def test_layouts_of_another_mpi_library_hold_where_there_is_none_of_ones_own(known: Known) -> None:
    """The library is the request's then."""
    shapes = of_solver(known, {"dataset": "large"}, "openmpi").shapes
    assert (16, {"openmpi"}) == (max(shape.ranks_per_node for shape in shapes), {shape.mpi for shape in shapes})


@pytest.mark.parametrize(
    ("wish", "alone"),
    [({"mpi": {"library": "mpich"}}, False), ({"mpich": {}}, False), ({"openmpi": {}}, True)],
    ids=["library", "framework", "of another family"],
)
@pytest.mark.parametrize("measured", [True, False])
def test_a_library_that_the_host_does_not_have_is_not_promised(known: Known, wish: dict[str, Any], alone: bool, measured: bool) -> None:
    """The ranks start with the one that it has, whose results are in hand or not, and a warning says so, and what becomes of them."""
    runs = [ran(1.0, nodes=1, ranks_per_node=20, threads_per_rank=1, system="zenith", mpi="intel-mpi 2019", mpi_from="host")] * measured
    found = of_mpi(known, runs, "zenith", optimisation={"app_type": "hpc", "hpc": wish})
    assert {str(shape.mpi).split(" ")[0] for shape in found.shapes} == {"intel-mpi"}
    (warning,) = found.warnings
    assert ("is recorded for zenith" in warning.message, "may each run alone" in warning.message) == (True, alone)


def test_results_of_another_data_set_that_tell_no_layout_are_no_evidence_for_one(known: Known) -> None:
    """The rule of thumb is kept, instead of one rank on all cores."""
    runs = [ran(100 / nodes, nodes=nodes, dataset="other") for nodes in (1, 2, 4)]
    assert layouts(of_mpi(known, runs, optimisation={"workload": {"dataset": "this"}})) == {(48, 1, 0)}


@pytest.mark.parametrize(("cells", "ranks"), [(8000, {8, 48}), (64000, {8, 48}), (None, {8, 48})])
def test_results_that_tell_no_problem_do_not_displace_those_of_other_sizes(known: Known, cells: int | None, ranks: set[int]) -> None:
    """A site's accounting knows the job's name alone; the user's own tables tell the size, if not the one in question."""
    runs = [
        ran(value / nodes, nodes=nodes, ranks_per_node=per_node, threads_per_rank=1, system="here", params=params)
        for per_node, params, value in ((48, {"cells": "1000"}, 100.0), (48, {"cells": "8000"}, 800.0), (8, {}, 50.0))
        for nodes in (1, 2)
    ]
    found = of_mpi(known, runs, "here", optimisation={"workload": {"params": {"cells": cells}}} if cells else {})
    assert {shape.ranks_per_node for shape in found.shapes} == ranks


def test_layouts_of_another_framework_are_not_taken(known: Known) -> None:
    """They were TensorFlow's."""
    assert layouts(candidates(known, application="3dgan", optimisation=SPREAD)) == {(2, 24, 0)}


def test_every_node_count_that_a_queue_takes_is_in_reach(known: Known) -> None:
    """From one node to the most of the largest queue, densely where jobs are small."""
    nodes = candidates(known, application="3dgan").nodes[0]
    assert (nodes[0], nodes[-1]) == (1, 3168)
    assert set(range(1, 65)) <= set(nodes.tolist())


@pytest.mark.parametrize(
    ("sizes", "found"), [([(1, 4), (60, 100)], {*range(1, 5), *range(60, 65)}), ([(5000, 6000)], set(range(1, 65)))], ids=["gap", "none"]
)
def test_node_counts_that_no_queue_takes_are_left_out(known: Known, sizes: list[tuple[int, int]], found: set[int]) -> None:
    """Such a job would be rejected. Of a queue for more nodes than there are, all counts remain, and a warning says so."""
    queues = tuple(Queue(name=f"q{few}", min_nodes=few, max_nodes=most) for few, most in sizes)
    runs = [ran(100.0 / n, nodes=n) for n in (1, 2)]
    nodes = of_mpi(changed(known, partitions=(thin(known, queues=queues, nodes=200),)), runs).nodes[0]
    assert {count for count in nodes.tolist() if count <= 64} == found


def test_the_queue_that_the_request_names_limits_its_nodes(known: Known) -> None:
    """SuperMUC-NG's general takes 17 to 768, also where nothing is known of the application."""
    named = {"partition": "general"}
    sizes = [candidates(known, application=name, job_options=named, application__app_type="mpi").nodes[0] for name in ("3dgan", "unheard")]
    assert [(nodes[0], nodes[-1]) for nodes in sizes] == [(17, 768), (17, 17)]


@pytest.mark.parametrize(
    ("system", "job", "layout"),
    [
        ("supermuc-ng", {"application__app_type": "hpc", "application__executable": "./a"}, (2, 24, 0)),
        ("supermuc-ng", {"application__app_type": "mpi"}, (48, 1, 0)),
        ("supermuc-ng", {"application__app_type": "mpi", "application__threads": 12}, (4, 12, 0)),
        ("supermuc-ng", {"application__app_type": "hpc", "optimisation": OPENMP}, (1, 12, 0)),
        ("supermuc-ng", {"application__app_type": "hpc", "optimisation": OPENMP, "application__mpi_ranks": 4}, (4, 12, 0)),
        ("supermuc-ng", {"application__app_type": "mpi", "optimisation": OPENMP}, (4, 12, 0)),
        ("hlrs-testbed", {"optimisation": TRAINING}, (1, 20, 1)),
        ("skylake-bronze-1080ti", {"optimisation": SPREAD}, (4, 3, 4)),
        ("skylake-bronze-1080ti", {"optimisation": SPREAD, "job_options__request_gpus": 2}, (2, 3, 2)),
        ("skylake-bronze-1080ti", {"optimisation": TRAINING}, (1, 3, 1)),
        ("skylake-bronze-1080ti", {"optimisation": TRAINING, "job_options__node_exclusive": True}, (1, 12, 1)),
        ("skylake-bronze-1080ti", {"application__app_type": "hpc", "optimisation": OPENACC}, (1, 3, 1)),
        ("skylake-bronze-1080ti", {"optimisation": trained_by("mxnet", distribution="horovod")}, (4, 3, 4)),
        ("skylake-bronze-1080ti", {"optimisation": trained_by("mxnet", distribution="parameter-server")}, (1, 12, 4)),
        ("skylake-bronze-1080ti", {"optimisation": trained_by("caffe", fork="nvidia", distribution="mpi")}, (1, 12, 4)),
        ("dgx-1", {"application__mpi_ranks": 4, "optimisation": trained_by("caffe", fork="nvidia", distribution="mpi")}, (4, 10, 8)),
        ("supermuc-ng", {"optimisation": trained_by("caffe", fork="intel", distribution="mlsl")}, (2, 24, 0)),
        (None, {"application__app_type": "mpi", "application__mpi_ranks": 8}, (8, 1, 0)),
    ],
)
def test_topology_gives_the_layout_where_nothing_was_measured(
    system: str | None, job: dict[str, Any], layout: tuple[int, ...], known: Known
) -> None:
    """A rank a NUMA domain, core or GPU; threads on the cores of each, and on none of those that go with GPUs of other jobs.

    NVCaffe is started once on each node (PRACE guide, section 5.2), and so are MXNet's workers (section 6.3.3), unless the request gives
    more ranks than a job can have nodes.
    """
    assert layouts(candidates(known, system, **job)) == {layout}


@pytest.mark.parametrize("field", ["application.mpi_ranks", "job_options.process_count_per_node"])
def test_more_ranks_than_a_node_has_are_told_by_the_field_that_asks_for_them(field: str, known: Known) -> None:
    """The user looks for it there."""
    job: dict[str, Any] = {"application__app_type": "mpi", "job_options__node_count": 1, field.replace(".", "__"): 100}
    told = [(warning.field, warning.message) for warning in candidates(known, **job).warnings]
    assert told == [(field, "100 ranks x 1 thread oversubscribe a node with 48 cores")]


@pytest.mark.parametrize("field", ["application.threads", "job_options.core_count_per_process"])
def test_too_many_threads_are_told_by_the_field_that_asks_for_them(field: str, known: Known) -> None:
    """Nobody asked for the ranks, of which each GPU has one."""
    training: dict[str, Any] = {"optimisation": trained_by("pytorch", distribution="horovod"), field.replace(".", "__"): 40}
    told = [(warning.field, warning.message) for warning in candidates(known, "dgx-1-v100", **training).warnings]
    assert told == [(field, "8 ranks x 40 threads oversubscribe a node with 40 cores")]


def test_without_evidence_one_node_is_asked_for(known: Known) -> None:
    """Nothing says that more would help."""
    assert of_mpi(known).nodes[0].tolist() == [1]


@pytest.mark.parametrize(("measured", "said"), [((1,), True), ((1, 2), False)])
def test_results_of_one_size_elsewhere_are_named_as_the_reason_for_one_node(known: Known, measured: tuple[int, ...], said: bool) -> None:
    """Nothing else tells why more nodes are not among the choices."""
    found = of_mpi(known, [ran(100.0 / n, nodes=n, ranks_per_node=40, system="zenith") for n in measured])
    assert any("no result shows how the application scales over nodes" in line for line in found.decisions) == said


def test_ranks_and_nodes_hold_where_counts_contradict(known: Known) -> None:
    """96 ranks on 4 nodes are 24 per node, whatever the other fields contain."""
    found = candidates(known, application__mpi_ranks=96, job_options__node_count=4, job_options__process_count_per_node=10)
    assert found.shapes[0].ranks_per_node == 24
    assert [warning.field for warning in found.warnings] == ["job_options.process_count_per_node"]


@pytest.mark.parametrize(("ranks", "nodes", "needed"), [(3, 4, "3 of the 4"), (9, 4, "3 of the 4"), (10, 4, ""), (8, 4, ""), (1, 4, "")])
def test_nodes_that_ranks_leave_idle_are_told(known: Known, ranks: int, nodes: int, needed: str) -> None:
    """Nobody asks for those on purpose, unless one process starts others there."""
    found = of_mpi(known, application__mpi_ranks=ranks, job_options__node_count=nodes)
    told = [one.message for one in found.warnings if one.field == "application.mpi_ranks"]
    assert bool(told) == bool(needed)
    assert all(needed in message for message in told)


def test_ranks_are_spread_over_the_nodes_that_they_need_whether_these_are_given_or_not(known: Known) -> None:
    """The measured 16 per node become 15 on two nodes; given as well, the nodes turned the layout into one that nobody had measured."""
    runs = [ran(10.0 / n, nodes=n, ranks_per_node=16, threads_per_rank=1, system="here") for n in (1, 2)]
    shapes = of_mpi(known, runs, "here", application__mpi_ranks=30, job_options__node_count=2).shapes
    assert [(shape.ranks_per_node, shape.origin) for shape in shapes] == [(15, "request")]


@pytest.mark.parametrize(("threads", "hyper"), [(1, False), (2, True)])
def test_more_threads_than_cores_use_hyper_threads(threads: int, hyper: bool, known: Known) -> None:
    """Of 48 ranks on 48 cores."""
    found = of_mpi(known, application__threads=threads, job_options__process_count_per_node=48)
    assert {shape.hyperthreads for shape in found.shapes} == {hyper}


@pytest.mark.parametrize("measured", [True, False])
def test_nodes_without_hyper_threads_use_none_whatever_the_threads(measured: bool, known: Known) -> None:
    """Two ranks on a core share it, and the record of their run says so."""
    node = known(None).systems["supermuc-ng"].default_partition.node.model_copy(update={"threads_per_core": 1})
    runs = [ran(10.0, nodes=1, ranks_per_node=96, threads_per_rank=1)] * measured
    facts = replace(changed(known, partitions=(thin(known, node=node),))(None), models=fit(runs))
    options = {"process_count_per_node": 96, "node_count": 1}
    plan = optimise(asked(application__app_type="mpi", application__executable="./tool", job_options=options), facts).plan
    assert plan.configuration.hyperthreads is False
    assert plan.prediction.basis == ("measured" if measured else "none")


def test_more_threads_than_cores_were_measured_with_hyper_threads_whether_results_say_so_or_not(known: Known) -> None:
    """80 threads on 40 cores can be nothing else; the time was transferred, with a wide interval."""
    curves = fit([ran(10.0, nodes=1, ranks_per_node=1, threads_per_rank=80, system="dgx-1-v100")])
    prediction = recommend(asked("dgx-1-v100", application__threads=80), replace(known(None), models=curves)).choices[0].prediction
    assert (prediction.basis, prediction.value) == ("measured", 10.0)


@pytest.mark.parametrize(
    ("job", "warned"),
    [
        ({"application__app_type": "python", "job_options__node_count": 2}, "job_options.node_count"),
        ({"application__app_type": "python", "job_options__process_count_per_node": 4}, "job_options.process_count_per_node"),
        ({"optimisation": {"app_type": "big_data"}, "job_options__node_count": 2}, "job_options.node_count"),
        ({"application__app_type": "python", "application__mpi_ranks": 1, "job_options__node_count": 2}, None),
        ({"application__app_type": "python", "optimisation": SPREAD, "job_options__node_count": 2}, None),
        ({"application__app_type": "python", "job_options__node_count": 1}, None),
        ({"application__app_type": "python", "job_options__process_count_per_node": 1}, None),
        ({"application__app_type": "python", "optimisation": TRAINING, "job_options__process_count_per_node": 4}, None),
        ({"application__app_type": "python", "optimisation": MPI, "job_options__process_count_per_node": 4}, None),
        ({"application__app_type": "hpc", "job_options__node_count": 2}, None),
        ({"job_options__node_count": 2}, None),
        ({"optimisation": OPENMP, "job_options__node_count": 2}, "job_options.node_count"),
        ({"optimisation": OPENMP, "application__app_type": "mpi", "job_options__node_count": 2}, None),
    ],
)
def test_copies_of_a_program_that_nothing_else_calls_distributed_are_told(known: Known, job: dict[str, Any], warned: str | None) -> None:
    """Each would do the whole work, over the files of the others."""
    assert [one.field for one in candidates(known, **job).warnings if "copies of the program" in one.message] == [warned] * bool(warned)


def test_of_the_numbers_of_ranks_one_on_each_node_is_taken_where_it_drives_all_gpus(known: Known) -> None:
    """If a job may have so many nodes; otherwise the fewest that there can be."""
    work = trained_by("caffe", fork="nvidia", distribution="mpi")
    found = candidates(known, "skylake-bronze-1080ti", application__allowed_ranks=[4, 8, 64], optimisation=work)
    assert {(shape.ranks_per_node, shape.gpus_per_node) for shape in found.shapes} == {(1, 4)}
    found = candidates(known, "dgx-1", application__allowed_ranks=[2, 4], optimisation=work)
    assert {(shape.ranks_per_node, shape.gpus_per_node) for shape in found.shapes} == {(2, 8)}


def test_named_nodes_are_as_many_as_the_job_has(known: Known) -> None:
    """Where no count is given; Slurm refuses a list that is longer than the job."""
    found = of_mpi(known, job_options__request_specific_nodes="n[01-03],m7")
    assert [nodes.tolist() for nodes in found.nodes] == [[4]]


def test_ranks_alone_give_the_nodes(known: Known) -> None:
    """As many nodes as the ranks need."""
    assert of_mpi(known, application__mpi_ranks=100).nodes[0].tolist() == [3]


@pytest.mark.parametrize(("field", "count"), [("job_options__core_count", 400), ("application__threads", 400)])
def test_threads_are_cut_to_what_a_node_can_run(field: str, count: int, known: Known) -> None:
    """400 cores or threads on a node of 20: a warning says what was done."""
    job: dict[str, Any] = {field: count}
    found = candidates(known, "hlrs-testbed", **job)
    assert found.shapes[0].threads_per_rank == 20
    assert [warning.field for warning in found.warnings] == [field.replace("__", ".")]


@pytest.mark.parametrize(("ranks", "found"), [(16, (4, 12, 0)), (32, (32, 1, 0)), (192, (48, 1, 0)), (193, None)])
def test_more_ranks_than_the_measured_layout_has_room_for_are_laid_out_closer(
    known: Known, ranks: int, found: tuple[int, int, int] | None
) -> None:
    """On four nodes; they were refused as too many for these, although the nodes have the cores."""
    there = changed(known, partitions=(thin(known, nodes=4, max_nodes=None, queues=()),))
    runs = [ran(100.0 / n, nodes=n, ranks_per_node=4, threads_per_rank=12) for n in (1, 2, 4)]
    if found:
        made = of_mpi(there, runs, application__mpi_ranks=ranks)
        assert layouts(made) == {found}
        assert any("no layout that was measured there is as requested" in line for line in made.decisions) == (ranks > 16)
    else:
        with pytest.raises(Infeasible, match="193 ranks requested, on at least 5 nodes"):
            of_mpi(there, runs, application__mpi_ranks=ranks)


@pytest.mark.parametrize(
    ("options", "ranks", "found"),
    [({}, 8, (4, 12, 0)), ({}, 12, (12, 1, 0)), ({}, 144, (48, 1, 0)), ({"reservation": "ours"}, 12, (4, 12, 0))],
)
def test_ranks_on_more_nodes_than_a_queue_takes_are_laid_out_closer(
    known: Known, options: dict[str, str], ranks: int, found: tuple[int, int, int]
) -> None:
    """Of four nodes it takes two, but for a reservation: the scheduler would reject a job on three."""
    queues = (Queue(name="few", min_nodes=1, max_nodes=2),)
    there = changed(known, partitions=(thin(known, nodes=4, max_nodes=None, queues=queues),))
    runs = [ran(100.0 / n, nodes=n, ranks_per_node=4, threads_per_rank=12) for n in (1, 2)]
    assert layouts(of_mpi(there, runs, application__mpi_ranks=ranks, job_options=options)) == {found}


@pytest.mark.parametrize(("ranks", "least", "found"), [(8, 2, 4), (9, 2, 5), (5, 4, 1), (2, 4, 2), (96, 2, 48), (200, 2, 40)])
def test_ranks_lie_on_as_many_nodes_as_a_job_must_have(known: Known, ranks: int, least: int, found: int) -> None:
    """They fit into one node, and the scheduler would reject a job of one; fewer ranks than these nodes stay together."""
    queues = (Queue(name="several", min_nodes=least, max_nodes=8),)
    there = changed(known, partitions=(thin(known, queues=queues),))
    shapes = of_mpi(there, application__mpi_ranks=ranks, application__threads=1).shapes
    assert {shape.ranks_per_node for shape in shapes} == {found}


def test_cores_of_an_mpi_job_are_its_ranks(known: Known) -> None:
    """One rank per core, unless the request gives threads."""
    assert layouts(of_mpi(known, job_options__core_count=24)) == {(24, 1, 0)}
    assert layouts(of_mpi(known, job_options__core_count=24, application__threads=4)) == {(6, 4, 0)}


@pytest.mark.parametrize("cores", [24, 64])
def test_cores_of_one_process_are_its_threads(known: Known, cores: int) -> None:
    """More than the 48 of a node are hyper-threads."""
    assert layouts(candidates(known, application__app_type="other", job_options__core_count=cores)) == {(1, cores, 0)}


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("job_options.node_count", {"job_options__node_count": 6}),
        ("job_options.request_specific_nodes", {"job_options__request_specific_nodes": "node[1-6]"}),
        ("application.mpi_ranks", {"application__mpi_ranks": 6, "job_options__process_count_per_node": 1}),
    ],
)
def test_more_nodes_than_there_are_are_refused_by_the_field_that_asks_for_them(known: Known, field: str, given: dict[str, Any]) -> None:
    """By their number, by their names, or by the ranks on each."""
    with pytest.raises(Infeasible, match=rf"{field}: 6 nodes requested, but a job on hlrs-testbed can have at most 5"):
        candidates(known, "hlrs-testbed", **given)


@pytest.mark.parametrize("field", ["application.threads", "job_options.core_count_per_process"])
def test_threads_that_do_not_fit_are_warned_of_by_the_field_that_gives_them(known: Known, field: str) -> None:
    """Cores of a rank are its threads, unless these are given."""
    given: dict[str, Any] = {field.replace(".", "__"): 100}
    (told,) = (one for one in of_mpi(known, **given).warnings if "hardware threads" in one.message)
    assert told.field == field


@pytest.mark.parametrize(
    ("counts", "found"),
    [
        ({}, {(2, 12, 0)}),
        ({"threads": 6}, {(4, 6, 0)}),
        ({"threads": 30}, {(1, 30, 0)}),
        ({"mpi_ranks": 8}, {(2, 12, 0)}),
        ({"mpi_ranks": 1}, {(1, 24, 0)}),
    ],
)
def test_cores_of_a_hybrid_job_are_shared_by_what_is_left_open(
    known: Known, counts: dict[str, int], found: set[tuple[int, int, int]]
) -> None:
    """A rank for each NUMA domain, unless the request gives counts; one of more threads than these cores is kept."""
    given: dict[str, Any] = {f"application__{name}": value for name, value in counts.items()}
    assert layouts(candidates(known, optimisation=HYBRID, application__app_type="hpc", job_options__core_count=24, **given)) == found


def test_measured_layouts_have_no_more_cores_than_the_request_gives(known: Known) -> None:
    """All of 3DGAN's fill the node: for 24 cores none is left, and a rank for each NUMA domain shares these."""
    distributed: dict[str, Any] = {"application": "3dgan", "application__mpi_ranks": 8}
    assert {(4, 12, 0)} < layouts(candidates(known, job_options__core_count=48, **distributed))
    assert layouts(candidates(known, job_options__core_count=24, **distributed)) == {(2, 12, 0)}


def test_ranks_that_have_no_room_for_few_cores_are_refused_with_these(known: Known) -> None:
    """Without them the ranks have room: five nodes have 100 cores."""
    told = r"48 ranks requested, on at least 48 nodes \(with job_options.core_count 1\), but a job on hlrs-testbed can have at most 5"
    with pytest.raises(Infeasible, match=told):
        candidates(known, "hlrs-testbed", application__app_type="mpi", application__mpi_ranks=48, job_options__core_count=1)


@pytest.mark.parametrize("few", [{}, {"job_options__core_count": 20}])
def test_ranks_that_have_no_room_for_few_gpus_are_refused_with_these(known: Known, few: dict[str, Any]) -> None:
    """The cores would have room for them: two ranks of a node share its GPU where the request says so."""
    training: dict[str, Any] = {"application__mpi_ranks": 8, "optimisation": trained_by("pytorch", distribution="horovod"), **few}
    with pytest.raises(Infeasible, match=r"8 ranks requested, on at least 8 nodes \(one for each GPU, unless .*\), but .* at most 5$"):
        candidates(known, "hlrs-testbed", **training)
    shared = candidates(known, "hlrs-testbed", **training, job_options__process_count_per_node=2)
    assert {(ranks, gpus) for ranks, _, gpus in layouts(shared)} == {(2, 1)}


def test_cores_on_nodes_of_which_nothing_is_known_are_threads(known: Known) -> None:
    """Of the ranks that the request gives, or of one."""
    asked: dict[str, Any] = {"optimisation": HYBRID, "application__app_type": "hpc", "job_options__core_count": 24}
    assert layouts(candidates(known, None, **asked)) == {(1, 24, 0)}
    assert layouts(candidates(known, None, application__mpi_ranks=4, **asked)) == {(4, 6, 0)}


@pytest.mark.parametrize(("cores", "found"), [(12, {(4, 3, 4), (1, 3, 1)}), (2, {(4, 1, 4)})])
def test_cores_are_shared_by_ranks_of_which_results_alone_tell(known: Known, cores: int, found: set[tuple[int, int, int]]) -> None:
    """The request does not say that the training is distributed: each of four ranks had as many threads as the node was to have cores."""
    given: dict[str, Any] = {"application": "resnet50", "optimisation": TRAINING, "job_options__core_count": cores}
    assert layouts(candidates(known, "skylake-bronze-1080ti", **given)) == found


def test_fewer_cores_than_ranks_for_all_gpus_are_warned_of(known: Known) -> None:
    """Each rank has a core."""
    training = {"app_type": "ai_training", "ai_training": {"pytorch": {"distribution": "ddp"}}}
    found = candidates(known, "skylake-bronze-1080ti", optimisation=training, job_options__core_count=2)
    assert layouts(found) == {(4, 1, 4)}
    assert [one.message for one in found.warnings if one.field == "job_options.core_count"] == [
        "2 cores per node requested, but the 4 ranks of a node take one each"
    ]


def test_a_partition_that_is_not_recorded_limits_nothing(known: Known) -> None:
    """What a job can have there is not known; the default partition says nothing of it."""
    assert candidates(known, "hlrs-testbed", job_options={"partition": "other", "node_count": 100}).nodes[0].tolist() == [100]


@over(st.integers(1, 10_000), st.lists(st.integers(1, 20_000), max_size=5))
def test_a_grid_is_sorted_dense_below_and_ends_at_the_limit(limit: int, measured: list[int]) -> None:
    """Every count up to 64 or the limit, never beyond it, each once; then steps of about 1/64."""
    grid = node_grid(limit, measured)
    assert (np.diff(grid) <= grid[:-1] / 60 + 1).all()
    assert (np.diff(grid) > 0).all()
    assert (grid[0], grid[-1]) == (1, limit)
    assert set(range(1, min(limit, 64) + 1)) | {size for size in measured if size <= limit} <= set(grid.tolist())


def parted(known: Known, partition: str) -> tuple[Request, Target, Facts]:
    """A solver on the CPU nodes or one of two kinds of GPU nodes of a system; not measured on the new ones."""
    usual = known(None).systems["fujitsu-primeflex-small"].default_partition

    def kind(name: str, processor: str, gpu: str | None) -> Partition:
        has = {"processor": processor, "cores": 64 if gpu else 40, "accelerator": gpu, "accelerators": 4 if gpu else 0}
        return usual.model_copy(update={"name": name, "default": not gpu, "node": usual.node.model_copy(update=has)})

    partitions = (
        kind("cpu", "xeon-gold-6148", None),
        kind("old", "epyc-7601", "v100-sxm2-16gb"),
        kind("new", "epyc-7601", "a100-sxm4-40gb"),
    )
    measured = [
        ran(seconds / nodes, nodes=nodes, ranks_per_node=ranks, system="parted", partition=name, **has)
        for name, ranks, has, seconds in (
            ("cpu", 40, {"threads_per_rank": 1}, 800.0),
            ("old", 64, {"threads_per_rank": 1}, 500.0),
            ("old", 4, {"gpus_per_node": 4}, 100.0),
        )
        for nodes in (1, 2, 4)
    ]
    facts = replace(changed(known, "fujitsu-primeflex-small", name="parted", partitions=partitions)(None), models=fit(measured))
    options = {"partition": partition, "request_gpus": 0 if partition == "cpu" else 4, "node_count": 2}
    request = asked("parted", application__app_type="mpi", job_options=options)
    return request, resolve(request, facts), facts


def test_layouts_of_other_nodes_are_no_candidates(known: Known) -> None:
    """Sixty-four ranks were measured on the system, on nodes that have as many cores; these have forty."""
    request, target, facts = parted(known, "cpu")
    assert {shape.ranks_per_node for shape in enumerate_candidates(request, target, facts.models).shapes} == {40}


@pytest.mark.parametrize(("named", "told"), [({}, True), ({"partition": "cpu"}, False)])
def test_results_on_other_nodes_of_the_system_are_said_where_none_are_named(known: Known, named: dict[str, str], told: bool) -> None:
    """Only the nodes of one partition are compared; others may cost half."""
    request, _, facts = parted(known, "cpu")
    request = request.model_copy(update={"job_options": JobOptions.model_validate({"node_count": 2, **named})})
    decisions = enumerate_candidates(reduce_request(request), resolve(request, facts), facts.models).decisions
    line = "partition: parted/cpu; name another one with results (job_options.partition) to compare: old"
    assert (line in decisions) == told, decisions


def test_times_of_other_nodes_of_a_system_are_transferred(known: Known) -> None:
    """By what their GPUs can do, as from another system; of the nodes themselves they are measured."""
    asked = [parted(known, partition) for partition in ("old", "new")]
    old, new = (recommend(request, facts).choices[0].prediction for request, _, facts in asked)
    assert (old.basis, old.value, new.basis) == ("measured", 50.0, "transferred")
    assert new.value == pytest.approx(50.0 * 900 / 1555, rel=0.01)
    assert (new.upper or 0) / (new.value or 1) > 2


GPUS_SEEN = ", ranks and threads per rank assumed, because the results do not state them"


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ([{"gpus_per_node": 8}], f"measured on mycloud; 8 GPUs per node as measured{GPUS_SEEN}"),
        (
            [{"gpus_per_node": 8, "ranks_per_node": 8}],
            "measured on mycloud; threads per rank assumed, because the results do not state them",
        ),
        ([{"gpus_per_node": 8, "ranks_per_node": 8, "threads_per_rank": 4}], "measured on mycloud"),
        (
            [{"gpus_per_node": 8}, {"gpus_per_node": 4, "ranks_per_node": 4, "threads_per_rank": 4}],
            "measured on mycloud; some results do not state their ranks and threads per rank, which are assumed",
        ),
    ],
)
def test_what_results_do_not_state_of_their_layout_is_not_called_measured(known: Known, stated: list[dict[str, int]], said: str) -> None:
    """Tables of clouds have GPUs alone; the ranks and threads of the job are a rule of thumb then."""
    series = {"framework": "pytorch", "system": "mycloud", "metric": "epoch_time"}
    runs = [ran(90.0 / n, nodes=n, **layout, **series) for n in (1, 2) for layout in stated]
    (line, *_) = candidates(known, "mycloud", measured=runs, optimisation=SPREAD).decisions
    assert line.endswith(f"; the ones {said}")


@pytest.mark.parametrize(
    ("wanted", "fields"),
    [
        ({"mpi": {"message_size": "small"}}, ["message_size"]),
        ({"mpi": {"core_subscription": 2, "message_size": "small"}}, ["core_subscription", "message_size"]),
        ({"mpi": {"core_subscription": 1, "library": "mpich"}}, []),
        ({"openacc": {"compiler": "nvhpc"}}, ["compiler"]),
        ({"mpi": {}, "opencl": {"compiler": "gcc"}}, ["compiler"]),
    ],
)
def test_options_without_effect_are_told(known: Known, wanted: dict[str, Any], fields: list[str]) -> None:
    """With what to give instead; several ranks on a core are the ranks of a node."""
    found = candidates(known, optimisation={"app_type": "hpc", "hpc": wanted})
    told = [one for one in found.warnings if "has no effect" in one.message]
    assert [one.field.rpartition(".")[2] for one in told] == fields
    assert all("process_count_per_node" in one.message for one in told if one.field.endswith("core_subscription"))


def test_an_option_without_effect_is_told_where_it_was_written(known: Known) -> None:
    """Also one of a programming model beside MPI, in the long form as in the short one."""
    long = {"config": {"parallelisation": ["mpi", "opencl"]}, "parallelisation-opencl": {"compiler": "gcc"}}
    for key, section, place in (
        ("app_type-hpc", long, "parallelisation-opencl"),
        ("hpc", {"mpi": {}, "opencl": {"compiler": "gcc"}}, "opencl"),
    ):
        found = candidates(known, optimisation={"app_type": "hpc", key: section})
        assert [one.field for one in found.warnings if "has no effect" in one.message] == [f"optimisation.{key}.{place}.compiler"]


def test_the_numbers_of_ranks_of_a_hybrid_program_begin_on_one_node() -> None:
    """Two ranks of two threads fill a node as four of one do: of a run that nobody has measured the fewest nodes come first."""
    facts = Facts(version="1", systems={"site": site(Node(processor="any", sockets=2, cores=4))})
    found = of_mpi(lambda _: facts, system="site", optimisation=HYBRID, application__allowed_ranks=[2, 4, 8, 16])
    assert (found.shapes[0].ranks_per_node, found.nodes[0].tolist()) == (2, [1, 2, 4])
    assert (4, 1, 0) in layouts(found)
