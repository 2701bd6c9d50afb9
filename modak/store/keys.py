"""API keys, and the tokens with which jobs send their results back. Only their hashes are stored."""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, Row, and_, case, insert, select, update

from modak.errors import NotFound
from modak.store.plans import unexpired
from modak.store.schema import api_keys, plans, result_tokens
from modak.store.times import instant, now, stored

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


def create(
    connection: Connection, digest: str, name: str, principal: str, scopes: tuple[str, ...], expires_at: datetime | None, by: str
) -> Key:
    """Store a new key."""
    values = {
        "id": secrets.token_hex(4),
        "hash": digest,
        "name": name,
        "principal": principal,
        "scopes": " ".join(scopes),
        "created_at": stored(now()),
        "created_by": by,
        "expires_at": None if expires_at is None else stored(expires_at),
    }
    return _key(connection.execute(insert(api_keys).values(values).returning(api_keys)).one())


def find(connection: Connection, digest: str) -> Key | None:
    """The key with this hash, also if it has expired or was revoked; ``None`` if there is none."""
    row = connection.execute(select(api_keys).where(api_keys.c.hash == digest)).first()
    return _key(row) if row is not None and hmac.compare_digest(row.hash, digest) else None


def every(connection: Connection) -> tuple[Key, ...]:
    """All keys, the oldest first."""
    return tuple(_key(row) for row in connection.execute(select(api_keys).order_by(api_keys.c.created_at, api_keys.c.id)))


def revoke(connection: Connection, identity: str) -> bool:
    """Revoke a key; returns whether it was not revoked before. Raises :class:`modak.errors.NotFound`."""
    living = update(api_keys).where(api_keys.c.id == identity, api_keys.c.revoked_at.is_(None))
    if connection.execute(living.values(revoked_at=stored(now()))).rowcount:
        return True
    if connection.execute(select(api_keys.c.id).where(api_keys.c.id == identity)).first() is None:
        raise NotFound(f"no token has the id {identity[:40]!a}", field="id")
    return False


def allow_result(connection: Connection, digest: str, plan_id: str, principal: str) -> datetime:
    """Let the holder of a token send one result of the plan, in the principal's name; returns until when.

    The plan is kept for as long. Raises :class:`modak.errors.NotFound` for a plan that is not there.
    """
    moment = now()
    until = moment + timedelta(days=RESULT_DAYS)
    kept = case((plans.c.expires_at < stored(until), stored(until)), else_=plans.c.expires_at)
    if not connection.execute(update(plans).where(plans.c.id == plan_id, unexpired()).values(expires_at=kept)).rowcount:
        raise NotFound(f"no plan {plan_id[:80]!a}; plans expire", field="id")
    times = {"created_at": stored(moment), "expires_at": stored(until)}
    connection.execute(insert(result_tokens).values(hash=digest, plan_id=plan_id, principal=principal, **times))
    return until


def result_allowed(connection: Connection, digest: str, plan_id: str) -> str | None:
    """The principal in whose name this token sends a result of the plan; ``None`` for another plan's token, a used or an expired one."""
    row = connection.execute(select(result_tokens).where(_usable(digest, plan_id))).first()
    return str(row.principal) if row is not None and hmac.compare_digest(row.hash, digest) else None


def spend(connection: Connection, digest: str, plan_id: str) -> bool:
    """Use the token up, within the connection's transaction; returns whether it could still be used."""
    used = update(result_tokens).where(_usable(digest, plan_id)).values(used_at=stored(now()))
    return bool(connection.execute(used).rowcount)


def _usable(digest: str, plan_id: str) -> Any:
    tokens = result_tokens.c
    return and_(tokens.hash == digest, tokens.plan_id == plan_id, tokens.used_at.is_(None), tokens.expires_at >= stored(now()))


def _key(row: Row[Any]) -> Key:
    return Key(
        id=row.id,
        name=row.name,
        principal=row.principal,
        scopes=tuple(row.scopes.split()),
        created_at=instant(row.created_at),
        created_by=row.created_by,
        expires_at=None if row.expires_at is None else instant(row.expires_at),
        revoked_at=None if row.revoked_at is None else instant(row.revoked_at),
    )
