"""Runs that failed: they are results without a time, each a row of one of two metrics."""

from __future__ import annotations

from typing import Final

FAILED: Final = "failed_runs"
"""Runs that gave no value, for whatever reason."""
OUT_OF_MEMORY: Final = "out_of_memory"
"""Runs that ended for want of memory: those that need as much of it would end so, too."""
METRICS: Final = (FAILED, OUT_OF_MEMORY)

WORDS: Final = {
    **dict.fromkeys(("oom", "out of memory", "out_of_memory"), OUT_OF_MEMORY),
    **dict.fromkeys(("fail", "failed", "error", "timeout", "timed out", "crash", "crashed", "killed", "dnf"), FAILED),
}
"""What stands in place of the value of a run that failed, with the metric that counts it."""

_KILLED: Final = (128 + 9, 253)
"""The status of what is ended by the signal KILL: the kernel sends it where memory runs out, and MPICH's ``MPI_Abort`` under ``srun``. That
has one of its own where Slurm saw the former (``SIG_OOM`` in Slurm's source): others are those of the ranks that it ends then."""
_STOPPED: Final = tuple(128 + signal for signal in (1, 2, 10, 12, 15, 24))
"""HUP, INT, USR1, USR2, TERM or XCPU ended it: somebody sent that, or the scheduler at a limit or before it."""
_CHECKS: Final = range(70, 83)
"""A check of the node ended the job before its run: see ``docs/scripts.md``."""


def metric_of_status(status: int, *, may_lack_memory: bool = True) -> str | None:
    """What counts a run that ended with this status; ``None``: it did not fail, or not because of what ran. ``may_lack_memory``: it is not
    known that its memory sufficed.

    >>> [metric_of_status(status) for status in (137, 253, 1, 0, 143, 74)]
    ['out_of_memory', 'out_of_memory', 'failed_runs', None, None, None]
    """
    if status == 0 or status in _STOPPED or status in _CHECKS:
        return None
    return OUT_OF_MEMORY if may_lack_memory and status in _KILLED else FAILED
