"""API keys: made, found, revoked. A key is shown once, when it is made."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import monotonic
from typing import Final

from modak.auth import REFUSED, SCOPES, Principal, tokens
from modak.errors import Fault, RequestError, Unauthorised, unknown
from modak.store.access import Access, Key
from modak.store.audit import local_actor

REMEMBERED_S: Final = 2.0
"""Seconds for which a worker caches a key: a key that another process revokes works for so long at most."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9@._+ -]{0,99}")


@dataclass(frozen=True)
class KeyRing:
    """The API keys of a database. :meth:`find` may be called from several threads.

    The user of this process makes changes.
    """

    access: Callable[[], Access]
    """Called when it is needed: a service starts before its database answers."""
    clock: Callable[[], float] = monotonic
    _known: dict[str, tuple[Key, float]] = field(default_factory=dict)

    def create(self, name: str, scopes: Sequence[str], expires_at: datetime | None) -> tuple[str, Key]:
        """A new key for ``name``, whose writes are attributed to ``key:name``: its text, and what is kept of it.

        Raises :class:`~modak.errors.RequestError` for a wrong name or scope, or a time in the past.
        """
        faults = [Fault("scope", unknown("scope", scope[:40], SCOPES)) for scope in scopes if scope not in SCOPES]
        if not _NAME.fullmatch(name):
            faults.append(Fault("name", "letters, digits, blanks and @._+- (at most 100)"))
        if not scopes:
            faults.append(Fault("scope", f"allowed: at least one of {', '.join(SCOPES)}"))
        if expires_at is not None and expires_at <= datetime.now(UTC):
            faults.append(Fault("expires", "allowed: a time to come"))
        RequestError.raise_for(faults)
        token = tokens.new(tokens.KEY)
        ordered = tuple(scope for scope in SCOPES if scope in scopes)
        return token, self.access().create(tokens.digest(token), name, f"key:{name}", ordered, expires_at, local_actor())

    def find(self, token: str) -> Principal:
        """The principal of a key. Raises :class:`~modak.errors.Unauthorised` if it is unknown, has expired or was revoked."""
        known = self.remembered(token)
        if known is not None:
            return known
        key = self.access().find(tokens.digest(token)) if tokens.well_formed(token, tokens.KEY) else None
        if key is None or not key.living(datetime.now(UTC)):
            raise Unauthorised(REFUSED)
        self._known[tokens.digest(token)] = (key, self.clock() + REMEMBERED_S)
        return _principal(key)

    def remembered(self, token: str) -> Principal | None:
        """The same from the cache; ``None`` if it is not there or too old."""
        key, until = self._known.get(tokens.digest(token), (None, 0.0))
        return None if key is None or self.clock() > until or not key.living(datetime.now(UTC)) else _principal(key)

    def revoke(self, identity: str) -> bool:
        """Revoke a key, in this process at once; returns whether it was not revoked before. Raises :class:`~modak.errors.NotFound`."""
        ended = self.access().revoke(identity, local_actor())
        self._known.clear()
        return ended


def _principal(key: Key) -> Principal:
    return Principal(key.principal, frozenset(key.scopes))
