"""What a launcher is, with defaults for what most do not need."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from modak.jobs.spec import JobSpec, Resources
from modak.schedulers import Scheduler
from modak.script.bash import Line
from modak.text.words import Word

USUAL: Final = "mpirun"
"""The launcher under a scheduler that has none of its own, if the system file names none."""


@dataclass(frozen=True)
class Launcher(ABC):
    """How processes are started.

    Its environment, setup, preflight, ``slurm_step`` and words see the job without the properties of a single run
    (:func:`modak.script.surroundings.of_any_run`); all of these but the words, and ``needs_ssh``, see whether it has several nodes, and
    not how many (:func:`modak.script.surroundings.of_any_size`).
    """

    name: str
    """Its name in jobs."""
    aliases: tuple[str, ...] = ()
    """Other accepted names."""

    @abstractmethod
    def unfit(self, job: JobSpec, scheduler: Scheduler) -> str:
        """Why it cannot start this job under this scheduler; empty if it can."""

    def needs_ssh(self, job: JobSpec, scheduler: Scheduler) -> bool:
        """Whether it reaches the job's other nodes by ssh."""
        return False

    def slurm_step(self, job: JobSpec, scheduler: Scheduler) -> bool:
        """Whether srun starts the job's processes, as a step of Slurm's."""
        return False

    def asks(self, has: Resources) -> Resources:
        """The layout to request from the scheduler: the job's own, unless one task starts several ranks."""
        return has

    def environment(self, job: JobSpec) -> Mapping[str, str]:
        """Variables that it sets: OpenMP's."""
        return openmp(job.resources)

    def setup(self, job: JobSpec, scheduler: Scheduler) -> tuple[Line, ...]:
        """Lines of the script before the run. ``job.environment``: the variables that every rank must see."""
        return ()

    def preflight(self, job: JobSpec, scheduler: Scheduler) -> tuple[Line, ...]:
        """Checks that end the job early with a message."""
        return ()

    @abstractmethod
    def words(self, job: JobSpec, scheduler: Scheduler, exported: tuple[str, ...]) -> tuple[Word, ...]:
        """The launcher's own words. ``exported``: names of variables that every rank must see."""

    def inside(self, job: JobSpec, scheduler: Scheduler) -> tuple[Word, ...]:
        """The command as it runs inside the container."""
        return job.command

    def untold(self, job: JobSpec, scheduler: Scheduler, signal: str) -> str:
        """Why a signal to the launcher would not reach its ranks: the job then goes without it. Empty if it does, as far as is known."""
        return ""


def kept_back(program: str, handed_on: frozenset[str], signal: str) -> str:
    """Why a signal does not reach the ranks of a program that passes only the signals ``handed_on``; empty if it does."""
    if signal in handed_on:
        return ""
    if not handed_on:
        return f"{program} passes no signal to the application: use application.checkpoint instead"
    better = "USR1" if "USR1" in handed_on else "TERM"
    why = f"{program} passes {', '.join(sorted(handed_on))} to the application, but not {signal}"
    return f"{why}: use {better}, or application.checkpoint"


def openmp(has: Resources, *, bound: bool = True) -> dict[str, str]:
    """OpenMP's ``OMP_NUM_THREADS`` (threads, not cores), and one place per core, or per hardware thread if hyper-threads are used.

    Without places if the ranks are not ``bound``: threads of all ranks would be bound to the node's first cores. Nor for a single thread,
    which is where its rank is, or for fewer threads than cores: OpenMP would hold all that the program starts beside them (threads of its
    own, each with a team) on their cores. Nor if ranks share cores: each would bind its threads from the first hardware thread on.
    """
    threads = {"OMP_NUM_THREADS": str(has.threads_per_rank)}
    if not bound or has.unbound or has.loose_threads:
        return threads
    if has.oversubscribed or has.shares_cores:
        return {**threads, "OMP_PROC_BIND": "false"}
    if has.threads_per_rank == 1 or has.threads_per_rank < has.cores_per_rank:
        return threads
    return {**threads, "OMP_PLACES": "threads" if has.hyperthreads else "cores", "OMP_PROC_BIND": "close"}
