"""CSV with a header in the first line: UTF-8, commas (or tabs), quotes where a cell holds a comma. In and out.

The structure is checked on the bytes, all lines of a block at once, before they are split into cells: a row that is too short
or a quote that is never closed must not shift the cells of other rows. No type is guessed: ``NA`` and ``007`` stay text.

In countries with decimal commas spreadsheets separate cells with semicolons. If a header has semicolons and no comma, ``12,5`` is
a number. Empty rows, and empty columns without a name, which spreadsheets leave where cells were deleted, are left out. So is a first
column without a name that counts the rows, as pandas writes it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO, Final, TextIO

import numpy as np
from numpy.typing import NDArray

from modak.errors import DataError, Fault
from modak.ingest.columns import canonical, is_known
from modak.ingest.sources import Source
from modak.ingest.table import LAYOUT, MOST_COLUMNS, MOST_FAULTS, Cells, Int64, Raw
from modak.ingest.values import DECIMAL_COMMA

Mask = NDArray[np.bool_]

BLOCK: Final = 16 * 2**20
LONGEST_LINE: Final = 100_000
SMALL: Final = 2**20
"""Smaller blocks (bytes) are split by the standard library, which takes less time than importing pandas."""

_QUOTE, _LINE_FEED = b'"\n'
_COMMENT: Final = b"#"
_MARKS: Final = ",;\t"
"""Separators of cells; the first of them that is found in the header is used."""
_DECLARED: Final = re.compile(rb"sep=([,;\t|])")
"""The line above the header in which spreadsheets name the separator."""
_QUOTED: Final = re.compile(rb'"[^"]*"')
_COLUMNS: Final = frozenset((b"application", b"metric", b"value"))
_GUARDED: Final = re.compile(r"'+[=+\-@]")
_FORMULA: Final = re.compile(r"'*[=+\-@]")
_THOUSANDS: Final = re.compile(r"[+-]?[1-9][0-9]{0,2}(\.[0-9]{3})+")
_COUNT: Final = re.compile(r"0|[1-9][0-9]{0,9}")
_NUMBER: Final = re.compile(r"[+-]?[0-9.]+([eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class Csv:
    """Comma-separated values."""

    name: str = "csv"

    def recognises(self, head: bytes, name: str) -> bool:
        """By the ending of its name; or a text whose first line has a comma, a semicolon, or known columns between tabs."""
        first = head.partition(b"\n")[0]
        separated = b"," in first or b";" in first or not _COLUMNS.isdisjoint(first.lower().split(b"\t"))
        return name.lower().endswith((".csv", ".tsv")) or (b"\0" not in head and head[:1] not in b"[{" and separated)

    def read(self, source: Source) -> Iterator[Raw]:
        """Blocks of rows."""
        with source.open() as stream:
            blocks = _blocks(stream, source.name)
            first = next(blocks, b"").removeprefix(b"\xef\xbb\xbf")
            head, _, body = _clean(first, 1, source.name).partition(b"\n")
            line, declared = 1, _DECLARED.fullmatch(head)
            if declared:
                line, (head, _, body) = 2, body.partition(b"\n")
            mark = declared[1].decode() if declared else _mark(head)
            names = _header(head.decode(), mark, line, source.name)
            line += 1
            notes = (f"{source.name}: semicolons separate its cells, commas are decimal",) if mark == ";" and body.strip() else ()
            raw = _raw(body, names, mark, line, source.name, ("0", "1"))
            yield replace(raw, notes=(*notes, *raw.notes))
            line += body.count(b"\n")
            for block in blocks:
                body = _clean(block, line, source.name)
                yield _raw(body, names, mark, line, source.name)
                line += body.count(b"\n")


def _mark(head: bytes) -> str:
    """The separator of a header: the first of :data:`_MARKS` that is found outside of quotes."""
    bare = _QUOTED.sub(b"", head).decode()
    return next((mark for mark in _MARKS if mark in bare), ",")


def _blocks(stream: BinaryIO, name: str) -> Iterator[bytes]:
    """The stream in blocks of whole lines; a last line without a line feed gets one."""
    rest = b""
    while chunk := stream.read(BLOCK):
        block = rest + chunk
        end = block.rfind(b"\n") + 1
        if not end and len(block) > LONGEST_LINE:
            raise DataError(f"a line of more than {LONGEST_LINE} bytes; lines end with a line feed", field=name)
        if end:
            yield block[:end]
        rest = block[end:]
    if rest:
        yield rest + b"\n"


def _clean(block: bytes, line: int, name: str) -> bytes:
    """The block with line feeds as the only ends of lines.

    Raises :class:`modak.errors.DataError` with the line of what is not UTF-8 text.
    """
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n")
    for octet, what in _REFUSED:
        if octet in block:
            raise DataError(what, field=_place(block, block.index(octet), line, name))
    try:
        if not block.isascii():
            block.decode()
    except UnicodeDecodeError as error:
        message = f"byte 0x{block[error.start]:02x} is not valid UTF-8; save the file as UTF-8"
        raise DataError(message, field=_place(block, error.start, line, name)) from None
    return block


_REFUSED: Final = (
    (b"\0", "a NUL byte: the file is not UTF-8 text"),
    (b"\r", "a carriage return without a line feed; lines end with LF or CR LF"),
)


def _place(block: bytes, position: int, line: int, name: str) -> str:
    return f"{name}:{line + block.count(_LINE_FEED, 0, position)}"


def _header(text: str, mark: str, line: int, name: str) -> list[str]:
    """The names of the columns. An empty name is allowed if the column is empty, which :func:`_raw` checks."""
    place = f"{name}:{line}"
    if not text.strip():
        raise DataError("no header: the file is empty, or its first line is", field=place)
    if len(text) > LONGEST_LINE:
        raise DataError(f"the header is longer than {LONGEST_LINE} characters", field=place)
    _lines(text.encode() + b"\n", None, mark, line, name)
    names = [each.strip() for each in next(csv.reader([text], delimiter=mark, strict=True))]
    if len(names) > MOST_COLUMNS:
        raise DataError(f"{len(names)} columns; at most {MOST_COLUMNS}", field=place)
    if text.lstrip().startswith("#") and not any(each.strip("# ").lower().encode() in _COLUMNS for each in names):
        raise DataError("begins with '#': remove the lines above the header, and any '#' before its first name", field=place)
    if len(names) > 1 and sum(map(bool, names)) == 1:
        raise DataError(f"names one column only, {next(filter(None, names))[:60]!a}: remove the lines above the header", field=place)
    if any(names) and all(_NUMBER.fullmatch(each) for each in names if each):
        raise DataError("holds numbers only; the first line has to name the columns", field=place)
    if len(names) == 1:
        by = ", not by '|'" if "|" in text else ""
        title = "" if names[0].lower().encode() in _COLUMNS else "; if this line is a title, remove the lines above the header"
        message = f"the header has one column only; it names the columns, separated by commas, semicolons or tabs{by}{title}"
        raise DataError(message, field=place)
    none = "" if any(each.lower().encode() in _COLUMNS for each in names) else "; the first line has to name the columns"
    twice = [each for number, each in enumerate(names) if each and each in names[:number]]
    faults = [Fault(place, f"two columns are called {each!r}{none}") for each in twice]
    if faults:
        raise DataError(faults=faults[:MOST_FAULTS])
    return names


def _raw(body: bytes, names: Sequence[str], mark: str, line: int, name: str, first: Sequence[str] = ()) -> Raw:
    """The rows of a block. ``first``: of the file's first block, what a column that counts the rows begins with."""
    lines = _lines(body, len(names), mark, line, name)
    columns = list(map(_unguarded, _cut_small(body, len(names), mark) if len(body) < SMALL else _cut(body, len(names), mark)))
    again = _rows_of(columns, names)
    notes: tuple[str, ...] = (f"{name}:{lines[again][0]}: the header again{_times(again)}; left out",) if again.any() else ()
    columns, lines = _without(again | _rows_of(columns, [""] * len(names)), columns, lines)
    if not names[0] and _counts_rows(columns[0], first):
        columns[0] = Cells.constant("", len(lines))
        notes += (f"{name}: the first column has no name and counts the rows: left out",) if first else ()
    nameless = [(number, cells) for number, cells in enumerate(columns, 1) if not names[number - 1] and any(map(str.strip, cells.texts))]
    unnamed = [Fault(f"{name}:{_line_of(cells, lines)}", _nameless(number, cells)) for number, cells in nameless]
    if unnamed:
        raise DataError(faults=unnamed[:MOST_FAULTS])
    found = {column: cells for column, cells in zip(names, columns, strict=True) if column}
    if mark == ";":
        decimal = any(DECIMAL_COMMA.fullmatch(text.strip()) for cells in found.values() for text in cells.texts)
        notes += () if decimal else tuple(_points_noted(found, name))
        found = {column: _with_points(cells, column, lines, name, decimal) for column, cells in found.items()}
    return Raw(found, lines, notes)


