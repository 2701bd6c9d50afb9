"""Systems: their partitions and queues, container runtimes, MPI libraries, file systems and network."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field, field_validator

from modak.facts.fact import Count, Fact, Positive, Prose, Source, StorageClass
from modak.facts.hardware import Node
from modak.facts.names import canonical_name
from modak.text.grammar import (
    AbsolutePath,
    Account,
    Beginning,
    Constraint,
    DirectiveText,
    EnvironmentName,
    ModuleName,
    Name,
    ResourceText,
    VersionText,
)

MOST_DIRECTIVES: Final = 16
"""Options of a site's own for all jobs, or for their nodes: with MODAK's own they fit into a script's header."""

MOST_FEATURES: Final = 64
"""Features of the nodes of a partition."""

MOST_ALLOWED: Final = 256
"""Names of qualities of service, or of accounts, that a partition takes or refuses."""

PARTS: Final = (
    *("min_cpus", "max_cpus", "min_gpus", "max_gpus", "min_memory_gb", "max_memory_gb"),
    *("max_cpus_per_node", "max_gpus_per_node", "max_memory_per_node_gb"),
)
"""The limits of a queue on what jobs get of nodes."""


class Queue(Fact):
    """What the scheduler calls a partition for jobs of some size."""

    name: Name
    """As the scheduler knows it."""
    min_nodes: Count = 1
    """The fewest nodes of a job that it takes."""
    max_nodes: Count
    """The most nodes of a job that it takes."""
    min_cpus: Count | None = None
    """The fewest CPUs of a job, as the scheduler counts them."""
    max_cpus: Count | None = None
    """The most CPUs of a job, where a node has more: the job then gets a part of one."""
    min_gpus: Count | None = None
    """The fewest GPUs of a job."""
    max_gpus: Count | None = None
    """The most GPUs of a job."""
    min_memory_gb: Positive | None = None
    """The least memory of a job, on all of its nodes together."""
    max_memory_gb: Positive | None = None
    """The most memory of a job, on all of its nodes together."""
    max_cpus_per_node: Count | None = None
    """The most CPUs of each node that a job may have, where a node has more."""
    max_gpus_per_node: Count | None = None
    """The most GPUs of each node that a job may have."""
    max_memory_per_node_gb: Positive | None = None
    """The most memory of each node that a job may have."""
    max_wall_time_s: Count | None = None
    """The longest wall time of a job, in seconds; not given: that of the partition."""
    qos: Name | None = None
    """The quality of service for these jobs. Queues of one name may differ in it."""

    @property
    def limits_parts(self) -> bool:
        """Whether it takes only jobs with more, or less, than some number of CPUs or GPUs, or some memory."""
        return any(getattr(self, what) for what in PARTS)

    @property
    def cpus_of_node(self) -> int | None:
        """The most CPUs of a node that a job may have; ``None``: all."""
        return min(filter(None, (self.max_cpus, self.max_cpus_per_node)), default=None)

    def memory_of_node_gb(self, nodes: int = 1) -> float | None:
        """The most memory of each of so many nodes that a job may have; ``None``: all."""
        share = self.max_memory_gb / nodes if self.max_memory_gb else None
        return min(filter(None, (share, self.max_memory_per_node_gb)), default=None)


