"""Answers from curves: the nearest evidence, its basis, and an interval that widens with what is not known."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t

from modak.facts import Layout, Result, SeriesKey
from modak.perfmodel import Curve, NodePower, NodeUse, Portion, Predictions, Question, fit, portions, predict, predict_rows
from modak.perfmodel.forecasting.repeats import RERUN_SPREAD, USUAL
from modak.perfmodel.intervals import Z90, HalfWidths
from modak.perfmodel.matching.matching import Matcher
from modak.perfmodel.matching.questions import SPREAD
from modak.perfmodel.predictions import merge_portions
from tests.runs import here

HERE = {"system": "here"}


def curves(sizes: tuple[int, ...] = (1, 2, 4, 8, 16), *, work: float = 100.0, ranks: int = 4, **series: object) -> tuple[Curve, ...]:
    """One ideal curve of ``work / nodes`` seconds."""
    key = SeriesKey.model_validate({"application": "solver", "system": "here", "metric": "wall_time", "unit": "s", **series})
    layout = {"ranks_per_node": ranks, "threads_per_rank": 12}
    return fit([Result(series=key, layout=Layout(nodes=n, **layout), value=work / n) for n in sizes])


@pytest.mark.parametrize(("nodes", "basis"), [(4, "measured"), (5, "interpolated"), (32, "extrapolated")])
def test_basis_says_where_the_size_lies(nodes: int, basis: str) -> None:
    """Measured at a measured size, interpolated between, extrapolated beyond."""
    assert predict(curves(), Question(HERE), [nodes]).basis == (basis,)


def test_another_version_does_not_answer_beside_the_one_that_is_asked_for() -> None:
    """1.10 is no 1.1 where both were measured; alone it answers, because a request's 0.5 may be 0.50 in a table."""
    old, new = (curves(work=work, params={"library": version}) for version, work in (("1.1", 100.0), ("1.10", 300.0)))
    for known, version, value in (((*old, *new), "1.1", 25), ((*old, *new), "1.10", 75), (new, "1.1", 75), (old, "1.10", 25)):
        found = predict(known, Question({**HERE, "params": {"library": version}}), [4])
        assert (found.basis, round(float(found.value[0]), 6)) == (("measured",), value)


def test_every_parameter_that_is_another_text_counts() -> None:
    """Training on the device in question with another version tells less of inference than inference elsewhere does."""
    elsewhere = curves(work=50.0, system="there", params={"mode": "infer", "release": "v2"})
    training = curves(work=500.0, params={"mode": "train", "release": "v1", "compile": "eager"})
    asked = Question({**HERE, "params": {"mode": "infer", "release": "v2", "compile": "graph"}})
    (nearest,) = {one.series.system for one in [predict((*elsewhere, *training), asked, [4]).curve] if one}
    assert nearest == "there"


@pytest.mark.parametrize(
    ("there", "times"),
    [
        ({"mode": "train", "release": "v2", "n": "4", "m": "8"}, 1),
        ({"mode": "train", "release": "v1", "n": "4", "m": "8"}, 2),
        ({"mode": "infer", "release": "v2", "n": "5", "m": "9"}, 1),  # numbers of a problem go together
        ({"mode": "infer", "release": "v1", "n": "5", "m": "9"}, 2),
        ({"mode": "infer"}, 2),
        ({}, 3),
    ],
    ids=str,
)
def test_the_interval_widens_with_each_other_parameter(there: dict[str, str], times: int) -> None:
    """In quadrature; what results do not give may be anything."""
    asked = {"mode": "infer", "release": "v2", "n": "4", "m": "8"}
    key: dict[str, Any] = {"metric": "throughput", "unit": "samples/s"}
    same, other = (
        predict(curves(params=params, **key), Question({**HERE, "params": asked}), [4]).width.middle[0] for params in (asked, there)
    )
    assert other**2 - same**2 == pytest.approx(times * (Z90 * SPREAD["params"]) ** 2, rel=0.01)


def test_two_configurations_differ_by_their_own_parameters() -> None:
    """Whichever of them is that of the question: what they differ in is between them alone."""
    rate: dict[str, Any] = {"metric": "throughput", "unit": "samples/s"}
    there = curves(system="there", params={"mode": "infer", "release": "v2"}, **rate)
    here = curves(params={"mode": "train", "release": "v2"}, **rate)
    asked = Question({**HERE, "params": {"mode": "infer", "release": "v1"}}, Layout(ranks_per_node=2))
    one, other = Matcher(None).matches((*there, *here), asked)
    assert [one.unlike(other), other.unlike(one)] == pytest.approx([math.hypot(SPREAD["system"], SPREAD["params"])] * 2)


def test_few_sizes_are_heuristic_between_and_measured_at() -> None:
    """Two sizes make no scaling claim."""
    assert predict(curves((1, 2)), Question(HERE), [1, 8]).basis == ("measured", "heuristic")


def repeated(*factors: float) -> tuple[Curve, ...]:
    """The ideal curve with a run of each of these factors at every size."""
    (ideal,) = curves()
    runs = [(n, cost * factor) for n, cost in zip(ideal.sizes, ideal.costs, strict=True) for factor in factors]
    return fit([Result(series=ideal.series, layout=ideal.layout.model_copy(update={"nodes": int(n)}), value=value) for n, value in runs])


