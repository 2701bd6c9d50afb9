"""What of a request its candidates and their predictions depend on.

Requests differ in names, commands and lengths; what runs can be chosen from, and how long a unit of it takes, is the same
for many of them. :func:`essence` is a request with that alone, so that nothing else can slip into what is kept under
:func:`key`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Final

from modak.dsl import Application, Document, JobOptions, Objective, Optimisation, Request, Workload

JOB_OPTIONS: Final = ("node_count", "process_count_per_node", "core_count_per_process", "core_count", "memory_limit", "request_gpus")
APPLICATION: Final = ("app_type", "mpi_ranks", "threads")
OPTIMISATION: Final = ("app_type", "enable_opt_build", "opt_build", "config", "framework", "options")
OUTFIT: Final = (*APPLICATION, "app_tag", "container_runtime", "storage_class_pref")
"""Of the application, for what runs around it: image and rules."""
OBJECTIVE: Final = ("max_nodes",)
WORKLOAD: Final = ("dataset", "params", "batch_size", "precision", "memory_per_rank_gb", "memory_per_gpu_gb", "memory_aside_gb")


def key(request: Request) -> tuple[Hashable, ...]:
    """The same for requests of the same essence."""
    wanted = request.optimisation
    work, parts = wanted.workload, ((request.job_options, JOB_OPTIONS), (request.application, APPLICATION), (wanted, OPTIMISATION))
    values = [request.workload_name, *(getattr(part, name) for part, names in parts for name in names)]
    params = tuple(sorted(work.params.items()))
    asked = [getattr(work, name) for name in WORKLOAD if name != "params"]
    return (*values, wanted.objective.max_nodes, *asked, params, bool(work.samples))


def outfit_key(request: Request) -> tuple[Hashable, ...]:
    """What requests of one essence differ in, as far as image and rules ask."""
    return tuple(getattr(request.application, name) for name in OUTFIT)


def essence(request: Request, application: Iterable[str] = APPLICATION) -> Request:
    """The request with what counts; of a number of samples only that there is one."""
    wanted = request.optimisation
    workload: dict[str, Any] = {**_values(wanted.workload, WORKLOAD), "samples": 1.0 if wanted.workload.samples else None}
    workload["application"] = request.workload_name
    within: Mapping[str, Any] = {
        "objective": Objective(**_values(wanted.objective, OBJECTIVE)),
        "workload": Workload.model_construct(**workload),
    }
    return Request(
        job_options=JobOptions.model_construct(**_values(request.job_options, JOB_OPTIONS)),
        application=Application.model_construct(**_values(request.application, application)),
        optimisation=Optimisation.model_construct(**_values(wanted, OPTIMISATION), **within),
    )


def without_counts(request: Request) -> Request:
    """An essence that says nothing of sizes: what a shape takes on a number of nodes is the same whoever gives that number."""
    options = request.job_options.model_copy(update={"node_count": None})
    application = request.application.model_copy(update={"mpi_ranks": None})
    return request.model_copy(update={"job_options": options, "application": application})


def _values(part: Document, names: Iterable[str]) -> Mapping[str, Any]:
    return {name: getattr(part, name) for name in names}
