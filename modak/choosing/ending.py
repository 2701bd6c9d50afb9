"""How long a run may take before its job is stopped."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Final

from modak.dsl import Request
from modak.target import Target

START_UP_S: Final = 120
"""Added to the predicted time if the system's file does not give its start-up time: measured times begin with the run, after the script has
done its checks, copied files and unpacked images."""


def start_up_s(target: Target) -> float:
    """What is added to predicted times that have no start-up in them: that of the system's file, where it gives one."""
    given = target.system.start_up_s if target.system else None
    return START_UP_S if given is None else given


def is_continued(request: Request) -> bool:
    """Whether another job may go on where this one is stopped."""
    return bool(request.job_options.signal or request.job_options.job_dependency or request.application.checkpoint)


def longest_run(request: Request, target: Target) -> Callable[[int], float] | None:
    """The seconds that a run on a number of nodes may take within the wall time that is requested, and within the longest of a job there;
    infinite where neither is known. ``None``: no run is stopped, or another job continues it."""
    asked, start = request.job_options.wall_time_limit, start_up_s(target)
    if is_continued(request) or target.scheduler == "shell":
        return None
    return cache(lambda nodes: min(asked or math.inf, target.max_wall_time_s(nodes) or math.inf) - start)
