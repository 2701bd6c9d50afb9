"""Where the ranks may run: counted and printed before the run, by a small program that the launcher starts like the job's own."""

from __future__ import annotations

from typing import Final

from modak.bash import Line, comment, errors, need, piped, run
from modak.jobspec import JobSpec
from modak.launchers import Launcher
from modak.schedulers import Scheduler
from modak.words import Word

FEWER_CPUS: Final = 75
MOST_NODES: Final = 32
"""On more nodes a step of its own costs more than it tells."""
_PROBE: Final = (
    "count=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc); "
    "list=$(grep -s Cpus_allowed_list /proc/self/status) || list=unknown; "
    'echo "modak: a rank may use $count CPUs (${list##*[[:space:]]})"; test "$count" -ge "$1"'
)


def affinity(job: JobSpec, launcher: Launcher, door: Scheduler) -> tuple[Line, ...]:
    """One line for each set of CPUs that ranks are bound to, with the number of ranks; the job ends where a rank has fewer than planned."""
    has = launcher.asks(job.resources)
    if not job.affinity or has.oversubscribed or has.nodes > MOST_NODES:
        return ()
    program: tuple[Word, ...] = ("bash", "-c", _PROBE, "probe", str(has.cores_per_rank))
    starts = run(*launcher.words(job, door, ()), *program)
    counted = piped(piped(starts, run("sort")), run("uniq", "-c"))
    advice = "a rank has fewer CPUs than planned: check cores per rank against the node, and the site's own binding"
    return (
        comment("shellcheck disable=SC2016"),
        need(errors(counted), FEWER_CPUS, advice),
    )
