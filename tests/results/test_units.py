"""Units: whole columns, amounts of work. That each unit has its base and its factor is tested with the metrics that take it."""

from __future__ import annotations

import numpy as np
import pytest

from modak.errors import DataError
from modak.results.units import parse_amount, to_base


def test_arrays_are_converted_whole() -> None:
    """A column of values is converted as one value is."""
    assert to_base(np.array([1500.0, 2.0]), "ms").tolist() == [1.5, 0.002]


@pytest.mark.parametrize("text", ["", "ns", "0 ns", "-1 ns", "1e99 ns", "inf ns", "5 h", "5 parsec", "5  ns ns", "1 ns/day"])
def test_what_no_rate_counts_is_no_amount(text: str) -> None:
    """It would be multiplied into a time. The message has the way out for what no unit counts: a plain number."""
    with pytest.raises(DataError, match=r"allowed: a positive number and what a rate counts, .*'1e9' for a rate in 1/s"):
        parse_amount(text)
