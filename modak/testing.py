"""Contracts of the plug-ins, for authors of schedulers, launchers, runtimes and formats: ``modak.testing.check_scheduler(obj)`` and so on.

Each check raises :class:`AssertionError` with a sentence if the object breaks an invariant: no line break in a directive,
the command's words unchanged, lines that do what their events say, the same text for the same job. The checks need no test framework.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from modak import plugins
from modak.dsl import Signal
from modak.facts import Node, Partition, Source, System
from modak.jobs.spec import Attributes, Container, JobSpec, Resources
from modak.launchers import Launcher
from modak.runtimes import Runtime
from modak.schedulers import Scheduler
from modak.schedulers.header import FIELDS
from modak.script.bash import Line, joined_lines, run
from modak.script.meaning import parse_events
from modak.script.shelltext import rule_fault
from modak.script.surroundings import of_any_run, of_any_size
from modak.text import words
from modak.text.words import Word

COMMAND: Final[tuple[Word, ...]] = (
    "./solve",
    "it's",
    "a b",
    "",
    "$HOME",
    "*",
    words.Joined(parts=(words.Variable(variable="SCRATCH"), "/in put")),
)
"""A command whose words need correct quoting."""

ONE: Final = JobSpec(command=COMMAND, resources=Resources(), attributes=Attributes(name="contract", wall_time_s=3600))
_MANY: Final = Resources(
    nodes=1000, ranks_per_node=2, threads_per_rank=6, cores_per_rank=6, threads_per_core=2, gpus_per_node=2, gpu_vendor="nvidia"
)
_IMAGE: Final = Container(runtime="", reference="docker://library/solver:1.0", file="solver_1.0.sif", gpu_vendor="nvidia")

JOBS: Final[tuple[JobSpec, ...]] = (
    ONE,
    replace(ONE, resources=replace(ONE.resources, threads_per_rank=8, cores_per_rank=4, hyperthreads=True, threads_per_core=2)),
    replace(ONE, resources=replace(_MANY, nodes=1)),
    replace(ONE, resources=_MANY),
)
"""A serial job, one with hyper-threads, one on a node with GPUs, and one on a thousand nodes."""

SAID: Final = Attributes(
    name="contract",
    account="project1",
    queue="main",
    partition="main",
    qos="debug",
    reservation="course",
    site_resources=("matlab=2",),
    wall_time_s=108000,
    constraint="ssd&fast",
    node_list="n[01-04]",
    array="0-8:2%3",
    output="logs/%x.out",
    error="logs/%x.err",
    notify=("begin", "end", "fail", "time_limit"),
    email="someone@example.org",
    dependency="afterok:123",
    begin="2026-01-31T14:00",
    exclusive=True,
    requeue=True,
    signal=Signal(name="USR1", seconds=120),
    copy_environment=True,
    copy_variables=("ONE", "TWO"),
)
"""All attributes of a job."""

SITE: Final = System(
    name="site",
    title="A site that requires an option",
    site="anywhere",
    partitions=(Partition(name="main", nodes=4, node=Node(processor="any", sockets=1, cores=8)),),
    sources=(Source(fields=("*",), citation="made for the contract"),),
    mandatory_directives=("--required=yes",),
)
_ASKED: Final = "--nodes-of-the-site"
_SIZES: Final[Mapping[str, Any]] = {"memory_per_node": 10**10, "memory_per_core": 10**9, "gpus_per_node": 2, "nodes": 3}
_NEEDLESS: Final = {"name", "wall_time_s", "copy_environment", "gpus_per_node"}
"""Fields that a plain shell need not warn about: every plan sets them, or it does so anyway."""


def check_scheduler(scheduler: Scheduler) -> None:
    """A header consists of whole words and has the site's options; every field of a job gives an option, or a warning that names it."""
    _check_base(scheduler, Scheduler)
    _claim(bool(scheduler.submit), "submit holds the command that takes a script")
    _claim(not scheduler.prefix or scheduler.prefix.startswith("#"), "a header line is a comment of the shell")
    _claim(all(scheduler.signals(job) in (True, False) for job in JOBS), "signals says yes or no")
    array = (scheduler.array_index, scheduler.array_id)
    for said in (scheduler.submit_dir, scheduler.job_id, *array, scheduler.restarts, scheduler.dependency, scheduler.host_file):
        _claim(said is None or bool(re.fullmatch(r"[A-Z][A-Z0-9_]*", said)), f"{said!r} is the name of a variable, or None")
    _claim(scheduler.array("1-3") is None or bool(scheduler.array_index), "what takes job arrays names the variable of the index")
    if scheduler.launcher:
        misfit = plugins.find("launchers", scheduler.launcher).unfit(JOBS[-1], scheduler)
        _claim(not misfit, f"launcher is one that works under this scheduler: {misfit}")
    for name in ("again", "preempted", "undisturbed"):
        fault = rule_fault(getattr(scheduler, name))
        _claim(not fault, f"{name} is shell text: {fault}")
    for job in (*JOBS, *(replace(job, attributes=SAID) for job in JOBS)):
        header = scheduler.directives(job)
        _claim(header == scheduler.directives(job), "the same job gives the same header")
        checks = scheduler.preflight(job)
        _claim(checks == scheduler.preflight(of_any_run(job)), "preflight is the same for all runs")
        _check_lines(checks)
        for option in header.options:
            line = scheduler.line(option).removeprefix(scheduler.prefix)
            _claim(option != () and option[0].startswith("-"), f"{line!r} begins with an option's name")
            _claim(shlex.split(line, comments=True) == list(option), f"{line!r} is read as the words that it was made of")
    _check_site(scheduler)
    _check_commands(scheduler)
    lost = [field for field in FIELDS if not _answers(scheduler, field)]
    how = "directives has to give an option for each, or a warning: modak.schedulers.header.note(FIELD, MESSAGE)"
    _claim(not lost, f"{scheduler.name} drops {', '.join(lost)}; {how}")
    alone = replace(ONE, attributes=Attributes(name="contract", exclusive=True))
    left_out = {warning.field for warning in scheduler.directives(alone).warnings}
    whole = f"job_options.{FIELDS['exclusive']}" not in left_out
    _claim(scheduler.exclusive == whole, "exclusive says whether there is an option for it, and no warning that it is left out")


