"""How wrong a prediction would have to be to change the choice: with respect to the deadline, to fewer nodes, and to other variants."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Final

from modak.choosing.objective import Ranking, Scored, scores
from modak.dsl import Objective

Describe = Callable[[int], str]
"""A candidate in words, by its index."""
MANY: Final = 10.0
"""From this factor on, a time is said to be so many times another one; below, by how many percent it exceeds it."""


def lines(scored: Scored, ranking: Ranking, objective: Objective, describe: Describe) -> Iterator[str]:
    """Sentences on the best configuration; none if nothing is predicted."""
    best = ranking.best
    if not math.isfinite(scored.time[best]):
        return
    reach = math.exp(float(scored.spread[best])) - 1
    if objective.deadline and scored.bound_of(best, objective.confidence) <= objective.deadline:
        slack = objective.deadline / float(scored.time[best])
        slower = f"takes more than {slack:.0f} times as long as" if slack >= MANY else f"is more than {slack - 1:.0%} slower than"
        yield f"sensitivity: {describe(best)} misses the deadline only if it {slower} predicted (its 90% interval reaches {reach:.0%})"
        yield from _fewer(scored, ranking, objective, describe)
    rival = _rival(scored, ranking)
    if rival is not None:
        wanted = scores(scored, ranking.minimise)
        margin = wanted[rival] / wanted[best]
        both = math.exp(math.hypot(float(scored.spread[best]), float(scored.below[rival]))) - 1
        least = "time" if ranking.minimise == "time" else "node-hours"
        text = f"sensitivity: the best other variant, {describe(rival)}, would be better only if the chosen one took"
        usual = f"{margin - 1:.0%} more {least} relative to it than predicted"
        more = f"{margin:.0f} times the predicted {least} relative to it" if margin >= MANY else usual
        reached = f"their intervals together reach {both:.0%}{': either may be better' if both > margin - 1 else ''}"
        yield f"{text} {more} ({reached})"


def _fewer(scored: Scored, ranking: Ranking, objective: Objective, describe: Describe) -> Iterator[str]:
    """By how much the next smaller size of the same variant misses the deadline, if it does."""
    nearest = scored.next_smaller(ranking.best)
    if nearest is None or objective.deadline is None:
        return
    bound = scored.bound_of(nearest, objective.confidence)
    if bound > objective.deadline:
        faster = 1 - objective.deadline / bound
        yield f"sensitivity: {describe(nearest)} would meet the deadline if it were {faster:.1%} faster than predicted"


def _rival(scored: Scored, ranking: Ranking) -> int | None:
    """The best feasible configuration of another variant."""
    return next((index for index in ranking.order if scored.shape[index] != scored.shape[ranking.best]), None)
