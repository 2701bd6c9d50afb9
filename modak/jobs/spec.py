"""One job, independent of any scheduler (in the terms of PSI/J as far as it has them).

Everything here is a value: schedulers turn it into directives, launchers and runtimes into words, and
:mod:`modak.script.job` into text. Large values and mappings are left out of hashes, so that jobs are quick to look up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from modak.dsl import Signal
from modak.facts import HostMpi, RuntimePolicy, System
from modak.text.words import Word


@dataclass(frozen=True)
class Resources:
    """What the job asks for and how it lies on its nodes. Sizes in bytes, times in seconds."""

    nodes: int = 1
    ranks_per_node: int = 1
    threads_per_rank: int = 1
    cores_per_rank: int = 1
    """Physical cores a rank is bound to; with hyper-threads fewer than ``threads_per_rank``."""
    gpus_per_node: int = 0
    gpu_vendor: str | None = None
    hyperthreads: bool = False
    threads_per_core: int = 1
    """Of the node's processor."""
    numa_constraint: str | None = None
    memory_per_node: int | None = None
    memory_per_core: int | None = None
    oversubscribed: bool = False
    """The ranks of a node have more threads than it has hardware threads, or need more cores than it has if the scheduler counts cores."""
    unbound: bool = False
    """The launcher does not bind processes to cores: those of the job are not known, or the ranks are another launcher's."""
    loose_threads: bool = False
    """OpenMP does not bind threads to cores, although their rank has cores of its own."""
    node_cores: int | None = None
    """Physical cores of a node that jobs may use, if known."""
    total_ranks: int | None = None
    """Ranks in total, if fewer than nodes x ranks per node."""
    memory_share: int | None = None
    """Bytes of a node's memory that belong to the job's cores there, where it is known what jobs may use."""

    @property
    def ranks(self) -> int:
        """Ranks in total."""
        return self.total_ranks or self.nodes * self.ranks_per_node

    @property
    def shares_cores(self) -> bool:
        """Whether ranks share cores with each other: on hyper-threads, with threads that do not fill the cores of their rank."""
        return self.hyperthreads and self.ranks_per_node > 1 and self.threads_per_rank % self.threads_per_core > 0

    @property
    def cores_per_node(self) -> int:
        """Cores that the job uses of a node; if ranks share cores, no more than it has."""
        taken = self.ranks_per_node * self.cores_per_rank
        return min(taken, self.node_cores or taken)

    @property
    def node_memory(self) -> int:
        """Memory per node in bytes that satisfies both the wish per node and the wish per core; 0: there is no wish."""
        return max(self.memory_per_node or 0, (self.memory_per_core or 0) * self.cores_per_node)


@dataclass(frozen=True)
class Attributes:
    """What the scheduler is told in addition to resources. ``None``: not given."""

    name: str = "modak"
    account: str | None = None
    queue: str | None = None
    partition: str | None = None
    qos: str | None = None
    """Quality of service."""
    reservation: str | None = None
    site_resources: tuple[str, ...] = ()
    """``NAME=VALUE`` of resources that the site has named."""
    wall_time_s: int | None = None
    constraint: str | None = None
    node_list: str | None = None
    array: str | None = None
    output: str | None = None
    error: str | None = None
    join: bool | None = None
    """Standard error goes to the output file."""
    notify: tuple[str, ...] = ()
    email: str | None = None
    dependency: str | None = None
    begin: str | None = None
    exclusive: bool | None = None
    requeue: bool | None = None
    signal: Signal | None = None
    copy_environment: bool | None = None
    copy_variables: tuple[str, ...] = ()


@dataclass(frozen=True)
class Container:
    """The image that the job runs in, and how."""

    runtime: str
    """Name of a runtime plug-in: ``apptainer``, ``charliecloud``, …"""
    reference: str
    """The catalogue's reference, for instance ``docker://…``; a file name for the caller's own."""
    file: str
    """The file (or, for Charliecloud, directory) name that callers put the image under."""
    policy: RuntimePolicy = field(default=RuntimePolicy(name="unknown"), hash=False)
    """The site's policy on this runtime: version, module, binds."""
    gpu_vendor: str | None = None
    host_mpi: HostMpi | None = field(default=None, hash=False)
    """The host MPI that is bound over the container's; ``None``: the container's own."""
    mpi: str | None = None
    """The MPI family in the image, by its label or recipe, else by the request or results."""
    mpi_version: str | None = None
    to_build: bool = False
    """The image does not exist yet: the build job makes it."""
    digest: str | None = None
    """``sha256:…`` of the image's file, if the catalogue has it."""


