"""Extra-P: its JSON (``{"parameters", "measurements"}``) and its text (``PARAMETER``, ``POINTS``, ``REGION``, ``METRIC``, ``DATA``).

Neither names an application or a unit: the region stands for the application, and a metric that is no time needs ``--set unit=…``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from modak.errors import DataError
from modak.ingest.formats import documents
from modak.ingest.formats.documents import RowCollector, member, objects, shortened, text
from modak.ingest.sources import Source
from modak.ingest.table import LAYOUT, MOST_COLUMNS, Raw

RANKS: Final = ("p", "np", "procs", "processes", "ranks", "mpi_ranks")
"""What users call the number of processes. Nobody says on how many nodes they ran: all of them count as on one."""
_METRICS: Final = {"time": "time", "runtime": "run_time"}
"""Metrics by what users call them, in any case."""
_EVENTS: Final = re.compile(r"visits|hits|bytes_(sent|received|read|written)|PAPI_\w+", re.IGNORECASE)
"""Metrics that profiles have beside the time."""


class ExtraP:
    """Measurements as JSON."""

    name = "extrap"

    def recognises(self, head: bytes, name: str) -> bool:
        """By its two keys."""
        return documents.has_keys(head, ("parameters", "measurements"))

    def read(self, source: Source) -> Iterator[Raw]:
        """A row for each value at each point."""
        document, found = documents.document(source)
        names = [str(each) for each in member(document, "parameters", list)]
        for region, metrics in member(document, "measurements", dict).items():
            for metric in metrics if isinstance(metrics, dict) else member(document["measurements"], region, dict):
                for each in objects(metrics, metric):
                    point = each.get("point")
                    labels = _labels(region, metric) | _counts(names, point if isinstance(point, list) else [point], each.line)
                    _add(found, each.line, labels, member(each, "values", list))
        yield from found.rows()


class ExtraPText:
    """Measurements as text."""

    name = "extrap_text"

    def recognises(self, head: bytes, name: str) -> bool:
        """By the first word that is no comment."""
        lines = (
            line.split() for line in head.decode("utf-8", "replace").splitlines() if line.strip() and not line.lstrip().startswith("#")
        )
        return next(lines, [""])[0] == "PARAMETER"

    def read(self, source: Source) -> Iterator[Raw]:
        """A row for each value of a ``DATA`` line, at the point whose turn it is."""
        lines, found = documents.lines(source)
        names: list[str] = []
        points: list[list[str]] = []
        region, metric, turn = "", "", 0
        for line, row in lines:
            word, rest = (*row.partition("#")[0].split(maxsplit=1), "", "")[:2]
            if word == "PARAMETER":
                names += rest.split()
            elif word == "POINTS":
                points += _points(rest, len(names))
            elif word == "REGION":
                region, turn = rest.strip(), 0
            elif word == "METRIC":
                metric, turn = rest.strip(), 0
            elif word == "DATA":
                if turn >= len(points):
                    raise DataError(f"DATA for point {turn + 1}, but there are {len(points)} POINTS", field=f":{line}")
                labels = _labels(region, metric or "time") | _counts(names, points[turn], line)
                _add(found, line, labels, rest.split())
                turn += 1
            elif word:
                raise DataError(f"{word[:40]!r}: known: PARAMETER, POINTS, REGION, METRIC, DATA", field=f":{line}")
        yield from found.rows()


def _points(written: str, parameters: int) -> list[list[str]]:
    """``1 2 4`` with one parameter; ``(1 2) (4 8)`` with several."""
    groups = re.findall(r"\(([^()]*)\)", written)
    if groups:
        return [re.split(r"[\s,]+", group.strip()) for group in groups]
    values = re.split(r"[\s,]+", written.strip())
    return [values[start : start + max(parameters, 1)] for start in range(0, len(values), max(parameters, 1))]


@lru_cache(maxsize=1)  # the same at every point, and as long as the file
def _labels(region: str, metric: str) -> dict[str, str | None]:
    return {"application": shortened(region), "metric": _METRICS.get(metric.strip().lower(), metric)}


def _counts(names: Sequence[str], point: Sequence[object], line: int) -> dict[str, str | None]:
    """The columns of a point."""
    if len(names) > MOST_COLUMNS:
        raise DataError(f"{len(names)} parameters; at most {MOST_COLUMNS}", field=f":{line}")
    values = [text(each) for each in point]
    if len(values) != len(names) or None in values:
        raise DataError(f"a point of {len(values)} values; there are {len(names)} parameters", field=f":{line}")
    columns = [_column(name) for name in names]
    if twice := [name for name, column in zip(names, columns, strict=True) if columns.count(column) > 1]:
        raise DataError(f"the parameters {' and '.join(twice)} are one column, {_column(twice[0])}", field=f":{line}")
    return dict(zip(columns, values, strict=True))


def _add(found: RowCollector, line: int, cells: Mapping[str, str | None], values: Sequence[object]) -> None:
    """A row for each of the values at one point; a note in place of all counts of events."""
    metric = cells["metric"] or ""
    if _EVENTS.fullmatch(metric):
        found.leave_all(f"metric {metric!r} counts events, which give no time")
        return
    for repeat, value in enumerate(values):
        found.row(line, **cells, value=text(value), repeat=repeat)


def _column(name: str) -> str:
    if name in LAYOUT:
        return name
    return "ranks_per_node" if name.lower() in RANKS else name if name.startswith("params.") else f"params.{documents.column_name(name)}"
