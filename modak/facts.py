"""The known facts as values: systems, images, rules and results, read from `benchmarks_db/` or from the store.

Every model is frozen and forbids unknown keys; its JSON Schema is what ``modak schema system|image|rule`` prints.
Units: bytes as GB (10^9) where a name ends in ``_gb``, seconds, FLOP/s as TFLOP/s, watts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import lru_cache
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, field_validator, model_validator

from modak.text.grammar import (
    AbsolutePath,
    Constraint,
    DirectiveText,
    EnvironmentName,
    ImageReference,
    LauncherOption,
    ModuleName,
    Name,
    ResourceText,
    VersionRange,
    VersionText,
)

Count = Annotated[int, Field(ge=1, le=10_000_000, strict=True)]
Positive = Annotated[float, Field(ge=1e-9, le=1e12, allow_inf_nan=False)]
"""A figure of hardware, or a price: within what products and quotients of a few of them can be computed for."""
Prose = Annotated[str, Field(min_length=1, max_length=2000)]
Vendor = Literal["nvidia", "amd"]
MOST_DIRECTIVES: Final = 16
"""Options of a site's own for all jobs, or for their nodes: with MODAK's own they fit into a script's header."""
StorageClass = Literal["default-common", "default-high", "default-ssd", "default-ultra_high"]


class Fact(BaseModel):
    """Base of all facts: frozen, nothing unknown."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True, use_attribute_docstrings=True)


class Source(Fact):
    """Where figures come from: the fields (dotted paths, a prefix covers what is below it) and the citation."""

    fields: tuple[str, ...]
    citation: Prose


class Processor(Fact):
    """A processor type; figures are per socket."""

    name: Name
    vendor: Literal["intel", "amd", "arm", "ibm"] | None = None
    """Not given: unknown; no rule for a vendor applies."""
    model: Prose
    microarchitecture: Name
    """The archspec target, for instance ``skylake_avx512``."""
    cores: Count | None = None
    threads_per_core: Count | None = None
    fp32_tflops: Positive | None = None
    fp64_tflops: Positive | None = None
    memory_max_gb: Positive | None = None
    memory_bandwidth_gbs: Positive | None = None
    pcie_gbs: Positive | None = None
    sources: tuple[Source, ...]


class Accelerator(Fact):
    """An accelerator type; figures are per device."""

    name: Name
    vendor: Vendor
    model: Prose
    compute_capability: VersionText | None = None
    """NVIDIA only, for instance ``6.1``."""
    int8_tops: Positive | None = None
    fp16_tflops: Positive | None = None
    fp32_tflops: Positive | None = None
    fp64_tflops: Positive | None = None
    memory_gb: Positive | None = None
    memory_bandwidth_gbs: Positive | None = None
    pcie_gbs: Positive | None = None
    interconnect_gbs: Positive | None = None
    sources: tuple[Source, ...]


class NumaMode(Fact):
    """One way in which the cores of a node are divided into NUMA domains; a mode belongs to the node, not to the job step."""

    domains: Count
    standard: bool = False
    note: Prose | None = None
    """How to ask for it where it is not the standard."""
    constraint: Constraint | None = None
    """The scheduler's node feature that selects it, where the site has one."""


