"""The queue of image builds, shared by every process that uses the database.

Equal orders share one build. A builder claims the build that has waited longest, and says regularly that it is alive; the build of one
that died is queued again.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

from sqlalchemy import ColumnElement, Connection, Engine, Row, delete, insert, select, update

from modak.errors import AlreadyThere, NotFound
from modak.facts import Image
from modak.store import audit, catalogue, versions
from modak.store.audit import Actor
from modak.store.engine import reading, writing
from modak.store.schema import builds, now, stored, with_instants

State = Literal["queued", "running", "done", "failed", "cancelled"]
LIVING: Final = ("queued", "running")
KEPT: Final = 500
"""Finished builds that are remembered."""
MOST_ATTEMPTS: Final = 3
"""How often a build is begun anew after its builder died."""


@dataclass(frozen=True)
class StoredBuild:
    """One build as the database knows it."""

    id: str
    key: str
    state: State
    order: Mapping[str, Any]
    requested_by: str
    requested_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    attempts: int
    cancel: bool
    builder: Mapping[str, Any]
    """Who works on it: ``host``, the builder's ``process`` and its tool's ``group`` (:class:`modak.processes.Process` each)."""
    beat_at: datetime
    step: str
    message: str
    log: str
    result: Mapping[str, Any]

    @property
    def living(self) -> bool:
        """Whether it is queued or running."""
        return self.state in LIVING


@dataclass(frozen=True)
class Builds:
    """The builds of a database. Every method is one transaction."""

    engine: Engine

    def ask(self, key: str, order: Mapping[str, Any], actor: Actor) -> StoredBuild:
        """The queued or running build with this key, or a new one in the queue."""
        with writing(self.engine) as connection:
            there = select(builds).where(builds.c.key == key, builds.c.state.in_(LIVING), builds.c.cancel == 0)
            row = connection.execute(there).first()
            if row is None:
                old = select(builds.c.id).where(builds.c.state.not_in(LIVING)).order_by(builds.c.requested_at.desc()).offset(KEPT)
                connection.execute(delete(builds).where(builds.c.id.in_(list(connection.execute(old).scalars()))))
                values = {"id": secrets.token_hex(8), "key": key, "state": "queued", "order": json.dumps(order)}
                connection.execute(insert(builds).values(**values, requested_by=actor.principal, requested_at=stored(now())))
                audit.note(connection, actor, "build image", [f"{order['name']} for {order['runtime']}, build {values['id']}"])
                row = connection.execute(select(builds).where(builds.c.id == values["id"])).one()
            return _build(row)

    def get(self, build_id: str) -> StoredBuild:
        """A build. Raises :class:`modak.errors.NotFound`."""
        with reading(self.engine) as connection:
            row = connection.execute(select(builds).where(builds.c.id == build_id)).first()
        if row is None:
            raise NotFound(f"no build {build_id[:80]!a}", field="id")
        return _build(row)

    def newest(self, limit: int = 100, *, key: str | None = None, states: Sequence[State] = ()) -> tuple[StoredBuild, ...]:
        """The newest builds, the newest first; only those with that key, or in one of those states."""
        wanted = select(builds).order_by(builds.c.requested_at.desc(), builds.c.id).limit(limit)
        wanted = wanted.where(builds.c.key == key) if key else wanted
        wanted = wanted.where(builds.c.state.in_(states)) if states else wanted
        with reading(self.engine) as connection:
            return tuple(_build(row) for row in connection.execute(wanted))

    def claim(self, builder: Mapping[str, Any], runtimes: Collection[str] | None = None) -> StoredBuild | None:
        """The build that has waited longest, which is this builder's from now on; ``None`` if the queue is empty. ``runtimes``: builds for
        others are left in it."""
        with writing(self.engine) as connection:
            build_id = _longest_waiting(connection, runtimes)
            if build_id is None:
                return None
            moment = stored(now())
            values = {"state": "running", "builder": json.dumps(builder), "started_at": moment, "beat_at": moment, "log": "", "step": ""}
            connection.execute(update(builds).where(builds.c.id == build_id).values(**values, attempts=builds.c.attempts + 1))
            return _build(connection.execute(select(builds).where(builds.c.id == build_id)).one())

    def waits(self, runtimes: Collection[str] | None = None) -> bool:
        """Whether :meth:`claim` would find a build."""
        with reading(self.engine) as connection:
            return _longest_waiting(connection, runtimes) is not None

    def beat(self, build: StoredBuild, *, step: str, log: str) -> bool:
        """Say that the builder is alive and how far it is; returns whether it is to stop: the build is cancelled, or another builder's."""
        with writing(self.engine, shared=True) as connection:
            mine = update(builds).where(*_as_claimed(build), builds.c.cancel == 0)
            return not connection.execute(mine.values(step=step, log=log, beat_at=stored(now()))).rowcount

    def works(self, build: StoredBuild, builder: Mapping[str, Any]) -> None:
        """Record which processes work on the build, so that the successor of a dead builder can end them."""
        with writing(self.engine, shared=True) as connection:
            connection.execute(update(builds).where(*_as_claimed(build)).values(builder=json.dumps(builder)))

    def finish(
        self,
        build: StoredBuild,
        state: State,
        *,
        message: str = "",
        log: str = "",
        result: Mapping[str, Any] | None = None,
        image: Image | None = None,
    ) -> None:
        """Record the end of a build and, where there is an image, its entry in the catalogue; nothing if it is another builder's by now."""
        values = {"state": state, "message": message, "log": log, "result": json.dumps(result or {}), "finished_at": stored(now())}
        with writing(self.engine) as connection:
            mine = connection.execute(update(builds).where(*_as_claimed(build)).values(**values, builder="")).rowcount
            if mine and image is not None and catalogue.add(connection, [image], "builder", replace=True):
                audit.note(connection, Actor("builder"), "add", [f"{image.reference}, build {build.id}"])
                versions.bump(connection)

    def put_back(self, build: StoredBuild, *, died: bool = True) -> None:
        """Queue a build again whose builder has ended, unless it was to be cancelled, or its builders ``died`` several times."""
        with writing(self.engine) as connection:
            row = connection.execute(select(builds).where(*_as_claimed(build), builds.c.state == "running")).first()
            if row is None:
                return
            values: dict[str, Any] = {"state": "queued", "attempts": row.attempts - (not died)}
            if row.cancel:
                values = {"state": "cancelled", "finished_at": stored(now())}
            elif died and row.attempts >= MOST_ATTEMPTS:
                message = f"its builder died {row.attempts} times" + (f", the last time in the step: {row.step}" if row.step else "")
                values = {"state": "failed", "message": message, "finished_at": stored(now())}
            connection.execute(update(builds).where(builds.c.id == build.id).values(**values, builder=""))

    def cancel(self, build_id: str, actor: Actor) -> StoredBuild:
        """Cancel a build: a queued one at once, a running one by its builder.

        Raises :class:`modak.errors.NotFound`, and :class:`modak.errors.AlreadyThere` for one that has ended.
        """
        waiting = {"state": "cancelled", "cancel": 1, "finished_at": stored(now())}
        with writing(self.engine) as connection:
            one = update(builds).where(builds.c.id == build_id)
            cancelled = connection.execute(one.where(builds.c.state == "queued").values(**waiting)).rowcount
            cancelled += connection.execute(one.where(builds.c.state == "running").values(cancel=1)).rowcount
            if cancelled:
                audit.note(connection, actor, "cancel build", [build_id])
        build = self.get(build_id)
        if not cancelled:
            raise AlreadyThere(f"the build is {build.state} already", field="id")
        return build


def _longest_waiting(connection: Connection, runtimes: Collection[str] | None) -> str | None:
    queued = select(builds.c.id, builds.c.order).where(builds.c.state == "queued").order_by(builds.c.requested_at, builds.c.id)
    if runtimes is None:
        return connection.execute(queued.limit(1)).scalar()
    found = (row.id for row in connection.execute(queued) if json.loads(row.order)["runtime"] in runtimes)
    return next(found, None)


def _as_claimed(build: StoredBuild) -> tuple[ColumnElement[bool], ...]:
    """Whether no other builder has claimed it since: one that was silent for too long, and works on, would end the other's work."""
    return builds.c.id == build.id, builds.c.attempts == build.attempts


def _build(row: Row[Any]) -> StoredBuild:
    documents = {name: json.loads(getattr(row, name) or "{}") for name in ("order", "builder", "result")}
    return StoredBuild(**with_instants(row) | documents | {"cancel": bool(row.cancel)})
