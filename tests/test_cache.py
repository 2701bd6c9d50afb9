from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modak.cache import Cache


@given(st.lists(st.integers(0, 20)), st.integers(1, 10))
def test_what_is_kept_is_what_is_worked_out(keys: list[int], most: int) -> None:
    """In any order of questions, however few answers are kept."""
    kept = Cache(most)
    assert [kept.get(key, lambda key=key: key + 100) for key in keys] == [key + 100 for key in keys]  # type: ignore[misc]


@pytest.mark.parametrize("answer", ["found", None])
def test_the_oldest_answer_makes_room(answer: str | None) -> None:
    """Two are kept: the third question is asked anew, the second is not, whatever the answers are."""
    kept = Cache(2)
    asked: list[str] = []

    def ask(key: str) -> str | None:
        def compute() -> str | None:
            asked.append(key)
            return answer

        return kept.get(key, compute)

    assert [ask(key) for key in ("a", "b", "c", "b", "a")] == [answer] * 5
    assert asked == ["a", "b", "c", "a"]
