"""What makes a cost the workload's time: amounts, lengths of runs, and one problem at a time."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from modak.choosing.decision import decide
from modak.dsl import Autotuning, Objective, Plan, Setting
from modak.errors import Infeasible
from modak.facts import Facts, Layout, Result, SeriesKey
from modak.normalise import normalise
from modak.optimise import Recommendation, optimise, recommend
from modak.perfmodel import fit
from tests.examples import Known


def runs(ranks: int = 48, values: Sequence[float] = (100.0, 55.0, 33.0), **series: Any) -> list[Result]:
    """Runs of a solver on 1, 2 and 4 nodes; by default times of whole runs in seconds."""
    key = SeriesKey.model_validate({"application": "solver", "system": "supermuc-ng", "metric": "wall_time", "unit": "s", **series})
    layouts = [Layout(nodes=nodes, ranks_per_node=ranks, threads_per_rank=48 // ranks) for nodes in (1, 2, 4)]
    return [Result(series=key, layout=layout, value=value) for layout, value in zip(layouts, values, strict=False)]


def asked(known: Known, results: Sequence[Result], nodes: int | None = None, **workload: Any) -> tuple[Any, Facts]:
    """A request for the solver, and facts with these results alone."""
    wanted = {"app_type": "hpc", "hpc": {"mpi": {}}, "workload": workload, "objective": {"minimise": "time", "max_nodes": 4}}
    application = {"app_tag": "solver", "app_type": "mpi", "executable": "./solve"}
    job = {"application": application, "target": {"name": "supermuc-ng"}, "optimisation": wanted, "job_options": {"node_count": nodes}}
    return normalise({"job": job}).request, replace(known(None), models=fit(results))


def plan(known: Known, results: Sequence[Result], nodes: int | None = None, **workload: Any) -> Plan:
    """The plan for it."""
    return optimise(*asked(known, results, nodes, **workload)).plan


def answer(known: Known, results: Sequence[Result], **workload: Any) -> Recommendation:
    """The recommendation for it."""
    return recommend(*asked(known, results, **workload))


def of_steps(batch: int | None) -> list[Result]:
    """Times of a step that do not change with the nodes, as each of 48 ranks has a batch of its own."""
    results = runs(values=(0.4, 0.4, 0.4), metric="step_time")
    return [one.model_copy(update={"layout": one.layout.model_copy(update={"batch_size": batch})}) for one in results]


def test_times_of_steps_with_a_batch_per_worker_are_of_fewer_steps_on_more_nodes(known: Known) -> None:
    """By hand: 4 nodes with 48 ranks of 10 samples each need 1000 steps for the samples of an epoch."""
    made = plan(known, of_steps(10), epochs=3, samples=1_920_000)
    assert (made.configuration.nodes, made.prediction.per) == (4, "epoch")
    assert made.prediction.value == pytest.approx(3 * 1000 * 0.4)


@pytest.mark.parametrize(
    ("params", "samples", "factor", "told"),
    [
        ({"samples": "50000"}, 200_000, 4, "scaled from 50000 samples per epoch to 200000, as if each took as long"),
        ({}, 200_000, 1, "not scaled to the 200000 samples of an epoch: results that give their own number (params.samples)"),
        ({"samples": "many"}, 200_000, 1, "not scaled to the 200000 samples of an epoch"),
        ({"samples": "50000"}, None, 1, "not scaled to the size of this data set"),
    ],
)
def test_epochs_of_another_data_set_are_scaled_by_their_samples(
    params: dict[str, str], samples: int | None, factor: int, told: str, known: Known
) -> None:
    """If results say how many they were of; else the answer says what would tell."""
    results = runs(metric="epoch_time", dataset="small", params=params)
    found = plan(known, results, nodes=1, dataset="large", epochs=2, samples=samples)
    assert found.prediction.value == pytest.approx(2 * 100 * factor)
    assert found.prediction.basis == "transferred"
    assert found.prediction.upper is not None
    assert (found.prediction.upper > 2000 * factor) == (factor == 1), "the interval of what is not scaled is wider"
    assert [line for line in found.advice if f"their time is {told}" in line]
    own = plan(known, results, nodes=1, dataset="small", epochs=2, samples=samples)
    assert own.prediction.value == pytest.approx(2 * 100 * factor), "a part of the data set takes a part of the time"


def test_samples_of_an_epoch_do_not_tell_problems_apart(known: Known) -> None:
    """Two data sets have two numbers of them: the request asks for neither."""
    of_two = [
        run
        for name, count in (("a", "50000"), ("b", "60000"))
        for run in runs(metric="epoch_time", dataset=name, params={"samples": count})
    ]
    assert not [one for one in plan(known, of_two, dataset="a", epochs=2).warnings if one.field.endswith("params")]


def test_an_amount_of_samples_is_that_many_epochs_of_them(known: Known) -> None:
    """As if their number were given."""
    found = plan(known, runs(metric="epoch_time"), nodes=1, amount="2e6 samples", samples=80_000, epochs=3)
    assert found.prediction.value == pytest.approx(25 * 100.0)
    assert not any("one epoch" in line or "not used" in line for line in (*found.advice, *(one.message for one in found.warnings)))


def test_samples_of_whole_runs_are_a_problem_size(known: Known) -> None:
    """As in Monte Carlo codes: which one is predicted, is said."""
    of_three = [run for factor in (1, 10, 1000) for run in runs(values=(100.0 * factor,), params={"samples": str(1000 * factor)})]
    (warning,) = (one.message for one in plan(known, of_three, nodes=1).warnings if one.field.endswith("params"))
    assert "the prediction uses samples 10000 (others: samples 1000, samples 1000000)" in warning


def test_stated_steps_are_not_counted_from_the_samples(known: Known) -> None:
    """Neither by rates that follow from times of steps."""
    assert plan(known, of_steps(10), 4, epochs=3, samples=1_920_000, steps=50).prediction.value == pytest.approx(50 * 0.4)


def test_without_a_batch_a_warning_says_what_gives_the_time_of_an_epoch(known: Known) -> None:
    """Beside the steps: the batch size of the results."""
    (warning,) = (one for one in answer(known, of_steps(None), epochs=3, samples=1_920_000).warnings if "not used" in one.message)
    assert "load the results again with their batch_size" in warning.message


@pytest.mark.parametrize(
    ("metric", "unit", "values", "amount", "seconds", "per"),
    [
        ("speed", "ns/day", (50.0, 90.0, 150.0), "100 ns", 100 / 150 * 86400, "ns"),
        ("speed", "ns/day", (50.0, 90.0, 150.0), "0.1 us", 100 / 150 * 86400, "ns"),
        ("fom", "1/s", (1e6, 2e6, 4e6), "1.2e9", 300, "unit"),
        ("rate", "cells/s", (1e6, 2e6, 4e6), "1200 Mcells", 300, "cell"),
        ("performance", "FLOP/s", (1e12, 2e12, 4e12), "1.2 PFLOP", 300, "FLOP"),
    ],
)
def test_a_rate_becomes_a_time_by_the_amount_of_work(
    metric: str, unit: str, values: tuple[float, ...], amount: str, seconds: float, per: str, known: Known
) -> None:
    """By hand: the amount over the rate, days in seconds."""
    prediction = plan(known, runs(values=values, metric=metric, unit=unit), amount=amount).prediction
    assert prediction.value == pytest.approx(seconds)
    assert (prediction.per, prediction.basis) == (per, "measured")


@pytest.mark.parametrize("amount", [None, "100 cells"])
def test_a_rate_without_its_amount_asks_for_it_and_for_no_pilot(amount: str | None, known: Known) -> None:
    """The results exist: measuring them again would not help."""
    found = plan(known, runs(values=(50.0, 90.0, 150.0), metric="speed", unit="ns/day"), amount=amount)
    assert found.prediction.value is None
    assert [notice.field for notice in found.warnings if "speed in ns/day" in notice.message] == ["optimisation.workload.amount"]
    assert not any("pilot" in sentence for sentence in found.advice)


@pytest.mark.parametrize(
    ("workload", "named"),
    [({"amount": "5 ns"}, ["amount"]), ({"steps": 100, "samples": 60000}, ["steps"]), ({"epochs": 2, "steps": 100, "samples": 60000}, [])],
)
def test_a_length_that_cannot_apply_is_named(workload: dict[str, Any], named: list[str], known: Known) -> None:
    """Results per epoch have no use for nanoseconds or steps; beside epochs, steps and samples describe the same run."""
    warnings = plan(known, runs(metric="epoch_time"), **workload).warnings
    assert [one.field.rpartition(".")[2] for one in warnings if "not used" in one.message] == named


def test_a_rate_without_its_amount_is_no_lack_of_results(known: Known) -> None:
    """The reasons say what is missing instead."""
    (line,) = (line for line in plan(known, runs(metric="speed", unit="ns/day")).decisions if line.startswith("time: not predicted"))
    assert "give the work of the whole run" in line


def test_a_job_is_predicted_with_its_own_setting(known: Known) -> None:
    """Results tell their runs apart by it; a variable that they do not tell changes nothing."""
    slow = runs(values=[900.0, 500.0, 300.0], params={"tile": "2"})
    request, facts = asked(known, [*runs(params={"tile": "128"}), *runs(24, params={"tile": "128"}), *slow], 4)
    setting = Setting(options={"--tile": 2}, environment={"KMP_BLOCKTIME": 1})
    placed = request.changed(job_options={"process_count_per_node": slow[0].layout.ranks_per_node})
    found = optimise(placed.changed(optimisation={"autotuning": Autotuning(setting=setting)}), facts).plan
    assert found.prediction.value == pytest.approx(300.0)
    assert found.prediction.basis == "measured"
    assert [notice for notice in found.warnings if notice.field == "optimisation.workload.params"] == []


@pytest.mark.parametrize(("params", "seconds", "per"), [({"steps": "10000"}, 3300.0, "step"), ({}, 33.0, "run")])
def test_a_run_of_other_length_takes_as_much_longer(params: dict[str, str], seconds: float, per: str, known: Known) -> None:
    """A hundred times the steps take a hundred times as long; if results do not give their steps, the advice says so."""
    found = plan(known, runs(params=params), steps=1e6)
    assert found.prediction.value == pytest.approx(seconds)
    assert (found.prediction.per) == (per)
    assert any("do not change it" in sentence for sentence in found.advice) == (not params)


def test_samples_do_not_change_the_time_of_whole_runs(known: Known) -> None:
    """The advice says so, as of epochs and steps."""
    (said,) = (sentence for sentence in plan(known, runs(), samples=6e6).advice if "do not change it" in sentence)
    assert "the request's 6000000 samples do not change it" in said


@pytest.mark.parametrize(
    ("metric", "params", "amount", "seconds"),
    [
        ("step_time", {}, "2e6 steps", 66e6),
        ("epoch_time", {}, "20 epochs", 660.0),
        ("sample_time", {}, "1000 samples", 33e3),
        ("wall_time", {"steps": "10000"}, "2e6 steps", 6600.0),
        ("wall_time", {"epochs": "10"}, "20 epochs", 66.0),
    ],
)
def test_an_amount_of_what_a_time_is_of_is_as_many(metric: str, params: dict[str, str], amount: str, seconds: float, known: Known) -> None:
    """An amount of steps is as many steps, whether a rate, a time of one or a run of so many was measured."""
    found = plan(known, runs(metric=metric, params=params), amount=amount)
    assert found.prediction.value == pytest.approx(seconds)
    assert not any("workload.steps" in sentence for sentence in found.advice)


def test_runs_of_several_lengths_are_one_problem_each_beside_some_of_unknown_length(known: Known) -> None:
    """Ten thousand steps in one layout and a thousand in another take 33 ms a step in both; a third layout takes as much, and no mean."""
    long, short = runs(24, (1000.0, 550.0, 330.0), params={"steps": "10000"}), runs(12, params={"steps": "1000"})
    found = answer(known, [*runs(48), *long, *short], steps=1e6)
    assert [choice.prediction.value for choice in found.choices if choice.configuration.nodes == 4] == pytest.approx([33e3] * 3)


def test_a_data_set_is_asked_in_the_metric_that_it_was_measured_in(known: Known) -> None:
    """Epochs of another data set are no answer where there are runs of this one."""
    found = plan(known, [*runs(metric="epoch_time", dataset="other"), *runs(24, (90.0, 50.0, 30.0), dataset="mine")], dataset="mine")
    assert found.prediction.value == pytest.approx(30.0)
    assert found.prediction.basis == "measured"


def test_a_data_set_that_is_taken_is_one_of_the_results_that_answer(known: Known) -> None:
    """More results of another kind, which are not asked, do not choose it."""
    others = [one for ranks in (12, 24) for one in runs(ranks, dataset="run")]
    found = answer(known, [*runs(metric="epoch_time", dataset="epochs"), *others], epochs=1.0)
    assert found.choices[0].prediction.basis == "measured"
    (warning,) = [notice for notice in found.warnings if notice.field == "optimisation.workload.dataset"]
    assert warning.message.endswith("the prediction uses 'epochs' (others: 'run')")


def test_results_here_tell_the_data_set_however_they_spell_the_system(known: Known) -> None:
    """More results elsewhere are of another one."""
    elsewhere = [one for ranks in (24, 48) for one in runs(ranks, system="elsewhere", dataset="b")]
    made = plan(known, [*runs(system="SuperMUC_NG", dataset="a"), *elsewhere], 4)
    assert made.prediction.value == pytest.approx(33.0)
    assert not [one for one in made.warnings if "dataset" in one.field]


def test_a_data_set_that_is_taken_is_one_of_the_requests_framework(known: Known) -> None:
    """More results of another framework do not choose it: the warning names the one that answers."""
    others = [one for ranks in (12, 24) for one in runs(ranks, dataset="imagenet", framework="tensorflow")]
    found = answer(known, [*runs(dataset="synthetic", framework="mpi"), *others])
    (warning,) = [notice for notice in found.warnings if notice.field == "optimisation.workload.dataset"]
    assert warning.message.endswith("the prediction uses 'synthetic' (others: 'imagenet')")


@pytest.mark.parametrize("unit", ["step", "epoch"])
def test_a_time_of_one_step_or_epoch_says_that_it_is_one(unit: str, known: Known) -> None:
    """No deadline can be compared with it."""
    found = plan(known, runs(metric=f"{unit}_time"))
    assert f"the predicted time is for one {unit}: give the number of {unit}s in workload.{unit}s" in found.advice
    request, facts = asked(known, runs(metric=f"{unit}_time"))
    by_noon = optimise(request.changed(optimisation={"objective": Objective(deadline=3600)}), facts).plan
    text = f"the predicted time, with which the deadline is compared, is for one {unit}: give the number of {unit}s"
    assert f"{text} in workload.{unit}s" in by_noon.advice


@pytest.mark.parametrize("unit", ["step", "epoch"])
def test_a_time_of_one_step_or_epoch_bounds_no_run(unit: str, known: Known) -> None:
    """A wall time for one step of a run of a million would end it."""
    told = [one for one in plan(known, runs(metric=f"{unit}_time")).decisions if one.startswith("wall time")]
    assert [f"because the prediction is for one {unit}" in one for one in told] == [True]
    request, facts = asked(known, runs(metric=f"{unit}_time"))
    with pytest.raises(Infeasible, match="may run for at most 2-00:00:00: ask for no more"):
        optimise(request.changed(job_options={"wall_time_limit": 3 * 24 * 3600}), facts)


def test_problems_that_parameters_tell_are_not_compared(known: Known) -> None:
    """One layout was measured with a small mesh, the other with a large one: neither is faster."""
    found = answer(known, [*runs(48, params={"mesh": "1M"}), *runs(24, (800.0, 410.0, 210.0), params={"mesh": "8M"})])
    assert {choice.configuration.ranks_per_node for choice in found.choices} == {24}
    (warning,) = [notice for notice in found.warnings if notice.field == "optimisation.workload.params"]
    assert warning.message.endswith("the prediction uses mesh 8M (others: mesh 1M)")


def test_of_a_problem_size_that_nobody_ran_the_solver_is_told_as_of_those_that_were_run(known: Known) -> None:
    """All layouts are compared with one solver, whose choice is said; what goes with the size alone is no choice."""
    results = [
        one
        for n in (100, 200, 400)
        for solver, ranks, factor in (("cg", 48, 1.0), ("cg", 24, 1.1), ("gmres", 24, 0.2))
        for one in runs(ranks, [factor * n, factor * n / 2], params={"n": str(n), "nz": str(2 * n), "solver": solver})
    ]
    found, measured = (answer(known, results, params={"n": n}) for n in (800, 400))
    assert [one.message for one in found.warnings] == [one.message for one in measured.warnings]
    assert found.warnings[0].message.endswith("the prediction uses solver cg (others: solver gmres)")
    fastest = {choice.configuration.ranks_per_node: choice.prediction.value or 0.0 for choice in reversed(found.choices)}
    assert found.choices[0].configuration.ranks_per_node == 48
    assert fastest[24] == pytest.approx(1.1 * fastest[48], rel=0.05)
    assert any("the time follows the trend over 3 measured ones" in line for line in found.advice)


def test_problems_of_several_parameters_are_told_apart(known: Known) -> None:
    """tp 1, pp 1, tp 1, pp 2 would be one long list."""
    several = [{"tp": tp, "pp": pp} for tp, pp in (("1", "1"), ("1", "2"), ("2", "1"))]
    found = answer(known, [run for params in several for run in runs(24, params=params)])
    (warning,) = [notice for notice in found.warnings if notice.field == "optimisation.workload.params"]
    assert "; " in warning.message.partition("(others: ")[2]


def test_one_problem_in_two_spellings_is_one(known: Known) -> None:
    """A table with an empty cell has 0.0 instead of 0; both builds are compared, and the warning tells of no second problem."""
    offset = [*runs(48, params={"offset": "0"}, compiler="gcc"), *runs(24, (80.0, 41.0, 21.0), params={"offset": "0.0"}, compiler="icc")]
    found = answer(known, offset)
    assert {choice.configuration.ranks_per_node for choice in found.choices} == {24, 48}
    assert "optimisation.workload.params" not in [notice.field for notice in found.warnings]


@pytest.mark.parametrize("value", [1000000, 1e6, "1000000", "1e6"])
def test_a_number_among_the_parameters_is_that_number_however_written(value: float | str, known: Known) -> None:
    """JSON makes numbers of what a table holds as text."""
    found = answer(known, [*runs(48, params={"cells": "1000000"}), *runs(24, params={"cells": "8000000"})], params={"cells": value})
    assert (found.choices[0].configuration.ranks_per_node, found.choices[0].prediction.basis) == (48, "measured")


def efficiencies(known: Known, results: Sequence[Result], sizes: Sequence[int]) -> list[float]:
    """Of the solver on so many nodes."""
    pairs = [asked(known, results, size) for size in sizes]
    found = [recommend(request.changed(optimisation={"objective": Objective()}), facts) for request, facts in pairs]
    return [one.choices[0].efficiency or 0.0 for one in found]


def on_nodes(sizes: Sequence[int], values: Sequence[float]) -> list[Result]:
    """Runs of the solver on these numbers of nodes."""
    pairs = zip(runs(), sizes, values, strict=True)
    return [one.model_copy(update={"layout": one.layout.model_copy(update={"nodes": size}), "value": value}) for one, size, value in pairs]


def test_a_size_below_the_measured_ones_is_no_more_efficient_than_all_of_the_work(known: Known) -> None:
    """One node, half of the smallest measured size, has less work than that: efficiency is then relative to one node."""
    one, two, four = efficiencies(known, on_nodes((2, 4, 8), (400.0, 220.0, 130.0)), (1, 2, 4))
    assert one == 1 > two > four
    assert four / two == pytest.approx(400 * 2 / (220 * 4), abs=1e-3)


def test_far_below_the_measured_sizes_efficiency_is_told_as_one(known: Known) -> None:
    """What they are relative to must not rest on a guess: half of the smallest measured size is as far as it goes."""
    results = on_nodes((16, 32, 64), (400.0, 220.0, 130.0))
    one, four, eight, sixteen = efficiencies(known, results, (1, 4, 8, 16))
    assert one == four == eight == 1 > sixteen


@pytest.mark.parametrize(("sizes", "told"), [((2, 4, 8), "on 1 node (heuristic)"), ((1, 2, 4), "on 1 node (measured)")])
def test_what_efficiency_is_relative_to_says_its_size_and_basis(known: Known, sizes: tuple[int, ...], told: str) -> None:
    """Half of the smallest measured size, where less work is predicted; otherwise the measured one."""
    (line,) = (line for line in answer(known, on_nodes(sizes, (400.0, 220.0, 130.0)), nodes=4).decisions if line.startswith("efficiency: "))
    assert "relative to the least work known, " in line
    assert line.endswith(f" node-hours, {told}")


def test_superlinear_scaling_is_told_where_it_was_measured(known: Known) -> None:
    """Twice the nodes in less than half of the time: not for sizes beyond, which may not go on like that."""
    two, four, eight = efficiencies(known, on_nodes((1, 2, 4), (400.0, 180.0, 80.0)), (2, 4, 8))
    assert [two, four] == pytest.approx([400 / 360, 400 / 320], abs=1e-3)
    assert eight == 1


def test_where_no_measured_size_can_run_efficiency_is_relative_to_the_fewest_nodes(known: Known) -> None:
    """A system of five nodes, results on 64 and more of another one: the least node-hours have an efficiency of 1, all others less."""
    document = {"application": {"app_tag": "resnet50"}, "target": {"name": "hlrs-testbed"}, "optimisation": {"objective": {"max_nodes": 5}}}
    choices = recommend(normalise({"job": document}).request, known("resnet50")).choices
    assert len(choices) > 1
    work = [choice.node_hours or 0.0 for choice in choices]
    assert [choice.efficiency for choice in choices] == [pytest.approx(min(work) / hours, abs=1e-4) for hours in work]


def test_weak_scaling_is_efficient_where_the_time_stays(known: Known) -> None:
    """The problem grows with the nodes: its efficiency is the smallest size's time over its own, and the time chooses no size."""
    found = answer(known, runs(values=(100.0, 104.0, 125.0), params={"scaling": "weak"}), nodes=4)
    assert found.choices[0].efficiency == pytest.approx(0.8)
    assert any("weak scaling" in sentence for sentence in found.advice)


