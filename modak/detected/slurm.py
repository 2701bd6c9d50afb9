"""Slurm: ``scontrol show … --oneliner``, which every version has (``--json`` is newer); where users may not run it, ``sinfo``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from modak.detected.seen import (
    LONGEST_VALUE,
    Cluster,
    CommandOutput,
    GpuCount,
    SeenNode,
    SeenPartition,
    SeenQos,
    count,
    exact_gigabytes,
    least,
    narrowest,
    seconds,
    whole,
    whole_list,
    within,
)

SINFO: Final[Mapping[str, str]] = {
    "Partitions": "%P",  # with a * after the default one
    "availability": "%a",
    "nodes": "%D",
    "Sockets": "%X",
    "CoresPerSocket": "%Y",
    "ThreadsPerCore": "%Z",
    "CPUTot": "%c",
    "RealMemory": "%m",
    "Gres": "%G",
    "limit": "%l",
    "default_limit": "%L",
    "job_nodes": "%s",
    "AvailableFeatures": "%f",
}
"""The fields of ``sinfo``'s output in their order: what ``scontrol`` calls those of nodes, and the specification in its format."""
NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
MEMORY: Final = ("DefMemPerCPU", "DefMemPerNode", "MaxMemPerCPU", "MaxMemPerNode")
"""Limits of memory in MiB, of a partition or of the cluster; of two for the same (``Def``, ``Max``) only one is set."""
CONDITIONS: Final = ("AllowGroups", "AllowAccounts", "AllowQos", "AllocNodes", "DenyAccounts", "DenyQos", "QoS", "ReqResv")
"""Who may use a partition, and how."""
LISTS: Final[Mapping[str, str]] = {
    "AllowQos": "allowed_qos",
    "DenyQos": "denied_qos",
    "AllowAccounts": "allowed_accounts",
    "DenyAccounts": "denied_accounts",
}
"""Those that it has fields for."""
RESTRICTIONS: Final = frozenset({"AllowGroups", "AllowAccounts", "AllowQos", "AllocNodes", "ReqResv"})
"""Those that keep out whoever is not named."""
NO_CONDITION: Final = (None, "ALL", "N/A", "NO", "(null)")
PROJECTS: Final = frozenset({"associations", "limits", "qos", "safe", "all"})
"""Values of ``AccountingStorageEnforce`` with which a job needs an association, that is, an account that its user may charge
(slurm.conf(5): ``limits``, ``qos`` and ``safe`` set ``associations``, too)."""
LIMITED: Final = frozenset({"limits", "safe", "all"})
"""Values with which Slurm keeps jobs to the limits of their qualities of service."""
TIMED: Final = "require_timelimit"
"""The plug-in of ``JobSubmitPlugins`` that rejects jobs without a wall time."""
OWN_RULES: Final = (
    "JobSubmitPlugins=lua: the site's own rules may change or reject jobs; compare a script with an example from its documentation"
)
TRES: Final = ("MaxTRES", "MinTRES", "MaxTRESPU", "MaxTRESPA", "GrpTRES", "MaxTRESPerNode")
"""The most and the least of a job; the most of all jobs of a user, of an account, of all users, which one job cannot exceed either; the
most of each node of a job."""
QOS_FORMAT: Final = f"Name,MaxWall,{','.join(TRES)},Flags"
"""The fields of ``sacctmgr show qos``. Jobs beyond these limits are rejected, or wait for ever."""
COUNTED: Final = ("node", "cpu", "gres/gpu", "mem")
"""What a system file counts of a job, beside its time."""
SINFO_FORMAT: Final = "|".join(SINFO.values())


