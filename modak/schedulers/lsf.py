"""LSF: ``#BSUB`` options of bsub. A slot is assumed to be a core."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from modak.dsl import Notice
from modak.jobs.spec import JobSpec
from modak.schedulers.base import Scheduler
from modak.schedulers.commands import Commands
from modak.schedulers.header import (
    Directives,
    day_and_time,
    error_file,
    flags,
    licences,
    mib,
    never_met,
    note,
    output_name,
    passed_variables,
    with_site,
)
from modak.schedulers.notices import (
    environment_policy,
    folders,
    joined_streams,
    named_files,
    no_event,
    no_option,
    own_timer,
    queues_alone,
    shared_files,
    uncounted,
)
from modak.text.hosts import expand_nodes

EVENTS: Final = {"begin": "-B", "end": "-N", "fail": "-N"}
STATES: Final = {"after": "started", "afterok": "done", "afternotok": "exit", "afterany": "ended"}

ASKING: Final = ("-n", "-R span[ptile", "-R rusage[mem", "-gpu")
_SIGNS: Final = {"%j": "%J", "%A": "%J", "%a": "%I"}

COMMANDS: Final = Commands(
    submit=("bsub", "<"),
    number=r"Job <([0-9]+)> is submitted",
    ask=("bjobs", "-noheader", "-o", "stat", "{job}"),
    state=r"^ *(?P<state>\w+)",
    waiting="PEND|PSUSP|PROV|WAIT",
    running="RUN|USUSP|SSUSP|UNKWN",
    gone="is not found",
    away="connection refused|cannot connect to LSF|LSF is down|LIM is down|not responding|try later",
    lost="timed out|time-?out|communication",
)


@dataclass(frozen=True)
class Lsf(Scheduler):
    """IBM Spectrum LSF. The script goes to bsub's standard input: ``bsub <job.sh``.

    It never signals the script alone: a warning action (``-wa``) reaches every process of the job.
    """

    name: str = "lsf"
    prefix: str = "#BSUB"
    submit: tuple[str, ...] = ("bsub", "<")
    aliases: tuple[str, ...] = ("bsub",)
    commands: Commands = COMMANDS
    submit_dir: str | None = "LS_SUBCWD"
    job_id: str | None = "LSB_JOBID"
    array_index: str | None = "LSB_JOBINDEX"
    array_shares_id: bool = True
    restarts: str | None = "LSB_RESTART"
    host_file: str | None = "LSB_DJOB_HOSTFILE"
    exclusive: bool = True
    bootstrap: str | None = "lsf"

    def directives(self, job: JobSpec) -> Directives:
        """Options of bsub."""
        says, has, array = job.attributes, job.resources, self.array(job.attributes.array or "")
        usual = f"{says.name}.%J.%I" if array else f"{says.name}.%J"  # without -o the output is mailed
        condition = _condition(says.dependency)
        table = (
            ("-J", f"{says.name}{array or ''}"),
            ("-P", says.account),
            ("-q", says.queue or says.partition),
            ("-n", str(has.nodes * job.cpus_per_node)),
            ("-R", f"span[ptile={job.cpus_per_node}]"),
            ("-R", _memory(job)),
            ("-R", _selection(job)),
            *(("-R", f"rusage[{name}={count}]") for name, count in licences(job)),
            ("-U", says.reservation),
            ("-gpu", f"num={has.gpus_per_node}/host" if has.gpus_per_node else None),
            ("-W", _limit(says.wall_time_s)),
            ("-m", None if _candidates(job) else says.node_list),
            ("-o", _file(says.output, says.name) or f"{usual}.out"),
            ("-e", _file(error_file(job, f"{usual}.err"), says.name)),
            ("-u", says.email),
            ("-w", condition),
            ("-b", _begin(says.begin)),
            ("-env", passed_variables(job, "all", "none")),
            ("-ti", condition is not None and never_met(says.dependency)),
            *dict.fromkeys((EVENTS[event], True) for event in says.notify if event in EVENTS),
            ("-x", says.exclusive),
            ("-r", says.requeue),
            ("-rn", says.requeue is False),
        )
        return with_site(job, flags(table), (*_warnings(job, array), *environment_policy(job)), asking=ASKING)

    def array(self, indices: str) -> str | None:
        """``[indices]%limit`` behind the name; indices start at 1."""
        listed, percent, limit = indices.partition("%")
        return f"[{listed}]{percent}{limit}" if listed and not re.search(r"(^|,)0+(\b|-)", listed) else None


def _limit(seconds: int | None) -> str | None:
    """``H:MM``, rounded up: LSF knows no seconds."""
    minutes = -(-(seconds or 0) // 60)
    return f"{minutes // 60}:{minutes % 60:02d}" if minutes else None


def _memory(job: JobSpec) -> str | None:
    """Of each host, else of each slot; ``None``: the job asks for none."""
    has = job.resources
    if has.memory_per_node:
        return f"rusage[mem={mib(has.node_memory)}MB/host]"
    return f"rusage[mem={mib(has.memory_per_core // job.cpus_per_core)}MB/task]" if has.memory_per_core else None


def _selection(job: JobSpec) -> str | None:
    """Boolean resources of hosts."""
    wanted = [text.replace("&", "&&").replace("|", "||") for text in (job.attributes.constraint, job.resources.numa_constraint) if text]
    if len(wanted) > 1:
        wanted = [f"({text})" for text in wanted]
    return f"select[{'&&'.join(wanted)}]" if wanted else None


def _candidates(job: JobSpec) -> bool:
    """Whether the request names nodes that ``-m`` would not make those of the job: LSF takes any of several, and looks for all nodes of the
    job among them."""
    names = job.attributes.node_list
    return names is not None and (len(expand_nodes(names)), job.resources.nodes) != (1, 1)


def _file(path: str | None, name: str) -> str | None:
    """An output file with LSF's placeholders in place of Slurm's; ``None`` if LSF has none for one of them."""
    ours = output_name(path, {**_SIGNS, "%x": name})
    return ours if ours and "%N" not in ours else None


def _condition(dependency: str | None) -> str | None:
    """``done(1)&&ended(2)``; ``None`` for a type of dependency that LSF does not have."""
    if not dependency:
        return None
    parts = re.split(r"([,?])", dependency)
    if any(part.split(":")[0] not in STATES for part in parts[::2]):
        return None
    clauses = []
    for part in parts[::2]:
        kind, *numbers = part.split(":")
        clauses.append("&&".join(f"{STATES[kind]}({number})" for number in numbers))
    joints = ["&&" if sign == "," else "||" for sign in parts[1::2]]
    return clauses[0] + "".join(joint + clause for joint, clause in zip(joints, clauses[1:], strict=True))


def _begin(begin: str | None) -> str | None:
    """``year:month:day:hour:minute``, or ``hour:minute``."""
    start = day_and_time(begin)
    if start is None:
        return None
    day, time = start
    clock = ":".join(time.split(":")[:2])
    return f"{day.replace('-', ':')}:{clock}" if day else clock


def _warnings(job: JobSpec, array: str | None) -> Iterator[Notice]:
    says, has = job.attributes, job.resources
    for event in says.notify:
        if event not in EVENTS and event != "none":
            yield note("notify", f"LSF sends no mail on {event}, only at the begin and end of a job")
    for field, path in named_files(job):
        if "%N" in path:
            yield note(field, f"LSF does not support %N in file names: {path} is left out")
    yield from no_event(job, "LSF")
    yield from queues_alone(job, "LSF")
    yield from no_option(job, "LSF", "qos")
    yield from uncounted(job, "LSF")
    if _candidates(job):
        yield note("node_list", "LSF takes named hosts as candidates, not as the hosts of the job: left out")
    if says.array and not array:
        yield note("array", "LSF's indices start at 1: the array is left out")
    yield from joined_streams(job, "LSF")
    if says.dependency and not _condition(says.dependency):
        yield note("dependency", f"{says.dependency} is left out: LSF supports {', '.join(STATES)}")
    if says.begin and not _begin(says.begin):
        yield note("begin", "LSF needs a date and time, not one relative to now: left out")
    if has.memory_per_core and has.memory_per_node:
        yield note("memory_per_core", f"LSF reserves memory per node or per slot, not both: {mib(has.node_memory)} MB per node cover both")
    if array:
        yield from shared_files(job, "LSF", ("%a",))
    yield from own_timer(job, "LSF")
    yield from folders(job, "LSF", lambda path: _file(path, says.name))
