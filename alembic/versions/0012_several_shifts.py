"""Several shifts of a series, each with how unsure it is. They are found again when results of a system change."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("series", sa.Column("shifts", sa.Text))
    for name in ("shift", "shifted_on"):
        op.drop_column("series", name)


def downgrade() -> None:
    op.drop_column("series", "shifts")
    op.add_column("series", sa.Column("shifted_on", sa.Integer))
    op.add_column("series", sa.Column("shift", sa.Double))
