"""Problem sizes that nobody ran: what they take follows the trend over those that were run, and from where that is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from modak.facts import Layout, Result, SeriesKey
from modak.perfmodel import Curve, Question, fit, predict, predict_rows
from modak.perfmodel.tables.rows import count_open_columns
from tests.runs import ran

HERE = {"system": "here"}
PLACED = Layout(ranks_per_node=40, threads_per_rank=1)


def cubes(*measured: tuple[int, int, int]) -> tuple[Curve, ...]:
    """Curves of a program whose work is the cube of ``params.n``, each for (n, ranks, threads)."""
    return fit(
        ran(1e-6 * n**3 / nodes, nodes=nodes, ranks_per_node=ranks, threads_per_rank=threads, system="here", params={"n": str(n)})
        for n, ranks, threads in measured
        for nodes in (1, 2, 4)
    )


def asked_about(n: int, ranks: int = 4, **further: str) -> Question:
    """The program of :func:`cubes` with that number, in a layout of 48 cores."""
    return Question({**HERE, "params": {"n": str(n), **further}}, Layout(ranks_per_node=ranks, threads_per_rank=48 // ranks))


@pytest.mark.parametrize(("asked", "nearest"), [(250, 500), (900, 1000), (4000, 2000)])
def test_a_problem_nobody_ran_follows_the_law_of_those_that_were(asked: int, nearest: int) -> None:
    """Its time is not that of the nearest, and the interval contains the truth, also at unmeasured numbers of nodes."""
    known = cubes((500, 4, 12), (1000, 4, 12), (2000, 4, 12))
    found = predict(known, asked_about(asked), [1, 3, 8])
    truth = 1e-6 * asked**3 / np.array([1, 3, 8])
    assert np.all((truth * np.exp(-found.width.above) < found.value) & (found.value < truth * np.exp(found.width.below)))
    assert np.abs(np.log(found.value / truth)).max() < 0.15 * abs(np.log((asked / nearest) ** 3))
    assert (set(found.basis), found.differences, found.problem_sizes) == ({"transferred"}, ("params",), 3)


def test_a_row_says_of_which_problems_its_trend_is() -> None:
    """With their numbers as columns of the table, the nearest first."""
    known = {"solver": cubes((500, 4, 12), (1000, 4, 12), (2000, 4, 12))}
    asked = {"application": "solver", "system": "here", "metric": "wall_time", "nodes": 1, "ranks_per_node": 4, "params.n": 4000}
    (row,) = predict_rows([asked], known)
    trend = "from the trend over 3 values of params.n, the nearest with params.n 2000; together with those of params.n 1000; params.n 500"
    assert (row["basis"], row["model"].endswith(trend)) == ("transferred", True)


@pytest.mark.parametrize("asked", [500, 700, 1300, 5000])
def test_a_sample_of_a_much_larger_problem_follows_the_law_too(asked: int) -> None:
    """The time of the nearest problem would be as sure however far it is, and a network of ten times the size as fast."""
    has = {"ranks_per_node": 4, "threads_per_rank": 12, "system": "here", "metric": "throughput", "unit": "samples/s"}
    known = fit(ran(50000 * nodes / n, nodes=nodes, params={"n": str(n)}, **has) for n in (125, 350) for nodes in (1, 2))
    found = predict(known, asked_about(asked), [2])
    before = predict(known, asked_about(asked - 100), [2])
    truth = asked / 100000
    assert (found.problem_sizes, bool(found.value[0] > before.value[0])) == (2, True)
    assert truth * np.exp(-found.width.above[0]) < found.value[0] < truth * np.exp(found.width.below[0])


def test_one_problem_alone_tells_no_law() -> None:
    """Its time answers for the others, within a factor of six."""
    found = predict(cubes((1000, 4, 12)), asked_about(2000), [1])
    assert (found.value[0], found.problem_sizes) == (pytest.approx(1000), 0)
    assert found.width.above[0] > np.log(6)


@pytest.mark.parametrize(("asked", "factor"), [(1001, 1.6), (1200, 2.5), (850, 2.5), (1500, 6.5)])
def test_one_problem_alone_tells_more_of_those_that_are_nearly_as_large(asked: int, factor: float) -> None:
    """The work of the cube of the size is within the interval, which is not that of a problem of twice the size."""
    found = predict(cubes((1000, 4, 12)), asked_about(asked), [1])
    assert 3 * abs(np.log(asked / 1000)) < found.width.above[0] < np.log(factor)


@pytest.mark.parametrize("params", [{"depth": "1001"}, {"n": "1001", "depth": "3"}], ids=str)
def test_a_number_that_only_one_of_both_gives_is_not_near(params: dict[str, str]) -> None:
    """Nobody knows how far it is."""
    asked = Question({**HERE, "params": params}, Layout(ranks_per_node=4, threads_per_rank=12), plain=True)
    assert predict(cubes((1000, 4, 12)), asked, [1]).width.above[0] > np.log(6)


def solvers(**sizes: tuple[int, ...]) -> tuple[Curve, ...]:
    """Curves of a program whose work is the cube of ``params.n`` with the solver ``cg``, and twice as much with others."""
    has = {"nodes": 1, "ranks_per_node": 4, "threads_per_rank": 12, "system": "here"}
    return fit(
        ran((1 if solver == "cg" else 2) * 1e-6 * n**3, params={"n": str(n), "solver": solver}, **has)
        for solver, measured in sizes.items()
        for n in measured
    )


def test_another_solver_follows_the_trend_and_may_be_several_times_as_fast() -> None:
    """Nothing is known of it, but the work grows."""
    found = predict(solvers(cg=(1000, 2000)), asked_about(4000, solver="gmres"), [1])
    assert found.value[0] == pytest.approx(64_000, rel=0.3)
    assert (found.problem_sizes, found.width.above[0] > np.log(6)) == (2, True)


@pytest.mark.parametrize("asked", [1000, 4000, 8000])
def test_one_run_of_a_solver_tells_how_much_it_takes_beside_another(asked: int) -> None:
    """At sizes that the other one has measured, and beyond: the other's time there alone would be half of it."""
    found = predict(solvers(cg=(500, 1000, 2000, 4000), gmres=(500,)), asked_about(asked, solver="gmres"), [1])
    assert found.value[0] == pytest.approx(2e-6 * asked**3, rel=0.35)
    assert found.width.above[0] < np.log(3)