class Partition(Fact):
    """A partition or queue: nodes of one kind, and its limits."""

    name: Name
    """What the site calls it."""
    nodes: Count
    """How many there are."""
    node: Node
    default: bool = False
    """Whether jobs that name no partition go there."""
    only_if_named: bool = False
    """Whether jobs go there only if they name it, as where each needs a reservation; of the default, it says nothing."""
    whole_nodes: bool | None = None
    """Whether each job gets whole nodes, also if it asks for a part of them; ``false``: it gets, and is charged for, the part that it asks
    for. Not given: unknown."""
    shared_nodes: bool = False
    """Whether no job gets a node for itself, because others have cores there that jobs of this partition do not get."""
    max_nodes: Count | None = None
    """Nodes that one job may have, where that is fewer than there are."""
    island_nodes: Count | None = None
    """Nodes within one island of the interconnect; a job beyond it crosses islands."""
    max_wall_time_s: Count | None = None
    """The longest wall time of a job, in seconds; not given: none is known."""
    default_wall_time_s: Count | None = None
    """The wall time of jobs that ask for none, in seconds."""
    default_memory_gb: Positive | None = None
    """What a job gets of a node's memory if it asks for none; not given: enough."""
    default_memory_per_cpu_gb: Positive | None = None
    """The same for each CPU of the job, as the scheduler counts them."""
    queue: Name | None = None
    """The queue's name for the scheduler, where it is not the partition's name."""
    queues: tuple[Queue, ...] = ()
    """Several queues over the same nodes, by size of the job; the first that takes a job is asked for."""
    qos: Name | None = None
    """The quality of service for jobs that name none."""
    allowed_qos: Annotated[tuple[Name, ...], Field(max_length=MOST_ALLOWED)] = ()
    """The qualities of service whose jobs it takes; empty: all but the next."""
    denied_qos: Annotated[tuple[Name, ...], Field(max_length=MOST_ALLOWED)] = ()
    """Those whose jobs it refuses."""
    allowed_accounts: Annotated[tuple[Account, ...], Field(max_length=MOST_ALLOWED)] = ()
    """The accounts or projects whose jobs it takes; empty: all but the next."""
    denied_accounts: Annotated[tuple[Account, ...], Field(max_length=MOST_ALLOWED)] = ()
    """Those whose jobs it refuses."""
    constraint: Constraint | None = None
    """Node features that all its jobs ask for."""
    features: Annotated[tuple[Name, ...], Field(max_length=MOST_FEATURES)] = ()
    """Features that all its nodes have, as the scheduler calls them; a job that asks for them gets these nodes."""
    resource_directives: Annotated[tuple[ResourceText, ...], Field(max_length=MOST_DIRECTIVES)] = ()
    """What asks for a job's nodes here, in place of MODAK's own options: ``-l select={nodes}:system=polaris``. What the job does not ask
    for is left out: a part ``:NAME={…}`` of an option, else the option."""
    internet: bool | None = None
    """Whether its nodes reach the internet; not given: as the system says."""
    price_per_node_hour: Positive | None = None
    """In the site's own currency."""

    @property
    def job_nodes(self) -> int:
        """The most nodes that one job may ask for."""
        return min(self.nodes, self.max_nodes or self.nodes)

    @property
    def scheduler_names(self) -> frozenset[str]:
        """What requests may call it: its own name and those of its queues."""
        return frozenset(name for name in (self.name, self.queue, *(queue.name for queue in self.queues)) if name)

    def refused_qos(self, name: str | None) -> str:
        """Why it takes no jobs of that quality of service, for a message; empty: it takes them, or none is named."""
        return _refused("qos", name, self.allowed_qos, self.denied_qos)

    def refused_account(self, name: str | None) -> str:
        """The same for an account."""
        return _refused("account", name, self.allowed_accounts, self.denied_accounts)

    def queues_for(self, nodes: int) -> tuple[Queue, ...]:
        """The queues that take a job of that many nodes; empty, too, if the partition has no queues by size."""
        return tuple([queue for queue in self.queues if queue.min_nodes <= nodes <= queue.max_nodes])

    def queue_for(self, taking: Sequence[Queue], seconds: int | None) -> Queue | None:
        """The first of these queues that takes a job for that long; if none does or the time is unknown, the one with the longest limit.
        Without a time, one that limits the CPUs, GPUs or memory of a job is taken only if all do."""
        if seconds is None:
            taking = [queue for queue in taking if not queue.limits_parts] or taking
        if len(taking) < 2:
            return taking[0] if taking else None
        enough = (queue for queue in taking if seconds is not None and self.longest_in(queue) >= seconds)
        return next(enough, None) or max(taking, key=self.longest_in, default=None)

    def longest_in(self, queue: Queue) -> float:
        """Seconds that a job may run in one of the queues; infinite where no limit is known."""
        return queue.max_wall_time_s or self.max_wall_time_s or math.inf


def _refused(what: str, name: str | None, allowed: Sequence[str], denied: Sequence[str]) -> str:
    """Slurm reads the names in any case, and the second list only where there is no first one."""
    named = (name or "").casefold()
    if not named or (named in map(str.casefold, allowed) if allowed else named not in map(str.casefold, denied)):
        return ""
    return f"takes no jobs with {what} {name}" + (f" (only with {', '.join(allowed)})" if allowed else "")


