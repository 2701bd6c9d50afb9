"""Systems, processors, accelerators, images and rules: one JSON body a row, validated on the way in and on the way out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

from pydantic import ValidationError
from sqlalchemy import Connection, Table, delete, insert, select

from modak.errors import Conflict, Unavailable
from modak.facts import Accelerator, Fact, Image, Processor, Rule, System
from modak.packaged import Held, name_of
from modak.store import schema
from modak.store.times import instant, now, stored
from modak.text.faults import faults_of

Value = TypeVar("Value", bound=Fact)

TABLES: Final[dict[type[Fact], Table]] = {
    System: schema.systems,
    Processor: schema.processors,
    Accelerator: schema.accelerators,
    Image: schema.images,
    Rule: schema.rules,
}


def read(connection: Connection, kind: type[Value]) -> tuple[Value, ...]:
    """All values of one kind in the order of their names."""
    table = TABLES[kind]
    rows = connection.execute(select(table.c.name, table.c.body).order_by(table.c.name))
    return tuple(_value(kind, name, body) for name, body in rows)


def held(connection: Connection) -> Iterator[Held]:
    """All values of all kinds, with who added them and when."""
    for kind, table in TABLES.items():
        for row in connection.execute(select(table).order_by(table.c.name)):
            yield Held(_value(kind, row.name, row.body), row.added_by, instant(row.added_at))


def _value(kind: type[Value], name: str, body: str) -> Value:
    try:
        return kind.model_validate_json(body)
    except ValidationError as wrong:
        raise Unavailable(f"the database holds a {kind.__name__.lower()} {name!r} that is none: {faults_of(wrong)[0]}") from None


def add(connection: Connection, values: Iterable[Fact], principal: str, *, replace: bool = False) -> int:
    """Store values, except those that are there already. Returns how many were new or changed.

    Raises :class:`modak.errors.Conflict` where another value has the name, unless ``replace``.
    """
    changed = 0
    for value in values:
        table, name, body = TABLES[type(value)], name_of(value), value.model_dump_json(exclude_unset=True)
        there = connection.execute(select(table.c.body).where(table.c.name == name)).scalar()
        if there is not None and (there == body or _value(type(value), name, there) == value):
            continue
        if there is not None and not replace:
            kind = type(value).__name__.lower()
            how = "--replace (over HTTP: replace=true at POST /systems, /images or /rules) replaces it"
            raise Conflict(f"the {kind} {name!r} exists with other content; {how}", field="name")
        connection.execute(delete(table).where(table.c.name == name))
        connection.execute(insert(table).values(name=name, body=body, added_at=stored(now()), added_by=principal))
        changed += 1
    return changed
