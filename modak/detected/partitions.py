"""From a scheduler's partitions and nodes to MODAK's partitions, with the hardware that a machine shows."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, Final

from modak.detected import hardware, kinds
from modak.detected.kinds import NodeKind
from modak.detected.seen import Cluster, Machine, SeenNode, SeenPartition, SeenQos, Topology, least, plain, within
from modak.facts import Accelerator, Partition, Processor
from modak.facts.systems import MOST_ALLOWED, MOST_FEATURES, PARTS
from modak.grouping import grouped
from modak.schedulers.slurm import GPUS
from modak.text.amounts import counted, join_names
from modak.text.faults import fault_in
from modak.text.grammar import Name

WITH_FEATURES: Final = frozenset(("slurm", "torque", "lsf", "flux"))
"""Schedulers whose jobs may ask for nodes with a feature: Torque and Flux call it a property, LSF a Boolean resource."""
DEFAULTS: Final = ("default_memory_gb", "default_memory_per_cpu_gb")
LISTS: Final = ("allowed_qos", "denied_qos", "allowed_accounts", "denied_accounts")
JOB_LIMITS: Final = tuple(name for name in PARTS if name != "max_cpus")
"""Of the jobs of a queue, beside their nodes. The most CPUs of all jobs are told of the partition's nodes."""
EXCLUSIVE: Final = ("whole_nodes", "shared_nodes")
LIMITS: Final = ("max_nodes", "max_wall_time_s", "default_wall_time_s", *DEFAULTS, "queues", "qos", *EXCLUSIVE, *LISTS)
"""What the scheduler says of a partition, not of its nodes."""
MOST_CONDITIONS: Final = 8
"""Conditions of the same partitions with a note each: a site may have hundreds of qualities of service."""
USUAL_QOS: Final = "normal"
"""The quality of service that Slurm gives to jobs which name none, unless their user has another default."""
_COMPLY: Final = "requests, or mandatory_directives, have to comply with it"
MOST_QUALITIES: Final = 16
"""Qualities of service that are entered for a partition, at most."""
NODES: Final = ("--nodes={nodes}", "--ntasks-per-node={ranks_per_node}", "--cpus-per-task={cpus_per_task}")
MEMORY: Final = "--mem={memory_mib_per_node}M"
"""How Slurm is asked for nodes where the type of their GPUs has to be named, where it has no memory to give, or where it would give too
much to a job that asks for none."""


@dataclass(frozen=True)
class Told:
    """What the scheduler and machines say, and the hardware that MODAK knows."""

    cluster: Cluster
    here: Machine
    probed: Mapping[str, Machine]
    """A node of a partition, by its name."""
    processors: Mapping[str, Processor]
    accelerators: Mapping[str, Accelerator]
    dated: str
    """The date at the end of citations: ``(2026-01-31)``."""


@dataclass(frozen=True)
class Findings:
    """What was found about one partition, or several."""

    partitions: tuple[Mapping[str, Any], ...] = ()
    processors: tuple[Processor, ...] = ()
    accelerators: tuple[Accelerator, ...] = ()
    cites: tuple[tuple[str, str], ...] = ()
    """Dotted paths of fields, each with its citation."""
    notes: tuple[str, ...] = ()
    thread_is_cpu: bool = False
    """Whether the scheduler counts hardware threads as CPUs."""
    unnamed_gpus: tuple[tuple[str, int, str], ...] = ()
    """Partitions whose GPUs are left out because their model is unknown, each with their number in a node and the note that says so."""
    shown_lists: tuple[tuple[str, str], ...] = ()
    """Partitions, each with a list that is entered, or that they do not have."""
    named: bool = False
    """Whether scripts have to name every partition, because none is the scheduler's default."""