class Node(Fact):
    """One kind of node."""

    processor: Name
    sockets: Count
    cores: Count
    """Physical cores in the node."""
    threads_per_core: Count = 1
    reserved_cores: Annotated[int, Field(ge=0)] = 0
    """Cores that the site keeps for itself: never laid out."""
    numa_modes: tuple[NumaMode, ...] = ()
    memory_gb: Positive | None = None
    usable_memory_gb: Positive | None = None
    """What a job may use; beyond it the job (at some sites the node) dies."""
    accelerator: Name | None = None
    accelerators: Annotated[int, Field(ge=0, le=1000)] = 0
    driver_cuda: VersionText | None = None
    """The newest CUDA that the driver of its GPUs takes, as ``nvidia-smi`` prints it; not given: unknown, any image is taken to run."""
    local_storage_gb: Positive | None = None
    power_w: Positive | None = None

    @model_validator(mode="after")
    def _fits(self) -> Node:
        if self.reserved_cores >= self.cores:
            raise ValueError("reserved_cores must leave at least one core")
        if self.accelerators and not self.accelerator:
            raise ValueError("accelerators are counted but 'accelerator' names no type")
        if self.memory_gb and self.usable_memory_gb and self.usable_memory_gb > self.memory_gb:
            raise ValueError("usable_memory_gb exceeds memory_gb")
        if self.numa_modes and sum(mode.standard for mode in self.numa_modes) != 1:
            raise ValueError("exactly one of numa_modes is the standard")
        return self

    @property
    def usable_cores(self) -> int:
        """Physical cores that a layout may use."""
        return self.cores - self.reserved_cores

    def cores_with(self, gpus: int) -> int:
        """Cores that go with so many of the node's GPUs: all without any, else their part of them.

        >>> Node(processor="x", sockets=2, cores=48, accelerator="y", accelerators=4).cores_with(1)
        12
        """
        return max(1, self.usable_cores * gpus // self.accelerators) if 0 < gpus < self.accelerators else self.usable_cores

    @property
    def standard_numa_domains(self) -> int:
        """NUMA domains of the standard mode; one a socket where no mode is recorded."""
        return next((mode.domains for mode in self.numa_modes if mode.standard), self.sockets)


class Queue(Fact):
    """What the scheduler calls a partition for jobs of some size."""

    name: Name
    min_nodes: Count = 1
    max_nodes: Count
    max_wall_time_s: Count | None = None
    qos: Name | None = None
    """The quality of service for these jobs. Queues of one name may differ in it."""


class Partition(Fact):
    """A partition or queue: nodes of one kind, and its limits."""

    name: Name
    nodes: Count
    node: Node
    default: bool = False
    max_nodes: Count | None = None
    """Nodes that one job may have, where that is fewer than there are."""
    island_nodes: Count | None = None
    """Nodes within one island of the interconnect; a job beyond it crosses islands."""
    max_wall_time_s: Count | None = None
    default_wall_time_s: Count | None = None
    queue: Name | None = None
    """The queue's name for the scheduler, where it is not the partition's name."""
    queues: tuple[Queue, ...] = ()
    """Several queues over the same nodes, by size of the job; the first that takes a job is asked for."""
    qos: Name | None = None
    """The quality of service for jobs that name none."""
    constraint: Constraint | None = None
    resource_directives: Annotated[tuple[ResourceText, ...], Field(max_length=MOST_DIRECTIVES)] = ()
    """What asks for a job's nodes here, in place of MODAK's own options: ``-l select={nodes}:system=polaris``. What the job does not ask
    for is left out: a part ``:NAME={…}`` of an option, else the option."""
    price_per_node_hour: Positive | None = None

    @property
    def job_nodes(self) -> int:
        """The most nodes that one job may ask for."""
        return min(self.nodes, self.max_nodes or self.nodes)

    @property
    def scheduler_names(self) -> frozenset[str]:
        """What requests may call it: its own name and those of its queues."""
        return frozenset(name for name in (self.name, self.queue, *(queue.name for queue in self.queues)) if name)

    def queues_for(self, nodes: int) -> tuple[Queue, ...]:
        """The queues that take a job of that many nodes; empty, too, if the partition has no queues by size."""
        return tuple([queue for queue in self.queues if queue.min_nodes <= nodes <= queue.max_nodes])

    def queue_for(self, taking: Sequence[Queue], seconds: int | None = None) -> Queue | None:
        """The first of these queues that takes a job for that long; if none does or the time is unknown, the one with the longest limit."""
        enough = (queue for queue in taking if seconds is not None and self.longest_in(queue) >= seconds)
        return next(enough, max(taking, key=self.longest_in, default=None))

    def longest_in(self, queue: Queue) -> float:
        """Seconds that a job may run in one of the queues; infinite where no limit is known."""
        return queue.max_wall_time_s or self.max_wall_time_s or math.inf


class RuntimePolicy(Fact):
    """A container runtime that the site allows, or does not, since when and why. Order is preference."""

    name: Annotated[Name, Field(examples=["apptainer", "singularity", "charliecloud", "podman-hpc", "sarus", "enroot", "none"])]
    allowed: bool = True
    version: VersionText | None = None
    as_of: Annotated[str, Field(pattern=r"^[0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?$")] | None = None
    reason: Prose | None = None
    module: ModuleName | None = None
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
    version: VersionText | None = None
    default: bool = False
    module: ModuleName | None = None
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


_MPI_SPELLINGS: Final = {"openmpi": "openmpi", "mpich": "mpich", "intelmpi": "intel-mpi", "impi": "intel-mpi", "mvapich": "mvapich"}


@lru_cache(maxsize=512)
def mpi_family(label: str | None) -> str | None:
    """The family of the MPI library that results call so; ``None`` where it is none of :class:`HostMpi`.

    >>> mpi_family("Open MPI 4.1"), mpi_family("intel-mpi 2019"), mpi_family("MVAPICH2"), mpi_family("cray-mpich 8.1"), mpi_family("MPT")
    ('openmpi', 'intel-mpi', 'mvapich', 'mpich', None)
    """
    folded = "".join(filter(str.isalpha, (label or "").lower())).removeprefix("cray")
    return next((family for spelling, family in _MPI_SPELLINGS.items() if folded.startswith(spelling)), None)


@lru_cache(maxsize=512)
def same_mpi(label: str | None) -> str:
    """Equal for labels of results that mean the same MPI library and version, however they write its name.

    >>> same_mpi("Open MPI 4.1"), same_mpi("openmpi-4.1"), same_mpi("impi 2019"), same_mpi("Intel MPI 2019")
    ('openmpi4.1', 'openmpi4.1', 'intel-mpi2019', 'intel-mpi2019')
    """
    folded = same_name(label).replace("-", "")
    spelling = next((one for one in _MPI_SPELLINGS if folded.startswith(one)), "")
    return _MPI_SPELLINGS.get(spelling, "") + folded.removeprefix(spelling)


class FileSystem(Fact):
    """A file system that jobs see."""

    name: Name
    kind: Literal["lustre", "gpfs", "nfs", "beegfs", "local-ssd", "tmpfs", "other"]
    storage_class: StorageClass | None = None
    path: AbsolutePath | None = None
    path_variable: EnvironmentName | None = None
    capacity_tb: Positive | None = None
    bandwidth_gbs: Positive | None = None

    @property
    def node_local(self) -> bool:
        """Whether each node has one for itself; nothing written there is seen by another."""
        return self.kind in ("local-ssd", "tmpfs")


class Interconnect(Fact):
    """The network between nodes."""

    name: Prose
    family: Literal["omni-path", "infiniband", "ethernet", "aries", "slingshot", "other"]
    rails: Count = 1
    bandwidth_gbit_s: Positive | None = None
    latency_us: Positive | None = None


class System(Fact):
    """A machine as a script and a layout need to know it."""

    name: Name
    aliases: tuple[Name, ...] = ()
    title: Prose
    site: Prose
    kind: Literal["production", "reference"] = "production"
    """``reference``: a vendor's reference configuration, for sizing; nobody can submit there."""
    scheduler: Annotated[Name, Field(examples=["slurm", "torque", "pbspro", "lsf", "flux", "gridengine", "shell"])] | None = None
    """Name of a scheduler plug-in."""
    cpu_unit: Literal["core", "thread"] = "core"
    """What the scheduler counts as a CPU: with ``thread``, all cores need ``--hint=nomultithread`` under Slurm, all threads elsewhere."""
    partitions: tuple[Partition, ...] = Field(min_length=1)
    runtimes: tuple[RuntimePolicy, ...] = ()
    internet: bool | None = None
    """Whether compute nodes reach the internet; not given: unknown."""
    ssh_between_nodes: bool | None = None
    launcher: Annotated[Name, Field(examples=["srun", "mpirun", "pals", "jsrun", "flux"])] | None = None
    """The site's launcher; not given: the scheduler's usual one."""
    mpi: tuple[HostMpi, ...] = ()
    interconnect: Interconnect | None = None
    filesystems: tuple[FileSystem, ...] = ()
    export_policy: Literal["ALL", "NONE", "site"] = "site"
    """What the script says about copying the submitter's environment; ``site``: nothing."""
    partition_directive: Literal["always", "never"] | None = None
    """Whether scripts name their partition or queue; not given: those for another one than the default. ``always``: the scheduler has no
    default; ``never``: it finds the nodes by the job's quality of service, features or resources."""
    gpu_directive: Literal["gres", "gpus-per-node", "gpus-property"] | None = None
    mandatory_directives: Annotated[tuple[DirectiveText, ...], Field(max_length=MOST_DIRECTIVES)] = ()
    """Options that every job here must carry, in the scheduler's words, for instance ``--get-user-env``. Without a value (``--account``,
    ``--qos``, ``-l filesystems=``) the request has to give it."""
    modules: tuple[ModuleName, ...] = ()
    module_paths: tuple[AbsolutePath, ...] = ()
    """Directories of modules that ``module use`` has to add before the first is loaded."""
    module_init: AbsolutePath | None = None
    """A file to source before ``module`` exists in a batch shell."""
    start_up_s: Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)] | None = None
    """Time from job start to the first step, where somebody measured it."""
    notes: tuple[Prose, ...] = ()
    sources: tuple[Source, ...] = Field(min_length=1)

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
        """The name and then the aliases, folded by :func:`same_name`: what requests and results may call the system."""
        return tuple(dict.fromkeys(map(same_name, (self.name, *self.aliases))))

    @property
    def default_partition(self) -> Partition:
        """The partition that jobs get where none is named."""
        return next((p for p in self.partitions if p.default), self.partitions[0])


