"""The version of the data: a text that changes with every change of knowledge or results."""

from __future__ import annotations

import secrets
import sqlite3
import threading
import time
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Engine, event, insert, select, update
from sqlalchemy.pool import ConnectionPoolEntry

from modak.store.engine import FILE, WRITTEN, DatabaseFile, translated
from modak.store.schema import meta, now, stored

NEVER: Final = "0"
"""The version of what was never written."""


def current(connection: Connection) -> str:
    """The version of the data as it is now."""
    return of_all(connection)[0]


def of_all(connection: Connection) -> tuple[str, str]:
    """The version of the data, and the version at the last change of knowledge, which loading results does not change."""
    row = connection.execute(select(meta.c.version, meta.c.knowledge)).first()
    return (row.version, row.knowledge) if row else (NEVER, NEVER)


def is_new(connection: Connection) -> bool:
    """Whether no knowledge and no results were ever written to the database."""
    return current(connection) == NEVER


FRESH_S: Final = 0.01
"""Seconds for which the version that was read last counts as the newest, unless this process wrote meanwhile."""


class _Read(NamedTuple):
    """A version as it was read: when (monotonic), and after which write of this process."""

    version: str
    at: float
    writes: object


class VersionWatch:
    """Reads the version at every request cheaply: on SQLite by a connection that stays open and begins no transaction."""

    def __init__(self, engine: Engine, fresh_s: float = FRESH_S) -> None:
        self._engine, self._fresh_s = engine, fresh_s
        self._writes = object()
        """Another one after each write of this process."""
        self._last = _Read("", float("-inf"), None)
        event.listen(engine, "checkin", self._given_back)
        self._lock = threading.Lock()
        self._open: sqlite3.Connection | None = None

    @property
    def local(self) -> bool:
        """Whether reading waits for no database server."""
        return self._engine.dialect.name == "sqlite"

    def version(self) -> str:
        """The version of the data; a change by another process is seen after :data:`FRESH_S`."""
        moment, writes, last = time.monotonic(), self._writes, self._last  # before the version is read: it may change meanwhile
        if last.writes is not writes or moment - last.at > self._fresh_s:
            with translated(self._engine):
                last = self._last = _Read(self._newest(), moment, writes)
        return last.version

    def _given_back(self, _: Any, record: ConnectionPoolEntry) -> None:
        """A connection is no longer used: what was written with it is committed."""
        if record.info.pop(WRITTEN, False):
            self._writes = object()

    def _newest(self) -> str:
        if not self.local:
            with self._engine.connect() as connection:
                return current(connection)
        file: DatabaseFile = self._engine.get_execution_options()[FILE]
        with self._lock:
            file.check()
            if self._open is None:
                self._open = sqlite3.connect(str(self._engine.url.database), timeout=30, isolation_level=None, check_same_thread=False)
            try:
                row = self._open.execute("SELECT version FROM meta").fetchone()
            except sqlite3.Error:
                self._close()
                raise
        return str(row[0]) if row else NEVER

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None


def bump(connection: Connection, *, knowledge: bool = True) -> tuple[int, str]:
    """Count a change, once in a transaction: of ``knowledge``, or of results alone. Returns the new number and version.

    The random part of the version tells a restored backup from what followed it.
    """
    last = connection.execute(select(meta.c.number)).scalar()
    number = (last or 0) + 1
    version = f"{number}-{secrets.token_hex(4)}"
    values = {"number": number, "version": version, "changed_at": stored(now())} | ({"knowledge": version} if knowledge else {})
    connection.execute(insert(meta).values(id=1, **values) if last is None else update(meta).values(**values))
    return number, version
