"""Where benchmarks write their figures."""

from __future__ import annotations

import sys


def say(text: str = "") -> None:
    """One line to standard output, at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
