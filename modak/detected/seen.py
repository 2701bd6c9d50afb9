"""Values that the parsers of commands return. ``None``: the command did not print it."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Any, Final, NamedTuple, TypeVar

from modak.facts import Vendor
from modak.facts.systems import MOST_ALLOWED
from modak.text.units import elapsed

LONGEST_VALUE: Final = 2000
"""Characters of one value; longer ones are cut."""

_LISTED: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
"""What is a name and also an account for system files."""

NOT_THERE: Final = "not found"
"""The trouble of a command that is not installed, which is no reason for a note."""

Limit = TypeVar("Limit", int, float)


@dataclass(frozen=True)
class CommandOutput:
    """The output of one command, or the content of one file."""

    command: str
    """As a citation names it: ``lscpu -J``, ``/proc/mounts``."""
    text: str = ""
    trouble: str = ""
    """Why there is no text; empty: there is one."""


class GpuCount(NamedTuple):
    """The GPUs of one type in a node. ``None``: the scheduler does not name their type."""

    type: str | None
    number: int


class Topology(NamedTuple):
    """The hardware of a node that runs its threads."""

    sockets: int | None = None
    cores: int | None = None
    """Of all sockets together."""
    threads_per_core: int | None = None


@dataclass(frozen=True)
class SeenNode:
    """A node, or ``count`` equal nodes, as the scheduler describes them."""

    name: str
    partitions: tuple[str, ...]
    host: str = ""
    count: int = 1
    cpus: int | None = None
    """CPUs as the scheduler counts them: cores or hardware threads."""
    counts_cores: bool = False
    """Whether they are known to be cores."""
    sockets: int | None = None
    cores: int | None = None
    """Of all sockets together."""
    threads_per_core: int | None = None
    reserved_cores: int = 0
    memory_gb: float | None = None
    usable_memory_gb: float | None = None
    gpus: tuple[GpuCount, ...] = ()
    features: tuple[str, ...] = ()
    powered_down: bool = False
    """Whether a job would have to start it first: it is one of a cloud, or saves energy."""

    @property
    def topology(self) -> Topology:
        """As the scheduler reports it."""
        return Topology(self.sockets, self.cores, self.threads_per_core)

    @property
    def counts_cpus_alone(self) -> bool:
        """Whether each CPU is a socket of one core: what Slurm says of nodes whose site gives their number of CPUs and no more."""
        return self.topology == (self.cpus, self.cpus, 1)


@dataclass(frozen=True, kw_only=True)
class JobLimits:
    """What a job has at least (``min_…``) and at most, on all of its nodes together. ``None``: there is no limit."""

    min_nodes: int | None = None
    max_nodes: int | None = None
    min_cpus: int | None = None
    max_cpus: int | None = None
    min_gpus: int | None = None
    max_gpus: int | None = None
    min_memory_gb: float | None = None
    max_memory_gb: float | None = None
    cpus_per_node: int | None = None
    """The most on each of its nodes."""
    gpus_per_node: int | None = None
    memory_per_node_gb: float | None = None
    max_wall_time_s: int | None = None


@dataclass(frozen=True)
class SeenQos(JobLimits):
    """What a quality of service allows a job."""

    name: str
    first: bool = False
    """Whether its limits hold in place of those of a partition's own."""
    others: tuple[str, ...] = ()
    """Limits that no field can say, in the scheduler's words."""


@dataclass(frozen=True)
class SeenPartition(JobLimits):
    """A partition or queue of the scheduler, with the limits of its jobs."""

    name: str
    asked_as: str | None = None
    """What jobs have to ask for in place of the name: the queue that passes them on to this one."""
    default: bool = False
    nodes: int | None = None
    usable_cpus: int | None = None
    """CPUs of a node that the jobs of the partition may use, where that is not all."""
    default_wall_time_s: int | None = None
    memory_gb: float | None = None
    """Most memory of a node that a job may use."""
    memory_per_cpu_gb: float | None = None
    """Most memory for each CPU of a job."""
    default_memory_gb: float | None = None
    """Memory of a node for jobs that ask for none."""
    default_memory_per_cpu_gb: float | None = None
    default_memory_per_gpu_gb: float | None = None
    """The same for each GPU of the job, in place of the others where a job has some."""
    counts_memory: bool = False
    """Whether its jobs share the memory of a node, and not only its CPUs."""
    qos: str | None = None
    """The only quality of service that is allowed."""
    lists: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The qualities of service and accounts that it takes or refuses, each list under the name of its field in a system file.
    Empty: there is one that a system file cannot hold."""
    qualities: tuple[SeenQos, ...] = ()
    """Qualities of service with narrower limits than its own, which a job may name."""
    conditions: tuple[str, ...] = ()
    """What else the scheduler asks of jobs or gives them, in its own words: ``AllowGroups=chem``, ``MaxMemPerCPU=4000``."""
    whole_nodes: bool | None = None
    """Whether each job gets whole nodes; ``None``: unknown."""
    restricted: bool = False
    """Whether it takes the jobs of some users only, or those in a reservation."""
    reserved: bool = False
    """Whether it takes jobs in a reservation only."""
    closed: str = ""
    """Why users' jobs do not start there; empty: they do."""


