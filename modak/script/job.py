"""One job as text: header, environment, checks, rules, command. The order of the lines is decided here, and nowhere else.

What each part does is described in docs/scripts.md. The finished text goes through :mod:`modak.script.gate` before anybody
sees it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from modak import plugins, words
from modak.dsl import Notice
from modak.errors import Conflict
from modak.jobspec import JobSpec, RuleText
from modak.launchers import Launcher
from modak.runtimes import Runtime
from modak.schedulers import Scheduler
from modak.script.affinity import affinity
from modak.script.bash import Expansion, Line, command_line, either, export, fixed, function, need, parts, quiet, run, subshell
from modak.script.build import render_build
from modak.script.ending import ending
from modak.script.parts import Script, exports, finish, modules, preamble, section
from modak.script.shelltext import code, placeholders, rule_fault
from modak.script.staging import scratch, stage_in, stage_out, writable
from modak.script.watch import timed, timer, watched
from modak.words import Word

__all__ = ["Script", "render", "render_build", "rule_fault"]

NO_GPU: Final = 74
SUBMITTERS: Final = frozenset({"WORKSPACE_DIR", "SINGULARITY_DIR"})
"""Variables that whoever submits sets, not the machine."""
_SETS: Final = frozenset({"export", "set"})
_RULE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")


def render(job: JobSpec, scheduler: str) -> Script:
    """The job's script for a scheduler.

    Raises :class:`modak.errors.UnknownName` for a variant that nobody offers, :class:`modak.errors.Conflict` where launcher and
    scheduler do not go together, :class:`modak.errors.RequestError` for what cannot be written safely.
    """
    door: Scheduler = plugins.find("schedulers", scheduler)
    launcher: Launcher = plugins.find("launchers", job.launcher)
    runtime: Runtime = plugins.find("runtimes", job.container.runtime if job.container else "none")
    if why := launcher.unfit(job, door):
        raise Conflict(why, field="target.job_scheduler_type")
    job, dropped = _with_sound_rules(job)
    variables = _variables(job, launcher)
    seen = {**variables, **({"MODAK_STORAGE": ""} if job.storage else {})}
    body = (
        *preamble(door.submit_dir),
        *ending(job, door, timed(job, door)),
        *timer(job, door),
        *modules(job),
        *exports(variables),
        *_storage(job),
        *_rules(job, "environment"),
        *_places(job, runtime, launcher, door),
        *_preflight(job, runtime, launcher, door),
        *scratch(job, door),
        *stage_in(job),
        *_rules(job, "staging"),
        *_rules(job, "before"),
        *_command("before the run, on the first node", job.pre, "application.pre-execution"),
        *watched(job, door, _main(replace(job, environment=seen), runtime, launcher, door, tuple(seen))),
        *stage_out(job),
        *_command("after the run, on the first node", job.post, "application.post-execution"),
        *_rules(job, "after"),
    )
    has = launcher.asks(job.resources)
    return finish(
        job if has is job.resources else replace(job, resources=has),
        door,
        body,
        (
            *runtime.warnings(job),
            *dropped,
            *_crowded(job, door),
            *_not_passed(job),
            *_without_value(job, seen),
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


def _crowded(job: JobSpec, door: Scheduler) -> tuple[Notice, ...]:
    """Flux gives each rank cores of its own; elsewhere the job asks for the cores that there are, and its launcher for more ranks."""
    if not job.resources.oversubscribed or door.name != "flux":
        return ()
    why = "the nodes have too few cores for the ranks, and flux run gives each rank its own: it may refuse them"
    return (Notice(field="application.threads", message=why),)


def _not_passed(job: JobSpec) -> tuple[Notice, ...]:
    """A warning for each of the submitter's variables that the command uses and that the site keeps out of jobs."""
    if not job.system or job.system.export_policy != "NONE":
        return ()
    used = words.variables((*job.command, *job.pre, *job.post))
    missing = [name for name in used if name in SUBMITTERS and name not in job.attributes.copy_variables]
    why = f"which {job.system.name} does not pass on to jobs: name it here"
    return tuple(Notice(field="job_options.copy_environment_variable", message=f"the command uses ${{{name}}}, {why}") for name in missing)


