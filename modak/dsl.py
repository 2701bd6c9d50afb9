"""The request and response documents: frozen, strict models. Tolerance lives in :mod:`modak.normalise` alone.

A request that passes :class:`Request` is canonical: durations are seconds, memory is bytes, commands are words, names
are those of plug-ins. ``None`` means "not said": the value is chosen, or left to the site.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SerializeAsAny

from modak.errors import DataError
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
from modak.metrics import parse_amount
from modak.words import Word

Basis = Literal["measured", "interpolated", "extrapolated", "transferred", "heuristic", "none"]
Event = Literal["begin", "end", "fail", "requeue", "time_limit", "array_tasks", "none"]
SignalName = Literal["USR1", "USR2", "TERM", "INT", "HUP", "URG"]
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

    name: SignalName = "USR1"
    """What the job gets."""
    seconds: Annotated[int, Field(ge=10, le=65_535, strict=True)] = 120
    """Before the limit."""


class JobOptions(Document):
    """What the scheduler is told."""

    job_name: JobName | None = None
    """The job's name in the scheduler."""
    account: Account | None = None
    """What the job is charged to."""
    queue: Name | None = None
    """The scheduler's queue."""
    partition: Name | None = None
    """The scheduler's partition; not given: the default one, or the one that has what the job asks for."""
    wall_time_limit: Seconds | None = None
    node_count: Count | None = None
    """Nodes; not given: chosen."""
    process_count_per_node: Count | None = None
    """Ranks per node; not given: chosen."""
    core_count_per_process: Count | None = None
    """Cores per rank."""
    core_count: Count | None = None
    """Cores in total per node, where nothing finer is given."""
    memory_limit: Bytes | None = None
    """Per node."""
    minimum_memory_per_processor: Bytes | None = None
    """Per core."""
    request_gpus: Annotated[int, Field(ge=0, le=1024, strict=True)] | None = None
    """GPUs per node."""
    request_specific_nodes: NodeList | None = None
    """These nodes, by name: ``node1,node[07-12]``."""
    job_array: ArraySpec | None = None
    """A job for each index: ``0-15``, ``1,3,5``, ``0-99:2%10``."""
    standard_output_file: OutputPath | None = None
    """Where output goes: a relative path, in which ``%j``, ``%x``, ``%A``, ``%a`` and ``%N`` may stand."""
    standard_error_file: OutputPath | None = None
    """Where errors go, likewise."""
    combine_stdout_stderr: bool | None = None
    """Whether errors go to the output file."""
    architecture_constraint: Constraint | None = None
    """Features that nodes have to have: ``skylake&ssd``."""
    copy_environment: bool | None = None
    """Whether the submitter's environment reaches the job."""
    copy_environment_variable: tuple[CopiedName, ...] = ()
    job_dependency: Dependency | None = None
    """Wait for other jobs: ``afterok:1234``, ``singleton``."""
    request_event_notification: tuple[Event, ...] = ()
    email_address: Email | None = None
    """To whom the scheduler writes."""
    defer_job: BeginTime | None = None
    """Not before: ``2027-01-31T08:00``, ``08:00``, ``now+2hours``; in the local time of the cluster."""
    node_exclusive: bool | None = None
    """Whether nodes are shared with nobody."""
    requeue: bool | None = None
    """Whether the job may start again from its top, after a node failed or a job of higher priority took its place."""
    signal: Signal | None = None


