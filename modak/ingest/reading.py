"""From paths to tables: find the files, recognise their formats, rename and fill columns, check the cells."""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np

from modak import plugins
from modak.errors import DataError, Fault, unknown
from modak.ingest import Format, checking, values, wide
from modak.ingest.columns import AGAIN, canonical, header_faults, is_known
from modak.ingest.headings import folded, no_measurement, unit_in
from modak.ingest.programs import table_of
from modak.ingest.sources import Source, files, from_path, from_stream
from modak.ingest.table import MOST_FAULTS, PLAIN, Batch, Cells, Options, Point, Raw, Table, first_faults
from modak.ingest.values import NUMERIC, quoted
from modak.results.metrics import known_unit
from modak.text.amounts import listed

REQUIRED: Final = ("application", "metric", "value")
ASKED: Final = ("application", "metric")
EVERY: Final = "*"
"""In ``rename``: all columns that are not known and have no name of their own there."""
_WEAK, _STRONG = re.compile(r"(^|[^a-z])weak(?=scal|[^a-z]|$)", re.IGNORECASE), re.compile(r"strong", re.IGNORECASE)
_WEAK_HEADING = re.compile(r"(^|[^a-z])weak.{0,10}(scal|eff|speed)", re.IGNORECASE)
"""Other headings are of other things: ``weak_labels``."""
PAGE: Final = ".md"
"""How pages in Markdown end."""
OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""How files of old office programs begin."""
BINARY: Final = (b"PAR1", b"ARROW1", b"\x89HDF", b"SQLite format 3", b"\x93NUMPY")
"""How Parquet, Arrow, HDF5, SQLite and NumPy files begin."""
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
        why = {True: "a page in Markdown, skipped; its table is loaded if the page is named", False: "of no known format, skipped"}
        return tuple(f"{name}: {why[name.lower().endswith(PAGE)]}" for name in self.skipped)


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
        raise DataError(_not_recognised(formats, b"-"), field=skipped[0])
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
    _check_options(options, formats)
    try:
        chosen = _format(source, options, formats)
    except DataError as error:
        return Table(source, "", options, partial(_unread, error.faults))
    return Table(source, chosen.name, options, lambda: _batches(source, chosen, options))


def _unread(faults: Sequence[Fault]) -> Iterator[Batch]:
    raise DataError(faults=faults)


def points(source: Source, most: int, options: Options = PLAIN) -> tuple[Point, ...]:
    """The rows of a table whose values are to be predicted. Raises as reading a table does, and for more than ``most`` rows."""
    formats = _installed()
    _check_options(options, formats)
    chosen = _format(source, options, formats, loading=False)
    found: list[Point] = []
    now = datetime.now(UTC)
    for raw in _parts(chosen, source):
        _check_size(len(found) + len(raw.lines), len(raw.columns), most, source.name)
        found += checking.points(_prepared(raw, source.name, options, loading=False), raw, source.name, now)
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


def _format(source: Source, options: Options, formats: Sequence[Format], *, loading: bool = True) -> Format:
    if source.head().startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise DataError("text in UTF-16 (spreadsheets call it Unicode text); save it as CSV in UTF-8", field=source.name)
    if options.format is None:
        chosen = _recognised(source, formats)
        if chosen is None:
            raise DataError(_not_recognised(formats, source.head(), loading=loading), field=source.name)
        return chosen
    return next(each for each in formats if each.name == options.format)


def _recognised(source: Source, formats: Sequence[Format]) -> Format | None:
    """The first that recognises it; no general one, if a program is known whose output it is."""
    head = source.head()
    found = next((each for each in formats if each.recognises(head, source.name.removesuffix(".gz"))), None)
    return None if found is not None and found.name in GENERAL and table_of(head) else found


def _not_recognised(formats: Sequence[Format], head: bytes, *, loading: bool = True) -> str:
    """What a file looks like that no format recognises, and what to do about it."""
    if why := _no_text(head):
        return why
    if not head.strip():
        return "the file is empty"
    if b"\\begin{tab" in head or b"\\begin{longtab" in head:
        return "a table in LaTeX; write its cells as CSV, with commas between them and names in the first line"
    if way := table_of(head):
        return way
    if re.match(rb'\s*\{\s*"job"\s*:\s*\{', head):
        return "a request or its answer, which say what to run; load what the job has written, modak-result-….json"
    if mark := _separator(head.decode(errors="replace")):
        return f"its cells are separated by {mark}; separate them by commas, semicolons or tabs"
    if _rows_of_numbers(head.decode(errors="replace")):
        return (
            "rows of numbers without names; the first line has to name the columns; commas, semicolons or tabs separate them, and the cells"
        )
    own = (
        "records of your own are a list: [{…}, …]"
        if head.lstrip()[:1] == b"{"
        else "write what a program printed into a table, as CSV: application,nodes,metric,value,unit"
    )
    hint = f"; {own}" if loading else ""
    return f"of no known format (known: {', '.join(sorted(each.name for each in formats))}){hint}"


def _no_text(head: bytes) -> str | None:
    """What a file is that begins as one of another program; ``None``: it may be text."""
    if b"[Content_Types].xml" in head[:100] or b"opendocument.spreadsheet" in head[:100]:
        return "a spreadsheet in its program's own format; save it there as CSV in UTF-8, with commas between cells and points in numbers"
    if head.startswith(OLE):
        return "a spreadsheet or document in its program's old format (.xls); save it there as CSV in UTF-8, with commas between cells"
    if head.startswith(BINARY):
        return "a table in a binary format; write it as CSV (pandas: to_csv(index=False))"
    if head[:4] in (b"PK\x03\x04", b"\x28\xb5\x2f\xfd") or head[:3] == b"BZh" or head[:6] == b"\xfd7zXZ\x00":
        return "a compressed file of a kind that is not read (gzip is); unpack it first"
    return None


def _separator(head: str) -> str | None:
    """What separates the cells of a table that no format recognises; ``None``: it does not look like one. The line below the names has as
    many cells, at least half of them numbers; or one more in front, the quoted name of the row, as R writes it."""
    first, _, rest = head.partition("\n")
    names, below = first.lstrip("#").strip(), rest.partition("\n")[0].strip()
    for mark, what in (("|", "'|'"), (None, "blanks")):
        named, cells = names.split(mark), below.split(mark)
        known = len({*REQUIRED} & {name.strip(' "').lower() for name in named}) > 1
        numbers = sum(NUMERIC.fullmatch(cell.strip()) is not None for cell in cells)
        alike = len(cells) - len(named) in (0, int(below.startswith('"'))) and 2 * numbers >= len(named)
        if len(named) > 1 and (known or (alike and not any(map(NUMERIC.fullmatch, named)))):
            return what
    return None


def _rows_of_numbers(head: str) -> bool:
    """Whether the first two lines that are no comments are as many numbers each, and more than one."""
    rows = [line.split() for line in head.split("\n") if line.strip() and not line.lstrip().startswith("#")][:2]
    return len(rows) == 2 and len(rows[0]) == len(rows[1]) > 1 and all(NUMERIC.fullmatch(cell) for row in rows for cell in row)


def _check_options(options: Options, formats: Sequence[Format]) -> None:
    if options.wide is not None:
        wide.check(options.wide)
    names = [each.name for each in formats]
    if options.format is not None and options.format not in names:
        raise DataError(unknown("format", options.format, names), field="format")
    faults = [Fault("--set", message) for _, message in header_faults(tuple(options.fill), (), loading=False)]
    for name in filter(is_known, options.fill):
        try:
            values.reader(name, datetime.now(UTC))(options.fill[name].strip())
        except ValueError as error:
            faults.append(Fault("--set", f"column {name!r}: {options.fill[name]!a}: {error}"))
    if faults:
        raise DataError(faults=faults)


def _batches(source: Source, chosen: Format, options: Options) -> Iterator[Batch]:
    """Checked parts. After the first fault the rest is only checked, until there are :data:`MOST_FAULTS`. What is noticed of the whole file
    comes last, in a part without rows."""
    faults: list[Fault] = []
    noticed = _Noticed(source.name, options)
    now = datetime.now(UTC)
    parts = _parts(chosen, source)
    while len(faults) < MOST_FAULTS:
        try:
            raw = next(parts, None)
            if raw is None:
                break
            if options.wide and raw.columns:
                raw = wide.rows_of(raw, options.wide, options.rename, source.name)
            batch = checking.batch(_prepared(raw, source.name, options, loading=True), source.name, now)
            noticed.part(raw, batch)
        except DataError as error:
            faults += error.faults
            continue
        if not faults and (len(batch) or batch.notes):
            yield batch
    if faults:
        raise DataError(faults=first_faults(faults))
    if not noticed.rows and not noticed.notes:
        raise DataError("no row has a value" if noticed.without else "no rows of results", field=source.name)
    if noticed.rows and (told := tuple(f"{source.name}: {remark}" for remark in noticed.remarks())):
        yield checking.batch(Raw({}, np.zeros(0, np.int64), told), source.name, now)


class _Noticed:
    """What is noticed of a file while its parts are read."""

    def __init__(self, name: str, options: Options) -> None:
        self._name, self._options = name, options
        self.rows = self.without = self.notes = 0
        """Rows with and without a value, and notes of the format."""
        self._unfilled = set(options.fill)
        """Columns of options that filled no cell so far."""
        self._of_columns: tuple[str, ...] = ()
        self._weak = ""

    def part(self, raw: Raw, batch: Batch) -> None:
        """Notice what a part, and its rows that have a value, tell."""
        self.rows += len(batch)
        self.notes += len(raw.notes)
        self.without += len(raw.lines) - len(batch)
        if raw.columns and (self._unfilled or self._options.rename):
            columns = _renamed(raw, self._name, self._options)
            told = (_unit_left_behind(columns, self._options), _no_measurement(self._options), _left_out(raw, self._options))
            self._of_columns = tuple(chain(*told))
            self._unfilled = {name for name in self._unfilled if name in columns and all(map(str.strip, columns[name].texts))}
        if len(batch) and not self._weak:
            self._weak = _weak(self._name, raw, self._options, batch)

    def remarks(self) -> Iterator[str]:
        """What should be known of the file."""
        yield from self._of_columns
        yield from (f"--set {column}=… fills nothing: no cell of the column is empty" for column in sorted(self._unfilled))
        if self._weak:
            yield self._weak


def _unit_left_behind(columns: Container[str], options: Options) -> Iterator[str]:
    """A note for a heading that seems to name a unit and becomes ``value``, where nothing else gives one."""
    if "unit" in columns or "unit" in options.fill:
        return
    for old, new in options.rename.items():
        unit = unit_in(old) if new == "value" else None
        known = known_unit(unit) if unit else None
        if unit and not (known and known.factor == 1):
            way = f"if {quoted(unit)} is its unit, give it ('--set unit=…', and '--replace' for rows that are stored)"
            yield f"column {quoted(old)} is loaded without a unit, so it counts in the base unit of its metric (times in s): {way}"


def _no_measurement(options: Options) -> Iterator[str]:
    """A note for a heading of a ratio, or of a rate of one part of the machine, that becomes ``value`` of another metric."""
    for old in (old for old, new in options.rename.items() if new == "value"):
        why = no_measurement(old)
        if why and options.fill.get("metric") not in ("speedup", "efficiency"):
            way = "load what the whole run was measured at, and take these rows out ('modak results doubt')"
            yield f"column {quoted(old)} is {why}, but counts as {options.fill.get('metric', 'the metric')} of the run: {way}"


def _left_out(raw: Raw, options: Options) -> Iterator[str]:
    """A note on the columns that ``*`` leaves out."""
    if _leaves_out(raw, options):
        named = {folded(old) for old in options.rename}
        dropped = [quoted(name) for name in raw.columns if folded(name) not in named and not is_known(canonical(name))]
        yield f"left out: {listed(dropped, MOST_FAULTS)}" if dropped else "--map '*=' leaves nothing out: every column is known"


def _weak(name: str, raw: Raw, options: Options, batch: Batch) -> str:
    """A note for times that something calls those of weak scaling, and ``params.scaling`` does not: they count as those of one problem on
    more and more nodes."""
    times = any(key.unit == "s" and "scaling" not in key.params for key in batch.series)
    alone = [cells.texts[0] for cells in raw.columns.values() if len(cells.texts) == 1]
    headings = [heading for heading in raw.columns if _WEAK_HEADING.search(heading)]
    named = next((text for text in (Path(name).name, *headings, *alone) if _WEAK.search(text) and not _STRONG.search(text)), None)
    if not times or named is None:
        return ""
    way = f"{AGAIN} '--set params.scaling=weak'"
    return f"{quoted(named)} mentions weak scaling, but the times count as those of one problem; if it grows with the nodes or ranks, {way}"


def _prepared(raw: Raw, name: str, options: Options, *, loading: bool) -> Raw:
    """The part with its columns renamed and its empty cells filled; ``loading``: ``value`` is required. Raises for wrong columns."""
    if not raw.columns and not len(raw.lines):
        return raw  # there was nothing, or everything was left out
    columns = _renamed(raw, name, options)
    about = tuple(f"{name}: {note}" for column, note in raw.about.items() if columns.get(column) is raw.columns[column])
    wanted = [column for column in (REQUIRED if loading else ASKED) if column not in options.fill]
    faults = [
        Fault(f"{name}:{raw.named.get(column, 1)}", message) for column, message in header_faults(tuple(columns), wanted, loading=loading)
    ]
    if faults:
        raise DataError(faults=faults)
    for column, text in options.fill.items():
        columns[column] = _filled(columns[column], text) if column in columns else Cells.constant(text, len(raw.lines))
    return Raw(columns, raw.lines, (*raw.notes, *about))


def _renamed(raw: Raw, name: str, options: Options) -> dict[str, Cells]:
    """The columns by the names that they are loaded as, without those that are left out."""
    renamed = _new_names(raw, options)
    only_known = _leaves_out(raw, options)
    columns: dict[str, Cells] = {}
    for old, cells in raw.columns.items():
        new = renamed[old] if old in renamed else canonical(old)
        if only_known and old not in renamed and not is_known(new):
            continue
        if new in columns:
            raise DataError(f"two columns are called {new!r}", field=f"{name}:1")
        if new:
            columns[new] = cells
    return columns


def _leaves_out(raw: Raw, options: Options) -> bool:
    """Whether ``*`` is asked for, and is no column's own name."""
    return EVERY in options.rename and EVERY not in raw.columns


