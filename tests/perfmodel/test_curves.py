"""From results to curves: what is one curve, which form it gets, and how far it can be trusted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modak.facts import Layout, Result, SeriesKey
from modak.perfmodel import Curve, Question, fit, predict
from modak.perfmodel.fitting.forms import FORMS
from modak.perfmodel.fitting.scaling import evaluate
from tests.runs import here

HOST_MPI = {4: 907.26, 8: 479.52, 16: 244.42, 32: 124.22, 64: 62.24, 128: 31.22, 256: 15.63, 512: 7.84}
"""Seconds an epoch of 3DGAN on SuperMUC-NG, host MPI (Brayford and Vallecorsa 2020, table 4)."""


def result(nodes: int, value: float, *, metric: str = "epoch_time", unit: str = "s", **layout: int | None) -> Result:
    """One measured value of a nameless application."""
    key = SeriesKey(application="app", system="here", metric=metric, unit=unit)
    return Result(series=key, layout=Layout(nodes=nodes, **layout), value=value)


def curve(values: dict[int, float]) -> Curve:
    """The one curve of a table of nodes and seconds."""
    (found,) = fit([result(nodes, value, ranks_per_node=4) for nodes, value in values.items()])
    return found


def test_a_measured_table_gives_a_curve_within_its_noise() -> None:
    """The fit of published figures is within 4 % of each of them."""
    found = curve(HOST_MPI)
    assert np.allclose(evaluate(found.mixture, found.sizes).value, found.costs, rtol=0.04)


@pytest.mark.parametrize(
    ("counts", "shared"),
    [
        ({"ranks_per_node": 1}, True),
        ({"threads_per_rank": 1, "ranks_per_node": 1}, True),
        ({"ranks_per_node": 1, "gpus_per_node": 0}, True),
        ({"gpus_per_node": 1}, False),
        ({}, False),
    ],
)
def test_ranks_and_threads_share_the_memory_of_their_nodes(counts: dict[str, Any], shared: bool) -> None:
    """A curve over ranks or threads is of cores that share a memory; one over GPUs or nodes is not."""
    varying = next((name for name in ("threads_per_rank", "gpus_per_node", "ranks_per_node") if counts.get(name) == 1), None)
    rows = [result(1 if varying else n, 100 / n, **{**counts, **({varying: n} if varying else {})}) for n in (1, 2, 4, 8)]
    (found,) = fit(rows)
    assert found.measured.on_cores is shared


def test_rows_beyond_128_nodes_are_predicted_from_those_up_to_128() -> None:
    """Sizes that the fit has not seen lie within its 90 % interval, and within 5 % of what is predicted."""
    found = curve({nodes: value for nodes, value in HOST_MPI.items() if nodes <= 128})
    predicted = predict((found,), Question({}), [256, 512])
    assert (predicted.quantile(0.05) < [15.63, 7.84]).all()
    assert (predicted.quantile(0.95) > [15.63, 7.84]).all()
    assert predicted.value == pytest.approx([15.63, 7.84], rel=0.05)


def test_two_layouts_are_two_curves() -> None:
    """Ranks and threads per node divide a series."""
    rows = [result(n, 100 / n, ranks_per_node=r, threads_per_rank=48 // r) for r in (1, 4) for n in (1, 2, 4, 8)]
    assert [found.layout.ranks_per_node for found in fit(rows)] == [1, 4]


def test_repeats_are_one_size() -> None:
    """Rows of one size give their median, counted."""
    (found,) = fit([result(1, value) for value in (9.0, 10.0, 50.0)] + [result(2, 5.0)])
    assert (found.costs[0], found.repeats) == (10.0, (3, 1))


def test_ranks_within_one_node_scale_over_ranks() -> None:
    """A series on one node has its ranks as sizes."""
    (found,) = fit([result(1, 60 / ranks, ranks_per_node=ranks) for ranks in (1, 2, 4, 8)])
    assert (found.scale, found.sizes) == ("ranks", (1.0, 2.0, 4.0, 8.0))


def test_threads_beyond_those_that_gained_nothing_gain_nothing() -> None:
    """One rank on one node: from 4 threads on, more of them take as long."""
    times = {1: 63.0, 2: 39.0, 4: 30.0, 8: 29.0, 16: 29.0}
    found = fit([result(1, value, ranks_per_node=1, threads_per_rank=threads) for threads, value in times.items()])
    assert predict(found, Question({}, Layout(ranks_per_node=1, threads_per_rank=32)), [1]).value[0] == pytest.approx(29, rel=0.1)


def test_threads_of_a_run_on_several_nodes_are_layouts() -> None:
    """Other threads on one of these nodes scale over nodes as the usual ones do."""
    measured = ((1, 4), (2, 4), (1, 8), (1, 2))
    found = fit([result(nodes, 80 / nodes / threads, ranks_per_node=2, threads_per_rank=threads) for nodes, threads in measured])
    assert {curve.scale for curve in found} == {"nodes"}


@pytest.mark.parametrize("within", ["ranks_per_node", "threads_per_rank"])
def test_runs_without_gpus_are_no_answer_for_runs_on_gpus(within: str) -> None:
    """Also between their sizes, where the runs on a GPU have none."""
    counts: dict[str, Any] = {"ranks_per_node": 1, "threads_per_rank": 1}
    measured = ((0, 1, 400.0), (0, 4, 100.0), (0, 16, 25.0), (1, 4, 10.0), (1, 16, 10.0))
    found = fit([result(1, value, gpus_per_node=gpus, **{**counts, within: count}) for gpus, count, value in measured])
    assert predict(found, Question({}, Layout(**{**counts, within: 8}, gpus_per_node=1)), [1]).value[0] == pytest.approx(10, rel=0.5)


def test_threads_of_runs_that_may_be_on_gpus_are_layouts() -> None:
    """Where some runs of the series are on GPUs, those that leave it open may be, too."""
    counts = ((None, 1), (None, 4), (None, 16), (1, 4))
    found = fit([result(1, 9.0, ranks_per_node=1, threads_per_rank=threads, gpus_per_node=gpus) for gpus, threads in counts])
    assert "threads" not in {curve.scale for curve in found}


def test_throughput_becomes_seconds_a_sample() -> None:
    """Costs are time-like whatever was measured."""
    (found,) = fit([result(1, 200.0, metric="throughput", unit="samples/s")])
    assert found.costs == (0.005,)


def test_suspect_results_are_left_out() -> None:
    """A flagged row moves nothing."""
    rows = [result(n, 100 / n, ranks_per_node=1) for n in (1, 2, 4, 8)]
    flagged = result(16, 0.001, ranks_per_node=1).model_copy(update={"suspect": "contradicts itself"})
    assert fit([*rows, flagged]) == fit(rows)


def test_other_metrics_carry_no_curve() -> None:
    """Free memory is no cost."""
    assert fit([result(1, 3e11, metric="free_memory", unit="GB")]) == ()


def test_overhead_that_grows_is_seen() -> None:
    """A program that slows down again is predicted to, one doubling beyond what was measured."""
    found = curve({n: 100 / n + 0.5 * n for n in (1, 2, 4, 8, 16, 32, 64)})
    assert predict((found,), Question({}), [128]).value[0] == pytest.approx(100 / 128 + 64, rel=0.25)


@pytest.mark.parametrize("sizes", [(4,), (4, 8), (4, 8, 16)])
def test_few_sizes_are_no_scaling_claim(sizes: tuple[int, ...]) -> None:
    """Three sizes or fewer leave a wider interval than five."""
    few, more = (predict((curve({n: 100 / n for n in each}),), Question({}), [32 * each[-1]]) for each in (sizes, (4, 8, 16, 32, 64)))
    assert few.width.above[0] > more.width.above[0]


@given(st.lists(st.floats(min_value=0.01, max_value=1e6), min_size=1, max_size=9))
@settings(max_examples=25, deadline=None)
def test_costs_are_always_positive(values: list[float]) -> None:
    """Whatever was measured, everything that the curve says is positive."""
    found = predict((curve({2**place: value for place, value in enumerate(values)}),), Question({}), np.geomspace(0.5, 1e6, 50))
    assert (found.quantile(0.01) > 0).all()


def test_the_order_of_rows_changes_nothing() -> None:
    """Same rows, same curve."""
    rows = [result(n, v, ranks_per_node=4) for n, v in HOST_MPI.items()]
    assert fit(rows) == fit(rows[::-1])


def test_a_curve_survives_json() -> None:
    """Models are stored as named coefficients."""
    found = curve(HOST_MPI)
    assert Curve.model_validate_json(found.model_dump_json()) == found
    assert len(found.mixture.coefficients) == len(FORMS)


def test_a_changed_copy_keeps_nothing_that_followed_from_the_old_values() -> None:
    """Measured values are computed once for each curve."""
    found = curve({1: 8.0, 2: 4.0})
    assert found.measured.costs == (8.0, 4.0)
    assert found.model_copy(update={"costs": (9.0, 5.0)}).measured.costs == (9.0, 5.0)


def test_gpus_that_fill_a_node_and_then_several_are_one_curve() -> None:
    """One to four GPUs in a node, then two and four nodes: the model sees both sides of the step."""
    ways = ((1, 1), (1, 2), (1, 4), (2, 4), (4, 4))
    (found,) = fit([result(nodes, 100 / (nodes * gpus), gpus_per_node=gpus) for nodes, gpus in ways])
    assert (found.scale, found.sizes, found.nodes) == ("gpus", (1.0, 2.0, 4.0, 8.0, 16.0), (1, 1, 1, 2, 4))


@pytest.mark.parametrize("other", [(1, 4, 16, 1), (1, 4, 4, 9)], ids=["ranks", "threads"])
def test_runs_with_other_ranks_or_threads_on_gpus_are_of_another_layout(other: tuple[int, ...]) -> None:
    """They neither change the time of the usual layout, nor is that taken for theirs."""
    rows = [(1, 1, 1, 1, 100), (1, 2, 2, 1, 52), (1, 4, 4, 1, 27), (*other, 81)]
    found = fit([result(nodes, value, gpus_per_node=g, ranks_per_node=r, threads_per_rank=t) for nodes, g, r, t, value in rows])
    asked = [((r, t), nodes, value) for nodes, g, r, t, value in rows if g == 4]
    for (ranks, threads), nodes, value in asked:
        told = predict(found, Question({}, Layout(ranks_per_node=ranks, threads_per_rank=threads, gpus_per_node=4)), [nodes])
        assert (told.value[0], told.basis) == (value, ("measured",))


def test_one_and_two_ranks_per_gpu_are_two_layouts() -> None:
    """Over the same GPUs, and with few ranks per node in common."""
    rows = [(gpus, share * gpus, 60 * (1 + share) / gpus) for share in (1, 2) for gpus in (1, 2, 4)]
    found = fit([result(1, value, gpus_per_node=gpus, ranks_per_node=ranks) for gpus, ranks, value in rows])
    for gpus, ranks, value in rows:
        told = predict(found, Question({}, Layout(ranks_per_node=ranks, gpus_per_node=gpus)), [1])
        assert (told.value[0], told.basis) == (value, ("measured",))


def test_each_number_of_gpus_has_the_threads_it_was_measured_with() -> None:
    """One rank of 32 threads on one GPU, four of 8 on four; with other threads neither is measured."""
    runs = [(1, 1, 32), (1, 2, 16), (1, 4, 8), (2, 4, 8)]
    layouts = [Layout(nodes=nodes, ranks_per_node=gpus, threads_per_rank=threads, gpus_per_node=gpus) for nodes, gpus, threads in runs]
    key = SeriesKey(application="net", system="here", metric="throughput", unit="samples/s")
    (curve,) = fit([Result(series=key, layout=one, value=100.0 * (one.nodes or 1) * (one.gpus_per_node or 1)) for one in layouts])
    assert [curve.layout_on(gpus).threads_per_rank for gpus in (1, 2, 4, 8)] == [32, 16, 8, None]
    for threads, basis in ((8, "measured"), (16, "transferred"), (None, "measured")):
        asked = Layout(ranks_per_node=4, threads_per_rank=threads, gpus_per_node=4)
        assert predict([curve], Question({"system": "here"}, asked), [1]).basis == (basis,)


def test_several_numbers_of_threads_on_as_many_gpus_are_unknown() -> None:
    """Four GPUs with eight threads a rank on one node, with four on two; ranks that differ from both are named once."""
    runs = [(1, 1, 32), (1, 4, 8), (2, 4, 4)]
    layouts = [Layout(nodes=nodes, ranks_per_node=gpus, threads_per_rank=threads, gpus_per_node=gpus) for nodes, gpus, threads in runs]
    key = SeriesKey(application="net", system="here", metric="throughput", unit="samples/s")
    (curve,) = fit([Result(series=key, layout=one, value=100.0 * (one.nodes or 1) * (one.gpus_per_node or 1)) for one in layouts])
    assert [curve.layout_on(gpus).threads_per_rank for gpus in (1, 4)] == [32, None]
    asked = Layout(ranks_per_node=8, threads_per_rank=8, gpus_per_node=4)
    assert predict([curve], Question({"system": "here"}, asked), [1]).differences == ("ranks_per_node",)


def test_each_number_of_gpus_may_use_all_hyper_threads_of_a_node() -> None:
    """80 threads of one rank, 20 of four, on 40 cores: that these were hyper-threads need not be said, if there are as many threads."""
    layouts = [Layout(nodes=1, ranks_per_node=gpus, threads_per_rank=80 // gpus, gpus_per_node=gpus) for gpus in (1, 2, 4)]
    key = SeriesKey(application="net", system="here", metric="throughput", unit="samples/s")
    found = fit(Result(series=key, layout=one, value=100.0 * (one.gpus_per_node or 1)) for one in layouts)
    asked = Layout(ranks_per_node=4, threads_per_rank=20, gpus_per_node=4)
    assert predict(found, Question({"system": "here", "hyperthreads": True}, asked, crowded=True), [1]).basis == ("measured",)


def test_ranks_per_gpu_that_were_not_measured_are_another_layout() -> None:
    """Two ranks on each GPU, where one was measured."""
    found = fit([result(1, 100 / gpus, gpus_per_node=gpus, ranks_per_node=gpus) for gpus in (1, 2, 4)])
    assert predict(found, Question({}, Layout(ranks_per_node=4, gpus_per_node=2)), [1]).basis == ("transferred",)


@pytest.mark.parametrize("ranks", [(2, 4), (1, 1)])
def test_results_without_ranks_do_not_open_the_ranks_of_their_curve(ranks: tuple[int, int]) -> None:
    """Two on each GPU, or one in all, were measured on fewer GPUs; one on each of two was not."""
    rows = [(1, ranks[0], 100), (2, ranks[1], 50), (8, None, 12)]
    found = fit([result(1, value, gpus_per_node=gpus, ranks_per_node=count) for gpus, count, value in rows])
    assert predict(found, Question({}, Layout(ranks_per_node=2, gpus_per_node=2)), [1]).basis == ("transferred",)


def test_a_measured_run_is_not_forecast_from_those_with_its_threads_on_fewer_gpus() -> None:
    """Its curve has several numbers of threads, and the other curve does not have its GPUs."""
    rows = [(1, 1, 100), (2, 1, 60), (3, 1, 40), (1, 2, 200), (2, 2, 110), (4, 2, 80)]
    found = fit([result(1, value, gpus_per_node=g, ranks_per_node=g, threads_per_rank=threads) for g, threads, value in rows])
    for gpus, threads, value in rows:
        told = predict(found, Question({}, Layout(ranks_per_node=gpus, threads_per_rank=threads, gpus_per_node=gpus)), [1])
        assert (told.value[0], told.basis) == (value, ("measured",))


@pytest.mark.parametrize(
    ("metric", "value", "params"),
    [("step_time", 0.4, {}), ("wall_time", 40, {"steps": "100"}), ("wall_time", 40, {"amount": "100 steps"})],
)
def test_steps_with_a_batch_per_worker_take_as_long_on_more_nodes(metric: str, value: float, params: dict[str, str]) -> None:
    """Each step is of more samples there: one measured size says that already, also that of a run of so many steps."""
    known = fit([here(value, nodes=1, metric=metric, params=params, ranks_per_node=4, batch_size=32)])
    found = [curve for curve in known if curve.per_batch and curve.series.metric == metric]
    assert predict(found, Question({}, Layout(ranks_per_node=4, batch_size=32)), [4]).value[0] == pytest.approx(value, rel=0.2)


def test_steps_of_twice_the_batch_take_nearly_twice_as_long() -> None:
    """On the same workers, which a larger batch may fill better."""
    found = [curve for curve in fit([result(1, 0.4, metric="step_time", ranks_per_node=4, batch_size=32)]) if curve.per_batch]
    assert predict(found, Question({}, Layout(ranks_per_node=4, batch_size=64)), [1]).value[0] == pytest.approx(0.8 / 2**0.2)


@pytest.mark.parametrize(("nodes", "gpus"), [(1, 4), (4, 1), (4, 4)])
@pytest.mark.parametrize("metric", ["latency", "p99_latency"])
@pytest.mark.parametrize("batch", [None, 16])
def test_a_request_takes_as_long_beside_other_workers(metric: str, batch: int | None, nodes: int, gpus: int) -> None:
    """They answer other requests: its latency is not shared among them."""
    found = fit([result(1, 0.02, metric=metric, gpus_per_node=1, batch_size=batch)])
    told = predict(found, Question({}, Layout(gpus_per_node=gpus, batch_size=batch)), [nodes])
    assert told.value[0] == pytest.approx(0.02, rel=0.3)


def test_a_latency_that_falls_on_more_gpus_is_followed() -> None:
    """As that of a network that is split over them does."""
    found = fit([result(1, 0.02 / gpus, metric="latency", gpus_per_node=gpus) for gpus in (1, 2, 8)])
    told = predict(found, Question({}, Layout(gpus_per_node=4)), [1])
    assert told.value[0] == pytest.approx(0.005, rel=0.2)


def test_steps_of_unknown_batch_do_not_tell_of_those_with_a_batch_per_worker() -> None:
    """In another layout: eight workers with four times the batch."""
    rows = [(n, batch, value) for batch, value in ((32, 0.4), (64, 0.8), (None, 0.6)) for n in (1, 2)]
    found = fit([result(n, value, metric="step_time", ranks_per_node=4, batch_size=batch) for n, batch, value in rows])
    told = predict([one for one in found if one.series.metric == "step_time"], Question({}, Layout(ranks_per_node=8, batch_size=128)), [1])
    assert 1.6 < told.value[0] < 1.6 * 2


def test_ranks_on_fewer_nodes_than_were_measured_are_not_between_the_measured_ones() -> None:
    """As many ranks on one node as were measured on four."""
    found = fit([result(4, 100 / ranks, ranks_per_node=ranks) for ranks in (1, 2, 4, 8)])
    assert predict(found, Question({}, Layout(ranks_per_node=8)), [1]).basis == ("extrapolated",)


def test_weak_scaling_is_a_constant_time_until_measured_otherwise() -> None:
    """The problem is twice as large on two nodes."""
    key = SeriesKey(application="app", system="here", metric="wall_time", unit="s", params={"scaling": "weak"})
    found = fit([Result(series=key, layout=Layout(nodes=1), value=100.0)])
    assert predict(found, Question({}), [2]).value[0] == pytest.approx(100, rel=0.1)


def test_other_ranks_on_more_nodes_are_no_measurement_of_the_usual_ones() -> None:
    """One rank per GPU in a node, and four on two nodes."""
    found = fit([result(n, 100 / (n * g), gpus_per_node=g, ranks_per_node=r) for n, g, r in [(1, 1, 1), (1, 2, 2), (1, 4, 4), (2, 4, 16)]])
    assert predict(found, Question({}, Layout(ranks_per_node=4, gpus_per_node=4)), [1, 2]).basis == ("measured", "heuristic")


def test_gpu_totals_reached_in_two_ways_are_curves_of_their_own() -> None:
    """Eight GPUs in one node are not eight nodes with one each."""
    ways = ((1, 8), (2, 8), (4, 8), (8, 1), (16, 1), (32, 1))
    found = fit([result(nodes, 100 / (nodes * gpus), gpus_per_node=gpus) for nodes, gpus in ways])
    assert [(curve.scale, curve.layout.gpus_per_node) for curve in found] == [("nodes", 1), ("nodes", 8)]