def _without_value(job: JobSpec, variables: Mapping[str, str]) -> tuple[Notice, ...]:
    """A warning for each rule with a placeholder that nothing is known for: the job will stop there."""
    asked = ((rule.rule, name) for rule in job.rules for name in placeholders(rule.script) if name not in variables)
    return tuple(
        Notice(field="rules", message=f"rule {rule!r:.80} needs {name}, for which there is no value: the job stops there")
        for rule, name in asked
    )


def _variables(job: JobSpec, launcher: Launcher) -> dict[str, str]:
    """Exported variables: the launcher's, then the rules' (which may know better), then the values that rules read."""
    python = {"PYTHONNOUSERSITE": "1"} if job.container else {}
    return {**launcher.environment(job), **python, **job.environment, **job.values}


def _rules(job: JobSpec, stage: str) -> Iterator[Line]:
    """Rules of a stage: those of the environment run in the script's own shell (what they export stays), others in one of their own.

    One that sets variables alone stands as it is; another one in a function, which it may leave with ``return``.
    """
    for at, rule in enumerate(job.rules, start=1):
        if rule.stage == stage:
            yield from section(f"rule {_shown(rule)} ({stage})")
            body = code(rule.script)
            if stage != "environment":
                yield subshell(body)
            elif all(event[0] in _SETS for event in body.events):
                yield body
            else:
                yield from (function(f"modak_rule_{at}", body), run(f"modak_rule_{at}"))


def _shown(rule: RuleText) -> str:
    return rule.rule if _RULE_NAME.fullmatch(rule.rule) else "without a name"


def _places(job: JobSpec, runtime: Runtime, launcher: Launcher, door: Scheduler) -> Iterator[Line]:
    if job.container:
        yield from section("the image", runtime.setup(job))
    if met := launcher.setup(job, door):
        yield from section("where the nodes meet", met)


def _storage(job: JobSpec) -> tuple[Line, ...]:
    return (export("MODAK_STORAGE", *parts(job.storage)),) if job.storage else ()


def _preflight(job: JobSpec, runtime: Runtime, launcher: Launcher, door: Scheduler) -> tuple[Line, ...]:
    """What would otherwise fail late, asked in the first second; each check says what to do."""
    inside = runtime.preflight(job) if job.container else ()
    checks = (*inside, *launcher.preflight(job, door), *writable(job), *_gpu(job), *affinity(job, launcher, door))
    return section("checks", checks) if job.preflight and checks else ()


def _gpu(job: JobSpec) -> tuple[Line, ...]:
    """A GPU is visible on the first node: the scheduler says so, or the driver does."""
    vendor = job.resources.gpu_vendor or (job.container.gpu_vendor if job.container else None)
    if not job.resources.gpus_per_node or vendor not in {"nvidia", "amd"}:
        return ()
    advice = "no GPU is visible on this node: check the partition and the GPUs that the job asks for"
    if vendor == "amd":
        return (need(run("test", "-e", "/dev/kfd"), NO_GPU, advice),)
    given = fixed('test -n "${CUDA_VISIBLE_DEVICES:-}"', ("command", ("test",), ("-n",), (Expansion("CUDA_VISIBLE_DEVICES:-"),)))
    return (need(either(given, quiet(run("nvidia-smi", "-L"))), NO_GPU, advice),)


def _command(title: str, command: tuple[Word, ...], field: str) -> tuple[Line, ...]:
    if not command:
        return ()
    words.check_program(command, field=field)
    return section(title, (command_line(command),))


def _main(job: JobSpec, runtime: Runtime, launcher: Launcher, door: Scheduler, exported: tuple[str, ...]) -> Line:
    """Launcher, runtime, command: one command, each part on a line of its own."""
    words.check_program(job.command, field="application.executable")
    before, inside = launcher.words(job, door, exported), launcher.inside(job, door)
    wrapped = runtime.wrap(job, inside)
    starts = (len(before), len(before) + len(wrapped) - len(inside))
    return command_line((*before, *wrapped), starts)
