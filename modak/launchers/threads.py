"""What OpenMP is told: as many threads as a rank has, on its cores, side by side."""

from __future__ import annotations

from modak.jobspec import Resources


def openmp(has: Resources) -> dict[str, str]:
    """``OMP_NUM_THREADS`` counts threads (not cores, where hyper-threads are used); one place a core, or one a hardware thread."""
    if has.oversubscribed:
        return {"OMP_NUM_THREADS": str(has.threads_per_rank), "OMP_PROC_BIND": "false"}
    return {
        "OMP_NUM_THREADS": str(has.threads_per_rank),
        "OMP_PLACES": "threads" if has.hyperthreads else "cores",
        "OMP_PROC_BIND": "close",
    }