@pytest.mark.parametrize("dear", [(500, 2000), (500, 1000, 2000), (2000,)], ids=str)
@pytest.mark.parametrize("name", ["solver", "compiler"])
def test_a_law_is_of_one_way_to_compute(name: str, dear: tuple[int, ...]) -> None:
    """Where the question leaves the solver open, problem sizes of two of them follow no law together."""

    def timed_with(text: str, factor: float, sizes: tuple[int, ...]) -> list[Result]:
        params = {"solver": text} if name == "solver" else {}
        key = SeriesKey(application="solver", system="here", compiler=None if params else text, metric="wall_time", unit="s")
        return [
            Result(
                series=key.model_copy(update={"params": {"n": str(n), **params}}),
                layout=Layout(nodes=1, ranks_per_node=4, threads_per_rank=12),
                value=1e-6 * factor * n**3,
            )
            for n in sizes
        ]

    known = fit([*timed_with("one", 1, (500, 1000, 2000)), *timed_with("other", 20, dear)])
    found = predict(known, asked_about(4000), [1])
    of_one = found.value[0] == pytest.approx(64_000, rel=0.2)
    assert (of_one or found.value[0] == pytest.approx(20 * 64_000, rel=0.2), found.width.above[0] < np.log(2)) == (True, True)


@pytest.mark.parametrize(
    "spelt",
    [lambda n: f"{n}x{n}x{n}", lambda n: f"{n // 10 * n}k", lambda n: f"{n // 10 * n}m", lambda n: f"{n // 10 * n / 1000}b"],
    ids=["grid", "suffix", "millions", "billions"],
)
def test_sizes_are_grids_and_numbers_with_a_suffix_too(spelt: Callable[[int], str]) -> None:
    """As people write them: a grid counts by its points, and networks are of 7b parameters, or of 760m."""
    runs = [
        Result(
            series=SeriesKey(application="solver", system="here", params={"mesh": spelt(n)}, metric="wall_time", unit="s"),
            layout=Layout(nodes=1, ranks_per_node=4, threads_per_rank=12),
            value=1e-6 * n**3,
        )
        for n in (500, 1000, 2000)
    ]
    found = predict(fit(runs), Question({**HERE, "params": {"mesh": spelt(4000)}}, PLACED), [1])
    assert found.problem_sizes == 3
    assert abs(np.log(found.value[0] / 64_000)) < min(found.width.above[0], 0.3)


