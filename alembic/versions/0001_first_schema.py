"""The first schema."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

KNOWLEDGE = ("systems", "processors", "accelerators", "images", "rules")


def upgrade() -> None:
    _version_and_knowledge()
    _loads()
    _series()
    _results()
    _models()
    _plans()


def _version_and_knowledge() -> None:
    op.create_table(
        "meta",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("version", sa.String(40), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_meta"),
    )
    for name in KNOWLEDGE:
        op.create_table(
            name,
            sa.Column("name", sa.String(512), nullable=False),
            sa.Column("body", sa.Text(), nullable=False),
            sa.Column("added_at", sa.BigInteger(), nullable=False),
            sa.Column("added_by", sa.String(200), nullable=False),
            sa.PrimaryKeyConstraint("name", name=f"pk_{name}"),
        )


def _loads() -> None:
    """Each file that was loaded, by whom, and what became of its rows."""
    op.create_table(
        "loads",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("file", sa.Text(), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("format", sa.String(64), nullable=False),
        sa.Column("options", sa.Text(), nullable=False),
        sa.Column("principal", sa.String(200), nullable=False),
        sa.Column("loaded_at", sa.BigInteger(), nullable=False),
        sa.Column("tool_version", sa.String(40), nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=False),
        sa.Column("new", sa.BigInteger(), nullable=False),
        sa.Column("duplicates", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_loads"),
    )
    op.create_index("ix_loads_sha256", "loads", ["sha256"])


def _series() -> None:
    """What results have in common."""
    op.create_table(
        "series",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("application", sa.String(200), nullable=False),
        sa.Column("dataset", sa.String(200)),
        sa.Column("params", sa.Text(), nullable=False),
        sa.Column("framework", sa.String(200)),
        sa.Column("framework_version", sa.String(200)),
        sa.Column("compiler", sa.String(200)),
        sa.Column("image", sa.String(200)),
        sa.Column("precision", sa.String(200)),
        sa.Column("system", sa.String(200)),
        sa.Column("partition", sa.String(200)),
        sa.Column("mpi", sa.String(200)),
        sa.Column("mpi_from", sa.String(16)),
        sa.Column("hyperthreads", sa.SmallInteger()),
        sa.Column("numa_mode", sa.Integer()),
        sa.Column("runtime", sa.String(200)),
        sa.Column("metric", sa.String(200), nullable=False),
        sa.Column("unit", sa.String(64), nullable=False),
        sa.Column("changed", sa.Integer(), nullable=False),
        sa.Column("fitted", sa.Integer()),
        sa.Column("fitted_by", sa.String(40)),
        sa.PrimaryKeyConstraint("id", name="pk_series"),
        sa.UniqueConstraint("key", name="uq_series_key"),
    )
    op.create_index("ix_series_application", "series", ["application"])
    op.create_index("ix_series_system", "series", ["system"])


def _results() -> None:
    """The measured values, and texts of which many of them have the same."""
    texts = op.create_table(
        "texts",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_texts"),
        sa.UniqueConstraint("text", name="uq_texts_text"),
    )
    op.bulk_insert(texts, [{"id": 0, "text": ""}])
    op.create_table(
        "results",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("series_id", sa.Integer(), nullable=False),
        sa.Column("load_id", sa.Integer(), nullable=False),
        *(
            sa.Column(name, sa.Integer(), nullable=False)
            for name in ("nodes", "ranks_per_node", "threads_per_rank", "gpus_per_node", "batch_size", "repeat")
        ),
        sa.Column("measured_at", sa.BigInteger(), nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("source_id", sa.Integer(), nullable=False),
        sa.Column("suspect_id", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_results"),
        sa.ForeignKeyConstraint(["series_id"], ["series.id"], name="fk_results_series_id"),
        sa.ForeignKeyConstraint(["load_id"], ["loads.id"], name="fk_results_load_id"),
        sa.ForeignKeyConstraint(["source_id"], ["texts.id"], name="fk_results_source_id"),
        sa.ForeignKeyConstraint(["suspect_id"], ["texts.id"], name="fk_results_suspect_id"),
        sa.CheckConstraint("value > 0 AND value < 1e300", name=op.f("ck_results_value")),
    )
    op.create_index(
        "uq_results_once",
        "results",
        [
            "series_id",
            "nodes",
            "ranks_per_node",
            "threads_per_rank",
            "gpus_per_node",
            "batch_size",
            "repeat",
            "measured_at",
            "value",
            "source_id",
            "suspect_id",
        ],
        unique=True,
    )
    op.create_index("ix_results_series_id", "results", ["series_id", "id"])


def _models() -> None:
    op.create_table(
        "models",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("series_id", sa.Integer(), nullable=False),
        sa.Column("application", sa.String(200), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_models"),
        sa.ForeignKeyConstraint(["series_id"], ["series.id"], name="fk_models_series_id"),
    )
    op.create_index("ix_models_application", "models", ["application"])
    op.create_index("ix_models_series_id", "models", ["series_id"])


def _plans() -> None:
    op.create_table(
        "plans",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger()),
        sa.Column("application", sa.String(200)),
        sa.Column("data_version", sa.String(40), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("response", sa.Text(), nullable=False),
        sa.Column("job_script", sa.Text(), nullable=False),
        sa.Column("build_script", sa.Text(), nullable=False),
        sa.Column("definition", sa.Text(), nullable=False),
        sa.Column("definition_name", sa.String(200), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_plans"),
    )
    op.create_index("ix_plans_expires_at", "plans", ["expires_at"])


def downgrade() -> None:
    for name in ("plans", "models", "results", "texts", "series", "loads", *reversed(KNOWLEDGE), "meta"):
        op.drop_table(name)
