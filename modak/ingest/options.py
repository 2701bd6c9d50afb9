"""What the options of a load do: they rename columns, leave columns out, and fill empty cells."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from shlex import quote
from typing import Final

from modak.errors import DataError, Fault, unknown
from modak.ingest import values, wide
from modak.ingest.columns import REQUIRED, canonical, header_faults, is_known
from modak.ingest.headings import folded
from modak.ingest.hints import renaming
from modak.ingest.table import Cells, Options, Raw
from modak.ingest.values import quoted

ASKED: Final = ("application", "metric")
"""Columns that a table has to have whose values are to be predicted."""
EVERY: Final = "*"
"""In ``rename``: all columns that are not known and have no name of their own there."""


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


def as_typed(options: Options) -> Iterator[str]:
    """The options as they are typed behind ``modak load``, for a shell."""
    if options.format:
        yield f"--format {options.format}"
    yield from (renaming(old, new) for old, new in options.rename.items())
    if options.wide:
        yield f"--wide {options.wide}"
    yield from (f"--set {quote(f'{column}={text}')}" for column, text in options.fill.items())


def check(options: Options, formats: Sequence[str]) -> None:
    """Raise :class:`modak.errors.DataError` for a format that is not among ``formats``, and for columns that are not known or cannot hold
    what fills them."""
    if options.wide is not None:
        wide.check(options.wide)
    if options.format is not None and options.format not in formats:
        raise DataError(unknown("format", options.format, formats), field="format")
    faults = [Fault("--set", message) for _, message in header_faults(tuple(options.fill), (), loading=False)]
    for name in filter(is_known, options.fill):
        try:
            values.reader(name, datetime.now(UTC))(options.fill[name].strip())
        except ValueError as error:
            faults.append(Fault("--set", f"column {name!r}: {options.fill[name]!a}: {error}"))
    DataError.raise_for(faults)


def prepared(raw: Raw, name: str, options: Options, *, loading: bool) -> Raw:
    """The part with its columns renamed and its empty cells filled; ``loading``: ``value`` is required. Raises for wrong columns."""
    if not raw.columns and not len(raw.lines):
        return raw  # there was nothing, or everything was left out
    columns = renamed_columns(raw, name, options)
    about = tuple(f"{name}: {note}" for column, note in raw.about.items() if columns.get(column) is raw.columns[column])
    wanted = [column for column in (REQUIRED if loading else ASKED) if column not in options.fill]
    faults = header_faults(tuple(columns), wanted, loading=loading)
    DataError.raise_for(Fault(f"{name}:{raw.named.get(column, 1)}", message) for column, message in faults)
    for column, text in options.fill.items():
        cells = columns.get(column)
        if cells is None:
            columns[column] = Cells.constant(text, len(raw.lines))
        else:
            columns[column] = Cells(cells.codes, [each if each.strip() else text for each in cells.texts])
    return Raw(columns, raw.lines, (*raw.notes, *about))


def renamed_columns(raw: Raw, name: str, options: Options) -> dict[str, Cells]:
    """The columns by the names that they are loaded as, without those that are left out."""
    renamed = _new_names(raw, options)
    only_known = leaves_out(raw, options)
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


def sizes_apart(options: Options) -> tuple[Options, Options]:
    """The options without the new names in a wide table that are no columns, and these alone: they are read as headings are."""
    sizes = {old: new for old, new in options.rename.items() if options.wide and new and not is_known(new)}
    return replace(options, rename={old: new for old, new in options.rename.items() if old not in sizes}), Options(sizes)


def leaves_out(raw: Raw, options: Options) -> bool:
    """Whether ``*`` is asked for, and is no column's own name."""
    return EVERY in options.rename and EVERY not in raw.columns


def _new_names(raw: Raw, options: Options) -> dict[str, str]:
    """What the options call the columns that they name, by the names in the file."""
    rename = dict(options.rename)
    if leaves_out(raw, options) and (given := rename.pop(EVERY)):
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
