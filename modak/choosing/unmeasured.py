"""Unmeasured candidates that are worth measuring: open switches on or off, other layouts and parameters, powers of two of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from modak.arrays import Ints
from modak.choosing import memory
from modak.choosing.candidates import Candidates
from modak.choosing.grids import accepted_node_counts, only_one_node
from modak.choosing.mpi import by_mpi, host_mpi
from modak.choosing.openparams import all_values, on_multiples
from modak.choosing.openswitch import BELOW_SINGLE, OpenSwitch
from modak.choosing.requirements import is_hybrid, names_openmp
from modak.choosing.shapes import Shape
from modak.choosing.switching import NoImage, bare, may_have
from modak.choosing.topology import with_few_threads
from modak.dsl import Request
from modak.facts import Node
from modak.perfmodel import Curve
from modak.perfmodel.fitting.precisions import USUAL_PRECISION
from modak.target import Target

FIRST: Final = (1, 2, 4)
"""Nodes of the first runs, if nothing is known of the application's scaling."""


Pair = tuple[Shape, Ints]


def with_unmeasured(
    request: Request,
    target: Target,
    found: Candidates,
    no_image: NoImage,
    chosen: Shape | None = None,
    too_few: int = 0,
    curves: Sequence[Curve] = (),
) -> Candidates:
    """The candidates, followed by unmeasured ones that can run and agree with the request. New layouts run the software of the one that
    is ``chosen`` today, which is also tried with the parameters of other ``curves``. First runs are also on more nodes than ``too_few``,
    which had too little memory."""
    mpi, whose = _host_mpi(request, target, found) if found.distributed else (None, None)
    layouts = [
        (replace(shape, mpi=mpi, mpi_from=whose) if mpi else shape, grid) for shape, grid in _layouts(request, target, found, chosen)
    ]
    new = dict([*_switched(target, found, no_image), *layouts, *_other_values(request, found, chosen, curves)])
    serial = {(shape.ranks_per_node, shape.threads_per_rank) for shape in found.serial}  # also with a switch turned
    first = max(FIRST) * max(too_few, 1)

    def sizes(shape: Shape, grid: Ints) -> Ints:
        alone = (shape.ranks_per_node, shape.threads_per_rank) in serial
        return grid if alone else _sizes(grid, request, target, found, first)

    pairs = [(shape, sizes(shape, grid)) for shape, grid in (*found.pairs, *new.items())]
    return found.with_pairs(on_multiples(request, [pair for pair in pairs if pair[0].params] or pairs, curves))


def _switched(target: Target, found: Candidates, no_image: NoImage) -> Iterator[Pair]:
    """Every candidate with each open switch turned on, and turned off, that is none already."""
    seen = {bare(shape) for shape in found.shapes}
    for switch in _worth_trying(found):
        for shape, grid in found.pairs:
            other = _other_way(switch, shape) if switch.is_on(shape) or may_have(switch, shape, target, no_image) else shape
            if bare(other) not in seen:
                seen.add(bare(other))
                yield replace(other, origin="plan"), grid


def _other_way(switch: OpenSwitch, shape: Shape) -> Shape:
    """The shape with the switch turned on, if it is off, or else off."""
    if not switch.is_on(shape):
        return switch.turned_on(shape)
    off = switch.turned_off(shape)
    return replace(off, precision=USUAL_PRECISION) if switch.column == "precision" else off


def _worth_trying(found: Candidates) -> Iterator[OpenSwitch]:
    """The open switches; of the precisions those that results show, or else one."""
    shown = [each for each in found.tried if each.pairs or any(map(each.switch.is_on, found.shapes))]
    any_precision = any(each.switch.column == "precision" for each in shown)
    for each in found.tried:
        if each.switch.column != "precision" or each in shown or (each.switch.name == BELOW_SINGLE[0] and not any_precision):
            yield each.switch


