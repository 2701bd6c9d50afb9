"""Where the layouts that are considered come from, in words."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from modak.choosing.measured import was_measured_on
from modak.choosing.shapes import Shape
from modak.dsl import Request
from modak.facts import canonical_name
from modak.perfmodel import Curve
from modak.target import Target


def why_layouts(shapes: Sequence[Shape], target: Target, curves: Sequence[Curve]) -> tuple[str, ...]:
    """A line with the layouts that are considered and where they come from."""
    origin = {shape.origin for shape in shapes}
    counts = sorted({(shape.ranks_per_node, shape.threads_per_rank) for shape in shapes})
    listed = ", ".join(f"{ranks}x{threads}" for ranks, threads in counts)
    if origin == {"request"}:
        return (f"layout {listed} (ranks per node x threads per rank), as requested",)
    there = [curve for curve in curves if was_measured_on(curve, target) and curve.estimated is None]
    measured = origin <= {"evidence", "request", "raised", "fuller"}
    source = _as_measured(origin, target, there) if measured else _by_rule_of_thumb(origin, target, _unfit(counts) if there else "")
    return (f"layouts considered (ranks per node x threads per rank): {listed}; {source}",)


def _as_measured(origin: Collection[str], target: Target, there: Sequence[Curve]) -> str:
    """That the layouts are the measured ones of the curves ``there``, and what was made of them."""
    text = f"the ones measured on {_measured_place(target, there)}"
    text += ", with the requested ranks spread evenly" if "request" in origin else ""
    text += ", with a rank for each GPU where there were fewer (process_count_per_node overrides this)" if "raised" in origin else ""
    text += ", and with more GPUs, or up to twice as many ranks or threads, where a node has room" if "fuller" in origin else ""
    return text + _assumed(there)


def _unfit(counts: Collection[tuple[int, int]]) -> str:
    """Why measured layouts are not enough: among those that are considered are ``counts``, ranks and threads. A serial one was measured."""
    if (1, 1) in counts and len(counts) > 1:
        return "only serial runs (one rank of one thread) were measured there"
    return "no layout that was measured there is as requested"


def _by_rule_of_thumb(origin: Collection[str], target: Target, unfit: str) -> str:
    """That layouts are derived from the nodes, and why. ``unfit``: why those that were measured there do not do; empty: none were."""
    if "assumed" in origin:
        some = not {"evidence", "raised", "fuller"}.isdisjoint(origin)
        part = "some results" if some else "the results"
        why = f"derived by a rule of thumb, because {part} on {_place(target)} do not state ranks_per_node"
        return f"the ones measured there, and others {why}" if some else why
    if target.system is None and not unfit:
        nodes = f"the nodes of {target.name}" if target.name else "the nodes (give target.name)"
        return f"a rule of thumb, because nothing is known of {nodes}"
    return f"derived from the topology of {_place(target)} by a rule of thumb, because {unfit or 'nothing was measured there'}"


def _place(target: Target) -> str:
    return target.title if target.system else target.name or target.title


def _measured_place(target: Target, there: Sequence[Curve]) -> str:
    """Where the curves ``there`` were measured: the target, unless all name other partitions of it, whose nodes are of the same kind."""
    named, system, here = {curve.series.partition or "" for curve in there}, target.system, target.partition
    if system is None or here is None or not named or named & here.scheduler_names:
        return _place(target)
    others = [one for one in system.partitions if one.scheduler_names & named]
    if not named <= frozenset().union(*(one.scheduler_names for one in others)):
        return _place(target)
    return f"{system.name}/{', '.join(one.name for one in others)}, with nodes of the same kind"


def _assumed(measured: Sequence[Curve]) -> str:
    """What of their layouts the results of these curves do not state; empty: nothing."""
    no_threads = [curve for curve in measured if not curve.states_threads]
    no_ranks = [curve for curve in no_threads if not (curve.layout.ranks_per_node or curve.scale == "ranks" or curve.ranks_per_gpu)]
    if not no_threads:
        return ""
    names = "ranks and threads per rank" if no_ranks else "threads per rank"
    if len(no_ranks or no_threads) < len(measured):
        return f"; some results do not state their {names}, which are assumed"
    gpus = {gpus for curve in no_ranks for gpus in (curve.per_node if curve.scale == "gpus" else {curve.layout.gpus_per_node}) if gpus}
    known = f"{', '.join(map(str, sorted(gpus)))} GPUs per node as measured, " if gpus else ""
    return f"; {known}{names} assumed, because the results do not state them"


def why_partition(request: Request, target: Target, curves: Sequence[Curve]) -> tuple[str, ...]:
    """A line if there are results on nodes of another kind of the system, where the request leaves the kind open."""
    options = request.job_options
    named = (options.partition, options.queue, options.architecture_constraint, request.optimisation.opt_build.acc_type)
    if any(named) or options.request_gpus is not None:
        return ()
    here = (curve for curve in curves if canonical_name(curve.series.system) in target.names and curve.estimated is None)
    others = {curve.series.partition or "" for curve in here if curve.series.partition in target.other_nodes(bool(curve.on_gpus))}
    if not others:
        return ()
    return (f"partition: {target.title}; name another one with results (job_options.partition) to compare: {', '.join(sorted(others))}",)
