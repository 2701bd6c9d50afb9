"""A throwaway Grid Engine of two hosts, up in two seconds and gone without a trace.

Debian's packages lie unpacked in a folder, because their ``qsub`` and that of Slurm's front end cannot be installed side by side. A host is
a set of namespaces in which that folder lies over ``/usr``, with a network that reaches the other host alone: nothing of it is seen
elsewhere, and killing a host's first process ends everything on it.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import until
from tests.e2e.slurm import daemon, first_processes

INSTALLED = Path("/opt/modak-test/gridengine")
"""Where provision.sh unpacks the packages."""
PROGRAMS = "/usr/lib/gridengine"
"""Where they are on a host."""
DATA = INSTALLED / "usr/share/gridengine"
HOSTS = ("node1", "node2")
ENVIRONMENTS = {"smp": "$pe_slots", "mpi": "$fill_up"}
"""Parallel environments, and how each allocates slots."""


@dataclass(frozen=True)
class Job:
    """How a job ended. ``tasks``: what qacct says of each of its tasks; ``output``: what both streams wrote to the usual files."""

    id: str
    tasks: Sequence[Mapping[str, str]]
    output: str

    @property
    def exit_codes(self) -> list[int]:
        """Of each task."""
        return [int(task["exit_status"].split()[0]) for task in self.tasks]


@dataclass(frozen=True)
class GridEngine:
    """A running cell. ``environment`` is what a user's shell would have, ``first`` the number of the first process on ``node1``."""

    environment: Mapping[str, str]
    first: int

    def knowing(self, **variables: str | Path) -> GridEngine:
        """The same cell for a user who has set more variables."""
        return GridEngine({**self.environment, **{name: str(value) for name, value in variables.items()}}, self.first)

    def run(self, *words: str | Path, cwd: Path = Path("/")) -> subprocess.CompletedProcess[str]:
        """Run a client command on ``node1``; the caller looks at the exit status."""
        here = ("nsenter", "--target", str(self.first), "--all", "sh", "-c", 'cd "$0" && exec "$@"', str(cwd))
        return subprocess.run([*here, *map(str, words)], env=self.environment, capture_output=True, text=True)

    def behind(self, daemon: str, log: Path) -> None:
        """Start a daemon; it ends with the host."""
        _succeed(self.run("sh", "-c", f"SGE_ND=1 {PROGRAMS}/{daemon} </dev/null >>{log} 2>&1 &"))

    def sent(self, script: Path, cwd: Path, *options: str) -> str:
        """The number of a job that is submitted from a folder."""
        sent = self.run("qsub", "-terse", *options, script, cwd=cwd)
        if sent.returncode:
            raise AssertionError(f"qsub refused {script}: {sent.stderr}")
        return sent.stdout.strip().split(".")[0]

    def submit(self, script: Path, cwd: Path, *options: str) -> Job:
        """Submit a script from a folder and wait for its end."""
        return self.wait(self.sent(script, cwd, *options), cwd)

    def wait(self, job: str, cwd: Path) -> Job:
        """Wait for a job's end."""
        until(lambda: self.run("qstat", "-j", job).returncode != 0, told=lambda: self.run("qstat", "-j", job).stdout)
        until(lambda: self.run("qacct", "-j", job).returncode == 0, told=lambda: f"qacct does not know job {job}")
        records = self.run("qacct", "-j", job).stdout.split("=" * 62)[1:]
        tasks = [dict(re.findall(r"^(\w+) +(.*?) *$", record, re.MULTILINE)) for record in records]
        written = sorted(file for stream in "oe" for file in cwd.glob(f"*.{stream}{job}*"))
        return Job(job, tasks, "".join(file.read_text() for file in written))


@contextmanager
def cell(folder: Path) -> Iterator[GridEngine]:
    """Start a cell in an empty folder."""
    for name in ("etc", "spool/qmaster/job_scripts", "spool/execd", "root/default/common", "root/bin", *(f"tmp/{host}" for host in HOSTS)):
        (folder / name).mkdir(parents=True)
    _write_files(folder)
    environment = {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": str(folder),
        "USER": "root",
        "LOGNAME": "root",
        "SGE_ROOT": str(folder / "root"),
        "SGE_CELL": "default",
        "SGE_ARCH": "lx-amd64",  # a name of Grid Engine's, for the folder of its programs
        "SGE_QMASTER_PORT": "6444",
        "SGE_EXECD_PORT": "6445",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",  # Open MPI asks twice
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "UCX_NET_DEVICES": "eth0",
    }
    with ExitStack() as running:

        def start(*words: str | Path) -> int:
            return running.enter_context(daemon(words, environment, folder / "log")).pid

        hosts = {name: _host(folder, name, start) for name in HOSTS}
        _cable(hosts)
        engine = GridEngine(environment, hosts["node1"])
        _initialise(engine, folder)
        engine.behind("sge_qmaster", folder / "log")
        until(lambda: engine.run("qconf", "-sh").returncode == 0, told=(folder / "log").read_text)
        engine.run("qconf", "-ah", ",".join(HOSTS))  # node1 is one already, and it says so
        _succeed(engine.run("qconf", "-as", "node1"))
        for number in hosts.values():
            GridEngine(environment, number).behind("sge_execd", folder / "log")
        until(lambda: engine.run("qconf", "-sel").stdout.split() == [*HOSTS], told=(folder / "log").read_text)
        _configure(engine, folder)
        yield engine


