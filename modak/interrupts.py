"""Ctrl-C: its exit status, and how further ones are ignored. Imports nothing that takes time."""

from __future__ import annotations

import signal
from typing import Final

INTERRUPTED: Final = 130
"""The exit status of a command that Ctrl-C ended, as shells count it."""


def ignore_further(*others: signal.Signals) -> None:
    """Ignore Ctrl-C, and other signals, from now on: the command is ending already."""
    for each in (signal.SIGINT, *others):
        signal.signal(each, signal.SIG_IGN)