class RuntimePolicy(Fact):
    """A container runtime that the site allows, or does not, since when and why. Order is preference."""

    name: Annotated[Name, Field(examples=["apptainer", "singularity", "charliecloud", "podman-hpc", "sarus", "enroot", "none"])]
    """Of the runtime."""
    allowed: bool = True
    """Whether jobs may use it."""
    version: VersionText | None = None
    """The installed one."""
    as_of: Annotated[str, Field(pattern=r"^[0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?$")] | None = None
    """Since when that holds: a year, month or day."""
    reason: Prose | None = None
    """Why it is allowed or not, as answers repeat it."""
    module: ModuleName | None = None
    """The module that provides it."""
    binds: tuple[AbsolutePath, ...] = ()
    """Host paths bound into every container at their own place."""
    require_signature: bool = False
    """Whether a job compares its image before it starts: with the digest that the catalogue has of the file, else with its own signature
    (Apptainer, Singularity). It reads the whole image, so it is asked for, not the rule."""
    cdi: bool = False
    """Whether the nodes describe their GPUs in CDI files (JSON, in ``/etc/cdi`` or ``/var/run/cdi``), by which Charliecloud brings the
    driver's libraries into the container."""


def _offered_pmi(value: object) -> object:
    """Databases may hold ``pmi1``, which earlier versions accepted: ``srun`` has no such value, and uses it by default."""
    return None if value == "pmi1" else value


class HostMpi(Fact):
    """An MPI library that the system provides, and how a container is made to use it."""

    family: Literal["openmpi", "mpich", "intel-mpi", "mvapich"]
    """Which library it is."""
    version: VersionText | None = None
    """The installed one."""
    default: bool = False
    """Whether jobs get it that name none."""
    module: ModuleName | None = None
    """The module that provides it."""
    pmi: Annotated[Literal["pmi2", "pmix", "cray_shasta"] | None, BeforeValidator(_offered_pmi)] = None
    """What ``srun --mpi=`` is given; not given: the site's default."""
    pmi_library: AbsolutePath | None = None
    """``I_MPI_PMI_LIBRARY`` for Intel MPI under srun."""
    library_dir: AbsolutePath | None = None
    """Host directory of the libraries, bound over the same directory of the image."""
    fabric_dirs: tuple[AbsolutePath, ...] = ()
    """Further host directories that it loads from: libfabric's, UCX's, PSM2's and their providers'. Bound over the same directories of
    the image, and searched after its own."""
    library_dir_variable: EnvironmentName | None = None
    """Where the directory is not public: the environment variable (set by the module) whose value is the installation's root."""

    @property
    def bindable(self) -> bool:
        """Whether it is known where the library is, so that it can be bound into an image."""
        return bool(self.library_dir or self.library_dir_variable)


class FileSystem(Fact):
    """A file system that jobs see."""

    name: Name
    """What the site calls it."""
    kind: Literal["lustre", "gpfs", "nfs", "beegfs", "local-ssd", "tmpfs", "other"]
    """Its type; ``local-ssd`` and ``tmpfs`` are of each node alone."""
    storage_class: StorageClass | None = None
    """The class by which requests ask for it."""
    path: AbsolutePath | None = None
    """Where jobs find it."""
    path_variable: EnvironmentName | None = None
    """The environment variable that holds its place."""
    capacity_tb: Positive | None = None
    """In TB."""
    bandwidth_gbs: Positive | None = None
    """In GB/s, for all jobs together."""

    @property
    def node_local(self) -> bool:
        """Whether each node has one for itself; nothing written there is seen by another."""
        return self.kind in ("local-ssd", "tmpfs")


class Interconnect(Fact):
    """The network between nodes."""

    name: Prose
    """As its maker calls it."""
    family: Literal["omni-path", "infiniband", "ethernet", "aries", "slingshot", "other"]
    """Which kind of network it is."""
    rails: Count = 1
    """Links of a node."""
    bandwidth_gbit_s: Positive | None = None
    """Of one link, in Gbit/s."""
    latency_us: Positive | None = None
    """In microseconds."""


def own_names(systems: Iterable[System]) -> Mapping[str, str]:
    """Folded aliases of systems, and the names that mean the same. A system's name is no other one's alias; of two systems with one alias
    the first has it."""
    known = tuple(systems)
    names = {canonical_name(system.name) for system in known}
    return {alias: system.name for system in reversed(known) for alias in system.folded_names[1:] if alias not in names}


