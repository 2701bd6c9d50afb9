"""What has to be built before a job can run: its image, its application, or both."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from modak.choosing.shapes import Shape
from modak.choosing.software import Software
from modak.dsl import Build, Request
from modak.facts import Partition, Queue, System
from modak.jobs.resources import resources_of, with_memory
from modak.jobs.spec import BuildSpec, Elsewhere, JobSpec
from modak.recipes.text import text_for
from modak.target import Target
from modak.text.units import clock

_NO_SOURCES: Final = Build()
BUILD_TIME_S: Final = 2 * 3600
"""Shortest wall time of a build, if the queue allows it."""


def build_of(request: Request, target: Target, spec: JobSpec, definition: str) -> BuildSpec | None:
    """What is made before the job can run: the image of a recipe, the application of given sources; ``None``: nothing.

    It is made on nodes of the job's partition, unless these take larger jobs only, or do not reach the internet and others do.
    """
    build = request.application.build or _NO_SOURCES
    if not (definition or build.src or build.build_command):
        return None
    if build.src and "://" in build.src:
        target.check_place(build.src, "source", "application.build.src")
    wanted, place = max(BUILD_TIME_S, spec.attributes.wall_time_s or 0), _with_internet(request, _on_one_node(target, spec))
    elsewhere = _elsewhere(request, place, spec, wanted) if place.partition is not target.partition else None
    cores = (elsewhere.resources if elsewhere else spec.resources).cores_per_node
    return BuildSpec(
        definition=definition,
        source=build.src,
        command=build.build_command or "",
        parallelism=build.build_parallelism or cores,
        queue=place.partition_for(1, wanted),
        qos=place.qos_for(1, wanted),
        wall_time_s=min(wanted, place.max_wall_time_s(1) or wanted),
        elsewhere=elsewhere,
        internet=_reach(place.partition, place.system),
    )


def why_little_time(build: BuildSpec, target: Target) -> tuple[str, ...]:
    """That the build job may have too little time, if its queue allows less than builds are given."""
    if build.wall_time_s >= BUILD_TIME_S:
        return ()
    less = f"{clock(build.wall_time_s)} for the build job, all that {target.title} allows"
    return (f"wall time: {less}; a build from source may take hours: if it is stopped, name a partition with more time for it",)


def definition_of(software: Software, target: Target) -> tuple[str, str]:
    """Text and file name of the plan's recipe; empty if the image exists."""
    if software.recipe is None or target.runtime is None:
        return "", ""
    return text_for(software.recipe, target.runtime.name)


def why_there(build: BuildSpec, target: Target) -> tuple[str, ...]:
    """Where the build job runs, if that is another partition than the job's."""
    if build.elsewhere is None:
        return ()
    away = build.internet and _reach(target.partition, target.system) is False
    of_gpus = target.partition is not None and all(queue.min_gpus for queue in target.partition.queues)
    why = "have no internet" if away else "take jobs with GPUs only" if of_gpus else "take larger jobs only"
    return (f"build: in {build.queue or 'the default partition'}, because the nodes of {target.title} {why}",)


def _reach(partition: Partition | None, system: System | None) -> bool | None:
    """Whether the nodes reach the internet; ``None``: unknown."""
    own = partition.internet if partition else None
    return own if own is not None or system is None else system.internet


def _with_internet(request: Request, target: Target) -> Target:
    """The target, or, if its nodes do not reach the internet, the first partition whose nodes do, and which takes a job of one node."""
    system, here = target.system, target.partition
    if system is None or here is None or not target.is_recorded or _reach(here, system) is not False:
        return target

    taking = (one for one in system.partitions if not one.refused_account(request.job_options.account))
    found = next((one for one in taking if one.internet and (not one.queues or one.queues_for(1))), None)
    return _in_partition(target, found) if found else target


def _in_partition(target: Target, partition: Partition) -> Target:
    """The target in another partition, by the name that the scheduler has for it."""
    named = None if partition.queues else partition.queue or partition.name
    return replace(target, partition=partition, scheduler_partition=named, qos=None)


def _elsewhere(request: Request, place: Target, spec: JobSpec, seconds: int) -> Elsewhere | None:
    """The part of a node there that a build gets: the cores of the job, as far as there are so many, and what memory belongs to them."""
    if place.partition is None:
        return None
    cores = min(spec.resources.cores_per_node, place.partition.node.usable_cores)
    free = dict.fromkeys(("memory_limit", "minimum_memory_per_processor", "core_count", "core_count_per_process", "process_count_per_node"))
    alone = request.changed(job_options=free, application={"mpi_ranks": None, "threads": None})
    has = with_memory(alone, place, resources_of(alone, place, Shape(1, cores), 1), seconds)
    return Elsewhere(has, place.partition.constraint, place.partition.resource_directives)


def _on_one_node(target: Target, spec: JobSpec) -> Target:
    """The target without the queue or quality of service that the request names, if that takes only jobs of more than one node with the
    CPUs and the memory of the job there, or with GPUs; the system's default partition, if all queues do."""

    def takes_larger(queue: Queue) -> bool:
        memory = spec.resources.node_memory / 1e9 or queue.min_memory_gb or 0.0
        has_enough = (queue.min_cpus or 0) <= spec.cpus_per_node and (queue.min_memory_gb or 0.0) <= memory
        return queue.min_nodes > 1 or not has_enough or bool(queue.min_gpus)

    queues = target.partition.queues if target.partition else ()
    larger = [queue for queue in queues if takes_larger(queue)]
    if target.system and target.is_recorded and queues and len(larger) == len(queues):
        return _in_partition(target, target.system.default_partition)
    if target.scheduler_partition in [queue.name for queue in larger]:
        target = replace(target, scheduler_partition=None)
    return replace(target, qos=None) if target.qos in [queue.qos for queue in larger] else target
