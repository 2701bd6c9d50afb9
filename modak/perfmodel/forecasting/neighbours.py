"""Beyond the measured sizes of a curve, another configuration that was measured nearer tells of it, too, although no size is common.

A build that ran on two nodes says little of 32, where another build ran. What this one says is moved by the ratio of their costs, as far as
that is known: the ratio is as unlike 1 as their differences let expect (:mod:`modak.perfmodel.matching.dissimilarity`), and the costs of
both at the edge of what was measured tell of it. Both forecasts are joined by their variances: the mean of log cost with the inverse of
these as weights. If they contradict each other, the interval grows by the Birge ratio (Birge 1932; the scale factor of the Particle Data
Group).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from modak.arrays import Array, Ints
from modak.perfmodel.fitting.curves import Curve
from modak.perfmodel.fitting.scaling import beyond
from modak.perfmodel.forecasting.pooling import UNKNOWN_LIKENESS
from modak.perfmodel.matching import dissimilarity
from modak.perfmodel.matching.questions import Question, stated_by, unlike_attributes

AT_EDGE: Final = 2.0
"""The standard deviation of the other configuration's forecast at the edge counts so many times: see decision 27."""
OTHER_WORK: Final = ("dataset", "params")
"""What runs of the same work have in common: smaller problems stop to scale earlier."""


class LogForecast(NamedTuple):
    """Forecasts of log costs, arrays of one shape."""

    log_value: Array
    deviation: Array
    """Standard deviations, from the half-widths of the intervals."""
    doublings: Array
    """Beyond what was measured."""

    def at(self, places: Ints | slice) -> LogForecast:
        """Those at some places."""
        return LogForecast(*(column[places] for column in self))


class Neighbour(NamedTuple):
    """Another configuration of the same work, in the same layout, that shares no size with a curve."""

    curve: Curve
    spread: float
    """The standard deviation of the log ratio of their costs, by what differs."""

    def away(self, sizes: Array) -> Array:
        """Doublings between ``sizes`` and those that it was measured at; 0 between these."""
        return beyond(sizes, self.curve.sizes[0], self.curve.sizes[-1])


def neighbours(curve: Curve, curves: Iterable[Curve]) -> list[Neighbour]:
    """Those of a curve among others of its application, the most alike first; of equals, names do not decide."""
    found = [Neighbour(one, spread) for one in curves if _may_tell(one, curve) and (spread := _spread(one, curve))]
    return sorted(found, key=lambda one: (round(one.spread, 9), one.curve.costs, one.curve.sizes))


def _may_tell(one: Curve, curve: Curve) -> bool:
    """Whether one is measured in the layout of the other, in the same metric, and shares no size: else it is kin of it, or none."""
    if one is curve or one.scale != curve.scale or one.estimated or curve.estimated:
        return False
    first = bisect_left(curve.sizes, one.sizes[0])
    if first < len(curve.sizes) and curve.sizes[first] <= one.sizes[-1]:
        return False  # as most of thousands
    return not dissimilarity.differing_counts(one, curve.layout, None) and one.kind_of_work == curve.kind_of_work


def _spread(one: Curve, curve: Curve) -> float:
    """The standard deviation of the log ratio of their costs; 0 if nothing is known to differ, or they are of other work."""
    differing = unlike_attributes(one, curve)
    if not set(differing).isdisjoint(OTHER_WORK):
        return 0.0
    names = [name for name in differing if name != "partition" or "system" not in differing]
    return dissimilarity.of_attributes(names, one, Question(stated_by(curve.series), curve.layout))


def nearest_neighbours(found: Sequence[Neighbour], sizes: Array, beyond: Array) -> Iterator[tuple[Neighbour, Ints]]:
    """For each of ``sizes [n]``, which are ``beyond [n]`` doublings outside those of a curve, the most alike of those that were measured
    nearer; each with the places for which it is that."""
    left = np.full(sizes.shape, True)
    for one in found:
        places = np.flatnonzero(left & (one.away(sizes) < beyond))
        left[places] = False
        if places.size:
            yield one, places


def shift_by_ratio(told: LogForecast, spread: float, ratio: Array, at_edge: Array, own_at_edge: float, doublings: Array) -> LogForecast:
    """The forecasts ``told [n]`` of another configuration, moved by the log ratio ``r [n]`` of costs that is seen at the edge.

    The ratio has a normal prior with mean 0 and standard deviation ``spread``, and is seen with the variance ``v`` of both forecasts at the
    edge (standard deviations ``at_edge [n]`` and ``own_at_edge``), which grows with the ``doublings [n]`` away from there. The conditional
    mean is ``s r`` and the conditional variance ``s v``, where ``s = spread^2 / (spread^2 + v)`` (shrinkage).
    """
    seen = AT_EDGE**2 * at_edge**2 + own_at_edge**2 + UNKNOWN_LIKENESS**2 * doublings
    share = spread**2 / (spread**2 + seen)
    return told._replace(log_value=told.log_value + share * ratio, deviation=np.sqrt(told.deviation**2 + share * seen))


def combine_forecasts(own: LogForecast, other: LogForecast) -> tuple[LogForecast, Array]:
    """Two forecasts of the same costs as one, and by what factor each deviation of ``own`` changes. It is as far beyond what was measured
    as both are, by their weights."""
    variances = np.array([own.deviation**2, other.deviation**2])
    of_own = variances[1] / variances.sum(axis=0)
    apart = own.log_value - other.log_value
    birge = np.sqrt(np.maximum(1.0, apart**2 / variances.sum(axis=0)))
    joint = LogForecast(
        log_value=other.log_value + of_own * apart,
        deviation=birge / np.sqrt((1 / variances).sum(axis=0)),
        doublings=of_own * own.doublings + (1 - of_own) * other.doublings,
    )
    return joint, np.asarray(joint.deviation / own.deviation)