def _counts_rows(cells: Cells, first: Sequence[str]) -> bool:
    """Whether a column counts the rows, as the index does that pandas writes. ``first``: what it begins with; empty: any number."""
    texts = [cells[row].strip() for row in range(len(cells.codes))]
    if not texts or not _COUNT.fullmatch(texts[0]) or (first and texts[0] not in first):
        return False
    return texts == [str(number) for number in range(int(texts[0]), int(texts[0]) + len(texts))]


def _rows_of(columns: Sequence[Cells], texts: Sequence[str]) -> Mask:
    """Which rows have these texts in their cells, one for each column."""
    found = np.ones(len(columns[0].codes), dtype=bool)
    for cells, text in zip(columns, texts, strict=True):
        alike = np.array([each.strip() == text for each in cells.texts], dtype=bool)
        found &= alike[cells.codes] if alike.size else False
        if not found.any():
            break
    return found


def _times(rows: Mask) -> str:
    """How often something is in a file, if it is several times."""
    return f" ({rows.sum()} times)" if rows.sum() > 1 else ""


def _without(rows: Mask, columns: list[Cells], lines: Int64) -> tuple[list[Cells], Int64]:
    """The other rows, with their lines."""
    if not rows.any():
        return columns, lines
    return [Cells.of(cells.texts[code] for code in cells.codes[~rows]) for cells in columns], lines[~rows]