def _new_names(raw: Raw, options: Options) -> dict[str, str]:
    """What the options call the columns that they name, by the names in the file."""
    rename = dict(options.rename)
    if _leaves_out(raw, options) and (given := rename.pop(EVERY)):
        raise DataError("leaves out the columns that are not known, and gives them no name", field=f"--map {EVERY}={given}")
    found: dict[str, str] = {}
    for old, new in rename.items():
        meant = [each for each in raw.columns if each == old] or [each for each in raw.columns if folded(each) == folded(old)]
        if not meant:
            raise DataError(unknown("column", old, raw.columns), field=f"--map {old}={new}")
        if twice := found.keys() & {*meant}:
            raise DataError(f"column {quoted(min(twice))} is renamed already by another --map", field=f"--map {old}={new}")
        found.update(dict.fromkeys(meant, new))
    return found


def _filled(cells: Cells, text: str) -> Cells:
    return Cells(cells.codes, [each if each.strip() else text for each in cells.texts])


def parse_pairs(pairs: Iterable[str], option: str) -> dict[str, str]:
    """``old=new`` texts of ``map``, and ``column=text`` texts of ``set`` and ``where``, whose columns are written as headings of files are.

    Raises :class:`modak.errors.DataError` for one without ``=``, and for two of one name.
    """
    renaming = option.endswith("map")
    found: dict[str, str] = {}
    for pair in pairs:
        name, sign, value = pair.rpartition("=") if renaming else pair.partition("=")  # a heading may hold the sign, a column does not
        if not sign:
            raise DataError(f"{pair[:100]!r} is not a pair; allowed: NAME=VALUE", field=option)
        if not name:
            how = "; a column without a name is left out of the file itself (in pandas: to_csv(index=False))" if renaming else ""
            raise DataError(f"'={value}' has no name before its sign; allowed: NAME=VALUE{how}", field=option)
        column = name if renaming else canonical(name)
        if column in found:
            raise DataError(f"{quoted(column)} is given twice; allowed: each column once", field=option)
        found[column] = value
    return found


def options_of(rename: Mapping[str, str], fill: Mapping[str, str], form: str | None = None, wide: str | None = None) -> Options:
    """The options of a user, who may write columns as headings of files do."""
    return Options({old: canonical(new) for old, new in rename.items()}, fill, form, None if wide is None else canonical(wide))


def options_text(options: Options) -> str:
    """The options that decide how a file's rows are read, as one line, so that the options of two loads can be compared."""
    return json.dumps(options.as_dict(), sort_keys=True)
