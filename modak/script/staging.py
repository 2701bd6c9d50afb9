"""The job's own directory in the preferred storage: made and filled before the run, copied out and removed after it.

Under Slurm a directory in the nodes' own storage is made on every node, and files are broadcast to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from modak.dsl import Notice
from modak.errors import Conflict
from modak.jobs.spec import Copy, JobSpec, Staging
from modak.schedulers import Scheduler
from modak.script.bash import Line, command_line, export, need, require, run, shell_function
from modak.script.exittrap import NOW, is_array, log_of, task
from modak.script.parts import section
from modak.script.shelltext import ours, with_parts
from modak.text.words import Word, lead, shell, variable, variables, word

NO_SCRATCH: Final = 79
NOT_STAGED: Final = 80
_EACH_NODE: Final = """
modak_each() {
    srun --nodes="${SLURM_JOB_NUM_NODES:?}" --ntasks="${SLURM_JOB_NUM_NODES:?}" --ntasks-per-node=1 --export=ALL "$@" </dev/null
}
"""
_HERE: Final = """
modak_copy_in() {
    mkdir -p -- "$(dirname -- "${MODAK_SCRATCH:?}/$2")" && cp -R -H -- "$1" "${MODAK_SCRATCH:?}/$2"
}
"""
_EVERYWHERE: Final = """
modak_copy_in() {
    local to="${MODAK_SCRATCH:?}/$2"
    modak_each mkdir -p -- "$(dirname -- "${to}")" || return
    if test -d "$1"; then
        modak_each cp -R -H -- "$1" "${to}"
    else
        test ! -d "${to}" || to+="/${1##*/}" # as cp does: sbcast takes no directory
        sbcast --force "$1" "${to}"
    fi
}
"""
_UNPACK: Final = """
modak_unpack() {
    local packed=@PACKED@ into="${MODAK_SCRATCH:?}/$2"
    @FETCH@@EACH@mkdir -p -- "${into}" || return
    case "$1" in
        *.sqfs | *.squashfs) @EACH@unsquashfs -quiet -no-progress -force -dest "${into}" "${packed}" ;;
        *) @EACH@tar -x -f "${packed}" -C "${into}" ;;
    esac@TIDY@
}
"""
_UNPACK_HERE: Final = with_parts(_UNPACK, PACKED='"$1"', FETCH="", EACH="", TIDY="")
_UNPACK_EVERYWHERE: Final = with_parts(
    _UNPACK,
    PACKED='"${MODAK_SCRATCH:?}/.packed"',
    FETCH='sbcast --force "$1" "${packed}" || return\n    ',
    EACH="modak_each ",
    TIDY=' && modak_each rm -f -- "${packed}"',
)
_GATHER: Final = """
modak_gather() { # torchrun decides which node has its first rank: what the other nodes have of this, and the first has not, comes here
    local node
    for node in ${MODAK_HOSTS:?}; do
        # shellcheck disable=SC2016
        test "${node}" = "${MODAK_RDZV_HOST:?}" ||
            srun --nodes=1 --ntasks=1 --nodelist="${node}" --export=ALL bash -c \\
                'cd -- "$0" && find "./$1" -maxdepth 0 -print0 2>/dev/null | tar -c --null -T -' "${MODAK_SCRATCH:?}" "$1" </dev/null |
            tar -x -C "${MODAK_SCRATCH:?}" --skip-old-files || return 1 # in a trap, a bare return gives the status from before it
    done
}
"""
_OUT: Final = """
modak_copy_out() { # FROM TO ...; what is missing does not keep the others back
    local from failed=0
    while test "$#" -gt 1; do@GATHER@
        from="${MODAK_SCRATCH:?}/$1"
        if test -d "${from}"; then # the directory may exist from an earlier job
            mkdir -p -- "$2" && cp -R -f -- "${from}/." "$2"
        else
            mkdir -p -- "$(dirname -- "$2.")" && cp -f -- "${from}" "$2" # results/ is a directory
        fi || failed=1
        shift 2
    done
    return "${failed}"
}
"""
_STRIPE: Final = (
    '! command -v lfs >/dev/null 2>&1 || lfs setstripe -c @STRIPES@ "${MODAK_SCRATCH:?}" || : # on Lustre: for all files made below'
)
_SINCE: Final = f'MODAK_SINCE="{NOW}" # an earlier start, on a node that failed, may have left its directory'
_ADVICE: Final = "the job could not create its directory on the storage: check free space and write permission"
_TIDY: Final = """
modak_tidy() {
    cd -- "${MODAK_HERE}" || return 0
    if test "${MODAK_COPIED:-}" = no || # large results are not copied twice
        { test -n "${MODAK_STARTED:-}" && test -z "${MODAK_COPIED:-}" && ! modak_stage_out; }; then
        printf 'modak: not everything could be copied from %s on %s: the directory is kept\\n' "${MODAK_SCRATCH}" "$(uname -n)" >&2
        return 0
    fi
    @REMOVE@
}
"""
_REMOVED: Final = 'rm -rf -- "${MODAK_SCRATCH:?}"'
_REMOVED_EVERYWHERE: Final = f"modak_each {_REMOVED} || {_REMOVED} # Slurm starts nothing more in a job that it ends"


def writable(job: JobSpec) -> tuple[Line, ...]:
    """A check that the storage is writable."""
    if not job.storage:
        return ()
    advice = " is not writable on this node: is it the right storage for this system?"
    return (need(run("test", "-w", variable("MODAK_STORAGE")), NO_SCRATCH, variable("MODAK_STORAGE"), advice),)


def scratch(job: JobSpec, scheduler: Scheduler) -> tuple[Line, ...]:
    """Makes the directory, and defines the functions that copy into and out of it.

    Raises :class:`modak.errors.Conflict` for storage of several nodes that the scheduler cannot reach.
    """
    has = job.staging
    if has is None:
        return ()
    each = _on_each(job, has, scheduler)
    return section("the job's own directory", [*_directory(job, has, scheduler, each=each)])


def _directory(job: JobSpec, has: Staging, scheduler: Scheduler, *, each: bool) -> Iterator[Line]:
    """The lines that make the directory, after the functions that they need; ``each``: every node has its own."""
    yield ours(_SINCE)
    name = ("/modak-", variable("MODAK_JOB"), *task(job, scheduler), "-", variable("MODAK_SINCE"))
    yield export("MODAK_SCRATCH", has.place or variable("TMPDIR", ":-/tmp"), *name)
    yield from map(ours, _functions(has, each, gathered=each and job.launcher == "torchrun", log=_log_inside(job)))
    yield shell_function("modak_stage_out", _copied_out(has))
    yield ours(with_parts(_TIDY, REMOVE=_REMOVED_EVERYWHERE if each else _REMOVED))
    yield need(_made(each), NO_SCRATCH, _ADVICE + (", and that each node has its own storage there" if each else ""))
    yield ours("MODAK_MADE=1")
    if has.stripes:
        yield ours(with_parts(_STRIPE, STRIPES=str(has.stripes)))


def stage_in(job: JobSpec) -> tuple[Line, ...]:
    """Copies before the run."""
    copies = job.staging.into if job.staging else ()
    return section("stage in", [_copied(copy) for copy in copies]) if copies else ()


def targets(job: JobSpec) -> tuple[Line, ...]:
    """Stops before the run if a variable of a path to copy to is not set: after it, nothing could be copied."""
    if not job.staging:
        return ()
    paths = tuple(copy.outside for copy in job.staging.out)
    return tuple(require(name, "results are to be copied there, and it is not set") for name in variables(paths))


def stage_out(job: JobSpec) -> tuple[Line, ...]:
    """Copies after the run. If the run fails, ``modak_end`` copies."""
    if not job.staging or not job.staging.out:
        return ()
    advice = ": check that the run wrote them there, and free space and write permission at the destination"
    message = ("results could not be copied out of ", variable("MODAK_SCRATCH"), advice)
    copied = ours("modak_stage_out || { MODAK_COPIED=no; false; }")
    return section("stage out", (need(copied, NOT_STAGED, *message), ours("MODAK_COPIED=yes")))


def gather_log(job: JobSpec, scheduler: Scheduler) -> tuple[Line, ...]:
    """Brings the metric's file to the first node, if the run may have written it in the directory of another."""
    if job.launcher != "torchrun" or not job.staging or not _log_inside(job) or not _on_each(job, job.staging, scheduler):
        return ()
    return (ours('modak_gather "${MODAK_LOG#"${MODAK_SCRATCH:?}/"}" || :'),)


