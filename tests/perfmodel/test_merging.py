"""Results that say more than others of the same run are of one curve with them."""

from __future__ import annotations

from typing import Any

import pytest

from modak.facts import Layout, Result, SeriesKey
from modak.perfmodel import Curve, fit
from modak.perfmodel.fitting.merging import run_key

JOB: dict[str, Any] = {
    "image": "docker://a/b:1",
    "runtime": "apptainer",
    "partition": "cpu",
    "framework_version": "2.1",
    "hyperthreads": False,
}
"""What a job of MODAK's says of itself, and a table of old timings does not."""


def results(times: dict[int, float], layout: dict[str, Any] | None = None, **series: Any) -> list[Result]:
    """Times on so many nodes."""
    said = {"application": "net", "system": "here", "metric": "wall_time", "unit": "s", **series}
    counts = {"ranks_per_node": 4, "threads_per_rank": 12, **(layout or {})}
    return [Result(series=SeriesKey(**said), layout=Layout(nodes=nodes, **counts), value=time) for nodes, time in times.items()]


def curves(*groups: list[Result]) -> tuple[Curve, ...]:
    """Fitted to all of them."""
    return fit([result for group in groups for result in group])


OLD = results({1: 800, 2: 410, 4: 215})


def test_what_a_job_says_beyond_a_table_makes_no_other_run() -> None:
    """One curve, which says what both of them say."""
    (curve,) = curves(OLD, results({3: 300}, **JOB))
    assert (curve.sizes, curve.costs) == ((1, 2, 3, 4), (800, 410, 300, 215))
    assert (curve.series.image, curve.series.system) == (None, "here")


def test_a_repeat_in_other_words_is_a_repeat() -> None:
    """The middle of both, and they scatter."""
    (curve,) = curves(OLD, results({4: 255}, **JOB))
    assert (curve.costs[-1], curve.repeats) == (235, (1, 1, 2))
    assert curve.scatter is not None


@pytest.mark.parametrize(
    "other",
    [
        {"hyperthreads": True},
        {"compiler": "gcc"},
        {"dataset": "small"},
        {"params": {"mesh": "fine"}},
        {"precision": "fp16"},
        {"system": "there"},
        {"framework": "pytorch"},
    ],
)
def test_another_run_stays_another(other: dict[str, Any]) -> None:
    """What a result names beyond these columns is no matter of words."""
    assert len(curves(OLD, results({3: 300}, **other))) == 2


def test_what_may_mean_either_of_two_runs_is_taken_for_both() -> None:
    """The table does not say in which of two images it was measured; a new image does not bring it back in place of both."""
    found = curves(OLD, results({3: 300}, image="a"), results({3: 200}, **JOB))
    assert len(found) == 2
    assert {one.series.image: (one.sizes, one.costs) for one in found} == {
        "a": ((1, 2, 3, 4), (800, 410, 300, 215)),
        JOB["image"]: ((1, 2, 3, 4), (800, 410, 200, 215)),
    }


def test_runs_of_many_kinds_leave_a_table_that_names_none_by_itself() -> None:
    """Of nine images a table is taken for none."""
    assert len(curves(OLD, *(results({3: 300}, image=str(number)) for number in range(9)))) == 10


def test_a_run_that_says_its_epochs_is_one_of_epochs() -> None:
    """Where epochs were timed, and of each length."""
    table = results({1: 40, 2: 21}, metric="epoch_time")
    (curve,) = curves(table, *(results({4: 12.0 * epochs}, metric="wall_time", params={"epochs": str(epochs)}) for epochs in (10, 20)))
    assert (curve.series.metric, curve.sizes, curve.costs, curve.repeats) == ("epoch_time", (1, 2, 4), (40, 21, 12), (1, 1, 2))


def test_a_time_that_may_be_of_a_part_of_a_run_is_not_divided_into_epochs() -> None:
    """A job's time for its input says nothing of its epochs; its whole time does."""
    job: dict[str, Any] = {"params": {"epochs": "20"}}
    found = curves(results({1: 40, 2: 21}, metric="epoch_time"), results({4: 220}, **job), results({4: 20}, metric="io_time", **job))
    assert {one.series.metric: one.costs for one in found} == {"epoch_time": (40, 21, 11), "io_time": (20,)}


