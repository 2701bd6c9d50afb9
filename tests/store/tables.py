"""Small tables of results that tests load."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import Engine, event, make_url, select

from modak.facts import Result
from modak.ingest.reading import table
from modak.ingest.sources import from_bytes
from modak.ingest.table import PLAIN, Options, Table
from modak.store import Store, open_store, upgrade
from modak.store.audit import Actor
from modak.store.engine import reading
from modak.store.schema import series

ME = Actor("me")
HEADER = "application,dataset,system,nodes,ranks_per_node,threads_per_rank,metric,value,unit,repeat,measured_at,source,suspect\n"
ROWS = HEADER + "".join(
    f"3dgan,clic,supermuc-ng,{nodes},4,12,epoch_time,{3806.5 / nodes},s,{repeat},2025-03-01T12:00:00+01:00,table 1,\n"
    for nodes in (4, 8, 16, 32)
    for repeat in (1, 2)
)


@contextmanager
def opened(url: str) -> Iterator[Store]:
    """The database at an address, with the tables of this version; a new one has nothing in them."""
    file = Path(make_url(url).database or "")
    if url.startswith("postgresql") and _is_empty(url):
        _make_again(url)
    elif url.startswith("sqlite") and not file.exists():
        file.write_bytes(_empty())
    else:
        upgrade(url, fill=False)
    with open_store(url, fill=False) as store:
        yield store


@cache
def _empty() -> bytes:
    """An SQLite file with tables and nothing in them, made once in a process."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "modak.db"
        upgrade(f"sqlite:///{file}", fill=False)
        return file.read_bytes()


def _is_empty(url: str) -> bool:
    with psycopg.connect(url.replace("+psycopg", "")) as connection:
        return connection.execute("SELECT to_regclass('alembic_version')").fetchone() == (None,)


_SAID: list[tuple[str, Any]] = []
"""What the first upgrade of an empty PostgreSQL database told the server."""


def _make_again(url: str) -> None:
    """An empty PostgreSQL database gets its tables as the first one did: most of an upgrade's time is Alembic's, not the server's."""
    if _SAID:
        with psycopg.connect(url.replace("+psycopg", "")) as connection, connection.pipeline():
            for statement, values in _SAID:
                connection.execute(statement, values)
    else:
        said = []

        def note(_connection: Any, _cursor: Any, statement: str, values: Any, *_: Any) -> None:
            said.append((statement, values))

        event.listen(Engine, "before_cursor_execute", note)
        try:
            upgrade(url, fill=False)
        finally:
            event.remove(Engine, "before_cursor_execute", note)
        _SAID.extend(said)


def applications(store: Store) -> set[str]:
    """The applications that have series of results."""
    with reading(store.engine) as connection:
        return set(connection.scalars(select(series.c.application)))


def results_of(store: Store, application: str) -> tuple[Result, ...]:
    """All results of one application, at most 1,000."""
    return store.results({"application": application}, limit=1000).items


def csv_table(text: str, name: str = "results.csv", options: Options = PLAIN) -> Table:
    """A CSV that was written in a test."""
    return table(from_bytes(text.encode(), name), options)
