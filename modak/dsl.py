"""The request and response documents: frozen, strict models. Other spellings are accepted by :mod:`modak.normalise` only.

A request that passes :class:`Request` is canonical: durations are seconds, memory is bytes, commands are words, names
are those of plug-ins. ``None`` means "not given": the value is chosen, or left to the site.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SerializeAsAny

from modak.errors import DataError
from modak.results.metrics import parse_amount
from modak.text.grammar import (
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
    SiteResource,
    SoundText,
    SourceText,
    VersionRange,
)
from modak.text.words import Word

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
Amount = Annotated[float, Field(ge=1e-30, le=1e15, allow_inf_nan=False)]
Prose = Annotated[SoundText, Field(max_length=500)]
MOST_RESOURCES: Final = 20
MOST_SET: Final = 100
"""Parameters, variables or options that one request sets."""


class Document(BaseModel):
    """Base of all documents."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Signal(Document):
    """A signal that the job gets before its walltime limit."""

    name: SignalName = "USR1"
    """Name of the signal."""
    seconds: Annotated[int, Field(ge=10, le=65_535, strict=True)] = 120
    """How long before the limit."""


class JobOptions(Document):
    """Options for the scheduler."""

    job_name: JobName | None = None
    """The job's name in the scheduler."""
    account: Account | None = None
    """The account or project that the job is charged to."""
    queue: Name | None = None
    """The scheduler's queue."""
    partition: Name | None = None
    """The scheduler's partition. Default: the system's default, or one that has what the job asks for."""
    qos: Name | None = None
    """The quality of service. Default: the system's, for a job of this size and length."""
    reservation: Name | None = None
    """A reservation of nodes that the job may use."""
    site_resources: Annotated[tuple[SiteResource, ...], Field(max_length=MOST_RESOURCES)] = ()
    """Resources that the site has named: ``filesystems=home:eagle``, ``matlab=1``."""
    wall_time_limit: Seconds | None = None
    node_count: Count | None = None
    """Number of nodes. Default: chosen."""
    process_count_per_node: Count | None = None
    """Ranks per node. Default: chosen."""
    core_count_per_process: Count | None = None
    """Cores per rank."""
    core_count: Count | None = None
    """Cores per node in total, if nothing more specific is given."""
    memory_limit: Bytes | None = None
    """Per node."""
    minimum_memory_per_processor: Bytes | None = None
    """Per core."""
    request_gpus: Annotated[int, Field(ge=0, le=1024, strict=True)] | None = None
    """GPUs per node."""
    request_specific_nodes: NodeList | None = None
    """These nodes, by name: ``node1,node[07-12]``."""
    job_array: ArraySpec | None = None
    """One job for each index: ``0-15``, ``1,3,5``, ``0-99:2%10``."""
    standard_output_file: OutputPath | None = None
    """File for standard output: a relative path, which may contain ``%j``, ``%x``, ``%A``, ``%a`` and ``%N``."""
    standard_error_file: OutputPath | None = None
    """File for standard error, likewise."""
    combine_stdout_stderr: bool | None = None
    """Whether standard error is written to the output file."""
    architecture_constraint: Constraint | None = None
    """Features that nodes must have: ``skylake&ssd``."""
    copy_environment: bool | None = None
    """Whether the submitter's environment is passed on to the job."""
    copy_environment_variable: tuple[CopiedName, ...] = ()
    job_dependency: Dependency | None = None
    """Wait for other jobs: ``afterok:1234``, ``singleton``."""
    request_event_notification: tuple[Event, ...] = ()
    email_address: Email | None = None
    """Where the scheduler sends mail."""
    defer_job: BeginTime | None = None
    """Earliest start: ``2027-01-31T08:00``, ``08:00``, ``now+2hours``; in the local time of the cluster."""
    node_exclusive: bool | None = None
    """Whether the nodes are not shared with other jobs."""
    requeue: bool | None = None
    """Whether the scheduler may restart the job from the top of its script, after a node failure or preemption."""
    signal: Signal | None = None


class Build(Document):
    """Sources of an application that is built before it runs. ``build_command`` is code: it runs inside the container."""

    src: SourceText | None = None
    """Location of the sources: an ``https://`` address or a path."""
    build_command: Annotated[SoundText, Field(max_length=10_000)] | None = None
    """A shell command, in which ``{{BUILD_PARALLELISM}}`` stands for the count."""
    build_parallelism: Count | None = None
    """Number of steps of the build that run in parallel."""


