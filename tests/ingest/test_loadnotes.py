"""What is remarked on results, from values alone; ``tests/store`` has the notes of whole loads."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from modak.facts import Layout, SeriesKey
from modak.ingest.loadnotes import (
    PROBLEM,
    SHOWN,
    Figures,
    Paired,
    Scattered,
    Spelt,
    on_growth,
    on_names,
    on_numbers,
    on_scatter,
    on_work,
)

KEY = SeriesKey(application="a", metric="wall_time", unit="s")


SIZES = (100, 400, 1600, 6400)


@pytest.mark.parametrize(
    ("nodes", "values", "unit", "noted"),
    [
        (SIZES, (2, 9, 33, 150), "s", True),
        (SIZES, (2, 99, 33, 150), "s", False),  # not at each step
        (SIZES, (2, 5, 9, 15), "s", False),  # by much less than the nodes
        (SIZES, (1e9, 3e8, 6e7, 2e7), "cells/s", True),
        (SIZES, (1e9, 3e8, 1.5e8, 1e8), "cells/s", False),
        ((1, 2, 4), (1, 4, 8), "s", False),  # up to a few nodes anything may take longer
        ((100, 6400), (2, 150), "s", False),
    ],
)
def test_what_takes_longer_nearly_as_nodes_grow_is_noted(nodes: Sequence[int], values: Sequence[float], unit: str, noted: bool) -> None:
    """Nodes of a graph or a network; a program that scales badly takes longer by less, or not at each step."""
    assert (PROBLEM in of_numbers(KEY.model_copy(update={"metric": "cost", "unit": unit}), nodes, values)) == noted


def of_numbers(key: SeriesKey, nodes: Sequence[int], values: Sequence[float]) -> str:
    """The notes on a series with these values."""
    on_nodes = list(zip(nodes, values, values, strict=True))
    figures = Figures(1, len(nodes), len(nodes), 0, max(nodes), min(values), max(values), {}, {}, on_nodes)
    return "\n".join(on_numbers((), {1: key}, [figures]))


@pytest.mark.parametrize(
    ("metric", "unit", "most", "ranks", "noted"),
    [
        ("accuracy", "1", 1.0, 1, ""),
        ("accuracy", "1", 1.1, 1, "accuracy up to 1.1, where 1 is all"),
        ("efficiency", "1", 1.1, 1, ""),
        ("wall_time", "s", 9.0, 1, ""),
        ("wall_time", "s", 9.0, 2, "no result names 'nodes'"),
    ],
)
def test_numbers_within_what_is_possible_are_not_noted(metric: str, unit: str, most: float, ranks: int, noted: str) -> None:
    """All of the samples may be right, a program a little faster than in proportion, and three runs of one process on one node."""
    figures = Figures(1, 3, 0, 3, None, most, most, {"ranks_per_node": ranks}, {})
    notes = [*on_numbers((), {1: KEY.model_copy(update={"metric": metric, "unit": unit})}, [figures])]
    assert [noted in note for note in notes] == [True] * bool(noted)


@pytest.mark.parametrize(("name", "values", "noted"), [("num_nodes", "12", True), ("num_nodes", "11", False), ("batch", "12", False)])
def test_a_count_among_the_parameters_is_noted_where_it_tells_runs_apart(name: str, values: str, noted: bool) -> None:
    """One value for all is of one problem, and another batch size is another problem in truth."""
    keys = [KEY.model_copy(update={"params": {name: value}}) for value in values]
    notes = on_names(keys, Spelt(["a"], [], [("a", key.params) for key in keys]))
    assert any("count as different problems" in note for note in notes) == noted


def test_of_many_layouts_that_scatter_the_rest_is_counted() -> None:
    """A table in a wrong unit would otherwise fill the terminal."""
    found = [Scattered(1, Layout(nodes=nodes), 2, 1.0, 3.0) for nodes in range(1, SHOWN + 3)]
    *first, last = on_scatter({1: KEY}, found)
    assert len(first) == SHOWN
    assert "nodes 1: 2 runs differ by a factor of 3.0 (1 to 3)" in first[0]
    assert last.startswith("2 more layouts")


@pytest.mark.parametrize(("work", "noted"), [(36.0, True), (13.0, False), (5.0, False)])
def test_runs_that_are_over_before_their_work_are_noted(work: float, noted: bool) -> None:
    """Their command does less than the request says, which no start-up explains; a speed of the last steps may be a little below."""
    speed = KEY.model_copy(update={"metric": "throughput", "unit": "steps/s", "params": {"steps": "12000"}})
    told = on_work([Paired(speed, Layout(nodes=2), 12.0, work)])
    assert ["nodes 2: at this speed the work takes 36 s, but the runs took 12 s" in note for note in told] == [True] * noted


@pytest.mark.parametrize(("cells", "noted"), [(("10", "20", "40"), True), (("10", "20", "39"), True), (("10", "20", "30"), False)])
def test_a_parameter_that_grows_as_the_size_does_is_noted(cells: Sequence[str], noted: bool) -> None:
    """Evenly, but for what a mesh leaves over."""
    keys = {number: KEY.model_copy(update={"params": {"cells": text}}) for number, text in enumerate(cells)}
    (note,) = on_growth(keys, dict(zip(keys, (1, 2, 4), strict=True)))
    assert ("grows as the ranks or GPUs do" in note) == noted
    assert "--set params.scaling" in note or not noted


def test_rates_that_grow_with_the_size_need_no_word_on_weak_scaling() -> None:
    """They are what all do in a second, whatever the size of the problem."""
    keys = {n: KEY.model_copy(update={"metric": "throughput", "unit": "cells/s", "params": {"cells": str(n)}}) for n in (1, 2, 4)}
    (note,) = on_growth(keys, {n: n for n in keys})
    assert note.endswith("(without that column)")


def test_parameters_with_which_one_series_ran_at_several_sizes_are_not_noted() -> None:
    """Its sizes are of one problem."""
    keys = {n: KEY.model_copy(update={"params": {"cells": text}}) for n, text in enumerate(("10", "30", "20", "40"))}
    assert list(on_growth(keys, {0: 1, 1: 2, 2: 4, 3: None})) == []


def test_a_parameter_that_some_runs_do_not_have_is_named_too() -> None:
    """Also if the first of them is without it."""
    keys = {
        number: KEY.model_copy(update={"params": {"cells": "9"} | more}) for number, more in enumerate(({}, {"wait": "2"}, {"wait": "3"}))
    }
    (note,) = on_growth(keys, dict(zip(keys, (1, 2, 4), strict=True)))
    assert "no two sizes have the same 'wait', so each" in note


def test_one_number_in_several_spellings_differs_at_no_size() -> None:
    """The note on spellings tells of it."""
    keys = {number: KEY.model_copy(update={"params": {"steps": text}}) for number, text in enumerate(("1000", "1e3", "1000.0"))}
    assert list(on_growth(keys, dict(zip(keys, (1, 2, 4), strict=True)))) == []
