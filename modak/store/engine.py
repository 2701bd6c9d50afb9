"""Connections: one engine for each database, readers that never wait, writers one at a time, and errors in one line.

SQLite runs in WAL mode with ``BEGIN IMMEDIATE`` for writers: a writer that began with a read and then finds the database
locked would fail at once or, worse, lose an update. On network file systems, where WAL's shared memory does not work, the
rollback journal is used.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from tempfile import TemporaryFile
from threading import BoundedSemaphore
from typing import Any, Final, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DatabaseError, InterfaceError, InternalError, NoSuchModuleError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from modak.errors import Unavailable

Value = TypeVar("Value")

AT_ONCE: Final = 500
"""Values in one statement: far below every database's limit of parameters."""
BUSY_MS: Final = 30_000
"""Milliseconds that SQLite waits for another writer."""
QUICK_MS: Final = 100
"""The same for writers that can do without the lock."""
POOL_WAIT_S: Final = 5
"""Seconds that a caller waits for a connection of the pool, or a writer for its turn to wait for the lock."""
MOST_WAITING: Final = 8
"""Writers of one process that hold a connection while they wait for the lock; of the 15 connections, readers have the others."""
CACHE_KIB: Final = 4_096
"""Page cache of each SQLite connection. Small, since it is kept for as long as the connection, and requests rarely read the same pages."""
LOAD_CACHE_KIB: Final = 65_536
"""The same for a connection that writes data: a load uses the same index pages for each row."""
LOG_BYTES: Final = 16 << 20
"""How large SQLite's write-ahead log stays: that of a load is as large as what it stores, and would stay so until nobody uses the file."""
WRITTEN: Final = "modak_written"
"""Marks a connection, until it is given back, that a transaction of :func:`writing` has used."""
REVISION: Final = "modak_revision"
"""Option of an engine: the version of the tables that it may write to."""
FILE: Final = "modak_file"
"""Option of an engine for SQLite: its :class:`DatabaseFile`."""
WRITERS: Final = 0x6D6F6461
"""Key of the PostgreSQL advisory lock that writers of data take in turn."""
VANISHED: Final = {"tcp_keepalives_idle": 30, "tcp_keepalives_interval": 10, "tcp_keepalives_count": 3, "tcp_user_timeout": 60_000}
"""When either end of a connection to PostgreSQL gives up a host that vanished, in the server's words: seconds, seconds and number of probes
of a silent connection; milliseconds for data on their way, beside which the system sends no probes. Its own limits are two hours and a
quarter of an hour: for so long a host that lost its power while it loaded results would keep the lock of writers."""
NOT_READY: Final = frozenset(("42501", "42P01"))
"""PostgreSQL's codes for a role that may not do that, and for a table that is not there (a backup is being restored)."""
OUT_OF_REACH: Final = "the database is out of reach"
NETWORK: Final = frozenset(
    ("nfs", "nfs4", "lustre", "gpfs", "beegfs", "cifs", "smb3", "afs", "ceph", "panfs", "9p", "fuse.sshfs", "fuse.glusterfs")
)
"""Kinds of file systems, as /proc/mounts names them, on which WAL does not work."""


