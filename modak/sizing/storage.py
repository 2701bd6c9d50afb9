"""Network and storage that a number of nodes needs, compared with those of a system."""

from __future__ import annotations

from collections.abc import Iterator

from modak.dsl import Request
from modak.facts import Partition, System
from modak.sizing.answer import Figure, Network, Storage
from modak.sizing.demand import Demand
from modak.sizing.guide import Guide, StorageSample
from modak.sizing.reach import Reach
from modak.text.amounts import counted, format_number


def network_of(guide: Guide, system: System, nodes: int) -> Network:
    """The class of network for this number of nodes, and whether the system's is sufficient."""
    has = system.interconnect
    name, known = (has.name, has.bandwidth_gbit_s) if has else (None, None)
    if nodes == 1:
        return Network(needed="none", has=name, basis="given", why="a single node needs no network")
    needed = guide.interconnect(nodes)
    smallest = guide.interconnects[0]
    why = f"{nodes} nodes; {smallest.title} is viable up to {smallest.max_nodes} ({guide.cites('Interconnect')})"
    return Network(needed=needed.title, has=name, enough=None if known is None else known >= needed.least_gbit_s, why=why)


def storage_of(request: Request, guide: Guide, wanted: Demand, system: System, partition: Partition, found: Reach) -> Storage:
    """The capacity for the data set, and the rate at which training reads it on the nodes that are ``found``."""
    capacity = _capacity(request, wanted)
    rate = _rate(wanted, found.time)
    per_node = _per_node(rate, found.at, guide)
    sample = guide.sample(capacity.value) if capacity.value is not None else None
    room, why_room = _room(system, capacity)
    fast, why_rate = _fast_enough(system, guide, rate, per_node)
    verdicts = [verdict for verdict in (room, fast) if verdict is not None]
    return Storage(
        capacity=capacity,
        rate=rate,
        rate_per_node=per_node,
        sample=sample.name if sample else None,
        enough=None if room is None and fast is not False else all(verdicts),
        why=(*_sample(guide, sample), *why_room, *why_rate, *_local(partition, wanted)),
    )


def _capacity(request: Request, wanted: Demand) -> Figure:
    if wanted.dataset_bytes is None:
        return Figure(unit="TB", why="the request does not state the size of the data set (size_bytes)")
    value = wanted.dataset_bytes / 1e12
    name = request.optimisation.workload.dataset or "the data set"
    return Figure(value=value, lower=value, upper=value, level=1.0, unit="TB", basis="given", why=f"one copy of {name}")


def _rate(wanted: Demand, time: Figure) -> Figure:
    if wanted.bytes_read is None or not (time.value and time.lower and time.upper):
        missing = "the data set's size" if wanted.bytes_read is None else "the time"
        return Figure(unit="GB/s", why=f"{missing} is not known")
    value, lower, upper = (wanted.bytes_read / seconds / 1e9 for seconds in (time.value, time.upper, time.lower))
    why = "data set x epochs / time: every byte is read once per epoch, without caching"
    return Figure(value=value, lower=lower, upper=upper, level=time.level, unit="GB/s", basis=time.basis, why=why)


def _per_node(rate: Figure, nodes: int | None, guide: Guide) -> Figure:
    if not nodes or rate.value is None:
        return Figure(unit="GB/s", why=rate.why)
    most = f"a node gets at most {guide.node_storage.most_gbs:g} GB/s ({guide.cites('Data')})"
    return rate.mapped(lambda whole: whole / nodes, "GB/s", f"the rate over {counted(nodes, 'node')}; {most}")


def _sample(guide: Guide, sample: StorageSample | None) -> Iterator[str]:
    if sample:
        room = f"{sample.name}, {sample.capacity_tb:g} TB in {sample.rack_units} rack units"
        yield f"the smallest sample storage that holds the data set: {room} ({guide.cites('Storage configurations')})"


def _room(system: System, capacity: Figure) -> tuple[bool | None, tuple[str, ...]]:
    known = [one.capacity_tb for one in system.filesystems if one.capacity_tb and not one.node_local]
    if capacity.value is None or not known:
        return None, (f"the capacity of {system.name}'s storage is not known",) if not known else ()
    share = capacity.value / max(known)
    return share <= 1, (
        f"the data set takes {format_number(100 * share)}% of the {max(known):g} TB of {system.name}'s largest file system",
    )


def _fast_enough(system: System, guide: Guide, rate: Figure, per_node: Figure) -> tuple[bool | None, tuple[str, ...]]:
    if rate.upper is None or per_node.upper is None:
        return None, ()
    most = guide.node_storage.most_gbs
    if per_node.upper > most:
        return False, (f"a node needs up to {format_number(per_node.upper)} GB/s, but can get at most {most:g} GB/s",)
    known = [one.bandwidth_gbs for one in system.filesystems if one.bandwidth_gbs and not one.node_local]
    if not known:
        return None, (f"the bandwidth of {system.name}'s storage is not known",)
    provides = f"{system.name}'s fastest file system provides {max(known):g} GB/s"
    return rate.upper <= max(known), (f"the run needs up to {format_number(rate.upper)} GB/s, and {provides}",)


def _local(partition: Partition, wanted: Demand) -> Iterator[str]:
    own = partition.node.local_storage_gb
    if own and wanted.dataset_bytes is not None:
        fits = "fits" if wanted.dataset_bytes / 1e9 <= own else "does not fit"
        yield f"the data set {fits} each node's own {own:g} GB of storage, to which it could be staged"