def test_in_weak_scaling_a_shorter_time_of_a_larger_problem_is_no_reason_for_more_nodes(known: Known) -> None:
    """If the request states neither nodes nor an objective."""
    request, facts = asked(known, runs(values=(1000.0, 990.0, 980.0), params={"scaling": "weak"}))
    found = recommend(request.changed(optimisation={"objective": Objective()}), facts)
    assert found.choices[0].configuration.nodes == 1
    assert any("more nodes run a larger problem (weak scaling)" in line for line in found.decisions)


def test_in_weak_scaling_over_threads_their_number_is_to_be_set(known: Known) -> None:
    """Twice the threads solve a problem twice as large: the fastest is only the smallest."""
    layouts = [Layout(nodes=1, ranks_per_node=1, threads_per_rank=threads) for threads in (1, 2, 4)]
    results = [runs(params={"scaling": "weak"})[0].model_copy(update={"layout": layout}) for layout in layouts]
    said = [line for line in answer(known, results, nodes=1).advice if "weak scaling" in line]
    assert said[0].endswith("the number of threads follows from the problem, not from the time: set threads")


def test_builds_are_chosen_by_what_was_measured(known: Known) -> None:
    """Compilers that an application was built with are no switches: each is a candidate, and the answer names the one it is of."""
    found = plan(known, [*runs(compiler="gcc-8.3"), *runs(values=(90.0, 50.0, 30.0), compiler="cce-9.0")])
    assert (found.configuration.compiler, found.prediction.basis) == ("cce-9.0", "measured")
    assert found.prediction.value == pytest.approx(30.0)
    assert "build: cce-9.0, at 4 nodes gcc-8.3 takes 1.10 x as long" in found.decisions
    assert any("built with cce-9.0" in sentence for sentence in found.advice)


