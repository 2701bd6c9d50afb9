"""Rows that models do not use until somebody confirms them: those that look wrong beside others, and those that somebody doubts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final

from sqlalchemy import Connection, Row, Select, and_, func, insert, or_, select, update

from modak.errors import DataError, NotFound, nearest
from modak.facts import SeriesKey
from modak.ingest.table import LAYOUT, layout
from modak.results import metrics, suspicion
from modak.results.suspicion import Cell
from modak.store.chunks import chunks
from modak.store.schema import loads, results, series, texts
from modak.store.series import by_number
from modak.text.amounts import listed
from modak.text.numbering import Selection

_AT_ONCE: Final = 200
"""Series in one query."""
_JUDGED: Final = and_(results.c.replaced_by == 0, results.c.suspect_id == 0, or_(results.c.doubt_id == 0, results.c.by_hand == 0))
"""All rows but those that their file or somebody doubts."""
_SHOWN: Final = 10
"""Numbers that a message lists."""
_NAMES: Final = 1_000
"""Files, the newest, among which a name that is none may be a slip."""


@dataclass
class Reviewed:
    """What a review changed."""

    doubted: list[str] = field(default_factory=list)
    """A line for each result that looks wrong now and did not before, with the reason."""
    lifted: int = 0
    """How many results look wrong no more."""


def review(connection: Connection, touched: Mapping[int, SeriesKey]) -> Reviewed:
    """Judge the results of these series by all that is stored of them, in whatever order it came; what somebody said of a result stays."""
    found, changes = Reviewed(), defaultdict[int, list[int]](list)
    doubt_ids = {"": 0}
    for numbers in chunks(list(touched), _AT_ONCE):
        for number, cells in groupby(_cells(connection, numbers), key=lambda cell: cell.series_id):
            for row, reason in _judged(connection, touched[number], list(cells)):
                if reason not in doubt_ids:
                    doubt_ids[reason] = _text(connection, reason)
                if row.doubt_id == doubt_ids[reason]:
                    continue
                changes[doubt_ids[reason]].append(row.id)
                if not row.doubt_id:
                    found.doubted.append(f"{row.file}: result {row.id} (value {row.value:.6g}): {reason}")
                found.lifted += not reason
    for doubt_id, ids in changes.items():
        for part in chunks(ids):
            connection.execute(update(results).where(results.c.id.in_(part)).values(doubt_id=doubt_id))
    return found


def settle(connection: Connection, chosen: Selection, why: str | None, changed: Callable[[], int]) -> int:
    """Doubt the chosen results for a reason, or confirm them (``None``); returns how many that changes. Replaced ones stay as they are.

    From now on loading judges the other results of their series only. ``changed`` counts the change and returns its number, which marks
    the series. Raises :class:`modak.errors.NotFound` for numbers that no result has, and for a file that nothing was loaded from.
    """
    opposite = results.c.doubt_id == 0 if why else results.c.doubt_id != 0
    parts = [and_(part, results.c.replaced_by == 0, or_(opposite, results.c.by_hand == 0)) for part in _parts(connection, chosen)]
    touched = sorted({number for part in parts for number in connection.scalars(select(results.c.series_id).where(part).distinct())})
    if not touched:
        return 0
    number = changed()
    for numbers in chunks(touched):
        connection.execute(update(series).where(series.c.id.in_(numbers)).values(changed=number))
    count = sum(connection.execute(select(func.count()).where(part, opposite)).scalar_one() for part in parts)
    said = {"doubt_id": _text(connection, why) if why else 0, "by_hand": 1}
    for part in parts:
        connection.execute(update(results).where(part).values(said))
    review(connection, by_number(connection, series.c.changed == number))
    return count


def doubted(connection: Connection, application: str) -> int:
    """How many results of an application are doubted, but not by their file."""
    chosen = select(func.count()).select_from(results).join(series, series.c.id == results.c.series_id)
    of_it = and_(series.c.application == application, results.c.replaced_by == 0)
    return connection.execute(chosen.where(of_it, results.c.suspect_id == 0, results.c.doubt_id != 0)).scalar_one()


def _parts(connection: Connection, chosen: Selection) -> list[Any]:
    """The chosen results as conditions, each short enough for every database."""
    if not isinstance(chosen, str):
        parts = [results.c.id.in_(numbers) for numbers in chunks(sorted(set(chosen)))]  # each counts once
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


def _cells(connection: Connection, numbers: Sequence[int]) -> Sequence[Row[Any]]:
    """The layouts of these series, by series: least and greatest value, whether one is doubted, and whether one is confirmed."""
    columns = (results.c.series_id, *(results.c[name] for name in LAYOUT))
    extent = (func.min(results.c.value).label("least"), func.max(results.c.value).label("most"))
    said = (func.max(results.c.doubt_id).label("doubted"), func.max(results.c.by_hand).label("confirmed"))
    chosen: Select[Any] = select(*columns, *extent, *said).where(results.c.series_id.in_(numbers), _JUDGED).group_by(*columns)
    return connection.execute(chosen.order_by(results.c.series_id)).all()


def _judged(connection: Connection, key: SeriesKey, places: Sequence[Row[Any]]) -> Iterator[tuple[Row[Any], str]]:
    """The results of a series that look wrong, or did so before, each with the reason (empty: none any more)."""
    measured = _metric(key)
    rate, scales = measured is not None and measured.kind == "throughput", measured is not None and measured.kind != "other"
    wide = {at: _rows(connection, place) for at, place in enumerate(places) if place.most > suspicion.FACTOR * place.least}
    middles = {at: suspicion.middle([row.value for row in rows]) for at, rows in wide.items()}
    cells, halves = dict[int, Cell](), dict[int, list[Cell]]()
    for at, place in enumerate(places):
        rows = wide.get(at, ())
        if rows and all(suspicion.outlier(row.value, middles[at]) for row in rows):  # as two runs are of which one slipped
            sides = [[row for row in rows if (row.value > middles[at]) == above] for above in (False, True)]
            halves[at] = [_cell(place, [row.value for row in side], any(row.by_hand for row in side), rate) for side in sides]
        else:
            cells[at] = _cell(place, [row.value for row in rows] or (place.least, place.most), bool(place.confirmed), rate)
    right = {at: suspicion.right_half(sides, list(cells.values()), scales=scales, rate=rate) for at, sides in halves.items()}
    for at, half in right.items():
        if half:
            cells[at], middles[at] = half, 1 / half.cost if rate else half.cost
    numbers = list(cells)
    found = suspicion.doubts(list(cells.values()), scales=scales, rate=rate)
    reasons = {numbers[number]: reason for number, reason in found.items()}
    for at, place in enumerate(places):
        if at in wide or at in reasons or place.doubted:
            for row in wide.get(at) or _rows(connection, place):
                outlying = suspicion.outlier(row.value, middles[at]) if at in middles else None
                if not row.by_hand:
                    yield row, reasons.get(at) or outlying or ""


def _cell(place: Row[Any], values: Sequence[float], confirmed: bool, rate: bool) -> Cell:
    """These runs of a layout; ``rate``: whether their cost is the inverse of their values."""
    middle = suspicion.middle(values)
    where = layout([getattr(place, name) for name in LAYOUT])
    return Cell(where, 1 / middle if rate else middle, (min(values), max(values)), confirmed)


def _metric(key: SeriesKey) -> metrics.Metric | None:
    try:
        return metrics.metric(key.metric, key.unit)
    except DataError:
        return None


def _rows(connection: Connection, place: Row[Any]) -> Sequence[Row[Any]]:
    """The results of a series with one layout."""
    here = (results.c.series_id == place.series_id, *(results.c[name] == getattr(place, name) for name in LAYOUT))
    columns = (results.c.id, results.c.value, results.c.doubt_id, results.c.by_hand, loads.c.file)
    chosen: Select[Any] = select(*columns).join(loads, loads.c.id == results.c.load_id).where(*here, _JUDGED)
    return connection.execute(chosen.order_by(results.c.id)).all()


def _text(connection: Connection, reason: str) -> int:
    found = connection.execute(select(texts.c.id).where(texts.c.text == reason)).scalar()
    return int(found) if found is not None else connection.execute(insert(texts).values(text=reason).returning(texts.c.id)).scalar_one()
