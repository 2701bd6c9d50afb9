"""What an unknown key of a request probably means: the field that it is another word for, or the place where such a thing belongs.

Add a word of schedulers and other tools here. A word that is read as the field itself is in :mod:`modak.normalise`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from modak import dsl, plugins
from modak.errors import nearest_name
from modak.normalise.spellings import fold, parted

MOST_LISTED: Final = 12
"""Longest list of known keys in a note; longer ones are in the schema."""
_ELSEWHERE: Final[Mapping[str, str]] = {
    name: f"{place}.{name}"
    for place, names in (
        ("optimisation.ai_training.config", ("ai_framework", "distributed_training")),
        ("optimisation.hpc.config", ("parallelisation",)),
        ("optimisation.opt_build", dsl.OptBuild.model_fields),
        ("target", ("job_scheduler_type",)),
        ("optimisation", ("enable_opt_build", "enable_autotuning", "opt_build", "autotuning", "objective", "workload")),
        ("optimisation.workload", dsl.Workload.model_fields),
        ("optimisation.objective", dsl.Objective.model_fields),
        ("application", dsl.Application.model_fields),
        ("job_options", dsl.JobOptions.model_fields),
    )
    for name in names
} | {"runtime": "target.container_runtime", **dict.fromkeys(("system", "cluster", "machine"), "target.name")}
"""Fields of a request that are written into another of its sections, by name."""
_NOT_HERE: Final[Mapping[str, str]] = {
    **dict.fromkeys(("module", "modules"), "those of a site are in its system file; load your own before you submit"),
    **dict.fromkeys(
        ("env", "environment", "environment_variables"),
        "optimisation.autotuning.setting.environment sets variables, job_options.copy_environment_variable passes yours on",
    ),
    **dict.fromkeys(
        ("requirements", "packages", "pip", "conda", "conda_env", "venv", "virtualenv", "python"),
        "begin the executable with the path of your environment's Python, and set target.container_runtime to 'none'; or use an image "
        "that has the packages",
    ),
    "image": "application.container_runtime names an image",
    "job": "only the whole document has it",
    **dict.fromkeys(("job_options", "target", "optimisation", "optimization"), "it is a section of its own, directly in 'job'"),
    **dict.fromkeys(
        ("budget_core_hours", "budget_cpu_hours", "budget_gpu_hours"),
        "budget_node_hours is the limit: divide by the cores, or GPUs, of a node",
    ),
    **dict.fromkeys(("working_directory", "workdir", "work_dir", "cwd", "chdir"), "a job starts in the folder from which it is submitted"),
}
"""What requests are often expected to have, and where it is instead."""
_MEANT: Final[Mapping[str, str]] = {
    word: field
    for field, words in {
        "memory_limit": ("mem", "memory", "memory_per_node"),
        "minimum_memory_per_processor": ("mem_per_cpu", "memory_per_core"),
        "core_count_per_process": ("cpus", "ncpus", "cpus_per_task", "cores_per_task", "cores_per_rank"),
        "mpi_ranks": ("ranks", "tasks", "ntasks", "processes", "nprocs"),
        "process_count_per_node": ("ranks_per_node", "ppn", "ntasks_per_node", "tasks_per_node", "mpiprocs"),
        "node_count": ("nodes", "nnodes", "num_nodes"),
        "request_gpus": ("gres", "gpu", "gpus", "ngpus", "num_gpus", "gpus_per_node"),
        "core_count": ("cores", "cores_per_node", "cpus_per_node"),
        "wall_time_limit": ("walltime", "wall_time", "time", "time_limit"),
        "node_exclusive": ("exclusive",),
        "job_array": ("array",),
        "job_dependency": ("dependency",),
        "architecture_constraint": ("features", "constraint"),
        "email_address": ("mail", "mail_user"),
        "request_event_notification": ("mail_type",),
        "request_specific_nodes": ("nodelist", "hosts"),
        "defer_job": ("begin", "start"),
        "copy_environment": ("export",),
        "account": ("project",),
        "job_scheduler_type": ("scheduler",),
        "app_tag": ("app", "app_name", "application_name"),
        "minimise": ("minimize",),
        "executable": ("command", "cmd", "program", "script"),
        "container_runtime": ("container",),
        "ai_framework": ("framework",),
        "params": ("problem_size", "size", "parameters"),
    }.items()
    for word in words
}
"""Names that options of schedulers and other tools have for a field."""


def unknown_key(key: str, known: Collection[str]) -> str:
    """What is said of a key that is none of the ``known`` ones of its object."""
    key = key if framework_of(key) else parted(key)
    meant = _MEANT.get(fold(key), fold(key))
    if meant not in known and (where := _NOT_HERE.get(fold(key))):
        return f"unknown key, ignored: {where}"
    close = (meant if meant in known else elsewhere(meant)) or nearest_name(key, sorted(known))
    listed = f"; known: {', '.join(sorted(known))}" if len(known) <= MOST_LISTED else ""
    return "unknown key, ignored" + (f"; did you mean {close!r}?" if close else listed)


def place_of(name: str) -> str:
    """Where a request says what an option of that name would; empty: nowhere.

    >>> place_of("nodes"), place_of("image")
    ('in the request it is the field job_options.node_count', 'application.container_runtime names an image')
    """
    field = elsewhere(_MEANT.get(fold(name), name))
    return f"in the request it is the field {field}" if field else _NOT_HERE.get(fold(name), "")


def elsewhere(key: str) -> str | None:
    """The place of a field, or of a framework's options, that belongs into another section."""
    found = framework_of(key)
    return f"optimisation.{'hpc' if found.kind == 'parallel' else 'ai_training'}.{found.name}" if found else _ELSEWHERE.get(fold(key))


def framework_of(key: Any) -> Any | None:
    """The framework whose options a key holds: ``tensorflow`` or, as published, ``ai_framework-tensorflow``; ``None``: there is none."""
    name = fold(key).removeprefix("ai_framework_").removeprefix("parallelisation_").removeprefix("parallelization_")
    return plugins.named("frameworks", name.replace("_", "-"))
