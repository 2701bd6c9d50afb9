"""How long a run may take before its job is stopped."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from functools import cache
from typing import Final

from modak.dsl import Request
from modak.target import Target

START_UP_S: Final = 120
"""Added to the predicted time if the system's file does not give its start-up time: measured times begin with the run, after the script has
done its checks, copied files and unpacked images."""


def start_up_s(given: float | None, predicted: float) -> float:
    """What a job takes to start beside its predicted time, of which ``predicted`` is start-up: the time that the system's file gives, where
    it gives one, unless that is predicted."""
    return START_UP_S if given is None else 0.0 if predicted else given


def is_continued(request: Request) -> bool:
    """Whether another job may go on where this one is stopped."""
    return bool(request.job_options.signal or request.job_options.job_dependency or request.application.checkpoint)


def limits_hold(request: Request, target: Target) -> bool:
    """Whether the limits of the target's queues are surely those of the job: a quality of service or a reservation may have limits of its
    own that are not on record, and so may a partition, or one that scripts do not name."""
    unnamed = target.system is not None and target.system.partition_directive == "never"
    unknown_qos = target.qos and target.qos not in [queue.qos for queue in target.queues]
    return not (unknown_qos or request.job_options.reservation or unnamed) and target.is_recorded


def binding_limit(request: Request, target: Target, nodes: int) -> int | None:
    """The seconds that a job on a number of nodes can have, if that is less than the request asks for; ``None``: it is not, or not
    surely."""
    asked, limit = request.job_options.wall_time_limit, target.max_wall_time_s(nodes)
    over = asked is not None and limit is not None and asked > limit
    return limit if over and limits_hold(request, target) else None


def longest_run(request: Request, target: Target) -> Callable[[int], float] | None:
    """The seconds after which a job on a number of nodes is stopped: the wall time that is requested, or the longest of a job there;
    infinite where neither is known. ``None``: no run is stopped, or another job continues it."""
    asked = request.job_options.wall_time_limit
    if is_continued(request) or target.scheduler == "shell":
        return None
    queues = target.partition.queues if target.partition else ()
    bounds = sorted({bound for queue in queues for bound in (queue.min_nodes, queue.max_nodes + 1)})

    @cache
    def limit(nodes: int) -> float:
        return binding_limit(request, target, nodes) or asked or target.max_wall_time_s(nodes) or math.inf

    def longest(nodes: int) -> float:
        at = bisect_right(bounds, nodes) - 1  # from one bound to the next the same queues take a job
        return limit(bounds[at] if at >= 0 and nodes < bounds[-1] else nodes)

    return longest
