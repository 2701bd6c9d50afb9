"""The configurations of a request that are worth predicting on a target.

Shapes (what is the same on every node) are those measured for the application on the system. If there are none, they follow from the
node's topology: one rank per node, NUMA domain, core or GPU. Counts that the request gives are kept; the others are chosen.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from modak.arrays import Ints
from modak.choosing import memory
from modak.choosing.counts import StatedCounts, check_limits, stated_counts
from modak.choosing.grids import check_room, node_counts, only_one_node, why_one_node, with_room
from modak.choosing.measured import measured_shapes, ran_single_threads, was_measured_on
from modak.choosing.mpi import host_mpi
from modak.choosing.openparams import on_multiples, without_value
from modak.choosing.openswitch import SwitchEvidence
from modak.choosing.origins import why_layouts, why_partition
from modak.choosing.problem import of_one_problem, unknown_labels
from modak.choosing.requirements import (
    WITHIN_ONE_PROCESS,
    drives_all_gpus,
    is_distributed,
    is_hybrid,
    is_said_distributed,
    is_single_threaded,
    stated_nodes,
)
from modak.choosing.shapes import Origin, Shape
from modak.choosing.topology import CandidateSearch, Shapes, topology_shapes, with_few_threads
from modak.choosing.workload import Problem, with_problem
from modak.dsl import Notice, Request
from modak.errors import Fault, Infeasible
from modak.facts import Node, canonical_name
from modak.perfmodel import Curve
from modak.perfmodel.forecasting.censoring import CensoredRun
from modak.target import Target


@dataclass(frozen=True)
class Candidates:
    """Shapes, and the node counts to predict for each."""

    shapes: tuple[Shape, ...]
    nodes: tuple[Ints, ...]
    given: StatedCounts
    decisions: tuple[str, ...] = ()
    warnings: tuple[Notice, ...] = ()
    tried: tuple[SwitchEvidence, ...] = ()
    """Switches that results decide, with these results."""
    problem: Problem = field(default_factory=Problem)
    """The problem to predict: the request's, or one of several measured ones."""
    distributed: bool = True
    """Whether the run has several processes."""
    single_threaded: bool = False
    """Whether each of these has one thread, by the request, or as in all results."""
    most_nodes: int | None = None
    """The most nodes that the request would allow without its ``max_nodes``; ``None``: unknown."""
    serial: tuple[Shape, ...] = ()
    """Those of serial runs of a parallel program, which stay on the fewest nodes."""
    stopped: tuple[tuple[int, CensoredRun], ...] = ()
    """Runs of these shapes that were stopped, each with the place of its shape."""

    @property
    def pairs(self) -> list[tuple[Shape, Ints]]:
        """Each shape with its node counts."""
        return list(zip(self.shapes, self.nodes, strict=True))

    def with_pairs(self, pairs: Sequence[tuple[Shape, Ints]], **others: Any) -> Candidates:
        """The same with other shapes, each with its node counts, and other values of ``others``."""
        return replace(self, shapes=tuple(shape for shape, _ in pairs), nodes=tuple(nodes for _, nodes in pairs), **others)


def enumerate_candidates(request: Request, target: Target, curves: Sequence[Curve]) -> Candidates:
    """Every configuration of the request that can run on the target.

    Raises :class:`modak.errors.Infeasible` if a given count exceeds the system, or if nothing fits a node's memory.
    """
    if request.application.allowed_ranks and not request.application.mpi_ranks:
        return _of_allowed_ranks(request, target, curves)
    problem, several = of_one_problem(request, curves, target.names)
    of_problem = (*several, *unknown_labels(request, curves))
    request = with_problem(request, problem)
    host, other_mpi = host_mpi(request, target)
    measured = tuple(measured_shapes(request, target, curves, host))
    single = is_single_threaded(request) or ran_single_threads(curves, request)
    distributed = _runs_distributed(request, target, measured, curves)
    counts = stated_counts(request, target, distributed=distributed)
    check_limits(counts, request, target)
    search = CandidateSearch(request, target, counts, curves, host, distributed, single)
    found = _fitting(search, _shapes(search, measured))
    if measured and not with_room(search, found.shapes, queued=True):
        found = _fuller(search, found)
    shapes = check_room(search, tuple(shape for shape in found.shapes if shape.params) or found.shapes)
    pairs = [(shape, node_counts(search, shape)[: 1 if shape in found.serial else None]) for shape in shapes]
    here = (curve for curve in curves if was_measured_on(curve, target))
    shapes, grids = zip(*on_multiples(request, pairs, here), strict=True)
    largest = max(int(grid[-1]) for grid in grids)
    of_host = other_mpi if any(shape.mpi_from != "container" for shape in shapes) else ()
    return Candidates(
        shapes,
        grids,
        counts,
        decisions=(
            *why_layouts(shapes, target, curves),
            *found.why,
            *why_one_node(search, scales=not curves or largest > 1),
            *why_partition(request, target, curves),
        ),
        warnings=(
            *counts.warnings,
            *of_host,
            *found.warnings,
            *of_problem,
            *without_value(request, shapes, curves),
            *_several_processes(search, shapes, largest),
        ),
        problem=problem,
        distributed=search.distributed,
        single_threaded=search.single_threaded,
        most_nodes=_most_nodes(search, largest),
        serial=found.serial,
    )