class ImageLabels(Fact):
    """What is in an image, in words that a request can ask for."""

    framework: Name
    version: VersionText
    source: Literal["hub", "pip", "opt-build"]
    compilers: tuple[Name, ...] = ()
    """Graph compilers inside: ``xla``, ``ngraph``, ``glow``, ``inductor``."""
    distribution: tuple[Name, ...] = ()
    """``horovod`` and the like."""
    architecture: Name = "x86_64"
    microarchitecture: Name | None = None
    """The archspec target that it was compiled for; not given: runs on any of its architecture."""
    accelerator: Literal["nvidia", "amd", "none"] = "none"
    cuda: VersionText | None = None
    rocm: VersionText | None = None
    oneapi: VersionText | None = None
    compute_capability_min: VersionText | None = None
    compute_capability_max: VersionText | None = None
    mpi: Literal["openmpi", "mpich", "intel-mpi", "mvapich"] | None = None
    mpi_version: VersionText | None = None
    python: VersionText | None = None


class Image(Fact):
    """An entry of the catalogue: a reference, what it carries, and how we know."""

    reference: ImageReference
    labels: ImageLabels
    opt_dsl_code: Name | None = None
    """The name of its container mapping, for callers of the published service."""
    digest: Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")] | None = None
    size_gb: Positive | None = None
    verified_on: date | None = None
    """When somebody ran it and saw the labels hold; not given: unverified."""
    verified_at: Prose | None = None
    """On which machine that was, and with which runtime."""
    findings: tuple[Prose, ...] = ()
    """What running it showed, a line a label."""
    refuted: tuple[Prose, ...] = ()
    """Labels that running it refuted, when and where; an image with any is never chosen."""
    storage_class: StorageClass | None = None
    """Where the data of its jobs should lie, unless the request says so."""
    notes: tuple[Prose, ...] = ()
    source: Prose


