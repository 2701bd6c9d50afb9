"""MLPerf's log of a training run: lines with ``:::MLLOG`` and a JSON object, whatever a launcher wrote before them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from modak.errors import DataError
from modak.ingest.formats import documents
from modak.ingest.formats.documents import RowCollector, count, divided, instant, text
from modak.ingest.sources import Source
from modak.ingest.table import Raw

MARK: Final = ":::MLLOG"
_PLATFORM: Final = re.compile(r"([1-9][0-9]{0,5})x\s?(.+)")
"""A platform as most submissions call it: the number of its nodes, and what they are."""
_SAID: Final = (
    *("submission_benchmark", "submission_platform"),
    *("global_batch_size", "number_of_nodes", "number_of_ranks", "accelerators_per_node"),
)


@dataclass
class _Run:
    """What is known of the run that the log is in."""

    said: dict[str, Any] = field(default_factory=dict)
    started: int | None = None
    line: int = 0


class MlPerf:
    """A log of ``mlperf_logging``."""

    name = "mlperf"

    def recognises(self, head: bytes, name: str) -> bool:
        """By its mark."""
        return MARK.encode() in head

    def read(self, source: Source) -> Iterator[Raw]:
        """A row for each run that stopped with success: the time from run_start to run_stop."""
        lines, found = documents.lines(source)
        run = _Run()
        for line, event in _events(lines):
            key, value = event.get("key"), event.get("value")
            if key in _SAID:
                run.said[str(key)] = value
            elif key == "run_start":
                if run.started is not None:
                    found.leave(run.line, "a run has no run_stop")
                run.started, run.line = _time(event, line), line
            elif key == "run_stop" and run.started is not None:
                _stop(event, run, line, found)
                run.started = None
        if run.started is not None:
            found.leave(run.line, "the run has no run_stop")
        elif not run.line:
            raise DataError("no run_start: only logs of training runs are read")
        yield from found.rows()


def _events(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    parts = ((line, part) for line, row in lines for part in row.split("\r"))  # a progress bar ends with a CR
    for line, part in parts:
        _, mark, rest = part.partition(MARK)
        if mark:
            try:
                event = json.loads(rest)
            except (ValueError, RecursionError):
                raise DataError(f"no JSON object after {MARK}", field=f":{line}") from None
            if isinstance(event, dict):
                yield line, event


def _time(event: Mapping[str, Any], line: int) -> int:
    """Milliseconds since 1970."""
    found = event.get("time_ms")
    if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found < 10**14:
        raise DataError("'time_ms' is required, in milliseconds since 1970", field=f":{line}")
    return found


def _platform(name: str | None, nodes: int | None) -> tuple[str | None, int | None]:
    """The system and its number of nodes: ``4xDGXA100`` are four nodes, unless another number of them is logged.

    >>> _platform("4xDGXA100", None), _platform("testbed", 2)
    (('DGXA100', 4), ('testbed', 2))
    """
    found = _PLATFORM.fullmatch(name or "")
    return (found[2], int(found[1])) if found and nodes in (None, int(found[1])) else (name, nodes)


def _stop(event: Mapping[str, Any], run: _Run, line: int, found: RowCollector) -> None:
    status = documents.within(event, "metadata").get("status")
    benchmark = text(run.said.get("submission_benchmark")) or ""
    if status != "success":
        found.leave(line, f"the run of {benchmark[:80]!r} ended as {status!r}")
        return
    stopped = _time(event, line)
    platform, nodes = _platform(text(run.said.get("submission_platform")), count(run.said.get("number_of_nodes")))
    gpus = count(run.said.get("accelerators_per_node"))
    whole, ranks = count(run.said.get("global_batch_size")), count(run.said.get("number_of_ranks"))
    batch = divided(whole, nodes * gpus if nodes and gpus else ranks)
    found.row(
        line,
        application=benchmark or None,
        system=platform,
        nodes=nodes,
        ranks_per_node=divided(ranks, nodes),
        gpus_per_node=gpus,
        batch_size=batch,
        **({"params.global_batch_size": whole} if whole and batch is None else {}),
        metric="time_to_solution",
        value=stopped - (run.started or 0),
        unit="ms",
        measured_at=instant(str(stopped / 1000)),
    )