def _line_of(cells: Cells, lines: Int64) -> int:
    """The line of the first cell that is not empty."""
    return next(int(line) for line, code in zip(lines, cells.codes, strict=True) if cells.texts[code].strip())


def _nameless(number: int, cells: Cells) -> str:
    text = next(text for text in cells.texts if text.strip())
    index = " (of pandas' to_csv with index=False)" if number == 1 else ""
    return f"column {number} has no name in the header, and holds {text[:60]!a} here; leave it out{index}, or name what it says"


def _lines(body: bytes, columns: int | None, mark: str, first: int, name: str) -> Int64:
    """The numbers of the lines that are rows. Raises for a number of cells other than the header's, and for a misplaced quote.

    ``mark`` separates cells, and a line feed ends a row, where the number of quotes before it is even.
    """
    octets = np.frombuffer(body, dtype=np.uint8)
    ends = np.flatnonzero(octets == _LINE_FEED)
    marks = np.flatnonzero(octets == ord(mark))
    quotes = np.flatnonzero(octets == _QUOTE)
    numbers = first + np.arange(ends.size, dtype=np.int64)
    if quotes.size:
        _check_quotes(octets, quotes, ends, mark, first, name)
        marks = marks[np.searchsorted(quotes, marks) % 2 == 0]
    cells = np.diff(np.searchsorted(marks, ends), prepend=0) + 1
    lengths = np.diff(ends, prepend=-1) - 1
    if lengths.size and lengths.max() > LONGEST_LINE:
        raise DataError(f"a line of more than {LONGEST_LINE} bytes", field=f"{name}:{numbers[lengths.argmax()]}")
    if columns is not None:
        wrong = np.flatnonzero((lengths > 0) & (cells != columns))[:MOST_FAULTS]
        if wrong.size:
            rows = [body[ends[i] - lengths[i] : ends[i]] for i in wrong]
            told = [
                f"{cells[i]} cells; the header has {columns} columns{_odd(row, columns, mark)}" for i, row in zip(wrong, rows, strict=True)
            ]
            raise DataError(faults=[Fault(f"{name}:{numbers[i]}", text) for i, text in zip(wrong, told, strict=True)])
    return numbers[lengths > 0]


def _odd(row: bytes, columns: int, mark: str) -> str:
    """What a row with another number of cells probably is."""
    if row.startswith(_COMMENT):
        return "; a comment: remove the line"
    if len(row.split()) == columns > 1:
        return "; here blanks separate cells, in the header something else"
    if mark == "," and row.count(b",") >= columns and not row.endswith(b","):
        return "; a comma within a cell? numbers have a point (12.5), and a text with a comma is quoted"
    return ""