def test_a_faster_build_that_is_ruled_out_is_no_reason(known: Known) -> None:
    """One was measured on four nodes only: what it might do on more does not say why the other is chosen there, but is worth a run."""
    times = {"gcc-12.1": (5400.0, 2650.0, 1310.0, 760.0, 560.0), "aocc-4.0": (5010.0, 2480.0, 1240.0)}
    results = [
        one.model_copy(update={"layout": one.layout.model_copy(update={"nodes": 2**number}), "value": value})
        for compiler, values in times.items()
        for number, value in enumerate(values)
        for one in runs(values=(1.0,), compiler=compiler)
    ]
    wanted = {"app_type": "hpc", "hpc": {"mpi": {}}, "workload": {"application": "solver"}}
    request = normalise({"job": {"target": {"name": "supermuc-ng"}, "optimisation": wanted}}).request
    found = recommend(request, replace(known(None), models=fit(results)))
    chosen = found.choices[0].configuration
    assert (chosen.compiler, chosen.nodes > 8) == ("gcc-12.1", True)
    (line,) = [line for line in found.decisions if line.startswith("build: ")]
    why, worth = line.split("; ")
    assert why == f"build: gcc-12.1, the only one considered at {chosen.nodes} nodes"
    assert re.fullmatch(r"aocc-4\.0 may take 0\.\d\d x as long, but was measured 1\.\d doublings away: one run there would tell", worth)


