"""How a script ends, whatever ends it: scratch is given back, and ``modak-result.json`` says how the run went.

Nothing here can fail the job: each step may go wrong without a word, and the status is the one that the run left.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from modak.bash import Expansion, Line, assign, run
from modak.jobspec import JobSpec, Report
from modak.schedulers import Scheduler
from modak.scriptparts import PLAN, section
from modak.shelltext import ours

RESULT: Final = "modak-result"
TOKEN_FILE: Final = "modak-token"  # noqa: S105 - a file's name
_INDEX: Final = "SLURM_ARRAY_TASK_ID:-${PBS_ARRAY_INDEX:-${PBS_ARRAYID:-${LSB_JOBINDEX:-${SGE_TASK_ID:-0}}}}"

NOW: Final = "$(date +%s%3N)"
_HERE: Final = 'MODAK_HERE="$(pwd)"'
_END: Final = """
modak_end() {
    MODAK_STATUS=$?
    trap - EXIT
    set +e
    %s
    exit "${MODAK_STATUS}"
}
"""
_REPORT: Final = r"""
modak_report() {
    local took='' seconds=null value='' found='' host="${HOSTNAME:-}" ended record
    ended="$(date -u +%Y-%m-%dT%H:%M:%SZ)"
    if test -n "${MODAK_STARTED:-}"; then
        took="$((${MODAK_ENDED:-$(date +%s%3N)} - MODAK_STARTED))"
        printf -v seconds '%d.%03d' "$((took / 1000))" "$((took % 1000))"
    fi
    if test "${MODAK_STATUS}" -eq 0 && test "${took:-0}" -gt 0 && test -n "${MODAK_RECORD}"; then
        record="{${MODAK_RECORD}, \"measured_at\": \"${ended}\""
        found="${record}, \"metric\": \"wall_time\", \"unit\": \"s\", \"value\": ${seconds}}"
        value="$(modak_metric)"
        test -z "${value}" || found="${found}, ${record}, ${MODAK_METRIC}, \"value\": ${value}}"
    fi
    {
        printf '{"modak_result": 1, "plan": "%s", "exit_status": %d, "seconds": %s,\n' "${MODAK_PLAN}" "${MODAK_STATUS}" "${seconds}"
        printf ' "host": "%s", "job": "%s", "ended": "%s",\n' "${host//[!A-Za-z0-9._-]/}" "${MODAK_JOB//[!A-Za-z0-9._-]/}" "${ended}"
        printf ' "results": [%s]}\n' "${found}"
    } >"${MODAK_RESULT}" && modak_send
}
"""
_RECORD: Final = """
modak_metric() {
    local LC_ALL=C line pattern="${MODAK_PATTERN:-}" number='^[+]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?$'
    test -n "${pattern}" && test -r "${MODAK_OUTPUT:-}" || return 0
    line="$(grep -a -E -e "${pattern}" -- "${MODAK_OUTPUT}" | tail -n 1)"
    [[ ${line} =~ ${pattern} ]] || return 0
    line="${BASH_REMATCH[1]}"
    ! [[ ${line} =~ ${number} ]] || printf '%.12g' "${line}"
}
"""
_SEND: Final = """
modak_send() {
    local token="${MODAK_TOKEN:-}"
    test -n "${MODAK_SERVER:-}" && command -v curl >/dev/null 2>&1 || return 0
    if test -z "${token}" && test -r "${MODAK_HERE}/modak-token"; then
        read -r token <"${MODAK_HERE}/modak-token"
    fi
    printf 'header = "Authorization: Bearer %s"\\n' "${token//[!A-Za-z0-9._~+\\/=-]/}" |
        curl --config - --proto '=http,https' --silent --fail --max-time 20 --output /dev/null \\
            --header 'Content-Type: application/json' --data-binary "@${MODAK_RESULT}" \\
            -- "${MODAK_SERVER%/}/plans/${MODAK_PLAN}/result" >/dev/null 2>&1
}
"""


def ending(job: JobSpec, door: Scheduler, timed: bool) -> tuple[Line, ...]:
    """The function ``modak_end`` for whatever ends the script; nothing where there is nothing to do at the end.

    ``timed``: a timer of the script's own may still run then.
    """
    reports = reported(job)
    steps = (
        *(("modak_untimed",) if timed else ()),
        *(("modak_report 2>/dev/null",) if reports else ()),
        *(("modak_tidy",) if job.staging else ()),
        *(('rm -rf -- "${MODAK_NOTES:-}"',) if reports and job.report and job.report.pattern else ()),
    )
    if not steps:
        return ()
    number = assign("MODAK_JOB", Expansion(f"{door.job_id}:-$$")) if door.job_id else ours('MODAK_JOB="$$"')
    written = _written(job, job.report) if reports and job.report else ()
    known = (ours(_HERE), number, *written)
    return section(
        "what is done at the end, however it comes", (*known, ours(_END % "\n    ".join(steps)), run("trap", "modak_end", "EXIT"))
    )


def reported(job: JobSpec) -> bool:
    """Whether there is a plan that a result can come back to."""
    return job.report is not None and bool(PLAN.fullmatch(job.plan_id))


def _written(job: JobSpec, report: Report) -> tuple[Line, ...]:
    """What the report needs to know, and its functions."""
    index = ("-", Expansion(_INDEX)) if job.attributes.array else ()
    metric = {"metric": report.metric or "", "unit": report.unit or ""}
    printed = (assign("MODAK_PATTERN", report.pattern), assign("MODAK_METRIC", _members(metric))) if report.pattern else ()
    return (
        assign("MODAK_PLAN", job.plan_id),
        assign("MODAK_RECORD", _members(report.record) if report.record.get("application") else ""),
        *printed,
        assign("MODAK_RESULT", Expansion("MODAK_HERE"), f"/{RESULT}", *index, ".json"),
        *map(ours, (_RECORD, _SEND, _REPORT)),
    )


def _members(record: Mapping[str, str | float | bool]) -> str:
    """The members of a JSON object, without its braces; a ``%`` or quote in a value stays text."""
    return json.dumps(dict(record))[1:-1]
