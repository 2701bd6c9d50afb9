"""Grid Engine: ``qhost -q``, ``qconf -sq *``, and ``qconf -sp`` for each parallel environment. A queue's slots on a host are the CPUs that
its jobs may use there."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from modak.detected.seen import LONGEST_VALUE, Cluster, CommandOutput, SeenNode, SeenPartition, count, gigabytes, whole_list

_HOST: Final = re.compile(r"(\S+) +\S+ +([0-9]+) +(?:([0-9]+) +([0-9]+) +([0-9]+) +)?\S+ +([0-9]{1,9}(?:\.[0-9]{1,3})?)([MGT])\s")
"""Host, architecture, processors, sockets, cores and threads (not before Grid Engine 8), load, memory; those of a host that is down are
``-``."""
_QUEUE: Final = re.compile(r"\s+(\S+) +\S+ +[0-9]+/[0-9]+/([0-9]+) *([a-zA-Z]*)")
"""Queue, its kinds of jobs, reserved/used/all slots, states."""
_MIB: Final = {"M": 1, "G": 1024, "T": 1024**2}
_DISABLED: Final = frozenset("dDE")
MOST_ENVIRONMENTS: Final = 64
"""Parallel environments that are asked for at most."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_CONDITIONS: Final = ("pe_list", "user_lists", "xuser_lists", "projects", "xprojects")
_LISTS: Final[Mapping[str, str]] = {"projects": "allowed_accounts", "xprojects": "denied_accounts"}
"""Those that a system file has fields for: scripts name the project of a job (``-P``)."""


def cluster(answers: Mapping[str, CommandOutput]) -> Cluster | None:
    """The cell that answers; ``None`` where none does."""
    listed, shown = answers["qhost"], answers["qconf"]
    hosts = tuple(_hosts(listed.text))
    most: dict[str, int] = {}
    for _, slots in hosts:
        most |= {name: max(number, most.get(name, 0)) for name, number in slots.items()}
    if not most:
        return None
    told = answers["qconf-sp"]
    settings, rules = _settings(shown.text, "qname"), _settings(told.text, "pe_name")
    queues = {name: settings.get(name, {}) for name in most}
    chosen = _chosen([*queues.values()], rules, max(most.values()))
    shared = any(rules[name].get("allocation_rule") == "$pe_slots" for name in chosen)  # jobs get the slots that they ask for, and no hosts
    found = tuple(
        replace(_queue(name, most[name], fields, chosen), max_nodes=_most_nodes(fields, rules), whole_nodes=False if shared else None)
        for name, fields in sorted(queues.items())
    )
    nodes = tuple(replace(node, partitions=tuple(slots), cpus=max(slots.values(), default=0) or None) for node, slots in hosts)
    return Cluster(
        "gridengine",
        found,
        nodes,
        from_partitions=shown.command,
        from_nodes=listed.command,
        directives=tuple(f"-pe {name}" for name in chosen),
        from_directives=told.command,
        shows_lists=most.keys() <= settings.keys(),
    )


def environments(answers: Mapping[str, CommandOutput]) -> tuple[str, ...]:
    """The names of the queues' parallel environments, each of which ``qconf -sp`` shows alone."""
    listed = (name for fields in _settings(answers["qconf"].text, "qname").values() for name in _environments(fields))
    return tuple(dict.fromkeys(name for name in listed if _NAME.fullmatch(name)))[:MOST_ENVIRONMENTS]


def _environments(queue: Mapping[str, str]) -> list[str]:
    return [name for name in re.split(r"[ ,]+", queue.get("pe_list", "NONE")) if name and name != "NONE"]


def _most_nodes(queue: Mapping[str, str], told: Mapping[str, Mapping[str, str]]) -> int | None:
    """One, if all parallel environments of the queue give the slots of one host; ``None``: no limit is known."""
    listed = _environments(queue)
    return 1 if listed and all(told.get(name, {}).get("allocation_rule") == "$pe_slots" for name in listed) else None


