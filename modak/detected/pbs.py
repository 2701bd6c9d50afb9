"""PBS Pro, OpenPBS and Torque: ``pbsnodes -a``, ``qstat -Qf`` and ``qstat -Bf``. Their units kb, mb and gb are powers of 1024."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from modak.detected.seen import (
    LONGEST_VALUE,
    Cluster,
    CommandOutput,
    GpuCount,
    SeenNode,
    SeenPartition,
    count,
    exact_gigabytes,
    gigabytes,
    seconds,
)

Fields = Mapping[str, str]
_KIB: Final[Mapping[str, int]] = {"kb": 1, "mb": 1024, "gb": 1024**2, "tb": 1024**3}
_ACCESS: Final = ("acl_user_enable", "acl_group_enable", "acl_host_enable")
"""What keeps out whoever, or whatever host of submission, is not on the queue's list."""
_SHARING: Final[Mapping[str, bool]] = {
    **dict.fromkeys(("default_shared", "force_shared", "ignore_excl"), False),
    **dict.fromkeys(("default_exclhost", "force_exclhost"), True),
}
"""Whether jobs of MODAK's get the whole hosts of such vnodes: their ``place`` is silent on that, unless it says ``exclhost``."""
_ALONE: Final = ("default_excl", "force_excl")
"""The same of whole vnodes, which may be parts of a host."""
_AWAY: Final = ("slurmstate=",)
"""Printed by Slurm's own versions of Torque's commands."""


def cluster(answers: Mapping[str, CommandOutput]) -> Cluster | None:
    """The cluster that PBS describes; ``None`` where there is no answer, or the command is Slurm's."""
    answer = answers["pbsnodes"]
    hosts = records(answer.text)
    if not hosts or any(word in answer.text for word in _AWAY):
        return None
    torque = not any("resources_available.ncpus" in fields for fields in hosts.values())
    queues = records(answers["qstat"].text)
    routes = _routes(queues)
    default = _default(records(answers["qstat-server"].text), routes)
    running = {name: fields for name, fields in queues.items() if fields.get("queue_type") == "Execution"}
    found = tuple(_queue(name, fields, default, routes, torque) for name, fields in running.items())
    if not found:
        found = (SeenPartition(default or "default", default=True),)
    bound = {fields.get("queue") for fields in hosts.values()}
    names = {queue.name: queues.get(queue.name, {}) for queue in found if queue.name not in bound}
    seen = tuple(_node(name, fields, _queues_of(fields, names), torque) for name, fields in hosts.items())
    whole = _whole_nodes(seen, hosts)
    found = tuple(replace(queue, whole_nodes=whole.get(queue.name)) for queue in found)
    scheduler = "torque" if torque else "pbspro"
    return Cluster(scheduler, found, seen, from_partitions=answers["qstat"].command, from_nodes=answer.command)


def _whole_nodes(nodes: Sequence[SeenNode], hosts: Mapping[str, Fields]) -> Mapping[str, bool]:
    """Whether jobs of a queue get whole nodes, of those of whose nodes it is known and the same."""
    vnodes, found = Counter(node.host for node in nodes), dict[str, set[bool]]()
    for node in nodes:
        says = hosts[node.name].get("sharing", "")
        whole = True if says in _ALONE and vnodes[node.host] == 1 else _SHARING.get(says)
        if whole is not None:
            for queue in node.partitions:
                found.setdefault(queue, set()).add(whole)
    return {queue: whole for queue, several in found.items() for whole in several if len(several) == 1}


def _default(servers: Mapping[str, Fields], routes: Mapping[str, str]) -> str | None:
    """The server's default queue, or the first to which that passes jobs on; ``None``: it has none."""
    default = next((fields["default_queue"] for fields in servers.values() if "default_queue" in fields), None)
    return next((name for name, route in routes.items() if route == default), default)


def records(text: str) -> Mapping[str, Fields]:
    """Names at the start of a line (also ``Queue: NAME`` and ``Server: NAME``), each with the ``key = value`` lines below it."""
    found: dict[str, dict[str, str]] = {}
    fields: dict[str, str] = {}
    last = ""
    for line in text.splitlines():
        key, equals, value = line.strip().partition(" = ")
        if line[:1] == "\t" and not equals and last:
            fields[last] = (fields[last] + line.strip())[:LONGEST_VALUE]
        elif line[:1].isspace() and equals:
            last = key
            fields[key] = value[:LONGEST_VALUE]
        elif name := re.match(r"(?:(?:Queue|Server):? *)?([A-Za-z0-9][^ ]{0,200})\Z", line.rstrip()):
            fields, last = found.setdefault(name[1], {}), ""
    return {name: fields for name, fields in found.items() if fields}


