"""Systems, processors, accelerators, images and rules: one JSON body a row, validated on the way in and on the way out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Final, TypeVar

from pydantic import ValidationError
from sqlalchemy import Connection, Table, delete, insert, select

from modak.errors import BY_REPLACING, AlreadyThere, Fault, Unavailable
from modak.facts import STORED, Accelerator, Fact, Image, Processor, Rule, System
from modak.packaged import PRINCIPAL, Held, kind_of, name_of
from modak.store import schema
from modak.store.schema import instant, now, stored
from modak.text.faults import faults_of

Value = TypeVar("Value", bound=Fact)

TABLES: Final[dict[type[Fact], Table]] = {
    System: schema.systems,
    Processor: schema.processors,
    Accelerator: schema.accelerators,
    Image: schema.images,
    Rule: schema.rules,
}


def read(connection: Connection, kind: type[Value], *, sound: bool = False) -> tuple[Value, ...]:
    """All values of one kind in the order of their names; ``sound``: without those that no longer pass its checks."""
    table = TABLES[kind]
    rows = connection.execute(select(table.c.name, table.c.body).order_by(table.c.name)).all()
    read_one = _sound if sound else _value
    found = (read_one(kind, name, body) for name, body in rows)
    return tuple(value for value in found if value is not None)


def held(connection: Connection) -> Iterator[Held]:
    """All values of all kinds, with who added them and when; without those of an older package that no longer pass the checks.

    Raises :class:`modak.errors.Unavailable` at the end, with a fault for each of the others that do not.
    """
    faults: list[Fault] = []
    for kind, table in TABLES.items():
        for row in connection.execute(select(table).order_by(table.c.name)):
            try:
                yield Held(_value(kind, row.name, row.body), row.added_by, instant(row.added_at))
            except Unavailable as error:
                faults += () if row.added_by == PRINCIPAL else error.faults
    Unavailable.raise_for(faults)


def refused(connection: Connection) -> Iterator[str]:
    """A line for every value that no longer passes the checks of its kind."""
    for kind, table in TABLES.items():
        for name, body in connection.execute(select(table.c.name, table.c.body).order_by(table.c.name)):
            try:
                _value(kind, name, body)
            except Unavailable as error:
                yield str(error)


def _value(kind: type[Value], name: str, body: str) -> Value:
    """The value in a row; its prose is without the characters that prose may not have.

    The checks of its kind may refuse it: those of an older MODAK let it pass, or somebody edited the row.
    """
    try:
        return kind.model_validate_json(body, context=STORED)
    except ValidationError as error:
        fault = faults_of(error)[0]
    single = kind.__name__.lower()
    mended = f"'modak {single}s add FILE --replace' in any case, 'modak {single}s remove {name}' removes it"
    if kind in (Processor, Accelerator):
        mended = f"'modak systems add SYSTEM --{single}s FILE --replace' in any case"
    replaced = f"'modak db refresh' replaces it if it came with MODAK, {mended}"
    raise Unavailable(f"this version does not take the {single} {name!r} of the database: {fault}; {replaced}")


def _sound(kind: type[Value], name: str, body: str) -> Value | None:
    """The value in a row; ``None`` where the checks of its kind refuse it."""
    with suppress(Unavailable):
        return _value(kind, name, body)
    return None


def add(connection: Connection, values: Iterable[Fact], principal: str, *, replace: bool = False) -> bool:
    """Store values, except those that are there already. Returns whether any was new or changed.

    Raises :class:`modak.errors.AlreadyThere` where another value has the name, unless ``replace``.
    """
    changed = False
    for value in values:
        table, name, body = TABLES[type(value)], name_of(value), value.model_dump_json(exclude_unset=True)
        there = connection.execute(select(table.c.body).where(table.c.name == name)).scalar()
        if there is not None and (there == body or _sound(type(value), name, there) == value):
            continue
        if there is not None and not replace:
            field = f"{kind_of(value)}s.{name}.{'reference' if isinstance(value, Image) else 'name'}"
            raise AlreadyThere(f"the {kind_of(value)} {name!r} exists with other content; {BY_REPLACING}", field=field)
        connection.execute(delete(table).where(table.c.name == name))
        connection.execute(insert(table).values(name=name, body=body, added_at=stored(now()), added_by=principal))
        changed = True
    return changed


def remove(connection: Connection, kind: type[Fact], name: str) -> bool:
    """Remove a value; returns whether one has the name."""
    table = TABLES[kind]
    return connection.execute(delete(table).where(table.c.name == name)).rowcount > 0


def keys(connection: Connection, kind: type[Fact]) -> Sequence[str]:
    """The names of all values of one kind (of images: the references)."""
    return connection.execute(select(TABLES[kind].c.name)).scalars().all()