def _most_nodes(search: CandidateSearch, largest: int) -> int | None:
    """:attr:`Candidates.most_nodes`; ``largest``: the most nodes of a candidate."""
    target, counts = search.target, search.counts
    if counts.nodes or counts.ranks or not search.distributed or only_one_node(search.request, target):
        return largest
    return target.job_nodes[1] if target.job_nodes else None


def _shapes(search: CandidateSearch, measured: Iterable[Shape]) -> Shapes:
    """The ``measured`` shapes that have the requested counts, else those on another number of GPUs, else shapes by rules of thumb."""
    whole = [_completed(search, shape) for shape in measured]
    if shapes := _possible(search, whole):
        return _with_parallel(search, shapes) if _are_serial(search, shapes) else Shapes(shapes)
    gpus = search.counts.gpus_per_node
    if gpus and (shapes := _possible(search, [_on_gpus(each, gpus, search.target.node) for each in whole])):
        return Shapes(shapes, ("layouts: measured on other numbers of GPUs per node; with as many ranks per GPU",))
    return topology_shapes(search)


def _fuller(search: CandidateSearch, measured: Shapes) -> Shapes:
    """Shapes by rules of thumb, for more ranks than the ``measured`` ones have on as many nodes as a queue takes. If they have no room
    there either, the measured ones, as far as these have room at all."""
    if not with_room(search, measured.shapes):
        return _fitting(search, topology_shapes(search))
    try:
        fuller = _fitting(search, topology_shapes(search))
    except Infeasible:  # the nodes have too little memory for more ranks
        return measured
    return fuller if with_room(search, fuller.shapes, queued=True) else measured


def _are_serial(search: CandidateSearch, shapes: Iterable[Shape]) -> bool:
    """Whether nothing but serial runs was measured on the target, of a program that the request says is parallel and whose ranks and
    threads it leaves open: further ranks alone on nodes of many cores are no choice."""
    counts, here = search.counts, [curve for curve in search.curves if was_measured_on(curve, search.target)]
    is_open = not (counts.ranks or counts.ranks_per_node or counts.threads_per_rank) and is_said_distributed(search.request)
    one = {(shape.ranks_per_node, shape.threads_per_rank, shape.gpus_per_node) for shape in shapes} == {(1, 1, 0)}
    return is_open and one and all(max(curve.nodes) == 1 for curve in here)


def _with_parallel(search: CandidateSearch, serial: Iterable[Shape]) -> Shapes:
    """Shapes of serial runs, which stay on one node, and those by rules of thumb."""
    parallel = topology_shapes(search)
    alone = tuple(replace(shape, origin="topology") for shape in serial)
    one_core = any((shape.ranks_per_node, shape.threads_per_rank) == (1, 1) for shape in parallel.shapes)
    return parallel._replace(shapes=_once([*alone, *parallel.shapes]), serial=() if one_core else alone)


def _fitting(search: CandidateSearch, found: Shapes) -> Shapes:
    """The shapes that fit a node and its memory; if none does, all where the nodes are not known, elsewhere those by rules of thumb, with
    what keeps the others out. Raises :class:`Infeasible` if these do not fit either."""
    target = search.target
    if (shapes := _that_fit(search, found.shapes)) or not target.is_recorded:
        return found._replace(shapes=shapes or found.shapes)
    by_rule = topology_shapes(search)
    if shapes := _that_fit(search, by_rule.shapes):
        return by_rule._replace(shapes=shapes, why=(f"layouts that were measured: {_misfit(search, found.shapes).message}", *by_rule.why))
    fault = _misfit(search, (*found.shapes, *by_rule.shapes))
    raise Infeasible(fault.message, field=fault.field)


def _that_fit(search: CandidateSearch, shapes: Iterable[Shape]) -> tuple[Shape, ...]:
    """The shapes that fit a node of the target and its memory."""
    target = search.target
    return tuple(one for one in shapes if _fits(one, target.node) and memory.obstacle(search.request, target, one) is None)


