"""Versions of the schema: which one a database has, and migrating up and down. Alembic is imported only if something has to be done."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from sqlalchemy import Connection, inspect, select, text, true, update

from modak.errors import Unavailable
from modak.store import versions
from modak.store.engine import OUT_OF_REACH, address_shown, chunks, connect, reading, supported, writing

if TYPE_CHECKING:
    from alembic.config import Config

HEAD: Final = "0012"
"""The newest migration, so that opening a database need not read the folder; a test compares it."""

State = Literal["empty", "current", "older", "foreign"]


def migrations() -> Path:
    """The folder of migrations: inside an installed package, or beside it in a checkout."""
    here = Path(__file__).resolve().parents[1]
    return next(path for path in (here / "_data" / "alembic", here.parent / "alembic") if (path / "env.py").is_file())


def state(connection: Connection) -> State:
    """What the database holds: nothing, our schema (this version or an older one), or something else."""
    tables = set(inspect(connection).get_table_names())
    if not tables:
        return "empty"
    if "alembic_version" not in tables:
        return "foreign"
    revision = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    if revision == HEAD:
        return "current"
    if revision is None and tables == {"alembic_version"}:
        return "empty"
    known = {path.name.split("_")[0] for path in (migrations() / "versions").glob("[0-9]*.py")}
    return "older" if revision in known else "foreign"


def refuse(found: State, name: str) -> None:
    """Raise :class:`modak.errors.Unavailable` unless the database can be used as it is."""
    if found != "current":
        raise Unavailable(f"the database {name} {_REFUSED[found]}", public_message=OUT_OF_REACH)


_REFUSED: Final[Mapping[State, str]] = {
    "empty": "is empty; 'modak db upgrade' creates the tables",
    "older": "was made by an older MODAK; 'modak db upgrade' brings it up to date (make a backup first)",
    "foreign": "was made by a newer MODAK or by another program; nothing was changed",
}


def upgrade(url: str, *, fill: bool = True) -> bool:
    """Create the tables, or bring them up to date; with ``fill`` one that was never written to gets the packaged knowledge.

    All of it happens in one transaction. Returns whether anything was done. Raises :class:`modak.errors.Unavailable` for a
    database that is not ours or newer than this MODAK.
    """
    engine = connect(supported(url))
    try:
        with reading(engine) as connection:  # without the lock: a host that starts does not wait for another one's load
            if _is_ready(connection, fill):
                return False
        with writing(engine) as connection:
            if _is_ready(connection, fill):
                return False
            found = state(connection)
            if found == "foreign":
                refuse(found, address_shown(engine.url))
            if found != "current":
                to(connection, "head")
            if found == "older":
                _judge_joined(connection)
            if fill and versions.is_new(connection):  # alembic's own command creates tables alone
                _fill(connection)
        return True
    finally:
        engine.dispose()


def _fill(connection: Connection) -> None:
    """Everything in `benchmarks_db`, with the models of its results, into an empty database."""
    from modak import knowledge
    from modak.ingest.reading import tables
    from modak.packaged import PRINCIPAL
    from modak.store import catalogue, curves, loading, staging

    found = knowledge.read_all(knowledge.packaged_root())
    catalogue.add(connection, found.entries, PRINCIPAL)
    if found.result_files:
        loading.load(connection, [*map(staging.unread, tables(found.result_files).tables)], PRINCIPAL)
        curves.keep(connection, curves.newest(curves.read(connection))[1])
    versions.bump(connection)


def _judge_joined(connection: Connection) -> None:
    """Judge the results of series that a migration or this version joins: doubts of each by itself may be none beside the others."""
    from modak.store import suspects
    from modak.store.schema import series
    from modak.store.series import OwnNames, by_number

    keys = by_number(connection, true())
    joined = {*OwnNames(connection).together(connection, keys), *connection.scalars(select(series.c.id).where(series.c.fitted.is_(None)))}
    found = suspects.review(connection, {number: key for number, key in keys.items() if number in joined})
    for numbers in chunks(sorted(found.changed)):
        connection.execute(update(series).where(series.c.id.in_(numbers)).values(fitted=None))


def _is_ready(connection: Connection, fill: bool) -> bool:
    return state(connection) == "current" and not (fill and versions.is_new(connection))


def to(connection: Connection, revision: str) -> None:
    """Migrate within the connection's transaction: up to ``head``, or to an earlier revision (``base``: no tables)."""
    from alembic import command

    config = _config(connection)
    if revision == "head":
        command.upgrade(config, revision)
    else:
        command.downgrade(config, revision)


def _config(connection: Connection) -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(migrations()).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config
