"""Corrected rows replace their predecessors, which stay in the table with the number of the load that replaced them.

Two rows are of the same run if they agree in everything but value and suspicion. A corrected file says all there is of a run: its other
rows are replaced, and a row that was replaced before and is in the file again is valid again. So it does of the rows of its own bytes
that were read with other options: a gap that is filled now, a count that meant something else.

What names its source but not its time, such as a job in sacct's text, is one with the row that says the time and is equal in all else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import Column, ColumnElement, Connection, FromClause, Index, MetaData, Table, and_, delete, insert, or_, select, update
from sqlalchemy import Double as Number

from modak.ingest.table import UNKNOWN
from modak.store.engine import chunks
from modak.store.schema import ONCE, SAME_RUN, results

AT_ONCE: Final = 20_000
_SAID: Final = Table(
    "said",
    MetaData(),
    *(Column(column.name, type(column.type)() if column.name != "value" else Number(), nullable=False) for column in ONCE),
    Index("ix_said", *(column.name for column in SAME_RUN)),
    prefixes=["TEMPORARY"],
    postgresql_on_commit="DROP",
)


def note(connection: Connection, columns: dict[str, Any]) -> None:
    """Keep the rows of the file in a temporary table."""
    _SAID.create(connection, checkfirst=True)
    for start in range(0, len(columns["value"]), AT_ONCE):
        parts = [columns[column.name][start : start + AT_ONCE].tolist() for column in ONCE]
        connection.execute(insert(_SAID), [dict(zip(_SAID.columns.keys(), row, strict=True)) for row in zip(*parts, strict=True)])


class Corrections(NamedTuple):
    """What a load changed of the rows that were there."""

    replaced: int
    series: set[int]
    """Those of rows that were replaced, or are valid again."""
    judged: int = 0
    """Of how many of the replaced ones somebody had said something, which holds no more."""


def apply_corrections(connection: Connection, load_id: int, read_before: Sequence[int]) -> Corrections:
    """Mark rows that the file contradicts as replaced, and those that it confirms as valid. ``read_before``: loads of the same
    measurements."""
    _SAID.create(connection, checkfirst=True)  # a file whose runs all gave no result has no rows to note
    of_loads = results.c.load_id.in_(read_before)
    of_series = results.c.series_id.in_(select(_SAID.c.series_id))
    here = or_(of_series, of_loads) if read_before else of_series  # the former reads all results: no index has their loads
    run = and_(*(results.c[column.name] == _SAID.c[column.name] for column in SAME_RUN))
    whole = and_(*(results.c[column.name] == _SAID.c[column.name] for column in ONCE))
    said = select(_SAID.c.series_id).where(whole).exists()
    timed = results.alias("timed")
    again = and_(results.c.replaced_by != 0, said, ~_with_time(timed, timed.c.replaced_by == 0))
    aside = and_(results.c.replaced_by == 0, or_(select(_SAID.c.series_id).where(run).exists(), of_loads), ~said)
    columns = (results.c.id, results.c.series_id, results.c.by_hand, again.label("again"))
    rows = connection.execute(select(*columns).where(here, again | aside)).all()
    for back, number in ((True, 0), (False, load_id)):
        for numbers in chunks([row.id for row in rows if bool(row.again) == back]):
            connection.execute(update(results).where(results.c.id.in_(numbers)).values(replaced_by=number))
    connection.execute(delete(_SAID))
    gone = [row for row in rows if not row.again]
    return Corrections(len(gone), {row.series_id for row in rows}, sum(row.by_hand for row in gone))


def without_time(connection: Connection, load_id: int, after: int) -> int:
    """Take out the rows of this load, which have numbers above ``after``, that say no time and are there with one; returns how many.

    Also if the row with the time was replaced since: the old value does not come back in another file.
    """
    here = (results.c.id > after, results.c.load_id == load_id)
    return connection.execute(delete(results).where(*here, _with_time(results.alias("timed")))).rowcount


def with_time(connection: Connection, load_id: int, after: int) -> Corrections:
    """Mark rows that say no time as replaced by those of this load, with numbers above ``after``, that do.

    What somebody said of the old row holds for the new one.
    """
    timed = results.alias("timed")
    here = (timed.c.id > after, timed.c.load_id == load_id, timed.c.measured_at != UNKNOWN, timed.c.source_id != 0)
    twins = select(results.c.id, results.c.series_id, results.c.by_hand, results.c.doubt_id, timed.c.id.label("timed")).join(
        timed, and_(*_equal_but_time(timed))
    )
    rows = connection.execute(twins.where(*here, results.c.measured_at == UNKNOWN, results.c.replaced_by == 0)).all()
    numbers = {row.id for row in rows}
    for part in chunks(sorted(numbers)):
        connection.execute(update(results).where(results.c.id.in_(part)).values(replaced_by=load_id))
    for row in rows:
        if row.by_hand:
            connection.execute(update(results).where(results.c.id == row.timed).values(doubt_id=row.doubt_id, by_hand=1))
    return Corrections(len(numbers), {row.series_id for row in rows})


def under_one_name(connection: Connection, together: Mapping[int, Sequence[int]]) -> int:
    """Let rows count once that came under several names of one system before it was known that they are; returns how many gave way.

    ``together``: series, by number, each with all of its names. The row that came first stays, with what somebody said of the others; if it
    was corrected, they are replaced as it was. Not so if it was read anew with other options, since then one of them may stand for it.
    """
    first, later, other = results.alias("first"), results.alias("later"), results.alias("other")
    alike = (first.c[column.name] == later.c[column.name] for column in ONCE if column.name != "series_id")
    same_run = (other.c[column.name] == later.c[column.name] for column in SAME_RUN if column.name != "series_id")
    corrected = select(other.c.id).where(*same_run, other.c.replaced_by == 0, other.c.value != later.c.value)
    columns = (later.c.id, later.c.by_hand, later.c.doubt_id, first.c.id.label("stays"), first.c.load_id, first.c.replaced_by)
    chosen = select(*columns).join(first, and_(*alike, first.c.id < later.c.id)).where(later.c.replaced_by == 0).order_by(first.c.id)
    gone = set()
    for every in {tuple(sorted(numbers)) for numbers in together.values()}:
        gives_way = or_(first.c.replaced_by == 0, corrected.where(other.c.series_id.in_(every)).exists())
        for row in connection.execute(chosen.where(first.c.series_id.in_(every), later.c.series_id.in_(every), gives_way)).all():
            if row.id not in gone:
                gone.add(row.id)
                taken = {"replaced_by": row.replaced_by or row.load_id}
                connection.execute(update(results).where(results.c.id == row.id).values(taken))
                if row.by_hand:
                    said = {"doubt_id": row.doubt_id, "by_hand": 1}
                    connection.execute(update(results).where(results.c.id == row.stays, results.c.by_hand == 0).values(said))
    return len(gone)


def _with_time(timed: FromClause, *where: ColumnElement[bool]) -> ColumnElement[bool]:
    """Whether a row says no time and is there with one (``timed``)."""
    there = select(timed.c.id).where(*_equal_but_time(timed), timed.c.measured_at != UNKNOWN, *where).exists()
    return and_(results.c.measured_at == UNKNOWN, results.c.source_id != 0, there)


def _equal_but_time(other: FromClause) -> list[ColumnElement[bool]]:
    return [results.c[column.name] == other.c[column.name] for column in ONCE if column.name != "measured_at"]
