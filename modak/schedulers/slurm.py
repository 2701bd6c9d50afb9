"""Slurm: ``#SBATCH`` options of sbatch."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from modak.dsl import Notice
from modak.jobs.spec import JobSpec, changed
from modak.schedulers.base import Scheduler
from modak.schedulers.commands import Commands
from modak.schedulers.header import Directives, error_file, licences, mib, never_met, note, options, passed_variables, with_site
from modak.schedulers.notices import environment_policy, folders, joined_streams, no_event, shared_files, uncounted
from modak.text.hosts import expand_nodes
from modak.text.units import clock

SYNONYMS: Final = {
    "--mem-per-cpu": "--mem", "--mem-per-gpu": "--mem", "--no-requeue": "--requeue",
    "-A": "--account", "-C": "--constraint", "-J": "--job-name", "-N": "--nodes", "-a": "--array", "-b": "--begin",
    "-c": "--cpus-per-task", "-d": "--dependency", "-e": "--error", "-n": "--ntasks", "-o": "--output", "-p": "--partition",
    "-t": "--time", "-w": "--nodelist", "-q": "--qos", "-L": "--licenses", "-m": "--distribution", "-O": "--overcommit",
}  # fmt: skip
"""Options that exclude another one (sbatch refuses both kinds of memory) or are its short form, and that one."""
ASKING: Final = frozenset(
    f"--{name}" for name in ("nodes", "ntasks-per-node", "cpus-per-task", "gres", "gpus-per-node", "mem", "mem-per-cpu")
)
DEPENDENCIES: Final = frozenset({"after", "afterany", "afterburstbuffer", "aftercorr", "afternotok", "afterok", "expand", "singleton"})
GPUS: Final = "--gpus-per-node={gpus_per_node}"
"""MODAK's own words for GPUs as a resource directive, which ``modak systems detect`` writes: a site's ``gpu_directive`` replaces them."""

_TAKEN: Final = (
    "SLURM_CPU_BIND", "SLURM_CPUS_PER_GPU", "SLURM_DISTRIBUTION", "SLURM_GPU_BIND", "SLURM_GPUS", "SLURM_GPUS_PER_NODE",
    "SLURM_GPUS_PER_SOCKET", "SLURM_GPUS_PER_TASK", "SLURM_HINT", "SLURM_MEM_BIND", "SLURM_MEM_PER_CPU", "SLURM_MEM_PER_GPU",
    "SLURM_MEM_PER_NODE", "SLURM_NTASKS_PER_CORE", "SLURM_NTASKS_PER_GPU", "SLURM_NTASKS_PER_SOCKET", "SLURM_NTASKS_PER_TRES",
    "SLURM_OVERCOMMIT", "SLURM_THREADS_PER_CORE", "SLURM_TRES_PER_TASK",
)  # fmt: skip
"""What ``srun`` takes for options, and sbatch passes on from a job or an interactive session in which it is called."""
_NEVER_SET: Final = (
    "SLURM_CLUSTERS", "SLURM_CONSTRAINT", "SLURM_EXCLUSIVE", "SLURM_GRES", "SLURM_HET_SIZE", "SLURM_JOB_NODELIST_HET_GROUP_0",
    "SLURM_JOB_NODELIST_PACK_GROUP_0", "SLURM_LABELIO", "SLURM_NO_KILL", "SLURM_REMOTE_CWD", "SLURM_RESV_PORTS", "SLURM_SEND_LIBS",
    "SLURM_SRUN_MULTI", "SLURM_STDERRMODE", "SLURM_STDOUTMODE", "SLURM_STEP_GRES", "SLURM_TIMELIMIT", "SLURM_WAIT", "SLURM_WORKING_DIR",
)  # fmt: skip
"""Others with which a step fails, waits for ever, or writes or runs elsewhere (on the nodes of a heterogeneous job). sbatch sets none of
them for such a job, whatever its header; those that may be meant for speed (``SLURM_CPU_FREQ_REQ``, ``SLURM_NETWORK``) are none of them."""

COMMANDS: Final = Commands(
    submit=("sbatch", "--parsable"),
    number=r"^([0-9]+)(?:;|$)",
    ask=("squeue", "--noheader", "--jobs", "{job}", "--format", "%T"),
    state=r"^ *(?P<state>\w+)",
    waiting="PENDING|CONFIGURING|REQUEUE.*|SPECIAL_EXIT|RESV_DEL_HOLD",
    running="RUNNING|COMPLETING|SUSPENDED|STOPPED|RESIZING|SIGNALING|STAGE_OUT",
    gone="Invalid job id",
    away="unable to contact slurm controller|connection refused|temporarily una(?:ble|vailable)",
    lost="timed out|zero bytes",
)
_SHOWN: Final = """env -u SLURM_CLUSTERS -u SLURM_TIME_FORMAT timeout 20 scontrol --oneliner show job "${SLURM_JOB_ID}" 2>/dev/null"""
PREEMPTED: Final = f"""    # preempted or suspended (this job, not another of its array): Slurm may have told the ranks alone to stop early
    if test "${{MODAK_STATUS}}" -eq 0 &&
        {_SHOWN} |
        grep -E "^JobId=${{SLURM_JOB_ID}} .* (Preempt|Suspend)Time=[0-9]" >/dev/null; then
        MODAK_STOPPED=perhaps
    fi
