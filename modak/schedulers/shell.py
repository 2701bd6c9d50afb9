"""A plain shell: no scheduler, no header; the script runs where it is started."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from modak.dsl import Notice
from modak.jobs.spec import JobSpec
from modak.schedulers.base import Scheduler
from modak.schedulers.header import Directives, note
from modak.schedulers.notices import own_timer

_ABSENT: Final = (
    "account", "queue", "partition", "constraint", "node_list", "array", "output", "error",
    "dependency", "begin", "email", "notify", "qos", "reservation", "site_resources",
)  # fmt: skip


@dataclass(frozen=True)
class Shell(Scheduler):
    """``bash job.sh``."""

    name: str = "shell"
    prefix: str = ""
    submit: tuple[str, ...] = ("bash",)
    aliases: tuple[str, ...] = ("bash",)
    own_cores: bool = True
    memory: bool = False

    def directives(self, job: JobSpec) -> Directives:
        """Nothing; a warning for what only a scheduler could do."""
        return Directives((), tuple(_warnings(job)))


def _warnings(job: JobSpec) -> Iterator[Notice]:
    says, has = job.attributes, job.resources
    for field in _ABSENT:
        if getattr(says, field):
            yield note(field, "a plain shell has no scheduler to do this: left out")
    if has.numa_constraint:
        yield note("constraint", f"{has.numa_constraint} selects the NUMA mode, which a plain shell does not: start it on such a node")
    if has.memory_per_node or has.memory_per_core:
        field = "memory_per_node" if has.memory_per_node else "memory_per_core"
        yield note(field, "a plain shell reserves no memory: left out")
    if says.exclusive:
        yield note("exclusive", "a plain shell reserves no node: other jobs may run there at the same time")
    if says.join is not None:
        yield note("join", "with a plain shell, redirect both streams when you start the script")
    if says.copy_environment is False or says.copy_variables:
        field = "copy_variables" if says.copy_variables else "copy_environment"
        yield note(field, "a plain shell gives the script its whole environment")
    if says.requeue is not None:
        yield note("requeue", "a plain shell does not requeue jobs: left out")
    yield from own_timer(job, "a plain shell")
    if has.nodes > 1:
        yield note("nodes", f"a plain shell reserves no nodes: the launcher must find all {has.nodes} itself")
