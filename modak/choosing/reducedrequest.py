"""The part of a request on which its candidates, their predictions, and what all jobs of a configuration have in common depend.

Many requests differ only in names, commands and lengths of the run; their candidates, and the time per unit of work, are the
same. :func:`reduce_request` reduces a request to that part, so that nothing else can influence results that are cached under its keys.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from types import MappingProxyType
from typing import Final, NamedTuple, TypeVar

from modak.dsl import Application, Document, Request, Workload
from modak.results.units import parse_amount

JOB_OPTIONS: Final = (
    "node_count",
    "request_specific_nodes",
    "process_count_per_node",
    "core_count_per_process",
    "core_count",
    "memory_limit",
    "minimum_memory_per_processor",
    "request_gpus",
    "node_exclusive",
    "partition",
    "queue",
    "architecture_constraint",
)
APPLICATION: Final = ("app_type", "mpi_ranks", "allowed_ranks", "threads", "container_runtime")
OPTIMISATION: Final = ("app_type", "enable_opt_build", "opt_build", "config", "framework", "options", "further", "written")
SOFTWARE_FIELDS: Final = (*APPLICATION, "app_tag", "storage_class_pref")
"""Fields of the application on which image and rules depend."""
OBJECTIVE: Final = ("max_nodes",)
WORKLOAD: Final = ("dataset", "params", "batch_size", "precision", "compiler", "memory_per_rank_gb", "memory_per_gpu_gb", "memory_aside_gb")

_COUNTS: Final = frozenset({"node_count", "request_specific_nodes", "mpi_ranks"})
_layout: Final = attrgetter(*(name for name in JOB_OPTIONS if name not in _COUNTS))
_run: Final = attrgetter(*(name for name in APPLICATION if name not in _COUNTS))
_of_kind: Final = attrgetter(*(name for name in OPTIMISATION if name not in ("further", "written")))
_of_work: Final = attrgetter(*(name for name in WORKLOAD if name != "params"))
_software_fields: Final[Callable[[Application], tuple[Hashable, ...]]] = attrgetter(*SOFTWARE_FIELDS)

_ANY_LENGTH: Final[Mapping[str, float]] = MappingProxyType({})

Part = TypeVar("Part", bound=Document)
_NOTHING: Final = Request()


@dataclass(frozen=True, eq=False)
class ReducedRequest:
    """A question to the models: one object for requests that differ only in names, lengths and counts, so that cache keys with it need not
    compare all of its parts."""

    request: Request
    """These requests, reduced, without counts."""


class Counts(NamedTuple):
    """The fields that :func:`without_counts` removes. With :func:`key_of_any_size`, equal for requests that are reduced to the same."""

    nodes: int | None
    named: str | None
    """Names of nodes."""
    ranks: int | None


def counts_of(request: Request) -> Counts:
    """The counts of a request."""
    options = request.job_options
    return Counts(options.node_count, options.request_specific_nodes, request.application.mpi_ranks)


def key_of_any_size(request: Request) -> tuple[Hashable, ...]:
    """A cache key: equal for requests that are reduced to the same :func:`without_counts`."""
    wanted = request.optimisation
    work, params = wanted.workload, tuple(sorted(wanted.workload.params.items()))
    further = tuple(sorted(wanted.further.items())) if wanted.further else ()
    written = tuple(sorted(wanted.written.items()))
    values = (*_layout(request.job_options), *_run(request.application), *_of_kind(wanted), *_of_work(work))
    lengths = _counted(work), bool(work.samples), bool(work.epochs), bool(work.steps)
    return (request.workload_name, *values, wanted.objective.max_nodes, params, further, written, *lengths)


def software_fields_key(request: Request) -> tuple[Hashable, ...]:
    """A cache key for the fields of the application on which image and rules depend."""
    return _software_fields(request.application)


def reduce_request(request: Request, application: Iterable[str] = APPLICATION, lengths: Mapping[str, float] = _ANY_LENGTH) -> Request:
    """The request reduced to what candidates and predictions depend on.

    Numbers of samples, epochs and steps become 1, and an amount becomes 1 of its unit. ``lengths``: by unit, lengths of the run to use
    instead of 1, if runs of several lengths were measured.
    """
    wanted, work = request.optimisation, request.optimisation.workload
    units = {name: lengths.get(name, 1.0) if getattr(work, name) else None for name in ("samples", "epochs", "steps")}
    counts = _counted(work)
    known = {"application": request.workload_name, "amount": f"{lengths.get(counts, 1.0):.12g} {counts}" if counts else None, **units}
    optimisation = {
        "objective": _with(_NOTHING.optimisation.objective, wanted.objective, OBJECTIVE),
        "workload": _with(_NOTHING.optimisation.workload, work, WORKLOAD, **known),
    }
    parts = {
        "job_options": _with(_NOTHING.job_options, request.job_options, JOB_OPTIONS),
        "application": _with(_NOTHING.application, request.application, application),
        "optimisation": _with(_NOTHING.optimisation, wanted, OPTIMISATION, **optimisation),
    }
    return _NOTHING.model_copy(update=parts)


def without_counts(request: Request) -> Request:
    """The request without nodes and total ranks: the time of a shape on some nodes does not depend on who chose their number."""
    return without_nodes(request.changed(application={"mpi_ranks": None}))


def without_nodes(request: Request) -> Request:
    """The request without the number of nodes, and without names of nodes, which may stand for it."""
    return request.changed(job_options={"node_count": None, "request_specific_nodes": None})


def with_counts(request: Request, counts: Counts) -> Request:
    """The request with these counts."""
    nodes = {"node_count": counts.nodes, "request_specific_nodes": counts.named}
    return request.changed(job_options=nodes, application={"mpi_ranks": counts.ranks})


def _counted(work: Workload) -> str | None:
    return parse_amount(work.amount).counts if work.amount else None


def _with(blank: Part, part: Part, names: Iterable[str], **more: object) -> Part:
    """The blank section with the named fields of another one, and ``more`` values."""
    return blank.model_copy(update={name: getattr(part, name) for name in names} | more)
