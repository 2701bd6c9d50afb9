"""Fitted curves: kept as JSON beside the count of changes that they saw, and fitted anew where a series changed since."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, not_, or_, select, update

from modak import __version__
from modak.facts import SeriesKey
from modak.perfmodel import unsaid
from modak.perfmodel.curves import FIT_VERSION, Cell, Curve, fit_cells, gathered
from modak.store.cells import cells
from modak.store.schema import models, series
from modak.store.series import COLUMNS, from_row, key_hash

FITTED_BY = f"{__version__}/{FIT_VERSION}"
"""Which code fitted a curve; curves of other code are fitted anew."""


@dataclass(frozen=True)
class Fitted:
    """New curves of a series, and what they rest on."""

    series_id: int
    changed: int
    curves: tuple[Curve, ...]


@dataclass(frozen=True)
class Found:
    """All that curves are made of, as one state of the database has it: who fits them holds no connection meanwhile."""

    stored: Sequence[tuple[int, str]]
    """Series, and a curve of it as JSON."""
    behind: Mapping[int, tuple[SeriesKey, int]]
    cells: Sequence[Cell]
    """Of those that are behind."""


def read(connection: Connection, application: str | None = None) -> Found:
    """What there is of one application (or of all) for :func:`newest`."""
    behind = stale(connection, application)
    chosen = select(models.c.series_id, models.c.body).order_by(models.c.series_id, models.c.id)
    if application is not None:
        chosen = chosen.where(models.c.application == application)
    stored = [(number, body) for number, body in connection.execute(chosen)]
    return Found(stored, behind, list(cells(connection, {number: key for number, (key, _) in behind.items()})))


def newest(found: Found) -> tuple[tuple[Curve, ...], tuple[Fitted, ...]]:
    """The curves as the data stood, by series; and what was fitted for that just now. Nothing is stored."""
    fitted = _refitted(found) if found.behind else ()
    curves = [(number, Curve.model_validate_json(body)) for number, body in found.stored if number not in found.behind]
    curves += [(one.series_id, curve) for one in fitted for curve in one.curves]
    return tuple(curve for _, curve in sorted(curves, key=lambda pair: pair[0])), fitted


def stale(connection: Connection, application: str | None = None) -> dict[int, tuple[SeriesKey, int]]:
    """Series whose results changed since they were fitted (or that another version fitted), with their count of changes.

    And those that may tell of the same runs: which of them are fitted together may have changed, too.
    """
    behind = or_(series.c.fitted.is_(None), series.c.fitted != series.c.changed, series.c.fitted_by != FITTED_BY)
    columns = (series.c.id, series.c.changed, *(series.c[name] for name in COLUMNS))
    chosen = select(*columns) if application is None else select(*columns).where(series.c.application == application)
    changed = {row.id: (from_row(row), row.changed) for row in connection.execute(chosen.where(behind))}
    if not changed:
        return changed
    names, kin = {key.application for key, _ in changed.values()}, {unsaid.kin(key) for key, _ in changed.values()}
    rows = (row for row in connection.execute(chosen.where(not_(behind))) if row.application in names)
    others = ((row.id, from_row(row), row.changed) for row in rows)
    return changed | {number: (key, count) for number, key, count in others if unsaid.kin(key) in kin}


def _refitted(found: Found) -> tuple[Fitted, ...]:
    """Series that tell of one run have their curves at the first of them."""
    by_series: dict[str, list[Curve]] = defaultdict(list)
    for curve in fit_cells(gathered(found.cells)):
        by_series[key_hash(curve.series)].append(curve)
    places = unsaid.together({key_hash(cell.series): cell.series for cell in found.cells}.values())
    into = {number: places.get(key.model_dump_json(), ()) for number, (key, _) in sorted(found.behind.items())}
    curves = {number: [one for place in to for one in by_series.pop(key_hash(place.series), [])] for number, to in into.items()}
    return tuple(Fitted(number, changed, tuple(curves.get(number, ()))) for number, (_, changed) in found.behind.items())


def keep(connection: Connection, fitted: Sequence[Fitted]) -> None:
    """Store curves, unless their series changed again since they were fitted."""
    for one in fitted:
        mark = update(series).where(series.c.id == one.series_id, series.c.changed == one.changed)
        if not connection.execute(mark.values(fitted=one.changed, fitted_by=FITTED_BY)).rowcount:
            continue
        connection.execute(delete(models).where(models.c.series_id == one.series_id))
        rows = [
            {"series_id": one.series_id, "application": curve.series.application, "body": curve.model_dump_json()} for curve in one.curves
        ]
        if rows:
            connection.execute(insert(models), rows)
