"""The request and response documents: frozen, strict models. Tolerance lives in :mod:`modak.normalise` alone.

A request that passes :class:`Request` is canonical: durations are seconds, memory is bytes, commands are words, names
are those of plug-ins. ``None`` means "not said": the value is chosen, or left to the site.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny

from modak.grammar import (
    Account,
    ArraySpec,
    BeginTime,
    Constraint,
    CopiedName,
    Dependency,
    Email,
    ImageReference,
    InsidePath,
    JobName,
    MetricPattern,
    Name,
    NodeList,
    OptionName,
    OutputPath,
    SettableName,
    SoundText,
    SourceText,
    VersionRange,
)
from modak.words import Word

Basis = Literal["measured", "interpolated", "extrapolated", "transferred", "heuristic", "none"]
Event = Literal["begin", "end", "fail", "requeue", "time_limit", "array_tasks", "none"]
Switch = bool | Literal["auto"]
"""A compiler switch: on, off, or what the evidence says."""
Count = Annotated[int, Field(ge=1, le=10_000_000, strict=True)]
Total = Annotated[int, Field(ge=1, strict=True)]
"""A product of counts, which bound it."""
Files = Annotated[int, Field(ge=1, le=10**12, strict=True)]
Seconds = Annotated[int, Field(ge=60, le=365 * 86400, strict=True)]
Bytes = Annotated[int, Field(ge=1_000_000, le=10**16, strict=True)]
Fraction = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
Amount = Annotated[float, Field(gt=0, le=1e15, allow_inf_nan=False)]
Prose = Annotated[SoundText, Field(max_length=500)]


class Document(BaseModel):
    """Base of all documents."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Signal(Document):
    """A signal that the job gets before its time limit."""

    name: Literal["USR1", "USR2", "TERM", "INT", "HUP", "URG"] = "USR1"
    seconds: Annotated[int, Field(ge=10, le=65_535, strict=True)] = 120
    """Before the limit."""


class JobOptions(Document):
    """What the scheduler is told."""

    job_name: JobName | None = None
    account: Account | None = None
    queue: Name | None = None
    partition: Name | None = None
    wall_time_limit: Seconds | None = None
    node_count: Count | None = None
    process_count_per_node: Count | None = None
    core_count_per_process: Count | None = None
    core_count: Count | None = None
    """Cores in total per node, where nothing finer is given."""
    memory_limit: Bytes | None = None
    """Per node."""
    minimum_memory_per_processor: Bytes | None = None
    """Per core."""
    request_gpus: Annotated[int, Field(ge=0, le=1024, strict=True)] | None = None
    """GPUs per node."""
    request_specific_nodes: NodeList | None = None
    job_array: ArraySpec | None = None
    standard_output_file: OutputPath | None = None
    standard_error_file: OutputPath | None = None
    combine_stdout_stderr: bool | None = None
    architecture_constraint: Constraint | None = None
    copy_environment: bool | None = None
    copy_environment_variable: tuple[CopiedName, ...] = ()
    job_dependency: Dependency | None = None
    request_event_notification: tuple[Event, ...] = ()
    email_address: Email | None = None
    defer_job: BeginTime | None = None
    node_exclusive: bool | None = None
    requeue: bool | None = None
    """Whether the job may start again from its top, after a node failed or a job of higher priority took its place."""
    signal: Signal | None = None


class Build(Document):
    """Sources of an application that is built before it runs. ``build_command`` is code: it runs inside the container."""

    src: SourceText | None = None
    build_command: Annotated[SoundText, Field(max_length=10_000)] | None = None
    build_parallelism: Count | None = None


class StageIn(Document):
    """What is copied into the job's own directory before it runs."""

    source: Word = Field(alias="from")
    to: InsidePath
    unpack: bool = False
    """A tar file, or a SquashFS file (``.sqfs``), whose content is wanted there: one file to read from shared storage, not thousands."""


class StageOut(Document):
    """What is copied out of the job's own directory after it ran."""

    source: InsidePath = Field(alias="from")
    to: Word


class Application(Document):
    """What runs."""

    app_tag: JobName | None = None
    app_type: Literal["mpi", "hpc", "python", "c", "c++", "fortran", "other"] | None = None
    container_runtime: ImageReference | None = None
    """An image of the caller's own; not given: the catalogue decides."""
    executable: tuple[Word, ...] = ()
    """Words of the command; more than one where it was written as a command line."""
    arguments: tuple[Word, ...] = ()
    mpi_ranks: Count | None = None
    """Ranks in total."""
    threads: Count | None = None
    """OpenMP threads per rank."""
    minimal_efficiency: Fraction | None = None
    storage_class_pref: Name | None = None
    stage_in: Annotated[tuple[StageIn, ...], Field(max_length=100)] = ()
    """Copied into ``${MODAK_SCRATCH}``, a directory of the job's own, before it runs."""
    stage_out: Annotated[tuple[StageOut, ...], Field(max_length=100)] = ()
    """Copied out of it afterwards."""
    preflight: bool = True
    """Whether the script begins with checks."""
    result_file: InsidePath | None = None
    """Where the script says how it went, below the folder that it is submitted from; not given: ``modak-result-JOB.json``."""
    pre_execution: tuple[Word, ...] = ()
    post_execution: tuple[Word, ...] = ()
    checkpoint: tuple[Word, ...] = ()
    """Runs on the first node when the signal before the limit comes; without it the application gets the signal."""
    build: Build | None = None

    @property
    def command(self) -> tuple[Word, ...]:
        """Executable and arguments."""
        return self.executable + self.arguments


