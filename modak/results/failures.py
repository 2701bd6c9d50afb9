"""Runs that failed, or were stopped: they are results without a time, each a row of one of three metrics."""

from __future__ import annotations

from typing import Final

FAILED: Final = "failed_runs"
"""Runs that gave no value, for whatever reason."""
OUT_OF_MEMORY: Final = "out_of_memory"
"""Runs that ended for want of memory: those that need as much of it would end so, too."""
COUNTED: Final = (FAILED, OUT_OF_MEMORY)
"""Metrics that count runs."""
STOPPED: Final = "stopped_after"
"""Seconds after which a run was stopped, at a limit or by somebody: it takes longer than that."""
METRICS: Final = (*COUNTED, STOPPED)
TRIES: Final = 2
"""Runs that fail until a configuration is left out, and runs of a layout that are stopped until others are expected to take as long: one
may have failed, or hung, by chance, or by a mistake in the job."""

WORDS: Final = {
    **dict.fromkeys(("oom", "out of memory", "out_of_memory"), OUT_OF_MEMORY),
    **dict.fromkeys(("fail", "failed", "error", "timeout", "timed out", "crash", "crashed", "killed", "dnf"), FAILED),
}
"""What stands in place of the value of a run that failed, with the metric that counts it."""

_KILLED: Final = (128 + 9, 253)
"""The status of what is ended by the signal KILL: the kernel sends it where memory runs out, and MPICH's ``MPI_Abort`` under ``srun``. That
has one of its own where Slurm saw the former (``SIG_OOM`` in Slurm's source): others are those of the ranks that it ends then."""
_STOPPED: Final = tuple(128 + signal for signal in (1, 2, 10, 12, 15, 24))
"""HUP, INT, USR1, USR2, TERM or XCPU ended it: somebody sent that, or the scheduler at a limit or before it; or ``srun``, because one rank
failed."""
NO_PROGRAM: Final = (126, 127)
"""The shell, or the dynamic loader, found no program, library or permission: a mistake in the job, whatever its configuration."""
_NOT_BEGUN: Final = (*range(70, 83), *NO_PROGRAM)
"""Or a check of the node ended the job before its run: see ``docs/scripts.md``."""


def metric_of_status(status: int, lacked_memory: bool | None = None) -> str | None:
    """What tells of a run that ended with this status; ``None``: it did not fail, or did not begin. ``lacked_memory``: whether it did, if
    that is known; then nobody stopped it.

    >>> [metric_of_status(status) for status in (137, 253, 1, 0, 143, 74, 127)]
    ['out_of_memory', 'out_of_memory', 'failed_runs', None, 'stopped_after', None, None]
    >>> metric_of_status(137, lacked_memory=False), metric_of_status(143, lacked_memory=False), metric_of_status(143, lacked_memory=True)
    ('failed_runs', 'failed_runs', 'out_of_memory')
    """
    if status == 0 or status in _NOT_BEGUN:
        return None
    if status in _STOPPED and lacked_memory is None:
        return STOPPED
    lacked = status in _KILLED if lacked_memory is None else lacked_memory
    return OUT_OF_MEMORY if lacked else FAILED
