"""Authentication: a token becomes a principal with scopes. Which scope an address needs is in :mod:`modak.api.access`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SCOPES: Final = ("read", "optimise", "load", "admin")
"""What a token may allow: look at data, ask for plans, add results, everything."""
REFUSED: Final = "the token is unknown, has expired or was revoked"
"""One text for all of these, so that nobody learns anything about a token."""


@dataclass(frozen=True)
class Principal:
    """A caller: the name that writes are attributed to, and the scopes."""

    name: str
    scopes: frozenset[str]

    def may(self, scope: str) -> bool:
        """Whether ``scope``, or ``admin``, is among the scopes."""
        return scope in self.scopes or "admin" in self.scopes