def cluster(answers: Mapping[str, CommandOutput]) -> Cluster | None:
    """The cluster that Slurm describes; ``None`` where there is no answer."""
    shown, listed = answers["scontrol-partition"], answers["scontrol-node"]
    config, configured = settings(answers["scontrol-config"].text), answers["scontrol-config"].command
    enforced = {word.strip() for word in config.get("AccountingStorageEnforce", "").lower().split(",")}
    known = qualities(answers["sacctmgr"].text if "sacctmgr" in answers else "")
    if "AccountingStorageEnforce" in config and not enforced & LIMITED:
        known = {name: SeenQos(one.name) for name, one in known.items()}
    found, seen = partitions(shown.text, config, known), nodes(listed.text)
    in_full = bool(found and seen)
    if not in_full:
        shown = listed = answers["sinfo"]
        found, seen = from_sinfo(shown.text)
    if not (found and seen):
        return None
    plugins = {word.strip().removeprefix("job_submit/") for word in config.get("JobSubmitPlugins", "").split(",")}
    return Cluster(
        "slurm",
        found,
        seen,
        name=config.get("ClusterName"),
        from_partitions=shown.command,
        from_nodes=listed.command,
        charged_by=configured if enforced & PROJECTS else "",
        directives=("--time",) if TIMED in plugins else (),
        from_directives=configured,
        shows_lists=in_full,
        notes=(OWN_RULES,) if "lua" in plugins else (),
    )


def partitions(
    text: str, config: Mapping[str, str] = NOTHING, known: Mapping[str, SeenQos] = MappingProxyType({})
) -> tuple[SeenPartition, ...]:
    """``scontrol show partition --oneliner``. ``config``: what holds in partitions that say nothing of their own; ``known``: the limits
    of qualities of service."""
    records = tuple(_records(text, "PartitionName"))
    own = {fields.get("QoS", "").casefold() for fields in records}
    named = {name: one for name, one in known.items() if name not in own}
    return tuple(_limited(_partition(fields, config), known.get(fields.get("QoS", "").casefold()), named) for fields in records)


def has_accounting(config: str) -> bool:
    """Whether ``scontrol show config`` names a database of accounts, which knows the qualities of service."""
    return "slurmdbd" in settings(config).get("AccountingStorageType", "")


def qualities(text: str) -> Mapping[str, SeenQos]:
    """``sacctmgr show qos`` in :data:`QOS_FORMAT`, by name; those without any limit of a job, too."""
    rows = (line.strip().split("|") for line in text.splitlines())
    found = (_quality(*row) for row in rows if len(row) == len(QOS_FORMAT.split(",")))
    return {one.name.casefold(): one for one in found if one.name}


def _quality(name: str, wall: str, *more: str) -> SeenQos:
    *tres, flags = more
    limits = {kind: _pairs(text) for kind, text in zip(TRES, tres, strict=True)}
    job, smallest, *shared, on_node = limits.values()
    largest = (job, *shared)

    def of_all(what: str) -> int | None:
        return least(*(count(one.get(what)) for one in largest))

    return SeenQos(
        name[:LONGEST_VALUE],
        min_nodes=count(smallest.get("node")),
        max_nodes=of_all("node"),
        min_cpus=count(smallest.get("cpu")),
        max_cpus=of_all("cpu"),
        min_gpus=count(smallest.get("gres/gpu")),
        max_gpus=of_all("gres/gpu"),
        min_memory_gb=amount_gb(smallest.get("mem")),
        max_memory_gb=least(*(amount_gb(one.get("mem")) for one in largest)),
        cpus_per_node=count(on_node.get("cpu")),
        gpus_per_node=count(on_node.get("gres/gpu")),
        memory_per_node_gb=amount_gb(on_node.get("mem")),
        max_wall_time_s=seconds(wall),
        first="OverPartQOS" in flags.split(","),
        others=tuple(
            f"QOS {name}: {kind} {what}={limit}"
            for kind, one in limits.items()
            for what, limit in one.items()
            if what not in COUNTED or (limit == "0" and kind != "MinTRES")  # none at all, which no count of a system file says
        ),
    )


