"""Precisions are known by more names: ``torch.float16`` and ``16-true`` are ``fp16``. Series that are one now are joined, as by 0008."""

from __future__ import annotations

from alembic import context

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    next(one for one in context.script.walk_revisions() if one.revision == "0008").module.upgrade()


def downgrade() -> None:
    """Series that were joined stay so, as by 0008."""
