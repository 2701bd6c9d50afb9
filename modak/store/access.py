"""API keys, the tokens of jobs and the audit trail. Each method is one transaction.

They touch no table that a load writes, so PostgreSQL runs them beside a load: a token can be revoked while its load runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Engine

from modak.errors import Unauthorised
from modak.facts import Fact
from modak.packaged import kind_of, name_of
from modak.store import audit, keys
from modak.store.audit import Actor, Entry
from modak.store.engine import reading, writing
from modak.store.keys import Key
from modak.store.spool import PlanSpool
from modak.store.values import Page


@dataclass(frozen=True)
class Access:
    """The part of an open database that is about access. Tokens come and go as their SHA-256."""

    engine: Engine
    quick_engine: Engine
    """For writes that do not wait for another writer."""
    spool: PlanSpool

    # --- API keys

    def create(self, digest: str, name: str, principal: str, scopes: tuple[str, ...], expires_at: datetime | None, actor: Actor) -> Key:
        """Keep a new key, whose writes are attributed to ``principal``."""
        with writing(self.engine, shared=True) as connection:
            key = keys.create(connection, digest, name, principal, scopes, expires_at, actor.principal)
            audit.note(connection, actor, "create token", [f"{key.id} {key.name}: {' '.join(scopes)}"])
            return key

    def find(self, digest: str) -> Key | None:
        """The key with this hash, also if it has expired or was revoked; ``None`` if there is none."""
        with reading(self.engine) as connection:
            return keys.find(connection, digest)

    def every(self) -> tuple[Key, ...]:
        """All keys, the oldest first."""
        with reading(self.engine) as connection:
            return keys.every(connection)

    def revoke(self, identity: str, actor: Actor) -> bool:
        """Revoke a key; returns whether it was not revoked before. Raises :class:`modak.errors.NotFound`."""
        with writing(self.engine, shared=True) as connection:
            ended = keys.revoke(connection, identity)
            if ended:
                audit.note(connection, actor, "revoke token", [identity])
            return ended

    # --- tokens of jobs

    def allow_result(self, digest: str, plan_id: str, actor: Actor) -> datetime:
        """Let the holder of a token send one result of the plan, in the actor's name; returns until when.

        Raises :class:`modak.errors.NotFound` for a plan that is not there.
        """
        with writing(self.engine, shared=True) as connection:
            taken = self.spool.flush(connection, plan_id)
            until = keys.allow_result(connection, digest, plan_id, actor.principal)
            audit.note(connection, actor, "allow a result", [f"plan {plan_id}"])
        self.spool.remove(taken)
        return until

    def result_allowed(self, digest: str, plan_id: str) -> str | None:
        """The principal in whose name this token sends a result of the plan; ``None``: the token does not allow it."""
        with reading(self.engine) as connection:
            return keys.result_allowed(connection, digest, plan_id)

    # --- the trail

    def note(self, actor: Actor, action: str, target: str, outcome: str) -> None:
        """Add an entry about something that was refused. Changes add theirs in their own transaction.

        Does not wait for a load: raises :class:`modak.errors.Unavailable` if the trail cannot be written now.
        """
        with writing(self.quick_engine, shared=True) as connection:
            audit.note(connection, actor, action, [target], outcome)

    def audit(self, cursor: str, limit: int) -> Page[Entry]:
        """A page of the trail, the newest first. Raises :class:`modak.errors.RequestError` for a wrong cursor."""
        with reading(self.engine) as connection:
            return audit.page(connection, cursor, limit)


@dataclass(frozen=True)
class UsedToken:
    """A job's token, which its first successful load uses up."""

    digest: str
    plan_id: str

    def use(self, connection: Connection) -> None:
        """Use the token up within the load's transaction. Raises :class:`modak.errors.Unauthorised` if it is used already."""
        if not keys.spend(connection, self.digest, self.plan_id):
            raise Unauthorised("the token was used")


def names(values: Sequence[Fact]) -> list[str]:
    """The names of entries in the audit trail: kind, and name or reference."""
    return [f"{kind_of(value)} {name_of(value)}" for value in values]
