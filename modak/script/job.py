"""The script of a job: header, environment, checks, rules, command.

The order of the parts is decided in :func:`_body`, and for those that are the same in all runs of a configuration in
:mod:`modak.script.surroundings`. docs/scripts.md describes each part. :mod:`modak.script.checker` checks the finished text.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from modak.dsl import Notice
from modak.errors import Conflict, RequestError
from modak.jobs.spec import JobSpec, changed
from modak.jobs.userlauncher import COMMAND, SEVERAL
from modak.launchers import Launcher
from modak.launchers.family import OTHER_MPI
from modak.launchers.jsrun import beside
from modak.schedulers import Scheduler
from modak.script.bash import Line, command_line, continued, either, installed, need, quiet, run
from modak.script.exittrap import done_mark, exit_trap
from modak.script.parts import WRITTEN, Script, finish, preamble, section
from modak.script.shelltext import placeholders, rule_fault
from modak.script.staging import one_target, scratch, stage_in, stage_out, targets
from modak.script.surroundings import Surroundings, plugins_of, rules, surroundings
from modak.script.watch import timed, timer, watched
from modak.text import words
from modak.text.programs import script_of, split_env
from modak.text.words import Word

ITSELF: Final = 82
NOT_THERE: Final = 127
"""As a shell ends: no run began."""
SUBMITTERS: Final = frozenset({"WORKSPACE_DIR", "SINGULARITY_DIR"})
"""Variables that users set, not the machine."""


def render(job: JobSpec, scheduler_name: str) -> Script:
    """The job's script for a scheduler.

    Raises :class:`modak.errors.UnknownName` for a name that is not a plug-in's, :class:`modak.errors.Conflict` if launcher and
    scheduler do not work together, :class:`modak.errors.RequestError` for what cannot be written safely.
    """
    scheduler, launcher, _ = plugins_of(job, scheduler_name)
    if why := launcher.unfit(job, scheduler):
        raise Conflict(why, field="target.job_scheduler_type")
    job, dropped = _with_sound_rules(job)
    lost = lost_signal(job, scheduler_name)
    job = replace(job, attributes=replace(job.attributes, signal=None)) if lost else job
    values, job = job.values, _with_needed_values(job)
    around = surroundings(job, scheduler_name)
    job = replace(job, slurm_step=True) if around.slurm_step else job
    body = _body(job, scheduler, launcher, around)
    warnings = (
        *around.warnings,
        *dropped,
        *_not_passed(job),
        *one_target(job, scheduler),
        *lost,
        *_without_value(job, around.variables),
        *_never_set(job, body, values),
    )
    return finish(changed(job, resources=launcher.asks(job.resources)), scheduler, body, warnings, around.fetching)


def _body(job: JobSpec, scheduler: Scheduler, launcher: Launcher, around: Surroundings) -> tuple[Line, ...]:
    """The lines below the header, in their order."""
    starter = _started_by(job, launcher.inside(job, scheduler))
    return (
        *preamble(scheduler.submit_dir, scheduler.submit[0]),
        *timer(job, scheduler),  # before the trap at exit: a process that is ended as it begins would run that, too
        *exit_trap(job, scheduler, timed(job, scheduler)),
        *around.lines,
        *(() if job.pre else starter),
        *scratch(job, scheduler),
        *stage_in(job),
        *rules(job, "staging"),
        *rules(job, "before"),
        *targets(job),
        *_command("before the run, on the first node", job.pre, "application.pre-execution"),
        *(starter if job.pre else ()),  # which may be "source env/bin/activate"
        *_not_itself(job),
        *(() if starter else _program_there(job, launcher, scheduler)),  # what starts the program is looked for already
        *watched(job, scheduler, _main(job, around, launcher, scheduler)),
        *stage_out(job),
        *_command("after the run, on the first node", job.post, "application.post-execution"),
        *rules(job, "after"),
        *done_mark(job, timed(job, scheduler)),
    )


def _with_sound_rules(job: JobSpec) -> tuple[JobSpec, tuple[Notice, ...]]:
    """The job without rules that cannot be in a script, and a warning for each: one bad rule must not stop all jobs of a site."""
    faults = [(rule, rule_fault(rule.script)) for rule in job.rules]
    dropped = [Notice(field="rules", message=f"rule {rule.rule!r:.80} is left out: {fault}") for rule, fault in faults if fault]
    return changed(job, rules=tuple([rule for rule, fault in faults if not fault])), tuple(dropped)


def _with_needed_values(job: JobSpec) -> JobSpec:
    """The job without the values that its rules, and what it starts before and after the run, may read, if it has none of these, and no
    command names one of them, if only in text that a shell of its own expands (``sh -c 'prepare $MODAK_RANKS'``)."""
    needed = job.rules or job.pre or job.post or job.checkpoint
    if needed or any(map(words.line((*job.words, *job.launcher_options)).__contains__, job.values)):
        return job
    return changed(job, values={})


def lost_signal(job: JobSpec, scheduler_name: str) -> tuple[Notice, ...]:
    """A warning if the script goes without the job's signal: the launcher would end the ranks or ignore it."""
    scheduler, launcher, _ = plugins_of(job, scheduler_name)
    signal = job.attributes.signal
    why = launcher.untold(job, scheduler, signal.name) if signal and not job.checkpoint else ""
    return (Notice(field="job_options.signal", message=f"the signal is left out: {why}"),) if why else ()


