"""Lists as tables for people."""

from __future__ import annotations

import pytest

from modak.text import listings

MODEL: listings.Item = {
    **{"id": "m", "application": "a", "series": {"metric": "time"}, "scale": "nodes"},
    **{"sizes": [1], "results_used": 1, "mixture": {}, "layout": {}},
}


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["54.7 min", "3.2%", "4–512", ""], True),
        (["1.81 x the time, 0.90 x the node-hours of the choice"], False),
        (["3dgan"], False),
        ([], False),
    ],
)
def test_a_column_of_sentences_is_no_column_of_numbers(cells: list[str], numbers: bool) -> None:
    """Numbers are aligned at the right, in one line each."""
    assert listings.as_text(["why not"], [[cell] for cell in cells])[2] == [numbers]


def test_a_measured_value_is_shown_as_it_was_loaded() -> None:
    """A correction of its fifth figure is seen."""
    columns, rows = listings.results([{"id": 1, "value": 645.25}, {"id": 2, "value": 645.29}])
    assert [row[columns.index("value")] for row in rows] == ["645.25", "645.29"]


def test_the_time_of_a_run_is_shown_with_its_length() -> None:
    """Also where all runs have the same one."""
    columns, (row,) = listings.results([{"id": 1, "metric": "wall_time", "value": 9, "params.epochs": "20"}])
    assert row[columns.index("params.epochs")] == "20"


@pytest.mark.parametrize(("nodes", "shown"), [(1, True), (2, False)])
def test_repeats_are_told_apart_by_when_they_were_measured(nodes: int, shown: bool) -> None:
    """Other runs have no column for it: the table is wide enough."""
    runs: list[listings.Item] = [
        {"nodes": 1, "measured_at": "2026-03-01T09:00:00Z"},
        {"nodes": nodes, "measured_at": "2026-03-02T09:00:00Z"},
    ]
    assert ("measured_at" in listings.results(runs)[0]) == shown


def test_a_doubt_tells_no_runs_apart() -> None:
    """Repeats of one run have no column for it: its reason is shown anyway."""
    runs: list[listings.Item] = [{"id": 1, "value": 9, "suspect": "a slip", "doubted": True}, {"id": 2, "value": 8}]
    assert "doubted" not in listings.results(runs)[0]


@pytest.mark.parametrize(
    ("layout", "shown"),
    [
        ({"batch_size": 32}, "batch 32"),
        ({"gpus_per_node": 4, "batch_size": 32}, "4 GPUs, batch 32"),
        ({"ranks_per_node": 2}, "2 ranks"),
        ({}, ""),
    ],
)
def test_a_layout_is_shown_as_far_as_it_is_known(layout: dict[str, int], shown: str) -> None:
    """A batch size alone has no comma before it."""
    columns, (row,) = listings.table("models", [{**MODEL, "layout": layout}])
    assert row[columns.index("layout")] == shown


@pytest.mark.parametrize(("sizes", "shown"), [([4], "4"), ([1, 2, 8], "1–8")])
def test_sizes_of_a_model_are_a_range_where_there_are_several(sizes: list[float], shown: str) -> None:
    """One size is no range."""
    columns, (row,) = listings.table("models", [{**MODEL, "sizes": sizes}])
    assert row[columns.index("sizes")] == shown


def test_models_that_are_scaled_say_to_what() -> None:
    """Since when runs take longer."""
    columns, (row,) = listings.table("models", [{**MODEL, "shifted": {"since": "2026-03-11", "ratio": 1.2}}])
    assert dict(zip(columns, row, strict=True))["scaled"] == "20% longer since 2026-03-11"


def test_models_that_look_equal_are_told_apart() -> None:
    """By the columns of their results in which they differ, and by no others."""
    runs = (("mpich", "8"), ("openmpi", "9"))
    series = [{"metric": "time", "mpi": mpi, "framework": "jax", "params": {"cells": cells}} for mpi, cells in runs]
    columns, rows = listings.table("models", [{**MODEL, "series": one} for one in series])
    assert (columns[-2:], [row[-2:] for row in rows]) == (("mpi", "params.cells"), [list(run) for run in runs])
