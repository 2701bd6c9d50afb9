"""CSV with a header in the first line: UTF-8, commas (or tabs), quotes where a cell holds a comma.

:mod:`modak.ingest.formats.csvrows` splits the bytes into rows of cells. No type is guessed: ``NA`` and ``007`` stay text.

In countries with decimal commas spreadsheets separate cells with semicolons. If a header has semicolons and no comma, ``12,5`` is
a number. Empty rows, and empty columns without a name, which spreadsheets leave where cells were deleted, are left out. So is a first
column without a name that counts the rows, as pandas writes it.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from modak.errors import DataError, Fault
from modak.ingest.columns import REQUIRED, canonical, is_known
from modak.ingest.formats.csvrows import COMMENT, LONGEST_LINE, Rows, blocks, check_lines, rows
from modak.ingest.sources import Source
from modak.ingest.table import LAYOUT, MOST_COLUMNS, MOST_FAULTS, Cells, Int64, Raw
from modak.ingest.values import DECIMAL_COMMA, NUMERIC
from modak.results.filters import PARAMETER

Mask = NDArray[np.bool_]

_MARKS: Final = ",;\t"
"""Separators of cells; the first of them that is found in the header is used."""
_DECLARED: Final = re.compile(rb"sep=([,;\t|])")
"""The line above the header in which spreadsheets name the separator."""
_QUOTED: Final = re.compile(rb'"[^"]*"')
_COLUMNS: Final = frozenset(map(str.encode, REQUIRED))
"""Columns by which a header is known."""
_GUARDED: Final = re.compile(r"""(^|;)'(?=['"]*[=+\-@＝＋－＠])""")
_THOUSANDS: Final = re.compile(r"[+-]?[1-9][0-9]{0,2}(\.[0-9]{3})+")
_NUMBER: Final = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_BEGINS_AS_NUMBER: Final = re.compile(r"[+-]?\.?[0-9]")
_COUNT: Final = re.compile(r"0|[1-9][0-9]{0,9}")


class Csv:
    """Comma-separated values."""

    name = "csv"

    def recognises(self, head: bytes, name: str) -> bool:
        """By the ending of its name; or a text whose first line has a comma or a semicolon, as the next one has, if there is any, or
        columns between tabs, known or of numbers."""
        first, _, rest = head.partition(b"\n")
        tabs = not _COLUMNS.isdisjoint(first.lower().split(b"\t")) or _between_tabs(first, rest.partition(b"\n")[0])
        next_one = rest.strip().partition(b"\n")[0]
        separated = tabs or any(sign in first and (sign in next_one or not next_one) for sign in (b",", b";"))
        return name.lower().endswith((".csv", ".tsv")) or (b"\0" not in head and head[:1] not in b"[{" and separated)

    def read(self, source: Source) -> Iterator[Raw]:
        """Blocks of rows."""
        with source.open() as stream:
            numbered = blocks(stream)
            _, first = next(numbered, (1, b""))
            header, body = _header_and_rest(first)
            yield _raw(body, header, header.line + 1, first=True)
            for line, block in numbered:
                yield _raw(block, header, line)


def _between_tabs(first: bytes, second: bytes) -> bool:
    """Whether these are names between tabs, and as many cells below them, at least half of which begin as numbers do: a unit may follow."""
    names, cells = ([each.strip() for each in line.decode(errors="replace").split("\t")] for line in (first, second))
    numbers = sum(_BEGINS_AS_NUMBER.match(cell) is not None for cell in cells)
    return len(names) == len(cells) > 1 and 2 * numbers >= len(cells) and not any(map(NUMERIC.fullmatch, names))


# --- the header


class _Header(NamedTuple):
    names: Sequence[str]
    """Of the columns; an empty one is allowed if the column is empty, which :func:`_refuse_nameless` checks."""
    mark: str
    """What separates cells."""
    line: int


def _header_and_rest(block: bytes) -> tuple[_Header, bytes]:
    """The header, perhaps below a line that names the separator, and all below it."""
    line, (head, _, body) = 1, block.partition(b"\n")
    declared = _DECLARED.fullmatch(head)
    if declared:
        line, (head, _, body) = 2, body.partition(b"\n")
    mark = declared[1].decode() if declared else _mark(head)
    return _Header(_names(head.decode(), mark, line), mark, line), body


