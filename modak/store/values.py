"""What the store returns, beside the values of :mod:`modak.facts`; pages and their cursors."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, Final, Generic, TypeVar

from modak.dsl import Texts
from modak.errors import RequestError
from modak.facts import Result
from modak.packaged import Difference
from modak.text.numbering import Numbers

Item = TypeVar("Item")
Export = tuple[tuple[str, ...], Generator[dict[str, str]]]
"""Results as text: the columns of the results table, and the rows. Until these are read to the end, or closed, they hold a connection."""


@dataclass(frozen=True)
class FileReport:
    """The outcome of loading one file. ``already``: when the same file was loaded before; it was not read again then."""

    name: str
    format: str
    sha256: str
    rows: int
    new: int
    duplicates: int
    already: datetime | None = None


@dataclass(frozen=True)
class LoadReport:
    """What a load changed."""

    version: str
    """Version of the data afterwards; if nothing changed, the one before."""
    rows: int
    new: int
    duplicates: int
    """Rows that were there already, in the database or earlier in the same load."""
    replaced: int
    """Rows that were replaced by new ones; they are kept as history."""
    series: tuple[str, ...]
    """The series whose rows changed, and whose models are refitted at the next use; the first hundred."""
    series_count: int
    models: int
    """How many stored models rest on those series."""
    suspicious: tuple[str, ...]
    """Rows that are kept out of fits, ``FILE:LINE: why``; the first hundred."""
    suspicious_count: int
    notes: tuple[str, ...]
    """Things to know, such as systems that are not known."""
    files: tuple[FileReport, ...]
    dry_run: bool = False


@dataclass(frozen=True)
class JudgementReport:
    """What it changed that somebody confirmed, doubted or unmarked results."""

    count: int
    """For how many of them that was new."""
    loads: int = 0
    """How many loads were of a file of the name that was given; 0: numbers were given."""
    suspicious: tuple[str, ...] = ()
    """Other results that look wrong since, and why; of unmarked ones, also they. The first hundred."""
    suspicious_count: int = 0
    freed: tuple[int, ...] = ()
    """Numbers of other results that look wrong no more, so that models use them; the first hundred."""
    freed_count: int = 0


@dataclass(frozen=True)
class RefreshReport:
    """Differences between packaged knowledge and database, and the outcome of loading the packaged results."""

    differences: tuple[Difference, ...]
    load: LoadReport
    notes: tuple[str, ...]
    """Which results look wrong, or no more, beside the new descriptions of their systems."""


@dataclass(frozen=True)
class ReplacedResult:
    """A result that was replaced: when, by whom and from which file."""

    result: Result
    at: datetime
    principal: str
    file: str


@dataclass(frozen=True)
class Page(Generic[Item]):
    """A page of items; ``next`` is the cursor of the following page, if there is one."""

    items: tuple[Item, ...]
    next: str | None = None


Place = tuple[int, int]
"""Number of a series, and of a result or curve in it: the order in which these are listed."""
_NUMBER: Final = re.compile(r"[0-9]{1,18}")
_PLACE: Final = re.compile(r"([0-9]{1,18})-([0-9]{1,18})")
_LARGEST: Final = 2**31 - 1
"""PostgreSQL refuses to compare the number of a series or of a load with a greater one."""
_NO_CURSOR: Final = "no cursor; take 'next' of the page before"


def paged(found: Iterable[tuple[tuple[int | str, ...], Item]], limit: int) -> Page[Item]:
    """At most ``limit`` of the items, each with its place; where there are more, the last place is the cursor."""
    seen = list(islice(found, limit + 1))
    shown = seen[:limit]
    return Page(tuple(item for _, item in shown), "-".join(map(str, shown[-1][0])) if len(seen) > limit else None)


def cursor_place(cursor: str | None) -> Place:
    """The place that a cursor ``A-B`` names; before all of them where there is none. Raises :class:`modak.errors.RequestError`."""
    if not cursor:
        return (0, 0)
    found = _PLACE.fullmatch(cursor)
    if not found or int(found[1]) > _LARGEST:
        raise RequestError(_NO_CURSOR, field="cursor")
    return (int(found[1]), int(found[2]))


def cursor_number(cursor: str | None) -> int:
    """The number that a cursor is; 0 where there is none. Raises :class:`modak.errors.RequestError`."""
    if cursor and not _NUMBER.fullmatch(cursor):
        raise RequestError(_NO_CURSOR, field="cursor")
    return int(cursor or 0)


@dataclass(frozen=True)
class StoredPlan:
    """A plan as it was answered."""

    id: str
    created_at: datetime
    expires_at: datetime | None
    request: Mapping[str, Any]
    response: Mapping[str, Any]
    texts: Texts
    result_ids: Numbers = ()
    """Numbers of the results that its prediction rests on."""


@dataclass(frozen=True)
class State:
    """Counts of the whole database; and the newest load in seconds since 1970, ``None`` where nothing was loaded."""

    series: int
    stale_series: int
    """Series whose results changed since they were fitted; the next request about them fits them."""
    models: int
    newest_load: float | None
    builds: Mapping[str, int]
    """How many builds are in each state."""