class StageIn(Document):
    """Data to copy into the job's own directory before the run."""

    source: Word = Field(alias="from")
    to: InsidePath
    unpack: bool = False
    """Whether to unpack a tar file or a SquashFS file (``.sqfs``) there: one file to read from shared storage, not thousands."""


class StageOut(Document):
    """Data to copy out of the job's own directory after the run."""

    source: InsidePath = Field(alias="from")
    to: Word


class Application(Document):
    """What to run."""

    app_tag: JobName | None = None
    """The application's name; its results are used for the prediction, unless the workload names another."""
    app_type: Literal["mpi", "hpc", "python", "c", "c++", "fortran", "other"] | None = None
    """``mpi`` and ``hpc`` start on all ranks; ``python`` is one process, or a launcher if training is distributed; others as
    ``hpc`` where there are several ranks, else one process.
    """
    container_runtime: ImageReference | None = None
    """An image of the caller's own. Default: an image of the catalogue."""
    executable: tuple[Word, ...] = ()
    """Words of the command; more than one where it was written as a command line."""
    arguments: tuple[Word, ...] = ()
    mpi_ranks: Count | None = None
    """Ranks in total."""
    threads: Count | None = None
    """OpenMP threads per rank."""
    minimal_efficiency: Fraction | None = None
    """Lowest acceptable parallel efficiency, above 0 and at most 1."""
    storage_class_pref: Name | None = None
    """Preferred storage class; the script exports its path as ``${MODAK_STORAGE}``."""
    stage_in: Annotated[tuple[StageIn, ...], Field(max_length=100)] = ()
    """Data to copy into ``${MODAK_SCRATCH}``, a directory of the job's own, before the run."""
    stage_out: Annotated[tuple[StageOut, ...], Field(max_length=100)] = ()
    """Data to copy out of ``${MODAK_SCRATCH}`` after the run."""
    preflight: bool = True
    """Whether the script begins with checks."""
    result_file: InsidePath | None = None
    """Where the script writes its result, relative to the folder of submission. Default: ``modak-result-JOB.json``."""
    pre_execution: tuple[Word, ...] = ()
    post_execution: tuple[Word, ...] = ()
    checkpoint: tuple[Word, ...] = ()
    """Runs on the first node when the signal before the limit comes; without it the application gets the signal."""
    build: Build | None = None

    @property
    def command(self) -> tuple[Word, ...]:
        """Executable and arguments."""
        return self.executable + self.arguments

    @property
    def words(self) -> tuple[Word, ...]:
        """All words in which a variable may be expanded: those of commands, and places that data are copied from and to."""
        places = (*(copy.source for copy in self.stage_in), *(copy.to for copy in self.stage_out))
        return (*self.command, *self.pre_execution, *self.post_execution, *self.checkpoint, *places)


class Target(Document):
    """Where to run. Without ``name``, only the scheduler is known."""

    name: Name | None = None
    """A system that MODAK knows. Without it, nothing is known about the nodes."""
    job_scheduler_type: Annotated[Name, Field(examples=["slurm", "torque", "pbspro", "lsf", "flux", "gridengine", "shell"])] | None = None
    """Name of a scheduler plug-in."""
    container_runtime: Annotated[Name, Field(examples=["apptainer", "charliecloud", "podman-hpc", "sarus", "enroot", "none"])] | None = None
    """Name of a runtime plug-in."""


class OptBuild(Document):
    """The hardware that the image has to support."""

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
"""A positive number and what a rate counts; see :func:`modak.results.metrics.parse_amount`."""
Value = Annotated[int, Field(strict=True, ge=-(2**53), le=2**53)] | Annotated[float, Field(strict=True, allow_inf_nan=False)] | Prose
"""What a parameter may be set to."""


class Steps(Document):
    """Values from ``low`` to ``high``, each ``step`` more than, or ``factor`` times, the one before."""

    low: Annotated[float, Field(allow_inf_nan=False)]
    """The first value."""
    high: Annotated[float, Field(allow_inf_nan=False)]
    """The last value."""
    step: Amount | None = None
    """Difference between a value and the one before."""
    factor: Annotated[float, Field(gt=1, le=1e6, allow_inf_nan=False)] | None = None
    """Ratio of a value to the one before."""


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
    """Values with which the job runs: exported variables, and options after the command."""

    environment: Annotated[Mapping[SettableName, Value], Field(max_length=MOST_SET)] = {}
    """A value for each variable."""
    options: Annotated[Mapping[OptionName, Value], Field(max_length=MOST_SET)] = {}
    """A value for each option."""


