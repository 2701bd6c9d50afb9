"""The next runs of a request: what may be the right choice, what would decide it, and the scripts that measure it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from modak import choiceprobability, onerun
from modak.choosing.decision import choice_of, decide
from modak.choosing.objective import Scored
from modak.choosing.shapes import Shape
from modak.choosing.timelimits import START_UP_S
from modak.dsl import Request
from modak.errors import Infeasible
from modak.facts import Facts, HostMpi, Node, Queue, Result
from modak.nextruns import MeasurementPlan, Proposal, next_runs
from modak.normalise import normalise
from modak.onerun import measurement
from modak.optimise import optimise
from modak.perfmodel import Curve, fit
from modak.perfmodel.fitting.scaling import fit_many
from modak.perfmodel.intervals import HalfWidths
from tests.choosing.asked import asked, changed
from tests.examples import Known, example
from tests.runs import ran
from tests.systems import site

LAYOUT = {"job_options__process_count_per_node": 4, "job_options__core_count_per_process": 12}
"""As measured on SuperMUC-NG with the host's MPI."""
ON_SIXTEEN = {"minimise": "time", "max_nodes": 16}
"""An objective whose choice was measured."""
NS_PER_DAY = {"name": "throughput", "unit": "ns/day", "pattern": "Performance: +([0-9.]+)"}
HYBRID = {"app_type": "hpc", "hpc": {"mpi": {}, "openmp": {}}}


def request(**changes: Any) -> Request:
    """3DGAN on SuperMUC-NG within an hour, with changes."""
    return example("3dgan-supermuc-ng", **changes)


def shortened(known: Known, largest: float) -> Facts:
    """What would be known if the host's MPI had been measured up to this many nodes, and nothing else of that system."""
    facts = known("3dgan")
    here = [curve for curve in facts.models if curve.series.system == "supermuc-ng" and curve.series.mpi_from == "host"]
    return replace(facts, models=tuple(_cut(curve, largest) for curve in here))


def _cut(curve: Curve, largest: float) -> Curve:
    count = sum(size <= largest for size in curve.sizes)
    cut = {name: getattr(curve, name)[:count] for name in ("sizes", "costs", "repeats", "nodes")}
    shorter = curve.model_copy(update=cut)
    return shorter.model_copy(update={"mixture": fit_many([shorter.measured])[0]})


@pytest.fixture(scope="module")
def many(known: Known) -> Facts:
    """What would be known of 512 nodes or fewer."""
    return shortened(known, 512)


@pytest.fixture(scope="module")
def few(known: Known) -> Facts:
    """What would be known of 16 nodes or fewer."""
    return shortened(known, 16)


@pytest.fixture(scope="module")
def after_few(few: Facts) -> MeasurementPlan:
    """The next runs of the request, unchanged, by what is known of these."""
    return next_runs(request(), few)


def after(known: Known, runs: Iterable[Result], most: int = 5, **job: Any) -> MeasurementPlan:
    """The next runs of ``solver`` on SuperMUC-NG after these."""
    return next_runs(asked(**job), replace(known(None), models=fit(runs)), most)


def counts(runs_plan: MeasurementPlan) -> list[tuple[int, int, int]]:
    """Nodes, ranks a node and threads of every run."""
    chosen = [one.choice.configuration for one in runs_plan.proposals]
    return [(one.nodes, one.ranks_per_node, one.threads_per_rank) for one in chosen]


def test_a_decision_that_is_known_needs_no_run(known: Known, many: Facts) -> None:
    """The choice measured, the layout given: what is left is noise, and the answer says so, and what would make it surer all the same."""
    given = request(optimisation__objective=ON_SIXTEEN, **LAYOUT)
    runs_plan = next_runs(given, known("3dgan"))
    assert runs_plan.half_width == pytest.approx(0.08, abs=0.02)
    assert runs_plan.proposals == ()
    settled, why, next_one = runs_plan.notes
    assert settled == "no run narrows the interval of the decision by 2% or more"
    assert "measured, or lie between measured ones" in why
    nodes, hours = re.findall(r"narrow it .*, run ([0-9]+) nodes x 4x12 .*several times \(([0-9.]+) node-hours each time", next_one)[0]
    (measured,) = [curve for curve in many.models if int(nodes) in curve.sizes and curve.layout.ranks_per_node == 4]
    likely = runs_plan.likely[0].choice.configuration.nodes
    assert int(nodes) == min(measured.nodes, key=lambda size: abs(np.log(size / likely)))
    of_size = request(optimisation__objective=ON_SIXTEEN, job_options__node_count=int(nodes), **LAYOUT)
    of_run = next_runs(of_size, known("3dgan")).likely[0].choice.node_hours or 0.0
    assert float(hours) == pytest.approx(of_run + int(nodes) / 30, rel=5e-3), "with the two minutes that a job takes to start"


def test_a_size_that_the_budget_excludes_is_not_to_be_repeated(known: Known) -> None:
    """Of the measured sizes one that it allows, if there is one."""
    given = request(optimisation__objective=ON_SIXTEEN, **LAYOUT)
    advice = [next_runs(given, known("3dgan"), budget=budget).notes[-1] for budget in (21.0, 1e-3)]
    assert re.search(r", run 4 nodes x 4x12 .*several times", advice[0])
    assert advice[1] == "repeats would show how much runs scatter, but cost more than the budget"


