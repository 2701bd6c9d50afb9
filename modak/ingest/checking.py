"""From cells of text to typed columns, for all formats: every cell is checked here.

Each distinct text of a column is read once, however many rows hold it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

import numpy as np

from modak.errors import DataError, Fault
from modak.facts import SeriesKey
from modak.ingest.columns import AGAIN, SERIES
from modak.ingest.table import LAYOUT, MOST_FAULTS, UNKNOWN, Batch, Cells, Float64, Int32, Int64, Point, Raw, also, layout
from modak.ingest.totals import TOTALS, Mask, spread
from modak.ingest.values import COUNTS, LARGEST_VALUE, MEANINGFUL, NO_VALUE, SMALLEST_VALUE, Seconds, is_placeholder, quoted, reader
from modak.results import failures, metrics
from modak.results.units import parse_unit, per_part_rate, to_base
from modak.text.amounts import counted

_TOO_SMALL: Final = 1e6
"""No run has less than so many bytes, bytes per second and operations per second: without a unit, such values are of another one."""
_YEAR: Final = 365 * 86_400.0
"""Seconds: no run lasts so long; without a unit, such times are of another one."""
_SMALL_UNITS: Final = {"B": "GB", "B/s": "GB/s", "FLOP/s": "GFLOP/s"}
"""Base units that nobody measures in, each with one in which people do."""


def batch(raw: Raw, name: str, now: datetime) -> Batch:
    """Checked and typed rows; those without a value are left out, and those of failed runs count these, both with a note.

    Raises :class:`modak.errors.DataError` with the faults of all columns, by line.
    """
    raw = _failures_counted(_with_values(raw, name), name)
    table = _Table(raw, name, now, MEANINGFUL)
    values, clocks = table.values()
    numbers = table.counts(COUNTS)
    measured_at = table.typed("measured_at", UNKNOWN, np.int64)
    sources, suspects = table.texts("source"), table.texts("suspect")
    series, series_of, values = _series(table, values, clocks, table.parts(numbers))
    table.check()
    return Batch(series, series_of, numbers, values, measured_at, sources, suspects, raw.lines, (*raw.notes, *table.notes()))


def points(raw: Raw, asked: Raw, name: str, now: datetime) -> list[Point]:
    """Rows that ask for a value; ``asked`` holds the same rows under the file's own names. Raises as :func:`batch` does."""
    table = _Table(raw, name, now, {**MEANINGFUL, "compiler": ("none",)})
    numbers = table.counts(LAYOUT)
    counts, parts = list(numbers.values()), table.parts(numbers)
    series, series_of, _ = _series(table, np.ones(len(raw.lines)), np.zeros(len(raw.lines), dtype=bool), parts)
    table.check()
    unit = table.cells("unit")
    each = [per_part_rate(text) for text in unit.texts]
    return [
        Point(
            cells={column: cells[row] for column, cells in asked.columns.items()},
            series=series[series_of[row]],
            layout=layout([column[row] for column in counts]),
            unit=unit[row].strip() or None,
            parts=int(parts[part[1]][row]) if (part := each[unit.codes[row]]) else 1,
        )
        for row in range(len(raw.lines))
    ]


def _with_values(raw: Raw, name: str) -> Raw:
    """Without the rows of runs that gave no value."""
    if "value" not in raw.columns:
        return raw
    cells = raw.columns["value"]
    none = np.array([text.strip().lower() in NO_VALUE for text in cells.texts], dtype=bool)[cells.codes]
    if not none.any():
        return raw
    lines, rows = raw.lines[none], counted(int(none.sum()), "row")
    return replace(raw.where(~none), notes=(*raw.notes, f"{name}:{lines[0]}: {rows} without a value{also(lines[1:])}; left out"))


