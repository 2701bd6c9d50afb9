"""The run: in the foreground, or in the background if a signal must reach the script. A metric is read from its output as it passes."""

from __future__ import annotations

from typing import Final

from modak.dsl import Signal
from modak.jobs.spec import JobSpec
from modak.schedulers import Scheduler
from modak.script.bash import Line, assign, behind, command_line, into, quiet, run, shell_function
from modak.script.exittrap import NOW, log_of, names_run, reads_output, report_of
from modak.script.parts import section
from modak.script.shelltext import ours, with_lines
from modak.script.staging import gather_log
from modak.text import words
from modak.text.words import variable, word

_WAIT: Final = """
modak_wait() {
    while :; do
        MODAK_SIGNALLED=''
        MODAK_STATUS=0
        wait "${MODAK_RUN}" || MODAK_STATUS=$?
        test -n "${MODAK_SIGNALLED}" || return "${MODAK_STATUS}"
    done
}
"""
_SIGNAL: Final = """
modak_signal() {
    MODAK_SIGNALLED=1
    MODAK_STOPPED=perhaps @reported@
    printf 'modak: the time limit is near\\n' >&2
    modak_checkpoint || printf 'modak: the checkpoint failed with status %s\\n' "$?" >&2
}
"""
"""A run that got the signal may have stopped early: the report says so."""
_TIMER: Final = """
modak_timer() {
    trap 'kill "$!"; exit' TERM INT
    sleep "$(($1 - SECONDS))" &
    wait "$!" && kill -s "$2" "$$"
}
modak_untimed() {
    test -z "${MODAK_TIMER:=$!}" || kill "${MODAK_TIMER}" 2>/dev/null
}
"""
_RUN: Final = "MODAK_RUN=$!"
_NOTES: Final = """
MODAK_NOTES="$(mktemp -d || mktemp -d -- "${PWD}/modak-notes.XXXXXX")"
modak_keep() { # a stream of the run is passed on, and its last line with the metric is kept; TERM is for the run, which may write more
    mkfifo -- "${MODAK_NOTES}/$1" "${MODAK_NOTES}/$1.lines"
    (
        trap '' TERM
        { LC_ALL=C tr '\\r' '\\n' | LC_ALL=C grep -a -E -e "${MODAK_PATTERN:?}" || cat; } <"${MODAK_NOTES}/$1.lines" |
            { tail -n 1 >"${MODAK_NOTES}/$1.last" || cat >/dev/null; }
    ) &
    MODAK_KEEP+=("$!")
    (trap '' TERM && exec tee -- "${MODAK_NOTES}/$1.lines" <"${MODAK_NOTES}/$1") &
    MODAK_TEE+=("$!")
}
modak_kept() { # waits until all output has passed, but not for processes that the run leaves behind
    local tries=0 stream
    while kill -0 "${MODAK_TEE[@]}" 2>/dev/null; do
        # tee waits until somebody opens the pipe, which a run that could not start has not done
        for stream in output errors; do
            dd if=/dev/null of="${MODAK_NOTES}/${stream}" oflag=nonblock 2>/dev/null || :
        done
        if test "$((tries += 1))" -gt 100; then
            printf 'modak: a process that the run left behind holds its output open: it is not waited for\\n' >&2
            kill -s KILL "${MODAK_TEE[@]}" 2>/dev/null || :
            break
        fi
        sleep 0.1
    done
    wait "${MODAK_TEE[@]}" "${MODAK_KEEP[@]}" 2>/dev/null || :
    MODAK_TEE=()
}
MODAK_KEEP=()
MODAK_TEE=()
modak_keep output
modak_keep errors >&2
"""
"""The node's temporary directory may be full or missing, or be the application's own: the run must not fail for want of room, and no part
of the pipe ends before the output does."""
_LOG: Final = """
modak_state() { # size, number and time of the metric's file; it is opened, because a network file system then looks at it anew
    test -f "${MODAK_LOG}" && stat -L -c '%s %i %y' /dev/stdin 2>/dev/null <"${MODAK_LOG}"
}
modak_before() { # a sum of the last bytes before byte $1 of the file
    local last="$(($1 < 1000 ? $1 : 1000))"
    dd if="${MODAK_LOG}" bs=1 skip="$(($1 - last))" count="${last}" 2>/dev/null | sha256sum
}
modak_logged() { # finds the last line with the metric that the run wrote: what the file held before does not count
    local has from=0 had="${MODAK_HAD%% *}"
    had="${had:-0}"
    MODAK_UNREAD="${MODAK_LOG} is missing, or is no file that can be read"
    if has="$(modak_state)"; then
        MODAK_UNREAD="no line that this run wrote to ${MODAK_LOG} matches its pattern"
        if test "${has}" = "${MODAK_HAD}" || # not written, or appended to
            { test "${has%% *}" -gt "${had}" && test "$(modak_before "${had}")" = "${MODAK_LAST:-}"; }; then
            from="${had}"
        fi
        MODAK_LINE="$(tail -c "+$((from + 1))" <"${MODAK_LOG}" | LC_ALL=C tr -s '\\r\\0' '\\n' |
            LC_ALL=C grep -a -E -e "${MODAK_PATTERN:?}" | tail -n 1)" || :
    fi
}
if MODAK_HAD="$(modak_state)"; then # of an earlier run; this one may append to it, or write it anew
    MODAK_LAST="$(modak_before "${MODAK_HAD%% *}" || :)"
fi
"""
"""No clock decides what is of this run: that of a file server may differ from the node's."""
_OUTPUT: Final = word(variable("MODAK_NOTES"), "/output")
_ERRORS: Final = word(variable("MODAK_NOTES"), "/errors")


