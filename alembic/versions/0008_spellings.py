"""One series for all spellings of its labels: ``GCC 9.3`` and ``gcc-9.3``, ``10`` and ``10.0``, letters with their accents and apart.

Of series that are one now the first keeps its spelling and gets the rows of the others. A row that it has already is a duplicate, and is
left out; what somebody said of it, and that it was replaced, stays true. The models are fitted again, and loads judge the rows together.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from typing import Any

import sqlalchemy as sa

from alembic import op
from modak.facts import canonical_image, canonical_name, canonical_text, canonical_version
from modak.store.series import hash_of

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

TEXTS = (
    "application",
    "dataset",
    "framework",
    "framework_version",
    "compiler",
    "image",
    "precision",
    "system",
    "partition",
    "mpi",
    "runtime",
)
STORED = {"runtime": canonical_name, "image": canonical_image, "framework_version": canonical_version}
LABELS = (*TEXTS, "mpi_from", "hyperthreads", "numa_mode", "metric", "unit")
ONCE = ("nodes", "ranks_per_node", "threads_per_rank", "gpus_per_node", "batch_size")
ONCE += ("repeat", "measured_at", "value", "source_id", "suspect_id")
AT_ONCE = 500

series = sa.table("series", *(sa.column(name) for name in ("id", "key", "params", "changed", "fitted", *LABELS)))
results = sa.table("results", *(sa.column(name) for name in ("id", "series_id", "doubt_id", "by_hand", "replaced_by", *ONCE)))
models = sa.table("models", sa.column("series_id"))

# Written once, not for each of thousands of series: that would take longer than to run them.
FIRST, OTHER = sa.bindparam("first"), sa.bindparam("other")
one, its = results.alias("one"), results.alias("its")
ALIKE = sa.and_(its.c.series_id == FIRST, *(its.c[name] == one.c[name] for name in ONCE))
COLUMNS = (one.c.id.label("twice"), one.c.doubt_id, one.c.by_hand, one.c.replaced_by, its.c.id)
THERE = (its.c.by_hand.label("said"), its.c.replaced_by.label("aside"))
TWICE = sa.select(*COLUMNS, *THERE).select_from(one.join(its, ALIKE)).where(one.c.series_id == OTHER)
MOVES = (
    sa.update(results).where(results.c.series_id == OTHER).values(series_id=FIRST),
    sa.delete(models).where(sa.or_(models.c.series_id == FIRST, models.c.series_id == OTHER)),
    sa.delete(series).where(series.c.id == OTHER),
    sa.update(series).where(series.c.id == FIRST).values(fitted=None),
)


def upgrade() -> None:
    connection = op.get_bind()
    by_hash: dict[str, list[int]] = defaultdict(list)
    spelt: dict[int, dict[str, Any]] = {}
    for row in connection.execute(sa.select(series).order_by(series.c.id)).mappings().all():
        now = {name: canonical_text(row[name]) if row[name] else row[name] for name in TEXTS}
        now |= {name: same(now[name]) for name, same in STORED.items() if now[name]}
        now["params"] = _json({name: canonical_text(text) for name, text in json.loads(row["params"]).items()})
        changed = {name: value for name, value in now.items() if value != row[name]}
        mark = hash_of(_known({**row, **now}))
        by_hash[mark].append(row["id"])
        if changed or mark != row["key"]:
            spelt[row["id"]] = {**changed, "key": mark}
    for first, *others in by_hash.values():
        for other in others:
            spelt.pop(other, None)
            _join(connection, first, other)
    for number, values in spelt.items():
        connection.execute(sa.update(series).where(series.c.id == number).values(**values))


def _join(connection: sa.Connection, first: int, other: int) -> None:
    """Move the rows of a series into another one."""
    numbers = {"first": first, "other": other}
    pairs = connection.execute(TWICE, numbers).all()
    for pair in pairs:
        kept: dict[str, Any] = {}
        if pair.by_hand and not pair.said:
            kept |= {"by_hand": 1, "doubt_id": pair.doubt_id}
        if pair.replaced_by and not pair.aside:
            kept["replaced_by"] = pair.replaced_by
        if kept:
            connection.execute(sa.update(results).where(results.c.id == pair.id).values(**kept))
    twice = [pair.twice for pair in pairs]
    for start in range(0, len(twice), AT_ONCE):
        connection.execute(sa.delete(results).where(results.c.id.in_(twice[start : start + AT_ONCE])))
    for move in MOVES:
        connection.execute(move, numbers)


def _known(row: dict[str, Any]) -> dict[str, Any]:
    """The labels of a series that are not unknown, as its hash takes them."""
    known = {name: row[name] for name in LABELS if row[name] is not None}
    if "hyperthreads" in known:
        known["hyperthreads"] = bool(known["hyperthreads"])
    return {**known, "params": json.loads(row["params"])}


def _json(params: dict[str, str]) -> str:
    return json.dumps(dict(sorted(params.items())), ensure_ascii=False)


def downgrade() -> None:
    connection = op.get_bind()
    for row in connection.execute(sa.select(series)).mappings().all():
        text = json.dumps(_known(dict(row)), sort_keys=True, ensure_ascii=False)
        key = hashlib.sha256(text.encode()).hexdigest()
        connection.execute(sa.update(series).where(series.c.id == row["id"]).values(key=key))
