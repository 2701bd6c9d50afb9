"""System + request -> the configurations worth predicting.

Shapes (what is the same on every node) come from the evidence of that application on that system where there is any,
else from the node's topology: one rank a node, a socket, a NUMA domain or a GPU. Counts that the request gives are
kept; counts that it leaves out are chosen.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from modak import memory
from modak.counts import StatedCounts, stated_counts
from modak.dsl import Notice, Request
from modak.errors import Infeasible
from modak.facts import HostMpi, Layout, Node
from modak.frameworks.base import Carrier
from modak.perfmodel import Curve
from modak.perfmodel.matching import same_name
from modak.target import Target
from modak.wishes import allowed_compilers, by_torchrun, carrier, is_distributed, is_single_threaded, library, precision, switches
from modak.workload import of_one_dataset, with_dataset

if TYPE_CHECKING:
    from modak.switching import SwitchEvidence

ASSUMED = "assumed"
"""Origin of a shape that was measured, but whose results do not say how it lay on a node."""
DENSE = 64
"""Every node count up to here is a candidate; beyond, steps of about 1/64 and all measured sizes."""


@dataclass(frozen=True)
class Shape:
    """What is the same on every node of a candidate, and the software variant that it belongs to."""

    ranks_per_node: int
    threads_per_rank: int
    gpus_per_node: int = 0
    hyperthreads: bool = False
    numa_mode: int | None = None
    mpi: str | None = None
    mpi_from: str | None = None
    compiler: str | None = None
    framework_version: str | None = None
    precision: str | None = None
    batch_size: int | None = None
    opt_build: bool = False
    """Whether an image built from source for the processor is wanted by the evidence."""
    told: tuple[str, ...] = ()
    """Switches that are on because of other runs' results; see :mod:`modak.switching`."""
    origin: str = "topology"
    """``evidence``, ``request``, ``topology``, or :data:`ASSUMED`."""

    @property
    def workers_per_node(self) -> int:
        """Ranks, or GPUs where there are GPUs."""
        return self.gpus_per_node or self.ranks_per_node

    def laid_out_as(self, other: Shape) -> bool:
        """Whether both lie on a node in one way; software may differ."""
        names = ("ranks_per_node", "threads_per_rank", "gpus_per_node", "hyperthreads", "numa_mode", "mpi", "mpi_from")
        return all(getattr(self, name) == getattr(other, name) for name in names)

    @property
    def layout(self) -> Layout:
        """The shape as a layout without a node count."""
        return Layout(
            ranks_per_node=self.ranks_per_node,
            threads_per_rank=self.threads_per_rank,
            gpus_per_node=self.gpus_per_node,
            batch_size=self.batch_size,
        )

    def cores_per_rank(self, threads_per_core: int) -> int:
        """Physical cores a rank needs: with hyper-threads fewer than it has threads."""
        return math.ceil(self.threads_per_rank / (threads_per_core if self.hyperthreads else 1))


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
    dataset: str | None = None
    """The one whose results are asked: the request's, or one of several."""


def enumerate_candidates(request: Request, target: Target, curves: Sequence[Curve]) -> Candidates:
    """Every configuration of the request that can run on the target.

    Raises :class:`modak.errors.Infeasible` where a given count exceeds the system, or nothing fits a node's memory.
    """
    counts = stated_counts(request, target)
    _check_limits(counts, request, target)
    dataset, notes = of_one_dataset(request, curves, target.names)
    request = with_dataset(request, dataset)
    found = tuple(evidence_shapes(request, target, curves))
    distributed = runs_distributed(request, found)
    proven = tuple(dict.fromkeys(shape for shape in found if _agrees(shape, counts, distributed) and _fits(shape, target.node)))
    shapes, warnings = (proven, ()) if proven else _topology_shapes(request, target, counts, distributed)
    fitting = tuple(shape for shape in shapes if _fits(shape, target.node) and memory.obstacle(request, target, shape) is None)
    if not fitting:
        raise Infeasible(_nothing_fits(shapes, target, request), field="optimisation.workload")
    grids = tuple(_grid(shape, request, target, counts, curves, distributed) for shape in fitting)
    return Candidates(fitting, grids, counts, _why(fitting, target), (*counts.warnings, *warnings, *notes), dataset=dataset)