class Target(Document):
    """Where it runs. No ``name``: no system facts, only the scheduler."""

    name: Name | None = None
    job_scheduler_type: Annotated[Name, Field(examples=["slurm", "torque", "pbspro", "lsf", "flux", "gridengine", "shell"])] | None = None
    """Name of a scheduler plug-in."""
    container_runtime: Annotated[Name, Field(examples=["apptainer", "charliecloud", "podman-hpc", "sarus", "enroot", "none"])] | None = None
    """Name of a runtime plug-in."""


class OptBuild(Document):
    """The hardware that an image is wanted for."""

    cpu_type: Literal["x86", "arm", "power", "amd"] | None = None
    acc_type: Literal["nvidia", "amd", "fpga", "none"] | None = None


Value = Annotated[int, Field(strict=True, ge=-(2**53), le=2**53)] | Annotated[float, Field(strict=True, allow_inf_nan=False)] | Prose
"""What a parameter may be set to."""


class Steps(Document):
    """Values from ``low`` to ``high``, each ``step`` more or ``factor`` times the one before."""

    low: Annotated[float, Field(allow_inf_nan=False)]
    high: Annotated[float, Field(allow_inf_nan=False)]
    step: Amount | None = None
    factor: Annotated[float, Field(gt=1, le=1e6, allow_inf_nan=False)] | None = None


Values = Annotated[tuple[Value, ...], Field(min_length=1, max_length=1000)] | Steps
"""The first value is the default, where the job's own is not among them."""


class Space(Document):
    """What a tuner may change: variables of the environment, options of the command, counts of the layout."""

    environment: Mapping[SettableName, Values] = {}
    options: Mapping[OptionName, Values] = {}
    layout: Mapping[Literal["node_count", "process_count_per_node", "threads"], Values] = {}


class Setting(Document):
    """Values that the job runs with: exported variables, and options after the command."""

    environment: Mapping[SettableName, Value] = {}
    options: Mapping[OptionName, Value] = {}


class Autotuning(Document):
    """What a tuner may change and how long it may look; ``input`` is text of a tuner's own."""

    tuner: Name | None = None
    input: Annotated[SoundText, Field(max_length=20_000)] | None = None
    space: Space | None = None
    setting: Setting = Setting()
    trials: Annotated[int, Field(ge=1, le=10_000, strict=True)] | None = None
    """At most so many."""
    budget_node_hours: Amount | None = None
    """For all trials together."""


class Config(Document):
    """What kind of training it is."""

    type: Literal["image_classification", "object_detection", "translation", "recommendation", "reinforcement_learning", "other"] | None = (
        None
    )
    distributed_training: bool | None = None
    parallelisation: tuple[Literal["mpi", "openmp", "openacc", "opencl"], ...] = ()
    layers: Count | None = None
    """Of the network; a sizing asks for it."""
    parameters: Amount | None = None
    """Of the network: its trainable weights."""


class Etl(Document):
    """Input pipeline."""

    prefetch: int | bool | None = None
    cache: int | bool | None = None


class Data(Document):
    """The data set of a training run."""

    location: Prose | None = None
    basename: Prose | None = None
    train: Amount | None = None
    """Samples, or bytes where ``format`` says so."""
    test: Amount | None = None
    size_bytes: Amount | None = None
    files: Files | None = None
    etl: Etl | None = None


class Objective(Document):
    """What is wanted of the choice."""

    minimise: Literal["time", "node_hours", "energy", "cost"] | None = None
    deadline: Seconds | None = None
    max_nodes: Count | None = None
    min_efficiency: Fraction | None = None
    budget_node_hours: Amount | None = None
    confidence: Annotated[float, Field(ge=0.5, lt=1, allow_inf_nan=False)] = 0.9
    """One-sided: P(time <= deadline) >= confidence."""


class PrintedMetric(Document):
    """A number that the application prints."""

    name: Name
    unit: Prose
    pattern: MetricPattern


