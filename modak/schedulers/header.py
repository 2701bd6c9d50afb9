"""Headers: options as words, combined with the options that the site requires; warnings name the request's field."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from modak.dsl import Notice
from modak.errors import RequestError
from modak.jobs.spec import JobSpec
from modak.text.hosts import expand_nodes

Option = tuple[str, ...]
"""The words of one header line: ``("--nodes=4",)`` or ``("-l", "nodes=4:ppn=12")``."""

_NONE: Final[Mapping[str, str]] = {}
ACCOUNTS: Final = ("--account", "-A", "-P", "-G", "-g", "--bank", "-W group_list")
"""Options for the account of a job, of all schedulers and sites: one without a value in a system file gets the request's account."""
LEFT_TO_REQUEST: Final[Mapping[str, str]] = {
    **dict.fromkeys(ACCOUNTS, "account"),
    "--qos": "qos", "-q": "queue", "--time": "wall_time_s", "-l walltime": "wall_time_s", "-l h_rt": "wall_time_s", "-W": "wall_time_s",
    "--time-limit": "wall_time_s", "--partition": "partition", "--queue": "queue", "--reservation": "reservation",
    "--constraint": "constraint", "--licenses": "site_resources",
}  # fmt: skip
"""Options that mean nothing without a value, and the field of a job that has it. So do those that end in ``=``."""
_IN_BRACES: Final = re.compile(r"\{([a-z_]+)\}")
_PART: Final = re.compile(r":[A-Za-z][A-Za-z0-9_]*=[^:]*")
"""``:ngpus={gpus_per_node}`` within an option of PBS."""
_SIGN: Final = r"[A-Za-z0-9._:,/@%+=&|(){}\[\]^~?*!<>-]"
_USUAL: Final = re.compile(f"-{_SIGN}*")
_HARMLESS: Final = re.compile(rf"(?:{_SIGN}|\$(?:JOB_ID|JOB_NAME|TASK_ID|HOSTNAME))+")
"""With the variables that Grid Engine itself reads in names of output files."""


@dataclass(frozen=True)
class Directives:
    """The header of a script, and warnings about what it cannot express."""

    options: tuple[Option, ...]
    warnings: tuple[Notice, ...] = ()


FIELDS: Final[Mapping[str, str]] = {
    "name": "job_name",
    **{name: name for name in ("account", "queue", "partition", "qos", "reservation", "site_resources")},
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
    **{name: name for name in ("requeue", "signal", "copy_environment")},
    "copy_variables": "copy_environment_variable",
    "memory_per_node": "memory_limit",
    "memory_per_core": "minimum_memory_per_processor",
    "gpus_per_node": "request_gpus",
    "nodes": "node_count",
}
"""The request's name of each field of a job that can become an option."""


def note(field: str, message: str) -> Notice:
    """A warning that names the request's field."""
    return Notice(field=f"job_options.{FIELDS[field]}", message=message)


def options(table: Mapping[str, object]) -> tuple[Option, ...]:
    """Header lines of long options: ``--key=value``; a ``True`` value is a bare option, an empty one is left out."""
    return tuple([(f"--{key}" if value is True else f"--{key}={value}",) for key, value in table.items() if value])


def flags(table: Iterable[tuple[str, str | bool | None]]) -> tuple[Option, ...]:
    """Header lines of a flag and its value, in two words; a ``True`` value is a bare flag, an empty one is left out."""
    return tuple([(flag, value) if isinstance(value, str) else (flag,) for flag, value in table if value])


def enough_named(job: JobSpec) -> str | None:
    """The nodes that the request names, unless the job has more: for schedulers that would look for all of its nodes among them."""
    names = job.attributes.node_list
    return names if names and len(expand_nodes(names)) >= job.resources.nodes else None


def never_met(dependency: str | None) -> bool:
    """Whether jobs may end in such a way that the one which depends on them never starts. PBS Pro, Torque and Flux then remove it; Slurm
    and LSF let it wait until somebody does, unless the job says otherwise."""
    kinds = {part.partition(":")[0] for part in re.split("[,?]", dependency or "")}
    return not kinds.isdisjoint(("afterok", "afternotok", "aftercorr"))