def test_a_far_larger_problem_is_told_to_be_far() -> None:
    """In doublings of its number; all results of the trend are counted."""
    known = cubes((500, 4, 12), (1000, 4, 12), (2000, 4, 12))
    found = predict(known, asked_about(64_000), [1])
    assert found.problem_doublings == pytest.approx(5)
    assert found.other_results == 6
    assert predict(known, asked_about(1500), [1]).problem_doublings == 0
    asked = {"application": "solver", "system": "here", "metric": "wall_time", "nodes": 1, "ranks_per_node": 4, "params.n": 64_000}
    (row,) = predict_rows([asked], {"solver": known})
    assert (row["results_used"], "5.0 doublings outside of them" in row["model"]) == (9, True)


def test_the_name_of_a_parameter_does_not_matter() -> None:
    """``n`` and ``zeta`` follow one law."""
    known = cubes((500, 4, 12), (1000, 4, 12), (2000, 4, 12))
    other = [one.model_copy(update={"series": one.series.model_copy(update={"params": {"zeta": one.series.params["n"]}})}) for one in known]
    renamed = Question({**HERE, "params": {"zeta": "4000"}}, Layout(ranks_per_node=4, threads_per_rank=12))
    assert predict(other, renamed, [1]).value == predict(known, asked_about(4000), [1]).value


def test_the_order_of_results_does_not_matter() -> None:
    """Of two layouts equally far from the one in question, either's curves of two compilers, which it leaves open, may come first."""
    built = {"cce": ((8, 6, 1.0), (2, 24, 1.8)), "gcc": ((8, 6, 3.0), (2, 24, 2.0))}
    known = fit(
        ran(
            factor * 1e-6 * n**power / nodes,
            Layout(nodes=nodes, ranks_per_node=ranks, threads_per_rank=threads),
            system="here",
            compiler=compiler,
            params={"n": str(n)},
        )
        for compiler, layouts in built.items()
        for ranks, threads, factor in layouts
        for n, power in ((500, 3), (1000, 3.1), (2000, 3))
        for nodes in (1, 2, 4)
    )
    orders = [known, known[::-1], sorted(known, key=lambda one: one.series.compiler == "cce")]
    assert len({predict(order, asked_about(4000), [1]).value[0].round(6) for order in orders}) == 1


@pytest.mark.parametrize("measured", [(500, 2000), (2000,), (500, 1000, 2000)], ids=str)
def test_a_layout_in_few_problems_follows_the_law_of_the_others(measured: tuple[int, ...]) -> None:
    """Else the layout that was measured in the fewest problems would look fastest in a large one."""
    known = cubes((500, 4, 12), (1000, 4, 12), (2000, 4, 12), *((n, 48, 1) for n in measured))
    few, all_ = (predict(known, asked_about(4000, ranks), [1]) for ranks in (48, 4))
    assert few.value[0] == pytest.approx(all_.value[0], rel=0.25)
    assert few.width.above[0] < np.log(3)


@pytest.mark.parametrize("asked", [500, 1000, 4000])
def test_a_run_on_a_new_system_follows_the_law_of_the_old_one(asked: int) -> None:
    """One run there tells the ratio of both: another problem size is not a guess."""
    old = cubes((500, 4, 12), (1000, 4, 12), (2000, 4, 12))
    new = cubes((2000, 4, 12))[0]
    new = new.model_copy(
        update={"series": new.series.model_copy(update={"system": "there"}), "costs": tuple(3 * cost for cost in new.costs)}
    )
    question = asked_about(asked)
    found = predict([*old, new], Question({**question.attributes, "system": "there"}, question.layout), [1])
    assert found.value[0] == pytest.approx(3e-6 * asked**3, rel=0.2)
    assert np.log(1.2) < found.width.above[0] < np.log(3)


