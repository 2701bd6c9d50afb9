"""Copies of an SQLite database, and the look for damage in one; PostgreSQL has programs of its own for both.

Both take a database of any version, because a copy is made before an upgrade. Neither makes one: a copy of a database that was
not there would look like a backup.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Final

from sqlalchemy import Engine, text

from modak.errors import Conflict, RequestError
from modak.store import catalogue, migrate
from modak.store.engine import address_shown, connect, existing, reading, supported, translated

_UNFINISHED: Final = ".modak-backup."
"""How the name of a folder begins in which a backup is made."""


def backup(url: str, path: Path) -> None:
    """Write a consistent copy of the database at an address, while it is in use: whole, or none; with the same rights.

    Raises :class:`modak.errors.Conflict` for a file that exists, :class:`modak.errors.Unavailable` where there is no database.
    """
    with _there(url, "backed up by pg_dump") as engine:
        _backup(engine, path)


def check(url: str) -> tuple[str, ...]:
    """What is damaged in the database at an address, and the entries that this MODAK does not take; nothing where all is well.

    Raises :class:`modak.errors.Unavailable` where there is no database.
    """
    with _there(url, "checked by pg_amcheck") as engine, engine.connect() as connection:
        found = [str(row[0]) for row in connection.execute(text("PRAGMA integrity_check"))]
        dangling = [f"{row[0]} row {row[1]}: no such row in {row[2]}" for row in connection.execute(text("PRAGMA foreign_key_check"))]
        entries = () if migrate.state(connection) == "foreign" else tuple(catalogue.refused(connection))
    return (*(line for line in found if line != "ok"), *dangling, *entries)


@contextmanager
def _there(url: str, otherwise: str) -> Iterator[Engine]:
    """The SQLite database at an address, as it is."""
    if supported(url).drivername != "sqlite":
        raise RequestError(f"a PostgreSQL database is {otherwise}", field="MODAK_DATABASE_URL")
    address = existing(url)
    engine = connect(address)
    try:
        with reading(engine) as connection:
            found = migrate.state(connection)
        if found == "empty":
            migrate.refuse(found, address_shown(address))
        with translated(engine):
            yield engine
    finally:
        engine.dispose()


def _backup(engine: Engine, path: Path) -> None:
    with suppress(FileNotFoundError, NotADirectoryError):
        path.stat()  # exists() does not tell a name that is too long, since Python 3.14
        raise Conflict("exists already", field=str(path))
    if not path.parent.is_dir():
        raise RequestError("cannot be written: there is no such folder", field=str(path))
    try:
        _tidy(path.parent)
        with TemporaryDirectory(prefix=_UNFINISHED, dir=path.parent) as folder, _held(folder, wait=True):
            waiting = Path(folder) / path.name
            with closing(sqlite3.connect(str(engine.url.database))) as connection:
                _copied(connection, waiting, path)
            waiting.chmod(Path(engine.url.database or "").stat().st_mode & 0o666)
            with waiting.open("rb") as content:
                os.fsync(content.fileno())  # VACUUM INTO leaves that to us
            waiting.replace(path)
    except OSError as error:
        raise RequestError(f"cannot be written: {error.strerror}", field=str(path)) from None


@contextmanager
def _held(folder: Path | str, *, wait: bool) -> Iterator[bool]:
    """A folder, locked until the end of this process at the latest; whether it is: another process may have it, or no file system locks.

    ``wait``: for one that only looks into it. Raises ``OSError`` for what is no folder, or a link to one.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield _locked(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(descriptor)


def _locked(descriptor: int, how: int) -> bool:
    try:
        fcntl.flock(descriptor, how)
    except OSError:
        return False
    return True


def _tidy(folder: Path) -> None:
    """Remove what backups have left that were killed. An empty one may be about to begin."""
    for left in folder.glob(f"{_UNFINISHED}*"):
        with suppress(OSError), _held(left, wait=False) as free:
            if free and any(left.iterdir()):
                rmtree(left)


def _copied(connection: sqlite3.Connection, waiting: Path, path: Path) -> None:
    try:
        connection.execute("VACUUM INTO ?", (str(waiting),))
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
            raise
        raise RequestError(f"cannot be written: {error}", field=str(path)) from None