def clauses(dependency: str | None) -> tuple[tuple[str, list[str]], ...]:
    """The kind and the jobs of each part of a dependency, of which all must hold.

    >>> clauses("afterok:1:2,singleton"), clauses(None)
    ((('afterok', ['1', '2']), ('singleton', [])), ())
    """
    parts = (part.split(":") for part in dependency.split(",")) if dependency else ()
    return tuple((kind, jobs) for kind, *jobs in parts)


def day_and_time(begin: str | None) -> tuple[str, str] | None:
    """The day (empty: none is given) and the time of a start; ``None`` if it is relative to now.

    >>> day_and_time("2026-01-31T14:00"), day_and_time("2026-01-31"), day_and_time("14:00:30"), day_and_time("now+2hours")
    (('2026-01-31', '14:00'), ('2026-01-31', '00:00'), ('', '14:00:30'), None)
    """
    if not begin or begin.startswith("now"):
        return None
    day, _, time = begin.partition("T") if "-" in begin else ("", "", begin)
    return day, time or "00:00"


def output_name(path: str | None, signs: Mapping[str, str]) -> str | None:
    """An output file's name with a scheduler's own placeholders in place of Slurm's."""
    for sign, ours in signs.items():
        path = path.replace(sign, ours) if path else None
    return path


def error_file(job: JobSpec, apart: str) -> str | None:
    """The file of standard error for schedulers that join the streams unless one is named: the request's, or ``apart`` if it only wants
    them apart; ``None``: they are joined."""
    says = job.attributes
    return None if says.join else says.error or (apart if says.join is False else None)


def with_site(
    job: JobSpec,
    chosen: Sequence[Option],
    warnings: Iterable[Notice] = (),
    synonyms: Mapping[str, str] = _NONE,
    asking: Collection[str] = (),
) -> Directives:
    """The header of the ``chosen`` options and those that the site requires in every job. If both set the same, the site's option is used.

    A site's option without a value takes the value of the request. ``synonyms``: options that set the same as another one, and that one.
    ``asking``: options for the job's nodes, which the partition's resource directives, if it has any, replace. There is a warning for
    each option that the site's replaces, for each site's option without a value in the request, and for what the resource directives
    do not express. Raises as :func:`safe_directives` does.
    """
    flagged = _flagged(job.system.mandatory_directives) if job.system else ()
    required = [option for _, option in flagged]
    if job.resource_directives:
        chosen, lost = _in_the_sites_words(job, chosen, synonyms, asking)
        warnings = (*warnings, *lost)
    given, site, missing = _by_setting(_charged(job, chosen, required, synonyms), synonyms), dict[str, str](), list[Notice]()
    kept: list[Option] = []
    for flag, option in flagged:
        setting = synonyms.get(flag, flag)
        if not _left_to_request(setting, option, given):
            site[setting] = " ".join(option)
            kept.append(option)
        elif setting not in [other for other, _ in given]:
            asked = " ".join(option).removesuffix("=")
            why = f"the site requires {asked} in every job: without it, the job is rejected"
            missing.append(note(LEFT_TO_REQUEST.get(setting, "site_resources"), why))
    notices = (*_replaced(given, site), *missing)
    return safe_directives(Directives((*[option for setting, option in given if setting not in site], *kept), (*warnings, *notices)))


def _replaced(given: Iterable[tuple[str, Option]], site: Mapping[str, str]) -> Iterator[Notice]:
    """A warning for each option that the site's for the same setting replaces with something else."""
    both = ((" ".join(option), site[setting]) for setting, option in given if setting in site)
    messages = (f"the site requires {new!r} in every job: it replaces {old!r}" for old, new in both if old != new)
    return (Notice(field="job_options", message=message) for message in messages)


@lru_cache(maxsize=256)
def _flagged(texts: tuple[str, ...]) -> tuple[tuple[str, Option], ...]:
    """A site's options as words, each with its :func:`_flag`."""
    options = (tuple(text.split(" ", 1)) for text in texts)
    return tuple((_flag(option), option) for option in options)


