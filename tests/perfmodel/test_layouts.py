"""A layout that nobody has measured, from the others: between them, and the surer the nearer they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from modak.facts import Layout, Result, SeriesKey
from modak.perfmodel import Curve, NodePower, NodeUse, Predictions, Question, fit, predict
from modak.perfmodel.laws.layoutlaw import krige_layout
from modak.perfmodel.matching.layouts import distance
from tests.runs import here

HERE = {"system": "here"}


def runs(*layouts: tuple[int, int, float], **series: Any) -> list[Result]:
    """Results in each (ranks, threads, seconds on a node), scaling perfectly."""
    key = SeriesKey.model_validate({"application": "solver", "system": "here", "metric": "wall_time", "unit": "s", **series})
    return [
        Result(series=key, layout=Layout(nodes=nodes, ranks_per_node=ranks, threads_per_rank=threads), value=cost / nodes)
        for ranks, threads, cost in layouts
        for nodes in (1, 2, 4, 8)
    ]


def curves(*layouts: tuple[int, int, float]) -> tuple[Curve, ...]:
    """One curve for each (ranks, threads, seconds on a node), scaling perfectly."""
    return fit(runs(*layouts))


def asked(known: tuple[Curve, ...], ranks: int, threads: int, nodes: int = 4) -> Predictions:
    """The answer for a layout."""
    return predict(known, Question(HERE, Layout(ranks_per_node=ranks, threads_per_rank=threads)), [nodes])


LAYOUTS = ((1, 48, 200.0), (2, 24, 150.0), (4, 12, 110.0), (8, 6, 100.0), (48, 1, 120.0))
"""Of a run on another system."""


def test_two_hyperthreads_of_each_core_take_about_as_long_as_one() -> None:
    """Along a curve over threads, too, where another layout was measured beside it."""
    known = fit([one for one in runs((1, 5, 20.0), (1, 10, 10.0), (1, 20, 5.0), (1, 40, 2.5), (2, 20, 2.4)) if one.layout.nodes == 1])
    question = Question({**HERE, "hyperthreads": True}, Layout(ranks_per_node=1, threads_per_rank=80), crowded=True)
    assert predict(known, question, [1]).value[0] == pytest.approx(2.5, rel=0.1)


def test_one_layout_here_makes_results_of_another_system_surer() -> None:
    """It tells by how much this system is faster; without it that is guessed, without those of the other system the layout is."""
    here, there = runs((2, 24, 75.0)), runs(*LAYOUTS, system="there")
    alone, elsewhere, both = (asked(fit(known), 8, 6) for known in (here, there, [*here, *there]))
    assert both.width.above[0] < 0.65 * min(alone.width.above[0], elsewhere.width.above[0])
    assert both.value[0] == pytest.approx(100 / 2 / 4, rel=0.4)
    assert (both.curve.series.system if both.curve else "", both.other_results) == ("here", 20)


def test_layouts_of_several_other_systems_share_what_sets_this_one_apart() -> None:
    """A second system makes little surer; nor does it make less sure, if its nodes are slower by a third."""
    here, there = runs((2, 24, 75.0)), runs(*LAYOUTS, system="there")
    slower = runs(*((ranks, threads, 1.3 * cost) for ranks, threads, cost in LAYOUTS), system="elsewhere")
    one, two = asked(fit([*here, *there]), 8, 6), asked(fit([*here, *there, *slower]), 8, 6)
    assert 0.85 * one.width.above[0] < two.width.above[0] < 1.01 * one.width.above[0]


def test_other_layouts_here_correct_results_of_other_software_in_the_layout_in_question() -> None:
    """A framework that was faster by a third in two layouts is expected to be faster in the third one."""
    old = runs(*LAYOUTS, framework="old")
    known = fit([*old, *runs((2, 24, 100.0), (4, 12, 110 / 1.5), framework="new")])
    found = predict(known, Question({**HERE, "framework": "new"}, Layout(ranks_per_node=8, threads_per_rank=6)), [4])
    assert found.value[0] == pytest.approx(100 / 1.5 / 4, rel=0.1)
    assert found.differences == ("ranks_per_node", "threads_per_rank")


@pytest.mark.parametrize(("usual", "further"), [("gcc-9.3", "GCC 9.3"), ("gcc-9.3", "gcc/9.3")])
def test_layouts_of_one_compiler_in_several_spellings_are_of_one_configuration(usual: str, further: str) -> None:
    """Each layout was run in an image of its own, about which nothing is asked."""

    def found(*compilers: str) -> Predictions:
        layouts = zip(LAYOUTS, compilers, strict=False)
        known = fit([one for layout, each in layouts for one in runs(layout, compiler=each, image=f"image-{layout[0]}")])
        return predict(known, Question({**HERE, "compiler": "intel-19"}, Layout(ranks_per_node=8, threads_per_rank=6)), [4])

    mixed, alike = found(usual, further, usual), found(usual, usual, usual)
    assert (mixed.value, mixed.width.above) == (alike.value, alike.width.above)


def test_the_more_alike_a_configuration_is_the_more_its_layouts_tell() -> None:
    """Another image tells more than another framework."""
    spreads = []
    for name in ("image", "framework"):
        known = fit([*runs(*LAYOUTS, **{name: "one"}), *runs((2, 24, 140.0), **{name: "other"})])
        spreads.append(predict(known, Question({**HERE, name: "other"}, Layout(ranks_per_node=48, threads_per_rank=1)), [4]).width.above[0])
    assert spreads[0] < 0.7 * spreads[1]


def test_what_sets_another_image_apart_fades_with_the_distance_of_layouts() -> None:
    """One that takes a fifth longer in one layout is expected to take longer in the next one, and by less in a far one."""
    known = fit([*runs(*LAYOUTS, image="one"), *runs((2, 24, 1.2 * 150), image="other")])
    near, far = (
        float(predict(known, Question({**HERE, "image": "other"}, Layout(ranks_per_node=ranks, threads_per_rank=threads)), [4]).value[0])
        / cost
        for ranks, threads, cost in ((4, 12, 110 / 4), (48, 1, 120 / 4))
    )
    assert 1.0 < far < 1.1 < near < 1.25


def test_a_system_may_prefer_other_layouts_than_one_that_ran_them_all() -> None:
    """Here ranks are dear: 24 times the ranks of the layout that was measured take longer by ``24 ** 0.4`` than they do there."""
    here, there = runs((2, 24, 75.0)), runs(*LAYOUTS, system="there")
    found, truth = asked(fit([*here, *there]), 48, 1), 120 / 2 * 24**0.4 / 4
    assert found.quantile(0.05)[0] < truth < found.quantile(0.95)[0]


def test_how_far_tastes_differ_is_told_by_a_second_layout() -> None:
    """That another layout here takes as long as there says that a third one does, too: the interval of a far one is a third narrower."""
    here, there = runs((2, 24, 150.0)), runs(*LAYOUTS, system="there")
    one, two = (asked(fit([*known, *there]), 48, 1) for known in (here, [*here, *runs((8, 6, 100.0))]))
    assert two.width.above[0] < 0.7 * one.width.above[0]


def test_another_image_may_differ_by_far_more_than_is_usual() -> None:
    """One that takes twice as long in two layouts is expected to do so in a third one, between those of the other image."""
    known = fit([*runs(*LAYOUTS, image="one"), *runs((2, 24, 300.0), (4, 12, 220.0), image="other")])
    found = predict(known, Question({**HERE, "image": "other"}, Layout(ranks_per_node=8, threads_per_rank=6)), [4])
    assert found.value[0] == pytest.approx(2 * 100 / 4, rel=0.2)


def test_how_unlike_other_software_is_does_not_depend_on_counts_that_are_left_open() -> None:
    """Threads that the question leaves open are those of the nearest results: it is the same question as one that gives these."""
    known = fit([*runs((4, 2, 100.0), framework="new"), *runs((8, 1, 300.0), framework="old")])
    open_, given = (
        predict(known, Question({**HERE, "framework": "new"}, Layout(ranks_per_node=8, threads_per_rank=threads)), [4])
        for threads in (None, 2)
    )
    assert (open_.value[0], open_.width.above[0]) == pytest.approx((given.value[0], given.width.above[0]))


def test_many_layouts_of_one_configuration_leave_room_for_the_layout_in_question_in_another() -> None:
    """Eight layouts of another image make 8 x 6 with another compiler no surer answer than all of them together."""
    here = {"image": "own", "compiler": "gcc"}
    ways = ((1, 48), (2, 24), (4, 12), (48, 1), (24, 2), (16, 3), (12, 4), (6, 8))
    known = fit(
        [
            *runs((2, 24, 100.0), **here),
            *runs(*((ranks, threads, 100.0) for ranks, threads in ways), image="other", compiler="gcc"),
            *runs((8, 6, 140.0), image="own", compiler="icc"),
        ]
    )
    found = predict(known, Question({**HERE, **here}, Layout(ranks_per_node=8, threads_per_rank=6)), [4])
    assert (found.differences, found.other_results) == (("ranks_per_node", "threads_per_rank"), 32)
    assert found.value[0] == pytest.approx(100 / 4, rel=0.1)


def test_results_that_leave_something_open_are_made_surer_too() -> None:
    """A run with some MPI, where no results name theirs: those of this system are most alike all the same."""
    known = fit([*runs((2, 24, 75.0)), *runs(*LAYOUTS, system="there")])
    named, unnamed = (
        predict(known, Question({**HERE, **more}, Layout(ranks_per_node=8, threads_per_rank=6)), [4]) for more in ({"mpi": "mpich"}, {})
    )
    assert named.value[0] == pytest.approx(unnamed.value[0])
    assert unnamed.width.above[0] < named.width.above[0] < 1.5 * unnamed.width.above[0]


def test_runs_without_gpus_tell_nothing_of_layouts_on_gpus() -> None:
    """Nodes that are known to have none."""

    def power(used: NodeUse) -> NodePower:
        return NodePower(cores=48.0) if used.system == "there" else NodePower(bandwidth_gbs=100.0)

    on_gpus = [here(10 / nodes, nodes=nodes, ranks_per_node=4, threads_per_rank=6, gpus_per_node=4) for nodes in (1, 2, 4, 8)]
    question = Question(HERE, Layout(ranks_per_node=4, threads_per_rank=12, gpus_per_node=4))
    alone, both = (predict(fit(known), question, [4], power) for known in (on_gpus, [*on_gpus, *runs(*LAYOUTS, system="there")]))
    assert (alone.value[0], alone.width.above[0]) == (both.value[0], both.width.above[0])


def others(most: int, attribute: str) -> list[Result]:
    """Runs of five others in the first ``most`` of :data:`LAYOUTS`, each slower than the one before."""
    costs = {
        f"other {number}": [(ranks, threads, (1 + number / 5) * cost) for ranks, threads, cost in LAYOUTS[:most]] for number in range(5)
    }
    return [one for name, layouts in costs.items() for one in runs(*layouts, **{attribute: name})]


@pytest.mark.parametrize(("system", "gpus"), [("there", None), ("there", 4), ("here", 4)])
def test_ranks_share_no_work_of_gpus_that_results_leave_open(system: str, gpus: int | None) -> None:
    """On nodes with as many, which are compared by these: with an eighth of the ranks a run takes neither an eighth nor eight times as
    long, whether or not the question says how many GPUs there are."""

    def power(used: NodeUse) -> NodePower:
        return NodePower(bandwidth_gbs=100.0 * (4 if used.gpus is None else used.gpus))

    question = Question({"system": system}, Layout(ranks_per_node=1, threads_per_rank=1, gpus_per_node=gpus))
    assert predict(curves((8, 1, 100.0)), question, [4], power).value[0] == pytest.approx(25, rel=0.5)


def test_five_other_frameworks_tell_no_less_than_one() -> None:
    """Of more results than contribute, those nearest to the question are among them."""
    here, there = runs((2, 24, 75.0), framework="own"), others(len(LAYOUTS), "framework")
    question = Question({**HERE, "framework": "own"}, Layout(ranks_per_node=8, threads_per_rank=6))
    one, five = (predict(fit([*here, *known]), question, [4]) for known in (there[: 4 * len(LAYOUTS)], there))
    assert five.width.above[0] < 1.05 * one.width.above[0]


def test_systems_that_ran_the_layout_in_question_come_before_others() -> None:
    """Of six systems, the slowest one alone ran it."""
    here, there = runs((2, 24, 75.0)), runs(*((ranks, threads, 3 * cost) for ranks, threads, cost in LAYOUTS), system="there")
    one, six = (asked(fit([*here, *known]), 8, 6) for known in (there, [*there, *others(2, "system")]))
    assert six.width.above[0] < 1.05 * one.width.above[0]


def test_times_of_other_steps_tell_nothing_of_layouts() -> None:
    """Another system's ``step_time`` beside this one's ``wall_time``."""
    here, there = runs((2, 24, 75.0)), runs(*LAYOUTS, system="there", metric="step_time")
    question = Question(HERE, Layout(ranks_per_node=8, threads_per_rank=6), "wall_time")
    alone, both = (predict(fit(known), question, [4]) for known in (here, [*here, *there]))
    assert (alone.value[0], alone.width.above[0]) == (both.value[0], both.width.above[0])


def test_runs_of_another_length_tell_nothing_of_layouts() -> None:
    """Another system's runs of one epoch beside this one's of ten."""
    here, there = runs((2, 24, 75.0), params={"epochs": "10"}), runs(*LAYOUTS, system="there", params={"epochs": "1"})
    question = Question(HERE, Layout(ranks_per_node=8, threads_per_rank=6), lengths={"epochs": 10.0})
    alone, both = (predict(fit(known), question, [4]) for known in (here, [*here, *there]))
    assert (alone.value[0], alone.width.above[0]) == (both.value[0], both.width.above[0])


def test_the_nearest_results_answer_where_other_layouts_here_tell_of_other_work() -> None:
    """Steps in the layout in question with a version that is almost the same, beside whole runs of this one in another layout."""
    here, steps = runs((2, 24, 75.0), framework_version="2.1"), runs((8, 6, 4.0), framework_version="2.0", metric="step_time")
    found = predict(fit([*here, *steps]), Question({**HERE, "framework_version": "2.1"}, Layout(ranks_per_node=8, threads_per_rank=6)), [4])
    assert (found.value[0], found.differences) == (pytest.approx(1.0), ("framework_version",))


def test_work_is_shared_evenly_on_an_unknown_system() -> None:
    """Where nobody knows how powerful its nodes are, half as many ranks take twice the time."""
    assert asked(fit(runs((8, 1, 100.0), system="there")), 4, 1).value[0] == pytest.approx(2 * 100 / 4, rel=0.3)


def test_between_two_layouts_the_answer_lies_between_theirs() -> None:
    """2 ranks of 24 threads, where 1 x 48 and 4 x 12 are measured; transferred from both."""
    found = asked(curves((1, 48, 400.0), (4, 12, 100.0)), 2, 24)
    assert 100 / 4 < found.value[0] < 400 / 4
    assert (found.basis, len(found.others)) == (("transferred",), 1)
    assert found.differences == ("ranks_per_node", "threads_per_rank")


def test_the_nearer_layout_counts_more() -> None:
    """8 ranks of 6 are more like 4 of 12 than like one of 48."""
    known = curves((1, 48, 400.0), (4, 12, 100.0))
    assert asked(known, 8, 6).value[0] < asked(known, 2, 24).value[0]


def test_the_nearest_layout_is_named_and_the_results_of_all_are_counted() -> None:
    """4 ranks of 12 are nearest to 8 of 6, whose curve is not the one in the middle by its cost."""
    found = asked(curves((48, 1, 500.0), (24, 2, 450.0), (8, 6, 400.0)), 4, 12)
    assert found.curve is not None
    assert (found.curve.layout.ranks_per_node, found.other_results) == (8, 8)


def test_the_interval_widens_with_the_distance_of_layouts() -> None:
    """And a measured layout has the narrowest."""
    known = curves((1, 48, 400.0))
    spreads = [float(asked(known, ranks, 48 // ranks).width.above[0]) for ranks in (1, 2, 4, 16)]
    assert spreads == sorted(set(spreads))


@pytest.mark.parametrize(("known", "further"), [(((1, 12), (1, 24)), True), (((1, 24),), False), (((1, 24), (1, 96)), False)])
def test_beyond_the_workers_of_several_layouts_losses_are_more_likely_than_gains(known: tuple[tuple[int, int], ...], further: bool) -> None:
    """After a single layout, and between two, both are as likely."""
    width = asked(curves(*((ranks, threads, 4800.0 / threads) for ranks, threads in known)), 4, 12).width
    assert (width.above[0] > width.below[0]) == further


def test_more_threads_that_feed_a_gpu_are_no_last_cores() -> None:
    """The interval has equal sides."""
    known = [
        Result(
            series=runs((1, 1, 1.0))[0].series, layout=Layout(nodes=1, gpus_per_node=1, ranks_per_node=1, threads_per_rank=n), value=100.0
        )
        for n in (2, 4)
    ]
    width = predict(fit(known), Question(HERE, Layout(gpus_per_node=1, ranks_per_node=2, threads_per_rank=4)), [1]).width
    assert width.above[0] == width.below[0]


def test_two_layouts_on_either_side_tell_more_than_one() -> None:
    """The interval between them is narrower."""
    one, both = curves((1, 48, 400.0)), curves((1, 48, 400.0), (4, 12, 300.0))
    assert asked(both, 2, 24).width.above[0] < asked(one, 2, 24).width.above[0]


def test_an_answer_depends_on_no_other_size_that_is_asked_about() -> None:
    """Alone, or together with sizes far beyond the measured ones."""
    known = curves((1, 48, 400.0), (4, 12, 300.0))
    layout = Question(HERE, Layout(ranks_per_node=2, threads_per_rank=24))
    alone, among = predict(known, layout, [4]), predict(known, layout, [4, 64, 1024])
    assert (alone.value[0], alone.width.above[0]) == pytest.approx((among.value[0], among.width.above[0]), rel=1e-12)
    assert among.width.above.tolist() == sorted(set(among.width.above.tolist()))


def test_half_the_workers_take_less_than_twice_the_time() -> None:
    """And twice as many save less than half of it: the node's memory and its network are shared."""
    known = curves((1, 24, 400.0))
    fewer, more = asked(known, 1, 12).value[0] / 100, asked(known, 1, 48).value[0] / 100
    assert 1.2 < fewer < 2
    assert 0.6 < more < 1
    assert asked(known, 1, 48).width.below[0] > np.log(1 / 0.5) / 2


