"""The nodes, ranks, cores and memory that a job asks for."""

from __future__ import annotations

import math
from typing import Final

from modak.choosing.memory import cores_of_rank, gigabytes, given_gb, memory_field, needed_gb
from modak.choosing.shapes import Shape
from modak.choosing.software import gpu_vendor
from modak.dsl import Request
from modak.errors import Infeasible
from modak.facts import Queue
from modak.jobs.spec import JobSpec, Resources, changed
from modak.target import Target
from modak.text.amounts import counted, format_bytes

MIB: Final = 2**20
ROUNDING_GB: Final = 1e-6


def resources_of(request: Request, target: Target, shape: Shape, nodes: int) -> Resources:
    """What the job of a shape asks for on a number of nodes, but for the memory that only :func:`with_memory` knows."""
    node, options = target.node, request.job_options
    per_core = node.threads_per_core if node else 1
    cores = cores_of_rank(request, target, shape)
    mode = next((mode for mode in node.numa_modes if mode.domains == shape.numa_mode), None) if node else None
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
        memory_per_node=options.memory_limit,
        memory_per_core=options.minimum_memory_per_processor,
        oversubscribed=_oversubscribed(target, shape),
        node_cores=node.usable_cores if node else None,
        total_ranks=total_ranks(request, shape, nodes),
    )


def with_memory(request: Request, target: Target, has: Resources, seconds: int | None) -> Resources:
    """The same with the memory that a job of so many seconds asks for, within the limits of its queue, and with the part of a node's memory
    that belongs to the job's cores, where it is known what jobs may use.

    The job asks for that part if the request asks for no memory and the scheduler would give the cores less; for all that a job may have if
    it would give them more, which it rejects, or if the queue has a limit and nothing tells what it would give: Slurm gives all of a node.
    """
    node, queue, options = target.whole_node, target.limits_for(has.nodes, seconds), request.job_options
    usable, limit = node.usable_memory_gb if node else None, queue.memory_of_node_gb(has.nodes) if queue else None
    most = min(filter(None, (usable, limit)), default=None)
    if node is None or target.node is None or target.partition is None or most is None:
        return has
    cores = has.ranks_per_node * has.cores_per_rank
    whole = options.node_exclusive or has.oversubscribed or target.gives_whole_nodes
    part = (usable or most) * min(1, (target.node.usable_cores if whole else cores) / node.usable_cores)
    share = max(int(max(part, needed_gb(request, has.ranks_per_node)) * 10**9), _least(queue, has.nodes, most))
    share = min(share, round(limit * 1e9)) if limit else share
    has = changed(has, memory_share=share)
    if options.memory_limit or options.minimum_memory_per_processor or target.partition.resource_directives:
        return has
    given = given_gb(target, cores) * 1e9
    if given > most * 1e9 + 1 or (limit and not given):
        return changed(has, memory_per_node=round(most * 1e9))
    return changed(has, memory_per_node=share) if 0 < given < share else has


def _least(queue: Queue | None, nodes: int, most_gb: float) -> int:
    """The bytes of each node that a job of the queue has at least, in whole MiB, as schedulers count them, but no more than it may have. An
    amount that was computed from MiB is not one more."""
    if queue is None or not queue.min_memory_gb:
        return 0
    return min(math.ceil(round(queue.min_memory_gb / nodes * 1e9 / MIB, 6)) * MIB, round(most_gb * 1e9))


def total_ranks(request: Request, shape: Shape, nodes: int) -> int | None:
    """The number of ranks in the request, if it is not nodes x ranks per node."""
    asked = request.application.mpi_ranks
    return asked if asked and asked < nodes * shape.ranks_per_node else None


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
    queue = target.limits_for(spec.resources.nodes, seconds)
    if target.gives_parts:
        _check_parts(request, target, spec, queue)
    if queue:
        kind = f"a job {f'with qos {queue.qos} ' if queue.qos else ''}on {target.title}"
        _check_counts(request, target, spec, queue, kind)
        _check_memory(request, target, spec, queue, kind)


def _check_parts(request: Request, target: Target, spec: JobSpec, queue: Queue | None) -> None:
    """The same for whole nodes, which a job does not get, and for more threads than it has cores."""
    has, exclusive, qos = spec.resources, request.job_options.node_exclusive, queue.qos if queue else None
    whose = f"jobs{f' with qos {qos}' if qos else ''} on {target.title} get parts of nodes"
    if exclusive or target.gives_whole_nodes:
        field = "node_exclusive" if exclusive else "qos" if qos else "partition"
        raise Infeasible(f"{whose}, and this one would have its nodes for itself", field=f"job_options.{field}")
    if has.oversubscribed:
        raise Infeasible(f"{whose}, {counted(has.node_cores or 0, 'core')} of each: too few for its ranks", field="application.threads")