def described_partitions(told: Told) -> Findings:
    """Every open partition of the cluster whose hardware is known, and a note for each that is left out.

    Those for some users only come last: where several would take a job, it gets the first.
    """
    ordered = sorted(told.cluster.partitions, key=lambda one: one.restricted)
    found = _joined([*(_partition(one, told) for one in ordered), Findings(notes=_conditions(told.cluster))])
    if not found.partitions or any(one.get("default") for one in found.partitions):
        return found
    largest = max(found.partitions, key=lambda one: (not one.get("only_if_named"), int(one["nodes"])))["name"]
    marked = tuple({**one, "default": True} if one["name"] == largest else one for one in found.partitions)
    note = f"no described partition is the scheduler's default; {largest}, the largest, is entered as such, and scripts name it"
    return replace(found, partitions=marked, named=True, notes=(*found.notes, note))


def _machine_for(kind: NodeKind, told: Told) -> tuple[Machine | None, str]:
    """The machine that shows the hardware of these nodes (one of them, or an equal one), and a note; ``None``: there is none."""
    here, probe = told.here, told.probed.get(kind.partition.name)
    if probe and (kind.sole or _alike(kind, probe)):
        return probe, ""
    if here.names & _host_names(kind):
        return here, ""
    if _alike(kind, here):
        return here, f"its nodes are taken to have the processors of {here.place}, which has as many sockets, cores and threads"
    by_slurm = told.cluster.scheduler == "slurm"
    how = "'--probe' asks one of them, in a job of Slurm's" if by_slurm else "run this command in a job on one of them"
    asked = "" if probe else f"; {how}"
    return None, f"its nodes are not like {(probe or here).place}, and the scheduler does not say which processor they have{asked}"


def _host_names(kind: NodeKind) -> set[str]:
    """The names of the nodes, with their domains and without."""
    names = {name for node in kind.nodes for name in (node.name, node.host)}
    return names | {name.split(".")[0] for name in names}


def _alike(kind: NodeKind, machine: Machine) -> bool:
    """Whether a machine has the sockets, cores and threads that the scheduler reports; CPUs alone may be cores or threads."""
    first = kind.node
    sockets, cores, threads = machine.topology
    if not (sockets and cores and threads):
        return False
    if first.sockets and not (first.counts_cpus_alone and first.cpus == cores):
        return first.topology == machine.topology
    return first.cpus == cores or (not first.counts_cores and first.cpus == cores * threads)


def _partition(seen: SeenPartition, told: Told) -> Findings:
    label = f"partition {plain(seen.name, 64)}"
    nodes = tuple(node for node in told.cluster.nodes if seen.name in node.partitions)
    if seen.closed:
        return _left_out(label, seen.closed)
    if not nodes:
        return _left_out(label, "no node of it is shown (powered down, or not for everyone to see)")
    several, notes = kinds.kinds(seen, nodes)
    shown = kinds.count(nodes)
    if seen.nodes is not None and seen.nodes != shown:
        notes = (*notes, f"{label}: the scheduler counts {seen.nodes} nodes and shows {shown}; those shown are entered")
    typed = [one for kind in several for one in (kinds.by_gpu(kind) if told.cluster.scheduler == "slurm" else (kind,))]
    return _joined([Findings(notes=notes), *(_kind(kind, told) for kind in typed)])


def _left_out(label: str, why: str) -> Findings:
    return Findings(notes=(f"{label} is left out: {why}",))


def _conditions(cluster: Cluster) -> tuple[str, ...]:
    """A note for each condition of open partitions that a system file has no field for; for many of the same partitions, one for all."""
    where: dict[str, list[str]] = {}
    for seen in cluster.partitions:
        for text in () if seen.closed else seen.conditions:
            where.setdefault(plain(text, 200), []).append(plain(seen.name, 64))
    notes = []
    for names, texts in grouped(where, lambda text: tuple(where[text])).items():
        told = texts if len(texts) <= MOST_CONDITIONS else [join_names(texts, MOST_CONDITIONS, "; ")]
        notes += [f"{text} (partition {', '.join(names)}) {'is' if text in where else 'are'} not entered: {_COMPLY}" for text in told]
    return tuple(notes)


# --- one kind of nodes as one partition