def test_a_run_that_is_nearly_worth_it_is_named_and_can_be_had(few: Facts) -> None:
    """By the smallest part of the interval that a run has to narrow."""
    gains = [(one.step.before - one.step.after) / one.step.before for one in next_runs(request(), few, most=1).proposals if one.step]
    dull = next_runs(request(), few, most=1, least=0.99)
    assert 0.02 <= gains[0] < 0.99
    assert (dull.proposals, dull.notes[0]) == ((), "no run narrows the interval of the decision by 99% or more")
    assert re.search(
        r"all the same, measure [0-9]+ nodes? x .* node-hours\), which narrows the interval by [0-9.]+%; '--gain 0'", dull.notes[-1]
    )
    assert next_runs(request(), few, most=1, least=0.0).proposals


def test_a_budget_that_is_too_small_for_every_run_is_told_of_the_best(few: Facts) -> None:
    """What it narrows, and what it costs."""
    runs_plan = next_runs(request(), few, most=1, budget=1e-3)
    assert runs_plan.proposals == ()
    assert runs_plan.notes[0].endswith("within 0.001 node-hours")
    assert "a larger budget allows it" in runs_plan.notes[1]


def test_a_run_that_is_too_dear_and_narrows_too_little_is_told_with_both(few: Facts) -> None:
    """Not repeats of sizes that nobody has measured."""
    runs_plan = next_runs(request(), few, most=1, budget=1e-3, least=0.99)
    assert runs_plan.notes[-1].endswith("%: a larger budget and '--gain 0' allow it")


@pytest.mark.parametrize("first", [900.0, 890.0])
def test_of_very_many_equal_layouts_a_few_stand_for_all(known: Known, first: float) -> None:
    """Each of 170 builds is right with a smaller probability than that from which a layout is considered; or all but one, which is a little
    faster."""
    runs = [ran(900.0 if number else first, nodes=4, ranks_per_node=48, compiler=f"gcc-{number}") for number in range(170)]
    runs_plan = after(known, runs, application__app_type="mpi", job_options__node_count=4)
    assert len(runs_plan.likely) == choiceprobability.FEW
    assert re.fullmatch(r"[0-9]+ layouts may be the right choice, most with less than 1%: 10 stand for all", runs_plan.notes[0])


def test_layouts_that_nobody_has_run_come_first(many: Facts) -> None:
    """Each could be the better one, and no measurement says that it is not: also one with a few threads on each rank."""
    runs_plan = next_runs(request(), many)
    assert {(ranks, threads) for _, ranks, threads in counts(runs_plan)} == {(1, 48), (12, 4)}


@pytest.mark.parametrize(("section", "tried"), [({"mpi": {}}, {(48, 1)}), ({"mpi": {}, "openmp": {}}, {(1, 48), (12, 4), (48, 1)})])
def test_a_program_is_tried_with_a_rank_a_core_too(known: Known, section: dict[str, Any], tried: set[tuple[int, int]]) -> None:
    """Which layout of a hybrid program is the fastest only runs can tell; with MPI alone no other one is tried, whatever threads results
    name."""
    runs = [ran(100.0 / nodes, nodes=nodes, ranks_per_node=2, threads_per_rank=24) for nodes in (1, 2, 4)]
    wanted = {"app_type": "hpc", "hpc": section, "objective": {"max_nodes": 4}}
    runs_plan = after(known, runs, 9, application__app_type="mpi", optimisation=wanted)
    assert {(ranks, threads) for _, ranks, threads in counts(runs_plan)} - {(2, 24)} == tried