def _misfit(search: CandidateSearch, shapes: Iterable[Shape]) -> Fault:
    """Why not even the one with the fewest ranks of shapes that do not fit does."""
    least = min(shapes, key=lambda shape: shape.ranks_per_node)
    unlike = Fault("optimisation.workload", f"no layout fits the GPUs or NUMA modes of nodes of {search.target.title}")
    return memory.obstacle(search.request, search.target, least) or unlike


def _of_allowed_ranks(request: Request, target: Target, curves: Sequence[Curve]) -> Candidates:
    """The configurations with each of the total numbers of ranks that the program runs with, as many on each node.

    If no measured layout has any of these numbers, the ones that fill the cores of a node as far as possible (on GPUs, those with a rank
    for each, or nearest to that); if all share cores, the fewest ranks. Those of a hybrid program on fewer nodes, with a few threads or one
    for each rank, are among them. Numbers that are uneven on the fewest nodes are spread over more only if there are no others.
    """
    request, contradiction = _allowed_of_counts(request)
    grids, first = _allowed_grids(request, target, curves, _splits(request, target))
    if first is None:
        fewest = request.changed(application={"mpi_ranks": min(request.application.allowed_ranks)})
        enumerate_candidates(fewest, target, curves)  # raises the error if there are too few nodes, or too little memory, for these, too
        allowed = ", ".join(map(str, request.application.allowed_ranks))
        message = f"no layout on {target.title} has {allowed} ranks, as many on each node (application.mpi_ranks may be uneven)"
        raise Infeasible(message, field="application.allowed_ranks")
    measured = tuple(shape for shape in grids if shape.origin not in ("request", "topology"))
    if not measured and is_hybrid(request):
        for split in _denser(request, target):
            for shape, grid in _allowed_grids(request, target, curves, (split,))[0].items():
                grids[shape] = sorted({*grids.get(shape, ()), *grid})
    shapes = measured or _fullest(grids, target.node, one_for_all=drives_all_gpus(request))
    nodes = tuple(np.array(grids[shape], dtype=np.int64) for shape in shapes)
    return replace(
        first,
        shapes=shapes,
        nodes=nodes,
        given=stated_counts(request, target),
        decisions=(*why_layouts(shapes, target, curves), *first.decisions[1:]),
        warnings=(*contradiction, *first.warnings),
        most_nodes=max(int(grid[-1]) for grid in nodes),
    )


def _allowed_grids(
    request: Request, target: Target, curves: Sequence[Curve], splits: Iterable[tuple[int, int | None]]
) -> tuple[dict[Shape, list[int]], Candidates | None]:
    """For each shape the node counts on which it has an allowed number of ranks; and the first candidates that were found, if any were."""
    grids: dict[Shape, list[int]] = {}
    first, nodes = None, stated_nodes(request)
    for ranks, per_node in splits:
        if per_node and first:
            break
        asked = request.changed(application={"mpi_ranks": ranks}, job_options={"node_count": nodes})
        asked = asked.changed(job_options={"process_count_per_node": per_node}) if per_node else asked
        try:
            found = enumerate_candidates(asked, target, curves)
        except Infeasible:
            continue
        for shape, grid in found.pairs:
            if int(grid[0]) * shape.ranks_per_node == ranks:
                grids.setdefault(shape, []).append(int(grid[0]))
                first = first or found
    return grids, first


def _fullest(shapes: Collection[Shape], node: Node | None, *, one_for_all: bool) -> tuple[Shape, ...]:
    """The shapes that use the most cores of a node, with one for each thread; if none has, the one with the fewest ranks. On GPUs those
    with as many ranks as GPUs (with one, if one drives them all), or nearest to that."""
    if all(shape.gpus_per_node for shape in shapes):
        away = {shape: abs(math.log(shape.ranks_per_node / (1 if one_for_all else shape.gpus_per_node))) for shape in shapes}
        return tuple(shape for shape in shapes if away[shape] == min(away.values()))
    cores = node.usable_cores if node else math.inf
    used = {shape: shape.ranks_per_node * shape.threads_per_rank for shape in shapes}
    most = max((count for count in used.values() if count <= cores), default=0)
    return tuple(shape for shape in shapes if used[shape] == most) or (min(shapes, key=lambda shape: shape.ranks_per_node),)


