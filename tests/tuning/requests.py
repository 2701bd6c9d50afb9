"""A request to tune, for the tests of tuning and of the tuner."""

from __future__ import annotations

from typing import Any

from modak.dsl import Request
from modak.facts import Facts
from modak.normalise import normalise
from modak.optimise import optimise
from modak.target import resolve
from modak.tuning.trial import base_request


def document(**changed: Any) -> dict[str, Any]:
    """A request to tune, for a plain shell; ``autotuning`` may be changed."""
    space = {"environment": {"LEVEL": [1, 2, 3]}, "options": {"-n": [5, 7]}}
    return {
        "job": {
            "application": {"app_tag": "toy", "app_type": "other", "executable": "./program.sh"},
            "target": {"job_scheduler_type": "shell", "container_runtime": "none"},
            "optimisation": {
                "enable_autotuning": True,
                "autotuning": {"tuner": "autotune", "space": space, **changed},
                "workload": {"metric": {"name": "throughput", "unit": "samples/s", "pattern": "rate: ([0-9]+)"}},
            },
        }
    }


def request_of(**changed: Any) -> Request:
    """The same, read."""
    return normalise(document(**changed), strict=True).request


def based(request: Request) -> Request:
    """With what its plan chose."""
    nothing = Facts(version="")
    return base_request(request, optimise(request, nothing).plan.configuration, resolve(request, nothing))
