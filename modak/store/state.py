"""Figures for monitoring: counts and times of the whole database, which are quick to read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, Select, func, select

from modak.store.curves import BEHIND
from modak.store.schema import builds, loads, models, series
from modak.store.times import instant


@dataclass(frozen=True)
class State:
    """Counts; and the newest load in seconds since 1970, ``None`` where nothing was loaded."""

    series: int
    stale_series: int
    """Series whose results changed since they were fitted; the next request about them fits them."""
    models: int
    newest_load: float | None
    builds: Mapping[str, int]
    """How many builds are in each state."""


def state(connection: Connection) -> State:
    """The state as this transaction sees it."""

    def count(query: Select[int]) -> int:
        return connection.execute(query).scalar_one()

    every = select(func.count()).select_from(series)
    newest = connection.execute(select(func.max(loads.c.loaded_at))).scalar()
    return State(
        series=count(every),
        stale_series=count(every.where(BEHIND)),
        models=count(select(func.count()).select_from(models)),
        newest_load=None if newest is None else instant(newest).timestamp(),
        builds={row[0]: row[1] for row in connection.execute(select(builds.c.state, func.count()).group_by(builds.c.state))},
    )
