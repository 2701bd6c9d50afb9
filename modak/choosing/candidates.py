"""System + request -> the configurations worth predicting.

Shapes (what is the same on every node) come from the evidence of that application on that system where there is any,
else from the node's topology: one rank a node, a socket, a NUMA domain or a GPU. Counts that the request gives are
kept; counts that it leaves out are chosen.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from modak import plugins
from modak.choosing import memory
from modak.choosing.counts import StatedCounts, stated_counts
from modak.choosing.measured import evidence_shapes, mpi_asked
from modak.choosing.shapes import ASSUMED, Shape
from modak.choosing.topology import topology_shapes
from modak.choosing.wishes import by_torchrun, is_distributed
from modak.choosing.workload import Problem, of_one_problem, unknown_dataset, with_problem
from modak.dsl import Notice, Request
from modak.errors import Infeasible
from modak.facts import HostMpi, Node
from modak.jobs.spec import JobSpec, Resources
from modak.perfmodel import Curve
from modak.perfmodel.matching import same_name
from modak.target import Target

if TYPE_CHECKING:
    from modak.choosing.switching import SwitchEvidence

DENSE = 64
"""Every node count up to here is a candidate; beyond, steps of about 1/64 and all measured sizes."""


@dataclass(frozen=True)
class Candidates:
    """Shapes, and for each the node counts to predict."""

    shapes: tuple[Shape, ...]
    nodes: tuple[npt.NDArray[np.int64], ...]
    given: StatedCounts
    decisions: tuple[str, ...] = ()
    warnings: tuple[Notice, ...] = ()
    tried: tuple[SwitchEvidence, ...] = ()
    """Switches that are left to the evidence, with what results say of them."""
    problem: Problem = field(default_factory=Problem)
    """The one whose results are asked: the request's, or one of several."""
    distributed: bool = True
    """Whether the run is of several processes."""


def enumerate_candidates(request: Request, target: Target, curves: Sequence[Curve]) -> Candidates:
    """Every configuration of the request that can run on the target.

    Raises :class:`modak.errors.Infeasible` where a given count exceeds the system, or nothing fits a node's memory.
    """
    counts = stated_counts(request, target)
    _check_limits(counts, request, target)
    problem, several = of_one_problem(request, curves, target.names)
    notes = (*several, *unknown_dataset(request, curves))
    request = with_problem(request, problem)
    host, other_mpi = _host_mpi(request, target)
    found = tuple(evidence_shapes(request, target, curves, host))
    distributed = _runs_distributed(request, target, found, curves)
    whole = (each for shape in found for each in _completed(shape, request, target, counts, distributed, host))
    proven = tuple(dict.fromkeys(shape for shape in whole if _agrees(shape, counts, distributed) and _fits(shape, target.node)))
    shapes, warnings = (proven, ()) if proven else topology_shapes(request, target, counts, distributed, host)
    fitting = tuple(shape for shape in shapes if _fits(shape, target.node) and memory.obstacle(request, target, shape) is None)
    if not fitting:
        raise Infeasible(_nothing_fits(shapes, target, request), field="optimisation.workload")
    grids = tuple(_grid(shape, request, target, counts, curves, distributed) for shape in fitting)
    notices = (*counts.warnings, *(other_mpi if any(shape.mpi_from != "container" for shape in fitting) else ()), *warnings, *notes)
    why = (*_why(fitting, target), *_why_one_node(request, target, counts))
    return Candidates(fitting, grids, counts, why, notices, problem=problem, distributed=distributed)


def on_nodes(found: Candidates, nodes: int, request: Request, target: Target) -> Candidates:
    """The candidates of a request that differs from the one they were found for in its number of nodes alone. Raises likewise."""
    counts = replace(found.given, nodes=nodes)
    _check_limits(counts, request, target)
    return replace(found, given=counts, nodes=(np.array([nodes], dtype=np.int64),) * len(found.shapes))


def node_grid(limit: int, measured: Iterable[float] = ()) -> npt.NDArray[np.int64]:
    """Node counts to predict: all up to 64, then steps of about 1/64, the measured ones and the limit."""
    dense = range(1, min(limit, DENSE) + 1)
    steps = int(DENSE * math.log(limit / DENSE)) if limit > DENSE else 0
    coarse = np.rint(np.geomspace(DENSE, limit, steps)) if steps > 1 else ()
    sizes = [size for size in measured if size <= limit and float(size).is_integer()]
    return np.unique(np.array([*dense, *coarse, *sizes, limit])).astype(np.int64)


def _host_mpi(request: Request, target: Target) -> tuple[HostMpi | None, tuple[Notice, ...]]:
    """The host's MPI that the request asks for, else the system's default, with a warning."""
    asked = mpi_asked(request)
    found = target.mpi_called(asked)
    if found or not (asked and target.host_mpi and target.system):
        return found or target.host_mpi, ()
    known = ", ".join(mpi.family for mpi in target.system.mpi)
    message = f"no {asked} is recorded for {target.system.name} (known: {known}); {target.host_mpi.family} is used instead"
    field = "framework" if request.optimisation.framework == asked else "options.library"
    return target.host_mpi, (Notice(field=f"optimisation.{field}", message=message),)


def _check_limits(counts: StatedCounts, request: Request, target: Target) -> None:
    """Raise :class:`modak.errors.Infeasible` where the counts or the memory asked for exceed what a job there can have."""
    partition = target.partition
    if partition is None:
        return
    if counts.nodes and counts.nodes > partition.job_nodes:
        message = f"{counts.nodes} nodes requested, but a job on {target.title} can have at most {partition.job_nodes}"
        raise Infeasible(message, field="job_options.node_count")
    usable = memory.usable_gb(target)
    asked = request.job_options.memory_limit
    if usable and asked and asked > usable * 1e9:
        message = f"{asked / 1e9:g} GB per node requested, but only {usable:g} GB are usable on nodes of {target.title}"
        raise Infeasible(message, field="job_options.memory_limit")


