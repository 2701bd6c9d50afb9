"""Systems, processors, accelerators, images and rules: one JSON body a row, validated on the way in and on the way out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeVar

from pydantic import ValidationError
from sqlalchemy import Connection, Table, delete, insert, select

from modak.errors import Conflict, Unavailable
from modak.facts import Accelerator, Fact, Image, Processor, Rule, System
from modak.store import schema
from modak.store.times import now, stored

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
    found = []
    for name, body in connection.execute(select(table.c.name, table.c.body).order_by(table.c.name)):
        try:
            found.append(kind.model_validate_json(body))
        except ValidationError as wrong:
            raise Unavailable(f"the database holds a {kind.__name__.lower()} {name!r} that is none: {wrong.errors()[0]['msg']}") from None
    return tuple(found)


def add(connection: Connection, values: Iterable[Fact], principal: str, *, replace: bool = False) -> int:
    """Store values; an equal one that is there already is left alone. Returns how many were new or changed.

    Raises :class:`modak.errors.Conflict` where another value has the name, unless ``replace``.
    """
    changed = 0
    for value in values:
        table, name, body = TABLES[type(value)], name_of(value), value.model_dump_json(exclude_unset=True)
        there = connection.execute(select(table.c.body).where(table.c.name == name)).scalar()
        if there == body:
            continue
        if there is not None and not replace:
            raise Conflict(f"another {type(value).__name__.lower()} is called {name!r}; replacing it has to be said", field="name")
        connection.execute(delete(table).where(table.c.name == name))
        connection.execute(insert(table).values(name=name, body=body, added_at=stored(now()), added_by=principal))
        changed += 1
    return changed


def name_of(value: Any) -> str:
    """What a value is found by: an image's reference, else the name."""
    return str(value.reference if isinstance(value, Image) else value.name)
