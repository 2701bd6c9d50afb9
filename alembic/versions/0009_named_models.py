"""Models by their names, so that one is found without reading all. Those that are there are fitted again at the next use."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _again([sa.Column("name", sa.String(12), nullable=False)])
    op.create_index("ix_models_name", "models", ["name"])


def downgrade() -> None:
    _again([])


def _again(further: list[sa.Column[str]]) -> None:
    """The table of models, empty, with ``further`` columns: SQLite adds none that has to have a value."""
    op.drop_table("models")
    op.create_table(
        "models",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("series_id", sa.Integer, sa.ForeignKey("series.id"), nullable=False),
        sa.Column("application", sa.String(200), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        *further,
    )
    for name in ("application", "series_id"):
        op.create_index(f"ix_models_{name}", "models", [name])
    op.execute(sa.text("UPDATE series SET fitted = NULL"))
