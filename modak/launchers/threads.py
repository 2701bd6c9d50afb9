"""What OpenMP is told: as many threads as a rank has, on its cores, side by side."""

from __future__ import annotations

from modak.jobs.spec import Resources


def openmp(has: Resources, *, bound: bool = True) -> dict[str, str]:
    """``OMP_NUM_THREADS`` counts threads (not cores, where hyper-threads are used); one place a core, or one a hardware thread.

    Where the ranks are not ``bound``, nothing on places: threads that bind themselves would all take the node's first cores.
    """
    if not bound:
        return {"OMP_NUM_THREADS": str(has.threads_per_rank)}
    if has.oversubscribed:
        return {"OMP_NUM_THREADS": str(has.threads_per_rank), "OMP_PROC_BIND": "false"}
    return {
        "OMP_NUM_THREADS": str(has.threads_per_rank),
        "OMP_PLACES": "threads" if has.hyperthreads else "cores",
        "OMP_PROC_BIND": "close",
    }
