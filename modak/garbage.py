"""How often Python looks for garbage: reference cycles that nobody uses any more."""

from __future__ import annotations

import gc
from typing import Final

YOUNG: Final = 20_000
"""New objects after which Python's garbage collector looks for cycles. Its default of 700 is reached several times within one request,
hundreds of times before a command has imported what it needs, and thousands of times while it reads the curves of many series: all of them
are still in use."""


def collect_rarely() -> None:
    """Let this process look for cycles after :data:`YOUNG` new objects."""
    gc.set_threshold(YOUNG)
