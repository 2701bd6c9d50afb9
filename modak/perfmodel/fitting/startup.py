"""The start-up time of a run: its total time less that of its work, if both were measured, or what runs of several lengths have in common.

A job that MODAK wrote measures its total time (``wall_time``), and may print the speed of its work: a rate, or the time of an epoch, of a
step or of all its work. The rest is start-up: reading data, compiling, the first step, finishing. Runs of several lengths, of which nothing
else was measured, show it as well, and so do speeds that are averages over such runs (:func:`of_lengths`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from modak.arrays import Array, median
from modak.errors import DataError
from modak.facts import Fact, SeriesKey
from modak.grouping import grouped
from modak.results.metrics import METRICS, WALL_TIME, metric_of, work_unit
from modak.results.units import Amount, parse_amount

WHOLE_RUNS: Final = frozenset(name for name, one in METRICS.items() if (one.kind, one.per) == ("time", "run"))
"""Metrics that say that they are the time of a whole run."""
PARTS: Final[tuple[Literal["epoch", "step"], ...]] = ("epoch", "step")
"""Parts of a run; how many of them it has, tells its length."""
LENGTHS: Final = (*(f"{part}s" for part in PARTS), "amount")
"""Parameters that give the length of a run; rates do not depend on it."""
SAMPLES: Final = "samples"
"""The parameter that gives the samples of an epoch."""
STARTING: Final = 0.1
"""Upper end (90 %) of the fraction of a measured run that was start-up, if nothing is known of it. Judgement."""
LEAST_RUN: Final = 600.0
"""Seconds that a run takes at least whose whole time counts as that of its work: of this, a start-up of a minute is :data:`STARTING`."""
MOST_STARTING: Final = 0.9
"""The same fraction of the shortest runs, most of whose time may be start-up. Judgement."""
MOSTLY: Final = 0.5
"""Averages over runs of which start-up is a larger fraction tell little of the work: their scatter is that of start-up. Judgement."""
UNSTEADY: Final = 0.25
"""Usual standard deviation of start-up times, as a fraction of the median; counts as :data:`USUAL` runs beside measured ones. Judgement:
files are read from disk or memory, images are present or have to be fetched."""
USUAL: Final = 2.0
SOONEST: Final = 0.1
"""Seconds that it takes to start a job at least: where times and speeds leave less, these are the same measurement. Judgement."""
LONGER: Final = 2.0
"""Runs show what starting takes if the longest has as many times the work of the shortest; else their scatter decides. Judgement."""
SCATTER: Final = 0.05
"""Standard deviation of the log time of a run that is assumed at least: a 90 % interval of 8 % either way."""
SAME_TIME: Final = 2.0
"""Times of a run under two names differ by less than this factor; else the shorter one is of a part of the run. Judgement."""


class StartUp(Fact):
    """Start-up time in seconds: median and standard deviation over ``runs``."""

    seconds: float
    deviation: float
    runs: int
    error: float = 0.0
    """Standard error of ``seconds``, where these follow from the times of whole runs; 0: they were measured."""

    @property
    def shows(self) -> bool:
        """Whether there is any, for sure: it is more than twice its error."""
        return self.seconds > 2 * self.error

    @property
    def doubt(self) -> float:
        """Standard deviation of the start-up time of a future run, in seconds."""
        squares = USUAL * (UNSTEADY * self.seconds) ** 2 + (self.runs - 1) * self.deviation**2
        return math.hypot(math.sqrt(squares / (USUAL + self.runs - 1)), self.error)


def of_runs(seconds: Sequence[float]) -> StartUp | None:
    """The start-up time from those of single runs; ``None`` without runs. The median is at least 0."""
    if not seconds:
        return None
    deviation = float(np.std(seconds, ddof=1)) if len(seconds) > 1 else 0.0
    return StartUp(seconds=max(0.0, median(seconds)), deviation=deviation, runs=len(seconds))


def of_lengths(runs: Mapping[float, Sequence[float]]) -> StartUp | None:
    """The start-up time from the seconds that runs took, by their length in any unit; ``None``: the lengths are too alike
    (:data:`LONGER`), or the times cannot be computed with.

    The line start-up + length x unit through the medians, by least squares of the relative error. Where runs take longer than their length
    tells, there is no start-up, and the error is as large as the line is below zero.

    >>> found = of_lengths({1.0: [30.0], 10.0: [120.0]})
    >>> round(found.seconds, 6), round(found.error, 2), of_lengths({10.0: [30.0], 12.0: [34.0]})
    (20.0, 1.8, None)
    """
    if not runs or max(runs) < LONGER * min(runs):
        return None
    with np.errstate(all="ignore"):  # times that overflow are of no run
        lengths, times, counts = np.array([*runs]), np.array([*map(median, runs.values())]), np.array([*map(len, runs.values())])
        weights = counts * (times.min() / times) ** 2
        length, time = np.average(lengths, weights=weights), np.average(times, weights=weights)
        spread = weights @ (lengths - length) ** 2
        unit = weights @ ((lengths - length) * (times - time)) / spread
        start = float(time - unit * length)
        misses = np.concatenate([(start + unit * one) / np.array(took) - 1 for one, took in runs.items()])
        freedom = misses.size - 2
        scatter = max(SCATTER, math.sqrt(misses @ misses / freedom) if freedom else 0.0)
        error = float(scatter * times.min() * np.sqrt(1 / weights.sum() + length**2 / spread))
    if not math.isfinite(start + error):
        return None
    return StartUp(seconds=max(0.0, start), deviation=0.0, runs=misses.size, error=math.hypot(error, min(start, 0.0)))


def usual(several: Sequence[StartUp]) -> StartUp | None:
    """What is usual, of start-up times of several layouts, or of the same run in several tables; ``None`` without any. One that was passed
    on to several counts once."""
    each = [*dict.fromkeys(several)]
    if len(each) < 2:
        return each[0] if each else None
    found = of_runs([one.seconds for one in each for _ in range(one.runs)])
    return found and found.model_copy(update={"error": median([one.error for one in each])})


def pairs(keys: Iterable[SeriesKey]) -> Iterator[tuple[SeriesKey, SeriesKey]]:
    """Pairs of a series of whole runs and a series of the work of the same runs (equal except for the metric) whose amount is known."""
    for members in grouped(keys, lambda key: key.model_dump_json(exclude={"metric", "unit"})).values():
        for wall in members:
            if wall.metric == WALL_TIME:
                yield from ((wall, one) for one in members if one is not wall and work(one))


def of_a_part(walls: Sequence[float], times: Sequence[float]) -> bool:
    """Whether times that :func:`may be of a part <maybe_part>` are not those of the work, by the total time in the same layouts.

    They are not if somewhere most of the time is something else (``io_time``), unless that stays while they shrink, as a start-up does.
    """
    whole, part = np.array(walls), np.array(times)
    rest = whole - part
    stays = rest.min() > 0 and math.log(rest.max() / rest.min()) < math.log(part.max() / part.min()) / 2
    return not stays and bool((whole > SAME_TIME * part).any())


def start_up_times(
    wall: Sequence[float], wall_ids: Sequence[int], speed: Sequence[float], speed_ids: Sequence[int], series: SeriesKey
) -> list[float]:
    """Start-up times of runs in one layout, in seconds: ``wall`` less the work by ``speed``, the values of ``series`` of the same runs.

    Results of one job are stored together, in order. If some are missing, medians are compared.
    """
    amount = work(series) or 0.0
    whole, part = _in_order(wall, wall_ids), _in_order(speed, speed_ids)
    if len(whole) != len(part):
        whole, part = np.median(whole, keepdims=True), np.median(part, keepdims=True)
    return [float(one) for one in whole - amount * metric_of(series).cost(part)]


def work(series: SeriesKey) -> float | None:
    """The factor from the cost of a unit (seconds; for a rate its inverse) to that of all the work of a run; ``None``: unknown.

    >>> work(SeriesKey(application="a", metric="step_time", unit="s", params={"steps": "100"}))
    100.0
    """
    measured, amount = metric_of(series), amount_of(series.params)
    if not measured.tells_cost:
        return None
    rate = work_unit(measured)
    if amount and rate and amount.counts == rate.counts:
        return amount.number * rate.seconds
    if amount and measured.per == amount.one:
        return amount.number
    if measured.per in PARTS:
        return positive_number(series.params.get(f"{measured.per}s"))
    if measured.per == "sample":
        epochs, samples = positive_number(series.params.get("epochs")), samples_of(series)
        return epochs * samples if epochs and samples else None
    return 1.0 if is_whole(series) else None


def common_lengths(keys: Collection[SeriesKey]) -> Mapping[SeriesKey, float]:
    """The length of the runs of each series, in a unit in which all give it; empty if there is none. They have the same metric: speeds and
    times of parts give the seconds of work that one second, or one unit, of them stands for (:func:`work`)."""
    if any(is_whole(key) for key in keys):
        given = [lengths(key.params) for key in keys]
        name = next((name for name in given[0] if all(name in each for each in given)), None)
        return {key: each[name] for key, each in zip(keys, given, strict=True)} if name else {}
    found = {key: work(key) or 0.0 for key in keys}
    return found if all(found.values()) else {}


def samples_of(series: SeriesKey) -> float | None:
    """The samples of each epoch of results; ``None``: not known."""
    return positive_number(series.params.get(SAMPLES))


def amount_of(params: Mapping[str, str]) -> Amount | None:
    """The amount of work of a run with these parameters; ``None``: not given, or not readable."""
    try:
        return parse_amount(params["amount"]) if "amount" in params else None
    except DataError:
        return None


def lengths(params: Mapping[str, str]) -> dict[str, float]:
    """The length of a run with these parameters, by unit: ``epochs``, ``steps``, or the unit of its amount; empty if unknown."""
    amount = amount_of(params)
    counts = {f"{part}s": positive_number(params.get(f"{part}s")) for part in PARTS}
    return {name: count for name, count in counts.items() if count} | ({amount.counts: amount.number} if amount else {})


def start_up_correction(scale: npt.ArrayLike, measured: npt.ArrayLike) -> Array:
    """What unknown start-up adds to the log time of a run ``scale`` times as long as one of ``measured`` seconds: above 0 if it is shorter.

    >>> start_up_correction([0.5, 2.0], 3600.0).round(3).tolist(), start_up_correction([0.5, 2.0], 75.0).round(3).tolist()
    ([0.095, -0.051], [0.588, -0.511])
    """
    part = np.clip(STARTING * LEAST_RUN / np.asarray(measured, dtype=np.float64), STARTING, MOST_STARTING)
    return np.asarray(np.log(1 - part + part / np.asarray(scale, dtype=np.float64)))


def is_whole(series: SeriesKey) -> bool:
    """Whether results are times of whole runs, and not per unit of work."""
    measured = metric_of(series)
    return measured.kind == "time" and measured.per == "run"


def of_steps(series: SeriesKey) -> bool:
    """Whether results are of a number of steps: of one, of a rate of them, or of a whole run whose length is given in steps alone."""
    if metric_of(series).per == "step":
        return True
    return is_whole(series) and lengths(series.params).keys() == {"steps"}


def maybe_part(series: SeriesKey) -> bool:
    """Whether results are times that count as those of whole runs, under a name that does not say so (``solve_time``, ``io_time``)."""
    return is_whole(series) and series.metric not in METRICS


def positive_number(text: str | None) -> float | None:
    """A parameter as a positive number that can be computed with; ``None``: it is none."""
    try:
        found = float(text or "")
    except ValueError:
        return None
    return found if 1e-30 <= found <= 1e30 else None


def _in_order(values: Sequence[float], ids: Sequence[int]) -> Array:
    found = np.array(values, dtype=np.float64)
    return found[np.argsort(ids)] if len(ids) == len(values) else found
