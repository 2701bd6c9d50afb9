"""What commands said about a machine, as values: one class for each thing that a parser finds. ``None`` is: it did not say."""

from __future__ import annotations

from dataclasses import dataclass

LONGEST_VALUE = 2000
"""Characters of one value that are looked at; what is longer is cut."""

NOT_THERE = "not found"
"""The trouble with a command that a machine need not have."""


@dataclass(frozen=True)
class Answer:
    """What one command, or one file, said."""

    command: str
    """As a citation names it: ``lscpu -J``, ``/proc/mounts``."""
    text: str = ""
    trouble: str = ""
    """Why there is no text; empty: there is."""


@dataclass(frozen=True)
class SeenNode:
    """A node, or ``count`` nodes alike, as the scheduler describes them."""

    name: str
    partitions: tuple[str, ...]
    host: str = ""
    count: int = 1
    cpus: int | None = None
    """What the scheduler counts: cores or hardware threads."""
    sockets: int | None = None
    cores: int | None = None
    """Of all sockets together."""
    threads_per_core: int | None = None
    reserved_cores: int = 0
    memory_gb: float | None = None
    usable_memory_gb: float | None = None
    gpus: tuple[tuple[str | None, int], ...] = ()
    """Type and number of each kind of GPU."""
    features: tuple[str, ...] = ()


@dataclass(frozen=True)
class SeenPartition:
    """A partition or queue of the scheduler."""

    name: str
    default: bool = False
    nodes: int | None = None
    max_nodes: int | None = None
    max_wall_time_s: int | None = None
    default_wall_time_s: int | None = None
    memory_gb: float | None = None
    """The most that a job may have of a node."""
    closed: str = ""
    """Why no user's job starts there; empty: it is open."""


@dataclass(frozen=True)
class Cluster:
    """All that a scheduler says."""

    scheduler: str
    partitions: tuple[SeenPartition, ...]
    nodes: tuple[SeenNode, ...]
    name: str | None = None
    from_partitions: str = ""
    """The command that the limits of partitions come from."""
    from_nodes: str = ""
    """The command that nodes come from."""


@dataclass(frozen=True)
class SeenProcessor:
    """What ``lscpu`` says."""

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
    def cores(self) -> int | None:
        """Of all sockets together."""
        return self.sockets * self.cores_per_socket if self.sockets and self.cores_per_socket else None

    @property
    def topology(self) -> tuple[int | None, int | None, int | None]:
        """Sockets, cores of all sockets, threads per core."""
        return self.sockets, self.cores, self.threads_per_core


@dataclass(frozen=True)
class SeenGpu:
    """One row of ``nvidia-smi``."""

    model: str
    memory_gb: float | None = None
    compute_capability: str | None = None


@dataclass(frozen=True)
class Machine:
    """One machine, from the commands that were run on it."""

    place: str
    """For citations: the name of the host, or the partition that one of its nodes was asked for."""
    names: frozenset[str] = frozenset()
    """The names that the host goes by."""
    processor: SeenProcessor | None = None
    numa_domains: int | None = None
    numa_from: str = "lscpu -J"
    memory_gb: float | None = None
    gpus: tuple[SeenGpu, ...] = ()


@dataclass(frozen=True)
class Mount:
    """A shared file system of the mount table."""

    path: str
    kind: str


def whole(text: str | None) -> int | None:
    """A count; ``None`` for what is none, or is beyond any machine.

    >>> whole("48"), whole("4000+"), whole("UNLIMITED"), whole(None)
    (48, 4000, None, None)
    """
    digits = (text or "").strip().removesuffix("+")
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 12 else None


def count(text: str | None) -> int | None:
    """A count of at least one, likewise."""
    return whole(text) or None


def gigabytes(mebibytes: int | None) -> float | None:
    """GB (10^9 bytes) of a count of MiB, cut to a tenth.

    >>> gigabytes(4000), gigabytes(0)
    (4.1, None)
    """
    return (mebibytes * 1024 * 1024 // 10**8) / 10 or None if mebibytes else None


def plain(text: str, longest: int = 200) -> str:
    """One printable line, cut to a length: what a command says may hold anything.

    >>> plain("Xeon" + chr(27) + "[31m Gold" + chr(10) + " 6148")
    'Xeon[31m Gold 6148'
    """
    blank = (letter if letter.isprintable() else " " if letter.isspace() else "" for letter in text[:LONGEST_VALUE])
    return " ".join("".join(blank).split())[:longest]
