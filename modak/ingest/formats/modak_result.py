"""What MODAK's own job scripts write at their end: ``modak-result-JOB.json``. Of a run that failed or was stopped it is that it was."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from modak.ingest.formats import documents
from modak.ingest.formats.documents import objects, text, within
from modak.ingest.sources import Source
from modak.ingest.table import Raw
from modak.results.failures import NO_PROGRAM, STOPPED, metric_of_status

SOURCE: Final = "job {}, plan {}"
"""The source of a row, by the number of the job, or of the array of jobs, and the plan."""
_SOURCE: Final = re.compile(r"job (\S+), plan (\S+)")


def parts_of(source: str) -> tuple[str, str] | None:
    """The number of the job and the plan that a source of :data:`SOURCE` names; ``None``: it is another one.

    >>> parts_of("job 4711, plan 12ab"), parts_of("slurm job 4711")
    (('4711', '12ab'), None)
    """
    found = _SOURCE.fullmatch(source)
    return (found[1], found[2]) if found else None


def job_called(job: str, file: str) -> str:
    """What a job is called, of a job array the task, whose index is in the name of its file.

    >>> job_called("79", "runs/modak-result-79-3.json"), job_called("79", "modak-result-79.json")
    ('task 3 of job 79', 'job 79')
    """
    found = re.search(rf"modak-result-{re.escape(job)}-([0-9]+)\.json$", file)
    return f"task {found[1]} of job {job}" if found else f"job {job}"


class ModakResult:
    """The result file of one job."""

    name = "modak_result"

    def recognises(self, head: bytes, name: str) -> bool:
        """By the key that it starts with."""
        return documents.has_keys(head, ("modak_result",))

    def read(self, source: Source) -> Iterator[Raw]:
        """The records under ``results``, whose keys are the columns."""
        document, found = documents.document(source)
        status, origin = text(document.get("exit_status")), SOURCE.format(text(document.get("job")), text(document.get("plan")))
        results = objects(document, "results") if status == "0" else []
        if failure := _failed_run(document):
            found.row(document.line, **{"source": origin, **failure})
            stopped = f"was stopped after {failure['value']} s (status {status}): it takes longer than that"
            what = stopped if failure["metric"] == STOPPED else f"failed with status {status}, and counts as {failure['metric']}"
            found.note(document.line, f"the run {what}")
        elif _ended_well(document):
            found.leave(document.line, f"what follows the run failed with status {status}: neither its time nor a failure counts")
        elif not results:
            found.leave(document.line, f"the run ended with status {status}{_what_is_known(document, status)}")
        if results and document.get("metric_read") is False:
            found.note(document.line, "the metric was not found, only the time of the run: its output says why, or that it is not whole")
        for one in results:
            found.row(one.line, **{"source": origin, **one})
        yield from found.rows()


def _failed_run(document: Mapping[str, Any]) -> dict[str, Any] | None:
    """The row of a run that failed or was stopped; ``None``: it was not, or did not begin, or is a part of a chain, which may have stopped
    on purpose."""
    run, status = within(document, "unfinished"), text(document.get("exit_status")) or ""
    seconds = text(document.get("seconds"))
    if not run or not status.isdecimal() or seconds is None or "earlier" in document or _ended_well(document):
        return None
    lacked = document.get("out_of_memory")
    metric = metric_of_status(int(status), lacked if isinstance(lacked, bool) else None)
    value = seconds if metric == STOPPED else "1"
    return {**run, "measured_at": document.get("ended"), "metric": metric, "value": value} if metric else None


def _what_is_known(document: Mapping[str, Any], status: str | None) -> str:
    """Why a run that did not fail has no results, as far as status and file say."""
    if status in [str(number) for number in NO_PROGRAM]:
        return ": the program, or one that it needs, was not found, or may not be executed"
    if status != "0":
        return ""
    part = "unfinished" in document or "earlier" in document
    return ", but may be a part of one: it was told to stop, or what ran before is not known" if part else " and has no results"


def _ended_well(document: Mapping[str, Any]) -> bool:
    """Whether the run of a job that failed ended well, and what the job does after it failed."""
    return text(document.get("run_status")) == "0"
