"""Rules: what a site or an application adds to scripts, and when."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from modak.facts.fact import Fact, Prose
from modak.text.grammar import EnvironmentName, LauncherOption, ModuleName, Name, VersionRange


class Condition(Fact):
    """When a rule holds: every given key must match; a list means any of them. Nothing given holds everywhere."""

    application: tuple[Name, ...] = ()
    """The ``app_tag`` of the request."""
    application_version: VersionRange | None = None
    """Of the application."""
    app_type: tuple[Literal["ai_training", "ai_inference", "hpc", "big_data"], ...] = ()
    """The kind of application."""
    framework: tuple[Name, ...] = ()
    """The framework, or the model of parallel programs."""
    framework_version: VersionRange | None = None
    """Of the framework."""
    compiler: tuple[Name, ...] = ()
    """The graph compiler."""
    distribution: tuple[Name, ...] = ()
    """What spreads training over processes: ``horovod``."""
    system: tuple[Name, ...] = ()
    """The system's name or an alias."""
    partition: tuple[Name, ...] = ()
    """The partition's name."""
    scheduler: tuple[Name, ...] = ()
    """The scheduler."""
    launcher: tuple[Name, ...] = ()
    """The launcher."""
    runtime: tuple[Name, ...] = ()
    """The container runtime."""
    processor_vendor: tuple[Name, ...] = ()
    """``intel``, ``amd``, ``arm`` or ``ibm``."""
    accelerator: tuple[Name, ...] = ()
    """``nvidia``, ``amd``, ``intel`` or ``none``."""
    interconnect: tuple[Name, ...] = ()
    """The family of the network."""
    mpi: tuple[Name, ...] = ()
    """The family of the MPI library."""
    mpi_from: tuple[Literal["host", "container"], ...] = ()
    """Whose MPI library the ranks use."""
    mpi_version: VersionRange | None = None
    """Of the MPI library."""
    storage_class: tuple[Name, ...] = ()
    """Where the job's data should lie."""
    multi_node: bool | None = None
    """Whether the job has more than one node."""
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
    """As answers name it."""
    title: Prose
    """What it does."""
    when: Condition = Condition()
    priority: Annotated[int, Field(ge=0, le=100)] = 50
    """Of two rules that set one variable, the higher one wins."""
    environment: Mapping[EnvironmentName, Annotated[str, Field(max_length=1000)]] = {}
    """Variables that are exported."""
    modules: tuple[ModuleName, ...] = ()
    """Modules that are loaded."""
    launcher_options: tuple[LauncherOption, ...] = ()
    """Options behind the launcher's own, for instance ``--gpu-bind=closest``, where it starts the ranks itself."""
    stage: Literal["environment", "before", "after", "staging"] = "environment"
    """When ``script`` runs: with the modules, once data is copied, before the run, or after it."""
    script: Annotated[str, StringConstraints(max_length=20_000, strip_whitespace=False)] | None = None
    """Shell text, stored as it is."""
    advice: Prose | None = None
    """A sentence for the answer, where the rule holds."""
    source: Prose
    """Who says so."""
