"""Choices in words."""

from __future__ import annotations

import pytest

from modak.text.choices import predicted


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
