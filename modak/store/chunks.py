"""Long lists in parts, because databases limit the parameters of one statement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

Value = TypeVar("Value")

AT_ONCE: Final = 500
"""Values in one statement: far below every database's limit."""


def chunks(values: Sequence[Value], size: int = AT_ONCE) -> Iterator[Sequence[Value]]:
    """The values in their order, at most ``size`` at once.

    >>> list(chunks("abcde", 2))
    ['ab', 'cd', 'e']
    """
    return (values[start : start + size] for start in range(0, len(values), size))
