"""Compact lists of the numbers of results: a curve may rest on a hundred thousand, and most are consecutive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

LARGEST: Final = 2**63 - 1
"""The largest number that a database gives."""
Numbers = tuple[int | tuple[int, int], ...]
"""Each entry is a number, or the first and the last of consecutive ones."""
Selection = Sequence[int] | str
"""Numbers of results, or the name of a file: all that was new in it."""


def shortened(numbers: Iterable[int]) -> Numbers:
    """The numbers, each once, ascending.

    >>> shortened([3, 1, 2, 7])
    ((1, 3), 7)
    """
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return tuple(first if first == last else (first, last) for first, last in runs)


def spelt_out(numbers: Iterable[int | Sequence[int]], after: int = 0) -> Iterator[int]:
    """Every number that is greater than ``after``.

    >>> list(spelt_out([(1, 3), 7])), list(spelt_out([(1, 3), 7], after=2))
    ([1, 2, 3, 7], [3, 7])
    """
    for each in numbers:
        first, last = (each, each) if isinstance(each, int) else each
        yield from range(max(first, after + 1), last + 1)
