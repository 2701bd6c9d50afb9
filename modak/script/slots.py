"""A check before the run, under Grid Engine: whether the slots are on the nodes as planned. The allocation rule of the parallel
environment decides that, and a launcher or a program with threads would run on what it gets."""

from __future__ import annotations

from typing import Final

from modak.jobs.spec import JobSpec
from modak.schedulers import Scheduler
from modak.script.affinity import FEWER_CPUS
from modak.script.bash import Line, need, run, variable, word
from modak.text.amounts import counted

_COUNT: Final = "{ slots[$1] += $2 } END { for (host in slots) if (slots[host] == %d) full++; exit full != %d }"
"""PE_HOSTFILE has a line for each queue of each host: host, slots, queue, processors."""


def slots(job: JobSpec, scheduler: Scheduler) -> tuple[Line, ...]:
    """Ends the job unless each of its nodes has its share of the slots; nothing, if the site requests nodes without slots."""
    nodes, each = job.resources.nodes, job.cpus_per_node
    site = (*(job.system.mandatory_directives if job.system else ()), *job.resource_directives)
    without = job.resource_directives and not any(text.startswith("-pe ") for text in site)
    if scheduler.name != "gridengine" or without or nodes * each == 1:
        return ()
    where = f"on each of {nodes} nodes" if nodes > 1 else "on one node"
    advice = f"the job needs {counted(each, 'slot')} {where}: name a parallel environment that allocates them so (-pe in the system file)"
    return (need(run("awk", _COUNT % (each, nodes), word(variable("PE_HOSTFILE"))), FEWER_CPUS, advice),)
