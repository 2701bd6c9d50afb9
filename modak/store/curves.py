"""Fitted curves: kept as JSON beside the count of changes that they saw, and fitted anew where a series changed since."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, or_, select, update

from modak import __version__
from modak.facts import SeriesKey
from modak.perfmodel.curves import FIT_VERSION, Curve, fit_cells
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


def newest(connection: Connection, application: str | None = None) -> tuple[tuple[Curve, ...], tuple[Fitted, ...]]:
    """Curves of one application (or of all) as the data stands, by series; and what was fitted for that just now."""
    behind = stale(connection, application)
    fitted = refitted(connection, behind) if behind else ()
    found = [(number, curve) for number, curve in _stored(connection, application) if number not in behind]
    found += [(one.series_id, curve) for one in fitted for curve in one.curves]
    return tuple(curve for _, curve in sorted(found, key=lambda pair: pair[0])), fitted


def _stored(connection: Connection, application: str | None) -> Iterator[tuple[int, Curve]]:
    chosen = select(models.c.series_id, models.c.body).order_by(models.c.series_id, models.c.id)
    if application is not None:
        chosen = chosen.where(models.c.application == application)
    for number, body in connection.execute(chosen):
        yield number, Curve.model_validate_json(body)


def stale(connection: Connection, application: str | None = None) -> dict[int, tuple[SeriesKey, int]]:
    """Series whose results changed since they were fitted (or that another version fitted), with their count of changes."""
    behind = or_(series.c.fitted.is_(None), series.c.fitted != series.c.changed, series.c.fitted_by != FITTED_BY)
    chosen = select(series.c.id, series.c.changed, *(series.c[name] for name in COLUMNS)).where(behind)
    if application is not None:
        chosen = chosen.where(series.c.application == application)
    return {row.id: (from_row(row), row.changed) for row in connection.execute(chosen)}


def refitted(connection: Connection, found: Mapping[int, tuple[SeriesKey, int]]) -> tuple[Fitted, ...]:
    """The curves of these series, fitted now; nothing is stored."""
    by_series: dict[str, list[Curve]] = defaultdict(list)
    for curve in fit_cells(cells(connection, {number: key for number, (key, _) in found.items()})):
        by_series[key_hash(curve.series)].append(curve)
    return tuple(Fitted(number, changed, tuple(by_series[key_hash(key)])) for number, (key, changed) in found.items())


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
