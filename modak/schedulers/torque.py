"""Torque: ``#PBS`` options of its qsub (arrays are ``-t``, nodes are ``nodes=N:ppn=P``)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

from modak.dsl import Notice
from modak.jobs.spec import JobSpec, Resources
from modak.schedulers.header import Directives, clauses, flags, mib, note, with_site
from modak.schedulers.notices import named_taken, no_option
from modak.schedulers.qsub import DEPENDENCIES, SHELL, Pbs, common_options, common_warnings, job_name, site_resources, walltime
from modak.text.amounts import format_bytes
from modak.text.hosts import expand_nodes

LONGEST_NAME: Final = 15
MOST_INDICES: Final = 1000
ASKING: Final = ("-l nodes", "-l mem", "-l pmem")
OF_ARRAYS: Final = {kind: f"{kind}{'start' if kind in ('after', 'before') else ''}array" for kind in DEPENDENCIES}
"""The kinds of dependencies on whole arrays (``1234[]``), which the usual kinds do not accept."""
KINDS: Final = DEPENDENCIES | set(OF_ARRAYS.values())


@dataclass(frozen=True)
class Torque(Pbs):
    """Adaptive Computing's Torque."""

    name: str = "torque"
    array_index: str | None = "PBS_ARRAYID"
    memory_of_several: bool = False

    def directives(self, job: JobSpec) -> Directives:
        """Options of qsub."""
        says, has, array = job.attributes, job.resources, self.array(job.attributes.array or "")
        table = (
            SHELL,
            ("-N", job_name(says.name)),
            ("-A", says.account),
            ("-q", says.queue or says.partition),
            ("-l", f"nodes={_nodes(job)}"),
            ("-l", f"walltime={walltime(says.wall_time_s)}" if says.wall_time_s else None),
            ("-l", f"mem={mib(has.memory_per_node)}mb" if has.memory_per_node and has.nodes == 1 else None),
            ("-l", f"pmem={mib(has.memory_per_core // job.cpus_per_core)}mb" if has.memory_per_core else None),
            *site_resources(job),
            ("-t", array),
            ("-n", says.exclusive),
        )
        waits = replace(job, attributes=replace(says, dependency=_of_arrays(says.dependency)))
        chosen = (*flags(table), *common_options(waits, KINDS))
        return with_site(job, chosen, (*_warnings(job, array), *common_warnings(job, "Torque", KINDS)), asking=ASKING)

    def array(self, indices: str) -> str | None:
        """Ranges and lists, but no steps: those are written out."""
        if ":" not in indices:
            return indices
        listed, percent, limit = indices.partition("%")
        parts = [_steps(part) for part in listed.split(",")]
        if sum(map(len, parts)) > MOST_INDICES:  # counted first: a short text may name millions
            return None
        return ",".join(str(each) for part in parts for each in part) + percent + limit


def _nodes(job: JobSpec) -> str:
    """``N:ppn=P:gpus=G:property``, or the named hosts one by one. ``ppn`` counts the job's cores on a node."""
    says, has = job.attributes, job.resources
    extra = f":ppn={job.cpus_per_node}" + (f":gpus={has.gpus_per_node}" if has.gpus_per_node else "")
    wanted = (says.constraint, has.numa_constraint)
    properties = "".join(f":{name}" for text in wanted if text and "|" not in text for name in text.split("&"))
    if says.node_list:
        return "+".join(f"{host}{extra}" for host in expand_nodes(says.node_list))
    return f"{has.nodes}{extra}{properties}"


def _of_arrays(dependency: str | None) -> str:
    """The dependency with the kinds for arrays where it names some: ``afterok:1:2[]`` -> ``afterok:1,afterokarray:2[]``."""
    parts: list[str] = []
    for kind, jobs in clauses(dependency):
        if not jobs:
            parts.append(kind)  # for :func:`common_options` to refuse
        for whole, group in groupby(jobs, lambda job: "[]" in job):
            parts.append(":".join((OF_ARRAYS.get(kind, kind) if whole else kind, *group)))
    return ",".join(parts)


def _steps(part: str) -> range | tuple[str]:
    """The indices of a range with a step; any other part of a list as it is."""
    found = re.fullmatch(r"([0-9]+)-([0-9]+):([0-9]+)", part)
    return range(int(found[1]), int(found[2]) + 1, int(found[3])) if found else (part,)


def _memory_left_out(has: Resources, memory: int) -> Notice:
    """The warning that a job of several nodes asks for no memory: the request's, or else the part of a node's that belongs to its cores."""
    why = "Torque applies mem to single-node jobs only: left out; use memory per core (pmem)"
    if memory != has.memory_share:
        return note("memory_per_node", why)
    part = f"jobs that ask for no memory get less than {format_bytes(memory)} of each node, the part of their cores"
    return note("memory_per_core", f"not given: {part}. {why}: that part is {format_bytes(memory / has.cores_per_node)} per core")


def _warnings(job: JobSpec, array: str | None) -> Iterator[Notice]:
    """Warnings about what Torque does not support."""
    says, has = job.attributes, job.resources
    moab = "; where Moab schedules, name it in site_resources, for instance"
    yield from no_option(job, "Torque", "qos", instead=f"{moab} qos=high")
    yield from no_option(job, "Torque", "reservation", instead=f"{moab} advres=course")
    if len(says.name) > LONGEST_NAME:
        yield note("name", f"Torque before version 4 accepts at most {LONGEST_NAME} characters: it may reject {says.name}")
    if has.memory_per_node and has.nodes > 1:
        yield _memory_left_out(has, has.memory_per_node)
    if any("|" in (text or "") for text in (says.constraint, has.numa_constraint)):
        yield note("constraint", "Torque cannot combine node properties by 'or' (|): the constraint is left out")
    if says.node_list and (says.constraint or has.numa_constraint):
        yield note("constraint", "Torque accepts no properties for nodes that are listed by name: the constraint is left out")
    if array is None:
        why = f"Torque has no steps in job arrays, and a list of more than {MOST_INDICES} indices is too long"
        yield note("array", f"{why}: it is left out")
    yield from named_taken(job, "Torque")
