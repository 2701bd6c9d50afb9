"""Options for the scheduler, and where the job runs."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from modak.dsl.document import Bytes, Count, Document, Seconds
from modak.text.grammar import (
    Account,
    ArraySpec,
    BeginTime,
    Constraint,
    CopiedName,
    Dependency,
    Email,
    JobName,
    Name,
    NodeList,
    OutputPath,
    SiteResource,
)

Event = Literal["begin", "end", "fail", "requeue", "time_limit", "array_tasks", "none"]
SignalName = Literal["USR1", "USR2", "TERM", "INT", "HUP", "URG"]
MOST_RESOURCES: Final = 20


class Signal(Document):
    """A signal that the job gets before its wall time limit."""

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
    """The scheduler's queue; beside ``partition``, a queue of that partition."""
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


class Target(Document):
    """Where to run. Without ``name``, only the scheduler is known."""

    name: Name | None = None
    """A system that MODAK knows. Without it, nothing is known about the nodes."""
    job_scheduler_type: Name | None = None
    """Name of a scheduler plug-in."""
    container_runtime: Name | None = None
    """Name of a runtime plug-in."""
