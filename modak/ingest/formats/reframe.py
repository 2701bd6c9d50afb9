"""ReFrame's run report: JSON, ``data_version`` 4.0 to 4.2 (ReFrame 4.7 and later); or what its database of results has of several runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from modak.errors import DataError
from modak.ingest.formats import documents
from modak.ingest.formats.documents import LocatedObject, RowCollector, count, divided, instant, member, objects, text
from modak.ingest.sources import Source
from modak.ingest.table import Raw

PASSED: Final = (None, "pass", "xpass")
NO_COMPILER: Final = ("builtin", "default")
"""Environments that say nothing of the compiler: ReFrame's own, and what sites call the only one that they have."""
_PARAMETER: Final = re.compile(r"%(?!\.(?:repeat_no|part|nid)=)([\w.]+)=(.*)", re.DOTALL)
"""A parameter in a test's name, but for those that ``--repeat`` and ``--distribute`` add: these tell runs of one problem apart."""


class ReFrame:
    """A report of ``reframe --run``; a list of reports (``--describe-stored-sessions``), or of their test cases
    (``--describe-stored-testcases``)."""

    name = "reframe"

    def recognises(self, head: bytes, name: str) -> bool:
        """By its session's information, or by the fields of a test case."""
        first = re.sub(rb"\A\s*\[", b"", head)
        return documents.has_keys(first, ("session_info", "data_version")) or documents.has_keys(first, ("fail_phase", "perfvalues"))

    def read(self, source: Source) -> Iterator[Raw]:
        """A row for each figure of each test that passed."""
        reports, found = documents.documents(source)
        for report in reports:
            if "session_info" not in report and "perfvalues" in report:
                _case(report, found)
                continue
            version = str(member(report, "session_info", dict).get("data_version"))
            if not re.fullmatch(r"4\.[0-9]+", version):
                known = "known: 4.0 to 4.2 (ReFrame 4.7 and later); of older ones load the performance logs, perflogs/"
                raise DataError(f"a report of data_version {version[:20]!r}; {known}", field=f":{report.line}")
            for run in objects(report, "runs"):
                for case in objects(run, "testcases"):
                    _case(case, found)
        yield from found.rows()


def _case(case: LocatedObject, found: RowCollector) -> None:
    title = text(case.get("display_name")) or text(case.get("name")) or "?"
    if case.get("result") != "pass":
        phase = text(case.get("fail_phase"))
        result = text(case.get("result"))
        found.runs = "tests"
        found.fail(case.line, f"test {title!r} ended as {result!r}" + (f" in {phase}" if phase else ""), result)
        return
    nodes = case.get("job_nodelist")
    cells = test_cells(title, case, len(nodes) if isinstance(nodes, list) else None)
    job = text(case.get("jobid"))  # as in the performance log, which ReFrame writes of the same runs
    source = f"reframe job {job}" if job else f"reframe {text(case.get('uuid')) or text(case.get('session_uuid')) or ''}".strip()
    if not case.get("perfvalues"):
        found.leave(case.line, f"test {title[:80]!r} has no performance figures")
        return
    for key, values in member(case, "perfvalues", dict).items():
        if not isinstance(values, list) or len(values) < 5:
            raise DataError(f"'perfvalues' of {key[:60]!r}: at least five values are required", field=f":{case.line}")
        name = key.split(":", 2)[-1]
        if len(values) > 5 and values[5] not in PASSED:  # from 4.1 on each figure carries its own outcome
            found.leave(case.line, f"{name!r} of {title[:80]!r} ended as {values[5]!r}")
        else:
            found.figure(case.line, name, text(values[0]), text(values[4]), {**cells, "source": source})


def test_cells(title: str, case: dict[str, Any], nodes: int | None) -> dict[str, str | None]:
    """The columns that a test case fills but for its figures: what ran, where, on how much, and when."""
    ranks, per_node = count(case.get("num_tasks")), count(case.get("num_tasks_per_node"))
    nodes = divided(ranks, per_node) or nodes or (1 if ranks == 1 else None)
    environment = text(case.get("environ"))
    laid = {
        "nodes": nodes,
        "ranks_per_node": per_node or divided(ranks, nodes),
        "threads_per_rank": count(case.get("num_cpus_per_task")),
        "gpus_per_node": count(case.get("num_gpus_per_node")),
    }
    named = {
        "application": re.split(r" [%~]", title, maxsplit=1)[0],
        "system": text(case.get("system")),
        "partition": text(case.get("partition")),
        "compiler": None if environment in NO_COMPILER else environment,
        "measured_at": instant(text(case.get("job_completion_time_unix"))),
    }
    counts = {name: None if value is None else str(value) for name, value in laid.items()}
    parts = map(_PARAMETER.match, re.split(r" (?=[%~])", title))
    said = documents.uncounted({part[1]: part[2] for part in parts if part}, laid, ranks)
    return {**documents.parameters(said), **counts, **named}
