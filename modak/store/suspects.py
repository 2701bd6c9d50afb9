"""Rows that models do not use until somebody confirms them: new ones that look wrong beside others, and those that somebody doubts."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, Row, and_, case, func, insert, select, update

from modak.errors import DataError, NotFound, nearest
from modak.facts import SeriesKey
from modak.ingest.table import LAYOUT
from modak.results import metrics, suspicion
from modak.results.suspicion import Cell
from modak.store.cells import STANDING, layout
from modak.store.chunks import chunks
from modak.store.schema import loads, results, series, texts
from modak.text.amounts import listed
from modak.text.numbering import Selection

_AT_ONCE: Final = 200
"""Series in one query."""
_SHOWN: Final = 10
"""Numbers that a message lists."""
_NAMES: Final = 1_000
"""Files, the newest, among which a name that is none may be a slip."""


def note(connection: Connection, touched: Mapping[int, SeriesKey], highest: int, load_ids: Sequence[int]) -> list[str]:
    """Mark suspicious new rows (numbers above ``highest``) of the series that changed; returns a line for each with the reason."""
    lines: list[str] = []
    for numbers in chunks(list(touched), _AT_ONCE):
        for number, cells in _cells(connection, numbers):
            for where, reason in _doubted(connection, number, touched[number], cells, highest):
                lines += _mark(connection, and_(where, results.c.id > highest, results.c.load_id.in_(load_ids), STANDING), reason)
    return lines


def settle(connection: Connection, chosen: Selection, why: str | None, version: Callable[[], int]) -> int:
    """Doubt the chosen results for a reason, or confirm them (``None``); returns how many that changes. Replaced ones stay as they are.

    ``version`` counts the change and returns its number, which marks the series.
    Raises :class:`modak.errors.NotFound` for numbers that no result has, and for a file that nothing was loaded from.
    """
    changes = and_(results.c.doubt_id == 0 if why else results.c.doubt_id != 0, results.c.replaced_by == 0)
    parts = [and_(part, changes) for part in _parts(connection, chosen)]
    touched = sorted({number for part in parts for number in connection.scalars(select(results.c.series_id).where(part).distinct())})
    if not touched:
        return 0
    changed = version()
    for numbers in chunks(touched):
        connection.execute(update(series).where(series.c.id.in_(numbers)).values(changed=changed))
    doubt_id = _text(connection, why) if why else 0
    return sum(connection.execute(update(results).where(part).values(doubt_id=doubt_id)).rowcount for part in parts)


def _parts(connection: Connection, chosen: Selection) -> list[Any]:
    """The chosen results as conditions, each short enough for every database."""
    if not isinstance(chosen, str):
        parts = [results.c.id.in_(numbers) for numbers in chunks(chosen)]
        there = {number for part in parts for number in connection.scalars(select(results.c.id).where(part))}
        strange = sorted(set(chosen) - there)
        if strange:
            shown = listed([str(number) for number in strange], _SHOWN)
            raise NotFound(f"no result has the number {shown} ('modak results list' shows them as id)", field="results")
        return parts
    numbers = connection.scalars(select(loads.c.id).where(loads.c.file == chosen)).all()
    if not numbers:
        names = connection.scalars(select(loads.c.file).order_by(loads.c.id.desc()).limit(_NAMES)).all()
        close = next((name for name in names if name.endswith(f"/{chosen}")), None) or nearest(chosen, names)
        hint = f"; did you mean {close!r}?" if close else ""
        raise NotFound(f"nothing was loaded from a file called {chosen!r}{hint} ('modak audit' shows what was loaded)", field="file")
    return [results.c.load_id.in_(part) for part in chunks(numbers)]


def _cells(connection: Connection, numbers: Sequence[int]) -> Iterator[tuple[int, list[Row[Any]]]]:
    """For each series its layouts, each with its least and greatest value, its last row, and the first row without doubt."""
    columns = (results.c.series_id, *(results.c[name] for name in LAYOUT))
    extent = (func.min(results.c.value).label("least"), func.max(results.c.value).label("most"), func.max(results.c.id).label("last"))
    sound = func.min(case((results.c.doubt_id == 0, results.c.id))).label("sound")
    rows = connection.execute(select(*columns, *extent, sound).where(results.c.series_id.in_(numbers), STANDING).group_by(*columns)).all()
    by_series: dict[int, list[Any]] = {}
    for row in rows:
        by_series.setdefault(row.series_id, []).append(row)
    yield from by_series.items()


def _doubted(connection: Connection, number: int, key: SeriesKey, rows: Sequence[Row[Any]], highest: int) -> Iterator[tuple[Any, str]]:
    """What to mark, as a condition on rows, and the reason."""
    measured = _metric(key)
    rate = measured is not None and measured.kind == "throughput"
    wide = any(row.most > suspicion.FACTOR * row.least for row in rows)
    values = _values(connection, number) if wide else {}
    far: dict[str, list[int]] = defaultdict(list)
    cells = []
    for row in rows:
        middle = math.sqrt(row.least * row.most)
        if row.most > suspicion.FACTOR * row.least:
            here = values[_place(row)]
            middle = suspicion.middle([value for _, value in here])
            for numbered, value in here:
                if numbered > highest and (reason := suspicion.outlier(value, middle)):
                    far[reason].append(numbered)
        one_value, settled = row.least if row.least == row.most else None, row.sound is not None and row.sound <= highest
        cells.append(Cell(layout(_place(row)), 1 / middle if rate else middle, one_value, settled))
    for reason, numbers in far.items():
        for part in chunks(numbers, _AT_ONCE):
            yield results.c.id.in_(part), reason
    for place, reason in suspicion.doubts(cells, scales=measured is not None and measured.kind != "other", rate=rate).items():
        if rows[place].last > highest:
            yield _at(rows[place]), reason


def _metric(key: SeriesKey) -> metrics.Metric | None:
    try:
        return metrics.metric(key.metric, key.unit)
    except DataError:
        return None


def _at(row: Row[Any]) -> Any:
    """The rows of a cell."""
    return and_(results.c.series_id == row.series_id, *(results.c[name] == getattr(row, name) for name in LAYOUT))


def _values(connection: Connection, number: int) -> dict[tuple[int, ...], list[tuple[int, float]]]:
    """The rows of a series by layout: number and value."""
    found: dict[tuple[int, ...], list[tuple[int, float]]] = defaultdict(list)
    columns = (results.c.id, results.c.value, *(results.c[name] for name in LAYOUT))
    for row in connection.execute(select(*columns).where(results.c.series_id == number, STANDING)):
        found[_place(row)].append((row.id, row.value))
    return found


def _place(row: Row[Any]) -> tuple[int, ...]:
    return tuple(getattr(row, name) for name in LAYOUT)


def _mark(connection: Connection, where: Any, reason: str) -> list[str]:
    chosen = (
        select(results.c.id, results.c.value, loads.c.file).join(loads, loads.c.id == results.c.load_id).where(where).order_by(results.c.id)
    )
    rows = connection.execute(chosen).all()
    if rows:
        connection.execute(update(results).where(where).values(doubt_id=_text(connection, reason)))
    return [f"{row.file}: result {row.id} (value {row.value:.6g}): {reason}" for row in rows]


def _text(connection: Connection, reason: str) -> int:
    found = connection.execute(select(texts.c.id).where(texts.c.text == reason)).scalar()
    return int(found) if found is not None else connection.execute(insert(texts).values(text=reason).returning(texts.c.id)).scalar_one()
