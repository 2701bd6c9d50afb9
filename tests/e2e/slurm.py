"""A throwaway Slurm on the loopback interface, up in two seconds and gone without a trace.

Five nodes run jobs: ``node1`` and ``node2``, ``gpu1`` and ``gpu2`` with devices that look like GPUs to Slurm, and ``smt1``, whose two
CPUs Slurm takes for the hardware threads of one core; its partition is hidden from ``modak systems detect``. A node
is a slurmd in UTS, mount and PID namespaces of its own: its jobs see the node's name as their host name, and killing the
namespace's first process ends everything in it. A thousand nodes more exist on paper, for ``sbatch --test-only``.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.conftest import PATIENCE_S, free_port, tool, until
from tests.e2e import accounting

PAPER = "Sockets=2 CoresPerSocket=24 ThreadsPerCore=2 RealMemory=90000"
DONE = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "BOOT_FAIL", "OUT_OF_MEMORY", "DEADLINE", "PREEMPTED"}
TO_END_S = 20
"""What a job may take to end that has written everything; one of MPICH's may never end."""


@dataclass(frozen=True)
class Site:
    """What makes a cluster: nodes that run jobs, nodes on paper, partitions, accounts."""

    nodes: Mapping[str, str]
    """By name, what slurm.conf says of each."""
    paper: Mapping[str, str]
    """The same for nodes that exist for ``sbatch --test-only`` alone."""
    partitions: Sequence[str]
    gpus: Mapping[str, str]
    """For nodes in Slurm's notation: type and number, or, where they run jobs, number of devices."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Of slurm.conf, other than usual."""
    accounts: Sequence[str] = ()
    """Commands of ``sacctmgr``; empty: there is no database of accounts."""
    limits: Sequence[str] = ()
    """Further ones, for which Slurm has to know its GPUs."""


THROWAWAY = Site(
    nodes={
        **dict.fromkeys(("node1", "node2"), "CPUs=2 RealMemory=4000"),
        **dict.fromkeys(("gpu1", "gpu2"), "CPUs=32 RealMemory=128000 Gres=gpu:v100:2"),
        "smt1": "Sockets=1 CoresPerSocket=1 ThreadsPerCore=2 RealMemory=4000",
    },
    paper={"paper[0001-1000]": f"{PAPER} Gres=gpu:v100:4 Feature=v100,ib"},
    partitions=(
        "main Nodes=node[1-2] Default=YES MaxTime=01:00:00",
        "gpu Nodes=gpu[1-2] MaxTime=04:00:00",
        "smt Nodes=smt1 MaxTime=01:00:00 Hidden=YES",
        "spare Nodes=gpu[1-2] MaxTime=04:00:00 PriorityTier=0 GraceTime=60",  # preempted by jobs of gpu
        *(f"{name} Nodes=paper[0001-1000] MaxTime=2-00:00:00" for name in ("paper", "general")),
    ),
    gpus={"gpu[1-2]": "Type=v100 File={folder}/dev/nvidia[0-1]", "paper[0001-1000]": "Type=v100 Count=4"},
)


@dataclass(frozen=True)
class Job:
    """How a job ended and what it wrote."""

    id: str
    state: str
    exit_code: int
    nodes: str
    output: str


