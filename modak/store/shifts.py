"""Shifts of what runs take on a system: looked for whenever results of it change, and noted with the series that they concern, whose
results from before count as what they would be since."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, bindparam, case, func, select, update

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
"""Runs of these that are looked at: of more about so many, of all times."""
_PARTS: Final = 10_007
"""Over so many parts the numbers of results are spread; a prime, so that those of a configuration are in all of them, whatever the order of
a table."""


def review(connection: Connection, touched: Mapping[int, SeriesKey]) -> list[str]:
    """Look for shifts on the systems of these series. Series that one concerns have it noted from now on, and others no more. A sentence
    for each of all runs on a system, or of an application of these series."""
    own, said = OwnNames(connection), list[str]()
    named = grouped((number for number, key in touched.items() if key.system), lambda number: own.called(touched[number].system or ""))
    on_systems = {names: numbers for names, numbers in named.items() if _say_when(connection, numbers)}
    spelt = connection.scalars(select(series.c.system).where(series.c.system.is_not(None)).distinct()).all() if on_systems else ()
    for names, numbers in on_systems.items():
        rows = _series(connection, [name for name in spelt if same_name(name) in names])
        one = _together(connection, own, rows)
        count, spans = _spans(connection, one)
        runs = _runs(connection, rows, one, count)
        found = of_system(runs)
        of = {one[row.id]: row.application for row in rows}
        concerned = {number: shift for name, shift in found for number in _concerned(shift, runs, spans) if name in (None, of[number])}
        _note(connection, [(row, concerned.get(one[row.id])) for row in rows])
        system = own.key(touched[numbers[0]]).system or ""
        loaded = {None, *(touched[number].application for number in numbers)}
        said += [sentence(shift, system, name) for name, shift in found if name in loaded]
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
    columns = (*NUMBERED, series.c.shifted_on, series.c.shift)
    newest: Select[Any] = select(*columns).where(series.c.system.in_(systems), series.c.metric.not_in(failures.METRICS))
    rows = connection.execute(newest.order_by(series.c.changed.desc(), series.c.id).limit(MOST_SERIES)).all()
    return [row for row in rows if (known := metrics.known_metric(row.metric, row.unit)) and known.tells_cost]


def _together(connection: Connection, own: OwnNames, rows: Sequence[Row[Any]]) -> dict[int, int]:
    """The number under which the results of each series count: the same for series that are one, because names of their system mean the
    same."""
    several = len({same_name(row.system) for row in rows}) > 1
    one = own.together(connection, {row.id: from_row(row) for row in rows}) if several else {}
    return {row.id: one.get(row.id, (row.id,))[0] for row in rows}


def _timed(one: Mapping[int, int]) -> ColumnElement[bool]:
    """The results of these series whose time is known, without those that somebody confirmed as they are."""
    return and_(results.c.series_id.in_(list(one)), results.c.measured_at != UNKNOWN, results.c.by_hand == 0, STANDING)


def _spans(connection: Connection, one: Mapping[int, int]) -> tuple[int, dict[int, tuple[int, int]]]:
    """How many such results there are, and when the first and the last of each series was measured."""
    extent = (func.count(), func.min(results.c.measured_at), func.max(results.c.measured_at))
    total, found = 0, dict[int, tuple[int, int]]()
    each = select(results.c.series_id, *extent).where(_timed(one)).group_by(results.c.series_id)
    for number, count, first, last in connection.execute(each):
        total += count
        earlier, later = found.get(one[number], (first, last))
        found[one[number]] = (min(first, earlier), max(last, later))
    return total, found


def _runs(connection: Connection, rows: Sequence[Row[Any]], one: Mapping[int, int], count: int) -> list[TimedRun]:
    """Such results, which are so many; ``one``: the number under which those of a series count."""
    of = {row.id: (row.application, metrics.metric(row.metric, row.unit).cost) for row in rows}
    columns = (results.c.series_id, *(results.c[name] for name in LAYOUT), results.c.measured_at, results.c.value)
    chosen = select(*columns).where(_timed(one))
    if count > MOST_RUNS:
        chosen = chosen.where(results.c.id % _PARTS * 7_919 % _PARTS < _PARTS * MOST_RUNS // count)
    found = list[TimedRun]()
    for number, *place, at, value in connection.execute(chosen):
        application, cost = of[number]
        found.append(TimedRun(application, (one[number], *place), at // DAY, cost(value)))
    return found


def _concerned(shift: Shift, runs: Sequence[TimedRun], spans: Mapping[int, tuple[int, int]]) -> Iterator[int]:
    """The series that have results of both sides of a shift, unless these do not show it."""
    own = grouped((run.configuration for run in runs), itemgetter(0))
    for number, (first, last) in spans.items():
        if first < shift.day * DAY <= last and shift.shows(set(own.get(number, ()))):
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


def _note(connection: Connection, found: Iterable[tuple[Row[Any], Shift | None]]) -> None:
    """Note shifts with their series, and that others have none; those in which that changes something are to be fitted again."""
    changed = [(row.id, shift) for row, shift in found if not _is_noted(row, shift)]
    if changed:
        values = [{"number": number, "day": shift and shift.day, "ratio": shift and shift.ratio} for number, shift in changed]
        now = select(meta.c.number).scalar_subquery()
        noted = update(series).where(series.c.id == bindparam("number"))
        connection.execute(noted.values(shifted_on=bindparam("day"), shift=bindparam("ratio"), changed=now), values)


def _is_noted(row: Row[Any], found: Shift | None) -> bool:
    """Whether it is noted already, as large within its interval: not every further run has all series of a system fitted again."""
    if row.shift is None or found is None:
        return row.shift is None and found is None
    low, high = found.interval
    return bool(row.shifted_on == found.day and low <= row.shift <= high)
