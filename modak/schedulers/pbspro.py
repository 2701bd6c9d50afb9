"""PBS Pro and OpenPBS: ``#PBS`` options of its qsub (``select`` and ``place``; arrays are ``-J``)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from modak.dsl import Notice
from modak.jobs.spec import JobSpec
from modak.schedulers.header import Directives, flags, mib, note, with_site
from modak.schedulers.notices import named_taken, no_option, shared_files
from modak.schedulers.qsub import SHELL, Pbs, common_options, common_warnings, job_name, site_resources, walltime
from modak.text.hosts import expand_nodes

ASKING: Final = ("-l select", "-l place")


@dataclass(frozen=True)
class PbsPro(Pbs):
    """Altair's PBS Professional, and OpenPBS."""

    name: str = "pbspro"
    aliases: tuple[str, ...] = ("pbs", "openpbs")
    array_index: str | None = "PBS_ARRAY_INDEX"

    def directives(self, job: JobSpec) -> Directives:
        """Options of qsub. A job array must be rerunnable (``-r y``), which is not the default everywhere."""
        says, array = job.attributes, self.array(job.attributes.array or "")
        again = replace(job, attributes=replace(says, requeue=True)) if array else job
        table = (
            SHELL,
            ("-N", job_name(says.name)),
            ("-A", says.account),
            ("-q", says.reservation or says.queue or says.partition),
            ("-l", f"select={_select(job)}"),
            ("-l", f"place=scatter{':exclhost' if says.exclusive else ''}"),
            ("-l", f"walltime={walltime(says.wall_time_s)}" if says.wall_time_s else None),
            *site_resources(job),
            ("-J", array),
        )
        chosen = (*flags(table), *common_options(again))
        return with_site(job, chosen, (*_warnings(job, array), *common_warnings(job, "PBS Pro")), asking=ASKING)

    def array(self, indices: str) -> str | None:
        """One range of at least two indices, with a step and a limit."""
        found = re.fullmatch(r"([0-9]+)-([0-9]+)(:[0-9]+)?(%[0-9]+)?", indices)
        return indices if found and int(found[1]) < int(found[2]) else None


def _select(job: JobSpec) -> str:
    """One chunk per node; never mixed with ``nodes=``."""
    says, has = job.attributes, job.resources
    parts = (
        f"ncpus={job.cpus_per_node}",
        f"mpiprocs={has.ranks_per_node}",
        f"ompthreads={has.threads_per_rank}",
        *((f"ngpus={has.gpus_per_node}",) if has.gpus_per_node else ()),
        *((f"mem={mib(has.node_memory)}mb",) if has.node_memory else ()),
    )
    chunk = ":".join(parts)
    if says.node_list:
        return "+".join(f"1:{chunk}:host={host}" for host in expand_nodes(says.node_list))
    return f"{has.nodes}:{chunk}"


def _warnings(job: JobSpec, array: str | None) -> Iterator[Notice]:
    """Warnings about what PBS Pro does not support."""
    says, has = job.attributes, job.resources
    if says.constraint or has.numa_constraint:
        yield note("constraint", "PBS Pro has no node features, only resources named by the site: left out")
    yield from no_option(job, "PBS Pro", "qos")
    if says.reservation and (queue := says.queue or says.partition):
        yield note("reservation", f"to PBS Pro a reservation is a queue: {says.reservation} is used, queue {queue} is left out")
    if says.array and not array:
        yield note("array", "PBS Pro accepts one range of at least two indices, for instance 0-99:2%10: left out")
    if array and says.requeue is False:
        yield note("requeue", "PBS Pro rejects job arrays that are not rerunnable (-r n): -r y is used")
    if array:
        yield from shared_files(job, "PBS Pro")
    yield from named_taken(job, "PBS Pro")