def test_a_build_that_is_named_is_asked(known: Known) -> None:
    """The time is that of the program that is there."""
    found = plan(known, [*runs(compiler="gcc-8.3"), *runs(values=(90.0, 50.0, 30.0), compiler="cce-9.0")], compiler="gcc-8.3")
    assert (found.configuration.compiler, found.prediction.basis) == ("gcc-8.3", "measured")
    assert found.prediction.value == pytest.approx(33.0)


@pytest.mark.parametrize(
    ("target", "application", "value", "recorded"),
    [
        ({"container_runtime": "none"}, {}, 66.0, "none"),
        ({}, {}, 66.0, "none"),
        ({}, {"container_runtime": "docker://me/solver:1"}, 33.0, "charliecloud"),
        ({}, {"executable": "apptainer exec own.sif ./solve"}, 66.0, None),
    ],
)
def test_runs_with_and_without_a_container_are_told_apart(
    target: dict[str, str], application: dict[str, str], value: float, recorded: str | None, known: Known
) -> None:
    """By what their jobs record, though the program may be built otherwise in the image; what its command starts itself is not known."""
    results = [*runs(image="docker://me/solver:1", runtime="charliecloud"), *runs(values=(200.0, 110.0, 66.0), runtime="none")]
    job = {
        "application": {"app_tag": "solver", "app_type": "mpi", "executable": "./solve", **application},
        "target": {"name": "supermuc-ng", **target},
        "optimisation": {"app_type": "hpc", "hpc": {"mpi": {}}},
        "job_options": {"node_count": 4},
    }
    found = optimise(normalise({"job": job}).request, asked(known, results)[1])
    assert found.plan.prediction.basis == "measured"
    assert found.plan.prediction.value == pytest.approx(value)
    (record,) = (line for line in found.texts.job_script.splitlines() if line.startswith("MODAK_RECORD="))
    assert re.findall('"runtime": "([a-z]+)"', record) == ([recorded] if recorded else [])


