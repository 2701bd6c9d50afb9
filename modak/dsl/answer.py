"""The answer: the configuration, what is predicted for it, why, and the texts to submit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from modak.dsl.document import Count, Document

Basis = Literal["measured", "interpolated", "extrapolated", "transferred", "heuristic", "none"]
Total = Annotated[int, Field(ge=1, strict=True)]
"""A product of counts, which bound it."""


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
    params: Mapping[str, str] | None = None
    """Values of the parameters that the request leaves open, as results have them."""
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
    """What ``per_unit`` refers to: an epoch (of inference: a pass over the data), a step, a run."""
    basis: Basis = "none"
    """The evidence for the number; ``transferred``: similar runs; ``none``: no number."""
    model: str | None = None
    """Description of the model."""
    results_used: int = 0
    """Number of measured results used."""
    extrapolation: float = 0.0
    """Doublings beyond the measured sizes."""
    longer_than: float | None = None
    """Runs that were stopped tell that it takes longer than this, in ``unit``, which the number takes into account; left out if none do."""


class Costed(Document):
    """A configuration with its prediction and its cost."""

    configuration: Configuration
    prediction: Prediction
    node_share: float | None = None
    """The part of each node that the job is charged for, where jobs share nodes: the largest of its parts of cores, GPUs and memory. Left
    out: whole nodes."""
    node_hours: float | None = None
    """Nodes times hours, as predicted; of a part of each node its ``node_share``."""
    core_hours: float | None = None
    """``node_hours`` times the cores of a node, where they are known."""
    gpu_hours: float | None = None
    """``node_hours`` times the GPUs of a node, if the job uses GPUs."""
    energy_kwh: float | None = None
    """In kWh, where the system's file gives a node's power."""
    cost: float | None = None
    """In the currency of the system's price per node-hour, where it gives one."""
    efficiency: float | None = None
    """Parallel efficiency, against the best layout at the smallest size: 1 is perfect. The work that it compares are node-hours."""


class Choice(Costed):
    """One of the configurations that an answer compares."""

    why_not: str | None = None
    """For an alternative: why it was not chosen."""


class Plan(Costed):
    """The answer: what to run, why, how long it takes, and the text to submit."""

    id: str
    """The plan's name; the same request on the same data gives the same one."""
    alternatives: tuple[Choice, ...] = ()
    image: Mapping[str, Any] | None = None
    """The catalogue's entry of the image that it runs in."""
    recipe: Mapping[str, Any] | None = None
    """How the image is made: ``file`` and ``content`` of what is built."""
    rules: tuple[str, ...] = ()
    """Names of the rules that apply."""
    wall_time_s: int | None = None
    """Wall time limit of the script, in seconds."""
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