def check_launcher(launcher: Launcher, schedulers: Iterable[Scheduler]) -> None:
    """Unless ``unfit`` says why not: the command's words are last and unchanged; its lines do what their events say."""
    _check_base(launcher, Launcher)
    for scheduler in schedulers:
        for job in JOBS:
            if launcher.unfit(job, scheduler):
                continue
            before, inside = launcher.words(job, scheduler, ("ONE",)), launcher.inside(job, scheduler)
            _claim(inside[-len(COMMAND) + 1 :] == COMMAND[1:], f"{launcher.name} keeps the command's arguments as they are, at the end")
            _claim(before == launcher.words(job, scheduler, ("ONE",)), "the same job gives the same words")
            ssh, step = launcher.needs_ssh(job, scheduler), launcher.slurm_step(job, scheduler)
            _claim({type(ssh), type(step)} == {bool}, "needs_ssh and slurm_step say yes or no")
            _claim(isinstance(launcher.untold(job, scheduler, "TERM"), str), "untold says why, or nothing")
            lines = (*launcher.setup(job, scheduler), *launcher.preflight(job, scheduler))
            usual, all_runs = of_any_run(job), "environment, setup, preflight, slurm_step and words are the same for all runs"
            _claim(before == launcher.words(usual, scheduler, ("ONE",)), all_runs)
            all_sizes = "environment, setup, preflight, slurm_step and needs_ssh are the same for all numbers of nodes above one"
            _claim(ssh == launcher.needs_ssh(of_any_size(job), scheduler), all_sizes)
            for other, sentence in ((usual, all_runs), (of_any_size(usual), all_sizes)):
                _claim(lines == (*launcher.setup(other, scheduler), *launcher.preflight(other, scheduler)), sentence)
                _claim(step == launcher.slurm_step(other, scheduler), sentence)
                _claim(launcher.environment(job) == launcher.environment(other), sentence)
            _check_lines((*lines, run(*before, *inside)))