def evidence_shapes(request: Request, target: Target, curves: Iterable[Curve]) -> Iterable[Shape]:
    """Shapes under which the application was measured on the target, as far as the request allows them.

    Where it was not measured just so (with another data set, precision, batch or MPI, or without a compiler that is on), those of what was
    measured: how it lies best on a node depends more on application and node than on these.
    """
    allowed, found, places = allowed_compilers(request), carrier(request), target.names
    here = [curve for curve in curves if same_name(curve.series.system) in places]
    own = [curve for curve in here if _same_framework(curve, found) and (curve.series.compiler in allowed or None not in allowed)]
    same = [curve for curve in own if _same_run(curve, request) and curve.series.compiler in allowed]
    for curve in same or filter(_tells_layout, own):
        for layout in _layouts(curve):
            yield _as_asked(_shape_of(curve, layout, target.node, is_single_threaded(request)), request, allowed)


def _tells_layout(curve: Curve) -> bool:
    """Whether the results behind a curve say how it lay on a node."""
    return curve.scale != "nodes" or bool(curve.layout.ranks_per_node or curve.layout.gpus_per_node)


def _as_asked(shape: Shape, request: Request, allowed: frozenset[str | None]) -> Shape:
    """The shape with what the request says of precision, batch and MPI library, and with a compiler that it allows."""
    work = request.optimisation.workload
    mpi = shape.mpi if _same_mpi(shape.mpi, request) else _mpi_asked(request)
    compiler = shape.compiler if shape.compiler in allowed else min(name for name in allowed if name)
    asked = precision(request) or shape.precision
    return replace(shape, compiler=compiler, precision=asked, batch_size=work.batch_size or shape.batch_size, mpi=mpi)


def node_grid(limit: int, measured: Iterable[float] = ()) -> npt.NDArray[np.int64]:
    """Node counts to predict: all up to 64, then steps of about 1/64, the measured ones and the limit."""
    dense = range(1, min(limit, DENSE) + 1)
    steps = int(DENSE * math.log(limit / DENSE)) if limit > DENSE else 0
    coarse = np.rint(np.geomspace(DENSE, limit, steps)) if steps > 1 else ()
    sizes = [size for size in measured if size <= limit and float(size).is_integer()]
    return np.unique(np.array([*dense, *coarse, *sizes, limit])).astype(np.int64)


def _check_limits(counts: StatedCounts, request: Request, target: Target) -> None:
    """Raise :class:`modak.errors.Infeasible` where the counts or the memory asked for exceed what a job there can have."""
    partition = target.partition
    if partition is None:
        return
    if counts.nodes and counts.nodes > partition.job_nodes:
        message = f"{counts.nodes} nodes asked for; a job on {target.title} can have at most {partition.job_nodes}"
        raise Infeasible(message, field="job_options.node_count")
    usable = memory.usable_gb(target)
    asked = request.job_options.memory_limit
    if usable and asked and asked > usable * 1e9:
        message = f"{asked / 1e9:g} GB a node asked for; {usable:g} GB are usable on nodes of {target.title}"
        raise Infeasible(message, field="job_options.memory_limit")


def _same_framework(curve: Curve, found: Carrier | None) -> bool:
    """Whether a curve may have been measured in the framework of the request."""
    return found is None or curve.series.framework in (None, found.framework)


def _same_run(curve: Curve, request: Request) -> bool:
    """Whether a curve agrees with what the request says of its workload and MPI library."""
    series, work = curve.series, request.optimisation.workload
    pairs = ((series.dataset, work.dataset), (series.precision, precision(request)), (curve.layout.batch_size, work.batch_size))
    return _same_mpi(series.mpi, request) and all(wanted is None or known is None or known == wanted for known, wanted in pairs)


