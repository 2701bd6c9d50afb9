"""Reading results: as values, page by page, or as rows of text for a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, groupby, islice
from operator import attrgetter, itemgetter
from typing import Any, Final

from sqlalchemy import Column, ColumnElement, Connection, Row, Select, and_, func, or_, select, tuple_

from modak.errors import RequestError
from modak.facts import FailedRuns, Result, SeriesKey
from modak.ingest.columns import MARKS, header
from modak.ingest.table import LAYOUT, UNKNOWN, layout
from modak.ingest.values import cell
from modak.perfmodel.fitting.cells import Cell
from modak.perfmodel.fitting.precisions import PRECISIONS
from modak.results.failures import METRICS as FAILURES
from modak.results.failures import STOPPED
from modak.store.engine import chunks
from modak.store.schema import LEFT_OUT, ONCE, REPLACED, STANDING, instant, loads, results, series, texts
from modak.store.series import NUMBERED, SERIES_AT_ONCE, OwnNames, by_number, carrying, from_row, has_params, matching
from modak.store.values import Export, Page, Place, ReplacedResult, cursor_number, cursor_place, paged
from modak.text.numbering import Numbers, spelt_out

PAGE: Final = 5_000
MOST: Final = 1_000
MOST_WITH_PARAMETERS: Final = 50_000
"""Results with parameters that a prediction from parameters looks at."""
MOST_TRIED_SERIES: Final = 2_000
MOST_TRIED: Final = 10_000
"""More results that show what switches do change nothing: 120 pairs are used."""
_NO_PARAMETERS: Final = "{}"
BY_NUMBER: Final = (results.c.id,)

_counts: Final = attrgetter(*LAYOUT)
_layout: Final = lru_cache(maxsize=1024)(layout)  # thousands of results have few

KeyedRow = tuple[SeriesKey, Row[Any]]


def page(connection: Connection, filters: Mapping[str, str], cursor: str | None, limit: int, *, doubted: bool = False) -> Page[Result]:
    """At most ``limit`` (1 to 1,000) results (or doubted ones) after ``cursor``; equal filters and cursor give the same page."""
    check_limit(limit)
    having, which = (series.c.id.in_(select(results.c.series_id).where(LEFT_OUT)), LEFT_OUT) if doubted else (None, None)
    found = walk(connection, filters, cursor_place(cursor), limit + 1, having, which)
    return paged((((row.series_id, row.id), _value(key, row)) for key, row in found), limit)


def check_limit(limit: int) -> None:
    """Raise :class:`modak.errors.RequestError` unless a page may have so many items."""
    if not 1 <= limit <= MOST:
        raise RequestError(f"allowed: 1 to {MOST}", field="limit")


def having_parameters(connection: Connection, filters: Mapping[str, str], most: int) -> list[Cell]:
    """Of at most so many of the results that match the filters and tell parameters those that are not suspect, by series and layout, under
    their systems' own names; the others are not read."""
    own, found = OwnNames(connection), dict[tuple[int, Sequence[int]], Cell]()
    columns = (results.c.series_id, results.c.id, results.c.value, results.c.suspect_id, results.c.doubt_id)
    chosen = select(*columns, *(results.c[name] for name in LAYOUT)).where(results.c.replaced_by == 0).order_by(*columns[:2])
    for keys in _in_turn(connection, filters, having=series.c.params != _NO_PARAMETERS):
        rows = connection.execute(chosen.where(results.c.series_id.in_(keys)).limit(most)).all()
        for number, identity, value, suspect, doubt, *place in rows:
            if suspect or doubt:
                continue
            at = (number, tuple(place))
            if at not in found:
                found[at] = Cell(own.key(keys[number]), _layout(at[1]))
            found[at].ids.append(identity)
            found[at].values.append(value)
        most -= len(rows)
        if not most:
            break
    return [*found.values()]


def walk(
    connection: Connection,
    filters: Mapping[str, str],
    after: Place = (0, 0),
    at_once: int = PAGE,
    having: ColumnElement[bool] | None = None,
    which: ColumnElement[bool] | None = None,
    by: Sequence[Column[Any]] = BY_NUMBER,
) -> Iterator[KeyedRow]:
    """Results (all, or which) with their series (those ``having`` something), in order, ``at_once`` a query: no step costs more for a
    larger table. ``by``: the columns that order the results of a series."""
    for keys in _in_turn(connection, filters, after[0], having):
        yield from of_series(connection, keys, after, at_once, which, by)