def _kind(kind: NodeKind, told: Told) -> Findings:
    """The partition that these nodes become, or why they are left out."""
    machine, trouble = _machine_for(kind, told)
    own = machine.processor if machine else None
    if machine is None or own is None:
        return _left_out(kind.label, trouble or "lscpu did not answer")
    processor = hardware.processor(own, told.processors, f"lscpu -J {told.dated}, on {machine.place}")
    if processor is None:
        return _left_out(kind.label, f"vendor and type of its processor {own.model!r} are unknown")
    there, fewest = kinds.count(kind.nodes), kind.partition.min_nodes or 1
    if there < fewest:
        return _left_out(kind.label, f"a job there has {fewest} nodes or more, and of these there are {there}")
    return _described(_as_shown(kind, machine), told, machine, processor, trouble)


def _described(kind: NodeKind, told: Told, machine: Machine, processor: Processor, trouble: str) -> Findings:
    """The same of nodes whose processor is known; ``trouble``: the machine is only like them, and why."""
    scheduler = told.cluster.scheduler
    accelerator, of_accelerator = _accelerator(kind, machine, told)
    # as the scheduler reports it; what it does not report, as the machine shows it
    topology = Topology(*(said or shown for said, shown in zip(kind.node.topology, machine.topology, strict=True)))
    node = {**topology._asdict(), **_node(kind, machine, topology, scheduler, taken=bool(trouble)), "processor": processor.name}
    node |= {"accelerator": accelerator.name, "accelerators": kind.node.gpus[0].number} if accelerator else {}
    partition = _entry(kind, {name: value for name, value in node.items() if value is not None}, scheduler)
    if fault := fault_in(Partition, partition):
        return _left_out(kind.label, plain(fault))
    unnamed = kind.node.gpus if len(kind.node.gpus) == 1 and not accelerator else ()
    return Findings(
        partitions=(partition,),
        processors=(processor,),
        accelerators=(accelerator,) if accelerator else (),
        cites=tuple(_cites(partition, kind, told, machine)),
        notes=(*([f"{kind.label}: {trouble}"] if trouble else []), *of_accelerator, *_doubts(kind, machine, scheduler)),
        thread_is_cpu=_threads_are_cpus(kind.node, topology),
        unnamed_gpus=tuple((kind.name, gpu.number, note) for gpu in unnamed for note in of_accelerator),
        shown_lists=_shown_lists(kind, told.cluster),
    )


def _shown_lists(kind: NodeKind, cluster: Cluster) -> tuple[tuple[str, str], ...]:
    """Its lists that are entered, or that it does not have: all but those that a system file cannot hold. None if they are not shown."""
    lists = dict(kind.partition.lists)
    return tuple((kind.name, name) for name in LISTS if lists.get(name) != ()) if cluster.shows_lists else ()


def _as_shown(kind: NodeKind, machine: Machine) -> NodeKind:
    """The nodes without sockets and cores that Slurm only supposes, where a machine with as many cores shows them."""
    if not (kind.node.counts_cpus_alone and kind.node.cpus == machine.topology.cores):
        return kind
    return replace(kind, nodes=tuple(replace(node, sockets=None, cores=None, threads_per_core=None) for node in kind.nodes))


def _node(kind: NodeKind, machine: Machine, topology: Topology, scheduler: str, *, taken: bool) -> Mapping[str, Any]:
    """Memory (the least of the nodes) and NUMA domains. ``taken``: the machine is only like the nodes, so its memory is not used."""
    limits = () if _gives_no_memory(kind, scheduler) else (kind.partition.memory_gb, _of_all_cores(kind, topology))
    usable = least(*(node.usable_memory_gb for node in kind.nodes), *limits)
    total = least(*(node.memory_gb for node in kind.nodes)) or (None if taken else machine.memory_gb)
    same = kind.node.sockets in (None, machine.topology.sockets)
    return {
        "reserved_cores": _reserved(kind, topology) or None,
        "numa_modes": [{"domains": machine.numa_domains, "standard": True}] if machine.numa_domains and same else None,
        "memory_gb": total if total and total >= (usable or 0) else None,
        "usable_memory_gb": usable,
    }