def _same_mpi(label: str | None, request: Request) -> bool:
    """Whether what results call their MPI (``intel-mpi 2019``) may be the library that the request names."""
    asked = _mpi_asked(request)
    return asked is None or label is None or label.startswith(asked)


def _mpi_asked(request: Request) -> str | None:
    asked = library(request)
    return asked.framework if asked else None


def _layouts(curve: Curve) -> tuple[Layout, ...]:
    """The shapes that a curve was measured under: one, or one for each size within a node."""
    if curve.scale == "nodes":
        return (curve.layout,)
    name = "ranks_per_node" if curve.scale == "ranks" else "gpus_per_node"
    counts = {int(size / nodes) for size, nodes in zip(curve.sizes, curve.nodes, strict=True)}
    return tuple(curve.layout.model_copy(update={name: count}) for count in sorted(counts) if count)


def _shape_of(curve: Curve, layout: Layout, node: Node | None, mpi_alone: bool) -> Shape:
    """A curve's shape; what it does not record follows from the node: of an MPI program without threads a rank on each core."""
    series = curve.series
    gpus = layout.gpus_per_node or 0
    assumed = mpi_alone and node is not None and not _tells_layout(curve)
    ranks = layout.ranks_per_node or gpus or (max(1, node.usable_cores // (layout.threads_per_rank or 1)) if node and assumed else 1)
    cores = node.usable_cores if node else ranks
    threads = layout.threads_per_rank or max(1, cores // ranks)
    return Shape(
        ranks_per_node=ranks,
        threads_per_rank=threads,
        gpus_per_node=gpus,
        hyperthreads=bool(series.hyperthreads) or ranks * threads > cores,
        numa_mode=series.numa_mode,
        mpi=series.mpi,
        mpi_from=series.mpi_from,
        compiler=series.compiler,
        framework_version=series.framework_version,
        precision=series.precision,
        batch_size=layout.batch_size,
        origin=ASSUMED if assumed else "evidence",
    )


def runs_distributed(request: Request, shapes: Iterable[Shape]) -> bool:
    """Whether the run is of several processes: by the request, or by the evidence, where the request does not say that it is one."""
    said = request.optimisation.config.distributed_training
    return is_distributed(request) or (said is not False and any(shape.ranks_per_node > 1 for shape in shapes))


def _agrees(shape: Shape, counts: StatedCounts, distributed: bool) -> bool:
    """Whether the shape has the counts that are given, and one process where there is to be one."""
    pairs = (
        (shape.ranks_per_node, counts.ranks_per_node if distributed else 1),
        (shape.threads_per_rank, counts.threads_per_rank),
        (shape.gpus_per_node, counts.gpus_per_node),
    )
    return all(asked is None or asked == known for known, asked in pairs)


def _topology_shapes(
    request: Request, target: Target, counts: StatedCounts, distributed: bool
) -> tuple[tuple[Shape, ...], tuple[Notice, ...]]:
    """Shapes by the rules of thumb, and warnings: ranks on nodes, sockets, NUMA domains or GPUs; threads on the cores of each."""
    node = target.node
    host, warnings = _host_mpi(request, target)
    shapes: list[Shape] = []
    on = next((name for name, value in switches(request).items() if value is True), None)
    family = host.family if host and distributed and not by_torchrun(request) else None
    work = request.optimisation.workload
    mpi_from = "host" if family else None
    base = Shape(1, 1, mpi=family, mpi_from=mpi_from, compiler=on, precision=precision(request), batch_size=work.batch_size)
    cores = node.usable_cores if node else 1
    gpus = _topology_gpus(request, node, counts, distributed)
    for ranks, numa in _rank_counts(request, node, counts, gpus, distributed):
        threads = counts.threads_per_rank or _default_threads(request, cores, ranks)
        smt = bool(node) and ranks * threads > cores
        if node and ranks * threads > cores * node.threads_per_core:
            text = f"{ranks} ranks of {threads} threads on a node with {cores} cores: more than it can run at once"
            warnings = (*warnings, Notice(field="application.mpi_ranks", message=text))
        origin = "request" if counts.ranks_per_node and counts.threads_per_rank else "topology"
        counted = replace(base, ranks_per_node=ranks, threads_per_rank=threads, gpus_per_node=gpus)
        shapes.append(replace(counted, hyperthreads=smt, numa_mode=numa, origin=origin))
    return tuple(dict.fromkeys(shapes)), warnings


def _host_mpi(request: Request, target: Target) -> tuple[HostMpi | None, tuple[Notice, ...]]:
    """The host's MPI that the request asks for, else the system's default, with a warning."""
    asked = getattr(request.optimisation.options, "library", None)
    found = target.mpi_called(asked)
    if found or not (asked and target.host_mpi and target.system):
        return found or target.host_mpi, ()
    known = ", ".join(mpi.family for mpi in target.system.mpi)
    message = f"{target.system.name} has no {asked} on record (known: {known}); {target.host_mpi.family} starts the ranks"
    return target.host_mpi, (Notice(field="optimisation.options.library", message=message),)


def _topology_gpus(request: Request, node: Node | None, counts: StatedCounts, distributed: bool) -> int:
    if counts.gpus_per_node is not None:
        return counts.gpus_per_node
    if node is None or not node.accelerators:
        return 0
    training = request.optimisation.app_type in ("ai_training", "ai_inference")
    offloads = "openacc" in request.optimisation.config.parallelisation or request.optimisation.framework == "openacc"
    if not (training or offloads or request.optimisation.opt_build.acc_type in ("nvidia", "amd")):
        return 0
    return node.accelerators if distributed else 1


def _rank_counts(
    request: Request, node: Node | None, counts: StatedCounts, gpus: int, distributed: bool
) -> Iterable[tuple[int, int | None]]:
    """Ranks per node, each with the NUMA mode that it needs."""
    if counts.ranks_per_node:
        return [(counts.ranks_per_node, None)]
    if not distributed:
        return [(1, None)]
    if gpus:
        return [(gpus, None)]
    if node is None:
        return [(counts.ranks or 1, None)]
    domains = node.standard_numa_domains
    if is_single_threaded(request) and not counts.threads_per_rank:
        return [(node.usable_cores, None)]
    if counts.threads_per_rank:
        return [(max(1, node.usable_cores // counts.threads_per_rank), None)]
    return [(domains, domains if node.numa_modes else None)]


def _default_threads(request: Request, cores: int, ranks: int) -> int:
    return 1 if is_single_threaded(request) else max(1, cores // ranks)


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
    if not distributed or (shape.origin not in ("evidence", ASSUMED) and not any(_comparable(curve, target) for curve in curves)):
        return np.array([1], dtype=np.int64)
    measured = [size for curve in curves if curve.scale == "nodes" for size in curve.sizes]
    limit = target.partition.job_nodes if target.partition else 2 * int(max(measured, default=1))
    return node_grid(min(limit, request.optimisation.objective.max_nodes or limit), measured)


def _comparable(curve: Curve, target: Target) -> bool:
    """Evidence of how the application scales, from anywhere."""
    return target.system is not None and curve.scale == "nodes" and len(curve.sizes) > 1


def _why(shapes: Sequence[Shape], target: Target) -> tuple[str, ...]:
    origin = {shape.origin for shape in shapes}
    listed = ", ".join(sorted({f"{shape.ranks_per_node}x{shape.threads_per_rank}" for shape in shapes}))
    if origin == {"evidence"}:
        return (f"layouts considered (ranks x threads a node): {listed}; those measured on {target.title}",)
    if origin == {"request"}:
        return (f"layout {listed} (ranks x threads a node), as the request gives it",)
    why = f"a rule of thumb from the topology of {target.title}, in want of measurements"
    if ASSUMED in origin:
        why = f"a rule of thumb, since results on {target.title} do not say their ranks_per_node"
    return (f"layouts considered (ranks x threads a node): {listed}; {why}",)
