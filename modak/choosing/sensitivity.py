"""How wrong a prediction would have to be to change the choice: with respect to the limits, to other sizes, and to other variants."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

import numpy as np

from modak.choosing.objective import Ranking, Scored, budget_in_words, scores
from modak.dsl import Objective
from modak.text.amounts import as_given

Describe = Callable[[int], str]
"""A candidate in words, by its index."""
MANY: Final = 10.0
"""From this factor on, a time is said to be so many times another one; below, by how many percent it exceeds it."""
LEAST: Final = 0.0005
"""A smaller part of a time is not told as a percentage."""
MOST: Final = 4
"""At most this many sentences, the most relevant first."""


def sensitivity(scored: Scored, ranking: Ranking, objective: Objective, describe: Describe) -> Iterator[str]:
    """Sentences on the best configuration; none if nothing is predicted."""
    if math.isfinite(scored.time[ranking.best]):
        said = _all_lines(scored, ranking, objective, describe)
        yield from (f"sensitivity: {line}" for line in islice(said, MOST))


def _all_lines(scored: Scored, ranking: Ranking, objective: Objective, describe: Describe) -> Iterator[str]:
    best = ranking.best
    if objective.deadline and scored.bound_of(best, objective.confidence) <= objective.deadline:
        slack = objective.deadline / float(scored.time[best])
        yield f"{describe(best)} misses the deadline {_only_if_slower(scored, best, slack)}"
        yield from _fewer(scored, ranking, objective, describe)
    if (budget := objective.budget_node_hours) and (slack := budget / float(scored.node_hours[best])) >= 1:
        yield f"{describe(best)} exceeds the budget of {budget_in_words(budget)} {_only_if_slower(scored, best, slack)}"
    if (floor := ranking.min_efficiency) and (slack := float(scored.efficiency[best]) / floor) >= 1:
        text = f"{describe(best)} has an efficiency below {as_given(floor)}"
        yield f"{text} {_only_if_slower(scored, best, slack)}"
    seen = _measured(scored, ranking)
    if seen is not None:
        yield _a_run_tells(scored, best, seen, describe)
    yield from _other_size(scored, ranking, describe, seen)
    yield from _other_variant(scored, ranking, describe, seen)


def _only_if_slower(scored: Scored, best: int, slack: float) -> str:
    """``slack``: the factor that the time may grow by."""
    reach = math.exp(float(scored.width.above[best])) - 1
    more = f"more than {_percent(slack - 1)}" if slack >= 1 + LEAST else "any"
    slower = f"takes more than {slack:.0f} times as long as" if slack >= MANY else f"is {more} slower than"
    return f"only if it {slower} predicted (its 90% interval reaches {reach:.0%})"


def _percent(part: float) -> str:
    return f"{part:.1%}" if abs(part) < 0.01 else f"{part:.0%}"


def _measured(scored: Scored, ranking: Ranking) -> int | None:
    """The fastest configuration that was measured on as many nodes or fewer, if the fastest one was not and may well not be faster."""
    best = ranking.best
    if ranking.minimise != "time" or scored.basis[best] == "measured":
        return None
    known = (i for i in ranking.order if scored.basis[i] == "measured" and scored.nodes[i] <= scored.nodes[best])
    seen = next(known, None)
    late = scored.time[best] * np.exp(scored.width.above[best])
    return seen if seen is not None and scored.time[seen] <= late else None


def _a_run_tells(scored: Scored, best: int, seen: int, describe: Describe) -> str:
    """What the measured one took, and which run would tell whether the chosen one is faster."""
    longer = float(scored.time[seen] / scored.time[best]) - 1
    took = f"{_percent(longer)} longer than" if longer >= LEAST else "as long as"
    text = f"{describe(seen)} was measured and took {took} predicted for {describe(best)}, which lies within that prediction's 90% interval"
    return f"{text}: {describe(best)} may save nothing, and one run of it would tell"


def _other_size(scored: Scored, ranking: Ranking, describe: Describe, seen: int | None) -> Iterator[str]:
    """The best other size of the chosen variant, and how much less time it would have to take; not of the one that was ``seen``, of which
    more is said."""
    best = ranking.best
    same = (i for i in ranking.order if scored.shape[i] == scored.shape[best] and scored.nodes[i] != scored.nodes[best])
    other = next(same, None)
    if other is None or other == seen:
        return
    wanted = scores(scored, ranking.minimise)
    less, early = 1 - wanted[best] / wanted[other], 1 - math.exp(-float(scored.width.below[other]))
    faster = f"only if it took {less:.1%}" if less >= LEAST else "if it took any"
    text = f"{describe(other)}, the best other size, would be better {faster} less time than predicted"
    yield f"{text} (its 90% interval reaches {early:.0%} less)"


def _other_variant(scored: Scored, ranking: Ranking, describe: Describe, seen: int | None) -> Iterator[str]:
    """How far the best configuration of another variant is behind; ``seen`` as above."""
    best, rival = ranking.best, _rival(scored, ranking)
    if rival is None or rival == seen:
        return
    wanted = scores(scored, ranking.minimise)
    margin = wanted[rival] / wanted[best]
    both = math.exp(math.hypot(float(scored.width.above[best]), float(scored.width.below[rival]))) - 1
    quantity = "time" if ranking.minimise == "time" else "node-hours"
    more = f"{_percent(margin - 1)} more {quantity} than" if margin >= 1 + LEAST else f"the same {quantity} as"
    behind = f"{margin:.0f} times the {quantity} of" if margin >= MANY else more
    reached = f"their intervals together reach {both:.0%}{': either may be better' if both > margin - 1 else ''}"
    yield f"the best other variant, {describe(rival)}, is predicted to take {behind} the choice ({reached})"


def _fewer(scored: Scored, ranking: Ranking, objective: Objective, describe: Describe) -> Iterator[str]:
    """By how much the next smaller size of the same variant misses the deadline, if it does."""
    nearest = scored.next_smaller(ranking.best)
    if nearest is None or objective.deadline is None:
        return
    bound = scored.bound_of(nearest, objective.confidence)
    if bound > objective.deadline:
        faster = 1 - objective.deadline / bound
        part = f"{faster:.1%}" if faster >= LEAST else "any"
        yield f"{describe(nearest)} would meet the deadline if it were {part} faster than predicted"


def _rival(scored: Scored, ranking: Ranking) -> int | None:
    """The best feasible configuration of another variant."""
    return next((index for index in ranking.order if scored.shape[index] != scored.shape[ranking.best]), None)
