"""Whether what a run needs fits the memory of a node and of its GPUs, and the cores that go with it. GB are 10^9 bytes."""

from __future__ import annotations

import math

from modak.choosing.requirements import cores_with
from modak.choosing.shapes import Shape
from modak.dsl import Request
from modak.errors import Fault
from modak.target import Target
from modak.text.amounts import counted


def needed_gb(request: Request, ranks_per_node: int) -> float:
    """Memory that a node needs: for its ranks, and for an image or data unpacked into tmpfs (``memory_aside_gb``)."""
    work = request.optimisation.workload
    return (work.memory_per_rank_gb or 0.0) * ranks_per_node + (work.memory_aside_gb or 0.0)


def memory_field(request: Request) -> str:
    """The field of the request that says what a node's ranks need."""
    return f"optimisation.workload.{'memory_per_rank_gb' if request.optimisation.workload.memory_per_rank_gb else 'memory_aside_gb'}"


def given_gb(target: Target, cores: int) -> float:
    """What the scheduler gives a job with so many cores of a node that asks for no memory; 0: enough, or not known."""
    partition, node, system = target.partition, target.node, target.system
    if not (partition and node and system and target.is_recorded):
        return 0.0
    cpus = min(cores, node.usable_cores) * (node.threads_per_core if system.cpu_unit == "thread" else 1)
    return partition.default_memory_gb or (partition.default_memory_per_cpu_gb or 0.0) * cpus


def usable_gb(target: Target) -> float | None:
    """Memory of a node that a job may use; ``None``: unknown."""
    return target.node.job_memory_gb if target.node else None


def most_ranks(request: Request, target: Target) -> int | None:
    """The most ranks of a node that fit its memory, if possible as many in each of its NUMA domains; ``None``: too little is known."""
    fitting, cores = _room_for(request, target), cores_with_memory(request, target)
    if cores is not None:
        each = request.threads_per_rank or 1
        fitting = cores // each if fitting is None else min(fitting, cores // each)
    if target.node is None or fitting is None:
        return None
    domains = target.node.standard_numa_domains
    return fitting - fitting % domains if fitting >= domains else fitting


def cores_with_memory(request: Request, target: Target) -> int | None:
    """The cores of a node for which there is the memory that the request asks for with each; ``None``: it asks for none, or too little is
    known."""
    each, usable = request.job_options.minimum_memory_per_processor, usable_gb(target)
    return None if usable is None or not each else _bytes(usable) // each


def _room_for(request: Request, target: Target) -> int | None:
    """The most ranks of a node that fit its memory; ``None``: too little is known."""
    work, usable = request.optimisation.workload, usable_gb(target)
    if usable is None or not work.memory_per_rank_gb:
        return None
    return max(0, _bytes(usable) - _bytes(work.memory_aside_gb or 0.0)) // max(1, _bytes(work.memory_per_rank_gb))


def demand(request: Request) -> str:
    """What of a node's memory the request asks for with each rank and each core, for a sentence; it asks for one of them at least."""
    rank, core = request.optimisation.workload.memory_per_rank_gb, request.job_options.minimum_memory_per_processor
    asked = {"each": rank, "each core": core and core / 1e9}
    return " and ".join(f"{what} needs {gigabytes(amount)} of its memory" for what, amount in asked.items() if amount)


def cores_of_rank(request: Request, target: Target, shape: Shape) -> int:
    """Cores of a rank: one for each thread, or more if the request gives more and the node has them. Without a word of the request on
    cores, with GPUs its part of those that go with them, if these are more: so ranks lie as far apart as their GPUs, and have cores to
    feed them. Where no more ranks fit the node's memory, its part of all cores: so they have the memory of all NUMA domains. Cores beside
    those of threads are no more than there is memory for, if the request asks for some with each core.
    """
    node, ranks, options = target.node, shape.ranks_per_node, request.job_options
    cores = shape.cores_per_rank(node.threads_per_core if node else 1)
    said = options.core_count_per_process or (options.core_count or 0) // ranks
    if node is None:
        return max(cores, said)
    if options.core_count_per_process or options.core_count:
        return max(cores, min(said, node.usable_cores // ranks))
    if shape.gpus_per_node:
        part = cores_with(request, node, shape.gpus_per_node) // ranks
    else:
        part = node.usable_cores // ranks if ranks == most_ranks(request, target) else 0
    with_memory = cores_with_memory(request, target)
    return max(cores, part if with_memory is None else min(part, with_memory // ranks))


def gigabytes(amount: float) -> str:
    """An amount in GB with the digits of its bytes: of two amounts that are compared, a reader sees which is larger."""
    return f"{amount:.12g} GB"


def _bytes(amount_gb: float) -> int:
    return round(amount_gb * 1e9)


def obstacle(request: Request, target: Target, shape: Shape) -> Fault | None:
    """Why a shape does not fit the memory of nodes or GPUs, with the field that asks for too much; ``None``: it fits, or too little is
    known."""
    checks = (_too_little_for_ranks, _too_little_for_cores, _too_little_on_gpus)
    return next((fault for check in checks if (fault := check(request, target, shape))), None)


def _too_little_for_ranks(request: Request, target: Target, shape: Shape) -> Fault | None:
    need, usable = needed_gb(request, shape.ranks_per_node), usable_gb(target)
    if usable is None or _bytes(need) <= _bytes(usable):
        return None
    ranks, aside = f"{counted(shape.ranks_per_node, 'rank')} per node", request.optimisation.workload.memory_aside_gb
    beside = f" and {gigabytes(aside)} besides" if aside else ""
    why = f"{gigabytes(need)} per node are needed ({ranks}{beside}), but nodes of {target.title} have {gigabytes(usable)} usable"
    return Fault(memory_field(request), why + _what_fits(request, target))


def _too_little_for_cores(request: Request, target: Target, shape: Shape) -> Fault | None:
    with_memory, node = cores_with_memory(request, target), target.node
    if with_memory is None or node is None:
        return None
    cores = min(shape.ranks_per_node * cores_of_rank(request, target, shape), node.usable_cores)
    if cores <= with_memory:
        return None
    asked, usable = (request.job_options.minimum_memory_per_processor or 0) * cores / 1e9, usable_gb(target) or 0.0
    why = f"{gigabytes(asked)} for the cores of a node are requested, but nodes of {target.title} have {gigabytes(usable)} usable"
    enough = f": enough for {counted(with_memory, 'core')}" if with_memory else ""
    return Fault("job_options.minimum_memory_per_processor", why + enough)


def _too_little_on_gpus(request: Request, target: Target, shape: Shape) -> Fault | None:
    asked, gpu = request.optimisation.workload.memory_per_gpu_gb, target.accelerator
    if not (shape.gpus_per_node and asked and gpu and gpu.memory_gb and asked > gpu.memory_gb):
        return None
    why = f"{gigabytes(asked)} are needed per GPU, but the {gpu.model} of {target.title} has {gigabytes(gpu.memory_gb)}"
    return Fault("optimisation.workload.memory_per_gpu_gb", why)


def _what_fits(request: Request, target: Target) -> str:
    """How many ranks fit a node, and on how many nodes a stated total of ranks would; empty if not even one does."""
    fitting, total = _room_for(request, target), request.application.mpi_ranks
    if not fitting:
        return ""
    nodes = math.ceil((total or 0) / fitting)
    return f": room for {counted(fitting, 'rank')}" + (f", so {total} ranks need {counted(nodes, 'node')}" if nodes > 1 else "")
