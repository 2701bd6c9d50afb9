"""Choices in words."""

from __future__ import annotations

import pytest

from modak.text.choices import configuration, predicted


@pytest.mark.parametrize(
    ("unit", "rests"),
    [
        ({"per_unit": 100.0, "per": "run"}, ""),
        ({"per_unit": 90.0, "per": "run", "start_up": 10.0}, "; 90 s per run, 10 s to start"),
        ({"per_unit": 100.0, "per": "epoch"}, "; 100 s per epoch"),
        ({}, ""),
    ],
)
def test_what_a_predicted_time_is_made_of_is_told(unit: dict[str, object], rests: str) -> None:
    """Without a start-up, the time of a run would be the predicted time again."""
    found = {"value": 100.0, "lower": 90.0, "upper": 110.0, "level": 0.9, "basis": "measured", "results_used": 2}
    assert predicted(found | unit) == f"100 s (90% interval 90 – 110 s; basis: measured, 2 results{rests})"


def test_ranks_that_do_not_fill_the_last_node_are_told() -> None:
    """Nodes times ranks per node would be one more."""
    chosen = {"nodes": 2, "ranks_per_node": 16, "threads_per_rank": 3, "total_ranks": 31}
    prediction = {"value": None, "lower": None, "upper": None, "basis": "none", "results_used": 0}
    assert (
        configuration({"configuration": chosen, "prediction": prediction})["layout"] == "2 nodes × 16 ranks × 3 threads, 31 ranks in total"
    )
