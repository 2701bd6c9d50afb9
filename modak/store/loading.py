"""Loading results: batches of checked rows go into narrow tables, in one transaction, each row only once.

Rows are sorted by series and layout before they go in, so that the unique index is filled page after page; SQLite takes
them by ``executemany``, PostgreSQL by a binary ``COPY`` into a temporary table.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from shlex import quote
from typing import Any, Final, NamedTuple

import numpy as np
from sqlalchemy import Connection, Row, bindparam, delete, func, insert, select, text, update

from modak import __version__
from modak.errors import DataError
from modak.facts import SeriesKey
from modak.ingest.columns import series_label
from modak.ingest.headings import folded
from modak.ingest.loadnotes import SHOWN as NAMED
from modak.ingest.options import as_typed, options_text
from modak.ingest.table import Batch, Cells, Int32, Table
from modak.perfmodel.fitting import merging
from modak.progress import Progress, silent
from modak.store import replacing, samejobs, suspects, versions
from modak.store.engine import chunks
from modak.store.loadnotes import notes_of_load
from modak.store.outcomes import outcomes
from modak.store.schema import JUDGED, ONCE, instant, loads, models, now, results, series, stored
from modak.store.series import OwnNames, by_number, ids, of_same_runs, text_ids
from modak.store.staging import Staged
from modak.store.values import FileReport, LoadReport
from modak.text.amounts import counted, join_names

SHOWN: Final = 100
"""Most suspicious rows, and most series, that a report lists."""
AT_ONCE: Final = 50_000
_KEY: Final = tuple(column.name for column in ONCE)
_INSERTED: Final = ("load_id", *_KEY)
_PACKED: Final = {"measured_at": ">i8", "value": ">f8"}


@dataclass
class _LoadState:
    """The state of a load."""

    number: int
    version: str
    tell: Progress = silent
    highest: int = 0
    """The last result before this load."""
    expected: int = 0
    rows: int = 0
    new: int = 0
    replaced: int = 0
    own: OwnNames | None = None
    """Read at the first rows."""
    changed: set[int] = field(default_factory=set)
    """Series that lost rows, or got some back."""
    suspicious: list[str] = field(default_factory=list)
    files: list[FileReport] = field(default_factory=list)
    systems: dict[str, int] = field(default_factory=dict)
    """The systems of the rows; of each, the most ranks x threads on a node."""
    notes: list[str] = field(default_factory=list)
    load_ids: list[int] = field(default_factory=list)


def load(
    connection: Connection,
    tables: Sequence[Staged],
    principal: str,
    *,
    replace: bool = False,
    knowledge: bool = False,
    progress: Progress = silent,
) -> LoadReport:
    """Store the rows of ``tables`` within the connection's transaction; ``knowledge``: knowledge changed in it, too.

    With ``replace``, a row replaces those of the same run with another value, which are kept as history.
    If no series changed by the report, the caller should roll back, because the version was counted up.
    Raises :class:`modak.errors.DataError` for a fault in a table that was not checked before.
    """
    state = _LoadState(*versions.bump(connection, knowledge=knowledge), tell=progress)
    state.highest = connection.execute(select(func.max(results.c.id))).scalar() or 0
    state.expected = sum(each.rows for each in tables)
    for each in tables:
        _load_file(connection, each, principal, state, replace=replace)
    touched = _mark_touched(connection, state) if state.new or state.changed else {}
    reviewed = suspects.review(connection, touched)
    state.suspicious += reviewed.doubted
    if reviewed.lifted:
        lifted = counted(len(reviewed.lifted), "result")
        state.notes.append(f"no longer suspicious beside the new results, and used by the models: {lifted}")
    state.notes += reviewed.shifts
    return _report(connection, state, touched)


def _report(connection: Connection, state: _LoadState, touched: Mapping[int, SeriesKey]) -> LoadReport:
    """What has changed, with notes on it; ``touched``: the series that did."""
    return LoadReport(
        version=state.version,
        rows=state.rows,
        new=state.new,
        duplicates=state.rows - state.new,
        replaced=state.replaced,
        series=tuple(series_label(key) for key in list(touched.values())[:SHOWN]),
        series_count=len(touched),
        models=_count_models(connection, touched),
        suspicious=tuple(state.suspicious[:SHOWN]),
        suspicious_count=len(state.suspicious),
        notes=(
            *outcomes(connection, state.load_ids, state.highest),
            *dict.fromkeys(state.notes),
            *notes_of_load(connection, state.systems, _not_empty(connection, touched, state.changed)),
        ),
        files=tuple(state.files),
    )


def loaded(connection: Connection, table: Table) -> Row[Any] | None:
    """The load of the same bytes with the same options, if there was one and it had rows: they need not be read again."""
    same = (loads.c.sha256 == table.source.sha256, loads.c.format == table.format, loads.c.options == options_text(table.options))
    return connection.execute(select(loads).where(*same, loads.c.rows > 0).order_by(loads.c.id).limit(1)).first()


def _read_before(connection: Connection, table: Table) -> Sequence[Row[Any]]:
    """The loads of the same bytes that took the values from the same column: of the same measurements, whatever else the options say."""
    same = (loads.c.sha256 == table.source.sha256, loads.c.format == table.format, loads.c.rows > 0)
    found = connection.execute(select(loads).where(*same).order_by(loads.c.id)).all()
    return [row for row in found if _values_of(json.loads(row.options)) == _values_of(table.options.as_dict())]


def _values_of(options: Mapping[str, Any]) -> str:
    """The heading of the values; empty where columns are named after sizes or runs."""
    return "" if options.get("wide") else folded(next((old for old, new in options["rename"].items() if new == "value"), "value"))


def _refuse_twice(connection: Connection, table: Table, before: Sequence[Row[Any]]) -> None:
    """Raise if rows stand, and nobody doubted them, that are those of this table, read with other options: each would count twice."""
    counts = select(func.count()).where(results.c.load_id.in_([row.id for row in before]), JUDGED)
    count = connection.execute(counts).scalar_one()
    if not count:
        return
    last = before[-1]
    command = f"modak load {' '.join((quote(table.source.name), *as_typed(table.options), '--replace'))}"
    called = "" if last.file == table.source.name else f"as {last.file} "
    when = f"loaded {called}on {instant(last.loaded_at):%Y-%m-%d at %H:%M:%S} with other options"
    what = f"{'its row stands' if count == 1 else f'{count} of its rows stand'}, and would count twice"
    raise DataError(f"{when}: {what}; put the new ones in their place with '{command}'", field=table.source.name)


def _load_file(connection: Connection, staged: Staged, principal: str, state: _LoadState, *, replace: bool) -> None:
    """Store the rows of a file. Without ``replace`` one that was loaded with the same options is not read again."""
    table, source = staged.table, staged.table.source
    there = None if replace else loaded(connection, table)
    if there is not None:
        state.rows += there.rows
        state.files.append(FileReport(source.name, table.format, source.sha256, there.rows, 0, there.rows, instant(there.loaded_at)))
        return
    before = _read_before(connection, table)
    began = insert(loads).values(
        file=source.name,
        sha256=source.sha256,
        format=table.format,
        options=options_text(table.options),
        principal=principal,
        loaded_at=stored(now()),
        tool_version=__version__,
    )
    load_id = connection.execute(began.returning(loads.c.id)).scalar_one()
    state.load_ids.append(load_id)
    rows, new, elsewhere, jobs = _store_rows(connection, staged, load_id, state, replace=replace)
    new -= _left_out(connection, load_id, elsewhere)
    new -= replacing.without_time(connection, load_id, state.highest)
    if replace:
        _note_corrections(replacing.apply_corrections(connection, load_id, [row.id for row in before]), source.name, state)
    _note_corrections(replacing.with_time(connection, load_id, state.highest), source.name, state)
    new -= _same_jobs(connection, load_id, jobs, state)
    if new and before and not replace:
        _refuse_twice(connection, table, before)
    connection.execute(update(loads).where(loads.c.id == load_id).values(rows=rows, new=new, duplicates=rows - new))
    state.rows += rows
    state.new += new
    state.files.append(FileReport(source.name, table.format, source.sha256, rows, new, rows - new))


class _Inserted(NamedTuple):
    """What went into the table of a file."""

    rows: int
    new: int
    elsewhere: Mapping[int, Sequence[int]]
    """As :func:`_elsewhere`, of all its series."""
    jobs: Collection[samejobs.Source]
    """Those that its rows name as their sources."""


def _store_rows(connection: Connection, staged: Staged, load_id: int, state: _LoadState, *, replace: bool) -> _Inserted:
    """Insert the rows of a file that are not there yet, part by part."""
    rows = new = 0
    apart: dict[int, Sequence[int]] = {}
    jobs: set[samejobs.Source] = set()
    with _no_collection():
        for batch in staged.parts():
            state.notes += batch.notes
            if not len(batch):
                continue
            numbers = ids(connection, batch.series, state.number)
            columns = _arrays(connection, batch, numbers, load_id)
            elsewhere = _elsewhere(connection, dict(zip(numbers, batch.series, strict=True)), state)
            if replace:
                _note_said(connection, columns, elsewhere)
            insert_rows = _insert_sqlite if connection.dialect.name == "sqlite" else _insert_postgresql
            new += insert_rows(connection, [columns[name] for name in _INSERTED])
            apart |= elsewhere
            jobs |= {source for source in map(samejobs.source_of, batch.sources.texts) if source}
            rows += len(batch)
            _note_systems(batch, state.systems)
            _note_suspects(batch, staged.table.source.name, state)
            at = state.rows + rows
            state.tell(0.5 + at / state.expected / 2 if state.expected else 1.0, at)
    return _Inserted(rows, new, apart, jobs)


def _note_corrections(corrections: replacing.Corrections, name: str, state: _LoadState) -> None:
    state.replaced += corrections.replaced
    state.changed |= corrections.series
    if corrections.judged:
        count = f"{counted(corrections.judged, 'replaced row')} had been confirmed or doubted by hand"
        state.notes.append(f"{name}: {count}; those in their place are judged like all others")


def _elsewhere(connection: Connection, keys: Mapping[int, SeriesKey], state: _LoadState) -> dict[int, Sequence[int]]:
    """Of these series, by number, those that are the same under another name of their system."""
    if state.own is None:
        state.own = OwnNames(connection)
    together = state.own.together(connection, keys)
    return {number: [other for other in every if other != number] for number, every in together.items()}


def _note_said(connection: Connection, columns: dict[str, Any], elsewhere: Mapping[int, Sequence[int]]) -> None:
    """Keep what the file says of runs, also under the other names of their systems. The columns are sorted by series."""
    replacing.note(connection, columns)
    rows, named = [], []
    for number, others in elsewhere.items():
        first, end = np.searchsorted(columns["series_id"], (number, number + 1))
        for other in others:
            rows.append(np.arange(first, end))
            named.append(np.full(end - first, other))
    if rows:
        places = np.concatenate(rows)
        again = {name: column[places] for name, column in columns.items()}
        replacing.note(connection, again | {"series_id": np.concatenate(named)})


def _left_out(connection: Connection, load_id: int, elsewhere: Mapping[int, Sequence[int]]) -> int:
    """Take out the rows of this load that are there under another name of their system, and series that this leaves without any; returns
    how many rows those were."""
    there = results.alias("there")
    alike = (there.c[name] == results.c[name] for name in _KEY if name != "series_id")
    twice = select(there.c.id).where(there.c.series_id.in_(bindparam("others", expanding=True)), *alike).exists()
    here = (results.c.load_id == load_id, results.c.series_id == bindparam("number"))
    left_out, count = delete(results).where(*here, twice), 0
    for number, others in elsewhere.items():
        count += connection.execute(left_out, {"number": number, "others": others}).rowcount
    _drop_empty(connection, elsewhere)
    return count


def _same_jobs(connection: Connection, load_id: int, jobs: Collection[samejobs.Source], state: _LoadState) -> int:
    """Let jobs of Slurm's accounting give way to the results of their scripts; returns how many rows of this load those were."""
    gone = samejobs.drop_duplicate_jobs(connection, jobs, state.own or OwnNames(connection), load_id)
    left_out = [one for one in gone if one.new]
    _drop_empty(connection, {one.series for one in left_out})
    state.replaced += len(gone) - len(left_out)
    state.changed |= {one.series for one in gone if not one.new}
    if gone:
        named = join_names(list(dict.fromkeys(one.source for one in gone)), NAMED)
        state.notes.append(f"in Slurm's accounting and with a result of the job's own script, which alone counts: {named}")
    return len(left_out)