def supported(url: str) -> URL:
    """The address of a database, with the driver named. Raises :class:`modak.errors.Unavailable` for one that is not supported."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):  # the latter of a port that is no number
        raise Unavailable(_NO_ADDRESS, field=_SETTING) from None
    if parsed.drivername in ("postgresql", "postgres"):
        parsed = parsed.set(drivername="postgresql+psycopg")
    if why := _unsupported(parsed, url):
        raise Unavailable(why, field=_SETTING)
    return parsed


_ALLOWED: Final = "sqlite:///FILE, postgresql://USER@HOST/NAME, of several servers postgresql://USER@/NAME?host=HOST:PORT&host=HOST:PORT"
_NO_ADDRESS: Final = f"no database address; allowed: {_ALLOWED}"
_SETTING: Final = "MODAK_DATABASE_URL"


def _unsupported(parsed: URL, url: str) -> str:
    """Why an address is not supported; empty: it is."""
    host, hosts = parsed.host or "", parsed.query.get("host", ())
    if "," in host and parsed.port:  # libpq means the port of the last host alone; here it would be that of all
        return _NO_ADDRESS
    named = (host, *([hosts] if isinstance(hosts, str) else hosts))
    if any("[" in one or (isinstance(hosts, tuple) and one.count(":") > 1) for one in named):
        return "IPv6 addresses of servers: ?host=ADDRESS,ADDRESS&port=PORT,PORT, without brackets"
    if "@" in host:
        return "more than one @; an @ of the password is written %40"
    if parsed.drivername == "postgresql+psycopg":
        return ""
    if parsed.drivername != "sqlite":
        return f"{parsed.drivername!r} is no supported database; allowed: {_ALLOWED}"
    if parsed.database in (None, "", ":memory:"):
        return "a database in memory would be lost; allowed: sqlite:///FILE"
    # mode=ro would be ignored, and so would the rest of a name that has a question mark
    return "SQLite takes no options; allowed: sqlite:///FILE" if "?" in url else ""


def existing(url: str) -> URL:
    """The address of a database, as :func:`supported`, whose file has to be there: :func:`connect` would make a missing one."""
    address = supported(url)
    if address.drivername != "sqlite":
        return address
    try:
        Path(address.database or "").stat()
    except OSError as error:
        raise Unavailable(f"there is no database {address_shown(address)}: {error.strerror}", public_message=OUT_OF_REACH) from None
    return address


def connect(url: URL) -> Engine:
    """An engine for the database. Nothing is opened yet, but SQLite's folder is made."""
    if url.drivername == "sqlite":
        return _sqlite(url, DatabaseFile(url))
    here = {name.replace("tcp_keep", "keep"): number for name, number in VANISHED.items()}
    usual = {"connect_timeout": 10, "application_name": "modak", **here}
    said = {name: value for name, value in usual.items() if name not in url.query}
    said |= {"client_encoding": "utf8"}  # whatever PGCLIENTENCODING says
    unprepared = {"prepare_threshold": None}  # a pooler may give the next transaction another connection, which has other statements
    try:
        # Whatever default the server has: a writer has to see what was stored while it waited for its turn.
        engine = create_engine(url, isolation_level="READ COMMITTED", pool_pre_ping=True, connect_args=said | unprepared, **_shared())
    except (ModuleNotFoundError, NoSuchModuleError):
        raise Unavailable("PostgreSQL needs the extra 'postgres': pip install 'modak[postgres]'", field=_SETTING) from None
    except ArgumentError as error:  # of several hosts and ports
        raise Unavailable(str(error), field=_SETTING) from None
    driver: Any = engine.dialect.loaded_dbapi
    try:
        driver.conninfo.make_conninfo(**dict.fromkeys(url.query, ""))
    except driver.ProgrammingError as error:
        raise Unavailable(f"{str(error).strip()}; allowed: those of libpq, such as sslmode", field=_SETTING) from None

    @event.listens_for(engine, "connect", insert=True)  # before anything is asked
    def _opened(connection: Any, _record: Any) -> None:
        encoding = connection.info.parameter_status("server_encoding")
        if encoding not in (None, "UTF8"):
            connection.close()
            needed = "MODAK needs UTF8 (CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0)"
            raise Unavailable(f"the database {address_shown(url)} has the encoding {encoding}; {needed}", public_message=OUT_OF_REACH)
        for name, number in VANISHED.items():
            connection.execute("SELECT set_config(%s, %s, false)", (name, str(number)))
        connection.commit()

    return engine


def _shared() -> dict[str, Any]:
    """Options with which the threads of one process share an engine, although some of them wait long."""
    return {"pool_timeout": POOL_WAIT_S, "execution_options": {"turns": BoundedSemaphore(MOST_WAITING)}}