def test_a_curve_that_saves_its_share_makes_others_expected_to() -> None:
    """Measured with one thread and 1, 2, 4, 8 ranks: what two threads would save is judged by these, and not by programs at large."""

    def twice(power: float) -> float:
        known = fit(here(100 / n**power, nodes=1, ranks_per_node=n, threads_per_rank=1) for n in (1, 2, 4, 8))
        return float(asked(known, 8, 2, nodes=1).value[0] / (100 / 8**power))

    assert twice(1.0) < twice(0.6) < twice(0.2) < 1.1


def test_hyper_threads_are_not_cores() -> None:
    """48 ranks of two threads on 48 cores do not take half the time of 48 ranks of one."""
    layout = Layout(ranks_per_node=48, threads_per_rank=2)
    found = predict(curves((48, 1, 400.0)), Question({**HERE, "hyperthreads": True}, layout), [4])
    assert found.value[0] == pytest.approx(100.0)


def test_results_with_hyper_threads_tell_of_more_of_them() -> None:
    """Along a curve over threads that says so, beside another layout: two of them are no more than the two that were measured."""
    rows = runs(*((1, threads, 400 / threads) for threads in (50, 60, 70)), (2, 30, 400 / 60), hyperthreads=True)
    question = Question({**HERE, "hyperthreads": True}, Layout(ranks_per_node=1, threads_per_rank=80), crowded=True)
    assert predict(fit([one for one in rows if one.layout.nodes == 1]), question, [1]).value[0] == pytest.approx(5, rel=0.1)


