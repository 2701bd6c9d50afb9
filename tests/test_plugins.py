"""Plug-ins are found by name, wherever they come from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from modak import plugins, testing
from modak.errors import Conflict, UnknownName
from modak.jobs.spec import JobSpec
from modak.launchers import Launcher
from modak.launchers.mpirun import Mpirun
from modak.runtimes import Runtime
from modak.schedulers import Scheduler
from modak.schedulers.gridengine import GridEngine
from modak.schedulers.slurm import Slurm
from modak.script.bash import Line, comment


@dataclass(frozen=True)
class Variant:
    name: str
    aliases: tuple[str, ...] = ()


@pytest.mark.parametrize("kind", ["schedulers", "launchers", "runtimes"])
def test_every_name_and_alias_finds_its_variant(kind: str) -> None:
    """A variant is found by each of its names."""
    for variant in plugins.all_of(kind):
        for name in plugins.called(variant):
            assert plugins.find(kind, name) is variant


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("docker", "apptainer.*charliecloud.*none.*singularity"),
        ("nothing", "apptainer.*charliecloud.*none.*singularity"),
        ("podman", "did you mean 'podman-hpc'"),
    ],
)
def test_an_unsupported_runtime_is_answered_with_the_supported_ones(name: str, known: str) -> None:
    """Docker, Shifter and plain Podman are no variants; the message lists what is, or names what may be meant."""
    with pytest.raises(UnknownName, match=f"unknown container runtime '{name}'.*{known}") as refused:
        plugins.find("runtimes", name)
    assert refused.value.status == 404


def test_a_variant_of_another_package_stands_beside_the_built_ins() -> None:
    """Built-ins come first."""
    assert plugins.joined("schedulers", [Variant("slurm")], [Variant("oar")]) == (Variant("slurm"), Variant("oar"))


@pytest.mark.parametrize("second", [Variant("slurm"), Variant("mine", ("slurm",)), Variant("sbatch"), Variant("mine", ("sbatch",))])
def test_two_variants_of_one_name_are_an_error(second: Variant) -> None:
    """No silent override, neither of a name nor of an alias."""
    with pytest.raises(Conflict, match=r"two variants of scheduler are called '(slurm|sbatch)'"):
        plugins.joined("schedulers", [Variant("slurm", ("sbatch",))], [second])


@pytest.mark.parametrize(("value", "why"), [("no_such_package:IT", "ModuleNotFoundError"), ("modak.plugins:NOTHING", "AttributeError")])
def test_a_package_that_cannot_be_loaded_is_named(value: str, why: str) -> None:
    """In one line, with its entry point and what went wrong in it."""
    with pytest.raises(Conflict, match=f"'{value}' under modak.schedulers cannot be loaded: {why}: "):
        plugins.loaded(EntryPoint("mine", value, "modak.schedulers"))


@pytest.mark.parametrize("scheduler", plugins.all_of("schedulers"), ids=lambda each: each.name)
def test_every_scheduler_keeps_its_contract(scheduler: Scheduler) -> None:
    """The importable contract holds for what is installed."""
    testing.check_scheduler(scheduler)


@pytest.mark.parametrize(
    ("scheduler", "why"),
    [
        (Variant("mine"), "Variant derives from modak.schedulers.Scheduler, which has the defaults"),
        (replace(Slurm(), launcher="jsrun"), "launcher is one that works under this scheduler: jsrun starts processes under LSF"),
        (replace(Slurm(), launcher="none"), "launcher is one that works under this scheduler: without a launcher 2000 ranks"),
        (replace(Slurm(), preempted="if true"), "preempted is shell text: it "),
        (replace(Slurm(), dependency="$DEPENDENCY"), "'.DEPENDENCY' is the name of a variable, or None"),
        (replace(Slurm(), exclusive=False), "exclusive says whether there is an option for it"),
        (replace(GridEngine(), exclusive=True), "exclusive says whether there is an option for it"),
    ],
)
def test_a_scheduler_that_says_what_scripts_cannot_use_breaks_its_contract(scheduler: Any, why: str) -> None:
    """Its scripts would fail, or could not be written."""
    with pytest.raises(AssertionError, match=f"broken: {why}"):
        testing.check_scheduler(scheduler)


def test_a_scheduler_whose_checks_depend_on_the_run_breaks_its_contract() -> None:
    """They are made once for all runs of a configuration."""

    class Named(Slurm):
        def preflight(self, job: JobSpec) -> tuple[Line, ...]:
            return (comment(job.attributes.name),)

    with pytest.raises(AssertionError, match="broken: preflight is the same for all runs"):
        testing.check_scheduler(Named())


@pytest.mark.parametrize("launcher", plugins.all_of("launchers"), ids=lambda each: each.name)
def test_every_launcher_keeps_its_contract(launcher: Launcher) -> None:
    """The importable contract holds for what is installed."""
    testing.check_launcher(launcher, plugins.all_of("schedulers"))


def test_a_launcher_that_states_the_number_of_nodes_before_the_run_breaks_its_contract() -> None:
    """Its set-up is kept for all numbers of nodes above one."""

    class Counting(Mpirun):
        def setup(self, job: JobSpec, scheduler: Scheduler) -> tuple[Line, ...]:
            return (comment(f"{job.resources.nodes} nodes"),)

    with pytest.raises(AssertionError, match="the same for all numbers of nodes above one"):
        testing.check_launcher(Counting(), plugins.all_of("schedulers"))


def test_a_launcher_that_needs_ssh_on_many_nodes_alone_breaks_its_contract() -> None:
    """What jobs have in common is kept for all numbers of nodes above one."""

    class Reaching(Mpirun):
        def needs_ssh(self, job: JobSpec, scheduler: Scheduler) -> bool:
            return job.resources.nodes > 2

    with pytest.raises(AssertionError, match="needs_ssh are the same for all numbers of nodes above one"):
        testing.check_launcher(Reaching(), plugins.all_of("schedulers"))


@pytest.mark.parametrize("runtime", plugins.all_of("runtimes"), ids=lambda each: each.name)
def test_every_runtime_keeps_its_contract(runtime: Runtime) -> None:
    """The importable contract holds for what is installed."""
    testing.check_runtime(runtime)
