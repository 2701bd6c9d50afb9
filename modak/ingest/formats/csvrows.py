"""From the bytes of a file to rows of cells: UTF-8, a mark between cells, quotes where a cell holds the mark.

The structure is checked on the bytes, all lines of a block at once, before they are split into cells: a row that is too short
or a quote that is never closed must not shift the cells of other rows.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from typing import BinaryIO, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from modak.errors import DataError, Fault
from modak.ingest.table import MOST_FAULTS, Cells, Int64, also

BLOCK: Final = 16 * 2**20
LONGEST_LINE: Final = 100_000
SMALL: Final = 2**20
"""Smaller blocks (bytes) are split by the standard library, which takes less time than importing pandas."""
COMMENT: Final = b"#"
_QUOTE, _LINE_FEED = b'"\n'
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class Rows(NamedTuple):
    """Rows as columns of equal length, and the line of each row."""

    columns: list[Cells]
    lines: Int64


def blocks(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The stream in blocks of whole lines, each with the number of its first line. Line feeds are the only ends of lines.

    Raises :class:`modak.errors.DataError` with the line of what is not UTF-8 text.
    """
    line = 1
    for block in _whole_lines(stream):
        yield line, _clean(block.removeprefix(_BYTE_ORDER_MARK) if line == 1 else block, line)
        line += block.count(_LINE_FEED)


def _whole_lines(stream: BinaryIO) -> Iterator[bytes]:
    """A last line without a line feed gets one."""
    rest = b""
    while chunk := stream.read(BLOCK):
        block = rest + chunk
        end = block.rfind(b"\n") + 1
        if not end and len(block) > LONGEST_LINE:
            raise DataError(f"a line of more than {LONGEST_LINE} bytes; lines end with a line feed")
        if end:
            yield block[:end]
        rest = block[end:]
    if rest:
        yield rest + b"\n"


def _clean(block: bytes, line: int) -> bytes:
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n")
    for octet, what in _REFUSED:
        if octet in block:
            raise DataError(what, field=_place(block, block.index(octet), line))
    try:
        if not block.isascii():
            block.decode()
    except UnicodeDecodeError as error:
        message = f"byte 0x{block[error.start]:02x} is not valid UTF-8; save the file as UTF-8"
        raise DataError(message, field=_place(block, error.start, line)) from None
    return block


_REFUSED: Final = (
    (b"\0", "a NUL byte: the file is not UTF-8 text"),
    (b"\r", "a carriage return without a line feed; lines end with LF or CR LF"),
)


def _place(block: bytes, position: int, line: int) -> str:
    return f":{line + block.count(_LINE_FEED, 0, position)}"


# --- the structure of a block


class _Lines(NamedTuple):
    """The lines of a block, one value for each."""

    numbers: Int64
    ends: Int64
    """Where its line feed is, in bytes."""
    lengths: Int64
    """Without the line feed, in bytes."""
    cells: Int64
    """How many it has."""


def rows(body: bytes, columns: int, mark: str, line: int) -> Rows:
    """The rows of a block that begins with this line; lines without any text are none.

    Raises :class:`modak.errors.DataError` for a row that has not as many cells as there are ``columns``, and as :func:`check_lines` does.
    """
    found = check_lines(body, mark, line)
    filled = found.lengths > 0
    wrong = np.flatnonzero(filled & (found.cells != columns))
    if wrong.size:
        raise DataError(faults=_wrong_counts(body, found, wrong, columns, mark))
    cut = _cut_small if len(body) < SMALL else _cut
    return Rows([*cut(body, columns, mark)], found.numbers[filled])


def check_lines(body: bytes, mark: str, line: int) -> _Lines:
    """Where the lines end, and how many cells each has. Raises for one that is too long, and for a misplaced quote.

    ``mark`` separates cells, and a line feed ends a row, where the number of quotes before it is even.
    """
    octets = np.frombuffer(body, dtype=np.uint8)
    ends = np.flatnonzero(octets == _LINE_FEED)
    marks = np.flatnonzero(octets == ord(mark))
    quotes = np.flatnonzero(octets == _QUOTE)
    numbers = line + np.arange(ends.size, dtype=np.int64)
    if quotes.size:
        _check_quotes(octets, quotes, ends, mark, line)
        marks = marks[np.searchsorted(quotes, marks) % 2 == 0]
    lengths = np.diff(ends, prepend=-1) - 1
    if lengths.size and lengths.max() > LONGEST_LINE:
        raise DataError(f"a line of more than {LONGEST_LINE} bytes", field=f":{numbers[lengths.argmax()]}")
    cells = np.diff(np.searchsorted(marks, ends), prepend=0) + 1
    return _Lines(numbers, ends, lengths, cells)


def _check_quotes(octets: NDArray[np.uint8], quotes: Int64, ends: Int64, mark: str, line: int) -> None:
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
    raise DataError(what, field=f":{line + np.searchsorted(ends, at)}")


def _wrong_counts(body: bytes, lines: _Lines, wrong: Int64, columns: int, mark: str) -> list[Fault]:
    """One fault for each wrong number of cells, at the first line that has it; comments have their own."""
    starts = lines.ends[wrong] - lines.lengths[wrong]
    comments = np.frombuffer(body, dtype=np.uint8)[starts] == ord(COMMENT)
    kind = lines.cells[wrong] * 2 + comments
    faults = []
    for first in np.sort(np.unique(kind, return_index=True)[1])[:MOST_FAULTS]:
        alike = lines.numbers[wrong[kind == kind[first]]]
        row = body[starts[first] : lines.ends[wrong[first]]]
        message = f"{kind[first] // 2} cells; the header has {columns} columns{_odd(row, columns, mark)}{also(alike[1:])}"
        faults.append(Fault(f":{alike[0]}", message))
    return faults


def _odd(row: bytes, columns: int, mark: str) -> str:
    """What a row with another number of cells probably is."""
    if row.startswith(COMMENT):
        return "; a comment: remove the line"
    if len(row.split()) == columns > 1:
        return "; here blanks separate cells, in the header something else"
    if mark == "," and row.count(b",") >= columns and not row.endswith(b","):
        return "; a comma within a cell? numbers have a point (12.5), and a text with a comma is quoted"
    return ""


# --- the cells of a block whose structure is right


def _cut_small(body: bytes, columns: int, mark: str) -> Iterable[Cells]:
    found = [row for row in csv.reader(io.StringIO(body.decode(), newline=""), delimiter=mark, strict=True) if row]
    return map(Cells.of, zip(*found, strict=True)) if found else [Cells.of(()) for _ in range(columns)]


def _cut(body: bytes, columns: int, mark: str) -> Iterable[Cells]:
    import pandas as pd

    frame = pd.read_csv(
        io.BytesIO(body), sep=mark, header=None, names=list(range(columns)), dtype=object, na_filter=False, low_memory=False
    )
    for column in frame:
        codes, texts = pd.factorize(frame[column].to_numpy())
        yield Cells(codes.astype(np.int32), texts.tolist())
