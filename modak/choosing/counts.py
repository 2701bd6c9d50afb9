"""The counts that a request gives (nodes, ranks, threads, GPUs), made consistent with each other and with the nodes; and their limits."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from modak.choosing import memory
from modak.choosing.requirements import (
    by_torchrun,
    is_distributed,
    is_said_distributed,
    is_single_threaded,
    is_within_one_process,
    stated_nodes,
)
from modak.choosing.shapes import Shape
from modak.dsl import Notice, Request
from modak.errors import Infeasible
from modak.facts import ARCHITECTURES, VENDORS, Node
from modak.target import Target
from modak.text.amounts import counted


@dataclass(frozen=True)
class StatedCounts:
    """The counts that a request states, made consistent. ``None``: to be chosen."""

    nodes: int | None = None
    ranks: int | None = None
    ranks_per_node: int | None = None
    threads_per_rank: int | None = None
    gpus_per_node: int | None = None
    cores: int | None = None
    """Cores of a node for ranks whose number is left open, and at least one of them."""
    warnings: tuple[Notice, ...] = ()

    def even_ranks(self, most: int) -> int:
        """Ranks per node of a layout with ``most``. Total ranks are spread evenly over as few nodes as possible, if no others are given."""
        fewest = math.ceil((self.ranks or most) / most)
        if self.ranks is None or self.nodes not in (None, fewest):
            return most
        return math.ceil(self.ranks / fewest)


def stated_counts(request: Request, target: Target, *, distributed: bool = False) -> StatedCounts:
    """The counts that the request states. If they contradict each other, total ranks and nodes are kept and the others follow.

    ``distributed``: results say that the run has several processes, whether the request says so or not.
    """
    ranks, threads = request.application.mpi_ranks, request.threads_per_rank
    nodes, per_node, notes = _nodes_of_ranks(request)
    cores, fewer_cores = _cores_that_are_there(request.job_options.core_count, target)
    if cores and not per_node and not ranks and is_single_threaded(request):
        per_node = max(1, cores // (threads or 1))
    elif cores and threads is None and (per_node or not (distributed or is_distributed(request))):
        threads = max(1, cores // (per_node or 1))
    shared = max(cores, threads or 1) if cores and not per_node else None
    gpus, other_gpus = _gpus(request, target)
    threads, fewer_threads = _threads_that_fit(request, per_node, threads, target.node)
    warnings = (
        *notes,
        *fewer_cores,
        *_copies(request, per_node, nodes),
        *_unused(request),
        *_other_processor(request, target),
        *_no_fpga(request, target),
        *other_gpus,
        *fewer_threads,
    )
    return StatedCounts(nodes, ranks, per_node, threads, gpus, shared, warnings)


def _nodes_of_ranks(request: Request) -> tuple[int | None, int | None, tuple[Notice, ...]]:
    """Nodes, and ranks on each, as the total of ranks makes them, and a warning for each number that contradicts it."""
    ranks, nodes, per_node = request.application.mpi_ranks, stated_nodes(request), request.job_options.process_count_per_node
    if ranks is None:
        return nodes, per_node, ()
    notes: list[Notice] = []
    if nodes:
        follows = math.ceil(ranks / nodes)
        if per_node and per_node != follows:
            notes.append(_adjusted(ranks, nodes, per_node, "application.mpi_ranks and node_count are used"))
        needed = math.ceil(ranks / follows)
        if ranks > 1 and needed < nodes:  # a single process may start others on its nodes
            text = f"{ranks} ranks, {follows} on a node, need {needed} of the {nodes} nodes: the others may stay idle"
            notes.append(Notice(field="application.mpi_ranks", message=text))
        per_node = follows
    elif per_node:
        nodes = math.ceil(ranks / per_node)
        if nodes * per_node - ranks >= nodes:  # spread evenly, no node has as many
            notes.append(_adjusted(ranks, nodes, per_node, "application.mpi_ranks is used"))
    if request.application.allowed_ranks and ranks not in request.application.allowed_ranks:
        text = f"{ranks} ranks are kept, a number that application.allowed_ranks does not have"
        notes.append(Notice(field="application.mpi_ranks", message=text))
    return nodes, per_node, tuple(notes)


def _adjusted(ranks: int, nodes: int, per_node: int, used: str) -> Notice:
    """A warning that the requested ranks per node are not those of the total."""
    follows = math.ceil(ranks / nodes)
    are = "is" if ranks == 1 else "are"
    text = f"{counted(ranks, 'rank')} on {counted(nodes, 'node')} {are} {follows} per node, not {per_node}; {used}"
    return Notice(field="job_options.process_count_per_node", message=text)


def _unused(request: Request) -> Iterator[Notice]:
    """A warning for each option of the framework, or of one beside it, that is given and has no effect."""
    wanted = request.optimisation
    beside = ((wanted.written.get(name, f"optimisation.hpc.{name}"), options) for name, options in wanted.further.items())
    for place, options in (("optimisation.options", wanted.options), *beside):
        yield from (Notice(field=f"{place}.{name}", message=f"{name} {why}") for name, why in options.unused().items())


def _copies(request: Request, per_node: int | None, nodes: int | None) -> Iterator[Notice]:
    """A warning if nothing but its ranks per node, or its nodes, says that a Python program, or one for big data, or with threads alone, is
    several processes."""
    application = request.application
    threads = is_within_one_process(request)
    alone = application.app_type == "python" or (application.app_type is None and request.optimisation.app_type == "big_data")
    if not (alone or threads) or application.mpi_ranks or by_torchrun(request) or is_said_distributed(request):
        return
    unsaid = "nothing else says that it is distributed"
    if per_node and per_node > 1:
        text = f"{per_node} copies of the program start on each node; {unsaid}: leave this out for one process"
        yield Notice(field="job_options.process_count_per_node", message=text)
    elif nodes and nodes > 1:
        text = f"copies of the program start on all nodes; {unsaid}: {'leave this out' if threads else 'mpi_ranks 1 starts it once'}"
        yield Notice(field="job_options.node_count", message=text)


def _cores_that_are_there(asked: int | None, target: Target) -> tuple[int | None, tuple[Notice, ...]]:
    """Requested cores per node, reduced to the hardware of a node, and a warning if they are."""
    node = target.node
    if asked is None or node is None or asked <= node.hardware_threads:
        return asked, ()
    text = f"{asked} cores per node requested, but nodes of {target.title} have {node.usable_cores}: reduced to {node.usable_cores}"
    return node.usable_cores, (Notice(field="job_options.core_count", message=text),)


def _gpus(request: Request, target: Target) -> tuple[int | None, tuple[Notice, ...]]:
    """Requested GPUs per node, reduced to those of a node that has some, and a warning if they are fewer or another vendor's.

    A partition that the system's file does not have may have GPUs even if no other one there has any.
    """
    asked = request.job_options.request_gpus
    node = target.node
    wanted = asked if asked is not None else (0 if request.optimisation.opt_build.acc_type == "none" else None)
    if node is None:
        return wanted, ()
    if wanted and not node.accelerators:
        return wanted, ()  # of a partition that is recorded, check_limits refuses them
    if wanted and wanted > node.accelerators:
        text = f"{wanted} GPUs per node requested, but nodes of {target.title} have {node.accelerators}: reduced to {node.accelerators}"
        return node.accelerators, (Notice(field=gpu_count_field(request), message=text),)
    kind, there = request.optimisation.opt_build.acc_type, target.accelerator
    if kind in VENDORS and node.accelerators == 0:
        text = f"nodes of {target.title} have no accelerator; the job uses their CPUs"
        return 0, (Notice(field="optimisation.opt_build.acc_type", message=text),)
    if kind in VENDORS and there and there.vendor != kind and wanted != 0:
        text = f"the GPUs of {target.title} are {there.vendor}'s, not {kind}'s; the job uses these"
        return wanted, (Notice(field="optimisation.opt_build.acc_type", message=text),)
    return wanted, ()


def gpu_count_field(request: Request) -> str:
    """The field of the document with the number of GPUs: a programming model may have it instead of the job's options."""
    wanted = request.optimisation
    models = ((wanted.framework or "", wanted.options), *wanted.further.items())
    asking = (name for name, options in models if options.value_of("number_of_acc") == request.job_options.request_gpus)
    written = wanted.written.get(next(asking, ""))
    return f"{written}.number_of_acc" if written else "job_options.request_gpus"


