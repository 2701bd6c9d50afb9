"""Fitted curves: stored as JSON with the count of changes that they are based on, and fitted again when a series has changed since."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Row, Select, delete, insert, or_, select, true, update

from modak import __version__
from modak.facts import Layout, SeriesKey
from modak.grouping import grouped
from modak.ingest.table import LAYOUT, layout
from modak.perfmodel.fitting import merging
from modak.perfmodel.fitting.cells import Cell, merge_cells
from modak.perfmodel.fitting.curves import FIT_VERSION, Curve, fit_cells
from modak.perfmodel.fitting.forms import fingerprint
from modak.store import shifts
from modak.store.engine import chunks
from modak.store.schema import STANDING, models, results, series
from modak.store.series import NUMBERED, SERIES_AT_ONCE, OwnNames, from_row, key_hash, of_same_runs

FITTED_BY: Final = f"{__version__}/{FIT_VERSION}/{fingerprint()}"
"""The version of the code that fitted a curve, and its forms; curves of another version are fitted again."""

_NAME: Final = re.compile("[0-9a-f]{12}")
_ROWS_AT_ONCE: Final = 20_000

Numbered = tuple[int, Curve]
"""The number of a series, and one of its curves."""


@dataclass(frozen=True)
class Fitted:
    """New curves of a series, and the count of changes that they are based on."""

    series_id: int
    changed: int
    curves: tuple[Curve, ...]


@dataclass(frozen=True)
class Snapshot:
    """All that curves are made of, from one state of the database: no connection is held while they are fitted."""

    stored: Sequence[tuple[int, str]]
    """Series, and a curve of it as JSON."""
    behind: Mapping[int, tuple[SeriesKey, int]]
    cells: Sequence[Cell]
    """Of the series that are behind."""


def read(connection: Connection, applications: Sequence[str] | None = None) -> Snapshot:
    """What there is of some applications (or of all) for :func:`newest`."""
    chosen = [_bodies().where(part) for part in _of(models.c.application, applications)]
    return _found(connection, chosen, stale(connection, applications))


def read_called(connection: Connection, name: str) -> Snapshot:
    """The same of the curve of this name: it, and all series that are behind, which may have it."""
    if not _NAME.fullmatch(name):
        return Snapshot((), {}, ())
    return _found(connection, [_bodies().where(models.c.name == name)], stale(connection))


def read_from(connection: Connection, first: int, most: int) -> tuple[Snapshot, frozenset[int]]:
    """The same for up to ``most`` series (one of :func:`chunks`) from the number ``first`` on; and their numbers, fewer at the end.

    Of the series that are behind, only those are included that are among these or may tell of the same runs as one of them.
    """
    rows = connection.execute(select(*NUMBERED).where(series.c.id >= first).order_by(series.c.id).limit(most)).all()
    numbers = frozenset(row.id for row in rows)
    return _found(connection, [_bodies().where(models.c.series_id.in_(numbers))], _stale_among(connection, rows)), numbers


def _bodies() -> Select[Any]:
    return select(models.c.series_id, models.c.body).order_by(models.c.series_id, models.c.id)


def _of(column: ColumnElement[str], applications: Sequence[str] | None) -> list[ColumnElement[bool]]:
    """Conditions, each short enough for every database, that it is one of these applications."""
    return [true()] if applications is None else [column.in_(part) for part in chunks(applications)]


def _found(connection: Connection, chosen: Iterable[Select[Any]], behind: Mapping[int, tuple[SeriesKey, int]]) -> Snapshot:
    stored = [(number, body) for part in chosen for number, body in connection.execute(part)]
    return Snapshot(stored, behind, list(_cells(connection, {number: key for number, (key, _) in behind.items()})))


def _cells(connection: Connection, keys: Mapping[int, SeriesKey]) -> Iterable[Cell]:
    """The cells of the series with these numbers, by series; one for all series that are one under their system's own name."""
    found: dict[tuple[str, Sequence[int]], Cell] = {}
    for numbers in chunks(list(keys), SERIES_AT_ONCE):
        of = shifts.noted(connection, numbers)
        shifted = {key_hash(keys[number]): one for number, one in of.items()}
        columns = (results.c.series_id, results.c.id, shifts.value(of), *(results.c[name] for name in LAYOUT))
        chosen = select(*columns).where(results.c.series_id.in_(numbers), STANDING)
        rows = connection.execute(chosen.order_by(results.c.series_id).execution_options(yield_per=_ROWS_AT_ONCE))
        for number, of_one in groupby(rows, key=itemgetter(0)):
            name = key_hash(keys[number])
            for _, identity, value, *place in of_one:
                at = (name, tuple(place))
                if at not in found:
                    found[at] = _cell(keys[number], layout(place), shifted.get(name))
                found[at].ids.append(identity)
                found[at].values.append(value)
    return found.values()


