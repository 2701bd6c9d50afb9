"""Environment variables of OpenMP: the threads of a rank, bound to its cores."""

from __future__ import annotations

from modak.jobs.spec import Resources


def openmp(has: Resources, *, bound: bool = True) -> dict[str, str]:
    """``OMP_NUM_THREADS`` (threads, not cores), and one place per core, or per hardware thread if hyper-threads are used.

    Without places if the ranks are not ``bound``: threads of all ranks would be bound to the node's first cores.
    """
    if not bound or has.unbound or has.loose_threads:
        return {"OMP_NUM_THREADS": str(has.threads_per_rank)}
    if has.oversubscribed:
        return {"OMP_NUM_THREADS": str(has.threads_per_rank), "OMP_PROC_BIND": "false"}
    return {
        "OMP_NUM_THREADS": str(has.threads_per_rank),
        "OMP_PLACES": "threads" if has.hyperthreads else "cores",
        "OMP_PROC_BIND": "close",
    }
