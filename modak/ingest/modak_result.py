"""What MODAK's own job scripts write at their end: ``modak-result-JOB.json``. A run that failed has no results."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from modak.ingest import documents
from modak.ingest.documents import objects, text
from modak.ingest.sources import Source
from modak.ingest.table import Raw

SOURCE: Final = "job {}, plan {}"
"""The source of a row, by the number of the job, or of the array of jobs, and the plan."""
_SOURCE: Final = re.compile(r"job (\S+), plan (\S+)")


def job_of(source: str) -> str | None:
    """The number of the job that a source of :data:`SOURCE` names; ``None``: it is another one.

    >>> job_of("job 4711, plan 12ab"), job_of("slurm job 4711")
    ('4711', None)
    """
    parts = parts_of(source)
    return parts[0] if parts else None


def parts_of(source: str) -> tuple[str, str] | None:
    """The number of the job and the plan that a source of :data:`SOURCE` names; ``None``: it is another one."""
    found = _SOURCE.fullmatch(source)
    return (found[1], found[2]) if found else None


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
        if not results:
            found.leave(document.line, f"the run ended with status {status}{' and has no results' if status == '0' else ''}")
        for one in results:
            found.row(one.line, **{"source": origin, **one})
        yield from found.rows()
