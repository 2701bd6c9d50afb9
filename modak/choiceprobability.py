"""How probable each candidate is the right choice: how often the request's objective and constraints would choose it.

The times are drawn many times from their intervals (those of one layout move together), and each time the candidates are ranked. Where
today's choice would lose less than :data:`modak.perfmodel.planning.LEAST`, it is as right.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from modak.arrays import Array
from modak.choosing.decision import ranking_of
from modak.choosing.objective import Scored
from modak.dsl import Request
from modak.errors import Infeasible
from modak.perfmodel.forecasting.repeats import RERUN_SPREAD
from modak.perfmodel.intervals import Z90
from modak.perfmodel.planning import LEAST

DRAWS: Final = 256
"""Number of draws; one less than a prime, as the lattice rule needs."""
GENERATOR: Final = 63
"""Generator of the lattice: of all, the one with the smallest correlation between any two of 24 columns (0.21; of 6 columns 0.08)."""
LIKELY: Final = 0.01
"""Layouts that are chosen in a smaller part of the draws are ignored ..."""
FEW: Final = 10
"""... unless together they are chosen in most draws: then so many of those that are chosen most often stand for all."""
TILT: Final = 1e-7
"""Makes the smaller of two sizes with equal node-hours the better one."""


def choice_probabilities(request: Request, scored: Scored) -> Array:
    """The probability of each candidate to be the right choice: the fraction of the draws in which it is chosen. Where today's
    choice loses less than :data:`LEAST`, it is as right.

    None counts as further from measured sizes than any on as many nodes: a layout that was measured on fewer nodes than others may be the
    right one where these ran, and a run of it there is what tells.
    """
    today = _chosen_today(request, scored)
    counts, scored = np.zeros(len(scored.nodes)), replace(scored, doublings=scored.nearest)
    for draw in normal_draws(int(scored.shape.max()) + 1):
        time = drawn_times(scored, draw)
        drawn = replace(
            scored,
            time=time,
            width=scored.width.each(lambda side: np.minimum(side, RERUN_SPREAD)),
            efficiency=scored.efficiency * scored.time / time,
            of_nodes=None if scored.of_nodes is None else scored.of_nodes * scored.time / time,
            predicted=None,
        )
        try:
            ranking = ranking_of(request, drawn)[0]
        except Infeasible:
            continue
        best = ranking.best
        counts[best if today is None or ranking.score[today] > ranking.score[best] * (1 + LEAST) else today] += 1
    if not counts.any():
        ranking_of(request, scored)
        raise Infeasible("no configuration meets the constraints, whatever the runs measure", field="optimisation.objective")
    return np.asarray(counts / counts.sum())


def _chosen_today(request: Request, scored: Scored) -> int | None:
    """The candidate that is chosen by what is predicted; ``None``: none meets the constraints."""
    try:
        return ranking_of(request, scored)[0].best
    except Infeasible:
        return None


def drawn_times(scored: Scored, draw: Array) -> Array:
    """Times of one draw. Those of a layout move together, by ``draw[layout]`` standard deviations.

    No draw scales superlinearly unless the prediction does.
    """
    drawn = draw[scored.shape]
    time = scored.time * np.exp(drawn * np.where(drawn < 0, scored.width.below, scored.width.above) / Z90)
    for place in np.flatnonzero(draw < 0):
        rows = np.flatnonzero((scored.shape == place) & np.isfinite(time))
        nodes = scored.nodes[rows]
        best = np.maximum.accumulate(time[rows] * nodes) * (1 + TILT * np.arange(len(rows)))
        time[rows] = np.maximum(time[rows], np.minimum(scored.time[rows], best / nodes))
    return np.asarray(time)


def normal_draws(columns: int) -> Array:
    """Standard normal numbers ``[draw, column]``, always the same: a lattice rule (Korobov 1959) with one point in each of 256 strata."""
    from scipy.special import ndtri

    multipliers = [pow(GENERATOR, column, DRAWS + 1) for column in range(columns)]
    return np.asarray(ndtri((np.outer(np.arange(1, DRAWS + 1), multipliers) % (DRAWS + 1) - 0.5) / DRAWS))


def likely_layouts(scored: Scored, probabilities: Array) -> list[int]:
    """The layouts that may be the right choice, in the order of the candidates."""
    total = np.bincount(scored.shape, probabilities)
    likely = np.argsort(-total, kind="stable")[:FEW] if too_many(total) else np.flatnonzero(total >= LIKELY)
    return list(map(int, np.sort(likely)))


def too_many(total: npt.NDArray[Any]) -> bool:
    """Whether so many layouts, each chosen in this part of the draws, may be the right choice that most are ignored.

    >>> too_many(np.array([0.02, *140 * [0.007]])), too_many(np.array([0.6, *57 * [0.007]]))
    (True, False)
    """
    return bool(total[total >= LIKELY].sum() <= 0.5)