@pytest.mark.parametrize(
    ("unit", "params"),
    [("samples/s", {"epochs": "10", "amount": "50000 samples"}), ("ns/day", {"amount": "50 us"}), ("steps/s", {"steps": "50000"})],
)
def test_a_run_of_known_work_is_a_rate_where_rates_were_measured(unit: str, params: dict[str, str]) -> None:
    """50000 in 1000 s, and per day."""
    per = 86400 if unit == "ns/day" else 1
    found = curves(results({1: 10 * per, 2: 20 * per}, metric="speed", unit=unit), results({4: 1000}, params=params))
    (rate,) = (curve for curve in found if curve.series.metric == "speed")
    assert dict(zip(rate.sizes, rate.costs, strict=True)) == pytest.approx({1: 1 / 10 / per, 2: 1 / 20 / per, 4: 1 / 50 / per})


def test_a_short_run_does_not_change_a_measured_rate() -> None:
    """500 samples in a minute, most of it start-up, where the rate says 5 s."""
    found = curves(results({1: 100}, metric="throughput", unit="samples/s"), results({1: 65}, params={"amount": "500 samples"}))
    assert {one.series.metric: one.costs for one in found} == {"throughput": (0.01,), "wall_time": (65,)}


def test_times_of_steps_under_two_names_are_one_rate_of_samples() -> None:
    """In one layout."""
    layout = {"gpus_per_node": 4, "ranks_per_node": 4, "batch_size": 32}
    found = curves(results({1: 40}, params={"steps": "100"}, layout=layout), results({1: 0.5}, metric="step_time", layout=layout))
    assert [one.repeats for one in found if one.series.metric == "throughput"] == [(2,)]


def test_runs_of_as_many_epochs_join_whether_or_not_they_state_their_samples() -> None:
    """Jobs state them, tables may not."""
    later = results({4: 50}, params={"epochs": "10", "amount": "5000 samples"})
    (curve,) = curves(results({1: 200, 2: 100}, params={"epochs": "10"}), later)
    assert curve.sizes == (1, 2, 4)


def test_runs_of_as_many_epochs_of_unlike_sizes_do_not_join() -> None:
    """Runs without samples may be of either."""
    stated = (
        results({4: time}, params={"epochs": "10", "amount": amount}) for time, amount in ((50, "5000 samples"), (500, "50000 samples"))
    )
    found = curves(results({1: 200, 2: 100}, params={"epochs": "10"}), *stated)
    assert sorted(one.sizes for one in found) == [(1, 2), (4,), (4,)]


def test_runs_of_several_lengths_alone_stay_runs() -> None:
    """What starting them takes is not the same share of each."""
    lengths = (results({1: 100}, params={"epochs": "2"}), results({2: 700}, params={"epochs": "30"}))
    assert {curve.series.metric for curve in curves(*lengths)} == {"wall_time"}


@pytest.mark.parametrize("more", [{"batch_size": 32}, {"gpus_per_node": 0}])
def test_a_batch_or_no_gpus_that_a_table_leaves_out_make_no_other_run(more: dict[str, int]) -> None:
    """The others say it."""
    (curve,) = curves(OLD, results({8: 120}, layout=more, **JOB))
    assert curve.sizes == (1, 2, 4, 8)


ON_GPUS = {"ranks_per_node": 4, "threads_per_rank": 12, "gpus_per_node": 4}


@pytest.mark.parametrize(
    ("empty", "layout"),
    [
        (("ranks_per_node",), {}),
        (("threads_per_rank",), {}),
        (("ranks_per_node", "threads_per_rank"), ON_GPUS),
    ],
    ids=["ranks", "threads", "both, of runs on GPUs"],
)
def test_a_count_that_a_part_of_a_table_leaves_out_makes_no_other_run(empty: tuple[str, ...], layout: dict[str, Any]) -> None:
    """The others say it, in the same table or in another one."""
    part = results({1: 800, 2: 410, 4: 215}, layout={**layout, **dict.fromkeys(empty)})
    (curve,) = curves(part, results({4: 400}, layout=layout), results({4: 402}, layout=layout, **JOB))
    assert (curve.sizes, curve.costs) == ((1, 2, 4), (800, 410, 400))
    assert (curve.layout.ranks_per_node, curve.layout.threads_per_rank) == (4, 12)