def _runs_distributed(request: Request, target: Target, shapes: Sequence[Shape], curves: Sequence[Curve]) -> bool:
    """Whether the run is of several processes: by the request, or by the evidence, where the request does not say that it is one."""
    if is_distributed(request) or request.optimisation.config.distributed_training is False:
        return is_distributed(request)
    here = [curve for curve in curves if same_name(curve.series.system) in target.names]
    unsaid = request.application.app_type is None and request.optimisation.framework is None
    heard = here if here or not unsaid else curves
    return any(shape.ranks_per_node > 1 for shape in shapes) or any(max(curve.nodes) > 1 for curve in heard)


def _completed(
    shape: Shape, request: Request, target: Target, counts: StatedCounts, distributed: bool, host: HostMpi | None
) -> Iterable[Shape]:
    """The shape; where results do not say how it lay on a node, as a rule of thumb would lay it."""
    if shape.origin != ASSUMED:
        return (shape,)
    told = replace(counts, threads_per_rank=counts.threads_per_rank or shape.threads_per_rank or None)
    layouts, _ = topology_shapes(request, target, told, distributed, host)
    names = ("ranks_per_node", "threads_per_rank", "gpus_per_node", "hyperthreads")
    counted = (replace(shape, **{name: getattr(layout, name) for name in names}) for layout in layouts)
    return counted if distributed else (replace(each, origin="evidence") for each in counted)


def _agrees(shape: Shape, counts: StatedCounts, distributed: bool) -> bool:
    """Whether the shape has the counts that are given, and one process where there is to be one."""
    pairs = (
        (shape.ranks_per_node, counts.ranks_per_node if distributed else 1),
        (shape.threads_per_rank, counts.threads_per_rank),
        (shape.gpus_per_node, counts.gpus_per_node),
    )
    return all(asked is None or asked == known for known, asked in pairs)


def _fits(shape: Shape, node: Node | None) -> bool:
    """Whether a node has the GPUs and the NUMA mode for the shape."""
    if node is None:
        return True
    modes = {mode.domains for mode in node.numa_modes}
    return shape.gpus_per_node <= node.accelerators and (shape.numa_mode is None or not modes or shape.numa_mode in modes)


def _nothing_fits(shapes: Sequence[Shape], target: Target, request: Request) -> str:
    """Why the shape with the fewest ranks does not fit."""
    least = min(shapes, key=lambda shape: shape.ranks_per_node)
    return memory.obstacle(request, target, least) or f"no layout fits the GPUs or NUMA modes of nodes of {target.title}"


def _grid(
    shape: Shape, request: Request, target: Target, counts: StatedCounts, curves: Sequence[Curve], distributed: bool
) -> npt.NDArray[np.int64]:
    """Node counts to predict for a shape: those given, else one where nothing says how it scales, else all that are allowed."""
    if counts.nodes or counts.ranks:
        return np.array([counts.nodes or math.ceil((counts.ranks or 1) / shape.ranks_per_node)], dtype=np.int64)
    unsaid = shape.origin not in ("evidence", ASSUMED) and not any(_comparable(curve, target) for curve in curves)
    if not distributed or _on_one_node(request, target) or unsaid:
        return np.array([1], dtype=np.int64)
    measured = [size for curve in curves if curve.scale == "nodes" for size in curve.sizes]
    limit = target.partition.job_nodes if target.partition else 2 * int(max(measured, default=1))
    return node_grid(min(limit, request.optimisation.objective.max_nodes or limit), measured)


def _on_one_node(request: Request, target: Target) -> str:
    """Why nothing could start the run on several nodes; empty where something can."""
    if not by_torchrun(request):
        return ""
    launcher, scheduler = plugins.find("launchers", "torchrun"), plugins.find("schedulers", target.scheduler)
    job = JobSpec(("true",), Resources(nodes=2), system=target.system)
    if why := launcher.unfit(job, scheduler):
        return why
    if target.system and target.system.ssh_between_nodes is False and launcher.needs_ssh(job, scheduler):
        return f"torchrun needs ssh to start on several nodes, and {target.system.name} has no ssh between nodes"
    return ""


def _why_one_node(request: Request, target: Target, counts: StatedCounts) -> tuple[str, ...]:
    why = "" if counts.nodes or counts.ranks else _on_one_node(request, target)
    return (f"only single-node runs are considered: {why}",) if why else ()


def _comparable(curve: Curve, target: Target) -> bool:
    """Evidence of how the application scales, from anywhere."""
    return target.system is not None and len(set(curve.nodes)) > 1


def _why(shapes: Sequence[Shape], target: Target) -> tuple[str, ...]:
    origin = {shape.origin for shape in shapes}
    listed = ", ".join(sorted({f"{shape.ranks_per_node}x{shape.threads_per_rank}" for shape in shapes}))
    if origin == {"evidence"}:
        return (f"layouts considered (ranks per node x threads per rank): {listed}; the ones measured on {target.title}",)
    if origin == {"request"}:
        return (f"layout {listed} (ranks per node x threads per rank), as requested",)
    why = f"derived from the topology of {target.title} by a rule of thumb, because there are no measurements"
    if ASSUMED in origin:
        part = "some results" if "evidence" in origin else "the results"
        why = f"derived by a rule of thumb, because {part} on {target.title} do not state ranks_per_node"
        why = f"the ones measured there, and others {why}" if "evidence" in origin else why
    return (f"layouts considered (ranks per node x threads per rank): {listed}; {why}",)
