"""The numbers of nodes to predict for a shape, and why there may be only one."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

import numpy as np

from modak import plugins
from modak.arrays import Ints
from modak.choosing.counts import StatedCounts
from modak.choosing.requirements import WITHIN_ONE_PROCESS, by_torchrun
from modak.choosing.shapes import Shape
from modak.choosing.topology import CandidateSearch
from modak.dsl import Request
from modak.errors import Infeasible
from modak.jobs.spec import JobSpec, Resources
from modak.launchers.base import USUAL
from modak.target import Target

DENSE: Final = 64
"""Every node count up to this one is a candidate; beyond it, steps of about 1/64 and all measured sizes."""


def node_counts(search: CandidateSearch, shape: Shape) -> Ints:
    """Node counts to predict for a shape: the given one, or the fewest if nothing is known of its scaling, or else all that are allowed."""
    counts, target, curves = search.counts, search.target, search.curves
    if counts.nodes or counts.ranks:
        return np.array([_nodes_for(counts, shape)], dtype=np.int64)
    if not search.distributed or only_one_node(search.request, target):
        return np.array([1], dtype=np.int64)
    scales = target.system is not None and any(len(set(curve.nodes)) > 1 for curve in curves)  # on any system
    measured = [float(count) for curve in curves for count in curve.nodes]
    most = search.request.optimisation.objective.max_nodes
    least, limit = target.job_nodes or (1, most or 2 * int(max(measured, default=1)))
    known = scales or shape.origin in ("evidence", "assumed", "raised", "fuller")
    grid = node_grid(min(limit, most or limit), measured) if known else np.array([least], dtype=np.int64)
    return accepted_node_counts(grid, target)


def node_grid(limit: int, measured: Iterable[float] = ()) -> Ints:
    """Node counts to predict: all up to 64, then steps of about 1/64, the measured ones and the limit."""
    dense = range(1, min(limit, DENSE) + 1)
    steps = int(DENSE * math.log(limit / DENSE)) if limit > DENSE else 0
    coarse = np.rint(np.geomspace(DENSE, limit, steps)) if steps > 1 else ()
    sizes = [size for size in measured if size <= limit and float(size).is_integer()]
    return np.unique(np.array([*dense, *coarse, *sizes, limit])).astype(np.int64)


def accepted_node_counts(sizes: Ints, target: Target) -> Ints:
    """The node counts that a queue takes, of those that the request names or of all; all counts, if there is no queue for any."""
    takes = [(sizes >= queue.min_nodes) & (sizes <= queue.max_nodes) for queue in target.queues]
    found = sizes[np.any(takes, axis=0)] if takes else sizes
    return found if len(found) else sizes


def only_one_node(request: Request, target: Target) -> str:
    """Why the run cannot be started on several nodes; empty if it can."""
    system, scheduler, by_itself = target.system, plugins.find("schedulers", target.scheduler), by_torchrun(request)
    job = JobSpec(("true",), Resources(nodes=2), system=system)
    if by_itself and (why := plugins.find("launchers", "torchrun").unfit(job, scheduler)):
        return why
    if system is None or system.ssh_between_nodes is not False:
        return ""
    own = [name for name in (system.launcher, scheduler.launcher) if name]  # the scheduler's starts what the system's would start by ssh
    names = ["torchrun"] if by_itself else own or [USUAL]
    needed = all(plugins.find("launchers", name).needs_ssh(job, scheduler) for name in names)
    return f"{names[0]} needs ssh to start on several nodes, and {system.name} has no ssh between nodes" if needed else ""


def why_one_node(search: CandidateSearch, *, scales: bool) -> tuple[str, ...]:
    """A line if only one node is considered although a job there can have several and the request does not ask for one process.

    ``scales``: whether several sizes are candidates, or nothing was measured at all.
    """
    request, target, counts = search.request, search.target, search.counts
    several = target.partition is not None and target.partition.job_nodes > 1
    if counts.nodes or counts.ranks:
        return ()
    why, framework = "", request.optimisation.framework
    if search.distributed:
        why = only_one_node(request, target)
        if not (why or scales) and several and request.optimisation.objective.max_nodes != 1:
            why = "no result shows how the application scales over nodes (node_count asks for more)"
    elif several and framework and request.optimisation.config.distributed_training is None:
        why = "neither the request (the framework's distribution, config.distributed_training) nor results say that there are several ranks"
        if framework in WITHIN_ONE_PROCESS:
            why = f"{framework} works within one process (unless config.parallelisation names mpi, too)"
    return (f"only single-node runs are considered: {why}",) if why else ()


def with_room(search: CandidateSearch, shapes: tuple[Shape, ...], *, queued: bool = False) -> tuple[Shape, ...]:
    """The shapes that have the ranks asked for on as many nodes as a job there can have; none, if none has. ``queued``: that its queues
    take, too, unless the request names a quality of service or a reservation, which may have limits of their own."""
    counts, target, options = search.counts, search.target, search.request.job_options
    limit = target.largest_job
    if limit is None or counts.ranks is None:
        return shapes
    if queued and target.job_nodes and not (options.qos or options.reservation):
        limit = target.job_nodes[1]
    return tuple(shape for shape in shapes if _nodes_for(counts, shape) <= limit)


def check_room(search: CandidateSearch, shapes: tuple[Shape, ...]) -> tuple[Shape, ...]:
    """:func:`with_room`. Raises :class:`Infeasible` if there is none."""
    counts, target = search.counts, search.target
    limit, found = target.largest_job, with_room(search, shapes)
    if not found:
        least = min(_nodes_for(counts, shape) for shape in shapes)
        given = f" (with job_options.core_count {search.request.job_options.core_count})" if counts.cores else ""
        if all(shape.gpus_per_node == shape.ranks_per_node for shape in shapes):
            given = " (one for each GPU, unless job_options.process_count_per_node says otherwise)"
        message = f"{counts.ranks} ranks requested, on at least {least} nodes{given}, but a job on {target.title} can have at most {limit}"
        raise Infeasible(message, field="application.mpi_ranks")
    return found


def _nodes_for(counts: StatedCounts, shape: Shape) -> int:
    """The number of nodes that is given, or that the given ranks need."""
    return counts.nodes or math.ceil((counts.ranks or 1) / shape.ranks_per_node)
