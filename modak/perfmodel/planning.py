"""The next runs worth measuring: how much one more point is expected to narrow the interval of the decision.

The result of a run is only known as a prediction with an interval. So for each run the curves are fitted again with the predicted value,
a low one and a high one (Gauss-Hermite quadrature over log cost); the expected interval is the weighted mean of the three. Runs are
chosen one after the other by how much they narrow the interval per node-hour, each as if the runs before it had given their
predicted values: two runs with the same information are not both proposed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from modak.arrays import Array
from modak.facts import Layout, SeriesKey
from modak.perfmodel.fitting.cellgroups import Scale
from modak.perfmodel.fitting.curves import Curve, fitted
from modak.perfmodel.forecasting.repeats import RERUN_SPREAD
from modak.perfmodel.intervals import Z90

ABSCISSAE: Final = (-math.sqrt(3), 0.0, math.sqrt(3))
"""Nodes of the quadrature, in standard deviations ..."""
WEIGHTS: Final = (1 / 6, 2 / 3, 1 / 6)
"""... and its weights: exact for polynomials up to the fifth degree."""
LEAST: Final = 0.02
"""A run that narrows today's interval by a smaller fraction than this is not proposed, unless the caller asks for such runs. A choice that
loses less does not matter, either."""

ALIKE: Final = RERUN_SPREAD / Z90
"""A standard deviation of what runs scatter. Sizes whose logs differ by less have times that differ by less: a run of one tells what a
repeat of the other would."""

_ANY: Final = 1e-6
"""What narrows the interval by less does so by rounding."""

Width = Callable[[Sequence[Curve]], float]
"""Half the width of the decision's interval (in log cost) if ``curves`` were all that is known."""


@dataclass(frozen=True)
class CandidateRun:
    """A run that could be measured: its curve (series, layout, scale), its size, and its prediction."""

    series: SeriesKey
    layout: Layout
    """The counts that are the same for all sizes of the curve."""
    scale: Scale
    size: float
    nodes: int
    cost: float
    """In seconds (per unit for throughputs), as in :class:`Curve`."""
    spread: float
    """Half the width of the 90 % interval of its log."""
    node_hours: float
    ranks_per_gpu: float | None = None
    """As in :class:`Curve`."""


@dataclass(frozen=True)
class Step:
    """A proposed run: ``run`` is its index among the given ones."""

    run: int
    before: float
    """Half-width of the decision's interval after the runs before it ..."""
    after: float
    """... and its expected half-width after this one."""
    per_node_hour: float
    """The difference per node-hour."""


def propose(
    curves: Sequence[Curve],
    runs: Sequence[CandidateRun],
    width: Width,
    most: int = 5,
    budget: float | None = None,
    first: Sequence[int] = (),
    least: float = LEAST,
) -> tuple[Step, ...]:
    """At most ``most`` runs, in the order in which to measure them, together within ``budget`` node-hours. Sizes that are measured already
    are not proposed. ``first``: indices of runs that come before all others, in this order, whatever they narrow. ``least``: the smallest
    part of today's interval (that of ``curves``) that a run has to narrow; 0: any.
    """
    known, left, spent = tuple(curves), list(range(len(runs))), 0.0
    allowed = math.inf if budget is None else budget
    threshold = max(least, _ANY) * width(known)
    steps: list[Step] = []
    while left and len(steps) < most:
        left = [place for place in left if spent + runs[place].node_hours <= allowed]
        left = [place for place in left if _new(known, runs[place], 0.0 if place in first else ALIKE)]
        due = [place for place in first if place in left][:1]
        looked_at = due or left
        before = width(known)
        after = dict(zip(looked_at, np.minimum(expected(known, [runs[place] for place in looked_at], width), before), strict=True))
        if not due:
            left = [place for place in left if before - after[place] >= threshold]
        if not left:
            break
        best = max(due or left, key=lambda place: (before - after[place]) / runs[place].node_hours)
        chosen = runs[best]
        steps.append(Step(best, before, float(after[best]), float((before - after[best]) / chosen.node_hours)))
        known, spent = with_point(known, refitted(known, [(chosen, chosen.cost)])[0]), spent + chosen.node_hours
        left.remove(best)
    return tuple(steps)


def expected(curves: Sequence[Curve], runs: Sequence[CandidateRun], width: Width) -> Array:
    """The expected half-width ``[run]`` of the decision's interval after each of ``runs`` alone; none of their sizes is measured yet."""
    points = [(run, run.cost * math.exp(at * run.spread / Z90)) for run in runs for at in ABSCISSAE]
    widths = [width(with_point(curves, curve)) for curve in refitted(curves, points)]
    return np.asarray(np.reshape(widths, (len(runs), len(ABSCISSAE))) @ np.array(WEIGHTS))


def refitted(curves: Sequence[Curve], points: Sequence[tuple[CandidateRun, float]]) -> tuple[Curve, ...]:
    """For each pair of a run and its cost, the run's curve with that point, fitted again; all in one batch."""
    return fitted([_grown(_own(curves, run), run, cost) for run, cost in points])


def with_point(curves: Sequence[Curve], grown: Curve) -> tuple[Curve, ...]:
    """``curves`` with ``grown`` in place of the curve that it extends, or appended."""
    places = [place for place, curve in enumerate(curves) if _same(curve, grown)]
    place = places[0] if places else len(curves)
    return (*curves[:place], grown, *curves[place + 1 :])


def _new(curves: Sequence[Curve], run: CandidateRun, alike: float) -> bool:
    own = _own(curves, run)
    return own is None or min(abs(math.log(run.size / size)) for size in own.sizes) > alike


def _own(curves: Sequence[Curve], run: CandidateRun) -> Curve | None:
    return next((curve for curve in curves if curve.estimated is None and _same(curve, run)), None)


def _same(curve: Curve, other: Curve | CandidateRun) -> bool:
    same = (curve.layout, curve.scale, curve.ranks_per_gpu) == (other.layout, other.scale, other.ranks_per_gpu)
    return same and curve.series == other.series


def _grown(curve: Curve | None, run: CandidateRun, cost: float) -> Curve:
    """The curve with one more point, or a new one of one point; not fitted yet."""
    own = curve or Curve(series=run.series, layout=run.layout, scale=run.scale, sizes=(), costs=(), repeats=(), nodes=())
    rows = sorted([*zip(own.sizes, own.costs, own.repeats, own.nodes, strict=True), (run.size, cost, 1, run.nodes)])
    sizes, costs, repeats, nodes = zip(*rows, strict=True)
    return own.model_copy(update={"sizes": sizes, "costs": costs, "repeats": repeats, "nodes": nodes})
