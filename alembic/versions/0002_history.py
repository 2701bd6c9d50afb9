"""Rows that were replaced, rows that loading doubts, and the results that a plan rests on."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("doubt_id", "replaced_by"):
        op.add_column("results", sa.Column(name, sa.Integer(), server_default="0", nullable=False))
    op.add_column("plans", sa.Column("result_ids", sa.Text(), server_default="[]", nullable=False))


def downgrade() -> None:
    op.execute("DELETE FROM results WHERE replaced_by <> 0")  # the older version would take them for results
    op.drop_column("plans", "result_ids")
    for name in ("replaced_by", "doubt_id"):
        op.drop_column("results", name)