"""
"""The ranks have the partition's GraceTime. ``CONT`` would be no sign: Slurm sends it also to jobs that it has not suspended."""
UNDISTURBED: Final = f"""{_SHOWN} |
            grep "^JobId=${{SLURM_JOB_ID}} .* JobState=RUNNING " | grep -v -E " (Preempt|Suspend)Time=[0-9]" >/dev/null"""
"""At the time limit, and after ``scancel``, the job's state is another one before any of its processes gets a signal."""


@dataclass(frozen=True)
class Slurm(Scheduler):
    """SchedMD's Slurm."""

    name: str = "slurm"
    prefix: str = "#SBATCH"
    submit: tuple[str, ...] = ("sbatch",)
    aliases: tuple[str, ...] = ("sbatch",)
    commands: Commands = COMMANDS
    submit_dir: str | None = "SLURM_SUBMIT_DIR"
    job_id: str | None = "SLURM_JOB_ID"
    array_index: str | None = "SLURM_ARRAY_TASK_ID"
    array_id: str | None = "SLURM_ARRAY_JOB_ID"
    restarts: str | None = "SLURM_RESTART_COUNT"
    dependency: str | None = "SLURM_JOB_DEPENDENCY"
    preempted: str = PREEMPTED
    undisturbed: str = UNDISTURBED
    is_slurm: bool = True
    own_cores: bool = True
    exclusive: bool = True
    launcher: str | None = "srun"
    bootstrap: str | None = "slurm"

    def directives(self, job: JobSpec) -> Directives:
        """Options of sbatch."""
        says, has = job.attributes, job.resources
        table = {
            "job-name": says.name,
            "account": says.account,
            "partition": says.partition or says.queue,
            "qos": says.qos,
            "reservation": says.reservation,
            "nodes": has.nodes,
            **_tasks(job),
            "hint": hint(job),
            **_gpus(job),
            "time": clock(says.wall_time_s) if says.wall_time_s else None,
            **_memory(job),
            "licenses": ",".join(f"{name}:{count}" for name, count in licences(job)),
            "constraint": _constraint(job),
            "nodelist": None if _too_many_named(job) else says.node_list,
            "array": says.array,
            "output": says.output,
            "error": error_file(job, "%x-%j.err"),
            "mail-type": ",".join(says.notify).upper(),  # requests have Slurm's words
            "mail-user": says.email,
            "dependency": says.dependency,
            "kill-on-invalid-dep": "yes" if never_met(says.dependency) else None,
            "begin": says.begin,
            "exclusive": says.exclusive or has.oversubscribed,
            "overcommit": has.oversubscribed,
            "requeue": says.requeue,
            "no-requeue": says.requeue is False,
            "open-mode": "append" if says.requeue else None,
            "signal": f"B:{says.signal.name}@{says.signal.seconds}" if says.signal else None,
            "export": passed_variables(job, "ALL", "NONE"),
        }
        own = changed(job, resource_directives=tuple(_directives(job)))
        return with_site(own, options(table), _warnings(job), SYNONYMS, ASKING)

    def array(self, indices: str) -> str | None:
        """Any."""
        return indices

    def signals(self, job: JobSpec) -> bool:
        """With ``--signal=B:``, to the script alone."""
        return True


def _tasks(job: JobSpec) -> dict[str, int]:
    """Tasks per node and their CPUs. More tasks than CPUs are left to the launcher: sbatch refuses their number on each node, contrary to
    its manual, and since Slurm 24.11 (22.05 did not) also their total on whole nodes.

    Tasks that share a core have to say so where ``CR_ONE_TASK_PER_CORE`` is set; elsewhere it changes nothing.
    """
    has = job.resources
    if has.oversubscribed:
        return {}
    per_core = {"ntasks-per-core": has.threads_per_core} if has.shares_cores and job.counts_threads else {}
    return {"ntasks-per-node": has.ranks_per_node, "cpus-per-task": job.cpus_per_task, **per_core}


