"""Rows that models do not use until somebody confirms them: those that look wrong beside others, and those that somebody doubts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final, Literal, NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, case, func, or_, select, update

from modak.errors import NotFound, RequestError, nearest_name
from modak.facts import DoubtedResults, Layout, SeriesKey, System, canonical_name
from modak.ingest.table import LAYOUT, layout
from modak.ingest.values import reader
from modak.results import failures, metrics, suspicion
from modak.results.suspicion import LayoutRuns
from modak.store import catalogue, replacing, samejobs, shifts
from modak.store.engine import chunks
from modak.store.schema import DOUBTED, JUDGED, LEFT_OUT, loads, meta, now, results, series
from modak.store.series import SERIES_AT_ONCE, OwnNames, by_number, carrying, text_ids
from modak.text.amounts import join_names
from modak.text.numbering import Measured, Selection

Judgement = Literal["confirm", "doubt", "unmark"]
"""What somebody does to results; ``unmark`` takes back either of the others, so that loading judges them again."""
_DAY: Final = 24 * 3600 * 1_000_000
"""Microseconds."""
_SHOWN: Final = 10
"""Numbers that a message lists."""
_NAMES: Final = 1_000
"""Files, the newest, among which a name that is none may be a slip."""


@dataclass
class Reviewed:
    """What a review changed."""

    doubted: list[str] = field(default_factory=list)
    """A line for each result that looks wrong now and did not before, with the reason."""
    lifted: list[int] = field(default_factory=list)
    """The numbers of results that look wrong no more."""
    changed: set[int] = field(default_factory=set)
    """The numbers of the series that these results are of."""
    twice: int = 0
    """How many results had come under another name of their system, too, and count once now."""
    shifts: list[str] = field(default_factory=list)
    """Sentences on what runs take longer, or less, since some day."""


@dataclass
class _Place:
    """A layout of a series, and its runs that may look wrong: there may be 100,000 others, which are not read."""

    row: Row[Any]
    """As :func:`_layouts` reads it."""
    odd: Sequence[Row[Any]]
    """Its outlying and its doubted runs."""
    middle: float | None = None
    """Of its values, where they lie far apart."""
    reason: str = ""
    """Why all of its runs look wrong."""

    def outlier(self, run: Row[Any]) -> str | None:
        """Why this run looks wrong beside the others."""
        return suspicion.outlier(run.value, self.middle) if self.middle else None


def review(connection: Connection, touched: Mapping[int, SeriesKey]) -> Reviewed:
    """Judge the results of these series by all that is stored of them, in whatever order it came; what somebody said of a result stays.

    Series that differ in the name of their system alone, where these names mean the same one, are judged as one.
    """
    found, changes = Reviewed(), defaultdict[int, list[int]](list)
    doubt_ids = {"": 0}
    for row, reason in _judgements(connection, touched):
        if reason not in doubt_ids:
            doubt_ids |= text_ids(connection, [reason])
        if row.doubt_id == doubt_ids[reason]:
            continue
        changes[doubt_ids[reason]].append(row.id)
        found.changed.add(row.series_id)
        if not row.doubt_id:
            found.doubted.append(f"{row.file}: result {row.id} (value {row.value:.6g}): {reason}")
        if not reason:
            found.lifted.append(row.id)
    for doubt_id, ids in changes.items():
        for part in chunks(ids):
            connection.execute(update(results).where(results.c.id.in_(part)).values(doubt_id=doubt_id))
    found.shifts = shifts.review(connection, touched)
    return found


def _judgements(connection: Connection, touched: Mapping[int, SeriesKey]) -> Iterator[tuple[Row[Any], str]]:
    """The results of these series that look wrong, or did so before, each with the reason (empty: none)."""
    gpus = _gpus(connection)
    together = OwnNames(connection).together(connection, touched)
    for first in chunks([number for number in touched if number not in together or together[number][0] == number], SERIES_AT_ONCE):
        several = {number: together[number] for number in first if number in together}
        for number, layouts in groupby(_layouts(connection, first, several), key=lambda row: row.series_id):
            yield from _judged(connection, touched[number], several.get(number, (number,)), list(layouts), gpus)


def review_systems(connection: Connection, systems: Collection[System]) -> Reviewed:
    """Judge the results on these systems, which are described otherwise than before, or no more; the series of those that this changes
    get the number of the change, which is counted already. ``systems``: as they were and as they are. What came under several of their
    names counts once from now on."""
    folded = frozenset[str]().union(*(system.folded_names for system in systems))
    names = connection.scalars(select(series.c.system).where(series.c.system.is_not(None)).distinct()).all()
    found = Reviewed()
    touched: dict[int, SeriesKey] = {}
    for part in chunks([name for name in names if canonical_name(name) in folded]):
        touched |= by_number(connection, series.c.system.in_(part))
    if touched:
        own, there = OwnNames(connection), {canonical_name(key.system) for key in touched.values()}
        called = {number: key for number, key in touched.items() if len(own.called(key.system or "") & there) > 1}  # by several names
        twice = replacing.under_one_name(connection, own.together(connection, called))
        twice += len(samejobs.drop_duplicate_jobs(connection, samejobs.sources_of(connection, called), own))
        found = review(connection, touched)
        found.twice = twice
    if any(system.aliases for system in systems):
        found.changed |= touched.keys()  # which of them make one curve may have changed
    for numbers in chunks(sorted(found.changed)):
        connection.execute(update(series).where(series.c.id.in_(numbers)).values(changed=select(meta.c.number).scalar_subquery()))
    return found


def _gpus(connection: Connection) -> dict[str, tuple[str, int]]:
    """The name of each described system, and the most GPUs that one of its nodes has, by every name that results may give it."""
    known = catalogue.read(connection, System, sound=True)
    most = {system.name: max(part.node.accelerators for part in system.partitions) for system in known}
    return {name: (system.name, most[system.name]) for system in known for name in system.folded_names}


class Meant(NamedTuple):
    """The results that a judgement is about, as conditions on rows."""

    judgement: Judgement
    parts: Sequence[ColumnElement[bool]]
    """Each short enough for every database."""
    new: ColumnElement[bool]
    """Those of them for which the judgement says something else than before."""
    series: Sequence[int]
    """The numbers of their series; empty: there is nothing to change."""


def meant(connection: Connection, chosen: Selection, judgement: Judgement) -> Meant:
    """What a judgement changes of the chosen results. Replaced ones, and those that their own file marks, stay as they are.

    Raises :class:`modak.errors.NotFound` for numbers that no result has, a file that nothing was loaded from, and a period in which nothing
    was measured.
    """
    by_hand = results.c.by_hand == 1
    new = {"confirm": results.c.doubt_id != 0, "doubt": results.c.doubt_id == 0, "unmark": by_hand}[judgement]
    touched = new if judgement == "unmark" else or_(new, ~by_hand)
    parts = [and_(part, results.c.replaced_by == 0, results.c.suspect_id == 0, touched) for part in _parts(connection, chosen)]
    numbers = {number for part in parts for number in connection.scalars(select(results.c.series_id).where(part).distinct())}
    return Meant(judgement, parts, new, sorted(numbers))


def apply_judgement(connection: Connection, meant: Meant, number: int, why: str = "") -> tuple[int, Reviewed]:
    """Confirm, doubt (``why``: the reason) or unmark results. Returns how many changed, and what that changed for other results; of
    unmarked ones, also which look wrong.

    What was confirmed or doubted, loading judges no more. ``number`` is that of the change; it marks the series.
    """
    for numbers in chunks(meant.series):
        connection.execute(update(series).where(series.c.id.in_(numbers)).values(changed=number))
    count = sum(connection.execute(select(func.count()).where(part, meant.new)).scalar_one() for part in meant.parts)
    doubt = text_ids(connection, [why])[why] if meant.judgement == "doubt" else 0
    for part in meant.parts:
        connection.execute(update(results).where(part).values(doubt_id=doubt, by_hand=int(meant.judgement != "unmark")))
    return count, review(connection, by_number(connection, series.c.changed == number))


def doubted(connection: Connection, applications: Sequence[str]) -> tuple[DoubtedResults, ...]:
    """The results of applications that are left out, by series and layout."""
    columns = (results.c.series_id, *(results.c[name] for name in LAYOUT))
    found: list[DoubtedResults] = []
    for part in chunks(applications):
        of_them = series.c.application.in_(part)
        rows = select(*columns).join(series, series.c.id == results.c.series_id).where(of_them, LEFT_OUT)
        counts = Counter(connection.execute(rows).all())  # grouped by the database, SQLite would read all results instead of the index
        keys = by_number(connection, and_(of_them, series.c.id.in_(select(results.c.series_id).where(LEFT_OUT)))) if counts else {}
        found += (DoubtedResults(series=keys[row.series_id], layout=_layout(row), count=count) for row, count in counts.items())
    return tuple(found)


def _parts(connection: Connection, chosen: Selection) -> Sequence[ColumnElement[bool]]:
    """The chosen results as conditions, each short enough for every database."""
    if isinstance(chosen, Measured):
        return _measured(connection, chosen)
    if not isinstance(chosen, str):
        parts = [results.c.id.in_(numbers) for numbers in chunks(sorted(set(chosen)))]  # each counts once
        there = {number for part in parts for number in connection.scalars(select(results.c.id).where(part))}
        strange = sorted(set(chosen) - there)
        if strange:
            shown = join_names([str(number) for number in strange], _SHOWN)
            raise NotFound(f"no result has the number {shown} ('modak results list' shows them as id)", field="results")
        return parts
    return [results.c.load_id.in_(part) for part in chunks(loads_of(connection, chosen))]


def _measured(connection: Connection, chosen: Measured) -> Sequence[ColumnElement[bool]]:
    """The results of a period. Raises :class:`modak.errors.RequestError` for what is no time, and as :func:`_parts` does."""
    numbers = [number for number, _ in carrying(connection, chosen.where)]
    period = results.c.measured_at >= _bound(chosen.since, "since")  # rows without a time are before all times
    if chosen.until is not None:
        period = and_(period, results.c.measured_at < _bound(chosen.until, "until", whole_day=True))
    parts = [and_(results.c.series_id.in_(part), period) for part in chunks(numbers)]
    if not any(connection.execute(select(results.c.id).where(part).limit(1)).first() for part in parts):
        raise NotFound(f"no results that were {chosen}; those without 'measured_at' have no time", field="since")
    return parts


def _bound(text: str, field: str, *, whole_day: bool = False) -> int:
    """The instant that a text names; with ``whole_day`` a date is the end of its day."""
    try:
        at: int = reader("measured_at", now())(text.strip())
    except ValueError as error:
        raise RequestError(str(error), field=field) from None
    return at + _DAY if whole_day and len(text.strip()) == len("2026-03-01") else at


def loads_of(connection: Connection, file: str) -> Sequence[int]:
    """The numbers of all loads of a file of this name. Raises :class:`modak.errors.NotFound` if there is none."""
    numbers = connection.scalars(select(loads.c.id).where(loads.c.file == file)).all()
    if not numbers:
        names = connection.scalars(select(loads.c.file).order_by(loads.c.id.desc()).limit(_NAMES)).all()
        hint = f"; did you mean {close!r}?" if (close := nearest_name(file, names)) else ""
        raise NotFound(f"nothing was loaded from a file called {file!r}{hint} ('modak audit' shows what was loaded)", field="file")
    return numbers


def _layouts(connection: Connection, numbers: Sequence[int], several: Mapping[int, Sequence[int]]) -> Sequence[Row[Any]]:
    """The layouts of these series, in order: their runs, least and greatest value, whether one is doubted, whether one is confirmed.
    ``several``: of some of them, the series that count as one under their number."""
    one_of = {number: first for first, every in several.items() for number in every}
    number = case(one_of, value=results.c.series_id, else_=results.c.series_id).label("series_id") if one_of else results.c.series_id
    columns = (number, *(results.c[name] for name in LAYOUT))
    extent = (func.count().label("runs"), func.min(results.c.value).label("least"), func.max(results.c.value).label("most"))
    marks = (func.max(results.c.doubt_id).label("doubted"), func.max(results.c.by_hand).label("confirmed"))
    here = results.c.series_id.in_([*numbers, *one_of])
    chosen: Select[Any] = select(*columns, *extent, *marks).where(here, JUDGED).group_by(*columns)
    return connection.execute(chosen.order_by(*columns)).all()


def _judged(
    connection: Connection, key: SeriesKey, numbers: Sequence[int], rows: Sequence[Row[Any]], gpus: Mapping[str, tuple[str, int]]
) -> Iterator[tuple[Row[Any], str]]:
    """The results of a series (or of several, by their ``numbers``) that look wrong, or did so before, each with the reason (empty: none
    any more). ``rows`` are its layouts, ``gpus`` as :func:`_gpus`."""
    is_value = key.metric not in failures.METRICS
    places = [_place(connection, row, numbers, compares=is_value) for row in rows]
    _exclude_impossible(places, gpus.get(canonical_name(key.system)) if key.system else None)
    sound = [place for place in places if not place.reason]  # the others, of unknown size, say nothing about these
    if is_value:
        _compare(sound, metrics.known_metric(key.metric, key.unit))
    for place in places:
        for run in _rows(connection, _at(place.row, numbers)) if place.reason else place.odd:
            if not run.by_hand:
                yield run, place.reason or place.outlier(run) or ""


def _place(connection: Connection, row: Row[Any], numbers: Sequence[int], *, compares: bool) -> _Place:
    """``compares``: whether runs of one layout should be alike. Those that failed, or were stopped, need not."""
    if compares and row.most > suspicion.FACTOR * row.least:
        at = _at(row, numbers)
        middle = _middle(connection, at, row.runs)
        far = or_(results.c.value > suspicion.FACTOR * middle, results.c.value < middle / suspicion.FACTOR)
        return _Place(row, _rows(connection, at, or_(far, DOUBTED)), middle)
    return _Place(row, _rows(connection, _at(row, numbers), DOUBTED) if row.doubted else ())


def _at(row: Row[Any], numbers: Sequence[int]) -> ColumnElement[bool]:
    """Of series that count as one, the results with a layout that are judged. To say so takes longer than to look at a layout where
    nothing is odd."""
    return and_(results.c.series_id.in_(numbers), *(results.c[name] == getattr(row, name) for name in LAYOUT), JUDGED)


def _exclude_impossible(places: Sequence[_Place], described: tuple[str, int] | None) -> None:
    """Find the layouts with more GPUs than a node of the system has, unless somebody confirmed one of their runs."""
    if described is None:
        return
    system, most = described
    for place in places:
        if not place.row.confirmed:
            place.reason = suspicion.too_many_gpus(_layout(place.row), most, system) or ""


def _compare(places: Sequence[_Place], measured: metrics.Metric | None) -> None:
    """Find the layouts that look wrong beside the others. One whose two halves contradict each other gets the middle of the right half."""
    rate, scales = measured is not None and measured.is_rate, measured is not None and measured.tells_cost
    cells: list[tuple[_Place, LayoutRuns]] = []
    split: list[tuple[_Place, list[LayoutRuns]]] = []
    for place in places:
        runs = [run for run in place.odd if place.outlier(run)]
        if place.middle and len(runs) == place.row.runs:  # as two runs are of which one slipped
            split.append((place, _halves(place, runs, place.middle, rate)))
        else:
            cells.append((place, _cell(place, (place.row.least, place.row.most), bool(place.row.confirmed), rate, place.middle)))
    whole = [cell for _, cell in cells]
    for place, halves in split:
        right = suspicion.right_half(halves, whole, scales=scales, rate=rate)
        if right:
            place.middle = 1 / right.cost if rate else right.cost
            cells.append((place, right))
    for number, reason in suspicion.doubts([cell for _, cell in cells], scales=scales, rate=rate).items():
        cells[number][0].reason = reason


def _halves(place: _Place, runs: Sequence[Row[Any]], middle: float, rate: bool) -> list[LayoutRuns]:
    """The runs below and those above the middle of a layout."""
    halves = []
    for above in (False, True):
        half = [run for run in runs if (run.value > middle) == above]
        halves.append(_cell(place, [run.value for run in half], any(run.by_hand for run in half), rate))
    return halves


def _cell(place: _Place, values: Sequence[float], confirmed: bool, rate: bool, middle: float | None = None) -> LayoutRuns:
    """These runs of a layout, by all values or by extremes and middle; ``rate``: whether their cost is the inverse of their values."""
    middle = middle or suspicion.middle(values)
    return LayoutRuns(_layout(place.row), 1 / middle if rate else middle, (min(values), max(values)), confirmed)


def _layout(row: Row[Any]) -> Layout:
    return layout([getattr(row, name) for name in LAYOUT])


def _rows(connection: Connection, at: ColumnElement[bool], *which: ColumnElement[bool]) -> Sequence[Row[Any]]:
    """The results of a series with one layout, or some of them."""
    columns = (results.c.id, results.c.series_id, results.c.value, results.c.doubt_id, results.c.by_hand, loads.c.file)
    chosen: Select[Any] = select(*columns).join(loads, loads.c.id == results.c.load_id).where(at, *which)
    return connection.execute(chosen.order_by(results.c.id)).all()


def _middle(connection: Connection, at: ColumnElement[bool], runs: int) -> float:
    """The middle of the values of so many runs of a layout, which the database sorts."""
    before, two = divmod(runs - 1, 2)
    inner = select(results.c.value).where(at).order_by(results.c.value).limit(1 + two).offset(before)
    return suspicion.middle(connection.scalars(inner).all())