def _chosen(queues: Sequence[Mapping[str, str]], told: Mapping[str, Mapping[str, str]], slots: int) -> tuple[str, ...]:
    """The parallel environment for one node, and the one for several, for all users in all queues that have jobs of that kind.

    For several, whose helpers Grid Engine has to start: one that gives all slots of a host, else one that fills hosts up. If there is none
    but a queue has such jobs, none is chosen: with that for one node they would wait for ever.
    """
    parallel = [queue for queue in queues if _environments(queue)]
    larger = [queue for queue in parallel if not _most_nodes(queue, told)]
    inside, across = _in_all(parallel), _in_all(larger)
    usable = {name: one for name, one in told.items() if one.get("user_lists", "NONE") == "NONE" and one.get("slots") != "0"}
    starting = {name: one for name, one in usable.items() if one.get("control_slaves") == "TRUE"}
    first = _by_rule("$pe_slots", usable, inside)
    last = _by_rule(str(slots), starting, across) or _by_rule("$fill_up", starting, across)
    if (larger and not last) or (not first and last not in inside):
        return ()
    return tuple(name for name in (first, last) if name)


def _by_rule(rule: str, told: Mapping[str, Mapping[str, str]], among: Collection[str]) -> str | None:
    """The first of these parallel environments that allocates slots by the rule; ``None``: none does."""
    return next((name for name, one in told.items() if name in among and one.get("allocation_rule") == rule), None)


def _in_all(queues: Sequence[Mapping[str, str]]) -> set[str]:
    """The parallel environments that each of these queues has; none where there is no queue."""
    return set.intersection(*map(set, map(_environments, queues))) if queues else set()


def _hosts(text: str) -> Iterator[tuple[SeenNode, Mapping[str, int]]]:
    """Each host, and its slots in each queue that takes jobs there."""
    slots: dict[str, int] = {}
    for line in text.splitlines():
        if host := _HOST.match(line):
            threads, cores, slots = count(host[5]), count(host[4]), {}
            node = SeenNode(
                name=host[1][:LONGEST_VALUE],
                partitions=(),
                sockets=count(host[3]),
                cores=cores,
                threads_per_core=threads // cores if threads and cores else None,
                memory_gb=gigabytes(int(float(host[6]) * _MIB[host[7]])),
            )
            yield node, slots
        elif not line.startswith(" "):
            slots = {}  # of a host that is down
        elif (queue := _QUEUE.match(line)) and not _DISABLED & set(queue[3]) and (number := count(queue[2])):
            slots[queue[1][:LONGEST_VALUE]] = number


def _settings(text: str, named_by: str) -> Mapping[str, Mapping[str, str]]:
    """The settings of each queue (``qname``) or parallel environment (``pe_name``). A value for some hosts alone (``4,[n1=8]``) is left
    out."""
    found: dict[str, dict[str, str]] = {}
    fields: dict[str, str] = {}
    for line in text.replace("\\\n", " ").splitlines():
        key, _, value = line.partition(" ")
        if key == named_by:
            fields = found.setdefault(value.strip(), {})
        fields[key] = " ".join(value.partition(",[")[0].split())[:LONGEST_VALUE]
    return found


def _queue(name: str, slots: int, fields: Mapping[str, str], chosen: Collection[str]) -> SeenPartition:
    """``chosen``: the parallel environments that are entered. They are right in all queues, which need no word on those that they have."""
    said = {key: fields.get(key, "NONE") for key in _CONDITIONS if key != "pe_list" or not chosen}
    restricted = any(said[key] != "NONE" for key in ("user_lists", "projects"))
    lists = {field: whole_list(said[key]) for key, field in _LISTS.items() if said[key] != "NONE"}
    said = {key: value for key, value in said.items() if not lists.get(_LISTS.get(key, ""))}
    return SeenPartition(
        name=name,
        usable_cpus=slots,
        max_wall_time_s=_seconds(fields.get("h_rt", "")),
        conditions=tuple(f"{key} {value}" for key, value in said.items() if value != "NONE"),
        lists=tuple(lists.items()),
        restricted=restricted,
    )


def _seconds(limit: str) -> int | None:
    """``24:00:00``, ``0:30:0`` or seconds; ``None`` for ``INFINITY``."""
    found = re.fullmatch(r"(?:([0-9]{1,6}):([0-9]{1,2}):)?([0-9]{1,9})", limit)
    return int(found[1] or 0) * 3600 + int(found[2] or 0) * 60 + int(found[3]) or None if found else None