def test_a_layout_that_is_faster_on_one_node_is_tried_where_others_ran(known: Known) -> None:
    """Otherwise the answer would stay with the layout that happened to be run on several nodes first."""
    times = ((1, 2, 1000.0), (2, 2, 520.0), (4, 2, 280.0), (1, 48, 700.0))
    runs = [ran(seconds, nodes=nodes, ranks_per_node=ranks, threads_per_rank=48 // ranks) for nodes, ranks, seconds in times]
    wanted = {**HYBRID, "objective": {"minimise": "node_hours", "deadline": "300 s"}}
    runs_plan = after(known, runs, 3, application__app_type="mpi", optimisation=wanted)
    assert [run for run in counts(runs_plan) if run[0] >= 3 and run[1] == 48]


@pytest.mark.parametrize("faster", ["gcc-12", "intel-2021"])
def test_layouts_that_nobody_has_run_are_of_the_build_that_is_chosen(known: Known, faster: str) -> None:
    """Whichever of the measured builds comes first."""
    runs = [
        ran((700 if build == faster else 1000) / nodes, nodes=nodes, ranks_per_node=2, threads_per_rank=24, compiler=build)
        for build in ("gcc-12", "intel-2021")
        for nodes in (1, 2, 4)
    ]
    wanted = {**HYBRID, "objective": {"minimise": "time", "max_nodes": 4}}
    runs_plan = after(known, runs, application__app_type="mpi", optimisation=wanted)
    new = [run.choice.configuration.compiler for run in runs_plan.proposals if run.choice.configuration.ranks_per_node != 2]
    assert new
    assert set(new) == {faster}


def test_a_size_beside_a_measured_one_is_not_called_a_repeat(known: Known) -> None:
    """Of 63 given nodes beside 64 that were measured."""
    runs = [ran(8000 / nodes, nodes=nodes, ranks_per_node=4, threads_per_rank=12) for nodes in (16, 32, 64)]
    counts = {"node_count": 63, "process_count_per_node": 4, "core_count_per_process": 12}
    runs_plan = after(known, runs, application__app_type="mpi", job_options=counts)
    assert runs_plan.proposals == ()
    assert re.search(
        r"run 63 nodes x 4x12 \([0-9.]+ node-hours\): it tells about as much as a repeat of the size next to it", runs_plan.notes[-1]
    )


def test_sizes_that_may_be_right_are_tried_also_where_the_most_probable_are_next_to_a_measured_one(known: Known) -> None:
    """Runs of 62 and 63 nodes tell what one of 64 has told; that of a few less tells whether the program becomes slower on all."""
    times = {8: 520.0, 16: 300.0, 32: 220.0, 64: 205.0}
    runs = [ran(seconds, nodes=nodes, ranks_per_node=48, threads_per_rank=1) for nodes, seconds in times.items()]
    wanted = {"app_type": "hpc", "hpc": {"mpi": {}}, "objective": {"minimise": "time", "max_nodes": 64}}
    runs_plan = after(known, runs, application__app_type="mpi", optimisation=wanted)
    assert [32 < nodes <= 60 for nodes, *_ in counts(runs_plan)] == [True]


def test_a_program_of_single_threads_is_not_tried_with_more(known: Known) -> None:
    """Where all results ran a thread on each rank, and the request names no threads, the run that tells is another number of nodes."""
    times = {6: 5500.0, 12: 3700.0, 24: 3400.0, 48: 3300.0}
    runs_plan = after(known, [ran(seconds, nodes=1, ranks_per_node=ranks, threads_per_rank=1) for ranks, seconds in times.items()])
    assert counts(runs_plan)[0] == (2, 48, 1)
    assert {threads for *_, threads in counts(runs_plan)} == {1}


@pytest.mark.parametrize(
    ("times", "next_threads"),
    [({}, [48, 24]), ({48: 812.0}, [24]), ({48: 812.0, 24: 700.0}, [12]), ({48: 812.0, 24: 1500.0}, []), ({48: 812.0, 4: 900.0}, [24])],
)
def test_a_program_with_openmp_alone_is_tried_with_fewer_threads(known: Known, times: dict[int, float], next_threads: list[int]) -> None:
    """Threads that share a socket may be the faster ones; fewer still are tried only if that helped."""
    runs = [ran(seconds, nodes=1, ranks_per_node=1, threads_per_rank=threads) for threads, seconds in times.items()]
    runs_plan = after(known, runs, optimisation={"app_type": "hpc", "hpc": {"openmp": {}}})
    assert counts(runs_plan) == [(1, 1, threads) for threads in next_threads]


def test_a_run_on_gpus_has_the_cores_of_the_choice(known: Known) -> None:
    """Its ranks, which have a thread each, share those that go with the GPUs; else it would measure another run."""
    asked, facts = example("resnet50-gpu-cluster"), known("resnet50")
    runs_plan = next_runs(asked, facts, most=1)
    scripts = (
        optimise(asked, facts).texts.job_script,
        measurement(asked, facts, runs_plan.decision, runs_plan.proposals[0].index).texts.job_script,
    )
    cores = [re.findall(r"#SBATCH --cpus-per-task=(\d+)", script) for script in scripts]
    assert cores == [["12"], ["12"]]


def test_a_run_for_a_job_array_is_one_job_of_it(known: Known) -> None:
    """The others would measure the same, and are in no budget."""
    asked, facts = request(job_options__job_array="5-99:2%10"), known("3dgan")
    decision = decide(asked, facts)
    assert "\n#SBATCH --array=5\n" in measurement(asked, facts, decision, decision.best).texts.job_script


def test_given_counts_leave_the_sizes(known: Known) -> None:
    """With the layout given and few sizes known, all runs are of that layout, and one is near what will be chosen."""
    given = request(**LAYOUT)
    runs_plan = next_runs(given, shortened(known, 8))
    low, high = runs_plan.likely[0].nodes
    assert {each[1:] for each in counts(runs_plan)} == {(4, 12)}
    assert any(low / 2 <= nodes <= 2 * high for nodes, *_ in counts(runs_plan))


def test_a_compiler_left_to_the_evidence_is_tried(many: Facts) -> None:
    """One run with it, where results are all without."""
    asked = request(optimisation__ai_training={"config": {"distributed_training": True}, "tensorflow": {"xla": "auto"}})
    compilers = [one.choice.configuration.compiler for one in next_runs(asked, many).proposals]
    assert "xla" in compilers


@pytest.mark.parametrize("value", [True, "auto"])
def test_a_compiler_that_no_image_has_is_not_tried(value: Any, few: Facts) -> None:
    """Its script would run without it, and record another run than the one that was proposed."""
    framework = {"config": {"distributed_training": True}, "tensorflow": {"distribution": "horovod", "xla": value}}
    runs_plan = next_runs(request(optimisation__ai_training=framework), few)
    assert runs_plan.proposals
    assert {one.choice.configuration.compiler for one in runs_plan.proposals} == {None}
    told = [one.message for one in runs_plan.warnings if "contains xla; the job runs without it" in one.message]
    assert len(told) == (value is True)


def epochs(application: str = "net", nodes: tuple[int, ...] = (1, 2, 4), seconds: float = 60.0, **labels: Any) -> list[Result]:
    """Epochs in TensorFlow on nodes of the testbed, one rank on each."""
    series = {"application": application, "system": "hlrs-testbed", "framework": "tensorflow", "metric": "epoch_time", "dataset": "d"}
    return [ran(seconds / n**0.8, nodes=n, ranks_per_node=1, threads_per_rank=20, **series, **labels) for n in nodes]


def switched(tensorflow: dict[str, Any], nodes: int | None = None, **work: Any) -> Request:
    """A training of ``net`` in TensorFlow on the testbed, with its layout given."""
    training = {"config": {"distributed_training": True}, "tensorflow": {"version": "2.*", **tensorflow}}
    optimisation = {"app_type": "ai_training", "opt_build": {"acc_type": "none"}, "ai_training": training}
    work = {"application": "net", "dataset": "d", "epochs": 5, **work}
    options = {"node_count": nodes, "process_count_per_node": 1, "core_count_per_process": 20}
    application = {"app_tag": "net", "app_type": "python", "executable": "python3 net.py"}
    job = {"application": application, "target": {"name": "hlrs-testbed"}, "job_options": options}
    return normalise({"job": {**job, "optimisation": {**optimisation, "workload": work}}}).request


@pytest.mark.parametrize(("nodes", "proposed"), [(3, [(3, "xla"), (3, None)]), (4, [(4, "xla")])])
def test_the_pair_that_the_decision_asks_for_comes_first(known: Known, nodes: int, proposed: list[tuple[int, str | None]]) -> None:
    """Of a switch that no results tell of: one run with it and, if that is not measured, one without it, each with its script."""
    asked, facts = switched({"xla": "auto"}, nodes), replace(known(None), models=fit(epochs()))
    line = next(text for text in optimise(asked, facts).plan.decisions if text.startswith("xla: "))
    assert line.endswith(f"compare one run with it and one without it on {nodes} nodes of hlrs-testbed")
    runs_plan = next_runs(asked, facts)
    first = [one.choice.configuration for one in runs_plan.proposals[: len(proposed)]]
    assert [(one.nodes, one.compiler) for one in first] == proposed
    scripts = [measurement(asked, facts, runs_plan.decision, one.index).texts.job_script for one in runs_plan.proposals[: len(proposed)]]
    assert ["TF_XLA_FLAGS=" in script for script in scripts] == [compiler == "xla" for _, compiler in proposed]


@pytest.mark.parametrize(
    ("switches", "work", "said"), [({"xla": "auto"}, {}, ["xla"]), ({}, {"precision": "auto"}, ["fp16"]), ({"xla": True}, {}, [])]
)
def test_what_the_program_has_to_switch_is_told(known: Known, switches: dict[str, Any], work: dict[str, Any], said: list[str]) -> None:
    """Else the result of a run counts as one with a switch that its program does not have."""
    facts = replace(known(None), models=fit(epochs(precision="fp16" if work else None)))
    notes = next_runs(switched(switches, 3, **work), facts).notes
    assert [note.partition(":")[0] for note in notes if "see to it that the program uses it" in note] == said


def test_the_interval_of_the_decision_is_that_of_the_whole_time(known: Known) -> None:
    """Start-up has its part in it: 100 of 105 s, which are known better than epochs that scatter."""
    both = [
        result.model_copy(update={"series": result.series.model_copy(update={"metric": metric, "params": {"epochs": "5"}}), "value": value})
        for result in epochs(nodes=(1,))
        for epoch in (0.6, 1.0, 1.5)
        for metric, value in (("epoch_time", epoch), ("wall_time", 100 + 5 * epoch))
    ]
    found = next_runs(switched({}, 1), replace(known(None), models=fit(both)))
    (only,) = found.likely
    told = only.choice.prediction
    assert told.start_up == pytest.approx(100)
    assert told.lower is not None
    assert told.upper is not None
    assert found.half_width == pytest.approx(np.log(told.upper / told.lower) / 2)


def test_a_run_is_of_the_problem_of_the_request(known: Known) -> None:
    """Its result would else be one of no problem."""
    asked, facts = switched({}, params={"cells": 64}), replace(known(None), models=fit(epochs(nodes=(1, 2), params={"cells": "64"})))
    runs_plan = next_runs(asked, facts, 1)
    assert '"params.cells": "64"' in measurement(asked, facts, runs_plan.decision, runs_plan.proposals[0].index).texts.job_script


def test_a_pair_in_one_precision_of_two_is_planned_in_it(known: Known) -> None:
    """Half precision was measured: the run without it is one in single precision."""
    asked, facts = switched({}, 3, precision="auto"), replace(known(None), models=fit(epochs(precision="fp16")))
    runs_plan = next_runs(asked, facts)
    made = [measurement(asked, facts, runs_plan.decision, one.index) for one in runs_plan.proposals[:2]]
    assert [one.plan.configuration.precision for one in made] == ["fp16", "fp32"]
    assert ['"precision": "fp32"' in one.texts.job_script for one in made] == [False, True]


def test_a_run_of_a_source_build_is_recorded_as_one(known: Known) -> None:
    """Else its result would be one of the image from the hub."""
    training = switched({}, 1)
    asked = training.changed(optimisation={"enable_opt_build": "auto"})
    facts = replace(known(None), models=fit(epochs(nodes=(2, 4))))
    runs_plan = next_runs(asked, facts)
    built = next(one for one in runs_plan.proposals if one.choice.configuration.opt_build)
    made = measurement(asked, facts, runs_plan.decision, built.index)
    assert made.plan.configuration.opt_build is None
    assert '"params.build": "opt-build"' in made.texts.job_script
    assert "opt-build" in str(made.plan.image or made.plan.recipe)


def test_times_with_a_switch_are_those_of_an_answer(known: Known) -> None:
    """Others had it both ways: their ratio is applied in both."""
    own, others = epochs(), [*epochs("one", (1,), 100.0), *epochs("one", (1,), 80.0, compiler="xla")]
    asked, facts = switched({"xla": "auto"}, 3), replace(known(None), models=fit(own), tried=(*own, *others))
    answer, found = optimise(asked, facts).plan, [one.choice for one in next_runs(asked, facts).likely]
    assert answer.configuration.compiler == "xla"
    assert [one.prediction.value for one in found if one.configuration.compiler == "xla"] == [pytest.approx(answer.prediction.value)]


def test_a_switch_that_no_image_has_is_neither_asked_for_nor_proposed(known: Known) -> None:
    """The line and the plan agree."""
    asked, facts = switched({"version": "1.*", "ngraph": "auto", "distribution": "horovod"}, 3), replace(known(None), models=fit(epochs()))
    why = "no suitable image of tensorflow contains ngraph"
    assert f"ngraph: off, because {why}" in optimise(asked, facts).plan.decisions
    assert {one.choice.configuration.compiler for one in next_runs(asked, facts).proposals} <= {None}


def test_a_first_look_has_the_smallest_size_with_an_open_switch(known: Known) -> None:
    """Nothing is known of the application: the run without the switch, the one with it, then larger ones."""
    found = next_runs(switched({"xla": "auto"}), known(None)).proposals
    made = [(one.choice.configuration.nodes, one.choice.configuration.compiler) for one in found]
    assert made == [(1, None), (1, "xla"), (2, None), (4, None)]


def test_every_run_narrows_the_interval_of_the_decision(after_few: MeasurementPlan) -> None:
    """Each from where the ones before it left it; the first from where it stands."""
    steps = [one.step for one in after_few.proposals if one.step]
    assert steps[0].before == pytest.approx(after_few.half_width)
    assert all(one.after < 0.98 * one.before for one in steps)


def test_the_budget_holds(few: Facts) -> None:
    """For all runs together, including their starts; a note if the budget is too small for any."""
    runs_plan = next_runs(request(), few, 5, 50.0)
    assert 0 < sum(one.node_hours or 0 for one in runs_plan.proposals) <= 50
    assert runs_plan.notes == ("after these, no run narrows the interval of the decision by 2% or more within 50 node-hours",)
    none = next_runs(request(), few, 5, 1.0)
    assert (none.proposals, none.notes[0]) == ((), "no run narrows the interval of the decision by 2% or more within 1 node-hours")


def test_node_hours_energy_and_cost_of_a_run_are_of_the_same_time(known: Known) -> None:
    """With the start of its job, which is charged, too."""
    facts = shortened(known, 64)
    system = facts.systems["supermuc-ng"]
    partitions = tuple(
        one.model_copy(update={"price_per_node_hour": 0.5, "node": one.node.model_copy(update={"power_w": 400.0})})
        for one in system.partitions
    )
    priced = replace(facts, systems={**facts.systems, "supermuc-ng": system.model_copy(update={"partitions": partitions})})
    runs = next_runs(request(), priced).as_json()["runs"]
    assert runs
    for run in runs:
        started = run["configuration"]["nodes"] * (run["prediction"]["value"] + START_UP_S) / 3600
        of_run = [run[name] for name in ("node_hours", "core_hours", "energy_kwh", "cost")]
        assert of_run == pytest.approx([started, started * 48, started * 0.4, started * 0.5])


def test_probabilities_are_of_layouts_and_sum_to_one(after_few: MeasurementPlan) -> None:
    """What is chosen in some draws, the most probable first."""
    probabilities = [one.probability for one in after_few.likely]
    assert probabilities == sorted(probabilities, reverse=True)
    assert 0.9 < sum(probabilities) <= 1 + 1e-9


def test_the_same_question_has_the_same_answer(few: Facts, after_few: MeasurementPlan) -> None:
    """The draws are no chance."""
    assert next_runs(request(), few).proposals == after_few.proposals


def test_scripts_measure_what_is_proposed(few: Facts) -> None:
    """Counts, MPI and compiler of the plan are the proposal's; constraints that a measurement need not meet are gone."""
    asked = request(optimisation__ai_training={"config": {"distributed_training": True}, "tensorflow": {"xla": "auto"}})
    runs_plan = next_runs(asked, few)
    for proposal in runs_plan.proposals:
        made, wanted = measurement(asked, few, runs_plan.decision, proposal.index), proposal.choice.configuration
        names = ("nodes", "ranks_per_node", "threads_per_rank", "mpi_from", "compiler")
        assert [getattr(made.plan.configuration, name) for name in names] == [getattr(wanted, name) for name in names]
        assert f"#SBATCH --nodes={wanted.nodes}\n" in made.texts.job_script
    assert len(runs_plan.proposals) >= 3


def test_a_measured_layout_is_measured_as_it_was(known: Known) -> None:
    """Two of the layouts have the same counts and differ in whose MPI starts them: each script has its own."""
    facts = known("3dgan")
    runs_plan = next_runs(request(), facts)
    scored = runs_plan.decision.scored
    alike = [place for place, shape in enumerate(runs_plan.decision.candidates.shapes) if shape.layout.ranks_per_node == 4]
    places = [int(np.flatnonzero(scored.shape == shape)[0]) for shape in alike]
    runs = [Proposal(place, choice_of(runs_plan.decision, place)) for place in places]
    assert {run.choice.configuration.mpi_from for run in runs} == {"host", "container"}
    made = [measurement(request(), facts, runs_plan.decision, run.index) for run in runs]
    assert [one.plan.configuration.mpi_from for one in made] == [run.choice.configuration.mpi_from for run in runs]


@pytest.mark.parametrize("other", [{"numa_mode": 2}, {"precision": "fp16"}])
def test_variants_of_the_same_counts_have_each_a_result_file(few: Facts, other: dict[str, Any]) -> None:
    """Whatever they differ in, where the request names one: all lie in the folder that the scripts are submitted from."""
    (curve,) = few.models
    facts = replace(few, models=(curve, curve.model_copy(update={"series": curve.series.model_copy(update=other)})))
    asked = request(application__result_file="measured.json")
    runs_plan = next_runs(asked, facts)
    scored = runs_plan.decision.scored
    runs = [Proposal(place, choice_of(runs_plan.decision, place)) for place in map(int, np.flatnonzero(scored.nodes == 16))]
    scripts = [measurement(asked, facts, runs_plan.decision, run.index).texts.job_script for run in runs]
    names = {name for script in scripts for name in re.findall(r'^MODAK_RESULT="\$\{MODAK_HERE\}"/(.*)', script, re.MULTILINE)}
    assert len(names) == len(runs) == 5


def test_what_nobody_has_run_is_looked_at_first(known: Known) -> None:
    """The smallest sizes, then other layouts on a node, with no number where there is none."""
    asked = request(optimisation__workload={"application": "unheard-of"})
    runs_plan = next_runs(asked, known("unheard-of"))
    assert counts(runs_plan) == [(1, 2, 24), (2, 2, 24), (4, 2, 24), (1, 12, 4), (1, 1, 48)]
    assert runs_plan.half_width is None
    assert {one.choice.prediction.basis for one in runs_plan.proposals} == {"none"}


def test_a_hybrid_program_is_first_run_with_a_few_threads_for_each_rank(known: Known) -> None:
    """The layout between the others tells most of how they scale."""
    asked = {"app_type": "hpc", "hpc": {"mpi": {}, "openmp": {}}}
    job = {"target": {"name": "supermuc-ng"}, "application": {"app_tag": "solver", "app_type": "mpi"}, "optimisation": asked}
    runs_plan = next_runs(normalise({"job": job}).request, known("nobody-ran-this"))
    assert counts(runs_plan) == [(1, 12, 4), (2, 12, 4), (4, 12, 4), (1, 48, 1), (1, 2, 24)]


@pytest.mark.parametrize(
    ("work", "seconds", "told"),
    [
        ({"amount": "500 ns", "metric": NS_PER_DAY}, None, "give less in optimisation.workload.amount, and in the command"),
        ({"amount": "500 ns", "metric": NS_PER_DAY}, 864.0, "give less in optimisation.workload.amount, and in the command"),
        ({"amount": "0.1 ns", "metric": NS_PER_DAY}, 864.0, None),
        ({"metric": NS_PER_DAY}, None, None),
        ({"epochs": 100, "metric": {"name": "energy", "unit": "J", "pattern": "([0-9]+) J"}}, None, None),
        ({"epochs": 100, "metric": {"name": "solve_time", "unit": "s", "pattern": "([0-9]+) s"}}, None, None),
        ({"amount": "500 ns"}, None, None),
    ],
)
def test_a_long_run_is_said_to_tell_no_more_than_a_short_one(
    known: Known, work: dict[str, Any], seconds: float | None, told: str | None
) -> None:
    """The speed of a program, which it prints, is known after a while; a whole run each time would be dear."""
    rate = {"ranks_per_node": 48, "threads_per_rank": 1, "metric": "throughput", "unit": "ns/day"}
    runs = [ran(86400 * nodes / seconds, nodes=nodes, **rate) for nodes in (1, 2)] if seconds else []
    runs_plan = after(known, runs, application__app_type="mpi", optimisation={**HYBRID, "workload": work})
    assert [told in note for note in runs_plan.notes if told and "shorter run" in note] == ([True] if told else [])
    assert any("shorter run" in note for note in runs_plan.notes) is bool(told)


@pytest.mark.parametrize(("log", "warned"), [("log.lammps", True), ("log.${SLURM_JOB_ID}", False), ("${MODAK_SCRATCH}/log", False)])
def test_runs_that_write_one_log_are_warned_of(known: Known, log: str, warned: bool) -> None:
    """Submitted together, each would read the metric of another."""
    metric = {"name": "throughput", "unit": "steps/s", "pattern": "([0-9.]+) timesteps/s"}
    application = {"app_tag": "unheard-of", "app_type": "mpi", "executable": "lmp", "metric_file": log}
    job = {"application": application, "target": {"name": "supermuc-ng"}, "optimisation": {"workload": {"metric": metric}}}
    fields = [warning.field for warning in next_runs(normalise({"job": job}).request, known("unheard-of")).warnings]
    assert ("application.metric_file" in fields) is warned


@pytest.mark.parametrize(
    ("node", "fields", "expected"),
    [
        (
            {"sockets": 2, "cores": 48},
            {"allowed_ranks": [48, 96]},
            [(4, 12, 4), (4, 24, 2), (1, 48, 1)],
        ),
        (
            {"sockets": 1, "cores": 12, "numa_modes": [{"domains": 1, "standard": True}]},
            {"allowed_ranks": [16, 48]},
            [(4, 4, 3), (4, 12, 1)],
        ),
        (
            {"sockets": 2, "cores": 48, "numa_modes": [{"domains": 2, "standard": True}, {"domains": 4}]},
            {},
            [(1, 12, 4), (2, 12, 4), (4, 12, 4), (1, 48, 1), (1, 2, 24)],
        ),
        ({"sockets": 2, "cores": 46}, {}, [(1, 6, 7), (2, 6, 7), (4, 6, 7), (1, 46, 1), (1, 2, 23)]),
        ({"sockets": 2, "cores": 1}, {}, [(1, 2, 1), (2, 2, 1), (4, 2, 1), (1, 1, 1)]),
    ],
    ids=["allowed ranks", "more of them than NUMA domains", "NUMA modes", "a prime number of cores", "fewer cores than sockets"],
)
def test_first_runs_have_each_layout_that_nodes_can_run(
    node: dict[str, Any], fields: dict[str, Any], expected: list[tuple[int, int, int]]
) -> None:
    """Each once, whatever it comes from: numbers of ranks that the program runs with make some, too."""
    facts = Facts(version="1", systems={"site": site(Node.model_validate({"processor": "any", **node}))})
    job = {"target": {"name": "site"}, "application": {"app_tag": "solver", "app_type": "mpi", **fields}}
    asked = normalise({"job": {**job, "optimisation": {"app_type": "hpc", "hpc": {"mpi": {}, "openmp": {}}}}}).request
    found = next_runs(asked, facts)
    assert counts(found) == expected
    assert {run.choice.configuration.numa_mode for run in found.proposals} == {None}, "as their records"


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ("sh -c 'blockMesh && decomposePar -force'", True),
        ("decomposePar -case case-${SLURM_JOB_ID}", False),
        ("sh -c 'decomposePar -case $MODAK_SCRATCH'", False),
        ("source ${HOME}/env/bin/activate", False),
        ("", False),
    ],
)
def test_runs_whose_steps_write_one_folder_are_told(known: Known, steps: str, told: bool) -> None:
    """Submitted together, the mesh of one would be split for another."""
    application = {"app_tag": "unheard-of", "app_type": "mpi", "executable": "simpleFoam -parallel", "pre-execution": steps}
    job = {"application": application, "target": {"name": "supermuc-ng"}}
    notes = next_runs(normalise({"job": job}).request, known("unheard-of")).notes
    assert any("one after the other" in note for note in notes) is told


