"""What systems tell of each other's throughput at other batch sizes."""

from __future__ import annotations

import numpy as np
import pytest

from modak.perfmodel.unmeasured.batches import Batches


@pytest.mark.parametrize(
    ("application", "size", "expected"),
    [
        ("one", 3.0, [3.0, 5.0, 1.0]),  # between two sizes; beyond one, as on the first system
        ("one", 0.0, [1.0, 3.0, -1.0]),
        ("two", 0.0, [np.nan, -2.0, np.nan]),  # as of the other application
    ],
)
def test_beyond_the_sizes_of_a_system_the_others_tell_the_rest_of_the_way(application: str, size: float, expected: list[float]) -> None:
    """The first system loses 4 from size 6 to size 0, half of it on the way to size 3."""
    told = Batches([{"one": {0.0: 1.0, 6.0: 5.0}}, {"one": {6.0: 7.0}, "two": {6.0: 2.0}}, {"one": {6.0: 3.0}}])
    assert told.at(application, size) == pytest.approx(expected, nan_ok=True)