def _routes(queues: Mapping[str, Fields]) -> Mapping[str, str]:
    """The open routing queue that passes jobs on to each queue that takes none from elsewhere, in the order of its destinations."""
    found: dict[str, str] = {}
    for name, fields in queues.items():
        if _closed(fields):
            continue
        for word in fields.get("route_destinations", "").split(","):
            to = word.strip().partition("@")[0]
            if queues.get(to, {}).get("from_route_only") == "True":
                found.setdefault(to, name)
    return found


def _closed(fields: Fields) -> str:
    """Why a queue starts no new jobs; empty: it does."""
    return next((f"it is not {word}" for word in ("enabled", "started") if fields.get(word, "True") != "True"), "")


def _queue(name: str, fields: Fields, default: str | None, routes: Mapping[str, str], torque: bool) -> SeenPartition:
    """Torque counts the CPUs of ``nodes=2:ppn=8:gpus=1`` as ``procct``, not as ``ncpus``, and no GPUs."""
    closed = _closed(fields)
    if fields.get("from_route_only") == "True" and name not in routes:
        closed = closed or "it takes jobs of a routing queue only, and no open one is shown"
    counted = ("procct", "") if torque else ("ncpus", "ngpus")
    cpus, gpus = (count(fields.get(f"resources_max.{what}")) for what in counted)
    least_cpus, least_gpus = (count(fields.get(f"resources_min.{what}")) for what in counted)
    access = tuple(f"{key}=True" for key in _ACCESS if fields.get(key) == "True")
    shortest = [f"resources_min.walltime={fields['resources_min.walltime']}"] if "resources_min.walltime" in fields else []
    return SeenPartition(
        name=name,
        asked_as=routes.get(name),
        default=name == default,
        min_nodes=count(fields.get("resources_min.nodect")),
        max_nodes=count(fields.get("resources_max.nodect")),
        usable_cpus=cpus,
        max_cpus=cpus,
        min_cpus=least_cpus,
        max_gpus=gpus,
        min_gpus=least_gpus,
        max_wall_time_s=seconds(fields.get("resources_max.walltime")),
        default_wall_time_s=seconds(fields.get("resources_default.walltime")),
        conditions=(*access, *shortest),
        restricted=bool(access),
        closed=closed,
    )


def _queues_of(node: Fields, queues: Mapping[str, Fields]) -> tuple[str, ...]:
    """The queues that a node serves: the one it is bound to, or all that have no nodes of their own and ask for no property it lacks."""
    if bound := node.get("queue"):
        return (bound,)
    own = set(re.split(r"[,\s]+", f"{node.get('properties', '')},{node.get('resources_available.Qlist', '')}"))
    wanted = {
        name: fields.get("resources_default.neednodes") or fields.get("default_chunk.Qlist") or fields.get("resources_default.Qlist")
        for name, fields in queues.items()
    }
    return tuple(name for name, word in wanted.items() if word is None or word in own)


def _node(name: str, fields: Fields, queues: tuple[str, ...], torque: bool) -> SeenNode:
    status = dict(pair.split("=", 1) for pair in fields.get("status", "").split(",") if "=" in pair)
    sockets, cores, threads = (count(fields.get(f"total_{what}")) for what in ("sockets", "cores", "threads"))
    gpus = count(fields.get("gpus") if torque else fields.get("resources_available.ngpus"))
    return SeenNode(
        name=name,
        host=fields.get("resources_available.host", ""),
        partitions=queues,
        cpus=count(fields.get("np")) if torque else count(fields.get("resources_available.ncpus")),
        sockets=sockets,
        cores=cores,
        threads_per_core=threads // cores if cores and threads else None,
        memory_gb=_gigabytes(status.get("physmem")),
        usable_memory_gb=None if torque else _gigabytes(fields.get("resources_available.mem"), exact_gigabytes),
        gpus=(GpuCount(None, gpus),) if gpus else (),
        features=tuple(word for word in re.split(r"[,\s]+", fields.get("properties", "")) if word),
    )


def _gigabytes(text: str | None, convert: Callable[[int], float | None] = gigabytes) -> float | None:
    found = re.fullmatch(r"([0-9]{1,15})(kb|mb|gb|tb)", text or "")
    return convert(int(found[1]) * _KIB[found[2]] // 1024) if found else None