def test_runs_that_only_one_node_can_start_are_proposed_on_one(known: Known) -> None:
    """Torchrun needs a scheduler that allocates several: scripts for two nodes would be refused."""
    training = {"app_type": "ai_training", "ai_training": {"pytorch": {"distribution": "ddp"}}, "workload": {"application": "net"}}
    asked = normalise({"job": {"application": {"executable": "train.py"}, "optimisation": training}}).request
    assert {nodes for nodes, _, _ in counts(next_runs(asked, known("net")))} == {1}


def test_first_runs_fit_the_queue_that_the_request_names(known: Known) -> None:
    """One of at most two nodes would reject the third."""
    facts = known("unheard-of")
    system = facts.systems["supermuc-ng"]
    queues = (Queue(name="small", max_nodes=2), Queue(name="large", min_nodes=3, max_nodes=100))
    thin = system.partitions[0].model_copy(update={"queues": queues})
    facts = replace(facts, systems={"supermuc-ng": system.model_copy(update={"partitions": (thin, *system.partitions[1:])})})
    application = {"app_tag": "unheard-of", "app_type": "mpi"}
    job = {"application": application, "target": {"name": "supermuc-ng"}, "job_options": {"queue": "small"}}
    assert [nodes for nodes, _, _ in counts(next_runs(normalise({"job": job}).request, facts))] == [1, 2]


