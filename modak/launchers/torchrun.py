"""PyTorch's launcher: one process per node, which starts the ranks of that node. The ranks meet at the first node (rendezvous).

On several nodes another launcher starts torchrun on each: the scheduler's own, else the one that the system prefers, else ``mpirun``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from modak import plugins
from modak.jobs.spec import JobSpec, Resources
from modak.launchers.base import USUAL, Launcher, kept_back, openmp
from modak.launchers.jsrun import JSRUN
from modak.schedulers import Scheduler
from modak.script.bash import Line, assign, export
from modak.script.shelltext import ours
from modak.text.programs import is_python, is_script, split_env
from modak.text.words import Word, variable, word

_SLURM: Final = (
    'MODAK_HOSTS="$(scontrol show hostnames "${SLURM_JOB_NODELIST:?}")"',
    """MODAK_RDZV_HOST="${MODAK_HOSTS%%$'\\n'*}\"""",
    'MODAK_RDZV_PORT="$((15000 + ${SLURM_JOB_ID:?} % 15000))"',
)
_PORT: Final = (
    'MODAK_RDZV_SUM="$(cksum <<<"${MODAK_RDZV_ID}")"',
    'MODAK_RDZV_PORT="$((15000 + ${MODAK_RDZV_SUM%% *} % 15000))"',
)
"""A port from the job's identifier, which is a number under Slurm alone."""

HANDED_ON: Final = frozenset({"TERM", "INT", "HUP"})
"""Signals that it passes on to its ranks, which then have 30 s (tested with PyTorch 2.13); others end torchrun alone, or are ignored."""
_PYTHON: Final = frozenset({"python", "python3"})
"""Names under which the Python of ``PATH`` is called, whose torchrun is there, too."""
_CANNOT: Final = frozenset({"torchrun", "none"})
"""Launchers that a system may prefer for other jobs, but that cannot start one process on each of several nodes."""


