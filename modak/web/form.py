"""The form of the first page: its fields, and the request document that they make."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from modak.dsl import Application, Config, Document, JobOptions, Objective, Optimisation, Target, Workload
from modak.errors import RequestError
from modak.plugins import all_of
from modak.text.documents import with_value

PROGRAM, SPREAD = "program", "distributed"
"""The fields that say what kind of program it is; every other one is a field of the request."""
RUNTIME: Final = "runtime"
METRIC: Final = "optimisation.workload.metric"


@dataclass(frozen=True)
class Field:
    """One field of the form. ``path`` is the request's field, dotted, below ``job``."""

    name: str
    label: str
    path: str = ""
    hint: str = ""
    kind: str = "text"
    """``text``, ``number``, ``values`` (several by name), ``select`` or ``checkbox``."""
    example: str = ""


_RUN: Final = (
    Field("command", "Command", "application.executable", "as you type it, without mpirun or srun", example="./solver"),
    Field(PROGRAM, "Kind of program", hint="how it is started", kind="select"),
    Field(
        SPREAD,
        "Training over several processes",
        hint="if the program can: DistributedDataParallel, Horovod, …; not ticked: as in the results",
        kind="checkbox",
    ),
    Field(
        "application",
        "Application",
        "optimisation.workload.application",
        "any name: results are kept under it, and the prediction rests on those of the same name",
    ),
    Field("dataset", "Data set or problem", "optimisation.workload.dataset", "as in the results"),
    Field(
        "params",
        "Parameters of the program",
        "optimisation.workload.params",
        "a problem size, for instance, as in the results; auto: the value that was measured to be the best",
        "values",
        "cells=64000000 block=auto",
    ),
    Field("epochs", "Epochs", "optimisation.workload.epochs", "that the command trains", "number", "20"),
    Field(
        "pattern",
        "Time of an epoch in the output",
        f"{METRIC}.pattern",
        "if the program prints it: a pattern with the seconds in brackets, to tell epochs from start-up",
        example="epoch [0-9]+: ([0-9.]+) s",
    ),
    Field("samples", "Samples per epoch", "optimisation.workload.samples", "if results are samples per second", "number", "60000"),
    Field("batch", "Batch size", "optimisation.workload.batch_size", "of one process or GPU, or auto; the command sets it", "number", "64"),
    Field(
        "amount", "Amount of work", "optimisation.workload.amount", "of the whole run, if results are rates like ns/day", example="100 ns"
    ),
)
_PLACE: Final = (
    Field("system", "System", "target.name", "where the job runs", "select"),
    Field("partition", "Partition", "job_options.partition", "nodes of one kind, with a queue; empty: the system's default"),
    Field(RUNTIME, "Container", "target.container_runtime", "what starts it; none: the program is in an environment of yours", "select"),
    Field(
        "image",
        "Container image",
        "application.container_runtime",
        "empty: MODAK chooses; training uses only images that are listed under Images",
        example="docker://name/image:tag",
    ),
    Field("name", "Job name", "job_options.job_name", "in the queue", example="solver"),
    Field("account", "Account", "job_options.account", "the project that the job is charged to"),
    Field(
        "wall_time",
        "Wall time limit",
        "job_options.wall_time_limit",
        "then the system ends the job; empty: from the predicted time",
        example="02:00:00",
    ),
)
_GOAL: Final = (
    Field("minimise", "Minimise", "optimisation.objective.minimise", "default: time; with a deadline, node-hours", "select"),
    Field(
        "deadline",
        "Deadline",
        "optimisation.objective.deadline",
        "the longest time that the run may take: hours:minutes:seconds, or 90 min",
        example="01:30:00",
    ),
    Field("confidence", "Probability of meeting it", "optimisation.objective.confidence", "from 0.5, below 1; empty: 0.9", "number", "0.9"),
    Field(
        "max_nodes",
        "At most this many nodes",
        "optimisation.objective.max_nodes",
        "also allows sizes far beyond the measured ones",
        "number",
    ),
    Field("nodes", "Exactly this many nodes", "job_options.node_count", "empty: MODAK chooses", "number"),
    Field("threads", "Threads of a process", "application.threads", "1: the program uses one core; empty: MODAK chooses", "number"),
    Field("memory", "Memory per node", "job_options.memory_limit", "empty: the part that goes with the cores", example="16 GB"),
    Field("gpus", "GPUs per node", "job_options.request_gpus", "empty: MODAK chooses", "number"),
)
FORM: Final = {"What to run": _RUN, "Where": _PLACE, "Goal": _GOAL}
"""The groups of fields, by their titles."""
PATHS: Final = {field.path: field for fields in FORM.values() for field in fields if field.path}
"""The field of the form for a field of the request."""
_DECIDED_BY: Final = {
    "job_options.queue": PATHS["job_options.partition"],
    "target.": PATHS["target.name"],
    "optimisation.workload.params.": PATHS["optimisation.workload.params"],
    "optimisation.ai_training.": next(field for field in _RUN if field.name == PROGRAM),
}
"""How names of other fields begin that these of the form decide."""
_NAMES: Final = {
    **{name: field for path, field in PATHS.items() for name in (path, path.removeprefix("optimisation."))},
    "workload.metric": PATHS[f"{METRIC}.pattern"],
    "max_nodes": PATHS["optimisation.objective.max_nodes"],
    "node_count": PATHS["job_options.node_count"],
    "request_gpus": PATHS["job_options.request_gpus"],
    "application.app_tag": PATHS["optimisation.workload.application"],
    "config.parallelisation": next(field for field in _RUN if field.name == PROGRAM),
    "config.distributed_training": next(field for field in _RUN if field.name == SPREAD),
}
"""What sentences call the fields of a request."""
_NAMED: Final = re.compile(rf"(?<![\w.-])(?:{'|'.join(sorted(map(re.escape, _NAMES), reverse=True))})(?![\w-]|\.\w)")
_SECTIONS: Final[Mapping[str, type[Document]]] = {
    "application": Application,
    "target": Target,
    "job_options": JobOptions,
    "optimisation": Optimisation,
    "config": Config,
    "workload": Workload,
    "objective": Objective,
}
_FIELDS: Final = (*(f"{section}.{name}" for section, of in _SECTIONS.items() for name in of.model_fields), "optimisation.ai_training")
_OTHER: Final = re.compile(rf"(?<![\w./-])(?:optimisation\.)?(?:{'|'.join(map(re.escape, _FIELDS))})(?![\w-])(?:\.[a-z_]+)*")
"""Any field of a request; a file of a name like ``config.sh`` is none."""
OBJECTIVES: Final = (("", "default"), *((name, name.replace("_", "-")) for name in Objective.allowed("minimise")))


