"""Results by series and layout: what models rest on, read without a value for each row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Final

from sqlalchemy import Connection, and_, select

from modak.facts import SeriesKey
from modak.ingest.table import LAYOUT, layout
from modak.perfmodel.cells import Cell
from modak.store.chunks import chunks
from modak.store.schema import DOUBTED, results

ROWS_AT_ONCE: Final = 20_000
SERIES_AT_ONCE: Final = 200

STANDING: Final = and_(results.c.replaced_by == 0, results.c.suspect_id == 0, results.c.doubt_id == 0)
"""Rows that models may rest on."""
LEFT_OUT: Final = and_(results.c.replaced_by == 0, results.c.suspect_id == 0, DOUBTED)
"""Rows that they would rest on if loading or somebody did not doubt them."""


def cells(connection: Connection, keys: Mapping[int, SeriesKey]) -> Iterator[Cell]:
    """The cells of the series with these numbers, by series."""
    columns = (results.c.series_id, results.c.id, results.c.value, *(results.c[name] for name in LAYOUT))
    for numbers in chunks(list(keys), SERIES_AT_ONCE):
        chosen = select(*columns).where(results.c.series_id.in_(numbers), STANDING)
        rows = connection.execute(chosen.order_by(results.c.series_id).execution_options(yield_per=ROWS_AT_ONCE))
        for number, of_one in groupby(rows, key=itemgetter(0)):
            found: dict[Sequence[int], Cell] = {}
            for _, identity, value, *place in of_one:
                at = tuple(place)
                if at not in found:
                    found[at] = Cell(keys[number], layout(at))
                found[at].ids.append(identity)
                found[at].values.append(value)
            yield from found.values()