@pytest.mark.parametrize(("measured", "asked_for"), [("singularity", "apptainer"), ("apptainer", "singularity")])
def test_apptainer_and_singularity_are_one_runtime(measured: str, asked_for: str, known: Known) -> None:
    """A site that changes from one to the other keeps its measured times, and their intervals."""
    image = "docker://me/solver:1"
    job = {
        "application": {"app_tag": "solver", "app_type": "mpi", "executable": "./solve", "container_runtime": image},
        "target": {"name": "here", "container_runtime": asked_for},
        "optimisation": {"app_type": "hpc", "hpc": {"mpi": {}}},
        "job_options": {"node_count": 4, "process_count_per_node": 48},
    }
    found = decide(normalise({"job": job}).request, asked(known, runs(system="here", image=image, runtime=measured))[1])
    assert found.evidence.predictions_at(found.best).differences == ()


def test_a_build_asks_no_image_for_its_compiler(known: Known) -> None:
    """Images are labelled with graph compilers."""
    results = [
        one.model_copy(update={"series": one.series.model_copy(update={"framework": "tensorflow"})}) for one in runs(compiler="gcc-8.3")
    ]
    _, facts = asked(known, results)
    job: dict[str, Any] = {"application": {"app_tag": "solver"}, "target": {"name": "supermuc-ng"}}
    job["optimisation"] = {"app_type": "ai_training", "ai_training": {"tensorflow": {}}}
    found = optimise(normalise({"job": job}).request, facts).plan
    assert found.configuration.compiler == "gcc-8.3"
    assert not any("gcc-8.3" in notice.message for notice in found.warnings)