def _drop_empty(connection: Connection, numbers: Collection[int]) -> None:
    """Take out those of these series that have no rows, and never had a model."""
    rows = select(results.c.id).where(results.c.series_id == series.c.id).exists()
    for part in chunks(sorted(numbers)):
        connection.execute(delete(series).where(series.c.id.in_(part), series.c.fitted.is_(None), ~rows))


@contextmanager
def _no_collection() -> Iterator[None]:
    """Switch the garbage collector off: it would search millions of small tuples for cycles, for longer than it takes to make them."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _arrays(connection: Connection, batch: Batch, numbers: Sequence[int], load_id: int) -> dict[str, Any]:
    """The columns to insert, sorted as the unique index is; ``numbers``: of the batch's series."""
    series_ids = np.array(numbers, dtype=np.int32)
    columns: dict[str, Any] = {
        "load_id": np.full(len(batch), load_id, dtype=np.int32),
        "series_id": series_ids[batch.series_of],
        **batch.numbers,
        "measured_at": batch.measured_at,
        "value": batch.values,
        "source_id": _text_ids(connection, batch.sources),
        "suspect_id": _text_ids(connection, batch.suspects),
    }
    varying = [columns[name] for name in reversed(_KEY) if columns[name].min() != columns[name].max()]
    order = np.lexsort(varying) if varying else np.arange(len(batch))
    return {name: columns[name][order] for name in _INSERTED}


