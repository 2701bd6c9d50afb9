"""The width of prediction intervals, calibrated on the errors of forecasts across many series.

The log of the half-width at 90 % is linear in the logs of what is known beforehand: the disagreement of the forms, their errors so far
in the series, and the doublings between data and forecast. The coefficients come from quantile regression (Koenker and Bassett 1978) of
the log of the absolute log error; they are constrained so that more doubt never narrows an interval. Other levels follow from one
table of errors relative to that half-width (a conformal score). Beyond the largest size programs lose more than they gain, so the
interval reaches further towards higher costs. Bounds are exponentials of log costs, and therefore positive.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from modak.arrays import Array, Flags, Ints
from modak.perfmodel.fitting.curves import FEW_SIZES
from modak.perfmodel.fitting.scaling import UNKNOWN_ERROR, Forecast

Z90: Final = 1.645
"""95 % quantile of the standard normal distribution: half of a 90 % interval, in standard deviations."""
FLOOR: Final = 0.02
"""Added to disagreement and validation error before taking logs: differences below this are meaningless."""
NEAR: Final = 0.2
"""Added to doublings before taking logs."""
LEAST: Final = 0.03
"""Added to absolute log errors before taking logs: replicates differ by about this much."""
LEAST_SLOPE: Final = 0.1
"""Smallest slope for doublings and disagreement: more of them always widens an interval."""
GAIN: Final = 0.7
"""Beyond the largest size, the half-width towards lower costs over that towards higher costs.

