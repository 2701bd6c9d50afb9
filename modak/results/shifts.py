"""Shifts: since some day, runs of the same configurations take longer, or less, as after an update of their system.

The runs of a day share a machine that may be busy, so days are counted, and not runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from shlex import quote
from typing import Any, Final, NamedTuple

import numpy as np

from modak.arrays import Array, Flags, Ints, median
from modak.grouping import grouped
from modak.results import metrics
from modak.results.comparison import ASIDE, quantile, variance_of_median
from modak.results.failures import STOPPED
from modak.text.amounts import counted, longer

LEAST_CONFIGURATIONS: Final = 3
"""Configurations that ran both before and since a shift: with fewer, another program or other data under the same name look like one."""
LEAST_DAYS: Final = 4
"""Days of equal weight on each side of it: fewer may all have been busy ones."""
LEAST_BETWEEN: Final = 2 * LEAST_DAYS
"""The same between two shifts: otherwise each busy time is one with its beginning and its end."""
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
MOST_OPEN: Final = 2 * LEAST_DAYS
"""Days after which a shift that lasts is sure, as a rule: of so many newest ones some may be unlike all before."""
HALF_WAY: Final = "half-way to that, because so few days may have been busy ones"
"""What becomes of the results from before a shift that is not sure."""
_ROUNDS: Final = 3
"""Alternations between configurations and days, after which their effects hardly change."""
_DEPTH: Final = 3
"""How often what lies between two days is parted again, so that there are at most seven shifts."""
_FIRST, _LAST = -(10**9), 10**9
"""Before and after all days."""


class Configuration(NamedTuple):
    """What is equal for runs that should take the same time."""

    application: str
    run: tuple[Any, ...]
    """The same for all that is measured of a run: its total time and its speed tell of one configuration, and not of two."""
    metric: tuple[Any, ...] = ()


class TimedRun(NamedTuple):
    """A run whose day is known."""

    configuration: Configuration
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
    ratios: Mapping[Configuration, float]
    """The ratio of each configuration that ran before and since."""
    after: int | None = None
    """The day of the shift before it ..."""
    until: int | None = None
    """... and of the one after it."""
    sure: bool = True
    """Otherwise the days since then are so few that they may have been busy ones."""

    @property
    def since(self) -> date:
        """The day on which it was seen first."""
        return date_of(self.day)

    @property
    def configurations(self) -> int:
        """How many ran before and since, whatever was measured of them."""
        return len({one[:2] for one in self.ratios})

    @cached_property
    def scatter(self) -> float:
        """The standard deviation of the logarithms of the ratios."""
        return float(np.std(np.log(list(self.ratios.values())), ddof=1))

    @cached_property
    def elsewhere(self) -> float:
        """The same for another application: at least that of the medians of applications, which is not well known from a few."""
        several = grouped(self.ratios, lambda one: one.application).values()
        medians = [median([math.log(self.ratios[one]) for one in of]) for of in several]
        few = quantile(len(medians) - 1) / quantile(10**9)
        return max(self.scatter, few * float(np.std(medians, ddof=1))) if len(medians) > 1 else self.scatter

    def unsure(self, own: Iterable[Configuration], application: str) -> float | None:
        """The standard error of its logarithm for a series with these configurations; ``None``: they do not show it, by half at least.

        If none of them ran both before and since, those of its application tell, and if none of these did, all.
        """
        of_application = (one for one in self.ratios if one.application == application)
        for several, error in ((own, 0.0), (of_application, self.scatter)):
            if told := [math.log(self.ratios[one]) for one in several if one in self.ratios]:
                return error if median(told) / math.log(self.ratio) >= 0.5 else None
        return self.elsewhere


def date_of(day: int) -> date:
    """The date of a day that is counted from 1970 on.

    >>> date_of(0)
    datetime.date(1970, 1, 1)
    """
    return datetime.fromtimestamp(0, UTC).date() + timedelta(days=day)


def sentence(shift: Shift, system: str, application: str | None) -> str:
    """What somebody should know of a shift, of one application or of all on a system, with the commands that show it and settle it."""
    near, far = sorted(100 * abs(edge - 1) for edge in shift.interval)
    of = f"runs of {application!r} on {system}" if application else f"runs on {system}"
    texts = [f"system={system}", *([f"application={application}"] if application else [])]
    where = " ".join(f"--where {quote(text)}" for text in texts)
    seen = f"{counted(shift.configurations, 'configuration')} on {shift.days[0]} days before and {shift.days[1]} since"
    later = f"--since {shift.since}" + (f" --until {date_of(shift.until - 1)}" if shift.until else "")
    earlier = f"--since {date_of(shift.after) if shift.after else EARLIEST} --until {date_of(shift.day - 1)}"
    scaled = "to that" if shift.sure else f"{HALF_WAY}, and intervals reach as far as both"
    return (
        f"{of} take {longer(shift.ratio, shift.since, sure=shift.sure)} ({near:.0f} to {far:.0f}%; {seen}); models scale the earlier "
        f"results {scaled}. 'modak results compare measured_at {shift.since} {where}' compares them; 'modak results doubt {later} "
        f"{where} --why TEXT' leaves out the later ones, {earlier} the earlier ones, and 'confirm' lets these count as they are"
    )


def document(shift: Shift, system: str, application: str | None) -> dict[str, Any]:
    """A shift as JSON."""
    low, high = shift.interval
    of = {"system": system, **({"application": application} if application else {})}
    before, since = shift.days
    days = {"days_before": before, "days_since": since, "sure": shift.sure}
    found = {"since": str(shift.since), "ratio": shift.ratio, "low": low, "high": high, "configurations": shift.configurations}
    return of | found | days | {"message": sentence(shift, system, application)}


def on_systems(records: Iterable[tuple[Mapping[str, Any], int]]) -> dict[str, list[TimedRun]]:
    """The runs on each system, of records that models use and nobody confirmed as they are, each with its time (microseconds from 1970)."""
    found: dict[str, list[TimedRun]] = {}
    for record, at in records:
        known = metrics.known_metric(record["metric"], record.get("unit"))
        left_out = record.get("suspect") or record.get("by_hand") or record["metric"] == STOPPED
        if known and known.tells_cost and record.get("system") and not left_out:
            measured = (record["metric"], record.get("unit"))
            equal = tuple(sorted((name, value) for name, value in record.items() if name not in (*ASIDE, "metric", "unit")))
            of = Configuration(record["application"], equal, measured)
            found.setdefault(record["system"], []).append(TimedRun(of, at // DAY, known.cost(float(record["value"]))))
    return found


def of_system(runs: Sequence[TimedRun]) -> list[tuple[str | None, Shift]]:
    """The shifts of all runs on a system (``None``, or the one application that shows one), in order; without any, those of its
    applications. One that is not sure hides none that is."""
    of_all = [(_only_one(shift), shift) for shift in shifts(runs)]
    if any(shift.sure for _, shift in of_all):
        return of_all
    by_name = grouped(runs, lambda run: run.configuration.application)
    alone: list[tuple[str | None, Shift]] = [(name, shift) for name, own in by_name.items() for shift in shifts(own)]
    return alone if not of_all or any(shift.sure for _, shift in alone) else of_all


def _only_one(shift: Shift) -> str | None:
    """The application that alone shows a shift."""
    of = grouped(shift.ratios, lambda one: one.application)
    shown = [name for name, own in of.items() if shift.unsure(own, name) is not None]
    return shown[0] if len(shown) == 1 else None


def shifts(runs: Sequence[TimedRun]) -> list[Shift]:
    """The shifts of runs, in order: each as the runs since the one before it, and before the one after it, show it. Last one that is not
    sure, if the newest days are unlike those before."""
    numbers: dict[Configuration, int] = {}
    of = np.array([numbers.setdefault(run.configuration, len(numbers)) for run in runs], dtype=np.int64)
    if len(numbers) < LEAST_CONFIGURATIONS:
        return []
    days = _by_day(of, np.array([run.day for run in runs], dtype=np.int64), np.log([run.cost for run in runs]))
    names = list(numbers)
    edges = [_FIRST, *_parted(days, names, _FIRST, _LAST, _DEPTH), _LAST]
    judged = [_judged(days, *three, names) for three in zip(edges, edges[1:], edges[2:], strict=False)]
    found = [one for one in judged if one]
    newest = _newest(days, found[-1].day if found else _FIRST, names)
    return [*found, newest] if newest else found


def _newest(days: _Days, after: int, names: Sequence[Configuration]) -> Shift | None:
    """Of the newest days since ``after`` those that are most unlike the ones before, if they are so for sure, also if they may pass."""
    last = np.unique(days.day[days.day >= after])[1:][-MOST_OPEN:].tolist()
    unlike = [one for day in last if (one := _judged(days, after, day, _LAST, names, sure=False))]
    return max(unlike, key=lambda one: abs(math.log(one.ratio)) / max(math.log(one.interval[1] / one.ratio), 1e-300), default=None)


def _parted(days: _Days, names: Sequence[Configuration], first: int, last: int, depth: int) -> list[int]:
    """The days of shifts from a first day to before a last one, with what lies before and after the most striking one parted again."""
    day = _most_striking(days.between(first, last)) if depth else None
    if day is None:
        return []
    before, since = (_parted(days, names, *part, depth - 1) for part in ((first, day), (day, last)))
    near = (before[-1] if before else first, day, since[0] if since else last)
    return [*before, *([day] if _judged(days, *near, names) else []), *since]


class _Days(NamedTuple):
    """What each configuration took on each of its days: the middle of the logarithms of its runs."""

    of: Ints
    day: Ints
    cost: Array

    def only(self, chosen: Flags) -> _Days:
        """Some of them."""
        return _Days(self.of[chosen], self.day[chosen], self.cost[chosen])

    def between(self, first: int, last: int) -> _Days:
        """Those from a first day to before a last one, of configurations that ran on several of these."""
        here = self.only((self.day >= first) & (self.day < last))
        return here.only(np.bincount(here.of)[here.of] > 1)


def _by_day(of: Ints, day: Ints, cost: Array) -> _Days:
    """The days of configurations, which are numbered from 0 on."""
    order = np.lexsort((day, of))
    of, day, cost = of[order], day[order], cost[order]
    new = (np.diff(of, prepend=-1) != 0) | (np.diff(day, prepend=-1) != 0)
    return _Days(of[new], day[new], _medians(np.cumsum(new) - 1, cost))


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


def _judged(days: _Days, after: int, first: int, until: int, names: Sequence[Configuration], *, sure: bool = True) -> Shift | None:
    """The shift since a day, if it is one for sure, by the runs between the days of those before and after it; ``names`` are those of the
    configurations. If it need not be ``sure`` that it lasts, one day since is enough, and once the interval, but the newest day has to show
    half of it."""
    runs = days.between(after, until)
    since = runs.day >= first
    both = np.intersect1d(runs.of[since], runs.of[~since])
    several = len({names[one][:2] for one in both})
    if several < LEAST_CONFIGURATIONS:
        return None
    runs = runs.only(np.isin(runs.of, both))
    of, since = np.searchsorted(both, runs.of), runs.day >= first
    each = _medians(of[since], runs.cost[since]) - _medians(of[~since], runs.cost[~since])
    moved = median(each)
    rest = runs.cost - moved * since
    rest -= _medians(of, rest)[of]
    place, at = np.unique(runs.day - first, return_inverse=True)
    effect, later = _medians(at, rest), place >= 0
    side = 2 * of + since
    weight = np.asarray(np.bincount(at, 1 / np.bincount(side)[side]), dtype=np.float64)  # what a day weighs in the medians of its side
    equal = [float(weight[chosen].sum() ** 2 / (weight[chosen] ** 2).sum()) for chosen in (~later, later)]
    weight = weight * np.where(later, equal[1], equal[0]) / len(both)
    squares = float((weight * effect**2).sum())
    least = [LEAST_DAYS if edge in (_FIRST, _LAST) else LEAST_BETWEEN for edge in (after, until)]
    if any(there < needed - 0.01 for there, needed in zip(equal, least if sure else [LEAST_DAYS, 1], strict=True)):
        return None
    drifts = sure and squares > _missed_by_line(place, effect + moved * later, weight)
    is_over = not sure and (moved + effect[-1]) * moved < moved**2 / 2
    if drifts or is_over:
        return None
    taken = len(rest) / (len(rest) - len(both) - 1)  # configurations have taken their part of the scatter
    like = min(max(float((effect[1:] * effect[:-1]).sum()) / max(float((effect**2).sum()), 1e-300), 0.0), LASTING)
    of_days = math.sqrt(squares / sum(equal) * taken * (1 + like) / (1 - like) * sum(map(variance_of_median, equal)))
    of_configurations = float(np.std(each, ddof=1)) * math.sqrt(variance_of_median(several))
    error = max(quantile(int(sum(equal)) - 2) * of_days, quantile(several - 1) * of_configurations)
    if abs(moved) - LEAST_SHIFT <= error * (SURE if sure else 1):
        return None
    ratios = dict(zip((names[one] for one in both), np.exp(each).tolist(), strict=True))
    interval = (math.exp(moved - error), math.exp(moved + error))
    days_of_sides = (int((~later).sum()), int(later.sum()))
    edges = (after if after > _FIRST else None, until if until < _LAST else None)
    return Shift(first, math.exp(moved), interval, days_of_sides, ratios, *edges, sure)


def _missed_by_line(days: Ints, effect: Array, weight: Array) -> float:
    """The squares that a slow drift over days, which has no day of its own, leaves of their effects."""
    line = np.polynomial.Polynomial.fit(days, effect, 1, w=np.sqrt(weight))
    return float((weight * (effect - line(days)) ** 2).sum())
