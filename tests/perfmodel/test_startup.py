"""The start-up time of a run, separated from its work."""

from __future__ import annotations

from array import array
from typing import Any

import pytest

from modak.facts import Layout, Result, SeriesKey
from modak.perfmodel import Curve, fit
from modak.perfmodel.cells import Cell, gathered
from modak.perfmodel.curves import fit_cells
from modak.perfmodel.startup import of_runs, work

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
    cells = gathered(
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
