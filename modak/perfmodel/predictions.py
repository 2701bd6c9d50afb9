"""What is predicted: costs at several sizes, each with an interval and a basis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from modak.dsl import Basis
from modak.perfmodel import intervals, scaling
from modak.perfmodel.curves import Curve
from modak.perfmodel.forms import Array
from modak.perfmodel.matching import Z90


@dataclass(frozen=True)
class Predictions:
    """Costs at the requested sizes: arrays of one shape.

    ``spread`` and ``below`` are the half-widths of the 90 % interval of log cost towards higher and lower costs.
    """

    value: Array
    spread: Array
    below: Array
    basis: tuple[Basis, ...]
    doublings: Array
    curve: Curve | None = None
    differences: tuple[str, ...] = ()
    """Attributes in which the curve differs from the question."""
    others: tuple[scaling.Series, ...] = ()
    """The measured values of other curves that contributed."""
    smallest: int = 1
    """The smallest measured number of nodes."""
    problem_sizes: int = 0
    """The number of measured problem sizes that tell of the one in question; 0: it was measured, or the nearest one alone answers."""
    problem_doublings: float = 0.0
    """How far the problem size in question is outside of these: doublings of the number that is furthest outside."""
    other_results: int = 0
    """The number of results at these sizes, or in the layouts on whose trend the prediction lies, beside those of ``curve``."""

    @property
    def half_width(self) -> Array:
        """Half of the whole width of the interval of log cost."""
        return np.asarray((self.spread + self.below) / 2)

    def quantile(self, probability: float) -> Array:
        """The cost that is not exceeded with this probability."""
        return intervals.bound(self.value, self.spread, self.below, probability)


def of_whole_time(half_width: Array, time: Array, start_up: npt.ArrayLike, doubt: npt.ArrayLike, own: npt.ArrayLike) -> Array:
    """Half-width of the interval of the log of a whole ``time``, from that of its work.

    ``start_up`` seconds of the time, with a standard deviation ``doubt``, are start-up. ``own``: whether that was measured in the
    configuration in question; else the half-width of the work applies to the whole time.
    """
    of_work = np.where(own, 1 - np.asarray(start_up) / time, 1.0)
    return np.hypot(half_width * of_work, Z90 * np.asarray(doubt) / time)
