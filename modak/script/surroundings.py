"""The part of a script that is the same for all runs of one configuration: modules, variables, rules of the environment, checks, and the
words before the command.

It is made and checked once, and cached; so is, for all numbers of nodes, the larger part that states none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from modak import plugins
from modak.dsl import Notice
from modak.facts import VENDORS
from modak.jobs.spec import Attributes, JobSpec, RuleText, Staging, changed, overridden
from modak.launchers import Launcher
from modak.launchers.family import library_environment
from modak.launchers.jsrun import beside
from modak.runtimes import Runtime
from modak.schedulers import Scheduler
from modak.script import checker
from modak.script.affinity import affinity
from modak.script.bash import (
    Line,
    command_line,
    comment,
    either,
    export,
    function,
    need,
    quiet,
    run,
    subshell,
)
from modak.script.parts import exports, modules, section
from modak.script.shelltext import code, ours
from modak.script.staging import writable
from modak.text import words
from modak.text.words import Word

NO_GPU: Final = 74
_DEVICE: Final = {"amd": "/dev/kfd", "intel": "/dev/dri/renderD128"}
"""What the driver makes for its first GPU; a ``/dev/dri/card0`` without it is the node's console."""
_LONGEST_CACHED: Final = 10_000
"""Largest variables, in characters, with which surroundings are cached: those of a request may be large."""
_MOST_CACHED: Final = 200
"""The same in number."""
_ANY_RUN: Final = Attributes()
_SETS: Final = frozenset({"export", "set"})
_OWN_PACKAGES: Final = comment("PYTHONNOUSERSITE: Python in the container leaves packages of the host's ~/.local alone")
_RULE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")


@dataclass(frozen=True)
class Surroundings:
    """The part of a script that is the same for all runs of one configuration."""

    lines: tuple[Line, ...]
    variables: Mapping[str, str]
    """Exported variables that the ranks must see, by name."""
    slurm_step: bool
    """Whether srun starts the ranks."""
    start: Line
    """The words before the command: those of launcher and runtime, if there are any."""
    inside: Mapping[str, Word]
    """What the runtime writes in place of variables of the command, by their names."""
    fetching: str
    """How to get the image, in a few words; empty: there is none, or it is not known."""
    warnings: tuple[Notice, ...]
    """What the runtime cannot do."""


@dataclass(frozen=True)
class Common:
    """The part of the surroundings that is common to all numbers of nodes above one; lines are checked already."""

    modules: tuple[Line, ...]
    environment: tuple[Line, ...]
    """The exported variables without the values that rules read, which follow."""
    places: tuple[Line, ...]
    """What follows these, up to the checks."""
    runtime_checks: tuple[Line, ...]
    """The first checks; those of the scheduler follow, and then all others."""
    other_checks: tuple[Line, ...]
    variables: Mapping[str, str]
    slurm_step: bool
    before_command: tuple[Word, ...]
    """The runtime's words."""
    inside: Mapping[str, Word]
    fetching: str
    warnings: tuple[Notice, ...]


def surroundings(job: JobSpec, scheduler_name: str) -> Surroundings:
    """Modules, variables, rules of the environment and checks; from the cache if another run had the same."""
    usual = of_any_run(job)
    return (_worked_out if _is_short(usual) else _worked_out.__wrapped__)(usual, scheduler_name)


def of_any_size(job: JobSpec) -> JobSpec:
    """The job without its number of nodes, of which remains whether there are several, and without values that may state it."""
    has = job.resources
    few = changed(has, nodes=min(has.nodes, 2), total_ranks=has.total_ranks and min(has.total_ranks, 2))
    return changed(job, resources=few, values=dict.fromkeys(job.values, ""))


def _is_short(job: JobSpec) -> bool:
    """Whether what is made of the job may be cached: a request may send many or large variables."""
    environment, handed = job.environment, job.attributes.copy_variables
    number = len(environment) + len(job.command) + len(handed)
    length = sum(map(len, (*environment, *environment.values(), *handed)))
    return number <= _MOST_CACHED and length <= _LONGEST_CACHED


def of_any_run(job: JobSpec) -> JobSpec:
    """The job without the properties of a single run. Of its command the variables remain: their directories are bound into the image;
    of its attributes the copied variables: launchers hand them over to other nodes.

    The environment is sorted by name, so that jobs whose variables differ only in their order get the same text.
    """
    handed = job.attributes.copy_variables
    return changed(
        job,
        command=tuple(map(words.variable, words.variables(job.command))),
        environment=dict(sorted(job.environment.items())),
        attributes=replace(_ANY_RUN, copy_variables=handed) if handed else _ANY_RUN,
        pre=(),
        post=(),
        checkpoint=(),
        plan_id="",
        staging=Staging() if job.staging else None,
        report=None,
    )


