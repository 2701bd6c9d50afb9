"""What has to be built before a job can run: its image, its application, or both."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from modak.choosing.software import Software
from modak.dsl import Request
from modak.jobs.spec import BuildSpec, JobSpec
from modak.recipes.text import text_for
from modak.target import Target
from modak.text.units import clock

BUILD_TIME_S: Final = 2 * 3600
"""Shortest wall time of a build, if the queue allows it."""


def build_of(request: Request, target: Target, spec: JobSpec, definition: str) -> BuildSpec | None:
    """What is made before the job can run: the image of a recipe, the application of given sources; ``None``: nothing."""
    build = request.application.build
    if not definition and (build is None or not (build.src or build.build_command)):
        return None
    if build and build.src and "://" in build.src:
        target.check_place(build.src, "source", "application.build.src")
    wanted, place = max(BUILD_TIME_S, spec.attributes.wall_time_s or 0), _on_one_node(target)
    return BuildSpec(
        definition=definition,
        source=build.src if build else None,
        command=(build.build_command if build else None) or "",
        parallelism=(build.build_parallelism if build else None) or spec.resources.cores_per_node,
        queue=place.partition_for(1, wanted),
        qos=place.qos_for(1, wanted),
        wall_time_s=min(wanted, place.max_wall_time_s(1) or wanted),
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


def _on_one_node(target: Target) -> Target:
    """The target without the queue or quality of service that the request names, if that takes larger jobs only; the system's default
    partition, if all queues do."""
    if target.system and target.partition and target.is_recorded and target.partition.queues and not target.partition.queues_for(1):
        usual = target.system.default_partition
        return replace(target, partition=usual, scheduler_partition=None if usual.queues else usual.queue or usual.name, qos=None)
    larger = [queue for queue in (target.partition.queues if target.partition else ()) if queue.min_nodes > 1]
    if target.scheduler_partition in [queue.name for queue in larger]:
        target = replace(target, scheduler_partition=None)
    return replace(target, qos=None) if target.qos in [queue.qos for queue in larger] else target
