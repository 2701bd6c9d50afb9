"""Corrected rows replace their predecessors, which stay in the table with the number of the load that replaced them.

Two rows are of the same run if they agree in everything but value and suspicion. A corrected file says all there is of a run: its other
rows are replaced, and a row that was replaced before and is in the file again is valid again.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Column, Connection, Index, MetaData, Table, and_, delete, insert, select, update
from sqlalchemy import Double as Number

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


def settle(connection: Connection, load_id: int) -> tuple[int, set[int]]:
    """Mark rows that the file contradicts as replaced, and those that it confirms as valid; returns how many were replaced, and the series
    of both."""
    here = results.c.series_id.in_(select(_SAID.c.series_id))
    run = and_(*(results.c[column.name] == _SAID.c[column.name] for column in SAME_RUN))
    whole = and_(*(results.c[column.name] == _SAID.c[column.name] for column in ONCE))
    said = select(_SAID.c.series_id).where(whole).exists()
    again = and_(results.c.replaced_by != 0, said)
    aside = and_(results.c.replaced_by == 0, select(_SAID.c.series_id).where(run).exists(), ~said)
    rows = connection.execute(select(results.c.id, results.c.series_id, again.label("again")).where(here, again | aside)).all()
    for back, number in ((True, 0), (False, load_id)):
        for numbers in chunks([row.id for row in rows if bool(row.again) == back]):
            connection.execute(update(results).where(results.c.id.in_(numbers)).values(replaced_by=number))
    connection.execute(delete(_SAID))
    return sum(not row.again for row in rows), {row.series_id for row in rows}
