"""Differences between a stored system and the machine as it is now: field, stored value, seen value."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from modak.detected.partitions import DEFAULTS, EXCLUSIVE, JOB_LIMITS, LISTS
from modak.facts import Node, Partition, System

NONE: Final[Mapping[str, int]] = MappingProxyType({})


class Drift(NamedTuple):
    """One field that differs. ``None``: the stored system does not say, or it is not seen."""

    field: str
    stored: Any
    seen: Any


def drift(
    stored: System, seen: System, unnamed_gpus: Mapping[str, int] = NONE, *, shown_lists: Collection[tuple[str, str]] = ()
) -> tuple[Drift, ...]:
    """The fields that differ, in the order of the file. What a machine does not show (title, policy, speeds) is not compared.

    ``unnamed_gpus``: GPUs of a node by partition, where the machine does not show their model. Their number is compared with what somebody
    has entered. ``shown_lists``: partitions, each with a list of qualities of service or accounts that is gone if it is not seen; other
    lists are compared only if they are seen.
    """
    return tuple(
        difference
        for difference in (
            Drift("scheduler", stored.scheduler, seen.scheduler),
            Drift("cpu_unit", stored.cpu_unit, seen.cpu_unit),
            *([Drift("account_required", stored.account_required, True)] if seen.account_required else []),
            *_partitions(stored, seen, unnamed_gpus, shown_lists),
            *_listed("runtimes", _runtimes(stored), _runtimes(seen)),
            *_listed("mpi", _mpi(stored), _mpi(seen)),
            *_listed("filesystems", _paths(stored), _paths(seen)),
        )
        if difference.stored != difference.seen
    )


def _partitions(stored: System, seen: System, unnamed_gpus: Mapping[str, int], shown_lists: Collection[tuple[str, str]]) -> Iterator[Drift]:
    left = {partition.name for partition in stored.partitions}
    for one in seen.partitions:
        same = next((each for each in stored.partitions if one.name in each.scheduler_names), None)
        if same is None:
            yield Drift(f"partitions.{one.name}", None, f"{one.nodes} nodes")
            continue
        left.discard(same.name)
        yield from _fields(same, one)
        yield from (differs for name, differs in _lists(same, one) if differs.seen or (one.name, name) in shown_lists)
        if same.node.accelerators and not one.node.accelerators:
            yield Drift(f"partitions.{one.name}.node.accelerators", same.node.accelerators, unnamed_gpus.get(one.name))
    yield from (Drift(f"partitions.{name}", "stored", None) for name in sorted(left))


def _fields(stored: Partition, seen: Partition) -> Iterator[Drift]:
    """Each field that is seen."""
    at = f"partitions.{seen.name}"
    queue = next((one for one in stored.queues if one.name == seen.name), None)
    yield Drift(f"{at}.max_wall_time_s", (queue and queue.max_wall_time_s) or stored.max_wall_time_s, seen.max_wall_time_s)
    if queue is None or stored.name == seen.name:
        yield from _compared(at, ("nodes", "max_nodes", "default", *_given(seen, EXCLUSIVE)), stored, seen)
    yield from _sizes(at, stored, seen)
    yield from _compared(at, _given(seen, ("default_wall_time_s", *DEFAULTS)), stored, seen)
    if seen.features and {*seen.features} != {*stored.features}:
        yield Drift(f"{at}.features", ", ".join(stored.features) or None, ", ".join(seen.features))
    if seen.qos:
        yield Drift(f"{at}.qos", (queue and queue.qos) or stored.qos, seen.qos)
    yield from _of_node(f"{at}.node", stored.node, seen.node)


def _sizes(at: str, stored: Partition, seen: Partition) -> Iterator[Drift]:
    """Queues for job sizes, which have limits of their own and share the partition's nodes."""
    for sizes in (one for one in seen.queues if not one.qos):
        same = [one for one in stored.queues if one.name == sizes.name]
        yield Drift(f"{at}.min_nodes", min((one.min_nodes for one in same), default=1), sizes.min_nodes)
        yield from _compared(at, JOB_LIMITS, next((one for one in same if not one.qos), None), sizes)


def _of_node(at: str, stored: Node, seen: Node) -> Iterator[Drift]:
    for name in sorted(seen.model_fields_set - {"numa_modes"}):
        yield Drift(f"{at}.{name}", getattr(stored, name), getattr(seen, name))
    if seen.numa_modes:
        yield Drift(f"{at}.numa_modes", stored.standard_numa_domains, seen.standard_numa_domains)


def _given(of: Partition, names: Iterable[str]) -> list[str]:
    return [name for name in names if name in of.model_fields_set]


def _compared(at: str, names: Iterable[str], stored: Any, seen: Any) -> Iterator[Drift]:
    return (Drift(f"{at}.{name}", getattr(stored, name, None), getattr(seen, name)) for name in names)


def _lists(stored: Partition, seen: Partition) -> Iterator[tuple[str, Drift]]:
    for name in LISTS:
        was, now = (", ".join(sorted(getattr(one, name))) or None for one in (stored, seen))
        yield name, Drift(f"partitions.{seen.name}.{name}", was, now)


def _listed(at: str, stored: Mapping[str, Any], seen: Mapping[str, Any]) -> Iterator[Drift]:
    for name in sorted({*stored, *seen}):
        yield Drift(f"{at}.{name}", stored.get(name), seen.get(name))


def _runtimes(system: System) -> Mapping[str, Any]:
    """The allowed runtimes, without ``none``, which is always possible."""
    return {one.name: one.version or "installed" for one in system.runtimes if one.allowed and one.name != "none"}


def _mpi(system: System) -> Mapping[str, Any]:
    return {one.family: one.version or "installed" for one in system.mpi}


def _paths(system: System) -> Mapping[str, Any]:
    return {one.path: one.kind for one in system.filesystems if one.path}