def timed(job: JobSpec, scheduler: Scheduler) -> bool:
    """Whether the script needs a timer that sends it the signal before the limit."""
    says = job.attributes
    return bool(says.signal and says.wall_time_s) and not scheduler.signals(job)


def timer(job: JobSpec, scheduler: Scheduler) -> tuple[Line, ...]:
    """The script's own timer, counted from the start of the script."""
    says = job.attributes
    if not timed(job, scheduler) or not says.signal:
        return ()
    until = str(max(1, (says.wall_time_s or 0) - says.signal.seconds))
    started = run("modak_timer", until, says.signal.name)
    title = "timer: the scheduler does not signal the script before the time limit"
    end = run("trap", "modak_untimed", "EXIT")  # until the trap that does all else; before the start, when there may be no MODAK_TIMER
    return section(title, (ours(_TIMER), end, behind(quiet(started)), ours("MODAK_TIMER=$!")))


def watched(job: JobSpec, scheduler: Scheduler, command: Line) -> tuple[Line, ...]:
    """The command; with the times before and after it if the script writes a result. What it needs of functions is above it."""
    signal = job.attributes.signal if scheduler.signals(job) or timed(job, scheduler) else None
    kept, log = reads_output(job), log_of(job)
    command = into(command, _OUTPUT, _ERRORS) if kept else command
    lines = (
        *((ours(f'MODAK_STARTED="{NOW}"'),) if report_of(job) or (job.staging and job.staging.out) else ()),
        *(_signalled(signal, command) if signal else (command,)),
        *((ours(f'MODAK_ENDED="{NOW}"'),) if report_of(job) else ()),
        *((run("modak_kept"),) if kept else ()),
        *gather_log(job, scheduler),
        *((run("modak_logged"),) if log else ()),
    )
    return (
        *(section("the metric, in a file of the run", (assign("MODAK_LOG", log), ours(_LOG))) if log else ()),
        *(section("the metric, in the output of the run", (ours(_NOTES),)) if kept else ()),
        *(section("the signal before the time limit", _signal_handler(job, signal)) if signal else ()),
        *section("the run", lines),
    )


def _signal_handler(job: JobSpec, signal: Signal) -> tuple[Line, ...]:
    """What is done when the signal comes, and the wait for the run, which goes on."""
    if job.checkpoint:
        words.check_program(job.checkpoint, field="application.checkpoint")
    saves = command_line(job.checkpoint) if job.checkpoint else _forward_signal(job, signal)
    return shell_function("modak_checkpoint", saves), ours(with_lines(_SIGNAL, ["reported"] if names_run(job) else [])), ours(_WAIT)


def _signalled(signal: Signal, command: Line) -> tuple[Line, ...]:
    """The command in the background, because bash handles a signal only between commands.

    A signal after the run is ignored: copying results out may still take time.
    """
    trap, no_trap = run("trap", "modak_signal", signal.name), run("trap", ":", signal.name)
    return behind(command), ours(_RUN), trap, run("modak_wait"), no_trap


def _forward_signal(job: JobSpec, signal: Signal) -> Line:
    """Sends the ranks the signal. ``srun`` would end them on TERM and HUP and ignores INT, so Slurm itself signals the job step."""
    if job.slurm_step:
        task = word(variable("SLURM_ARRAY_JOB_ID"), "_", variable("SLURM_ARRAY_TASK_ID"))
        return run("scancel", f"--signal={signal.name}", task if job.attributes.array else variable("SLURM_JOB_ID"))
    return run("kill", "-s", signal.name, variable("MODAK_RUN"))