def test_runs_are_planned_with_the_library_that_the_request_names(known: Known) -> None:
    """Not with the system's default."""
    libraries = (HostMpi(family="intel-mpi", default=True), HostMpi(family="openmpi"))
    runs = [ran(100.0 / n, nodes=n, ranks_per_node=4, threads_per_rank=12, mpi="openmpi") for n in (1, 2, 4)]
    wanted = {"app_type": "hpc", "hpc": {"openmpi": {}}}
    found = after(changed(known, mpi=libraries), runs, application__app_type="hpc", optimisation=wanted)
    assert {one.choice.configuration.mpi for one in found.proposals} == {"openmpi"}


def test_runs_that_torchrun_starts_have_no_mpi_library(known: Known) -> None:
    """Not even that of the host: their results will name none, as those name none that are there."""
    timed = [ran(100.0 / n, nodes=n, ranks_per_node=2, threads_per_rank=24, framework="pytorch") for n in (1, 2)]
    wanted = {"app_type": "ai_training", "ai_training": {"pytorch": {"distribution": "ddp"}}}
    found = after(known, timed, application__app_type="python", application__executable="train.py", optimisation=wanted)
    runs = [one.choice.configuration for one in found.proposals]
    assert {(one.mpi, one.mpi_from) for one in runs} == {(None, None)}
    assert {one.ranks_per_node for one in runs} - {2}