def check_runtime(runtime: Runtime) -> None:
    """The command's words are last and unchanged; its lines do what their events say; variables that it uses are set."""
    _check_base(runtime, Runtime)
    forms = runtime.reads or ()
    _claim(all(re.fullmatch(r"\.?[a-z0-9]+", form) for form in forms), "reads holds schemes ('docker') and endings of files ('.sif')")
    plain: tuple[Word, ...] = ("./solve", "it's", "a b", "", "$HOME", "*")
    for job in JOBS:
        has = replace(job, container=replace(_IMAGE, runtime=runtime.name))
        wrapped, setup = runtime.wrap(has, plain), runtime.setup(has)
        _claim(wrapped[len(wrapped) - len(plain) :] == plain, f"{runtime.name} keeps the command as it is, at the end")
        _claim(wrapped == runtime.wrap(has, plain), "the same job gives the same words")
        _claim(len(runtime.fetching(has).splitlines()) <= 1, "how the image is fetched is said in one line")
        used = set(words.variables(wrapped)) - {"PWD"}
        made = {event[1] for line in setup for event in line.events if event[0] == "set"}
        _claim(used <= made, f"{sorted(used - made)} is used and set nowhere")
        usual, all_runs = of_any_run(has), "all but the command itself is the same for every run of one configuration"
        few, all_sizes = of_any_size(usual), "all is the same for all numbers of nodes above one"
        own, alone = runtime.wrap(has, has.command), runtime.wrap(usual, usual.command)
        _claim(own[: len(own) - len(has.command)] == alone[: len(alone) - len(usual.command)], all_runs)
        _claim(alone == runtime.wrap(few, few.command), all_sizes)
        for other, sentence in ((usual, all_runs), (few, all_sizes)):
            _claim((*setup, *runtime.preflight(has)) == (*runtime.setup(other), *runtime.preflight(other)), sentence)
            _claim((runtime.fetching(has), runtime.warnings(has)) == (runtime.fetching(other), runtime.warnings(other)), sentence)
        _check_lines((*setup, *runtime.preflight(has), run(*wrapped)))


def check_format(form: Any, samples: Iterable[Any]) -> None:
    """It recognises its samples and no empty file; reading a file twice gives the same rows; each column has a cell for each row.

    ``form`` is a :class:`modak.ingest.Format`, ``samples`` are files of it (``modak.ingest.sources.from_path``). The values of
    cells are checked when they are loaded, not here.
    """
    _check_names(form)
    _claim(not form.recognises(b"", "results"), "an empty file is of no format")
    for source in samples:
        _claim(form.recognises(source.head(), "results"), f"{form.name} recognises {source.name} by its content")
        parts, again = list(form.read(source)), list(form.read(source))
        _claim(len(parts) > 0, "a file gives a part, also where nothing in it is a result")
        for part, other in zip(parts, again, strict=True):
            _claim(all(len(cells.codes) == len(part.lines) for cells in part.columns.values()), "every column has a cell for each row")
            _claim(all(isinstance(text, str) for cells in part.columns.values() for text in cells.texts), "cells are texts")
            _claim(_texts(part) == _texts(other), "the same file gives the same rows")
            _claim(all(note.isprintable() for note in part.notes), "a note is one printable line")


def _texts(part: Any) -> list[tuple[str, list[str]]]:
    return [(name, [cells[row] for row in range(len(part.lines))]) for name, cells in part.columns.items()]


def _check_base(variant: Any, base: type[Scheduler | Launcher | Runtime]) -> None:
    """It has the defaults, also those that a later version adds."""
    where = f"modak.{base.__module__.split('.')[1]}.{base.__name__}"
    _claim(isinstance(variant, base), f"{type(variant).__name__} derives from {where}, which has the defaults")
    _check_names(variant)


