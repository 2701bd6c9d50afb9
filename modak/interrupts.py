"""Ctrl-C: the exit status it gives, and what keeps a second one from disturbing the first. Imports nothing that takes time."""

from __future__ import annotations

import signal
from typing import Final

INTERRUPTED: Final = 130
"""The exit status of a command that Ctrl-C ended, as shells count it."""


def ignore_further() -> None:
    """Ignore Ctrl-C from now on: the command is ending in order already, and an impatient second one changes nothing."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
