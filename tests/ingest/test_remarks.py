"""What is remarked on results, from values alone; ``tests/store`` has the notes of whole loads."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from modak.facts import Layout, SeriesKey
from modak.ingest.remarks import SHOWN, SWAPPED, Figures, Paired, Scattered, on_growth, on_numbers, on_scatter, on_work

KEY = SeriesKey(application="a", metric="wall_time", unit="s")


@pytest.mark.parametrize(
    ("nodes", "values", "noted"),
    [
        ((100, 230, 410), (4.0, 2.0, 1.0), True),
        ((100, 230, 410), (2.0, 2.0, 1.0), False),  # no number of nodes has two rows
        ((100, 230, 410), (1.0, 2.0, 4.0), False),  # times do not grow with the nodes
        ((100, 230, 410), (5.0, 2.0, 1.0), False),
        ((2, 4, 8), (4.0, 2.0, 1.0), False),
    ],
)
def test_columns_look_swapped_where_times_are_numbers_of_nodes(nodes: Sequence[int], values: Sequence[float], noted: bool) -> None:
    """All are powers of two, each once and smaller on more nodes, and the numbers of nodes are none."""
    figures = Figures(1, len(nodes), len(nodes), 0, max(nodes), min(values), max(values), {}, {})
    notes = on_numbers((), {1: KEY}, [figures], lambda *_: list(zip(nodes, values, strict=True)))
    assert any(SWAPPED in note for note in notes) == noted


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
