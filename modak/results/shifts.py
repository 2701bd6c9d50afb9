"""Shifts: since some day, runs of the same configurations take longer, or less, as after an update of their system.

The runs of a day share a machine that may be busy, so days are counted, and not runs.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from shlex import quote
from typing import Any, Final, NamedTuple

import numpy as np

from modak.arrays import Array, Flags, Ints, median
from modak.grouping import grouped
from modak.results import metrics
from modak.results.comparison import ASIDE, quantile, variance_of_median
from modak.results.failures import STOPPED
from modak.text.amounts import counted

LEAST_CONFIGURATIONS: Final = 3
"""Configurations that ran both before and since a shift: with fewer, another program or other data under the same name look like one."""
LEAST_DAYS: Final = 4
"""Days of equal weight on each side of it: fewer may all have been busy ones."""
LEAST_SHIFT: Final = math.log(1.02)
"""What does not exceed this for sure is none: choices that differ so little are alike, too."""
SURE: Final = 2.0
"""A shift exceeds its 95% interval by this factor: its day is the most striking one of many. From simulated loads (decision 115)."""
LASTING: Final = 0.8
"""The most that a day may tell of the next one."""
EARLIEST: Final = "2000-01-01"
"""Nothing was measured before: see :func:`modak.ingest.values.reader`."""
DAY: Final = 24 * 3600 * 1_000_000
"""Microseconds."""
_ROUNDS: Final = 3
"""Alternations between configurations and days, after which their effects hardly change."""


class TimedRun(NamedTuple):
    """A run whose day is known."""

    application: str
    configuration: tuple[Any, ...]
    """Equal for runs that should take the same time."""
    day: int
    """From 1970 on, in UTC."""
    cost: float
    """A time, or the inverse of a rate."""


@dataclass(frozen=True)
class Shift:
    """Runs take longer, or less, since some day."""

    day: int
    """Its number, as that of a run."""
    ratio: float
    """Of what runs take since then to what the same configurations took before: the median over configurations."""
    interval: tuple[float, float]
    """Of the ratio, 95%."""
    days: tuple[int, int]
    """Those before and since then on which such configurations ran."""
    ratios: Mapping[Hashable, float]
    """The ratio of each configuration that ran before and since."""

    @property
    def since(self) -> date:
        """The day on which it was seen first."""
        return date_of(self.day)

    def shows(self, several: Collection[Hashable]) -> bool:
        """Whether these configurations show it, by half at least, or none of them ran both before and since."""
        own = [math.log(self.ratios[one]) for one in several if one in self.ratios]
        return not own or median(own) / math.log(self.ratio) >= 0.5


def date_of(day: int) -> date:
    """The date of a day that is counted from 1970 on.

    >>> date_of(0)
    datetime.date(1970, 1, 1)
    """
    return datetime.fromtimestamp(0, UTC).date() + timedelta(days=day)


def longer(ratio: float) -> str:
    """A ratio of times in words.

    >>> longer(1.15), longer(0.87)
    ('15% longer', '13% less time')
    """
    return f"{100 * abs(ratio - 1):.0f}% {'longer' if ratio > 1 else 'less time'}"


def sentence(shift: Shift, system: str, application: str | None) -> str:
    """What somebody should know of a shift, of one application or of all on a system, with the commands that show it and settle it."""
    near, far = sorted(100 * abs(edge - 1) for edge in shift.interval)
    of = f"runs of {application!r} on {system}" if application else f"runs on {system}"
    texts = [f"system={system}", *([f"application={application}"] if application else [])]
    where = " ".join(f"--where {quote(text)}" for text in texts)
    seen = f"{counted(len(shift.ratios), 'configuration')} on {shift.days[0]} days before and {shift.days[1]} since"
    earlier = f"--since {EARLIEST} --until {date_of(shift.day - 1)}"
    return (
        f"{of} take {longer(shift.ratio)} since {shift.since} ({near:.0f} to {far:.0f}%; {seen}); models scale the earlier results to "
        f"that. 'modak results compare measured_at {shift.since} {where}' compares them; 'modak results doubt --since {shift.since} "
        f"{where} --why TEXT' leaves out the later ones, {earlier} the earlier ones, and 'confirm' lets these count as they are"
    )


def document(shift: Shift, system: str, application: str | None) -> dict[str, Any]:
    """A shift as JSON."""
    low, high = shift.interval
    of = {"system": system, **({"application": application} if application else {})}
    before, since = shift.days
    days = {"days_before": before, "days_since": since}
    found = {"since": str(shift.since), "ratio": shift.ratio, "low": low, "high": high, "configurations": len(shift.ratios)}
    return of | found | days | {"message": sentence(shift, system, application)}


def on_systems(records: Iterable[tuple[Mapping[str, Any], int]]) -> dict[str, list[TimedRun]]:
    """The runs on each system, of records that models use and nobody confirmed as they are, each with its time (microseconds from 1970)."""
    found: dict[str, list[TimedRun]] = {}
    for record, at in records:
        known = metrics.known_metric(record["metric"], record.get("unit"))
        left_out = record.get("suspect") or record.get("by_hand") or record["metric"] == STOPPED
        if known and known.tells_cost and record.get("system") and not left_out:
            equal = tuple(sorted((name, value) for name, value in record.items() if name not in ASIDE))
            run = TimedRun(record["application"], equal, at // DAY, known.cost(float(record["value"])))
            found.setdefault(record["system"], []).append(run)
    return found


def of_system(runs: Sequence[TimedRun]) -> list[tuple[str | None, Shift]]:
    """The shift of all runs on a system (``None``, or the one application that shows it); without one, those of its applications."""
    if found := shift(runs):
        named = {run.application for run in runs if run.configuration in found.ratios}
        return [(named.pop() if len(named) == 1 else None, found)]
    alone = ((name, shift(own)) for name, own in grouped(runs, lambda run: run.application).items())
    return [(name, one) for name, one in alone if one]


def shift(runs: Sequence[TimedRun]) -> Shift | None:
    """The most striking shift of runs; ``None``: there is none for sure."""
    numbers: dict[Hashable, int] = {}
    of = np.array([numbers.setdefault(run.configuration, len(numbers)) for run in runs], dtype=np.int64)
    days = _by_day(of, np.array([run.day for run in runs], dtype=np.int64), np.log([run.cost for run in runs]))
    first = _most_striking(days)
    return None if first is None else _judged(days, first, list(numbers))


class _Days(NamedTuple):
    """What each configuration took on each of its days: the middle of the logarithms of its runs."""

    of: Ints
    day: Ints
    cost: Array

    def only(self, chosen: Flags) -> _Days:
        """Some of them."""
        return _Days(self.of[chosen], self.day[chosen], self.cost[chosen])


def _by_day(of: Ints, day: Ints, cost: Array) -> _Days:
    """The days of configurations that ran on several; configurations are numbered from 0 on."""
    order = np.lexsort((day, of))
    of, day, cost = of[order], day[order], cost[order]
    new = (np.diff(of, prepend=-1) != 0) | (np.diff(day, prepend=-1) != 0)
    days = _Days(of[new], day[new], _medians(np.cumsum(new) - 1, cost))
    return days.only(np.bincount(days.of)[days.of] > 1)


def _medians(group: Ints, values: Array) -> Array:
    """The median of the values of each group; groups are numbered from 0 on, and none is empty."""
    ordered, counts = values[np.lexsort((values, group))], np.bincount(group)
    starts = np.cumsum(counts) - counts
    return np.asarray(ordered[starts + (counts - 1) // 2] + ordered[starts + counts // 2]) / 2


def _most_striking(runs: _Days) -> int | None:
    """The day since which days differ most from those before, configurations apart, also if it is one of the first or last; ``None``: there
    are too few."""
    days, at = np.unique(runs.day, return_inverse=True)
    if len(days) < 2 * LEAST_DAYS:
        return None
    of, effect = np.unique(runs.of, return_inverse=True)[1], np.zeros(len(days))
    for _ in range(_ROUNDS):
        own = _medians(of, runs.cost - effect[at])
        effect = _medians(at, runs.cost - own[of])
    weight = np.bincount(at).astype(np.float64)
    before, total = np.cumsum(weight)[:-1], weight.sum()
    moved = np.cumsum(weight * effect)
    striking = np.abs(moved[:-1] - moved[-1] * before / total) / np.sqrt(before * (total - before))
    return int(days[1 + int(np.argmax(striking))])


def _judged(runs: _Days, first: int, names: Sequence[Hashable]) -> Shift | None:
    """The shift since a day, if it is one for sure; ``names`` are those of the configurations."""
    since = runs.day >= first
    both = np.intersect1d(runs.of[since], runs.of[~since])
    if len(both) < LEAST_CONFIGURATIONS:
        return None
    runs = runs.only(np.isin(runs.of, both))
    of, since = np.searchsorted(both, runs.of), runs.day >= first
    each = _medians(of[since], runs.cost[since]) - _medians(of[~since], runs.cost[~since])
    moved = median(each)
    rest = runs.cost - moved * since
    rest -= _medians(of, rest)[of]
    after, at = np.unique(runs.day - first, return_inverse=True)
    effect, later = _medians(at, rest), after >= 0
    side = 2 * of + since
    weight = np.asarray(np.bincount(at, 1 / np.bincount(side)[side]), dtype=np.float64)  # what a day weighs in the medians of its side
    equal = [float(weight[chosen].sum() ** 2 / (weight[chosen] ** 2).sum()) for chosen in (~later, later)]
    weight = weight * np.where(later, equal[1], equal[0]) / len(both)
    squares = float((weight * effect**2).sum())
    if min(equal) < LEAST_DAYS - 0.01 or squares > _missed_by_line(after, effect + moved * later, weight):
        return None
    taken = len(rest) / (len(rest) - len(both) - 1)  # configurations have taken their part of the scatter
    like = min(max(float((effect[1:] * effect[:-1]).sum()) / max(float((effect**2).sum()), 1e-300), 0.0), LASTING)
    of_days = math.sqrt(squares / sum(equal) * taken * (1 + like) / (1 - like) * sum(map(variance_of_median, equal)))
    of_configurations = float(np.std(each, ddof=1)) * math.sqrt(variance_of_median(len(both)))
    error = max(quantile(int(sum(equal)) - 2) * of_days, quantile(len(both) - 1) * of_configurations)
    if abs(moved) - LEAST_SHIFT <= SURE * error:
        return None
    ratios = dict(zip((names[one] for one in both), np.exp(each).tolist(), strict=True))
    interval = (math.exp(moved - error), math.exp(moved + error))
    return Shift(first, math.exp(moved), interval, (int((~later).sum()), int(later.sum())), ratios)


def _missed_by_line(days: Ints, effect: Array, weight: Array) -> float:
    """The squares that a slow drift over days, which has no day of its own, leaves of their effects."""
    line = np.polynomial.Polynomial.fit(days, effect, 1, w=np.sqrt(weight))
    return float((weight * (effect - line(days)) ** 2).sum())