def one_target(job: JobSpec, scheduler: Scheduler) -> tuple[Notice, ...]:
    """A warning for each place that all jobs of an array copy to, and for one file of the metric: their files would replace each other."""
    if not is_array(job, scheduler):
        return ()
    places = [("application.stage_out", copy.outside, "copy there") for copy in (job.staging.out if job.staging else ())]
    of_task = {scheduler.array_index, None if scheduler.array_shares_id else scheduler.job_id}
    shared = [place for place in places if of_task.isdisjoint(variables((place[1],)))]
    log = log_of(job)
    if log and (of_task | {"MODAK_SCRATCH", "TMPDIR"}).isdisjoint(variables((log,))):
        shared.append(("application.metric_file", log, "write it"))
    advice = f"put ${{{scheduler.array_index}}} into the path"
    return tuple(Notice(field=field, message=f"{shell(path)}: all jobs of the array {how}: {advice}") for field, path, how in shared)


def _on_each(job: JobSpec, has: Staging, scheduler: Scheduler) -> bool:
    if has.shared or job.resources.nodes == 1:
        return False
    if not scheduler.is_slurm:
        why = f"${{MODAK_SCRATCH}} can be made in the local storage of {job.resources.nodes} nodes only under Slurm"
        instead = "name shared storage (application.storage_class_pref) or use one node (job_options.node_count)"
        raise Conflict(f"{why}; {instead}", field="application.stage_in")
    return True


