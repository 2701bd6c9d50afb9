"""What formats share: the text of a file, JSON whose objects know their line, rows with notes, and fields that several tools have.

Numbers stay text in the spelling of the file, so that they are checked like those of a CSV file.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from json import decoder, scanner
from typing import Any, Final

from modak.errors import DataError
from modak.facts.results import LONGEST_LABEL
from modak.ingest import headings
from modak.ingest.sources import Source
from modak.ingest.table import LAYOUT, MOST_COLUMNS, Raw
from modak.ingest.values import cell
from modak.results import metrics
from modak.results.units import known_unit
from modak.text.amounts import join_names, printable
from modak.text.documents import why_not_json

LARGEST: Final = 256 * 2**20
MOST_NOTES: Final = 20
FEW: Final = 5
"""Runs that did not succeed, up to which each has a note of its own: a year's accounting may hold thousands."""
MOST_STATES: Final = 6
LONGEST_NOTE: Final = 500
LONGEST_STATE: Final = 40
MOST_CELLS: Final = 1_000_000
"""Cells that a file may have, plus two for each of its characters. Without a limit a small file could fill the memory with
parameters that every row repeats.
"""
_AMOUNT: Final = re.compile(r"(?:[0-9]_cpn_)?([0-9]{1,8})[ _-]?([a-z]+?)s?")
"""A count and what it counts: ``2_nodes``, ``16 cores``; some suites put the cores of each node before the nodes."""
_PART_OF_NODE: Final = re.compile(r"1_[0-9]{1,2}_node")
_ZERO: Final = re.compile(r"\s*[+-]?(0+(\.0*)?|\.0+)([eE][+-]?[0-9]+)?\s*")
_NUMBER: Final = re.compile(r"\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")


class LocatedObject(dict[str, Any]):
    """A JSON object that knows its line."""

    line: int = 1


