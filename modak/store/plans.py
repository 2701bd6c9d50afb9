"""Plans: what was asked and answered, kept until they expire."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib import import_module
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, delete, or_, select

from modak.dsl import Texts
from modak.errors import NotFound
from modak.store.schema import plans
from modak.store.times import instant, now, stored
from modak.store.values import StoredPlan


def save(
    connection: Connection,
    plan_id: str,
    request: Mapping[str, Any],
    response: Mapping[str, Any],
    texts: Texts,
    *,
    data_version: str,
    application: str | None,
    expires_at: datetime | None,
    result_ids: Sequence[int] = (),
) -> None:
    """Store a plan, and drop those that have expired. The same request on the same data has the same id: the newer one stays."""
    moment = stored(now())
    connection.execute(delete(plans).where(plans.c.expires_at < moment))
    values = {
        "created_at": moment,
        "expires_at": None if expires_at is None else stored(expires_at),
        "application": application,
        "data_version": data_version,
        "request": json.dumps(request, ensure_ascii=False),
        "response": json.dumps(response, ensure_ascii=False),
        "job_script": texts.job_script,
        "build_script": texts.build_script,
        "definition": texts.definition,
        "definition_name": texts.definition_name,
        "result_ids": json.dumps(list(result_ids)),
    }
    dialect = import_module(f"sqlalchemy.dialects.{connection.dialect.name}")  # only the one in use: a dialect takes 0.2 s to import
    chosen = dialect.insert(plans).values(id=plan_id, **values)
    connection.execute(chosen.on_conflict_do_update(index_elements=[plans.c.id], set_=values))


def read(connection: Connection, plan_id: str) -> StoredPlan:
    """The plan with this id. Raises :class:`modak.errors.NotFound` for one that never was or has expired."""
    row = connection.execute(select(plans).where(plans.c.id == plan_id, _living())).first()
    if row is None:
        raise NotFound(f"no plan {plan_id[:80]!a}; plans expire", field="id")
    return _plan(row)


def newest(connection: Connection, limit: int) -> tuple[StoredPlan, ...]:
    """The newest plans that have not expired, the newest first."""
    rows = connection.execute(select(plans).where(_living()).order_by(plans.c.created_at.desc(), plans.c.id).limit(limit))
    return tuple(_plan(row) for row in rows)


def _living() -> ColumnElement[bool]:
    return or_(plans.c.expires_at.is_(None), plans.c.expires_at >= stored(now()))


def _plan(row: Row[Any]) -> StoredPlan:
    return StoredPlan(
        id=row.id,
        created_at=instant(row.created_at),
        expires_at=None if row.expires_at is None else instant(row.expires_at),
        data_version=row.data_version,
        request=json.loads(row.request),
        response=json.loads(row.response),
        texts=Texts(row.job_script, row.build_script, row.definition, row.definition_name),
        result_ids=tuple(json.loads(row.result_ids)),
    )
