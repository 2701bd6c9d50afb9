"""Schedulers: each turns a job into the header of its script.

A variant is a frozen dataclass that derives from :class:`Scheduler`: a table from the job's fields to the scheduler's options
(:mod:`modak.schedulers.header` has the vocabulary), and a warning for every field that it has no option for.
"""

from __future__ import annotations

from typing import Final

from modak.schedulers.base import Scheduler
from modak.schedulers.flux import Flux
from modak.schedulers.gridengine import GridEngine
from modak.schedulers.lsf import Lsf
from modak.schedulers.pbspro import PbsPro
from modak.schedulers.shell import Shell
from modak.schedulers.slurm import Slurm
from modak.schedulers.torque import Torque

__all__ = ["BUILTIN", "Scheduler"]

BUILTIN: Final[tuple[Scheduler, ...]] = (Slurm(), PbsPro(), Torque(), Lsf(), Flux(), GridEngine(), Shell())
