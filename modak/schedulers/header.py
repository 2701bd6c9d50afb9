"""The vocabulary of headers: options as words, warnings that name a request's field, and what the site has to say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from modak.dsl import Notice
from modak.errors import RequestError
from modak.jobspec import JobSpec

Option = tuple[str, ...]
"""The words of one header line: ``("--nodes=4",)`` or ``("-l", "nodes=4:ppn=12")``."""

_HARMLESS: Final = re.compile(r"[A-Za-z0-9._:,/@%+=&|(){}\[\]^~?*!<>-]+")


@dataclass(frozen=True)
class Directives:
    """The header of a script, and what of the job it cannot say."""

    options: tuple[Option, ...]
    warnings: tuple[Notice, ...] = ()


FIELDS: Final[Mapping[str, str]] = {
    "name": "job_name",
    "account": "account",
    "queue": "queue",
    "partition": "partition",
    "wall_time_s": "wall_time_limit",
    "constraint": "architecture_constraint",
    "node_list": "request_specific_nodes",
    "array": "job_array",
    "output": "standard_output_file",
    "error": "standard_error_file",
    "join": "combine_stdout_stderr",
    "notify": "request_event_notification",
    "email": "email_address",
    "dependency": "job_dependency",
    "begin": "defer_job",
    "exclusive": "node_exclusive",
    "requeue": "requeue",
    "signal": "signal",
    "copy_environment": "copy_environment",
    "copy_variables": "copy_environment_variable",
    "memory_per_node": "memory_limit",
    "memory_per_core": "minimum_memory_per_processor",
    "gpus_per_node": "request_gpus",
    "nodes": "node_count",
}
"""The request's name of each field of a job that a header can hold."""


def note(field: str, message: str) -> Notice:
    """A warning that names the request's field."""
    return Notice(field=f"job_options.{FIELDS[field]}", message=message)


def options(table: Mapping[str, object]) -> tuple[Option, ...]:
    """Header lines of long options: ``--key=value``; a ``True`` value is a bare option, an empty one is left out."""
    return tuple((f"--{key}" if value is True else f"--{key}={value}",) for key, value in table.items() if value not in (None, "", False))


def mandatory(job: JobSpec, chosen: Iterable[Option]) -> tuple[Option, ...]:
    """The options with those that the site wants in every job; where both set one option, the site's word counts."""
    site = tuple(tuple(text.split(" ", 1)) for text in (job.system.mandatory_directives if job.system else ()))
    taken = {_flag(option) for option in site}
    return (*(option for option in chosen if _flag(option) not in taken), *site)


def overruled(job: JobSpec, chosen: Iterable[Option]) -> tuple[Notice, ...]:
    """A warning for each option that the site's own word replaces by another."""
    site = {_flag(tuple(text.split(" ", 1))): text for text in (job.system.mandatory_directives if job.system else ())}
    both = ((" ".join(option), site[_flag(option)]) for option in chosen if _flag(option) in site)
    said = (f"the site wants {new!r} in every job: it replaces {old!r}" for old, new in both if old != new)
    return tuple(Notice(field="job_options", message=message) for message in said)


def checked(directives: Directives) -> Directives:
    """The directives, if no word in them could end its line or begin another option; else :class:`RequestError`."""
    for option in directives.options:
        _check(option)
    return directives


@lru_cache(maxsize=1024)
def _check(option: Option) -> None:
    for word in option:
        if not _HARMLESS.fullmatch(word):
            why = "no blanks, quotes or signs that a shell reads"
            raise RequestError(f"{word!r:.80} cannot stand in a job's header: {why}", field="job_options")
    if any(word.startswith("-") for word in option[1:]) or not option[0].startswith("-"):
        raise RequestError(f"{' '.join(option)!r:.80} is more than one option", field="job_options")


@lru_cache(maxsize=1024)
def _flag(option: Option) -> str:
    """What an option sets: ``--nodes``, ``-q``; for a list of resources or attributes the one in it: ``-l walltime``."""
    if option[0] in {"-l", "-W"} and len(option) > 1:
        return f"{option[0]} {option[1].split('=', 1)[0]}"
    return option[0].split("=", 1)[0]


def folders(job: JobSpec, scheduler: str) -> tuple[Notice, ...]:
    """A warning for each output file in a directory: no scheduler makes it."""
    says = job.attributes
    files = (("output", says.output), ("error", says.error))
    why = f"{scheduler} does not make directories: make sure that it is there when the job starts"
    return tuple(note(field, f"{path.rsplit('/', 1)[0]}: {why}") for field, path in files if path and "/" in path)


def own_timer(job: JobSpec, scheduler: str) -> tuple[Notice, ...]:
    """A warning where the scheduler sends no signal before the limit, so that the script's own timer has to."""
    says = job.attributes
    if not says.signal:
        return ()
    if not says.wall_time_s:
        return (note("signal", f"{scheduler} sends no signal before a limit, and the job has none to count from: it is left out"),)
    return (note("signal", f"{scheduler} sends no {says.signal.name} before the limit: a timer in the script does"),)


def expand_nodes(nodes: str) -> tuple[str, ...]:
    """Host names of a node list: ``n[01-03],m7`` -> n01, n02, n03, m7.

    >>> expand_nodes("n[01-03],m7")
    ('n01', 'n02', 'n03', 'm7')
    """
    found: list[str] = []
    for item in re.findall(r"[^,\[]+(?:\[[^\]]*\])?", nodes):
        base, _, ranges = item.partition("[")
        found += [base + index for part in ranges.rstrip("]").split(",") for index in _indices(part)]
    return tuple(found)


def _indices(part: str) -> Sequence[str]:
    first, _, last = part.partition("-")
    return [first] if not last else [f"{index:0{len(first)}d}" for index in range(int(first), int(last) + 1)]


def mib(size: int) -> int:
    """Whole MiB of a size in bytes, at least one: never more than was asked for."""
    return max(1, size // 2**20)
