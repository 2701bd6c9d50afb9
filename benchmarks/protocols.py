"""Which sizes of a series are hidden, by name of the protocol."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from modak.perfmodel.evaluation import Split, each_inner, largest


def smaller_half(n: int) -> Iterable[tuple[Sequence[int], Sequence[int]]]:
    """One task: the smaller half of the sizes is shown."""
    half = (n + 1) // 2
    yield range(half), range(half, n)


def every_prefix(n: int) -> Iterable[tuple[Sequence[int], Sequence[int]]]:
    """A task for each number of the smallest sizes that may be shown."""
    for shown in range(1, n):
        yield range(shown), range(shown, n)


PROTOCOLS: Mapping[str, Split] = {
    "largest one": largest(1),
    "largest two": largest(2),
    "smaller half": smaller_half,
    "each inner size": each_inner,
}
