"""One machine: ``lscpu -J``, ``numactl -H``, ``nvidia-smi``, ``xpu-smi``, the memory and the mount table of the kernel."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from modak.detected.seen import LONGEST_VALUE, CommandOutput, Machine, Mount, SeenGpu, SeenProcessor, count, gigabytes, plain

KINDS: Final[Mapping[str, str]] = {
    "lustre": "lustre",
    "gpfs": "gpfs",
    **dict.fromkeys(("nfs", "nfs4"), "nfs"),
    **dict.fromkeys(("beegfs", "beegfs_nodev"), "beegfs"),
    **dict.fromkeys(("ceph", "cvmfs2", "panfs", "wekafs"), "other"),
}
"""Types of file systems in the mount table that nodes share."""


def machine(answers: Mapping[str, CommandOutput], place: str, names: frozenset[str] = frozenset()) -> Machine:
    """One machine from the answers of its commands; a missing answer leaves its fields unknown."""
    texts = {name: answer.text for name, answer in answers.items()}
    processor, domains = lscpu(texts.get("lscpu", "")), numactl(texts.get("numactl", ""))
    return Machine(
        place=place,
        names=names,
        processor=processor,
        numa_domains=domains or (processor.numa_domains if processor else None),
        numa_from=answers["numactl"].command if domains else "lscpu -J",
        memory_gb=meminfo(texts.get("meminfo", "")),
        gpus=nvidia_smi(texts.get("nvidia-smi", ""), texts.get("nvidia-smi-capability", "")) or xpu_smi(texts.get("xpu-smi", "")),
    )


def lscpu(text: str) -> SeenProcessor | None:
    """``lscpu -J``, flat (util-linux up to 2.37) or nested (later). NUMA domains without processors are not counted."""
    fields = {name.rstrip(":"): value for name, value in _fields(_document(text)) if isinstance(value, str)}
    model, vendor = plain(fields.get("Model name", "")), plain(fields.get("Vendor ID", ""))
    if not model:
        return None
    domains = [value for name, value in fields.items() if re.fullmatch(r"NUMA node[0-9]{1,5} CPU\(s\)", name) and value.strip()]
    return SeenProcessor(
        model=model,
        vendor=vendor,
        architecture=plain(fields.get("Architecture", ""), 20),
        flags=frozenset(fields.get("Flags", "").split()),
        sockets=count(fields.get("Socket(s)")),
        cores_per_socket=count(fields.get("Core(s) per socket")) or count(fields.get("Core(s) per cluster")),
        threads_per_core=count(fields.get("Thread(s) per core")),
        numa_domains=len(domains) or None,
        hypervisor=plain(fields["Hypervisor vendor"]) if "Hypervisor vendor" in fields else None,
    )


def numactl(text: str) -> int | None:
    """``numactl -H``: the number of NUMA domains with processors.

    >>> numactl("available: 2 nodes (0-1)\\nnode 0 cpus: 0 1\\nnode 0 size: 9 MB\\nnode 1 cpus:\\nnode 1 size: 9 MB")
    1
    """
    return len({found[1] for found in re.finditer(r"^node ([0-9]{1,5}) cpus: *[0-9]", text, re.MULTILINE)}) or None


def nvidia_smi(text: str, capabilities: str = "") -> tuple[SeenGpu, ...]:
    """``nvidia-smi --query-gpu=name,memory.total`` and ``--query-gpu=compute_cap``, as CSV without header and units.

    >>> nvidia_smi("Tesla T4, 15360", "7.5")
    (SeenGpu(model='Tesla T4', memory_gb=16.1, compute_capability='7.5', vendor='nvidia'),)
    """
    rows = [row for line in text.splitlines() if (row := re.fullmatch(r"([^,]{2,200}), *([0-9]{1,9}|\[[^\]]*\])", line.strip()))]
    known = [line.strip() for line in capabilities.splitlines()]
    given = [version if re.fullmatch(r"[0-9]{1,2}\.[0-9]{1,2}", version) else None for version in known]
    versions = given if len(given) == len(rows) else [None] * len(rows)
    return tuple(SeenGpu(plain(row[1]), gigabytes(count(row[2])), version) for row, version in zip(rows, versions, strict=True))


def xpu_smi(text: str) -> tuple[SeenGpu, ...]:
    """``xpu-smi discovery --dump 2,16``: name and memory of Intel's GPUs, as CSV below a header.

    >>> xpu_smi('Device Name,Memory Physical Size\\n"Intel(R) Data Center GPU Max 1550","131072.00 MiB"')
    (SeenGpu(model='Intel Data Center GPU Max 1550', memory_gb=137.4, compute_capability=None, vendor='intel'),)
    """
    rows = re.finditer(r'^"([^",]{2,200})","([0-9]{1,9})?[^"]{0,20}"\s*$', text, re.MULTILINE)
    return tuple(SeenGpu(plain(row[1].replace("(R)", "")), gigabytes(count(row[2])), vendor="intel") for row in rows)


def meminfo(text: str) -> float | None:
    """``/proc/meminfo``: all memory of the machine, in GB (10^9 bytes)."""
    found = re.search(r"^MemTotal: +([0-9]{1,12}) kB$", text, re.MULTILINE)
    return gigabytes(int(found[1]) // 1024) if found else None


def mounts(text: str) -> tuple[Mount, ...]:
    """``/proc/mounts``: the shared file systems, by path. Blanks in paths stay octal, as there."""
    rows = (line[:LONGEST_VALUE].split(" ") for line in text.splitlines())
    found = {row[1]: KINDS[row[2]] for row in rows if len(row) > 2 and row[2] in KINDS}
    return tuple(Mount(path, kind) for path, kind in sorted(found.items()))


def _document(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _fields(document: Any) -> Iterator[tuple[str, Any]]:
    """Names and values at any depth, in order, without recursion."""
    first = document.get("lscpu") if isinstance(document, dict) else None
    waiting = list(reversed(first)) if isinstance(first, list) else []
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict) and isinstance(item.get("field"), str):
            yield item["field"], item.get("data")
            children = item.get("children")
            waiting += reversed(children) if isinstance(children, list) else ()