def programs() -> list[tuple[str, str]]:
    """Kinds of programs that the form offers, with their titles."""
    trained = sorted((one.name for one in all_of("frameworks") if one.kind == "ai"), key=str.lower)
    plain = [("", "one process"), ("mpi", "MPI"), ("openmp", "threads of one process (OpenMP, XGBoost)")]
    return plain + [(name, f"training with {name}") for name in trained]


def called(path: str) -> tuple[str, str]:
    """What the form calls a field of the request, and the field's name there; the group of a section, which is no field."""
    near = next((field for start, field in _DECIDED_BY.items() if path.startswith(start)), None)
    if field := PATHS.get(path) or near:
        return field.label, field.name
    groups = (title for title, fields in FORM.items() if any(field.path.startswith(f"{path}.") for field in fields))
    return next(groups, path), ""


def in_words(text: str) -> str:
    """A text with the labels of the form in place of names of the request's fields."""
    return _NAMED.sub(lambda found: f"'{_NAMES[found[0]].label}'", text)


def unnamed(texts: Iterable[str]) -> str | None:
    """The first name of a field in texts that the form does not have, or calls otherwise; ``None``: there is none."""
    return next((found[0] for text in texts if (found := _OTHER.search(text))), None)


def runtimes() -> list[tuple[str, str]]:
    """What may start the container, with titles; the programs of one's own first."""
    known = sorted(one.name for one in all_of("runtimes") if one.name != "none")
    return [("", "MODAK chooses"), ("none", "none: installed on the system, or by me"), *((name, name) for name in known)]


