"""Flux: ``# flux:`` options, in the words of flux-batch's manual. The job is one slot a node."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from modak.dsl import Notice
from modak.jobs.spec import JobSpec
from modak.schedulers.base import Scheduler
from modak.schedulers.commands import Commands
from modak.schedulers.header import (
    Directives,
    Option,
    clauses,
    day_and_time,
    enough_named,
    error_file,
    note,
    options,
    output_name,
    whole_environment,
    with_site,
)
from modak.schedulers.notices import (
    environment_policy,
    folders,
    joined_streams,
    named_files,
    no_option,
    own_timer,
    queues_alone,
    too_few_named,
)
from modak.text.hosts import with_one_range

ASKING: Final = ("--nodes", "--nslots", "--cores-per-slot", "--gpus-per-slot")
KINDS: Final = ("after", "afterany", "afterok", "afternotok")
_ENDS_A_WORD: Final = frozenset("();<>|&")
"""What Flux reads in an option as a shell would; other schedulers take it as it stands."""

_SIGNS: Final = {"%j": "{{id}}", "%A": "{{id}}", "%x": "{{name}}"}
_UNITS: Final = {"minutes": "m", "hours": "h", "days": "d", "": "s"}

COMMANDS: Final = Commands(
    submit=("flux", "batch"),
    number=r"^(\S+)$",
    ask=("flux", "jobs", "-n", "-o", "{state}", "{job}"),
    state=r"^ *(?P<state>\w+)",
    waiting="NEW|DEPEND|PRIORITY|SCHED",
    running="RUN|CLEANUP",
    gone="unknown",
    away="connection refused|unable to connect|host is unreachable",
    lost="timed out|connection reset",
)


@dataclass(frozen=True)
class Flux(Scheduler):
    """The Flux framework.

    It never signals the script alone: by version, its signals reach the ranks, both, or neither; TERM, INT and HUP end the script.
    """

    name: str = "flux"
    prefix: str = "# flux:"
    submit: tuple[str, ...] = ("flux", "batch")
    commands: Commands = COMMANDS
    job_id: str | None = "FLUX_ENCLOSING_ID"
    own_cores: bool = True
    exclusive: bool = True
    memory: bool = False
    launcher: str | None = "flux"

    @property
    def option_start(self) -> str:
        """Any signs before its name (RFC 36); below the header such a line ends the job."""
        return r"\W*(?:flux|FLUX):"

    def directives(self, job: JobSpec) -> Directives:
        """Options of flux batch."""
        says, has = job.attributes, job.resources
        table = {
            "job-name": says.name,
            "bank": says.account,
            "queue": says.queue or says.partition,
            "nodes": has.nodes,
            "nslots": has.nodes,
            "cores-per-slot": has.cores_per_node,
            "gpus-per-slot": has.gpus_per_node,
            "time-limit": f"{says.wall_time_s}s" if says.wall_time_s else None,
            "requires": _requires(job),
            "output": _file(says.output),
            "error": _file(error_file(job, "{{name}}-{{id}}.err")),
            "begin-time": _begin(says.begin),
            "exclusive": says.exclusive,
        }
        waits = tuple((f"--dependency={each}",) for each in _dependencies(says.dependency))
        chosen = (*options(table), *waits, *_environment(job))
        return with_site(job, chosen, (*_warnings(job), *environment_policy(job)), asking=ASKING)

    def line(self, option: Option) -> str:
        """The words as Flux reads them: like a shell, which ends a word at some signs."""
        return super().line(tuple(shlex.quote(each) if _ENDS_A_WORD & set(each) else each for each in option))


def _requires(job: JobSpec) -> str:
    says, has = job.attributes, job.resources
    named = enough_named(job)
    hosts = f"hosts:{with_one_range(named)}" if named else None  # one range a name: Flux RFC 29
    wanted = [text for text in (says.constraint, has.numa_constraint, hosts) if text]
    return "&".join(f"({text})" if "|" in text and len(wanted) > 1 else text for text in wanted)


def _file(path: str | None) -> str | None:
    ours = output_name(path, _SIGNS)
    return ours if ours and "%" not in ours else None


def _begin(begin: str | None) -> str | None:
    """A date and time, or ``+2h`` for a time from now. Flux's parser takes an ISO date with a ``T`` for a time of today."""
    if found := re.fullmatch(r"now\+([0-9]+)([a-z]*)", begin or ""):
        return f"+{found[1]}{_UNITS[found[2]]}"
    start = day_and_time(begin)
    return "-".join(filter(None, start)) if start else None


def _dependencies(dependency: str | None) -> tuple[str, ...]:
    """One option per job; all must hold."""
    if not dependency or "?" in dependency or any(kind not in KINDS for kind, _ in clauses(dependency)):
        return ()
    return tuple(f"{kind}:{job}" for kind, jobs in clauses(dependency) for job in jobs)


def _environment(job: JobSpec) -> tuple[tuple[str, ...], ...]:
    """flux batch passes the whole environment on by default."""
    usual = {True: (("--env=*",),), False: (("--env-remove=*",),), None: ()}
    return (*usual[whole_environment(job)], *((f"--env={name}",) for name in job.attributes.copy_variables))


def _warnings(job: JobSpec) -> Iterator[Notice]:
    says, has = job.attributes, job.resources
    yield from (note(field, "Flux sends no mail: left out") for field in ("notify", "email") if getattr(says, field))
    for field in ("memory_per_node", "memory_per_core"):
        if getattr(has, field):
            yield note(field, "Flux does not allocate memory: request more cores, or whole nodes (node_exclusive)")
    for field, path in named_files(job):
        if not _file(path):
            yield note(field, f"Flux supports only %j and %x in file names: {path} is left out")
    yield from queues_alone(job, "Flux")
    yield from too_few_named(job, "Flux")
    yield from no_option(job, "Flux", "qos", "reservation", "site_resources")
    if says.requeue is not None:
        yield note("requeue", "Flux does not requeue jobs: left out")
    if says.array:
        yield note("array", "flux batch has no job arrays: left out")
    yield from joined_streams(job, "Flux")
    if has.oversubscribed:  # other schedulers are asked for the cores that exist, with more ranks
        why = "the nodes have fewer cores than ranks, but flux run gives each rank its own cores: it may reject the job"
        yield Notice(field="application.threads", message=why)
    if says.dependency and not _dependencies(says.dependency):
        yield note("dependency", f"{says.dependency} is left out: Flux supports {', '.join(KINDS)}, combined by 'and' only")
    yield from own_timer(job, "Flux")
    yield from folders(job, "Flux", _file)
