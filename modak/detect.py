"""Runs the commands that describe this machine; :mod:`modak.detected` reads their output.

Commands are found in the absolute folders of PATH only. Each gets a clean environment, no input, and limits on time and output.
Processes that it started end with it.
"""

from __future__ import annotations

import getpass
import os
import selectors
import shlex
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from modak.detected import Asked, Description, describe, gridengine, slurm
from modak.detected.seen import NOT_THERE, CommandOutput, SeenNode, SeenPartition, plain
from modak.detected.software import MODULES, RUNTIMES
from modak.errors import RequestError
from modak.facts import Accelerator, Processor
from modak.processes import kill, leader
from modak.runtimes import BUILTIN
from modak.text.amounts import counted

TIMEOUT_S: Final = 20.0
"""For one command; Slurm's own commands give up on a controller after ten seconds."""
PROBE_TIMEOUT_S: Final = 90.0
MARK: Final = "@modak@"
LONGEST_ANSWER: Final = 1 << 25
LONGEST_ERRORS: Final = 1 << 20
PASSED: Final = (
    "HOME", "USER", "LOGNAME", "SLURM_CONF", "SLURM_ACCOUNT", "PBS_CONF_FILE", "PBS_SERVER", "PBS_DEFAULT",
    "SGE_ROOT", "SGE_CELL", "SGE_QMASTER_PORT", "SGE_EXECD_PORT", "SGE_CLUSTER_NAME", "LSF_ENVDIR",
    "LSF_SERVERDIR", "MODULEPATH", "LMOD_CMD", "MODULES_CMD",
)  # fmt: skip
"""Environment variables that commands get, besides PATH and LC_ALL=C."""
MACHINE: Final[Mapping[str, tuple[str, ...]]] = {
    "lscpu": ("lscpu", "-J"),
    "numactl": ("numactl", "-H"),
    "nvidia-smi": ("nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader,nounits"),
    "nvidia-smi-capability": ("nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"),
    "xpu-smi": ("xpu-smi", "discovery", "--dump", "2,16"),
    "meminfo": ("/proc/meminfo",),
}
"""Commands for one machine: this one, or with ``--probe`` a node of each partition. A path is a file to read."""
SLURM: Final[Mapping[str, tuple[str, ...]]] = {
    "scontrol-config": ("scontrol", "show", "config"),
    "scontrol-partition": ("scontrol", "show", "partition", "--oneliner"),
    "scontrol-node": ("scontrol", "show", "node", "--oneliner"),
}
QOS: Final[Mapping[str, tuple[str, ...]]] = {
    "sacctmgr": ("sacctmgr", "--noheader", "--parsable2", "show", "qos", f"format={slurm.QOS_FORMAT}"),
}
"""Runs if Slurm has a database of accounts."""
WITHOUT_SCONTROL: Final[Mapping[str, tuple[str, ...]]] = {
    "sinfo": ("sinfo", "--noheader", "--exact", f"--format={slurm.SINFO_FORMAT}"),
    "pbsnodes": ("pbsnodes", "-a"),
    "qstat": ("qstat", "-Qf"),
    "qstat-server": ("qstat", "-Bf"),
    "qhost": ("qhost", "-q"),
    "qconf": ("qconf", "-sq", "*"),
    "lsid": ("lsid",),
    "lshosts": ("lshosts", "-l"),
    "lshosts-gpu": ("lshosts", "-gpu", "-w"),
    "bhosts": ("bhosts", "-w"),
    "bqueues": ("bqueues", "-l"),
    "bmgroup": ("bmgroup", "-r", "-w"),
    "flux-resource": ("flux", "resource", "R"),
    "flux-config": ("flux", "config", "get"),
    "flux-queue": ("flux", "queue", "status"),
}
"""Commands that run if ``scontrol`` is missing or prints nothing."""
OF_EACH: Final = ("qconf", "-sp")
"""Followed by the name of a parallel environment of Grid Engine: it shows one at a time."""
ALWAYS: Final[Mapping[str, tuple[str, ...]]] = {
    "srun-mpi": ("srun", "--mpi=list"),
    **MACHINE,
    "mounts": ("/proc/mounts",),
    "modules": ("LMOD_CMD", "bash", "-t", "avail", *MODULES),
    "mpirun": ("mpirun", "--version"),
    **{one.version_command[0]: one.version_command for one in BUILTIN if one.version_command},
}
NOT_ASKED: Final = CommandOutput("", trouble=NOT_THERE)
ON_STDERR: Final = frozenset({"modules", "srun-mpi", *RUNTIMES})
"""Commands that, in some versions, write to standard error."""


class Output(NamedTuple):
    """The output of a command, as far as it is kept, and why it failed (empty: it did not)."""

    stdout: bytes
    stderr: bytes
    trouble: str


