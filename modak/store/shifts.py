"""Shifts of what runs take on a system: looked for whenever results of it change, and noted with the series that they concern, whose
results from before count as what they would be since."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, bindparam, case, func, select, update

from modak.facts import NotedShift, SeriesKey, canonical_name
from modak.grouping import grouped
from modak.ingest.table import LAYOUT, UNKNOWN
from modak.results import failures, metrics
from modak.results.shifts import DAY, Configuration, Shift, TimedRun, date_of, of_system, sentence
from modak.store.engine import chunks
from modak.store.schema import STANDING, meta, results, series
from modak.store.series import COLUMNS, SERIES_AT_ONCE, OwnNames

MOST_SERIES: Final = 500
"""Series of a system that are looked at: of those that ran on several days the ones that got results last."""
MOST_RUNS: Final = 2_000
"""Runs of these that are looked at: of more about so many, of all times."""
_PARTS: Final = 10_007
"""Over so many parts numbers are spread; a prime, so that the results of a configuration are in all of them, whatever the order of a
table ..."""
_MIXED: Final = 7_919
"""... by multiplying them with this."""
_OF_RUNS: Final = tuple(series.c[name] for name in COLUMNS if name not in ("system", "metric", "unit"))
"""What is equal in series that tell of the same runs on a system."""
_TIMED: Final = and_(results.c.measured_at != UNKNOWN, results.c.by_hand == 0)
"""Results whose time is known, without those that somebody confirmed as they are."""


class _Step(NamedTuple):
    """A shift, as it is noted with a series."""

    day: int
    ratio: float
    error: float
    """The standard error of the logarithm of the ratio for this series."""
    of_all: bool
    """Whether it is of all runs on the system, and not of this application."""
    sure: bool = True
    """Otherwise it may pass, and runs may take as long as before or as since then."""

    @property
    def scale(self) -> float:
        """What values from before are multiplied by: of two levels that may be, they are in the middle."""
        return self.ratio if self.sure else math.sqrt(self.ratio)

    @property
    def unsure(self) -> float:
        """The standard error of the logarithm of that."""
        return self.error if self.sure else math.hypot(self.error, math.log(self.scale))


class Noted(NamedTuple):
    """The shifts that a series has results from before of."""

    is_rate: bool
    steps: Sequence[_Step]
    """In order."""

    @property
    def last(self) -> NotedShift:
        """The last of them."""
        last = self.steps[-1]
        return NotedShift(since=date_of(last.day), ratio=last.ratio, sure=last.sure)

    @property
    def scales(self) -> tuple[tuple[int, float], ...]:
        """What values from before each day are multiplied by."""
        return tuple((step.day, step.scale) for step in self.steps)

    @property
    def unsure(self) -> float:
        """The standard error of the logarithm of what the oldest values are multiplied by."""
        return math.hypot(*(step.unsure for step in self.steps))


class _Span(NamedTuple):
    """How many such results a series has, when the first and the last of them was measured, and the load that the newest came with."""

    runs: int
    first: int
    last: int
    load: int


def review(connection: Connection, touched: Mapping[int, SeriesKey]) -> list[str]:
    """Look for shifts on the systems of these series. Series that some concern have them noted from now on, and others no more. A sentence
    for each of all runs on a system, or of an application of these series."""
    own, said = OwnNames(connection), list[str]()
    named = grouped((number for number, key in touched.items() if key.system), lambda number: own.called(touched[number].system or ""))
    on_systems = {names: numbers for names, numbers in named.items() if _say_when(connection, numbers)}
    spelt = connection.scalars(select(series.c.system).where(series.c.system.is_not(None)).distinct()).all() if on_systems else ()
    for names, numbers in on_systems.items():
        there = series.c.system.in_([name for name in spelt if canonical_name(name) in names])
        spans = _spans(connection, there)
        several = _looked_at(connection, spans)
        found = of_system(_runs(connection, several, spans))
        _note(connection, there, found, several, spans)
        system = own.key(touched[numbers[0]]).system or ""
        loaded = {None, *(touched[number].application for number in numbers)}
        said += [sentence(shift, system, name) for name, shift in found if name in loaded]
    return said


def _say_when(connection: Connection, numbers: Sequence[int]) -> bool:
    """Whether results of these series have times: most systems have none, and many results, which are not all looked at."""
    timed = select(results.c.id).where(results.c.measured_at != UNKNOWN).limit(1)
    return any(connection.execute(timed.where(results.c.series_id.in_(part))).first() for part in chunks(numbers, SERIES_AT_ONCE))


def _spans(connection: Connection, there: ColumnElement[bool]) -> dict[int, _Span]:
    """Those of the series on a system that have such results."""
    extent = (func.count(), func.min(results.c.measured_at), func.max(results.c.measured_at), func.max(results.c.load_id))
    of_system = results.c.series_id.in_(select(series.c.id).where(there, series.c.metric.not_in(failures.METRICS)))
    each = select(results.c.series_id, *extent).where(of_system, _TIMED, STANDING).group_by(results.c.series_id)
    return {number: _Span(*span) for number, *span in connection.execute(each).all()}


def _looked_at(connection: Connection, spans: Mapping[int, _Span]) -> dict[int, Configuration]:
    """The series that are looked at, each with what is equal for its runs at one layout."""
    order = {number: (one.first // DAY == one.last // DAY, -one.load, number * _MIXED % _PARTS) for number, one in spans.items()}
    several = sorted(spans, key=order.__getitem__)
    columns = (series.c.id, series.c.application, series.c.metric, series.c.unit, *_OF_RUNS)
    rows = connection.execute(select(*columns).where(series.c.id.in_(several[:MOST_SERIES])).order_by(series.c.id))
    found, runs = dict[int, Configuration](), dict[tuple[object, ...], int]()
    for number, application, metric, unit, *of_run in rows:
        if _tells_cost(metric, unit):
            found[number] = Configuration(application, (runs.setdefault(tuple(of_run), number),), (metric, unit))
    return found


@lru_cache(maxsize=1024)  # thousands of series have few
def _tells_cost(metric: str, unit: str) -> bool:
    """Whether values are times or rates: energy and memory are not scaled by what runs take."""
    known = metrics.known_metric(metric, unit)
    return known is not None and known.tells_cost


def _runs(connection: Connection, several: Mapping[int, Configuration], spans: Mapping[int, _Span]) -> list[TimedRun]:
    """The runs of these series that are looked at."""
    count = sum(spans[number].runs for number in several)
    columns = (results.c.series_id, *(results.c[name] for name in LAYOUT), results.c.measured_at, results.c.value)
    chosen = select(*columns).where(results.c.series_id.in_(list(several)), _TIMED, STANDING)
    if count > MOST_RUNS:
        chosen = chosen.where(results.c.id % _PARTS * _MIXED % _PARTS < _PARTS * MOST_RUNS // count)
    cost = {number: metrics.metric(*one.metric).cost for number, one in several.items()}
    found = list[TimedRun]()
    for number, *place, at, value in connection.execute(chosen):
        one = several[number]
        found.append(TimedRun(one._replace(run=(*one.run, *place)), at // DAY, cost[number](value)))
    return found


def noted(connection: Connection, numbers: Sequence[int]) -> dict[int, Noted]:
    """Those of these series that have results from before a shift."""
    columns = (series.c.id, series.c.metric, series.c.unit, series.c.shifts)
    rows = connection.execute(select(*columns).where(series.c.id.in_(numbers), series.c.shifts.is_not(None)))
    steps = ((row, [_Step(*step) for step in json.loads(row.shifts)]) for row in rows)
    return {row.id: Noted(metrics.metric(row.metric, row.unit).is_rate, several) for row, several in steps}


def value(of: Mapping[int, Noted]) -> ColumnElement[float]:
    """The value of a result; if it is from before shifts, what the run would give since then."""
    scaled = []
    for (is_rate, steps), numbers in grouped(of, lambda number: (of[number].is_rate, of[number].scales)).items():
        factor = 1.0
        for day, ratio in reversed(steps):
            factor *= 1 / ratio if is_rate else ratio
            scaled.append((and_(results.c.series_id.in_(numbers), _TIMED, results.c.measured_at < day * DAY), factor))
    return results.c.value * case(*reversed(scaled), else_=1.0) if scaled else results.c.value


def _note(
    connection: Connection,
    there: ColumnElement[bool],
    found: Sequence[tuple[str | None, Shift]],
    several: Mapping[int, Configuration],
    spans: Mapping[int, _Span],
) -> None:
    """Note shifts with the series on a system, and that others have none; those in which that changes something are to be fitted again."""
    chosen = select(series.c.id, series.c.application, series.c.metric, series.c.unit, series.c.shifts).where(there)
    rows = connection.execute(chosen if found else chosen.where(series.c.shifts.is_not(None))).all()
    own = grouped((one for _, shift in found for one in shift.ratios), lambda one: (one.run[0], one.metric))
    looked_at = {one.application for one in several.values()}

    @cache  # most series are like others
    def steps(shown: str | None, application: str, of_series: Sequence[Configuration], before: Sequence[bool] | None) -> str | None:
        """What is noted with a series of which results are from ``before`` these shifts (``None``: it has none), and so much is ``shown``
        now. Of an application that is not looked at, its own stay."""
        concern = [shift for shift, before_it in zip(found, before or (), strict=False) if before_it and shift[0] in (None, application)]
        unsure = [(name, shift, error) for name, shift in concern if (error := shift.unsure(of_series, application)) is not None]
        known = [_Step(*step) for step in json.loads(shown or "[]")]
        if before is not None and application not in looked_at and not any(name is None for name, _ in found):
            now = [step for step in known if not step.of_all]
        else:
            now = [_Step(shift.day, shift.ratio, error, name is None, shift.sure) for name, shift, error in unsure]
            if _are_noted(known, now, [shift for _, shift, _ in unsure]):
                return shown
        return json.dumps(now) if now else None

    days, changed = [shift.day * DAY for _, shift in found], []
    for number, application, metric, unit, shown in rows:
        one, span = several.get(number), spans.get(number) if _tells_cost(metric, unit) else None
        of_series = tuple(own.get((one.run[0], one.metric), ())) if one else ()
        told = steps(shown, application, of_series, tuple(span.first < day for day in days) if span else None)
        if told != shown:
            changed.append({"number": number, "steps": told})
    if changed:
        at = select(meta.c.number).scalar_subquery()
        each = update(series).where(series.c.id == bindparam("number"))
        connection.execute(each.values(shifts=bindparam("steps"), changed=at), changed)


def _are_noted(noted: Sequence[_Step], now: Sequence[_Step], shifts: Sequence[Shift]) -> bool:
    """Whether shifts are noted already, as large within their intervals: not every further run has all series of a system fitted again."""
    return len(noted) == len(now) and all(
        old.day == new.day and low <= old.ratio <= high and (old.error > 0, *old[3:]) == (new.error > 0, *new[3:])
        for old, new, (low, high) in zip(noted, now, (shift.interval for shift in shifts), strict=True)
    )