def test_layouts_are_compared_at_one_problem_size() -> None:
    """48 x 1 was measured with a small problem alone: it is not fifty times faster for a large one."""
    known = cubes((500, 48, 1), (2000, 4, 12))
    both = [predict(known, asked_about(4000, ranks), [1]).value[0] for ranks in (48, 4)]
    assert both[0] == pytest.approx(both[1], rel=0.5)


def timed_over(*runs: tuple[int, float], **told: object) -> list[Result]:
    """Results of ``(params.n, value)``; told are attributes and further parameters."""
    series = {name: value for name, value in told.items() if name in SeriesKey.model_fields}
    params = {name: str(value) for name, value in told.items() if name not in series}
    unit = "samples/s" if told.get("metric") == "throughput" else "s"
    return [ran(value, PLACED, **{"system": "here", "unit": unit, **series, "params": {"n": str(n), **params}}) for n, value in runs]


def test_three_problems_tell_more_than_the_nearest_of_them() -> None:
    """A sample costs nine times as much from 64 to 224: a number of 1024 is not as cheap as 224, although it is far away."""
    known = fit(timed_over(*((n, 1 / (1e-3 + 2e-7 * n**2)) for n in (64, 128, 224)), metric="throughput"))
    found = predict(known, Question({**HERE, "params": {"n": "1024"}}, PLACED), [1])
    assert (found.problem_sizes, found.value[0] > 0.05) == (3, True)


def test_a_number_that_never_varied_leaves_the_nearest_problem_to_answer() -> None:
    """Nothing tells how the cost changes with it."""
    known = fit([run for n in (1, 2, 4) for run in timed_over((n, 100 * n**2), seed=1)])
    found = predict(known, Question({**HERE, "params": {"n": "4", "seed": "100"}}, PLACED), [1])
    assert (found.problem_sizes, found.value[0]) == (0, pytest.approx(1600))


@pytest.mark.parametrize(("small", "large"), [({"compiler": "gcc"}, {"compiler": "icc"}), ({"m": 8}, {"m": 1}), ({"system": "there"}, {})])
def test_a_trend_does_not_connect_what_a_question_leaves_open(small: dict[str, object], large: dict[str, object]) -> None:
    """The small problems took ten times as long with another compiler, number or system: this is no trend over the size."""
    slow = timed_over(*((n, 1e-5 * n**3) for n in (500, 1000)), **small)
    fast = timed_over(*((n, 1e-6 * n**3) for n in (2000, 4000)), **large)
    alone, together = (predict(fit(runs), Question({"params": {"n": "8000"}}, PLACED), [1]) for runs in (fast, [*fast, *slow]))
    assert together.value[0] == pytest.approx(alone.value[0], rel=0.2)


def test_smaller_problems_of_a_build_that_is_left_open_make_a_trend_surer() -> None:
    """They took a third of the time: that is no part of the trend, but how steep theirs is tells of it."""
    large = timed_over(*((n, 3e-6 * n**3) for n in (4000, 8000)), compiler="other")
    question = Question({**HERE, "params": {"n": "16000"}}, PLACED)
    small = timed_over(*((n, 1e-6 * n**3) for n in (125, 250, 500, 1000)), compiler="one")
    alone, both = (predict(fit([*large, *more]), question, [1]) for more in ([], small))
    assert both.value[0] == pytest.approx(3e-6 * 16000**3, rel=0.05)
    assert both.width.above[0] < 0.8 * alone.width.above[0]


def test_a_row_that_leaves_the_solver_open_is_told_of_which_one_it_is() -> None:
    """At a measured size and at others; not where some results name none, which is then off."""
    both = [*timed_over((500, 1.0), (1000, 8.0), solver="cg"), *timed_over((500, 3.0), (1000, 24.0), solver="mg")]
    rows = [{"application": "solver", "system": "here", "metric": "wall_time", "nodes": 1, "params.n": n} for n in (1000, 2000)]
    known = {"solver": fit(both)}
    assert count_open_columns(rows, known) == {"params.solver": 2}
    assert count_open_columns([{**row, "params.solver": "cg"} for row in rows], known) == {}
    assert count_open_columns(rows, {"solver": fit([*both, *timed_over((500, 2.0))])}) == {}
    assert all(
        "; of params.solver cg, one of 2" in row["model"] or "params.solver mg, one of 2" in row["model"]
        for row in predict_rows(rows, known)
    )


