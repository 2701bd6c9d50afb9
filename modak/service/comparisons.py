"""Comparisons of stored results: which rows are compared, and what is wrong with a question."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

from modak.errors import DataError, NotFound, RequestError, UnknownName, unknown
from modak.ingest.columns import COLUMNS, canonical, is_known
from modak.ingest.values import reader
from modak.results import shifts
from modak.results.comparison import ASIDE, also_differ, equal_otherwise, pairs, unify_spellings
from modak.results.filters import none_of
from modak.text.documents import Json

WHEN: Final = "measured_at"
Rows = Iterable[Mapping[str, Any]]


def comparison(
    rows: Rows,
    column: str,
    values: Sequence[str],
    filters: Mapping[str, str],
    own: Mapping[str, str],
    names_in: Callable[[str], Collection[str]],
) -> Json:
    """``pairs`` of results that differ in the ``column`` only, or ``shifts``: see :meth:`modak.service.Service.compare`.

    ``rows`` are the results that match the filters, read once; ``own`` are the names of systems by all of their names; ``names_in`` are the
    known names in a column.
    """
    by, seen, told = _column(column), set[str](), set[str]()
    if by == WHEN and not values:
        alike = unify_spellings(rows, by, (), own)
        return _shifts(_noting(alike, by, seen, told), lambda: _refuse_unseen(by, seen, told, filters, names_in))
    if when := _date(values) if by == WHEN else None:
        values = [f"before {when}", f"since {when}"]
    chosen = unify_spellings(_parted(rows, when, values) if when else rows, by, values, own)
    groups = equal_otherwise(_noting(chosen, by, seen, told), by, values)
    _refuse_unseen(by, seen, told, filters, names_in)
    for value in values:
        if value not in seen:
            raise NotFound(f"no results were measured {value}", field="value") if when else UnknownName(by, value, seen, field="value")
    found = pairs(groups, by, values)
    if not found:
        others = also_differ(groups)
        also = f"; the most alike also differ in {', '.join(others)}" if others else ""
        raise DataError(f"no results differ in {by} alone{also}", field="column")
    return {"column": by, "pairs": [{**asdict(pair), "medians": list(pair.medians), "counts": list(pair.counts)} for pair in found]}


def _shifts(rows: Rows, check: Callable[[], None]) -> Json:
    """The days since which runs take longer, or less, without being told any."""
    read = reader(WHEN, datetime.now(UTC))
    on_systems = shifts.on_systems((row, read(row[WHEN])) for row in rows if row.get(WHEN))
    check()
    found = [shifts.document(shift, system, name) for system, runs in on_systems.items() for name, shift in shifts.of_system(runs)]
    return {"column": WHEN, "shifts": found}


def _refuse_unseen(
    by: str, seen: Collection[str], told: Iterable[str], filters: Mapping[str, str], names_in: Callable[[str], Collection[str]]
) -> None:
    """Raise :class:`~modak.errors.NotFound` if no result states the column."""
    if not seen:
        known = ", ".join(sorted(filter(_is_compared, told)))
        raise NotFound(f"{none_of(filters, names_in)} state {by}" + (f"; they state {known}" if known else ""), field="column")


def _date(values: Sequence[str]) -> str:
    given = [text for value in values if (text := value.strip())]
    if len(given) != 1:
        raise RequestError(f"{WHEN} takes one date or instant: results from before it are compared with those since it", field="value")
    return given[0]


def _parted(rows: Rows, when: str, names: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """The rows that say when they were measured, as the first of the ``names`` before a date (UTC) or instant, else the second."""
    read = reader(WHEN, datetime.now(UTC))
    try:
        edge = read(when)
    except ValueError as error:
        raise RequestError(str(error), field="value") from None
    yield from ({**row, WHEN: names[read(row[WHEN]) >= edge]} for row in rows if row.get(WHEN))


def _column(text: str) -> str:
    """The column that a heading of any spelling means, by which results can be compared."""
    name = canonical(text)
    if not _is_compared(name):
        raise RequestError(unknown("column", text, [*filter(_is_compared, COLUMNS), "params.NAME"]), field="column")
    return name


def _is_compared(name: str) -> bool:
    """Whether results can be compared by a column."""
    return name == WHEN or (is_known(name) and name not in ASIDE and name not in ("metric", "unit"))


def _noting(rows: Iterator[Mapping[str, Any]], column: str, seen: set[str], told: set[str]) -> Iterator[Mapping[str, Any]]:
    """The rows; their values in the column are added to ``seen`` on the way; before the first, all columns with a value to ``told``."""
    for row in rows:
        if row.get(column) is not None:
            seen.add(str(row[column]))
        elif not seen:
            told.update(name for name, value in row.items() if value is not None)
        yield row