def test_fewer_ranks_than_crowd_a_node_tell_nothing_of_its_hyper_threads() -> None:
    """40 ranks of two threads on 40 cores, where up to 20 were measured."""
    known = fit(here(100 / r, nodes=1, ranks_per_node=r, threads_per_rank=2) for r in (5, 10, 20))
    crowded = Question({**HERE, "hyperthreads": True}, Layout(ranks_per_node=40, threads_per_rank=2), crowded=True)
    assert predict(known, crowded, [1]).differences == ("hyperthreads",)


def over_threads(*threads: int, hyperthreads: bool | None = None, value: float = 64.0) -> list[Result]:
    """Runs of one rank on one node of 40 cores; ``value``: seconds of one thread."""
    return [here(value / n, nodes=1, ranks_per_node=1, threads_per_rank=n, hyperthreads=hyperthreads) for n in threads]


def crowded_by(threads: int) -> Question:
    """One rank with more threads than the node has cores."""
    return Question({**HERE, "hyperthreads": True}, Layout(ranks_per_node=1, threads_per_rank=threads), crowded=True)


def test_between_numbers_of_threads_hyper_threads_are_those_of_more() -> None:
    """60 threads on 40 cores lie between 40 and 80, of which the latter can only have been hyper-threads."""
    assert predict(fit(over_threads(10, 20, 40, 80)), crowded_by(60), [1]).basis == ("interpolated",)