def test_a_value_in_two_spellings_is_one_that_a_row_may_mean() -> None:
    """Half of the problems have an offset of 0, the others of 0.0."""
    known = {"solver": named(("0", "0.0", "0", "0.0"), "offset")}
    (row,) = predict_rows([{"application": "solver", "system": "here", "metric": "wall_time", "nodes": 1, "params.n": 500}], known)
    assert "may mean" not in row["model"]


def test_names_that_differ_with_the_size_do_not_break_a_trend() -> None:
    """Each mesh has a name of its own."""
    known = fit([run for n in (500, 1000, 2000) for run in timed_over((n, 1e-6 * n**3), dataset=f"mesh-{n}")])
    assert predict(known, Question({**HERE, "params": {"n": "4000"}}, PLACED), [1]).problem_sizes == 3


def named(names: tuple[str, ...], what: str = "mesh", metric: str = "wall_time") -> tuple[Curve, ...]:
    """Problems of 500, 1000, 2000 … that have these names in a parameter or as data sets; their work is the cube of ``params.n``."""
    sizes = [(500 * 2**k, name) for k, name in enumerate(names)]
    return fit([run for n, name in sizes for run in timed_over((n, 1e-6 * n**3), **{what: name, "metric": metric})])


def asked_with(what: str, name: str, n: int = 8000) -> Question:
    """The problem ``n`` with that name."""
    params = {"n": str(n)}
    return Question({**HERE, "params": params, what: name} if what == "dataset" else {**HERE, "params": {**params, what: name}}, PLACED)


@pytest.mark.parametrize("what", ["mesh", "dataset"])
def test_the_name_of_a_size_that_nobody_ran_does_not_hide_the_trend(what: str) -> None:
    """Each mesh has its own number of cells, and a new one is of another number."""
    found = predict(named(("coarse", "medium", "fine"), what), asked_with(what, "finest"), [1])
    assert abs(np.log(found.value[0] / (1e-6 * 8000**3))) < min(found.width.above[0], 1.0)


@pytest.mark.parametrize(
    ("names", "asked", "n"),
    [
        (("cg", "gmres"), "bicg", 8000),
        (("coarse", "medium", "fine"), "fine", 8000),
        (("coarse", "medium", "fine"), "finest", 2000),
    ],
    ids=["two may be chance", "the name of another size", "the size of another name"],
)
def test_texts_that_are_no_names_of_sizes_are_not_passed_over(names: tuple[str, ...], asked: str, n: int) -> None:
    """What one size of another text takes tells no trend."""
    found = predict(named(names), asked_with("mesh", asked, n), [1])
    assert (found.basis, found.problem_sizes) == (("transferred",), 0)


@pytest.mark.parametrize(("usual", "further"), [("true", "True"), ("0", "0.0"), ("-1", "-1.0")])
def test_a_trend_does_not_depend_on_how_texts_are_spelt(usual: str, further: str) -> None:
    """Half of the problems have a parameter that is no size in another spelling."""
    asked = asked_with("shift", usual)
    mixed, alike = (predict(named((usual, other, usual, other), "shift"), asked, [1]) for other in (further, usual))
    assert (mixed.value, mixed.width.above) == (alike.value, alike.width.above)


def test_a_trend_is_of_one_of_two_versions_that_are_the_same_number() -> None:
    """Results of 1.10 are not on the line of 1.1: they take three times as long."""
    runs = [
        run
        for n, version, cost in ((500, "1.1", 1), (1000, "1.10", 3), (2000, "1.1", 1), (4000, "1.10", 3))
        for run in timed_over((n, cost * 1e-6 * n**3), version=version)
    ]
    found = predict(fit(runs), asked_with("version", "1.1"), [1])
    assert abs(np.log(found.value[0] / (1e-6 * 8000**3))) < 0.1