class Build(Document):
    """Sources of an application that is built before it runs. ``build_command`` is code: it runs inside the container."""

    src: SourceText | None = None
    """Where the sources are: an ``https://`` address or a path."""
    build_command: Annotated[SoundText, Field(max_length=10_000)] | None = None
    """A shell command; ``{{BUILD_PARALLELISM}}`` in it is the count."""
    build_parallelism: Count | None = None
    """How many steps of the build run at once."""


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
    """The application's name; what the models are asked about, where the workload names no other."""
    app_type: Literal["mpi", "hpc", "python", "c", "c++", "fortran", "other"] | None = None
    """``mpi`` and ``hpc`` are launched on all ranks; ``python`` is one process, or a launcher where training is distributed; others as
    ``hpc`` where there are several ranks, else one process.
    """
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
    """The least parallel efficiency that is acceptable, above 0 up to 1."""
    storage_class_pref: Name | None = None
    """The kind of storage that the job would like; its place is ``${MODAK_STORAGE}``."""
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
    """A system that MODAK knows; not given: no facts of a system."""
    job_scheduler_type: Annotated[Name, Field(examples=["slurm", "torque", "pbspro", "lsf", "flux", "gridengine", "shell"])] | None = None
    """Name of a scheduler plug-in."""
    container_runtime: Annotated[Name, Field(examples=["apptainer", "charliecloud", "podman-hpc", "sarus", "enroot", "none"])] | None = None
    """Name of a runtime plug-in."""


class OptBuild(Document):
    """The hardware that an image is wanted for."""

    cpu_type: Literal["x86", "arm", "power", "amd"] | None = None
    """The processor."""
    acc_type: Literal["nvidia", "amd", "fpga", "none"] | None = None
    """The accelerator."""


def _amount(text: str) -> str:
    try:
        parse_amount(text)
    except DataError as wrong:
        raise ValueError(wrong.faults[0].message) from None
    return text


WorkAmount = Annotated[SoundText, Field(max_length=64, examples=["500 ns", "2e6 steps", "3 PFLOP"]), AfterValidator(_amount)]
"""A positive number and what a rate counts; see :func:`modak.metrics.parse_amount`."""
Value = Annotated[int, Field(strict=True, ge=-(2**53), le=2**53)] | Annotated[float, Field(strict=True, allow_inf_nan=False)] | Prose
"""What a parameter may be set to."""


class Steps(Document):
    """Values from ``low`` to ``high``, each ``step`` more or ``factor`` times the one before."""

    low: Annotated[float, Field(allow_inf_nan=False)]
    """The first value."""
    high: Annotated[float, Field(allow_inf_nan=False)]
    """The last value."""
    step: Amount | None = None
    """What each value has more than the one before."""
    factor: Annotated[float, Field(gt=1, le=1e6, allow_inf_nan=False)] | None = None
    """How many times the one before each value is."""


Values = Annotated[tuple[Value, ...], Field(min_length=1, max_length=1000)] | Steps
"""The first value is the default, where the job's own is not among them."""


class Space(Document):
    """What a tuner may change: variables of the environment, options of the command, counts of the layout."""

    environment: Mapping[SettableName, Values] = {}
    """Values of variables, by name."""
    options: Mapping[OptionName, Values] = {}
    """Values of options of the command, by name."""
    layout: Mapping[Literal["node_count", "process_count_per_node", "threads"], Values] = {}
    """Values of counts, by name."""


class Setting(Document):
    """Values that the job runs with: exported variables, and options after the command."""

    environment: Mapping[SettableName, Value] = {}
    """A value for each variable."""
    options: Mapping[OptionName, Value] = {}
    """A value for each option."""


class Autotuning(Document):
    """What a tuner may change and how long it may look; ``input`` is text of a tuner's own."""

    tuner: Name | None = None
    """Its name: ``cresta``, ``autotune``."""
    input: Annotated[SoundText, Field(max_length=20_000)] | None = None
    """Text of the tuner's own."""
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
    """The kind of training."""
    distributed_training: bool | None = None
    """Whether several processes train together."""
    parallelisation: tuple[Literal["mpi", "openmp", "openacc", "opencl"], ...] = ()
    layers: Count | None = None
    """Of the network; a sizing asks for it."""
    parameters: Amount | None = None
    """Of the network: its trainable weights."""


class Etl(Document):
    """Input pipeline."""

    prefetch: int | bool | None = None
    """Batches that are read ahead, or whether any are."""
    cache: int | bool | None = None
    """Whether samples are kept in memory once they were read."""