def test_a_run_that_says_that_it_used_hyper_threads_is_that_run() -> None:
    """A table of all numbers of threads leaves it open; a job that ran since says so."""
    found = predict(fit([*over_threads(10, 20, 40, 80), *over_threads(80, hyperthreads=True, value=160)]), crowded_by(80), [1])
    assert (found.basis, found.value[0]) == (("measured",), pytest.approx(2))


def test_threads_that_results_leave_unsaid_are_no_share() -> None:
    """Results with ranks alone do not become as many times as fast as there are threads in a rank that is asked for."""
    known = fit(here(600 / nodes, nodes=nodes, ranks_per_node=2) for nodes in (1, 2, 4))
    assert asked(known, 4, 32, nodes=2).value[0] == pytest.approx(300)


def on_gpus() -> tuple[Curve, ...]:
    """One curve over GPUs: 1, 2 and 4 on a node, 4 on each of two, with a batch of 64."""
    ways = ((1, 1), (1, 2), (1, 4), (2, 4))
    rows = [here(800 / nodes / gpus, nodes=nodes, gpus_per_node=gpus, batch_size=64, metric="epoch_time") for nodes, gpus in ways]
    return fit(rows)


def test_sizes_that_count_gpus_share_them_once() -> None:
    """Another batch on as many GPUs is expected to take about as long, not that time over the GPUs of a node."""
    found = predict(on_gpus(), Question(HERE, Layout(gpus_per_node=4, batch_size=128)), [2])
    assert found.value[0] == pytest.approx(100, rel=0.2)