def _cell(key: SeriesKey, place: Layout, shifted: shifts.Noted | None) -> Cell:
    return Cell(key, place, shifted=shifted.last, unsure=shifted.unsure) if shifted else Cell(key, place)


def newest(found: Snapshot) -> tuple[tuple[Numbered, ...], tuple[Fitted, ...]]:
    """The curves as the data stood, each with the number of its series, in that order; and what was fitted for that just now.

    Nothing is stored.
    """
    fitted = _refitted(found) if found.behind else ()
    curves = [(number, Curve.model_validate_json(body)) for number, body in found.stored if number not in found.behind]
    curves += [(one.series_id, curve) for one in fitted for curve in one.curves]
    return tuple(sorted(curves, key=itemgetter(0))), fitted


BEHIND: Final = or_(series.c.fitted.is_(None), series.c.fitted != series.c.changed, series.c.fitted_by != FITTED_BY)
"""Series whose results changed since they were fitted, or that another version fitted."""


def stale(connection: Connection, applications: Sequence[str] | None = None) -> dict[int, tuple[SeriesKey, int]]:
    """Series that are :data:`BEHIND`, with their count of changes; under their systems' own names.

    Series that may tell of the same runs are included: which of them are fitted together may have changed, too.
    """
    chosen = select(*NUMBERED).add_columns(series.c.changed).where(BEHIND)
    rows = [row for part in _of(series.c.application, applications) for row in connection.execute(chosen.where(part))]
    if not rows:
        return {}
    own = OwnNames(connection)
    changed = {row.id: (own.key(from_row(row)), row.changed) for row in rows}
    return changed | of_same_runs(connection, [key for key, _ in changed.values()], own, skip=changed)


def _stale_among(connection: Connection, rows: Sequence[Row[Any]]) -> dict[int, tuple[SeriesKey, int]]:
    """The same for one of :func:`chunks` of series and those of the same runs: few are read, also if tens of thousands are behind."""
    names = {row.application for row in rows}
    behind = set(connection.scalars(select(series.c.id).where(BEHIND, series.c.application.in_(names))))
    if not behind:
        return {}
    related = of_same_runs(connection, [from_row(row) for row in rows], OwnNames(connection))
    runs = {merging.run_key(key) for number, (key, _) in related.items() if number in behind}
    return {number: one for number, one in related.items() if merging.run_key(one[0]) in runs}


def _refitted(found: Snapshot) -> tuple[Fitted, ...]:
    """Newly fitted curves by series; those of merged series belong to the first of these."""
    by_series = grouped(fit_cells(merge_cells(found.cells)), lambda curve: key_hash(curve.series))
    destinations = merging.destinations({key_hash(cell.series): cell.series for cell in found.cells}.values())
    curves: dict[int, list[Curve]] = {}
    for number, (key, _) in sorted(found.behind.items()):
        merged_into = (key_hash(to.series) for to in destinations.get(key, ()))
        curves[number] = [curve for name in merged_into for curve in by_series.pop(name, [])]
    return tuple(Fitted(number, changed, tuple(curves[number])) for number, (_, changed) in found.behind.items())


def keep(connection: Connection, fitted: Sequence[Fitted]) -> None:
    """Store curves, except of series that have changed again since they were fitted, or whose newest results a newer version has fitted."""
    for part in chunks(fitted):
        columns = (series.c.id, series.c.changed, series.c.fitted, series.c.fitted_by)
        chosen = select(*columns).where(series.c.id.in_([one.series_id for one in part]))
        there = connection.execute(chosen).all()
        changed = {row.id: row.changed for row in there if row.fitted != row.changed or not _newer(row.fitted_by)}
        same = [one for one in part if changed.get(one.series_id) == one.changed]
        numbers = [one.series_id for one in same]
        mark = update(series).where(series.c.id.in_(numbers)).values(fitted=series.c.changed, fitted_by=FITTED_BY)
        connection.execute(mark)
        connection.execute(delete(models).where(models.c.series_id.in_(numbers)))
        rows = [
            {"series_id": one.series_id, "application": curve.series.application, "body": curve.model_dump_json(), "name": curve.name}
            for one in same
            for curve in one.curves
        ]
        if rows:
            connection.execute(insert(models), rows)


def _newer(fitted_by: str) -> bool:
    """Whether a newer version fitted a series. While two versions use one database, the older one fits in memory only: otherwise each
    would undo the other's work at every use."""
    # the version of MODAK and that of the fit, without the forms
    theirs, ours = ([int(number) for number in re.findall("[0-9]+", by.rpartition("/")[0])] for by in (fitted_by, FITTED_BY))
    return theirs > ours
