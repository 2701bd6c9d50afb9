"""Grid Engine: ``#$`` options, in the words of its qsub manual. A slot is a core; memory is asked for per slot.

The name of a parallel environment is site data: a site says it as the mandatory directive ``-pe NAME``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from modak.dsl import Notice
from modak.jobspec import JobSpec
from modak.schedulers.header import Directives, Option, checked, expand_nodes, folders, mandatory, mib, note, overruled, own_timer
from modak.schedulers.pbs import EVENTS, date_time, environment_policy, job_name, letters, plain_path, walltime

USUAL: Final = ("smp", "mpi")
"""Names of parallel environments where the site says none: on one node, on several."""


@dataclass(frozen=True)
class GridEngine:
    """Sun Grid Engine and its successors."""

    name: str = "gridengine"
    aliases: tuple[str, ...] = ("sge", "uge")
    prefix: str = "#$"
    submit: tuple[str, ...] = ("qsub",)
    submit_dir: str | None = "SGE_O_WORKDIR"
    job_id: str | None = "JOB_ID"
    array_index: str | None = "SGE_TASK_ID"
    host_file: str | None = None

    def directives(self, job: JobSpec) -> Directives:
        """Options of qsub."""
        says, has = job.attributes, job.resources
        indices, _, running = (_array(says.array) or "").partition("%")
        table: tuple[tuple[str, str | None], ...] = (
            ("-S", "/bin/bash"),
            ("-N", job_name(says.name)),
            ("-P", says.account),
            ("-q", says.queue or says.partition),
            ("-l", f"h_rt={walltime(says.wall_time_s)}" if says.wall_time_s else None),
            ("-l", f"s_rt={walltime(_soft_limit(job))}" if _soft_limit(job) else None),
            ("-r", None if says.requeue is None else "y" if says.requeue else "n"),
            ("-l", f"h_vmem={_slot_memory(job)}M" if _slot_memory(job) else None),
            ("-l", f"gpu={has.gpus_per_node}" if has.gpus_per_node else None),
            ("-l", f"hostname={'|'.join(expand_nodes(says.node_list))}" if says.node_list else None),
            ("-t", indices or None),
            ("-tc", running or None),
            ("-o", plain_path(says.output)),
            ("-e", None if says.join else plain_path(says.error)),
            ("-j", "y" if says.join else None),
            ("-m", letters(says.notify)),
            ("-M", says.email),
            ("-hold_jid", _holds(says.dependency)),
            ("-a", _start(says.begin)),
            ("-v", ",".join(says.copy_variables) or None),
        )
        whole = (("-V",),) if _whole_environment(job) else ()
        chosen = (*_slots(job), *((flag, value) for flag, value in table if value), *whole)
        told = [option for option in mandatory(job, chosen) if option[0] != "-pe"]
        return checked(Directives((*told, *_slots(job)), (*_warnings(job), *environment_policy(job), *overruled(job, chosen[1:]))))

    def signals(self, job: JobSpec) -> bool:
        """USR1 alone, at the soft limit."""
        return bool(_soft_limit(job))


def _slots(job: JobSpec) -> tuple[Option, ...]:
    has = job.resources
    slots = has.nodes * has.ranks_per_node * has.cores_per_rank
    return (("-pe", _environment_name(job), str(slots)),) if slots > 1 else ()


def _environment_name(job: JobSpec) -> str:
    site = job.system.mandatory_directives if job.system else ()
    named = [text.split(" ", 1)[1] for text in site if text.startswith("-pe ")]
    return named[0] if named else USUAL[job.resources.nodes > 1]


def _slot_memory(job: JobSpec) -> int:
    """MiB a slot; 0: nothing said."""
    has = job.resources
    cores = has.ranks_per_node * has.cores_per_rank
    size = max(has.memory_per_core or 0, (has.memory_per_node or 0) // cores)
    return mib(size) if size else 0


def _soft_limit(job: JobSpec) -> int:
    """Seconds after which Grid Engine sends USR1, the one signal that its soft limit knows; 0: there is none."""
    says = job.attributes
    asked = says.signal and says.signal.name == "USR1" and says.wall_time_s
    return max(0, (says.wall_time_s or 0) - says.signal.seconds) if asked and says.signal else 0


def _array(array: str | None) -> str | None:
    """One range that starts at 1 or above, with a step and a limit."""
    return array if array and re.fullmatch(r"0*[1-9][0-9]*(-[0-9]+(:[0-9]+)?)?(%[0-9]+)?", array) else None


def _holds(dependency: str | None) -> str | None:
    """Jobs that must have ended, however."""
    found = re.fullmatch(r"afterany((?::[A-Za-z0-9_.-]+)+)", dependency or "")
    return found[1][1:].replace(":", ",") if found else None


def _start(begin: str | None) -> str | None:
    """``CCYYMMDDhhmm[.SS]``: a time needs its day."""
    found = date_time(begin)
    return found if found and len(found.split(".")[0]) == 12 else None


def _whole_environment(job: JobSpec) -> bool:
    policy = job.system.export_policy if job.system else "site"
    return policy == "ALL" or (policy == "site" and bool(job.attributes.copy_environment))


def _warnings(job: JobSpec) -> tuple[Notice, ...]:
    says, has = job.attributes, job.resources
    found = [
        note("notify", f"Grid Engine mails nothing on {event}: its events are a, b and e") for event in says.notify if event not in EVENTS
    ]
    found += [
        note(field, f"Grid Engine does not expand % in file names: {path} is left out, the default NAME.{field[0]}JOB is kept")
        for field, path in (("output", says.output), ("error", says.error))
        if path and "%" in path
    ]
    if job_name(says.name) != says.name:
        found.append(note("name", f"Grid Engine wants a letter first: the job is called {job_name(says.name)}"))
    if says.queue and says.partition and says.queue != says.partition:
        found.append(note("partition", f"Grid Engine has queues alone: {says.queue} is taken, partition {says.partition} is left out"))
    if says.constraint or has.numa_constraint:
        found.append(note("constraint", "Grid Engine's resources have names of the site's own: the constraint is left out"))
    if has.gpus_per_node:
        found.append(note("gpus_per_node", "the resource is taken to be called gpu: its name is the site's own"))
    if has.nodes > 1:
        name = _environment_name(job)
        found.append(
            note("nodes", f"how slots spread over nodes is set in the parallel environment {name}: {has.nodes} nodes cannot be asked for")
        )
    if says.exclusive:
        found.append(note("exclusive", "whole nodes are a resource with a name of the site's own in Grid Engine: it is left out"))
    timer = () if _soft_limit(job) else own_timer(job, "Grid Engine")
    return (*found, *timer, *_start_warnings(job), *folders(job, "Grid Engine"))


def _start_warnings(job: JobSpec) -> tuple[Notice, ...]:
    says = job.attributes
    found = []
    if says.array and not _array(says.array):
        found.append(note("array", "Grid Engine takes one range of indices from 1 on, for instance 1-99:2: it is left out"))
    if says.dependency and not _holds(says.dependency):
        found.append(note("dependency", f"{says.dependency} is left out: Grid Engine waits for the end of jobs alone (afterany)"))
    if says.begin and not _start(says.begin):
        found.append(note("begin", "Grid Engine takes a date with a time: it is left out"))
    if says.join and says.error:
        found.append(note("error", "standard error goes to the output file, so Grid Engine is given no error file"))
    return tuple(found)
