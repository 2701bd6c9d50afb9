"""The nodes, ranks, cores and memory that a job asks for."""

from __future__ import annotations

import math
from typing import Final

from modak.choosing.memory import cores_of_rank, gigabytes, needed_gb
from modak.choosing.shapes import Shape
from modak.choosing.software import gpu_vendor
from modak.dsl import Request
from modak.errors import Infeasible
from modak.facts import Node, Queue
from modak.jobs.spec import JobSpec, Resources
from modak.target import Target
from modak.text.amounts import counted, size

MIB: Final = 2**20
ROUNDING_GB: Final = 1e-6


def resources_of(request: Request, target: Target, shape: Shape, nodes: int) -> Resources:
    """What the job of a shape asks for on a number of nodes."""
    node, whole_node, options = target.node, target.whole_node, request.job_options
    per_core = node.threads_per_core if node else 1
    cores = cores_of_rank(request, target, shape)
    mode = next((mode for mode in node.numa_modes if mode.domains == shape.numa_mode), None) if node else None
    oversubscribed = _oversubscribed(target, shape)
    whole = options.node_exclusive or oversubscribed or target.gives_whole_nodes
    taken = node.usable_cores if node and whole else shape.ranks_per_node * cores
    queue = target.queue_for(nodes)
    share = _memory_share(whole_node, taken, needed_gb(request, shape.ranks_per_node), queue, nodes) if whole_node else None
    return Resources(
        nodes=nodes,
        ranks_per_node=shape.ranks_per_node,
        threads_per_rank=shape.threads_per_rank,
        cores_per_rank=cores,
        gpus_per_node=shape.gpus_per_node,
        gpu_vendor=gpu_vendor(request, target, shape),
        hyperthreads=shape.hyperthreads,
        threads_per_core=per_core,
        numa_constraint=mode.constraint if mode and not mode.standard else None,
        memory_per_node=options.memory_limit or _unlike_default(request, target, share, shape.ranks_per_node * cores, queue, nodes),
        memory_per_core=options.minimum_memory_per_processor,
        oversubscribed=oversubscribed,
        node_cores=node.usable_cores if node else None,
        total_ranks=total_ranks(request, shape, nodes),
        memory_share=share,
    )


def total_ranks(request: Request, shape: Shape, nodes: int) -> int | None:
    """The number of ranks in the request, if it is not nodes x ranks per node."""
    asked = request.application.mpi_ranks
    return asked if asked and asked < nodes * shape.ranks_per_node else None


def _memory_share(node: Node, cores: int, needed: float, queue: Queue | None, nodes: int) -> int | None:
    """Bytes of what jobs may use of a node that belong to some of its cores, where that is known; more if more GB are ``needed``, or by the
    least of the queue, and no more than it gives to a job on so many nodes."""
    if not node.usable_memory_gb:
        return None
    share = int(max(node.usable_memory_gb * min(1, cores / node.usable_cores), needed) * 10**9)
    least = math.ceil(queue.min_memory_gb * 1e9 / nodes / MIB) * MIB if queue and queue.min_memory_gb else 0  # schedulers count in MiB
    most = (queue and queue.memory_of_node_gb(nodes)) or math.inf
    return int(min(max(share, least), most * 10**9))


def _unlike_default(request: Request, target: Target, share: int | None, cores: int, queue: Queue | None, nodes: int) -> int | None:
    """The share, if the request asks for no memory and the scheduler would give the cores less; all that a job may have, if it would give
    them more, which it rejects; ``None``: the script asks for none."""
    partition, node = target.partition, target.node
    asked = request.job_options.minimum_memory_per_processor
    if not (share and partition and node and node.usable_memory_gb) or partition.resource_directives or asked:
        return None
    given, limit = _given_gb(target, cores) * 1e9, queue.memory_of_node_gb(nodes) if queue else None
    most = min(node.usable_memory_gb, limit or math.inf)
    if given > most * 1e9 + 1:
        return int(most * 1e9)
    return share if 0 < given < share or (limit and not given) else None


def _given_gb(target: Target, cores: int) -> float:
    """What the scheduler gives a job with so many cores of a node that asks for no memory; 0: enough, or not known."""
    partition, node, system = target.partition, target.node, target.system
    if not (partition and node and system and target.is_recorded):
        return 0.0
    cpus = min(cores, node.usable_cores) * (node.threads_per_core if system.cpu_unit == "thread" else 1)
    return partition.default_memory_gb or (partition.default_memory_per_cpu_gb or 0.0) * cpus


