"""In which partition of a system a job runs, and what its script calls it: the one that the request names, else the default one, unless
the nodes, GPUs, time or memory that it asks for are elsewhere, or that one refuses its quality of service or account."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from modak.dsl import LEARNING, Notice, Request
from modak.errors import Fault, Infeasible, unknown
from modak.facts import VENDORS, Facts, Node, Partition, Queue, System
from modak.prepared import prepared
from modak.text.amounts import counted, counted_range
from modak.text.units import clock


class Where(NamedTuple):
    """The partition whose facts hold, and what the script asks for."""

    partition: Partition
    name: str | None
    """What the script calls it, or one of its queues; ``None``: the site's default, or that depends on the size of the job."""
    why: tuple[str, ...] = ()
    notes: tuple[Notice, ...] = ()

    @property
    def is_recorded(self) -> bool:
        """Whether the partition is the one that the script asks for: the system file may not have that."""
        return self.name is None or self.name in self.partition.scheduler_names


@dataclass(frozen=True)
class _Job:
    """A request that looks for a partition of a system."""

    request: Request
    system: System
    facts: Facts

    @cached_property
    def features(self) -> frozenset[str]:
        """Those that its nodes must have."""
        return _node_features(self.request.job_options.architecture_constraint)

    @cached_property
    def closed(self) -> Mapping[str, str]:
        """As :func:`closed_to`."""
        return closed_to(self.request, self.system)

    @cached_property
    def open(self) -> Sequence[Partition]:
        """The default partition, and those that take jobs of the request's quality of service and account which do not name them; first the
        kinds of nodes that the scheduler calls as the default."""
        default = self.system.default_partition
        taking = [one for one in self.system.partitions if one is default or one.name not in self.closed]
        return sorted(taking, key=lambda one: one.scheduler_names.isdisjoint(default.scheduler_names))

    def refused(self, partition: Partition) -> str:
        """Why the partition refuses it; empty: it does not."""
        return next(filter(None, refused(self.request, partition)), "")

    def beyond(self, partition: Partition) -> str:
        """As :func:`beyond`."""
        return beyond(self.request, partition, self.system, self.facts)

    def gpus(self, partition: Partition) -> int:
        """GPUs of a node, as far as they are of the maker that is asked for."""
        kind, known = self.request.optimisation.opt_build.acc_type, self.facts.accelerators.get(partition.node.accelerator or "")
        other = known is not None and kind in VENDORS and known.vendor != kind
        return 0 if other else partition.node.accelerators


def where_of(request: Request, system: System, facts: Facts) -> Where:
    """Where the request's partition and queue are. A request that names both means a queue of that partition; another queue is left out,
    with a warning.

    Raises :class:`modak.errors.Infeasible` if the partition refuses jobs of the request's quality of service or account.
    """
    job = _Job(request, system, facts)
    where = _where(job)
    if where.is_recorded:
        reasons = zip(("qos", "account"), refused(request, where.partition), strict=True)
        faults = [Fault(f"job_options.{field}", f"partition {where.partition.name} {why}") for field, why in reasons if why]
        Infeasible.raise_for(faults)
    notes = (*where.notes, *_features_of_others(job, where), *_named_of_a_kind(request, where, system))
    return where._replace(notes=(*notes, *_unheard_of(request, where, system)))


def _named_of_a_kind(request: Request, where: Where, system: System) -> tuple[Notice, ...]:
    """A warning if the request names nodes, and the script asks for nodes of one of several kinds that the scheduler calls by one name."""
    here, options = where.partition, request.job_options
    asks = _node_features(here.constraint) - _node_features(options.architecture_constraint)
    kinds = [one for one in system.partitions if one is not here and not one.scheduler_names.isdisjoint(here.scheduler_names)]
    if not (options.request_specific_nodes and asks and kinds):
        return ()
    others = ", ".join(dict.fromkeys(one.constraint for one in kinds if one.constraint))
    text = f"the job is planned for nodes with the feature {here.constraint}, and is rejected if those named are of another kind"
    instead = f": ask for these by job_options.architecture_constraint ({others})" if others else ""
    return (Notice(field="job_options.request_specific_nodes", message=f"{text}{instead}"),)


