"""Tables with a column of values for each size: rows that have the size in a column of its own."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import numpy as np

from modak.errors import DataError
from modak.ingest import headings
from modak.ingest.columns import canonical, is_known
from modak.ingest.table import LAYOUT, Cells, Raw
from modak.ingest.totals import TOTALS
from modak.ingest.values import quoted
from modak.results.filters import PARAMETERS
from modak.text.amounts import join_names

COLUMNS: Final = (*LAYOUT, *TOTALS, "repeat")
"""Columns of which a heading may give the number, beside parameters."""
_SHOWN: Final = 8


def check(column: str) -> None:
    """Raise :class:`modak.errors.DataError` unless the sizes of headings may go into this column."""
    if column not in COLUMNS and not PARAMETERS.fullmatch(column):
        raise DataError(f"{quoted(column)}: allowed: what the headings count, {', '.join(COLUMNS)}, or params.NAME", field="wide")


def rows_of(raw: Raw, column: str, renamed: Collection[str], name: str) -> Raw:
    """A row for each row and size of a part of the file ``name``: the cell below the size is its ``value``, the size stands in ``column``.

    Raises :class:`modak.errors.DataError` if there are no sizes, if their headings count something else, and if the table has such a
    column.
    """
    sizes = _sizes(raw, column, renamed, f"{name}:1")
    rows, several = len(raw.lines), len(sizes)
    columns = {each: Cells(np.repeat(cells.codes, several), cells.texts) for each, cells in raw.columns.items() if each not in sizes}
    columns[column] = Cells(np.tile(np.arange(several, dtype=np.int32), rows), [str(headings.size(each)) for each in sizes])
    below = [raw.columns[each] for each in sizes]
    first = np.cumsum([0, *(len(cells.texts) for cells in below[:-1])])
    codes = np.stack([cells.codes + offset for cells, offset in zip(below, first, strict=True)], axis=1)
    columns["value"] = Cells(codes.reshape(-1).astype(np.int32), [text for cells in below for text in cells.texts])
    if (unit := headings.unit_of(sizes)) and not any(canonical(each) == "unit" for each in raw.columns):
        columns["unit"] = Cells.constant(unit, rows * several)
    return Raw(columns, np.repeat(raw.lines, several), raw.notes, raw.named, raw.about)


def _sizes(raw: Raw, column: str, renamed: Collection[str], place: str) -> list[str]:
    """The columns that neither are known nor have a new name (``renamed``), side by side, and named after different numbers. In any order:
    in records, a size comes last that the first of them lacks. Raises as :func:`rows_of` does."""
    folded = {*map(headings.folded, renamed)}
    unknown = [each for each in raw.columns if not is_known(canonical(each)) and headings.folded(each) not in folded]
    sizes = headings.sizes(unknown, some_known=len(unknown) < len(raw.columns), rising=False)
    if not sizes:
        shown = join_names([quoted(each) for each in unknown], _SHOWN) if unknown else "none"
        raise DataError(f"--wide {column}: no columns side by side whose names are sizes (columns without a meaning: {shown})", field=place)
    counted = headings.counted_by(sizes)
    if counted and column not in counted:
        raise DataError(f"--wide {column}: {quoted(sizes[0])} seems to count something else (--wide {counted[0]})", field=place)
    twice = [each for each in raw.columns if canonical(each) in ("value", column) and each not in renamed]
    if twice:
        raise DataError(f"--wide {column}: the table has a column {quoted(twice[0])}, too", field=place)
    return sizes
