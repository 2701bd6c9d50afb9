"""The run itself: in the foreground, or watched: in the background where a signal must reach the script, with its output kept where
a metric is read from it.
"""

from __future__ import annotations

from typing import Final

from modak import words
from modak.jobspec import JobSpec, Signal
from modak.schedulers import Scheduler
from modak.script.bash import Line, behind, command_line, fed, into, named, piped, quiet, run, variable, word
from modak.script.ending import NOW, reported
from modak.script.parts import section
from modak.script.shelltext import ours

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
%s    printf 'modak: the time limit is near\\n' >&2
    modak_checkpoint || printf 'modak: the checkpoint failed with status %%s\\n' "$?" >&2
}
"""
_STOPPED: Final = "    MODAK_STOPPED=perhaps\n"
"""For the report: a run that was told of the limit may have stopped early."""
_TIMER: Final = """
modak_timer() {
    trap 'kill "${MODAK_NAP}"' TERM
    sleep "$(($1 - SECONDS))" &
    MODAK_NAP=$!
    wait "${MODAK_NAP}" && kill -s "$2" "$$"
}
modak_untimed() {
    test -z "${MODAK_TIMER:-}" || kill "${MODAK_TIMER}" 2>/dev/null
}
"""
_RUN: Final = "MODAK_RUN=$!"


def timed(job: JobSpec, door: Scheduler) -> bool:
    """Whether the script has to send itself the signal before the limit."""
    says = job.attributes
    return bool(says.signal and says.wall_time_s) and not door.signals(job)


def timer(job: JobSpec, door: Scheduler) -> tuple[Line, ...]:
    """The script's own timer, from its first second on."""
    says = job.attributes
    if not timed(job, door) or not says.signal:
        return ()
    until = str(max(1, (says.wall_time_s or 0) - says.signal.seconds))
    started = run("modak_timer", until, says.signal.name)
    title = "a timer, since the scheduler sends the script alone no signal before the limit"
    return section(title, (ours(_TIMER), behind(quiet(started)), ours("MODAK_TIMER=$!")))


def watched(job: JobSpec, door: Scheduler, command: Line) -> tuple[Line, ...]:
    """The command, with the times before and after it where somebody reads them."""
    signal = job.attributes.signal if door.signals(job) or timed(job, door) else None
    kept = reported(job) and job.report is not None and job.report.pattern is not None
    lines = (
        *((ours(f'MODAK_STARTED="{NOW}"'),) if reported(job) else ()),
        *((ours('MODAK_NOTES="$(mktemp -d)"\nMODAK_OUTPUT="${MODAK_NOTES}/output"'),) if kept else ()),
        *(_signalled(job, signal, command, kept) if signal else (piped(command, _kept()),) if kept else (command,)),
        *((ours(f'MODAK_ENDED="{NOW}"'),) if reported(job) else ()),
    )
    return section("the run", lines)


def _kept() -> Line:
    return run("tee", "--", word(variable("MODAK_OUTPUT")))


def _signalled(job: JobSpec, signal: Signal, command: Line, kept: bool) -> tuple[Line, ...]:
    """The command in the background: only so does a signal reach the script at once. Its output goes through a pipe where it is kept."""
    if job.checkpoint:
        words.check_program(job.checkpoint, field="application.checkpoint")
    saves = command_line(job.checkpoint) if job.checkpoint else run("kill", "-s", signal.name, word(variable("MODAK_RUN")))
    pipe = word(variable("MODAK_NOTES"), "/pipe")
    return (
        named("modak_checkpoint", saves),
        *map(ours, (_SIGNAL % (_STOPPED if reported(job) else ""), _WAIT)),
        *((run("mkfifo", "--", pipe), behind(fed(_kept(), pipe)), ours("MODAK_TEE=$!")) if kept else ()),
        behind(into(command, pipe) if kept else command),
        ours(_RUN),
        run("trap", "modak_signal", signal.name),
        run("modak_wait"),
        run("trap", "-", signal.name),
        *((ours('wait "${MODAK_TEE}"'),) if kept else ()),
    )