def amount_gb(text: str | None) -> float | None:
    """GB (10^9 bytes) of an amount of memory as ``sacctmgr`` prints it, in MiB or a larger unit; ``None``: there is none.

    >>> amount_gb("4000M"), amount_gb("1.50T"), amount_gb("0"), amount_gb(None)
    (4.194304, 1649.267441664, None, None)
    """
    found = re.fullmatch(r"([0-9]{1,12}(?:\.[0-9]+)?)([MGTP]?)", text or "")
    return float(found[1]) * 1024 ** (2 + "MGTP".index(found[2] or "M")) / 10**9 or None if found else None


def _limited(seen: SeenPartition, own: SeenQos | None, known: Mapping[str, SeenQos]) -> SeenPartition:
    """The partition with the limits of its ``own`` quality of service (``QoS``) and of the only one that it takes, which hold for all of
    its jobs, and with those that jobs may name and whose limits are narrower."""
    if own:
        seen = replace(_narrowed(seen, own), conditions=tuple(one for one in seen.conditions if not one.startswith("QoS=")))
    if sole := known.get((seen.qos or "").casefold()):
        seen = _narrowed(seen, sole)
    lists = dict(seen.lists)
    allowed, denied = ({name.casefold() for name in lists.get(field, ())} for field in ("allowed_qos", "denied_qos"))
    named = [one for name, one in known.items() if (name in allowed if allowed else name not in denied)]
    there = [within(one, seen) for one in named]
    narrower = tuple(one for one in there if one != within(SeenQos(one.name), seen))
    all_of_them = (*([own] if own else []), *named)
    beyond = (text for one in all_of_them for text in (*one.others, *_instead(one, own)))
    return replace(seen, qualities=narrower, conditions=(*seen.conditions, *beyond))


def _instead(one: SeenQos, own: SeenQos | None) -> tuple[str, ...]:
    """That the limits of a quality of service hold in place of those of the partition's own, of which the narrower ones are entered."""
    if own is None or one is own or not one.first:
        return ()
    return (f"QOS {one.name}: OverPartQOS, so that its limits hold in place of those of QOS {own.name}",)


def _narrowed(seen: SeenPartition, by: SeenQos) -> SeenPartition:
    """The partition with the limits of a quality of service, too: its jobs have no more CPUs of a node than they may have in all."""
    return replace(seen, usable_cpus=least(seen.usable_cpus, by.max_cpus), **narrowest(by, seen))


def nodes(text: str) -> tuple[SeenNode, ...]:
    """``scontrol show node --oneliner``. ``RealMemory`` is what Slurm gives to jobs; its M is MiB."""
    return tuple(_node(fields) for fields in _records(text, "NodeName"))


def settings(text: str) -> Mapping[str, str]:
    """``scontrol show config``: names and values."""
    pairs = (line.partition("=") for line in text.splitlines())
    return {name.strip(): value.strip()[:LONGEST_VALUE] for name, _, value in pairs}


def from_sinfo(text: str) -> tuple[tuple[SeenPartition, ...], tuple[SeenNode, ...]]:
    """``sinfo`` in :data:`SINFO_FORMAT`: a line for each kind of node of a partition."""
    lines = (line.strip().split("|") for line in text.splitlines())
    rows = [dict(zip(SINFO, cells, strict=True)) for cells in lines if len(cells) == len(SINFO)]
    found: dict[str, SeenPartition] = {}
    for row in rows:
        partition = _short_partition(row)
        found.setdefault(partition.name, partition)
    return tuple(found.values()), tuple(_short_node(row) for row in rows if count(row["nodes"]))


def pmi_types(text: str) -> tuple[str, ...]:
    """``srun --mpi=list``: the types that it offers, without its versions of PMIx.

    >>> pmi_types("MPI plugin types are...\\n\\tpmix\\n\\tnone\\n\\tpmi2\\nspecific pmix plugin versions available: pmix_v4")
    ('pmix', 'none', 'pmi2')
    """
    words = (line.strip().removeprefix("srun:").strip() for line in text.splitlines())
    return tuple(word for word in words if re.fullmatch(r"[a-z][a-z0-9_]{1,30}", word))