def _failures_counted(raw: Raw, name: str) -> Raw:
    """Rows whose value is a word for a failed run, as rows that count one: :mod:`modak.results.failures`."""
    if "value" not in raw.columns:
        return raw
    cells, rows = raw.columns["value"], len(raw.lines)
    counted_by = [failures.WORDS.get(text.strip().lower(), "") for text in cells.texts]
    failed = np.array([bool(metric) for metric in counted_by], dtype=bool)[cells.codes]
    if not failed.any():
        return raw
    lines, runs = raw.lines[failed], counted(int(failed.sum()), "row")
    of_failed = {"value": Cells.constant("1", rows), "unit": Cells.constant("", rows), "metric": Cells(cells.codes, counted_by)}
    columns = dict(raw.columns)
    for column, cell in of_failed.items():
        given = columns.get(column) or Cells.constant("", rows)
        columns[column] = Cells.of((cell if out else given)[row] for row, out in enumerate(failed.tolist()))
    note = f"{name}:{lines[0]}: {runs} of failed runs{also(lines[1:])}; they count as failed_runs or out_of_memory"
    return replace(raw, columns=columns, notes=(*raw.notes, note))


class _Table:
    """The columns of one part of a file. Faults are collected; :meth:`check` raises them."""

    def __init__(self, raw: Raw, name: str, now: datetime, meaningful: Mapping[str, tuple[str, ...]]) -> None:
        self.raw = raw
        self.name = name
        self._now = now
        self._meaningful = meaningful
        self._faults: dict[str, list[Int64]] = {}
        """Messages, and the lines that they are about."""
        self._placeholders: dict[str, list[str]] = {}
        self._doubts: list[str] = []
        self._totals: dict[str, Int32] = {}
        """What was counted over all nodes, by the column of that on each."""

    def cells(self, column: str) -> Cells:
        """A column as text; a missing one is empty."""
        return self.raw.columns.get(column) or Cells.constant("", len(self.raw.lines))

    def typed(self, column: str, empty: Any, kind: type[Any]) -> Any:
        """A column as an array of one value a row, ``empty`` where the cell is empty."""
        return np.array(self.read(column, empty), dtype=kind)[self.cells(column).codes]

    def values(self) -> tuple[Float64, Mask]:
        """The values, and which of them are lengths of time in seconds, whatever the unit beside them."""
        read, codes = self.read("value", math.nan), self.cells("value").codes
        return np.array(read, dtype=np.float64)[codes], np.array([isinstance(value, Seconds) for value in read], dtype=bool)[codes]

    def counts(self, columns: Sequence[str]) -> dict[str, Int32]:
        """Columns of whole numbers, those of the layout also from what was counted over all nodes."""
        found = {column: self.typed(column, UNKNOWN, np.int32) for column in columns}
        there = [(column, per_node) for column, per_node in TOTALS.items() if column in self.raw.columns]
        for column, per_node in sorted(there, key=lambda pair: bool((found[pair[1]] == UNKNOWN).all())):  # those first that tell the nodes
            total = self.typed(column, UNKNOWN, np.int32)
            over = spread(total, found["nodes"], found[per_node])
            triples = np.stack([total, over.nodes, found[per_node]])
            for one in np.unique(triples[:, over.uneven], axis=1).T[: MOST_FAULTS + 1]:
                self.fault(_uneven(column, *one), over.uneven & (triples == one[:, None]).all(axis=0))
            if over.nowhere.any():
                way = f"{AGAIN} '--set {per_node}=…', what a node has"
                self.doubt(f"column {column!r}: without 'nodes', all count as on one node; if it were several, {way}")
            found |= {"nodes": over.nodes, per_node: over.each}
            self._totals[per_node] = total
        return found

    def parts(self, numbers: Mapping[str, Int32]) -> dict[str, Int64]:
        """How many nodes, ranks and GPUs each row is of, by :meth:`counts`; 0: it does not tell."""
        nodes = np.maximum(numbers["nodes"], 0).astype(np.int64)
        found = {"node": nodes}
        for part, column in (("rank", "ranks_per_node"), ("gpu", "gpus_per_node")):
            total = self._totals.get(column, np.int32(UNKNOWN))
            found[part] = np.where(total != UNKNOWN, total, nodes * np.maximum(numbers[column], 0))
        return found

    def texts(self, column: str) -> Cells:
        """A column of text, checked and stripped."""
        return Cells(self.cells(column).codes, self.read(column, ""))

    def read(self, column: str, empty: Any = None, *, required: bool = False) -> list[Any]:
        """The value of each distinct text of a column; ``empty`` for a text with a fault. The first faults are noted with their lines."""
        cells, read = self.cells(column), reader(column, self._now)
        found, faults = [], 0
        for code, text in enumerate(map(str.strip, cells.texts)):
            value = empty
            try:
                if is_placeholder(column, text, self._meaningful):
                    self._placeholders.setdefault(column, []).append(text)
                elif text:
                    value = read(text)
                elif required:
                    merged = ", also below merged cells of a spreadsheet" if code else ""  # the first row has one
                    raise ValueError(f"empty; every row needs one{merged}")
            except ValueError as error:
                faults += 1
                if faults <= MOST_FAULTS + 1:  # each looks at all rows, and further ones are not shown
                    self.fault(f"column {column!r}: {quoted(text) + ': ' if text else ''}{error}", cells.codes == code)
            found.append(value)
        return found

    def notes(self) -> Iterator[str]:
        """For each column the placeholders that were read as empty, and what was doubted."""
        for column, texts in self._placeholders.items():
            yield f"{self.name}: column {column!r}: {', '.join(map(ascii, texts))} is a placeholder; the cell counts as empty"
        yield from self._doubts

    def doubt(self, message: str) -> None:
        """Note what is read, but probably means something else."""
        self._doubts.append(f"{self.name}: {message}")

    def fault(self, message: str, rows: Any) -> None:
        """Note a fault in ``rows`` (a mask)."""
        self._faults.setdefault(message, []).append(self.raw.lines[rows])

    def check(self) -> None:
        """Raise the faults, each at its first line, in order of these."""
        found = [(np.unique(np.concatenate(parts)).tolist(), message) for message, parts in self._faults.items()]
        DataError.raise_for(Fault(f"{self.name}:{lines[0]}", f"{message}{also(lines[1:])}") for lines, message in sorted(found) if lines)


