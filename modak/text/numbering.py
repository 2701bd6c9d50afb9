"""Compact lists of the numbers of results: a curve may rest on a hundred thousand, and most are consecutive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from modak.text.amounts import printable

LARGEST: Final = 2**63 - 1
"""The largest number that a database gives."""
LONGEST_SHOWN: Final = 60
"""Characters of a column's text that a message shows."""
Numbers = tuple[int | tuple[int, int], ...]
"""Each entry is a number, or the first and the last of consecutive ones."""


@dataclass(frozen=True)
class Measured:
    """Results by when they were measured, and by texts of their columns."""

    since: str
    """A date, or an instant in ISO 8601 with its offset."""
    until: str | None = None
    """The last date, or the instant before which they were measured; ``None``: until now."""
    where: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        bounds = f"measured since {self.since}{f' until {self.until}' if self.until else ''}"
        return ", ".join((bounds, *(f"{name} {printable(text)[:LONGEST_SHOWN]}" for name, text in self.where.items())))


Selection = Sequence[int] | str | Measured
"""Numbers of results, the name of a file (all that was new in it), or a period in which they were measured."""


def shortened(numbers: Iterable[int]) -> Numbers:
    """The numbers, each once, ascending.

    >>> shortened([3, 1, 2, 7])
    ((1, 3), 7)
    """
    return _joined((number, number) for number in sorted(set(numbers)))


def merged(several: Iterable[Numbers]) -> Numbers:
    """All that are in several such lists, each once, ascending.

    >>> merged([((1, 3), 7), ((2, 5), 8)])
    ((1, 5), (7, 8))
    """
    return _joined(sorted({(each, each) if isinstance(each, int) else each for one in several for each in one}))


def _joined(ascending: Iterable[tuple[int, int]]) -> Numbers:
    """Ranges that touch or overlap as one."""
    runs: list[list[int]] = []
    for first, last in ascending:
        if runs and first <= runs[-1][1] + 1:
            runs[-1][1] = max(runs[-1][1], last)
        else:
            runs.append([first, last])
    return tuple(first if first == last else (first, last) for first, last in runs)


def spelt_out(numbers: Iterable[int | Sequence[int]], after: int = 0) -> Iterator[int]:
    """Every number that is greater than ``after``.

    >>> list(spelt_out([(1, 3), 7])), list(spelt_out([(1, 3), 7], after=2))
    ([1, 2, 3, 7], [3, 7])
    """
    for each in numbers:
        first, last = (each, each) if isinstance(each, int) else each
        yield from range(max(first, after + 1), last + 1)
