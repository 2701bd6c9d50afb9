"""Results that a job reports, checked against its plan: nothing else can be loaded in the job's name."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final

from modak.errors import Fault, RequestError

OWN: Final = frozenset(("value", "measured_at"))
"""Fields that only the run knows."""
TIMED: Final = {"metric": "wall_time", "unit": "s"}
_REPORTS: Final = "\nmodak_report() {\n"
"""End of the script's record of its run. Below it are words of the request, which might look like a record."""
MOST: Final = 2
"""Results of one report: the time of the run, and the metric that it printed."""
MOST_FAILED: Final = 10
"""Reports of a plan after which no failed run is stored any more: the second tells all that can be learnt, unless they are taken out."""


def results_of(document: object, plan_id: str, job_script: str) -> tuple[Mapping[str, Any], ...]:
    """The results in a report, or the run that failed; empty if nothing was measured, or the run may go on in another job.

    Raises :class:`~modak.errors.RequestError` for a report of another plan, and for results that the plan's script cannot have written.
    """
    if not isinstance(document, Mapping) or document.get("modak_result") != 1:
        raise RequestError("the report that a job script writes at its end", field="modak_result")
    if document.get("plan") != plan_id:
        raise RequestError("the report is of another plan", field="plan")
    if type(document.get("exit_status")) is not int:
        raise RequestError("allowed: a whole number", field="exit_status")
    results, failed = document.get("results"), document.get("unfinished") if has_failed(document) else None
    if failed:
        results = [failed]
    elif has_failed(document) or not results:
        return ()
    if not isinstance(results, list) or len(results) > MOST:
        raise RequestError(f"allowed: a list of at most {MOST}", field="results")
    expected, printed = _recorded(job_script)
    metrics: Sequence[Mapping[str, Any]] = ({},) if failed else (TIMED, printed)[: len(results)]
    faults = [
        fault
        for number, (result, metric) in enumerate(zip(results, metrics, strict=True))
        for fault in _differences(result, {**expected, **metric}, "unfinished" if failed else f"results.{number}")
    ]
    RequestError.raise_for(faults)
    return tuple(results)


def has_failed(document: Mapping[str, Any]) -> bool:
    """Whether a report is of a run that did not end well."""
    return document.get("exit_status") != 0


def _differences(result: object, expected: Mapping[str, Any], at: str) -> list[Fault]:
    if not isinstance(result, Mapping):
        return [Fault(at, "allowed: an object")]
    names = sorted({*expected, *result} - OWN)
    return [Fault(at, f"{name!a:.60} is not what the plan says") for name in names if result.get(name) != expected.get(name)]


def _recorded(job_script: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The run as the script records it, and the metric that the script reads from its output."""
    recorded, printed = _members(job_script, "MODAK_RECORD"), _members(job_script, "MODAK_METRIC")
    if not recorded:
        raise RequestError("the plan says nothing of an application, so nothing can be learnt from it", field="results")
    return recorded, printed


def _members(job_script: str, name: str) -> dict[str, Any]:
    """The JSON members that a script assigns to a variable; empty if it does not."""
    notes = job_script.partition(_REPORTS)[0].split("\n")
    line = next((line for line in notes if line.startswith(f"{name}=")), f"{name}=")
    members: dict[str, Any] = json.loads(f"{{{shlex.split(line)[0].partition('=')[2]}}}")
    return members
