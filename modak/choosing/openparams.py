"""Parameters that a request leaves open: the values with which its application was measured, those of several only as measured together."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from modak.arrays import Ints
from modak.choosing.problem import of_nearest_size
from modak.choosing.shapes import Params, Shape
from modak.dsl import Notice, Request, variable_of
from modak.facts import parameters
from modak.perfmodel import Curve
from modak.text.amounts import join_names
from modak.text.choices import named

_TAKEN: Final = re.compile(r"[A-Za-z0-9_+][A-Za-z0-9._+,:=%-]{0,63}|-?[.]?[0-9][0-9.]{0,62}")
"""Values that get into a command: results are somebody's, and none becomes an option, a path (``..``) or a line of a script."""
MOST_LISTED: Final = 5
"""Values that a warning names."""
MOST_SHOWN: Final = 40
"""Characters of a value that no command takes."""


def values_of(curve: Curve, request: Request) -> Params:
    """The values that results have of the open parameters; empty: there are none, or the results do not have all of them."""
    names, there = request.optimisation.workload.open_params, curve.series.params
    known = all(name in there and _TAKEN.fullmatch(there[name]) for name in names)
    return tuple([(name, there[name]) for name in names]) if known else ()


def with_values(curves: Sequence[Curve], request: Request) -> list[Curve]:
    """The curves with values that were measured at the problem, or at the nearest size of it, because a larger one may need more memory
    than they leave; all curves, if there are none."""
    work = request.optimisation.workload
    known = [curve for curve in curves if values_of(curve, request)] if work.open_params else []
    tried = {values_of(curve, request) for curve in of_nearest_size(known, parameters(work.named))}
    return [curve for curve in known if values_of(curve, request) in tried] or [*curves]


def all_values(curves: Iterable[Curve], request: Request) -> list[Params]:
    """The values that results of these curves have."""
    return sorted({values_of(curve, request) for curve in curves} - {()})


def on_multiples(request: Request, pairs: Sequence[tuple[Shape, Ints]], curves: Iterable[Curve]) -> Sequence[tuple[Shape, Ints]]:
    """The shapes with those of their numbers of nodes that are multiples of what all on which their values were measured are multiples of,
    because values may divide the ranks into groups: what ran on 4 and 6 nodes runs on 8, but perhaps not on 7. If there are none, all."""
    steps: dict[Params, int] = {}
    for curve in curves if request.optimisation.workload.open_params else ():
        if values := values_of(curve, request):
            steps[values] = math.gcd(steps.get(values, 0), *curve.nodes)
    multiples = ((shape, nodes[nodes % steps.get(shape.params, 1) == 0]) for shape, nodes in pairs) if steps else ()
    return [pair for pair in multiples if pair[1].size] or pairs


def without_value(request: Request, shapes: Collection[Shape], curves: Sequence[Curve]) -> Iterator[Notice]:
    """A warning for each open parameter if the shapes have no values of them."""
    names = request.optimisation.workload.open_params
    if not names or any(shape.params for shape in shapes):
        return
    known = all_values(curves, request)
    together = " together" if len(names) > 1 else ""
    why = f"no results have {join_names(names, MOST_LISTED)}{together}"
    there = {text for curve in curves for name, text in curve.series.params.items() if name in names}
    if unfit := sorted(text for text in there if not _TAKEN.fullmatch(text)):
        refused = join_names([f"{text!r:.{MOST_SHOWN}}" for text in unfit], MOST_LISTED)
        why += f" as a command takes them: one word of at most 64 letters, digits and ._+,:=%-, not {refused}"
    if known:
        values = join_names([named(one) for one in known], MOST_LISTED, "; ")
        why = f"not measured in a layout that comes into question here, only elsewhere ({values})"
    for name in names:
        stops = f"the job stops where the command takes ${{{variable_of(name)}}}"
        yield Notice(field=f"optimisation.workload.params.{name}", message=f"{why}: name a value; without one, {stops}")