def test_names_of_sizes_may_be_the_same_number() -> None:
    """Of four levels that go with the sizes, two are one number in two texts."""
    known = named(("-1.1", "-1.10", "-2", "-3"), "level")
    assert predict(known, asked_with("level", "-1.1", 500), [1]).value == pytest.approx(1e-6 * 500**3)


def test_samples_of_another_data_set_are_not_told_by_its_number() -> None:
    """How many there are in an epoch has nothing to do with their size."""
    known = named(("digits", "objects", "scenes"), "dataset", "epoch_time")
    assert predict(known, asked_with("dataset", "faces"), [1]).problem_sizes == 0


def test_the_name_of_a_size_that_was_run_elsewhere_does_not_hide_the_trend() -> None:
    """The finest mesh is known from another system alone; here the coarser ones show how long it takes."""
    elsewhere = timed_over((8000, 1e-6 * 8000**3 * 2), mesh="finest", system="there")
    here = [run for n, mesh in ((500, "coarse"), (1000, "medium"), (2000, "fine")) for run in timed_over((n, 1e-6 * n**3), mesh=mesh)]
    assert predict(fit([*here, *elsewhere]), asked_with("mesh", "finest"), [1]).problem_sizes == 3


def test_two_numbers_together_have_a_name() -> None:
    """Of a grid ``nx`` by ``ny``, of which each number alone occurs in several."""
    grids = {"a": (100, 100), "b": (100, 200), "c": (200, 200), "d": (200, 400)}
    runs = [run for name, (x, y) in grids.items() for run in timed_over((x, x * y / 100), ny=y, mesh=name)]
    asked = Question({**HERE, "params": {"n": "400", "ny": "400", "mesh": "e"}}, PLACED)
    found = predict(fit(runs), asked, [1])
    assert abs(np.log(found.value[0] / 1600)) < min(found.width.above[0], 1.0)


def test_larger_problems_that_were_run_for_fewer_steps_follow_a_trend() -> None:
    """As users measure them: the time of a run is that of its steps."""
    runs = [
        run for n, steps in ((500, 100), (1000, 200), (2000, 100), (4000, 50)) for run in timed_over((n, 1e-6 * n**2 * steps), steps=steps)
    ]
    row = {"application": "solver", "system": "here", "params.n": "8000", "params.steps": "400", "metric": "wall_time"}
    (found,) = predict_rows([row], {"solver": fit(runs)})
    assert found["predicted"] == pytest.approx(1e-6 * 8000**2 * 400, rel=0.15)
    assert "trend over 4 values of params.n" in found["model"]


def test_a_layout_on_gpus_does_not_disturb_the_trend_of_processors() -> None:
    """There the same problems hardly differ: what they show is of another kind."""
    runs = timed_over(*((n, 1e-6 * n**2) for n in (1000, 4000, 16000)))
    on_gpus = [one.model_copy(update={"layout": Layout(nodes=1, gpus_per_node=4)}) for one in timed_over((1000, 2.0), (4000, 2.2))]
    asked = Question({**HERE, "params": {"n": "64000"}}, PLACED.model_copy(update={"gpus_per_node": 0}))
    cpus = [one.model_copy(update={"layout": one.layout.model_copy(update={"gpus_per_node": 0})}) for one in runs]
    alone, beside = (predict(fit(known), asked, [1]).width.above[0] for known in (cpus, [*cpus, *on_gpus]))
    assert beside < 1.01 * alone


def overheads(n: int) -> float:
    """Seconds of a program whose overheads hide the work of small problems."""
    return 100 + 1e-6 * n**3


