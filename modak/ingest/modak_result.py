"""What MODAK's own job scripts write at their end: ``modak-result-JOB.json``. A run that failed has no results."""

from __future__ import annotations

from collections.abc import Iterator

from modak.ingest import documents
from modak.ingest.documents import objects, text
from modak.ingest.sources import Source
from modak.ingest.table import Raw


class ModakResult:
    """The result file of one job."""

    name = "modak_result"

    def recognises(self, head: bytes, name: str) -> bool:
        """By the key that it starts with."""
        return documents.has_keys(head, ("modak_result",))

    def read(self, source: Source) -> Iterator[Raw]:
        """The records under ``results``, whose keys are the columns."""
        document, found = documents.document(source)
        status, origin = text(document.get("exit_status")), f"job {text(document.get('job'))}, plan {text(document.get('plan'))}"
        results = objects(document, "results") if status == "0" else []
        if not results:
            found.leave(document.line, f"the run ended with status {status}{' and has no results' if status == '0' else ''}")
        for one in results:
            found.row(one.line, **{"source": origin, **one})
        yield from found.rows()