def _in_turn(
    connection: Connection, filters: Mapping[str, str], first: int = 0, having: ColumnElement[bool] | None = None
) -> Iterator[Mapping[int, SeriesKey]]:
    """The series that match the filters (those ``having`` something), from this number on, some at a time."""
    chosen = matching(connection, filters) if having is None else matching(connection, filters).where(having)
    while True:
        rows = connection.execute(chosen.where(series.c.id >= first).limit(SERIES_AT_ONCE)).all()
        keys = {row.id: key for row in rows if has_params(key := from_row(row), filters)}
        if keys:
            yield keys
        if len(rows) < SERIES_AT_ONCE:
            return
        first = rows[-1].id + 1


def of_series(
    connection: Connection,
    keys: Mapping[int, SeriesKey],
    after: Place = (0, 0),
    at_once: int = PAGE,
    which: ColumnElement[bool] | None = None,
    by: Sequence[Column[Any]] = BY_NUMBER,
) -> Iterator[KeyedRow]:
    """Results (all, or which) of the series with these numbers; those that were replaced are not among them. ``by`` as for :func:`walk`."""
    chosen = _rows().where(results.c.series_id.in_(keys), results.c.replaced_by == 0)
    chosen = (chosen if which is None else chosen.where(which)).order_by(results.c.series_id, *by).limit(at_once)
    here = tuple_(results.c.series_id, results.c.id) > after
    while True:
        rows = connection.execute(chosen.where(here)).all()
        for row in rows:
            yield keys[row.series_id], row
        if len(rows) < at_once:
            return
        last = rows[-1]
        here = tuple_(results.c.series_id, *by) > (last.series_id, *(getattr(last, column.name) for column in by))


def _rows() -> Select[Any]:
    sources, suspects, doubts = (texts.alias(name) for name in ("sources", "suspects", "doubts"))
    return (
        select(results, sources.c.text.label("source"), suspects.c.text.label("suspect"), doubts.c.text.label("doubt"))
        .join(sources, sources.c.id == results.c.source_id)
        .join(suspects, suspects.c.id == results.c.suspect_id)
        .join(doubts, doubts.c.id == results.c.doubt_id)
    )


def numbered(connection: Connection, numbers: Numbers, cursor: str | None, limit: int) -> Page[Result]:
    """At most ``limit`` (1 to 1,000) of the results with these numbers, by number, after ``cursor``; also those replaced since."""
    check_limit(limit)
    wanted = list(islice(spelt_out(numbers, after=cursor_number(cursor)), limit + 1))
    rows = connection.execute(_rows().where(results.c.id.in_(wanted[:limit])).order_by(results.c.id)).all()
    keys = by_number(connection, series.c.id.in_({row.series_id for row in rows}))
    return Page(tuple(_value(keys[row.series_id], row) for row in rows), str(wanted[limit - 1]) if len(wanted) > limit else None)


def replaced(connection: Connection, filters: Mapping[str, str], cursor: str | None, limit: int) -> Page[ReplacedResult]:
    """At most ``limit`` (1 to 1,000) of the results that were replaced, each with the load that did it, the last load first."""
    check_limit(limit)
    numbers = {number for number, _ in carrying(connection, filters)} if filters else None
    chosen = _rows().add_columns(loads.c.file, loads.c.principal, loads.c.loaded_at).join(loads, loads.c.id == results.c.replaced_by)
    chosen = chosen.where(REPLACED).order_by(results.c.replaced_by.desc(), results.c.id)
    if cursor:
        load, result = cursor_place(cursor)
        chosen = chosen.where(or_(results.c.replaced_by < load, and_(results.c.replaced_by == load, results.c.id > result)))
    with connection.execute(chosen.execution_options(yield_per=PAGE)) as found:
        rows = paged((((row.replaced_by, row.id), row) for row in found if numbers is None or row.series_id in numbers), limit)
    keys = by_number(connection, series.c.id.in_({row.series_id for row in rows.items}))
    items = tuple(ReplacedResult(_value(keys[row.series_id], row), instant(row.loaded_at), row.principal, row.file) for row in rows.items)
    return Page(items, rows.next)


