"""Results side by side: what changes with the system, a version or a compiler, and whether that is more than noise."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, variance
from typing import Any, Final

from modak.metrics import metric

ASIDE: Final = frozenset(("id", "value", "repeat", "measured_at", "source", "suspect"))
"""Columns in which runs of one thing may differ."""
WITH: Final[Mapping[str, tuple[str, ...]]] = {
    "system": ("partition",),
    "framework": ("framework_version", "image"),
    "framework_version": ("image",),
    "compiler": ("image",),
}
"""What goes with a column: a partition belongs to its system, an image to its framework."""
_T: Final = (
    (1, 12.71),
    (2, 4.30),
    (3, 3.18),
    (4, 2.78),
    (5, 2.57),
    (6, 2.45),
    (8, 2.31),
    (10, 2.23),
    (15, 2.13),
    (30, 2.04),
    (10**9, 1.96),
)
"""Two-sided 95 % quantiles of Student's t by degrees of freedom (any table of the distribution)."""


@dataclass(frozen=True)
class Pair:
    """Two values of the compared column with all else equal: medians, and how they differ."""

    equal: Mapping[str, Any]
    one: str
    other: str
    medians: tuple[float, float]
    counts: tuple[int, int]
    ratio: float
    """The other's median divided by the one's."""
    better: str | None
    """Which of the two is better; ``None``: nobody knows whether less or more is."""
    beyond_noise: bool | None
    """Whether the difference exceeds what repeats scatter (95 %); ``None``: nothing was repeated."""


def compare(records: Iterable[Mapping[str, Any]], column: str, values: Sequence[str] = ()) -> list[Pair]:
    """Records that differ in ``column``, each of its values against the first of ``values`` (not given: the first by name).

    Suspect records and those that leave the column open are left out. Scatter is pooled over all that was repeated: the
    standard deviation of the logarithms.
    """
    aside = ASIDE.union((column,), WITH.get(column, ()))
    groups: dict[tuple[tuple[str, Any], ...], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        value = record.get(column)
        if value is None or record.get("suspect") or (values and str(value) not in values):
            continue
        groups[tuple(sorted((k, v) for k, v in record.items() if k not in aside))][str(value)].append(float(record["value"]))
    noise, freedom = _scatter([found for group in groups.values() for found in group.values()])
    return [pair for equal in sorted(groups, key=repr) for pair in _pairs(dict(equal), groups[equal], values, noise, freedom)]


def _scatter(cells: Sequence[Sequence[float]]) -> tuple[float, int]:
    """Pooled standard deviation of logarithms, and its degrees of freedom."""
    repeated = [list(map(math.log, cell)) for cell in cells if len(cell) > 1]
    freedom = sum(len(cell) - 1 for cell in repeated)
    return (math.sqrt(sum(variance(cell) * (len(cell) - 1) for cell in repeated) / freedom) if freedom else 0.0), freedom


def _pairs(equal: Mapping[str, Any], found: Mapping[str, Sequence[float]], order: Sequence[str], noise: float, freedom: int) -> list[Pair]:
    names = [name for name in (order or sorted(found)) if name in found]
    return [_pair(equal, names[0], other, found, noise, freedom) for other in names[1:]]


def _pair(equal: Mapping[str, Any], one: str, other: str, found: Mapping[str, Sequence[float]], noise: float, freedom: int) -> Pair:
    medians = (median(found[one]), median(found[other]))
    ratio = medians[1] / medians[0]
    error = noise * math.sqrt(1 / len(found[one]) + 1 / len(found[other]))
    beyond = abs(math.log(ratio)) > quantile(freedom) * error if freedom else None
    less = metric(equal["metric"], equal.get("unit")).better == "lower"
    better = None if ratio == 1 else one if (ratio > 1) == less else other
    return Pair(equal, one, other, medians, (len(found[one]), len(found[other])), ratio, better, beyond)


def quantile(freedom: int) -> float:
    """Student's t, two-sided 95 %, rounded to the wider side."""
    return next((t for degrees, t in reversed(_T) if degrees <= max(freedom, 1)), _T[0][1])
