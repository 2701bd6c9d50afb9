"""What a scheduler is, with defaults for what many do not have."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Final

from modak.jobs.spec import JobSpec
from modak.schedulers.commands import Commands
from modak.schedulers.header import Directives, Option
from modak.script.bash import Line

FEWER_CPUS: Final = 75
"""Exit status if the job, or one of its ranks, has fewer CPUs than planned."""


@dataclass(frozen=True)
class Scheduler(ABC):
    """A scheduler: how a job is described to it, and what its jobs find when they run."""

    name: str
    """Its name in requests."""
    prefix: str
    """Prefix of a header line, such as ``#SBATCH``; empty: there is no header."""
    submit: tuple[str, ...]
    """The command that submits a script."""
    aliases: tuple[str, ...] = ()
    """Other accepted names."""
    commands: Commands | None = None
    """How ``modak tune`` submits jobs and asks for them; ``None``: it cannot."""
    submit_dir: str | None = None
    """The variable that holds the directory of submission; ``None``: the script starts there."""
    job_id: str | None = None
    """The variable that holds the job's number."""
    array_index: str | None = None
    """The variable that holds the index of a job in an array; ``None``: it has no arrays."""
    array_id: str | None = None
    """The variable that holds the number of an array whose jobs have numbers of their own; ``None``: there is none."""
    array_shares_id: bool = False
    """All jobs of an array have the same job number."""
    restarts: str | None = None
    """The variable that is set, and not 0, in a job that starts again; ``None``: there is none."""
    again: str = ""
    """A shell's command that succeeds in a job that starts again, where no variable says so; empty: there is none."""
    dependency: str | None = None
    """The variable that holds what the job waited for, which the command line may have said; ``None``: there is none."""
    preempted: str = ""
    """Shell text that sets ``MODAK_STOPPED`` if the job was preempted or suspended; empty: the script takes ``CONT`` for a sign of that."""
    undisturbed: str = ""
    """A shell's command that succeeds if the scheduler has not ended, preempted or suspended the job; of Slurm alone: what ``srun`` ends
    with does not tell."""
    host_file: str | None = None
    """The variable that holds the path of a file with the job's hosts; ``None``: there is none."""
    is_slurm: bool = False
    """Its jobs run under Slurm, however they are submitted: with ``srun``, ``sbcast``, ``scontrol`` and the variables ``SLURM_…``."""
    launcher: str | None = None
    """The launcher that belongs to it: it starts its jobs, unless the system prefers another; ``None``: ``mpirun`` does."""
    own_cores: bool = False
    """Jobs that share a node do not reach each other's cores. If they may, what binds itself takes the node's first, whoever has them."""
    exclusive: bool = False
    """It has an option by which a job gets its nodes for itself: what binds itself may then take their first cores."""
    memory: bool = True
    """It gives jobs the memory that they ask for, which other jobs on their nodes cannot have then."""
    memory_of_several: bool = True
    """Jobs of several nodes can ask for memory of each node, too, not only of each core."""
    bootstrap: str | None = None
    """Its name for Intel MPI's ``-bootstrap``, if its own daemons start those of ``mpirun`` on other nodes; ``None``: ssh does."""

    @abstractmethod
    def directives(self, job: JobSpec) -> Directives:
        """The header lines of a job, without the prefix, with those that the site requires: :func:`modak.schedulers.header.with_site`."""

    @property
    def option_start(self) -> str:
        """What it takes a line for an option by, as a regular expression of the line's beginning."""
        return re.escape(self.prefix)

    def line(self, option: Option) -> str:
        """The header line of an option; a scheduler that reads its words as a shell does quotes them."""
        return f"{self.prefix} {' '.join(option)}"

    def array(self, indices: str) -> str | None:
        """A job array of these indices in its own words; ``None``: it does not take it, and a warning of :meth:`directives` says so."""
        return None

    def signals(self, job: JobSpec) -> bool:
        """Whether it can send the signal before the time limit to the script alone. If not, a timer in the script does."""
        return False

    def preflight(self, job: JobSpec) -> tuple[Line, ...]:
        """Checks that end the job early with a message, if it did not get what was requested.

        They see the job without the properties of a single run (:func:`modak.script.surroundings.of_any_run`).
        """
        return ()
