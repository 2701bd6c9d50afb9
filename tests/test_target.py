"""The target of a request: what is known of it, and what is said where the request asks for something else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from modak.facts import Facts
from modak.normalise import normalise
from modak.target import Target, find_system, resolve

Known = Callable[[str | None], Facts]


def place(known: Known, target: Mapping[str, Any] | None = None, **options: Any) -> Target:
    """The target of a request that says nothing else."""
    return resolve(normalise({"job": {"target": target or {}, "job_options": options}}).request, known(None))


def messages(found: Target) -> dict[str, str]:
    """Warnings by field."""
    return {warning.field: warning.message for warning in found.warnings}


@pytest.mark.parametrize("name", ["supermuc-ng", "supermuc_ng", "SuperMUC-NG"])
def test_a_system_is_found_in_any_spelling(name: str, known: Known) -> None:
    """Case and underscores do not tell systems apart."""
    found = find_system(name, known(None))
    assert found is not None
    assert found.name == "supermuc-ng"


def test_without_a_name_there_is_only_a_scheduler(known: Known) -> None:
    """No facts, and nothing made up."""
    found = place(known, {"job_scheduler_type": "slurm"})
    assert (found.scheduler, found.system, found.partition, found.host_mpi) == ("slurm", None, None, None)


def test_the_systems_scheduler_wins(known: Known) -> None:
    """HLRS runs Torque, whatever the request says."""
    found = place(known, {"name": "hlrs-testbed", "job_scheduler_type": "slurm"})
    assert found.scheduler == "torque"
    assert "runs torque, not slurm" in messages(found)["target.job_scheduler_type"]


def test_an_unknown_partition_is_asked_for_as_given(known: Known) -> None:
    """The user may know the site better; limits come from the default partition, and that is said."""
    found = place(known, {"name": "supermuc-ng"}, partition="special")
    assert (found.asks_for(4), found.partition and found.partition.name) == ("special", "thin")
    assert "no partition 'special' on record" in messages(found)["job_options.partition"]


@pytest.mark.parametrize(("nodes", "queue"), [(1, "micro"), (16, "micro"), (17, "general"), (768, "general"), (769, "large")])
def test_queues_follow_the_size_of_the_job(nodes: int, queue: str, known: Known) -> None:
    """The first queue that takes the job."""
    assert place(known, {"name": "supermuc-ng"}).asks_for(nodes) == queue


def test_a_partition_of_the_request_is_that_partition(known: Known) -> None:
    """Facts and limits of the fat nodes, and their queue."""
    found = place(known, {"name": "supermuc-ng"}, partition="fat")
    assert (found.partition and found.partition.job_nodes, found.asks_for(4)) == (144, "fat")


def test_a_queue_by_size_names_its_partition(known: Known) -> None:
    """Asked for by its queue's name, the partition is known."""
    found = place(known, {"name": "supermuc-ng"}, queue="general")
    assert (found.partition and found.partition.name, found.asks_for(4), found.warnings) == ("thin", "general", ())


@pytest.mark.parametrize("runtime", ["singularity", "apptainer"])
def test_singularity_and_apptainer_stand_in_for_each_other(runtime: str, known: Known) -> None:
    """A site that has one runs the other's images."""
    found = place(known, {"name": "hlrs-testbed", "container_runtime": runtime})
    assert found.runtime is not None
    assert found.runtime.name == "singularity"
    assert not found.warnings


def test_a_refused_runtime_names_reason_date_and_what_is_allowed(known: Known) -> None:
    """Why, since when, and what instead."""
    found = place(known, {"name": "supermuc-ng", "container_runtime": "apptainer"})
    message = messages(found)["target.container_runtime"]
    assert "as of 2020" in message
    assert "allowed: charliecloud" in message
    assert found.runtime is not None
    assert found.runtime.name == "charliecloud"


def test_no_container_is_a_choice_of_its_own(known: Known) -> None:
    """``none`` is honoured everywhere."""
    assert place(known, {"name": "supermuc-ng", "container_runtime": "none"}).runtime is None


def test_an_unknown_system_names_the_nearest(known: Known) -> None:
    """Its own name is kept: results may be known under it."""
    found = place(known, {"name": "stampede3"})
    assert found.name == "stampede3"
    assert "did you mean 'stampede2'" in messages(found)["target.name"]