def _not_passed(job: JobSpec) -> tuple[Notice, ...]:
    """A warning for each of the submitter's variables that the command uses and that the site keeps out of jobs."""
    if not job.system or job.system.export_policy != "NONE":
        return ()
    missing = [name for name in words.variables(job.words) if name in SUBMITTERS and name not in job.attributes.copy_variables]
    why = f"which {job.system.name} does not pass to jobs: add it here"
    return tuple(Notice(field="job_options.copy_environment_variable", message=f"the command uses ${{{name}}}, {why}") for name in missing)


def _without_value(job: JobSpec, variables: Collection[str]) -> tuple[Notice, ...]:
    """A warning for each rule with a placeholder that has no value: the job will stop there."""
    asked = ((rule.rule, name) for rule in job.rules for name in placeholders(rule.script) if name not in variables)
    return tuple(
        Notice(field="rules", message=f"rule {rule!r:.80} needs {name}, which has no value: the job will stop there")
        for rule, name in asked
    )


def _never_set(job: JobSpec, body: Collection[Line], values: Collection[str]) -> tuple[Notice, ...]:
    """A warning for each variable of the script's in a command, if the script has none of that name, only ``values`` and others. The
    storage is warned of where it is looked for."""
    expanded = words.variables((*job.command, *job.pre, *job.post, *job.checkpoint))
    others = (COMMAND, "MODAK_STORAGE", *job.attributes.copy_variables)
    mine = [name for name in expanded if name.startswith("MODAK_") and name not in others]
    text = "\n".join(line.text for line in body) if mine else ""
    what = f"the script does not set it; it has {', '.join(values)}" if values else "the script does not set it"
    return tuple(Notice(field="application", message=f"${{{name}}}: {what}") for name in mine if f"{name}=" not in text)


def _command(title: str, command: tuple[Word, ...], field: str) -> tuple[Line, ...]:
    if not command:
        return ()
    words.check_program(command, field=field)
    return section(title, (command_line(command),))


def _started_by(job: JobSpec, inside: tuple[Word, ...]) -> tuple[Line, ...]:
    """A check that the program which starts the command (``torchrun``) is on the node, if it runs there, without a container."""
    program, named = (split_env(each)[1][0] for each in (inside, job.command))
    if job.container or beside(job.system) or not job.preflight or program == named or not isinstance(program, str):
        return ()
    own = "begin the executable with the path of the Python that has it (/PATH/TO/python train.py), or use a container"
    check = installed(program, OTHER_MPI, f"{program} is not on this node: {own}")
    return section(f"what starts the program: {program}", (check,))


def _not_itself(job: JobSpec) -> tuple[Line, ...]:
    """A check that the shell's script which the command starts is no job script of MODAK's, as this one saved over it is."""
    file = script_of(job.command)
    if file is None:
        return ()
    theirs = run("grep", "-s", "-q", "-x", "-F", "-e", WRITTEN, "--", file)
    why = "is a job script of MODAK's, which would start itself again and again: save it under another name than that of its program"
    check = Line(f"! {theirs.text}", (("negated_command", ""), ("!",), *theirs.events))
    return section("the program is not this script", (need(check, ITSELF, file, f" {why}"),))


def _program_there(job: JobSpec, launcher: Launcher, scheduler: Scheduler) -> tuple[Line, ...]:
    """A check that there is a program for a launcher to start, right before the run: launchers end with a status of their own (2, 132, 255)
    that counts as a run that failed. Options of a rule may show other files to the ranks; ``srun`` looks in the job's folder, too."""
    setting, (program, *_) = split_env(launcher.inside(job, scheduler))
    elsewhere = job.container or beside(job.system) or job.launcher_options or any(words.lead(word).startswith("PATH=") for word in setting)
    if elsewhere or not job.preflight or not launcher.words(job, scheduler, ()):
        return ()
    there = run("test", "-x", program)
    if "/" in words.literal([program]):
        why = " is not there, or may not be executed: a relative path starts in the folder of submission"
    else:
        there = either(quiet(run("command", "-v", program)), there)
        why = " is not in PATH: load its module before you submit, or name it by its path"
    return section("the program", (need(there, NOT_THERE, program, why),))


def _main(job: JobSpec, around: Surroundings, launcher: Launcher, scheduler: Scheduler) -> Line:
    """Launcher, runtime and application as one command, each on a line of its own."""
    words.check_program(job.command, field="application.executable")
    inside = [words.replaced(each, around.inside) for each in launcher.inside(job, scheduler)]
    if ":" in [words.replaced(each, around.variables) for each in inside] and launcher.words(job, scheduler, ()):
        why = f"a launcher ({launcher.name}) starts what follows a word ':' as another program, which is not checked"
        how = f"{SEVERAL}; where the program is to read it, write sh -c '…'"
        raise RequestError(f"{why}: {how}", field="application.arguments")
    return continued(around.start, inside) if around.start.words else command_line(inside)
