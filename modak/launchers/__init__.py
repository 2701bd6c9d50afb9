"""Launchers: each says how a command is started on all ranks, and which lines of the script that needs.

A variant is a frozen dataclass that derives from :class:`Launcher`. Its words are outside the container (followed by the runtime's
words and the command), except for those that :meth:`Launcher.inside` puts in front of the command.
"""

from __future__ import annotations

from typing import Final

from modak.launchers.base import Launcher
from modak.launchers.flux import FluxRun
from modak.launchers.jsrun import Jsrun
from modak.launchers.mpirun import Mpirun
from modak.launchers.none import NoLauncher
from modak.launchers.pals import Pals
from modak.launchers.srun import Srun
from modak.launchers.torchrun import Torchrun

__all__ = ["BUILTIN", "Launcher"]

BUILTIN: Final[tuple[Launcher, ...]] = (Srun(), Mpirun(), Pals(), Jsrun(), FluxRun(), Torchrun(), NoLauncher())