def _of_all_cores(kind: NodeKind, topology: Topology) -> float | None:
    """What the partition's limit of memory per CPU leaves of a node; a job that asks for more is rejected, or charged for more CPUs. Where
    hardware threads are CPUs, a job that does not use them has one CPU of each core, and cannot get more."""
    cores, per_cpu = topology.cores, kind.partition.memory_per_cpu_gb
    return round((cores - _reserved(kind, topology)) * per_cpu, 9) if cores and per_cpu else None


def _reserved(kind: NodeKind, topology: Topology) -> int:
    """Cores of a node that no job gets, or none of this partition."""
    first, most, cores = kind.node, kind.partition.usable_cpus, topology.cores
    if not (most and cores):
        return first.reserved_cores
    most = min(most, first.cpus or most)  # the hosts of a queue of Grid Engine may have fewer slots than others
    given = most // (topology.threads_per_core or 1) if _threads_are_cpus(first, topology) else most
    return max(first.reserved_cores, cores - max(given, 1))


def _entry(kind: NodeKind, node: Mapping[str, Any], scheduler: str) -> Mapping[str, Any]:
    seen, there = kind.partition, kinds.count(kind.nodes)
    called = seen.asked_as or seen.name
    max_nodes = least(seen.max_nodes, _whole_nodes(seen.max_cpus, kind.node.cpus, seen.min_nodes))
    largest = min(there, max_nodes or there)
    queues = list(_queues(called, kind, largest))
    limited = len(queues) > 1 or queues[0]["min_nodes"] > 1 or any(name in queues[0] for name in JOB_LIMITS)
    asks_for_features = scheduler in WITH_FEATURES
    entry = {
        "name": kind.name,
        "default": seen.default and kind.name == seen.name,
        "only_if_named": seen.reserved,
        "whole_nodes": None if _gives_all_memory(kind, scheduler) else seen.whole_nodes,
        "shared_nodes": scheduler == "slurm" and _part(seen.usable_cpus, kind.node.cpus) is not None,
        "nodes": there,
        "max_nodes": max_nodes,
        "max_wall_time_s": seen.max_wall_time_s,
        "default_wall_time_s": seen.default_wall_time_s,
        **({} if _gives_no_memory(kind, scheduler) else _defaults(kind)),
        "queue": called if kind.name != called else None,
        "queues": queues if limited else None,
        "qos": seen.qos,
        **_lists(kind, largest),
        "constraint": kind.constraint if asks_for_features else None,
        "features": _features(kind) if asks_for_features else None,
        "resource_directives": _asking(kind, scheduler),
        "node": node,
    }
    return {name: value for name, value in entry.items() if value or (name == "whole_nodes" and value is False)}


