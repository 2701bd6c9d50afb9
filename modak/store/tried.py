"""Results that show what switches do: of applications that were run with a compiler, in reduced precision or in a build from source."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Final

from sqlalchemy import Connection, func, or_, select

from modak.facts import Result
from modak.perfmodel.precisions import PRECISIONS
from modak.store.results import values
from modak.store.schema import series
from modak.store.series import NUMBERED, from_row

MOST_SERIES: Final = 2_000
MOST_RESULTS: Final = 10_000
"""More change nothing: 120 pairs are used."""


def tried(connection: Connection, compilers: Sequence[str], precisions: Sequence[str], builds: Sequence[str]) -> tuple[Result, ...]:
    """Results of all applications that have some with one of these names, however written, the newest series first; up to a bound."""
    words = {*precisions, *(word for word, meant in PRECISIONS.items() if meant in precisions)}
    with_one = or_(
        func.lower(series.c.compiler).in_(compilers),
        func.replace(func.lower(series.c.precision), "_", "-").in_(words),
        *(series.c.params.like(f'%"build": "{name}"%') for name in builds),
    )
    applications = select(series.c.application).where(with_one).distinct()
    chosen = select(*NUMBERED).where(series.c.application.in_(applications)).order_by(series.c.id.desc())
    rows = connection.execute(chosen.limit(MOST_SERIES)).all()
    return tuple(islice(values(connection, {row.id: from_row(row) for row in rows}), MOST_RESULTS)) if rows else ()
