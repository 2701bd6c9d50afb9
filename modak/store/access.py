"""API keys, the tokens with which jobs send their results back, and the audit trail. Each method of :class:`Access` is one transaction.

Of keys and tokens only the SHA-256 is stored. They touch no table that a load writes, so PostgreSQL runs them beside a load: a token can be
revoked while its load runs.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, Engine, Row, and_, case, insert, select, update

from modak.errors import NotFound, Unauthorised
from modak.facts import Fact
from modak.packaged import kind_of, name_of
from modak.store import audit
from modak.store.audit import Actor, Entry
from modak.store.engine import reading, writing
from modak.store.plans import flush, unexpired
from modak.store.schema import api_keys, now, plans, result_tokens, stored, with_instants
from modak.store.spool import PlanSpool
from modak.store.values import Page

RESULT_DAYS: Final = 90
"""Days for which a job's token is valid."""


@dataclass(frozen=True)
class Key:
    """What is known of an API key."""

    id: str
    name: str
    principal: str
    scopes: tuple[str, ...]
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    revoked_at: datetime | None

    def living(self, moment: datetime) -> bool:
        """Neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or moment < self.expires_at)


@dataclass(frozen=True)
class Access:
    """The part of an open database that is about access. Tokens come and go as their SHA-256."""

    engine: Engine
    quick_engine: Engine
    """For writes that do not wait for another writer."""
    spool: PlanSpool

    # --- API keys

    def create(self, digest: str, name: str, principal: str, scopes: tuple[str, ...], expires_at: datetime | None, actor: Actor) -> Key:
        """Store a new key, whose writes are attributed to ``principal``."""
        values = {
            "id": secrets.token_hex(4),
            "hash": digest,
            "name": name,
            "principal": principal,
            "scopes": " ".join(scopes),
            "created_at": stored(now()),
            "created_by": actor.principal,
            "expires_at": None if expires_at is None else stored(expires_at),
        }
        with writing(self.engine, shared=True) as connection:
            key = _key(connection.execute(insert(api_keys).values(values).returning(api_keys)).one())
            audit.note(connection, actor, "create token", [f"{key.id} {key.name}: {' '.join(scopes)}"])
            return key

    def find(self, digest: str) -> Key | None:
        """The key with this hash, also if it has expired or was revoked; ``None`` if there is none."""
        with reading(self.engine) as connection:
            row = connection.execute(select(api_keys).where(api_keys.c.hash == digest)).first()
        return _key(row) if row is not None and hmac.compare_digest(row.hash, digest) else None

    def every(self) -> tuple[Key, ...]:
        """All keys, the oldest first."""
        with reading(self.engine) as connection:
            return tuple(_key(row) for row in connection.execute(select(api_keys).order_by(api_keys.c.created_at, api_keys.c.id)))

    def revoke(self, identity: str, actor: Actor) -> bool:
        """Revoke a key; returns whether it was not revoked before. Raises :class:`modak.errors.NotFound`."""
        living = update(api_keys).where(api_keys.c.id == identity, api_keys.c.revoked_at.is_(None))
        with writing(self.engine, shared=True) as connection:
            if connection.execute(living.values(revoked_at=stored(now()))).rowcount:
                audit.note(connection, actor, "revoke token", [identity])
                return True
            if connection.execute(select(api_keys.c.id).where(api_keys.c.id == identity)).first() is None:
                raise NotFound(f"no token has the id {identity[:40]!a}; 'modak token list' shows the ids", field="id")
            return False

    # --- tokens of jobs

    def allow_result(self, digest: str, plan_id: str, actor: Actor) -> datetime:
        """Let the holder of a token send one result of the plan, in the actor's name; returns until when. The plan is kept for as long.

        Raises :class:`modak.errors.NotFound` for a plan that is not there.
        """
        with writing(self.engine, shared=True) as connection:
            taken = flush(connection, self.spool, plan_id)
            moment = now()
            until = moment + timedelta(days=RESULT_DAYS)
            kept = case((plans.c.expires_at < stored(until), stored(until)), else_=plans.c.expires_at)
            if not connection.execute(update(plans).where(plans.c.id == plan_id, unexpired()).values(expires_at=kept)).rowcount:
                raise NotFound(f"no plan {plan_id[:80]!a}; plans expire: send the request again", field="id")
            times = {"created_at": stored(moment), "expires_at": stored(until)}
            connection.execute(insert(result_tokens).values(hash=digest, plan_id=plan_id, principal=actor.principal, **times))
            audit.note(connection, actor, "allow a result", [f"plan {plan_id}"])
        self.spool.remove(taken)
        return until

    def result_allowed(self, digest: str, plan_id: str) -> str | None:
        """The principal in whose name this token sends a result of the plan; ``None``: another plan's, used, or expired."""
        with reading(self.engine) as connection:
            row = connection.execute(select(result_tokens).where(_usable(digest, plan_id))).first()
        return str(row.principal) if row is not None and hmac.compare_digest(row.hash, digest) else None

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
        used = update(result_tokens).where(_usable(self.digest, self.plan_id)).values(used_at=stored(now()))
        if not connection.execute(used).rowcount:
            raise Unauthorised("the token was used")


def entry_names(values: Sequence[Fact]) -> list[str]:
    """The names of entries in the audit trail: kind, and name or reference."""
    return [f"{kind_of(value)} {name_of(value)}" for value in values]


def _usable(digest: str, plan_id: str) -> Any:
    tokens = result_tokens.c
    return and_(tokens.hash == digest, tokens.plan_id == plan_id, tokens.used_at.is_(None), tokens.expires_at >= stored(now()))


def _key(row: Row[Any]) -> Key:
    values = with_instants(row)
    del values["hash"]
    return Key(**values | {"scopes": tuple(row.scopes.split())})