Of errors in half-widths (all series of seven public collections with equal weight) the 5 % quantile is -0.39 (-0.28 to -0.49 with one
collection left out in turn), the 95 % quantile 0.84. The value is the geometric mean of 0.49 and 1: programs gain once they fit their
caches. Series with at most :data:`~modak.perfmodel.fitting.curves.FEW_SIZES` sizes and no relatives have symmetric intervals: with this
factor, 8 to 10 % of the next results after three sizes were faster than the interval, each collection left out in turn."""
LOSS: Final = 1.3
"""Half-width towards higher costs, over what it is elsewhere, where more ranks or threads are on a node than were measured: the last cores
of a node and their hyper-threads lose more than they ever gain, and nothing shows it before they are used (decision 39)."""
LOSS_AFTER_ONE: Final = 1.3
"""The same factor where one size was measured, which does not tell how the program scales (decision 105) ..."""
CROWDED_AFTER_ONE: Final = 2.0
"""... and where that was on one node, and more of its cores are used, on top of :data:`LOSS`."""
TINY: Final = 1e-12
"""The least half-width that is divided by."""
MOST: Final = 20.0
"""Largest half-width at 90 % (a factor of 10^8), so that bounds stay finite and positive."""
FEATURES: Final = ("1", "ln(disagreement)", "ln(error)", "ln(doublings)")
KNOTS: Final = (0.0, 0.25, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)
"""Levels at which the distribution of errors is tabulated."""
_DEPTHS: Final = tuple(-math.log1p(-knot) for knot in KNOTS)
"""The same as depths: ``-ln(1 - level)``."""
REFUTED: Final = 1.0
"""Half-width at 90 %, towards higher costs, of a prediction that a longer cost has refuted: what is known to be longer than ``s`` is then
expected to be up to 2.1 times that, and with a probability of 95 % up to 8 times, if the half-width was no larger before. Judgement."""


@dataclass(frozen=True)
class Calibration:
    """Coefficients of :data:`FEATURES` for each kind of forecast, and the distribution of errors.

    ``shape[k]`` is the quantile ``KNOTS[k]`` of the absolute log errors, in half-widths at 90 %.
    """

    outside: tuple[float, ...]
    inside: tuple[float, ...]
    pooled: tuple[float, ...]
    shape: tuple[float, ...]


PUBLISHED: Final = Calibration(
    outside=(0.588, 0.572, 0.284, 0.697),
    inside=(1.463, 0.658, 0.388, 0.1),
    pooled=(0.634, 0.886, 0.065, 0.1),
    shape=(0.0, 0.106, 0.245, 0.463, 0.651, 1.0, 1.435, 2.41, 2.76),
)
"""From 350 public series (docs/model-quality.md says which), by ``python -m benchmarks.model_quality --data DIR --calibrate``; ``shape``
was corrected for :func:`beyond_sizes` on the 198 series of seven collections (decision 90)."""


class HalfWidths(NamedTuple):
    """The two half-widths of intervals in log cost, arrays of one shape: from ``value / e^below`` to ``value * e^above``."""

    below: Array
    above: Array

    @classmethod
    def joined(cls, several: Iterable[HalfWidths]) -> HalfWidths:
        """Those of several arrays, in a row."""
        return cls(*(np.concatenate(side) for side in zip(*several, strict=True)))

    def at(self, places: Ints | slice | int) -> HalfWidths:
        """Those at some places."""
        return self.each(lambda side: side[places])

    def where(self, here: Flags, otherwise: HalfWidths) -> HalfWidths:
        """These ``here``, and others elsewhere."""
        return self.each(lambda one, other: np.where(here, one, other), otherwise)

    def widened(self, doubt: npt.ArrayLike) -> HalfWidths:
        """Both sides, with a further half-width in quadrature."""
        return self.each(lambda side: np.hypot(side, doubt))

    def at_level(self, level: float) -> HalfWidths:
        """Those of the intervals that contain the next run with this probability; these are of 90 %."""
        return self.each(lambda side: side * stretch(level))

    def each(self, change: Callable[..., Any], *others: HalfWidths) -> HalfWidths:
        """Both sides changed, by a function of this side and of the same side of the ``others``."""
        return HalfWidths(*map(change, self, *others))

    @property
    def middle(self) -> Array:
        """Half of the whole width."""
        return np.asarray((self.below + self.above) / 2)

    def holds(self, miss: Array) -> Flags:
        """Whether measurements lie in the interval; ``miss`` is log of measured over predicted cost."""
        return np.asarray((miss <= self.above) & (miss >= -self.below))


def half_widths(forecast: Forecast, calibration: Calibration = PUBLISHED) -> HalfWidths:
    """The half-widths of the 90 % interval on both sides.

    Beyond the measured sizes an interval is never narrower than between them; from one doubling on, this minimum grows by
    :data:`LEAST_SLOPE`.
    """
    rows, shape = features(forecast), forecast.log_value.shape
    outer = calibration.pooled if forecast.relatives else calibration.outside
    beyond = np.log(beyond_sizes(rows, outer)).reshape(shape)
    inside = np.array(calibration.inside)
    (between,) = _features(np.array([forecast.doubt]), np.array([forecast.error_inside]), np.zeros(1)) @ inside
    known = (rows @ (np.array(outer) if forecast.relatives else inside)).reshape(shape)
    least = between + LEAST_SLOPE * np.log(np.maximum((forecast.doublings + NEAR) / (1 + NEAR), 1))
    above = np.where(forecast.doublings == 0, known, np.maximum(beyond, least))
    larger = (forecast.doublings > 0) & np.logical_not(forecast.smaller)
    gain = 1.0 if forecast.sizes <= FEW_SIZES and not forecast.relatives else GAIN
    below = np.where(larger, np.maximum(above + math.log(gain), least), above)
    if not forecast.relatives:  # else others have run there
        above = above + math.log(LOSS) * np.asarray(forecast.crowded)
        if forecast.sizes == 1:
            above = above + larger * np.log(np.where(forecast.crowded, CROWDED_AFTER_ONE, LOSS_AFTER_ONE))
    return HalfWidths(below, above).each(lambda side: np.minimum(np.exp(side), MOST))


def beyond_sizes(rows: Array, coefficients: tuple[float, ...]) -> Array:
    """Half-widths at 90 % beyond the measured sizes. What was added to the errors before their logs were fitted is taken off again.

    Between measured sizes it stays: half-widths there are of its order, and so is the scatter of runs without repeats.
    """
    return np.asarray(np.maximum(np.exp(rows @ np.array(coefficients)) - LEAST, LEAST))


def bound(value: Array, width: HalfWidths, probability: float) -> Array:
    """The value that is not exceeded with a probability in (0, 1), by the half-widths of the 90 % interval; else raises ``ValueError``."""
    reach = stretch(abs(2 * probability - 1))
    return np.asarray(value * np.exp(reach * width.above if probability > 0.5 else -reach * width.below))


class TruncatedForecast(NamedTuple):
    """Predicted values with the half-widths of their intervals, of which some are known to be longer than something that was seen."""

    value: Array
    width: HalfWidths
    than: Array
    """What each is known to exceed; 0: nothing is known."""

    def interval(self) -> tuple[Array, HalfWidths]:
        """The medians, and the half-widths of the 90 % intervals."""
        lower, value, upper = map(self.bound, (0.05, 0.5, 0.95))
        return value, HalfWidths(np.log(value / lower), np.log(upper / value)).where(self.than > 0, self.width)

    @property
    def refuted(self) -> Flags:
        """Which of these exceed even the upper end of their interval."""
        return np.asarray(self.than > self.upper)

    @property
    def upper(self) -> Array:
        """The upper ends of their intervals, without that knowledge."""
        return np.asarray(self.value * np.exp(self.width.above))

    def bound(self, probability: float) -> Array:
        """As :func:`bound`, of the same distribution without what is not longer.

        If even its upper end is not, the half-width was too small: it is taken to reach as far as what was seen, up to :data:`REFUTED`.
        """
        known = self.than > 0
        if not known.any():
            return bound(self.value, self.width, probability)
        gap = np.log(np.where(known, self.than, 1.0) / self.value)
        below, above = np.maximum(self.width.below, TINY), np.maximum(self.width.above, np.minimum(gap, REFUTED))
        beyond = np.exp(-_along(np.abs(gap) / np.where(gap > 0, above, below), PUBLISHED.shape, _DEPTHS)) / 2
        left = np.where(gap > 0, beyond, 1 - beyond) * (1 - probability)  # the probability of what is longer yet
        reach = _along(-np.log(2 * np.minimum(left, 1 - left)), _DEPTHS, PUBLISHED.shape)
        longer = np.maximum(self.value * np.exp(np.where(left < 0.5, above, -below) * reach), self.than)
        return np.where(known, longer, bound(self.value, self.width, probability))


def features(forecast: Forecast) -> Array:
    """One row per size, one column for each of :data:`FEATURES`."""
    return _features(forecast.disagreement.ravel(), forecast.error.ravel(), forecast.doublings.ravel())


def _features(disagreement: Array, error: Array, doublings: Array) -> Array:
    known = np.where(np.isnan(error), UNKNOWN_ERROR, error)
    return np.array([np.ones(error.size), *np.log([disagreement + FLOOR, known + FLOOR, doublings + NEAR])]).T


@lru_cache(maxsize=256)
def stretch(level: float) -> float:
    """Half-width at ``level`` over that at 0.9; between knots and beyond the last one linear in ``-ln(1 - level)`` (exponential tail)."""
    if not 0 <= level < 1:
        raise ValueError("level: from 0 to below 1")
    return float(_along(-math.log1p(-level), _DEPTHS, PUBLISHED.shape))


def _along(places: npt.ArrayLike, knots: Sequence[float], values: Sequence[float]) -> Array:
    """The values at places between the knots, and beyond the last one."""
    at = np.asarray(places, dtype=np.float64)
    further = values[-1] + (at - knots[-1]) * (values[-1] - values[-2]) / (knots[-1] - knots[-2])
    return np.where(at > knots[-1], further, np.interp(at, knots, values))