def _mark(head: bytes) -> str:
    """The separator of a header: the first of :data:`_MARKS` that is found outside of quotes."""
    bare = _QUOTED.sub(b"", head).decode()
    return next((mark for mark in _MARKS if mark in bare), ",")


def _names(text: str, mark: str, line: int) -> list[str]:
    place = f":{line}"
    if not text.strip():
        raise DataError("no header: the file is empty, or its first line is", field=place)
    if len(text) > LONGEST_LINE:
        raise DataError(f"the header is longer than {LONGEST_LINE} characters", field=place)
    check_lines(text.encode() + b"\n", mark, line)
    names = [each.strip() for each in next(csv.reader([text], delimiter=mark, strict=True))]
    if len(names) > MOST_COLUMNS:
        raise DataError(f"{len(names)} columns; at most {MOST_COLUMNS}", field=place)
    if why := _no_header(text, names):
        raise DataError(why, field=place)
    none = "" if any(map(_is_expected, names)) else "; the first line has to name the columns"
    twice = [each for number, each in enumerate(names) if each and each in names[:number]]
    DataError.raise_for(Fault(place, f"two columns are called {each!r}{none}") for each in twice[:MOST_FAULTS])
    return names


def _no_header(text: str, names: Sequence[str]) -> str:
    """Why the first line of a file is no header, or not one that can be read; empty if it is one."""
    named = [each for each in names if each]
    if text.lstrip().startswith(COMMENT.decode()) and not any(_is_expected(each.strip("# ")) for each in names):
        return "begins with '#': remove the lines above the header, and any '#' before its first name"
    if len(names) > 1 and len(named) == 1:
        return f"names one column only, {named[0][:60]!a}: remove the lines above the header"
    if named and all(map(NUMERIC.fullmatch, named)):
        return "holds numbers only; the first line has to name the columns"
    if _is_a_row(named):
        return "holds numbers between names, as a row does; the first line has to name the columns"
    if len(names) == 1:
        by = ", not by '|'" if "|" in text else ""
        title = "" if _is_expected(names[0]) else "; if this line is a title, remove the lines above the header"
        return f"the header has one column only; it names the columns, separated by commas, semicolons or tabs{by}{title}"
    return ""


def _is_a_row(names: Sequence[str]) -> bool:
    """Whether these are cells of a row: none is expected, and there are numbers, but not side by side and rising, as sizes in a header."""
    numbers = {place: float(each) for place, each in enumerate(names) if _NUMBER.fullmatch(each)}
    apart = bool(numbers) and max(numbers) - min(numbers) >= len(numbers)
    return (apart or [*numbers.values()] != sorted(numbers.values())) and not any(map(_is_expected, names))


def _is_expected(name: str) -> bool:
    return name.lower().encode() in _COLUMNS


# --- the rows


def _raw(body: bytes, header: _Header, line: int, *, first: bool = False) -> Raw:
    """The rows of a block that begins with this line; ``first``: it is the first one of the file."""
    names, mark = header.names, header.mark
    notes: list[str] = []
    if first and mark == ";" and body.strip():
        notes.append(": semicolons separate its cells, commas are decimal")

    found = rows(body, len(names), mark, line)
    found = Rows([*map(_unguarded, found.columns)], found.lines)

    again, empty = _rows_of(found.columns, names), _rows_of(found.columns, [""] * len(names))
    if again.any():
        times = f" ({again.sum()} times)" if again.sum() > 1 else ""
        notes.append(f":{found.lines[again][0]}: the header again{times}; left out")
    found = _without(again | empty, found)

    if not names[0] and counts_rows(found.columns[0], first=first):
        found.columns[0] = Cells.constant("", len(found.lines))
        if first:
            notes.append(": the first column has no name and counts the rows: left out")
    _refuse_nameless(found, names)
    columns: Mapping[str, Cells] = {name: cells for name, cells in zip(names, found.columns, strict=True) if name}

    if mark == ";":
        columns, told = _decimal(columns, found.lines)
        notes += told
    return Raw(columns, found.lines, tuple(notes))


def _unguarded(cells: Cells) -> Cells:
    """Without the apostrophes that :func:`modak.ingest.writing.write_csv` puts before what a spreadsheet would run as a formula."""
    return Cells(cells.codes, [_GUARDED.sub(r"\1", text) if "'" in text else text for text in cells.texts])