class Workload(Document):
    """What the models are asked about; ``epochs`` multiplies a time per epoch, ``samples`` turns a throughput into one."""

    application: Name | None = None
    dataset: Prose | None = None
    epochs: Amount | None = None
    steps: Amount | None = None
    samples: Amount | None = None
    """Samples in an epoch."""
    batch_size: Count | None = None
    """Per worker (rank, or GPU where there are GPUs)."""
    precision: Name | None = None
    params: Mapping[Name, Annotated[float, Field(allow_inf_nan=False)] | Prose] = {}
    memory_per_rank_gb: Amount | None = None
    memory_per_gpu_gb: Amount | None = None
    memory_aside_gb: Amount | None = None
    """What else lies in a node's memory: an image or data unpacked into tmpfs."""
    metric: PrintedMetric | None = None
    """Read from the application's output into the job's result file, beside its time."""


class FrameworkOptions(Document):
    """Base of every framework plug-in's options."""

    version: VersionRange | None = None


class Optimisation(Document):
    """What MODAK is asked to decide, and what it is told about the application."""

    enable_opt_build: Switch = False
    """Whether an image built from source is wanted; ``auto``: where results say that it helps."""
    enable_autotuning: bool = False
    app_type: Literal["ai_training", "ai_inference", "hpc", "big_data"] | None = None
    opt_build: OptBuild = OptBuild()
    autotuning: Autotuning | None = None
    config: Config = Config()
    data: Data | None = None
    framework: Name | None = None
    """Name of the framework plug-in; written as the key of the chosen section."""
    options: SerializeAsAny[FrameworkOptions] = FrameworkOptions()
    """The framework plug-in's own options."""
    further: Mapping[Name, SerializeAsAny[FrameworkOptions]] = {}
    """Options of what stands beside the framework, by plug-in: OpenMP in an MPI application."""
    objective: Objective = Objective()
    workload: Workload = Workload()


class Request(Document):
    """A canonical request."""

    job_options: JobOptions = JobOptions()
    application: Application = Application()
    target: Target = Target()
    optimisation: Optimisation = Optimisation()

    @property
    def workload_name(self) -> str | None:
        """The application that the models are asked about."""
        return self.optimisation.workload.application or self.application.app_tag


class Notice(Document):
    """Something that was done instead of what the request said, or that the reader should know."""

    field: str
    message: str


class Configuration(Document):
    """One way to run: layout, software variant, image."""

    nodes: Count
    ranks_per_node: Count
    threads_per_rank: Count
    gpus_per_node: Annotated[int, Field(ge=0)] = 0
    hyperthreads: bool | None = None
    numa_mode: Count | None = None
    mpi: str | None = None
    mpi_from: Literal["host", "container"] | None = None
    compiler: str | None = None
    framework_version: str | None = None
    precision: str | None = None
    runtime: str | None = None
    image: str | None = None
    batch_size: Count | None = None
    global_batch: Total | None = None
    workers: Total | None = None
    """Ranks, or GPUs where there are GPUs: the global batch is so many times a worker's."""
    opt_build: bool | None = None
    """Whether an image built from source is wanted because of what results say."""
    total_ranks: Total | None = None
    """Ranks in total, where that is fewer than every node could have."""

    @property
    def ranks(self) -> int:
        """Ranks in total."""
        return self.total_ranks or self.nodes * self.ranks_per_node


class Prediction(Document):
    """A predicted workload time in seconds, with its interval and what it rests on. ``basis`` none: no number at all."""

    metric: str = "time"
    value: float | None = None
    lower: float | None = None
    upper: float | None = None
    level: float = 0.9
    unit: str = "s"
    per_unit: float | None = None
    per: str | None = None
    """What ``per_unit`` counts: an epoch, a step, a run."""
    basis: Basis = "none"
    model: str | None = None
    results_used: int = 0
    extrapolation: float = 0.0
    """Doublings beyond the measured sizes."""


class Choice(Document):
    """A configuration with its prediction and what it costs."""

    configuration: Configuration
    prediction: Prediction
    node_hours: float | None = None
    energy_kwh: float | None = None
    """Where the system's file gives a node's power."""
    cost: float | None = None
    """Where it gives a price per node-hour; in that currency."""
    efficiency: float | None = None
    why_not: str | None = None
    """For an alternative: what speaks against it."""


class Plan(Document):
    """The answer: what to run, why, how long it takes, and the text to submit."""

    id: str
    configuration: Configuration
    prediction: Prediction
    node_hours: float | None = None
    energy_kwh: float | None = None
    cost: float | None = None
    efficiency: float | None = None
    alternatives: tuple[Choice, ...] = ()
    image: Mapping[str, Any] | None = None
    recipe: Mapping[str, Any] | None = None
    rules: tuple[str, ...] = ()
    wall_time_s: int | None = None
    decisions: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    warnings: tuple[Notice, ...] = ()


@dataclass(frozen=True)
class Texts:
    """The files that go with a plan; empty where there is none."""

    job_script: str
    build_script: str = ""
    definition: str = ""
    """The container recipe's text (Singularity definition or Dockerfile)."""
    definition_name: str = ""
