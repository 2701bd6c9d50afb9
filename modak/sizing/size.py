"""The sizing of a goal: for each partition the smallest number of nodes that meets it, and the network and storage that they need."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from modak.choosing.candidates import Candidates, enumerate_candidates
from modak.choosing.failures import LEFT_OUT, after_failures
from modak.choosing.fieldpaths import with_document_fields
from modak.choosing.grids import accepted_node_counts, node_grid
from modak.choosing.measured import was_measured_on
from modak.choosing.openparams import on_multiples
from modak.choosing.problem import of_one_problem
from modak.choosing.requirements import (
    DEEPSPEED,
    distribution,
    is_distributed,
    is_said_distributed,
    is_within_one_process,
    without_compilers,
)
from modak.choosing.scoring import predict_candidates, score
from modak.choosing.software import missing_compilers
from modak.choosing.workload import with_problem, with_setting
from modak.dsl import Notice, Objective, Request
from modak.errors import Infeasible, UnknownName
from modak.facts import VENDORS, Accelerator, Facts, Partition, System
from modak.sizing.answer import Platform, Sizing
from modak.sizing.demand import BYTES_PER_PARAMETER, Demand, asked, demand, goal
from modak.sizing.guide import Guide
from modak.sizing.reach import Reach, nothing_known, reach
from modak.sizing.storage import network_of, storage_of
from modak.target import Target, find_system, resolve
from modak.text.amounts import format_bytes as in_bytes

COUNTS: Final = (
    "node_count",
    "request_specific_nodes",
    "process_count_per_node",
    "core_count_per_process",
    "core_count",
    "request_gpus",
)
"""Counts of the job, which a sizing determines ..."""
LAYOUT: Final = ("mpi_ranks", "threads")
"""... and those of the application."""
WISHES: Final = ("minimise", "max_nodes", "min_efficiency", "budget_node_hours")
"""Fields of the objective, other than the deadline, that a sizing ignores."""
NO_TRAINING: Final = ("hpc", "big_data")
"""Kinds of applications of which the guide's questions and cautions, which are about the training of networks, say nothing."""
SHARDED: Final = ("fsdp", DEEPSPEED)
"""Distributions that split one copy of the network over all GPUs."""
OTHERS: Final = ("memory_limit", "minimum_memory_per_processor", "queue", "qos", "account")
"""Other fields that are about one system and are ignored."""


def size(request: Request, facts: Facts, guide: Guide) -> Sizing:
    """The sizing of every partition of every known system, or of the system that the request names as its target.

    Raises :class:`modak.errors.RequestError` without a deadline, :class:`modak.errors.UnknownName` for an unknown target.
    """
    wanted = demand(request)
    of_one, assumed = _of_one_problem(request, facts)
    places = [(system, partition) for system in _systems(request, facts) for partition in _partitions(request, system)]
    platforms = [_platform(of_one, facts, guide, wanted, system, partition) for system, partition in places]
    of_training = request.optimisation.app_type not in NO_TRAINING
    return Sizing(
        goal=goal(request, wanted),
        asked=asked(request, guide) if of_training else (),
        platforms=tuple(sorted(platforms, key=_best_first)),
        cautions=tuple(f"{one.text} ({guide.cites(one.section)})" for one in guide.cautions if of_training),
        sources=tuple(dict.fromkeys(source.citation for source in guide.sources)),
        warnings=(*_left_out(request), *_taken_as_distributed(request), *assumed),
    )


def _systems(request: Request, facts: Facts) -> Iterable[System]:
    name = request.target.name
    if name is None:
        return facts.systems.values()
    found = find_system(name, facts)
    if found is None:
        raise UnknownName("system", name, facts.systems, field="target.name")
    return (found,)


def _of_one_problem(request: Request, facts: Facts) -> tuple[Request, tuple[Notice, ...]]:
    """The request with one problem for all systems, so that their sizes can be compared."""
    request = with_setting(request, facts.models)
    names = [name for system in _systems(request, facts) for name in system.folded_names] if request.target.name else []
    problem, warnings = of_one_problem(request, facts.models, names)
    return with_problem(request, problem), warnings


def _partitions(request: Request, system: System) -> tuple[Partition, ...]:
    """All partitions, or those that the request names, by a queue of theirs, too, together with its system."""
    name = request.job_options.partition or request.job_options.queue
    named = tuple(one for one in system.partitions if request.target.name and name in one.scheduler_names)
    return named or system.partitions


def _best_first(one: Platform) -> tuple[bool, bool, float, str, str]:
    return (one.feasible is None, one.feasible is False, one.nodes.value or 0.0, one.system, one.partition)


def _left_out(request: Request) -> tuple[Notice, ...]:
    """Warnings for counts and objectives of the request that are ignored."""
    asked = [("job_options", name, getattr(request.job_options, name)) for name in COUNTS]
    asked += [("application", name, getattr(request.application, name)) for name in LAYOUT]
    text = "is ignored: a sizing finds the number"
    counts = tuple(Notice(field=f"{section}.{name}", message=text) for section, name, value in asked if value is not None)
    wishes = [name for name in WISHES if getattr(request.optimisation.objective, name) is not None]
    text = "is ignored: a sizing finds the fewest nodes that meet the deadline; 'modak recommend' uses it"
    return (*counts, *(Notice(field=f"optimisation.objective.{name}", message=text) for name in wishes))