def _other_processor(request: Request, target: Target) -> Iterator[Notice]:
    """A warning if the request says that the target's processors are of another architecture than they are."""
    asked, there = request.optimisation.opt_build.cpu_type, target.processor.architecture if target.processor else None
    if asked and there not in (None, ARCHITECTURES[asked]):
        text = f"the processors of {target.title} are {there}, not {asked}; the job uses these"
        yield Notice(field="optimisation.opt_build.cpu_type", message=text)


def _no_fpga(request: Request, target: Target) -> Iterator[Notice]:
    """A warning if the request asks for an FPGA."""
    if request.optimisation.opt_build.acc_type == "fpga":
        node, asked = target.node, request.job_options.request_gpus
        has_gpus = asked != 0 and (bool(asked) if node is None else node.accelerators > 0)
        text = f"FPGAs are not supported: the job is planned for the CPUs{' and GPUs' if has_gpus else ''} of {target.title}"
        yield Notice(field="optimisation.opt_build.acc_type", message=text)


def _threads_that_fit(
    request: Request, per_node: int | None, threads: int | None, node: Node | None
) -> tuple[int | None, tuple[Notice, ...]]:
    """Threads per rank, reduced if ranks x threads exceed the hardware threads of a node, and a warning if they are."""
    if node is None or threads is None:
        return threads, ()
    most = node.hardware_threads // (per_node or 1)
    if threads <= most or most == 0:
        return threads, ()
    layout = f"{counted(per_node or 1, 'rank')} x {threads} threads"
    text = f"{layout} exceed the {node.hardware_threads} hardware threads of a node: threads reduced to {most}"
    return most, (Notice(field=threads_field(request), message=text),)


