"""Layouts by rules of thumb from a node's topology: one rank per node, NUMA domain, core or GPU, with the cores shared among the ranks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from modak.choosing.counts import StatedCounts
from modak.choosing.shapes import Origin, Shape
from modak.choosing.wishes import by_torchrun, compiler_named, is_single_threaded, mpi_asked, precision, switches
from modak.dsl import Notice, Request
from modak.facts import VENDORS, HostMpi
from modak.target import Target

LEARNING: Final = ("ai_training", "ai_inference")
"""Kinds of applications whose distribution gives each rank a GPU of its own."""


def topology_shapes(
    request: Request, target: Target, counts: StatedCounts, distributed: bool, host: HostMpi | None
) -> tuple[tuple[Shape, ...], tuple[Notice, ...]]:
    """Shapes by the rules of thumb, and warnings."""
    node, warnings = target.node, list[Notice]()
    shapes: list[Shape] = []
    on = compiler_named(request.optimisation.workload.compiler) or next(
        (name for name, value in switches(request).items() if value is True), None
    )
    family = host.family if host and distributed and not by_torchrun(request) else None
    mpi = family or (mpi_asked(request) if distributed else None)
    batch, mpi_from = request.optimisation.workload.batch_size, target.mpi_from(host) if host and family else None
    base = Shape(1, 1, mpi=mpi, mpi_from=mpi_from, compiler=on, precision=precision(request), batch_size=batch)
    cores = node.usable_cores if node else 1
    gpus = _topology_gpus(request, target, counts, distributed)
    share = node.cores_with(0 if request.job_options.node_exclusive else gpus) if node else 1
    for most, numa in _rank_counts(request, target, counts, gpus, distributed):
        ranks = counts.even_ranks(most)
        threads = counts.threads_per_rank or _default_threads(request, share, ranks)
        smt = bool(node) and ranks * threads > cores
        if node and ranks * threads > cores * node.threads_per_core:
            text = f"{ranks} ranks x {threads} threads oversubscribe a node with {cores} cores"
            warnings.append(Notice(field="application.mpi_ranks", message=text))
        origin: Origin = "request" if counts.ranks_per_node and counts.threads_per_rank else "topology"
        counted = replace(base, ranks_per_node=ranks, threads_per_rank=threads, gpus_per_node=gpus)
        shapes.append(replace(counted, hyperthreads=smt, numa_mode=numa, origin=origin))
    return tuple(dict.fromkeys(shapes)), tuple(warnings)


def _topology_gpus(request: Request, target: Target, counts: StatedCounts, distributed: bool) -> int:
    node = target.node
    if counts.gpus_per_node is not None:
        return counts.gpus_per_node
    if node is None or not node.accelerators:
        return 0
    training = request.optimisation.app_type in LEARNING
    offloads = "openacc" in request.optimisation.config.parallelisation or request.optimisation.framework == "openacc"
    if not (training or offloads or target.on_gpus or request.optimisation.opt_build.acc_type in VENDORS):
        return 0
    return node.accelerators if distributed else 1


def _rank_counts(request: Request, target: Target, counts: StatedCounts, gpus: int, distributed: bool) -> Iterable[tuple[int, int | None]]:
    """Ranks per node, each with the number of NUMA domains that it needs (``None``: any).

    One rank for each GPU or NUMA domain is a rule of thumb; a given total of ranks may need more on each of the nodes that a job can have.
    """
    node, threads = target.node, counts.threads_per_rank
    if counts.ranks_per_node:
        return [(counts.ranks_per_node, None)]
    if not distributed:
        return [(1, None)]
    if gpus and (node is None or request.optimisation.app_type in LEARNING):
        return [(gpus, None)]
    if node is None:
        return [(counts.ranks or 1, None)]
    most = max(1, node.usable_cores // (threads or 1))
    if not gpus and (threads or is_single_threaded(request)):
        return [(most, None)]
    domains, limit = node.standard_numa_domains, target.partition.job_nodes if target.partition and target.is_recorded else None
    needed = min(math.ceil((counts.ranks or 1) / limit), most) if limit else 1
    return [(max(gpus, needed), None)] if gpus else [(max(domains, needed), domains if node.numa_modes else None)]


def _default_threads(request: Request, cores: int, ranks: int) -> int:
    return 1 if is_single_threaded(request) else max(1, cores // ranks)