class Condition(Fact):
    """When a rule holds: every given key must match; a list means any of them. Nothing given holds everywhere."""

    application: tuple[Name, ...] = ()
    application_version: VersionRange | None = None
    app_type: tuple[Literal["ai_training", "ai_inference", "hpc", "big_data"], ...] = ()
    framework: tuple[Name, ...] = ()
    framework_version: VersionRange | None = None
    compiler: tuple[Name, ...] = ()
    distribution: tuple[Name, ...] = ()
    system: tuple[Name, ...] = ()
    partition: tuple[Name, ...] = ()
    scheduler: tuple[Name, ...] = ()
    launcher: tuple[Name, ...] = ()
    runtime: tuple[Name, ...] = ()
    processor_vendor: tuple[Name, ...] = ()
    accelerator: tuple[Name, ...] = ()
    """``nvidia``, ``amd`` or ``none``."""
    interconnect: tuple[Name, ...] = ()
    mpi: tuple[Name, ...] = ()
    mpi_from: tuple[Literal["host", "container"], ...] = ()
    mpi_version: VersionRange | None = None
    storage_class: tuple[Name, ...] = ()
    multi_node: bool | None = None
    threaded: bool | None = None
    """Whether ranks have more than one thread."""


class Rule(Fact):
    """What a site or an application adds to scripts where its condition holds.

    ``environment`` are exported variables, ``script`` is shell text (trusted code of a site's administrator, stored as it is) run at its
    stage; values reach it as exported variables, never as text.
    Of two rules that set one variable, the higher ``priority`` wins, then the one with more conditions, then the name
    that sorts first.
    """

    name: Name
    title: Prose
    when: Condition = Condition()
    priority: Annotated[int, Field(ge=0, le=100)] = 50
    environment: Mapping[EnvironmentName, Annotated[str, Field(max_length=1000)]] = {}
    modules: tuple[ModuleName, ...] = ()
    launcher_options: tuple[LauncherOption, ...] = ()
    """Options behind the launcher's own, for instance ``--gpu-bind=closest``, where it starts the ranks itself."""
    stage: Literal["environment", "before", "after", "staging"] = "environment"
    script: Annotated[str, StringConstraints(max_length=20_000, strip_whitespace=False)] | None = None
    advice: Prose | None = None
    """A sentence for the answer, where the rule holds."""
    source: Prose