def detect(
    processors: Mapping[str, Processor],
    accelerators: Mapping[str, Accelerator],
    environment: Mapping[str, str],
    *,
    name: str | None = None,
    probe: bool = False,
    timeout_s: float = TIMEOUT_S,
) -> Description:
    """This machine as a system, with its hardware that is not among the known.

    ``probe``: also run the commands on a node of each open Slurm partition, by a job of one task that waits for at most 30 s.
    ``timeout_s``: for which a command here may run.

    Raises :class:`modak.errors.DataError` where nothing can be described, and :class:`modak.errors.RequestError` for a probe
    without Slurm.
    """
    own = _passed(environment)
    first = _answers(SLURM, own, timeout_s)
    slurm_answers = all(answer.text for answer in first.values())
    others = dict.fromkeys(WITHOUT_SCONTROL, NOT_ASKED) if slurm_answers else _answers(WITHOUT_SCONTROL, own, timeout_s)
    has_accounts = slurm.has_accounting(first["scontrol-config"].text)
    limits = _answers(QOS, own, timeout_s) if has_accounts else dict.fromkeys(QOS, NOT_ASKED)
    environments = _of_each(gridengine.environments(others), own, timeout_s)
    answers = {**first, **limits, **others, "qconf-sp": environments, **_answers(ALWAYS, own, timeout_s)}
    probes = _probes(answers, own) if probe else {}
    asked = Asked(socket.gethostname(), datetime.now(UTC).date(), name)
    failed = {f"probe of {partition}": found for partition, found in probes.items() if isinstance(found, CommandOutput)}
    shown = {partition: found for partition, found in probes.items() if not isinstance(found, CommandOutput)}
    return describe({**answers, **failed}, shown, asked, processors, accelerators)


def find(program: str, path: str) -> Path | None:
    """The program's file in the absolute folders of a PATH; relative ones, such as the current folder, are ignored."""
    folders = (Path(folder) for folder in path.split(os.pathsep) if folder.startswith("/"))
    return next((file for folder in folders if (file := folder / program).is_file() and os.access(file, os.X_OK)), None)


def run(words: Sequence[str | Path], environment: Mapping[str, str], *, timeout_s: float, longest: int) -> Output:
    """Run a command for at most ``timeout_s`` seconds and ``longest`` bytes of output, then end all that it started."""
    try:
        process = leader(words, environment, Path("/"), subprocess.PIPE, subprocess.PIPE)
    except OSError as error:
        return Output(b"", b"", error.strerror or "cannot be run")
    with process:
        try:
            output = _read(process, timeout_s, longest)
        finally:
            kill(process.pid)
            process.wait()
    if output.trouble or not process.returncode:
        return output
    said = output.stderr.decode(errors="replace").strip() or output.stdout.decode(errors="replace").strip()
    lines = [line for line in said.splitlines() if line.strip()]
    last = "; ".join(lines[-2:])  # what a site's own rules say stands before Slurm's "Unspecified error"
    return output._replace(trouble=f"exit status {process.returncode}: {last[:200]}")


