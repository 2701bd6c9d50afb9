"""Builds that were ordered some time ago."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import update

from modak.store.builds import Builds
from modak.store.engine import writing
from modak.store.schema import builds as table


def put_earlier(builds: Builds, by: timedelta) -> None:
    """As if every build had been ordered, and its builder last seen, so much earlier."""
    microseconds = by // timedelta(microseconds=1)
    times = {"requested_at": table.c.requested_at - microseconds, "beat_at": table.c.beat_at - microseconds}
    with writing(builds.engine) as connection:
        connection.execute(update(table).values(**times))
