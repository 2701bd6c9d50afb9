"""Systems, rules, models and images in the shapes of the published addresses.

:mod:`modak.published.posted` is the other direction.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import product, starmap
from math import prod
from typing import Final, NamedTuple
from uuid import NAMESPACE_URL, uuid5

from pydantic import ValidationError

from modak.errors import RequestError
from modak.facts import Accelerator, Condition, Facts, FileSystem, Image, Known, Partition, Processor, Rule, System
from modak.perfmodel import Curve
from modak.published.posted import DOCKER_HUB, SINGULARITY_HUB, UNTITLED, PostedConditions, condition
from modak.text.documents import Json
from modak.text.grammar import registry_host

GENERIC_CPU: Final = {"x86_64": "x86", "aarch64": "arm", "ppc64le": "power"}
REGISTRIES: Final = {"docker": DOCKER_HUB, "shub": SINGULARITY_HUB, "library": "library"}
"""Where images of each scheme are, if their name has no host. The published shape has no others."""
MOST_ENTRIES: Final = 1000
"""Entries for one rule; a rule that would need more is not shown."""


def shown(values: Sequence[Known], facts: Facts) -> Json:
    """The published shape of what the values of one body describe."""
    match values[0]:
        case System() as system:
            processors = {one.name: one for one in values if isinstance(one, Processor)}
            accelerators = {one.name: one for one in values if isinstance(one, Accelerator)}
            return infrastructure(system, {**processors, **facts.processors}, {**accelerators, **facts.accelerators})
        case Rule() as rule:
            return next(scripts(rule))
        case Image() as image:
            return container_mapping(image)
    raise TypeError(f"no published shape shows {type(values[0]).__name__}")


def infrastructure(system: System, processors: Mapping[str, Processor], accelerators: Mapping[str, Accelerator]) -> Json:
    """A system. Memory is in bytes, cores are per socket, threads per core."""
    configuration = {
        "scheduler": system.scheduler,
        "storage": {_location(fs): {"storage_class": fs.storage_class} for fs in system.filesystems if fs.storage_class},
        "partitions": {
            partition.name: _partition(
                partition,
                partition is system.default_partition,
                processors.get(partition.node.processor),
                accelerators.get(partition.node.accelerator or ""),
            )
            for partition in system.partitions
        },
    }
    return {
        "id": _id("infrastructure", system.name),
        "name": system.name,
        "description": system.title,
        "configuration": _given(configuration),
    }


class _Case(NamedTuple):
    """What one entry of a rule is for: a word of each list in its condition; ``None`` where that is empty."""

    program: str | None
    """A framework, an application or an MPI library."""
    compiler: str | None
    system: str | None
    storage_class: str | None


def scripts(rule: Rule) -> Iterator[Json]:
    """A rule of shell text or variables alone: one entry for each application, graph compiler, system and storage class that it names.

    The shape has fewer conditions than rules have. What it does not say reads as "always", so an entry is there only if reading it gives
    the rule's own condition.
    """
    exports = [shlex.join(["export", f"{name}={value}"]) for name, value in rule.environment.items()]
    raw, when = "\n".join([*exports, *([rule.script] if rule.script else [])]), rule.when
    programs = (*when.framework, *when.application, *when.mpi)
    lists = [names or (None,) for names in (programs, when.compiler, when.system, when.storage_class)]
    if not raw or rule.modules or rule.launcher_options or prod(map(len, lists)) > MOST_ENTRIES:
        return
    for case in starmap(_Case, product(*lists)):
        conditions = _conditions(case, when)
        if _says(conditions, case, when):
            yield {
                "id": _id("script", rule.name, *case),
                **({"description": rule.title} if rule.title != UNTITLED else {}),
                "conditions": conditions,
                "data": {"stage": "post" if rule.stage == "after" else "pre", "raw": raw},
            }


def _conditions(case: _Case, when: Condition) -> Json:
    feature = {
        **({case.compiler: True} if case.compiler else {}),
        "distribution": when.distribution[0] if when.distribution else None,
        "version": when.framework_version or when.mpi_version,
    }
    application = {"name": case.program, "feature": _given(feature)} if case.program else None
    infrastructure = _given({"name": case.system, "storage_class": case.storage_class})
    return _given({"application": application, "infrastructure": infrastructure})


def _says(shown: Json, case: _Case, when: Condition) -> bool:
    """Whether these conditions are the rule's, where of each list one word is looked at."""
    words = {key: (word,) for key in ("compiler", "system", "storage_class") if (word := getattr(case, key))}
    words |= {key: (case.program,) for key in ("framework", "application", "mpi") if case.program and getattr(when, key)}
    try:
        return condition(PostedConditions.model_validate(shown)) == when.model_copy(update=words)
    except (ValidationError, RequestError):
        return False