def _passed(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of commands: :data:`PASSED`, and PATH without relative folders."""
    passed = {key: environment[key] for key in PASSED if key in environment}
    with suppress(KeyError, OSError):  # ch-run wants a name, and cron sets none
        passed.setdefault("USER", getpass.getuser())
    folders = environment.get("PATH", "").split(os.pathsep)
    return {**passed, "PATH": os.pathsep.join(folder for folder in folders if folder.startswith("/")), "LC_ALL": "C"}


def _answers(commands: Mapping[str, tuple[str, ...]], own: Mapping[str, str], timeout_s: float) -> dict[str, CommandOutput]:
    return {key: _ask(words, own, timeout_s, on_stderr=key in ON_STDERR) for key, words in commands.items()}


def _of_each(names: Sequence[str], own: Mapping[str, str], timeout_s: float) -> CommandOutput:
    """The answers for all names as one. One that fails is left out: the environment may have gone in between.

    All together have the time of one command: a server that answers slowly would be waited for once for each name.
    """
    end, found = time.monotonic() + timeout_s, list[str]()
    for name in names:
        if (left := end - time.monotonic()) > 0:
            found.append(_ask((*OF_EACH, name), own, left).text)
    missing = len(names) - sum(map(bool, found))
    late = missing and time.monotonic() >= end
    trouble = f"no answer within {timeout_s:g} s for {missing} of {counted(len(names), 'environment')}" if late else ""
    return CommandOutput(" ".join(OF_EACH), "\n".join(found), trouble if names else NOT_THERE)


def _ask(words: Sequence[str], own: Mapping[str, str], timeout_s: float, *, on_stderr: bool = False) -> CommandOutput:
    if words[0].startswith("/"):
        return _file(Path(words[0]))
    if words[0] == "LMOD_CMD":  # a shell function calls the program that this variable names; that of Environment Modules has its own
        given = Path(own.get("LMOD_CMD") or own.get("MODULES_CMD", ""))
        command, program = "module -t avail", given if given.is_absolute() and os.access(given, os.X_OK) else None
    else:
        command, program = " ".join(word for word in words if not word.startswith("--format")), find(words[0], own["PATH"])
    if program is None:
        return CommandOutput(command, trouble=NOT_THERE)
    output = run((program, *words[1:]), own, timeout_s=timeout_s, longest=LONGEST_ANSWER)
    text = output.stdout.decode(errors="replace") + ("\n" + output.stderr.decode(errors="replace") if on_stderr else "")
    return CommandOutput(command, "" if output.trouble else text, output.trouble)


def _file(path: Path) -> CommandOutput:
    try:
        with path.open("rb") as stream:
            return CommandOutput(str(path), stream.read(LONGEST_ANSWER).decode(errors="replace"))
    except OSError as error:
        return CommandOutput(str(path), trouble=error.strerror or "cannot be read")


def _probes(answers: Mapping[str, CommandOutput], own: Mapping[str, str]) -> Mapping[str, Mapping[str, CommandOutput] | CommandOutput]:
    """The answers of a node of each open partition, by partition; see :func:`_probe`."""
    srun, cluster = find("srun", own["PATH"]), slurm.cluster(answers)
    if srun is None or cluster is None:
        raise RequestError("asks Slurm for nodes, and no Slurm answers here; run modak on a node instead", field="--probe")
    members = ((one, [node for node in cluster.nodes if one.name in node.partitions]) for one in cluster.partitions if not one.closed)
    return {one.name: _probe(srun, one, own, nodes) for one, nodes in members if nodes}


def _probe(
    srun: Path, partition: SeenPartition, own: Mapping[str, str], nodes: Sequence[SeenNode]
) -> Mapping[str, CommandOutput] | CommandOutput:
    """The answers of one of the partition's nodes, from a job of one task that prints each command's name before its output; its trouble,
    where no job ran. No node is started for it: that takes minutes, and those of a cloud cost money.

    Where all nodes have GPUs, the job asks for one, since ``nvidia-smi`` shows only those of the job; if it gets none in time, the next one
    asks for none.
    """
    what, asleep = f"the probe of partition {plain(partition.name, 64)}", [node.name for node in nodes if node.powered_down]
    if len(asleep) == len(nodes):
        return CommandOutput(what, trouble="all of its nodes are powered down; start one by a job of your own, and try again")
    asked = {key: words if not words[0].startswith("/") else ("cat", *words) for key, words in MACHINE.items()}
    script = "; ".join(f"echo {MARK}{key}; {shlex.join(words)}" for key, words in asked.items())
    where = (f"--partition={partition.name}", *([f"--exclude={','.join(asleep)}"] if asleep else []))
    quality = [f"--qos={partition.qos}"] if partition.qos else []
    size = ("--nodes=1", "--ntasks=1", "--time=00:02:00", "--immediate=30")
    devices: list[list[str]] = [["--gres=gpu:1"], []] if all(node.gpus for node in nodes) else [[]]
    trouble = ""
    for device in devices:
        job = ("--job-name=modak-detect", *where, *quality, *device, *size, "sh", "-c", f"{script}; true")
        output = run((srun, *job), own, timeout_s=PROBE_TIMEOUT_S, longest=LONGEST_ANSWER)
        if not output.trouble:
            parts = _parts(output.stdout.decode(errors="replace"))
            return {key: CommandOutput(" ".join(words), parts.get(key, "")) for key, words in MACHINE.items()}
        trouble = output.trouble
    return CommandOutput(what, trouble=trouble)


def _parts(text: str) -> Mapping[str, str]:
    """What stands below each line that is :data:`MARK` and a key.

    >>> _parts(f"a banner\\n{MARK}lscpu\\n{{}}\\n{MARK}gpus\\n")
    {'lscpu': '{}', 'gpus': ''}
    """
    found = {}
    for part in f"\n{text}".split(f"\n{MARK}")[1:]:
        key, _, below = part.partition("\n")
        found[key] = below
    return found


def _read(process: subprocess.Popen[bytes], timeout_s: float, longest: int) -> Output:
    """Both streams to their end, within the limits; at most one chunk more is kept in memory."""
    deadline = time.monotonic() + timeout_s
    held: dict[str, bytearray] = {"out": bytearray(), "err": bytearray()}
    with selectors.DefaultSelector() as waiting:
        for name, stream in (("out", process.stdout), ("err", process.stderr)):
            if stream is not None:
                waiting.register(stream, selectors.EVENT_READ, name)
        while waiting.get_map():
            left = deadline - time.monotonic()
            ready = waiting.select(left) if left > 0 else []
            if not ready:
                return Output(b"", bytes(held["err"]), f"no answer within {timeout_s:g} s")
            for key, _ in ready:
                chunk = os.read(key.fd, 1 << 16)
                if not chunk:
                    waiting.unregister(key.fileobj)
                elif key.data == "out" or len(held["err"]) < LONGEST_ERRORS:
                    held[key.data] += chunk
            if len(held["out"]) > longest:
                return Output(b"", bytes(held["err"]), f"an answer of more than {longest >> 20} MiB")
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return Output(b"", bytes(held["err"]), f"no end within {timeout_s:g} s")
    return Output(bytes(held["out"]), bytes(held["err"]), "")
