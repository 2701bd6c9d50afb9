"""The vocabulary of headers: options as words, warnings that name a request's field, and what the site has to say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from modak.dsl import Notice
from modak.errors import RequestError
from modak.jobs.spec import JobSpec

Option = tuple[str, ...]
"""The words of one header line: ``("--nodes=4",)`` or ``("-l", "nodes=4:ppn=12")``."""

_NONE: Final[Mapping[str, str]] = {}
LONGEST_KEPT: Final = 1000
"""Characters of an option that is remembered; a list of variables may be as long as a request."""
ACCOUNTS: Final = ("--account", "-A", "-P")
"""What schedulers call the account of a job: without a value an option that only the request can complete."""
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


def with_site(job: JobSpec, chosen: Sequence[Option], warnings: Iterable[Notice] = (), one_matter: Mapping[str, str] = _NONE) -> Directives:
    """The header of these options and of those that the site requires in every job; where both set one thing, the site's option counts.

    A site's option without a value leaves the value to the request. ``one_matter``: options that set what another one sets, and that one.
    There is a warning for each option that the site's replaces, and for an account that the site requires and nobody names. Raises as
    :func:`checked` does.
    """
    required = _site(job)
    if not required:
        return checked(Directives(tuple(chosen), tuple(warnings)))
    given, site, missing = _by_matter(chosen, one_matter), dict[str, str](), list[str]()
    kept: list[Option] = []
    for matter, option in _by_matter(required, one_matter):
        if not _left_to_request(matter, option, given):
            site[matter] = " ".join(option)
            kept.append(option)
        elif all(matter != other for other, _ in given):
            missing.append(option[0])
    both = ((" ".join(option), site[matter]) for matter, option in given if matter in site)
    said = (f"the site requires {new!r} in every job: it replaces {old!r}" for old, new in both if old != new)
    notices = (
        *(Notice(field="job_options", message=message) for message in said),
        *(note("account", f"the site requires {option} in every job: without it, the job is rejected") for option in missing),
    )
    return checked(Directives((*(option for matter, option in given if matter not in site), *kept), (*warnings, *notices)))


def _site(job: JobSpec) -> tuple[Option, ...]:
    return tuple(tuple(text.split(" ", 1)) for text in (job.system.mandatory_directives if job.system else ()))


def _left_to_request(matter: str, option: Option, given: Sequence[tuple[str, Option]]) -> bool:
    """Whether a site's option has no value, and needs one: an account's name, or what the request has given it."""
    if _has_value(option):
        return False
    return option[0] in ACCOUNTS or any(other == matter and _has_value(one) for other, one in given)


def _has_value(option: Option) -> bool:
    return len(option) > 1 or "=" in option[0]


def checked(directives: Directives) -> Directives:
    """The directives, if no word in them could end its line or begin another option; else :class:`RequestError`."""
    for option in directives.options:
        (_check if sum(map(len, option)) <= LONGEST_KEPT else _check.__wrapped__)(option)
    return directives


@lru_cache(maxsize=1024)
def _check(option: Option) -> None:
    for word in option:
        if not _HARMLESS.fullmatch(word):
            why = "no blanks, quotes or signs that a shell reads"
            raise RequestError(f"{word!r:.80} cannot stand in a job's header: {why}", field="job_options")
    if any(word.startswith("-") for word in option[1:]) or not option[0].startswith("-"):
        raise RequestError(f"{' '.join(option)!r:.80} is more than one option", field="job_options")


def _by_matter(of: Iterable[Option], one_matter: Mapping[str, str]) -> list[tuple[str, Option]]:
    """Each of the options behind what it sets, by one name for all that set the same thing."""
    flags = ((_flag(option), option) for option in of)
    return [(one_matter.get(flag, flag), option) for flag, option in flags]


def _flag(option: Option) -> str:
    """What an option sets: ``--nodes``, ``-q``; for a list of resources or attributes the one in it: ``-l walltime``."""
    if len(option) > 1 and option[0] in ("-l", "-W"):
        return f"{option[0]} {option[1].partition('=')[0]}"
    return option[0].partition("=")[0]


def folders(job: JobSpec, scheduler: str) -> tuple[Notice, ...]:
    """A warning for each output file in a directory: no scheduler makes it."""
    says = job.attributes
    files = (("output", says.output), ("error", says.error))
    why = f"{scheduler} does not create directories: make sure that it exists when the job starts"
    return tuple(note(field, f"{path.rsplit('/', 1)[0]}: {why}") for field, path in files if path and "/" in path)


def shared_files(job: JobSpec, scheduler: str, own: tuple[str, ...] = ()) -> tuple[Notice, ...]:
    """A warning for each output file that all jobs of an array would write.

    ``own``: signs that give each its own; without any, paths with signs are left out anyway.
    """
    says = job.attributes
    files = (("output", says.output), ("error", None if says.join else says.error))
    shared = ((field, path) for field, path in files if says.array and path and not any(sign in path for sign in own or ("%",)))
    advice = f"put {own[0]} into its name" if own else "leave it out, and each gets its own"
    return tuple(note(field, f"all jobs of the array write to {path} under {scheduler}: {advice}") for field, path in shared)


def environment_policy(job: JobSpec) -> tuple[Notice, ...]:
    """Where the site's policy on the submitter's environment goes before the request's wish."""
    says, site = job.attributes, job.system
    if site and site.export_policy == "NONE" and says.copy_environment:
        return (note("copy_environment", f"{site.name} starts jobs without the submitter's environment: its policy is kept"),)
    if site and site.export_policy == "ALL" and says.copy_environment is False:
        return (note("copy_environment", f"{site.name} starts jobs with the submitter's environment: its policy is kept"),)
    return ()


def whole_environment(job: JobSpec) -> bool:
    """Whether the job takes the submitter's whole environment along; the site's policy goes before the request."""
    policy = job.system.export_policy if job.system else "site"
    return policy == "ALL" or (policy == "site" and bool(job.attributes.copy_environment))


def queues_alone(job: JobSpec, scheduler: str) -> tuple[Notice, ...]:
    """A warning where a partition is named beside another queue, and the scheduler has no partitions."""
    says = job.attributes
    if not (says.queue and says.partition and says.queue != says.partition):
        return ()
    return (note("partition", f"{scheduler} has queues only: queue {says.queue} is used, partition {says.partition} is left out"),)


def joined_streams(job: JobSpec, scheduler: str) -> tuple[Notice, ...]:
    """A warning where an error file is named although both streams go to the output file."""
    if not (job.attributes.join and job.attributes.error):
        return ()
    return (note("error", f"standard error is joined with the output, so the error file is left out for {scheduler}"),)


def own_timer(job: JobSpec, scheduler: str) -> tuple[Notice, ...]:
    """A warning where the scheduler sends the script alone no signal before the limit, so that the script's own timer has to."""
    says = job.attributes
    if not says.signal:
        return ()
    if not says.wall_time_s:
        return (note("signal", f"under {scheduler} a timer in the script sends it, which needs a wall time limit: left out"),)
    return (note("signal", f"{scheduler} does not send {says.signal.name} to the script before the limit: a timer in the script does"),)


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
