"""Plans: requests with their answers, stored until they expire."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Engine, Executable, case, delete, or_, select

from modak.dsl import Texts
from modak.errors import NotFound
from modak.store.engine import reading, writing
from modak.store.schema import instant, now, plans, stored
from modak.store.spool import PlanSpool
from modak.store.values import StoredPlan
from modak.text.numbering import Numbers

SWEEPS: Final = "00"
"""Storing a plan whose id ends like this also deletes expired plans: ids are hashes, so that is one plan in 256."""


@dataclass(frozen=True)
class Plans:
    """The plans of an open database. Each method is one transaction."""

    engine: Engine
    quick_engine: Engine
    """For writes that wait neither for the disk, which costs more than the plan itself, nor long for another writer."""
    spool: PlanSpool
    """For plans that are made while another writer holds the lock."""

    def save(
        self,
        plan_id: str,
        request: Mapping[str, Any],
        response: str,
        texts: Texts,
        *,
        data_version: str,
        application: str | None = None,
        expires_at: datetime | None = None,
        result_ids: Numbers = (),
    ) -> None:
        """Store a plan; ``request`` is a JSON object, ``response`` the text of one, ``result_ids`` the results behind its prediction."""
        row = {
            "id": plan_id,
            "created_at": stored(now()),
            "expires_at": None if expires_at is None else stored(expires_at),
            "application": application,
            "data_version": data_version,
            "request": json.dumps(request, ensure_ascii=False),
            "response": response,
            "job_script": texts.job_script,
            "build_script": texts.build_script,
            "definition": texts.definition,
            "definition_name": texts.definition_name,
            "result_ids": json.dumps(list(result_ids)),
        }
        self.spool.store_or_spool(row, lambda: self._store(row))

    def _store(self, row: Mapping[str, Any]) -> None:
        with writing(self.quick_engine, shared=True) as connection:
            taken = flush(connection, self.spool)
            save(connection, row)
        self.spool.remove(taken)

    def get(self, plan_id: str) -> StoredPlan:
        """The plan with this id. Raises :class:`modak.errors.NotFound` for one that never was or has expired."""
        if waiting := self.spool.find(plan_id):
            return _plan(waiting)
        with reading(self.engine) as connection:
            row = connection.execute(select(plans).where(plans.c.id == plan_id, unexpired())).first()
        if row is None:
            raise NotFound(f"no plan {plan_id[:80]!a}; plans expire: send the request again", field="id")
        return _plan(row._mapping)

    def newest(self, limit: int) -> tuple[StoredPlan, ...]:
        """The newest plans, the newest first, those that have expired left out."""
        waiting = {row["id"]: _plan(row) for row in self.spool.every()}
        ids = select(plans.c.id).where(unexpired()).order_by(plans.c.created_at.desc(), plans.c.id).limit(limit)
        chosen = select(plans).where(plans.c.id.in_(ids))  # only their texts are read: those of all plans may be gigabytes
        with reading(self.engine) as connection:
            found = {row.id: _plan(row._mapping) for row in connection.execute(chosen)} | waiting
        return tuple(sorted(found.values(), key=lambda plan: (-plan.created_at.timestamp(), plan.id))[:limit])


def flush(connection: Connection, spool: PlanSpool, plan_id: str | None = None) -> list[Path]:
    """Store spooled plans (or one) within the connection's transaction; returns their files, to be removed from the spool after it."""
    taken = []
    for file, row in spool.waiting(plan_id):
        if row:
            save(connection, row)
        taken.append(file)
    return taken


def save(connection: Connection, row: Mapping[str, Any]) -> None:
    """Store a plan. The same request on the same data has the same id: the newer one stays, and the later time to expire."""
    connection.execute(_upsert(connection.dialect.name), row)
    if row["id"].endswith(SWEEPS):
        connection.execute(delete(plans).where(plans.c.expires_at < stored(now())))


@cache
def _upsert(dialect: str) -> Executable:
    """A plan's row; one that is there already is replaced, and keeps the later time to expire."""
    chosen = import_module(f"sqlalchemy.dialects.{dialect}").insert(plans)
    there = plans.c.expires_at
    later = case((or_(there.is_(None), there > chosen.excluded.expires_at), there), else_=chosen.excluded.expires_at)
    values = {column.name: chosen.excluded[column.name] for column in plans.columns if column.name != "id"}
    upsert: Executable = chosen.on_conflict_do_update(index_elements=[plans.c.id], set_=values | {"expires_at": later})
    return upsert


def unexpired() -> ColumnElement[bool]:
    """Plans that have not expired."""
    return or_(plans.c.expires_at.is_(None), plans.c.expires_at >= stored(now()))


def _plan(row: Mapping[Any, Any]) -> StoredPlan:
    """What a row says."""
    return StoredPlan(
        id=row["id"],
        created_at=instant(row["created_at"]),
        expires_at=None if row["expires_at"] is None else instant(row["expires_at"]),
        request=json.loads(row["request"]),
        response=json.loads(row["response"]),
        texts=Texts(row["job_script"], row["build_script"], row["definition"], row["definition_name"]),
        result_ids=tuple(each if isinstance(each, int) else (each[0], each[1]) for each in json.loads(row["result_ids"])),
    )
