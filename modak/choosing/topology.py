"""Layouts by rules of thumb from a node's topology: one rank per node, NUMA domain, core or GPU, with the cores shared among the ranks."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from modak.choosing import memory
from modak.choosing.counts import StatedCounts, threads_field
from modak.choosing.mpi import by_mpi
from modak.choosing.requirements import (
    compiler_named,
    compilers_on,
    cores_with,
    drives_all_gpus,
    front_end_measured,
    mpi_asked,
    precision,
)
from modak.choosing.shapes import Shape
from modak.dsl import LEARNING, Notice, Request
from modak.facts import VENDORS, HostMpi, Node
from modak.perfmodel import Curve
from modak.target import Target
from modak.text.amounts import counted

_FREE: Final = 0.1
"""Part of a NUMA domain's cores that a layout with few threads may leave free."""


@dataclass(frozen=True)
class CandidateSearch:
    """A request on a target, and what is known for finding its candidates."""

    request: Request
    target: Target
    counts: StatedCounts
    curves: Sequence[Curve]
    host: HostMpi | None
    """The host's MPI that would start the ranks."""
    distributed: bool
    """Whether the run has several processes."""
    single_threaded: bool
    """Whether each of these has one thread, by the request, or as in all results."""


class Shapes(NamedTuple):
    """Shapes, why they are considered, and what should be known of them."""

    shapes: tuple[Shape, ...]
    why: tuple[str, ...] = ()
    warnings: tuple[Notice, ...] = ()
    serial: tuple[Shape, ...] = ()
    """Those of serial runs, which stay on the fewest nodes."""