class Data(Document):
    """The data set of a training run."""

    location: Prose | None = None
    """Where the data set lies."""
    basename: Prose | None = None
    """Its files' common name."""
    train: Amount | None = None
    """Samples, or bytes where ``format`` says so."""
    test: Amount | None = None
    """Samples to test with."""
    size_bytes: Amount | None = None
    files: Files | None = None
    """How many files there are to read."""
    etl: Etl | None = None


class Objective(Document):
    """What is wanted of the choice."""

    minimise: Literal["time", "node_hours", "energy", "cost"] | None = None
    """What is to be small."""
    deadline: Seconds | None = None
    max_nodes: Count | None = None
    """No more nodes than this."""
    min_efficiency: Fraction | None = None
    """No less parallel efficiency than this, above 0 up to 1."""
    budget_node_hours: Amount | None = None
    """No more node-hours than this."""
    confidence: Annotated[float, Field(ge=0.5, lt=1, allow_inf_nan=False)] = 0.9
    """One-sided: P(time <= deadline) >= confidence."""


class PrintedMetric(Document):
    """A number that the application prints."""

    name: Name
    """What it is called."""
    unit: Prose
    """Its unit: ``samples/s``."""
    pattern: MetricPattern
    """An extended regular expression whose group is the number; the last line that matches counts."""


class Workload(Document):
    """What the models are asked about; ``epochs`` multiplies a time per epoch, ``samples`` and ``amount`` turn rates into one."""

    application: Name | None = None
    """The application of the results; not given: ``application.app_tag``."""
    dataset: Prose | None = None
    """Its data set, or problem; times of different ones are never compared."""
    epochs: Amount | None = None
    """How many: multiplies a time per epoch."""
    steps: Amount | None = None
    """How many: multiplies a time per step."""
    samples: Amount | None = None
    """Samples in an epoch."""
    amount: WorkAmount | None = None
    """The work in what a rate of the results counts, for instance ``500 ns``: turns it into a time."""
    batch_size: Count | None = None
    """Per worker (rank, or GPU where there are GPUs)."""
    precision: Name | None = None
    """Of its numbers: ``fp32``, ``fp16``; ``auto``: what results say is faster."""
    compiler: Prose | None = None
    """The build that is asked about, as results call its compiler: ``gcc-8.3``."""
    params: Mapping[Name, Annotated[float, Field(allow_inf_nan=False)] | Prose] = {}
    """Further parameters of the results, by name."""
    memory_per_rank_gb: Amount | None = None
    """What a rank needs of the node's memory, in GB."""
    memory_per_gpu_gb: Amount | None = None
    """What a rank needs of a GPU's memory, in GB."""
    memory_aside_gb: Amount | None = None
    """What else lies in a node's memory: an image or data unpacked into tmpfs."""
    metric: PrintedMetric | None = None
    """Read from the application's output into the job's result file, beside its time."""


class FrameworkOptions(Document):
    """Base of every framework plug-in's options."""

    version: VersionRange | None = None
    """That version (``2.1`` is not 2.10 or 2.1.1), ``2.1.*``, or a range: ``>=1.14,<2``."""


class Optimisation(Document):
    """What MODAK is asked to decide, and what it is told about the application."""

    enable_opt_build: Switch = False
    """Whether an image built from source is wanted; ``auto``: where results say that it helps."""
    enable_autotuning: bool = False
    """Whether the answer says what a tuner would change."""
    app_type: Literal["ai_training", "ai_inference", "hpc", "big_data"] | None = None
    """The kind of application, and so the section that is read."""
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
    """Dotted path of the field of the request that it is about."""
    message: str
    """One line."""


