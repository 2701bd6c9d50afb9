"""Schedulers: each turns a job into the header of its script.

A variant is a frozen dataclass that implements :class:`Scheduler`: a table from the job's fields to the scheduler's options
(:mod:`modak.schedulers.header` has the vocabulary), and a warning for every field that it has no option for.
"""

from __future__ import annotations

from typing import Final, Protocol

from modak.jobs.spec import JobSpec
from modak.schedulers.commands import Commands
from modak.schedulers.flux import Flux
from modak.schedulers.gridengine import GridEngine
from modak.schedulers.header import Directives
from modak.schedulers.lsf import Lsf
from modak.schedulers.pbspro import PbsPro
from modak.schedulers.shell import Shell
from modak.schedulers.slurm import Slurm
from modak.schedulers.torque import Torque


class Scheduler(Protocol):
    """A scheduler: how a job is described to it."""

    @property
    def name(self) -> str:
        """Its name in requests."""

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other accepted names."""

    @property
    def prefix(self) -> str:
        """Prefix of a header line, such as ``#SBATCH``; empty: there is no header."""

    @property
    def submit(self) -> tuple[str, ...]:
        """The command that submits a script."""

    @property
    def submit_dir(self) -> str | None:
        """The variable that holds the directory of submission; ``None``: the script starts there."""

    @property
    def job_id(self) -> str | None:
        """The variable that holds the job's number."""

    @property
    def array_index(self) -> str | None:
        """The variable that holds the index of a job in an array; ``None``: it has no arrays."""

    @property
    def restarts(self) -> str | None:
        """The variable that is set, and not 0, in a job that starts again; ``None``: there is none."""

    @property
    def host_file(self) -> str | None:
        """The variable that holds the path of a file with the job's hosts; ``None``: there is none."""

    @property
    def commands(self) -> Commands | None:
        """How ``modak tune`` submits jobs and asks for them; ``None``, or without this property: it cannot."""

    def directives(self, job: JobSpec) -> Directives:
        """The header lines of a job, without the prefix, with those that the site requires: :func:`modak.schedulers.header.with_site`."""

    def array(self, indices: str) -> str | None:
        """A job array of these indices in its own words; ``None``: it does not take it, and a warning of :meth:`directives` says so."""

    def signals(self, job: JobSpec) -> bool:
        """Whether it can send the signal before the time limit to the script alone. If not, a timer in the script does."""


BUILTIN: Final[tuple[Scheduler, ...]] = (Slurm(), PbsPro(), Torque(), Lsf(), Flux(), GridEngine(), Shell())
