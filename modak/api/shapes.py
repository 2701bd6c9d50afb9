"""Systems, rules, models and images in the shapes of the published addresses. Pure: values in, JSON values out."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from itertools import product
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

from modak.facts import Facts, FileSystem, Image, Partition, Rule, System
from modak.perfmodel import Curve

Json = dict[str, Any]
ARCHITECTURES: Final = {"intel": "x86_64", "amd": "x86_64", "arm": "aarch64", "ibm": "ppc64le"}
GENERIC_CPU: Final = {"x86_64": "x86", "aarch64": "arm", "ppc64le": "power"}


def infrastructure(system: System, facts: Facts) -> Json:
    """A system. Memory is in bytes, cores are per socket, threads per core."""
    configuration = {
        "scheduler": system.scheduler,
        "storage": {_location(fs): {"storage_class": fs.storage_class} for fs in system.filesystems if fs.storage_class},
        "partitions": {
            partition.name: _partition(partition, partition is system.default_partition, facts) for partition in system.partitions
        },
    }
    return {
        "id": _id("infrastructure", system.name),
        "name": system.name,
        "description": system.title,
        "configuration": _given(configuration),
    }


def scripts(rule: Rule) -> Iterator[Json]:
    """A rule that adds shell text or variables: one entry for each application, system and storage class that it names."""
    raw = "\n".join(
        [*(shlex.join(["export", f"{name}={value}"]) for name, value in rule.environment.items()), *filter(None, [rule.script])]
    )
    when = rule.when
    for name, system, storage in product(
        (*when.framework, *when.application) or (None,), when.system or (None,), when.storage_class or (None,)
    ):
        if not raw:
            return
        conditions = {
            "application": _given({"name": name, "feature": dict.fromkeys(when.compiler, True)}) if name or when.compiler else None,
            "infrastructure": _given({"name": system, "storage_class": storage}) if system or storage else None,
        }
        yield {
            "id": _id("script", rule.name, name, system, storage),
            "description": rule.title,
            "conditions": _given(conditions),
            "data": {"stage": "post" if rule.stage == "after" else "pre", "raw": raw},
        }


def scaling_model(curve: Curve) -> Json | None:
    """A curve that is Amdahl's law over workers: ``F`` is the parallel fraction; ``None`` for any other curve, and for a single size.

    With T(p) = a + b/p, efficiency is T(1) / (p T(p)) = 1 / (p (1 - F) + F) for F = b / (a + b).
    """
    per_worker = curve.scale in ("ranks", "gpus") or curve.layout.ranks_per_node == 1
    serial, parallel = curve.amdahl
    if not per_worker or len(curve.sizes) < 2 or serial + parallel <= 0:
        return None
    series = curve.series
    code = "_".join(filter(None, [series.application, series.framework, series.framework_version, series.compiler, series.system]))
    identity = _id("scaling_model", series.model_dump_json(), curve.layout.model_dump_json(), curve.scale)
    return {"id": identity, "opt_dsl_code": code, "model": {"name": "amdahl", "F": parallel / (serial + parallel)}}


def container_mapping(image: Image) -> Json:
    """A catalogue entry of Docker Hub or Singularity Hub, which are the types that the published shape has."""
    labels = image.labels
    kind, _, name = image.reference.partition("://")
    code = "_".join(
        [labels.framework, labels.version, *labels.compilers, labels.source, "cpu" if labels.accelerator == "none" else labels.accelerator]
    )
    return {
        "id": _id("container_mapping", image.reference),
        "opt_dsl_code": code,
        "app_name": labels.framework,
        "version": labels.version,
        "enable_opt_build": labels.source == "opt-build",
        "target": {"cpu_type": GENERIC_CPU.get(labels.architecture, labels.architecture), "acc_type": labels.accelerator},
        "selectors": dict.fromkeys((*labels.compilers, *labels.distribution), True),
        "container_name": name,
        "container_type": kind,
        "container_registry": _registry(kind, name),
    }


def _partition(partition: Partition, default: bool, facts: Facts) -> Json:
    node = partition.node
    processor = facts.processors.get(node.processor)
    accelerator = facts.accelerators.get(node.accelerator or "")
    described = {
        "ncpus": node.sockets,
        "cpu": _given(
            {
                "arch": ARCHITECTURES[processor.vendor] if processor else None,
                "microarch": processor.microarchitecture if processor else None,
                "ncores": node.cores // node.sockets,
                "nthreads": node.threads_per_core,
            }
        ),
        "naccel": node.accelerators or None,
        "accel": {"type": "gpu", "model": accelerator.model if accelerator else node.accelerator} if node.accelerators else None,
        "memory": round(node.memory_gb * 1e9) if node.memory_gb else None,
    }
    return {"nnodes": partition.nodes, "default": default, "node": _given(described)}


def _location(fs: FileSystem) -> str:
    return f"file://{fs.path}" if fs.path else f"file://${fs.path_variable or fs.name}"


def _registry(kind: str, name: str) -> str:
    host = name.split("/")[0]
    return host if "." in host or ":" in host else {"docker": "docker.io", "shub": "singularity-hub.org"}.get(kind, "")


def _id(*parts: str | None) -> str:
    """The same thing has the same id, on every server."""
    return str(uuid5(NAMESPACE_URL, "modak:" + ":".join(part or "" for part in parts)))


def _given(values: Json) -> Json:
    return {name: value for name, value in values.items() if value not in (None, {})}
