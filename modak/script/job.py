"""One job as text: header, environment, checks, rules, command. The order of the lines is decided here, and within what stands around
every run alike in :mod:`modak.script.surroundings`; nowhere else.

What each part does is described in docs/scripts.md. The finished text goes through :mod:`modak.script.gate` before anybody
sees it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from modak.dsl import Notice
from modak.errors import Conflict
from modak.jobs.spec import JobSpec
from modak.launchers import Launcher
from modak.runtimes import Runtime
from modak.schedulers import Scheduler
from modak.script.bash import Line, command_line
from modak.script.build import render_build
from modak.script.ending import ending
from modak.script.parts import Script, finish, preamble, section
from modak.script.shelltext import placeholders, rule_fault
from modak.script.staging import one_target, scratch, stage_in, stage_out
from modak.script.surroundings import plugins_of, rules, surroundings
from modak.script.watch import timed, timer, untold, watched
from modak.text import words
from modak.text.words import Word

__all__ = ["Script", "render", "render_build", "rule_fault"]

SUBMITTERS: Final = frozenset({"WORKSPACE_DIR", "SINGULARITY_DIR"})
"""Variables that whoever submits sets, not the machine."""


def render(job: JobSpec, scheduler_name: str) -> Script:
    """The job's script for a scheduler.

    Raises :class:`modak.errors.UnknownName` for a variant that nobody offers, :class:`modak.errors.Conflict` where launcher and
    scheduler do not go together, :class:`modak.errors.RequestError` for what cannot be written safely.
    """
    scheduler, launcher, runtime = plugins_of(job, scheduler_name)
    if why := launcher.unfit(job, scheduler):
        raise Conflict(why, field="target.job_scheduler_type")
    job, dropped = _with_sound_rules(job)
    around = surroundings(job, scheduler_name)
    seen = {**around.variables, **({"MODAK_SCRATCH": ""} if job.staging else {})}
    job = replace(job, environment=seen, slurm_step=around.slurm_step)
    body = (
        *preamble(scheduler.submit_dir),
        *ending(job, scheduler, timed(job, scheduler)),
        *timer(job, scheduler),
        *around.lines,
        *scratch(job, scheduler),
        *stage_in(job),
        *rules(job, "staging"),
        *rules(job, "before"),
        *_command("before the run, on the first node", job.pre, "application.pre-execution"),
        *watched(job, scheduler, launcher, _main(job, runtime, launcher, scheduler)),
        *stage_out(job),
        *_command("after the run, on the first node", job.post, "application.post-execution"),
        *rules(job, "after"),
    )
    has = launcher.asks(job.resources)
    return finish(
        job if has is job.resources else replace(job, resources=has),
        scheduler,
        body,
        (
            *runtime.warnings(job),
            *dropped,
            *_crowded(job, scheduler),
            *_not_passed(job),
            *one_target(job, scheduler),
            *untold(job, scheduler, launcher),
            *_without_value(job),
        ),
        runtime.fetching(job) if job.container else "",
    )


def _with_sound_rules(job: JobSpec) -> tuple[JobSpec, tuple[Notice, ...]]:
    """The job without rules that cannot be written, and a warning for each: one bad rule must not stop every job."""
    faults = [(rule, rule_fault(rule.script)) for rule in job.rules]
    dropped = (Notice(field="rules", message=f"rule {rule.rule!r:.80} is left out: {fault}") for rule, fault in faults if fault)
    if not any(fault for _, fault in faults):
        return job, ()
    return replace(job, rules=tuple(rule for rule, fault in faults if not fault)), tuple(dropped)


def _crowded(job: JobSpec, scheduler: Scheduler) -> tuple[Notice, ...]:
    """Flux gives each rank cores of its own; elsewhere the job asks for the cores that there are, and its launcher for more ranks."""
    if not job.resources.oversubscribed or scheduler.name != "flux":
        return ()
    why = "the nodes have fewer cores than ranks, but flux run gives each rank its own cores: it may reject the job"
    return (Notice(field="application.threads", message=why),)


def _not_passed(job: JobSpec) -> tuple[Notice, ...]:
    """A warning for each of the submitter's variables that the command uses and that the site keeps out of jobs."""
    if not job.system or job.system.export_policy != "NONE":
        return ()
    used = words.variables((*job.command, *job.pre, *job.post))
    missing = [name for name in used if name in SUBMITTERS and name not in job.attributes.copy_variables]
    why = f"which {job.system.name} does not pass to jobs: add it here"
    return tuple(Notice(field="job_options.copy_environment_variable", message=f"the command uses ${{{name}}}, {why}") for name in missing)


def _without_value(job: JobSpec) -> tuple[Notice, ...]:
    """A warning for each rule with a placeholder that nothing is known for: the job will stop there."""
    asked = ((rule.rule, name) for rule in job.rules for name in placeholders(rule.script) if name not in job.environment)
    return tuple(
        Notice(field="rules", message=f"rule {rule!r:.80} needs {name}, which has no value: the job will stop there")
        for rule, name in asked
    )


def _command(title: str, command: tuple[Word, ...], field: str) -> tuple[Line, ...]:
    if not command:
        return ()
    words.check_program(command, field=field)
    return section(title, (command_line(command),))


def _main(job: JobSpec, runtime: Runtime, launcher: Launcher, scheduler: Scheduler) -> Line:
    """Launcher, runtime, command: one command, each part on a line of its own."""
    words.check_program(job.command, field="application.executable")
    before, inside = launcher.words(job, scheduler, tuple(job.environment)), launcher.inside(job, scheduler)
    wrapped = runtime.wrap(job, inside)
    starts = (len(before), len(before) + len(wrapped) - len(inside))
    return command_line((*before, *wrapped), starts)