def _text_ids(connection: Connection, cells: Cells) -> Int32:
    """The number of each row's text; new texts get one."""
    numbers = text_ids(connection, cells.texts)
    return np.array([numbers[each] for each in cells.texts], dtype=np.int32)[cells.codes]


def _insert_sqlite(connection: Connection, columns: Sequence[Any]) -> int:
    """Insert rows that are not there yet; returns how many those were."""
    statement = (
        f"INSERT INTO results ({', '.join(_INSERTED)}) VALUES ({', '.join('?' * len(_INSERTED))}) "  # noqa: S608 - names of our own columns
        f"ON CONFLICT ({', '.join(_KEY)}) DO NOTHING"
    )
    driver: Any = connection.connection.driver_connection  # its rowcount is -1 in a Turkish locale, where "I" is no capital of "i"
    before: int = driver.total_changes
    for start in range(0, len(columns[0]), AT_ONCE):
        connection.exec_driver_sql(statement, list(zip(*(column[start : start + AT_ONCE].tolist() for column in columns), strict=True)))
    return int(driver.total_changes) - before


def _insert_postgresql(connection: Connection, columns: Sequence[Any]) -> int:
    """The same."""
    names = ", ".join(_INSERTED)
    create = "CREATE TEMPORARY TABLE IF NOT EXISTS incoming ON COMMIT DROP"
    connection.execute(text(f"{create} AS SELECT {names} FROM results LIMIT 0"))  # noqa: S608 - names of our own columns
    connection.execute(text("TRUNCATE incoming"))
    cursor: Any = connection.connection.cursor()
    with cursor.copy(f"COPY incoming ({names}) FROM STDIN (FORMAT BINARY)") as copy:
        copy.write(_packed(columns))
    moved = connection.execute(
        text(f"INSERT INTO results ({names}) SELECT {names} FROM incoming ON CONFLICT ({', '.join(_KEY)}) DO NOTHING")  # noqa: S608
    )
    return moved.rowcount