def tried(connection: Connection, compilers: Sequence[str], precisions: Sequence[str], builds: Sequence[str]) -> tuple[Result, ...]:
    """Results of all applications that have some with one of these names, however written, the newest series first; up to a bound.

    They show what switches do: of applications that were run with a compiler, in reduced precision or in a build from source.
    """
    words = {*precisions, *(word for word, meant in PRECISIONS.items() if meant in precisions)}
    with_one = or_(
        func.lower(series.c.compiler).in_(compilers),
        func.replace(func.lower(series.c.precision), "_", "-").in_(words),
        *(series.c.params.like(f'%"build": "{name}"%') for name in builds),
    )
    applications = select(series.c.application).where(with_one).distinct()
    chosen = select(*NUMBERED).where(series.c.application.in_(applications)).order_by(series.c.id.desc())
    rows = connection.execute(chosen.limit(MOST_TRIED_SERIES)).all()
    found = of_series(connection, {row.id: from_row(row) for row in rows}) if rows else ()
    return tuple(_value(key, row) for key, row in islice(found, MOST_TRIED))


def failed(connection: Connection, applications: Sequence[str]) -> tuple[FailedRuns, ...]:
    """The failed and stopped runs of applications, by series and layout."""
    keys = dict[int, SeriesKey]()
    for some in chunks(applications):
        keys |= by_number(connection, and_(series.c.application.in_(some), series.c.metric.in_(FAILURES)))
    place = (results.c.series_id, *(results.c[name] for name in LAYOUT))
    values = (func.sum(results.c.value).label("total"), func.max(results.c.value).label("most"), func.count().label("rows"))
    chosen = select(*place, *values).where(STANDING).group_by(*place).order_by(*place)
    parts = (connection.execute(chosen.where(results.c.series_id.in_(numbers))) for numbers in chunks(sorted(keys)))
    found = []
    for row in chain.from_iterable(parts):
        key, at = keys[row.series_id], _layout(_counts(row))
        stopped = {"count": row.rows, "longest_s": row.most} if key.metric == STOPPED else {"count": round(row.total)}
        found.append(FailedRuns(series=key, layout=at, **stopped))
    return tuple(found)


def _value(key: SeriesKey, row: Row[Any]) -> Result:
    return Result(
        series=key,
        layout=_layout(_counts(row)),
        value=row.value,
        repeat=None if row.repeat == UNKNOWN else row.repeat,
        measured_at=None if row.measured_at == UNKNOWN else instant(row.measured_at),
        source=row.source or None,
        id=row.id,
        suspect=row.suspect or row.doubt or None,
        doubted=bool(row.doubt and not row.suspect),
        by_hand=bool(row.by_hand),
    )


def export(connection: Connection, filters: Mapping[str, str]) -> Export:
    """Results as rows of text in the columns of the results table, with every ``params.NAME`` that occurs.

    Loaded again, they are the same rows in the same order, however they came here: numbers are written in full, instants in UTC, values in
    base units. What loading or somebody said of a row is no part of it: :data:`modak.ingest.columns.MARKS` stand beside the columns.
    """
    columns = header({f"params.{name}" for _, key in carrying(connection, filters) for name in key.params})
    found = groupby(walk(connection, filters, by=ONCE[1:]), itemgetter(0))
    return columns, (cells for key, rows in found for cells in _cells(columns, key, (row for _, row in rows)))


def _cells(columns: tuple[str, ...], key: SeriesKey, rows: Iterable[Row[Any]]) -> Iterator[dict[str, str]]:
    """The rows of a series as text; what they have in common is written once."""
    labels = key.model_dump() | {f"params.{name}": text for name, text in key.params.items()}
    common = {column: cell(labels.get(column)) for column in (*columns, *MARKS)}
    for row in rows:
        result = _value(key, row)
        known = {name: getattr(result, name) for name in ("value", "repeat", "measured_at", "source")} | {"suspect": row.suspect}
        known |= {"doubt": result.suspect if result.doubted else None, "by_hand": result.by_hand or None}
        yield common | {name: cell(value) for name, value in (result.layout.model_dump() | known).items()}
