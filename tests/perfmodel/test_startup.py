"""The start-up time of a run, separated from its work."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modak.facts import Layout, Result, SeriesKey
from modak.perfmodel import Curve, fit, predict_rows
from modak.perfmodel.fitting.cells import Cell, cells_of_results, merge_cells
from modak.perfmodel.fitting.curves import fit_cells
from modak.perfmodel.fitting.startup import StartUp, of_a_part, of_lengths, of_runs, start_up_times, usual, work
from modak.perfmodel.intervals import HalfWidths
from modak.perfmodel.predictions import of_other_length

START = 60.0
LENGTHS = {"epochs": "20"}


def results(times: dict[int, float], metric: str = "wall_time", unit: str = "s", **series: Any) -> list[Result]:
    """Values on so many nodes."""
    key = SeriesKey(application="net", system="here", metric=metric, unit=unit, **series)
    layouts = {nodes: Layout(nodes=nodes, ranks_per_node=4, threads_per_rank=12) for nodes in times}
    return [Result(series=key, layout=layouts[nodes], value=time) for nodes, time in times.items()]


def of(metric: str, *groups: list[Result]) -> Curve:
    """The one curve of a metric."""
    (curve,) = (one for one in fit([result for group in groups for result in group]) if one.series.metric == metric)
    return curve


@pytest.mark.parametrize(
    ("metric", "unit", "value", "params"),
    [
        ("epoch_time", "s", 10.0, {"epochs": "20"}),
        ("step_time", "s", 0.5, {"steps": "400"}),
        ("throughput", "samples/s", 100.0, {"amount": "20000 samples"}),
        ("throughput", "samples/s", 100.0, {"epochs": "4", "samples": "5000"}),
        ("sample_time", "s", 0.01, {"epochs": "4", "samples": "5000"}),
        ("speed", "ns/day", 86400.0, {"amount": "0.2 us"}),
        ("performance", "FLOP/s", 1e9, {"amount": "200 GFLOP"}),
        ("pace", "s/ns", 2.0, {"amount": "100 ns"}),
        ("speed", "steps/s", 2.0, {"steps": "400"}),
        ("solve_time", "s", 200.0, {}),
    ],
)
def test_start_up_is_what_work_leaves_of_the_whole(metric: str, unit: str, value: float, params: dict[str, str]) -> None:
    """By hand: each does 200 s of work in a run of 260 s."""
    curve = of(metric, results({1: value}, metric, unit, params=params), results({1: 200 + START}, params=params))
    assert curve.start_up is not None
    assert curve.start_up.seconds == pytest.approx(START)
    assert curve.start_up.runs == 1


@pytest.mark.parametrize("params", [{}, {"amount": "20000 tokens"}, {"amount": "many"}, {"epochs": "4"}, {"samples": "5000"}])
def test_a_rate_whose_work_nobody_tells_tells_no_start_up(params: dict[str, str]) -> None:
    """Neither how much, nor in what it counts."""
    assert (
        of("throughput", results({1: 100.0}, "throughput", "samples/s", params=params), results({1: 260}, params=params)).start_up is None
    )


def test_a_time_far_shorter_than_the_run_is_of_a_part_of_it() -> None:
    """What a run takes beside its input is no start-up."""
    assert of("io_time", results({1: 20.0, 8: 20.0}, "io_time"), results({1: 820.0, 8: 120.0})).start_up is None


def test_a_start_up_that_outlasts_the_work_is_one() -> None:
    """On 16 nodes the work takes less time than the start-up, which is the same on all."""
    work = {nodes: 800.0 / nodes for nodes in (1, 2, 4, 8, 16)}
    found = of("solve_time", results(work, "solve_time"), results({nodes: time + 60 for nodes, time in work.items()}))
    assert found.start_up is not None
    assert found.start_up.seconds == pytest.approx(60)


def test_work_that_seems_longer_than_the_run_starts_at_once() -> None:
    """What a program prints may be rounded up: no time is negative."""
    found = of_runs([-3.0, -2.0])
    assert found is not None
    assert (found.seconds, found.runs) == (0.0, 2)


def test_each_layout_has_its_own_start_up_and_others_what_is_usual() -> None:
    """A layout without start-up times of its own has those of the series."""
    key = results({1: 10.0}, "epoch_time", params=LENGTHS)[0].series
    other = [Result(series=key, layout=Layout(nodes=nodes, ranks_per_node=1, threads_per_rank=48), value=12.0) for nodes in (1, 2)]
    curves = fit([*results({1: 10.0, 2: 5.0}, "epoch_time", params=LENGTHS), *results({1: 260.0, 2: 160.0}, params=LENGTHS), *other])
    assert [one.start_up and one.start_up.seconds for one in curves if one.series.metric == "epoch_time"] == [60.0, 60.0]


def test_runs_are_paired_in_the_order_in_which_they_were_stored() -> None:
    """Work and start-up of each by itself: 50, 60 and 70 s, though their times and speeds are stored in no order."""
    layout = Layout(nodes=1)
    walls = SeriesKey(application="net", metric="wall_time", unit="s", params=LENGTHS)
    epochs = walls.model_copy(update={"metric": "epoch_time"})
    cells = merge_cells(
        [
            Cell(walls, layout, array("d", [370.0, 250.0, 260.0]), array("q", [5, 1, 3])),
            Cell(epochs, layout, array("d", [10.0, 10.0, 15.0]), array("q", [2, 4, 6])),
        ]
    )
    (curve,) = (one for one in fit_cells(cells) if one.series.metric == "epoch_time")
    assert curve.start_up is not None
    assert (curve.start_up.seconds, curve.start_up.deviation, curve.start_up.runs) == pytest.approx((60.0, 10.0, 3))


def test_what_a_job_prints_of_its_work_joins_a_table_of_that() -> None:
    """And its whole time does not: that has its start-up in it."""
    job: dict[str, Any] = {"image": "a", "runtime": "apptainer", "params": LENGTHS}
    curve = of("epoch_time", results({1: 40, 2: 21}, "epoch_time"), results({4: 11.5}, "epoch_time", **job), results({4: 290.0}, **job))
    assert (curve.sizes, curve.costs) == ((1, 2, 4), (40, 21, 11.5))
    assert curve.start_up is not None
    assert curve.start_up.seconds == pytest.approx(60.0)


def test_rates_of_runs_of_several_lengths_are_one_curve() -> None:
    """How long a run was is no matter of its speed."""
    rates = (results({nodes: 100.0 * nodes}, "throughput", "samples/s", params={"epochs": str(nodes)}) for nodes in (1, 2, 4))
    assert of("throughput", *rates).sizes == (1, 2, 4)


def of_length(steps: int, start: float, per_step: float, metric: str, unit: str) -> list[Result]:
    """A run of so many steps on one node, of which the metric times both."""
    took = start + steps * per_step
    value = {"wall_time": took, "step_time": took / steps, "speed": steps / took}[metric]
    return results({1: value}, metric, unit, params={"steps": str(steps)})


@pytest.mark.parametrize(("metric", "unit"), [("step_time", "s"), ("speed", "steps/s")])
def test_averages_over_runs_of_several_lengths_tell_what_starting_takes(metric: str, unit: str) -> None:
    """A program that compiles in its first step prints a lower speed the shorter it runs: 15 s and 0.5 s a step are in both."""
    curve = of(metric, *(of_length(steps, 15, 0.5, metric, unit) for steps in (100, 1000)))
    assert curve.start_up is not None
    assert (curve.costs[0], curve.start_up.seconds) == pytest.approx((0.5, 15.0))


def test_what_such_averages_include_adds_to_the_rest_of_the_run() -> None:
    """60 s before the program looks at its clock, 15 s thereafter."""
    measured = [(of_length(steps, 15, 0.5, "speed", "steps/s"), of_length(steps, 75, 0.5, "wall_time", "s")) for steps in (100, 1000)]
    curve = of("speed", *(group for pair in measured for group in pair))
    assert curve.start_up is not None
    assert (curve.costs[0], curve.start_up.seconds) == pytest.approx((0.5, 75.0))


@pytest.mark.parametrize(("lengths", "start"), [((100, 1000), 2.0), ((100, 150), 15.0), ((100, 1000), -2.0)])
def test_speeds_that_hardly_differ_show_no_start_up(lengths: tuple[int, ...], start: float) -> None:
    """No more than runs scatter, or of runs of nearly the same length; or the longer ones are slower."""
    curve = of("step_time", *(of_length(steps, start, 0.5, "step_time", "s") for steps in lengths))
    assert curve.start_up is None
    assert curve.costs[0] == pytest.approx(np.median([0.5 + start / steps for steps in lengths]))


@pytest.mark.parametrize(
    ("start", "lengths", "runs", "cost", "wide"),
    [
        (15, (100, 1000), 2, 0.5, 1.1),  # 23 and 3% of the runs
        (15, (5, 1000), 1, 0.5, 1.1),  # 86%: that run tells start-up alone
        (15, (5, 10), 1, 0.5, 2),  # 86 and 75%: what is left of the longer one is unsure
        (100, (5, 10), 1, 1.05, 6),  # 98 and 95%: a tenth of the longer one
    ],
)
def test_averages_over_runs_that_are_mostly_start_up_tell_little_of_the_work(
    start: float, lengths: tuple[int, int], runs: int, cost: float, wide: float
) -> None:
    """By hand, with 0.5 s a step, which is in every interval."""
    curve = of("step_time", *(of_length(steps, start, 0.5, "step_time", "s") for steps in lengths))
    assert curve.results_used == runs
    assert curve.costs[0] == pytest.approx(cost)
    asked = {"application": "net", "system": "here", "metric": "step_time", "nodes": 1}
    (row,) = predict_rows([asked], {"net": (curve,)})
    assert float(row["lower"]) < 0.5 < float(row["upper"])
    assert float(row["upper"]) / cost == pytest.approx(wide, rel=0.1)


def test_work_that_start_up_was_taken_from_is_no_surer_than_before() -> None:
    """Results that are scaled to a shift may be unsure already."""
    told = cells_of_results([one for steps in (100, 1000) for one in of_length(steps, 15, 0.5, "step_time", "s")])
    (curve,) = fit_cells(merge_cells(replace(cell, unsure=0.2) for cell in told))
    assert curve.start_up
    assert curve.unsure > 0.2


@pytest.mark.parametrize(("steps", "took"), [(50, 45.0), (100, 70.0), (4000, 2020.0), (100_000, 50_020.0)])
def test_whole_runs_of_two_lengths_tell_any_other(steps: int, took: float) -> None:
    """20 s and 0.5 s a step: what starting takes is not multiplied."""
    curves = fit([one for length in (100, 1000) for one in of_length(length, 20, 0.5, "wall_time", "s")])
    asked = {"application": "net", "system": "here", "metric": "wall_time", "nodes": 1, "params.steps": str(steps)}
    (row,) = predict_rows([asked], {"net": curves})
    assert float(row["predicted"]) == pytest.approx(took)
    assert 1.05 < float(row["upper"]) / took < 1.2


def test_start_up_of_whole_runs_is_told_to_layouts_of_one_length() -> None:
    """What is usual; their own work is the rest. It stays that of two runs, in however many layouts."""
    here = [one for steps in (100, 1000) for one in of_length(steps, 20, 0.5, "wall_time", "s")]
    fewer = here[0].model_copy(update={"layout": Layout(nodes=1, ranks_per_node=2, threads_per_rank=24), "value": 120.0})
    asked = {"application": "net", "system": "here", "metric": "wall_time", "nodes": 1, "ranks_per_node": 2, "params.steps": "1000"}
    others = [fewer.model_copy(update={"layout": fewer.layout.model_copy(update={"nodes": nodes})}) for nodes in (1, 2, 4)]
    curves = fit([*here, *others])
    assert {curve.included.runs for curve in curves if curve.included} == {2}
    (row,) = predict_rows([{**asked, "threads_per_rank": 24}], {"net": curves})
    assert float(row["predicted"]) == pytest.approx(20 + 10 * (120 - 20))


@pytest.mark.parametrize(
    ("series", "layout"),
    [
        ({"image": "net:1", "runtime": "apptainer", "partition": "gpu"}, {}),
        ({"compiler": "GCC 9.3"}, {}),
        ({}, {"threads_per_rank": None}),
    ],
)
def test_tables_of_one_length_each_tell_what_starting_takes(series: dict[str, str], layout: dict[str, None]) -> None:
    """As rows of one table do, though the other one leaves columns empty, or spells them otherwise."""
    (short,), (long,) = (of_length(steps, 20, 0.5, "wall_time", "s") for steps in (100, 1000))
    short = short.model_copy(update={"series": short.series.model_copy(update={"compiler": "gcc/9.3"})})
    named = short.series.model_copy(update={"params": long.series.params} | series)
    curves = fit([short, long.model_copy(update={"series": named, "layout": long.layout.model_copy(update=layout)})])
    assert [curve.included and round(curve.included.seconds, 6) for curve in curves] == [20.0, 20.0]


def test_tables_of_different_images_tell_no_start_up() -> None:
    """They are several programs; a third one that names none may be of either."""
    named = zip((None, "net:1", "net:2"), (10, 100, 1000), strict=True)
    runs = [(image, run) for image, steps in named for run in of_length(steps, 20, 0.5, "wall_time", "s")]
    curves = fit([run.model_copy(update={"series": run.series.model_copy(update={"image": image})}) for image, run in runs])
    assert [curve.included for curve in curves] == [None] * 3


@pytest.mark.parametrize("order", [1, -1])
def test_start_up_that_results_of_one_run_show_differently_does_not_depend_on_their_order(order: int) -> None:
    """A table without the version, and one with it: 20 s and 40 s."""
    tables = [(one, {"framework_version": version}) for version, one in ((None, 20.0), ("1.0", 40.0))]
    results = [
        run.model_copy(update={"series": run.series.model_copy(update=update)})
        for start, update in tables
        for steps in (100, 1000)
        for run in of_length(steps, start, 0.5, "wall_time", "s")
    ]
    included = [curve.included for curve in fit(results[::order]) if curve.included]
    assert [one.seconds for one in included] == pytest.approx([30.0, 30.0])
    assert [one.runs for one in included] == [4, 4]


def test_whole_runs_join_times_of_steps_without_what_starting_takes() -> None:
    """Beside a table of steps."""
    walls = [of_length(steps, 20, 0.5, "wall_time", "s") for steps in (100, 1000)]
    assert of("step_time", results({2: 0.25}, "step_time"), *walls).costs == pytest.approx((0.5, 0.25))


TIMES = st.floats(0.01, 1e5)


@given(TIMES, TIMES, st.lists(st.integers(1, 10**6), min_size=2, max_size=5, unique=True), st.floats(1e-3, 1e3))
def test_start_up_is_that_of_the_line_in_any_unit(start: float, unit: float, lengths: list[int], factor: float) -> None:
    """Runs without scatter lie on one line; in other units of length or time it is the same."""
    found = of_lengths({float(length): [start + unit * length] for length in lengths})
    other = of_lengths({length * factor: [factor * (start + unit * length)] for length in lengths})
    if max(lengths) < 2 * min(lengths):
        assert found is other is None
        return
    assert found is not None
    assert other is not None
    assert found.seconds == pytest.approx(start, abs=found.error / 100)
    assert other.seconds / factor == pytest.approx(found.seconds, abs=found.error / 100)


@given(st.floats(0.01, 3), st.floats(1e-3, 1e3), TIMES, TIMES)
def test_the_interval_of_another_length_is_no_wider_than_the_lengths_differ(side: float, scale: float, start: float, doubt: float) -> None:
    """However little is known of the start-up: a run of ten times the work takes up to ten times as long, and not less."""
    value = np.array([100.0])
    time, width = of_other_length(HalfWidths(np.array([side]), np.array([2 * side])), value, scale, start, doubt)
    assert min(1.0, scale) * value <= time * (1 + 1e-9)
    assert time <= max(1.0, scale) * value * (1 + 1e-9)
    assert width.below <= side + abs(np.log(scale))
    assert width.above <= 2 * side + abs(np.log(scale))


@given(TIMES, TIMES, st.floats(0.01, 3))
def test_a_run_of_the_measured_length_takes_what_was_measured(seconds: float, start: float, side: float) -> None:
    """To the last digit."""
    value, width = np.array([seconds]), HalfWidths(np.array([side]), np.array([side]))
    assert of_other_length(width, value, 1.0, start, start) == (value, width)


@pytest.mark.parametrize(
    ("walls", "times", "part"),
    [
        ((100, 60), (90, 50), False),  # what is beside them stays
        ((110, 35), (100, 10), False),  # grows less than the root of theirs shrinks
        ((110, 60), (100, 10), True),
        ((110, 70), (100, 40), False),  # is nowhere most of the time
        ((100, 50), (110, 20), True),  # is less than nothing
        ((100, 50), (100, 20), True),
    ],
)
def test_times_are_of_a_part_if_most_is_beside_them_and_does_not_stay(walls: Sequence[float], times: Sequence[float], part: bool) -> None:
    """By hand."""
    assert of_a_part(walls, times) is part


def test_a_line_through_runs_that_scatter_has_the_error_of_least_squares() -> None:
    """By hand: they miss the line by a tenth, and the longer ones count for a sixteenth of the shorter ones."""
    found = of_lengths({1.0: [27.0, 33.0], 10.0: [108.0, 132.0]})
    assert found is not None
    scatter = math.sqrt((2 * (30 / 27 - 1) ** 2 + 2 * (30 / 33 - 1) ** 2) / 2)
    length = (1 + 10 / 16) / (1 + 1 / 16)
    spread = 2 * ((1 - length) ** 2 + (10 - length) ** 2 / 16)
    assert (found.seconds, found.error) == pytest.approx((20, scatter * 30 * math.sqrt(1 / (2 + 2 / 16) + length**2 / spread)))


def test_results_of_which_some_are_missing_tell_their_medians() -> None:
    """Three runs, of which two printed their speed."""
    series = SeriesKey(application="a", metric="epoch_time", unit="s", params={"epochs": "2"})
    assert start_up_times([100.0, 90.0, 130.0], [1, 3, 5], [20.0, 30.0], [2, 4], series) == [50.0]


def test_what_is_usual_is_as_unsure_as_usual() -> None:
    """The median, of what is told to several and counts once."""
    each = [StartUp(seconds=seconds, deviation=0.0, runs=2, error=error) for seconds, error in ((10, 1), (20, 4), (30, 2), (30, 2))]
    found = usual(each)
    assert found is not None
    assert (found.seconds, found.runs, found.error) == (20.0, 6, 2.0)


def test_runs_that_scatter_tell_less_of_their_start() -> None:
    """And so do times that grow faster than the length."""
    even, uneven, growing = (of_lengths({1.0: short, 10.0: [200.0]}) for short in ([38.0], [38.0, 30.0, 50.0], [10.0]))
    assert even is not None
    assert uneven is not None
    assert growing is not None
    assert even.error < uneven.error / 2
    assert (growing.seconds, growing.error > 10) == (0.0, True)


@pytest.mark.parametrize(("short", "long"), [(1e-6, 1e3), (1e3, 1e-6), (1e-100, 1e100), (1e100, 1e-100)])
def test_times_that_no_run_takes_are_fitted_all_the_same(short: float, long: float) -> None:
    """A value in a wrong unit, and any that a result may have: one such row is no error in all answers for its application."""
    runs = [results({1: value}, "wall_time", params={"steps": steps}) for steps, value in (("1", short), ("1000", long))]
    assert [curve.costs for curve in fit([one for run in runs for one in run])] == [pytest.approx((short,)), pytest.approx((long,))]
    rates = [results({1: value}, "speed", "steps/s", params={"steps": steps}) for steps, value in (("1", 1 / short), ("1000", 1 / long))]
    assert of("speed", *rates).sizes == (1,)


def test_the_work_of_a_metric_without_time_is_not_told() -> None:
    """Memory says nothing of how long a run takes."""
    assert work(SeriesKey(application="a", metric="memory", unit="B", params={"epochs": "3"})) is None


def test_doubt_falls_from_what_is_usual_to_what_was_seen() -> None:
    """One run leaves a quarter of its start-up; many that agree leave little."""
    one, many = of_runs([100.0]), of_runs([100.0] * 50)
    assert one is not None
    assert many is not None
    assert one.doubt == pytest.approx(25.0)
    assert many.doubt < 6