def _uneven(column: str, total: int, nodes: int, each: int) -> str:
    """What is said of a total that is not the same number on each node."""
    on = f" on {counted(nodes, 'node')}" if nodes != UNKNOWN else ""
    of = f" with {TOTALS[column]} {each}" if each != UNKNOWN else ""
    return f"column {column!r}: {total}{on}{of}: allowed: as many on each node"


def _series(table: _Table, values: Float64, clocks: Mask, parts: Mapping[str, Int64]) -> tuple[tuple[SeriesKey, ...], Int32, Float64]:
    """The distinct series, the series of each row, and the values in base units; ``clocks``: which are lengths of time; ``parts``: of how
    many a rate of each of them may be."""
    columns = table.raw.columns
    names = [name for name in columns if name in SERIES or name.startswith("params.")]
    read = {name: table.read(name, required=name == "application") for name in names}
    metric_of, kinds, values = _metrics(table, values, clocks, parts)
    first, series_of = distinct([*(columns[name].codes for name in names), metric_of], [*map(len, read.values()), len(kinds)])
    found = []
    for row in first:
        key = {name: read[name][columns[name].codes[row]] for name in names}
        metric = kinds[metric_of[row]]
        if metric is None or not key.get("application"):
            found.append(_NO_SERIES)
            continue
        params = {name.removeprefix("params."): value for name, value in sorted(key.items()) if name.startswith("params.") and value}
        plain = {name: value for name, value in key.items() if not name.startswith("params.")}
        found.append(SeriesKey(**plain, params=params, metric=metric.name, unit=metric.unit))
    return tuple(found), series_of, values


_NO_SERIES: Final = SeriesKey(application="-", metric="-", unit="-")
"""The series of rows with a fault, until the faults are raised."""