class System(Fact):
    """A machine as a script and a layout need to know it."""

    name: Name
    """As requests and results name it."""
    aliases: tuple[Name, ...] = ()
    """Other names that mean it."""
    title: Prose
    """Its full name."""
    site: Prose
    """Who runs it."""
    kind: Literal["production", "reference"] = "production"
    """``reference``: a vendor's reference configuration, for sizing; nobody can submit there."""
    scheduler: Annotated[Name, Field(examples=["slurm", "torque", "pbspro", "lsf", "flux", "gridengine", "shell"])] | None = None
    """Name of a scheduler plug-in."""
    cpu_unit: Literal["core", "thread"] = "core"
    """What the scheduler counts as a CPU: with ``thread``, all cores need ``--hint=nomultithread`` under Slurm, all threads elsewhere."""
    partitions: tuple[Partition, ...] = Field(min_length=1)
    """Its partitions or queues."""
    runtimes: tuple[RuntimePolicy, ...] = ()
    """Container runtimes, in the order in which they are preferred."""
    allowed_images: tuple[Beginning, ...] = ()
    """What references of images begin with that jobs may run: ``docker://registry.example.org/``, ``/apps/images/``. Empty: anything.
    Images that a recipe makes are not meant."""
    allowed_sources: tuple[Beginning, ...] = ()
    """The same for addresses that applications are built from: ``https://gitlab.example.org/``."""
    internet: bool | None = None
    """Whether compute nodes reach the internet, unless their partition says otherwise; not given: unknown."""
    ssh_between_nodes: bool | None = None
    """Whether the nodes of a job reach each other by SSH; not given: unknown."""
    launcher: Annotated[Name, Field(examples=["srun", "mpirun", "pals", "jsrun", "flux"])] | None = None
    """The site's launcher; not given: the scheduler's usual one."""
    mpi: tuple[HostMpi, ...] = ()
    """The MPI libraries that it provides."""
    interconnect: Interconnect | None = None
    filesystems: tuple[FileSystem, ...] = ()
    """What jobs can read and write."""
    export_policy: Literal["ALL", "NONE", "site"] = "site"
    """What the script says about copying the submitter's environment; ``site``: nothing."""
    partition_directive: Literal["always", "never"] | None = None
    """Whether scripts name their partition or queue; not given: those for another one than the default. ``always``: the scheduler has no
    default; ``never``: it finds the nodes by the job's quality of service, features or resources."""
    gpu_directive: Literal["gres", "gpus-per-node", "gpus-property"] | None = None
    """The option that asks for GPUs; not given: the scheduler's usual one."""
    mandatory_directives: Annotated[tuple[DirectiveText, ...], Field(max_length=MOST_DIRECTIVES)] = ()
    """Options that every job here must carry, in the scheduler's words, for instance ``--get-user-env``. Without a value (``--account``,
    ``--qos``, ``-l filesystems=``) the request has to give it."""
    account_required: bool = False
    """Whether jobs are charged to a project, so that requests have to give ``job_options.account``."""
    modules: tuple[ModuleName, ...] = ()
    """What every job loads, in this order."""
    module_paths: tuple[AbsolutePath, ...] = ()
    """Directories of modules that ``module use`` has to add before the first is loaded."""
    module_init: AbsolutePath | None = None
    """A file to source before ``module`` exists in a batch shell."""
    start_up_s: Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)] | None = None
    """Time from job start to the first step, where somebody measured it."""
    notes: tuple[Prose, ...] = ()
    """What else is known of it."""
    sources: tuple[Source, ...] = Field(min_length=1)
    """Where the figures come from: each needs one."""

    @field_validator("partitions")
    @classmethod
    def _one_default(cls, partitions: tuple[Partition, ...]) -> tuple[Partition, ...]:
        names = [partition.name for partition in partitions]
        if len(set(names)) != len(names):
            raise ValueError("two partitions have one name")
        if len(partitions) > 1 and sum(partition.default for partition in partitions) != 1:
            raise ValueError("exactly one partition is the default")
        return partitions

    @property
    def folded_names(self) -> tuple[str, ...]:
        """The name and then the aliases, folded by :func:`canonical_name`: what requests and results may call the system."""
        return tuple(dict.fromkeys(map(canonical_name, (self.name, *self.aliases))))

    @property
    def default_partition(self) -> Partition:
        """The partition that jobs get where none is named."""
        return next((p for p in self.partitions if p.default), self.partitions[0])
