"""How far a prediction may be wrong before the choice changes."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modak.choosing.decision import ranking_of
from modak.choosing.objective import Scored, rank
from modak.choosing.sensitivity import sensitivity
from modak.dsl import Minimise, Objective, Request
from modak.perfmodel.intervals import HalfWidths


def scored(ratio: float = 1.3) -> Scored:
    """Two variants on 1 to 64 nodes, the second ``ratio`` times as slow."""
    nodes = np.tile(np.arange(1, 65), 2)
    shape = np.repeat([0, 1], 64)
    time = (20.0 + 64_000.0 / nodes) * np.where(shape == 1, ratio, 1.0)
    order = np.lexsort((shape, nodes))
    flat = np.zeros(128)
    return Scored(shape[order], nodes[order], time[order], HalfWidths(flat + 0.08, flat + 0.08), flat, flat + 1.0, ("interpolated",) * 128)


def told(table: Scored, objective: Objective) -> list[str]:
    """The sentences, candidates named by shape and nodes."""
    return list(sensitivity(table, rank(table, objective), objective, lambda index: f"{table.shape[index]}/{table.nodes[index]}"))


def percent(text: str, pattern: str) -> float:
    """A figure of a sentence."""
    found = re.search(pattern, text)
    assert found is not None, text
    return float(found[1]) / 100


@given(ratio=st.floats(1.05, 3.0))
def test_the_margin_to_another_variant_is_where_the_choice_changes(ratio: float) -> None:
    """A little more than the margin slower, and the other one is chosen; a little less, and it is not."""
    objective = Objective(minimise="time", max_nodes=64)
    table = scored(ratio)
    margin = percent(told(table, objective)[-1], r"take ([0-9]+)% more time")
    for factor, chosen in ((1 + margin - 0.01, 0), (1 + margin + 0.02, 1)):
        slower = replace(table, time=table.time * np.where(table.shape == 0, factor, 1.0))
        assert slower.shape[rank(slower, objective).order[0]] == chosen


def test_the_intervals_together_are_the_chosen_one_late_and_the_other_early() -> None:
    """Where no time can be earlier than predicted, they reach as far as the chosen one does."""
    table = scored()
    table = replace(table, width=table.width._replace(below=np.zeros(128)))
    assert percent(told(table, Objective(minimise="time", max_nodes=64))[-1], r"together reach ([0-9]+)%") == 0.08


@pytest.mark.parametrize(("ratio", "either"), [(1.1, True), (1.15, False)])
def test_a_variant_within_both_intervals_may_be_better(ratio: float, either: bool) -> None:
    """Both reach 12 % together."""
    assert ("either may be better" in told(scored(ratio), Objective(minimise="time", max_nodes=64))[-1]) == either


def test_the_slack_to_the_deadline_is_said_beside_the_interval() -> None:
    """So that a reader sees whether the deadline is safe."""
    objective = Objective(minimise="node_hours", deadline=3600)
    table = scored()
    best = rank(table, objective).order[0]
    slack = percent(told(table, objective)[0], r"more than ([0-9]+)% slower")
    assert abs(3600 / table.time[best] - 1 - slack) < 0.01


def test_from_ten_times_on_no_percentages_are_given() -> None:
    """A deadline after 120 times the time, and a variant that is a hundred times as slow."""
    table = scored(100.0)
    objective = Objective(minimise="time", deadline=int(120 * table.time[0]), max_nodes=1)
    deadline, rival = told(table, objective)
    assert "only if it takes more than 120 times as long as predicted" in deadline
    assert "is predicted to take 100 times the time of the choice (" in rival


def test_one_node_less_would_do_if_it_were_faster() -> None:
    """The next smaller size with the part by which its bound misses the deadline."""
    objective = Objective(minimise="node_hours", deadline=3600)
    table = scored()
    best = rank(table, objective).order[0]
    assert f"0/{table.nodes[best] - 1} would meet the deadline if it were" in told(table, objective)[1]


def one_variant() -> Scored:
    """64 sizes of one variant, of which those up to 32 nodes were measured."""
    nodes, flat = np.arange(1, 65), np.zeros(64)
    time = 200.0 + 64_000.0 / nodes
    basis = tuple("measured" if size <= 32 else "extrapolated" for size in nodes)
    beyond = np.maximum(np.log2(nodes / 32), 0)
    return Scored(flat.astype(int), nodes, time, HalfWidths(flat + 0.08, flat + 0.08), beyond, time[0] / (time * nodes), basis)  # type: ignore[arg-type]


@pytest.mark.parametrize("minimise", ["time", "node_hours"])
def test_the_margin_to_another_size_is_where_the_choice_changes(minimise: Minimise) -> None:
    """A little less than the margin faster, and the other size is not chosen; a little more, and it is."""
    table, objective = one_variant(), Objective(minimise=minimise, max_nodes=20)
    (said,) = told(table, objective)
    other = int(said.partition("0/")[2].partition(",")[0])
    margin = percent(said, r"if it took ([0-9.]+)% less time than predicted \(its 90% interval reaches 8% less\)")
    for part, chosen in ((margin + 0.001, True), (margin - 0.001, False)):
        faster = replace(table, time=table.time * np.where(table.nodes == other, 1 - part, 1.0))
        assert (faster.nodes[rank(faster, objective).best] == other) == chosen


@pytest.mark.parametrize(
    ("limit", "words"),
    [({"budget_node_hours": 20.0}, "exceeds the budget of 20 node-hours"), ({"min_efficiency": 0.9}, "has an efficiency below 0.9")],
)
def test_the_margin_to_a_limit_is_where_it_is_missed(limit: dict[str, float], words: str) -> None:
    """In percent of the time, next to what the interval reaches."""
    table, objective = one_variant(), Objective(minimise="node_hours", max_nodes=20, **limit)
    ranking, said = rank(table, objective), told(table, objective)[0]
    slack = percent(said, r"only if it is more than ([0-9.]+)% slower than predicted \(its 90% interval reaches 8%\)")
    assert words in said
    hours, efficiency = table.node_hours[ranking.best], table.efficiency[ranking.best]
    within = 20 / hours if "budget_node_hours" in limit else efficiency / 0.9
    assert slack == pytest.approx(within - 1, abs=0.005)


def test_an_efficiency_of_the_rest_of_the_request_is_told_as_the_objectives() -> None:
    """The published field for it; of both the higher one binds."""
    table, objective = one_variant(), Objective(minimise="time", max_nodes=20, min_efficiency=0.5)
    for other, told in ((0.9, 0.9), (0.4, 0.5)):
        request = Request().changed(application={"minimal_efficiency": other}, optimisation={"objective": objective})
        first = next(sensitivity(table, ranking_of(request, table)[0], objective, str))
        assert f"has an efficiency below {told} only if it " in first


def test_sizes_and_variants_that_are_as_good_are_not_said_to_differ_by_nothing() -> None:
    """No share of 0.0%."""
    table = scored(1.0 + 1e-6)
    level = replace(table, time=np.where(table.nodes == 63, table.time[table.nodes == 64].min() * (1 + 1e-6), table.time))
    size, variant = told(level, Objective(minimise="time", max_nodes=64))
    assert "the best other size, would be better if it took any less time than predicted (" in size
    assert "is predicted to take the same time as the choice (" in variant


def test_a_measured_size_that_may_be_as_fast_is_named() -> None:
    """It was seen; the chosen size is beyond all that were."""
    table, objective = one_variant(), Objective(minimise="time", max_nodes=34)
    first, *others = told(table, objective)
    assert "0/32 was measured and took 6% longer than predicted for 0/34" in first
    assert first.endswith(": 0/34 may save nothing, and one run of it would tell")
    assert not any("0/32" in line for line in others)
    surer = replace(table, width=table.width._replace(above=table.width.above / 4))
    assert not any("was measured" in line for line in told(surer, objective))


def test_a_measured_layout_on_as_many_nodes_that_may_be_as_fast_is_named() -> None:
    """More threads than were measured save little; that another variant may be better is not said once more."""
    basis = tuple("measured" if variant else "extrapolated" for variant in scored().shape)
    table = replace(scored(1.05), basis=basis, doublings=np.where(scored().shape == 1, 0.0, 1.0))  # type: ignore[arg-type]
    lines = told(table, Objective(minimise="time", max_nodes=64))
    assert "1/64 was measured and took 5% longer than predicted for 0/64" in lines[0]
    assert not any("the best other variant" in line for line in lines)


def test_a_size_between_measured_ones_that_saves_hardly_any_time_is_named() -> None:
    """On more nodes than a measured one that took hardly longer."""
    table = one_variant()
    flat = replace(table, time=np.where(table.nodes >= 16, table.time[15] - 0.5 * (table.nodes == 20), table.time))
    basis = tuple("measured" if size in (8, 16, 32) else "interpolated" for size in table.nodes)
    first = told(replace(flat, basis=basis), Objective(minimise="time", max_nodes=32))[0]  # type: ignore[arg-type]
    assert "0/16 was measured and took as long as predicted for 0/20" in first


def test_at_most_four_sentences_are_said() -> None:
    """The most relevant come first."""
    objective = Objective(minimise="node_hours", deadline=3600, budget_node_hours=20, min_efficiency=0.5)
    assert len(told(scored(), objective)) == 4


def test_nothing_is_said_without_a_prediction() -> None:
    """No number, no margin."""
    table = scored()
    assert told(replace(table, time=table.time * np.nan), Objective(minimise="time")) == []