def _unheard_of(request: Request, where: Where, system: System) -> tuple[Notice, ...]:
    """A warning if the request's quality of service alone keeps it out of the default partition, and the system file does not have it."""
    options, default = request.job_options, system.default_partition
    named = ((*one.allowed_qos, *one.denied_qos, one.qos, *(queue.qos for queue in one.queues)) for one in system.partitions)
    known = {name.casefold(): name for names in named for name in names if name}
    if options.partition or options.queue or not default.refused_qos(options.qos) or (options.qos or "").casefold() in known:
        return ()
    why = f"{where.partition.name} is asked for, because {default.name} takes no jobs with it"
    text = f"{why}; {unknown('quality of service', options.qos or '', known.values())}"
    return (Notice(field="job_options.qos", message=text),)


def _features_of_others(job: _Job, where: Where) -> tuple[Notice, ...]:
    """A warning for each partition whose nodes have the requested features, where the chosen one's have not, and what keeps the job out."""
    if job.features <= _features(where.partition):
        return ()
    having = [one.name for one in job.system.partitions if one.name in job.closed and job.features <= _features(one)]
    texts = (f"the nodes of {name} have what is asked for; it {job.closed[name]}" for name in having)
    return tuple(Notice(field="job_options.architecture_constraint", message=text) for text in texts)


def refused(request: Request, partition: Partition) -> tuple[str, str]:
    """Why the partition refuses jobs of the request's quality of service, and of its account; empty: it does not."""
    options = request.job_options
    return partition.refused_qos(options.qos), partition.refused_account(options.account)


def _where(job: _Job) -> Where:
    options = job.request.job_options
    if options.partition:
        where = _called_so(options.partition, "partition", job)
        return _in_queue(where, options.queue, options.partition) if options.queue else where
    return _called_so(options.queue, "queue", job) if options.queue else _not_named(job)


def _in_queue(where: Where, queue: str, named: str) -> Where:
    """A queue of a partition that the request calls ``named``."""
    partition = where.partition
    if queue in (where.name, partition.name):
        return where
    queues = [one.name for one in partition.queues]
    if where.name is None and queue in queues:
        return where._replace(name=queue)
    of_it = f" (queues: {', '.join(dict.fromkeys(queues)) or partition.queue or partition.name})"
    names = f"{named!r}{of_it if named in partition.scheduler_names else ''}"
    left_out = Notice(field="job_options.queue", message=f"{queue} is left out: job_options.partition names {names}")
    return where._replace(notes=(*where.notes, left_out))


def _called_so(asked: str, field: Literal["partition", "queue"], job: _Job) -> Where:
    """The partition of that name, or that has a queue of that name. If there is none, the script asks for it all the same, and the facts
    are those of the partition that would be chosen without it."""
    system = job.system
    for partition in system.partitions:
        if asked in (partition.name, partition.queue):
            return _of_kinds([one for one in system.partitions if asked in (one.name, one.queue)], asked, job)
        if asked in [queue.name for queue in partition.queues]:
            return Where(partition, asked)
    nearest = _not_named(job).partition
    queues = [queue for partition in system.partitions for queue in (partition.queues or (partition,))]
    known = ", ".join(dict.fromkeys(queue.name for queue in queues))
    missing = f"no partition {asked!r} is recorded for {system.name} (known: {known})"
    meant = "; its quality of service of that name is requested by job_options.qos" if asked in [queue.qos for queue in queues] else ""
    message = f"{missing}; the script requests it as given, with the limits of {nearest.name!r}{meant}"
    return Where(nearest, asked, notes=(Notice(field=f"job_options.{field}", message=message),))


def _of_kinds(called: Sequence[Partition], asked: str, job: _Job) -> Where:
    """Of the kinds of nodes that the scheduler calls by one name, the first with the features, GPUs and limits that the job asks for, as
    far as one has them; of those that take its quality of service, if any do."""
    gpus = job.request.job_options.request_gpus or 0
    wishes: dict[str, Callable[[Partition], bool]] = {
        "the requested features": lambda one: job.features <= _features(one),
        "the requested GPUs": lambda one: job.gpus(one) >= gpus,
        "room for the requested nodes, threads, time and memory": lambda one: not job.beyond(one),
    }
    left, missed = [one for one in called if not job.refused(one)] or list(called), list[str]()
    for what, wish in wishes.items():
        having = [one for one in left if wish(one)]
        left = having or left
        missed += [] if having else [what]
    closest = f"that come closest to what the job asks for: none also has {' or '.join(missed)}"
    has = closest if missed else "that have what the job asks for"
    why = f"partition: {left[0].name}, the nodes of {asked} {has}"
    return Where(left[0], _called(left[0]), () if left[0] is called[0] else (why,))


