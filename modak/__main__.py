"""``python -m modak`` is ``modak``: the command line in a process of its own, which Ctrl-C ends in one line."""

from __future__ import annotations

import sys

from modak.interrupts import INTERRUPTED, ignore_further


def main() -> int:
    """Run the command that this process was started with; its exit status."""
    try:
        from modak.cli import main as run

        return run()
    except KeyboardInterrupt:  # while modules are read, or the last of the output is written
        ignore_further()
        sys.stderr.write("modak: interrupted\n")
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