def _metrics(
    table: _Table, values: Float64, clocks: Mask, parts: Mapping[str, Int64]
) -> tuple[Int32, list[metrics.Metric | None], Float64]:
    """For each row the number of its pair of metric and unit, the metric of each pair, and the values in base units: rates of each GPU as
    those of all."""
    name, unit = table.cells("metric"), table.cells("unit")
    names, units = table.read("metric", required=True), table.read("unit")
    first, pair_of = distinct([name.codes, unit.codes], [len(names), len(units)])
    found: list[metrics.Metric | None] = [None] * len(first)
    based, faults = values.copy(), 0
    for pair, row in enumerate(first):
        metric, of, rows = names[name.codes[row]], units[unit.codes[row]], pair_of == pair
        each = per_part_rate(of) if of and parts else None
        if metric is not None:
            try:
                if each:
                    of, count = each[0], parts[each[1]]
                    based[rows] *= np.maximum(count[rows], 1)
                    if (untold := rows & (count == 0)).any():
                        table.fault(_untold(units[unit.codes[row]], *each), untold)
                known = metrics.metric(metric, of)
                based[rows] = to_base(based[rows], of)
                found[pair] = known
                if (at := np.flatnonzero(rows & clocks)).size and (why := _no_clock(known, of)):
                    table.fault(f"column 'value': {quoted(table.cells('value')[at[0]].strip())}: {why}", rows & clocks)
                if of is None and (doubt := _unlikely(known, float(np.fmax.reduce(values[rows], initial=0)))):
                    table.doubt(doubt)
            except DataError as error:
                table.fault(f"column {error.faults[0].field!r}: {error.faults[0].message}", rows)
                faults += 1
                if faults > MOST_FAULTS:  # no more are told, and what may be meant by each is looked for
                    break
    beyond = np.isfinite(values) & ~((based >= SMALLEST_VALUE) & (based <= LARGEST_VALUE))
    if beyond.any() and faults <= MOST_FAULTS:  # else values are left that are not in base units
        table.fault("column 'value': out of range in its base unit", beyond)
    return pair_of, found, based


def _untold(given: str, unit: str, part: str) -> str:
    """What is said of a rate of each of parts whose number a row does not give."""
    number = "'nodes'" if part == "node" else f"'total_{part}s', or 'nodes' and '{part}s_per_node'"
    return f"column 'unit': {quoted(given)}: the row does not say of how many: {number}; or give the rate of all together, in {unit}"


def _no_clock(metric: metrics.Metric, unit: str | None) -> str:
    """Why a value of this metric and unit is no length of time in seconds; empty if it may be one."""
    if metric.kind != "time":
        return f"a length of time, but {metric.name!r} is measured in {metric.unit}"
    if unit is not None and parse_unit(unit).factor != 1:
        way = "leave the unit of such rows empty, also without '--set unit=…'"
        return f"a length of time counts in seconds, the column 'unit' says {quoted(unit)}: {way}"
    return ""


def _unlikely(metric: metrics.Metric, most: float) -> str:
    """What is said of values beside which no unit is given, and which are too long for seconds, or too small for another base unit; empty:
    they may be in it."""
    if metric.unit == "s" and most > _YEAR:
        usual, extent = "ns", f"up to {most / _YEAR:.3g} years"
    elif metric.unit in _SMALL_UNITS and most < _TOO_SMALL:
        usual, extent = _SMALL_UNITS[metric.unit], f"at most {most:g}"
    else:
        return ""
    way = f"if it is another one, give it ('--set unit={usual}', and '--replace' for rows that are stored)"
    return f"column 'unit': empty for {metric.name!r}, which then counts in {metric.unit}: {extent}; {way}"


def distinct(columns: Sequence[Int32], sizes: Sequence[int]) -> tuple[Int64, Int32]:
    """The first row of each distinct combination of codes, in order of rows, and for each row the number of its combination.

    A column of size ``s`` holds codes below ``s``. Together they are the digits of one number, which is renumbered before it overflows.
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
    order = np.argsort(first)
    number = np.empty(len(first), dtype=np.int32)
    number[order] = np.arange(len(first), dtype=np.int32)
    return first[order], number[inverse]