def _left_to_request(setting: str, option: Option, given: Sequence[tuple[str, Option]]) -> bool:
    """Whether a site's option has no value, and needs one: an account's name, or what the request has given it."""
    if _has_value(option):
        return False
    return option[-1].endswith("=") or setting in LEFT_TO_REQUEST or any(_has_value(one) for other, one in given if other == setting)


def _has_value(option: Option) -> bool:
    return not option[-1].endswith("=") and (len(option) > 1 or "=" in option[0]) and " ".join(option) not in ACCOUNTS


def _charged(job: JobSpec, chosen: Sequence[Option], required: Sequence[Option], synonyms: Mapping[str, str]) -> Sequence[Option]:
    """The options with the account under the names that the site requires for it, in place of the scheduler's usual one."""
    names = [name for option in required if (name := " ".join(option).removesuffix("=")) in ACCOUNTS]
    usual = next((option for option in chosen if _flag(option) in ACCOUNTS), None)
    account = job.attributes.account
    if not (names and usual and account):
        return chosen
    own = tuple(usual if synonyms.get(name, name) == _flag(usual) else _naming(name, account) for name in names)
    return tuple(each for option in chosen for each in (own if option is usual else (option,)))


def _naming(name: str, account: str) -> Option:
    """An option for the account: ``-P A``, ``--bank A``, ``-W group_list=A``."""
    flag, _, attribute = name.partition(" ")
    return flag, f"{attribute}={account}" if attribute else account


def _in_the_sites_words(
    job: JobSpec, chosen: Sequence[Option], synonyms: Mapping[str, str], asking: Collection[str]
) -> tuple[Sequence[Option], tuple[Notice, ...]]:
    """The options with the partition's resource directives in place of the usual ones for the job's nodes and of those for the same
    settings, and a warning for what these said beyond."""
    values = _values(job)
    own: list[Option] = [tuple(text.split(" ", 1)) for text in (_filled(text, values) for text in job.resource_directives) if text]
    site = {setting: " ".join(option) for setting, option in _by_setting(own, synonyms)}
    usual = [option for option in chosen if _flag(option) in asking]
    at = chosen.index(usual[0]) if usual else len(chosen)
    before = _by_setting(chosen[:at], synonyms)
    after = _by_setting([option for option in chosen[at:] if option not in usual], synonyms)

    def kept(part: Iterable[tuple[str, Option]]) -> Iterator[Option]:
        return (option for setting, option in part if setting not in site)

    header = (*kept(before), *own, *kept(after))
    return header, (*_replaced((*before, *after), site), *_lost(job, usual, header))


def _filled(text: str, values: Mapping[str, int]) -> str:
    """A resource directive with numbers for its placeholders. What the job does not ask for is left out: a part ``:NAME={…}`` of the
    option, else the whole option (empty)."""

    def lacks(part: str) -> bool:
        return not all(values[name] for name in _IN_BRACES.findall(part))

    asked = _PART.sub(lambda part: "" if lacks(part[0]) else part[0], text)
    return "" if lacks(asked) else _IN_BRACES.sub(lambda at: str(values[at[1]]), asked)


def _values(job: JobSpec) -> Mapping[str, int]:
    """What placeholders stand for; 0: the job does not ask for it. Memory that nothing is said of is the part of the job's cores."""
    has = job.resources
    memory = mib(size) if (size := has.node_memory or has.memory_share) else 0
    per_node = {"cores": has.cores_per_node, "cpus": job.cpus_per_node, "gpus": has.gpus_per_node, "memory_mib": memory}
    return {
        "nodes": has.nodes,
        "ranks": has.ranks,
        "ranks_per_node": has.ranks_per_node,
        "threads_per_rank": has.threads_per_rank,
        "cores_per_rank": has.cores_per_rank,
        "cpus_per_task": job.cpus_per_task,
        **{name: has.nodes * count for name, count in per_node.items()},
        **{f"{name}_per_node": count for name, count in per_node.items()},
        "memory_mib_per_cpu": memory // job.cpus_per_node,
    }


