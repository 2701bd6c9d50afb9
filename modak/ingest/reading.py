"""From paths to tables: find the files, recognise their formats, read and check them part by part."""

from __future__ import annotations

from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np

from modak import plugins
from modak.errors import DataError, Fault
from modak.ingest import Format, checking, wide
from modak.ingest.filenotes import FileNotes
from modak.ingest.options import check, prepared, renamed_columns, sizes_apart
from modak.ingest.sources import Source, files, from_path, from_stream
from modak.ingest.table import MOST_FAULTS, PLAIN, Batch, Options, Point, Raw, Table, first_faults
from modak.ingest.unread import table_of, why_unread

PAGE: Final = ".md"
"""How pages in Markdown end."""
GENERAL: Final = ("json", "csv")
"""Formats that recognise almost any text."""
CELLS_A_POINT: Final = 100
"""Average number of cells that a row to predict may have, if there are as many rows as allowed."""


@dataclass(frozen=True)
class Incoming:
    """The files of a ``load``: tables, and the names of files in folders that no format recognises."""

    tables: tuple[Table, ...]
    skipped: tuple[str, ...] = ()
    options: Options = PLAIN
    """How all of them are read."""

    @property
    def notes(self) -> tuple[str, ...]:
        """A note for each skipped file."""
        page, other = "a page in Markdown, skipped; its table is loaded if the page is named", "of no known format, skipped"
        return tuple(f"{name}: {page if name.lower().endswith(PAGE) else other}" for name in self.skipped)


def tables(paths: Iterable[Path], options: Options = PLAIN) -> Incoming:
    """The tables of files and folders. Files of a folder that no format recognises are skipped, and listed; so are its pages in Markdown,
    which mostly tell of the other files.

    Raises :class:`modak.errors.DataError` for a path that cannot be read, and for folders in which nothing is recognised.
    """
    formats = _installed()
    found: list[Table] = []
    skipped: list[str] = []
    for path, inside in files(paths):
        source = from_path(path)
        if inside and options.format is None and (path.name.lower().endswith(PAGE) or _recognised(source, formats) is None):
            skipped.append(source.name)
        else:
            found.append(table(source, options, formats))
    if skipped and not found:
        raise DataError(why_unread(b"-", _names(formats)), field=skipped[0])  # what is said of any text
    return Incoming(tuple(found), tuple(skipped), options)


def incoming(paths: Sequence[str], options: Options, stdin: BinaryIO) -> Incoming:
    """The tables of a command line's paths: files, folders, and ``-`` for standard input. Raises as :func:`tables` does."""
    named = [Path(path) for path in paths if path != "-"]
    found = tables(named, options) if named else Incoming(())
    piped = (table(from_stream(stdin), options),) if "-" in paths else ()
    return Incoming((*found.tables, *piped), found.skipped, options)


def table(source: Source, options: Options = PLAIN, formats: Sequence[Format] | None = None) -> Table:
    """One source as a table. Its rows are read and checked when its ``batches`` are read. Also a file of no known format (``format`` is
    then empty) is told only there, so that it is listed with the faults of other files."""
    formats = _installed() if formats is None else formats
    check(options, _names(formats))
    try:
        chosen = _format(source, options, formats)
    except DataError as error:
        return Table(source, "", options, partial(_unread, error.faults))
    return Table(source, chosen.name, options, lambda: _batches(source, chosen, options))


def _unread(faults: Sequence[Fault]) -> Iterator[Batch]:
    raise DataError(faults=faults)


def points(source: Source, most: int) -> tuple[Point, ...]:
    """The rows of a table whose values are to be predicted. Raises as reading a table does, and for more than ``most`` rows."""
    chosen = _format(source, PLAIN, _installed(), loading=False)
    found: list[Point] = []
    now = datetime.now(UTC)
    for raw in _parts(chosen, source):
        _check_size(len(found) + len(raw.lines), len(raw.columns), most, source.name)
        found += checking.points(prepared(raw, source.name, PLAIN, loading=False), raw, source.name, now)
    return tuple(found)


def _parts(chosen: Format, source: Source) -> Iterator[Raw]:
    """The parts of a source. Its name is put before faults without a place, and before faults and notes whose place is a line (``:7``)."""
    try:
        for raw in chosen.read(source):
            yield replace(raw, notes=tuple(f"{source.name}{note}" if note.startswith(":") else note for note in raw.notes))
    except DataError as error:
        faults = [Fault(f"{source.name}{one.field}", one.message) if one.field[:1] in ("", ":") else one for one in error.faults]
        raise DataError(faults=faults) from None


def _check_size(rows: int, columns: int, most: int, name: str) -> None:
    if rows > most:
        raise DataError(f"{rows} rows; at most {most} are predicted at once (MODAK_MAX_POINTS)", field=name)
    if rows * columns > CELLS_A_POINT * most:
        raise DataError(f"{rows} rows of {columns} columns; at most {CELLS_A_POINT * most} cells are answered at once", field=name)


def _installed() -> Sequence[Format]:
    """Built-in formats and those of plug-ins. The general ones come last."""
    return sorted(plugins.all_of("ingest"), key=lambda each: each.name in GENERAL)


def _names(formats: Sequence[Format]) -> list[str]:
    return [each.name for each in formats]


def _format(source: Source, options: Options, formats: Sequence[Format], *, loading: bool = True) -> Format:
    if source.head().startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise DataError("text in UTF-16 (spreadsheets call it Unicode text); save it as CSV in UTF-8", field=source.name)
    if options.format is None:
        chosen = _recognised(source, formats)
        if chosen is None:
            raise DataError(why_unread(source.head(), _names(formats), loading=loading), field=source.name)
        return chosen
    return next(each for each in formats if each.name == options.format)


def _recognised(source: Source, formats: Sequence[Format]) -> Format | None:
    """The first that recognises it; no general one, if a program is known whose output it is."""
    head = source.head()
    found = next((each for each in formats if each.recognises(head, source.name.removesuffix(".gz"))), None)
    return None if found is not None and found.name in GENERAL and table_of(head) else found


def _batches(source: Source, chosen: Format, options: Options) -> Iterator[Batch]:
    """Checked parts. After the first fault the rest is only checked, until there are :data:`MOST_FAULTS`. What is noticed of the whole file
    comes last, in a part without rows."""
    faults: list[Fault] = []
    options, headings = sizes_apart(options)
    of_file = FileNotes(source.name, options)
    now = datetime.now(UTC)
    parts = _parts(chosen, source)
    while len(faults) < MOST_FAULTS:
        try:
            raw = next(parts, None)
            if raw is None:
                break
            if options.wide and raw.columns:
                called = replace(raw, columns=renamed_columns(raw, source.name, headings)) if headings.rename else raw
                raw = wide.rows_of(called, options.wide, options.rename, source.name)
            batch = checking.batch(prepared(raw, source.name, options, loading=True), source.name, now)
            of_file.part(raw, batch)
        except DataError as error:
            faults += error.faults
            continue
        if not faults and (len(batch) or batch.notes):
            yield batch
    DataError.raise_for(first_faults(faults))
    if not of_file.rows and not of_file.notes:
        raise DataError("no row has a value" if of_file.without else "no rows of results", field=source.name)
    if of_file.rows and (told := tuple(f"{source.name}: {remark}" for remark in of_file.remarks())):
        yield checking.batch(Raw({}, np.zeros(0, np.int64), told), source.name, now)
