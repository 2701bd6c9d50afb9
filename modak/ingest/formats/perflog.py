"""ReFrame's performance log: a header and lines with ``|`` or another sign between the cells, one line a run.

Its columns are those that the site's ``format`` and ``format_perfvars`` name: a part of a test's, in any order, with or without labels
(``jobid=4711`` below ``jobid=jobid``). The sign between the cells is not quoted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from modak.errors import DataError, Fault
from modak.ingest.formats import documents
from modak.ingest.formats.documents import RowCollector, has_offset
from modak.ingest.formats.reframe import test_cells
from modak.ingest.sources import Source
from modak.ingest.table import MOST_FAULTS, Raw

NOTHING: Final = ("", "null", "None", "nan")
"""How the log writes what is not known: the first word for a test's variables, the second for values that were never set."""
_MARKS: Final = tuple(map(re.compile, (r"\|", ",", ";", "\t", "[|,]")))
"""What may separate cells; the last where ``format`` and ``format_perfvars`` have different signs."""
_ENDED: Final = "job_completion_time"
"""A column that begins most logs, perhaps with a label of the next one behind it (``job_completion_time reframe: user=osuser``)."""
_OLD: Final = re.compile(r"[^|]*\|reframe [0-9]")
"""How a line began before ReFrame 4."""
_ONE_HOST: Final = re.compile(r"[\w.-]+")
"""A list of several hosts has commas or brackets."""
_INFO: Final = re.compile(r"(?P<display_name>.*?)(?: /[0-9a-f]+)?(?: @(?P<system>[^\s:]+):(?P<partition>[^\s+]+)(?:\+(?P<environ>\S+))?)?")
"""What ReFrame calls the test's info: ``solver %n=2 /89313233 @cluster:cpu+gnu``."""
_REPORT: Final = "write both in 'format_perfvars' of the configuration, or load ReFrame's report"


class _Header(NamedTuple):
    mark: re.Pattern[str]
    """What separates the cells."""
    names: list[str]
    """Of the columns."""
    labels: list[str]
    """What stands before the cells of each column: ``jobid=``."""
    figures: list[str]
    """The figures that have a value and a unit."""


class PerfLog:
    """A file of ReFrame's ``perflogs``."""

    name = "reframe_perflog"

    def recognises(self, head: bytes, name: str) -> bool:
        """By the columns of values and their units in the first line; also older lines, which are refused when they are read."""
        first = head.partition(b"\n")[0].decode(errors="replace").rstrip("\r")
        return _header(first) is not None or _OLD.match(first) is not None

    def read(self, source: Source) -> Iterator[Raw]:
        """A row for each figure of each run that passed."""
        lines, found = documents.lines(source)
        header: _Header | None = None
        faults = []
        for line, row in lines:
            if not row:
                continue
            another = _header(row)
            if another:
                if not header and "result" not in another.names:
                    found.left.append(f":{line}: no column 'result': whether the runs passed is not known")
                if not another.figures and "_value" in row:
                    raise DataError(f"no columns 'NAME_value' and 'NAME_unit' of each figure; {_REPORT}", field=f":{line}")
                if not another.figures:
                    found.leave(line, "its tests have no performance figures")
                header = another
            elif not header:
                old = "lines of ReFrame 3, which name no columns; the logs of ReFrame 4 are read"
                columns = "the first line names no columns, of which 'job_completion_time' is one"
                raise DataError(old if _OLD.match(row) else columns, field=f":{line}")
            elif len(cells := header.mark.split(row)) != len(header.names):
                faults.append(Fault(f":{line}", f"{len(cells)} cells; the header has {len(header.names)} columns"))
            elif header.figures:
                _run(_known(cells, header), header, line, found)
        DataError.raise_for(faults[:MOST_FAULTS])
        yield from found.rows()


def _header(line: str) -> _Header | None:
    """The columns that a line names: when the job ended, or whether it passed beside a value and its unit; ``None``: it is no header."""
    if _ENDED not in line and "_value" not in line:
        return None
    headers = [_header_between(mark, line) for mark in _MARKS if mark.search(line)]
    if not line.startswith(_ENDED):
        headers = [one for one in headers if _ENDED in one.names or (one.figures and "result" in one.names)]
    return max(headers, key=lambda one: len(one.figures), default=None)


def _header_between(mark: re.Pattern[str], line: str) -> _Header:
    parts = [cell.rpartition("=") for cell in mark.split(line)]
    names = [name for _, _, name in parts]
    units = {name.removesuffix("_unit") for name in names if name.endswith("_unit")}
    figures = [name[:-6] for name in names if name.endswith("_value") and name[:-6] in units]
    return _Header(mark, names, [f"{label}{sign}" for label, sign, _ in parts], figures)


def _known(cells: list[str], header: _Header) -> dict[str, str]:
    """What is known of a run, by column; what its info says of the test stands back behind columns of their own."""
    unlabelled = (cell.removeprefix(label) for cell, label in zip(cells, header.labels, strict=True))
    known = {name: cell for name, cell in zip(header.names, unlabelled, strict=True) if cell not in NOTHING}
    info = _INFO.fullmatch(known.get("info", ""))
    said = {name: text for name, text in info.groupdict().items() if text} if info else {}
    return {**said, **known}


def _run(run: dict[str, str], header: _Header, line: int, found: RowCollector) -> None:
    title = run.get("display_name") or run.get("name") or run.get("short_name") or ""  # the first alone has parameters of the command
    found.runs = "tests"
    if "result" in header.names and run.get("result") != "pass":
        found.fail(line, f"test {title!r} ended as {run.get('result')!r}", run.get("result"))
        return
    cells = test_cells(title, run, 1 if _ONE_HOST.fullmatch(run.get("job_nodelist", "")) else None)
    job, when = run.get("jobid"), run.get("job_completion_time", "")
    cells["measured_at"] = cells["measured_at"] or (when if has_offset(when) and not job else None)  # that of a job is in the report
    cells["source"] = f"reframe job {job}" if job else f"reframe run of {when}" if when else None
    if not any(f"{name}_value" in run for name in header.figures):
        found.fail(line, f"test {title!r} has no values", "without values")
        return
    for name in header.figures:
        found.figure(line, name, run.get(f"{name}_value"), run.get(f"{name}_unit"), cells)
