"""Properties of the nodes of known systems: computing power, GPUs, and which partitions have another kind of nodes."""

from __future__ import annotations

from collections.abc import Callable

from modak.facts import Facts, Partition, System
from modak.perfmodel import NodePower, NodeUse, Power
from modak.target import Target, find_system


def node_power(facts: Facts) -> Power:
    """A function that gives the computing power of a node, for transfers between systems.

    Bandwidth comes first in :class:`modak.perfmodel.NodePower` because of 1154 pairs of GPU types in a public table of training throughput:
    log ratios of throughput deviate from those of bandwidth by 0.37 (root mean square), from those of peak rates by 0.96, and from 0 by
    0.81. With tensor cores and TF32, peak rates of different generations are not comparable.
    """

    def power(used: NodeUse) -> NodePower:
        system = find_system(used.system, facts)
        if system is None:
            return NodePower()
        node = _partition_of(system, used.partition, used.gpus or 0).node
        if node.accelerators and used.gpus != 0:
            gpu, gpus = facts.accelerators.get(node.accelerator or ""), used.gpus or node.accelerators
            return NodePower(_times(gpu.memory_bandwidth_gbs, gpus), _times(gpu.fp32_tflops, gpus)) if gpu else NodePower()
        if used.gpus:
            return NodePower()
        processor, cores = facts.processors.get(node.processor), min(used.threads or node.usable_cores, node.usable_cores)
        of_socket = processor.fp32_tflops if processor else None
        return NodePower(tflops=_times(of_socket, node.sockets * cores / node.cores), cores=float(cores))

    return power


def node_kinds(facts: Facts) -> Callable[[str | None, str, bool], frozenset[str]]:
    """A function of system, partition and ``on_gpus``: names of the system's partitions with other nodes (on GPUs: with other GPUs)."""

    def others(system_name: str | None, partition_name: str, on_gpus: bool) -> frozenset[str]:
        system = find_system(system_name, facts)
        named = next((one for one in system.partitions if one.name == partition_name), None) if system else None
        return Target(system=system, partition=named).other_nodes(on_gpus)

    return others


def node_gpus(facts: Facts) -> Callable[[str | None, str | None], int | None]:
    """A function of system and partition (``None``: the default one, or the first with GPUs): GPUs per node; ``None``: unknown system."""

    def gpus(system_name: str | None, partition_name: str | None) -> int | None:
        system = find_system(system_name, facts)
        return None if system is None else _partition_of(system, partition_name, 1).node.accelerators

    return gpus


def _partition_of(system: System, name: str | None, gpus: int) -> Partition:
    """The partition of that name; else the default one, or the first with enough GPUs per node if the default one has too few."""
    usual = system.default_partition
    named = next((one for one in system.partitions if one.name == name), None)
    return named or next((one for one in (usual, *system.partitions) if one.node.accelerators >= gpus), usual)


def _times(figure: float | None, factor: float) -> float | None:
    return figure * factor if figure else None
