"""Results that look wrong: a slip of the unit, an impossible speed-up, a value that was copied from another row.

The runs of one series with one layout are a *cell*. Cells of a series that differ only in size are neighbours.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from statistics import median
from typing import Final

from modak.facts import Layout
from modak.grouping import grouped
from modak.text.amounts import counted, format_number

FACTOR: Final = 30.0
"""A value that is off by more than this factor is suspect: two values a factor of 1000 apart are each off by 31.6 from their middle.
Minutes instead of seconds are not found."""
BREAK: Final = 100.0
"""The same for the step from one size to the next, if a part of a series is in another unit: a slip of 1000 on a step to ten times the
size."""
ABOVE_LINEAR: Final = 1.5
"""Speed-ups that are superlinear by more than this factor against both neighbours are suspect: caches and noise explain less."""
DIGITS: Final = 5
"""Equal values of two cells with at least this many digits are a copy; with fewer digits, coincidence."""
FEW_DIGITS: Final = 3
"""The same where the sizes around the two say that the second value is too slow: see :func:`_held_back`."""
SCALES, CATCHES_UP = 0.5, 1.25
"""Exponents of scaling: of sizes that still gain, and of a gain that no hardware explains but one that the size before lacks."""
REACH: Final = 2
"""Neighbours on each side that a cell is compared with."""
_CONVERTED: Final = (1.0, *(60.0**power for power in (1, 2, -1, -2)), 86_400.0, 1 / 86_400, *(1024.0**-power for power in (1, 2, 3, 4)))
"""Factors, other than powers of ten, that undo the conversion of a value into its base unit."""


@dataclass(frozen=True)
class LayoutRuns:
    """The runs of one layout: their middle value as a cost (seconds, or seconds per unit), and their least and greatest value."""

    layout: Layout
    cost: float
    extent: tuple[float, float] | None = None
    confirmed: bool = False
    """Whether somebody said that one of them is right: then nothing is wrong with the layout."""


def doubts(cells: Sequence[LayoutRuns], *, scales: bool, rate: bool = False) -> Mapping[int, str]:
    """The cells of a series that look wrong, as index in ``cells`` -> reason. Their order in ``cells`` does not matter.

    ``scales``: whether more hardware reduces the cost. ``rate``: whether users see the inverse of the cost.

    >>> cells = [LayoutRuns(Layout(nodes=n), 64 / n) for n in (1, 2, 4, 8)] + [LayoutRuns(Layout(nodes=16), 4000.0)]
    >>> doubts(cells, scales=True)
    {4: '250 times what the neighbouring sizes suggest; wrong unit?'}
    """
    found: dict[int, str] = {}
    for places in _groups(cells):
        costs = [cells[place].cost for place in places]
        if max(costs) > FACTOR * min(costs):
            found |= _reasons(cells, places, partial(_slip, rate=rate))
            left = [place for place in places if place not in found]
            found |= {left[at]: reason for at, reason in _shifted([cells[place] for place in left], rate)}
        for reason_of in (_copied, _above_linear) if scales else ():
            sound = [place for place in places if place not in found]  # a wrong value says nothing about its neighbours
            found |= _reasons(cells, sound, reason_of)
    return found


def _reasons(
    cells: Sequence[LayoutRuns], places: Sequence[int], reason_of: Callable[[Sequence[LayoutRuns], int], str | None]
) -> dict[int, str]:
    """Why the cells at ``places``, a group in order of size, look wrong; nothing of those that are confirmed."""
    group = [cells[place] for place in places]
    reasons = {place: reason_of(group, at) for at, place in enumerate(places) if not group[at].confirmed}
    return {place: reason for place, reason in reasons.items() if reason}


def outlier(value: float, middle: float) -> str | None:
    """Why a value looks wrong compared with the middle of the runs of the same layout; ``None``: it does not."""
    if not _far(math.log(value / middle)):
        return None
    side = f"more than {FACTOR:g} times" if value > middle else f"less than 1/{FACTOR:g} of"
    return f"{side} the other runs of the same layout; wrong unit?"


def too_many_gpus(layout: Layout, most: int, system: str) -> str | None:
    """Why a layout is impossible on a system whose nodes have at most ``most`` GPUs; ``None``: it is not.

    >>> too_many_gpus(Layout(nodes=4, gpus_per_node=16), 4, "my-cluster")
    '16 GPUs on each of 4 nodes, but a node of my-cluster has at most 4: a total over all nodes? then gpus_per_node is 4'
    """
    gpus, nodes = layout.gpus_per_node or 0, layout.nodes
    if gpus <= most:
        return None
    where = f" on each of {nodes} nodes" if nodes and nodes > 1 else " per node"
    observed = f"{counted(gpus, 'GPU')}{where}, but " + (
        f"a node of {system} has at most {most}" if most else f"no node of {system} has GPUs"
    )
    if not most or nodes == 1:
        return f"{observed}: is its description complete?"
    if nodes is None:
        return f"{observed}: a total over all nodes? then load it as 'total_gpus', with '--set gpus_per_node={most}' if a node has so many"
    each, uneven = divmod(gpus, nodes)
    if each and not uneven and each <= most:
        return f"{observed}: a total over all nodes? then gpus_per_node is {each}"
    return f"{observed}: are 'nodes' and its description right?"


def right_half(halves: Sequence[LayoutRuns], others: Sequence[LayoutRuns], *, scales: bool, rate: bool = False) -> LayoutRuns | None:
    """Of the runs of one layout that are all far from their middle, the half that is right: the one that somebody confirmed, else the one
    that the other cells of the series suggest. ``None``: neither or both."""
    right = [half for half in halves if half.confirmed] or [
        half for half in halves if len(others) not in doubts([*others, half], scales=scales, rate=rate)
    ]
    return right[0] if len(right) == 1 else None


def middle(values: Sequence[float]) -> float:
    """The median of positive values; for an even number, the geometric mean of the two middle ones."""
    return math.exp(median(map(math.log, values)))


def size(layout: Layout) -> float:
    """The number of GPUs of a layout, else of its ranks; unknown counts are 1."""
    return float((layout.nodes or 1) * (layout.gpus_per_node or layout.ranks_per_node or 1))


def _groups(cells: Sequence[LayoutRuns]) -> list[list[int]]:
    """Groups of cells that differ only in size, as indices in order of size."""

    def kind(place: int) -> Hashable:
        layout = cells[place].layout
        return None if layout.gpus_per_node else layout.threads_per_rank, bool(layout.gpus_per_node), layout.batch_size

    return [sorted(group, key=lambda place: _order(cells[place].layout)) for group in grouped(range(len(cells)), kind).values()]


def _order(layout: Layout) -> tuple[float, ...]:
    """Layouts of one size have an order, too, lest their doubts depend on how they were read."""
    return size(layout), *(-1 if count is None else count for count in layout.model_dump().values())


def _slip(group: Sequence[LayoutRuns], at: int, rate: bool) -> str | None:
    """The reason, if a cell is far from the middle of its neighbours both for constant cost and for perfect scaling; else ``None``. The
    group has two cells or more."""
    near = group[max(at - REACH, 0) : at + REACH + 1]
    logs = [(math.log(cell.cost), math.log(size(cell.layout))) for cell in near]
    cost, extent = math.log(group[at].cost), math.log(size(group[at].layout))
    off = [cost + power * extent - median(c + power * s for c, s in logs) for power in (0, 1)]
    nearest = min(off, key=abs)
    if not all(map(_far, off)) or off[0] * off[1] < 0:
        return None
    distance = 2 * nearest if len(near) == 2 else nearest  # the middle of two is half-way between them
    return _in_another_unit(distance, "the neighbouring sizes suggest", rate)


def _shifted(group: Sequence[LayoutRuns], rate: bool) -> Iterator[tuple[int, str]]:
    """The part of the sizes that is separated from the others by a break, which is the smaller part; if both are equally large, both: the
    place in the group of each, and the reason.

    A part with a confirmed size is right, however small it is.
    """
    breaks = [_break(one, next_one) for one, next_one in pairwise(group)]
    levels = list(accumulate((0 if off == 0 else math.copysign(1, off) for off in breaks), initial=0.0))
    if not any(breaks):
        return
    (largest, most), *others = Counter(levels).most_common()
    right = {level for level, cell in zip(levels, group, strict=True) if cell.confirmed}
    right |= {largest} if all(count < most for _, count in others) else set()
    size_of_break = median(abs(off) for off in breaks if off)
    for at, level in enumerate(levels):
        if level not in right:
            above = level > min(sorted(right), key=lambda other: abs(level - other), default=min(levels))
            yield at, _in_another_unit(size_of_break if above else -size_of_break, "the other sizes suggest", rate)


def _break(one: LayoutRuns, next_one: LayoutRuns) -> float:
    """Log of the factor between two sizes that neither constant cost nor perfect scaling explains; 0 below :data:`BREAK`."""
    off = math.log(next_one.cost / one.cost)
    bounds = (off, off + math.log(size(next_one.layout) / size(one.layout)))
    nearest = min(bounds, key=abs)
    return nearest if bounds[0] * bounds[1] > 0 and abs(nearest) > math.log(BREAK) else 0.0


def _above_linear(group: Sequence[LayoutRuns], at: int) -> str | None:
    """The reason, if a cell is superlinear against neighbouring sizes on both sides; another layout on other nodes is no neighbour."""
    here, sides = group[at], (group[max(at - REACH, 0) : at][::-1], group[at + 1 : at + 1 + REACH])
    near = [next((cell for cell in side if _in_line(cell.layout, here.layout)), None) for side in sides]
    work = [cell.cost * size(cell.layout) for cell in near if cell]
    gain = min(work) / (here.cost * size(here.layout)) if len(work) == len(sides) else 0.0
    return f"faster than linear by a factor of {gain:.1f} against both neighbouring sizes" if gain >= ABOVE_LINEAR else None


def _in_line(one: Layout, other: Layout) -> bool:
    """Whether two layouts of different size have as many GPUs (else ranks) per node, or as many nodes."""
    per_node = size(one) / (one.nodes or 1) == size(other) / (other.nodes or 1)
    return size(one) != size(other) and (per_node or (one.nodes or 1) == (other.nodes or 1))


def _copied(group: Sequence[LayoutRuns], at: int) -> str | None:
    """The reason, if a cell has exactly the values of the next smaller size."""
    here, smaller = group[at], group[at - 1]
    if at == 0 or size(here.layout) == size(smaller.layout) or here.extent is None or here.extent != smaller.extent:
        return None
    digits = max(map(_digits, here.extent))
    if digits < FEW_DIGITS or (digits < DIGITS and not _held_back(group, at)):
        return None
    return "the same value as at the next smaller size: copied?"


def _held_back(group: Sequence[LayoutRuns], at: int) -> bool:
    """Whether a cell that costs as much as the next smaller one gains nothing although that one does, and the next larger one makes up for
    it by a gain beyond linear. A program that stops scaling does not catch up."""
    if at < 2 or at + 1 >= len(group):
        return False
    outer, smaller, here, larger = group[at - 2 : at + 2]
    if not all(_in_line(one.layout, other.layout) for one, other in pairwise((outer, smaller, here, larger))):
        return False
    return _exponent(outer, smaller) >= SCALES and _exponent(here, larger) >= CATCHES_UP


def _exponent(one: LayoutRuns, other: LayoutRuns) -> float:
    """How the cost falls from one size to a larger one: 1 is perfect scaling, 0 none."""
    return math.log(one.cost / other.cost) / math.log(size(other.layout) / size(one.layout))


def _digits(value: float) -> int:
    """Digits of a value as it was measured: 12.5 images a minute are stored as 0.208333333333333 a second."""
    return min(len(f"{value * factor:.12e}".partition("e")[0].replace(".", "").rstrip("0")) for factor in _CONVERTED)


def _far(log_ratio: float) -> bool:
    return abs(log_ratio) > math.log(FACTOR)


def _in_another_unit(log_ratio: float, who: str, rate: bool) -> str:
    """The reason in words, for the value that users see; ``log_ratio`` is that of the cost."""
    factor = format_number(math.exp(abs(log_ratio)))
    more = (log_ratio >= 0) != rate
    part = f"{factor} times" if more else f"1/{factor} of"
    return f"{part} what {who}; wrong unit?"
