"""Predictions from curves: a cost with interval and basis, for many sizes in one call.

A question contains what is known about a run; the prediction is that of the most similar curve (:mod:`modak.perfmodel.matching`). Beyond
its measured sizes other curves of the application contribute (:mod:`modak.perfmodel.forecasts`). Every attribute in which curve and
question differ adds a spread in quadrature, so that weak evidence gives a wide interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from modak.cache import Cache
from modak.dsl import Basis
from modak.facts import Layout
from modak.perfmodel import peers, problems
from modak.perfmodel.curves import FEW_SIZES, Curve
from modak.perfmodel.devices import Power
from modak.perfmodel.forecasts import RERUN_SPREAD, Forecasts
from modak.perfmodel.matching import Z90, Match, alike, best_match, matches
from modak.perfmodel.parts import size_of
from modak.perfmodel.predictions import Portion, Predictions, together, unknown
from modak.perfmodel.questions import Question, closed

FAR_DOUBLINGS: Final = 4.0
"""More than this many doublings beyond the measured sizes a prediction is hardly more than a guess, and warnings say so."""


def predict(curves: Sequence[Curve], question: Question, nodes: npt.ArrayLike, power: Power | None = None) -> Predictions:
    """Cost of the question's kind of run on each of ``nodes`` (any shape); NaN and basis ``none`` without any curve.

    Each is as if it were asked alone. If they rest on several results (:func:`portions`), those of the first size are told.
    """
    count = np.atleast_1d(np.asarray(nodes, dtype=np.float64))
    return together(portions(curves, question, count.ravel(), power), count.shape)


def portions(
    curves: Sequence[Curve], question: Question, nodes: npt.ArrayLike, power: Power | None = None, kept: Cache | None = None
) -> list[Portion]:
    """The predictions of :func:`predict` on ``nodes [n]``, apart by the results on which they rest.

    ``kept`` keeps the forecasts of curves for further questions about the same sizes.
    """
    count = np.asarray(nodes, dtype=np.float64)
    question = problems.without_names(closed(curves, question), curves)
    found = matches(curves, question, power)
    if not found:
        return [Portion(np.arange(count.size), unknown(count.size))]
    kept = kept or Cache(1)
    forecasts = kept.get((count.tobytes(), *map(id, curves)), lambda: Forecasts(curves, count))
    return [one for places in alike(found, count) for one in _portions_of(found, places, forecasts)]


def _portions_of(found: Sequence[Match], places: npt.NDArray[np.int_], forecasts: Forecasts) -> Iterator[Portion]:
    """The predictions at some of the sizes, for which the same matches are nearest: at each by the surest law over problem sizes that tells
    more than the nearest results, else by these."""
    question, nodes = found[0].question, forecasts.nodes[places]

    def answer(match: Match, layout: Layout) -> Predictions:
        return _answer(match, layout, places, forecasts)

    def from_one(nearest: Match, like: Sequence[Match]) -> Predictions:
        return peers.across(nearest, like, question.layout, nodes, answer) or answer(nearest, question.layout)

    nearest = best_match(found, nodes)
    by_nearest = from_one(nearest, found)
    laws = [] if nearest.own else problems.across(found, nodes, from_one)
    widths = [np.where(problems.tells_more(law, by_nearest, found), law.width.above, np.inf) for law in laws]
    told = np.argmin([np.full(len(places), np.inf), *widths], axis=0)  # of equals, as where no law tells more, the first one
    for option, each in enumerate((by_nearest, *laws)):
        if (here := np.flatnonzero(told == option)).size:
            yield Portion(places[here], each.at(here))


def _answer(match: Match, layout: Layout, places: npt.NDArray[np.int_], forecasts: Forecasts) -> Predictions:
    """The predictions from the curve of a match alone, at some of the sizes: measured values where there are any, else its forecast."""
    curve, nodes = match.curve, forecasts.nodes[places]
    per_node = size_of(layout.model_copy(update={"nodes": None}), curve.scale)
    forecast, sizes, known = forecasts.of(curve, per_node, places), nodes * per_node, np.array(curve.sizes)
    measured = np.isin(sizes, known) & ((curve.scale == "nodes") | (np.interp(sizes, known, curve.nodes) == nodes))
    value = np.where(measured, np.interp(sizes, known, np.array(curve.costs)), np.exp(forecast.log_value)) * match.factor
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
        others=tuple(one.relative for one in forecast.kin) if forecast.pooled.any() else (),
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
