"""``python -m modak`` is ``modak``: the command line in a process of its own, which Ctrl-C ends in one line."""

from __future__ import annotations

import signal
import sys

INTERRUPTED = 130
"""The exit status of what Ctrl-C ended, as shells count it."""


def main() -> int:
    """Run the command that this process was started with; its exit status."""
    try:
        from modak.cli import main as run

        return run()
    except KeyboardInterrupt:  # while modules are read, or the last of the output is written
        end_in_peace()
        sys.stderr.write("modak: interrupted\n")
        return INTERRUPTED


def end_in_peace() -> None:
    """From now on whoever presses Ctrl-C again, impatiently, changes nothing: the command is putting its things in order."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


if __name__ == "__main__":
    sys.exit(main())