class Configuration(Document):
    """One way to run: layout, software variant, image."""

    nodes: Count
    """Nodes of the job."""
    ranks_per_node: Count
    """Ranks (processes) on each node."""
    threads_per_rank: Count
    """Threads of each rank."""
    gpus_per_node: Annotated[int, Field(ge=0)] = 0
    """GPUs used on each node."""
    hyperthreads: bool | None = None
    """Whether a core's second thread is used, too."""
    numa_mode: Count | None = None
    """NUMA domains of a node, in the mode that it has to be in."""
    mpi: str | None = None
    """MPI library and version."""
    mpi_from: Literal["host", "container"] | None = None
    """Whose MPI starts the ranks: the host's or the container's."""
    compiler: str | None = None
    """Graph compilers or switches that are on: ``xla``."""
    framework_version: str | None = None
    """Version of the framework."""
    precision: str | None = None
    """Of numbers: ``fp32``."""
    runtime: str | None = None
    """Container runtime; ``none``: no container."""
    image: str | None = None
    """Reference of the image."""
    batch_size: Count | None = None
    """Samples of a worker in a step."""
    global_batch: Total | None = None
    """Samples of all workers in a step."""
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
    """What is predicted."""
    value: float | None = None
    """For the whole workload, in ``unit``; left out: nothing is known."""
    lower: float | None = None
    """Lower end of the interval, in ``unit``."""
    upper: float | None = None
    """Upper end of the interval, in ``unit``."""
    level: float = 0.9
    """Probability that the interval holds the time of the next run."""
    unit: str = "s"
    """Of ``value``, ``lower``, ``upper`` and ``per_unit``: seconds."""
    per_unit: float | None = None
    """For one of what ``per`` names, in ``unit``."""
    per: str | None = None
    """What ``per_unit`` counts: an epoch, a step, a run."""
    basis: Basis = "none"
    """What the number rests on; ``transferred``: relatives; ``none``: no number."""
    model: str | None = None
    """What says so."""
    results_used: int = 0
    """How many measured results it rests on."""
    extrapolation: float = 0.0
    """Doublings beyond the measured sizes."""


class Choice(Document):
    """A configuration with its prediction and what it costs."""

    configuration: Configuration
    prediction: Prediction
    node_hours: float | None = None
    """Nodes times hours, as predicted."""
    energy_kwh: float | None = None
    """Where the system's file gives a node's power."""
    cost: float | None = None
    """Where it gives a price per node-hour; in that currency."""
    efficiency: float | None = None
    """Parallel efficiency, against the best layout at the smallest size: 1 is perfect."""
    why_not: str | None = None
    """For an alternative: what speaks against it."""


class Plan(Document):
    """The answer: what to run, why, how long it takes, and the text to submit."""

    id: str
    """The plan's name; the same request on the same data gives the same one."""
    configuration: Configuration
    prediction: Prediction
    node_hours: float | None = None
    """Nodes times hours, as predicted."""
    energy_kwh: float | None = None
    """In kWh, where the system's file gives a node's power."""
    cost: float | None = None
    """In the currency of the system's price per node-hour, where it gives one."""
    efficiency: float | None = None
    """Parallel efficiency, against the best layout at the smallest size: 1 is perfect."""
    alternatives: tuple[Choice, ...] = ()
    image: Mapping[str, Any] | None = None
    """The catalogue's entry of the image that it runs in."""
    recipe: Mapping[str, Any] | None = None
    """How the image is made: ``file`` and ``content`` of what is built."""
    rules: tuple[str, ...] = ()
    """Names of the rules that hold."""
    wall_time_s: int | None = None
    """The limit that the script asks for, in seconds."""
    decisions: tuple[str, ...] = ()
    """Why: one line a decision."""
    advice: tuple[str, ...] = ()
    """What the evidence says beyond the script."""
    warnings: tuple[Notice, ...] = ()


@dataclass(frozen=True)
class Texts:
    """The files that go with a plan; empty where there is none."""

    job_script: str
    build_script: str = ""
    definition: str = ""
    """The container recipe's text (Singularity definition or Dockerfile)."""
    definition_name: str = ""
