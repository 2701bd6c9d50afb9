"""Series of results: a row holds what is equal in all results of a series, and is found by a hash over that.

What several spellings mean is one series, under the spelling that came first: ``GCC 9.3`` and ``gcc-9.3``, ``10`` and ``10.0``. Aliases of
systems are not among them, because what they mean depends on the known systems, which change: :class:`OwnNames` joins their series whenever
they are read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Column, ColumnElement, Connection, Row, Select, insert, select

from modak.facts import SeriesKey, System, canonical_name, own_names
from modak.facts.results import FLAGS
from modak.perfmodel.fitting import merging
from modak.results.filters import PARAMETER, check_filters
from modak.store import catalogue
from modak.store.engine import chunks
from modak.store.schema import series, texts

COLUMNS: Final = tuple(SeriesKey.model_fields)
NUMBERED: Final = (series.c.id, *(series.c[name] for name in COLUMNS))
"""The columns of a series' number and key."""
SERIES_AT_ONCE: Final = 200
"""Series whose results are read by one query."""


def key_hash(key: SeriesKey) -> str:
    """A hash over all fields of a series, equal for all spellings of it; the order of ``params`` does not matter."""
    return hash_of(key.model_dump(mode="json", exclude_none=True))


def hash_of(known: Mapping[str, Any]) -> str:
    """The same from the known fields, by name."""
    folded = {name: merging.canonical_label(name, value) if isinstance(value, str) else value for name, value in known.items()}
    folded["params"] = {name: merging.canonical_setting(name, text) for name, text in known["params"].items()}
    return hashlib.sha256(json.dumps(folded, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def ids(connection: Connection, keys: Sequence[SeriesKey], number: int) -> list[int]:
    """The numbers of the series; those that are not there yet are added."""
    hashes = [key_hash(key) for key in keys]
    found = _numbers(connection, series.c.key, hashes)
    missing: dict[str, SeriesKey] = {}
    for mark, key in zip(hashes, keys, strict=True):
        if mark not in found:
            missing.setdefault(mark, key)
    if missing:
        connection.execute(insert(series), [_row(key, mark, number) for mark, key in missing.items()])
        found |= _numbers(connection, series.c.key, missing)
    return [found[mark] for mark in hashes]


def text_ids(connection: Connection, wanted: Iterable[str]) -> dict[str, int]:
    """The numbers of these texts; those that are not there yet are added. The empty text is 0."""
    wanted = dict.fromkeys(filter(None, wanted))
    found = _numbers(connection, texts.c.text, wanted)
    missing = [each for each in wanted if each not in found]
    if missing:
        connection.execute(insert(texts), [{"text": each} for each in missing])
        found |= _numbers(connection, texts.c.text, missing)
    return {"": 0, **found}


def _numbers(connection: Connection, column: Column[str], wanted: Iterable[str]) -> dict[str, int]:
    """The numbers of rows by what a column of their table holds, of those that are there."""
    found: dict[str, int] = {}
    for part in chunks(list(dict.fromkeys(wanted))):
        found |= dict(connection.execute(select(column, column.table.c.id).where(column.in_(part))).all())
    return found


def _row(key: SeriesKey, mark: str, number: int) -> dict[str, Any]:
    params = json.dumps(dict(key.params), sort_keys=True, ensure_ascii=False)
    flags = {name: int(value) for name in FLAGS if (value := getattr(key, name)) is not None}
    return key.model_dump() | flags | {"params": params, "key": mark, "changed": number}


def from_row(row: Row[Any]) -> SeriesKey:
    """The key in a row that has :data:`COLUMNS`."""
    return SeriesKey.model_validate({name: getattr(row, name) for name in COLUMNS} | {"params": json.loads(row.params)})


class OwnNames:
    """The names of systems by their aliases, as they are known now."""

    def __init__(self, connection: Connection) -> None:
        self._names = own_names(catalogue.read(connection, System, sound=True))
        self._called: dict[str, frozenset[str]] = {}
        for alias, name in self._names.items():
            own = canonical_name(name)
            self._called[own] = self._called.get(own, frozenset((own,))) | {alias}

    def key(self, key: SeriesKey) -> SeriesKey:
        """The series under its system's own name, if it is called by an alias."""
        name = self._names.get(canonical_name(key.system)) if key.system else None
        return key.model_copy(update={"system": name}) if name else key

    def called(self, system: str) -> frozenset[str]:
        """All names of a system, folded."""
        folded = canonical_name(system)
        own = canonical_name(self._names.get(folded, folded))
        return self._called.get(own, frozenset((own,)))

    def together(self, connection: Connection, keys: Mapping[int, SeriesKey]) -> dict[int, tuple[int, ...]]:
        """Those of these series, by number, that are one with others, because their systems' names mean the same: each with the numbers of
        all of them, one of the given ones first."""
        hashes = {number: self._hashes(key) for number, key in keys.items() if key.system and len(self.called(key.system)) > 1}
        numbers = _numbers(connection, series.c.key, sorted({mark for marks in hashes.values() for mark in marks}))
        found: dict[int, tuple[int, ...]] = {}
        for number, marks in hashes.items():
            there = {numbers[mark] for mark in marks if mark in numbers}
            if len(there) > 1:
                first = min(there & keys.keys())
                found[number] = (first, *sorted(there - {first}))
        return found

    def _hashes(self, key: SeriesKey) -> frozenset[str]:
        """The hashes of the series under all names of its system."""
        return frozenset(key_hash(key.model_copy(update={"system": name})) for name in self.called(key.system or ""))


def of_same_runs(
    connection: Connection, keys: Collection[SeriesKey], own: OwnNames, skip: Container[int] = ()
) -> dict[int, tuple[SeriesKey, int]]:
    """Series that may be of the same runs as one of these, by number, with their count of changes; under the systems' own names.

    See :func:`modak.perfmodel.fitting.merging.run_key`. The given ones are included, except the numbers in ``skip``. Parameters are
    compared first, because that is cheap, and few of tens of thousands of series have the same ones.
    """
    runs, problems = {merging.run_key(own.key(key)) for key in keys}, {merging.problem(key.params) for key in keys}
    found: dict[int, tuple[SeriesKey, int]] = {}
    for names in chunks(sorted({key.application for key in keys})):
        chosen = select(series.c.id, series.c.params).where(series.c.application.in_(names)).order_by(series.c.id)
        rows = connection.execute(chosen).all()
        alike = [row.id for row in rows if row.id not in skip and merging.problem(json.loads(row.params)) in problems]
        for numbers in chunks(alike):
            whole = select(*NUMBERED).add_columns(series.c.changed).where(series.c.id.in_(numbers)).order_by(series.c.id)
            known = ((row.id, own.key(from_row(row)), row.changed) for row in connection.execute(whole))
            found |= {number: (key, changed) for number, key, changed in known if merging.run_key(key) in runs}
    return found


def matching(connection: Connection, filters: Mapping[str, str]) -> Select[Any]:
    """Series that carry every filter's text, in any spelling, in the order of their numbers, as rows of ``id`` and the key's columns.

    A system is meant by each of its names. Raises :class:`modak.errors.RequestError` for an unknown filter. ``params.NAME`` are compared by
    the caller, with :func:`has_params`: databases differ in how they look into JSON.
    """
    check_filters(filters)
    chosen = select(*NUMBERED).order_by(series.c.id)
    return chosen.where(*(_carries(connection, name, text) for name, text in filters.items() if not name.startswith(PARAMETER)))


def carrying(connection: Connection, filters: Mapping[str, str]) -> Iterator[tuple[int, SeriesKey]]:
    """The series that carry every filter's text, each with its number, in the order of these. Raises as :func:`matching` does."""
    found = ((row.id, from_row(row)) for row in connection.execute(matching(connection, filters)))
    return ((number, key) for number, key in found if has_params(key, filters))


def _carries(connection: Connection, name: str, text: str) -> ColumnElement[bool]:
    """The condition that a series has this text, in any spelling, in a column; for an empty text that the column is empty."""
    column, text = series.c[name], text.strip()
    if not text:
        return column.is_(None)
    if name not in merging.SPELLINGS:
        return column == merging.canonical_label(name, text)  # stored in this one spelling
    wanted = OwnNames(connection).called(text) if name == "system" else {merging.canonical_label(name, text)}
    spelt = connection.scalars(select(column).where(column.is_not(None)).distinct())
    return column.in_([each for each in spelt if merging.canonical_label(name, each) in wanted])


def by_number(connection: Connection, where: ColumnElement[bool]) -> dict[int, SeriesKey]:
    """The series under a condition, in the order of their numbers."""
    return {row.id: from_row(row) for row in connection.execute(select(*NUMBERED).order_by(series.c.id).where(where))}


def has_params(key: SeriesKey, filters: Mapping[str, str]) -> bool:
    """Whether a series carries the parameters that filters ask for, in any spelling; for an empty text that it has no such parameter."""
    same, wanted = merging.canonical_label, {name: text.strip() for name, text in filters.items() if name.startswith(PARAMETER)}
    return all(same(name, key.params.get(name.removeprefix(PARAMETER), "")) == same(name, text) for name, text in wanted.items())
