"""Series in and out: the row that says what is equal in all its results, found by a hash over that."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, Row, Select, insert, select

from modak.errors import RequestError, unknown
from modak.facts import SeriesKey
from modak.store.schema import series

COLUMNS: Final = tuple(SeriesKey.model_fields)
FILTERS: Final = tuple(name for name in COLUMNS if name not in ("params", "hyperthreads", "numa_mode", "unit"))
"""What results can be filtered by, with ``params.NAME``; each with an exact text."""
_CHUNK: Final = 500
"""Values in an IN list: far below every database's limit of parameters."""


def key_hash(key: SeriesKey) -> str:
    """What makes two series one: all their fields, in any order of ``params``."""
    text = json.dumps(key.model_dump(mode="json", exclude_none=True), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def ids(connection: Connection, keys: Sequence[SeriesKey], number: int) -> list[int]:
    """The numbers of the series, each made where it is not there yet."""
    hashes = [key_hash(key) for key in keys]
    found = _known(connection, hashes)
    missing = {mark: key for mark, key in zip(hashes, keys, strict=True) if mark not in found}
    if missing:
        connection.execute(insert(series), [_row(key, mark, number) for mark, key in missing.items()])
        found |= _known(connection, list(missing))
    return [found[mark] for mark in hashes]


def _known(connection: Connection, hashes: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    distinct = list(dict.fromkeys(hashes))
    for start in range(0, len(distinct), _CHUNK):
        chosen = select(series.c.key, series.c.id).where(series.c.key.in_(distinct[start : start + _CHUNK]))
        found.update((mark, number) for mark, number in connection.execute(chosen))
    return found


def _row(key: SeriesKey, mark: str, number: int) -> dict[str, Any]:
    values = key.model_dump()
    values["params"] = json.dumps(dict(sorted(key.params.items())), ensure_ascii=False)
    values["hyperthreads"] = None if key.hyperthreads is None else int(key.hyperthreads)
    return {**values, "key": mark, "changed": number}


def from_row(row: Row[Any]) -> SeriesKey:
    """The value of a row that holds :data:`COLUMNS`."""
    values = {name: getattr(row, name) for name in COLUMNS}
    values["params"] = json.loads(values["params"])
    values["hyperthreads"] = None if values["hyperthreads"] is None else bool(values["hyperthreads"])
    return SeriesKey.model_validate(values)


def matching(filters: Mapping[str, str]) -> Select[Any]:
    """Series that carry every filter's text, in the order of their numbers, as rows of ``id`` and the key's columns.

    Raises :class:`modak.errors.RequestError` for a filter that is none. ``params.NAME`` are compared by the caller,
    with :func:`has_params`: databases differ in how they look into JSON.
    """
    chosen = select(series.c.id, *(series.c[name] for name in COLUMNS)).order_by(series.c.id)
    for name, text in filters.items():
        if name.startswith("params."):
            continue
        if name not in FILTERS:
            raise RequestError(unknown("filter", name, (*FILTERS, "params.NAME")), field=name)
        chosen = chosen.where(series.c[name] == text)
    return chosen


def has_params(key: SeriesKey, filters: Mapping[str, str]) -> bool:
    """Whether a series carries the parameters that filters ask for."""
    wanted = {name.removeprefix("params."): text for name, text in filters.items() if name.startswith("params.")}
    return all(key.params.get(name) == text for name, text in wanted.items())


def label(key: SeriesKey) -> str:
    """A series in one line: what is known of it, in the order of the columns."""
    known = key.model_dump(exclude_none=True, exclude={"params", "unit"})
    return ", ".join(f"{name} {value}" for name, value in (*known.items(), *sorted(key.params.items())))