@dataclass(frozen=True)
class RuleText:
    """A rule's shell text, and the stage of the script that it belongs to. The values that it may read are :attr:`JobSpec.values`."""

    rule: str
    stage: str
    script: str


@dataclass(frozen=True)
class Copy:
    """What is copied before or after the run; ``inside`` is its place in the job's scratch directory."""

    outside: Word
    inside: str
    unpack: bool = False
    """What is copied in is a tar or SquashFS file; ``inside`` is a directory of its content."""


@dataclass(frozen=True)
class Staging:
    """A directory of the job's own, made before the run and removed at its end."""

    place: Word | None = None
    """The storage that it lies in; ``None``: the node's ``TMPDIR``."""
    shared: bool = False
    """Whether all nodes see the same storage."""
    stripes: int | None = None
    """Lustre's stripe count of what is written there."""
    into: tuple[Copy, ...] = ()
    out: tuple[Copy, ...] = ()


@dataclass(frozen=True)
class Report:
    """What the script writes into its result file."""

    record: Mapping[str, str | float | bool] = field(default_factory=dict, hash=False)
    """The configuration in the columns of the results table; without ``application`` the file has no results."""
    metric: str | None = None
    """A metric that the application prints; ``None``: its time alone."""
    unit: str | None = None
    pattern: str | None = None
    """An extended regular expression with one group: the metric's number."""
    log: Word | None = None
    """The file that the metric is read from; ``None``: the output."""
    file: str | None = None
    """The file's name without ``.json``, below the folder that the job is submitted from; ``None``: one named after the job."""


@dataclass(frozen=True)
class JobSpec:
    """One job. ``command`` are words as :mod:`modak.text.words` parses them (``${NAME}`` is their one expansion)."""

    command: tuple[Word, ...]
    resources: Resources
    attributes: Attributes = Attributes()
    launcher: str = "none"
    """Name of a launcher plug-in."""
    launcher_flavour: str | None = None
    """The MPI family that ``mpirun`` belongs to: ``openmpi``, ``mpich``, ``mvapich``, ``intel-mpi``."""
    launcher_version: str | None = None
    pmi: str | None = None
    container: Container | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables exported in the script, reaching every rank."""
    modules: tuple[str, ...] = ()
    rules: tuple[RuleText, ...] = ()
    pre: tuple[Word, ...] = ()
    post: tuple[Word, ...] = ()
    checkpoint: tuple[Word, ...] = ()
    """What runs when the signal before the limit comes; empty: the application gets the signal."""
    system: System | None = None
    resource_directives: tuple[str, ...] = ()
    """How its system's partition is asked for nodes, in place of the scheduler's usual options: :attr:`Partition.resource_directives`."""
    launcher_options: tuple[Word, ...] = ()
    """The site's own options for the launcher, behind MODAK's."""
    plan_id: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    """Variables that rule texts may read: ``MODAK_RANKS``, ``MODAK_NODES``, …"""
    slurm_step: bool = False
    """srun starts its processes as a Slurm step, so that Pyxis and ``scancel`` work for them. Set when the script is written, by
    :meth:`modak.launchers.Launcher.slurm_step`."""
    preflight: bool = True
    affinity: bool = False
    """Each rank's CPUs are counted and printed before the run."""
    distribution: str | None = None
    """What connects the workers of a training run: ``horovod``."""
    storage: Word | None = None
    """The preferred storage, exported as ``MODAK_STORAGE``."""
    staging: Staging | None = None
    report: Report | None = None

    def __hash__(self) -> int:
        """Of a few fields, because jobs are looked up often."""
        return hash((self.command, self.resources.nodes, self.resources.ranks_per_node, self.launcher))

    @property
    def words(self) -> tuple[Word, ...]:
        """All words of the request in which a variable may be expanded."""
        copies = (*self.staging.into, *self.staging.out) if self.staging else ()
        log = (self.report.log,) if self.report and self.report.log else ()
        return (*self.command, *self.pre, *self.post, *self.checkpoint, *(copy.outside for copy in copies), *log)

    @property
    def cpus_per_node(self) -> int:
        """CPUs that the job uses of a node, as its scheduler counts them: cores or hardware threads."""
        return self.resources.cores_per_node * self.cpus_per_core

    @property
    def cpus_per_core(self) -> int:
        """CPUs of a core as the scheduler counts them."""
        return self.resources.threads_per_core if self.counts_threads else 1

    @property
    def cpus_per_task(self) -> int:
        """CPUs of a rank for Slurm: hardware threads if it counts those and the job uses them, else cores."""
        has = self.resources
        return has.threads_per_rank if has.hyperthreads and self.counts_threads else has.cores_per_rank

    @property
    def counts_threads(self) -> bool:
        """Whether the scheduler counts hardware threads as CPUs."""
        return self.system is not None and self.system.cpu_unit == "thread"

    @property
    def all_modules(self) -> tuple[str, ...]:
        """Modules in the order in which they are loaded: the site's, the runtime's, the host MPI's, then the job's own."""
        site = self.system.modules if self.system else ()
        has = self.container
        runtime = (has.policy.module,) if has else ()
        mpi = (has.host_mpi.module,) if has and has.host_mpi else ()
        return tuple(dict.fromkeys(name for name in (*site, *runtime, *mpi, *self.modules) if name))