def _taken_as_distributed(request: Request) -> tuple[Notice, ...]:
    """A warning if the request does not say whether the application runs as several processes."""
    if request.optimisation.config.distributed_training is not None or is_said_distributed(request) or is_within_one_process(request):
        return ()
    text = "is not stated: the work is taken to be spread over nodes and all their GPUs; false: it is one process"
    return with_document_fields(request, (Notice(field="optimisation.config.distributed_training", message=text),))


def _platform(request: Request, facts: Facts, guide: Guide, wanted: Demand, system: System, partition: Partition) -> Platform:
    question = _question(request, system, partition)
    target = resolve(question, facts)
    found = _reach(question, target, facts, wanted)
    variant = guide.variant(system.name, partition.name)
    unused = request.optimisation.opt_build.acc_type == "none" or (found.shape and not found.shape.gpus_per_node)
    gpus = 0 if unused else partition.node.accelerators
    idle = gpus - min(gpus, found.shape.gpus_per_node) if found.shape else 0
    used = f", of which the run uses {gpus - idle}" if idle else ""
    accelerator = target.accelerator if gpus else None
    too_large = _memory(wanted, accelerator, (found.at or 1) * (gpus - idle) if distribution(request) in SHARDED else 1)
    return Platform(
        system=system.name,
        partition=partition.name,
        kind=system.kind,
        title=system.title,
        cooling=variant.cooling if variant else None,
        condition=variant.condition if variant else None,
        feasible=False if too_large else found.feasible,
        nodes=found.nodes,
        at_nodes=found.at,
        gpus=found.nodes.mapped(lambda nodes: nodes * gpus, "GPUs", f"{gpus} per node{used}") if gpus else None,
        idle_gpus_per_node=idle or None,
        accelerator=accelerator.model if accelerator else None,
        layout=found.layout,
        time=found.time,
        node_hours=found.node_hours,
        network=network_of(guide, system, found.at) if found.at else None,
        storage=storage_of(question, guide, wanted, system, partition, found),
        notes=(*too_large, *found.notes),
    )


def _question(request: Request, system: System, partition: Partition) -> Request:
    """The request for one partition: without counts, and distributed over nodes unless it says otherwise. If it names threads alone,
    results say whether it is, as for other answers."""
    config = request.optimisation.config
    if is_said_distributed(request) or not is_within_one_process(request):
        config = config.model_copy(update={"distributed_training": config.distributed_training is not False})
    free = {**dict.fromkeys((*COUNTS, *OTHERS)), "partition": partition.name}
    return request.changed(
        job_options=free,
        application=dict.fromkeys(LAYOUT),
        target={"name": system.name, "job_scheduler_type": None, "container_runtime": None},
        optimisation={"config": config, "objective": Objective(max_nodes=partition.job_nodes)},
    )


def _reach(question: Request, target: Target, facts: Facts, wanted: Demand) -> Reach:
    asked = question.optimisation.opt_build.acc_type
    if asked in VENDORS and (target.accelerator is None or target.accelerator.vendor != asked):
        return nothing_known(f"its nodes do not have the accelerators that the request asks for ({asked})", feasible=False)
    try:
        candidates = after_failures(question, target, _spread(question, target, facts), facts)
    except Infeasible as error:
        return nothing_known(error.faults[0].message, feasible=False)
    found = reach(question, score(question, target, predict_candidates(question, target, candidates, facts)), wanted)
    found = replace(found, notes=(*found.notes, *(why for why in candidates.decisions if why.startswith(LEFT_OUT))))
    given_up = missing_compilers(question, facts, target, found.shape) if found.shape else {}
    less = without_compilers(question, given_up)
    if less == question:
        return found
    again = _reach(less, target, facts, wanted)
    return replace(again, notes=(*again.notes, *(one.message for one in given_up.values())))


def _spread(question: Request, target: Target, facts: Facts) -> Candidates:
    """What can run there, on all numbers of nodes unless the application has its own."""
    found = enumerate_candidates(question, target, facts.models)
    if not is_distributed(question) or question.application.allowed_ranks:
        return found
    _, limit = target.job_nodes or (1, 1)
    grid, here = accepted_node_counts(node_grid(limit), target), (curve for curve in facts.models if was_measured_on(curve, target))
    return found.with_pairs(on_multiples(question, [(shape, grid) for shape in found.shapes], here))


def _memory(wanted: Demand, accelerator: Accelerator | None, over: int) -> tuple[str, ...]:
    """A sentence if one copy of the network does not fit the memory of as many GPUs as it is split over."""
    has = accelerator.memory_gb if accelerator else None
    if has is None or wanted.replica_bytes is None or wanted.replica_bytes / 1e9 <= has * over:
        return ()
    need = f"{wanted.parameters:g} parameters need {in_bytes(wanted.replica_bytes)} for weights, gradients and optimiser alone"
    rule = f"{BYTES_PER_PARAMETER} bytes each, heuristic; ZeRO, SC20, section 3.1"
    least = math.ceil(wanted.replica_bytes / 1e9 / has)
    return (f"{need} ({rule}), but a GPU has {has:g} GB: the network must be split over {least} GPUs or more",)