def _host(folder: Path, name: str, start: Callable[..., int]) -> int:
    """Make a host. Returns the number of its first process."""
    own = (
        f"hostname {name} && mount -t overlay modak -o lowerdir={INSTALLED}/usr:/usr /usr && mount --bind {folder}/etc/hosts /etc/hosts",
        f"mount -t tmpfs {name} /dev/shm && ip link set lo up && touch {folder}/etc/{name} && {{ sleep infinity & wait; }}",
    )
    unshare = start("unshare", "--uts", "--ipc", "--net", "sh", "-c", " && ".join(own))
    until((folder / "etc" / name).exists, told=(folder / "log").read_text)
    return first_processes(unshare)[0]


def _cable(hosts: Mapping[str, int]) -> None:
    """Connect the two hosts."""
    one, other = hosts.values()
    words = f"ip link add eth0 netns {one} type veth peer name eth0 netns {other}".split()
    subprocess.run(words, check=True, capture_output=True)
    for at, first in enumerate(hosts.values(), start=1):
        up = f"ip address add 10.0.0.{at}/24 dev eth0 && ip link set eth0 up"
        subprocess.run(["nsenter", f"--target={first}", "--net", "sh", "-c", up], check=True, capture_output=True)


def _write_files(folder: Path) -> None:
    root, common = folder / "root", folder / "root/default/common"
    (folder / "log").touch()
    (folder / "etc/hosts").write_text("127.0.0.1 localhost\n" + "".join(f"10.0.0.{at} {name}\n" for at, name in enumerate(HOSTS, start=1)))
    (root / "bin/lx-amd64").symlink_to(PROGRAMS)
    (root / "utilbin").symlink_to("bin")
    (root / "util").symlink_to(DATA / "util")
    (common / "act_qmaster").write_text("node1\n")
    (folder / "mail").write_text("#!/bin/sh\nexec cat >/dev/null\n")
    (folder / "mail").chmod(0o755)
    bootstrap = {
        "admin_user": "none",
        "ignore_fqdn": "true",
        "spooling_method": "classic",
        "spooling_lib": "libspoolc",
        "spooling_params": f"{common};{folder}/spool/qmaster",
        "binary_path": root / "bin",
        "qmaster_spool_dir": folder / "spool/qmaster",
    }
    (common / "bootstrap").write_text(_with((DATA / "default-bootstrap").read_text(), **bootstrap))
    configuration = {
        "execd_spool_dir": folder / "spool/execd",
        "mailer": folder / "mail",
        "login_shells": "sh,csh",  # bash would read the profile of whoever runs the tests
        "min_uid": 0,
        "min_gid": 0,
        "load_report_time": "00:00:01",
        "reporting_params": "accounting=true reporting=false flush_time=00:00:01 accounting_flush_time=00:00:00",
    }
    (folder / "etc/configuration").write_text(_with((DATA / "default-configuration").read_text(), **configuration))


def _initialise(engine: GridEngine, folder: Path) -> None:
    """The cell's empty database, as the script of Debian's package makes it."""
    resources = f"{DATA}/util/resources"
    params = f"{folder}/root/default/common;{folder}/spool/qmaster"
    for words in (
        ("spoolinit", "classic", "libspoolc", params, "init"),
        ("spooldefaults", "configuration", f"{folder}/etc/configuration"),
        ("spooldefaults", "complexes", f"{resources}/centry"),
        ("spooldefaults", "usersets", f"{resources}/usersets"),
        ("spooldefaults", "managers", "root"),
    ):
        _succeed(engine.run(f"{PROGRAMS}/{words[0]}", *words[1:]))


def _configure(engine: GridEngine, folder: Path) -> None:
    """Two queues on both hosts with two slots each, parallel environments, two GPUs a host, a project; jobs start within a second."""
    shown = {what: engine.run("qconf", what).stdout for what in ("-ssconf", "-sc", "-sq")}
    soon = {"schedule_interval": "0:0:1", "flush_submit_sec": 1, "flush_finish_sec": 1, "queue_sort_method": "seqno"}
    texts = [("-Msconf", _with(shown["-ssconf"], **soon)), ("-Mc", f"{shown['-sc']}gpu gpu INT <= YES JOB 0 0\n")]
    for name, rule in ENVIRONMENTS.items():
        own = {"pe_name": name, "allocation_rule": rule, "control_slaves": "TRUE", "accounting_summary": "TRUE"}
        texts.append(("-Ap", _with((DATA / "util/resources/pe/mpi").read_text(), **own)))
    texts.append(("-Aprj", "name ab1\noticket 0\nfshare 0\nacl NONE\nxacl NONE\n"))
    queue = {
        "hostlist": " ".join(HOSTS),
        "seq_no": "0,[node2=1]",
        "tmpdir": f"{folder}/tmp/node1,[node2={folder}/tmp/node2]",  # each host removes the folder of its part of a job
        "load_thresholds": "NONE",
        "pe_list": " ".join(ENVIRONMENTS),
        "slots": 2,
        "shell": "/bin/sh",
    }
    for name, limit in (("main", "01:00:00"), ("gpu", "04:00:00")):
        texts.append(("-Aq", _with(shown["-sq"], **queue, qname=name, h_rt=limit)))
    for option, text in texts:
        (folder / "etc/text").write_text(text)
        _succeed(engine.run("qconf", option, folder / "etc/text"))
    for host in HOSTS:
        _succeed(engine.run("qconf", "-mattr", "exechost", "complex_values", "gpu=2", host))


def _with(text: str, **values: object) -> str:
    """A configuration of names and values in which some values are others."""
    given = dict(line.split(maxsplit=1) for line in text.splitlines() if line.strip() and not line.startswith(("#", "Version")))
    return "".join(f"{name} {value}\n" for name, value in (given | values).items())


def _succeed(ran: subprocess.CompletedProcess[str]) -> None:
    if ran.returncode:
        raise AssertionError(f"{ran.args}: {ran.stdout}{ran.stderr}")
