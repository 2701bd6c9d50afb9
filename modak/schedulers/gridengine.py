"""Grid Engine: ``#$`` options of its qsub. A slot is a core; memory is requested per slot.

The name of a parallel environment is site data: a site says it as the mandatory directive ``-pe NAME``, twice if it has one for jobs on
one node and another one for larger jobs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from modak.dsl import Notice
from modak.jobs.spec import JobSpec
from modak.schedulers.base import FEWER_CPUS, Scheduler
from modak.schedulers.commands import Commands
from modak.schedulers.header import (
    Directives,
    Option,
    clauses,
    enough_named,
    flags,
    mib,
    note,
    output_name,
    safe_directives,
    whole_environment,
    with_site,
)
from modak.schedulers.notices import (
    environment_policy,
    folders,
    joined_streams,
    no_event,
    no_option,
    own_timer,
    queues_alone,
    shared_files,
    too_few_named,
)
from modak.schedulers.qsub import SHELL, date_time, job_name, letters, qsub_warnings, rerunnable, site_resources, walltime
from modak.script.bash import Line, need, run
from modak.text.amounts import counted
from modak.text.hosts import expand_nodes
from modak.text.words import variable

USUAL: Final = ("smp", "mpi")
"""Names of parallel environments if the site names none: on one node, on several."""
ASKING: Final = ("-l gpu", "-l h_vmem")
HERE: Final = ("-cwd", True)
"""Without it the job's output files go to the home directory."""
_SIGNS: Final = {"%j": "$JOB_ID", "%A": "$JOB_ID", "%a": "$TASK_ID", "%x": "$JOB_NAME", "%N": "$HOSTNAME"}
"""Grid Engine's variables for the placeholders in names of output files."""
_COUNT: Final = "{ slots[$1] += $2 } END { for (host in slots) if (slots[host] == %d) full++; exit full != %d }"
"""PE_HOSTFILE has a line for each queue of each host: host, slots, queue, processors."""

COMMANDS: Final = Commands(
    submit=("qsub", "-terse"),
    number=r"^([0-9]+)",
    ask=("qstat",),
    state=r"^ *(?P<job>[0-9]+) +\S+ +\S+ +\S+ +(?P<state>\S+)",
    waiting="[^E]*[qw][^E]*",
    running="[^E]+",
    gone="do not exist",
    away="connection refused|got (?:select|send) error|unable to (?:send message to|contact) qmaster",
    lost="time-?out|timed out|failed receiving|got read error",
)
"""A job with ``E`` in its state could not be started, and is not tried again. Letters come in any order: ``Rqw`` and ``hRwq`` both wait."""


@dataclass(frozen=True)
class GridEngine(Scheduler):
    """Sun Grid Engine and its successors.

    It never signals the script alone: at a soft limit (``s_rt``) every process of the job gets USR1.
    """

    name: str = "gridengine"
    prefix: str = "#$"
    submit: tuple[str, ...] = ("qsub",)
    aliases: tuple[str, ...] = ("sge", "uge")
    commands: Commands = COMMANDS
    submit_dir: str | None = "SGE_O_WORKDIR"
    job_id: str | None = "JOB_ID"
    array_index: str | None = "SGE_TASK_ID"
    array_shares_id: bool = True
    restarts: str | None = "RESTARTED"
    bootstrap: str | None = "sge"

    def directives(self, job: JobSpec) -> Directives:
        """Options of qsub."""
        says, has = job.attributes, job.resources
        array = self.array(says.array or "")
        indices, _, running = (array or "").partition("%")
        table = (
            SHELL,
            ("-N", job_name(says.name)),
            ("-P", says.account),
            ("-q", says.queue or says.partition),
            ("-l", f"h_rt={walltime(says.wall_time_s)}" if says.wall_time_s else None),
            ("-r", rerunnable(says.requeue)),
            ("-l", f"h_vmem={_slot_memory(job)}M" if _slot_memory(job) else None),
            ("-l", f"gpu={has.gpus_per_node}" if has.gpus_per_node else None),
            ("-l", f"hostname={'|'.join(expand_nodes(hosts))}" if (hosts := enough_named(job)) else None),
            *site_resources(job),
            ("-ar", _advance_reservation(says.reservation)),
            ("-t", indices),
            ("-tc", running),
            ("-o", _file(says.output)),
            ("-e", None if says.join else _file(says.error)),
            ("-j", "y" if says.join else None),
            ("-m", letters(says.notify)),
            ("-M", says.email),
            ("-hold_jid", _holds(says.dependency)),
            ("-a", _start(says.begin)),
            ("-v", ",".join(says.copy_variables)),
            HERE,
            ("-V", whole_environment(job)),
        )
        return _with_slots(job, with_site(job, flags(table), (*_warnings(job, array), *environment_policy(job)), asking=ASKING))

    def array(self, indices: str) -> str | None:
        """One range that starts at 1 or above, with a step and a limit."""
        return indices if re.fullmatch(r"0*[1-9][0-9]*(-[0-9]+(:[0-9]+)?)?(%[0-9]+)?", indices) else None

    def preflight(self, job: JobSpec) -> tuple[Line, ...]:
        """Whether each node has its share of the slots, which the parallel environment distributes by a rule of its own: a launcher or a
        program with threads would run on what it gets. Nothing, if the site requests nodes without slots."""
        nodes, each = job.resources.nodes, job.cpus_per_node
        site = (*(job.system.mandatory_directives if job.system else ()), *job.resource_directives)
        without = job.resource_directives and not any(text.startswith("-pe ") for text in site)
        if without or nodes * each == 1:
            return ()
        where = f"on each of {nodes} nodes" if nodes > 1 else "on one node"
        share = f"the job needs {counted(each, 'slot')} {where}"
        advice = f"{share}: name a parallel environment that allocates them so (-pe in the system file)"
        return (need(run("awk", _COUNT % (each, nodes), variable("PE_HOSTFILE")), FEWER_CPUS, advice),)