def _lost(job: JobSpec, usual: Iterable[Option], header: Sequence[Option]) -> tuple[Notice, ...]:
    """A warning for each wish of the request that only the usual options hold."""
    says, has = job.attributes, job.resources

    def is_lost(wish: str) -> bool:
        return wish != "" and _holds(usual, wish) and not _holds(header, wish)

    wishes = {
        "node_list": re.escape(expand_nodes(says.node_list)[0]) if says.node_list else "",
        "constraint": _first_feature(says.constraint),
        "exclusive": "excl(host)?" if says.exclusive else "",
    }
    found = [field for field, wish in wishes.items() if is_lost(wish)]
    if not any("{memory_mib" in text for text in job.resource_directives):
        found += [field for field in ("memory_per_node", "memory_per_core") if getattr(has, field)]
    why = "the system file's resource_directives do not say it: left out"
    lost = [note(field, why) for field in found]
    if is_lost(_first_feature(has.numa_constraint)):
        lost.append(note("constraint", f"{has.numa_constraint}, which selects the NUMA mode: {why}"))
    return tuple(lost)


def _first_feature(constraint: str | None) -> str:
    """A pattern of the first feature that a constraint names; empty: it names none."""
    return re.escape(re.split("[&|]", constraint)[0]) if constraint else ""


def _holds(options: Iterable[Option], wish: str) -> bool:
    """Whether a value of the options has the wish (a pattern) as one of its words: ``gpu`` is none of ``gpus=4``."""
    word = re.compile(rf"(?<![\w.-]){wish}(?![\w.-])")
    return any(word.search(each) for option in options for each in option)


def safe_directives(directives: Directives) -> Directives:
    """The directives, if no word in them could end its line or begin another option; else :class:`RequestError`."""
    words = [word for option in directives.options for word in option]
    if len(words) > len(directives.options) or not all(map(_USUAL.fullmatch, words)):  # the first glance at what almost every header is
        for option in directives.options:
            _check(option)
    return directives


def _check(option: Option) -> None:
    for word in option:
        if not _HARMLESS.fullmatch(word):
            why = "no blanks, quotes or signs that a shell reads"
            raise RequestError(f"{word!r:.80} cannot stand in a job's header: {why}", field="job_options")
    if any(word.startswith("-") and not word[1:2].isdigit() for word in option[1:]) or not option[0].startswith("-"):
        raise RequestError(f"{' '.join(option)!r:.80} is more than one option", field="job_options")


def _by_setting(of: Iterable[Option], synonyms: Mapping[str, str]) -> list[tuple[str, Option]]:
    """Each option with the name of what it sets, which is the same for synonyms."""
    flags = [(_flag(option), option) for option in of]
    return [(synonyms.get(flag, flag), option) for flag, option in flags]


def _flag(option: Option) -> str:
    """The name of what an option sets: ``--nodes``, ``-q``; with the resource or attribute in its value: ``-l walltime`` (PBS reads them
    in any case), ``-R span[ptile``. LSF's ``-W`` has a time for its value."""
    if len(option) > 1 and (option[0] in ("-l", "-R") or (option[0] == "-W" and not option[1][0].isdigit())):
        name = option[1].partition("=")[0]
        return f"{option[0]} {name if option[0] == '-R' else name.lower()}"
    return option[0].partition("=")[0]


def whole_environment(job: JobSpec) -> bool | None:
    """Whether the job gets the submitter's whole environment; the site's policy takes precedence over the request. ``None``: neither says,
    and the scheduler's default holds."""
    policy = job.system.export_policy if job.system else "site"
    return job.attributes.copy_environment if policy == "site" else policy == "ALL"


def passed_variables(job: JobSpec, every: str, nothing: str) -> str | None:
    """What the job gets of the submitter's environment, in a scheduler's words: ``ALL,A,B``, because names alone would drop the rest."""
    whole, names = whole_environment(job), job.attributes.copy_variables
    if whole is False:
        return ",".join(names) or nothing
    return ",".join((every, *names)) if whole or names else None


def licences(job: JobSpec) -> tuple[tuple[str, str], ...]:
    """Resources that the site has named, as name and count: schedulers with licences know no others."""
    named = (text.partition("=") for text in job.attributes.site_resources)
    return tuple((name, count) for name, _, count in named if count.isdecimal())


def mib(size: int) -> int:
    """A size in bytes as whole MiB, rounded down, at least 1."""
    return max(1, size // 2**20)