@lru_cache(maxsize=256)
def _worked_out(job: JobSpec, scheduler_name: str) -> Surroundings:
    scheduler, launcher, _ = plugins_of(job, scheduler_name)
    common = (_common if _is_short(job) else _common.__wrapped__)(of_any_size(job), scheduler_name)
    job = changed(job, slurm_step=common.slurm_step)
    checks: tuple[Line, ...] = ()
    if job.preflight:
        checks = (*common.runtime_checks, *scheduler.preflight(job), *common.other_checks, *affinity(job, launcher, scheduler))
    lines = (
        *common.modules,
        *common.environment,
        *exports(job.values),
        *common.places,
        *(section("checks", checks) if checks else ()),
    )
    seen = _seen(job, {**common.variables, **job.values})
    launch = (*launcher.words(changed(job, environment=seen), scheduler, tuple(seen)), *job.launcher_options)
    return Surroundings(
        lines=_sound(lines),
        variables=seen,
        slurm_step=job.slurm_step,
        start=command_line((*launch, *common.before_command), breaks=(len(launch),)),
        inside=common.inside,
        fetching=common.fetching,
        warnings=common.warnings,
    )


@lru_cache(maxsize=256)
def _common(job: JobSpec, scheduler_name: str) -> Common:
    scheduler, launcher, runtime = plugins_of(job, scheduler_name)
    job = changed(job, slurm_step=launcher.slurm_step(job, scheduler))
    variables = _variables(job, launcher)
    exported = exports({name: value for name, value in variables.items() if name not in job.values})
    if job.container:
        exported = (_OWN_PACKAGES, *exported)
    told = changed(job, environment=_seen(job, {**variables, **job.values}))
    before_command, inside = _wrapped(runtime, told)
    return Common(
        modules=_sound(modules(job)),
        environment=_sound(section("environment", exported)) if variables or job.values else (),
        places=_sound((*_storage(job), *rules(job, "environment"), *_places(told, runtime, launcher, scheduler))),
        runtime_checks=_sound(runtime.preflight(job)),
        other_checks=_sound((*launcher.preflight(job, scheduler), *writable(job), *_gpu(job))),
        variables=variables,
        slurm_step=job.slurm_step,
        before_command=before_command,
        inside=inside,
        fetching=runtime.fetching(job),
        warnings=runtime.warnings(job),
    )


def _wrapped(runtime: Runtime, job: JobSpec) -> tuple[tuple[Word, ...], Mapping[str, Word]]:
    """The runtime's words before the command, and what it writes in place of variables of the command, by their names."""
    outside = {name: words.variable(name) for name in words.variables(job.command)}
    wrapped = runtime.wrap(job, tuple(outside.values()))
    before, inside = wrapped[: len(wrapped) - len(outside)], wrapped[len(wrapped) - len(outside) :]
    return before, {name: new for (name, old), new in zip(outside.items(), inside, strict=True) if new != old}


def _sound(lines: tuple[Line, ...]) -> tuple[Line, ...]:
    return (checker.checked(lines),) if lines else ()


def _seen(job: JobSpec, variables: Mapping[str, str]) -> Mapping[str, str]:
    """The variables with those that other parts of the script export."""
    return {**variables, **({"MODAK_STORAGE": ""} if job.storage else {}), **({"MODAK_SCRATCH": ""} if job.staging else {})}


def plugins_of(job: JobSpec, scheduler_name: str) -> tuple[Scheduler, Launcher, Runtime]:
    """The scheduler of that name, and the job's launcher and container runtime (``none`` without a container)."""
    return (
        plugins.find("schedulers", scheduler_name),
        plugins.find("launchers", job.launcher),
        plugins.find("runtimes", job.container.runtime if job.container else "none"),
    )


def rules(job: JobSpec, stage: str) -> Iterator[Line]:
    """Rules of a stage. Those of the stage ``environment`` run in the script's own shell, so that what they export stays; others in a
    subshell.

    A rule of the environment that does more than set variables is put into a function, which it may leave with ``return``.
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


def _variables(job: JobSpec, launcher: Launcher) -> dict[str, str]:
    """Exported variables: those of launcher and MPI library, then those of rules and request, which take precedence. The values that rules
    read follow."""
    python = {"PYTHONNOUSERSITE": "1"} if job.container else {}
    return overridden({**launcher.environment(job), **library_environment(job), **python}, job.environment)


def _places(job: JobSpec, runtime: Runtime, launcher: Launcher, scheduler: Scheduler) -> Iterator[Line]:
    if job.container:
        yield from section("the container image", runtime.setup(job))
    if met := launcher.setup(job, scheduler):
        yield from section("set-up of the launcher", met)


def _storage(job: JobSpec) -> tuple[Line, ...]:
    return (export("MODAK_STORAGE", job.storage),) if job.storage else ()


def _gpu(job: JobSpec) -> tuple[Line, ...]:
    """A check that a GPU is visible on the first node, if the script runs there, according to the scheduler or the driver."""
    vendor = job.resources.gpu_vendor or (job.container.gpu_vendor if job.container else None)
    if not job.resources.gpus_per_node or vendor not in VENDORS or beside(job.system):
        return ()
    advice = "no GPU is visible on this node: check the partition and the GPUs that the job requests"
    if vendor in _DEVICE:
        return (need(run("test", "-e", _DEVICE[vendor]), NO_GPU, advice),)
    given = ours('test -n "${CUDA_VISIBLE_DEVICES:-}"')
    return (need(either(given, quiet(run("nvidia-smi", "-L"))), NO_GPU, advice),)
