"""The audit trail: a row for every change of the data, written in the transaction of the change. Nothing changes or deletes one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, insert, select

from modak.settings import user
from modak.store.schema import audit, now, stored, with_instants
from modak.store.values import Page, cursor_number, paged

LONGEST_TARGET: Final = 2000
REMOVE: Final = "remove"
"""The action of removing an entry, the only target of its line."""


@dataclass(frozen=True)
class Actor:
    """Who makes a change: a principal, and the id of the request (empty: the command line)."""

    principal: str
    request_id: str = ""


def local_actor() -> Actor:
    """Who makes the changes of this process: its user."""
    return Actor(f"local:{user()}")


@dataclass(frozen=True)
class Entry:
    """One line of the trail."""

    id: int
    at: datetime
    principal: str
    request_id: str
    action: str
    target: str
    outcome: str


def note(connection: Connection, actor: Actor, action: str, targets: Sequence[str], outcome: str = "done") -> None:
    """Add a line, within the connection's transaction."""
    target = ", ".join(targets)
    shown = target if len(target) <= LONGEST_TARGET else f"{target[:LONGEST_TARGET]}… ({len(targets)})"
    values = {"principal": actor.principal[:200], "request_id": actor.request_id[:64], "action": action, "outcome": outcome[:64]}
    connection.execute(insert(audit).values(at=stored(now()), target=shown, **values))


def removed(connection: Connection) -> frozenset[str]:
    """Kind and name of all entries that were removed at some time; they may have been added again since."""
    return frozenset(connection.execute(select(audit.c.target).where(audit.c.action == REMOVE)).scalars())


def page(connection: Connection, cursor: str, limit: int) -> Page[Entry]:
    """At most ``limit`` lines, the newest first, after the one that ``cursor`` names."""
    before = cursor_number(cursor)
    wanted = select(audit).order_by(audit.c.id.desc()).limit(limit + 1)
    rows = connection.execute(wanted.where(audit.c.id < before) if cursor else wanted).all()
    return paged((((row.id,), Entry(**with_instants(row))) for row in rows), limit)