def _rows_of(columns: Sequence[Cells], texts: Sequence[str]) -> Mask:
    """Which rows have these texts in their cells, one for each column."""
    found = np.ones(len(columns[0].codes), dtype=bool)
    for cells, text in zip(columns, texts, strict=True):
        alike = np.array([each.strip() == text for each in cells.texts], dtype=bool)
        found &= alike[cells.codes] if alike.size else False
        if not found.any():
            break
    return found


def _without(left_out: Mask, found: Rows) -> Rows:
    """The other rows."""
    if not left_out.any():
        return found
    return Rows([cells.where(~left_out) for cells in found.columns], found.lines[~left_out])


def counts_rows(cells: Cells, *, first: bool) -> bool:
    """Whether a column counts the rows, as the index does that pandas writes: in the ``first`` block of a file from 0 or 1."""
    texts = [cells[row].strip() for row in range(len(cells.codes))]
    if not texts or not _COUNT.fullmatch(texts[0]) or (first and texts[0] not in ("0", "1")):
        return False
    return texts == [str(number) for number in range(int(texts[0]), int(texts[0]) + len(texts))]


def _refuse_nameless(found: Rows, names: Sequence[str]) -> None:
    """Raise for columns that have no name, but cells that are not empty."""
    faults = []
    for number, (name, cells) in enumerate(zip(names, found.columns, strict=True), 1):
        text = next((text for text in cells.texts if text.strip()), None)
        if name or text is None:
            continue
        line = next(int(line) for line, code in zip(found.lines, cells.codes, strict=True) if cells.texts[code].strip())
        index = " (of pandas' to_csv with index=False)" if number == 1 else ""
        message = f"column {number} has no name in the header, and holds {text[:60]!a} here; leave it out{index}, or name what it says"
        faults.append(Fault(f":{line}", message))
    DataError.raise_for(faults[:MOST_FAULTS])


# --- decimal commas


def _decimal(columns: Mapping[str, Cells], lines: Int64) -> tuple[Mapping[str, Cells], list[str]]:
    """The columns of a file whose commas are decimal with points, and notes on points that it has already."""
    decimal = any(_has_comma(text) for cells in columns.values() for text in cells.texts)
    notes = _points_noted({name: cells for name, cells in columns.items() if name.startswith(PARAMETER) or not decimal})
    return {name: _with_points(cells, name, lines, decimal=decimal) for name, cells in columns.items()}, [*notes]


def _with_points(cells: Cells, column: str, lines: Int64, *, decimal: bool) -> Cells:
    """The column with decimal points instead of commas.

    Raises where a point may separate thousands: in a column that also has decimal commas, in counts, and in values if any column of the
    file has a decimal comma (``decimal``).
    """
    commas = [_has_comma(text) for text in cells.texts]
    if not any(commas) and not (decimal and _may_be_value(column)) and canonical(column) not in LAYOUT:
        return cells
    doubtful = next((code for code, text in enumerate(cells.texts) if _THOUSANDS.fullmatch(text.strip())), None)
    if doubtful is not None:
        line, text = lines[np.flatnonzero(cells.codes == doubtful)[0]], cells.texts[doubtful].strip()
        message = f"column {column!r}: {text!a} where commas are decimal: write thousands without a point, and other numbers with a comma"
        raise DataError(message, field=f":{line}")
    return Cells(cells.codes, [text.replace(",", ".") if comma else text for text, comma in zip(cells.texts, commas, strict=True)])


def _points_noted(columns: Mapping[str, Cells]) -> Iterator[str]:
    """A note for each column of values or of a parameter all of whose points may separate thousands."""
    for column in (name for name in columns if name.startswith(PARAMETER) or _may_be_value(name)):
        pointed = [text.strip() for text in columns[column].texts if "." in text]
        if pointed and all(map(_THOUSANDS.fullmatch, pointed)):
            read = pointed[0].replace(".", "")
            yield f": column {column!r}: the point in {pointed[0]} is decimal; if it is not, write {read}"


def _has_comma(text: str) -> bool:
    return DECIMAL_COMMA.fullmatch(text.strip()) is not None


def _may_be_value(column: str) -> bool:
    """Whether a column holds the values, or becomes ``value`` when it is renamed."""
    return canonical(column) == "value" or not is_known(canonical(column))