def topology_shapes(search: CandidateSearch) -> Shapes:
    """The one shape by the rules of thumb, and warnings."""
    counts, node, gpus = search.counts, search.target.node, _topology_gpus(search)
    most = _rank_count(search, gpus)
    fitting = _with_memory(search, gpus)
    ranks = counts.even_ranks(min(most, fitting, _on_enough_nodes(search), _with_cores(search, gpus)))
    threads = counts.threads_per_rank or (1 if search.single_threaded else max(1, _shared_cores(search, gpus) // ranks))
    shape = replace(
        _software(search),
        ranks_per_node=ranks,
        threads_per_rank=threads,
        gpus_per_node=gpus,
        hyperthreads=node is not None and node.needs_hyperthreads(ranks * threads),
        origin="request" if counts.ranks_per_node and counts.threads_per_rank else "topology",
    )
    why = (f"ranks per node: at most {fitting}, because {memory.demand(search.request)}",) if fitting < most else ()
    return Shapes((shape,), why, tuple(_too_many(search, ranks, threads)))


def _shared_cores(search: CandidateSearch, gpus: int) -> int:
    """The cores of a node that its ranks share, on so many of its GPUs."""
    node, given = search.target.node, search.counts.cores
    with_memory = memory.cores_with_memory(search.request, search.target)
    there = cores_with(search.request, node, gpus) if node else given or 1
    return min(there, sys.maxsize if with_memory is None else with_memory, given or sys.maxsize)


def _too_many(search: CandidateSearch, ranks: int, threads: int) -> Iterator[Notice]:
    """Warnings of ranks and threads that are more than a node has room for, or than the request gives cores."""
    node, cores = search.target.node, search.counts.cores
    if node and ranks * threads > node.hardware_threads:
        text = f"{ranks} ranks x {counted(threads, 'thread')} oversubscribe a node with {node.usable_cores} cores"
        yield Notice(field=_where_they_are_asked_for(search), message=text)
    if cores and ranks > cores:
        text = f"{counted(cores, 'core')} per node requested, but the {ranks} ranks of a node take one each"
        yield Notice(field="job_options.core_count", message=text)


def _where_they_are_asked_for(search: CandidateSearch) -> str:
    """The field of the ranks that are too many for a node; that of the threads if the request leaves the ranks open."""
    if search.counts.ranks:
        return "application.mpi_ranks"
    return "job_options.process_count_per_node" if search.counts.ranks_per_node else threads_field(search.request)


def with_few_threads(node: Node) -> set[int]:
    """Ranks between one per NUMA domain and one per core: as many in a domain as each has threads, as nearly as its cores divide. Where
    they do not, a tenth of them may stay free."""
    cores = node.usable_cores // node.standard_numa_domains
    some = range(2, cores // 2 + 1)
    dividing = [threads for threads in some if cores % threads == 0] or [threads for threads in some if cores % threads <= _FREE * cores]
    threads = min(dividing, key=lambda each: max(each**2 / cores, cores / each**2), default=None)
    return {node.standard_numa_domains * (cores // threads)} if threads else set()


def _software(search: CandidateSearch) -> Shape:
    """A shape with the software that the request names, and the host's MPI if that starts the ranks."""
    request, work = search.request, search.request.optimisation.workload
    compiler = compiler_named(work.compiler) or next(iter(compilers_on(request)), None)
    front_end = front_end_measured(request, search.curves)
    software = Shape(1, 1, compiler=compiler, framework=front_end, precision=precision(request), batch_size=work.batch_size)
    if not search.distributed:
        return software
    host = search.host if by_mpi(request) else None
    return replace(software, mpi=host.family, mpi_from=search.target.mpi_from(host)) if host else replace(software, mpi=mpi_asked(request))


def _topology_gpus(search: CandidateSearch) -> int:
    node, optimisation = search.target.node, search.request.optimisation
    if search.counts.gpus_per_node is not None:
        return search.counts.gpus_per_node
    if node is None or not node.accelerators:
        return 0
    offloads = "openacc" in optimisation.config.parallelisation or optimisation.framework == "openacc"
    if not (optimisation.app_type in LEARNING or offloads or search.target.on_gpus or optimisation.opt_build.acc_type in VENDORS):
        return 0
    return node.accelerators if search.distributed else 1


def _rank_count(search: CandidateSearch, gpus: int) -> int:
    """Ranks per node.

    One rank for each GPU or NUMA domain is a rule of thumb, if a rank does not drive all GPUs of its node; a given total of ranks may need
    more on each of the nodes that a job can have.
    """
    request, counts, node = search.request, search.counts, search.target.node
    if counts.ranks_per_node or not search.distributed:
        return counts.ranks_per_node or 1
    if gpus and (node is None or request.optimisation.app_type in LEARNING):
        return _needed(search) if drives_all_gpus(request) else gpus
    if node is None:
        return counts.ranks or 1
    if not gpus and (counts.threads_per_rank or search.single_threaded):
        return _most(search)
    return max(gpus or node.standard_numa_domains, _needed(search))


def _needed(search: CandidateSearch) -> int:
    """Ranks on each of the nodes that a job can have, for a given total of ranks; 1 without one."""
    limit = search.target.largest_job
    return min(math.ceil((search.counts.ranks or 1) / limit), _most(search)) if limit else 1


def _on_enough_nodes(search: CandidateSearch) -> int:
    """The most ranks of a node with which a given total lies on as many nodes as a job there must have."""
    counts, (least, _) = search.counts, search.target.job_nodes or (1, 1)
    total = counts.ranks or 1
    if counts.ranks is None or counts.nodes or counts.ranks_per_node or total < least:
        return sys.maxsize
    few = math.ceil(total / least)
    return few if math.ceil(total / few) >= least else total // least


def _with_memory(search: CandidateSearch, gpus: int) -> int:
    """The most ranks of a node that fit its memory, if the request leaves their number open."""
    fitting = memory.most_ranks(search.request, search.target)
    return sys.maxsize if fitting is None or gpus or search.counts.ranks_per_node else max(1, fitting)


def _with_cores(search: CandidateSearch, gpus: int) -> int:
    """The most ranks of a node that have cores among those that the request gives for ranks whose number is open."""
    counts = search.counts
    return sys.maxsize if counts.cores is None or gpus else counts.cores // (counts.threads_per_rank or 1)


def _most(search: CandidateSearch) -> int:
    """The most ranks of a node that have cores of their own, as many as the request gives each; 1 if the node is not known."""
    node, cores = search.target.node, search.request.job_options.core_count_per_process
    return max(1, node.usable_cores // max(search.counts.threads_per_rank or 1, cores or 1)) if node else 1
