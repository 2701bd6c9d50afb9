"""``qsub`` of Torque, PBS Pro and, in part, Grid Engine: names, times, letters of events, and what they lack.

``common_…`` are of Torque and PBS Pro alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from modak.dsl import Notice
from modak.jobs.spec import JobSpec
from modak.schedulers.base import Scheduler
from modak.schedulers.commands import Commands
from modak.schedulers.header import Option, clauses, day_and_time, flags, note, whole_environment
from modak.schedulers.notices import environment_policy, folders, joined_streams, named_files, own_timer, queues_alone

EVENTS: Final = {"begin": "b", "end": "e", "fail": "a", "none": "n"}

SHELL: Final = ("-S", "/bin/bash")
"""Without it the job runs in the user's login shell, which need not be bash."""
COMMANDS: Final = Commands(
    submit=("qsub",),
    number=r"^([0-9]+\S*)$",
    ask=("qstat", "-f", "{job}"),
    state=r"^\s*job_state = (?P<state>\w)",
    waiting="[QHWT]",
    running="[RESUB]",
    gone="unknown job id|job has finished|status 153",
    away="connection refused|cannot connect to server|unable to communicate with|too busy"
    "|unable to contact slurm controller|problem loading jobs",
    lost="timed out|time-?out|end of (?:file|message)|communication failure",
)
"""Status 153 is PBS's number of an unknown job; Slurm's ``qstat`` says nothing else. Its last two messages under ``away`` are Slurm's."""
AGAIN: Final = r"""timeout 20 qstat -f "${PBS_JOBID}" 2>/dev/null |
        grep -E '^ *(run|start)_count = ([2-9]|[1-9][0-9])' >/dev/null"""
"""PBS Pro counts a job's starts in ``run_count``, Torque in ``start_count``. Both kill a job that they start again at once."""
DEPENDENCIES: Final = frozenset({"after", "afterok", "afternotok", "afterany", "before", "beforeok", "beforenotok", "beforeany"})


@dataclass(frozen=True)
class Pbs(Scheduler):
    """What Torque and PBS Pro have in common."""

    prefix: str = "#PBS"
    submit: tuple[str, ...] = ("qsub",)
    commands: Commands | None = COMMANDS
    submit_dir: str | None = "PBS_O_WORKDIR"
    job_id: str | None = "PBS_JOBID"
    again: str = AGAIN
    host_file: str | None = "PBS_NODEFILE"
    exclusive: bool = True


def common_options(job: JobSpec, kinds: Collection[str] = DEPENDENCIES) -> tuple[Option, ...]:
    """Options that are the same in both; ``kinds``: the kinds of dependencies."""
    says = job.attributes
    table = (
        ("-o", plain_path(says.output)),
        ("-e", None if says.join else plain_path(says.error)),
        ("-j", "oe" if says.join else None),
        ("-m", letters(says.notify)),
        ("-M", says.email),
        ("-r", rerunnable(says.requeue)),
        ("-W", f"depend={says.dependency}" if says.dependency and _knows(says.dependency, kinds) else None),
        ("-a", date_time(says.begin)),
        ("-v", ",".join(says.copy_variables)),
        ("-V", whole_environment(job)),
    )
    return flags(table)


def site_resources(job: JobSpec) -> tuple[tuple[str, str], ...]:
    """Resources that the site has named, one a line."""
    return tuple(("-l", resource) for resource in job.attributes.site_resources)


def job_name(name: str) -> str:
    """The name with a letter first, as both require."""
    return name if name[:1].isalpha() else f"j{name}"


def rerunnable(requeue: bool | None) -> str | None:
    """The value of ``-r``; ``None``: the site's default."""
    return None if requeue is None else "y" if requeue else "n"


def walltime(seconds: int) -> str:
    """``HH:MM:SS`` with as many hours as it takes: PBS knows no days.

    >>> walltime(108000)
    '30:00:00'
    """
    return f"{seconds // 3600:02d}:{seconds % 3600 // 60:02d}:{seconds % 60:02d}"


def plain_path(path: str | None) -> str | None:
    """An output file; ``None`` for one with Slurm's ``%j`` and the like, which would be taken literally."""
    return path if path and "%" not in path else None


def letters(events: tuple[str, ...]) -> str:
    """Mail letters of events, in the order that the manual has them.

    >>> letters(("end", "begin", "fail"))
    'abe'
    """
    found = {EVENTS[event] for event in events if event in EVENTS}
    return "".join(sorted(found - {"n"} or found))


def date_time(begin: str | None) -> str | None:
    """``[CCYYMMDD]hhmm[.SS]`` of a start time; ``None`` if it is relative to now.

    >>> date_time("2026-01-31T14:00"), date_time("14:00:30"), date_time("2026-01-31")
    ('202601311400', '1400.30', '202601310000')
    """
    start = day_and_time(begin)
    if start is None:
        return None
    day, time = start
    hours, minutes, *seconds = time.split(":")
    return day.replace("-", "") + hours + minutes + "".join(f".{second}" for second in seconds)


def qsub_warnings(job: JobSpec, scheduler: str) -> Iterator[Notice]:
    """Warnings about events and the job's name for Torque, PBS Pro and Grid Engine, whose qsub commands are related."""
    says = job.attributes
    for event in says.notify:
        if event not in EVENTS:
            yield note("notify", f"{scheduler} sends no mail on {event}, only on events a, b and e")
    if job_name(says.name) != says.name:
        yield note("name", f"{scheduler} requires that a job name starts with a letter: the job is called {job_name(says.name)}")


def common_warnings(job: JobSpec, scheduler: str, kinds: Collection[str] = DEPENDENCIES) -> Iterator[Notice]:
    """Warnings about what neither Torque nor PBS Pro supports; the messages name ``scheduler``. ``kinds`` as above."""
    yield from qsub_warnings(job, scheduler)
    for field, path in named_files(job):
        if "%" in path:
            why = f"{scheduler} does not expand % in file names"
            yield note(field, f"{why}: {path} is left out, the default NAME.{field[0]}JOB is kept")
    yield from queues_alone(job, scheduler)
    yield from joined_streams(job, scheduler)
    yield from own_timer(job, scheduler)
    yield from _start_warnings(job, scheduler, kinds)
    yield from environment_policy(job)
    yield from folders(job, scheduler, plain_path)


def _start_warnings(job: JobSpec, scheduler: str, kinds: Collection[str]) -> Iterator[Notice]:
    says = job.attributes
    if says.dependency and not _knows(says.dependency, kinds):
        known = ", ".join(sorted(kinds))
        yield note("dependency", f"{says.dependency} is left out: {scheduler} supports {known}, combined by 'and' only")
    if says.begin and not date_time(says.begin):
        yield note("begin", f"{scheduler} needs a date and time, not one relative to now: left out")


def _knows(dependency: str, kinds: Collection[str]) -> bool:
    return "?" not in dependency and all(kind in kinds for kind, _ in clauses(dependency))