def _check_counts(request: Request, target: Target, spec: JobSpec, queue: Queue, kind: str) -> None:
    """The same for CPUs and GPUs. A node for itself brings all of its GPUs."""
    has, whole = spec.resources, request.job_options.node_exclusive or target.gives_whole_nodes
    cpus, gpus = has.nodes * spec.cpus_per_node, has.nodes * has.gpus_per_node
    all_gpus = has.nodes * target.node.accelerators if whole and target.node else gpus
    limits = (
        ("job_options.core_count_per_process", "CPU", cpus, queue.min_cpus, cpus, queue.max_cpus, queue.max_cpus_per_node),
        ("job_options.request_gpus", "GPU", gpus, queue.min_gpus, all_gpus, queue.max_gpus, queue.max_gpus_per_node),
    )
    for field, what, asked, fewest, given, most, most_of_node in limits:
        if fewest and asked < fewest:
            raise Infeasible(f"{kind} has at least {counted(fewest, what)}, and this one has {asked}", field=field)
        if most and given > most:
            raise Infeasible(f"{kind} has at most {counted(most, what)}, and this one has {given}", field=field)
        if most_of_node and given > most_of_node * has.nodes:
            there = f"{counted(most_of_node, what)} per node"
            raise Infeasible(f"{kind} has at most {there}, and this one has {given // has.nodes}", field=field)


def _check_memory(request: Request, target: Target, spec: JobSpec, queue: Queue, kind: str) -> None:
    """The same for memory, of which the queue says how much ``kind`` has on all of its nodes together, or on each."""
    each, field = _memory_of_node(request, target, spec)
    nodes, usable = spec.resources.nodes, target.whole_node.usable_memory_gb if target.whole_node else None

    def this(gb: float) -> str:
        return f"this one has {gigabytes(gb)} on each of {counted(nodes, 'node')}"

    if queue.max_memory_gb and each * nodes - queue.max_memory_gb > ROUNDING_GB:
        fewer = int((queue.max_memory_gb + ROUNDING_GB) / each)
        enough = f": on {counted(fewer, 'node')} at most" if fewer else ""
        raise Infeasible(f"{kind} has at most {gigabytes(queue.max_memory_gb)} of memory, and {this(each)}{enough}", field=field)
    if queue.max_memory_per_node_gb and each - queue.max_memory_per_node_gb > ROUNDING_GB:
        there = f"{gigabytes(queue.max_memory_per_node_gb)} of memory per node"
        raise Infeasible(f"{kind} has at most {there}, and {this(each)}", field=field)
    if queue.min_memory_gb and (most := each or usable) and queue.min_memory_gb - most * nodes > ROUNDING_GB:
        raise Infeasible(f"{kind} has at least {gigabytes(queue.min_memory_gb)} of memory, and {this(most)}", field=field)


def why_memory(request: Request, target: Target, has: Resources, seconds: int | None) -> tuple[str, ...]:
    """The reason for memory that the request does not ask for."""
    if has.memory_per_node is None or request.job_options.memory_limit:
        return ()
    asked, given = f"memory: {format_bytes(has.memory_per_node)} of each node", given_gb(target, has.cores_per_node) * 1e9
    queue = target.limits_for(has.nodes, seconds)
    if not given:
        return (f"{asked}, all that a job may have; {target.title} may reject one that asks for no memory: it may get more",)
    if given > has.memory_per_node:
        return (f"{asked}, all that a job may have; {target.title} rejects one that asks for no memory: it would get more",)
    if queue and queue.min_memory_gb and has.memory_per_node * has.nodes <= queue.min_memory_gb * 1e9 + has.nodes * MIB:
        return (f"{asked}, the least that a job may have there",)
    return (f"{asked} are the part of the job's cores; a job that asks for no memory gets less on {target.title}",)


def _memory_of_node(request: Request, target: Target, spec: JobSpec) -> tuple[float, str]:
    """The GB of each node that the job gets or, if that is more, needs (0: not known), and the field of the request that says so."""
    has, site = spec.resources, any("{memory_mib" in text for text in spec.resource_directives)
    asked = has.node_memory or (has.memory_share if site else 0) or 0
    given = asked / 1e9 or given_gb(target, has.cores_per_node)
    needed = needed_gb(request, has.ranks_per_node)
    if given < needed:
        return needed, memory_field(request)
    per_core = has.memory_per_core and has.node_memory > (request.job_options.memory_limit or 0)
    return given, "job_options.minimum_memory_per_processor" if per_core else "job_options.memory_limit"
