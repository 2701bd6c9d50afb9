"""PyTorch's launcher: one task a node, which starts the node's ranks; the tasks find each other at the first node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from modak.jobspec import JobSpec, Resources
from modak.launchers.plain import kept_back
from modak.launchers.srun import step
from modak.launchers.threads import openmp
from modak.script.bash import Event, Expansion, Line, export, fixed, variable, word
from modak.words import Word

if TYPE_CHECKING:
    from modak.schedulers import Scheduler

_HOSTS: Final = '$(scontrol show hostnames "${SLURM_JOB_NODELIST:?}")'
_HOST: Final = "MODAK_HOSTS%%$'\\n'*"
_PORT: Final = "$((15000 + ${SLURM_JOB_ID:?} % 15000))"

HANDED_ON: Final = frozenset({"TERM", "INT", "HUP"})
"""Signals that it hands on to its ranks, which have 30 s then (seen with PyTorch 2.13); others end it alone, or come to nothing."""


@dataclass(frozen=True)
class Torchrun:
    """``torchrun``, inside the container; over several nodes Slurm starts it on each."""

    name: str = "torchrun"
    aliases: tuple[str, ...] = ()

    def unfit(self, job: JobSpec, scheduler: Scheduler) -> str:
        """Something else has to start one torchrun on each node."""
        if job.resources.nodes == 1 or scheduler.name == "slurm":
            return ""
        return f"torchrun needs Slurm to start it on {job.resources.nodes} nodes; under {scheduler.name} one node is supported"

    def needs_ssh(self, job: JobSpec, scheduler: Scheduler) -> bool:
        """Never: Slurm's daemons start it."""
        return False

    def asks(self, has: Resources) -> Resources:
        """One task a node, with the cores of all its ranks."""
        times = has.ranks_per_node
        return replace(has, ranks_per_node=1, cores_per_rank=has.cores_per_rank * times, threads_per_rank=has.threads_per_rank * times)

    def environment(self, job: JobSpec) -> Mapping[str, str]:
        """OpenMP's threads; no binding, which a task would hand on to all its ranks alike."""
        return {"OMP_NUM_THREADS": openmp(job.resources)["OMP_NUM_THREADS"]}

    def setup(self, job: JobSpec, scheduler: Scheduler) -> tuple[Line, ...]:
        """The first node's name, resolved outside of the container, and a port that follows from the job's number."""
        if job.resources.nodes == 1:
            return ()
        asked: Event = ("command", ("scontrol",), ("show",), ("hostnames",), (Expansion("SLURM_JOB_NODELIST:?"),))
        return (
            fixed(f'MODAK_HOSTS="{_HOSTS}"', ("set", "MODAK_HOSTS", (Expansion(_HOSTS),)), ("command_substitution",), asked),
            export("MODAK_RDZV_HOST", Expansion(_HOST)),
            fixed(f"export MODAK_RDZV_PORT={_PORT}", ("export",), ("set", "MODAK_RDZV_PORT", (Expansion(_PORT),))),
        )

    def preflight(self, job: JobSpec, scheduler: Scheduler) -> tuple[Line, ...]:
        """Nothing."""
        return ()

    def words(self, job: JobSpec, scheduler: Scheduler, exported: tuple[str, ...]) -> tuple[Word, ...]:
        """One task on each node; nothing on one node."""
        return step(job, self.asks(job.resources)) if job.resources.nodes > 1 else ()

    def untold(self, job: JobSpec, signal: str) -> str:
        """It ends on the other ones, and leaves its ranks behind."""
        return kept_back(self.name, HANDED_ON, signal)

    def inside(self, job: JobSpec, scheduler: Scheduler) -> tuple[Word, ...]:
        """``torchrun`` with the script: it starts Python itself, so a leading ``python`` is dropped."""
        has = job.resources
        meet: tuple[Word, ...] = ("--standalone",)
        if has.nodes > 1:
            meet = (
                "--rdzv-backend=c10d",
                word("--rdzv-id=", variable("SLURM_JOB_ID")),
                word("--rdzv-endpoint=", variable("MODAK_RDZV_HOST"), ":", variable("MODAK_RDZV_PORT")),
            )
        return ("torchrun", f"--nnodes={has.nodes}", f"--nproc-per-node={has.ranks_per_node}", *meet, *_program(job.command))


def _program(command: tuple[Word, ...]) -> tuple[Word, ...]:
    """The command in torchrun's words: a script, ``-m MODULE``, or a program that is not Python."""
    first = command[0]
    if not (isinstance(first, str) and first.rsplit("/", 1)[-1] in {"python", "python3"}):
        return command if isinstance(first, str) and first.endswith(".py") else ("--no-python", *command)
    rest = command[2:] if command[1:2] == ("-u",) else command[1:]
    follows = rest[0] if rest else ""
    plain = not isinstance(follows, str) or not follows.startswith("-") or follows == "-m"
    return rest if rest and plain else ("--no-python", *command)
