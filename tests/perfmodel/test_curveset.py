"""Forecasts of many curves share what they look up in all of them, and each is as if it were made alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations

import numpy as np
import pytest

from modak.perfmodel import Curve, fit
from modak.perfmodel.forecasting.curveset import CurveSet
from modak.perfmodel.forecasting.forecasts import pooled_forecast
from tests.runs import here

KINDS: tuple[dict[str, object], ...] = (
    {"compiler": "gcc"},
    {"compiler": "icc", "framework": "mpi"},
    {"compiler": "nvc", "framework": "pytorch"},
    {"compiler": "gcc", "system": "there"},
    {"compiler": "gcc", "metric": "total_time"},
    {"compiler": "icc", "metric": "time_per_step"},
    {"compiler": "nvc", "ranks_per_node": 4},
    {"compiler": "gcc", "ranks_per_node": None},
)
"""Some comparable, some of whole runs under another name, some of other work, one that may be of any layout."""


def cost(number: int, nodes: int) -> float:
    """Of each kind another one, which scatters from size to size."""
    return ((100 + 10 * number) / nodes + 3) * (1 + 0.2 * math.sin(7 * number + nodes))


SIZES = ((1, 2), (1, 2, 4, 8), (2, 4, 8, 16), (1, 2, 4), (1, 2, 4, 8, 32), (4, 8), (16, 32), (1, 2, 4, 8, 16))
CURVES = fit(
    here(cost(number, nodes), nodes=nodes, **{"ranks_per_node": 8, **kind})
    for number, (kind, sizes) in enumerate(zip(KINDS, SIZES, strict=True))
    for nodes in sizes
)
AT = np.array([1.0, 3.0, 8.0, 64.0])


def told(curve: Curve, others: CurveSet) -> object:
    """The forecast, to be compared."""
    found = pooled_forecast(curve, others, AT, AT)
    columns = (found.log_value, found.width.below, found.width.above, found.doublings, found.contributed)
    return *(column.tolist() for column in columns), found.others, found.noise


@pytest.mark.parametrize("metrics", [{"wall_time"}, {"wall_time", "total_time", "time_per_step"}], ids=["one name", "several"])
def test_a_forecast_among_all_is_that_among_the_rest(metrics: set[str]) -> None:
    """A curve tells nothing of itself, nor does what else is left out, also if what is looked up was worked out for another one."""
    every = [curve for curve in CURVES if curve.series.metric in metrics]
    shared = CurveSet(every)
    for curve, other in permutations(every, 2):
        rest = [one for one in every if one not in (curve, other)]
        assert told(curve, shared.without(curve, other)) == told(curve, CurveSet(rest))


def test_what_all_have_in_common_is_worked_out_once() -> None:
    """Whichever are left out: with thousands of curves it takes longer than all else."""
    asked: list[Sequence[Curve]] = []
    others = CurveSet(CURVES)
    for one in CURVES:
        others.without(one).of_all(asked.append)
    assert asked == [CURVES]


def test_what_is_none_of_them_leaves_all() -> None:
    """A curve of which some sizes are hidden is no longer the one that is left out."""
    first, *rest = CURVES
    hidden = first.model_copy()
    assert [list(CurveSet(CURVES).without(one)) for one in (first, hidden)] == [rest, [*CURVES]]
