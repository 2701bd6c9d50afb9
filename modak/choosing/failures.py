"""Configurations whose runs failed: neither chosen nor planned, after a second try. Those that were stopped take longer than that.

A run that ended for want of memory tells of others: with as many ranks on a node or more, on as many nodes or fewer, a node needs as much.
So it does for a larger problem, with the same values of parameters that a request leaves open: the others are then the problem.
Where jobs get memory with their cores, one with more cores for each rank has more.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from modak.arrays import Flags, Ints
from modak.choosing.candidates import Candidates
from modak.choosing.scoring import question, usable_curves
from modak.choosing.shapes import Shape
from modak.choosing.workload import with_problem
from modak.dsl import Notice, Request
from modak.errors import Infeasible
from modak.facts import Facts, FailedRuns, Layout, SeriesKey
from modak.grouping import grouped
from modak.perfmodel import Curve, Question
from modak.perfmodel.fitting.merging import without_length
from modak.perfmodel.forecasting.censoring import censored_runs, ran_on
from modak.perfmodel.matching.magnitudes import magnitude
from modak.perfmodel.matching.questions import equal_values, with_switches_off
from modak.results.failures import OUT_OF_MEMORY, STOPPED, TRIES
from modak.target import Target
from modak.text.amounts import counted, join_names
from modak.text.choices import named

SHOWN: Final = 3
"""Layouts whose failed runs a reason names."""
LEFT_OUT: Final = "not considered: "
"""How the reason begins."""
FAILED_ONCE: Final = "a run failed, not for want of memory; if another one does, this configuration is left out"
_MENDED: Final = "once their cause is mended, 'modak results doubt' takes failed runs out"


def after_failures(request: Request, target: Target, found: Candidates, facts: Facts) -> Candidates:
    """The candidates as :func:`_without_failed` leaves them, with those of their runs that were stopped."""
    return _with_stopped(request, target, _without_failed(request, target, found, facts), facts)


def _without_failed(request: Request, target: Target, found: Candidates, facts: Facts) -> Candidates:
    """The candidates without those whose runs failed, :data:`TRIES` times or for want of memory, unless one succeeded.

    If none is left, all are on twice as many nodes as had too little memory, unless runs failed there, too. If they cannot be, all stay
    where the request gives its nodes, ranks or memory, with a warning; elsewhere raises :class:`modak.errors.Infeasible`.
    """
    out, _, told = _failing(request, target, found, facts)
    if not told:
        return found
    what = join_names([_in_words(one, request, others=others) for one, others in _together(told, request)], SHOWN, "; ")
    why = (*found.decisions, f"{LEFT_OUT}{what} ({_MENDED})")
    kept = [(shape, nodes[~fails]) for (shape, nodes), fails in zip(found.pairs, out, strict=True) if not fails.all()]
    if kept:
        return found.with_pairs(kept, decisions=why)
    if more := _more_nodes(request, found, told):
        on_more = (np.array([more], dtype=np.int64),) * len(found.shapes)
        return _without_failed(request, target, replace(found, nodes=on_more, decisions=why), facts)
    counts = found.given.nodes or found.given.ranks
    if counts or request.job_options.memory_limit:
        field = f"job_options.{'node_count' if counts else 'memory_limit'}"
        return replace(found, warnings=(*found.warnings, Notice(field=field, message=f"this job may fail, too: {what}; {_MENDED}")))
    way = "ask for more (job_options.memory_limit); " if any(_had_a_part(request, target, one) for one in told) else ""
    raise Infeasible(f"all configurations that come into question may fail: {what}; {way}{_MENDED}", field="optimisation.workload")


def failed_once(request: Request, target: Target, found: Candidates, facts: Facts) -> frozenset[tuple[Shape, int]]:
    """The shapes and numbers of nodes of candidates of which a run failed, so that another one shows whether it was by chance."""
    _, once, _ = _failing(request, target, found, facts)
    pairs = zip(found.pairs, once, strict=True) if once else ()
    return frozenset((shape, int(size)) for (shape, nodes), failed in pairs for size in nodes[failed])


def failed_at_other_problems(request: Request, target: Target, found: Candidates, shape: Shape, nodes: int, facts: Facts) -> int:
    """How many runs of a candidate's layout failed with other problems, if they are :data:`TRIES` or more, or one had too little memory for
    a smaller problem, and none of any succeeded; else 0."""
    curves, asked = usable_curves(request, target, facts.models), question(with_problem(request, found.problem), target, shape)
    of_any = replace(asked, attributes={name: value for name, value in asked.attributes.items() if name not in ("dataset", "params")})
    failed = (one for one in facts.failed if one.series.metric != STOPPED and _has_values(shape, one.series))
    here = (one for one in failed if (one.layout.nodes or 1) == nodes)
    others = [one for one in here if not asked.may_have_been(one.series, one.layout) and of_any.may_have_been(one.series, one.layout)]
    count = sum(one.count for one in others)
    enough = count >= TRIES or any(one.series.metric == OUT_OF_MEMORY and _is_smaller(one.series.params, asked.params) for one in others)
    with_values = [curve for curve in curves if _has_values(shape, curve.series)]
    return count if enough and nodes not in ran_on(of_any, with_values) else 0


def most_without_memory(request: Request, target: Target, found: Candidates, facts: Facts) -> int:
    """The most nodes on which a run of the problem had too little memory, whatever its layout; 0: none had."""
    failed, curves = [one for one in facts.failed if one.series.metric == OUT_OF_MEMORY], usable_curves(request, target, facts.models)
    asked = (
        [replace(with_switches_off(curves, question(request, target, shape)), layout=Layout()) for shape in found.shapes] if failed else []
    )
    return max((one.layout.nodes or 1 for one in failed if any(each.may_have_been(one.series, Layout()) for each in asked)), default=0)


def _with_stopped(request: Request, target: Target, found: Candidates, facts: Facts) -> Candidates:
    """The candidates with those of their runs that were stopped."""
    if not any(one.series.metric == STOPPED for one in facts.failed):
        return found
    request = with_problem(request, found.problem)
    curves = usable_curves(request, target, facts.models)
    of_shapes = (censored_runs(question(request, target, shape), curves, facts.failed) for shape in found.shapes)
    return replace(found, stopped=tuple((place, run) for place, runs in enumerate(of_shapes) for run in runs))


def _more_nodes(request: Request, found: Candidates, told: Iterable[FailedRuns]) -> int:
    """Twice as many nodes as had too little memory, if no candidate has as many, and the request and the target allow them; else 0."""
    needed = 2 * max((one.layout.nodes or 1 for one in told if one.series.metric == OUT_OF_MEMORY), default=0)
    limit = min(found.most_nodes or 1, request.optimisation.objective.max_nodes or math.inf)
    return needed if max(grid[-1] for grid in found.nodes) < needed <= limit else 0


def _failing(request: Request, target: Target, found: Candidates, facts: Facts) -> tuple[list[Flags], list[Flags], dict[FailedRuns, bool]]:
    """For each shape on which of its numbers of nodes it may fail, and on which a run failed that may have been by chance; and the failed
    runs that tell of the first, with whether they tell of others than themselves. Nothing if none failed."""
    failed = [one for one in facts.failed if one.series.metric != STOPPED]
    if not failed:
        return [], [], {}
    request = with_problem(request, found.problem)
    curves = usable_curves(request, target, facts.models)
    out, once, told = list[Flags](), list[Flags](), dict[FailedRuns, bool]()
    for shape, nodes in found.pairs:
        asked = with_switches_off(curves, question(request, target, shape))
        less = {one for one in failed if _had_a_part(request, target, one) and shape.threads_per_rank > (one.layout.threads_per_rank or 0)}
        telling = list(_telling(asked, shape, nodes, curves, failed, less))
        by_chance = (min(one.count, TRIES) * itself for one, itself, _ in telling if one.series.metric != OUT_OF_MEMORY)
        tries = sum(by_chance, np.zeros(len(nodes)))
        fails = np.zeros(len(nodes), dtype=bool)
        for one, itself, others in telling:
            known = itself & (True if one.series.metric == OUT_OF_MEMORY else tries >= TRIES)
            if known.any() or others.any():
                told[one] = told.get(one, False) or bool((others & ~known).any())
            fails |= known | others
        out.append(fails)
        once.append((tries > 0) & (tries < TRIES))
    return out, once, told


def _together(told: Mapping[FailedRuns, bool], request: Request) -> Iterator[tuple[FailedRuns, bool]]:
    """The failed runs of series that differ in labels alone as one, with whether any of them tells of others."""
    for alike in grouped(told, lambda one: (one.series.metric, one.layout, _values(one, request))).values():
        yield alike[0].model_copy(update={"count": sum(one.count for one in alike)}), any(told[one] for one in alike)


def _telling(
    asked: Question, shape: Shape, nodes: Ints, curves: Sequence[Curve], failed: Iterable[FailedRuns], less: Collection[FailedRuns]
) -> Iterator[tuple[FailedRuns, Flags, Flags]]:
    """The failed runs, with the numbers of nodes on which they may be of the shape, and those on which it may have too little memory, as
    they had; neither where a run of it is known to have succeeded, nor the latter if one of the failed configuration has, or that had
    ``less`` for each rank."""
    ran = ran_on(asked, curves)
    for one in failed:
        most = one.layout.nodes or 1
        itself = (nodes == most) & (most not in ran and asked.may_have_been(one.series, one.layout))
        as_little = one.series.metric == OUT_OF_MEMORY and one not in less and _needs_as_much(shape, one.layout)
        of = _problem_of(one.series, asked, shape) if as_little else None
        alike = of is not None and most not in ran_on(replace(of, layout=one.layout.model_copy(update={"nodes": None})), curves)
        yield one, itself, (nodes <= most) & (nodes < min(ran, default=np.inf)) & alike


def _problem_of(series: SeriesKey, asked: Question, shape: Shape) -> Question | None:
    """The question in any layout, if failed runs may have been of it; or about their smaller problem, if the request leaves parameters open
    and they had the same values of these; else ``None``."""
    own, values = replace(asked, layout=Layout()), dict(shape.params)
    if own.may_have_been(series, Layout()):
        return own
    problem, larger = ({name: text for name, text in of.items() if name not in values} for of in (series.params, asked.params))
    smaller = values and _has_values(shape, series) and _is_smaller(problem, larger) and own.without_params.may_have_been(series, Layout())
    return own.with_params(without_length(series.params)) if smaller else None


def _has_values(shape: Shape, series: SeriesKey) -> bool:
    """Whether runs had the values of the parameters that the request leaves open."""
    return all(equal_values(series.params.get(name), value) for name, value in shape.params)


def _needs_as_much(shape: Shape, other: Layout) -> bool:
    """Whether a node needs as much memory for a shape as for another layout, or more, on as many nodes.

    >>> shape = Shape(4, 12, gpus_per_node=4, batch_size=32)
    >>> [_needs_as_much(shape, Layout(ranks_per_node=ranks)) for ranks in (2, 4, 8)]
    [True, True, False]
    >>> [_needs_as_much(shape, Layout(gpus_per_node=4, batch_size=size)) for size in (16, 32, 64)]
    [True, True, False]
    >>> _needs_as_much(shape, Layout(gpus_per_node=2))
    False
    """
    gpus = other.gpus_per_node in (None, shape.gpus_per_node)
    pairs = ((shape.ranks_per_node, other.ranks_per_node), (shape.batch_size, other.batch_size))
    return gpus and all(there is None or here is None or here >= there for here, there in pairs)


def _had_a_part(request: Request, target: Target, one: FailedRuns) -> bool:
    """Whether a run that had too little memory had a part of a node's, where jobs get it with their cores."""
    partition, node, layout = target.partition, target.node, one.layout
    if one.series.metric != OUT_OF_MEMORY or partition is None or node is None or layout.gpus_per_node or target.gives_whole_nodes:
        return False
    by_cores = (partition.default_memory_per_cpu_gb or partition.default_memory_gb) and not request.job_options.node_exclusive
    cores = (layout.ranks_per_node or node.cores) * (layout.threads_per_rank or node.cores)
    return bool(by_cores and cores < node.usable_cores)


