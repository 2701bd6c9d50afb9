"""Tables of results while they are read: first cells as text, then typed columns for the store.

A column is kept as its distinct texts and, for each row, the number of its text. A million rows with five applications need
five checks of an application.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from modak.errors import DataError, Fault
from modak.facts import Layout, SeriesKey
from modak.ingest.sources import Source

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]

UNKNOWN: Final = -1
"""An empty cell of a column of whole numbers."""
MOST_COLUMNS: Final = 500
"""Columns of a file: each is as long as there are rows, however few cells are filled."""
MOST_FAULTS: Final = 20
"""Faults of a file that are reported together."""
MOST_LINES: Final = 5
"""Lines with the same fault that a message lists, beside the first."""
LAYOUT: Final = tuple(Layout.model_fields)
"""The columns that say how a run was distributed over its nodes."""


def first_faults(faults: Sequence[Fault]) -> list[Fault]:
    """Each fault once, at most :data:`MOST_FAULTS`; a last one says if there are more."""
    different = list(dict.fromkeys(faults))
    more = [Fault("", f"only the first {MOST_FAULTS} faults are shown")] if len(different) > MOST_FAULTS else []
    return different[:MOST_FAULTS] + more


def also(lines: Sequence[int] | Int64) -> str:
    """The further lines that have a fault. There may be millions: only those that are named become text."""
    if not len(lines):
        return ""
    named = ", ".join(map(str, lines[:MOST_LINES]))
    more = f" and {len(lines) - MOST_LINES} more" if len(lines) > MOST_LINES else ""
    return f" (also in line{'s' if len(lines) > 1 else ''} {named}{more})"


def layout(counts: Sequence[int]) -> Layout:
    """The layout of a row from its columns in the order of :data:`LAYOUT`."""
    return Layout(**{name: int(count) for name, count in zip(LAYOUT, counts, strict=True) if count != UNKNOWN})


@dataclass(frozen=True)
class Cells:
    """A column: row ``i`` holds ``texts[codes[i]]``."""

    codes: Int32
    texts: Sequence[str]

    @classmethod
    def of(cls, cells: Iterable[str]) -> Cells:
        """A column from its cells in order."""
        seen: dict[str, int] = {}
        codes = [seen.setdefault(cell, len(seen)) for cell in cells]
        return cls(np.array(codes, dtype=np.int32), tuple(seen))

    @classmethod
    def constant(cls, text: str, rows: int) -> Cells:
        """A column of ``rows`` equal cells."""
        return cls(np.zeros(rows, dtype=np.int32), (text,))

    def where(self, kept: NDArray[np.bool_]) -> Cells:
        """Some of the rows, with the texts that these hold."""
        return Cells.of(self.texts[code] for code in self.codes[kept])

    def __getitem__(self, row: int) -> str:
        return self.texts[int(self.codes[row])]


@dataclass(frozen=True)
class Raw:
    """A part of a file as text: columns under the file's own names, and the line of each row."""

    columns: Mapping[str, Cells]
    lines: Int64
    notes: tuple[str, ...] = ()
    """What the format left out, and why (``:LINE: …``): failed runs, figures that are not numbers."""
    named: Mapping[str, int] = field(default_factory=dict)
    """The line of the first record that has a column; the columns of a header are all in line 1."""
    about: Mapping[str, str] = field(default_factory=dict)
    """Notes on columns, for those who load these under their own names."""

    @classmethod
    def of(cls, records: Sequence[Mapping[str, str]], lines: Sequence[int], notes: tuple[str, ...] = ()) -> Raw:
        """Records with their lines. A column that a record lacks is empty there.

        Raises :class:`modak.errors.DataError` for more than :data:`MOST_COLUMNS` columns.
        """
        named: dict[str, int] = {}
        for record, line in zip(records, lines, strict=True):
            named |= {name: line for name in record if name not in named}
        if len(named) > MOST_COLUMNS:
            raise DataError(f"{len(named)} columns; at most {MOST_COLUMNS}")
        columns = {name: Cells.of(record.get(name, "") for record in records) for name in named}
        return cls(columns, np.array(lines, dtype=np.int64), notes, named)

    def where(self, kept: NDArray[np.bool_]) -> Raw:
        """Some of the rows."""
        return replace(self, columns={name: cells.where(kept) for name, cells in self.columns.items()}, lines=self.lines[kept])


@dataclass(frozen=True)
class Batch:
    """Checked rows in columns of equal length; values are in the base unit of their metric.

    ``numbers`` holds ``nodes``, ``ranks_per_node``, ``threads_per_rank``, ``gpus_per_node``, ``batch_size`` and ``repeat``
    (:data:`UNKNOWN` where the cell is empty); ``measured_at`` is microseconds since 1970 UTC (:data:`UNKNOWN` likewise).
    """

    series: tuple[SeriesKey, ...]
    series_of: Int32
    numbers: Mapping[str, Int32]
    values: Float64
    measured_at: Int64
    sources: Cells
    suspects: Cells
    """Why each row is suspect; empty: it is not."""
    lines: Int64
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.lines)


@dataclass(frozen=True)
class Point:
    """A row whose value is to be predicted: its cells, and the series and layout that they describe."""

    cells: Mapping[str, str]
    """By the file's own names of columns, in their order."""
    series: SeriesKey
    layout: Layout
    unit: str | None
    """The unit of the prediction; ``None``: the metric's base unit (``series.unit``)."""
    parts: int = 1
    """Of how many nodes, ranks or GPUs each has the value, if the unit is a rate of each."""


@dataclass(frozen=True)
class Options:
    """How a file is to be read: ``rename`` its columns (an empty new name leaves a column out), ``fill`` empty cells."""

    rename: Mapping[str, str] = field(default_factory=dict)
    fill: Mapping[str, str] = field(default_factory=dict)
    format: str | None = None
    wide: str | None = None
    """The column of the sizes after which columns of values are named; ``None``: no columns are."""

    def as_dict(self) -> dict[str, Any]:
        """The options that are recorded with a load."""
        wide = {"wide": self.wide} if self.wide else {}
        return {"rename": dict(sorted(self.rename.items())), "fill": dict(sorted(self.fill.items())), **wide}


PLAIN: Final = Options()
"""Columns as they are, and a format that is recognised."""


@dataclass(frozen=True)
class Table:
    """A file that is ready to be loaded. ``batches`` reads it from the beginning. Raises :class:`modak.errors.DataError` for a fault."""

    source: Source
    format: str
    options: Options
    batches: Callable[[], Iterator[Batch]]
