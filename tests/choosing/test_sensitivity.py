"""How far a prediction may be wrong before the choice changes."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from modak.choosing.objective import Scored, rank
from modak.choosing.sensitivity import lines
from modak.dsl import Objective


def scored(ratio: float = 1.3) -> Scored:
    """Two variants on 1 to 64 nodes, the second ``ratio`` times as slow."""
    nodes = np.tile(np.arange(1, 65), 2)
    shape = np.repeat([0, 1], 64)
    time = (20.0 + 64_000.0 / nodes) * np.where(shape == 1, ratio, 1.0)
    order = np.lexsort((shape, nodes))
    flat = np.zeros(128)
    return Scored(shape[order], nodes[order], time[order], flat + 0.08, flat + 0.08, flat, flat + 1.0, ("interpolated",) * 128)


def told(table: Scored, objective: Objective) -> list[str]:
    """The sentences, candidates named by shape and nodes."""
    return list(lines(table, rank(table, objective), objective, lambda index: f"{table.shape[index]}/{table.nodes[index]}"))


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
    margin = percent(told(table, objective)[-1], r"took ([0-9]+)% more")
    for factor, chosen in ((1 + margin - 0.01, 0), (1 + margin + 0.02, 1)):
        slower = replace(table, time=table.time * np.where(table.shape == 0, factor, 1.0))
        assert slower.shape[rank(slower, objective).order[0]] == chosen


def test_the_intervals_together_are_the_chosen_one_late_and_the_other_early() -> None:
    """Where no time can be earlier than predicted, they reach as far as the chosen one does."""
    table = replace(scored(), below=np.zeros(128))
    assert percent(told(table, Objective(minimise="time", max_nodes=64))[-1], r"together reach ([0-9]+)%") == 0.08


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
    assert "took 100 times the predicted time relative to it (" in rival


def test_one_node_less_would_do_if_it_were_faster() -> None:
    """The next smaller size with the part by which its bound misses the deadline."""
    objective = Objective(minimise="node_hours", deadline=3600)
    table = scored()
    best = rank(table, objective).order[0]
    assert f"0/{table.nodes[best] - 1} would meet the deadline if it were" in told(table, objective)[1]


def test_nothing_is_said_without_a_prediction() -> None:
    """No number, no margin."""
    table = scored()
    assert told(replace(table, time=table.time * np.nan), Objective(minimise="time")) == []
