"""Parts that scripts of jobs and of build jobs share: preamble, modules, exported variables; and how a script is put together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Final

from modak.dsl import Notice
from modak.errors import RequestError
from modak.jobs.spec import JobSpec
from modak.schedulers import Scheduler
from modak.script import checker
from modak.script.bash import BLANK, STOP, Line, comment, either, export, installed, need, run
from modak.script.shelltext import ours
from modak.text.faults import fault_in
from modak.text.grammar import CopiedName

NO_MODULE: Final = 70
WRITTEN: Final = "# written by MODAK"
"""A line of all scripts, by which they are told from others."""
_OURS: Final = frozenset({"PYTHONNOUSERSITE", "PYTHONUNBUFFERED", "PYTHONHASHSEED"})
PLAN: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_STOP: Final = f"""{STOP}() {{ printf 'modak: %s\\n' "$2" >&2; exit "$1"; }}"""
"""``modak_stop STATUS SENTENCE``."""


@dataclass(frozen=True)
class Script:
    """A script, and warnings about what it cannot express."""

    text: str
    warnings: tuple[Notice, ...] = ()


def finish(job: JobSpec, scheduler: Scheduler, body: Iterable[Line], warnings: Iterable[Notice] = (), image: str = "") -> Script:
    """The script of a header and a body, checked. ``image``: a comment on how to get the image."""
    header = scheduler.directives(job)
    plan = f"# plan {job.plan_id}\n" if PLAN.fullmatch(job.plan_id) else ""
    shown = "".join([f"{scheduler.line(option)}\n" for option in header.options])
    submit = f"# submit: {' '.join(scheduler.submit)} FILE, from the folder of the program's files: relative paths start there\n"
    first = f"# image: {image}\n" if image else ""
    head = f"#!/bin/bash\n{shown}{WRITTEN}\n{first}{submit}{plan}"
    text = checker.check_script(head, header.options, [*body], scheduler.prefix)
    return Script(text, (*header.warnings, *warnings))


@cache
def preamble(submit_dir: str | None, only_by: str | None = None) -> tuple[Line, ...]:
    """Stop at the first error, unset inherited variables that could run code, and change to the directory of submission, which the
    variable ``submit_dir`` holds. Without the variable, as if ``bash`` has started it, the script tells the command ``only_by`` that has to
    submit it; if there is none, it stays where it is.

    There is no ``set -u``: module functions and Conda fail under it. MODAK's own variables are checked where they are used.
    """
    otherwise = f"?submit this script with {only_by}" if only_by else "-."
    lines = (
        *section("stop at the first error; unset inherited variables that could run code"),
        run("set", "-e", "-o", "pipefail"),
        ours("unset BASH_ENV ENV CDPATH"),
        *((ours(f'cd -- "${{{submit_dir}:{otherwise}}}"'),) if submit_dir else ()),
        ours(_STOP),
    )
    return (checker.checked(lines),)


def section(title: str, lines: Iterable[Line] = ()) -> tuple[Line, ...]:
    """Lines after an empty one and a title that says what they are for."""
    return (BLANK, comment(f"--- {title}"), *lines)


def modules(job: JobSpec) -> tuple[Line, ...]:
    """``module use`` of the site's directories, then ``module load`` of each module, with a message if it fails."""
    names = job.all_modules
    if not names:
        return ()
    init = job.system.module_init if job.system else None
    lacking = "this job has no module command: let the system file name the file that defines it (module_init)"
    start: tuple[Line, ...] = (installed("module", NO_MODULE, lacking),)
    if init:
        advice = " is not on this node: it defines the module command"
        found = need(run("test", "-r", init), NO_MODULE, init, advice)
        start = (found, comment("shellcheck source=/dev/null"), either(run(".", init), run(":")))
    unused = " cannot be added to the module path: check module_paths in the system file"
    paths = job.system.module_paths if job.system else ()
    used = [need(run("module", "use", path), NO_MODULE, path, unused) for path in paths]
    advice = " could not be loaded: module avail lists the modules of this system"
    return section("modules", (*start, *used, *(need(run("module", "load", name), NO_MODULE, "module ", name, advice) for name in names)))


def exports(variables: Mapping[str, str]) -> tuple[Line, ...]:
    """Exported variables; names that would run code are refused."""
    return tuple([export(allowed(name), value) for name, value in variables.items()])


@lru_cache(maxsize=1024)
def allowed(name: str) -> str:
    """The name, if a script may set it; else :class:`modak.errors.RequestError`."""
    return name if name in _OURS else valid(CopiedName, name, "environment")


def valid(grammar: Any, value: str, field: str) -> str:
    """The value, if it is of the grammar (one of :mod:`modak.text.grammar`); else :class:`modak.errors.RequestError`."""
    if why := fault_in(grammar, value):
        raise RequestError(f"{value!r:.80}: {why}", field=field)
    return value
