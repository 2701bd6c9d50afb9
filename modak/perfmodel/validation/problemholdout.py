"""Cross-validation over problem sizes: the results of each are hidden, predicted from those of the others, and compared.

Judged are curves whose parameters have numbers, if the others of their application tell a trend over these numbers
(:mod:`modak.perfmodel.laws.problems`). Results of the hidden problem on other systems are hidden, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from modak.arrays import Array, Ints
from modak.grouping import grouped
from modak.perfmodel.fitting import startup
from modak.perfmodel.fitting.curves import Curve
from modak.perfmodel.intervals import HalfWidths
from modak.perfmodel.matching.magnitudes import magnitude
from modak.perfmodel.matching.questions import Question, stated_by
from modak.perfmodel.predict import portions, predict

Numbers = frozenset[tuple[str, float]]


class Hidden(NamedTuple):
    """Sizes of a hidden curve, and what is predicted in their place by one trend. Costs are in seconds, or seconds per unit of a rate."""

    curve: Curve
    costs: Array
    """The measured ones at these sizes."""
    trend: Array
    width: HalfWidths
    """Half-widths of the 90 % interval of the log of ``trend``."""
    nearest: Array
    """What the nearest problem alone would answer."""
    doublings: float
    """As :attr:`~modak.perfmodel.Predictions.problem_doublings` of the trend."""


def hide_problems(curves: Sequence[Curve], judged: Callable[[Curve], bool]) -> list[Hidden]:
    """Every judged curve, hidden and predicted at those of its sizes at which others tell a trend over its problem size; ``curves`` are of
    any application."""
    found, numbers = list[Hidden](), {id(curve): _numbers(curve) for curve in curves}
    for of_application in grouped(curves, lambda curve: curve.series.application).values():
        for problem, members in grouped(of_application, lambda curve: numbers[id(curve)]).items():
            rest = [curve for curve in of_application if numbers[id(curve)] != problem]
            for curve in members if problem and rest else ():
                found += _hidden(curve, rest, numbers) if judged(curve) else ()
    return found


def _numbers(curve: Curve) -> Numbers:
    """The positive numbers among the parameters of a curve, but for the length of its run."""
    known = {name: magnitude(text) for name, text in curve.series.params.items() if name not in startup.LENGTHS}
    return frozenset((name, value) for name, value in known.items() if value)


def _hidden(curve: Curve, rest: Sequence[Curve], numbers: Mapping[int, Numbers]) -> Iterator[Hidden]:
    """The sizes of a curve, apart by the results of the ``rest`` on which their predictions rest; not those without a trend."""
    nodes, costs = np.array(curve.nodes), np.array(curve.costs)
    for question, sizes in _questions(curve):
        for places, found in portions(rest, question, nodes[sizes]):
            if found.problem_sizes:
                here, near = sizes[places], numbers[id(found.curve)]
                alone = predict([one for one in rest if numbers[id(one)] == near], question, nodes[here])
                yield Hidden(curve, costs[here], found.value, found.width, alone.value, found.problem_doublings)


def _questions(curve: Curve) -> Iterator[tuple[Question, Ints]]:
    """What is asked to predict a curve, each with the places of its sizes: of all together, or of each if a count within a node varies."""
    attributes = stated_by(curve.series)
    if curve.varying is None:
        yield Question(attributes, curve.layout, curve.series.metric), np.arange(len(curve.sizes))
        return
    for place, (size, nodes) in enumerate(zip(curve.sizes, curve.nodes, strict=True)):
        yield Question(attributes, curve.layout_at(round(size / nodes)), curve.series.metric), np.array([place])