def test_as_many_gpus_on_more_nodes_are_not_what_was_measured() -> None:
    """Four GPUs of one node were; one GPU on each of four nodes exchange over the network what those did not.

    That is a doubling of the two nodes that were measured.
    """
    spread, together = (predict(on_gpus(), Question(HERE, Layout(gpus_per_node=gpus)), [nodes]) for gpus, nodes in ((1, 4), (4, 1)))
    assert (spread.basis, together.basis) == (("extrapolated",), ("measured",))
    assert (spread.doublings.tolist(), together.doublings.tolist()) == ([1.0], [0.0])


def test_runs_on_gpus_tell_little_of_a_node_without() -> None:
    """The interval reaches a factor of five either way, and the GPUs are named as what differs."""
    found = predict(on_gpus(), Question(HERE, Layout(gpus_per_node=0, ranks_per_node=2, threads_per_rank=24)), [1])
    assert found.quantile(0.95)[0] > 5 * found.value[0]
    assert "gpus_per_node" in found.differences


def test_distances_are_in_doublings() -> None:
    """No GPU is one doubling below a single one; what is unknown says nothing."""
    assert distance(Layout(gpus_per_node=0), Layout(gpus_per_node=4)) == 3
    assert distance(Layout(ranks_per_node=2), Layout(threads_per_rank=2)) == 0


