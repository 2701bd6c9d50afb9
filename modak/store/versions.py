"""The version of the data: a text that changes with every change of knowledge or results."""

from __future__ import annotations

import secrets

from sqlalchemy import Connection, insert, select, update

from modak.store.schema import meta
from modak.store.times import now, stored


def current(connection: Connection) -> str:
    """The version of the data as it is now."""
    return str(connection.execute(select(meta.c.version)).scalar() or "0")


def bump(connection: Connection) -> tuple[int, str]:
    """Count a change, once in a transaction. The random part tells a restored backup from what followed it."""
    last = connection.execute(select(meta.c.number)).scalar()
    number = (last or 0) + 1
    values = {"number": number, "version": f"{number}-{secrets.token_hex(4)}", "changed_at": stored(now())}
    connection.execute(insert(meta).values(id=1, **values) if last is None else update(meta).values(**values))
    return number, str(values["version"])
