"""Cross-validation over problem sizes: the results of each are hidden, predicted from those of the others, and compared.

Judged are curves whose parameters have numbers, if the others of their application tell a trend over these numbers
(:mod:`modak.perfmodel.problems`). Results of the hidden problem on other systems are hidden, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from modak.grouping import grouped
from modak.perfmodel import startup
from modak.perfmodel.curves import Curve
from modak.perfmodel.forms import Array
from modak.perfmodel.intervals import Sides
from modak.perfmodel.magnitudes import magnitude
from modak.perfmodel.parts import VARYING
from modak.perfmodel.predict import predict
from modak.perfmodel.predictions import Predictions
from modak.perfmodel.questions import SPREAD, Question

Numbers = frozenset[tuple[str, float]]


class Hidden(NamedTuple):
    """A hidden curve, and what is predicted at its sizes in its place. Costs are in seconds, or seconds per unit of a rate."""

    curve: Curve
    trend: Array
    width: Sides
    """Half-widths of the 90 % interval of the log of ``trend``."""
    nearest: Array
    """What the nearest problem alone would answer."""
    doublings: float
    """How far the numbers of the problem are outside of those of the others, at most."""


def hide_problems(curves: Sequence[Curve], judged: Callable[[Curve], bool]) -> list[Hidden]:
    """Every judged curve with a trend over its problem size, hidden and predicted; ``curves`` are of any application."""
    found, numbers = [], {id(curve): numbers_of(curve) for curve in curves}
    for of_application in grouped(curves, lambda curve: curve.series.application).values():
        for problem, members in grouped(of_application, lambda curve: numbers[id(curve)]).items():
            rest = [curve for curve in of_application if numbers[id(curve)] != problem]
            asked = [curve for curve in members if judged(curve)] if problem and rest else []
            found += [one for curve in asked if (one := _hidden(curve, rest, numbers)) is not None]
    return found


def numbers_of(curve: Curve) -> Numbers:
    """The positive numbers among the parameters of a curve, but for the length of its run."""
    known = {name: magnitude(text) for name, text in curve.series.params.items() if name not in startup.LENGTHS}
    return frozenset((name, value) for name, value in known.items() if value)


def _hidden(curve: Curve, rest: Sequence[Curve], numbers: Mapping[int, Numbers]) -> Hidden | None:
    trends = _predicted(curve, rest)
    if not all(one.problem_sizes for one in trends):
        return None
    near = numbers[id(trends[0].curve)]
    alone = _predicted(curve, [one for one in rest if numbers[id(one)] == near])
    return Hidden(
        curve,
        np.concatenate([one.value for one in trends]),
        Sides.joined(one.width for one in trends),
        np.concatenate([one.value for one in alone]),
        max(_outside(value, [dict(numbers[id(one)]).get(name) for one in rest]) for name, value in numbers[id(curve)]),
    )


def _predicted(curve: Curve, rest: Sequence[Curve]) -> list[Predictions]:
    """Predictions at the sizes of a curve, from the ``rest``: of all together, or of each if a count within a node varies."""
    attributes = {name: value for name in SPREAD if (value := getattr(curve.series, name)) is not None}
    varying = VARYING[curve.scale]
    if varying is None:
        return [predict(rest, Question(attributes, curve.layout, curve.series.metric), curve.nodes)]
    counts = [(nodes, round(size / nodes)) for size, nodes in zip(curve.sizes, curve.nodes, strict=True)]
    shapes = [(nodes, curve.layout_on(count).model_copy(update={varying: count})) for nodes, count in counts]
    return [predict(rest, Question(attributes, layout, curve.series.metric), [nodes]) for nodes, layout in shapes]


def _outside(value: float, others: Sequence[float | None]) -> float:
    """Doublings between a number and the range of the others; 0 if none is known."""
    known = [one for one in others if one]
    return max(0.0, float(np.log2(value / max(known))), float(np.log2(min(known) / value))) if known else 0.0