Spec = TypeVar("Spec", "JobSpec", Resources)


BINDINGS: Final = (frozenset({"KMP_AFFINITY"}), frozenset({"GOMP_CPU_AFFINITY"}), frozenset({"OMP_PROC_BIND", "OMP_PLACES"}))
"""Ways to bind threads, of which one script uses one: Intel's OpenMP runtime lets KMP_AFFINITY override OpenMP's own."""


def rivals(name: str) -> tuple[str, ...]:
    """Variables that must not be set together with this one."""
    if not any(name in family for family in BINDINGS):
        return ()
    return tuple(sorted(other for family in BINDINGS if name not in family for other in family))


def overridden(variables: Mapping[str, str], by: Mapping[str, str]) -> dict[str, str]:
    """Variables with those that take precedence, also where these bind threads in another way.

    >>> overridden({"OMP_NUM_THREADS": "4", "OMP_PLACES": "cores"}, {"KMP_AFFINITY": "compact"})
    {'OMP_NUM_THREADS': '4', 'KMP_AFFINITY': 'compact'}
    """
    out = {rival for name in by for rival in rivals(name)}
    return {**{name: value for name, value in variables.items() if name not in out}, **by}


def changed(spec: Spec, **fields: Any) -> Spec:
    """The job, or its resources, with other values of these fields: :func:`dataclasses.replace`, but many times as fast."""
    other = object.__new__(type(spec))
    vars(other).update(vars(spec), **fields)
    return other


@dataclass(frozen=True)
class Elsewhere:
    """Nodes of another partition than the job's."""

    resources: Resources
    constraint: str | None = None
    resource_directives: tuple[str, ...] = ()


@dataclass(frozen=True)
class BuildSpec:
    """What is made before the job can run: its image, its application, or both."""

    definition: str = ""
    """Text of the container's recipe (Singularity definition or Dockerfile); empty: the image exists."""
    source: str | None = None
    """Where the application's sources are (:data:`modak.text.grammar.SourceText`): a Git repository, an archive, a file or a directory."""
    command: str = ""
    """Shell code that builds the application in its source directory, inside the container."""
    parallelism: int = 1
    """``BUILD_PARALLELISM``: processes that a build may start."""
    queue: str | None = None
    """The queue or partition that takes a job of one node; ``None``: that of the job."""
    qos: str | None = None
    """The quality of service of such a job; ``None``: the site's default."""
    wall_time_s: int = 7200
    """Wall time of the build job in seconds."""
    elsewhere: Elsewhere | None = None
    """Its nodes, if they are not those of the job."""
    internet: bool | None = None
    """Whether these, or those of the job, reach the internet; ``None``: as the system says."""