class Autotuning(Document):
    """What a tuner may change, and its budget; ``input`` is the tuner's own input text."""

    tuner: Name | None = None
    """Name of the tuner: ``cresta``, ``autotune``."""
    input: Annotated[SoundText, Field(max_length=20_000)] | None = None
    """The tuner's own input text."""
    space: Space | None = None
    setting: Setting = Setting()
    trials: Annotated[int, Field(ge=1, le=10_000, strict=True)] | None = None
    """Maximum number of trials."""
    budget_node_hours: Amount | None = None
    """Maximum node-hours of all trials together."""


class Config(Document):
    """The kind of training, and the network."""

    type: Literal["image_classification", "object_detection", "translation", "recommendation", "reinforcement_learning", "other"] | None = (
        None
    )
    """The kind of training."""
    distributed_training: bool | None = None
    """Whether several processes train together."""
    parallelisation: tuple[Literal["mpi", "openmp", "openacc", "opencl"], ...] = ()
    layers: Count | None = None
    """Number of layers of the network; used for sizing."""
    parameters: Amount | None = None
    """Number of trainable weights of the network."""


class Etl(Document):
    """Input pipeline."""

    prefetch: int | bool | None = None
    """Number of batches that are read ahead, or whether any are."""
    cache: int | bool | None = None
    """Whether samples are kept in memory after reading."""


class Data(Document):
    """The data set of a training run."""

    location: Prose | None = None
    """Where the data set is stored."""
    basename: Prose | None = None
    """Common name of its files."""
    train: Amount | None = None
    """Number of samples for training."""
    test: Amount | None = None
    """Number of samples for testing."""
    size_bytes: Amount | None = None
    files: Files | None = None
    """Number of files of the data set."""
    etl: Etl | None = None


class Objective(Document):
    """What to minimise, and under which constraints."""

    minimise: Literal["time", "node_hours", "energy", "cost"] | None = None
    """The quantity to minimise. Default: ``node_hours`` with a deadline, otherwise ``time``."""
    deadline: Seconds | None = None
    max_nodes: Count | None = None
    """Upper limit for the number of nodes."""
    min_efficiency: Fraction | None = None
    """Lower limit for the parallel efficiency, above 0 and at most 1."""
    budget_node_hours: Amount | None = None
    """Upper limit for node-hours."""
    confidence: Annotated[float, Field(ge=0.5, lt=1, allow_inf_nan=False)] = 0.9
    """One-sided: P(time <= deadline) >= confidence."""

    @property
    def constrained(self) -> bool:
        """Whether it states any limit."""
        return any(limit is not None for limit in (self.deadline, self.max_nodes, self.min_efficiency, self.budget_node_hours))


class PrintedMetric(Document):
    """A number that the application prints."""

    name: Name
    """Name of the metric."""
    unit: Prose
    """Unit of the number: ``samples/s``."""
    pattern: MetricPattern
    """An extended regular expression; its group is the number, read from the last line that matches."""


class Workload(Document):
    """The work to predict; ``epochs`` multiplies a time per epoch, ``samples`` and ``amount`` turn rates into times."""

    application: Name | None = None
    """The application whose results are used. Default: ``application.app_tag``."""
    dataset: Prose | None = None
    """The data set or problem; times of different ones are never compared."""
    epochs: Amount | None = None
    """Number of epochs; multiplies a time per epoch."""
    steps: Amount | None = None
    """Number of steps; multiplies a time per step."""
    samples: Amount | None = None
    """Samples per epoch; turns a throughput into a time."""
    amount: WorkAmount | None = None
    """The work of the whole run in the unit that a rate counts, for instance ``500 ns``; turns the rate into a time."""
    batch_size: Count | None = None
    """Batch size per worker: per GPU, or per rank on nodes without GPUs."""
    precision: Name | None = None
    """Precision of numbers: ``fp32``, ``fp16``; ``auto``: the one that results show to be faster."""
    compiler: Prose | None = None
    """The compiler that the application was built with, as in results: ``gcc-8.3``."""
    params: Annotated[Mapping[Name, Annotated[float, Field(allow_inf_nan=False)] | Prose], Field(max_length=MOST_SET)] = {}
    """Further parameters of the results, by name."""
    memory_per_rank_gb: Amount | None = None
    """Memory of the node that one rank needs, in GB."""
    memory_per_gpu_gb: Amount | None = None
    """Memory of a GPU that one rank needs, in GB."""
    memory_aside_gb: Amount | None = None
    """Other use of a node's memory in GB, such as an image or data unpacked into tmpfs."""
    metric: PrintedMetric | None = None
    """A number in the application's output, to be written into the job's result file."""


