"""Small tables of results that tests load."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from sqlalchemy import make_url, select

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
    if url.startswith("sqlite") and not file.exists():
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
