"""Shifts of what runs take, with the series that have results of both sides. They are looked for when results of a system change."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("series", sa.Column("shifted_on", sa.Integer))
    op.add_column("series", sa.Column("shift", sa.Double))


def downgrade() -> None:
    for name in ("shift", "shifted_on"):
        op.drop_column("series", name)