@pytest.mark.parametrize("nodes", [1, 4, 16])
def test_a_layout_of_one_size_scales_as_other_layouts_do(nodes: int) -> None:
    """Also where none of them was measured: by itself, one size would scale perfectly, and look better than what is known not to."""

    def measured(ranks: int, sizes: tuple[int, ...], factor: float) -> list[Result]:
        layout = {"ranks_per_node": ranks, "threads_per_rank": 40 // ranks}
        return [here(factor * (1000 / n + 100), nodes=n, **layout) for n in sizes]

    fitted = fit([*measured(40, (1, 2, 4, 8), 1.0), *measured(4, (8,), 0.9)])
    found = predict(fitted, Question(HERE, Layout(ranks_per_node=4, threads_per_rank=10)), [nodes])
    truth = 0.9 * (1000 / nodes + 100)
    assert abs(np.log(found.value[0] / truth)) < 0.15
    assert found.value[0] * np.exp(-found.width.below[0]) < truth < found.value[0] * np.exp(found.width.above[0])
    assert found.basis == ("transferred",)


def test_a_measured_value_rests_on_its_own_results_alone() -> None:
    """Though others help to tell how such a layout scales, they say nothing where it was measured."""
    found = predict((*curves((4,), ranks=4), *curves(ranks=2)), Question(HERE, Layout(ranks_per_node=4, threads_per_rank=12)), [4])
    assert (found.basis, found.others, found.other_results) == (("measured",), (), 0)


def test_a_job_at_one_size_scales_as_the_same_run_under_another_name() -> None:
    """A table calls its times as it likes, a job measures ``wall_time``."""
    table = SeriesKey(application="solver", system="here", metric="walltime", unit="s")
    job = table.model_copy(update={"metric": "wall_time", "hyperthreads": False})
    measured = [(table, n, 1000 / n + 200) for n in (1, 2, 4, 8)] + [(job, 4, 1.2 * (1000 / 4 + 200))]
    fitted = fit(Result(series=key, layout=Layout(nodes=n), value=value) for key, n, value in measured)
    found = predict(fitted, Question(HERE), [8])
    truth = 1.2 * (1000 / 8 + 200)
    assert found.value[0] * np.exp(-found.width.below[0]) < truth < found.value[0] * np.exp(found.width.above[0])
    assert found.basis == ("transferred",)


def test_a_job_at_one_size_does_not_scale_as_a_part_of_the_run() -> None:
    """The time of its input has another name, too, and hardly changes with the nodes."""
    whole, part = (SeriesKey(application="solver", system="here", metric=name, unit="s") for name in ("wall_time", "input_time"))
    measured = [(part, n, 5.0) for n in (1, 2, 4, 8)] + [(whole, 4, 250.0)]
    fitted = fit(Result(series=key, layout=Layout(nodes=n), value=value) for key, n, value in measured)
    assert predict(fitted, Question(HERE, metric="wall_time"), [8]).basis == ("heuristic",)


def test_a_node_that_was_filled_with_gpus_names_its_ranks() -> None:
    """They are not one number along the curve; a shorter curve of another image, at four ranks, is no nearer for that."""
    table, other = (SeriesKey(application="solver", system="here", metric="wall_time", unit="s", image=image) for image in ("a", "b"))
    runs = [(table, n, gpus, 800 / n / gpus + 10) for n, gpus in ((1, 1), (1, 2), (1, 4), (2, 4), (4, 4))]
    runs += [(other, n, 4, 860 / n / 4) for n in (1, 2)]
    fitted = fit(Result(series=key, layout=Layout(nodes=n, ranks_per_node=g, gpus_per_node=g), value=value) for key, n, g, value in runs)
    found = predict(fitted, Question(HERE, Layout(ranks_per_node=4, gpus_per_node=4)), [4])
    assert (found.basis, found.value[0]) == (("measured",), pytest.approx(60))


@pytest.mark.parametrize("nodes", [4, 5])
def test_repeats_that_scatter_widen_the_interval(nodes: int) -> None:
    """At a measured size and between; it holds those runs. What scatters as usual is as sure as a single run."""
    single, usual, rough = (
        predict(repeated(*factors), Question(HERE), [nodes]).width.above[0] for factors in ((1,), (0.98, 1, 1.02), (0.7, 1, 1.4))
    )
    assert usual == single
    assert rough > np.log(1.4)


def test_two_repeats_say_less_than_pairs_at_every_size() -> None:
    """The usual scatter counts beside what they show."""
    (pairs,) = repeated(0.8, 1.25)
    assert pairs.scatter is not None
    one = pairs.model_copy(update={"scatter": pairs.scatter.model_copy(update={"freedom": 1})})
    few, many = (predict([curve], Question(HERE), [4]).width.above[0] for curve in (one, pairs))
    assert (pairs.scatter.freedom, few < many) == (5, True)


@pytest.mark.parametrize(("other", "wider"), [({}, True), ({"system": "elsewhere"}, False), ({"metric": "io_time"}, False)])
def test_single_runs_scatter_as_repeats_beside_them_do(other: dict[str, str], wider: bool) -> None:
    """Repeats of another compiler's runs on the same system widen the interval of runs that were never repeated; those of other systems and
    metrics do not."""
    (single,), (rough,) = curves(compiler="one"), repeated(0.7, 1, 1.4)
    rough = rough.model_copy(update={"series": rough.series.model_copy(update={"compiler": "other", **other})})
    alone, beside = (predict(known, Question({**HERE, "compiler": "one"}), [4]).width.above[0] for known in ([single], [single, rough]))
    assert (beside > np.log(1.2)) == wider
    assert (beside == alone) != wider


def test_repeats_that_scatter_little_make_no_other_run_surer() -> None:
    """The usual scatter is assumed."""
    (single,), (quiet,) = curves(compiler="one"), repeated(0.999, 1, 1.001)
    quiet = quiet.model_copy(update={"series": quiet.series.model_copy(update={"compiler": "other"})})
    alone, beside = (predict(known, Question({**HERE, "compiler": "one"}), [4]).width.above[0] for known in ([single], [single, quiet]))
    assert beside == alone


UNEVEN: Sequence[float] = (0.8, 1.3, 0.75, 1.25, 0.85)
"""Factors of runs that scatter."""


def uneven(*repeats: float, sizes: tuple[int, ...] = (1, 2, 4, 8, 16), **series: object) -> tuple[Curve, ...]:
    """A curve whose runs scatter around perfect scaling, with further runs of each of these factors at a size of its own."""
    (ideal,) = curves((*sizes, 32, 64), **series)  # type: ignore[arg-type]
    runs = [(n, 100 / n * factor) for n, factor in zip(sizes, UNEVEN, strict=False)] + [(32, 100 / 32 * factor) for factor in repeats]
    return fit([Result(series=ideal.series, layout=ideal.layout.model_copy(update={"nodes": n}), value=value) for n, value in runs])


def test_single_runs_that_no_form_follows_widen_the_interval() -> None:
    """At a measured size: they scatter. Three sizes do not tell, since a form can follow any three."""
    even, rough, few = (predict(known, Question(HERE), [4]).width.above[0] for known in (curves(), uneven(), uneven(sizes=(1, 2, 4))))
    assert max(even, few) <= RERUN_SPREAD
    assert rough > 2 * RERUN_SPREAD


def test_single_runs_scatter_as_those_beside_them_do() -> None:
    """A curve of two sizes does not tell it; a longer one of another compiler does."""
    asked = Question({**HERE, "compiler": "one"})
    short, long = curves((4, 8), compiler="one"), uneven(compiler="other")
    alone, beside = (predict(known, asked, [4]).width.above[0] for known in (short, (*short, *long)))
    assert beside > 2 * alone


def test_repeats_that_agree_tell_that_the_program_is_uneven() -> None:
    """Not its runs; two that differ say that these are."""
    steady, rough = (predict(uneven(*repeats), Question(HERE), [4]).width.above[0] for repeats in ((1, 1.001, 0.999), (0.8, 1.25)))
    assert steady <= RERUN_SPREAD
    assert rough > 2 * RERUN_SPREAD


@pytest.mark.parametrize("runs", [2, 3, 20])
def test_few_runs_do_not_tell_well_how_much_they_scatter(runs: int) -> None:
    """So their interval is wider than that of many that scatter alike, as Student's distribution is than the normal one."""
    (ideal,) = curves((4,))
    logs = 0.2 * np.resize([-1.0, 1.0], runs)
    (curve,) = fit([Result(series=ideal.series, layout=ideal.layout.model_copy(update={"nodes": 4}), value=math.exp(one)) for one in logs])
    assert curve.scatter
    freedom = USUAL + curve.scatter.freedom
    seen = (USUAL + curve.scatter.freedom * 2 * (curve.scatter.deviation * Z90 / RERUN_SPREAD) ** 2) / freedom
    wider = RERUN_SPREAD * math.sqrt(1 + (seen - 1) * (t.ppf(0.95, freedom) / Z90) ** 2)
    assert predict((curve,), Question(HERE), [4]).width.above[0] == pytest.approx(wider)


def test_relatives_inform_a_short_series() -> None:
    """One size alone is a heuristic; with a relative that went on, the answer is transferred and follows it."""
    short, long = curves((4,), work=50.0, compiler="one"), curves((4, 8, 16), work=100.0, compiler="other")
    alone = predict(short, Question({**HERE, "compiler": "one"}), [16])
    helped = predict((*short, *long), Question({**HERE, "compiler": "one"}), [16])
    assert (alone.basis, helped.basis, len(helped.others)) == (("heuristic",), ("transferred",), 1)
    assert helped.value[0] == pytest.approx(50 / 16, rel=0.05)
    assert helped.width.above[0] < alone.width.above[0]


def test_where_nobody_ran_a_short_series_is_no_surer_than_those_that_it_follows() -> None:
    """Relatives narrow the interval where they ran; beyond, it is that of a series alone, as theirs is."""
    key = SeriesKey(application="solver", system="here", metric="wall_time", unit="s")
    ran = {"one": (1,), "other": (1, 2, 4, 8), "third": (1, 2, 4, 8)}
    known = fit(
        Result(series=key.model_copy(update={"compiler": name}), layout=Layout(nodes=n, ranks_per_node=4), value=1000 / n + 10 + n / 4)
        for name, nodes in ran.items()
        for n in nodes
    )
    short, long = (predict(known, Question({**HERE, "compiler": name}), [64]).width.above[0] for name in ("one", "other"))
    assert short > long


def test_the_unit_of_costs_decides_no_interval() -> None:
    """Nor does how they are rounded, where a relative meets the only size of a series."""
    asked = Question({**HERE, "compiler": "one"})
    spreads = set()
    for work in (100.0, 200.0, 370.0, 1e5):
        short, long = curves((4,), work=0.7 * work, compiler="one"), curves((4, 8, 16), work=work, compiler="other")
        spreads.add(round(float(predict((*short, *long), asked, [4]).width.above[0]), 9))
    assert len(spreads) == 1


def test_another_system_is_transferred() -> None:
    """Evidence from elsewhere is named as such, with what differs."""
    found = predict(curves(), Question({"system": "there"}), [4])
    assert (found.basis, found.differences) == (("transferred",), ("system",))


@pytest.mark.parametrize("metric", ["wall_time", "step_time"])
def test_another_problem_is_another_amount_of_work(metric: str) -> None:
    """Of a run or a step of a smaller data set nobody knows how much work the larger one is: the interval holds a hundred times as much."""
    found = predict(curves(dataset="small", metric=metric), Question({**HERE, "dataset": "large"}), [4])
    assert found.quantile(0.95)[0] > 100 * found.value[0]


@pytest.mark.parametrize(("params", "factor"), [({}, 10.0), ({"samples": "60000"}, 2.0)])
def test_an_epoch_of_another_data_set_may_have_many_more_samples(params: dict[str, str], factor: float) -> None:
    """Unless results say how many theirs had: then the time is scaled by those of the request."""
    question = Question({**HERE, "dataset": "large"}, scales_epochs=True)
    found = predict(curves(metric="epoch_time", dataset="small", params=params), question, [4])
    assert factor < np.exp(found.width.above[0]) < 1.5 * factor


@pytest.mark.parametrize("samples", ["60000", "many", "0"])
def test_an_epoch_that_is_not_scaled_may_have_many_more_samples(samples: str) -> None:
    """Results that give theirs are of no use to a question that does not, nor is a text."""
    question = Question({**HERE, "dataset": "large"}, scales_epochs=samples != "60000")
    found = predict(curves(metric="epoch_time", dataset="small", params={"samples": samples}), question, [4])
    assert np.exp(found.width.above[0]) > 10


def test_a_sample_of_another_data_set_is_much_the_same_work() -> None:
    """What a sample costs depends less on the data set that it is of."""
    found = predict(curves(dataset="a", metric="throughput", unit="samples/s"), Question({**HERE, "dataset": "b"}), [4])
    assert found.quantile(0.95)[0] < 3 * found.value[0]


def test_the_same_problem_elsewhere_tells_more_than_another_problem_here() -> None:
    """A machine changes a run's time by far less than another data set does."""
    here, there = curves(work=1000.0, dataset="large"), curves(work=100.0, dataset="small", system="there")
    assert predict((*here, *there), Question({**HERE, "dataset": "small"}), [4]).differences == ("system",)


def test_power_scales_a_transfer() -> None:
    """A node of twice the power takes half the time."""
    power = {"here": 1.0, "there": 2.0}
    found = predict(curves(), Question({"system": "there"}), [4], lambda used: NodePower(power[used.system or ""]))
    assert found.value == pytest.approx([12.5])


@pytest.mark.parametrize("by_gpu", [True, False])
@pytest.mark.parametrize("used", [1, 2, 8])
def test_a_transfer_counts_the_gpus_that_are_used(by_gpu: bool, used: int) -> None:
    """Four GPUs of 1 do 100 in 25 s; one GPU of 2 in a node of eight takes 50 s, eight take 6.25 s, whatever the sizes count."""
    layouts = [Layout(nodes=1, gpus_per_node=n) for n in (1, 2, 4)] if by_gpu else [Layout(nodes=n, gpus_per_node=4) for n in (1, 2, 4)]
    measured = fit([here(100 / ((one.nodes or 1) * (one.gpus_per_node or 1)), one) for one in layouts])
    nodes = {"here": (1.0, 4), "there": (2.0, 8)}

    def power(used: NodeUse) -> NodePower:
        each, count = nodes[used.system or ""]
        return NodePower(bandwidth_gbs=each * (count if used.gpus is None else used.gpus))

    found = predict(measured, Question({"system": "there"}, Layout(gpus_per_node=used)), [1], power)
    assert found.value == pytest.approx([50 / used], rel=0.2)


def cores(used: NodeUse) -> NodePower:
    """Nodes of 64 equal cores, of which so many threads keep as many busy."""
    return NodePower(cores=float(min(used.threads or 64, 64)))


@pytest.mark.parametrize(("ranks", "threads", "seconds"), [(8, 1, (100, 100)), (4, 1, (200, 200)), (8, 8, (12.5, 50))])
@pytest.mark.parametrize("system", ["here", "there"])
def test_ranks_on_equal_cores_take_the_same_time_on_another_system(
    system: str, ranks: int, threads: int, seconds: tuple[float, float]
) -> None:
    """Runs of up to eight ranks left most of a node's 64 cores idle, there as here. Of threads nothing was measured."""
    ways = [Layout(nodes=1, ranks_per_node=n, threads_per_rank=1) for n in (1, 2, 4, 8)]
    measured = fit(here(800 / (one.ranks_per_node or 1), one) for one in ways)
    asked = Question({"system": system}, Layout(ranks_per_node=ranks, threads_per_rank=threads))
    (found,) = predict(measured, asked, [1], cores).value
    assert seconds[0] * 0.999 < found < seconds[1] * 1.001


@pytest.mark.parametrize("threads", [None, 1])
@pytest.mark.parametrize(("ranks", "seconds"), [(2, 400), (8, 100)])
def test_ranks_whose_threads_are_unsaid_share_the_cores_of_another_system(ranks: int, seconds: float, threads: int | None) -> None:
    """Two ranks that took 400 s take as long on equal cores elsewhere, and not the time of as many ranks as were measured at most."""
    measured = fit(here(800 / r, nodes=1, ranks_per_node=r) for r in (2, 4, 8))
    asked = Question({"system": "there"}, Layout(ranks_per_node=ranks, threads_per_rank=threads))
    assert predict(measured, asked, [1], cores).value == pytest.approx([seconds], rel=0.01)


def test_other_ranks_of_unsaid_threads_share_the_cores_of_another_system() -> None:
    """Results of four ranks on each of several nodes: eight ranks on equal cores elsewhere are expected to take about half the time."""
    measured = fit(here(800 / n, nodes=n, ranks_per_node=4) for n in (1, 2, 4))
    unknown, known = (
        predict(measured, Question({"system": "there"}, Layout(ranks_per_node=8)), [4], power).value[0] for power in (None, cores)
    )
    assert known == pytest.approx(unknown)


def test_ranks_do_not_share_the_gpus_of_nodes() -> None:
    """Neither results over ranks nor the question say whether they use the nodes' GPUs: each number of ranks keeps its time."""
    measured = fit(here(800 / r, nodes=1, ranks_per_node=r) for r in (2, 4, 8))
    asked = Question({"system": "there"}, Layout(ranks_per_node=2))
    assert predict(measured, asked, [1], lambda _: NodePower(bandwidth_gbs=900.0)).value == pytest.approx([400], rel=0.01)


def test_threads_that_one_side_leaves_unsaid_are_no_share_of_a_node() -> None:
    """Results without threads give the same time for any number of threads, on another system as on their own."""
    measured = fit(here(100 / n, nodes=n, ranks_per_node=1) for n in (1, 2, 4))
    asked = Question({"system": "there"}, Layout(ranks_per_node=1, threads_per_rank=1))
    assert predict(measured, asked, [4], cores).value == pytest.approx([25])


def test_a_transfer_to_processors_counts_no_gpus() -> None:
    """Neither results nor request give GPUs: processors are compared with processors, though the nodes have GPUs."""
    power = {0: {"here": 1.0, "there": 2.0}, None: {"here": 10.0, "there": 80.0}}
    asked = Question({"system": "there"}, Layout(gpus_per_node=0))
    found = predict(curves(), asked, [4], lambda used: NodePower(power[used.gpus][used.system or ""]))
    assert found.value == pytest.approx([12.5])


def test_nothing_known_is_basis_none() -> None:
    """No evidence, no number."""
    found = predict((), Question(HERE), [1, 2])
    assert found.basis == ("none", "none")
    assert np.isnan(found.value).all()


def test_the_interval_widens_with_each_doubling() -> None:
    """Spread grows with distance from the data."""
    spread = predict(curves(), Question(HERE), [16, 32, 64, 128]).width.above
    assert (np.diff(spread) > 0).all()


def test_the_interval_never_crosses_zero() -> None:
    """Bounds are positive however far away."""
    found = predict(curves((1,)), Question({"system": "there"}), [1, 1000])
    assert (found.quantile(0.001) > 0).all()


def test_quantiles_are_ordered() -> None:
    """A higher confidence is a longer time."""
    found = predict(curves(), Question(HERE), [3])
    assert found.quantile(0.5)[0] == pytest.approx(found.value[0])
    assert found.quantile(0.9)[0] < found.quantile(0.99)[0]


def test_the_run_itself_beats_a_relative() -> None:
    """Evidence with fewer differences answers."""
    both = (*curves(work=100.0, mpi_from="container"), *curves(work=50.0, mpi_from="host"))
    assert predict(both, Question({**HERE, "mpi_from": "host"}), [4]).value == pytest.approx([12.5])


RUNS = st.dictionaries(st.tuples(st.sampled_from([1, 2, 4, 8]), st.sampled_from([1, 2, 4])), st.floats(10, 1000), min_size=1, max_size=8)
"""Times by number of nodes, and of ranks or GPUs per node."""


@pytest.mark.parametrize("count", ["ranks_per_node", "gpus_per_node"])
@given(times=RUNS)
@settings(max_examples=25)
def test_a_run_that_was_measured_takes_the_time_measured(count: str, times: dict[tuple[int, int], float]) -> None:
    """Whatever else was measured: other sizes of its layout, a node that is filled, as many ranks or GPUs on more nodes."""
    runs = {Layout(nodes=nodes, **{count: per_node}): time for (nodes, per_node), time in times.items()}
    fitted = fit([here(time, layout) for layout, time in runs.items()])
    for layout, time in runs.items():
        asked = layout.model_copy(update={"nodes": None, "ranks_per_node": getattr(layout, count), "threads_per_rank": 1})
        found = predict(fitted, Question(HERE, asked), [layout.nodes or 1])
        assert (found.basis, found.value[0]) == (("measured",), pytest.approx(time))


def test_a_run_at_the_layout_asked_for_beats_more_that_say_none() -> None:
    """A job that took longer than a table without layouts says is believed, though the table has more sizes."""
    (one,) = curves((4,), work=200.0)
    table = fit([Result(series=one.series, layout=Layout(nodes=n), value=100.0 / n) for n in (1, 2, 4, 8)])
    assert predict((*table, one), Question(HERE, Layout(ranks_per_node=4, threads_per_rank=12)), [4]).value == pytest.approx([50.0])


@pytest.mark.parametrize("switch", [{"compiler": "xla"}, {"precision": "amp"}, {"params": {"loss_scaling": "dynamic"}}], ids=str)
def test_a_run_that_names_no_switch_is_not_answered_by_one_that_has_it(switch: dict[str, Any]) -> None:
    """Results of the plain run answer, also where those with the switch go further."""
    found = predict((*curves((1, 2)), *curves(work=20.0, **switch)), Question(HERE), [16])
    assert (found.basis, found.differences) == (("transferred",), ())
    assert found.value == pytest.approx([100 / 16], rel=0.1)


def test_a_switch_that_all_results_have_is_left_open() -> None:
    """Where no plain run was measured, one with a compiler is evidence of a run that does not name any."""
    assert predict(curves(compiler="xla"), Question(HERE), [4]).basis == ("measured",)


def test_switches_are_off_beside_a_parameter_that_all_results_have() -> None:
    """Results that all give the samples of an epoch, some of them in half precision and at more sizes, answer in single precision."""
    every: dict[str, Any] = {"params": {"samples": "1e6"}}
    found = predict((*curves((1, 2, 4), **every), *curves(work=20.0, precision="amp", **every)), Question(HERE), [4])
    assert found.value == pytest.approx([25.0])


def test_of_two_switches_that_some_results_have_none_is_always_on() -> None:
    """Where no run was without both, either is evidence of a run that names none."""
    found = predict((*curves(precision="amp"), *curves((1, 2), compiler="xla")), Question(HERE), [4])
    assert found.basis == ("measured",)


def test_whole_runs_in_the_layout_asked_for_beat_rates_that_say_none() -> None:
    """A rate of a node whose GPUs nobody knows is not measured on one of them."""
    whole = SeriesKey(application="solver", system="here", metric="wall_time", unit="s", params={"epochs": "1"})
    rate = whole.model_copy(update={"metric": "throughput", "unit": "samples/s", "params": {}})
    on_gpus = [Result(series=whole, layout=Layout(nodes=1, gpus_per_node=gpus), value=8000 / gpus) for gpus in (1, 2, 4)]
    fitted = fit([*on_gpus, Result(series=rate, layout=Layout(nodes=1), value=1000.0)])
    found = predict(fitted, Question(HERE, Layout(gpus_per_node=1), lengths={"epochs": 1.0}), [1])
    assert found.value == pytest.approx([8000.0])


def test_as_many_gpus_on_more_nodes_are_less_sure() -> None:
    """Each doubling between the nodes in question and those measured widens the interval: more of what is sent crosses the network."""
    filled = [(1, 1), (1, 2), (1, 4), (1, 8), (2, 8), (4, 8)]
    rate = {"metric": "throughput", "unit": "samples/s"}
    known = fit([here(100.0 * n * gpus, nodes=n, gpus_per_node=gpus, **rate) for n, gpus in filled])
    widths = [predict(known, Question(HERE, Layout(gpus_per_node=8 // n)), [n]).width.above[0] for n in (1, 2, 4, 8)]
    assert widths == sorted(widths)
    assert np.diff(widths) == pytest.approx(0.06, abs=0.03)


def test_gpus_of_one_node_are_less_sure_if_only_several_nodes_were_measured() -> None:
    """Nobody knows what leaving a node costs there."""
    rate = {"metric": "throughput", "unit": "samples/s"}
    known = fit([here(200.0 * gpus, nodes=2, gpus_per_node=gpus, **rate) for gpus in (1, 2, 4, 8)])
    one, four = (predict(known, Question(HERE, Layout(gpus_per_node=8 // n)), [n]).width.above[0] for n in (1, 4))
    assert one > four


def test_a_near_batch_says_more_than_another_precision() -> None:
    """The layout at hand in half precision is further off than half as large a batch in the precision that is asked about."""
    layout = {"ranks_per_node": 1, "gpus_per_node": 1}
    known = [(64, "fp32", 100.0), (128, "amp", 300.0)]
    results = [
        Result(
            series=SeriesKey(application="net", system="here", precision=precision, metric="throughput", unit="samples/s"),
            layout=Layout(nodes=nodes, batch_size=batch, **layout),
            value=rate * nodes,
        )
        for batch, precision, rate in known
        for nodes in (1, 2, 4, 8)
    ]
    found = predict(fit(results), Question({**HERE, "precision": "fp32"}, Layout(batch_size=128, **layout)), [4])
    assert found.differences == ("batch_size",)
    assert 1 / found.value[0] == pytest.approx(400 * 2**0.2, rel=0.15)


def test_renaming_labels_changes_nothing() -> None:
    """Text carries no magic."""
    named = predict(curves(compiler="xla"), Question({**HERE, "compiler": "xla"}), [3])
    renamed = predict(curves(compiler="zebra"), Question({**HERE, "compiler": "zebra"}), [3])
    assert (named.value == renamed.value).all()
    assert (named.width.above == renamed.width.above).all()


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), st.integers(1, 400)), min_size=1, unique_by=lambda one: one[:2]),
    st.permutations("abcd"),
    st.sampled_from("abcd"),
    st.sampled_from([1, 3, 32]),
)
def test_renaming_systems_changes_nothing(measured: list[tuple[str, str, int]], names: list[str], asked: str, nodes: int) -> None:
    """Nor does it decide which of several equally near curves is used, and which relatives contribute."""
    new = dict(zip("abcd", names, strict=True))
    before, after = (
        predict(
            [
                curve
                for system, compiler, work in measured
                for curve in curves((1, 2, 4), work=work, system=name[system], compiler=compiler)
            ],
            Question({"system": name[asked]}),
            [nodes],
        )
        for name in ({letter: letter for letter in new}, new)
    )
    assert after.value == pytest.approx(before.value, rel=1e-12)
    assert after.width.above == pytest.approx(before.width.above, rel=1e-12)


def test_a_transferred_row_says_from_what() -> None:
    """How the results differ, and which relatives contributed."""
    known = (*curves((4,), compiler="gcc"), *curves((4, 8, 16), compiler="icc"))
    rows = [{"application": "solver", "compiler": "gcc", "nodes": 16, "system": system} for system in ("here", "there")]
    own, other = (row["model"] for row in predict_rows(rows, {"solver": known}))
    assert own.endswith("; with those of compiler icc")
    assert other.endswith("; from results with system here; together with those of compiler icc")


def test_relatives_are_named_in_the_order_of_their_likeness() -> None:
    """In whatever order their results were loaded."""
    unlike = fit(
        Result(series=curves(compiler="far")[0].series, layout=Layout(nodes=n, ranks_per_node=4, threads_per_rank=12), value=100 / n**0.5)
        for n in (2, 4, 8, 16)
    )
    known = (*curves((2, 4), compiler="gcc"), *unlike, *curves((2, 4, 8, 16), compiler="icc"))
    rows = [{"application": "solver", "compiler": "gcc", "nodes": 16, "system": "there"}]
    said = {predict_rows(rows, {"solver": order})[0]["model"] for order in (known, known[::-1])}
    assert len(said) == 1
    assert said.pop().endswith("; together with those of compiler icc; compiler far")


def test_a_row_that_leaves_its_data_set_open_says_of_which_of_several_it_is() -> None:
    """A row that names one, or whose system has results of one alone, leaves nothing open."""
    known = tuple(curve for name, work in (("small", 1), ("large", 100), ("larger", 1000)) for curve in curves(dataset=name, work=work))
    rows = [{"application": "solver", "nodes": 4, **said} for said in ({}, {"dataset": "small"}, {"system": "there"})]
    alone = curves(dataset="other", work=10, system="there")
    ends = [row["model"].partition("; of ")[2] for row in predict_rows(rows, {"solver": (*known, *alone)})]
    assert ends == ["dataset large, one of 4 that the row may mean", "", ""]


def test_a_row_without_a_system_is_answered_by_results_without_one() -> None:
    """However many others there are; if it is answered by those of a system, the model names it."""
    named, unnamed = curves((1, 2, 4, 8)), curves((4,), work=300.0, system=None)
    rows = [{"application": "solver", "nodes": 4}]
    (both,), (other,) = (predict_rows(rows, {"solver": known}) for known in ((*named, *unnamed), named))
    assert both["predicted"] == pytest.approx(75.0)
    assert other["model"].endswith("; measured on here")


def test_a_row_without_a_system_is_not_measured_where_several_systems_were() -> None:
    """Nobody knows which of them it means: the interval is as wide as for an unmeasured one."""
    both = (*curves(), *curves(system="there", work=300.0))
    rows = [{"application": "solver", "nodes": 4}, {"application": "solver", "nodes": 4, "system": "here"}]
    open_, named = predict_rows(rows, {"solver": both})
    assert (open_["basis"], named["basis"]) == ("transferred", "measured")
    assert open_["upper"] / open_["lower"] > 3 * named["upper"] / named["lower"]


@pytest.mark.parametrize(("label", "asked"), [("fp16", "FP16"), ("float16", "half"), ("float32", "fp32")])
def test_a_precision_in_other_words_is_the_same(label: str, asked: str) -> None:
    """As frameworks and people write them."""
    assert predict(curves(precision=label), Question({**HERE, "precision": asked}), [4]).basis == ("measured",)


@pytest.mark.parametrize("asked", ["bf16", "amp"])
def test_precisions_of_half_the_width_are_nearer_to_each_other_than_to_single(asked: str) -> None:
    """The interval is wider than that of the run itself, and far narrower than from single precision."""
    single, half = curves(precision="fp32"), curves(precision="fp16", work=50.0)
    found = predict((*single, *half), Question({**HERE, "precision": asked}), [4])
    assert (found.value[0], found.basis) == (pytest.approx(12.5), ("transferred",))
    assert found.width.above[0] < predict(single, Question({**HERE, "precision": asked}), [4]).width.above[0] / 2


def test_a_framework_in_capitals_is_the_same() -> None:
    """Tables contain ``PyTorch``, requests ``pytorch``."""
    assert predict(curves(framework="PyTorch"), Question({**HERE, "framework": "pytorch"}), [4]).basis == ("measured",)


def test_a_row_that_counts_something_else_is_not_answered() -> None:
    """Tokens a second are not samples a second, though both are throughputs; images are samples."""
    known = curves(metric="throughput", unit="samples/s")
    rows = [{"application": "solver", "metric": "throughput", "nodes": 4, "unit": unit} for unit in ("tokens/s", "images/s")]
    assert [row["basis"] for row in predict_rows(rows, {"solver": known})] == ["none", "measured"]


def test_an_mpi_library_in_other_words_is_the_same() -> None:
    """Of results, and of the question."""
    found = predict(curves(mpi="Open MPI 4.1"), Question({**HERE, "mpi": "openmpi-4.1"}), [4])
    assert found.basis == ("measured",)
    assert not found.differences


def test_underscores_do_not_tell_systems_apart() -> None:
    """``my_cluster`` and ``my-cluster`` are one system."""
    assert predict(curves(system="my_cluster"), Question({"system": "my-cluster"}), [4]).basis == ("measured",)


def test_costs_of_another_metric_tell_nothing_of_a_layout() -> None:
    """A time per epoch and one per sample differ by the number of samples, whatever the layouts do."""
    epochs, samples = curves(ranks=4, metric="epoch_time"), curves(ranks=8, work=1e-4, metric="sample_time")
    asked = Question(HERE, Layout(ranks_per_node=2, threads_per_rank=12))
    together, alone = predict((*epochs, *samples), asked, [1]), predict(epochs, asked, [1])
    assert together.value.tolist() == alone.value.tolist()


@pytest.mark.parametrize(("metric", "epochs"), [("throughput", "20"), ("epoch_time", "20"), ("wall_time", "10")])
def test_a_row_as_it_was_measured_is_measured_whatever_its_length(metric: str, epochs: str) -> None:
    """The length is no other problem; rates and times of an epoch do not depend on it."""
    known = {"solver": curves(metric=metric, params={"epochs": "10"}, unit="samples/s" if metric == "throughput" else "s")}
    asked = {"application": "solver", "system": "here", "metric": metric, "nodes": 4, "ranks_per_node": 4, "threads_per_rank": 12}
    (row,) = predict_rows([{**asked, "params.epochs": epochs}], known)
    assert (row["basis"], row["predicted"]) == ("measured", pytest.approx(25))


@pytest.mark.parametrize(("epochs", "reaches"), [("20", "lower"), ("5", "upper")])
def test_a_row_of_another_length_is_scaled(epochs: str, reaches: str) -> None:
    """By the epochs; the interval allows for start-up, whose share is smaller in a longer run."""
    known = {"solver": curves(params={"epochs": "10"})}
    asked = {"application": "solver", "system": "here", "metric": "wall_time", "nodes": 4, "ranks_per_node": 4, "threads_per_rank": 12}
    own, row = predict_rows([{**asked, "params.epochs": "10"}, {**asked, "params.epochs": epochs}], known)
    assert row["predicted"] == pytest.approx(25 * int(epochs) / 10)
    wider = {end: abs(np.log(row[end] / row["predicted"])) - abs(np.log(own[end] / own["predicted"])) for end in ("lower", "upper")}
    assert [end for end, more in wider.items() if more > 1e-9] == [reaches]


def test_whole_runs_of_unknown_length_are_of_another_run() -> None:
    """They answer where there is nothing else, in doubt."""
    asked = {"application": "solver", "system": "here", "metric": "wall_time", "nodes": 4, "ranks_per_node": 4, "params.epochs": "20"}
    (row,) = predict_rows([asked], {"solver": curves()})
    assert (row["basis"], row["predicted"]) == ("transferred", pytest.approx(25))


def test_a_whole_run_of_epochs_that_were_measured_takes_these() -> None:
    """Whole runs join the times of their epochs, and are asked about as before."""
    epoch = curves(metric="epoch_time")
    assert epoch[0].layout.ranks_per_node == 4
    asked = {"application": "solver", "system": "here", "metric": "wall_time", "nodes": 4, "params.epochs": "10"}
    (row,) = predict_rows([asked], {"solver": epoch})
    assert (row["predicted"], row["unit"], row["basis"]) == (pytest.approx(250), "s", "measured")


@pytest.mark.parametrize(
    ("measured", "asked", "expected"),
    [
        ("training_time", {"metric": "wall_time"}, 25),
        ("wall_time", {"metric": "run_time"}, 25),
        ("epoch_time", {"metric": "training_time", "params.epochs": "10"}, 250),
    ],
)
def test_a_whole_run_is_predicted_from_whole_runs_under_another_name(measured: str, asked: dict[str, str], expected: float) -> None:
    """With an interval of at least a factor of 2 either way; the model says which metric was measured."""
    (row,) = predict_rows([{"application": "solver", "system": "here", "nodes": 4, **asked}], {"solver": curves(metric=measured)})
    assert (row["basis"], row["predicted"]) == ("transferred", pytest.approx(expected))
    assert min(row["predicted"] / row["lower"], row["upper"] / row["predicted"]) > 2
    assert row["model"].endswith(f"; from results with metric {measured}")


@pytest.mark.parametrize(("measured", "asked"), [("solve_time", "wall_time"), ("wall_time", "epoch_time"), ("step_time", "run_time")])
def test_a_part_of_a_run_is_no_other_name_of_the_whole(measured: str, asked: str) -> None:
    """Nor is a time under a name that does not say what it is of."""
    (row,) = predict_rows([{"application": "solver", "system": "here", "nodes": 4, "metric": asked}], {"solver": curves(metric=measured)})
    assert (row["basis"], row["predicted"]) == ("none", None)


def test_a_whole_run_under_its_own_name_answers_alone() -> None:
    """As if the runs under another name had not been measured, of other data sets too."""
    own, other = curves(metric="run_time", dataset="mine"), curves(metric="wall_time", dataset="other", work=500.0)
    asked = {"application": "solver", "system": "here", "nodes": 4, "metric": "run_time", "dataset": "other"}
    assert predict_rows([asked], {"solver": (*own, *other)}) == predict_rows([asked], {"solver": own})


def test_whole_runs_of_the_same_data_answer_under_any_other_name() -> None:
    """Before those of other data, whatever these are called."""
    known = (*curves(metric="training_time", dataset="mine"), *curves(metric="wall_time", dataset="other", work=500.0))
    asked = {"application": "solver", "system": "here", "nodes": 4, "metric": "run_time", "dataset": "mine"}
    (row,) = predict_rows([asked], {"solver": known})
    assert (row["predicted"], row["model"].partition("; ")[2]) == (pytest.approx(25), "from results with metric training_time")


@pytest.mark.parametrize("other", [{"dataset": "other"}, {"system": "there"}], ids=str)
def test_a_whole_run_is_predicted_from_its_own_epochs_before_other_whole_runs(other: dict[str, str]) -> None:
    """Epochs were timed of this run, whole runs of another data set or on another system."""
    mine: dict[str, Any] = {"dataset": "mine", "system": "here"}
    known = [*curves(metric="epoch_time", **mine), *curves(work=7.0, params={"epochs": "10"}, **{**mine, **other})]
    asked = {"application": "solver", **mine, "metric": "wall_time", "nodes": 4, "params.epochs": "20"}
    (row,) = predict_rows([asked], {"solver": known})
    assert (row["predicted"], row["basis"]) == (pytest.approx(500), "measured")


def timed(times: dict[int, float], layout: Layout | None = None) -> list[Result]:
    """Wall times of whole runs on so many nodes."""
    counts = (layout or Layout()).model_dump(exclude={"nodes"})
    return [here(time, nodes=nodes, **counts) for nodes, time in times.items()]


TABLE = timed({nodes: 1000 / nodes + 100 for nodes in (1, 2, 4, 8)})
"""Results that do not state their layout, of a run that scales badly."""
PLACED = Layout(ranks_per_node=40, threads_per_rank=1)


@pytest.mark.parametrize("slower", [1.02, 2.0])
@pytest.mark.parametrize("job", [(8,), (3,), (4, 8)], ids=str)
def test_a_jobs_result_moves_what_is_predicted_from_a_table_without_layouts(job: tuple[int, ...], slower: float) -> None:
    """The table shows how the run scales, below, between and beyond the sizes of the job, and the job how long it takes in its layout."""
    sizes = np.array([1, 2, 5, 12, 16])
    (before,) = fit(TABLE)
    results = timed({nodes: (1000 / nodes + 100) * slower for nodes in job}, PLACED)
    found, old = predict(fit([*TABLE, *results]), Question(HERE, PLACED), sizes), predict([before], Question(HERE, PLACED), sizes)
    assert set(found.basis) == {"transferred"}
    assert found.value == pytest.approx(old.value * slower, rel=0.03)
    assert (found.doublings.tolist(), found.smallest) == (old.doublings.tolist(), 1)
    assert (found.width.middle >= old.width.middle - 1e-9).all()


def test_further_from_the_nodes_of_a_job_its_layout_is_less_sure() -> None:
    """The ratio of its time to that of the table is known there alone."""
    jobs = [timed({nodes: 1000 / nodes + 100}, PLACED) for nodes in (2, 8)]
    near, far = (predict(fit([*TABLE, *job]), Question(HERE, PLACED), [1]).width.above[0] for job in jobs)
    assert far > near + 0.05


def test_a_job_on_more_nodes_than_the_table_is_measured_there() -> None:
    """How far a size is beyond what was measured counts from the nearest of both."""
    found = predict(fit([*TABLE, *timed({16: 170}, PLACED)]), Question(HERE, PLACED), [12, 16, 32])
    assert found.doublings == pytest.approx([np.log2(16 / 12), 0, 1])


def test_a_layout_of_many_sizes_needs_no_table_without_layouts() -> None:
    """Four sizes show themselves how the run scales."""
    own = timed({nodes: 500 / nodes + 10 for nodes in (1, 2, 4, 8)}, PLACED)
    alone, beside = (predict(fit(results), Question(HERE, PLACED), [3, 16]) for results in (own, [*own, *TABLE, *timed({16: 170})]))
    assert alone.value[0] == beside.value[0]
    assert (beside.basis, beside.doublings.tolist()) == (("interpolated", "extrapolated"), [0, 1])


@pytest.mark.parametrize(
    ("measured", "asked"),
    [
        ([Layout(ranks_per_node=4, gpus_per_node=4)], Layout(ranks_per_node=4, gpus_per_node=4)),
        ([PLACED, Layout(ranks_per_node=20, threads_per_rank=1)], PLACED),
    ],
    ids=["on GPUs", "other ranks there, too"],
)
def test_a_curve_of_one_number_of_nodes_is_moved_to_others(measured: list[Layout], asked: Layout) -> None:
    """Over GPUs or ranks, nobody has seen there how the run scales over nodes; the table without layouts shows it."""
    results = [run for layout in measured for run in timed({8: 900 / (layout.ranks_per_node or 1)}, layout)]
    found, old = (predict(fit(runs), Question(HERE, asked), [1, 8, 16]) for runs in ([*TABLE, *results], TABLE))
    assert found.curve is not None
    assert found.curve.scale != "nodes"
    assert found.basis == ("transferred", "measured", "transferred")
    assert found.value / found.value[1] == pytest.approx(old.value / old.value[1], rel=0.01)
    assert found.doublings.tolist() == [0, 0, 1]


WITHIN = [run for ranks in (5, 10, 20) for run in timed({1: 4000 / ranks + 100}, Layout(ranks_per_node=ranks, threads_per_rank=1))]
"""Results of one node in three layouts."""


def of_half(second: float | None) -> tuple[float, float]:
    """The time of 20 ranks a node on two nodes over that on one, and the half-width on two. ``second``: the same ratio of 40 ranks, which
    were measured; ``None``: they were not."""
    over = [] if second is None else timed({1: 240.0, 2: 240.0 * second}, PLACED)
    found = predict(fit([*WITHIN, *over]), Question(HERE, Layout(ranks_per_node=20, threads_per_rank=1)), [1, 2])
    return found.value[1] / found.value[0], found.width.middle[1]


def test_a_layout_leaves_its_node_as_another_one_did() -> None:
    """Where the second node brought nothing in one layout, it is not expected to halve the time in another one that ran on one node; where
    it halved the time, that is surer than without having seen it."""
    (alone, doubt), (stuck, _), (halved, surer) = (of_half(second) for second in (None, 1.0, 0.5))
    assert alone < 0.6 < stuck < 1.0
    assert halved == pytest.approx(0.5, abs=0.05)
    assert surer < 0.8 * doubt


def test_what_another_layout_shows_does_not_depend_on_names() -> None:
    """Nor on the order of the results; of another series, such as another program, it tells nothing here."""
    over = timed({1: 240.0, 2: 240.0}, PLACED)
    half = Question(HERE, Layout(ranks_per_node=20, threads_per_rank=1))
    there, back, alone = (predict(fit(runs), half, [2]).value[0] for runs in ([*WITHIN, *over], [*over, *WITHIN], WITHIN))
    assert there == back != alone


def on_gpus(counts: Iterable[tuple[int, int]], factor: float = 1.0, compiler: str | None = None) -> list[Result]:
    """Epoch times by nodes and GPUs per node."""
    layouts = [Layout(nodes=nodes, gpus_per_node=gpus, ranks_per_node=gpus) for nodes, gpus in counts]
    costs = {one: factor * 100 / ((one.nodes or 1) * (one.gpus_per_node or 1)) for one in layouts}
    return [here(cost, one, compiler=compiler, metric="epoch_time") for one, cost in costs.items()]


@pytest.mark.parametrize("seen", [False, True], ids=["on one node", "on two"])
def test_relatives_on_one_node_do_not_make_workers_on_several_surer(seen: bool) -> None:
    """How four GPUs on two nodes do depends on the network: runs of other programs with four on one node do not tell."""
    within = [(1, 1), (1, 2), (1, 4)]
    beside = on_gpus([(1, 1), (1, 2), (2, 2), (4, 2)], 0.9, "inductor") if seen else []
    asked = Question({**HERE, "compiler": "none"}, Layout(gpus_per_node=2, ranks_per_node=2))
    own, other = on_gpus(within, compiler="none"), on_gpus(within, 0.8, "xla")
    alone, found = (predict(fit(runs), asked, [1, 2]) for runs in (own, [*own, *other, *beside]))
    assert (found.width.middle[1] < alone.width.middle[1], found.basis[1]) == (seen, "transferred" if seen else "heuristic")


def amdahl(sizes: tuple[int, ...], factor: float = 1.0, compiler: str = "gcc") -> list[Result]:
    """Results of a program with 5 % of serial work."""
    return [here(factor * 1000 * (1 / n + 0.05), nodes=n, ranks_per_node=4, compiler=compiler) for n in sizes]


def test_where_relatives_end_a_short_curve_does_not_jump() -> None:
    """Measured on 1 and 2 nodes, another build on 1 to 32: 33 nodes are not twice as fast as 32."""
    known = fit([*amdahl((1, 2), 0.9, "intel"), *amdahl((1, 2, 4, 8, 16, 32))])
    question = Question({**HERE, "compiler": "intel"}, Layout(ranks_per_node=4))
    before, after = predict(known, question, [32, 33]).value
    assert after > 0.8 * before


def test_a_relative_says_nothing_of_the_scatter_of_runs() -> None:
    """At a measured size the interval of a short curve is as wide with relatives as without."""
    question = Question({**HERE, "compiler": "intel"}, Layout(ranks_per_node=4))
    alone, beside = (
        predict(fit([*amdahl((1, 2, 4), 0.9, "intel"), *others]), question, [2]).width.above[0] for others in ([], amdahl((1, 2, 4, 8)))
    )
    assert beside == pytest.approx(alone, rel=0.01)


def test_one_relative_makes_a_wider_interval_than_many() -> None:
    """Of one alone nobody knows how far the ratio goes on drifting."""
    question = Question({**HERE, "compiler": "intel"}, Layout(ranks_per_node=4))
    builds = [amdahl((1, 2, 4, 8, 16), 1 + number / 10, f"gcc-{number}") for number in range(8)]
    one, many = (
        predict(fit([*amdahl((1, 2), 0.9, "intel"), *(row for build in known for row in build)]), question, [16]).width.above[0]
        for known in (builds[:1], builds)
    )
    assert one > 1.1 * many


def test_evidence_at_the_sizes_in_question_is_nearer() -> None:
    """A run of another framework on one node tells more of one node than 128 nodes of another system do."""

    def measured(nodes: int, **told: str) -> Result:
        key = SeriesKey.model_validate({"application": "solver", "framework": "tensorflow", "metric": "epoch_time", "unit": "s", **told})
        return Result(series=key, layout=Layout(nodes=nodes), value=1000 / nodes)

    known = fit([measured(128, system="there"), measured(1, system="there", framework="mxnet")])
    question = Question({**HERE, "framework": "tensorflow"}, Layout())
    found = [predict(known, question, [nodes]).curve for nodes in (1, 128)]
    assert [curve.series.framework for curve in found if curve] == ["mxnet", "tensorflow"]


def test_each_size_is_answered_as_if_it_were_asked_alone() -> None:
    """Though several sizes are asked for together, by results of three systems, layouts and problems."""
    elsewhere = [
        ("there", 32, "100", (1, 2, 4)),
        ("there", 8, "400", (8, 16, 32)),
        ("far", 32, "200", (64, 128)),
        ("far", 4, "800", (1, 64)),
    ]
    known = fit(
        Result(
            series=SeriesKey(application="solver", system=system, params={"n": n}, metric="wall_time", unit="s"),
            layout=Layout(nodes=nodes, ranks_per_node=ranks, threads_per_rank=32 // ranks),
            value=float(n) ** 2 / nodes + ranks,
        )
        for system, ranks, n, sizes in elsewhere
        for nodes in sizes
    )
    question, sizes = (
        Question({**HERE, "params": {"n": "300"}}, Layout(ranks_per_node=8, threads_per_rank=4)),
        [1, 3, 6, 20, 33, 64, 90, 200],
    )
    alone = [predict(known, question, [nodes]) for nodes in sizes]
    found = predict(known, question, sizes)
    assert len(portions(known, question, sizes)) > 2
    for name in ("value", "basis", "doublings"):
        assert getattr(found, name) == pytest.approx([getattr(one, name)[0] for one in alone])
    assert np.array(found.width) == pytest.approx(np.concatenate([one.width for one in alone], axis=1))


@pytest.mark.parametrize(("metric", "more"), [("epoch_time", {}), ("wall_time", {"params.epochs": "10"})])
@pytest.mark.parametrize(("known", "basis", "time"), [((200_000,), "measured", 200.0), ((200_000, 400_000), "measured", 190.0)])
def test_a_row_of_an_epoch_is_scaled_to_its_samples(
    metric: str, more: dict[str, str], known: tuple[int, ...], basis: str, time: float
) -> None:
    """As a request is; results of as many samples come first."""
    values = {200_000: 100.0, 400_000: 190.0}
    keys = {n: SeriesKey(application="net", system="here", params={"samples": str(n)}, metric="epoch_time", unit="s") for n in known}
    measured = fit(Result(series=key, layout=Layout(nodes=1, gpus_per_node=1), value=values[n]) for n, key in keys.items())
    row = {"application": "net", "system": "here", "metric": metric, "nodes": 1, "gpus_per_node": 1, "params.samples": "4e5", **more}
    (found,) = predict_rows([row], {"net": measured})
    assert (found["basis"], found["predicted"]) == (basis, pytest.approx(10 * time if more else time))


@pytest.mark.parametrize(
    ("other", "sizes"),
    [
        ({"dataset": "other", "params": {"samples": "4000"}}, (8, 16)),
        ({"dataset": "own", "params": {"samples": "1000", "amp": "on"}}, (1, 2, 4)),
    ],
)
def test_a_row_is_scaled_to_its_samples_whatever_else_was_measured(other: dict[str, Any], sizes: tuple[int, ...]) -> None:
    """Another data set has as many samples; a switch that the row does not name was on, at more sizes."""
    own = SeriesKey(application="net", system="here", dataset="own", params={"samples": "1000"}, metric="epoch_time", unit="s")
    results = [Result(series=own, layout=Layout(nodes=n, gpus_per_node=1), value=100.0 / n) for n in (1, 2)]
    results += [Result(series=own.model_copy(update=other), layout=Layout(nodes=n, gpus_per_node=1), value=40.0 / n) for n in sizes]
    row = {"application": "net", "system": "here", "dataset": "own", "metric": "epoch_time", "nodes": 1, "gpus_per_node": 1}
    (found,) = predict_rows([{**row, "params.samples": "4000"}], {"net": fit(results)})
    assert (found["basis"], found["predicted"]) == ("measured", pytest.approx(400.0))


def test_of_several_portions_what_the_first_size_rests_on_is_told() -> None:
    """Whichever portion was predicted first."""
    one, two = np.ones(1), np.full(2, 2.0)
    later = Portion(np.array([1, 2]), Predictions(two, HalfWidths(two, two), ("transferred",) * 2, two, problem_sizes=3))
    first = Portion(np.array([0]), Predictions(one, HalfWidths(one, one), ("measured",), one, problem_sizes=1))
    found = merge_portions([later, first], (3,))
    assert (found.problem_sizes, found.basis[0], *found.value) == (1, "measured", 1.0, 2.0, 2.0)


@pytest.mark.parametrize(("cores", "device"), [(48.0, 1.2), (None, 0.8)])
def test_results_that_do_not_say_so_are_not_taken_for_results_of_gpus(cores: float | None, device: float) -> None:
    """Of nodes without GPUs they are of processors; of unknown nodes they may be of either."""
    known = curves(system="there")
    question = Question(HERE, Layout(ranks_per_node=4, threads_per_rank=12, gpus_per_node=1))
    usual = predict(known, Question(HERE, Layout(ranks_per_node=4, threads_per_rank=12)), [4]).width.above[0]

    def power(used: NodeUse) -> NodePower:
        return NodePower(cores=cores if used.system == "there" and not used.gpus else None)

    assert predict(known, question, [4], power).width.above[0] >= np.hypot(usual, 1.6 * device)
