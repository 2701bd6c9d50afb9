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
    """``nvidia``, ``amd``, ``intel`` or ``none``."""
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
