"""Lines of a plot: numbers in the unit of the metric, and unique labels."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from modak.facts import FailedRuns, Layout, NotedShift, Result, SeriesKey
from modak.perfmodel import Curve, Question, fit, predict
from modak.perfmodel.plotlines import curve_labels, in_pictures, plot_lines

SIZES = (1, 2, 4, 8)


def curves(
    scale: float = 1.0, ranks: int = 4, metric: str = "wall_time", sizes: tuple[int, ...] = SIZES, **series: object
) -> tuple[Curve, ...]:
    """One curve that scales perfectly: 100 s on a node, or 100 samples a second and node."""
    unit = "s" if metric == "wall_time" else "samples/s"
    key = SeriesKey.model_validate({"application": "app", "system": "here", "metric": metric, "unit": unit, **series})
    power = -1 if metric == "wall_time" else 1
    return fit([Result(series=key, layout=Layout(nodes=n, ranks_per_node=ranks), value=scale * 100.0 * n**power) for n in sizes])


def test_times_fall_and_lie_in_their_interval() -> None:
    """From the smallest size to a doubling beyond the largest; perfect scaling starts at the first point."""
    (line,) = plot_lines(curves())
    assert (line.unit, line.better, line.scale) == ("s", "lower", "nodes")
    assert (line.x[0], line.x[-1]) == (1.0, 16.0)
    assert line.measured_y == pytest.approx((100, 50, 25, 12.5))
    assert line.perfect == pytest.approx(100 / np.array(line.x))
    assert all(low < value < high for low, value, high in zip(line.lower, line.y, line.upper, strict=True))
    assert line.shifted is None


def test_what_a_line_is_scaled_to_is_told() -> None:
    """Its points from before are not what was measured."""
    (curve,) = curves()
    (line,) = plot_lines([curve.model_copy(update={"shifted": NotedShift(since=date(2026, 3, 11), ratio=0.8)})])
    assert line.shifted == "20% less time since 2026-03-11"


def test_each_size_is_drawn_once() -> None:
    """Not also as 7.999999999999999."""
    (line,) = plot_lines(curves(sizes=(1, 2, 4, 8, 16, 32)))
    assert {1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0} <= set(line.x)
    assert np.diff(np.log(line.x)).min() > 1e-6


def test_throughputs_rise_in_samples_a_second() -> None:
    """The same curve as costs, drawn as what was measured."""
    (line,) = plot_lines(curves(metric="throughput"))
    assert line.better == "higher"
    assert line.measured_y == pytest.approx((100, 200, 400, 800))
    assert line.perfect[-1] == pytest.approx(1600)
    assert all(low < value < high for low, value, high in zip(line.lower, line.y, line.upper, strict=True))


def test_more_threads_are_on_the_same_nodes() -> None:
    """Beyond the measured ones, the line is what is predicted for one node: another one would have another rank."""
    key = SeriesKey(application="app", system="here", metric="wall_time", unit="s")
    times = {1: 630.0, 2: 320.0, 4: 165.0, 8: 86.0, 16: 47.0, 32: 27.0, 64: 18.0, 128: 19.5}
    found = fit([Result(series=key, layout=Layout(nodes=1, ranks_per_node=1, threads_per_rank=n), value=time) for n, time in times.items()])
    (line,) = plot_lines(found)
    asked = Question({}, Layout(ranks_per_node=1, threads_per_rank=256))
    assert (line.x[-1], line.y[-1]) == pytest.approx((256.0, predict(found, asked, [1]).value[0]))


@pytest.mark.parametrize("count", ["ranks_per_node", "gpus_per_node"])
@pytest.mark.parametrize("nodes", [1, None])
def test_what_ran_on_one_node_only_goes_on_there(count: str, nodes: int | None) -> None:
    """A second node from the largest size on would relieve the first: a step in the line that no prediction for more ranks has."""
    key = SeriesKey(application="app", metric="wall_time", unit="s")
    times = {1: 1.62, 2: 0.877, 3: 0.628, 4: 0.503, 6: 0.389, 8: 0.356}
    laid = {n: Layout.model_validate({"nodes": nodes, count: n}) for n in (*times, 16)}
    found = fit([Result(series=key, layout=laid[n], value=time) for n, time in times.items()])
    (line,) = plot_lines(found)
    assert (line.x[-1], line.y[-1]) == pytest.approx((16.0, predict(found, Question({}, laid[16]), [1]).value[0]))
    steps = np.abs(np.diff(np.log(line.y)))
    assert steps[-20:].max() < 0.05


@pytest.mark.parametrize("sizes", [(4,), (2, 8)], ids=str)
def test_the_interval_is_no_wider_where_it_was_measured(sizes: tuple[int, ...]) -> None:
    """Also of a curve of few sizes, which is drawn with its relatives."""
    few, others = curves(ranks=8, sizes=sizes), curves()
    (line,) = plot_lines(few, (*few, *others))
    width = dict(zip(line.x, np.log(np.array(line.upper) / line.lower), strict=True))
    for size in sizes:
        beside = min((x for x in line.x if abs(x - size) > 1e-9), key=lambda x: abs(x - size))
        assert width[size] <= width[beside] + 1e-9


def test_the_interval_widens_with_its_level() -> None:
    """And beyond the measured sizes."""
    (half,), (most,) = plot_lines(curves(), level=0.5), plot_lines(curves(), level=0.95)
    width = [np.log(np.array(line.upper) / line.lower) for line in (half, most)]
    assert (width[0] < width[1]).all()
    assert width[1][-1] > width[1][len(most.x) // 2]


def test_relatives_have_a_say_beyond_the_sizes() -> None:
    """A relative that stopped scaling bends the line, but only beyond the measured sizes."""
    short = curves(sizes=SIZES)
    bent = stopped(image="b")
    (alone,), (helped,) = plot_lines(short), plot_lines(short, (*short, *bent))
    assert helped.y[:-40] == alone.y[:-40]
    assert helped.y[-1] > 1.2 * alone.y[-1]


def stopped(**series: object) -> tuple[Curve, ...]:
    """One curve as the others, that gains nothing beyond eight nodes."""
    key = curves(**series)[0].series  # type: ignore[arg-type]
    return fit([Result(series=key, layout=Layout(nodes=n, ranks_per_node=4), value=100 / min(n, 8)) for n in (1, 2, 4, 8, 16)])


@pytest.mark.parametrize("series", [{"image": "b"}, {"framework": "pytorch"}])
def test_the_line_is_what_answers_say_between_the_sizes_and_beyond(series: dict[str, str]) -> None:
    """Of a short curve with a relative, of the same framework or of another one."""
    short = curves(sizes=(1, 4, 8), framework="tensorflow")
    known = (*short, *stopped(**({"framework": "tensorflow"} | series)))
    (line,) = plot_lines(short, known)
    found = predict(known, Question({"framework": "tensorflow", "image": "a"}, short[0].layout), line.x)
    drawn = [place for place, size in enumerate(line.x) if size not in short[0].sizes]
    assert np.array(line.y)[drawn] == pytest.approx(found.value[drawn])
    assert np.array(line.upper)[drawn] == pytest.approx(found.quantile(0.95)[drawn])


def test_another_application_is_no_relative() -> None:
    """Pictures of several applications draw each as it is drawn alone."""
    short = curves(sizes=(1, 2, 4))
    assert plot_lines(short, (*short, *stopped(application="other"))) == plot_lines(short)


def cut(seconds: float, nodes: int, ranks: int = 4, **series: object) -> FailedRuns:
    """A run that was stopped."""
    key = {"application": "app", "system": "here", "metric": "stopped_after", "unit": "s", **series}
    layout = Layout(nodes=nodes, ranks_per_node=ranks)
    return FailedRuns(series=SeriesKey.model_validate(key), layout=layout, count=1, longest_s=seconds)


@pytest.mark.parametrize(
    ("failed", "drawn"),
    [
        ([cut(60, 16), cut(90, 16), cut(30, 12)], {12.0: 30.0, 16.0: 90.0}),
        (
            [
                cut(60, 8),
                cut(60, 16, ranks=8),
                cut(60, 16, system="there"),
                cut(60, 16, application="b"),
                cut(60, 16, metric="failed_runs"),
            ],
            {},
        ),
        ([cut(60, 16, params={"epochs": "5"}), cut(70, 32, params={"epochs": "30"})], {}),
    ],
    ids=["the longest of each size", "one that ended, and other runs", "of a run of unknown length"],
)
def test_runs_that_were_stopped_are_lower_bounds(failed: list[FailedRuns], drawn: dict[float, float]) -> None:
    """Beside the line, which stays as it is."""
    (alone,), (line,) = plot_lines(curves(), curves()), plot_lines(curves(), curves(), failed=failed)
    assert dict(zip(line.stopped_x, line.stopped_y, strict=True)) == drawn
    assert replace(line, stopped_x=(), stopped_y=()) == alone


def test_runs_that_were_stopped_are_on_lines_of_whole_runs() -> None:
    """Over ranks, too, and of as much work or less; not on those of rates."""
    stops = [cut(60, 1, 16, params={"epochs": "5"}), cut(70, 1, 32, params={"epochs": "30"})]
    key = SeriesKey(application="app", system="here", metric="wall_time", unit="s", params={"epochs": "20"})
    found = fit([Result(series=key, layout=Layout(nodes=1, ranks_per_node=n), value=100 / n) for n in SIZES])
    (line,), (rate,) = plot_lines(found, found, failed=stops), plot_lines(curves(metric="throughput"), failed=[cut(60, 16)])
    assert (line.scale, line.stopped_x, line.stopped_y, rate.stopped_x) == ("ranks", (16.0,), (60.0,), ())


@pytest.mark.parametrize(("metric", "best"), [("wall_time", "a"), ("throughput", "b")])
def test_the_curves_of_a_picture_begin_with_the_most_sizes_and_the_best(metric: str, best: str) -> None:
    """A picture has room for few: whoever measured sixty looks for these."""
    few = {name: curves(scale, metric=metric, dataset=name) for name, scale in {"a": 1.0, "b": 2.0}.items()}
    many = curves(9.0, metric=metric, dataset="c", sizes=(*SIZES, 16))
    ((_, kept),) = in_pictures([*few["a"], *few["b"], *many]).items()
    assert [one.series.dataset for one in kept] == ["c", best, "ab".replace(best, "")]


@pytest.mark.parametrize(
    ("sizes", "all_sizes", "shown"),
    [((SIZES, (1,)), False, [4]), ((SIZES, (1,)), True, [4, 1]), (((1,),), False, [1])],
    ids=["of several", "all", "no others"],
)
def test_curves_of_one_size_are_drawn_where_they_are_asked_for_or_alone(
    sizes: tuple[tuple[int, ...], ...], all_sizes: bool, shown: list[int]
) -> None:
    """A point beside lines says little."""
    every = [one for number, few in enumerate(sizes) for one in curves(dataset=str(number), sizes=few)]
    ((_, kept),) = in_pictures(every, all_sizes=all_sizes).items()
    assert [len(one.sizes) for one in kept] == shown


def test_the_picture_with_the_most_sizes_comes_first() -> None:
    """Of all its curves together."""
    every = [*curves(metric="throughput"), *(one for name in "ab" for one in curves(dataset=name, sizes=(1, 2, 4)))]
    assert [metric for metric, _ in in_pictures(every)] == ["wall_time", "throughput"]


def test_labels_say_what_differs_and_nothing_else() -> None:
    """Layout always; application and system only where there are several."""
    found = (*curves(mpi="mpich", mpi_from="host"), *curves(mpi="mpich", mpi_from="container", hyperthreads=True))
    assert curve_labels(found) == ("4 ranks, mpich of the host", "4 ranks, mpich of the container, hyper-threads")


def test_labels_are_words_where_a_name_is_missing() -> None:
    """An MPI whose name nobody stated, and a run without a container."""
    found = (*curves(mpi_from="host", runtime="none"), *curves(runtime="charliecloud"))
    assert curve_labels(found) == ("4 ranks, MPI of the host, no container", "4 ranks, charliecloud")


def test_no_compiler_is_said_where_it_is_one_that_can_be_off() -> None:
    """Every program was built by some compiler, whether results state it or not."""
    assert curve_labels((*curves(compiler="XLA"), *curves(ranks=1)), {"xla"}) == ("4 ranks, XLA", "1 rank, no compiler")
    assert curve_labels((*curves(compiler="gcc-8.3"), *curves(ranks=1)), {"xla"}) == ("4 ranks, gcc-8.3", "1 rank, compiler not stated")


def test_no_two_labels_are_equal() -> None:
    """Not even those of equal curves."""
    assert curve_labels((*curves(), *curves())) == ("4 ranks", "4 ranks (2)")
