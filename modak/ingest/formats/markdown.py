"""The table of a page in Markdown: a header, a rule (``|---|---|``) and rows with ``|`` between the cells.

The text around the table is left out. A page with several tables is refused, because what tells them apart, mostly the titles above
them, is in no column.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from modak.errors import DataError, Fault
from modak.ingest.formats import documents
from modak.ingest.formats.csv import counts_rows
from modak.ingest.sources import Source
from modak.ingest.table import MOST_COLUMNS, MOST_FAULTS, Cells, Raw
from modak.text.amounts import join_names

_RULE: Final = re.compile(r"\|?:?-+:?(\|:?-+:?)*\|?")
"""The line below the names, without blanks."""
_MARK: Final = re.compile(r"(?<!\\)\|")
_BREAK: Final = re.compile(r"<br\s*/?>", re.IGNORECASE)
_LINK: Final = re.compile(r"\[([^\[\]]*)\](\([^()]*\)|\[[^\[\]]*\])")
_ESCAPED: Final = re.compile(r"\\([|_*`\[\]\\])")
_EMPHASIS: Final = ("**", "__", "`", "*")
"""What encloses a cell that is printed in another way; one underscore may belong to a name."""
_SHOWN: Final = 8


class Markdown:
    """A page in Markdown with one table."""

    name = "markdown"

    def recognises(self, head: bytes, name: str) -> bool:
        """By the rule of a table, below as many names; a page is also known by its ending."""
        return name.lower().endswith(".md") or bool(_headers([line.rstrip("\r") for line in head.decode(errors="replace").split("\n")]))

    def read(self, source: Source) -> Iterator[Raw]:
        """All rows as one part."""
        numbered, _ = documents.lines(source)
        lines = [line for _, line in numbered]
        headers = _headers(lines)
        if not headers:
            raise DataError("no table: names between '|', and below them a rule (|---|---|)")
        if len(headers) > 1:
            places = join_names([str(place + 1) for place in headers], _SHOWN)
            raise DataError(f"{len(headers)} tables, in lines {places}: write the one to load into a file of its own")
        first = headers[0]
        last = next((place for place in range(first + 2, len(lines)) if "|" not in lines[place]), len(lines))
        around = any(line.strip() for line in (*lines[:first], *lines[last:]))
        rows = _rows(_names(lines[first], first + 1), lines[first + 2 : last], first + 3)
        columns = {name: cells for name, cells in rows.columns.items() if name}
        notes = [": the text around the table; left out"] if around else []
        if len(columns) < len(rows.columns):
            if not counts_rows(rows.columns[""], first=True):
                raise DataError("column 1 has no name; leave it out (of pandas' to_markdown with index=False)", field=f":{first + 1}")
            notes.append(": the first column has no name and counts the rows: left out")
        yield Raw(columns, rows.lines, tuple(notes), dict.fromkeys(columns, first + 1))


def _headers(lines: Sequence[str]) -> list[int]:
    """The lines with the names of the columns of each table, from 0."""
    return [
        place - 1 for place in range(1, len(lines)) if _is_rule(lines[place]) and len(_cells(lines[place])) == len(_cells(lines[place - 1]))
    ]


def _is_rule(line: str) -> bool:
    return "|" in line and _RULE.fullmatch(line.replace(" ", "").replace("\t", "")) is not None


def _cells(line: str) -> list[str]:
    """The cells of a line, as they are read."""
    inner = line.strip()
    inner = inner.removeprefix("|")
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    return [_plain(cell) for cell in _MARK.split(inner)]


def _plain(cell: str) -> str:
    """A cell without its marks of Markdown.

    >>> [_plain(cell) for cell in ("**12.5**", " `v2.1` ", "Wall<br>time", "[a](https://b.example)", "a_b")]
    ['12.5', 'v2.1', 'Wall time', 'a', 'a_b']
    """
    text = _LINK.sub(r"\1", _BREAK.sub(" ", cell)).strip()
    for mark in _EMPHASIS:
        if len(text) > 2 * len(mark) and text.startswith(mark) and text.endswith(mark):
            text = text[len(mark) : -len(mark)].strip()
    return _ESCAPED.sub(r"\1", text)


def _names(header: str, line: int) -> list[str]:
    """The columns. Raises for more than a file has, for one without a name other than the first, and for two of one name."""
    names = _cells(header)
    if len(names) > MOST_COLUMNS:
        raise DataError(f"{len(names)} columns; at most {MOST_COLUMNS}", field=f":{line}")
    faults = [f"column {number} has no name" for number, name in enumerate(names, 1) if not name and number > 1]
    faults += [f"two columns are called {name!r}" for number, name in enumerate(names) if name and name in names[:number]]
    DataError.raise_for(Fault(f":{line}", fault) for fault in faults[:MOST_FAULTS])
    return names


def _rows(names: Sequence[str], body: Sequence[str], line: int) -> Raw:
    """The rows, of which the first is in this line. Raises for one with another number of cells."""
    rows = [_cells(row) for row in body]
    faults = [
        Fault(f":{line + place}", f"{len(row)} cells; the header has {len(names)} columns")
        for place, row in enumerate(rows)
        if len(row) != len(names)
    ]
    DataError.raise_for(faults[:MOST_FAULTS])
    columns = {name: Cells.of(row[place] for row in rows) for place, name in enumerate(names)}
    return Raw(columns, np.arange(line, line + len(rows)))