def gres(text: str | None) -> tuple[GpuCount, ...]:
    """The GPUs of a GRES list. Sockets and indices in brackets are ignored.

    >>> gres("gpu:v100:2(S:0-1),nvme:1,gpu:a100:1")
    (GpuCount(type='v100', number=2), GpuCount(type='a100', number=1))
    >>> gres("gpu:4,gpu:v100:0"), gres("(null)")
    ((GpuCount(type=None, number=4),), ())
    """
    bare = "".join(part.rpartition(")")[2] if index else part for index, part in enumerate((text or "").split("(")))
    words = [item.split(":") for item in bare.split(",")]
    gpus = [(item[1] if len(item) > 2 else None, count(item[-1])) for item in words if item[0] == "gpu" and len(item) > 1]
    return tuple(GpuCount(kind, number) for kind, number in gpus if number)


def _records(text: str, first: str) -> Iterator[Mapping[str, str]]:
    """The fields of each line; of two with the same name the first, because free text (a reason, a comment) comes late."""
    for line in text.splitlines():
        if line.startswith(f"{first}="):
            fields: dict[str, str] = {}
            name = ""
            for word in line.split(" "):
                key, equals, value = word.partition("=")
                if equals and key.isascii() and key.isidentifier():
                    name = key if key not in fields else ""
                    fields.setdefault(key, value[:LONGEST_VALUE])
                elif name and word and len(fields[name]) < LONGEST_VALUE:
                    fields[name] += f" {word}"
            yield fields


def _partition(fields: Mapping[str, str], config: Mapping[str, str]) -> SeenPartition:
    memory = {**_memory("Def", fields, config), **_memory("Max", fields, config)}
    said = {name: value for name in CONDITIONS if (value := fields.get(name)) not in NO_CONDITION}
    sole = None if "," in said.get("AllowQos", "") else said.get("AllowQos")
    restricting = RESTRICTIONS.intersection(said) - ({"AllowQos"} if sole else set())
    lists = {field: whole_list(said[name]) for name, field in LISTS.items() if name in said}
    entered = {name for name, field in LISTS.items() if lists.get(field)}
    conditions = [f"{name}={value}" for name, value in said.items() if name not in entered]
    if "MaxMemPerCPU" in memory:
        conditions.append(f"MaxMemPerCPU={memory['MaxMemPerCPU']}")
    return SeenPartition(
        name=fields["PartitionName"],
        default=fields.get("Default") == "YES",
        nodes=whole(fields.get("TotalNodes")),
        min_nodes=count(fields.get("MinNodes")),
        max_nodes=count(fields.get("MaxNodes")),
        usable_cpus=count(fields.get("MaxCPUsPerNode")),
        max_wall_time_s=seconds(fields.get("MaxTime")),
        default_wall_time_s=seconds(fields.get("DefaultTime")),
        memory_gb=exact_gigabytes(count(memory.get("MaxMemPerNode"))),
        memory_per_cpu_gb=exact_gigabytes(count(memory.get("MaxMemPerCPU"))),
        default_memory_gb=exact_gigabytes(count(memory.get("DefMemPerNode"))),
        default_memory_per_cpu_gb=exact_gigabytes(count(memory.get("DefMemPerCPU"))),
        default_memory_per_gpu_gb=exact_gigabytes(_of_gpus(fields) or _of_gpus(config)),
        counts_memory=_counts_memory(fields, config),
        qos=sole,
        lists=tuple(lists.items()),
        conditions=tuple(conditions),
        whole_nodes=_gives_whole_nodes(fields, config),
        restricted=bool(restricting),
        reserved=said.get("ReqResv") == "YES",
        closed=_closed(fields),
    )