def _with_slots(job: JobSpec, header: Directives) -> Directives:
    """The header with the parallel environment and the number of slots. Of several environments the first is for one node, the last for
    more. No slots where the site has words of its own for nodes, and names no environment."""
    named = tuple(option[1] for option in header.options if option[0] == "-pe" and len(option) > 1)
    if job.resource_directives and not named:
        return header
    rest = tuple(option for option in header.options if option[0] != "-pe")
    nodes, slots = job.resources.nodes, job.resources.nodes * job.cpus_per_node
    own: tuple[Option, ...] = (("-pe", (named or USUAL)[-1 if nodes > 1 else 0], str(slots)),) if slots > 1 else ()
    return safe_directives(Directives((*rest, *own), header.warnings))


def _file(path: str | None) -> str | None:
    return output_name(path, _SIGNS)


def _advance_reservation(number: str | None) -> str | None:
    return number if number and number.isdecimal() else None


def _slot_memory(job: JobSpec) -> int:
    """MiB per slot; 0: not requested."""
    has = job.resources
    size = max((has.memory_per_core or 0) // job.cpus_per_core, (has.memory_per_node or 0) // job.cpus_per_node)
    return mib(size) if size else 0


def _holds(dependency: str | None) -> str | None:
    """Jobs that must have ended: also those of ``afterok``, because waiting for their end is closer to the request than not waiting."""
    asked = dependency or ""
    if not re.fullmatch(r"(?:(?:^|,)after(?:any|ok)(?::[A-Za-z0-9_.-]+)+)+", asked):
        return None
    return ",".join(job for _, jobs in clauses(asked) for job in jobs)


def _start(begin: str | None) -> str | None:
    """``CCYYMMDDhhmm[.SS]``: a time needs its day."""
    found = date_time(begin)
    return found if found and len(found.split(".")[0]) == 12 else None


def _warnings(job: JobSpec, array: str | None) -> Iterator[Notice]:
    says, has = job.attributes, job.resources
    yield from qsub_warnings(job, "Grid Engine")
    yield from queues_alone(job, "Grid Engine")
    yield from too_few_named(job, "Grid Engine")
    if says.constraint or has.numa_constraint:
        yield note("constraint", "Grid Engine has no node features, only resources named by the site: the constraint is left out")
    yield from no_event(job, "Grid Engine")
    yield from no_option(job, "Grid Engine", "qos")
    if has.gpus_per_node and not job.resource_directives:
        yield note("gpus_per_node", "the script assumes a resource called gpu that counts per job: check both with the site")
    if has.gpus_per_node and _slot_memory(job):
        field = "memory_per_node" if has.memory_per_node else "memory_per_core"
        why = "h_vmem limits the address space, and CUDA reserves far more of it than it uses"
        yield note(field, f"{why}: the application may fail to start")
    if has.nodes > 1 and not job.resource_directives:
        slots = counted(job.cpus_per_node, "slot")
        why = "a parallel environment distributes the slots by a rule of its own"
        yield note("nodes", f"{why}: the job stops at its beginning unless it gets {slots} on each of {has.nodes} nodes")
    if says.exclusive:
        yield note("exclusive", "Grid Engine requests whole nodes by a resource named by the site: left out")
    yield from own_timer(job, "Grid Engine")
    yield from _start_warnings(job, array)
    if array:
        yield from shared_files(job, "Grid Engine", ("%a",))
    yield from folders(job, "Grid Engine", _file)


def _start_warnings(job: JobSpec, array: str | None) -> Iterator[Notice]:
    says = job.attributes
    if says.array and not array:
        yield note("array", "Grid Engine accepts one range of indices, from 1 up, for instance 1-99:2: left out")
    if says.dependency and not _holds(says.dependency):
        yield note("dependency", f"{says.dependency} is left out: Grid Engine only waits for jobs to end (afterany)")
    elif "afterok" in (says.dependency or ""):
        why = "Grid Engine only waits for jobs to end (afterany)"
        yield note("dependency", f"{why}: the job starts even if those of {says.dependency} fail")
    if says.begin and not _start(says.begin):
        yield note("begin", "Grid Engine needs a date with a time: left out")
    if says.reservation and not _advance_reservation(says.reservation):
        yield note("reservation", f"Grid Engine knows reservations by number (qrstat): {says.reservation} is left out")
    yield from joined_streams(job, "Grid Engine")