def _is_smaller(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Whether a problem has only numbers as the other one, but for its length, and none of them is larger there.

    >>> [_is_smaller({"cells": cells, "epochs": "5"}, {"cells": "64x64"}) for cells in ("1000", "5000", "many")], _is_smaller({}, {})
    ([True, False, False], False)
    >>> _is_smaller({"cells": "1000"}, {"cells": "4000", "epochs": "5"}), _is_smaller({"cells": "1000"}, {"cells": "4000", "order": "2"})
    (True, False)
    """
    here, there = ({name: magnitude(text) for name, text in without_length(of).items()} for of in (one, other))
    if not here or here.keys() != there.keys():
        return False
    return all(size and (most := there[name]) and size <= most for name, size in here.items())


def _values(one: FailedRuns, request: Request) -> str:
    """The parameters of failed runs, if the request leaves some open."""
    params = sorted(one.series.params.items()) if request.optimisation.workload.open_params else ()
    return f" with {named(params)}" if params else ""


def _in_words(one: FailedRuns, request: Request, *, others: bool) -> str:
    """Failed runs, and if they tell of ``others``, of which."""
    layout = one.layout
    where = counted(layout.nodes or 1, "node")
    where += f" x {layout.ranks_per_node or '?'}x{layout.threads_per_rank or '?'}" if layout.ranks_per_node else ""
    where += _values(one, request)
    if one.series.metric != OUT_OF_MEMORY:
        return f"{where} failed ({counted(one.count, 'run')})"
    ranks = f" with {counted(layout.ranks_per_node, 'rank')} each or more" if layout.ranks_per_node else ""
    return f"{where} had too little memory{f', so as many nodes or fewer{ranks} have, too' if others else ''}"
