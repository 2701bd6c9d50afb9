"""PyTorch's launcher: one process a node, which starts the node's ranks; they find each other at the first node.

On several nodes another launcher starts it on each: the scheduler's own, else the one that the system prefers, else ``mpirun``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from modak import plugins
from modak.jobs.spec import JobSpec, Resources
from modak.jobs.starters import is_script
from modak.launchers.plain import OWN, USUAL, kept_back
from modak.launchers.threads import openmp
from modak.script.bash import Event, Expansion, Line, assign, export, fixed, variable, word
from modak.script.shelltext import ours
from modak.text.words import Word

if TYPE_CHECKING:
    from modak.launchers import Launcher
    from modak.schedulers import Scheduler

_HOSTS: Final = '$(scontrol show hostnames "${SLURM_JOB_NODELIST:?}")'
_HOST: Final = "MODAK_HOSTS%%$'\\n'*"
_PORT: Final = "$((15000 + ${SLURM_JOB_ID:?} % 15000))"
_PORT_OF_ANY: Final = (
    'MODAK_RDZV_SUM="$(cksum <<<"${MODAK_RDZV_ID}")"',
    'MODAK_RDZV_PORT="$((15000 + ${MODAK_RDZV_SUM%% *} % 15000))"',
)
"""Not every scheduler's jobs are numbers."""

HANDED_ON: Final = frozenset({"TERM", "INT", "HUP"})
"""Signals that it hands on to its ranks, which have 30 s then (seen with PyTorch 2.13); others end it alone, or come to nothing."""
_CANNOT: Final = frozenset({"torchrun", "none"})
"""What a system may prefer for other jobs, and cannot start one process on each of several nodes."""