@pytest.mark.parametrize("empty", [("ranks_per_node",), ("threads_per_rank",)], ids=str)
def test_a_layout_that_may_mean_one_of_two_stays(empty: tuple[str, ...]) -> None:
    """Nobody knows which of them it is of."""
    part = results({1: 800, 2: 410, 4: 215}, layout=dict.fromkeys(empty))
    found = curves(part, results({1: 700, 2: 400}), results({1: 600, 2: 300}, layout={"ranks_per_node": 8, "threads_per_rank": 6}))
    assert len(found) == 3


def test_on_gpus_results_without_ranks_stay_where_the_ranks_per_gpu_vary() -> None:
    """Two of four runs have one rank per GPU, one has two: the fourth may have had either."""
    rows: tuple[tuple[int, int | None, float], ...] = ((1, 1, 100), (4, 4, 25), (2, 4, 70), (2, None, 50))
    found = curves(*(results({1: time}, layout={"gpus_per_node": gpus, "ranks_per_node": ranks}) for gpus, ranks, time in rows))
    assert sorted(cost for curve in found for cost in curve.costs) == [25, 50, 70, 100]


def test_results_that_say_nothing_of_their_layout_stay() -> None:
    """They may be of any."""
    table = results({1: 800, 2: 410, 4: 215}, layout={"ranks_per_node": None, "threads_per_rank": None})
    assert len(curves(table, results({1: 700, 2: 400}))) == 2


def test_ranks_that_scale_within_a_node_lose_no_size_to_a_run_with_threads() -> None:
    """One hybrid run does not say how many threads the other runs had."""
    counts: tuple[int, ...] = (1, 2, 4, 8)
    within = [run for ranks in counts for run in results({1: 800 / ranks}, layout={"ranks_per_node": ranks, "threads_per_rank": None})]
    assert (1, 2, 4, 8) in {curve.sizes for curve in curves(within, results({1: 150}, layout={"threads_per_rank": 2}))}


@pytest.mark.parametrize("name", ["ranks_per_node", "gpus_per_node", "threads_per_rank"])
def test_runs_that_name_no_nodes_are_of_one_also_beside_runs_that_name_it(name: str) -> None:
    """They are repeats of these, and all sizes stay one curve."""

    def measured(nodes: int | None, *counts: int) -> list[Result]:
        none = dict.fromkeys(("ranks_per_node", "threads_per_rank"), 1 if name == "threads_per_rank" else None)
        rows = (results({1: 800 / count}, layout={**none, name: count}) for count in counts)
        return [row.model_copy(update={"layout": row.layout.model_copy(update={"nodes": nodes})}) for one in rows for row in one]

    (curve,) = curves(measured(None, 1, 2, 4), measured(1, 1, 2, 4, 8))
    assert (curve.sizes, curve.nodes, curve.repeats) == ((1, 2, 4, 8), (1, 1, 1, 1), (2, 2, 2, 1))


def test_runs_on_gpus_join_whatever_they_were_measured_over() -> None:
    """One size alone is of GPUs, several are of nodes; the results decide together."""
    layout = {"gpus_per_node": 4}
    (curve,) = curves(results({1: 800, 2: 410, 4: 215}, layout=layout), results({3: 300}, layout=layout, **JOB))
    assert (curve.scale, curve.sizes) == ("nodes", (1, 2, 3, 4))


@pytest.mark.parametrize(
    ("column", "names"),
    [
        ("system", ("My_Site", "my-site")),
        ("compiler", ("gcc 9.3", "gcc-9.3")),
        ("compiler", ("GCC_9.3", "gcc-9.3")),
        ("mpi", ("MPICH 3", "mpich-3")),
        ("mpi", ("Open MPI 4.1", "openmpi 4.1")),
        ("mpi", ("impi 2019", "Intel MPI 2019")),
        ("precision", ("float16", "FP16")),
    ],
)
def test_spelling_makes_no_other_run(column: str, names: tuple[str, str]) -> None:
    """Of a system's name, as everywhere, of a build's, a library's and a precision's."""
    one, other = ({column: name} for name in names)
    assert len(curves(results({1: 800, 2: 410}, None, **one), results({4: 215}, None, **other, **JOB))) == 1


def test_kin_are_all_that_may_be_taken_together() -> None:
    """A run by its epochs, too; no other one."""
    one = SeriesKey(application="net", metric="epoch_time", unit="s")
    run = one.model_copy(update={"metric": "wall_time", "params": {"epochs": "5"}, "image": "a"})
    assert run_key(one) == run_key(run) != run_key(run.model_copy(update={"params": {"epochs": "5", "mesh": "a"}}))