@pytest.mark.parametrize("name", ["XLA", "nGraph", "GLOW", "Inductor", "jit", "TensorRT", "torch.compile"])
def test_a_graph_compiler_is_no_build(name: str, known: Known) -> None:
    """However it is written, and whoever switches it: what no request turned on is not chosen for being faster."""
    found = plan(known, [*runs(), *runs(values=(90.0, 50.0, 30.0), compiler=name)])
    assert found.prediction.value == pytest.approx(33.0)
    assert found.configuration.compiler is None


@pytest.mark.parametrize("application", [{}, {"app_type": "hpc"}])
def test_results_on_several_nodes_make_a_run_of_several_processes(application: dict[str, str], known: Known) -> None:
    """Also if they do not give their layout, which is then called a guess."""
    results = [one.model_copy(update={"layout": Layout(nodes=one.layout.nodes)}) for one in runs()]
    _, facts = asked(known, results)
    job: dict[str, Any] = {"application": {"app_tag": "solver", **application}, "target": {"name": "supermuc-ng"}}
    job["optimisation"] = {"objective": {"minimise": "time", "max_nodes": 4}}
    found = recommend(normalise({"job": job}).request, facts)
    assert (found.choices[0].configuration.nodes, found.choices[0].prediction.basis) == (4, "measured")
    assert any("do not state ranks_per_node" in sentence and "is a guess" in sentence for sentence in found.advice)