def scaling_model(curve: Curve) -> Json | None:
    """A curve that is Amdahl's law over workers: ``F`` is the parallel fraction; ``None`` for any other curve, and for a single size.

    With T(p) = a + b/p, efficiency is T(1) / (p T(p)) = 1 / (p (1 - F) + F) for F = b / (a + b).
    """
    per_worker = curve.scale != "nodes" or curve.layout.ranks_per_node == 1
    serial, parallel = curve.amdahl
    if not per_worker or len(curve.sizes) < 2 or serial + parallel <= 0:
        return None
    series = curve.series
    code = "_".join(filter(None, [series.application, series.framework, series.framework_version, series.compiler, series.system]))
    identity = _id("scaling_model", series.model_dump_json(), curve.layout.model_dump_json(), f"{curve.scale}{curve.ranks_per_gpu or ''}")
    return {"id": identity, "opt_dsl_code": code, "model": {"name": "amdahl", "F": parallel / (serial + parallel)}}


def container_mapping(image: Image) -> Json:
    """A catalogue entry whose reference has one of the schemes of :data:`REGISTRIES`."""
    labels = image.labels
    scheme, _, name = image.reference.partition("://")
    code = "_".join(
        [labels.framework, labels.version, *labels.compilers, labels.source, "cpu" if labels.accelerator == "none" else labels.accelerator]
    )
    return {
        "id": _id("container_mapping", image.reference),
        "opt_dsl_code": image.opt_dsl_code or code,
        "app_name": labels.framework,
        "version": labels.version,
        "enable_opt_build": labels.source == "opt-build",
        "target": {"cpu_type": GENERIC_CPU.get(labels.architecture, labels.architecture), "acc_type": labels.accelerator},
        "selectors": dict.fromkeys((*labels.compilers, *labels.distribution), True),
        "container_name": name,
        "container_type": "docker" if scheme == "docker" else "shub",
        "container_registry": registry_host(name) or REGISTRIES[scheme],
    }


def _partition(partition: Partition, default: bool, processor: Processor | None, accelerator: Accelerator | None) -> Json:
    node = partition.node
    arch = _architecture(processor) if processor else None
    described = {
        "ncpus": node.sockets,
        "cpu": _given(
            {
                "arch": arch,
                "microarch": processor.microarchitecture if processor and processor.microarchitecture != arch else None,
                "ncores": node.cores // node.sockets,
                "nthreads": node.threads_per_core,
            }
        ),
        "naccel": node.accelerators or None,
        "accel": {"type": "gpu", "model": accelerator.model if accelerator else node.accelerator} if node.accelerators else None,
        "memory": round(node.memory_gb * 1e9) if node.memory_gb else None,
    }
    return {"nnodes": partition.nodes, "default": default, "node": _given(described)}


def _architecture(processor: Processor) -> str | None:
    """The family of a processor's microarchitecture; ``None`` for one that archspec does not know."""
    import archspec.cpu

    known = archspec.cpu.TARGETS.get(processor.microarchitecture)
    return known.family.name if known else None


def _location(fs: FileSystem) -> str:
    return f"file://{fs.path}" if fs.path else f"file://${fs.path_variable or fs.name}"


def _id(*parts: str | None) -> str:
    """The same thing has the same id, on every server."""
    return str(uuid5(NAMESPACE_URL, "modak:" + ":".join(part or "" for part in parts)))


def _given(values: Json) -> Json:
    return {name: value for name, value in values.items() if value not in (None, {})}