def _gives_whole_nodes(fields: Mapping[str, str], config: Mapping[str, str]) -> bool | None:
    """Whether each job gets whole nodes, because of its partition (since Slurm 26.05 in the second field), or because no job in the cluster
    gets less; ``None``: the answers do not say how nodes are selected."""
    selects = config.get("SelectType", "")
    if fields.get("OverSubscribe") == "EXCLUSIVE" or fields.get("Exclusive") == "NODE" or selects == "select/linear":
        return True
    return False if selects else None


def _closed(fields: Mapping[str, str]) -> str:
    """Why users' jobs do not start in a partition; empty: they do."""
    if fields.get("RootOnly") == "YES":
        return "it is for root alone"
    if fields.get("State", "UP") != "UP":
        return f"its state is {fields['State']}"
    return "it is hidden" if fields.get("Hidden") == "YES" else ""


def _memory(kind: str, fields: Mapping[str, str], config: Mapping[str, str]) -> Mapping[str, str]:
    """The limits of a kind (``Def``, ``Max``) that are set for the partition, else those for the cluster."""
    set_in = ({name: source[name] for name in MEMORY if name.startswith(kind) and count(source.get(name))} for source in (fields, config))
    return next(filter(None, set_in), NOTHING)


def _counts_memory(fields: Mapping[str, str], config: Mapping[str, str]) -> bool:
    """Whether jobs share the memory of nodes: what is set for the partition, else for the cluster."""
    set_to = [source.get("SelectTypeParameters", "NONE") for source in (fields, config)]
    return "_MEMORY" in next((what for what in set_to if what != "NONE"), "").upper()


def _of_gpus(fields: Mapping[str, str]) -> int | None:
    """MiB for each GPU of a job: ``JobDefaults=DefCpuPerGPU=8,DefMemPerGPU=60000``."""
    return count(_pairs(fields.get("JobDefaults", "")).get("DefMemPerGPU"))


def _pairs(text: str) -> Mapping[str, str]:
    """``cpu=128,mem=4G`` by name."""
    pairs = (each.partition("=") for each in text.split(",") if each)
    return {name: value for name, _, value in pairs}


def _node(fields: Mapping[str, str]) -> SeenNode:
    sockets, per_socket = count(fields.get("Sockets")), count(fields.get("CoresPerSocket"))
    memory = (whole(fields.get("RealMemory")) or 0) - (whole(fields.get("MemSpecLimit")) or 0)
    features = fields.get("AvailableFeatures", "")
    return SeenNode(
        name=fields["NodeName"],
        partitions=tuple(name for name in fields.get("Partitions", "").split(",") if name),
        host=fields.get("NodeHostName", ""),
        cpus=count(fields.get("CPUTot")),
        sockets=sockets,
        cores=sockets * per_socket if sockets and per_socket else None,
        threads_per_core=count(fields.get("ThreadsPerCore")),
        reserved_cores=whole(fields.get("CoreSpecCount")) or 0,
        usable_memory_gb=exact_gigabytes(memory if memory > 1 else None),  # 1: the site says nothing
        gpus=gres(fields.get("Gres")),
        features=() if features == "(null)" else tuple(word for word in features.split(",") if word),
        powered_down="POWERED_DOWN" in fields.get("State", "").split("+"),
    )


def _short_partition(row: Mapping[str, str]) -> SeenPartition:
    """A partition as a row of ``sinfo`` has it."""
    return SeenPartition(
        name=row["Partitions"].removesuffix("*"),
        default=row["Partitions"].endswith("*"),
        min_nodes=count(row["job_nodes"].partition("-")[0]),
        max_nodes=count(row["job_nodes"].rpartition("-")[2]),
        max_wall_time_s=seconds(row["limit"]),
        default_wall_time_s=seconds(row["default_limit"]),
        closed="" if row["availability"] == "up" else f"it is {row['availability']}",
    )


def _short_node(row: Mapping[str, str]) -> SeenNode:
    """Nodes of one kind as a row of ``sinfo`` has them."""
    return replace(_node({**row, "NodeName": "", "Partitions": row["Partitions"].removesuffix("*")}), count=count(row["nodes"]) or 0)
