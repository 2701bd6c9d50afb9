"""pytest-benchmark: JSON of ``--benchmark-json`` or ``--benchmark-save``.

Tests that failed while they were timed are not in it; one that failed afterwards is, and looks like any other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from modak.ingest.formats import documents
from modak.ingest.formats.documents import LocatedObject, RowCollector, member, objects, shortened, text
from modak.ingest.sources import Source
from modak.ingest.table import Raw


class PytestBenchmark:
    """Results of a test session."""

    name = "pytest_benchmark"

    def recognises(self, head: bytes, name: str) -> bool:
        """By the machine's description."""
        return documents.has_keys(head, ("machine_info",))

    def read(self, source: Source) -> Iterator[Raw]:
        """A row for each test: the median of its rounds, since outliers are heavy."""
        document, found = documents.document(source)
        host = text(documents.within(document, "machine_info").get("node"))
        when = text(document.get("datetime"))
        if when and not documents.has_offset(when):
            when = f"{when}Z"  # older versions wrote UTC without saying so
        for one in objects(document, "benchmarks"):
            _row(one, host, when, found)
        yield from found.rows()


def _is_object(value: Any) -> bool:
    """Whether a parameter is no number or text: its place in memory is another one in each session, the test's name in brackets is not."""
    return isinstance(value, str) and value.startswith("UNSERIALIZABLE[")


def _row(one: LocatedObject, host: str | None, when: str | None, found: RowCollector) -> None:
    name = text(one.get("fullname")) or text(one.get("name")) or ""
    given = {**documents.within(one, "params"), **documents.within(one, "extra_info")}
    cells = documents.parameters({name: one.get("param") if _is_object(value) else value for name, value in given.items()})
    laid = {"system": host, "nodes": "1", "measured_at": when, "dataset": text(one.get("group"))} | cells
    median = text(member(one, "stats", dict).get("median"))
    found.row(one.line, application=shortened(name.partition("[")[0]), **laid, metric="time", value=median, unit="s")
