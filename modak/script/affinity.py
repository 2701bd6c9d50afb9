"""A check before the run: each rank counts the CPUs that it is bound to. The launcher, if there is one, starts it in the same way as the
application."""

from __future__ import annotations

from typing import Final

from modak.jobs.spec import JobSpec
from modak.launchers import Launcher
from modak.schedulers import Scheduler
from modak.schedulers.base import FEWER_CPUS
from modak.script.bash import Line, assign, command_line, comment, need, piped, run, without_input
from modak.script.shelltext import ours
from modak.text.words import Word, variable

MOST_NODES: Final = 32
"""On more nodes the check would take too long."""
_PROBE: Final = """
count=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc)
echo "modak: a rank may use $count CPUs ($(sed -n "s/Cpus_allowed_list:[[:space:]]*//p" /proc/self/status))"
test "$count" -ge "$1"
"""
_SET: Final = assign("MODAK_PROBE", _PROBE)
_OWN: Final = 'MODAK_CPUS="$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc)"'
_CPUS: Final = variable("MODAK_CPUS")
_ADVICE: Final = "check the cores per rank, and whether the site sets a binding of its own"


def affinity(job: JobSpec, launcher: Launcher, scheduler: Scheduler) -> tuple[Line, ...]:
    """Prints each set of CPUs that ranks are bound to, with the number of ranks; ends the job if a rank has fewer CPUs than planned."""
    has = launcher.asks(job.resources)
    if not job.affinity or has.oversubscribed or has.nodes > MOST_NODES:
        return ()
    before, planned = (*launcher.words(job, scheduler, ()), *job.launcher_options), str(has.cores_per_rank)
    if not before:
        fewer = f" CPUs, fewer than the {planned} planned: {_ADVICE}"
        check = need(run("test", _CPUS, "-ge", planned), FEWER_CPUS, "the program may use ", _CPUS, fewer)
        return (ours(_OWN), check) if has.cores_per_rank > 1 else ()  # what the script starts itself has a CPU
    program: tuple[Word, ...] = ("bash", "-c", variable("MODAK_PROBE"), "probe", planned)
    starts = without_input(command_line((*before, *program), (len(before),)))  # srun and mpirun would read the application's input
    failed = "without any counts above, the launcher could not start the ranks: see its own message"
    return (
        comment("each rank counts its CPUs; the output shows how many ranks have each binding"),
        comment("shellcheck disable=SC2016"),
        _SET,
        need(piped(starts, ours("sort | uniq -c >&2")), FEWER_CPUS, f"a rank has fewer CPUs than planned: {_ADVICE}; {failed}"),
    )