@pytest.mark.parametrize("most", [1, 2])
def test_as_many_runs_as_were_asked_for_are_not_called_the_last(most: int, known: Known) -> None:
    """Further ones may narrow the interval, too."""
    runs_plan = next_runs(request(), shortened(known, 16), most)
    assert (len(runs_plan.proposals), runs_plan.notes) == (most, ())


def test_an_application_that_nobody_ran_is_said_to_be_one(known: Known) -> None:
    """Its first runs are no answer to what is not known."""
    runs_plan = next_runs(request(optimisation__workload={"application": "nobody-ran-this"}), known("nobody-ran-this"))
    assert runs_plan.notes == ("there is no usable result of this application: these runs give a first look at how it scales",)
    facts = replace(known("nobody-ran-this"), similar_application="somebody-ran-this")
    (note,) = next_runs(request(optimisation__workload={"application": "nobody-ran-this"}), facts).notes
    assert note.startswith("there is no usable result of this application (there are results of 'somebody-ran-this'): these")


def test_rates_that_give_no_time_are_not_called_unusable(known: Known) -> None:
    """The warning names what the request would have to give, as in an answer."""
    models = fit(ran(100.0 * n, nodes=n, metric="throughput", unit="samples/s") for n in (1, 2, 4))
    runs_plan = next_runs(request(optimisation__workload={"application": "solver"}), replace(known(None), models=models))
    assert ([one.field for one in runs_plan.warnings], runs_plan.notes) == (["optimisation.workload.samples"], ())
    assert runs_plan.proposals == ()


