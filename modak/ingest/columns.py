"""The results table: which columns there are, what each may hold, and the checks that turn text into typed columns.

Every check runs once for each distinct text of a column, not once for each row.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from typing import Any, Final

import numpy as np

from modak.errors import DataError, Fault, nearest
from modak.facts import Layout, SeriesKey
from modak.ingest.table import LAYOUT, UNKNOWN, Batch, Cells, Float64, Int32, Int64, Point, Raw
from modak.results import metrics

COLUMNS: Final = (
    "application",
    "dataset",
    "framework",
    "framework_version",
    "compiler",
    "image",
    "precision",
    "system",
    "partition",
    "nodes",
    "ranks_per_node",
    "threads_per_rank",
    "gpus_per_node",
    "batch_size",
    "mpi",
    "mpi_from",
    "hyperthreads",
    "numa_mode",
    "runtime",
    "metric",
    "value",
    "unit",
    "repeat",
    "measured_at",
    "source",
    "suspect",
)
"""All columns in the order in which they are written; ``params.NAME`` stand after ``dataset``."""
BEFORE_PARAMETERS: Final = COLUMNS.index("dataset") + 1
PARAMETER: Final = re.compile(r"params\.[A-Za-z0-9_][A-Za-z0-9_.+-]{0,63}")
NUMBERS: Final = (*LAYOUT, "repeat")
KEY: Final = tuple(name for name in COLUMNS if name in SeriesKey.model_fields and name not in ("metric", "unit"))
MOST_FAULTS: Final = 20
_LARGEST_COUNT: Final = 10_000_000
_LARGEST_VALUE: Final = 1e300

_WHOLE: Final = re.compile(r"(0|[1-9][0-9]{0,9})(\.0{1,3})?")
_DECIMAL: Final = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")
_INSTANT: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?(Z|[+-][0-9]{2}(:?[0-9]{2})?)")
_BRACKETS: Final = re.compile(r"\s*[\[(].*")
_SPLIT: Final = re.compile(r"[1-9][0-9]{0,2}([ ,.'’_\u00a0\u2009\u202f][0-9]{3})+([.,][0-9]+)?")
_DECIMAL_COMMA: Final = re.compile(r"[+-]?[0-9]+,[0-9]+([eE][+-]?[0-9]{1,4})?")
_CLOCK: Final = re.compile(r"(?:([0-9]{1,4})-)?(?:([0-9]{1,4}):)?([0-9]{1,4}):([0-9]{1,2}(?:\.[0-9]{1,9})?)")
_LONGEST_UNIT: Final = 20
NOTHING: Final = frozenset(
    ("none", "null", "nil", "nan", "na", "n/a", "#n/a", "n.a.", "-", "--", "–", "—", "?", "unknown", "not available")
)
"""What people write, in any case, into a cell that they have nothing for."""
AS_WRITTEN: Final = ("application", "metric", "value", "source")
"""Columns in which that is a text like any other, or a fault."""
MEANT: Final[Mapping[str, tuple[str, ...]]] = {"runtime": ("none",), "suspect": ("?", "unknown")}
"""Columns in which one of these words says something, after all: no container, a doubt without reason. So does ``none`` as a parameter."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EARLIEST: Final = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)

Reader = Callable[[str], Any]
"""Text, stripped and not empty, to its value; raises ``ValueError`` that says what is allowed."""


def header(parameters: Iterable[str]) -> tuple[str, ...]:
    """All columns in the order in which they are written, with those of these parameters, each as ``params.NAME``."""
    return (*COLUMNS[:BEFORE_PARAMETERS], *sorted(parameters), *COLUMNS[BEFORE_PARAMETERS:])


def cell(value: Any) -> str:
    """A value as it is written: nothing for what is unknown, numbers in full, instants in ISO 8601.

    >>> cell(None), cell(True), cell(0.1)
    ('', 'true', '0.1')
    """
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else value.isoformat() if isinstance(value, datetime) else str(value)


def plain(name: str) -> str:
    """A column as it is called, where only case or blanks tell the name from one of :data:`COLUMNS`; else the name itself.

    >>> plain("Ranks per node"), plain("params.DT")
    ('ranks_per_node', 'params.DT')
    """
    folded = _folded(name)
    return folded if folded in COLUMNS else name


