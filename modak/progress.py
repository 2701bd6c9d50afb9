"""Reports the progress of long work to a callback."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[float, int], None]
"""Is told how much is done (0 to 1), and how many rows have been read or stored by then."""


def silent(done: float, rows: int) -> None:
    """Tell nobody."""