def threads_field(request: Request) -> str:
    """The field with the threads of a rank."""
    return "application.threads" if request.application.threads else "job_options.core_count_per_process"


def check_limits(counts: StatedCounts, request: Request, target: Target) -> None:
    """Raise :class:`modak.errors.Infeasible` if the requested nodes or memory exceed what a job there can have, or if GPUs are requested
    and no node is known to have any. Of a partition that the system file does not have nothing is known, and a warning says so."""
    limit = target.largest_job
    if limit is None:
        return
    if counts.nodes and counts.nodes > limit:
        message = f"{counts.nodes} nodes requested, but a job on {target.title} can have at most {limit}"
        raise Infeasible(message, field=_field_of_nodes(request))
    _check_memory(counts, request, target)
    if request.job_options.request_gpus and target.node and not target.node.accelerators:
        raise Infeasible(_without_gpus(request.job_options.request_gpus, target), field=gpu_count_field(request))


def _check_memory(counts: StatedCounts, request: Request, target: Target) -> None:
    usable, asked = memory.usable_gb(target), request.job_options.memory_limit
    if usable and asked and asked > round(usable * 1e9):
        requested, there = memory.gigabytes(asked / 1e9), memory.gigabytes(usable)
        most = target.whole_node.job_memory_gb if target.whole_node else None
        there_for = f"{target.title} with qos {target.qos}" if target.qos and usable != most else target.title
        message = f"{requested} per node requested, but only {there} are usable on nodes of {there_for}"
        raise Infeasible(message, field="job_options.memory_limit")
    ranks, threads = counts.ranks_per_node or 1, counts.threads_per_rank or 1
    smt = target.node is not None and target.node.needs_hyperthreads(ranks * threads)
    if fault := memory.obstacle(request, target, Shape(ranks, threads, hyperthreads=smt)):
        raise Infeasible(fault.message, field=fault.field)


def _field_of_nodes(request: Request) -> str:
    """The field of the request that says how many nodes it needs."""
    options = request.job_options
    given = [name for name in ("node_count", "request_specific_nodes") if getattr(options, name)]
    return f"job_options.{given[0]}" if given else "application.mpi_ranks"


def _without_gpus(asked: int, target: Target) -> str:
    """That the nodes have no GPUs, and which partitions have some; if none has, what the system file would have to say."""
    partitions, closed = target.system.partitions if target.system else (), dict(target.closed)
    named = [one.name for one in partitions if one.node.accelerators]
    having = ", ".join(f"{name} ({closed[name]})" if name in closed else name for name in named)
    text = f"{counted(asked, 'GPU')} per node requested, but the system file gives nodes of {target.title} none"
    if having:
        return f"{text}; partitions with GPUs: {having}"
    return f"{text}: if they have GPUs, enter 'accelerator' (the model) and 'accelerators' (their number) in its node there"