def _folded(name: str) -> str:
    return name.strip().lower().replace(" ", "_")[:60]


def header_faults(columns: Sequence[str], required: Sequence[str], *, loading: bool) -> Iterator[str]:
    """What is wrong with the names of the columns: unknown ones, each with its nearest, and required ones that are missing.

    ``loading``: of a file that is loaded, for which options can put it right.
    """
    strange = [name for name in columns if name not in COLUMNS and not PARAMETER.fullmatch(name)]
    for name in strange:
        known, measured = (*COLUMNS, "params.NAME"), _folded(_BRACKETS.sub("", name))
        near = nearest(name, known) or get_close_matches(_folded(name), known, n=1, cutoff=0)[0]
        hint = (
            f"; {measured} is a metric: name it in the column 'metric', its number goes into 'value'" if measured in metrics.METRICS else ""
        )
        how = "; '--map OLD=NEW' renames a column, '--map OLD=' leaves it out" if loading and name == strange[-1] else ""
        yield f"unknown column {_shown(name)}; the nearest known one is {near!r}{hint}{how}"
    missing = [name for name in required if name not in columns]
    if missing:
        filled = "".join(f"; '--set {name}=…' gives all rows one" for name in missing[:1] if loading and name != "value")
        yield f"no column {', '.join(map(repr, missing))}; the header (in JSON, a key of the records) must name it{filled}"


def batch(raw: Raw, name: str, now: datetime) -> Batch:
    """Checked and typed rows. Raises :class:`modak.errors.DataError` with the faults of all columns, by line."""
    table = _Checked(raw, name, MEANT)
    values = table.column("value", _value, math.nan, np.float64, required=True)
    numbers = {column: table.column(column, _whole(column), UNKNOWN, np.int32) for column in NUMBERS}
    measured_at = table.column("measured_at", lambda text: _instant(text, now), UNKNOWN, np.int64)
    sources, suspects = (table.texts(column, longest) for column, longest in (("source", 1000), ("suspect", 500)))
    series, series_of, values = _series(table, values)
    table.check()
    return Batch(series, series_of, numbers, values, measured_at, sources, suspects, raw.lines, (*raw.notes, *table.notes()))


def points(raw: Raw, asked: Raw, name: str) -> list[Point]:
    """Rows that ask for a value; ``asked`` holds the same rows under the file's own names."""
    table = _Checked(raw, name, {**MEANT, "compiler": ("none",)})
    numbers = {column: table.column(column, _whole(column), UNKNOWN, np.int32) for column in LAYOUT}
    series, series_of, _ = _series(table, np.ones(len(raw.lines)))
    table.check()
    unit = raw.columns.get("unit", Cells.constant("", len(raw.lines)))
    return [
        Point(
            cells={column: cells[row] for column, cells in asked.columns.items()},
            series=series[series_of[row]],
            layout=Layout(**{key: int(column[row]) for key, column in numbers.items() if column[row] != UNKNOWN}),
            unit=unit[row].strip() or None,
        )
        for row in range(len(raw.lines))
    ]


def check_cell(column: str, text: str, now: datetime) -> None:
    """Raise ``ValueError`` where ``column`` cannot hold ``text``: for values that come from the command line."""
    if column in NUMBERS:
        _whole(column)(text)
    elif column == "value":
        _value(text)
    elif column == "measured_at":
        _instant(text, now)
    else:
        _READERS.get(column, _text(200))(text)


