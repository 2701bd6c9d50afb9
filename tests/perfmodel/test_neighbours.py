"""Beyond its own sizes a run is also predicted from another configuration that was measured nearer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from modak.facts import Layout, Result, SeriesKey
from modak.perfmodel import Predictions, Question, fit, predict
from modak.perfmodel.fitting.curves import Estimated
from modak.perfmodel.forecasting.forecasts import Forecasts
from modak.perfmodel.forecasting.neighbours import LogForecast, combine_forecasts, nearest_neighbours, neighbours, shift_by_ratio

HERE = {"system": "here", "compiler": "gcc"}


def cost(nodes: float) -> float:
    """Of the program: it stops to scale at about 30 nodes."""
    return 1000.0 / nodes + 10 + nodes


def runs(nodes: Sequence[int], factor: float = 1.0, **named: Any) -> list[Result]:
    """Times of a build that takes ``factor`` times as long, in a layout of its own if one is named."""
    layout = Layout(ranks_per_node=named.pop("ranks", 40))
    key = SeriesKey.model_validate({"application": "app", "metric": "wall_time", "unit": "s", **HERE, **named})
    return [Result(series=key, layout=layout.model_copy(update={"nodes": n}), value=factor * cost(n)) for n in nodes]


def asked(results: Sequence[Result], nodes: Sequence[int], **further: str) -> Predictions:
    """What is predicted for the build of gcc."""
    return predict(fit(results), Question({**HERE, **further}, Layout(ranks_per_node=40)), nodes)


def holds(found: Predictions, truth: np.ndarray) -> bool:
    """Whether all times are in the interval."""
    return bool(found.width.holds(np.log(truth / found.value)).all())


@pytest.mark.parametrize("own", [(1,), (1, 2), (1, 2, 4)])
def test_another_build_that_ran_there_tells_how_the_program_scales(own: tuple[int, ...]) -> None:
    """Although no size is common. The few own sizes go on as if they scaled; the levels of the builds are seen where one ends."""
    far = [32, 64]
    alone, both = asked(runs(own), far), asked([*runs(own), *runs((8, 16, 32, 64), 1.2, compiler="icc")], far)
    truth = np.array([cost(n) for n in far])
    assert (np.abs(np.log(both.value / truth)) < np.abs(np.log(alone.value / truth))).all()
    assert np.abs(np.log(both.value / truth)).max() < 0.25
    assert holds(both, truth)
    assert both.basis == ("transferred",) * 2
    assert (both.width.middle < alone.width.middle).all()
    assert (both.doublings < 0.5 * alone.doublings).all()


def test_another_image_is_as_alike_in_any_spelling_of_its_compiler() -> None:
    """It differs in the image alone."""
    mixed, alike = (
        asked([*runs((1, 2), image="one"), *runs((8, 32), image="two", compiler=name)], [32], image="one") for name in ("GCC", "gcc")
    )
    assert (mixed.value, mixed.width.above) == (alike.value, alike.width.above)


def test_it_tells_at_smaller_sizes_too() -> None:
    """A build that ran on many nodes alone, and another one on few."""
    both = asked([*runs((32, 64)), *runs((1, 2, 4, 8), 0.9, compiler="icc")], [1, 2, 4])
    truth = np.array([cost(n) for n in (1, 2, 4)])
    assert np.abs(np.log(both.value / truth)).max() < 0.25
    assert holds(both, truth)


@pytest.mark.parametrize("other", [(2, 4), (1, 2), (1,)])
def test_one_that_ran_no_nearer_changes_nothing_far_away(other: tuple[int, ...]) -> None:
    """It would go on as the own one does, and tells no more."""
    own = runs((2, 4, 8, 16))
    alone, both = asked(own, [64]), asked([*own, *runs(other, 1.5, compiler="icc", ranks=20)], [64])
    assert both.value.tolist() == alone.value.tolist()
    assert both.basis == alone.basis == ("extrapolated",)


def test_at_and_between_own_sizes_nothing_changes() -> None:
    """What was measured needs no other build."""
    own = runs((1, 2, 4, 8))
    inside = [1, 3, 8]
    both = asked([*own, *runs((16, 32, 64), 3.0, compiler="icc")], inside)
    assert both.value.tolist() == asked(own, inside).value.tolist()
    assert both.basis == ("measured", "interpolated", "measured")


def test_a_contradiction_widens_the_interval() -> None:
    """One build scales as the own one does, the other one gets ten times as slow: both answers cannot be near the truth."""
    own = runs((1, 2, 4, 8))
    agree = asked([*own, *runs((32, 64), compiler="icc")], [64])
    apart = asked([*own, *runs((32, 64), 10.0, compiler="icc")], [64])
    assert apart.width.middle[0] > 1.5 * agree.width.middle[0]
    assert apart.value[0] > agree.value[0]


@pytest.mark.parametrize("other", [{"dataset": "large"}, {"params": {"cells": "8e6"}}, {"ranks": 20}])
def test_only_the_same_work_in_the_same_layout_counts(other: dict[str, Any]) -> None:
    """Other problems stop to scale elsewhere; laws over problem sizes and over layouts tell of them."""
    own = runs((1, 2, 4, 8), params={"cells": "1e6"})
    there = {"params": {"cells": "1e6"}, **other}
    question = Question({**HERE, "params": {"cells": "1e6"}}, Layout(ranks_per_node=40))
    alone, both = (predict(fit(results), question, [32]) for results in (own, [*own, *runs((16, 32, 64), 30.0, **there)]))
    assert both.value.tolist() == alone.value.tolist()


def test_the_results_of_both_are_told() -> None:
    """Each that contributed is among the sources."""
    found = asked([*runs((1, 2)), *runs((8, 16, 32), compiler="icc")], [32])
    assert [series.sizes for series in found.others] == [(8, 16, 32)]


def test_each_number_of_nodes_is_answered_as_if_it_were_asked_alone() -> None:
    """Whatever contributes at the other ones: a relative tells of 3 nodes here, and of 64 another build."""
    fitted = fit([*runs((1, 4, 8)), *runs((2, 3, 4), 1.1, image="other.sif"), *runs((32, 64), 1.2, compiler="icc")])
    question, asked_for = Question(HERE, Layout(ranks_per_node=40)), [3, 16, 40, 64, 100]
    together = predict(fitted, question, asked_for)
    alone = [predict(fitted, question, [nodes]) for nodes in asked_for]
    assert together.value == pytest.approx([one.value[0] for one in alone], rel=1e-9)
    assert together.width.above == pytest.approx([one.width.above[0] for one in alone], rel=1e-9)


def told(log_value: float, deviation: float, doublings: float = 0.0) -> LogForecast:
    """A forecast of one size."""
    return LogForecast(*(np.array([one]) for one in (log_value, deviation, doublings)))


def test_the_ratio_at_the_edge_moves_the_other_forecast_as_far_as_it_is_known() -> None:
    """Conditional mean and variance of a normal distribution, by hand: of 0.16 before, 0.0525 stays unseen."""
    found = shift_by_ratio(told(1.0, 0.2), 0.4, np.array([0.5]), np.array([0.1]), 0.05, np.array([1.0]))
    share = 0.16 / (0.16 + 4 * 0.01 + 0.0025 + 0.01)
    assert found.log_value == pytest.approx([1.0 + 0.5 * share])
    assert found.deviation**2 == pytest.approx([0.04 + 0.0525 * share])


def test_two_that_agree_are_surer_than_each() -> None:
    """The mean with inverse variances as weights; as far beyond what was measured as both are, by their weights."""
    joint, factor = combine_forecasts(told(1.0, 0.2, 3.0), told(1.1, 0.1, 1.0))
    assert joint.log_value == pytest.approx([(1.0 / 0.04 + 1.1 / 0.01) / (1 / 0.04 + 1 / 0.01)])
    assert joint.deviation == pytest.approx([(1 / 0.04 + 1 / 0.01) ** -0.5])
    assert joint.doublings == pytest.approx([0.2 * 3 + 0.8 * 1])
    assert factor == pytest.approx(joint.deviation / 0.2)


def test_two_that_contradict_each_other_are_less_sure_by_the_birge_ratio() -> None:
    """Two deviations of their difference apart: twice as wide."""
    joint, _ = combine_forecasts(told(0.0, 0.3), told(1.0, 0.4))
    assert joint.deviation == pytest.approx([2 * (1 / 0.09 + 1 / 0.16) ** -0.5])


OWN: dict[str, Any] = {"params": {"cells": "1e6"}, "partition": "fat"}


@pytest.mark.parametrize(
    ("other", "spread"),
    [
        ({"compiler": "icc"}, 0.4),
        ({"system": "there", "partition": "thin"}, 0.7),
        ({"compiler": "icc", "image": "a.sif"}, float(np.hypot(0.4, 0.1))),
        ({}, None),
        ({"compiler": "icc", "ranks": 20}, None),
        ({"compiler": "icc", "metric": "epoch_time"}, None),
        ({"compiler": "icc", "params": {"cells": "2e6"}}, None),
        ({"compiler": "icc", "params": {"cells": "1e6", "scaling": "weak"}}, None),
        ({"compiler": "icc", "nodes": (2, 8)}, None),
    ],
)
def test_which_others_may_tell_and_how_unlike_they_are(other: dict[str, Any], spread: float | None) -> None:
    """Those of the same work, metric and layout that share no size, and differ in something else."""
    (curve,) = fit(runs((1, 2, 4), **OWN))
    (one,) = fit(runs(**{"nodes": (8, 16), **OWN, **other}))
    assert [found.spread for found in neighbours(curve, [curve, one])] == ([] if spread is None else [pytest.approx(spread)])


def test_what_is_only_estimated_tells_nothing() -> None:
    """Its interval says all that is known of it."""
    (curve,), (one,) = fit(runs((1, 2))), fit(runs((8, 16), compiler="icc"))
    guess = Estimated(model="of others", half_width=0.5)
    pairs = [
        (each.model_copy(update={"estimated": found}) for each, found in zip((curve, one), told_of, strict=True))
        for told_of in ((guess, None), (None, guess))
    ]
    assert [neighbours(own, [own, other]) for own, other in pairs] == [[], []]


def test_sizes_on_one_node_and_on_several_are_not_compared() -> None:
    """Four ranks are not four nodes."""
    (curve,) = fit(runs((1, 2)))
    (one,) = fit([run for ranks in (4, 8) for run in runs((1,), ranks=ranks, compiler="icc")])
    assert (one.scale, neighbours(curve, [one])) == ("ranks", [])


def test_the_most_alike_that_ran_nearer_tells_of_a_size() -> None:
    """Another image before another compiler, which tells of what is further away."""
    (curve,) = fit(runs((1, 2)))
    others = fit([*runs((16, 128), compiler="icc"), *runs((8, 16), image="a.sif")])
    found = neighbours(curve, others)
    sizes = np.array([3.0, 16.0, 64.0, 512.0])
    told_of = [(one.spread, places.tolist()) for one, places in nearest_neighbours(found, sizes, np.log2(sizes / 2))]
    assert told_of == [(0.1, [1, 2, 3])]
    assert [(one.spread, places.tolist()) for one, places in nearest_neighbours(found, sizes, np.full(4, 1.5))] == [
        (0.1, [0, 1]),
        (0.4, [2]),
    ]


def test_where_a_relative_ran_no_other_build_is_asked() -> None:
    """The one that shares a size was measured there."""
    results = [*runs((1, 2, 4)), *runs((2, 4, 32, 64), compiler="nvc")]
    alone, both = (asked([*results, *more], [32, 64]) for more in ((), runs((32, 64), 9.0, compiler="icc")))
    assert both.value.tolist() == alone.value.tolist()


def test_relatives_and_others_are_told() -> None:
    """At 3 nodes a relative contributes, at 64 another build."""
    found = asked([*runs((1, 4)), *runs((2, 3, 4), compiler="nvc"), *runs((32, 64), compiler="icc")], [3, 64])
    assert {series.sizes for series in found.others} == {(2, 3, 4), (32, 64)}


def test_what_tells_of_some_sizes_is_not_told_of_others() -> None:
    """A forecast that was made for all of them names, at some, those configurations alone that contributed there."""
    own, other = fit(runs((1, 2))), fit(runs((16, 32), compiler="icc"))
    every = Forecasts([*own, *other], np.array([1.0, 2.0, 32.0]))
    others = [every.of(own[0], 1, np.array(nodes)).others for nodes in ([1.0, 2.0], [2.0, 32.0])]
    assert others == [(), (other[0].measured,)]
