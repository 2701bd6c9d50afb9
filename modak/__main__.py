"""``python -m modak`` is ``modak``: the command line in a process of its own, which Ctrl-C, SIGTERM and SIGHUP end in one line."""

from __future__ import annotations

import gc
import os
import signal
import sys
from typing import Final

from modak.blas import use_one_thread
from modak.garbage import collect_rarely
from modak.interrupts import INTERRUPTED, ignore_further

ENDING: Final = (signal.SIGTERM, signal.SIGHUP)


def main() -> int:
    """Run the command that this process was started with; its exit status.

    SIGTERM and SIGHUP (the terminal is gone) are another Ctrl-C: what is not finished is taken back, such as half a file, or a container
    that runs. Then the process ends of it. Where our caller ignores one, as the scripts of jobs do at their end, and nohup, it stays so;
    Python leaves Ctrl-C ignored of its own accord.
    """
    terminated: list[int] = []

    def terminate(number: int, _frame: object) -> None:
        ignore_further(*ENDING)
        terminated.append(number)
        raise KeyboardInterrupt

    for ending in ENDING:
        if signal.getsignal(ending) is not signal.SIG_IGN:
            signal.signal(ending, terminate)
    use_one_thread()
    collect_rarely()
    try:
        from modak.cli import main as run

        status = run()
    except KeyboardInterrupt:  # while modules are read, or the last of the output is written
        ignore_further()
        sys.stderr.write("modak: interrupted\n")
        status = INTERRUPTED
    for number in terminated:
        gc.collect()  # deletes temporary files of what was interrupted, to which some versions of Python leave references
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    if status == 0:  # otherwise what failed may have left references to files that are removed with it
        gc.freeze()  # at the exit Python looks for cycles in all of it several times: a quarter of the time of a short command
    return status


if __name__ == "__main__":
    sys.exit(main())