@pytest.mark.parametrize(("ranks", "worse"), [(256, 1.5), (128, 1.2), (1, 1.5)])
def test_a_trend_goes_on_to_the_next_layout(ranks: int, worse: float) -> None:
    """Each doubling of the ranks on 256 cores saves the same share: a layout at the end is not predicted like the average one."""
    law = {count: 100 * (count / 256) ** -0.7 for count in (1, 2, 4, 8, 16, 32, 64, 128, 256)}
    known = curves(*((count, 256 // count, cost) for count, cost in law.items() if count != ranks))
    assert law[ranks] / worse < asked(known, ranks, 256 // ranks, nodes=1).value[0] < law[ranks] * worse


def test_threads_that_feed_a_gpu_matter_little() -> None:
    """20 threads a rank instead of one are no doubt of four doublings where the GPUs do the work."""
    apart = np.array([[0.0, -3.0, 0.0, 0.0, -3.0]])
    (_, wide), (_, narrow) = (krige_layout(apart, np.zeros((1, 1)), np.zeros((1, 1)), on_gpus=on_gpus) for on_gpus in (False, True))
    assert wide[0] > 2 * narrow[0]


def test_layouts_of_weak_scaling_share_the_work_of_a_node_alike() -> None:
    """Beside a curve over ranks, whose work grows with them, are layouts that are curves of their own: one share of work holds for all."""
    known = fit(
        here(100 / threads, nodes=1, ranks_per_node=ranks, threads_per_rank=threads, params={"scaling": "weak"})
        for ranks, threads in ((16, 1), (8, 2), (4, 4), (8, 1), (4, 1))
    )
    assert {curve.scale for curve in known} == {"ranks", "nodes"}
    weak = Question({**HERE, "params": {"scaling": "weak"}}, Layout(ranks_per_node=16, threads_per_rank=2))
    assert predict(known, weak, [1]).value[0] == pytest.approx(50, rel=0.1)


def test_threads_that_are_left_open_are_those_of_the_nearest_results() -> None:
    """Three ranks lie between two and four of as many threads, whatever other threads take."""
    known = fit(
        here(1000 / (ranks * threads) ** 0.85, nodes=1, ranks_per_node=ranks, threads_per_rank=threads)
        for ranks in (1, 2, 4, 8)
        for threads in (1, 8)
    )
    two, three, four = (predict(known, Question(HERE, Layout(ranks_per_node=ranks)), [1]) for ranks in (2, 3, 4))
    assert (two.basis, four.basis) == (("measured",), ("measured",))
    assert four.value[0] < three.value[0] < two.value[0]


def test_a_share_of_the_work_counts_threads_that_are_left_open() -> None:
    """Twice the ranks of the nearest results take about half the time, though the question does not give their threads."""
    known = curves((4, 1, 400.0), (4, 8, 60.0), (16, 1, 110.0), (16, 4, 40.0))
    open_threads = predict(known, Question(HERE, Layout(ranks_per_node=8)), [1])
    assert open_threads.curve is not None
    threads = open_threads.curve.layout.threads_per_rank
    assert open_threads.value[0] == pytest.approx(asked(known, 8, threads or 1, nodes=1).value[0])


def test_results_that_state_threads_tell_nothing_where_these_are_unknown() -> None:
    """Results that state their threads do not change the answer for a run that is as silent as the nearest results."""
    silent = [here(1000 / ranks, nodes=1, ranks_per_node=ranks) for ranks in (1, 4, 16, 64)]
    stated = [here(16.0, nodes=1, ranks_per_node=ranks, threads_per_rank=threads) for ranks, threads in ((4, 16), (16, 4))]
    alone, beside = (predict(fit(rows), Question(HERE, Layout(ranks_per_node=8)), [1]) for rows in (silent, silent + stated))
    assert (beside.value[0], beside.basis) == (pytest.approx(alone.value[0]), alone.basis)


def test_a_single_measured_count_is_at_no_end_of_a_range() -> None:
    """Nothing says that one layout filled the node, or left it empty: twice its threads save as large a share as half of them cost."""
    known = curves((1, 24, 400.0))
    fewer, more = (np.log(asked(known, 1, threads).value[0] / 100) for threads in (12, 48))
    assert fewer == pytest.approx(-more)


def test_several_layouts_are_not_surer_than_one_of_more_nodes() -> None:
    """None of them was measured there, and all are extrapolated in the same way."""
    known = curves(*((ranks, 48 // ranks, 400.0) for ranks in (1, 2, 4, 6, 12, 16, 24, 48)))
    alone = min(float(asked(known, ranks, 48 // ranks, nodes=128).width.above[0]) for ranks in (4, 6, 12, 16))
    assert asked(known, 8, 6, nodes=128).width.above[0] >= alone


def test_what_layouts_here_do_not_know_of_more_nodes_is_one_error_of_all() -> None:
    """Six layouts on up to eight nodes are hardly surer of 128 if another system, by a factor unlike this one, was measured there."""
    ways = [(ranks, 48 // ranks, 100.0) for ranks in (1, 2, 4, 12, 24, 48)]
    far = [
        here(2 * cost / nodes, nodes=nodes, ranks_per_node=ranks, threads_per_rank=threads, system="there")
        for ranks, threads, cost in ways
        for nodes in (64, 128, 256)
    ]
    alone, both = (asked(fit(known), 8, 6, nodes=128) for known in (runs(*ways), [*runs(*ways), *far]))
    assert both.width.above[0] > 0.8 * alone.width.above[0]


def test_steps_with_a_batch_per_worker_share_no_work() -> None:
    """Two ranks take as long a step as one: sixteen take no less, and not sixteen times as long either, beside other layouts."""
    ways = ((1, 1), (2, 1), (2, 2))
    known = fit(here(0.4, nodes=1, ranks_per_node=r, threads_per_rank=t, batch_size=32, metric="step_time") for r, t in ways)
    steps = [curve for curve in known if curve.series.metric == "step_time"]
    layout = Layout(ranks_per_node=16, threads_per_rank=1, batch_size=32)
    assert 0.4 <= predict(steps, Question(HERE, layout), [1]).value[0] < 1.2


def test_a_curve_over_ranks_is_named_before_nearer_layouts_of_other_threads() -> None:
    """Its runs differ from the one in question in nothing but their number."""
    ways = ((1, 1), (2, 1), (4, 1), (16, 2))
    known = fit(here(100 / (r * t), nodes=1, ranks_per_node=r, threads_per_rank=t) for r, t in ways)
    found = asked(known, 16, 1, nodes=1)
    assert found.curve is not None
    assert (found.curve.scale, found.differences, found.other_results) == ("ranks", (), 1)


def test_runs_without_gpus_do_not_tell_how_many_gpus_help() -> None:
    """None is no small number of them."""
    ways = ((8, 1), (4, 2), (2, 4))
    rows = [Layout(nodes=1, ranks_per_node=r, threads_per_rank=t, gpus_per_node=0) for r, t in ways]
    known = fit(here(100.0, layout) for layout in rows)
    one, eight = (predict(known, Question(HERE, Layout(ranks_per_node=8, threads_per_rank=1, gpus_per_node=n)), [1]) for n in (1, 8))
    assert one.value[0] == pytest.approx(eight.value[0])
