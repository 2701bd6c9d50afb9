"""The version of the data at the last change of what is known, and an index of the rows that were replaced."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("meta", sa.Column("knowledge", sa.String(40), server_default="0", nullable=False))
    put_aside = sa.text("replaced_by <> 0")
    op.create_index("ix_results_replaced_by", "results", ["replaced_by", "id"], sqlite_where=put_aside, postgresql_where=put_aside)


def downgrade() -> None:
    op.drop_index("ix_results_replaced_by", "results")
    op.drop_column("meta", "knowledge")
