"""Numbers of results, kept short."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from modak.text.numbering import merged, shortened, spelt_out


@given(st.lists(st.integers(1, 60)))
def test_nothing_is_lost_by_shortening(numbers: list[int]) -> None:
    """Every number comes back once, in order, also after the way through JSON."""
    assert list(spelt_out(shortened(numbers))) == sorted(set(numbers))
    assert list(spelt_out(json.loads(json.dumps(shortened(numbers))))) == sorted(set(numbers))


def test_what_follows_each_other_is_one_pair() -> None:
    """However many those are."""
    assert shortened(range(1, 100_001)) == ((1, 100_000),)


@given(st.lists(st.lists(st.integers(1, 12)), max_size=5))
def test_several_lists_become_one(several: list[list[int]]) -> None:
    """Of all their numbers, whatever they share, as compact as of these one by one."""
    assert merged(map(shortened, several)) == shortened(number for numbers in several for number in numbers)
