"""Predictions from the nearest results: the measured cost at a measured size, else the forecast of the nearest curve.

Every attribute in which curve and question differ adds a spread in quadrature, so that weak evidence gives a wide interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from modak.arrays import Array
from modak.dsl import Basis
from modak.facts import Layout
from modak.perfmodel.fitting.cellgroups import on_node
from modak.perfmodel.fitting.curves import FEW_SIZES
from modak.perfmodel.forecasting.forecasts import Forecasts
from modak.perfmodel.forecasting.repeats import RERUN_SPREAD
from modak.perfmodel.intervals import Z90
from modak.perfmodel.laws import peers
from modak.perfmodel.matching.matching import Match, best_match
from modak.perfmodel.predictions import Predictions


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