def _allowed_of_counts(request: Request) -> tuple[Request, tuple[Notice, ...]]:
    """The request with the allowed numbers of ranks that its nodes and ranks per node make; if they make none, without its ranks per node,
    and a warning."""
    nodes, per_node = stated_nodes(request), request.job_options.process_count_per_node
    if not per_node:
        return request, ()
    made = {nodes * per_node} if nodes else {ranks for ranks in request.application.allowed_ranks if ranks % per_node == 0}
    if allowed := tuple(ranks for ranks in request.application.allowed_ranks if ranks in made):
        return request.changed(application={"allowed_ranks": allowed}), ()
    text = f"no number of application.allowed_ranks is {per_node} ranks on each node: left out"
    if nodes:
        text = f"{per_node} ranks on each of {nodes} nodes are {nodes * per_node}, which application.allowed_ranks does not have: left out"
    without = request.changed(job_options={"process_count_per_node": None})
    return without, (Notice(field="job_options.process_count_per_node", message=text),)


def _splits(request: Request, target: Target) -> Iterator[tuple[int, int | None]]:
    """The allowed numbers of ranks, the fewest first: over as few nodes as possible, then over more that they fill to half or more."""
    allowed = sorted(request.application.allowed_ranks)
    yield from ((ranks, None) for ranks in allowed)
    if target.node and request.job_options.process_count_per_node is None and stated_nodes(request) is None:
        most = max(1, target.node.usable_cores // (request.threads_per_rank or 1))
        for ranks in allowed:
            yield from ((ranks, count) for count in range(most, most // 2, -1) if ranks % count == 0)


def _denser(request: Request, target: Target) -> Iterator[tuple[int, int]]:
    """The allowed numbers of ranks on fewer nodes than by one rank for each NUMA domain: a few threads for each rank, or one."""
    node = target.node
    if node and not request.threads_per_rank and request.job_options.process_count_per_node is None and stated_nodes(request) is None:
        for per_node in sorted({*with_few_threads(node), node.usable_cores}):
            yield from ((ranks, per_node) for ranks in sorted(request.application.allowed_ranks) if ranks % per_node == 0)


def on_nodes(found: Candidates, nodes: int, request: Request, target: Target) -> Candidates:
    """The candidates for a request that differs only in its number of nodes. Raises the errors of :func:`enumerate_candidates`."""
    counts = replace(found.given, nodes=nodes)
    check_limits(counts, request, target)
    return replace(found, given=counts, nodes=(np.array([nodes], dtype=np.int64),) * len(found.shapes), most_nodes=nodes)


def _runs_distributed(request: Request, target: Target, shapes: Sequence[Shape], curves: Sequence[Curve]) -> bool:
    """Whether the run has several processes: by the request; if it does not say, by the results."""
    if is_distributed(request) or request.optimisation.config.distributed_training is False:
        return is_distributed(request)
    here = [curve for curve in curves if canonical_name(curve.series.system) in target.names]
    unsaid = request.application.app_type is None and request.optimisation.framework is None
    evidence = here if here or not unsaid else curves
    return any(shape.ranks_per_node > 1 for shape in shapes) or any(max(curve.nodes) > 1 for curve in evidence)


def _several_processes(search: CandidateSearch, shapes: Sequence[Shape], largest: int) -> tuple[Notice, ...]:
    """A warning if the job has several ranks because results do, though the request names what works within one process alone; ``largest``:
    the most nodes of a candidate."""
    request, framework = search.request, search.request.optimisation.framework
    single = largest == 1 and all(shape.ranks_per_node == 1 for shape in shapes)
    if framework not in WITHIN_ONE_PROCESS or single or is_distributed(request) or search.counts.ranks:
        return ()
    message = (
        f"{framework} works within one process, but results of the application had several ranks, and so has this job: name mpi in "
        "config.parallelisation, too, if the program uses it; mpi_ranks 1 starts one process"
    )
    return (Notice(field="optimisation.framework", message=message),)


def _completed(search: CandidateSearch, shape: Shape) -> Shape:
    """The shape; if results do not give its ranks and threads, with the layout that the rules of thumb give."""
    if shape.ranks_per_node:
        return shape
    counts, node = search.counts, search.target.node
    together = (counts.ranks_per_node or 1) * (shape.threads_per_rank or 1)
    if not counts.threads_per_rank and (node is None or together <= node.hardware_threads):  # else they were those of fewer ranks
        counts = replace(counts, threads_per_rank=shape.threads_per_rank or None)
    (layout,) = topology_shapes(replace(search, counts=counts)).shapes
    names = ("ranks_per_node", "threads_per_rank", "gpus_per_node", "hyperthreads")
    origin: Origin = "assumed" if search.distributed else "fuller" if shape.origin == "fuller" else "evidence"
    return replace(shape, **{name: getattr(layout, name) for name in names}, origin=origin)


def _possible(search: CandidateSearch, shapes: Iterable[Shape]) -> tuple[Shape, ...]:
    """The shapes with no more cores of a node than given, the requested ranks spread evenly, if they have the other counts and fit a
    node."""
    most, per_core = search.counts.cores or math.inf, search.target.node.threads_per_core if search.target.node else 1
    within = (shape for shape in shapes if shape.ranks_per_node * shape.cores_per_rank(per_core) <= most)
    spread = (_spread(shape, search.counts) for shape in within)
    node, parts = search.target.node, search.target.gives_parts
    shapes = [shape for shape in spread if _agrees(search, shape) and _fits(shape, node) and not (parts and _is_larger(shape, node))]
    return _once(each for shape in shapes for each in _as_others_ran(shape, shapes))


def _as_others_ran(shape: Shape, shapes: Iterable[Shape]) -> Collection[Shape]:
    """The shape; an assumed one with the threads with which as many ranks were measured, where they were: results that do not state their
    layout may be of these, but hardly of eight single threads beside others of eight ranks with eight threads each."""
    if shape.origin != "assumed":
        return (shape,)
    counts = shape.ranks_per_node, shape.gpus_per_node
    alike = [one for one in shapes if one.origin == "evidence" and (one.ranks_per_node, one.gpus_per_node) == counts]
    threads = dict.fromkeys((one.threads_per_rank, one.hyperthreads) for one in alike)
    return [replace(shape, threads_per_rank=count, hyperthreads=smt) for count, smt in threads] or (shape,)


def _on_gpus(shape: Shape, gpus: int, node: Node | None) -> Shape:
    """The shape on another number of GPUs per node, with as many ranks for each and their threads, as far as there are cores for them."""
    ranks, left = divmod(shape.ranks_per_node * gpus, shape.gpus_per_node or 1)
    if left or not ranks or not shape.gpus_per_node:
        return shape
    room = (node.hardware_threads if shape.hyperthreads else node.usable_cores) if node else ranks * shape.threads_per_rank
    threads = max(1, min(shape.threads_per_rank, room // ranks))
    return replace(shape, ranks_per_node=ranks, threads_per_rank=threads, gpus_per_node=gpus)


def _spread(shape: Shape, counts: StatedCounts) -> Shape:
    """The shape with no more ranks, and GPUs of a rank each, than the total of ranks needs: 10 ranks do not run like 48 on a node."""
    ranks = counts.even_ranks(shape.ranks_per_node)
    if ranks == shape.ranks_per_node:
        return shape
    one_each = shape.gpus_per_node == shape.ranks_per_node and counts.gpus_per_node is None
    return replace(shape, ranks_per_node=ranks, gpus_per_node=ranks if one_each else shape.gpus_per_node, origin="request")


def _once(shapes: Iterable[Shape]) -> tuple[Shape, ...]:
    """Each shape once (a measured one is not assumed as well), in an order that does not depend on that of the results: it decides ties.

    Results that do not state their GPUs give all numbers of GPUs the same time: they hardly ran on few of those of a node.
    """
    found: dict[Shape, Shape] = {}
    for shape in shapes:
        key = replace(shape, origin="topology")
        if key not in found or (found[key].origin in ("assumed", "raised", "fuller") and shape.origin not in ("assumed", "fuller")):
            found[key] = shape

    def order(shape: Shape) -> tuple[int, int, int, str]:
        return -shape.gpus_per_node, shape.ranks_per_node, shape.threads_per_rank, repr(shape)

    return tuple(sorted(found.values(), key=order))


def _agrees(search: CandidateSearch, shape: Shape) -> bool:
    """Whether the shape has the given counts, and a single process if the run is not distributed."""
    counts = search.counts
    pairs = (
        (shape.ranks_per_node, counts.ranks_per_node if search.distributed else 1),
        (shape.threads_per_rank, counts.threads_per_rank),
        (shape.gpus_per_node, counts.gpus_per_node),
    )
    return all(asked is None or asked == known for known, asked in pairs)


def _is_larger(shape: Shape, node: Node | None) -> bool:
    """Whether the ranks of the shape have more threads or cores than a node has for jobs."""
    if node is None:
        return False
    cores = shape.ranks_per_node * shape.cores_per_rank(node.threads_per_core)
    return cores > node.usable_cores or shape.ranks_per_node * shape.threads_per_rank > node.hardware_threads


def _fits(shape: Shape, node: Node | None) -> bool:
    """Whether a node has the GPUs and the NUMA mode of the shape."""
    if node is None:
        return True
    modes = {mode.domains for mode in node.numa_modes}
    return shape.gpus_per_node <= node.accelerators and (shape.numa_mode is None or not modes or shape.numa_mode in modes)
