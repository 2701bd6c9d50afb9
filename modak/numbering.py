"""Numbers of results, kept short: a curve may rest on a hundred thousand, and most follow each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

Numbers = tuple[int | tuple[int, int], ...]
"""Each a number, or the first and the last of several that follow each other."""


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


def spelt_out(numbers: Iterable[int | Sequence[int]]) -> Iterator[int]:
    """Every number.

    >>> list(spelt_out([(1, 3), 7]))
    [1, 2, 3, 7]
    """
    for each in numbers:
        yield from (each,) if isinstance(each, int) else range(each[0], each[1] + 1)
