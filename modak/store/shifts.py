"""Shifts of what runs take on a system: looked for whenever results of it change, and noted with the series that they concern, whose
results from before count as what they would be since."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, bindparam, case, select, update

from modak.facts import SeriesKey, Shifted, same_name
from modak.grouping import grouped
from modak.ingest.table import LAYOUT, UNKNOWN
from modak.results import failures, metrics
from modak.results.shifts import DAY, Shift, TimedRun, date_of, of_system, sentence
from modak.store.engine import chunks
from modak.store.schema import STANDING, meta, results, series
from modak.store.series import NUMBERED, SERIES_AT_ONCE, OwnNames, from_row

MOST_SERIES: Final = 500
"""Series of a system that are looked at: those that changed last."""
MOST_RUNS: Final = 2_000
"""Runs that are looked at, of all systems of a load."""


def review(connection: Connection, touched: Mapping[int, SeriesKey]) -> list[str]:
    """Look for shifts on the systems of these series. Series that one concerns have it noted from now on, and others no more. A sentence
    for each of all runs on a system, or of an application of these series."""
    own, said = OwnNames(connection), list[str]()
    named = grouped((number for number, key in touched.items() if key.system), lambda number: own.key(touched[number]).system or "")
    on_systems = {system: numbers for system, numbers in named.items() if _say_when(connection, numbers)}
    spelt = connection.scalars(select(series.c.system).where(series.c.system.is_not(None)).distinct()).all() if on_systems else ()
    most = MOST_RUNS // max(len(on_systems), 1)
    for system, numbers in on_systems.items():
        names, applications = own.called(system), {None, *(touched[number].application for number in numbers)}
        rows = _series(connection, [name for name in spelt if same_name(name) in names])
        runs = _runs(connection, rows, most)
        found = of_system(runs)
        read = {run.configuration[0] for run in runs}
        concerned = {number: one for name, one in found for number in _concerned(one, runs, name)}
        _note(connection, [row for row in rows if row.id in read or len(runs) < most], concerned)
        said += [sentence(one, system, name) for name, one in found if name in applications]
    return said


def _say_when(connection: Connection, numbers: Sequence[int]) -> bool:
    """Whether results of these series have times: most systems have none, and many results, which are not all looked at."""
    timed = select(results.c.id).where(results.c.measured_at != UNKNOWN).limit(1)
    return any(connection.execute(timed.where(results.c.series_id.in_(part))).first() for part in chunks(numbers, SERIES_AT_ONCE))


def noted(connection: Connection, application: str) -> tuple[Shifted, ...]:
    """The series of an application that have results from before and since a shift."""
    columns = (*NUMBERED, series.c.shifted_on, series.c.shift)
    rows = connection.execute(select(*columns).where(series.c.application == application, series.c.shift.is_not(None)))
    return tuple(Shifted(series=from_row(row), since=date_of(row.shifted_on), ratio=row.shift) for row in rows)


def _series(connection: Connection, systems: Sequence[str]) -> list[Row[Any]]:
    """The series of a system, by the spellings of its names, whose values are times or rates."""
    columns = (series.c.id, series.c.application, series.c.metric, series.c.unit, series.c.shifted_on, series.c.shift)
    newest: Select[Any] = select(*columns).where(series.c.system.in_(systems), series.c.metric.not_in(failures.METRICS))
    rows = connection.execute(newest.order_by(series.c.changed.desc(), series.c.id).limit(MOST_SERIES)).all()
    return [row for row in rows if (known := metrics.known_metric(row.metric, row.unit)) and known.tells_cost]


def _runs(connection: Connection, rows: Sequence[Row[Any]], most: int) -> list[TimedRun]:
    """The results of series, at most so many, whose time is known; without those that somebody confirmed as they are."""
    of = {row.id: (row.application, metrics.metric(row.metric, row.unit).cost) for row in rows}
    found = list[TimedRun]()
    columns = (results.c.series_id, *(results.c[name] for name in LAYOUT), results.c.measured_at, results.c.value)
    for part in chunks(list(of), SERIES_AT_ONCE):
        here = (results.c.series_id.in_(part), results.c.measured_at != UNKNOWN, results.c.by_hand == 0, STANDING)
        for *configuration, at, value in connection.execute(select(*columns).where(*here).limit(most - len(found))):
            application, cost = of[configuration[0]]
            found.append(TimedRun(application, tuple(configuration), at // DAY, cost(value)))
    return found


def _concerned(shift: Shift, runs: Sequence[TimedRun], application: str | None) -> Iterator[int]:
    """The series that have runs of both sides of a shift, unless these do not show it."""
    own = [run for run in runs if application in (None, run.application)]
    for number, several in grouped(own, lambda run: run.configuration[0]).items():
        if len({run.day < shift.day for run in several}) > 1 and shift.shows({run.configuration for run in several}):
            yield number


def value(connection: Connection, numbers: Sequence[int]) -> ColumnElement[float]:
    """The value of a result of one of these series; one from before a shift is what the run would give since then."""
    columns = (series.c.id, series.c.metric, series.c.unit, series.c.shifted_on, series.c.shift)
    rows = connection.execute(select(*columns).where(series.c.id.in_(numbers), series.c.shift.is_not(None))).all()
    scaled = []
    for row in rows:
        timed = (results.c.measured_at != UNKNOWN, results.c.measured_at < row.shifted_on * DAY, results.c.by_hand == 0)
        factor = 1 / row.shift if metrics.metric(row.metric, row.unit).is_rate else row.shift
        scaled.append((and_(results.c.series_id == row.id, *timed), results.c.value * factor))
    return case(*scaled, else_=results.c.value) if scaled else results.c.value


def _note(connection: Connection, rows: Sequence[Row[Any]], found: Mapping[int, Shift]) -> None:
    """Note shifts with their series, and none with the others; those in which that changes something are to be fitted again."""
    changed = [row.id for row in rows if not _is_noted(row, found.get(row.id))]
    if changed:
        of = ((number, found.get(number)) for number in changed)
        values = [{"number": number, "day": one and one.day, "ratio": one and one.ratio} for number, one in of]
        now = select(meta.c.number).scalar_subquery()
        noted = update(series).where(series.c.id == bindparam("number"))
        connection.execute(noted.values(shifted_on=bindparam("day"), shift=bindparam("ratio"), changed=now), values)


def _is_noted(row: Row[Any], found: Shift | None) -> bool:
    """Whether it is noted already, as large within its interval: not every further run has all series of a system fitted again."""
    if row.shift is None or found is None:
        return row.shift is None and found is None
    low, high = found.interval
    return bool(row.shifted_on == found.day and low <= row.shift <= high)