class DatabaseFile:
    """The file of an SQLite database while it is in use.

    Whoever has a file open goes on with it after it was removed or replaced, and SQLite does not say so: what is written is lost. A second
    connection would even make an empty database in its place.
    """

    def __init__(self, url: URL) -> None:
        self._url, self._path = url, Path(url.database or "").absolute()
        self._first: tuple[int, int] | None = None

    def opened(self) -> None:
        """The first connection is open: from now on this file is meant."""
        self._first = self._first or self._there()

    def check(self) -> None:
        """Raise :class:`modak.errors.Unavailable` if it is no longer the file that was opened first."""
        if self._first and self._there() != self._first:
            reason = "its file was removed or replaced while it was in use; stop MODAK, put that file back"
            raise _unreached(self._url, f"{reason} (another one only after -wal and -shm are removed), start again", Unavailable)

    def _there(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:  # the rights on a folder above it have changed, or its disk answers no more
            raise _unreached(self._url, f"its file cannot be looked up: {error.strerror}", Unavailable) from None
        return found.st_dev, found.st_ino


def quick(engine: Engine) -> Engine:
    """The same database for writes that may be lost when the power fails (not when a process is killed), or that can do without the lock.

    SQLite then does not wait for the disk, and waits for another writer for :data:`QUICK_MS` only.
    """
    if engine.dialect.name != "sqlite":
        return engine
    file: DatabaseFile = engine.get_execution_options()[FILE]
    return _sqlite(engine.url, file, synchronous="NORMAL", busy_ms=QUICK_MS, writer_kib=CACHE_KIB)


def _sqlite(url: URL, file: DatabaseFile, *, synchronous: str = "FULL", busy_ms: int = BUSY_MS, writer_kib: int = LOAD_CACHE_KIB) -> Engine:
    path = Path(url.database or "")
    _make_private(path)
    journal = "DELETE" if on_network(path) else "WAL"
    engine = create_engine(url, **_shared())
    engine.update_execution_options(**{FILE: file})

    @event.listens_for(engine, "do_connect")
    def _before(*_: Any) -> None:
        file.check()

    @event.listens_for(engine, "connect")
    def _open(connection: sqlite3.Connection, _record: Any) -> None:
        connection.isolation_level = None  # transactions begin below, not where the driver thinks best
        for pragma in (
            f"busy_timeout={busy_ms}",
            f"journal_mode={journal}",
            f"journal_size_limit={LOG_BYTES}",
            f"synchronous={synchronous}",
            "foreign_keys=ON",
            "trusted_schema=OFF",
            f"cache_size=-{CACHE_KIB}",
        ):
            connection.execute(f"PRAGMA {pragma}")
        file.opened()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        write = connection.get_execution_options().get("write")
        if writer_kib != CACHE_KIB:
            connection.exec_driver_sql(f"PRAGMA cache_size=-{writer_kib if write else CACHE_KIB}")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    @event.listens_for(engine, "commit")
    def _commit(_connection: Connection) -> None:
        file.check()

    return engine


def _make_private(path: Path) -> None:
    """Make the folder, and a new database file that only its owner can read: it will hold requests, the audit trail, hashes of tokens.

    SQLite gives the files beside it the same mode. An existing file keeps its mode, which its owner has chosen.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Unavailable(f"the folder {path.parent} cannot be made: {error.strerror}", public_message=OUT_OF_REACH) from None
    with suppress(OSError):  # it exists, or cannot be created: SQLite says which
        os.close(os.open(os.path.realpath(path), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))  # SQLite, too, follows a link to no file yet


def on_network(path: Path, mounts: Path = Path("/proc/mounts")) -> bool:
    """Whether a file lies on a network file system (Linux; elsewhere: no)."""
    try:
        table = [line.split(" ")[1:3] for line in mounts.read_text(encoding="utf-8", errors="replace").splitlines()]
    except OSError:
        return False
    resolved = path.resolve()
    found = [(len(point), kind) for point, kind in table if resolved.is_relative_to(point.replace("\\040", " "))]
    return max(found, default=(0, ""))[1] in NETWORK


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A connection that sees one state of the database, even while others write."""
    with translated(engine), engine.connect() as plain:
        connection = plain if engine.dialect.name == "sqlite" else plain.execution_options(isolation_level="REPEATABLE READ")
        with connection.begin():
            yield connection


@contextmanager
def writing(engine: Engine, *, shared: bool = False, wait: bool = True) -> Iterator[Connection]:
    """A transaction that is committed as a whole at the end, or not at all; one at a time, unless it is ``shared``.

    ``shared`` transactions touch no table that a load writes (plans, keys): PostgreSQL runs them beside one. Without ``wait``, PostgreSQL
    raises :class:`Locked` if there is another writer; how long SQLite waits is set in the engine. :class:`Locked` is also raised if
    :data:`MOST_WAITING` writers of this process wait already. With the option :data:`REVISION` the tables have to be of that version still.
    """
    beside = shared and engine.dialect.name == "postgresql"
    with translated(engine), nullcontext() if beside else _turn(engine, wait=wait), engine.connect() as plain:
        connection = plain.execution_options(write=True)
        connection.info[WRITTEN] = True
        with connection.begin():
            if engine.dialect.name == "postgresql" and not shared:
                _queue(connection, wait=wait)
            _same_tables(connection)
            yield connection


@contextmanager
def _turn(engine: Engine, *, wait: bool) -> Iterator[None]:
    """The right to hold one of the connections with which this process may wait for the lock."""
    turns: BoundedSemaphore = engine.get_execution_options()["turns"]
    if not turns.acquire(timeout=POOL_WAIT_S if wait else 0):
        raise _unreached(engine.url, "others wait to write; try again when they are done", Locked)
    try:
        yield
    finally:
        turns.release()


def _queue(connection: Connection, *, wait: bool) -> None:
    """Take PostgreSQL's lock of writers."""
    if wait:
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": WRITERS})
    elif not connection.execute(text("SELECT pg_try_advisory_xact_lock(:key)"), {"key": WRITERS}).scalar():
        raise Locked("another process writes; try again when that has ended")


def _same_tables(connection: Connection) -> None:
    """Raise :class:`modak.errors.Unavailable` where another MODAK has changed the tables since this process looked at them."""
    revision = connection.get_execution_options().get(REVISION)
    if revision and connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar() != revision:
        reason = "its tables are of another version of MODAK by now; stop this one, and start that version"
        raise _unreached(connection.engine.url, reason, Unavailable)


class Locked(Unavailable):
    """Another process writes to the database."""


@contextmanager
def translated(engine: Engine) -> Iterator[None]:
    """Raise :class:`modak.errors.Unavailable`, in one line without the password, if the database cannot answer.

    Violated constraints and wrong statements are bugs, and are raised as they are.
    """
    driver: Any = engine.dialect.loaded_dbapi
    try:
        yield
    except (OperationalError, InterfaceError, InternalError) as error:
        kind = Locked if getattr(error.orig, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY else Unavailable
        raise _failed(engine.url, error.orig, kind) from error
    except DatabaseError as error:
        if type(error) is not DatabaseError and getattr(error.orig, "sqlstate", "") not in NOT_READY:
            raise
        raise _failed(engine.url, error.orig) from error
    except driver.DatabaseError as error:  # of a connection past SQLAlchemy; PostgreSQL's driver has a type for each reason
        if type(error) is not driver.DatabaseError and not isinstance(error, (driver.OperationalError, driver.InternalError)):
            raise
        raise _failed(engine.url, error) from error
    except (driver.InterfaceError, PoolTimeout) as error:
        raise _failed(engine.url, error) from error


def address_shown(url: URL) -> str:
    """The database in messages: the file, or the address without the password."""
    return str(url.database) if url.drivername == "sqlite" else url.difference_update_query(_SECRET).render_as_string(hide_password=True)


_SECRET: Final = ("password", "sslpassword")


_DAMAGED: Final = "the file is damaged; restore a backup, and remove -wal and -shm of the old file first"
_REASONS: Final = {
    "database is locked": "another process holds it; try again when that has ended",
    "attempt to write a readonly database": "it is read-only",
    "unable to open database file": "it cannot be opened: look at the rights on the file, on its -wal and -shm, and on its folder",
    "database or disk is full": "the disk is full, its own or that of temporary files (TMPDIR)",
    "disk I/O error": "the disk answers with errors (full, or a quota is reached)",
    "database disk image is malformed": _DAMAGED,
    "malformed database schema": _DAMAGED,
    "file is not a database": "the file is no SQLite database",
}


def _failed(url: URL, error: BaseException | None, kind: type[Unavailable] = Unavailable) -> Unavailable:
    """The driver's error in one line. Callers of a service see it only in our own words, since drivers name hosts and users."""
    first = (str(error).strip() or type(error).__name__).splitlines()[0]
    told = first.partition(" (")[0]
    if told in _UNLOCKED and (refused := _no_locks(Path(url.database or ""))):
        return _unreached(url, f"the file system of its folder takes no locks ({refused}); put it on another one", Unavailable)
    if reason := _REASONS.get(told):
        return _unreached(url, reason, kind)
    return kind(f"the database {address_shown(url)} is out of reach: {first}", public_message=OUT_OF_REACH)


_UNLOCKED: Final = ("database is locked", "disk I/O error")
"""What SQLite says, too, where the file system has no locks (NFS without their daemon; Lustre mounted without ``flock``)."""


def _no_locks(path: Path) -> str | None:
    """With which words the file system of a database refuses locks; ``None``: it takes them.

    It is tried on another file: closing the database would end the locks that SQLite holds on it in this process.
    """
    try:
        with TemporaryFile(dir=path.parent) as tried:
            fcntl.lockf(tried, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.strerror if error.errno in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP) else None
    return None


def _unreached(url: URL, reason: str, kind: type[Unavailable]) -> Unavailable:
    return kind(f"the database {address_shown(url)} is out of reach: {reason}", public_message=f"{OUT_OF_REACH}: {reason}")


def chunks(values: Sequence[Value], size: int = AT_ONCE) -> Iterator[Sequence[Value]]:
    """The values in their order, at most ``size`` at once.

    >>> list(chunks("abcde", 2))
    ['ab', 'cd', 'e']
    """
    return (values[start : start + size] for start in range(0, len(values), size))