def _not_named(job: _Job) -> Where:
    """Where a job runs that names neither partition nor queue: on nodes with the features or GPUs that it needs, else in the default
    partition; if it is beyond the limits there, in another one that takes it."""
    usual = _with_features(job) or _with_gpus(job)
    return _within_limits(usual, job) or usual


def _within_limits(usual: Where, job: _Job) -> Where | None:
    """The first partition with the same GPUs that takes a job which the usual one refuses or which is beyond its limits, one with nodes of
    the same kind before others; ``None``: it takes the job, or there is none. A quality of service or a reservation may have limits of its
    own."""
    options = job.request.job_options
    unsure = options.qos or options.reservation or job.system.partition_directive == "never"

    def against(one: Partition) -> str:
        return job.refused(one) or ("" if unsure else job.beyond(one))

    there = usual.partition
    limit = against(there)
    if not limit:
        return None
    gpus = there.node.accelerator, there.node.accelerators
    like = [one for one in job.open if (one.node.accelerator, one.node.accelerators) == gpus]
    able = [one for one in like if not against(one)]
    if options.architecture_constraint:
        needed = job.features & _features(there)
        able = [one for one in able if one.constraint == there.constraint and needed <= _features(one)]
    if not able:
        return None
    found = min(able, key=lambda one: processors_of(one.node) != processors_of(there.node))
    return Where(found, _called(found), (*usual.why, f"partition: {found.name}, because {there.name} {limit}"))


def beyond(request: Request, partition: Partition, system: System, facts: Facts) -> str:
    """The limit of the partition that the request's nodes, threads, time or memory exceed, for a message; empty: it takes the job."""
    return (
        _beyond_memory(request, partition, system)
        or _beyond_cores(request, partition.node)
        or _beyond_nodes(request, partition, system, facts)
        or _beyond_time(request, partition)
    )


def _beyond_memory(request: Request, partition: Partition, system: System) -> str:
    options = request.job_options
    asked = max(options.memory_limit or 0, (options.minimum_memory_per_processor or 0) * _cores(request, partition.node))
    has = with_part(partition, partition.queues, system).node.job_memory_gb if asked else None
    return f"has {has:g} GB of memory per node" if has and asked > round(has * 1e9) else ""


def _beyond_cores(request: Request, node: Node) -> str:
    threads = _ranks_per_node(request) * (request.threads_per_rank or 1)
    more = (request.job_options.core_count or 0) > node.usable_cores or threads > node.hardware_threads
    return f"has {counted(node.usable_cores, 'core')} per node for jobs" if more else ""


def _beyond_nodes(request: Request, partition: Partition, system: System, facts: Facts) -> str:
    if nodes := _nodes(request):
        takes = nodes <= partition.job_nodes and (partition.queues_for(nodes) or not partition.queues)
        return "" if takes else f"takes jobs of {_sizes(partition)}"
    least = _fewest(request, partition, system, facts)
    return f"takes jobs of {_sizes(partition)}, and the ranks need {least}" if least > _ranges(partition)[-1][1] else ""


def _beyond_time(request: Request, partition: Partition) -> str:
    nodes, seconds = _nodes(request), request.job_options.wall_time_limit
    if not seconds:
        return ""
    queues = partition.queues_for(nodes) if nodes else partition.queues
    longest = max(map(partition.longest_in, queues), default=partition.max_wall_time_s)
    return f"runs such jobs for at most {clock(int(longest))}" if longest and seconds > longest else ""


def _cores(request: Request, node: Node) -> int:
    """The cores of a node that the request's counts take; open ones take one."""
    options, ranks, threads = request.job_options, _ranks_per_node(request), request.threads_per_rank or 1
    each = math.ceil(threads / (node.threads_per_core if node.needs_hyperthreads(ranks * threads) else 1))
    return min(max(options.core_count or 0, ranks * max(options.core_count_per_process or 1, each)), node.usable_cores)


