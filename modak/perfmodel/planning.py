"""The next runs worth measuring: the effect of one more point on the interval of the decision.

The result of a run is not known, but predicted with an interval. So for each run the curves are fitted again with the predicted
value, and with a low and a high one (Gauss-Hermite quadrature over the log of cost); the expected interval afterwards
is the weighted mean of the three. Runs are taken one after the other, the one that narrows the interval most per node-hour
first, each as if those before it had given the predicted value: two runs with the same information are not both proposed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from modak.facts import Layout, SeriesKey
from modak.perfmodel import scaling
from modak.perfmodel.curves import Curve, Scale
from modak.perfmodel.forms import Array
from modak.perfmodel.matching import NORMAL

ABSCISSAE = (-math.sqrt(3), 0.0, math.sqrt(3))
"""Where the three values lie, in standard deviations ..."""
WEIGHTS = (1 / 6, 2 / 3, 1 / 6)
"""... and what each counts: exact for polynomials up to the fifth power."""
LEAST = 0.02
"""A run that narrows the interval by a smaller part than this tells nothing that is worth its queue."""

Width = Callable[[Sequence[Curve]], float]
"""Half the width of the decision's interval (in log cost) if ``curves`` were all that is known."""


@dataclass(frozen=True)
class Run:
    """A run that could be measured: the curve it would be a point of, its size, and what is foretold of it."""

    series: SeriesKey
    layout: Layout
    """What is the same for all sizes of the curve."""
    scale: Scale
    size: float
    nodes: int
    cost: float
    """In seconds (a sample, for throughputs), as curves hold it."""
    spread: float
    """Half the width of the 90 % interval of its log."""
    node_hours: float


@dataclass(frozen=True)
class Step:
    """One of the runs that are proposed: ``run`` is its place among those that were offered."""

    run: int
    before: float
    """Half-width of the decision's interval when the runs before it are done ..."""
    after: float
    """... and what is expected of it with this one."""
    per_node_hour: float
    """The difference, by node-hours."""


def propose(curves: Sequence[Curve], runs: Sequence[Run], width: Width, most: int = 5, budget: float | None = None) -> tuple[Step, ...]:
    """At most ``most`` runs, in the order in which to measure them, together within ``budget`` node-hours.

    Repeats of what is measured are not among them.
    """
    known, left, spent = tuple(curves), list(range(len(runs))), 0.0
    steps: list[Step] = []
    while left and len(steps) < most:
        left = [place for place in left if _new(known, runs[place]) and (budget is None or spent + runs[place].node_hours <= budget)]
        before = width(known)
        after = expected(known, [runs[place] for place in left], width)
        gain = before - after
        worth = [k for k in range(len(left)) if gain[k] >= LEAST * before]
        if not worth:
            break
        best = max(worth, key=lambda k: gain[k] / runs[left[k]].node_hours)
        chosen = runs[left[best]]
        steps.append(Step(left[best], before, float(after[best]), float(gain[best] / chosen.node_hours)))
        known, spent = with_point(known, refitted(known, [(chosen, chosen.cost)])[0]), spent + chosen.node_hours
        left = [left[k] for k in worth if k != best]
    return tuple(steps)


def expected(curves: Sequence[Curve], runs: Sequence[Run], width: Width) -> Array:
    """The half-width of the decision's interval that is expected after each of ``runs`` alone; none repeats what is measured."""
    points = [(run, run.cost * math.exp(at * run.spread / NORMAL)) for run in runs for at in ABSCISSAE]
    widths = [width(with_point(curves, curve)) for curve in refitted(curves, points)]
    return np.asarray(np.reshape(widths, (len(runs), len(ABSCISSAE))) @ np.array(WEIGHTS))


def refitted(curves: Sequence[Curve], points: Sequence[tuple[Run, float]]) -> tuple[Curve, ...]:
    """For each run, with the cost that it showed, the curve that it belongs to with that point, fitted again: all in one batch."""
    grown = [_grown(_own(curves, run), run, cost) for run, cost in points]
    mixtures = scaling.fit_many([curve.measured for curve in grown])
    return tuple(curve.model_copy(update={"mixture": mixture}) for curve, mixture in zip(grown, mixtures, strict=True))


def with_point(curves: Sequence[Curve], grown: Curve) -> tuple[Curve, ...]:
    """``curves`` with ``grown`` in place of the one that it has grown from, or behind them."""
    places = [place for place, curve in enumerate(curves) if _same(curve, grown)]
    place = places[0] if places else len(curves)
    return (*curves[:place], grown, *curves[place + 1 :])


def _new(curves: Sequence[Curve], run: Run) -> bool:
    own = _own(curves, run)
    return own is None or run.size not in own.sizes


def _own(curves: Sequence[Curve], run: Run) -> Curve | None:
    return next((curve for curve in curves if curve.told is None and _same(curve, run)), None)


def _same(curve: Curve, other: Curve | Run) -> bool:
    return (curve.series, curve.layout, curve.scale) == (other.series, other.layout, other.scale)


def _grown(curve: Curve | None, run: Run, cost: float) -> Curve:
    """The curve with one point more, or a new one of one point; its mixture is yet to be fitted."""
    at = (run.size, cost, 1, run.nodes)
    if curve is None:
        nothing = scaling.Mixture((run.size,), (), (), (), None, None)
        return Curve(
            series=run.series, layout=run.layout, scale=run.scale, sizes=at[:1], costs=at[1:2], repeats=(1,), nodes=at[3:], mixture=nothing
        )
    rows = sorted([*zip(curve.sizes, curve.costs, curve.repeats, curve.nodes, strict=True), at])
    sizes, costs, repeats, nodes = zip(*rows, strict=True)
    return curve.model_copy(update={"sizes": sizes, "costs": costs, "repeats": repeats, "nodes": nodes})