@pytest.mark.parametrize("counts", [{"job_options": {"process_count_per_node": 12}}, {"application": {"mpi_ranks": 12}}], ids=str)
def test_a_layout_that_the_request_gives_is_no_guess(counts: dict[str, dict[str, int]], known: Known) -> None:
    """The results may be of another one; nothing more is asked of the request."""
    results = [one.model_copy(update={"layout": Layout(nodes=one.layout.nodes)}) for one in runs()]
    request, facts = asked(known, results, nodes=1)
    given = {name: getattr(request, name).model_copy(update=values) for name, values in counts.items()}
    (said,) = (
        sentence for sentence in optimise(request.model_copy(update=given), facts).plan.advice if "do not state ranks_per_node" in sentence
    )
    assert "which may not be the requested 12 ranks x" in said
    assert "guess" not in said
    assert "give process_count_per_node" not in said


def printed(start: float, work: Sequence[float], params: dict[str, str], **metric: Any) -> list[Result]:
    """Jobs that timed themselves and printed how their work went; ``work`` is seconds of it at each size."""
    walls = runs(values=[start + seconds for seconds in work], params=params)
    return [*walls, *runs(params=params, **metric)]


def test_a_job_takes_its_start_up_and_its_work(known: Known) -> None:
    """Measured with 10 epochs of 3 s and 12 s to start; 100 epochs take 12 + 300 s, and not ten times 42 s."""
    results = printed(12.0, (100.0, 60.0, 30.0), {"epochs": "10"}, metric="epoch_time", values=(10.0, 6.0, 3.0))
    found = plan(known, results, epochs=100.0)
    told = found.prediction
    assert [told.value, told.start_up, told.per_unit] == pytest.approx([312.0, 12.0, 3.0])
    assert any(line.startswith("start-up: 12 s of the predicted time") and "measured on 3 runs" in line for line in found.decisions)


def test_a_part_that_a_job_prints_is_not_its_time(known: Known) -> None:
    """The job took 12.5 s, though the metric that it prints, of 0.3 s, comes first by its name."""
    found = plan(known, printed(12.2, (0.3, 0.3, 0.3), {}, metric="advance_time", values=(0.3, 0.3, 0.3)), nodes=1)
    assert found.prediction.value == pytest.approx(12.5)


def test_a_part_alone_is_not_taken_before_the_whole(known: Known) -> None:
    """Also where they are not of the same runs, and the part has more sizes."""
    whole = runs(values=(90.0,), image="a/b:1")
    found = plan(known, [*runs(metric="advance_time", values=(3.0, 2.0, 1.0)), *whole], nodes=1)
    assert found.prediction.value == pytest.approx(90.0)


def test_a_run_without_a_length_is_as_long_as_those_measured(known: Known) -> None:
    """A request that says no epochs asks for no time of one epoch, where whole runs were measured."""
    found = plan(known, [*runs(metric="epoch_time", values=(3.0, 2.0, 1.0)), *runs()])
    assert found.prediction.value == pytest.approx(33.0)
    assert found.prediction.per == "run"


def test_rates_answer_before_whole_runs_of_another_length(known: Known) -> None:
    """A run of one epoch is mostly start-up; throughputs are preferred, on however few sizes, and whatever the metrics are called."""
    rates = runs(values=(100.0, 200.0), metric="throughput", unit="samples/s")
    found = plan(known, [*rates, *runs(params={"epochs": "1"}, metric="elapsed_time")], nodes=2, epochs=10.0, samples=8000.0)
    assert found.prediction.value == pytest.approx(400.0)


def test_the_nearest_length_answers_before_more_sizes(known: Known) -> None:
    """A pilot of one epoch on three sizes does not outvote the run of twenty, nor is it asked about where that was measured."""
    pilot, long = runs(params={"epochs": "1"}), runs(values=(1200.0,), params={"epochs": "20"})
    request, facts = asked(known, [*pilot, *long], nodes=1, epochs=20.0)
    assert optimise(request, facts).plan.prediction.value == pytest.approx(1200.0)
    short, _ = asked(known, [], nodes=1, epochs=2.0)
    assert optimise(short, facts).plan.prediction.value == pytest.approx(100 + 1100 / 19)  # start-up is in both: one epoch more


