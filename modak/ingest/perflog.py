"""ReFrame's performance log: a header and lines with ``|`` between the cells, one line a run, columns as the test has them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from modak.errors import DataError, Fault
from modak.ingest import documents
from modak.ingest.documents import RowCollector
from modak.ingest.reframe import test_cells
from modak.ingest.sources import Source
from modak.ingest.table import MOST_FAULTS, Raw

NOTHING: Final = ("", "null", "None", "nan")
"""How the log writes what is not known: the first word for a test's variables, the second for values that were never set."""
_EVERY: Final = ("result", "job_completion_time")
"""Columns that begin ReFrame's own logs; those of some sites leave the first one out."""
_OLD: Final = re.compile(r"[^|]*\|reframe [0-9]")
"""How a line began before ReFrame 4."""
_ONE_HOST: Final = re.compile(r"[\w.-]+")
"""A list of several hosts has commas or brackets."""


class PerfLog:
    """A file of ReFrame's ``perflogs``."""

    name = "reframe_perflog"

    def recognises(self, head: bytes, name: str) -> bool:
        """By the columns of values and their units in the first line; also older lines, which are refused when they are read."""
        first = head.partition(b"\n")[0].decode(errors="replace").rstrip("\r")
        cells = set(first.split("|"))
        figures = any(cell.endswith("_value") and f"{cell[:-6]}_unit" in cells for cell in cells)
        return (figures and not cells.isdisjoint(_EVERY)) or _OLD.match(first) is not None

    def read(self, source: Source) -> Iterator[Raw]:
        """A row for each figure of each run that passed."""
        lines, found = documents.lines(source)
        header: list[str] = []
        faults = []
        for line, row in lines:
            cells = row.split("|")
            if not row:
                continue
            if not header and _OLD.match(row):
                raise DataError("lines of ReFrame 3, which name no columns; the logs of ReFrame 4 are read", field=f":{line}")
            if not header or cells[0] in _EVERY:
                if not header and "result" not in cells:
                    found.left.append(f":{line}: no column 'result': whether the runs passed is not known")
                header = cells
            elif len(cells) != len(header):
                faults.append(Fault(f":{line}", f"{len(cells)} cells; the header has {len(header)} columns"))
            else:
                _run({name: cell for name, cell in zip(header, cells, strict=True) if cell not in NOTHING}, header, line, found)
        if faults:
            raise DataError(faults=faults[:MOST_FAULTS])
        yield from found.rows()


def _run(run: dict[str, str], header: list[str], line: int, found: RowCollector) -> None:
    title = run.get("name") or run.get("display_name") or run.get("short_name") or "?"
    if "result" in header and run.get("result") != "pass":
        found.runs = "tests"
        found.fail(line, f"test {title!r} ended as {run.get('result')!r}", run.get("result"))
        return
    cells = test_cells(title, run, 1 if _ONE_HOST.fullmatch(run.get("job_nodelist", "")) else None)
    cells["source"] = f"reframe job {run['jobid']}" if "jobid" in run else None
    known = set(header)
    for name in (column.removesuffix("_value") for column in header if column.endswith("_value")):
        if f"{name}_unit" in known:
            found.figure(line, name, run.get(f"{name}_value"), run.get(f"{name}_unit"), cells)
