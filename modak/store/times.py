"""Instants as the store keeps them: microseconds since 1970 in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def now() -> datetime:
    """This moment in UTC."""
    return datetime.now(UTC)


def stored(instant: datetime) -> int:
    """An instant (with an offset) as a number."""
    return (instant - EPOCH) // timedelta(microseconds=1)


def instant(number: int) -> datetime:
    """A stored number as an instant in UTC."""
    return EPOCH + timedelta(microseconds=number)
