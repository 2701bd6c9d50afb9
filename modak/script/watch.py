"""The run itself: in the foreground, or watched: in the background where a signal must reach the script, with its output kept where
a metric is read from it.
"""

from __future__ import annotations

from typing import Final

from modak.dsl import Notice
from modak.jobs.spec import JobSpec, Signal
from modak.launchers import Launcher
from modak.schedulers import Scheduler
from modak.script.bash import Line, behind, command_line, fed, into, named, piped, quiet, run, variable, word
from modak.script.ending import NOW, reported
from modak.script.parts import section
from modak.script.shelltext import ours
from modak.text import words

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
_NOTES: Final = """
MODAK_NOTES="$(mktemp -d || mktemp -d -- "${PWD}/modak-notes.XXXXXX")"
MODAK_OUTPUT="${MODAK_NOTES}/output"
modak_keep() {
    tee -- "${MODAK_OUTPUT:?}" || rm -f -- "${MODAK_OUTPUT:?}" # an incomplete copy is of no use
}
"""
"""The node's own place may be full or missing: the run must not fail for want of a copy of its output."""
_KEPT: Final = run("modak_keep")


def timed(job: JobSpec, scheduler: Scheduler) -> bool:
    """Whether the script has to send itself the signal before the limit."""
    says = job.attributes
    return bool(says.signal and says.wall_time_s) and not scheduler.signals(job)


def timer(job: JobSpec, scheduler: Scheduler) -> tuple[Line, ...]:
    """The script's own timer, from its first second on."""
    says = job.attributes
    if not timed(job, scheduler) or not says.signal:
        return ()
    until = str(max(1, (says.wall_time_s or 0) - says.signal.seconds))
    started = run("modak_timer", until, says.signal.name)
    title = "timer: the scheduler does not signal the script before the time limit"
    return section(title, (ours(_TIMER), behind(quiet(started)), ours("MODAK_TIMER=$!")))


def watched(job: JobSpec, scheduler: Scheduler, launcher: Launcher, command: Line) -> tuple[Line, ...]:
    """The command, with the times before and after it where somebody reads them."""
    signal = job.attributes.signal if scheduler.signals(job) or timed(job, scheduler) else None
    kept = reported(job) and job.report is not None and job.report.pattern is not None
    lines = (
        *((ours(f'MODAK_STARTED="{NOW}"'),) if reported(job) else ()),
        *((ours(_NOTES),) if kept else ()),
        *(_signalled(job, signal, scheduler, launcher, command, kept) if signal else (piped(command, _KEPT),) if kept else (command,)),
        *((ours(f'MODAK_ENDED="{NOW}"'),) if reported(job) else ()),
    )
    return section("the run", lines)


def _signalled(job: JobSpec, signal: Signal, scheduler: Scheduler, launcher: Launcher, command: Line, kept: bool) -> tuple[Line, ...]:
    """The command in the background: only so does a signal reach the script at once. Its output goes through a pipe where it is kept.

    A signal that comes after the run ends nothing: what is copied out then still has its time.
    """
    if job.checkpoint:
        words.check_program(job.checkpoint, field="application.checkpoint")
    saves = command_line(job.checkpoint) if job.checkpoint else _told(job, signal, scheduler, launcher)
    pipe = word(variable("MODAK_NOTES"), "/pipe")
    return (
        named("modak_checkpoint", saves),
        *map(ours, (_SIGNAL % (_STOPPED if reported(job) else ""), _WAIT)),
        *((run("mkfifo", "--", pipe), behind(fed(_KEPT, pipe)), ours("MODAK_TEE=$!")) if kept else ()),
        behind(into(command, pipe) if kept else command),
        ours(_RUN),
        run("trap", "modak_signal", signal.name),
        run("modak_wait"),
        run("trap", ":", signal.name),
        *((ours('wait "${MODAK_TEE}" || :'),) if kept else ()),
    )


def _told(job: JobSpec, signal: Signal, scheduler: Scheduler, launcher: Launcher) -> Line:
    """The ranks get the signal. ``srun`` ends them on TERM and HUP and keeps INT to itself, so Slurm is asked to send it to their step."""
    if untold(job, scheduler, launcher):
        return run(":")
    if job.slurm_step:
        task = (variable("SLURM_ARRAY_JOB_ID"), "_", variable("SLURM_ARRAY_TASK_ID"))
        return run("scancel", f"--signal={signal.name}", word(*task) if job.attributes.array else word(variable("SLURM_JOB_ID")))
    return run("kill", "-s", signal.name, word(variable("MODAK_RUN")))


def untold(job: JobSpec, scheduler: Scheduler, launcher: Launcher) -> tuple[Notice, ...]:
    """A warning where what starts the ranks would end them, or do nothing, instead of handing the signal on: they are not told."""
    signal = job.attributes.signal
    why = launcher.untold(job, scheduler, signal.name) if signal and not job.checkpoint else ""
    return (Notice(field="job_options.signal", message=why),) if why else ()