def _oversubscribed(target: Target, shape: Shape) -> bool:
    """Whether a job may use fewer hardware threads of a node than its ranks have threads, or, where these are counted, fewer cores."""
    node = target.node
    if node is None:
        return False
    by_thread = target.system is not None and target.system.cpu_unit == "thread"
    cores = shape.ranks_per_node * shape.cores_per_rank(node.threads_per_core)
    threads = shape.ranks_per_node * shape.threads_per_rank
    return threads > node.hardware_threads or (not by_thread and cores > node.usable_cores)


def check_limits(request: Request, target: Target, spec: JobSpec, seconds: int | None) -> None:
    """Raise :class:`modak.errors.Infeasible` if the job has more or fewer CPUs or GPUs, or more or less memory, than one of so many seconds
    in its queue, or nodes for itself where it gets parts of them."""
    has, queue = spec.resources, target.queue_for(spec.resources.nodes, seconds)
    whole = request.job_options.node_exclusive or target.gives_whole_nodes
    if target.gives_parts:
        whose = f"jobs{f' with qos {queue.qos}' if queue and queue.qos else ''} on {target.title} get parts of nodes"
        if whole:
            field = "node_exclusive" if request.job_options.node_exclusive else "qos" if queue and queue.qos else "partition"
            raise Infeasible(f"{whose}, and this one would have its nodes for itself", field=f"job_options.{field}")
        if has.oversubscribed:
            raise Infeasible(f"{whose}, {counted(has.node_cores or 0, 'core')} of each: too few for its ranks", field="application.threads")
    if queue is None or queue.qos not in (None, spec.attributes.qos):  # the limits of another quality of service
        return
    kind = f"a job {f'with qos {queue.qos} ' if queue.qos else ''}on {target.title}"
    cpus, gpus = has.nodes * spec.cpus_per_node, has.nodes * has.gpus_per_node
    all_gpus = has.nodes * target.node.accelerators if whole and target.node else gpus  # a node for itself brings all of its GPUs
    limits = (
        ("job_options.core_count_per_process", "CPU", cpus, queue.min_cpus, cpus, queue.max_cpus),
        ("job_options.request_gpus", "GPU", gpus, queue.min_gpus, all_gpus, queue.max_gpus),
    )
    for field, what, asked, fewest, given, most in limits:
        if fewest and asked < fewest:
            raise Infeasible(f"{kind} has at least {counted(fewest, what)}, and this one has {asked}", field=field)
        if most and given > most:
            raise Infeasible(f"{kind} has at most {counted(most, what)}, and this one has {given}", field=field)
    if queue.max_gpus_per_node and (given := all_gpus // has.nodes) > queue.max_gpus_per_node:
        most_gpus = f"{counted(queue.max_gpus_per_node, 'GPU')} per node"
        raise Infeasible(f"{kind} has at most {most_gpus}, and this one has {given}", field="job_options.request_gpus")
    _check_memory(request, target, has, queue, kind)


def _check_memory(request: Request, target: Target, has: Resources, queue: Queue, kind: str) -> None:
    """The same for memory, of which the queue says how much ``kind`` has on all of its nodes together."""
    if not (queue.max_memory_gb or queue.min_memory_gb):
        return
    needed, given = needed_gb(request, has.ranks_per_node), has.node_memory / 1e9 or _given_gb(target, has.cores_per_node)
    per_core = has.memory_per_core and not request.job_options.memory_limit
    asks = "job_options.minimum_memory_per_processor" if per_core else "job_options.memory_limit"
    each, field = (given, asks) if given >= needed else (needed, "optimisation.workload")
    limits = (("most", queue.max_memory_gb, 1), ("least", queue.min_memory_gb, -1))
    for what, limit, sign in limits:
        if limit and each and sign * (each * has.nodes - limit) > ROUNDING_GB:
            this = f"{gigabytes(each)} on each of {counted(has.nodes, 'node')}"
            raise Infeasible(f"{kind} has at {what} {gigabytes(limit)} of memory, and this one has {this}", field=field)


def why_memory(request: Request, target: Target, has: Resources) -> tuple[str, ...]:
    """The reason for memory that the request does not ask for."""
    if has.memory_per_node is None or request.job_options.memory_limit:
        return ()
    asked, given = f"memory: {size(has.memory_per_node)} of each node", _given_gb(target, has.cores_per_node) * 1e9
    queue = target.queue_for(has.nodes)
    if given > has.memory_per_node or (not given and queue and queue.memory_of_node_gb()):
        return (f"{asked}, all that a job may have; {target.title} rejects one that asks for no memory: it would get more",)
    if queue and queue.min_memory_gb and has.memory_per_node * has.nodes <= queue.min_memory_gb * 1e9 + has.nodes * MIB:
        return (f"{asked}, the least that a job may have there",)
    return (f"{asked} are the part of the job's cores; a job that asks for no memory gets less on {target.title}",)