class Layout(Fact):
    """How a job lies on its nodes. ``None``: unknown (results), or left to be chosen (requests)."""

    nodes: Count | None = None
    ranks_per_node: Count | None = None
    threads_per_rank: Count | None = None
    gpus_per_node: Annotated[int, Field(ge=0)] | None = None
    batch_size: Count | None = None
    """Per worker: per rank, or per GPU where there are GPUs."""


Text = Annotated[str, Field(min_length=1, max_length=200)]
"""Labels of results: any printable text."""


def parameter(value: float | str) -> str:
    """The value of a parameter as results write it.

    >>> parameter(100.0), parameter(0.5), parameter("1M")
    ('100', '0.5', '1M')
    """
    return value if isinstance(value, str) else f"{value:.15g}"


class SeriesKey(Fact):
    """What is equal in all results of a series: everything but layout, value, repeat, time and source."""

    application: Text
    dataset: Text | None = None
    params: Mapping[str, str] = {}
    framework: Text | None = None
    framework_version: Text | None = None
    compiler: Text | None = None
    image: Text | None = None
    precision: Text | None = None
    system: Text | None = None
    partition: Text | None = None
    mpi: Text | None = None
    mpi_from: Literal["host", "container"] | None = None
    hyperthreads: bool | None = None
    numa_mode: Count | None = None
    runtime: Text | None = None
    metric: Text
    unit: Text


def same_name(name: object) -> str:
    """What is equal for names of a system, a framework or a compiler that mean the same: case, underscores, hyphens and spaces do not tell.

    >>> same_name("GCC 9.3"), same_name("gcc-9.3"), same_name("My_Site")
    ('gcc-9.3', 'gcc-9.3', 'my-site')
    """
    return str(name).lower().replace("_", "-").replace(" ", "-")


class Result(Fact):
    """One measured value (in the metric's base unit) and where it comes from."""

    series: SeriesKey
    layout: Layout
    value: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    repeat: Annotated[int, Field(ge=0)] | None = None
    measured_at: datetime | None = None
    source: str | None = None
    id: int | None = None
    """The store's number; not given: not stored yet."""
    suspect: str | None = None
    """Why this row is kept out of fits; not given: it is used."""


@dataclass(frozen=True)
class Facts:
    """One consistent view of all that is known; ``version`` changes with every change of the data."""

    version: str
    systems: Mapping[str, System] = field(default_factory=dict)
    processors: Mapping[str, Processor] = field(default_factory=dict)
    accelerators: Mapping[str, Accelerator] = field(default_factory=dict)
    images: tuple[Image, ...] = ()
    rules: tuple[Rule, ...] = ()
    models: tuple[Any, ...] = ()
    """Fitted curves (:class:`modak.perfmodel.Curve`) of the application that is asked about."""
    tried: tuple[Result, ...] = ()
    """Results, of any application, that tell what switches do: where one is left to the evidence."""