def _check_quotes(octets: np.ndarray[tuple[int], np.dtype[np.uint8]], quotes: Int64, ends: Int64, mark: str, first: int, name: str) -> None:
    """Raise where quotes do not enclose a whole cell, or a quoted cell goes on in the next line. Within quotes a quote is written twice."""
    before = np.where(quotes > 0, octets[quotes - 1], _LINE_FEED)
    after = octets[quotes + 1]
    opening = np.arange(quotes.size) % 2 == 0
    starts = np.isin(before, (ord(mark), _LINE_FEED, _QUOTE))
    stops = np.isin(after, (ord(mark), _LINE_FEED, _QUOTE))
    astray = quotes[np.where(opening, ~starts, ~stops)]
    unclosed = ends[np.searchsorted(quotes, ends) % 2 == 1]
    if not astray.size and not unclosed.size:
        return
    at = min([*astray[:1], *unclosed[:1]])
    what = "a quote that does not enclose the whole cell" if astray.size and at == astray[0] else "a quoted cell is not closed in its line"
    raise DataError(what, field=f"{name}:{first + np.searchsorted(ends, at)}")


def _cut_small(body: bytes, columns: int, mark: str) -> Iterable[Cells]:
    rows = [row for row in csv.reader(io.StringIO(body.decode(), newline=""), delimiter=mark, strict=True) if row]
    return map(Cells.of, zip(*rows, strict=True)) if rows else [Cells.of(()) for _ in range(columns)]


def _cut(body: bytes, columns: int, mark: str) -> Iterable[Cells]:
    import pandas as pd

    frame = pd.read_csv(
        io.BytesIO(body), sep=mark, header=None, names=list(range(columns)), dtype=object, na_filter=False, low_memory=False
    )
    for column in frame:
        codes, texts = pd.factorize(frame[column].to_numpy())
        yield Cells(codes.astype(np.int32), texts.tolist())


def _with_points(cells: Cells, column: str, lines: Int64, name: str, decimal: bool) -> Cells:
    """The column with decimal points instead of commas.

    Raises where a point may separate thousands: in a column that also has decimal commas, in counts, and in values if any column of the
    file has a decimal comma (``decimal``).
    """
    commas = [bool(DECIMAL_COMMA.fullmatch(text.strip())) for text in cells.texts]
    if not any(commas) and not (decimal and _may_be_value(column)) and canonical(column) not in LAYOUT:
        return cells
    doubtful = next((code for code, text in enumerate(cells.texts) if _THOUSANDS.fullmatch(text.strip())), None)
    if doubtful is not None:
        line, text = lines[np.flatnonzero(cells.codes == doubtful)[0]], cells.texts[doubtful].strip()
        message = f"column {column!r}: {text!a} where commas are decimal: write thousands without a point, and other numbers with a comma"
        raise DataError(message, field=f"{name}:{line}")
    return Cells(cells.codes, [text.replace(",", ".") if comma else text for text, comma in zip(cells.texts, commas, strict=True)])


def _may_be_value(column: str) -> bool:
    """Whether a column holds the values, or becomes ``value`` when it is renamed."""
    return canonical(column) == "value" or not is_known(canonical(column))


def _points_noted(found: Mapping[str, Cells], name: str) -> Iterator[str]:
    """A note for each column of values all of whose points may separate thousands, in a table without decimal commas."""
    for column in filter(_may_be_value, found):
        pointed = [text.strip() for text in found[column].texts if "." in text]
        if pointed and all(map(_THOUSANDS.fullmatch, pointed)):
            read = pointed[0].replace(".", "")
            yield f"{name}: column {column!r}: the point in {pointed[0]} is decimal; if it is not, write {read}"


def _unguarded(cells: Cells) -> Cells:
    """Without the apostrophe that :func:`write_csv` puts before text that a spreadsheet would run as a formula."""
    return Cells(cells.codes, [text[1:] if _GUARDED.match(text) else text for text in cells.texts])


def write_csv(rows: Iterable[Mapping[str, str]], stream: TextIO, columns: Sequence[str] | None = None) -> int:
    """Write rows with equal keys as CSV; the header is ``columns``, or the first row's keys. Returns the number of rows.

    A cell that a spreadsheet would run as a formula gets a leading apostrophe, which reading removes.
    """
    writer = csv.writer(stream, lineterminator="\n")
    if columns is not None:
        writer.writerow(columns)
    written = 0
    for row in rows:
        if columns is None:
            columns = tuple(row)
            writer.writerow(columns)
        writer.writerow([_guarded(row[column]) for column in columns])
        written += 1
    return written


def _guarded(text: str) -> str:
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text