def _packed(columns: Sequence[Any]) -> bytes:
    """PostgreSQL's binary COPY: a header, then for each row the number of fields, and for each field its length and its bytes."""
    kinds = [_PACKED.get(name, ">i4") for name in _INSERTED]
    fields = [field for i, kind in enumerate(kinds) for field in ((f"n{i}", ">i4"), (f"v{i}", kind))]
    layout = np.dtype([("fields", ">i2"), *fields])
    rows = np.empty(len(columns[0]), dtype=layout)
    rows["fields"] = len(columns)
    for i, (column, kind) in enumerate(zip(columns, kinds, strict=True)):
        rows[f"n{i}"] = np.dtype(kind).itemsize
        rows[f"v{i}"] = column
    return b"PGCOPY\n\xff\r\n\0" + bytes(8) + rows.tobytes() + b"\xff\xff"


def _note_systems(batch: Batch, systems: dict[str, int]) -> None:
    ranks, threads = (np.maximum(batch.numbers[name], 1) for name in ("ranks_per_node", "threads_per_rank"))
    most = np.zeros(len(batch.series), dtype=np.int64)
    np.maximum.at(most, batch.series_of, ranks.astype(np.int64) * threads)
    for key, on_a_node in zip(batch.series, most.tolist(), strict=True):
        if key.system:
            systems[key.system] = max(on_a_node, systems.get(key.system, 0))


