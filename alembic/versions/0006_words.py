"""Which doubts and confirmations are a person's: loading judges all other results again when more of their series arrive.

Doubts whose reason loading does not give are a person's; confirmations are in the audit trail. Where the trail does not tell (the rows of
loads before that of its first line, and those from the first number of a list that it cut off), what is not doubted counts as confirmed.
"""

from __future__ import annotations

import re

import sqlalchemy as sa

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

OF_LOADING = (
    *("%; wrong unit?", "%: copied?", "faster than linear by a factor of % against both neighbouring sizes"),
    *("%; a slip in the unit?", "%; a copy?"),  # the words of older versions
)
AT_ONCE = 500


def upgrade() -> None:
    op.add_column("results", sa.Column("by_hand", sa.SmallInteger(), server_default="0", nullable=False))
    results = sa.table("results", *(sa.column(name, sa.BigInteger()) for name in ("id", "load_id", "doubt_id", "by_hand")))
    texts = sa.table("texts", sa.column("id", sa.Integer()), sa.column("text", sa.Text()))
    loads = sa.table("loads", sa.column("id", sa.Integer()), sa.column("file", sa.Text()), sa.column("loaded_at", sa.BigInteger()))
    audit = sa.table("audit", sa.column("at", sa.BigInteger()), sa.column("action", sa.Text()), sa.column("target", sa.Text()))
    connection = op.get_bind()

    def settled(*where: sa.ColumnElement[bool]) -> None:
        connection.execute(sa.update(results).where(*where).values(by_hand=1))

    of_people = sa.select(texts.c.id).where(texts.c.id != 0, *(texts.c.text.not_like(reason) for reason in OF_LOADING))
    settled(results.c.doubt_id.in_(of_people))
    first = connection.execute(sa.select(audit.c.at, audit.c.target).order_by(audit.c.at).limit(1)).first()
    since = sa.false() if first is None else sa.or_(loads.c.loaded_at >= first.at, sa.literal(first.target).contains(loads.c.file + " ("))
    settled(results.c.doubt_id == 0, results.c.load_id.in_(sa.select(loads.c.id).where(~since)))
    for target in connection.scalars(sa.select(audit.c.target).where(audit.c.action == "confirm results")).all():
        if target.startswith("file "):
            of_file = sa.select(loads.c.id).where(loads.c.file == target.removeprefix("file "))
            settled(results.c.doubt_id == 0, results.c.load_id.in_(of_file))
            continue
        if target.startswith("measured "):
            continue  # of a later version, which somebody took back to an earlier one
        listed, cut_off, _ = target.partition("…")
        numbers = [int(number) for number in re.findall(r"\d+", listed)]
        if cut_off:  # perhaps within its last number
            settled(results.c.doubt_id == 0, results.c.id >= numbers[0])
            continue
        for start in range(0, len(numbers), AT_ONCE):
            settled(results.c.doubt_id == 0, results.c.id.in_(numbers[start : start + AT_ONCE]))


def downgrade() -> None:
    op.drop_column("results", "by_hand")
