"""Predictions from curves: a cost with interval and basis, for many sizes in one call.

A question contains what is known about a run; the prediction is that of the most similar curve (:mod:`modak.perfmodel.matching`). Beyond
its measured sizes other curves of the application contribute (:mod:`modak.perfmodel.forecasts`). Every attribute in which curve and
question differ adds a spread in quadrature, so that weak evidence gives a wide interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from modak.cache import Cache
from modak.dsl import Basis
from modak.facts import Layout
from modak.perfmodel import peers, problems
from modak.perfmodel.curves import FEW_SIZES, Curve
from modak.perfmodel.devices import Power
from modak.perfmodel.forecasts import Forecasts
from modak.perfmodel.forms import Array
from modak.perfmodel.intervals import Z90
from modak.perfmodel.matching import Match, Matcher, best_match, places_by_nearest
from modak.perfmodel.parts import on_node
from modak.perfmodel.predictions import Portion, Predictions, nothing_known, together
from modak.perfmodel.questions import Question, closed
from modak.perfmodel.repeats import RERUN_SPREAD

FAR_DOUBLINGS: Final = 4.0
"""More than this many doublings beyond the measured sizes a prediction is hardly more than a guess, and warnings say so."""
MOST_ANSWERS: Final = 4096
"""What so many questions about measured problem sizes were told is kept for further ones."""


def predict(curves: Sequence[Curve], question: Question, nodes: npt.ArrayLike, power: Power | None = None) -> Predictions:
    """Cost of the question's kind of run on each of ``nodes`` (any shape); NaN and basis ``none`` without any curve.

    Each is as if it were asked alone. If they rest on several results (:func:`portions`), those of the first size are told.
    """
    count = np.atleast_1d(np.asarray(nodes, dtype=np.float64))
    return together(portions(curves, question, count.ravel(), power), count.shape)


def portions(curves: Sequence[Curve], question: Question, nodes: npt.ArrayLike, power: Power | None = None) -> list[Portion]:
    """The predictions of :func:`predict` on ``nodes [n]``, apart by the results on which they rest."""
    return Predictor(curves, nodes, power).portions(question, nodes)


class Predictor:
    """Predictions from the ``curves`` of an application. What questions about some of ``nodes [n]`` have in common is worked out once: the
    forecasts of the curves, and what is told of each measured problem size."""

    def __init__(self, curves: Sequence[Curve], nodes: npt.ArrayLike, power: Power | None = None) -> None:
        self._curves = curves
        self._matcher = Matcher(power)
        self._forecasts = Forecasts(curves, np.unique(np.asarray(nodes, dtype=np.float64)))
        self._answers = Cache(MOST_ANSWERS)

    def portions(self, question: Question, nodes: npt.ArrayLike) -> list[Portion]:
        """The predictions on some of the ``nodes [n]``, apart by the results on which they rest."""
        count = np.asarray(nodes, dtype=np.float64)
        asked = problems.without_names(closed(self._curves, question), self._curves)
        found = self._matcher.matches(self._curves, asked)
        if not found:
            return [Portion(np.arange(count.size), nothing_known(count.size))]
        portions = list[Portion]()
        for places in places_by_nearest(found, count):
            by_nearest = NearestAnswer(found, count[places], self._forecasts)
            portions += [one._replace(places=places[one.places]) for one in self._portions_of(by_nearest)]
        return portions

    def _portions_of(self, by_nearest: NearestAnswer) -> Iterator[Portion]:
        """The predictions at sizes for which the same matches are nearest: at each by the surest law over problem sizes that tells more
        than the nearest results, else by these."""
        found, nodes, alone = by_nearest.found, by_nearest.nodes, by_nearest.predictions

        def measured(question: Question, curves: Sequence[Curve]) -> NearestAnswer:
            def answer() -> NearestAnswer:
                return NearestAnswer(self._matcher.matches(curves, question), nodes, self._forecasts)

            return self._answers.get((question, *map(id, curves), nodes.tobytes()), answer)

        laws = [] if by_nearest.match.own else problems.laws(found, measured)
        widths = [np.where(problems.tells_more(law, alone, found), law.width.above, np.inf) for law in laws]
        told = np.argmin([np.full(len(nodes), np.inf), *widths], axis=0)  # of equals, as where no law tells more, the first one
        for option, each in enumerate((alone, *laws)):
            if (here := np.flatnonzero(told == option)).size:
                yield Portion(here, each.at(here))


@dataclass(frozen=True)
class NearestAnswer:
    """What the matches ``found`` of a question (at least one) tell on ``nodes [n]``, without a law over problem sizes."""

    found: Sequence[Match]
    nodes: Array
    forecasts: Forecasts

    @cached_property
    def match(self) -> Match:
        """The nearest one."""
        return best_match(self.found, self.nodes)

    @cached_property
    def predictions(self) -> Predictions:
        """From its curve; if that was measured in another layout, from other layouts, too."""
        asked = self.match.question.layout
        return peers.over_layouts(self.match, self.found, asked, self.nodes, self._alone) or self._alone(self.match, asked)

    def _alone(self, match: Match, layout: Layout) -> Predictions:
        """From the curve of a match alone: measured values where there are any, else its forecast."""
        curve, nodes = match.curve, self.nodes
        per_node = float(on_node(layout, curve.scale))
        forecast, sizes = self.forecasts.of(curve, per_node, nodes), nodes * per_node
        measured = curve.measured_at(sizes, nodes)
        value = np.where(measured, np.interp(sizes, curve.sizes, curve.costs), np.exp(forecast.log_value)) * match.factor
        at_measured = 0.0 if curve.estimated else RERUN_SPREAD  # the interval of an estimate is that of the next run already
        width = forecast.width.each(lambda side: np.where(measured, np.maximum(np.minimum(side, at_measured), forecast.noise), side))
        kinds = zip(measured.tolist(), (forecast.doublings > 0).tolist(), forecast.pooled.tolist(), strict=True)
        return Predictions(
            value,
            width.widened(Z90 * match.doubt),
            basis=tuple(_basis(match, *kind) for kind in kinds),
            doublings=forecast.doublings,
            curve=curve,
            differences=match.differences,
            others=forecast.at(np.flatnonzero(~measured)).others,  # where it was measured, they contribute nothing
            smallest=forecast.smallest,
        )


def _basis(match: Match, measured: bool, beyond: bool, pooled: bool) -> Basis:
    if not match.own or match.curve.estimated:
        return "transferred"
    if measured:
        return "measured"
    if len(match.curve.sizes) <= FEW_SIZES:
        return "transferred" if pooled else "heuristic"
    return "extrapolated" if beyond else "interpolated"
