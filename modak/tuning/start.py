"""The first points of a search: the job's own setting, the best predicted layout, and the best measured setting."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from modak.choosing.decision import choice_of, decide
from modak.dsl import Request
from modak.errors import ModakError
from modak.facts import Facts, canonical_name, canonical_parameter
from modak.perfmodel.fitting.cells import Cell
from modak.results.metrics import metric_of
from modak.target import find_system
from modak.text.amounts import counted, format_duration, spans
from modak.tuning.request import Aim
from modak.tuning.setting import as_text, column
from modak.tuning.space import LAYOUT, Grid, Point
from modak.tuning.trial import trial_of, with_its_layout

MOST_LAYOUTS: Final = 64
"""Layouts that are predicted at most."""


def starts(base: Request, facts: Facts, space: Grid, results: Iterable[Cell], aim: Aim) -> Mapping[Point, str]:
    """The points to try first, in this order, each with the reason for it."""
    own = (space.default, "the job's own setting")
    first: dict[Point, str] = {}
    for point, why in (own, *_predicted(base, facts, space), *_measured(base, facts, space, results, aim)):
        first.setdefault(point, why)
    return first


def _predicted(base: Request, facts: Facts, space: Grid) -> list[tuple[Point, str]]:
    """The layout that is predicted to be fastest, if several can be predicted."""
    layouts = _layouts(space)
    if len(layouts) < 2:
        return []
    timed = []
    for point in layouts:
        try:
            decision = decide(trial_of(base, space, point, "trial"), facts)
            choice = choice_of(decision, decision.best)
            with_its_layout(space, point, choice.configuration, ())
        except ModakError:  # such a layout does not fit the system
            continue
        predicted = choice.prediction
        if predicted.value is not None and predicted.lower is not None and predicted.upper is not None:
            interval = f"{spans(predicted.lower, predicted.upper)} at {predicted.level:.0%}, basis: {predicted.basis}"
            timed.append((predicted.value, point, f"the models predict {format_duration(predicted.value)} ({interval})"))
    return [(point, f"{why}, the least of {counted(len(timed), 'layout')}") for _, point, why in sorted(timed)[:1]]


def _layouts(space: Grid) -> list[Point]:
    """Points that differ from the job's own setting in the layout only."""
    places = [place for place, parameter in enumerate(space.parameters) if parameter.kind == "layout"]
    chosen = Grid(tuple(space.parameters[place] for place in places)).points(MOST_LAYOUTS)
    changed = (dict(zip(places, indices, strict=True)) for indices in chosen)
    return [tuple(indices.get(place, own) for place, own in enumerate(space.default)) for indices in changed]


def _measured(base: Request, facts: Facts, space: Grid, results: Iterable[Cell], aim: Aim) -> list[tuple[Point, str]]:
    """The best setting among results on the same system that have a value for every parameter."""
    names = _names(base, facts)
    here = (one for one in results if names is None or canonical_name(one.series.system) in names)
    usable = (one for one in here if _comparable(one, aim))
    known = [(aim.cost(value), point) for one in usable if (point := _point(space, one)) for value in one.values]
    if not known:
        return []
    cost, point = min(known)
    value = aim.cost(cost)  # the inverse of an inverse
    return [(point, f"the best of {len(known)} earlier results: {aim.in_words(value)} (basis: measured)")]


def _comparable(cell: Cell, aim: Aim) -> bool:
    """Whether it is of the metric that trials are compared by: not tokens/s where these are in samples/s."""
    return cell.series.metric == aim.metric and metric_of(cell.series).unit == aim.base


def _names(base: Request, facts: Facts) -> Collection[str] | None:
    """What results may call the system, folded; ``None``: the request names none, and all results count."""
    name = base.target.name
    if name is None:
        return None
    system = find_system(name, facts)
    return system.folded_names if system else (canonical_name(name),)


def _point(space: Grid, cell: Cell) -> Point | None:
    """The point at which results were measured; ``None``: its values are not in the space."""
    indices: list[int] = []
    for parameter in space.parameters:
        measured = (
            getattr(cell.layout, LAYOUT[parameter.name]) if parameter.kind == "layout" else cell.series.params.get(column(parameter.name))
        )
        values = [canonical_parameter(as_text(value)) for value in parameter.values]
        if measured is None or canonical_parameter(str(measured)) not in values:
            return None
        indices.append(values.index(canonical_parameter(str(measured))))
    return tuple(indices)