class _Checked:
    """Columns of a part of a file; faults gather until :meth:`check`. ``meant``: as :data:`MEANT`."""

    def __init__(self, raw: Raw, name: str, meant: Mapping[str, tuple[str, ...]]) -> None:
        self.raw = raw
        self.name = name
        self.rows = len(raw.lines)
        self.faults: list[tuple[int, str]] = []
        self._meant = meant
        self._nothing: dict[str, list[str]] = {}

    def column(self, column: str, read: Reader, empty: Any, kind: type[Any], *, required: bool = False) -> Any:
        """One typed array: ``read`` for each distinct text, ``empty`` where the cell is empty."""
        cells = self.raw.columns.get(column)
        if cells is None:
            return np.full(self.rows, empty, dtype=kind)
        return np.array(self.read(column, cells, read, empty, required=required), dtype=kind)[cells.codes]

    def texts(self, column: str, longest: int) -> Cells:
        """One column of text, checked and stripped."""
        cells = self.raw.columns.get(column) or Cells.constant("", self.rows)
        return Cells(cells.codes, self.read(column, cells, _text(longest), ""))

    def read(self, column: str, cells: Cells, read: Reader, empty: Any, *, required: bool = False) -> list[Any]:
        """The value of each distinct text; faults are noted with the lines they stand in."""
        found = []
        for code, text in enumerate(map(str.strip, cells.texts)):
            value = empty
            if text.lower() in NOTHING and self._is_nothing(column, text):
                self._nothing.setdefault(column, []).append(text)
                found.append(value)
                continue
            try:
                if text:
                    value = read(text)
                elif required:
                    raise ValueError("empty; every row needs one")
            except ValueError as wrong:
                self.fault(f"column {column!r}: {_shown(text)}: {wrong}" if text else f"column {column!r}: {wrong}", cells.codes == code)
            found.append(value)
        return found

    def _is_nothing(self, column: str, text: str) -> bool:
        meant = self._meant.get(column, ("none",) if column.startswith("params.") else ())
        return column not in AS_WRITTEN and text.lower() not in meant

    def notes(self) -> Iterator[str]:
        """For each column what stands there for nothing."""
        for column, texts in self._nothing.items():
            yield f"{self.name}: column {column!r}: {', '.join(map(ascii, texts))} is a placeholder; the cell counts as empty"

    def fault(self, message: str, rows: Any) -> None:
        """Note a fault in the first of ``rows`` (a mask)."""
        self.faults += [(int(line), message) for line in self.raw.lines[rows][:MOST_FAULTS]]

    def check(self) -> None:
        """Raise the faults, in order of lines."""
        if self.faults:
            raise DataError(faults=[Fault(f"{self.name}:{line}", message) for line, message in sorted(self.faults)])


def _series(table: _Checked, values: Float64) -> tuple[tuple[SeriesKey, ...], Int32, Float64]:
    """The distinct series, the series of each row, and the values in the base units of their metrics."""
    raw = table.raw
    names = [name for name in raw.columns if name in KEY or name.startswith("params.")]
    read: dict[str, list[Any]] = {}
    for name in names:
        read[name] = table.read(name, raw.columns[name], _READERS.get(name, _text(200)), None, required=name == "application")
    quantity, measured, values = _quantities(table, values)
    columns = [raw.columns[name].codes for name in names]
    first, series_of = distinct([*columns, quantity], [*(len(read[name]) for name in names), len(measured)])
    found = []
    for row in first:
        key = {name: read[name][raw.columns[name].codes[row]] for name in names}
        metric = measured[quantity[row]]
        if metric is None or not key.get("application"):
            found.append(_NO_SERIES)
            continue
        params = {name.removeprefix("params."): value for name, value in sorted(key.items()) if name.startswith("params.") and value}
        plain = {name: value for name, value in key.items() if not name.startswith("params.")}
        found.append(SeriesKey(**plain, params=params, metric=metric.name, unit=metric.unit))
    return tuple(found), series_of, values


_NO_SERIES: Final = SeriesKey(application="-", metric="-", unit="-")
"""Stands where a row has a fault, until the faults are raised."""


def _quantities(table: _Checked, values: Float64) -> tuple[Int32, list[metrics.Metric | None], Float64]:
    """For each row the number of its metric and unit, the metrics of those, and the values in base units."""
    raw = table.raw
    empty = Cells.constant("", table.rows)
    name, unit = raw.columns.get("metric", empty), raw.columns.get("unit", empty)
    names = table.read("metric", name, _text(200), None, required=True)
    units = table.read("unit", unit, _text(200), None)
    first, quantity = distinct([name.codes, unit.codes], [len(names), len(units)])
    found: list[metrics.Metric | None] = []
    based = values.copy()
    for number, row in enumerate(first):
        metric, rows = names[name.codes[row]], quantity == number
        found.append(None)
        if metric is not None:
            try:
                known = metrics.metric(metric, units[unit.codes[row]])
                based[rows] = metrics.to_base(values[rows], units[unit.codes[row]], known)
                found[-1] = known
            except DataError as wrong:
                table.fault(f"column {wrong.faults[0].field!r}: {wrong.faults[0].message}", rows)
    beyond = np.isfinite(values) & ~((based > 0) & (based < _LARGEST_VALUE))
    if beyond.any():
        table.fault("column 'value': out of range in its base unit", beyond)
    return quantity, found, based