@dataclass(frozen=True)
class Cluster:
    """The partitions and nodes that a scheduler describes."""

    scheduler: str
    partitions: tuple[SeenPartition, ...]
    nodes: tuple[SeenNode, ...]
    name: str | None = None
    from_partitions: str = ""
    """The command that printed the limits of partitions."""
    from_nodes: str = ""
    """The command that printed the nodes."""
    charged_by: str = ""
    """The command that said that jobs need a project; empty: none did."""
    directives: tuple[str, ...] = ()
    """Options without which jobs do not start."""
    from_directives: str = ""
    """The command that printed what these name."""
    shows_lists: bool = False
    """Whether it shows which qualities of service and accounts a partition takes, so that a list which is not seen is gone."""
    notes: tuple[str, ...] = ()
    """What its jobs may have to comply with, and no field can say."""


@dataclass(frozen=True)
class SeenProcessor:
    """A processor as ``lscpu`` describes it."""

    model: str
    vendor: str
    architecture: str
    flags: frozenset[str] = frozenset()
    sockets: int | None = None
    cores_per_socket: int | None = None
    threads_per_core: int | None = None
    numa_domains: int | None = None
    hypervisor: str | None = None

    @property
    def topology(self) -> Topology:
        """What ``lscpu`` shows of it."""
        cores = self.sockets * self.cores_per_socket if self.sockets and self.cores_per_socket else None
        return Topology(self.sockets, cores, self.threads_per_core)


@dataclass(frozen=True)
class SeenGpu:
    """One row of ``nvidia-smi`` or ``xpu-smi``."""

    model: str
    memory_gb: float | None = None
    compute_capability: str | None = None
    vendor: Vendor = "nvidia"


@dataclass(frozen=True)
class Machine:
    """One machine, from the commands that were run on it."""

    place: str
    """For citations: the name of the host, or the partition of the probed node."""
    names: frozenset[str] = frozenset()
    """The names of the host."""
    processor: SeenProcessor | None = None
    numa_domains: int | None = None
    numa_from: str = "lscpu -J"
    memory_gb: float | None = None
    gpus: tuple[SeenGpu, ...] = ()

    @property
    def topology(self) -> Topology:
        """As its processor shows it."""
        return self.processor.topology if self.processor else Topology()

    @property
    def gpus_from(self) -> str:
        """The command that listed the GPUs, for citations."""
        return "xpu-smi discovery --dump" if any(gpu.vendor == "intel" for gpu in self.gpus) else "nvidia-smi --query-gpu"


@dataclass(frozen=True)
class Mount:
    """A shared file system of the mount table."""

    path: str
    kind: str


def whole(text: str | None) -> int | None:
    """A count; ``None`` for what is not a number, or is larger than any machine's.

    >>> whole("48"), whole("4000+"), whole("UNLIMITED"), whole(None)
    (48, 4000, None, None)
    """
    digits = (text or "").strip().removesuffix("+")
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 12 else None


def whole_list(text: str | None) -> tuple[str, ...]:
    """The names of a list; none of one that is cut, or that a system file cannot hold.

    >>> whole_list("chem, ai"), whole_list(None), whole_list("a" * LONGEST_VALUE)
    (('chem', 'ai'), (), ())
    """
    words = tuple(word for word in re.split("[ ,]+", text or "") if word)
    fits = len(text or "") < LONGEST_VALUE and len(words) <= MOST_ALLOWED
    return words if fits and all(map(_LISTED.fullmatch, words)) else ()


def count(text: str | None) -> int | None:
    """A count of at least one; else ``None``.

    >>> count("48"), count("0")
    (48, None)
    """
    return whole(text) or None


def least(*limits: Limit | None) -> Limit | None:
    """The narrowest of several limits, of which each may be unknown.

    >>> least(8, None, 4), least(None)
    (4, None)
    """
    return min(filter(None, limits), default=None)


def most(*limits: Limit | None) -> Limit | None:
    """The narrowest of several limits from below.

    >>> most(8, None, 4), most(None)
    (8, None)
    """
    return max(filter(None, limits), default=None)


def seconds(text: str | None) -> int | None:
    """A length of time above zero, ``[d-][hh:]mm:ss``; else ``None``: ``UNLIMITED``, ``infinite``, ``NONE``."""
    return elapsed(text or "") or None


def gigabytes(mebibytes: int | None) -> float | None:
    """GB (10^9 bytes) of a count of MiB, cut to a tenth.

    >>> gigabytes(4000), gigabytes(0)
    (4.1, None)
    """
    return (mebibytes * 1024 * 1024 // 10**8) / 10 or None if mebibytes else None


def exact_gigabytes(mebibytes: int | None) -> float | None:
    """As :func:`gigabytes`, but not cut: a job may ask for all of a limit.

    >>> exact_gigabytes(4000)
    4.194304
    """
    return mebibytes * 1024 * 1024 / 10**9 if mebibytes else None


def plain(text: str, longest: int = 200) -> str:
    """One printable line of at most ``longest`` characters, since the output of a command may contain anything.

    >>> plain("Xeon" + chr(27) + "[31m Gold" + chr(10) + " 6148")
    'Xeon[31m Gold 6148'
    """
    blank = (letter if letter.isprintable() else " " if letter.isspace() else "" for letter in text[:LONGEST_VALUE])
    return " ".join("".join(blank).split())[:longest]


def narrowest(*of: JobLimits) -> dict[str, Any]:
    """The limits of a job for which all of these hold, by name."""
    names = [one.name for one in fields(JobLimits)]
    return {name: (most if name.startswith("min_") else least)(*(getattr(one, name) for one in of)) for name in names}


def within(one: SeenQos, seen: SeenPartition) -> SeenQos:
    """What a quality of service allows a job in the partition."""
    return SeenQos(one.name, **narrowest(one, seen))
