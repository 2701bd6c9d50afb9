"""Flux: ``flux resource R`` (Flux RFC 20), ``flux config get`` (RFC 33) and ``flux queue status``. Its CPUs are cores."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from modak.detected.seen import LONGEST_VALUE, Cluster, CommandOutput, GpuCount, SeenNode, SeenPartition, count
from modak.text.hosts import count_nodes, expand_nodes

ANONYMOUS: Final = "default"
"""What the queue of a Flux without named ones is called here; jobs do not name it."""
MOST_NODES: Final = 1 << 17
_RANKS: Final = re.compile(r"[0-9]{1,7}(?:-[0-9]{1,7})?(?:,[0-9]{1,7}(?:-[0-9]{1,7})?)*")
_CLOSED: Final = re.compile(r"(?:(\S+): )?((?:Job submission is disabled|Scheduling is stopped).*)")
_DURATION: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)([smhd]?)")
_SECONDS: Final[Mapping[str, int]] = {"s": 1, "": 1, "m": 60, "h": 3600, "d": 86400}
Table = Mapping[str, Any]


def cluster(answers: Mapping[str, CommandOutput]) -> Cluster | None:
    """The instance of the system that answers; ``None`` where none does."""
    listed, configured = answers["flux-resource"], answers["flux-config"]
    execution, config = _table(_document(listed.text), "execution"), _document(configured.text)
    queues = _table(config, "queues")
    policies = {name: _policies(name, config) for name in queues} or {ANONYMOUS: [_table(config, "policy")]}
    nodes = tuple(_nodes(execution, {name: _needed(name, queues) for name in policies}))
    if not nodes:
        return None
    closed = {name or ANONYMOUS: why for name, why in _CLOSED.findall(answers["flux-queue"].text)}
    default = _of([_table(config, "policy")], "jobspec", "defaults", "system", "queue") if queues else ANONYMOUS
    matching = _of([config], "sched-fluxion-resource", "match-policy")
    found = tuple(
        SeenPartition(
            name=name,
            default=name == default,
            default_wall_time_s=_seconds(_of(layers, "jobspec", "defaults", "system", "duration")),
            max_wall_time_s=_seconds(_of(layers, "limits", "duration")),
            **_sizes(layers),
            usable_cpus=max((node.cpus or 0 for node in nodes if name in node.partitions), default=None),
            whole_nodes=matching.endswith("nodex") if isinstance(matching, str) else None,
            closed=closed.get(name, ""),
        )
        for name, layers in policies.items()
    )
    notes = () if configured.text else (f"{configured.command} did not answer: all nodes are entered as one partition without limits",)
    return Cluster("flux", found, nodes, from_partitions=configured.command, from_nodes=listed.command, notes=notes)


def _policies(name: str, config: Table) -> list[Table]:
    """The policies of a queue, each of which holds where those before it are silent: its own, that of its parent, that of all queues."""
    queues = _table(config, "queues")
    own = _table(queues, name)
    parent = _table(queues, str(own.get("parent", "")))
    return [_table(own, "policy"), _table(parent, "policy"), _table(config, "policy")]


def _needed(name: str, queues: Table) -> Sequence[str]:
    """The properties of the nodes of a queue; one with a parent has its nodes."""
    own = _table(queues, name)
    words = _table(queues, str(own.get("parent", name))).get("requires")
    return [str(word) for word in words] if isinstance(words, list) else []


def _nodes(execution: Table, needed: Mapping[str, Sequence[str]]) -> Iterator[SeenNode]:
    """Each node. Names are listed in the order of the ranks' entries."""
    entries = execution.get("R_lite")
    parts = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    ranks = [_ids(part.get("rank")) for part in parts]
    if sum(map(len, ranks)) > MOST_NODES:
        return
    names = iter(_names(execution.get("nodelist")))
    having = {str(name): frozenset(_ids(ids)) for name, ids in _table(execution, "properties").items()}
    for part, own in zip(parts, ranks, strict=True):
        children = _table(part, "children")
        cores, gpus = (len(_ids(children.get(what))) for what in ("core", "gpu"))
        for rank in own:
            properties = tuple(name for name, ids in having.items() if rank in ids)
            yield SeenNode(
                name=next(names, str(rank))[:LONGEST_VALUE],
                partitions=tuple(name for name, words in needed.items() if all(_has(properties, word) for word in words)),
                cpus=cores or None,
                counts_cores=True,
                gpus=(GpuCount(None, gpus),) if gpus else (),
                features=properties,
            )


def _has(properties: Sequence[str], word: str) -> bool:
    """Whether a node has the property; behind ``^``, whether it does not."""
    return word[1:] not in properties if word.startswith("^") else word in properties


def _ids(text: object) -> Sequence[int]:
    """The numbers of a list of ranges.

    >>> list(_ids("0-2,7")), list(_ids("")), list(_ids("0-9999999")), list(_ids("0-9999999,9999999-0"))
    ([0, 1, 2, 7], [], [], [])
    """
    if not isinstance(text, str) or not _RANKS.fullmatch(text.strip("[]")):
        return ()
    pairs = [(int(first), int(last or first)) for first, _, last in (part.partition("-") for part in text.strip("[]").split(","))]
    if any(last < first for first, last in pairs) or sum(last - first + 1 for first, last in pairs) > MOST_NODES:
        return ()
    return [number for first, last in pairs for number in range(first, last + 1)]


def _names(listed: object) -> Sequence[str]:
    text = ",".join(str(part) for part in listed) if isinstance(listed, list) else ""
    try:
        return expand_nodes(text) if count_nodes(text) <= MOST_NODES else ()
    except ValueError:
        return ()


def _sizes(layers: Sequence[Table]) -> dict[str, Any]:
    """The limits of a job's size; -1 means none."""
    words = {"nodes": "nnodes", "cpus": "ncores", "gpus": "ngpus"}
    return {
        f"{end}_{ours}": count(str(_of(layers, "limits", "job-size", end, theirs)))
        for end in ("min", "max")
        for ours, theirs in words.items()
    }


def _of(layers: Sequence[Table], *path: str) -> Any:
    """What the first of these tables that has the path says there; ``None``: none has it."""
    for layer in layers:
        found: Any = layer
        for key in path:
            found = found.get(key) if isinstance(found, dict) else None
        if found is not None:
            return found
    return None


def _seconds(duration: object) -> int | None:
    """A duration above zero (Flux RFC 23); 0 means none.

    >>> _seconds("1.5h"), _seconds("30m"), _seconds("90"), _seconds("0"), _seconds("inf"), _seconds(None)
    (5400, 1800, 90, None, None, None)
    """
    found = _DURATION.fullmatch(str(duration))
    return int(float(found[1]) * _SECONDS[found[2]]) or None if found else None


def _document(text: str) -> Table:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _table(of: object, key: str) -> Table:
    found = of.get(key) if isinstance(of, dict) else None
    return found if isinstance(found, dict) else {}