def test_of_several_data_sets_those_runs_are_proposed_that_tell_of_the_one_which_is_asked(known: Known) -> None:
    """The interval of the decision is of the same data set as its times: as if the request named it."""
    runs = [
        ran(work / nodes, nodes=nodes, ranks_per_node=48, dataset=dataset)
        for dataset, work, sizes in (("small", 100.0, (1, 2)), ("large", 9000.0, (1, 2, 4, 8, 16)))
        for nodes in sizes
    ]
    facts = replace(known(None), models=fit(runs))
    unsaid, named = (
        next_runs(request(optimisation__workload={"application": "solver"} | said), facts) for said in ({}, {"dataset": "large"})
    )
    assert unsaid.half_width == pytest.approx(named.half_width)
    assert counts(unsaid) == counts(named)


def test_what_cannot_be_met_however_the_runs_come_out_is_infeasible(known: Known) -> None:
    """A deadline below what any draw allows."""
    with pytest.raises(Infeasible):
        next_runs(request(optimisation__objective={"deadline": 60, "max_nodes": 2}), known("3dgan"))


def test_an_efficiency_that_does_not_bind_the_choice_does_not_bind_the_draws(known: Known) -> None:
    """With the counts given, an answer keeps them, and says so: a fast layout is not less likely because it misses the efficiency, too."""
    given = {"job_options__node_count": 512}
    asked = request(**given, optimisation__objective={}, application__minimal_efficiency=0.97)
    runs_plan, free = next_runs(asked, known("3dgan")), next_runs(request(**given, optimisation__objective={}), known("3dgan"))
    assert [one.probability for one in runs_plan.likely] == pytest.approx([one.probability for one in free.likely], abs=0.05)
    assert [one.field for one in runs_plan.warnings] == ["application.minimal_efficiency"]