@dataclass(frozen=True)
class Slurm:
    """A running cluster. ``environment`` is what a user's shell would have."""

    environment: Mapping[str, str]
    user: tuple[str, ...] = ()
    """What runs a command as another user than root."""

    def knowing(self, **variables: str | Path) -> Slurm:
        """The same cluster for a user who has set more variables."""
        return replace(self, environment={**self.environment, **{name: str(value) for name, value in variables.items()}})

    def run(self, *words: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run a client command; the caller looks at the exit status."""
        return subprocess.run([*self.user, *map(str, words)], cwd=cwd, env=self.environment, capture_output=True, text=True)

    def accepts(self, script: Path, *options: str) -> tuple[bool, str]:
        """Whether Slurm would take the script as it is (with more options), and what it says about it. Nothing is queued."""
        tried = self.run("sbatch", "--test-only", *options, script)
        return tried.returncode == 0, tried.stderr.strip()

    def submit(
        self,
        script: Path,
        cwd: Path,
        *,
        command: Sequence[str] = ("sbatch", "--parsable"),
        enough: Callable[[str], bool] = lambda output: False,
    ) -> Job:
        """Submit a script from a folder and wait for its end. See :meth:`wait`."""
        return self.wait(self.begin(script, cwd, command), enough)

    def begin(self, script: Path, cwd: Path, command: Sequence[str] = ("sbatch", "--parsable")) -> str:
        """Submit a script from a folder; the job's number."""
        sent = self.run(*command, script, cwd=cwd)
        if sent.returncode:
            raise AssertionError(f"{command[0]} refused {script}: {sent.stderr}")
        return sent.stdout.strip().split(";")[0].split(".")[0]

    def wait(self, job: str, enough: Callable[[str], bool] = lambda output: False) -> Job:
        """Wait for a job's end; ``sbatch --wait`` would look only every few seconds.

        A job that has written ``enough`` has so long to end by itself, also on a busy machine: :data:`TO_END_S`. Then it is cancelled, and
        returned as still running.
        """
        deadline, satisfied = time.monotonic() + PATIENCE_S, False
        while (seen := self._show(job))["JobState"] not in DONE and time.monotonic() < deadline:
            if not satisfied and enough(_written(seen)):
                deadline, satisfied = time.monotonic() + TO_END_S, True
            if "DRAINED" in seen["Reason"]:
                self._resume()
            time.sleep(0.05)
        if seen["JobState"] not in DONE:
            self.run("scancel", job)
            if not satisfied:
                raise AssertionError(f"job {job} is not done after {PATIENCE_S} s: {seen}")
        return Job(job, seen["JobState"], int(seen["ExitCode"].split(":")[0]), seen["NodeList"], _written(seen))

    def _resume(self) -> None:
        """Give nodes back to jobs: Slurm drains those of a cancelled step that does not end with signals, as MPICH's that never returns."""
        drained = self.run("sinfo", "-h", "-N", "-t", "drain", "-o", "%N").stdout.split()
        if drained:
            self.run("scontrol", "update", f"NodeName={','.join(sorted(set(drained)))}", "State=RESUME")

    def _show(self, job: str) -> dict[str, str]:
        """What Slurm says of a job; a busy controller may not answer at once."""
        told: dict[str, str] = until(lambda: dict(re.findall(r"(\w+)=(\S*)", self.run("scontrol", "show", "job", job).stdout)))
        return told


def _written(seen: Mapping[str, str]) -> str:
    file = Path(seen["StdOut"])
    return file.read_text() if file.is_file() else ""


@contextmanager
def cluster(folder: Path, path: Sequence[Path] = (), site: Site = THROWAWAY) -> Iterator[Slurm]:
    """Start a cluster in an empty folder whose parents everyone may enter. ``path``: folders put before Debian's in PATH."""
    slurmctld, slurmd, munged = (tool("Slurm", name) for name in ("slurmctld", "slurmd", "munged"))
    for name in ("etc", "run", "log", "state", "spool", "dev", *(f"tmp/{node}" for node in site.nodes)):
        (folder / name).mkdir(parents=True)
    for open_to_all in (folder / "tmp", *(folder / "tmp").iterdir()):
        open_to_all.chmod(0o1777)
    ports = _free_ports(4 + len(site.nodes))
    _write_files(folder, site, ports)
    environment = {
        "PATH": os.pathsep.join([*map(str, path), "/usr/sbin", "/usr/bin", "/sbin", "/bin"]),
        "HOME": os.environ["HOME"],
        "USER": "root",
        "SLURM_CONF": str(folder / "etc/slurm.conf"),
        "OMPI_ALLOW_RUN_AS_ROOT": "1",  # Open MPI asks twice
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_btl_tcp_if_include": "lo",
        "OMPI_MCA_oob_tcp_if_include": "lo",
        "UCX_NET_DEVICES": "lo",
        "PMIX_MCA_gds": "hash",  # one start in a hundred crashes in the locks of PMIx's other store
    }
    with ExitStack() as daemons:

        def start(*words: str | Path) -> None:
            daemons.enter_context(daemon(words, environment, folder / "log/daemons"))

        _munge(start, munged, folder)
        if site.accounts:
            accounting.begin(start, folder, environment, (_socket(folder), ports[2], ports[3]), site.accounts)
        start(slurmctld, "-D", "-c")
        for node in site.nodes:
            own = f"hostname {node} && mount --bind {folder}/etc/hosts /etc/hosts && mount -t tmpfs -o mode=1777 {node} /dev/shm"
            enter = f"{own} && {{ {slurmd} -D -N {node} & wait; }}"  # the shell reaps what slurmd leaves
            start("unshare", "--uts", "--ipc", "sh", "-c", enter)
        slurm = Slurm(environment)
        _until_idle(slurm, folder, sorted(site.nodes))
        for command in site.limits:
            assert slurm.run("sacctmgr", "--immediate", *command.split()).returncode == 0, command
        yield slurm
        slurm.run("scancel", "--user=root")


def _munge(start: Callable[..., object], munged: Path, folder: Path) -> None:
    key = folder / "etc/munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o600)
    (folder / "run").chmod(0o755)
    files = {"key-file": key, "socket": _socket(folder), "pid-file": folder / "run/munged.pid", "seed-file": folder / "run/seed"}
    start(munged, "-F", f"--log-file={folder}/log/munged", *(f"--{name}={file}" for name, file in files.items()))


def _socket(folder: Path) -> Path:
    return folder / "run/munge.socket"


@contextmanager
def daemon(words: Sequence[str | Path], environment: Mapping[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A daemon in the foreground, first process of a PID namespace: everything it starts ends with it, and it with us."""
    alone = ("setpriv", "--pdeathsig=KILL", "unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation=private")
    with (
        log.open("ab") as out,
        subprocess.Popen(
            [*alone, *map(str, words)], env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
        ) as process,
    ):
        try:
            yield process
        finally:
            _end(process)


def first_processes(unshare: int) -> list[int]:
    """The namespace's first process, the one child of ``unshare``; none if it has ended."""
    return [int(child) for child in Path(f"/proc/{unshare}/task/{unshare}/children").read_text().split()]


def _end(unshare: subprocess.Popen[bytes]) -> None:
    """Kill the namespace's first process; ``unshare`` then goes by itself and leaves no zombie."""
    for child in first_processes(unshare.pid):
        os.kill(child, signal.SIGKILL)
    unshare.wait()


def _until_idle(slurm: Slurm, folder: Path, nodes: Sequence[str]) -> None:
    """Wait until Slurm has started: all these nodes are idle then."""
    question = ("sinfo", "--all", "-h", "-N", "-t", "idle", "-n", ",".join(nodes), "-o", "%N")

    def logs() -> str:
        return "\n".join(f"== {file.name}\n{file.read_text()[-2000:]}" for file in sorted((folder / "log").iterdir()))

    until(lambda: {*slurm.run(*question).stdout.split()} == {*nodes}, told=logs)


def _write_files(folder: Path, site: Site, ports: Sequence[int]) -> None:
    etc = folder / "etc"
    (etc / "hosts").write_text("127.0.0.1 localhost " + " ".join((socket.gethostname(), *site.nodes)) + "\n")
    for device in range(2):
        os.mknod(folder / f"dev/nvidia{device}", 0o20666, os.makedev(1, 3))
    gpus = (f"NodeName={names} Name=gpu {what.format(folder=folder)}\n" for names, what in site.gpus.items())
    (etc / "gres.conf").write_text("".join(gpus))
    prolog = etc / "taskprolog.sh"
    prolog.write_text(f'#!/bin/sh\necho "export PBS_NODEFILE=$(TMPDIR={folder}/tmp /usr/bin/generate_pbs_nodefile)"\n')
    prolog.chmod(0o755)
    spank = next(Path("/usr/lib").glob("*/slurm-wlm/spank_pbs.so"), None)
    (etc / "plugstack.conf").write_text(f"optional {spank}\n" if spank else "")
    (etc / "slurm.conf").write_text(_configuration(folder, site, ports))


def _free_ports(count: int) -> list[int]:
    ports = set[int]()
    while len(ports) < count:
        ports.add(free_port())
    return list(ports)


def _configuration(folder: Path, site: Site, ports: Sequence[int]) -> str:
    """slurm.conf. What is unusual: no cgroups, everything as root, jobs start at once, more cores than the machine has."""
    controller, daemon, accounts, _, *nodes = ports
    settings: dict[str, object] = {
        "ClusterName": "throwaway",
        "SlurmctldHost": "localhost(127.0.0.1)",
        "SlurmctldPort": controller,
        "SlurmdPort": daemon,
        "CommunicationParameters": "NoInAddrAny,NoCtldInAddrAny",  # listen on the loopback interface alone
        "SlurmUser": "root",
        "SlurmdUser": "root",
        **dict.fromkeys(("MessageTimeout", "BatchStartTimeout", "GetEnvTimeout"), 100),  # usual are 10, 10 and 2 s
        "AuthType": "auth/munge",
        "AuthInfo": f"socket={_socket(folder)}",
        "MailProg": "/bin/true",
        "TmpFS": f"{folder}/tmp/%n",
        "PlugStackConfig": f"{folder}/etc/plugstack.conf",
        "JobSubmitPlugins": "pbs",
        "TaskProlog": f"{folder}/etc/taskprolog.sh",
        "SlurmdParameters": "config_overrides",  # believe the core counts below
        "SlurmctldPidFile": f"{folder}/run/slurmctld.pid",
        "SlurmdPidFile": f"{folder}/run/slurmd.%n.pid",
        "StateSaveLocation": f"{folder}/state",
        "SlurmdSpoolDir": f"{folder}/spool/%n",
        "SlurmctldLogFile": f"{folder}/log/slurmctld",
        "SlurmdLogFile": f"{folder}/log/slurmd.%n",
        "ProctrackType": "proctrack/linuxproc",
        "TaskPlugin": "task/affinity",
        "MpiDefault": "none",
        "ReturnToService": 2,
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_Core",
        "SchedulerParameters": "batch_sched_delay=0,sched_min_interval=0,sched_interval=5,bf_interval=2",
        "AccountingStorageType": "accounting_storage/none",
        "JobCompType": "jobcomp/none",
        "MinJobAge": 3600,
        "PreemptType": "preempt/partition_prio",
        "PreemptMode": "CANCEL",
        "KillWait": 10,
        "UnkillableStepTimeout": 20,  # then its nodes are drained, and can be given back
        "GresTypes": "gpu",
        "Licenses": "scratch:4,matlab:2",
        "EnforcePartLimits": "ALL",  # else a time limit beyond the partition's is taken and never starts
        "ResumeProgram": "/bin/true",
        "SuspendProgram": "/bin/true",
        "SuspendTime": 3600,
    }
    if site.accounts:
        settings |= {"AccountingStorageType": "accounting_storage/slurmdbd", "AccountingStorageHost": "localhost"}
        settings |= {"AccountingStoragePort": accounts, "AccountingStoragePass": _socket(folder), "AccountingStorageTRES": "gres/gpu"}
    here = "NodeAddr=127.0.0.1 NodeHostname=localhost"
    lines = [
        *(f"{name}={value}" for name, value in (settings | dict(site.settings)).items()),
        *(f"NodeName={name} {here} Port={port} {what}" for (name, what), port in zip(site.nodes.items(), nodes, strict=True)),
        *(f"NodeName={name} {here} Port={daemon} {what} State=CLOUD" for name, what in site.paper.items()),
        *(f"PartitionName={text}" for text in site.partitions),
    ]
    return "\n".join(lines) + "\n"
