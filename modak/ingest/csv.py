"""CSV with a header in the first line: UTF-8, commas, quotes where a cell holds a comma. In and out.

Structure is checked on the bytes, all lines of a block at once, before anything is cut into cells: a row that is too short
or a quote that is never closed must not shift the cells of others. No type is guessed: ``NA`` and ``007`` stay text.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Final, TextIO

import numpy as np

from modak.errors import DataError, Fault
from modak.ingest.sources import Source
from modak.ingest.table import MOST_COLUMNS, Cells, Int64, Raw

BLOCK: Final = 16 * 2**20
LONGEST_LINE: Final = 100_000
MOST_FAULTS: Final = 20
SMALL: Final = 2**20
"""Below this many bytes the standard library cuts faster than pandas can be imported."""

_COMMA, _QUOTE, _LINE_FEED = b',"\n'
_GUARDED: Final = re.compile(r"'+[=+\-@]")
_FORMULA: Final = re.compile(r"'*[=+\-@]")
_NUMBER: Final = re.compile(r"[+-]?[0-9.]+([eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class Csv:
    """Comma-separated values."""

    name: str = "csv"

    def recognises(self, head: bytes, name: str) -> bool:
        """By the ending of its name, or by a comma in the first line of a text."""
        return name.lower().endswith(".csv") or (b"\0" not in head and head[:1] not in b"[{" and b"," in head.partition(b"\n")[0])

    def read(self, source: Source) -> Iterator[Raw]:
        """Blocks of rows."""
        with source.open() as stream:
            blocks = _blocks(stream, source.name)
            first = next(blocks, b"").removeprefix(b"\xef\xbb\xbf")
            head, _, body = _clean(first, 1, source.name).partition(b"\n")
            names = _header(head.decode(), source.name)
            line = 2
            yield _raw(body, names, line, source.name)
            line += body.count(b"\n")
            for block in blocks:
                body = _clean(block, line, source.name)
                yield _raw(body, names, line, source.name)
                line += body.count(b"\n")


def _blocks(stream: BinaryIO, name: str) -> Iterator[bytes]:
    """The stream in blocks of whole lines; a last line without its line break gets one."""
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
    """The block with line feeds alone, after a look at its encoding."""
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n")
    for octet, what in _REFUSED:
        if octet in block:
            raise DataError(what, field=_place(block, block.index(octet), line, name))
    try:
        if not block.isascii():
            block.decode()
    except UnicodeDecodeError as wrong:
        message = f"byte 0x{block[wrong.start]:02x} is no UTF-8; save the file as UTF-8"
        raise DataError(message, field=_place(block, wrong.start, line, name)) from None
    return block


_REFUSED: Final = (
    (b"\0", "a NUL byte: this is no text in UTF-8"),
    (b"\r", "a carriage return without a line feed; lines end with LF or CR LF"),
)


def _place(block: bytes, position: int, line: int, name: str) -> str:
    return f"{name}:{line + block.count(_LINE_FEED, 0, position)}"


def _header(text: str, name: str) -> list[str]:
    if not text.strip():
        raise DataError("no header: the file is empty, or its first line is", field=f"{name}:1")
    if len(text) > LONGEST_LINE:
        raise DataError(f"the header is longer than {LONGEST_LINE} characters", field=f"{name}:1")
    _lines(text.encode() + b"\n", None, 1, name)
    names = next(csv.reader([text], strict=True))
    if len(names) > MOST_COLUMNS:
        raise DataError(f"{len(names)} columns; at most {MOST_COLUMNS}", field=f"{name}:1")
    if len(names) == 1:
        mark = next((mark for mark in ";\t|" if mark in text), None)
        raise DataError(f"cells are separated by commas, not by {mark!r}" if mark else "the header has one column only", field=f"{name}:1")
    faults = [
        Fault(f"{name}:1", f"column {number} has no name" if not each else f"two columns are called {each!r}")
        for number, each in enumerate(names, 1)
        if not each or each in names[: number - 1]
    ]
    if faults:
        raise DataError(faults=faults[:MOST_FAULTS])
    return names


def _raw(body: bytes, names: Sequence[str], line: int, name: str) -> Raw:
    lines = _lines(body, len(names), line, name)
    columns = _cut_small(body, len(names)) if len(body) < SMALL else _cut(body, len(names))
    return Raw(dict(zip(names, map(_unguarded, columns), strict=True)), lines)


def _lines(body: bytes, columns: int | None, first: int, name: str) -> Int64:
    """The numbers of the lines that hold a row. Raises where a line has not as many cells as the header, or a quote is astray.

    A comma is a separator, and a line feed the end of a row, where the number of quotes before it is even.
    """
    octets = np.frombuffer(body, dtype=np.uint8)
    ends = np.flatnonzero(octets == _LINE_FEED)
    commas = np.flatnonzero(octets == _COMMA)
    quotes = np.flatnonzero(octets == _QUOTE)
    numbers = first + np.arange(ends.size, dtype=np.int64)
    if quotes.size:
        _check_quotes(octets, quotes, ends, first, name)
        commas = commas[np.searchsorted(quotes, commas) % 2 == 0]
    cells = np.diff(np.searchsorted(commas, ends), prepend=0) + 1
    lengths = np.diff(ends, prepend=-1) - 1
    if lengths.size and lengths.max() > LONGEST_LINE:
        raise DataError(f"a line of more than {LONGEST_LINE} bytes", field=f"{name}:{numbers[lengths.argmax()]}")
    if columns is not None:
        wrong = np.flatnonzero((lengths > 0) & (cells != columns))[:MOST_FAULTS]
        if wrong.size:
            raise DataError(faults=[Fault(f"{name}:{numbers[i]}", f"{cells[i]} cells; the header has {columns} columns") for i in wrong])
    return numbers[lengths > 0]


def _check_quotes(octets: np.ndarray[tuple[int], np.dtype[np.uint8]], quotes: Int64, ends: Int64, first: int, name: str) -> None:
    """Quotes stand around whole cells; within them a quote is written twice, and a line does not break."""
    before = np.where(quotes > 0, octets[quotes - 1], _LINE_FEED)
    after = octets[quotes + 1]
    opening = np.arange(quotes.size) % 2 == 0
    starts = np.isin(before, (_COMMA, _LINE_FEED, _QUOTE))
    stops = np.isin(after, (_COMMA, _LINE_FEED, _QUOTE))
    astray = quotes[np.where(opening, ~starts, ~stops)]
    unclosed = ends[np.searchsorted(quotes, ends) % 2 == 1]
    if not astray.size and not unclosed.size:
        return
    at = min([*astray[:1], *unclosed[:1]])
    what = "a quote that does not enclose the whole cell" if astray.size and at == astray[0] else "a quoted cell is not closed in its line"
    raise DataError(what, field=f"{name}:{first + np.searchsorted(ends, at)}")


def _cut_small(body: bytes, columns: int) -> Iterable[Cells]:
    rows = [row for row in csv.reader(io.StringIO(body.decode(), newline=""), strict=True) if row]
    return map(Cells.of, zip(*rows, strict=True)) if rows else [Cells.of(()) for _ in range(columns)]


def _cut(body: bytes, columns: int) -> Iterable[Cells]:
    import pandas as pd

    frame = pd.read_csv(io.BytesIO(body), header=None, names=list(range(columns)), dtype=object, na_filter=False, low_memory=False)
    for column in frame:
        codes, texts = pd.factorize(frame[column].to_numpy())
        yield Cells(codes.astype(np.int32), texts.tolist())


def _unguarded(cells: Cells) -> Cells:
    """Without the apostrophe that :func:`write_csv` sets before what a spreadsheet would take for a formula."""
    return Cells(cells.codes, [text[1:] if _GUARDED.match(text) else text for text in cells.texts])


def write_csv(rows: Iterable[Mapping[str, str]], stream: TextIO, columns: Sequence[str] | None = None) -> int:
    """Rows with equal keys as CSV; the header are ``columns``, or the first row's keys. Returns the number of rows.

    A cell that a spreadsheet would run as a formula gets an apostrophe before it, which reading takes off again.
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
