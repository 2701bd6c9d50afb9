"""What a job's result file says about its run."""

from __future__ import annotations

from collections.abc import Mapping

from modak.choosing.mpi import whose_mpi
from modak.choosing.requirements import carrier
from modak.choosing.shapes import Shape
from modak.choosing.software import Software
from modak.dsl import Request, Workload
from modak.facts import parameter, parameters
from modak.jobs.spec import Report
from modak.normalise import own_container
from modak.results.filters import PARAMETER
from modak.results.metrics import WorkUnit, work_unit
from modak.target import Target
from modak.tuning.setting import recorded

Record = Mapping[str, str | float | bool]
"""Columns of the results table with their values."""


def common_columns(request: Request, target: Target, shape: Shape, nodes: int, software: Software) -> Record:
    """What the results of all runs of a configuration have in common, in the columns of the results table."""
    found = carrier(request)
    has: dict[str, str | float | bool | None] = {
        "framework": shape.framework or (found.framework if found else None),  # as the models are asked for it, whatever it runs in
        "framework_version": shape.framework_version if shape.framework else software.framework_version,
        "compiler": shape.compiler,
        "image": software.reference,
        "precision": shape.precision,
        "system": target.name,
        "partition": target.partition.name if target.partition and target.system and len(target.system.partitions) > 1 else None,
        "nodes": nodes,
        "ranks_per_node": shape.ranks_per_node,
        "threads_per_rank": shape.threads_per_rank,
        "gpus_per_node": shape.gpus_per_node or None,
        "batch_size": shape.batch_size,
        "mpi": shape.mpi,
        "mpi_from": whose_mpi(target, shape, software.reference),
        "hyperthreads": shape.hyperthreads,
        "numa_mode": shape.numa_mode,
        "runtime": target.runtime.name if target.runtime and software.reference else "none",
        **{PARAMETER + name: value for name, value in shape.params},
    }
    return {name: value for name, value in has.items() if value is not None}


def report(request: Request, usual: Record) -> Report:
    """What the script writes about its run, with what is ``usual`` for its :func:`common_columns`."""
    workload = request.optimisation.workload
    params = {**parameters(workload.named), **recorded(request), **lengths(workload)}
    if own_container(request):  # in an image that nobody knows
        usual = {name: value for name, value in usual.items() if name != "runtime"}
    known = {
        "application": request.workload_name,
        "dataset": workload.dataset,
        **{f"params.{name}": value for name, value in params.items()},
    }
    printed = workload.metric
    return Report(
        file=request.application.result_file.removesuffix(".json") if request.application.result_file else None,
        record={**{name: value for name, value in known.items() if value is not None}, **usual} if request.workload_name else {},
        metric=printed.name if printed else None,
        unit=printed.unit if printed else None,
        pattern=printed.pattern if printed else None,
        log=request.application.metric_file if printed else None,
    )


def lengths(workload: Workload) -> Mapping[str, str | None]:
    """The length of the run, as parameters of its results; ``None``: the request does not give it."""
    return {
        "epochs": parameter(workload.epochs) if workload.epochs else None,
        "steps": parameter(workload.steps) if workload.steps else None,
        "amount": _amount(workload),
    }


def _amount(workload: Workload) -> str | None:
    """The total work of a run that prints a rate, in the unit that the rate counts, or that prints nothing: other runs may have rates."""
    rate = work_unit(workload.metric.measure) if workload.metric else WorkUnit("samples", 1.0)
    of_epochs = workload.epochs or not workload.steps
    if rate and rate.counts == "samples" and not workload.amount and workload.samples and of_epochs:
        return f"{workload.samples * (workload.epochs or 1):.12g} samples"
    return workload.amount if rate else None