def _layouts(request: Request, target: Target, found: Candidates, chosen: Shape | None) -> Iterator[Pair]:
    """Other layouts of the software that is chosen today, if the request does not give the layout."""
    like = next(shape for shape in sorted(found.shapes, key=lambda one: one != chosen) if not shape.inferred)
    node = target.node
    if node is None or like.gpus_per_node or not _leaves_layout_open(request, found):
        return
    known = {(shape.ranks_per_node, shape.threads_per_rank) for shape in found.shapes}
    for ranks, threads in _sharing(node, request, target, found):
        shape = replace(like, ranks_per_node=ranks, threads_per_rank=threads, hyperthreads=False, numa_mode=None, origin="plan")
        if (ranks, threads) not in known and memory.obstacle(request, target, shape) is None:
            yield shape, max(found.nodes, key=len)  # serial runs stay on one node


def _other_values(request: Request, found: Candidates, chosen: Shape | None, curves: Iterable[Curve]) -> Iterator[Pair]:
    """What is chosen today with the values of open parameters that were measured together elsewhere: at another problem, on another
    system."""
    known = {shape.params for shape in found.shapes}
    like, grid = min(found.pairs, key=lambda pair: pair[0] != chosen)
    for values in [each for each in all_values(curves, request) if each not in known]:
        yield replace(like, params=values, origin="plan"), grid


def _leaves_layout_open(request: Request, found: Candidates) -> bool:
    """Whether the program has several ranks or threads, and the request gives none of their counts."""
    given = found.given
    if given.ranks_per_node or given.threads_per_rank or given.cores or given.ranks or request.application.allowed_ranks:
        return False
    return found.distributed or (names_openmp(request) and not found.single_threaded)


def _sharing(node: Node, request: Request, target: Target, found: Candidates) -> list[tuple[int, int]]:
    """How ranks may share a node's cores, each with its threads: one rank per node, per socket and per NUMA domain, and one with a few
    threads, and for a hybrid program one per core, or as many as fit the memory. A program with MPI alone has no threads to share cores
    with: one rank per core. One with OpenMP alone may be faster on a part of the cores, where its threads share a socket, or suffice for
    the memory's bandwidth: halves of them, down to half of the fewest threads that are known.
    """
    cores = node.usable_cores
    if not found.distributed:
        fewest = min(shape.threads_per_rank for shape in found.shapes)
        halves = (cores >> halved for halved in range(cores.bit_length()))
        return [(1, threads) for threads in halves if 2 * threads >= fewest]
    most = min(cores, memory.most_ranks(request, target) or cores)
    if found.single_threaded:
        return [(most, 1)]
    numbers = {1, node.sockets, node.standard_numa_domains, *with_few_threads(node), *([most] if is_hybrid(request) else [])}
    return [(ranks, cores // ranks) for ranks in sorted(numbers) if ranks <= cores]


def _host_mpi(request: Request, target: Target, found: Candidates) -> tuple[str | None, str | None]:
    """The host's MPI, which starts unmeasured candidates, with the label of results if there are any with it, and whose MPI the ranks use.
    ``None``: there is none, or not the one that the request names, or MPI does not connect the ranks."""
    if not by_mpi(request):
        return None, None
    measured = next((shape.mpi for shape in found.shapes if shape.mpi_from == "host"), None)
    host, _ = host_mpi(request, target)
    return (measured, "host") if measured else (host.family, target.mpi_from(host)) if host else (None, None)


def _sizes(grid: Ints, request: Request, target: Target, found: Candidates, first: int) -> Ints:
    """The node counts, and the powers of two up to the largest; if there is only one, up to ``first``. Given counts are kept,
    and so is one node where the run cannot be started on several.
    """
    given = found.given.nodes or found.given.ranks or request.application.allowed_ranks
    if given or not found.distributed or only_one_node(request, target):
        return grid
    _, limit = target.job_nodes or (1, first)
    limit = min(limit, request.optimisation.objective.max_nodes or limit)
    largest = int(grid.max()) if len(grid) > 1 else min(limit, first)
    return accepted_node_counts(np.union1d(grid, 2 ** np.arange(largest.bit_length())).astype(np.int64), target)
