"""An index of the results that are doubted."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    doubted = sa.text("doubt_id <> 0")
    op.create_index("ix_results_doubted", "results", ["series_id", "id"], sqlite_where=doubted, postgresql_where=doubted)


def downgrade() -> None:
    op.drop_index("ix_results_doubted", "results")
