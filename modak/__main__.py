"""``python -m modak`` is ``modak``: the command line in a process of its own, which Ctrl-C and SIGTERM end in one line."""

from __future__ import annotations

import os
import signal
import sys

from modak.blas import use_one_thread
from modak.interrupts import INTERRUPTED, ignore_further


def main() -> int:
    """Run the command that this process was started with; its exit status.

    SIGTERM is another Ctrl-C: what is not finished is taken back, such as half a file. Then the process ends of it. Where our caller has it
    ignored, as the scripts of jobs do at their end, it stays so; Python leaves Ctrl-C ignored of its own accord.
    """
    terminated: list[int] = []

    def terminate(number: int, _frame: object) -> None:
        ignore_further(signal.SIGTERM)
        terminated.append(number)
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN:
        signal.signal(signal.SIGTERM, terminate)
    use_one_thread()
    try:
        from modak.cli import main as run

        status = run()
    except KeyboardInterrupt:  # while modules are read, or the last of the output is written
        ignore_further()
        sys.stderr.write("modak: interrupted\n")
        status = INTERRUPTED
    for number in terminated:
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    return status


if __name__ == "__main__":
    sys.exit(main())