@dataclass
class RowCollector:
    """Rows and notes that a format collects from one file."""

    size: int
    """Characters of the text (of a gzip file: unpacked)."""
    records: list[dict[str, str]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    more: int = 0
    """Things left out beyond the first :data:`MOST_NOTES`."""
    failed: list[tuple[int, str]] = field(default_factory=list)
    """The first :data:`FEW` runs that did not succeed: line, and what is said of each."""
    states: Counter[str] = field(default_factory=Counter)
    """How runs ended that did not succeed."""
    runs: str = "runs"
    """What the format calls them."""
    lists: str = ""
    """How else these runs are found; ``{}`` stands for the states."""
    cells: int = 0
    strange: set[int] = field(default_factory=set)
    """The places among the rows of figures in an unknown unit."""

    def row(self, line: int, /, **cells: Any) -> None:
        """Add a row, or a note if its value is zero. A cell that is ``None`` is empty; any text may be the name of a column."""
        if (zero := cells.get("value")) is not None and _ZERO.fullmatch(str(zero)):
            self.leave(line, f"{cells.get('metric')!r} of {cells.get('application')!r} is zero")
            return
        self.cells += len(cells)
        most = MOST_CELLS + 2 * self.size
        if self.cells > most:
            raise DataError(f"more than {most} cells in its rows, which {self.size} characters do not explain", field=f":{line}")
        self.records.append({name: cell(value) for name, value in cells.items()})
        self.lines.append(line)

    def leave(self, line: int, what: str) -> None:
        """Note that something is left out; ``what`` names it and says why."""
        self._note(_left_out(f":{line}", what))

    def note(self, line: int, what: str) -> None:
        """Note what a row is made of."""
        self._note(f":{line}: {printable(what[:LONGEST_NOTE])}")

    def leave_all(self, what: str) -> None:
        """Note once that all of a kind are left out, wherever they are."""
        if (note := _left_out("", what)) not in self.left:
            self._note(note)

    def _note(self, note: str) -> None:
        if len(self.left) == MOST_NOTES:
            self.more += 1
        else:
            self.left.append(note)

    def fail(self, line: int, what: str, state: str | None) -> None:
        """Note that a run is left out that did not succeed; ``what`` names it and says how it ended, which is its ``state`` in short."""
        self.states[printable((state or "unknown")[:LONGEST_STATE])] += 1
        if len(self.failed) < FEW:
            self.failed.append((line, what))

    def _failed(self) -> Iterator[str]:
        """A note for each run that did not succeed, or one for all of them if they are many."""
        count = self.states.total()
        if count <= FEW:
            yield from (_left_out(f":{line}", what) for line, what in self.failed)
            return
        how = join_names([f"{number} {state}" for state, number in self.states.most_common()], MOST_STATES)
        lines = ", ".join(str(line) for line, _ in self.failed[:3])
        see = f"; {self.lists.format(','.join(list(self.states)[:MOST_STATES]))}" if self.lists else ""
        yield f": {count} {self.runs} did not succeed ({how}) and are left out: lines {lines}, …{see}"

    def figure(self, line: int, name: str, value: str | None, unit: str | None, cells: Mapping[str, Any]) -> None:
        """Add a row for a figure that a tool reports; or a note if it is no number, or if nothing tells whether less or more is better.

        In an unknown unit it is left out, too, if the file has other figures, which are none the worse. If it has none, loading refuses the
        file, unless somebody gives the unit.
        """
        is_strange = unit and not known_unit(unit)
        if value is None or not _NUMBER.fullmatch(value):
            self.leave(line, f"{name!r} is not a number" if value else f"{name!r} has no value")
        elif not is_strange and (why := _meaningless(name, unit or None)):
            self.leave(line, f"{name!r} {why}")
        else:
            place = len(self.records)
            self.row(line, **cells, metric=name, value=value.strip(), unit=unit)
            self.strange.update(range(place, len(self.records)) if is_strange else ())  # a zero has become no row

    def rows(self) -> Iterator[Raw]:
        """All rows as one part, with the notes."""
        if len(self.strange) < len(self.records):
            self._leave_strange()
        notes = (*self.left, *self._failed(), *((f": {self.more} more left out",) if self.more else ()))
        yield Raw.of(self.records, self.lines, notes)

    def _leave_strange(self) -> None:
        for place in sorted(self.strange):
            self.leave_all(f"{self.records[place]['metric']!r} is in the unknown unit {self.records[place]['unit']!r}")
        kept = [place for place in range(len(self.records)) if place not in self.strange]
        self.records, self.lines = [self.records[place] for place in kept], [self.lines[place] for place in kept]


def _left_out(place: str, what: str) -> str:
    return f"{place}: {printable(what[:LONGEST_NOTE])}; left out"


def _meaningless(name: str, unit: str | None) -> str | None:
    """Why a figure with a known unit, or without one, cannot be used; ``None``: it can."""
    if metrics.known_metric(name, unit):
        return None
    return f"in {unit!r} does not tell whether less or more is better" if unit else "has no unit"


def text_of(source: Source) -> str:
    """The whole of a text file. Raises :class:`modak.errors.DataError` where it is too large or no UTF-8."""
    with source.open() as stream:
        content = stream.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise DataError(f"more than {LARGEST >> 20} MiB; load such tables as CSV")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = 1 + content.count(b"\n", 0, error.start)
        raise DataError(f"byte 0x{content[error.start]:02x} is not valid UTF-8", field=f":{line}") from None


def lines(source: Source) -> tuple[Iterator[tuple[int, str]], RowCollector]:
    """The lines of a text file, numbered from 1, and a collector for its rows. Raises as :func:`text_of` does.

    Only LF and CR LF end a line: other signs may occur in the names of jobs and tests.
    """
    content = text_of(source)
    numbered = ((number, line.removesuffix("\r")) for number, line in enumerate(content.split("\n"), 1))
    return numbered, RowCollector(len(content))


def document(source: Source) -> tuple[LocatedObject, RowCollector]:
    """The file's JSON object, and a collector for its rows. Raises :class:`modak.errors.DataError` with the line of what is not JSON."""
    found, rows = _document(source)
    if not isinstance(found, LocatedObject):
        raise DataError("expected an object {…}", field=":1")
    return found, rows


def documents(source: Source) -> tuple[list[LocatedObject], RowCollector]:
    """The objects of the file's JSON list, or its one object, and a collector for the rows of all. Raises as :func:`document` does."""
    found, rows = _document(source)
    several = found if isinstance(found, list) else [found]
    if not all(isinstance(each, LocatedObject) for each in several):
        raise DataError("expected an object {…}, or a list of objects", field=":1")
    return several, rows


def _document(source: Source) -> tuple[Any, RowCollector]:
    text = text_of(source)
    try:
        return _Decoder(text).decode(text), RowCollector(len(text))
    except json.JSONDecodeError as error:
        raise DataError(f"not valid JSON: {why_not_json(error)}", field=f":{error.lineno}") from None
    except RecursionError:
        raise DataError("objects nested too deep", field=":1") from None


class _Decoder(json.JSONDecoder):
    """The standard decoder with objects that know their line. It uses the scanner written in Python, which tells positions."""

    def __init__(self, text: str) -> None:
        super().__init__(parse_float=str, parse_int=str, parse_constant=str)
        breaks = [found.start() for found in re.finditer("\n", text)]

        def placed(state: tuple[str, int], *rest: Any) -> tuple[LocatedObject, int]:
            found, end = decoder.JSONObject(state, *rest)  # type: ignore[attr-defined]
            node = LocatedObject(found)
            node.line = bisect_right(breaks, state[1]) + 1
            return node, end

        self.parse_object = placed
        self.scan_once = scanner.py_make_scanner(self)  # type: ignore[attr-defined]


def member(node: Mapping[str, Any], name: str, kind: type[Any]) -> Any:
    """The value of a key. Raises :class:`modak.errors.DataError` where it is missing or of another type."""
    found = node.get(name)
    if not isinstance(found, kind):
        what = "a list" if kind is list else "an object"
        raise DataError(f"{name!r} is required, as {what}", field=f":{getattr(node, 'line', 1)}")
    return found


def objects(node: Mapping[str, Any], name: str) -> list[LocatedObject]:
    """The value of a key that is a list of objects. Raises as :func:`member` does."""
    found = member(node, name, list)
    if not all(isinstance(each, LocatedObject) for each in found):
        raise DataError(f"{name!r} is required, as a list of objects", field=f":{getattr(node, 'line', 1)}")
    return list(found)


def within(node: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The value of a key that is an object; an empty one where there is none."""
    found = node.get(name)
    return found if isinstance(found, dict) else {}


def text(value: Any) -> str | None:
    """A text, a number or a boolean as text; ``None`` for all else and for the empty text."""
    return cell(value) or None if isinstance(value, str | bool) else None


def count(value: Any) -> int | None:
    """A whole number above zero, from a number or its text; ``None`` for all else."""
    found = re.fullmatch(r"([0-9]{1,8})(\.0+)?", str(value)) if isinstance(value, str | int) and not isinstance(value, bool) else None
    return int(found[1]) or None if found else None


def parameters(values: Mapping[str, Any]) -> dict[str, str]:
    """The cells for a tool's parameters. A parameter named like a column of the layout fills it; others become ``params.NAME``. One that is
    a list has its items between commas, so that two lists are two problems; an object is none.

    Raises :class:`modak.errors.DataError` for more of them than a file has columns.
    """
    if len(values) > MOST_COLUMNS:
        raise DataError(f"{len(values)} parameters; at most {MOST_COLUMNS}")
    return {name if name in LAYOUT else f"params.{column_name(name)}": shown for name, value in values.items() if (shown := _shown(value))}


def _shown(value: Any) -> str | None:
    return shortened(", ".join(filter(None, map(_shown, value)))) or None if isinstance(value, list) else text(value)


def uncounted(values: Mapping[str, Any], laid: Mapping[str, int | None], ranks: int | None) -> dict[str, Any]:
    """A tool's parameters without those that are a count of the job, such as the nodes of a scaling test, whose sizes are one problem.
    ``laid`` are the counts by column, ``ranks`` are those of all nodes. Test suites name their scales so, too (``4_nodes``, ``1_2_node``).

    >>> uncounted({"num_nodes": "4", "scale": "4_nodes", "size": "4"}, {"nodes": 4}, None)
    {'size': '4'}
    """
    nodes, threads, gpus = (laid.get(column) or 0 for column in ("nodes", "threads_per_rank", "gpus_per_node"))
    totals = {"total_ranks": (ranks, (ranks or 0) * threads), "total_gpus": (nodes * gpus,)}

    def counts(name: str, value: Any) -> bool:
        if nodes == 1 and _PART_OF_NODE.fullmatch(str(value)):
            return True
        if said := _AMOUNT.fullmatch(str(value)):
            name, value = f"num_{said[2]}s", said[1]
        given, counted = count(value), headings.layout_column(name)
        return given is not None and counted is not None and given in totals.get(counted, (laid.get(counted),))

    return {name: value for name, value in values.items() if not counts(name, value)}


def column_name(name: str) -> str:
    """A parameter's name, in the characters that the name of a column may have."""
    return re.sub(r"[^A-Za-z0-9_.+-]", "_", name)[:64].lstrip(".+-") or "_"


def shortened(label: str) -> str:
    """A label of at most :data:`~modak.facts.results.LONGEST_LABEL` characters; a longer one is cut and gets a hash of the whole label."""
    import hashlib

    line = " ".join(label.split())
    return line if len(line) <= LONGEST_LABEL else f"{line[: LONGEST_LABEL - 14]}… #{hashlib.sha256(line.encode()).hexdigest()[:10]}"


def instant(seconds: str | None) -> str | None:
    """Seconds since 1970 as an instant in UTC (ISO 8601); ``None`` for what is not a number in range."""
    try:
        return datetime.fromtimestamp(float(seconds), UTC).isoformat() if seconds else None
    except (ValueError, OverflowError, OSError):
        return None


def has_offset(instant: str) -> bool:
    """Whether an instant in ISO 8601 tells its offset from UTC."""
    return re.search(r"(Z|[+-][0-9]{2}:?[0-9]{2})$", instant) is not None


def divided(total: int | None, parts: int | None) -> int | None:
    """``total / parts`` where it is a whole number; else, or where one is unknown, ``None``."""
    return total // parts if total and parts and total % parts == 0 else None


def has_keys(head: bytes, names: Sequence[str]) -> bool:
    """Whether a file begins as a JSON object does, and its beginning has all of these keys."""
    return head.lstrip()[:1] == b"{" and all(re.search(rb'"%s"\s*:' % re.escape(name).encode(), head) for name in names)