class FrameworkOptions(Document):
    """Base of every framework plug-in's options."""

    version: VersionRange | None = None
    """That version (``2.1`` is not 2.10 or 2.1.1), ``2.1.*``, or a range: ``>=1.14,<2``."""


class Optimisation(Document):
    """What MODAK has to decide, and what it needs to know about the application."""

    enable_opt_build: Switch = False
    """Whether to use an image built from source; ``auto``: if results show that it helps."""
    enable_autotuning: bool = False
    """Whether the answer says what a tuner would change."""
    app_type: Literal["ai_training", "ai_inference", "hpc", "big_data"] | None = None
    """The kind of application; decides which section is read."""
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
        """The application whose results are used for the prediction."""
        return self.optimisation.workload.application or self.application.app_tag


class Notice(Document):
    """A deviation from the request, or something that the reader should know."""

    field: str
    """Dotted path of the request's field concerned."""
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
    """Whether a core's second hardware thread is used."""
    numa_mode: Count | None = None
    """Number of NUMA domains in the mode that the node must have."""
    mpi: str | None = None
    """MPI library and version."""
    mpi_from: Literal["host", "container"] | None = None
    """Whether the host's or the container's MPI is used."""
    compiler: str | None = None
    """Graph compilers or switches that are on: ``xla``."""
    framework_version: str | None = None
    """Version of the framework."""
    precision: str | None = None
    """Precision of numbers: ``fp32``."""
    runtime: str | None = None
    """Container runtime; ``none``: no container."""
    image: str | None = None
    """Reference of the image."""
    batch_size: Count | None = None
    """Samples per worker and step."""
    global_batch: Total | None = None
    """Samples of all workers per step."""
    workers: Total | None = None
    """Number of GPUs, or of ranks on nodes without GPUs: the global batch is this many times a worker's batch."""
    opt_build: bool | None = None
    """Whether an image built from source is used because of results."""
    total_ranks: Total | None = None
    """Ranks in total, if fewer than nodes x ranks per node."""

    @property
    def ranks(self) -> int:
        """Ranks in total."""
        return self.total_ranks or self.nodes * self.ranks_per_node


class Prediction(Document):
    """A predicted workload time in seconds, with interval and basis. With the basis ``none`` there is no number."""

    metric: str = "time"
    """What is predicted."""
    value: float | None = None
    """Predicted value for the whole workload, in ``unit``; left out if nothing is known."""
    lower: float | None = None
    """Lower end of the interval, in ``unit``."""
    upper: float | None = None
    """Upper end of the interval, in ``unit``."""
    level: float = 0.9
    """Probability that the interval contains the time of the next run."""
    unit: str = "s"
    """Unit of ``value``, ``lower``, ``upper`` and ``per_unit``: seconds."""
    start_up: float | None = None
    """Part of ``value`` that starting the run takes, in ``unit``; left out if it is not known."""
    per_unit: float | None = None
    """Predicted value for one epoch, step or run (see ``per``), in ``unit``."""
    per: str | None = None
    """What ``per_unit`` refers to: an epoch, a step, a run."""
    basis: Basis = "none"
    """The evidence for the number; ``transferred``: similar runs; ``none``: no number."""
    model: str | None = None
    """Description of the model."""
    results_used: int = 0
    """Number of measured results used."""
    extrapolation: float = 0.0
    """Doublings beyond the measured sizes."""


class Choice(Document):
    """A configuration with its prediction and its cost."""

    configuration: Configuration
    prediction: Prediction
    node_hours: float | None = None
    """Nodes times hours, as predicted."""
    energy_kwh: float | None = None
    """Given if the system file has a node's power."""
    cost: float | None = None
    """Given if the system file has a price per node-hour; in that currency."""
    efficiency: float | None = None
    """Parallel efficiency, against the best layout at the smallest size: 1 is perfect."""
    why_not: str | None = None
    """For an alternative: why it was not chosen."""


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
    """Names of the rules that apply."""
    wall_time_s: int | None = None
    """Walltime limit of the script, in seconds."""
    decisions: tuple[str, ...] = ()
    """The reasons, one line per decision."""
    advice: tuple[str, ...] = ()
    """Advice that the script does not carry out."""
    warnings: tuple[Notice, ...] = ()


@dataclass(frozen=True)
class Texts:
    """The files of a plan; empty: there is none."""

    job_script: str
    build_script: str = ""
    definition: str = ""
    """The container recipe's text (Singularity definition or Dockerfile)."""
    definition_name: str = ""