def _directives(job: JobSpec) -> Iterator[str]:
    """The site's words for the job's nodes: those that ask for GPUs as MODAK does by its ``gpu_directive``, and none for tasks that are
    left to the launcher, see :func:`_tasks`."""
    by_gres = job.system is not None and job.system.gpu_directive == "gres"
    for text in job.resource_directives:
        flag = re.split("[ =]", text)[0]
        if not (job.resources.oversubscribed and SYNONYMS.get(flag, flag) in ("--ntasks", "--ntasks-per-node", "--cpus-per-task")):
            yield "--gres=gpu:{gpus_per_node}" if by_gres and text == GPUS else text


def hint(job: JobSpec) -> str | None:
    """``nomultithread`` if Slurm counts hardware threads and the job does not use them: it would get half of its cores otherwise.

    Not on nodes without any, beside others that have some.
    """
    if not job.counts_threads or job.resources.hyperthreads:
        return None
    others = any(one.node.threads_per_core > 1 for one in job.system.partitions) if job.system else False
    return None if others and job.resources.threads_per_core == 1 else "nomultithread"


def _gpus(job: JobSpec) -> dict[str, str | int]:
    """GPUs per node, visible to all its ranks: with one GPU per rank, NCCL and CUDA could not use the paths between them."""
    count = job.resources.gpus_per_node
    if not count:
        return {}
    return {"gres": f"gpu:{count}"} if job.system and job.system.gpu_directive == "gres" else {"gpus-per-node": count}


def _memory(job: JobSpec) -> dict[str, str]:
    """Slurm accepts one of the two; memory per node takes precedence."""
    has = job.resources
    if has.memory_per_node:
        return {"mem": f"{mib(has.node_memory)}M"}
    if not has.memory_per_core:
        return {}
    per_cpu = has.memory_per_core // (has.threads_per_core if has.hyperthreads and job.counts_threads else 1)
    return {"mem-per-cpu": f"{mib(per_cpu)}M"}


def foreign(job: JobSpec) -> tuple[str, ...]:
    """Variables that are not this job's, but that ``srun`` would obey (it refuses two kinds of memory, and GPUs or CPUs that the job does
    not have).

    A step without them gets what the job has. What the header itself sets stays: the step may need it, and programs read it. But
    not the threads of a core, with which 22.05 fails to place ranks of several cores.
    """
    flags = {option[0].partition("=")[0].partition(" ")[0] for option in Slurm().directives(job).options}
    asked = {(flag if flag.startswith("--") else SYNONYMS.get(flag, flag)).removeprefix("--") for flag in flags}
    own = {f"SLURM_{'mem-per-node' if name == 'mem' else name}".upper().replace("-", "_") for name in asked}
    return (*(name for name in _TAKEN if name not in own - {"SLURM_THREADS_PER_CORE"}), *_NEVER_SET)


def _too_many_named(job: JobSpec) -> int:
    """Number of nodes that are named, if the job has fewer; else 0."""
    names = job.attributes.node_list
    named = len(expand_nodes(names)) if names else 0
    return named if named > job.resources.nodes else 0


def _constraint(job: JobSpec) -> str | None:
    both = [text for text in (job.attributes.constraint, job.resources.numa_constraint) if text]
    if len(set(both)) < 2:
        return both[0] if both else None
    return "&".join(f"({text})" if "|" in text else text for text in both)


def _warnings(job: JobSpec) -> Iterator[Notice]:
    says, has = job.attributes, job.resources
    if says.queue and says.partition and says.queue != says.partition:
        yield note("queue", f"Slurm's queues are partitions: partition {says.partition} is used, queue {says.queue} is left out")
    yield from joined_streams(job, "Slurm")
    if named := _too_many_named(job):
        yield note("node_list", f"{named} nodes are named, but the job has {has.nodes}: left out, because sbatch rejects that")
    if has.memory_per_node and has.memory_per_core:
        covers = f"{mib(has.node_memory)}M per node covers both"
        yield note("memory_per_core", f"Slurm accepts memory per node or per CPU, not both: {covers}")
    for part in re.split("[,?]", says.dependency) if says.dependency else ():
        if part.partition(":")[0] not in DEPENDENCIES:
            yield note("dependency", f"sbatch rejects {part}: Slurm supports {', '.join(sorted(DEPENDENCIES))}")
    yield from no_event(job, "Slurm")
    yield from uncounted(job, "Slurm")
    yield from shared_files(job, "Slurm", ("%a", "%j"))
    yield from environment_policy(job)
    yield from folders(job, "Slurm")
