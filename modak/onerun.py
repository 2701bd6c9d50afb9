"""The request for a single run: of a proposal that is worth measuring, or of a trial of a search."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from modak import plugins
from modak.choosing.decision import Decision
from modak.choosing.openswitch import BUILD
from modak.choosing.requirements import compilers, is_build, switches
from modak.choosing.shapes import Shape
from modak.dsl import Configuration, FrameworkOptions, Objective, Request
from modak.facts import Facts
from modak.optimise import Answer, optimise
from modak.target import Target


def one_run(request: Request, run: Shape | Configuration) -> dict[str, Any]:
    """Changes to ``optimisation`` for a single run: no constraints, and the run's compiler (a build by name, graph compilers on or off).

    Where the request leaves precision and source build open, they are the run's, too. A source build is recorded as one.
    """
    asked, work = request.optimisation, request.optimisation.workload
    build = {"build": BUILD} if run.opt_build else {}
    precision = run.precision if work.precision == "auto" else work.precision
    compiler = {"compiler": run.compiler} if is_build(run.compiler) else {}
    changes = {"precision": precision, "params": {**work.params, **build, **dict(run.params or ())}, **compiler}
    return {
        "objective": Objective(),
        "options": _switched(request, run.compiler),
        "workload": work.model_copy(update=changes),
        "enable_opt_build": bool(run.opt_build) if asked.enable_opt_build == "auto" else asked.enable_opt_build,
    }


def gpus_asked(gpus: int, target: Target) -> int | None:
    """The GPUs of a node that the run asks for; ``None``: it says nothing of them, because nobody knows whether its nodes have any."""
    return gpus if target.node else gpus or None


def _switched(request: Request, compiler: str | None) -> FrameworkOptions:
    """The framework's options with every compiler set to ``auto`` turned off, except ``compiler``."""
    options, said = request.optimisation.options, switches(request)
    update: dict[str, Any] = {"scaling_efficiency": None} if hasattr(options, "scaling_efficiency") else {}
    update |= {one.option: one.name == compiler for one in compilers(request) if said.get(one.name) == "auto"}
    return options.model_copy(update=update)


def measurement(request: Request, facts: Facts, decision: Decision, index: int) -> Answer:
    """Plan and script of a run of one candidate: those of the request with its counts and switches, without constraints."""
    shape, nodes = decision.shape_at(index), decision.nodes_at(index)
    gpus = gpus_asked(shape.gpus_per_node, decision.target)
    counts = {"node_count": nodes, "process_count_per_node": shape.ranks_per_node, "request_gpus": gpus}
    array = _first_of_array(request.job_options.job_array, decision.target.scheduler)
    ranks = {"mpi_ranks": nodes * shape.ranks_per_node, "threads": shape.threads_per_rank, "minimal_efficiency": None}
    fixed = request.changed(
        job_options={**counts, "job_array": array},
        application={**ranks, "write_result": True, "result_file": _result_file(request, decision, index)},
        optimisation=one_run(request, shape),
    )
    own = decision.own_curve(index)
    return optimise(fixed, replace(facts, models=(own,)) if own else facts)


def _first_of_array(array: str | None, scheduler: str) -> str | None:
    """The first index of a job array: one job measures as much as all of them. All, where the scheduler has no array of one job.

    >>> _first_of_array("5-99:2%10", "slurm"), _first_of_array("5-99:2", "pbspro")
    ('5', '5-99:2')
    """
    first = re.match("[0-9]+", array or "")
    return first[0] if first and plugins.find("schedulers", scheduler).array(first[0]) else array


def _result_file(request: Request, decision: Decision, index: int) -> str | None:
    """A name of its own for each run, since runs may be submitted together; ``None`` if the request names no result file.

    The last number distinguishes variants with the same counts.
    """
    if request.application.result_file is None:
        return None
    name = request.application.result_file.removesuffix(".json")
    shape, nodes, variant = decision.shape_at(index), decision.nodes_at(index), int(decision.scored.shape[index])
    return f"{name}-{nodes}x{shape.ranks_per_node}x{shape.threads_per_rank}-{variant}"