@dataclass(frozen=True)
class Torchrun:
    """``torchrun``, inside the container."""

    name: str = "torchrun"
    aliases: tuple[str, ...] = ()

    def unfit(self, job: JobSpec, scheduler: Scheduler) -> str:
        """It starts as many ranks on each node. On several something has to start it there, from the first of them."""
        has = job.resources
        if has.ranks != has.nodes * has.ranks_per_node:
            return f"torchrun gives each of {has.nodes} nodes the same number of ranks; {has.ranks} do not divide evenly"
        if has.nodes == 1:
            return ""
        if scheduler.job_id is None:
            why = f"torchrun on {has.nodes} nodes needs a scheduler that allocates them, which {scheduler.name} does not"
            return f"{why}; name the scheduler or a known system"
        starter, agents = self._agents(job, scheduler)
        if starter.name == "jsrun":
            return f"jsrun cannot start torchrun on {has.nodes} nodes: the script does not run on the first of them, their rendezvous"
        return starter.unfit(agents, scheduler)

    def needs_ssh(self, job: JobSpec, scheduler: Scheduler) -> bool:
        """Where what starts it does."""
        starter, agents = self._agents(job, scheduler)
        return job.resources.nodes > 1 and starter.needs_ssh(agents, scheduler)

    def slurm_step(self, job: JobSpec, scheduler: Scheduler) -> bool:
        """Where srun starts it on several nodes."""
        starter, agents = self._agents(job, scheduler)
        return job.resources.nodes > 1 and starter.slurm_step(agents, scheduler)

    def asks(self, has: Resources) -> Resources:
        """One task a node, with the cores of all its ranks."""
        times = has.ranks_per_node
        return replace(has, ranks_per_node=1, cores_per_rank=has.cores_per_rank * times, threads_per_rank=has.threads_per_rank * times)

    def environment(self, job: JobSpec) -> Mapping[str, str]:
        """OpenMP's threads; no binding, which a task would hand on to all its ranks alike."""
        return openmp(job.resources, bound=False)

    def setup(self, job: JobSpec, scheduler: Scheduler) -> tuple[Line, ...]:
        """The first node's name, resolved outside of the container, and a port that follows from the job's number.

        That node hosts the rendezvous, and knows so by its own name: a host file may call it by another one. Under schedulers other
        than Slurm the script runs on it.
        """
        if job.resources.nodes == 1:
            return ()
        if scheduler.name == "slurm":
            asked: Event = ("command", ("scontrol",), ("show",), ("hostnames",), (Expansion("SLURM_JOB_NODELIST:?"),))
            return (
                fixed(f'MODAK_HOSTS="{_HOSTS}"', ("set", "MODAK_HOSTS", (Expansion(_HOSTS),)), ("command_substitution",), asked),
                export("MODAK_RDZV_HOST", Expansion(_HOST)),
                fixed(f"export MODAK_RDZV_PORT={_PORT}", ("export",), ("set", "MODAK_RDZV_PORT", (Expansion(_PORT),))),
            )
        starter, agents = self._agents(job, scheduler)
        own = starter.environment(agents)
        task = ("-", Expansion(f"{scheduler.array_index}:-")) if scheduler.array_index else ()
        return (
            *starter.setup(agents, scheduler),
            *(export(name, value) for name, value in own.items() if not name.startswith("OMP_")),
            ours('MODAK_RDZV_HOST="$(uname -n)"'),
            assign("MODAK_RDZV_ID", Expansion(f"{scheduler.job_id}:-$$"), *task),
            *map(ours, _PORT_OF_ANY),
        )

    def preflight(self, job: JobSpec, scheduler: Scheduler) -> tuple[Line, ...]:
        """What starts it is there."""
        if job.resources.nodes == 1:
            return ()
        starter, agents = self._agents(job, scheduler)
        return starter.preflight(agents, scheduler)

    def words(self, job: JobSpec, scheduler: Scheduler, exported: tuple[str, ...]) -> tuple[Word, ...]:
        """One task on each node; nothing on one node."""
        starter, agents = self._agents(job, scheduler)
        return starter.words(agents, scheduler, exported) if job.resources.nodes > 1 else ()

    def untold(self, job: JobSpec, scheduler: Scheduler, signal: str) -> str:
        """It ends on signals other than its own, and leaves its ranks behind; what starts it must hand them on first."""
        if job.resources.nodes == 1:
            return kept_back(self.name, HANDED_ON, signal)
        starter, agents = self._agents(job, scheduler)
        both = frozenset(each for each in HANDED_ON if not starter.untold(agents, scheduler, each))
        return kept_back(f"{starter.name} with {self.name} on its nodes", both, signal)

    def inside(self, job: JobSpec, scheduler: Scheduler) -> tuple[Word, ...]:
        """``torchrun`` with the script: it starts Python itself, so a leading ``python`` is dropped."""
        has = job.resources
        meet: tuple[Word, ...] = ("--standalone",)
        if has.nodes > 1:
            meet = (
                "--rdzv-backend=c10d",
                word("--rdzv-id=", variable("SLURM_JOB_ID" if scheduler.name == "slurm" else "MODAK_RDZV_ID")),
                word("--rdzv-endpoint=", variable("MODAK_RDZV_HOST"), ":", variable("MODAK_RDZV_PORT")),
            )
        return ("torchrun", f"--nnodes={has.nodes}", f"--nproc-per-node={has.ranks_per_node}", *meet, *_program(job.command))

    def _agents(self, job: JobSpec, scheduler: Scheduler) -> tuple[Launcher, JobSpec]:
        """What starts one torchrun on each node, and the job as that sees it: one process a node, on the cores that the node gives it
        (``mpirun`` would count off as many from the first), of no MPI, so that whose MPI the image holds does not matter."""
        preferred = job.system.launcher if job.system else None
        name = OWN.get(scheduler.name) or (preferred if preferred and preferred not in _CANNOT else USUAL)
        has = replace(self.asks(job.resources), unbound=True)
        image = replace(job.container, mpi=None) if job.container and job.container.mpi else job.container
        return plugins.find("launchers", name), replace(job, launcher=name, resources=has, pmi=None, container=image)


def _program(command: tuple[Word, ...]) -> tuple[Word, ...]:
    """The command in torchrun's words: a script, ``-m MODULE``, or a program that is not Python."""
    first = command[0]
    if not (isinstance(first, str) and first.rsplit("/", 1)[-1] in {"python", "python3"}):
        return command if is_script(first) else ("--no-python", *command)
    rest = command[2:] if command[1:2] == ("-u",) else command[1:]
    follows = rest[0] if rest else ""
    plain = not isinstance(follows, str) or not follows.startswith("-") or follows == "-m"
    return rest if rest and plain else ("--no-python", *command)