def place(name: str) -> int:
    """Where a field is in the form, counted from its top; what is no field comes last."""
    names = [field.name for fields in FORM.values() for field in fields]
    return names.index(name) if name in names else len(names)


def document(values: Mapping[str, str]) -> dict[str, Any]:
    """The request that the fields make; empty ones are left out. Whether a value is right, the reader of requests says.

    Raises :class:`modak.errors.RequestError` for parameters without names, and without a command: a document may leave it out, whose job
    gets it as ``MODAK_COMMAND``.
    """
    given = {name: value.strip() for name, value in values.items() if value.strip()}
    if "command" not in given:
        raise RequestError("is required", field="application.executable")
    made: Any = {"job": _of_program(given.get(PROGRAM, ""), several=SPREAD in given)}
    for path, field in PATHS.items():
        if text := given.get(field.name):
            read = _READ.get(field.kind, str)
            made = with_value(made, ("job", *path.split(".")), read(text))
    for name, value in {"name": "epoch_time", "unit": "s"}.items() if "pattern" in given else ():
        made = with_value(made, ("job", *METRIC.split("."), name), value)
    return dict(made)


def filled(request: Any) -> dict[str, str] | None:
    """The fields that make a request; ``None`` for one that no filled form makes, as text of several lines, which a browser would join."""
    found = {field.name: _at(request, ("job", *path.split("."))) for path, field in PATHS.items()}
    given = {name: _written(value) for name, value in found.items() if value is not None}
    if any(mark in value for value in given.values() for mark in "\r\n"):
        return None
    ways = ({**given, PROGRAM: program, **several} for program, _ in programs() for several in ({}, {SPREAD: "yes"}))
    try:
        return next((values for values in ways if document(values) == request), None)
    except RequestError:  # there is no command, or the field takes no such parameters, as a text with blanks
        return None


def _at(document: Any, path: Sequence[str]) -> Any:
    """What a document has at a path; ``None``: nothing."""
    for key in path:
        document = document.get(key) if isinstance(document, Mapping) else None
    return document


def _number(text: str) -> float | str:
    """The number in a text; text that is none stays, and is refused like one of a request."""
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text):
        return text
    return float(text) if "." in text else int(text)


def _values(text: str) -> dict[str, float | str]:
    """Values by name. Raises :class:`modak.errors.RequestError` for another text."""
    named = [piece.partition("=") for piece in re.split(r"[\s,;]+", text.strip(" ,;"))]
    values = {name: _number(value) for name, _, value in named}
    if not all(name and value for name, _, value in named) or len(values) < len(named):
        raise RequestError("allowed: NAME=VALUE, several with blanks between them, each name once", field="optimisation.workload.params")
    return values


_READ: Final[Mapping[str, Callable[[str], Any]]] = {"number": _number, "values": _values}
"""How the text of a field is read, by its kind."""


def _written(value: Any) -> str:
    """A value as it is typed into its field."""
    return " ".join(f"{name}={each}" for name, each in value.items()) if isinstance(value, Mapping) else str(value)


def _of_program(program: str, *, several: bool) -> dict[str, Any]:
    """The sections that say what kind of program it is."""
    if not program:
        return {}
    if program in ("mpi", "openmp"):
        kind = "mpi" if program == "mpi" else "hpc"
        return {"application": {"app_type": kind}, "optimisation": {"app_type": "hpc", "hpc": {program: {}}}}
    training = {"config": {"distributed_training": True}} if several else {}  # otherwise results may say so
    return {"application": {"app_type": "python"}, "optimisation": {"app_type": "ai_training", "ai_training": {**training, program: {}}}}