def of_layout(ranks: int, *sizes: int) -> list[Result]:
    """Results of :func:`overheads` in a layout of 48 cores."""
    layout = {"ranks_per_node": ranks, "threads_per_rank": 48 // ranks}
    runs = timed_over(*((n, overheads(n)) for n in sizes))
    return [one.model_copy(update={"layout": Layout(nodes=1, **layout)}) for one in runs]


def test_a_program_that_does_not_follow_its_trend_closely_is_less_sure() -> None:
    """Sizes that divide badly cost more than their neighbours: the next size may, too."""
    sizes = [100 * 2**k for k in range(8)]
    even, uneven = (fit(timed_over(*((n, 1e-3 * n**2 * np.exp(part * (-1) ** k)) for k, n in enumerate(sizes)))) for part in (0, 0.4))
    smooth, rough = (predict(known, Question({**HERE, "params": {"n": "1100"}}, PLACED), [1]).width.above[0] for known in (even, uneven))
    assert (smooth < np.log(1.25), rough > 0.6) == (True, True)


def test_own_sizes_tell_more_than_one_run_of_that_size_elsewhere() -> None:
    """Another system's time may be off by a factor of three either way; the trend is not."""
    here = timed_over(*((n, 1e-6 * n**3) for n in (500, 1000, 2000, 4000)))
    (elsewhere,) = timed_over((8000, 9e-6 * 8000**3), system="there")
    on_two = elsewhere.model_copy(update={"layout": PLACED.model_copy(update={"nodes": 2})})
    found = predict(fit([*here, on_two]), Question({**HERE, "params": {"n": "8000"}}, PLACED), [1])
    assert (found.problem_sizes, found.value[0]) == (4, pytest.approx(1e-6 * 8000**3, rel=0.2))


def test_a_sample_is_not_expected_to_cost_more_in_a_larger_problem() -> None:
    """A run is: two sizes that are close together do not tell how steep the trend is."""
    sizes = (1000, 1050)
    run, sample = (timed_over(*((n, 1.0) for n in sizes), **kind) for kind in ({}, {"metric": "throughput"}))
    longer, dearer = (predict(fit(runs), Question({**HERE, "params": {"n": "4000"}}, PLACED), [1]).value[0] for runs in (run, sample))
    assert (longer > 1.5, dearer < 1.3) == (True, True)


def test_sizes_that_nearly_agree_tell_little_of_the_trend() -> None:
    """Runs of one size differ by 5 %: of two that are 2 % apart, the larger may be faster by chance."""
    close = (timed_over((1000, 1000), (1020, 1061 * chance)) for chance in (0.95, 1.05))
    less, more = (predict(fit(runs), Question({**HERE, "params": {"n": "4000"}}, PLACED), [1]).value[0] for runs in close)
    assert more < 3 * less


def test_results_of_another_batch_size_do_not_make_many_nodes_surer() -> None:
    """What an unmeasured problem adds to the doubt is the same on 64 nodes, where those were measured, and on 256."""

    def timed_with(batch: int, sizes: tuple[int, ...], most: int) -> list[Result]:
        return [
            run.model_copy(update={"layout": PLACED.model_copy(update={"nodes": nodes, "batch_size": batch}), "value": run.value / nodes})
            for run in timed_over(*((n, 1e-6 * n**3) for n in sizes))
            for nodes in (1, 2, 4, 8, 16, 32, 64)
            if nodes <= most
        ]

    known = fit([*timed_with(32, (500, 1000, 2000), 4), *timed_with(64, (2000, 4000, 8000), 64)])
    layout = PLACED.model_copy(update={"batch_size": 32})
    ran, unseen = (predict(known, Question({**HERE, "params": {"n": n}}, layout), [64, 256]).width.above for n in ("2000", "4000"))
    fewer, many = unseen**2 - ran**2
    assert many == pytest.approx(fewer, rel=0.1)


def test_one_more_problem_does_not_make_others_forget_the_trend() -> None:
    """Of large problems a layout that was measured in four small ones knows as much as one that was measured in three."""
    large = of_layout(48, 1000, 2000, 4000, 8000, 16000)
    three, four = (
        predict(fit([*large, *of_layout(4, *small)]), asked_about(16000), [1]) for small in ((500, 700, 1000), (500, 600, 700, 1000))
    )
    assert four.value[0] == pytest.approx(three.value[0], rel=0.1)
    assert four.width.above[0] < 1.1 * three.width.above[0]
    assert np.log(overheads(16000) / four.value[0]) < four.width.above[0]


def test_a_run_that_takes_ten_times_as_long_elsewhere_does_so_for_another_problem() -> None:
    """What was measured here counts, however unusual it is, and not the trend of the other system alone."""
    here, there = (
        timed_over((1000, overheads(1000))),
        timed_over(*((n, 10 * overheads(n)) for n in (1000, 2000, 4000, 8000)), system="there"),
    )
    found = predict(fit([*here, *there]), Question({**HERE, "params": {"n": "8000"}}, PLACED), [1])
    assert abs(np.log(found.value[0] / overheads(8000))) < 0.75
    assert np.log(found.value[0] / overheads(8000)) < found.width.below[0]


def test_the_slope_of_one_number_is_known_to_change_with_the_other() -> None:
    """Rows cost more in wide problems than in narrow ones, where overheads hide them."""

    def cost(rows: int, columns: int) -> float:
        return 1 + 1e-6 * rows * columns

    known = fit([run for m in (100, 400, 1600) for run in timed_over(*((n, cost(n, m)) for n in (500, 2000, 8000)), m=m)])
    found = predict(known, Question({**HERE, "params": {"n": "16000", "m": "3200"}}, PLACED), [1])
    assert found.value[0] == pytest.approx(cost(16000, 3200), rel=0.2)
    assert abs(np.log(cost(16000, 3200) / found.value[0])) < found.width.above[0] < np.log(2)


def test_runs_that_vary_two_numbers_are_less_sure_of_either() -> None:
    """Nine that lie on a line may do so by chance: two doublings outside in both, the interval is a factor of 1.6 at least."""
    known = fit([run for m in (100, 200, 400) for run in timed_over(*((n, 1e-6 * n * m) for n in (1000, 2000, 4000)), m=m)])
    assert predict(known, Question({**HERE, "params": {"n": "16000", "m": "1600"}}, PLACED), [1]).width.above[0] > np.log(1.6)


def test_one_run_is_not_sure_to_keep_its_ratio_three_doublings_further() -> None:
    """Although it takes as long as with the other compiler, whose six sizes lie on a line."""
    known = [*timed_over(*((100 * 2**k, 10.0 * 4**k) for k in range(6)), compiler="gcc"), *timed_over((400, 160.0), compiler="icc")]
    found = predict(fit(known), Question({**HERE, "compiler": "icc", "params": {"n": "3200"}}, PLACED), [1])
    assert (found.value[0], found.width.above[0] > 0.35) == (pytest.approx(10240, rel=0.05), True)


@pytest.mark.parametrize("power", [1.6, 2.4])
def test_a_ratio_that_is_a_power_of_the_size_is_in_the_interval(power: float) -> None:
    """Two small problems hardly tell it from one that varies; what a compiler does better it may do for each row."""
    sizes = (100, 200, 400, 800, 1600, 3200)
    known = [
        *timed_over(*((n, 1e-3 * n**2) for n in sizes), compiler="gcc"),
        *timed_over(*((n, 1e-3 * n**power) for n in sizes[:2]), compiler="icc"),
    ]
    found = predict(fit(known), Question({**HERE, "compiler": "icc", "params": {"n": "3200"}}, PLACED), [1])
    assert -found.width.below[0] < np.log(1e-3 * 3200**power / found.value[0]) < found.width.above[0]


@pytest.mark.parametrize("asked", [2000, 4000, 16000])
@pytest.mark.parametrize("measured", [1000, 8000])
def test_one_size_on_gpus_is_not_sure_to_follow_processors(measured: int, asked: int) -> None:
    """Small problems do not fill a GPU: the ratio to processors changes with the size more than that of two layouts."""

    def timed_on(gpus: int, *sizes: int) -> list[Result]:
        costs = [2 + 1e-9 * n**3 if gpus else 1e-6 * n**3 for n in sizes]
        layout = PLACED.model_copy(update={"nodes": 1, "gpus_per_node": gpus})
        return [one.model_copy(update={"layout": layout}) for one in timed_over(*zip(sizes, costs, strict=True))]

    known = fit([*timed_on(0, 500, 1000, 2000, 4000, 8000), *timed_on(4, measured)])
    question = Question({**HERE, "params": {"n": str(asked)}}, PLACED.model_copy(update={"gpus_per_node": 4}))
    found = predict(known, question, [1])
    assert abs(np.log(found.value[0] / (2 + 1e-9 * asked**3))) < min(found.width.above[0], found.width.below[0])
