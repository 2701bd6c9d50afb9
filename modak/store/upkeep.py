"""Copies of an SQLite database, and the look for damage in one; PostgreSQL has programs of its own for both."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import Engine, text

from modak.errors import Conflict, RequestError
from modak.store.engine import translated


def backup(engine: Engine, path: Path) -> None:
    """A consistent copy of a database, while it is in use: whole, or none; with the same rights.

    Raises :class:`modak.errors.Conflict` for a file that exists.
    """
    if engine.dialect.name != "sqlite":
        raise RequestError("a PostgreSQL database is backed up by pg_dump", field="MODAK_DATABASE_URL")
    if path.exists():
        raise Conflict("exists already", field=str(path))
    if not path.parent.is_dir():
        raise RequestError("cannot be written: there is no such folder", field=str(path))
    try:
        with TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
            waiting = Path(folder) / path.name
            with translated(engine), closing(sqlite3.connect(str(engine.url.database))) as connection:
                _copied(connection, waiting, path)
            waiting.chmod(Path(engine.url.database or "").stat().st_mode & 0o666)
            with waiting.open("rb") as content:
                os.fsync(content.fileno())  # VACUUM INTO leaves that to us
            waiting.replace(path)
    except OSError as error:
        raise RequestError(f"cannot be written: {error.strerror}", field=str(path)) from None


def check(engine: Engine) -> tuple[str, ...]:
    """What is damaged in a database; nothing where all is well."""
    if engine.dialect.name != "sqlite":
        raise RequestError("a PostgreSQL database is checked by pg_amcheck", field="MODAK_DATABASE_URL")
    with translated(engine), engine.connect() as connection:
        found = [str(row[0]) for row in connection.execute(text("PRAGMA integrity_check"))]
        dangling = [f"{row[0]} row {row[1]}: no such row in {row[2]}" for row in connection.execute(text("PRAGMA foreign_key_check"))]
    return tuple([line for line in found if line != "ok"] + dangling)


def _copied(connection: sqlite3.Connection, waiting: Path, path: Path) -> None:
    try:
        connection.execute("VACUUM INTO ?", (str(waiting),))
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
            raise
        raise RequestError(f"cannot be written: {error}", field=str(path)) from None
