"""Plans: requests with their answers, stored until they expire."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from importlib import import_module
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Executable, case, delete, or_, select

from modak.dsl import Texts
from modak.errors import NotFound
from modak.store.schema import plans
from modak.store.times import instant, now, stored
from modak.store.values import StoredPlan
from modak.text.numbering import Numbers

SWEEPS: Final = "00"
"""End of the ids of plans with which those that have expired are dropped: ids are hashes, so it is one plan in 256."""


COLUMNS: Final = frozenset(column.name for column in plans.columns)


def as_row(
    plan_id: str,
    request: Mapping[str, Any],
    response: str,
    texts: Texts,
    *,
    data_version: str,
    application: str | None,
    expires_at: datetime | None,
    result_ids: Numbers = (),
) -> dict[str, Any]:
    """A plan's row; ``response`` is the JSON that was answered."""
    return {
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


def save(connection: Connection, row: Mapping[str, Any]) -> None:
    """Store a plan. The same request on the same data has the same id: the newer one stays, and the later time to expire."""
    connection.execute(_upsert(connection.dialect.name), row)
    if row["id"].endswith(SWEEPS):
        connection.execute(delete(plans).where(plans.c.expires_at < stored(now())))


@cache
def _upsert(dialect: str) -> Executable:
    """A plan's row; one that is there already is replaced, and keeps the later time to expire."""
    chosen = import_module(f"sqlalchemy.dialects.{dialect}").insert(plans)  # only the one in use: a dialect takes 0.2 s to import
    there = plans.c.expires_at
    later = case((or_(there.is_(None), there > chosen.excluded.expires_at), there), else_=chosen.excluded.expires_at)
    values = {column.name: chosen.excluded[column.name] for column in plans.columns if column.name != "id"}
    upsert: Executable = chosen.on_conflict_do_update(index_elements=[plans.c.id], set_=values | {"expires_at": later})
    return upsert


def read(connection: Connection, plan_id: str) -> StoredPlan:
    """The plan with this id. Raises :class:`modak.errors.NotFound` for one that never was or has expired."""
    row = connection.execute(select(plans).where(plans.c.id == plan_id, _living())).first()
    if row is None:
        raise NotFound(f"no plan {plan_id[:80]!a}; plans expire", field="id")
    return plan_of(row._mapping)


def newest(connection: Connection, limit: int) -> tuple[StoredPlan, ...]:
    """The newest plans that have not expired, the newest first."""
    rows = connection.execute(select(plans).where(_living()).order_by(plans.c.created_at.desc(), plans.c.id).limit(limit))
    return tuple(plan_of(row._mapping) for row in rows)


def _living() -> ColumnElement[bool]:
    return or_(plans.c.expires_at.is_(None), plans.c.expires_at >= stored(now()))


def plan_of(row: Mapping[Any, Any]) -> StoredPlan:
    """What a row says."""
    return StoredPlan(
        id=row["id"],
        created_at=instant(row["created_at"]),
        expires_at=None if row["expires_at"] is None else instant(row["expires_at"]),
        data_version=row["data_version"],
        request=json.loads(row["request"]),
        response=json.loads(row["response"]),
        texts=Texts(row["job_script"], row["build_script"], row["definition"], row["definition_name"]),
        result_ids=tuple(each if isinstance(each, int) else (each[0], each[1]) for each in json.loads(row["result_ids"])),
    )
