"""Predictions from curves: a cost with interval and basis, for many sizes in one call.

At each size the nearest results answer (:mod:`modak.perfmodel.nearest`), or a law over problem sizes that tells more than these
(:mod:`modak.perfmodel.laws.problems`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Final

import numpy as np
import numpy.typing as npt

from modak.cache import Cache
from modak.perfmodel.fitting.curves import Curve
from modak.perfmodel.forecasting.forecasts import Forecasts
from modak.perfmodel.laws import problems
from modak.perfmodel.matching.devices import Power
from modak.perfmodel.matching.matching import Matcher, places_by_nearest
from modak.perfmodel.matching.questions import Question, with_switches_off
from modak.perfmodel.nearest import NearestAnswer
from modak.perfmodel.predictions import Portion, Predictions, merge_portions, nothing_known

FAR_DOUBLINGS: Final = 4.0
"""More than this many doublings beyond the measured sizes a prediction is hardly more than a guess, and warnings say so."""
MOST_ANSWERS: Final = 4096
"""What so many questions about measured problem sizes were told is kept for further ones."""


def predict(curves: Sequence[Curve], question: Question, nodes: npt.ArrayLike, power: Power | None = None) -> Predictions:
    """Cost of the question's kind of run on each of ``nodes`` (any shape); NaN and basis ``none`` without any curve.

    Each is as if it were asked alone. If they rest on several results (:func:`portions`), those of the first size are told.
    """
    return Predictor(curves, nodes, power).predictions(question, nodes)


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

    def predictions(self, question: Question, nodes: npt.ArrayLike) -> Predictions:
        """The predictions on some of the ``nodes`` (any shape), as :func:`predict` has them."""
        count = np.atleast_1d(np.asarray(nodes, dtype=np.float64))
        return merge_portions(self.portions(question, count.ravel()), count.shape)

    def portions(self, question: Question, nodes: npt.ArrayLike) -> list[Portion]:
        """The predictions on some of the ``nodes [n]``, apart by the results on which they rest."""
        count = np.asarray(nodes, dtype=np.float64)
        asked = problems.without_names(with_switches_off(self._curves, question), self._curves)
        found = self._matcher.matches(self._curves, asked)
        if not found:
            return [Portion(np.arange(count.size), nothing_known(count.size))]
        portions, sources = list[Portion](), cache(partial(problems.sources, found))
        for places in places_by_nearest(found, count):
            by_nearest = NearestAnswer(found, count[places], self._forecasts)
            portions += [one._replace(places=places[one.places]) for one in self._portions_of(by_nearest, sources)]
        return portions

    def _portions_of(self, by_nearest: NearestAnswer, sources: Callable[[], problems.Sources]) -> Iterator[Portion]:
        """The predictions at sizes for which the same matches are nearest: at each by the surest law over problem sizes that tells more
        than the nearest results, else by these."""
        found, nodes, alone = by_nearest.found, by_nearest.nodes, by_nearest.predictions

        def measured(question: Question, curves: Sequence[Curve]) -> NearestAnswer:
            key = (question, *map(id, curves), nodes.tobytes())
            return self._answers.get(key, lambda: NearestAnswer(self._matcher.matches(curves, question), nodes, self._forecasts))

        laws = [] if by_nearest.match.own else problems.laws(sources(), measured)
        widths = [np.where(problems.tells_more(law, alone, found), law.width.above, np.inf) for law in laws]
        told = np.argmin([np.full(len(nodes), np.inf), *widths], axis=0)  # of equals, as where no law tells more, the first one
        for option, each in enumerate((alone, *laws)):
            if (here := np.flatnonzero(told == option)).size:
                yield Portion(here, each.at(here))
