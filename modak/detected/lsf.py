"""LSF: ``lsid``, ``lshosts -l``, ``lshosts -gpu -w``, ``bhosts -w``, ``bqueues -l`` and ``bmgroup -r -w``. Its units M, G and T are powers
of 1024. A host's job slots are the CPUs that jobs may use there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from modak.detected.seen import LONGEST_VALUE, Cluster, CommandOutput, GpuCount, SeenNode, SeenPartition, count, gigabytes

_LIMITS: Final = frozenset(("CPULIMIT", "RUNLIMIT", "PROCLIMIT", "TASKLIMIT"))
"""The headings of limits that share a line in some versions, each in a column of its own."""
_MINUTES: Final = re.compile(r"([0-9]{1,9})(?:\.[0-9]+)? min(?: of \S+)?")
_MEMORY: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)([MGT])")
_MIB: Final = {"M": 1, "G": 1024, "T": 1024**2}
_GPU: Final = re.compile(r"(\S+)? +[0-9]{1,3} +(\S+) ")
"""One GPU of ``lshosts -gpu``, of which only the first of a host has its name."""
_BRAND: Final = re.compile(r"^(Tesla|NVIDIA)(?=[^_ ])")


class _Queue(NamedTuple):
    """What ``bqueues -l`` says of a queue."""

    fields: dict[str, str]
    """Its lines of a key and a value: ``HOSTS``, ``USERS``."""
    usual: dict[str, str]
    """The limits of jobs that say none."""
    most: dict[str, str]


def cluster(answers: Mapping[str, CommandOutput]) -> Cluster | None:
    """The cluster that answers; ``None`` where none does."""
    queues, slots = _queues(answers["bqueues"].text), _slots(answers["bhosts"].text)
    hosts = {name: host for name, host in _hosts(answers["lshosts"].text).items() if slots.get(name, "0") != "0"}
    if not queues or not hosts:
        return None
    groups = {words[0].strip("/"): words[1:] for line in answers["bmgroup"].text.splitlines() if len(words := line.split()) > 1}
    gpus = _gpus(answers["lshosts-gpu"].text)
    members = {name: _members(one.fields.get("HOSTS", "all"), hosts, groups) for name, one in queues.items()}
    nodes = tuple(
        replace(
            host,
            partitions=tuple(queue for queue, names in members.items() if name in names),
            cpus=count(slots[name]) or host.cpus,
            gpus=gpus.get(name, ()),
        )
        for name, host in hosts.items()
    )
    found = tuple(
        _queue(name, one, max((node.cpus or 0 for node in nodes if name in node.partitions), default=0)) for name, one in queues.items()
    )
    named = re.search(r"^My cluster name is (\S+)", answers["lsid"].text, re.MULTILINE)
    return Cluster(
        "lsf",
        found,
        nodes,
        name=named[1] if named else None,
        from_partitions=answers["bqueues"].command,
        from_nodes=", ".join(answers[name].command for name in ("lshosts", "lshosts-gpu", "bhosts")),
    )


def _hosts(text: str) -> Mapping[str, SeenNode]:
    """The hosts whose processors are known; those of a host that is down are ``-``."""
    found: dict[str, SeenNode] = {}
    name, heading = "", list[str]()
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["HOST_NAME:"]:
            name, heading = " ".join(words[1:])[:LONGEST_VALUE], []
        elif words[:2] == ["type", "model"]:
            heading = words
        elif heading and len(words) == len(heading):
            told, heading = dict(zip(heading, words, strict=True)), []
            sockets, cores, threads = (count(told.get(what)) for what in ("nprocs", "ncores", "nthreads"))
            if (cpus := count(told.get("ncpus"))) and told.get("server") != "No":
                memory = _MEMORY.fullmatch(told.get("maxmem", ""))
                found[name] = SeenNode(
                    name=name,
                    partitions=(),
                    cpus=cpus,
                    sockets=sockets if cores else None,
                    cores=sockets * cores if sockets and cores else None,
                    threads_per_core=threads if sockets and cores else None,
                    memory_gb=gigabytes(int(float(memory[1]) * _MIB[memory[2]])) if memory else None,
                )
        elif words[:1] == ["RESOURCES:"] and name in found:
            listed = re.findall(r"(?<![\w!])[A-Za-z]\w*(?!\w|=)", line.partition("(")[2])
            found[name] = replace(found[name], features=tuple(listed))
    return found


def _slots(text: str) -> Mapping[str, str]:
    """The job slots of each host that takes jobs; ``-`` where they have no limit."""
    rows = [line.split() for line in text.splitlines()]
    column = rows[0].index("MAX") if rows and "MAX" in rows[0] else 0
    return {row[0][:LONGEST_VALUE]: row[column] for row in rows[1:] if len(row) > column > 0}


def _gpus(text: str) -> Mapping[str, tuple[GpuCount, ...]]:
    """The GPUs of each host by model: ``TeslaV100_SXM2_16GB`` is a Tesla V100 SXM2 16GB."""
    found: dict[str, dict[str, int]] = {}
    host = ""
    for line in text.splitlines():
        if row := _GPU.match(f"{line} "):
            host = row[1] or host
            model = _BRAND.sub(r"\1 ", row[2]).replace("_", " ")
            models = found.setdefault(host, {})
            models[model] = models.get(model, 0) + 1
    return {host: tuple(GpuCount(model, number) for model, number in models.items()) for host, models in found.items()}


def _members(text: str, hosts: Mapping[str, SeenNode], groups: Mapping[str, list[str]]) -> set[str]:
    """The hosts of a queue: names and groups (``chem/``), each with a preference behind it (``c1+2``); those behind ``~`` are not."""
    found, without = set[str](), set[str]()
    for word in text.split():
        name = re.sub(r"\+[0-9]+$", "", word).strip("~/")
        named = hosts if name == "all" else groups.get(name, [name])
        (without if word.startswith("~") else found).update(hosts if list(named) == ["all"] else named)
    return found - without


def _queues(text: str) -> Mapping[str, _Queue]:
    """Each queue. Limits have a heading, and their values on the next line; without defaults, nothing says that they are the largest."""
    found: dict[str, _Queue] = {}
    queue, limits, headings = _Queue({}, {}, {}), dict[str, str](), list[str]()
    last = ""
    for line in text.splitlines():
        words = line.split()
        key, colon, value = line.partition(":")
        if headings:
            limits |= _values(headings, line)
            headings = []
        elif words and _LIMITS.issuperset(words):
            headings = words
        elif key == "QUEUE" and words[1:]:
            queue = found.setdefault(words[1][:64], _Queue({}, {}, {}))
            limits = queue.most
        elif line.startswith("DEFAULT LIMITS:"):
            limits = queue.usual
        elif line.startswith("MAXIMUM LIMITS:"):
            limits = queue.most
        elif last.startswith("PRIO"):
            queue.fields.update(zip(last.split(), words, strict=False))
        elif line.startswith("  -- "):
            queue.fields["default"] = "yes" if line.rstrip().endswith("This is the default queue.") else ""
        elif colon and line[:1].isupper():
            queue.fields[key] = value.strip()[:LONGEST_VALUE]
        last = line
    return found


def _values(headings: list[str], line: str) -> dict[str, str]:
    """The values below headings: times as minutes, counts as they stand.

    >>> _values(["RUNLIMIT", "PROCLIMIT"], " 1440.0 min of hostA      1 4 16")
    {'RUNLIMIT': '1440', 'PROCLIMIT': '1 4 16'}
    """
    times = iter(_MINUTES.findall(line))
    timed = {name: next(times, "") for name in headings if name in ("CPULIMIT", "RUNLIMIT")}
    counts = " ".join(_MINUTES.sub(" ", line).split())
    return {**timed, **{name: counts for name in headings if name not in timed}}


def _queue(name: str, one: _Queue, slots: int) -> SeenPartition:
    tasks = (one.most.get("TASKLIMIT") or one.most.get("PROCLIMIT", "")).split()
    users = one.fields.get("USERS", "all")
    return SeenPartition(
        name=name,
        default=bool(one.fields.get("default")),
        min_cpus=count(tasks[0]) if len(tasks) > 1 else None,
        max_cpus=count(tasks[-1]) if tasks else None,
        usable_cpus=slots or None,
        max_wall_time_s=(count(one.most.get("RUNLIMIT")) or 0) * 60 or None,
        default_wall_time_s=(count(one.usual.get("RUNLIMIT")) or 0) * 60 or None,
        conditions=(f"USERS: {users}",) if users != "all" else (),
        restricted=users != "all",
        closed=_closed(one),
    )


def _closed(one: _Queue) -> str:
    """Why a queue starts no new jobs of scripts; empty: it does. Outside its hours it is ``Inact_Win``."""
    status = one.fields.get("STATUS", "Open:Active")
    if not status.startswith("Open") or status.endswith((":Inact", ":Inact_Adm")):
        return f"it is {status}"
    return "it takes interactive jobs only" if "ONLY_INTERACTIVE" in one.fields.get("SCHEDULING POLICIES", "") else ""
