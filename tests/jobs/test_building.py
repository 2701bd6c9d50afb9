"""The job that builds what another one needs: where it runs, and for how long."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from modak.dsl import Request
from modak.facts import Facts, Queue
from modak.optimise import optimise
from tests.choosing.asked import asked, changed
from tests.examples import Known, answer, example

BUILD = {"src": "https://example.org/3dgan.git", "build_command": "make"}


def building(example_of: str = "3dgan-supermuc-ng", **options: Any) -> Request:
    """The request of an example for a job with these options, which builds its program."""
    return example(example_of, application__build=BUILD, job_options=options, optimisation__objective={})


def where(known: Known, request: Request, partition: str, **fields: Any) -> Facts:
    """What is known for it, where that partition has other fields."""
    facts = known(request.workload_name)
    system = facts.systems[request.target.name or ""]
    assert partition in {one.name for one in system.partitions}
    parts = tuple(one.model_copy(update=fields) if one.name == partition else one for one in system.partitions)
    return replace(facts, systems={**facts.systems, system.name: system.model_copy(update={"partitions": parts})})


@pytest.mark.parametrize("asked", [{}, {"partition": "general"}])
def test_a_build_asks_for_a_queue_that_takes_one_node(asked: dict[str, str], known: Known) -> None:
    """The job's own queue may be for larger jobs only, which would reject the build."""
    texts = answer(example("3dgan-supermuc-ng", application__build=BUILD, job_options=asked), known).texts
    assert "--partition=general\n" in texts.job_script
    assert "--partition=micro\n" in texts.build_script


def test_a_build_goes_to_the_default_partition_if_its_own_takes_larger_jobs_only(known: Known) -> None:
    """The partition of the job has no queue for one node, as the reasons say."""
    request = building(partition="fat", node_count=4)
    found = optimise(request, where(known, request, "fat", queues=(Queue(name="fat", min_nodes=2, max_nodes=128),)))
    assert ("--partition=fat\n" in found.texts.job_script, "--partition=micro\n" in found.texts.build_script) == (True, True)
    assert "build: in micro, because the nodes of supermuc-ng/fat take larger jobs only" in found.plan.decisions


def test_a_build_stays_in_a_queue_that_the_request_names(known: Known) -> None:
    """If it takes one node, even if another one would be chosen."""
    request = building(queue="long", node_count=4)
    queues = tuple(Queue(name=name, max_nodes=128) for name in ("short", "long"))
    assert "--partition=long\n" in optimise(request, where(known, request, "fat", queues=queues)).texts.build_script


@pytest.mark.parametrize(("wall_time", "limit"), [("01:00:00", "02:00:00"), ("06:00:00", "06:00:00"), ("3-00:00:00", "2-00:00:00")])
def test_a_build_has_two_hours_or_the_time_of_its_job_as_far_as_the_queue_allows(wall_time: str, limit: str, known: Known) -> None:
    """A job of minutes may need an image that takes an hour to build."""
    request = example("3dgan-supermuc-ng", application__build=BUILD, job_options={"wall_time_limit": wall_time, "node_count": 24})
    assert f"--time={limit}\n" in answer(request, known).texts.build_script


@pytest.mark.parametrize(("limit", "told"), [(3600, ["01:00:00"]), (7200, [])])
def test_a_build_that_may_have_too_little_time_is_told_of(limit: int, told: list[str], known: Known) -> None:
    """The queue allows an hour, and a build is given two."""
    request = building(node_count=4)
    plan = optimise(request, where(known, request, "thin", queues=(), max_wall_time_s=limit)).plan
    assert re.findall(r"wall time: (\S+) for the build job, all that", " ".join(plan.decisions)) == told


def test_a_build_has_the_quality_of_service_of_one_node(known: Known) -> None:
    """That of its job may be for larger jobs."""
    request = example("3dgan-supermuc-ng", application__build=BUILD, job_options={"qos": "large", "node_count": 24})
    usual = known(None).systems["supermuc-ng"].default_partition.queues
    queues = tuple(queue.model_copy(update={"qos": name}) for queue, name in zip(usual, ("few", "large", "all"), strict=True))
    texts = optimise(request, where(known, request, "thin", queues=queues)).texts
    assert ("--qos=large\n" in texts.job_script, "--qos=few\n" in texts.build_script) == (True, True)


def test_a_build_does_not_name_a_quality_of_service_for_jobs_with_gpus(known: Known) -> None:
    """It has none: Slurm would hold it for ever."""
    options = {"qos": "cards", "request_gpus": 1}
    request = example("resnet50-gpu-cluster", application__build=BUILD, job_options=options, optimisation__objective={})
    facts = known(request.workload_name)
    (name,) = [name for name in facts.systems if name == request.target.name]
    system = facts.systems[name]
    queues = (Queue(name="gpu", max_nodes=1), Queue(name="gpu", qos="cards", max_nodes=1, min_gpus=1))
    parts = tuple(one.model_copy(update={"queues": queues}) if one.node.accelerators else one for one in system.partitions)
    texts = optimise(request, replace(facts, systems={**facts.systems, name: system.model_copy(update={"partitions": parts})})).texts
    assert ("--qos=cards\n" in texts.job_script, "--qos" in texts.build_script) == (True, False)