def _note_suspects(batch: Batch, name: str, state: _LoadState) -> None:
    reasons = batch.suspects
    flagged = np.flatnonzero(np.array([bool(each) for each in reasons.texts])[reasons.codes])
    state.suspicious += [f"{name}:{batch.lines[row]}: {reasons[int(row)]}" for row in flagged]


def _mark_touched(connection: Connection, state: _LoadState) -> dict[int, SeriesKey]:
    """Mark the series whose rows changed, so that their models are fitted again; returns them by number."""
    got = select(results.c.series_id).where(results.c.id > state.highest, results.c.load_id.in_(state.load_ids))
    for here in (series.c.id.in_(got), *(series.c.id.in_(part) for part in chunks(sorted(state.changed)))):
        connection.execute(update(series).where(here).values(changed=state.number))
    return by_number(connection, series.c.changed == state.number)


def _not_empty(connection: Connection, touched: Mapping[int, SeriesKey], changed: Collection[int]) -> dict[int, SeriesKey]:
    """The touched series but for those of which all rows were replaced: what was noted is mended. Only ``changed`` ones lost some."""
    left = select(results.c.series_id).where(results.c.replaced_by == 0).distinct()
    here = {number for part in chunks(sorted(changed)) for number in connection.scalars(left.where(results.c.series_id.in_(part)))}
    return {number: key for number, key in touched.items() if number in here or number not in changed}


def _count_models(connection: Connection, touched: Mapping[int, SeriesKey]) -> int:
    """How many stored models rest on these series, or on others of the same runs, with which they are fitted."""
    counts = (
        select(func.count()).select_from(models).where(models.c.series_id.in_(part))
        for part in chunks(_fitted_together(connection, touched))
    )
    return sum(connection.execute(count).scalar_one() for count in counts)


def _fitted_together(connection: Connection, touched: Mapping[int, SeriesKey]) -> list[int]:
    """Numbers of the series, and of those whose curves they are a part of."""
    known = {number: key for number, (key, _) in of_same_runs(connection, touched.values(), OwnNames(connection)).items()}
    destinations = merging.destinations(known.values())
    merged = {number: frozenset(to.series for to in destinations[key]) for number, key in known.items()}
    changed = frozenset(key for number in touched for key in merged[number])
    return [number for number, several in merged.items() if several & changed]