def _log_inside(job: JobSpec) -> bool:
    """Whether the metric is read from a file in the directory."""
    log = log_of(job)
    return log is not None and "MODAK_SCRATCH" in variables((log,))


def _functions(has: Staging, each: bool, gathered: bool, log: bool) -> Iterator[str]:
    """The functions that the job's copies call."""
    if each:
        yield _EACH_NODE
    if any(not copy.unpack for copy in has.into):
        yield _EVERYWHERE if each else _HERE
    if any(copy.unpack for copy in has.into):
        yield _UNPACK_EVERYWHERE if each else _UNPACK_HERE
    if gathered and (has.out or log):
        yield _GATHER
    if has.out:
        yield with_parts(_OUT, GATHER='\n        modak_gather "$1" || failed=1' if gathered else "")


def _made(each: bool) -> Line:
    """Makes a new directory, for the owner alone; an existing one is an error, because it belongs to another job. If a node fails, those of
    the other nodes are removed: they are empty."""
    made = 'mkdir -m 700 -- "${MODAK_SCRATCH:?}"'
    removed = 'rmdir -- "${MODAK_SCRATCH:?}"'
    return ours(f"modak_each {made} || {{ modak_each {removed} 2>/dev/null || :; false; }}" if each else made)


def _copied_out(has: Staging) -> Line:
    """The copies after the run, each on a line of its own."""
    paths = [path for copy in has.out for path in (copy.inside, copy.outside)]
    return command_line(("modak_copy_out", *paths), range(3, len(paths), 2)) if paths else run(":")


def _copied(copy: Copy) -> Line:
    advice = "data could not be copied in: check that it exists, that you may read it, and that there is free space"
    how, outside = ("modak_unpack", _local(copy.outside)) if copy.unpack else ("modak_copy_in", copy.outside)
    return need(command_line((how, outside, copy.inside)), NOT_STAGED, advice)


def _local(file: Word) -> Word:
    """The file's path as tar takes it for one of this machine: in ``12:00.tar`` it would see a host."""
    if ":" not in lead(file).partition("/")[0]:
        return file
    return word("./", file)