def distinct(columns: Sequence[Int32], sizes: Sequence[int]) -> tuple[Int64, Int32]:
    """The first row of each distinct combination of codes, and for each row the number of its combination.

    A column of size ``s`` holds codes below ``s``: together they are the digits of one number, renumbered where it grows too long.
    """
    combined = np.zeros(len(columns[0]), dtype=np.int64)
    reach = 1
    for codes, size in zip(columns, sizes, strict=True):
        if reach * size > 2**62:
            kinds, combined = np.unique(combined, return_inverse=True)
            reach = len(kinds)
        combined = combined * max(size, 1) + codes
        reach *= max(size, 1)
    _, first, inverse = np.unique(combined, return_index=True, return_inverse=True)
    return first, inverse.astype(np.int32)


def _text(longest: int) -> Reader:
    def read(text: str) -> str:
        if len(text) > longest:
            raise ValueError(f"longer than {longest} characters")
        if not text.isprintable():
            raise ValueError("contains an unprintable character")
        return text

    return read


def _whole(column: str) -> Reader:
    least = 0 if column in ("gpus_per_node", "repeat") else 1

    def read(text: str) -> int:
        found = _WHOLE.fullmatch(text)
        if not found or not least <= int(found[1]) <= _LARGEST_COUNT:
            raise ValueError(f"allowed: a whole number from {least} to {_LARGEST_COUNT}{_meant(text) if _SPLIT.fullmatch(text) else ''}")
        return int(found[1])

    return read


def _value(text: str) -> float:
    if not _DECIMAL.fullmatch(text):
        raise ValueError(f"allowed: a finite positive number such as 12.5 or 1.25e1{_meant(text)}")
    value = float(text)
    if not 0 < value < _LARGEST_VALUE:
        raise ValueError("allowed: a finite positive number")
    return value


def _meant(text: str) -> str:
    """How to write what is no plain number, where that can be told."""
    if text.lower() in NOTHING:
        return "; omit rows without a measurement"
    if _SPLIT.fullmatch(text) and not _DECIMAL_COMMA.fullmatch(text):
        return "; without a sign between thousands"
    if _DECIMAL_COMMA.fullmatch(text):
        return "; with a decimal point, and without a sign between thousands"
    clock = _CLOCK.fullmatch(text)
    if clock:
        days, hours, minutes, seconds = (float(part or 0) for part in clock.groups())
        return f"; in seconds, {((days * 24 + hours) * 60 + minutes) * 60 + seconds:g}"
    number, unit = _DECIMAL.match(text), ""
    if number:
        unit = text[number.end() :].strip()
    return f"; its unit goes into the column 'unit': {number[0]} and {unit}" if number and len(unit) < _LONGEST_UNIT else ""


def _instant(text: str, now: datetime) -> int:
    if not _INSTANT.fullmatch(text):
        raise ValueError("allowed: ISO 8601 with an offset, such as 2026-03-01T12:00:00+01:00 or 2026-03-01T11:00:00Z")
    try:
        instant = datetime.fromisoformat(text)
    except ValueError as wrong:
        raise ValueError(f"no date: {wrong}") from None
    if not _EARLIEST <= instant <= now + timedelta(days=1):
        raise ValueError("allowed: from the year 2000 to now")
    return (instant - _EPOCH) // _MICROSECOND


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError("allowed: true, false")
    return text.lower() == "true"


def _mpi_from(text: str) -> str:
    if text not in ("host", "container"):
        raise ValueError("allowed: host, container")
    return text


_READERS: Final[Mapping[str, Reader]] = {"hyperthreads": _boolean, "mpi_from": _mpi_from, "numa_mode": _whole("numa_mode")}


def _shown(text: str) -> str:
    """A cell as a message shows it: quoted, control characters escaped, cut."""
    return ascii(text) if len(text) <= 60 else f"{text[:60]!a}…"
