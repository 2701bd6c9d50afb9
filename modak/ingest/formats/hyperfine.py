"""hyperfine: JSON of ``--export-json``, of the 1.x and the 2.0 series."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from modak.errors import DataError
from modak.ingest.formats import documents
from modak.ingest.formats.documents import LocatedObject, RowCollector, member, objects, shortened, text
from modak.ingest.sources import Source
from modak.ingest.table import Raw


class Hyperfine:
    """Results of one call."""

    name = "hyperfine"

    def recognises(self, head: bytes, name: str) -> bool:
        """By the command and what belongs to it: statistics in 1.x, measurements in 2.0."""
        marks = (("mean", "stddev"), ("hyperfine_version",), ("time_wall_clock",))
        return documents.has_keys(head, ("results", "command")) and any(documents.has_keys(head, keys) for keys in marks)

    def read(self, source: Source) -> Iterator[Raw]:
        """A row for each run that ended with exit status 0."""
        document, found = documents.document(source)
        metadata = documents.within(document, "metadata")
        version = text(document.get("schema_version")) or text(metadata.get("json_schema_version"))
        if version not in (None, "1", "2"):
            raise DataError(f"schema_version {version[:20]!r}; known: 1.x's (none) and 2", field=":1")
        started = text(metadata.get("start_time"))
        for one in objects(document, "results"):
            _rows(one, started, found)
        scanned = {row["application"] for row in found.records if any(column.startswith("params.") for column in row)}
        way = "'--map application= --set application=NAME' gives all one name"
        scan = {"application": f"each point of the parameter scan counts as an application of its own; {way}"} if len(scanned) > 1 else {}
        yield from (replace(part, about=scan) for part in found.rows())


def _rows(one: LocatedObject, started: str | None, found: RowCollector) -> None:
    command = text(one.get("command")) or ""
    cells: dict[str, Any] = {
        "application": shortened(text(one.get("name")) or command),
        **documents.parameters(documents.within(one, "parameters")),
        "measured_at": started,
    }
    runs = _measured(one) if "measurements" in one else _timed(one)
    for repeat, (seconds, status) in enumerate(runs):
        if status not in ("0", None):
            found.leave(one.line, f"run {repeat} of {command[:80]!r} ended with exit status {status}")
        else:
            found.row(one.line, **cells, metric="wall_time", value=seconds, unit="s", repeat=repeat if seconds is not None else None)


def _timed(one: LocatedObject) -> list[tuple[str | None, str | None]]:
    """1.x: times and exit codes in two lists; without times (``--show-output`` of old versions) the median stands for all."""
    times, given = (member(one, key, list) if one.get(key) else [] for key in ("times", "exit_codes"))
    codes = [text(code) if code is not None else "unknown (killed)" for code in given]
    if not times:
        return [(text(one.get("median")), next((code for code in codes if code != "0"), None))]
    return [(text(seconds), codes[i] if i < len(codes) else None) for i, seconds in enumerate(times)]


def _measured(one: LocatedObject) -> list[tuple[str | None, str | None]]:
    """2.0: one object a run; a quantity is an object with a value and a unit."""
    found: list[tuple[str | None, str | None]] = []
    for run in objects(one, "measurements"):
        quantity = member(run, "time_wall_clock", dict)
        if quantity.get("unit") != "second":
            raise DataError(f"'time_wall_clock' in {quantity.get('unit')!r}; known: second", field=f":{run.line}")
        status = (text(run["exit_code"]) or "unknown (killed)") if "exit_code" in run else None
        found.append((text(quantity.get("value")), status))
    return found