@pytest.mark.parametrize(("fewest", "named"), [(10, True), (100, False)])
def test_a_build_does_not_name_a_quality_of_service_for_jobs_of_more_cpus(fewest: int, named: bool, known: Known) -> None:
    """Slurm rejects it: it has one node, with 40 CPUs of it."""
    request = building(qos="many", node_count=8, process_count_per_node=20, core_count_per_process=1)
    queues = (Queue(name="general", max_nodes=768), Queue(name="general", qos="many", max_nodes=768, min_cpus=fewest))
    texts = optimise(request, where(known, request, "thin", queues=queues)).texts
    assert ("--qos=many\n" in texts.job_script, "--qos=many\n" in texts.build_script) == (True, named)


@pytest.mark.parametrize(("least", "named"), [(60, True), (90, False)])
def test_a_build_does_not_name_a_quality_of_service_for_jobs_with_more_memory(least: float, named: bool, known: Known) -> None:
    """It has the memory that the job has of one node."""
    request = building(qos="roomy", node_count=2)
    queues = (Queue(name="general", max_nodes=768), Queue(name="general", qos="roomy", max_nodes=768, min_memory_gb=least))
    texts = optimise(request, where(known, request, "thin", queues=queues, default_memory_per_cpu_gb=0.1)).texts
    assert ("--qos=roomy\n" in texts.job_script, "--qos=roomy\n" in texts.build_script) == (True, named)


def test_a_build_leaves_a_partition_for_jobs_with_gpus(known: Known) -> None:
    """For the default one; the reasons say why."""
    (gpus,) = known(None).systems["dgx-1"].partitions
    only = gpus.model_copy(update={"name": "cards", "default": False, "queues": (Queue(name="cards", max_nodes=1, min_gpus=1),)})
    facts = changed(known, "dgx-1", partitions=(gpus, only), scheduler="slurm")(None)
    options = {"partition": "cards", "request_gpus": 1}
    request = asked("dgx-1", application__executable="./a", application__build=BUILD, job_options=options)
    found = optimise(request, facts)
    assert ("--partition=cards\n" in found.texts.job_script, "--partition=default\n" in found.texts.build_script) == (True, True)
    assert "build: in default, because the nodes of dgx-1/cards take jobs with GPUs only" in found.plan.decisions


@pytest.mark.parametrize(
    ("thin", "login", "account", "place"),
    [(None, True, None, "login"), (True, True, None, "thin"), (None, None, None, "thin"), (None, True, "old", "thin")],
)
def test_a_build_goes_where_the_internet_is(thin: bool | None, login: bool | None, account: str | None, place: str, known: Known) -> None:
    """With what that partition has, not what the job has: fewer cores, less memory. Otherwise a warning says what to do."""
    options = {"node_count": 4, "process_count_per_node": 48, "memory_limit": "70 GB", "account": account}
    request = example("3dgan-supermuc-ng", application__build=BUILD, job_options=options, optimisation__objective={})
    facts = known(request.workload_name)
    system = facts.systems["supermuc-ng"]
    first = system.partitions[0].model_copy(update={"queues": (), "internet": thin, "constraint": "compute"})
    node = first.node.model_copy(update={"sockets": 1, "cores": 8, "reserved_cores": 0, "usable_memory_gb": 16, "numa_modes": ()})
    update = {"name": "login", "default": False, "only_if_named": True, "node": node, "internet": login, "constraint": "external"}
    other = first.model_copy(update=update | {"default_memory_per_cpu_gb": 0.1, "denied_accounts": ("old",)})
    system = system.model_copy(update={"partitions": (first, other)})
    plan, texts = (answer := optimise(request, replace(facts, systems={**facts.systems, "supermuc-ng": system}))).plan, answer.texts
    moved = place == "login"
    assert [f"--{text}\n" in texts.build_script for text in ("partition=login", "constraint=external", "cpus-per-task=8")] == [moved] * 3
    assert ("--mem=15258M\n" in texts.build_script, "--mem=66757M\n" in texts.build_script) == (moved, not moved)
    assert ("--constraint=compute\n" in texts.build_script, "--constraint=compute\n" in texts.job_script) == (not moved, True)
    warned = any("have no internet" in one.message for one in plan.warnings)
    told = "build: in login, because the nodes of supermuc-ng/thin have no internet" in plan.decisions
    assert (warned, told) == (place == "thin" and not thin, moved)