@dataclass(frozen=True)
class Torchrun(Launcher):
    """``torchrun``, inside the container."""

    name: str = "torchrun"

    def unfit(self, job: JobSpec, scheduler: Scheduler) -> str:
        """It starts the same number of ranks on each node. On several nodes another launcher has to start it, from the first of them."""
        has = job.resources
        if has.ranks != has.nodes * has.ranks_per_node:
            why = f"torchrun gives each of {has.nodes} nodes the same number of ranks; {has.ranks} do not divide evenly"
            return f"{why}: give another number of them (application.mpi_ranks), or of nodes (job_options.node_count)"
        if has.nodes == 1:
            return ""
        if scheduler.job_id is None:
            why = f"torchrun on {has.nodes} nodes needs a scheduler that allocates them, which {scheduler.name} does not"
            return f"{why}; name the scheduler or a known system"
        starter, agents = self._agents(job, scheduler)
        if starter.name == JSRUN:
            return f"jsrun cannot start torchrun on {has.nodes} nodes: the script does not run on the first of them, their rendezvous"
        return starter.unfit(agents, scheduler)

    def needs_ssh(self, job: JobSpec, scheduler: Scheduler) -> bool:
        """If the launcher that starts it does."""
        starter, agents = self._agents(job, scheduler)
        return starter.needs_ssh(agents, scheduler)

    def slurm_step(self, job: JobSpec, scheduler: Scheduler) -> bool:
        """If srun starts it on several nodes."""
        starter, agents = self._agents(job, scheduler)
        return job.resources.nodes > 1 and starter.slurm_step(agents, scheduler)

    def asks(self, has: Resources) -> Resources:
        """One task a node, with the cores of all its ranks."""
        times = has.ranks_per_node
        return replace(has, ranks_per_node=1, cores_per_rank=has.cores_per_rank * times, threads_per_rank=has.threads_per_rank * times)

    def environment(self, job: JobSpec) -> Mapping[str, str]:
        """OpenMP's threads, not bound: all ranks of a node would inherit the same binding."""
        return openmp(job.resources, bound=False)

    def setup(self, job: JobSpec, scheduler: Scheduler) -> tuple[Line, ...]:
        """The first node's name, found outside of the container, and a port derived from the job's identifier.

        torchrun on that node hosts the rendezvous if the name is the node's own host name; a host file may have another one. Under
        schedulers other than Slurm the script runs on the first node and asks it.
        """
        if job.resources.nodes == 1:
            return ()
        starter, agents = self._agents(job, scheduler)
        if scheduler.is_slurm:
            return (*starter.setup(agents, scheduler), *map(ours, _SLURM))
        own = starter.environment(agents)
        task = ("-", variable(scheduler.array_index, ":-")) if scheduler.array_index else ()
        return (
            *starter.setup(agents, scheduler),
            *(export(name, value) for name, value in own.items() if not name.startswith("OMP_")),
            ours('MODAK_RDZV_HOST="$(uname -n)"'),
            assign("MODAK_RDZV_ID", variable(scheduler.job_id or "", ":-$$"), *task),
            *map(ours, _PORT),
        )

    def preflight(self, job: JobSpec, scheduler: Scheduler) -> tuple[Line, ...]:
        """The checks of the launcher that starts it."""
        if job.resources.nodes == 1:
            return ()
        starter, agents = self._agents(job, scheduler)
        return starter.preflight(agents, scheduler)

    def words(self, job: JobSpec, scheduler: Scheduler, exported: tuple[str, ...]) -> tuple[Word, ...]:
        """One task on each node; nothing on one node, if the script itself runs there."""
        starter, agents = self._agents(job, scheduler)
        return starter.words(agents, scheduler, exported) if job.resources.nodes > 1 or starter.name == JSRUN else ()

    def untold(self, job: JobSpec, scheduler: Scheduler, signal: str) -> str:
        """Other signals end torchrun and leave its ranks behind. The launcher that starts it has to pass them on, too."""
        if job.resources.nodes == 1:
            return kept_back(self.name, HANDED_ON, signal)
        starter, agents = self._agents(job, scheduler)
        both = frozenset(each for each in HANDED_ON if not starter.untold(agents, scheduler, each))
        return kept_back(f"{starter.name} with {self.name} on its nodes", both, signal)

    def inside(self, job: JobSpec, scheduler: Scheduler) -> tuple[Word, ...]:
        """``torchrun`` with the script. It starts Python itself, so a leading ``python`` is dropped; one with a path runs its own torchrun,
        which need not be on ``PATH``. Variables that ``env`` sets are set before."""
        has = job.resources
        setting, command = split_env(job.command)
        first = command[0]
        own = is_python(first) and first not in _PYTHON
        meet: tuple[Word, ...] = ("--standalone",)
        if has.nodes > 1:
            meet = (
                "--rdzv-backend=c10d",
                word("--rdzv-id=", variable("SLURM_JOB_ID" if scheduler.is_slurm else "MODAK_RDZV_ID")),
                word("--rdzv-endpoint=", variable("MODAK_RDZV_HOST"), ":", variable("MODAK_RDZV_PORT")),
            )
        program: tuple[Word, ...] = (first, "-m", "torch.distributed.run") if own else ("torchrun",)
        return (*setting, *program, f"--nnodes={has.nodes}", f"--nproc-per-node={has.ranks_per_node}", *meet, *_program(command))

    def _agents(self, job: JobSpec, scheduler: Scheduler) -> tuple[Launcher, JobSpec]:
        """The launcher that starts one torchrun on each node, and the job as that launcher sees it: one process per node, not bound
        (``mpirun`` would bind it to the first cores), without the image's MPI, which torchrun does not use."""
        preferred = job.system.launcher if job.system else None
        name = scheduler.launcher or (preferred if preferred and preferred not in _CANNOT else USUAL)
        has = replace(self.asks(job.resources), unbound=True)
        image = replace(job.container, mpi=None) if job.container and job.container.mpi else job.container
        return plugins.find("launchers", name), replace(job, launcher=name, resources=has, pmi=None, container=image)


def _program(command: tuple[Word, ...]) -> tuple[Word, ...]:
    """The command as torchrun expects it: a script, ``-m MODULE``, or ``--no-python`` and a program."""
    if not is_python(command[0]):
        return command if is_script(command[0]) else ("--no-python", *command)
    rest = command[2:] if command[1:2] == ("-u",) else command[1:]
    follows = rest[0] if rest else ""
    plain = not isinstance(follows, str) or not follows.startswith("-") or follows == "-m"
    return rest if rest and plain else ("--no-python", *command)
