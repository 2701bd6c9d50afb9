"""What starting a run takes: the time of the whole run less that of its work, where results of one run tell both.

A job that MODAK wrote times itself (``wall_time``), and may print how fast its work went: a rate, the time of an epoch, of a step or of
all its work. What is left of the whole is start-up: reading data, compiling, the first step, finishing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from modak.errors import DataError
from modak.facts import Fact, SeriesKey
from modak.results.metrics import Amount, counted, metric, parse_amount

WHOLE: Final = "wall_time"
"""The time of a whole run, as whoever started it took it."""
LENGTHS: Final = ("epochs", "steps", "amount")
"""Parameters that say how long a run was; another length makes no other rate."""
UNSTEADY: Final = 0.25
"""Standard deviation of start-up times in parts of the median, which counts as :data:`USUAL` runs beside those measured. Judgement: files
are read from the disk or from memory, images are there or have to be fetched."""
USUAL: Final = 2.0


class StartUp(Fact):
    """What starting takes, in seconds: the median of so many ``runs``, and their standard deviation."""

    seconds: float
    deviation: float
    runs: int

    @property
    def doubt(self) -> float:
        """The standard deviation of the next one, in seconds."""
        squares = USUAL * (UNSTEADY * self.seconds) ** 2 + (self.runs - 1) * self.deviation**2
        return float(np.sqrt(squares / (USUAL + self.runs - 1)))


def of_runs(seconds: Sequence[float]) -> StartUp | None:
    """From what is left of each run; ``None``: there is none. Never negative."""
    if not seconds:
        return None
    deviation = float(np.std(seconds, ddof=1)) if len(seconds) > 1 else 0.0
    return StartUp(seconds=max(0.0, float(np.median(seconds))), deviation=deviation, runs=len(seconds))


def pairs(keys: Sequence[SeriesKey]) -> Iterator[tuple[SeriesKey, SeriesKey]]:
    """Series of whole runs, each with one of the work of the same runs: equal in all that is no metric, and the work is known."""
    by_run: dict[str, list[SeriesKey]] = {}
    for key in keys:
        by_run.setdefault(key.model_dump_json(exclude={"metric", "unit"}), []).append(key)
    for members in by_run.values():
        for wall in members:
            if wall.metric == WHOLE:
                yield from ((wall, one) for one in members if one is not wall and work(one))


def left(
    wall: Sequence[float], wall_ids: Sequence[int], speed: Sequence[float], speed_ids: Sequence[int], series: SeriesKey
) -> list[float]:
    """Seconds that are left of each of some runs in one layout; ``speed`` are values of ``series``, of the same runs.

    Results of one job are stored together, in order; where some are missing, medians are compared.
    """
    amount = work(series) or 0.0
    whole, part = _in_order(wall, wall_ids), _in_order(speed, speed_ids)
    if len(whole) != len(part):
        whole, part = np.median(whole, keepdims=True), np.median(part, keepdims=True)
    costs = 1 / part if metric(series.metric, series.unit).kind == "throughput" else part
    return [float(one) for one in whole - amount * costs]


def work(series: SeriesKey) -> float | None:
    """What the cost of a unit (seconds; of a rate its inverse) is multiplied by for all the work of a run; ``None``: it is not told.

    >>> work(SeriesKey(application="a", metric="step_time", unit="s", params={"steps": "100"}))
    100.0
    """
    kind, amount = metric(series.metric, series.unit), amount_of(series)
    if kind.kind not in ("time", "throughput"):
        return None
    rate = counted(kind)
    if amount and rate and amount.counts == rate[0]:
        return amount.number * rate[1]
    if amount and kind.per == amount.one:
        return amount.number
    if kind.per in ("epoch", "step"):
        return number(series.params.get(f"{kind.per}s"))
    return 1.0 if kind.per == "run" and kind.kind == "time" else None


def amount_of(series: SeriesKey) -> Amount | None:
    """How much results say that the run did (``params.amount``); ``None``: they do not."""
    try:
        return parse_amount(series.params["amount"]) if "amount" in series.params else None
    except DataError:
        return None


def lengths(series: SeriesKey) -> dict[str, float]:
    """How long results say that the run was, by what counts: ``epochs``, ``steps``, or what an amount is of."""
    amount = amount_of(series)
    counts = {name: number(series.params.get(name)) for name in ("epochs", "steps")}
    return {name: count for name, count in counts.items() if count} | ({amount.counts: amount.number} if amount else {})


def is_whole(series: SeriesKey) -> bool:
    """Whether results are times of whole runs, and not of so much work."""
    kind = metric(series.metric, series.unit)
    return kind.kind == "time" and kind.per == "run"


def number(text: str | None) -> float | None:
    """The positive number that a parameter is; ``None``: it is none."""
    try:
        found = float(text or "")
    except ValueError:
        return None
    return found if 0 < found < float("inf") else None


def _in_order(values: Sequence[float], ids: Sequence[int]) -> npt.NDArray[np.float64]:
    found = np.array(values, dtype=np.float64)
    return found[np.argsort(ids, kind="stable")] if len(ids) == len(values) else found
