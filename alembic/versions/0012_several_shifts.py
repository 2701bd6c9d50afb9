"""Several shifts of a series, each with how unsure it is. Those that were noted stay until results of their system change."""

from __future__ import annotations

import json

import sqlalchemy as sa

from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

series = sa.table("series", *(sa.column(name) for name in ("id", "shifts", "shift", "shifted_on")))
NUMBER = series.c.id == sa.bindparam("number")


def upgrade() -> None:
    op.add_column("series", sa.Column("shifts", sa.Text))
    connection = op.get_bind()
    noted = connection.execute(sa.select(series.c.id, series.c.shifted_on, series.c.shift).where(series.c.shift.is_not(None))).all()
    # Its own results showed each. Whether others of the system did is not known: as one of the application it stays the longest.
    values = [{"number": number, "steps": json.dumps([[day, ratio, 0.0, False]])} for number, day, ratio in noted]
    if values:
        connection.execute(sa.update(series).where(NUMBER).values(shifts=sa.bindparam("steps")), values)
    for name in ("shift", "shifted_on"):
        op.drop_column("series", name)


def downgrade() -> None:
    op.add_column("series", sa.Column("shifted_on", sa.Integer))
    op.add_column("series", sa.Column("shift", sa.Double))
    connection = op.get_bind()
    noted = connection.execute(sa.select(series.c.id, series.c.shifts).where(series.c.shifts.is_not(None))).all()
    last = [(number, json.loads(steps)[-1]) for number, steps in noted]
    values = [{"number": number, "day": step[0], "ratio": step[1]} for number, step in last]
    if values:
        connection.execute(sa.update(series).where(NUMBER).values(shifted_on=sa.bindparam("day"), shift=sa.bindparam("ratio")), values)
    op.drop_column("series", "shifts")
