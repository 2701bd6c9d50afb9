"""What is predicted: costs at several sizes, each with an interval and a basis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from modak.arrays import Array, Ints
from modak.dsl import Basis
from modak.perfmodel import intervals
from modak.perfmodel.fitting import scaling
from modak.perfmodel.fitting.curves import Curve
from modak.perfmodel.fitting.startup import MOST_STARTING
from modak.perfmodel.intervals import Z90


@dataclass(frozen=True)
class Predictions:
    """Costs at the requested sizes: arrays of one shape.

    ``width`` are the half-widths of the 90 % interval of log cost.
    """

    value: Array
    width: intervals.HalfWidths
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

    def at(self, places: Ints) -> Predictions:
        """Those at some of the sizes, which must be in one row."""
        if len(places) == len(self.value):
            return self
        return replace(
            self,
            value=self.value[places],
            width=self.width.at(places),
            basis=tuple(self.basis[place] for place in places.tolist()),
            doublings=self.doublings[places],
        )

    def unlike_in(self, name: str, half_width: float) -> Predictions:
        """The predictions for a run that differs from the results in one thing more, which adds a half-width in quadrature."""
        width, basis = self.width.widened(half_width), all_of("transferred", len(self.basis))
        return replace(self, width=width, basis=basis, differences=(*self.differences, name))

    def quantile(self, probability: float) -> Array:
        """The cost that is not exceeded with this probability."""
        return intervals.bound(self.value, self.width, probability)


def all_of(basis: Basis, count: int) -> tuple[Basis, ...]:
    """One basis for so many sizes."""
    return (basis,) * count


def nothing_known(count: int) -> Predictions:
    """So many sizes of which nothing is known."""
    nothing = np.full(count, np.nan)
    return Predictions(nothing, intervals.HalfWidths(nothing, nothing), all_of("none", count), np.zeros(count))


class Portion(NamedTuple):
    """Predictions of some of the sizes that were asked for, all from the same results."""

    places: Ints
    """Of these sizes among those asked for."""
    found: Predictions


def merge_portions(portions: Sequence[Portion], shape: tuple[int, ...]) -> Predictions:
    """The predictions of all sizes, as arrays of a shape. What they rest on is told of the first size alone."""
    places = np.concatenate([one.places for one in portions])
    found, order = [one.found for one in portions], np.argsort(places)
    of_first = min(portions, key=lambda one: one.places.tolist()).found
    basis = [name for each in found for name in each.basis]

    return replace(
        of_first,
        value=np.concatenate([each.value for each in found])[order].reshape(shape),
        width=intervals.HalfWidths.joined(each.width for each in found).each(lambda side: side[order].reshape(shape)),
        basis=tuple(basis[place] for place in order.tolist()),
        doublings=np.concatenate([each.doublings for each in found])[order].reshape(shape),
    )


def narrowest(options: Sequence[Sequence[Portion]]) -> list[Portion]:
    """For each size the option with the narrowest interval."""
    option = np.argmin([merge_portions(portions, (-1,)).width.above for portions in options], axis=0)
    chosen = ((each, np.flatnonzero(option[each.places] == at)) for at, portions in enumerate(options) for each in portions)
    return [Portion(each.places[here], each.found.at(here)) for each, here in chosen if here.size]


def of_whole_time(
    width: intervals.HalfWidths, time: Array, start_up: npt.ArrayLike, doubt: npt.ArrayLike, own: npt.ArrayLike
) -> intervals.HalfWidths:
    """Half-widths of the interval of the log of a whole ``time``, from those of its work.

    ``start_up`` seconds of the time, with a standard deviation ``doubt``, are start-up. ``own``: whether that was measured in the
    configuration in question; else the half-widths of the work apply to the whole time.
    """
    of_work = np.where(own, 1 - np.asarray(start_up) / time, 1.0)
    return width.each(lambda side: side * of_work).widened(Z90 * np.asarray(doubt) / time)


def of_other_length(
    width: intervals.HalfWidths, value: Array, scale: npt.ArrayLike, start_up: npt.ArrayLike, doubt: npt.ArrayLike
) -> tuple[Array, intervals.HalfWidths]:
    """The time of a run with ``scale`` times the work of one that takes ``value`` seconds, and the half-widths of its log.

    ``start_up`` seconds of that one, with a standard deviation ``doubt``, are start-up, but never most of it: where more nodes were not
    measured, it may seem so. Whatever the start-up is, the time is between ``value`` and ``scale`` times that, so no more is added to the
    half-widths than the log of this factor.
    """
    scale = np.asarray(scale)
    start = np.minimum(start_up, MOST_STARTING * value)
    time = value * scale + start * (1 - scale)
    wider = width.each(lambda side: side * (value * scale / time)).widened(Z90 * np.abs(scale - 1) * doubt / time)
    return time, wider.each(lambda new, old: np.minimum(new, old + np.abs(np.log(scale))), width)