def test_an_objective_that_needs_a_figure_of_the_system_is_said_not_to_be_met(known: Known) -> None:
    """As in an answer: what is minimised instead."""
    asked = request(optimisation__objective={"minimise": "cost"})
    assert [one.field for one in next_runs(asked, known("3dgan")).warnings] == ["optimisation.objective.minimise"]


@pytest.mark.parametrize(("width", "matters"), [(0.01, False), (0.5, True)])
def test_a_choice_that_loses_less_than_a_run_is_worth_is_as_right(width: float, matters: bool) -> None:
    """Which of two is better that differ by less than 2 % needs no run; one that may lose more, by its interval, is worth one."""
    size, limit = np.array([4, 4]), np.full(2, width)
    scored = Scored(
        np.array([0, 1]), size, np.array([100.0, 100.5]), HalfWidths(limit, limit), np.zeros(2), np.ones(2), ("transferred",) * 2
    )
    asked = normalise({"job": {"optimisation": {"objective": {"minimise": "time"}}}}).request
    probabilities = choiceprobability.choice_probabilities(asked, scored)
    assert bool(probabilities[1] >= 0.05) is matters
    assert probabilities.sum() == pytest.approx(1)


def test_no_draw_scales_better_than_perfectly() -> None:
    """A lucky draw is faster at the measured end, but its node-seconds do not fall with more nodes; an unlucky one keeps its spread."""
    nodes = np.array([1, 2, 4, 8])
    reach = np.array([0.1, 0.5, 1.0, 2.0])
    scored = Scored(np.zeros(4, dtype=np.int64), nodes, 100.0 / nodes, HalfWidths(reach, reach), np.zeros(4), np.ones(4), ("none",) * 4)
    lucky, unlucky = (choiceprobability.drawn_times(scored, np.array([z])) for z in (-1.0, 1.0))
    assert lucky[0] == pytest.approx(100 * np.exp(-0.1 / 1.645))
    assert lucky * nodes == pytest.approx(np.full(4, lucky[0]), rel=1e-5)
    assert unlucky == pytest.approx(100 / nodes * np.exp(scored.width.above / 1.645))


@pytest.mark.parametrize("columns", [1, 5, 20])
def test_draws_are_spread_like_normal_numbers(columns: int) -> None:
    """Mean nought, deviation one, in every column, and no two columns much alike."""
    draws = choiceprobability.normal_draws(columns)
    assert draws.shape == (choiceprobability.DRAWS, columns)
    assert np.abs(draws.mean(axis=0)).max() < 1e-9
    assert np.abs(draws.std(axis=0) - 1).max() < 0.01
    assert np.abs(np.corrcoef(draws.T) - np.eye(columns)).max() < 0.25


def test_a_run_of_a_build_is_planned_for_that_build() -> None:
    """Its result would else be recorded as one of another program."""
    document = {"job": {"application": {"app_tag": "solver", "app_type": "mpi"}}}
    asked = normalise(document).request
    runs = [Shape(1, 1, compiler=compiler) for compiler in ("gcc-8.3", "xla", None)]
    kept = [onerun.one_run(asked, run)["workload"].compiler for run in runs]
    assert kept == ["gcc-8.3", None, None]


def test_a_run_of_a_framework_with_a_compiler_that_is_always_on_is_planned() -> None:
    """JAX without XLA does not exist, so there is nothing to switch."""
    asked = normalise({"job": {"optimisation": {"app_type": "ai_training", "ai_training": {"jax": {}}}}}).request
    assert onerun.one_run(asked, Shape(1, 1, compiler="xla"))["options"] == asked.optimisation.options
