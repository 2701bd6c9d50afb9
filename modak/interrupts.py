"""Ctrl-C: its exit status, and how further ones are ignored. Imports nothing that takes time."""

from __future__ import annotations

import signal
from typing import Final

INTERRUPTED: Final = 130
"""The exit status of a command that Ctrl-C ended, as shells count it."""


def ignore_further() -> None:
    """Ignore Ctrl-C from now on: the command is ending already."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