def _whole_nodes(limit: int | None, of_node: int | None, fewest: int | None) -> int | None:
    """The nodes of which a job may have all CPUs or GPUs, but at least the ``fewest`` that it may have; ``None``: there is no limit, or
    what a node has is unknown."""
    return max(fewest or 1, limit // of_node) if limit and of_node else None


def _part(limit: float | None, of_node: float | None) -> float | None:
    """A limit of CPUs, GPUs or memory that is below what a node has; ``None`` for others."""
    return limit if limit and of_node and limit < of_node else None


def _queues(called: str, kind: NodeKind, largest: int) -> Iterator[Mapping[str, Any]]:
    """The partition as a queue by size, and then for jobs that name a quality of service, each with its limits. As these are narrower, no
    other job gets one."""
    seen = kind.partition
    usual = replace(within(SeenQos(called), seen), max_cpus=None, max_wall_time_s=None)
    yield {"name": called, **_job_limits(usual, kind.node, largest)}
    as_usual = _job_limits(replace(usual, max_wall_time_s=seen.max_wall_time_s), kind.node, largest)
    named = [(name, limits) for name, limits in _qualities(kind, largest) if _possible(limits) and limits != as_usual]
    yield from ({"name": called, "qos": name, **limits} for name, limits in named[:MOST_QUALITIES])


def _qualities(kind: NodeKind, largest: int) -> list[tuple[str, Mapping[str, float]]]:
    """The qualities of service that jobs may name, each with its limits."""
    return [(one.name, _job_limits(one, kind.node, largest)) for one in kind.partition.qualities if not fault_in(Name, one.name)]


def _possible(limits: Mapping[str, float]) -> bool:
    """Whether a job can have as many nodes as its limits ask for."""
    return limits["min_nodes"] <= limits["max_nodes"]


def _lists(kind: NodeKind, largest: int) -> Mapping[str, Sequence[str]]:
    """Whose jobs the partition takes: none of a quality of service whose limits no job can meet there, which Slurm would hold for ever."""
    lists: dict[str, Sequence[str]] = dict(kind.partition.lists)
    never = [name for name, limits in _qualities(kind, largest) if not _possible(limits)]
    if allowed := lists.get("allowed_qos"):
        lists["allowed_qos"] = [name for name in allowed if name.casefold() not in map(str.casefold, never)] or allowed
    elif never and () not in (lists.get("allowed_qos"), lists.get("denied_qos")):  # empty: a list that is too long
        lists["denied_qos"] = [*lists.get("denied_qos", ()), *never][:MOST_ALLOWED]
    return lists


def _job_limits(one: SeenQos, node: SeenNode, largest: int) -> Mapping[str, float]:
    """The fields of a queue. The most CPUs or GPUs of a job become whole nodes, and are said only if a node has more; the fewest do, too,
    and are always said, but for one CPU, which every job has. Of memory, which jobs may ask for in any amount, only the least becomes
    nodes, and the most is said if the nodes have more. Where Slurm does not know what they have, jobs ask for none."""
    cpus, gpus, memory = node.cpus, sum(gpu.number for gpu in node.gpus), node.usable_memory_gb
    needed = ((one.min_cpus, cpus), (one.min_memory_gb, memory))
    fewest = max(one.min_nodes or 1, *(math.ceil(round(limit / of_node, 6)) for limit, of_node in needed if limit and of_node), 1)
    sizes = (_whole_nodes(one.max_cpus, cpus, fewest), _whole_nodes(one.max_gpus, gpus, fewest))
    max_nodes = least(one.max_nodes, *sizes, largest)
    limits: dict[str, float | None] = {
        "min_nodes": fewest,
        "max_nodes": max_nodes,
        "min_cpus": one.min_cpus if one.min_cpus != 1 else None,
        "max_cpus": _part(one.max_cpus, cpus),
        "min_gpus": one.min_gpus,
        "max_gpus": _part(one.max_gpus, gpus),
        "min_memory_gb": one.min_memory_gb if memory else None,
        "max_memory_gb": _part(one.max_memory_gb, memory and memory * (max_nodes or 1)),
        "max_cpus_per_node": _part(one.cpus_per_node, cpus),
        "max_gpus_per_node": _part(one.gpus_per_node, gpus),
        "max_memory_per_node_gb": _part(one.memory_per_node_gb, memory),
        "max_wall_time_s": one.max_wall_time_s,
    }
    return {name: value for name, value in limits.items() if value is not None}


def _asking(kind: NodeKind, scheduler: str) -> list[str] | None:
    """Slurm's options for nodes, where MODAK's own would not do; ``None``: they do."""
    silent = _gives_no_memory(kind, scheduler)
    if not (kind.typed or silent or _gives_too_much_memory(kind)):
        return None
    gpus = [f"--gres=gpu:{kind.node.gpus[0].type}:{{gpus_per_node}}" if kind.typed else GPUS]
    return [*NODES, *([] if silent else [MEMORY]), *(gpus if kind.node.gpus else [])]


def _gives_no_memory(kind: NodeKind, scheduler: str) -> bool:
    """Whether Slurm does not know how much memory the nodes have (``RealMemory``): it takes them to have 1 MiB, and rejects jobs that ask
    for more, whatever the partition's limits are."""
    return scheduler == "slurm" and not kind.node.usable_memory_gb


def _gives_too_much_memory(kind: NodeKind) -> bool:
    """Whether a job that asks for no memory would get all of a node's, as no default is set, which is more than the partition allows:
    Slurm rejects it."""
    most, there = kind.partition.memory_gb, kind.node.usable_memory_gb
    return bool(most and there and most < there) and not any(getattr(kind.partition, name) for name in DEFAULTS)


def _features(kind: NodeKind) -> list[str]:
    """The features that all nodes of the kind have, in the order in which the scheduler lists them."""
    first, *others = kind.nodes
    common = set(first.features).intersection(*(node.features for node in others))
    return [word for word in dict.fromkeys(first.features) if word in common and not fault_in(Name, word)][:MOST_FEATURES]


def _defaults(kind: NodeKind) -> Mapping[str, float | None]:
    """Memory of jobs that ask for none. Where it depends on GPUs, the least that a job may get, so that scripts ask for what is more."""
    seen = kind.partition
    usual = {name: getattr(seen, name) for name in DEFAULTS}
    if not (seen.default_memory_per_gpu_gb and kind.node.gpus):
        return usual
    return {**usual, "default_memory_gb": min(value for value in (seen.default_memory_per_gpu_gb, *usual.values()) if value)}


def _accelerator(kind: NodeKind, machine: Machine, told: Told) -> tuple[Accelerator | None, tuple[str, ...]]:
    """The accelerator of the nodes, and notes."""
    gpus = kind.node.gpus
    if len(gpus) != 1:
        several = f"{kind.label}: its nodes have GPUs of {len(gpus)} types, which a partition cannot hold; they are left out"
        return None, (several,) if gpus else ()
    word, number = gpus[0]
    models = {gpu.model: gpu for gpu in machine.gpus if not kind.typed or str(word).lower() in gpu.model.lower()}
    if len(models) == 1:
        (model,) = models.values()
        return hardware.accelerator(model, told.accelerators, f"{machine.gpus_from} {told.dated}, on {machine.place}"), ()
    named, others = hardware.of_type(word, told.accelerators)
    if named:
        return named, ()
    typed = f" of type {plain(word, 40)}" if word else ""
    which = f"; it may be {' or '.join(others)}" if others else ""
    enter = f"; jobs with GPUs are refused until 'accelerator' and 'accelerators = {number}' are entered into its node, with a source"
    return None, (f"{kind.label}: {counted(number, 'GPU')} a node{typed} left out, the model is unknown{which}{enter}",)


def _doubts(kind: NodeKind, machine: Machine, scheduler: str) -> Iterator[str]:
    """Notes on what the scheduler says of the nodes, and on what it does not."""
    seen, first, cores = kind.partition, kind.node, machine.topology.cores
    if kind.typed:
        yield f"{kind.label}: its nodes have GPUs of several types; this entry is for {plain(str(first.gpus[0].type), 40)}"
    if scheduler == "slurm" and seen.usable_cpus and seen.usable_cpus < (first.cpus or 0):
        yield f"{kind.label}: jobs get {seen.usable_cpus} of {first.cpus} CPUs of a node at most; Slurm rejects node_exclusive there"
        yield f"{kind.label}: a job with all of these CPUs may ask for all memory; lower usable_memory_gb to leave some to other partitions"
    if any(one.name.casefold() == USUAL_QOS for one in seen.qualities):
        limits = f"QOS {USUAL_QOS} has limits, and is that of jobs which name none, unless their user has another default"
        yield f"{limits}: enter 'qos = \"{USUAL_QOS}\"' into the partitions where they are to be planned within these limits"
    if on_memory := _doubt_on_memory(kind, scheduler):
        yield f"{kind.label}: {on_memory}"
    if first.cores and cores and first.cores != cores:
        yield f"{kind.label}: the scheduler counts {first.cores} cores a node, {machine.place} shows {cores}; the scheduler's are entered"
    if machine.gpus and not first.gpus:
        yield f"{kind.label}: {machine.place} has GPUs that the scheduler does not give to jobs; they are left out"
    if machine.processor and machine.processor.hypervisor:
        yield f"{machine.place} is a virtual machine ({machine.processor.hypervisor}): its processor data may come from the hypervisor"


def _doubt_on_memory(kind: NodeKind, scheduler: str) -> str:
    """What jobs that ask for no memory have to know; empty: nothing."""
    seen, first = kind.partition, kind.node
    if _gives_no_memory(kind, scheduler):
        silent = "the site does not say how much memory its nodes have (RealMemory): Slurm rejects jobs that ask for memory"
        return f"{silent}, so resource_directives ask for none"
    if any(getattr(seen, name) for name in DEFAULTS) and not (first.usable_memory_gb or seen.memory_gb):
        return "what jobs may use of its nodes' memory is unknown, so requests have to ask for memory"
    if _gives_all_memory(kind, scheduler):
        alone = "a job that asks for no memory gets all of a node's (no DefMemPerCPU), and none runs beside it"
        options = json.dumps([*NODES, MEMORY, *([GPUS] if first.gpus else [])])
        how = f"enter 'whole_nodes = false' and 'resource_directives = {options}'"
        return f"{alone}; if scripts are to ask for the part of their cores, {how}"
    return ""


def _gives_all_memory(kind: NodeKind, scheduler: str) -> bool:
    """Whether nodes have shared memory of which a job that asks for none, as MODAK's do, gets all: so it shares no node."""
    seen = kind.partition
    return seen.counts_memory and not (seen.whole_nodes or _asking(kind, scheduler) or any(_defaults(kind).values()))


def _threads_are_cpus(node: SeenNode, topology: Topology) -> bool:
    _, cores, threads = topology
    return bool(cores and threads and threads > 1 and node.cpus == cores * threads)


def _cites(partition: Mapping[str, Any], kind: NodeKind, told: Told, machine: Machine) -> Iterator[tuple[str, str]]:
    """Dotted paths of the partition's fields, each with its citation."""
    first = kind.node
    at = f"partitions.{str(partition['name']).replace('.', '?')}"
    listed, limits = (f"{command} {told.dated}" for command in (told.cluster.from_nodes, told.cluster.from_partitions))
    place = f"{told.dated}, on {machine.place}"
    shown = f"lscpu -J {place}"
    whence = {
        "processor": shown,
        **{name: listed if value else shown for name, value in first.topology._asdict().items()},
        "reserved_cores": limits if kind.partition.usable_cpus else listed,
        "numa_modes": f"{machine.numa_from} {place}",
        "memory_gb": listed if first.memory_gb else f"/proc/meminfo {place}",
        "usable_memory_gb": listed,
        "accelerator": f"{machine.gpus_from} {place}" if machine.gpus else listed,
        "accelerators": listed,
    }
    yield f"{at}.nodes", listed
    if "resource_directives" in partition:
        yield f"{at}.resource_directives", listed
    yield from ((f"{at}.{name}", limits) for name in LIMITS if name in partition)
    yield from ((f"{at}.node.{name}", citation) for name, citation in whence.items() if name in partition["node"])


def _joined(parts: Sequence[Findings]) -> Findings:
    """All parts together; of two partitions with the same name the first."""

    def all_of(name: str) -> tuple[Any, ...]:
        return tuple(one for part in parts for one in getattr(part, name))

    return Findings(
        partitions=tuple(same[0] for same in grouped(all_of("partitions"), itemgetter("name")).values()),
        processors=all_of("processors"),
        accelerators=all_of("accelerators"),
        cites=all_of("cites"),
        notes=tuple(dict.fromkeys(all_of("notes"))),
        thread_is_cpu=any(part.thread_is_cpu for part in parts),
        unnamed_gpus=all_of("unnamed_gpus"),
        shown_lists=all_of("shown_lists"),
    )