def _check_names(variant: Any) -> None:
    for name in plugins.called(variant):
        _claim(bool(re.fullmatch(r"[a-z0-9][a-z0-9_.-]*", name)), f"{name!r} is a name of lower-case letters, digits and _.-")


def _check_site(scheduler: Scheduler) -> None:
    """The site's options are in the header, and its resource directives replace the usual options for nodes."""
    if not scheduler.prefix:
        return
    how = "directives has to end in modak.schedulers.header.with_site"
    required = replace(ONE, system=SITE)
    _claim(("--required=yes",) in scheduler.directives(required).options, f"{scheduler.name} drops mandatory_directives; {how}")
    ours = replace(ONE, resource_directives=(f"{_ASKED}={{nodes}}",))
    few, many = (scheduler.directives(replace(ours, resources=Resources(nodes=nodes))).options for nodes in (1, 4))
    _claim((f"{_ASKED}=4",) in many, f"{scheduler.name} drops resource_directives; {how}")
    rest = [option for option in many if option not in few and option != (f"{_ASKED}=4",)]
    names = ", ".join(" ".join(option) for option in rest)
    _claim(not rest, f"{scheduler.name} asks for nodes beside resource_directives: {names}; name such options in with_site(…, asking=…)")


def _check_commands(scheduler: Scheduler) -> None:
    """Where trials can be submitted: the job's number and state are read from what the commands say of it, and from nothing else."""
    commands = scheduler.commands
    if commands is None:
        return
    _claim(commands.submit[0] == scheduler.submit[0], "commands.submit runs the command of submit")
    _claim(bool(re.compile(commands.number).groups), "commands.number has a group")
    _claim(commands.number_in("") is None and commands.state_in("", "1") == "over", "an answer without text names no job")
    named = re.compile(commands.state).groupindex
    _claim("state" in named, "commands.state has a group 'state'")
    _claim("{job}" in commands.ask or "job" in named, "commands.ask names the {job}, or commands.state has a group 'job'")
    _claim(bool(re.search(commands.lost, "timed out", re.IGNORECASE)), "commands.lost holds 'timed out': said where no answer comes")
    for message in (commands.gone, commands.away, commands.lost):
        _claim(not re.search(message, "status 1", re.IGNORECASE), f"{message!r} is not in a command's failure without a message")


def _answers(scheduler: Scheduler, field: str) -> bool:
    """Whether the field alone changes the header or gives a warning that names it."""
    bare = replace(ONE, attributes=Attributes(name="bare"))
    without = scheduler.directives(bare)
    headers = [scheduler.directives(said) for said in _with_field(bare, field)]
    noted = any(warning.field == f"job_options.{FIELDS[field]}" for header in headers for warning in header.warnings)
    needless = not scheduler.prefix and field in _NEEDLESS
    return noted or needless or any(header.options != without.options for header in headers)


def _with_field(bare: JobSpec, field: str) -> list[JobSpec]:
    """Jobs with this field in addition, one for each value to try."""
    if field in _SIZES:
        has = replace(bare.resources, gpu_vendor="nvidia" if field == "gpus_per_node" else None)
        size: dict[str, Any] = {field: _SIZES[field]}
        return [replace(bare, resources=replace(has, **size))]
    values: tuple[Any, ...] = (True, False) if field == "join" else (getattr(SAID, field),)
    _claim(None not in values, f"SAID of modak.testing has a value for each field: {field}")
    changes: list[dict[str, Any]] = [{field: value} for value in values]
    return [replace(bare, attributes=replace(bare.attributes, **change)) for change in changes]


def _check_lines(lines: Iterable[Line]) -> None:
    whole = joined_lines([*lines])
    _claim(parse_events(whole.text) == list(whole.events), f"this does what its events say:\n{whole.text}")


def _claim(holds: bool, sentence: str) -> None:
    """Assert, also if Python runs with ``-O``."""
    if not holds:
        raise AssertionError(f"broken: {sentence}")
