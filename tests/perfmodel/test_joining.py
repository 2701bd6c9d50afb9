"""Beyond its own sizes a run is also predicted from another configuration that was measured nearer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from modak.facts import Layout, Result, SeriesKey
from modak.perfmodel import Predictions, Question, fit, predict

HERE = {"system": "here", "compiler": "gcc"}


def cost(nodes: float) -> float:
    """Of the program: it stops to scale at about 30 nodes."""
    return 1000.0 / nodes + 10 + nodes


def runs(nodes: Sequence[int], factor: float = 1.0, **named: Any) -> list[Result]:
    """Times of a build that takes ``factor`` times as long, in a layout of its own if one is named."""
    layout = Layout(ranks_per_node=named.pop("ranks", 40))
    key = SeriesKey.model_validate({"application": "app", "metric": "wall_time", "unit": "s", **HERE, **named})
    return [Result(series=key, layout=layout.model_copy(update={"nodes": n}), value=factor * cost(n)) for n in nodes]


def asked(results: Sequence[Result], nodes: Sequence[int]) -> Predictions:
    """What is predicted for the build of gcc."""
    return predict(fit(results), Question(HERE, Layout(ranks_per_node=40)), nodes)


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
