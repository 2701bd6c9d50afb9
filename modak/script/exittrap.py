"""What the EXIT trap of a script does, whatever ends it: ``modak-result-JOB.json`` is written, and the job's own directory is removed.

Nothing here can fail the job: errors are ignored, and the exit status is that of the run. ``@NAME@`` in a text is put in by
:func:`modak.script.shelltext.with_parts`, and a line that ends with ``@kind@`` is there for some kinds of jobs (``with_lines``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from modak.jobs.spec import JobSpec, Report
from modak.schedulers import Scheduler
from modak.script import checker
from modak.script.bash import Line, assign, cached, joined_lines, run
from modak.script.parts import PLAN, section
from modak.script.shelltext import ours, with_lines, with_parts
from modak.text.words import Word, variable

NOW: Final = "$(modak_now)"
"""Milliseconds since 1970, in scripts that write a result or have a directory of their own."""
_CLOCK: Final = ours(r"""
modak_now() { date +%s%N | sed -E 's/[^0-9]*$/000/; s/^(.{13}).*/\1/'; } # milliseconds; busybox's date has no parts of a second
""")
_END: Final = r"""
modak_end() {
    MODAK_STATUS=$?
    trap '' TERM # may be sent more than once at the time limit
    trap - EXIT
    set +e
    if test "${MODAK_STATUS}" -eq 0 && test -z "${MODAK_DONE:-}"; then # a signal leaves the status of the command before
        printf 'modak: a signal ended the script before its last command\n' >&2
        MODAK_STATUS=143
        MODAK_STOPPED=perhaps @killed@
    fi
    @STEPS@
    exit "${MODAK_STATUS}"
}
"""
_REPORT: Final = r"""
modak_report() {
    local took=0 seconds=null ended@LOST@@ALSO@ results='' unfinished=''
    ended="$(date -u +%Y-%m-%dT%H:%M:%SZ)"
    test -z "${MODAK_STARTED:-}" || took="$((${MODAK_ENDED:-$(modak_now)} - MODAK_STARTED))"
    test "${took}" -le 0 || printf -v seconds '%d.%03d' "$((took / 1000))" "$((took % 1000))" # below 0: the clock was set back
@PREEMPTED@ @preempted@
    test "${@RESTARTS@:-0}" = 0 || lost=1 # the start before may have done a part @restarts@
    test "${MODAK_STATUS}" -ne 0 || ! @AGAIN@ || lost=1 # the start before may have done a part @again@
    local before earlier=null whole='' @chained@
    if before="$(modak_earlier)"; then @chained@
        printf -v whole '%d.%03d' "$(((took + before) / 1000))" "$(((took + before) % 1000))" @chained@
        printf -v earlier '%d.%03d' "$((before / 1000))" "$((before % 1000))" @chained@
    else @chained@
        lost=1 @chained@
    fi @chained@
    if test "${MODAK_STATUS}" -ne 0 || test -n "${MODAK_STOPPED:-}"; then @named@
        unfinished=", \"unfinished\": {${MODAK_RECORD}}" @named@
        test -z "${lost}" || unfinished=', "unfinished": null' @lost@
        test "${MODAK_STATUS}" -eq 0 || test -z "${MODAK_ENDED:-}" || also=', "run_status": 0' # what failed came after the run @after@
        also+="$(modak_lacked)" @killed@
    elif test "${took}" -gt 0@KNOWN@; then @named@
        results="{${MODAK_RECORD}, \"measured_at\": \"${ended}\", \"metric\": \"wall_time\", \"unit\": \"s\", \"value\": ${@TIME@}}" @named@
        results+="$(modak_metric)" || also=', "metric_read": false' @metric@
    fi @named@
    mkdir -p -- "${MODAK_RESULT%/*}" @folder@
    printf '{"modak_result": 1, "plan": "%s", "job": "%s", "host": "%s", "ended": "%s",
 "exit_status": %d@MEMBER@, "seconds": %s, "results": [%s]%s}\n' "${MODAK_PLAN}" "${MODAK_JOB}" "$(uname -n | tr -cd 'A-Za-z0-9._-')" \
        "${ended}" "${MODAK_STATUS}"@VALUE@ "${seconds}@EARLIER@" "${results}" "${unfinished}" >"${MODAK_RESULT}"
}
modak_killed() { sed -n 's/^oom_kill //p' /proc/vmstat 2>/dev/null || :; } # how many processes this node had no memory for @killed@
modak_lacked() { # if the launcher ended all ranks, and not because somebody stopped them: whether this node lacked memory @killed@
    local lacked=true @killed@
    test -n "${MODAK_KILLED:-}" || return 0 @killed@
    test "$(modak_killed)" != "${MODAK_KILLED}" || lacked=false @killed@
    case "${MODAK_STATUS}" in @killed@
    1) test "${lacked}" = true || return 0 ;; # of torchrun, whatever ended a rank @torchrun@
    137) ;; @srun@
    143) @srun@
        test -z "${MODAK_STOPPED:-}" || return 0 @srun@
        @UNDISTURBED@ || return 0 @srun@
        ;; @srun@
    *) return 0 ;; @killed@
    esac @killed@
    printf ', "out_of_memory": %s' "${lacked}" @killed@
} @killed@
MODAK_KILLED="$(modak_killed)" @killed@
"""
"""The node's name is not ``HOSTNAME``, which may be that of the submit host. ``unfinished`` is the run that a later job may continue. Of
ranks that ``srun`` ends because one of them failed it gives the status 143, whatever that one's was; and 137, that of a rank that the
kernel kills, for all ranks of MPICH's if one calls ``MPI_Abort``. That of ``torchrun`` is 1, whatever ended a rank. What tells is whether
the kernel has ended a process for want of memory: ``out_of_memory``. That of another node is not seen, and counts as a run that failed for
another reason."""
_EARLIER: Final = r"""
modak_part() { # milliseconds that a result counts of this run, with those of the jobs before it; 0: none
    local text="$1" own=0 before=0 times='"seconds": (null|([0-9]+)[.]([0-9]{3}))(, "earlier": ([0-9]+)[.]([0-9]{3}))?, "results"'
    if [[ ${text} == *", \"unfinished\": {${MODAK_RECORD}}}" && ${text} =~ ${times} ]]; then
        own="0${BASH_REMATCH[2]}${BASH_REMATCH[3]}" before="0${BASH_REMATCH[5]}${BASH_REMATCH[6]}"
    fi
    printf '%d' "$((10#${own} + 10#${before}))"
}
modak_earlier() { # milliseconds of this run in the jobs before; fails if not known
    local kind names job jobs file files text part most=0 missing=''
    while IFS=: read -r kind names; do
        case "${kind}" in
            singleton) return 1 ;; # it names no job
            afterany | afterok | afternotok) IFS=: read -r -a jobs <<<"${names}" ;;
            *) continue ;;
        esac
        for job in "${jobs[@]}"; do
            test "${kind}" = afterok || missing=1 # one that succeeded may have been no part of the run
            files=("${MODAK_RESULT}") @one@
            files=("${MODAK_HERE}/modak-result-${job}".*json) @each@
            for file in "${files[@]}"; do
                test -f "${file}" || continue
                text="$(<"${file}")"
                [[ ${text} == *"\"job\": \"${job}"[.\"]* ]] || continue
                [[ ${text} != *', "unfinished": null}' ]] || return 1
                missing='' # it knows of the jobs that it named itself
                part="$(modak_part "${text}")"
                test "${part}" -le "${most}" || most="${part}"
            done
        done
    done <<<"${MODAK_BEFORE//[,?]/$'\n'}"
    test -z "${missing}" && printf '%d' "${most}"
}
"""
"""A job's file is ``modak-result-4711.json``, or ``4711.server.json`` where requests may leave out the server; or ``one`` for the chain."""
_METRIC: Final = """
modak_metric() {
    local LC_ALL=C line match value cut='[0-9]([.,]:[0-9]+|,:[0-9]{3}[.][0-9]*)$'
    local number='^[+]?(([0-9]+|[0-9]{1,3}(,[0-9]{3})+)([.][0-9]*)?|[.][0-9]+)([eE][+-]?0*[0-9]{1,2})?$'
    line="${MODAK_LINE:-}" @log@
    if ! [[ -n ${line} && ${line} =~ ${MODAK_PATTERN} ]]; then @log@
        printf 'modak: no metric: %s\\n' "${MODAK_UNREAD}" >&2 @log@
    line="$(<"${MODAK_NOTES}/output.last")" @output@
    test -n "${line}" || line="$(<"${MODAK_NOTES}/errors.last")" @output@
    if ! [[ ${line} =~ ${MODAK_PATTERN} ]]; then @output@
        printf 'modak: no metric: no line of the output matches its pattern\\n' >&2 @output@
    elif match="${BASH_REMATCH[0]}" value="${BASH_REMATCH[1]}" && [[ ${value//,/}${line#*"${match}"} =~ ^[+]?[0-9]+,[0-9] ||
        ${match} == "${value}"* && ${line%%"${match}"*}:${value} =~ ${cut} ]]; then
        printf 'modak: no metric: %s may be part of a longer number: let the group take all of it ([0-9.,]+), ' "${value}" >&2
        printf 'or the pattern the commas around it, if they separate columns\\n' >&2
    elif ! [[ ${value} =~ ${number} && ${value} =~ ^[+0.]*[1-9] ]]; then
        printf 'modak: no metric: %s is not a positive number from 1e-99 to 1e99\\n' "${value}" >&2
    else
        printf ', {%s, "measured_at": "%s", %s, "value": %.12g}' "${MODAK_RECORD}" "${ended}" "${MODAK_METRIC}" "${value//,/}"
        return
    fi
    return 1
}
"""
_SEND: Final = """
modak_send() { # the result file, and nothing else, to the service that MODAK_SERVER of the job's environment names
    local token="${MODAK_TOKEN:-}"
    test -n "${token}" || read -r token <"${MODAK_HERE}/modak-${MODAK_PLAN}.token"
    printf 'header = "Authorization: Bearer %s"\\n' "${token//[!A-Za-z0-9._~+\\/=-]/}" |
        curl --config - --proto '=http,https' --silent --show-error --fail --location --max-redirs 0 --max-time 20 --output /dev/null \\
            --header 'Content-Type: application/json' --data-binary "@${MODAK_RESULT}" \\
            -- "${MODAK_SERVER%/}/plans/${MODAK_PLAN}/result"
}
"""
_REPORTED: Final = r"""if ! modak_report; then
        printf 'modak: the result could not be written to %s\n' "${MODAK_RESULT}" >&2
        test ! -w "${MODAK_RESULT}" || rm -f -- "${MODAK_RESULT}" 2>/dev/null # it is not whole, and could not be loaded
        MODAK_SERVER=''
    fi"""
_SENT: Final = r"""test -z "${MODAK_SERVER:-}" || modak_send ||
        printf 'modak: the result could not be sent; it is in %s\n' "${MODAK_RESULT##*/}" >&2"""


_HERE: Final = assign("MODAK_HERE", variable("PWD", ""))
_SUSPENDED: Final = "trap MODAK_STOPPED=perhaps CONT # suspended and resumed: its time is not that of the run alone"
"""Not where a signal is expected, which bash may lose beside this one."""


def exit_trap(job: JobSpec, scheduler: Scheduler, timed: bool) -> tuple[Line, ...]:
    """The function ``modak_end``, which runs whatever ends the script; no lines if there is nothing to do.

    ``timed``: whether the script has a timer, which may still be running.
    """
    report = report_of(job)
    steps = [*_steps(job, timed=timed)]
    if not steps:
        return ()
    title = "at exit, however the job ends"
    if report:
        title += f": {report.file or 'modak-result-JOB'}.json records the outcome (the job itself is below)"
    start = section(title, (_HERE, _job_number(job, scheduler), _CLOCK) if report or job.staging else ())
    text = with_lines(_END, _enders(job, scheduler))
    end = [ours(with_parts(text, STEPS="\n    ".join(steps))), run("trap", "modak_end", "EXIT")]
    signalled = bool(job.attributes.signal) and (timed or scheduler.signals(job))
    if report and not signalled and not scheduler.preempted:
        end.append(ours(_SUSPENDED))
    return (_as_one(*start), *(_written(job, report, scheduler) if report else ()), _as_one(*end))


def _steps(job: JobSpec, *, timed: bool) -> Iterator[str]:
    """What ``modak_end`` does, in order."""
    if timed:
        yield "modak_untimed"
    if report_of(job):
        yield _REPORTED
    if job.staging:
        yield 'test -z "${MODAK_MADE:-}" || modak_tidy'
    if report_of(job):
        yield _SENT
    if reads_output(job):
        yield 'test -z "${MODAK_TEE[*]:-}" || modak_kept'
        yield 'rm -rf -- "${MODAK_NOTES:-}"'


def done_mark(job: JobSpec, timed: bool) -> tuple[Line, ...]:
    """The last line, for ``modak_end``."""
    return (ours("MODAK_DONE=1 # no signal has cut the script short"),) if report_of(job) or job.staging or timed else ()


@cached
def _as_one(*lines: Line) -> Line:
    """Lines that are the same in many scripts as one, which is checked once."""
    return checker.checked(lines)


def _job_number(job: JobSpec, scheduler: Scheduler) -> Line:
    name = (scheduler.array_id if is_array(job, scheduler) else None) or scheduler.job_id
    return _number(name) if name else ours('MODAK_JOB="$$"')


@cached
def _number(name: str) -> Line:
    """The job's number without signs that no file's name should have: ``92[2].server`` of an array is one in PBS."""
    return joined_lines((assign("MODAK_JOB", variable(name, ":-$$")), assign("MODAK_JOB", variable("MODAK_JOB", "//[!A-Za-z0-9._-]/-"))))


def report_of(job: JobSpec) -> Report | None:
    """What the script writes into a result; ``None``: it writes none, because the job belongs to no plan."""
    return job.report if PLAN.fullmatch(job.plan_id) else None


def names_run(job: JobSpec) -> bool:
    """Whether the result says what ran: its time and metric are those of an application."""
    report = report_of(job)
    return report is not None and bool(report.record.get("application"))


def pattern_of(job: JobSpec) -> str | None:
    """The pattern of the metric that the script looks for; ``None``: none."""
    return (job.report.pattern or None) if job.report and names_run(job) else None


def log_of(job: JobSpec) -> Word | None:
    """The file that the script reads the metric from; ``None``: it reads none, or reads it from the output."""
    return job.report.log if job.report and pattern_of(job) else None


def reads_output(job: JobSpec) -> bool:
    """Whether the script looks for the metric in the output."""
    return pattern_of(job) is not None and log_of(job) is None


def task(job: JobSpec, scheduler: Scheduler) -> tuple[Word, ...]:
    """A suffix for names, different for each task of a job array that the scheduler takes; ``-0`` if the script runs without it."""
    return ("-", variable(scheduler.array_index or "", ":-0")) if is_array(job, scheduler) else ()


def is_array(job: JobSpec, scheduler: Scheduler) -> bool:
    """Whether the scheduler starts the script as a job array."""
    return bool(job.attributes.array and scheduler.array_index and scheduler.array(job.attributes.array))


def _enders(job: JobSpec, scheduler: Scheduler) -> Collection[str]:
    """The words for what ends all ranks if one fails, so that the status of the run does not tell why: the script looks for the reason.
    Empty: nothing does, or no result would have it."""
    if not names_run(job):
        return ()
    found = {"srun": job.slurm_step and scheduler.undisturbed, "torchrun": job.launcher == "torchrun"}
    enders = [name for name, of_it in found.items() if of_it]
    return (*enders, "killed") if enders else ()


def _before(job: JobSpec, scheduler: Scheduler) -> tuple[Word, ...]:
    """What the job waits for, if it may continue the run of earlier jobs. The command line may say more than the request."""
    asked = job.attributes.dependency or ""
    waits = re.search("after(any|ok|notok):", asked)
    if scheduler.dependency and (waits or job.attributes.signal):
        return (variable(scheduler.dependency, f":-{asked}"),)
    return (asked,) if waits else ()


def _written(job: JobSpec, report: Report, scheduler: Scheduler) -> Iterator[Line]:
    """Variables and functions of the report."""
    named = names_run(job)
    pattern, before = pattern_of(job), _before(job, scheduler) if named else ()
    yield assign("MODAK_PLAN", job.plan_id)
    if named:
        yield assign("MODAK_RECORD", _members(report.record))
    yield _file(report.file, task(job, scheduler))
    if pattern:
        yield assign("MODAK_PATTERN", pattern)
        yield assign("MODAK_METRIC", _members({"metric": report.metric or "", "unit": report.unit or ""}))
        yield ours(with_lines(_METRIC, ["log" if log_of(job) else "output"]))
    if before:
        yield assign("MODAK_BEFORE", *before)
        yield ours(with_lines(_EARLIER, ["one" if report.file else "each"]))
    yield _functions(_kinds(job, report, scheduler, metric=bool(pattern), chained=bool(before)), scheduler)


def _kinds(job: JobSpec, report: Report, scheduler: Scheduler, *, metric: bool, chained: bool) -> frozenset[str]:
    """The words for what the report may have to say. ``chained``: the job may continue the run of earlier ones."""
    of_run = {
        "named": True,
        "preempted": scheduler.preempted,
        "restarts": scheduler.restarts and job.attributes.requeue is not False,
        "again": scheduler.again and job.attributes.requeue is not False and not is_array(job, scheduler),  # not thousands of tasks
        "after": job.post or any(rule.stage == "after" for rule in job.rules),
    }
    of_all = {
        "chained": chained,
        "metric": metric,
        "folder": report.file and "/" in report.file,
    }
    told = of_all | (of_run if names_run(job) else {})
    return frozenset((*(kind for kind, true in told.items() if true), *_enders(job, scheduler)))


@cached
def _functions(kinds: Collection[str], scheduler: Scheduler) -> Line:
    """The functions that write the report and send it, for each of the few kinds of report."""
    may_lose, more = not {"restarts", "again", "chained"}.isdisjoint(kinds), not {"after", "killed", "metric"}.isdisjoint(kinds)
    report = with_parts(
        with_lines(_REPORT, {*kinds, "lost"} if may_lose else kinds),
        LOST=" lost=''" if may_lose else "",
        ALSO=" also=''" if more else "",
        MEMBER="%s" if more else "",
        VALUE=' "${also}"' if more else "",
        KNOWN=' && test -z "${lost}"' if may_lose else "",
        TIME="whole" if "chained" in kinds else "seconds",
        EARLIER=r", \"earlier\": ${earlier}" if "chained" in kinds else "",
        RESTARTS=scheduler.restarts or "",
        AGAIN=scheduler.again,
        PREEMPTED=scheduler.preempted.rstrip("\n"),
        UNDISTURBED=scheduler.undisturbed,
    )
    return checker.checked((ours(report), ours(_SEND)))


@cached
def _file(name: str | None, of_task: tuple[Word, ...]) -> Line:
    """``MODAK_RESULT``: a file for each job, unless the request names one, and for each task of an array."""
    file: tuple[Word, ...] = (f"/{name}",) if name else ("/modak-result-", variable("MODAK_JOB", ""))
    return assign("MODAK_RESULT", variable("MODAK_HERE", ""), *file, *of_task, ".json")


def _members(record: Mapping[str, str | float | bool]) -> str:
    """The members of a JSON object, without its braces."""
    return json.dumps(dict(record))[1:-1]
