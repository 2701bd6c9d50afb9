"""Compare results that differ in one column (system, version, compiler), and decide whether the difference exceeds the noise."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, islice
from statistics import median, variance
from typing import Any, Final

from modak.errors import RequestError
from modak.facts import canonical_name
from modak.perfmodel.fitting.merging import canonical_label
from modak.results.failures import STOPPED
from modak.results.metrics import metric

ASIDE: Final = frozenset(("id", "value", "repeat", "measured_at", "source", "suspect"))
"""Columns in which results of one pair may differ."""
WITH: Final[Mapping[str, tuple[str, ...]]] = {
    "system": ("partition",),
    "framework": ("framework_version", "image"),
    "framework_version": ("image",),
    "compiler": ("image",),
    "runtime": ("image",),
}
"""Columns that change together with another one: a partition belongs to its system, an image to its framework; without a container there
is none."""
_T: Final = (
    *((1, 12.71), (2, 4.30), (3, 3.18), (4, 2.78), (5, 2.57), (6, 2.45)),
    *((8, 2.31), (10, 2.23), (15, 2.13), (30, 2.04), (10**9, 1.96)),
)
"""Two-sided 95 % quantiles of Student's t by degrees of freedom (any table of the distribution). SciPy computes them, but loading it takes
longer than comparing results."""

_MOST_GROUPS: Final = 500
"""Groups of which each two are looked at for what they differ in."""


Measured = tuple[str, Sequence[float]]
"""A value of the compared column, and its measurements."""


@dataclass(frozen=True)
class ComparedPair:
    """Two values of the compared column with all else equal: medians, and how they differ."""

    equal: Mapping[str, Any]
    one: str
    other: str
    medians: tuple[float, float]
    counts: tuple[int, int]
    ratio: float
    """The other's median divided by the one's."""
    better: str | None
    """The better value; ``None``: the medians are equal."""
    beyond_noise: bool | None
    """Whether the difference exceeds the scatter of repeats (95 %); ``None``: nothing was repeated."""


Groups = Mapping[tuple[tuple[str, Any], ...], Mapping[str, list[float]]]
"""The values of records that are equal in all columns but the compared one, by what they have there."""


def compare(records: Iterable[Mapping[str, Any]], column: str, values: Sequence[str] = ()) -> list[ComparedPair]:
    """Pairs of records that differ in ``column``: :func:`pairs` of their :func:`equal_otherwise`."""
    return pairs(equal_otherwise(records, column, values), column, values)


def pairs(groups: Groups, column: str, values: Sequence[str] = ()) -> list[ComparedPair]:
    """The pairs in groups of records, each value compared with the first of ``values`` (default: the smallest number, or the first by
    name).

    Scatter (the standard deviation of logarithms) is pooled over all repeated runs of a metric: memory hardly varies where times do.
    """
    cells: dict[str, list[Sequence[float]]] = defaultdict(list)
    for equal, group in groups.items():
        cells[dict(equal)["metric"]] += group.values()
    scatter = {of: _pooled(several) for of, several in cells.items()}
    found = []
    for equal in sorted(groups, key=_in_order):
        group = groups[equal]
        order = values or sorted(group, key=lambda name: _in_order([(column, name)]))
        first, *others = (name for name in order if name in group)
        noise = scatter[dict(equal)["metric"]]
        found += [_pair(dict(equal), (first, group[first]), (other, group[other]), noise) for other in others]
    return found


def also_differ(groups: Groups) -> tuple[str, ...]:
    """The fewest other columns in which records differ that differ in the compared one; empty: none do. Of many, the first count."""
    some = [(dict(equal), set(group)) for equal, group in islice(groups.items(), _MOST_GROUPS)]
    differing = (
        tuple(sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name)))
        for (one, its), (other, theirs) in combinations(some, 2)
        if its != theirs
    )
    return min(differing, key=lambda names: (len(names), names), default=())


def equal_otherwise(records: Iterable[Mapping[str, Any]], column: str, values: Sequence[str] = ()) -> Groups:
    """Records in groups that are equal in all columns but one.

    Suspect records, those without a value in the column (``values``: without one of these), and bounds
    (:data:`modak.results.failures.STOPPED`) are left out.
    """
    aside = ASIDE.union((column,), WITH.get(column, ()))
    groups: dict[tuple[tuple[str, Any], ...], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        value = record.get(column)
        if value is None or record.get("suspect") or record.get("metric") == STOPPED or (values and str(value) not in values):
            continue
        groups[tuple(sorted((k, v) for k, v in record.items() if k not in aside))][str(value)].append(float(record["value"]))
    return groups


def unify_spellings(rows: Iterable[Mapping[str, Any]], by: str, values: Sequence[str], own: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """The rows, in which texts that mean the same are spelt as in the first of them, or as in ``values`` of the column ``by``.

    ``own``: the names of systems by all of their names (:func:`modak.facts.own_names`). Raises :class:`modak.errors.RequestError` for two
    values that mean the same.
    """

    @cache
    def meaning(column: str, text: str) -> tuple[str, Any]:
        return column, canonical_label(column, own.get(canonical_name(text), text) if column == "system" else text)

    first = {meaning(by, value): value for value in values}
    if len(first) < len(values):
        raise RequestError("two of the values mean the same", field="value")
    for row in rows:
        yield {
            name: first.setdefault(meaning(name, value), value) if isinstance(value, str) and name not in ASIDE else value
            for name, value in row.items()
        }


def _in_order(equal: Iterable[tuple[str, Any]]) -> list[tuple[str, float, str]]:
    """A key by which 2 nodes come before 16: numbers by their size, ahead of other texts."""
    return [(name, number if math.isfinite(number := _number(str(value))) else math.inf, str(value)) for name, value in equal]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _pooled(cells: Sequence[Sequence[float]]) -> tuple[float, int]:
    """The pooled standard deviation of the logarithms of repeats, each group about its own mean, and its degrees of freedom."""
    repeated = [[math.log(value) for value in cell] for cell in cells if len(cell) > 1]
    freedom = sum(len(cell) - 1 for cell in repeated)
    squares = sum(variance(cell) * (len(cell) - 1) for cell in repeated)
    return math.sqrt(squares / freedom) if freedom else 0.0, freedom


def _pair(equal: Mapping[str, Any], one: Measured, other: Measured, scatter: tuple[float, int]) -> ComparedPair:
    (name, first), (other_name, second), (deviation, freedom) = one, other, scatter
    medians = (median(first), median(second))
    ratio = medians[1] / medians[0]
    error = deviation * math.sqrt(variance_of_median(len(first)) + variance_of_median(len(second)))
    beyond = abs(math.log(ratio)) > quantile(freedom) * error if freedom else None
    less = metric(equal["metric"], equal.get("unit")).better == "lower"
    better = None if ratio == 1 else name if (ratio > 1) == less else other_name
    return ComparedPair(equal, name, other_name, medians, (len(first), len(second)), ratio, better, beyond)


def variance_of_median(count: float) -> float:
    """The variance of a median of so many normal values, in units of that of one (within 2 % for odd counts, at most a sixth too large)."""
    return 1 / count if count < 3 else math.pi / (2 * count + math.pi - 2)


def quantile(freedom: int) -> float:
    """Two-sided 95 % quantile of Student's t, rounded up."""
    return next((t for degrees, t in reversed(_T) if degrees <= max(freedom, 1)), _T[0][1])