def test_the_start_of_runs_of_several_lengths_is_told_and_not_multiplied(known: Known) -> None:
    """30 s and 7 s an epoch, on one node, and 4 s an epoch on two; efficiency is that of the whole times."""
    lengths = {1: (37.0, 34.0), 10: (100.0, 70.0)}
    results = [one for epochs, values in lengths.items() for one in runs(values=values, params={"epochs": str(epochs)})]
    found = plan(known, results, nodes=2, epochs=50.0)
    assert found.prediction.value == pytest.approx(230.0)
    assert (found.prediction.start_up, found.prediction.per_unit) == pytest.approx((30.0, 4.0))
    assert found.efficiency == pytest.approx(380 / (2 * 230), abs=1e-4)
    assert any("what 4 runs of several lengths have in common" in line for line in found.decisions)
    assert not any("mostly start-up" in sentence for sentence in found.advice)


def test_start_up_around_and_within_the_printed_time_is_told_together(known: Known) -> None:
    """60 s before the training, whose own time has 30 s and 7 s an epoch."""
    lengths = {1: 37.0, 10: 100.0}
    results = [
        one
        for epochs, seconds in lengths.items()
        for metric, around in (("training_time", 0), ("wall_time", 60))
        for one in runs(values=(seconds + around,), metric=metric, params={"epochs": str(epochs)})
    ]
    printed = {"name": "training_time", "unit": "s", "pattern": "([0-9]+) s"}
    request, facts = asked(known, results, 1, epochs=50.0, metric=printed)
    evidence = decide(request, facts).evidence
    found = evidence.prediction(0)
    assert (found.value, found.start_up, found.per_unit) == pytest.approx((60 + 30 + 350, 90.0, 7.0))
    assert evidence.cost_at(0) == pytest.approx(100.0)
    (said,) = (line for line in optimise(request, facts).plan.decisions if line.startswith("start-up: 90 s"))
    assert said.endswith("minus that of the work which it printed and what 2 runs of several lengths have in common")


@pytest.mark.parametrize("epochs", [3.0, 10.0, 50.0])
def test_a_planned_run_is_as_long_as_the_measured_ones(known: Known, epochs: float) -> None:
    """And takes as long, start-up included: it is a point of their curve. The interval of the request's run follows from theirs."""
    lengths = {1: (37.0, 34.0), 10: (100.0, 70.0)}
    results = [one for length, values in lengths.items() for one in runs(values=values, params={"epochs": str(length)})]
    evidence = decide(*asked(known, results, 2, epochs=epochs)).evidence
    assert evidence.cost_at(0) == pytest.approx(evidence.columns.value[0])
    share, beside = evidence.of_work
    assert math.hypot(share[0] * evidence.columns.width.middle[0], beside[0]) == pytest.approx(evidence.scored.width.middle[0])
    assert share[0] == pytest.approx(evidence.columns.value[0] * (epochs / (1 if epochs < 4 else 10)) / evidence.scored.time[0])


@pytest.mark.parametrize(("seconds", "least"), [(20.0, 1.995), (75.0, 1.461), (600.0, 0.101), (6000.0, 0.101)])
def test_most_of_a_short_pilot_may_be_start_up(known: Known, seconds: float, least: float) -> None:
    """A minute of it: the interval of a run 25 times as long reaches so much further down, in logs; no further up."""
    pilot = runs(values=(seconds,), params={"epochs": "2"})
    found, same = (plan(known, pilot, nodes=1, epochs=epochs).prediction.model_dump() for epochs in (50.0, 2.0))
    below, own = (math.log(one["value"] / one["lower"]) for one in (found, same))
    assert math.sqrt(below**2 - own**2) == pytest.approx(least, rel=0.01)
    assert found["upper"] / found["value"] == pytest.approx(same["upper"] / same["value"])


def test_a_run_of_known_amount_takes_as_much_longer(known: Known) -> None:
    """100 ns in 33 s: 1 us takes ten times that; less of it is start-up, so the interval reaches further down than up."""
    found = plan(known, runs(params={"amount": "100 ns"}), amount="1 us").prediction
    assert found.value == pytest.approx(330.0)
    assert found.per == "ns"
    assert found.lower is not None
    assert found.upper is not None
    assert 330 / found.lower > found.upper / 330


def test_a_wide_interval_by_an_uncertain_start_up_is_not_said_to_be_by_other_runs(known: Known) -> None:
    """There are none."""
    results = printed(100.0, (10.0,), {"epochs": "10"}, metric="epoch_time", values=(1.0,))
    (said,) = (text for text in plan(known, results, nodes=1, epochs=10.0).advice if "may be slower or faster" in text)
    assert said.startswith("start-up is uncertain (measured on 1 run): another run on 1 node may be slower")


def test_an_uncertain_start_up_widens_what_it_has_a_part_in(known: Known) -> None:
    """Of a run of a second the start-up is nearly all, and one measured start-up says little of the next."""
    results = printed(100.0, (10.0,), {"epochs": "10"}, metric="epoch_time", values=(1.0,))
    short, long = (plan(known, results, nodes=1, epochs=epochs).prediction for epochs in (1.0, 10_000.0))
    assert short.upper is not None
    assert short.value is not None
    assert long.upper is not None
    assert long.value is not None
    assert short.upper / short.value > 1.3
    assert long.upper / long.value < 1.1