def with_part(partition: Partition, queues: Sequence[Queue], system: System) -> Partition:
    """The partition with the part of a node that jobs get in its ``queues``, if each gives them a part only: other cores are not theirs."""
    node, changed = partition.node, dict[str, object]()
    cpus = _most([one.cpus_of_node for one in queues])
    memory = _most([one.memory_of_node_gb() for one in queues])
    cores = max(1, int(cpus) // (node.threads_per_core if system.cpu_unit == "thread" else 1)) if cpus else node.cores
    if cores < node.usable_cores:
        changed["reserved_cores"] = node.cores - cores
    if memory and memory < (node.job_memory_gb or math.inf):
        changed["usable_memory_gb"] = memory
    return partition.model_copy(update={"node": node.model_copy(update=changed)}) if changed else partition


def _most(limits: Sequence[float | None]) -> float | None:
    """What a job may have in one of several queues; ``None``: one has no limit, or there are no queues."""
    known = [limit for limit in limits if limit is not None]
    return max(known) if known and len(known) == len(limits) else None


def _nodes(request: Request) -> int | None:
    """The requested number of nodes, also as ranks in total and per node."""
    ranks, per_node = request.application.mpi_ranks, request.job_options.process_count_per_node
    return request.job_options.node_count or (math.ceil(ranks / per_node) if ranks and per_node else None)


def _ranks_per_node(request: Request) -> int:
    """The ranks on a node: by their total where it and the nodes are known, else as requested; 1 if neither says it."""
    total, nodes = request.application.mpi_ranks, _nodes(request)
    return math.ceil(total / nodes) if total and nodes else request.job_options.process_count_per_node or 1


def _fewest(request: Request, partition: Partition, system: System, facts: Facts) -> int:
    """The fewest nodes of the partition that have room for the threads of the requested ranks; in training and inference with GPUs, a GPU
    for each rank. 1 if the request does not give ranks."""
    application, options, node = request.application, request.job_options, partition.node
    ranks = application.mpi_ranks or min(application.allowed_ranks, default=None)
    if ranks is None:
        return 1
    gpus = min(options.request_gpus or 0, node.accelerators) if request.optimisation.app_type in LEARNING else 0
    room = max(1, _room(partition, system, facts) // (request.threads_per_rank or 1))
    return math.ceil(ranks / (options.process_count_per_node or gpus or room))


def _room(partition: Partition, system: System, facts: Facts) -> int:
    """The threads that a node has room for: one on each core, or as many as runs of the application had there, on hyper-threads."""
    node, names, places = partition.node, system.folded_names, {None, *partition.scheduler_names}
    measured = [count for name, place, count in prepared(facts).threads_of_node if name in names and place in places]
    return max([node.usable_cores, *(count for count in measured if count <= node.hardware_threads)])


def _sizes(partition: Partition) -> str:
    """:func:`_ranges` for a message."""
    return " or ".join(counted_range(few, many, "node") for few, many in _ranges(partition))


def _ranges(partition: Partition) -> list[tuple[int, int]]:
    """The fewest and the most nodes of jobs that the partition takes: one pair for queues that overlap or follow each other without a gap,
    else several, in order."""
    most = partition.job_nodes
    ranges = sorted((one.min_nodes, min(one.max_nodes, most)) for one in partition.queues if one.min_nodes <= most) or [(1, most)]
    joined = [ranges[0]]
    for few, many in ranges[1:]:
        first, last = joined[-1]
        if few <= last + 1:
            joined[-1] = (first, max(last, many))
        else:
            joined.append((few, many))
    return joined


def processors_of(node: Node) -> tuple[object, ...]:
    """Equal for nodes with the same processors."""
    return node.processor, node.sockets, node.cores


def _with_features(job: _Job) -> Where | None:
    """The partition whose nodes have the features that the request names, all of them if one has; ``None``: it names none, the default has
    them, or none has."""
    default = job.system.default_partition
    if job.features <= _features(default):
        return None
    meant = next((one for one in job.open if job.features <= _features(one)), None)
    if meant is None and not _node_features(default.constraint) & job.features:
        meant = next((one for one in job.open if one.constraint and _node_features(one.constraint) <= job.features), None)
    return Where(meant, _called(meant), (f"partition: {meant.name}, whose nodes have the requested features",)) if meant else None


def _with_gpus(job: _Job) -> Where:
    """The default partition; if it has too few GPUs, one that has enough, or the most that there are: rather one with results."""
    request, system, default = job.request, job.system, job.system.default_partition
    asked, kind = request.job_options.request_gpus, request.optimisation.opt_build.acc_type
    measured = ran_on_gpus(system, job.facts)
    on_gpus = kind in VENDORS if kind else prepared(job.facts).only_on_gpus or bool(measured)
    wanted = int(on_gpus) if asked is None else asked
    most = max(map(job.gpus, job.open))
    able = [one for one in job.open if job.gpus(one) >= min(wanted, most)]
    passed_over = _with_more_gpus(job, most) if wanted > most else ()
    found = default if default in able else min(able, key=lambda partition: partition.name not in measured)
    if part := _for_a_part(found, able, job):
        idle = f"{found.name} gives whole nodes, of whose {counted(job.gpus(found), 'GPU')} the job uses {asked}"
        return Where(part, _called(part), (f"partition: {part.name}, because {idle}", *passed_over))
    if found is default:
        if system.partition_directive == "always":
            return Where(default, _called(default), passed_over)
        return Where(default, None if default.default else default.queue, passed_over)
    results = f"all its results on {system.name} used GPUs" if measured else "all its results, of other systems, used GPUs"
    reason = results if asked is None and kind is None else "the job requests GPUs"
    gpus_there = counted(default.node.accelerators, "GPU")
    why = f"partition: {found.name}, because {reason}; the default, {default.name}, has {gpus_there} per node"
    return Where(found, _called(found), (why, *passed_over))


def _for_a_part(found: Partition, able: Sequence[Partition], job: _Job) -> Partition | None:
    """The first partition that takes a job with some of a node's GPUs and leaves the others of that kind to other jobs, if the one that was
    found gives it whole nodes; ``None``: it does not, or there is none. A quality of service or a reservation may be of that one. A job of
    unknown time may run as long as there."""
    options, needed = job.request.job_options, job.features & _features(found)
    asked = options.request_gpus or 0

    def idle(one: Partition) -> bool:
        return one.whole_nodes is True and asked < job.gpus(one)

    def longest(one: Partition) -> float:
        return math.inf if options.wall_time_limit else max(map(one.longest_in, one.queues), default=one.max_wall_time_s or math.inf)

    if not asked or options.node_exclusive or options.qos or options.reservation or not idle(found):
        return None
    like = [one for one in able if one.node.accelerator == found.node.accelerator and needed <= _features(one) and not idle(one)]
    return next((one for one in like if longest(one) >= longest(found) and not job.beyond(one)), None)


def _with_more_gpus(job: _Job, most: int) -> tuple[str, ...]:
    """Why not a partition with more GPUs of the kind that is asked for than ``most``, none of which is open to the job."""
    having = [(one.name, count) for one in job.system.partitions if (count := job.gpus(one)) > most]
    return tuple(
        f"partition: not {name} with its {counted(count, 'GPU')} per node, because it {job.closed[name]}" for name, count in having
    )


def closed_to(request: Request, system: System) -> dict[str, str]:
    """The partitions that the job does not get by itself, by name, and why."""
    named = "takes only jobs that name it in job_options.partition"
    reasons = {one.name: next(filter(None, refused(request, one)), "") for one in system.partitions}
    hidden = {one.name: named for one in system.partitions if one.only_if_named and one is not system.default_partition}
    return {name: why for name in reasons if (why := reasons[name] or hidden.get(name, ""))}


def _node_features(constraint: str | None) -> frozenset[str]:
    """The features that a node must have by a constraint; none if it leaves a choice (``|``)."""
    return frozenset(constraint.split("&")) if constraint and "|" not in constraint else frozenset()


def _features(partition: Partition) -> frozenset[str]:
    """The features that all nodes of the partition are known to have."""
    return _node_features(partition.constraint) | frozenset(partition.features)


def _called(partition: Partition) -> str | None:
    """What the scheduler calls a partition; ``None``: that depends on the size of the job."""
    return partition.queue or (None if partition.queues else partition.name)


def ran_on_gpus(system: System, facts: Facts) -> set[str | None]:
    """Partitions of the application's results on a system, where all of them had GPUs."""
    names = system.folded_names
    return {partition for name, partition in prepared(facts).ran_on_gpus if name in names}
