"""Metrics: the meaning of a measured number, its base unit, and whether less or more is better.

A metric that is not in :data:`METRICS` may have any unit of time (less is better) or any rate (more is better).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from modak.errors import DataError, unknown
from modak.results import failures
from modak.results.units import TIMES, Kind, Per, Values, known_unit, parse_unit, rate_of, spellings_of

if TYPE_CHECKING:
    from modak.facts import SeriesKey

Better = Literal["lower", "higher"]
UNITS_OF_WORK: Final[tuple[Per, ...]] = ("epoch", "step", "sample")
"""Units of work that have metrics of their own: ``epoch_time`` and so on."""
WALL_TIME: Final = "wall_time"
"""The time of a whole run, measured from outside."""
LATENCY: Final = "latency"
"""What is in the name of every metric of single requests: ``latency``, ``p99_latency``."""


@dataclass(frozen=True)
class Metric:
    """A measured quantity. Values are stored in ``unit``, the base unit."""

    name: str
    unit: str
    better: Better
    per: Per | None
    """The unit of work: ``epoch`` for a time per epoch, ``sample`` for a throughput of samples; ``None``: none that workloads count."""
    kind: Kind

    @property
    def is_rate(self) -> bool:
        """Whether its values are rates of work."""
        return self.kind == "throughput"

    @property
    def of_request(self) -> bool:
        """Whether it is the time of one request, or of one batch of them: further workers answer others, and do not shorten it."""
        return self.kind == "time" and self.unit == "s" and LATENCY in self.name.lower()

    @property
    def tells_cost(self) -> bool:
        """Whether its values are times or rates of work, so that models can be fitted to them."""
        return self.kind != "other"

    def cost(self, values: Values) -> Values:
        """Times as they are, and of rates their inverse: seconds for one unit of work. The inverse of itself."""
        return 1.0 / values if self.is_rate else values


_OF_RUNS: Final = (WALL_TIME, "run_time", "elapsed_time", "time", "training_time", "time_to_solution")
METRICS: Final[Mapping[str, Metric]] = {
    metric.name: metric
    for metric in (
        *(Metric(name, "s", "lower", "run", "time") for name in _OF_RUNS),
        *(Metric(f"{one}_time", "s", "lower", one, "time") for one in UNITS_OF_WORK),
        Metric("start_up_time", "s", "lower", None, "time"),
        Metric(LATENCY, "s", "lower", None, "time"),
        Metric("throughput", "samples/s", "higher", "sample", "throughput"),
        Metric("performance", "FLOP/s", "higher", None, "throughput"),
        Metric("bandwidth", "B/s", "higher", None, "throughput"),
        Metric("energy", "J", "lower", "run", "other"),
        Metric("power", "W", "lower", None, "other"),
        Metric("memory", "B", "lower", None, "other"),
        Metric("device_memory", "B", "lower", None, "other"),
        Metric("free_memory", "B", "higher", None, "other"),
        Metric("speedup", "1", "higher", None, "other"),
        Metric("efficiency", "1", "higher", None, "other"),
        Metric("accuracy", "1", "higher", None, "other"),
        Metric("loss", "1", "lower", None, "other"),
        *(Metric(name, "1", "lower", None, "other") for name in failures.COUNTED),
        Metric(failures.STOPPED, "s", "lower", None, "other"),
    )
}


def unseparated(name: str) -> str:
    """A name in lower case without its separators."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


_PART_OF_MACHINE: Final = re.compile(r".+per(gpu|device|core|node|rank|worker|chip|socket|thread|process)")
_TIMES_FOLDED: Final = {unseparated(name): name for name, known in METRICS.items() if known.kind == "time"}


@lru_cache(maxsize=256)
def metric(name: str, unit: str | None = None) -> Metric:
    """The metric called ``name``, measured in ``unit`` (not given: its base unit).

    Raises :class:`modak.errors.DataError` for an unknown unit, for a unit that does not fit the metric, and for an unknown
    metric whose unit does not tell the better direction.

    >>> metric("epoch_time").unit, metric("render_time", "ms").better, metric("throughput", "tokens/s").unit
    ('s', 'lower', 'tokens/s')
    """
    known = METRICS.get(name)
    if known is None:
        return _unknown(name, unit)
    if unit is None:
        return known
    measured = parse_unit(unit)
    if measured.base == known.unit or (measured.kind == known.kind == "time" and measured.per and measured.per == known.per):
        return known
    if measured.kind == known.kind == "throughput":
        return Metric(name, measured.base, "higher", measured.per, "throughput")
    hint = f"; a time per {measured.per} is the metric '{measured.per}_time'" if measured.kind == "time" and measured.per else ""
    raise DataError(f"{unit!r} is not a unit of {name}; allowed: {_allowed(known)}{hint}", field="unit")


def known_metric(name: str, unit: str | None) -> Metric | None:
    """The same; ``None`` where :func:`metric` raises. Looks for no similar name or unit, which takes milliseconds."""
    measured = None if unit is None else known_unit(unit)
    if (unit is not None and measured is None) or (name not in METRICS and (measured is None or measured.kind == "other")):
        return None
    try:
        return metric(name, unit)
    except DataError:
        return None


def metric_of(series: SeriesKey) -> Metric:
    """The metric of a series. Raises as :func:`metric`."""
    return metric(series.metric, series.unit)


class WorkUnit(NamedTuple):
    """What a rate, or a time per amount, counts, and its unit of time in seconds."""

    counts: str
    seconds: float


def work_unit(metric: Metric) -> WorkUnit | None:
    """The unit of work of a metric; ``None``: it counts nothing.

    >>> work_unit(metric("speed", "us/day")), work_unit(metric("cost", "h/ns"))
    (WorkUnit(counts='ns', seconds=86400.0), WorkUnit(counts='ns', seconds=1.0))
    >>> work_unit(metric("throughput")), work_unit(metric("latency"))
    (WorkUnit(counts='samples', seconds=1.0), None)
    """
    left, _, right = metric.unit.rpartition("/")
    if metric.is_rate:
        return WorkUnit(left, TIMES[right])
    found = rate_of(right) if metric.kind == "time" and left else None
    return WorkUnit(found.base.rpartition("/")[0], 1.0) if found else None


def misnamed(name: str, unit: str | None) -> str | None:
    """A warning for a metric that counts as the time of a whole run although its name mentions a part of one, and for another spelling of a
    known time; else ``None``.

    >>> misnamed("seconds_per_epoch", "s")
    "metric 'seconds_per_epoch' counts as the time of a whole run; that of each epoch is called 'epoch_time'"
    """
    if name in METRICS:
        return None
    if of_one := _PART_OF_MACHINE.fullmatch(unseparated(name)):
        return (
            f"metric {name!r}: what each {of_one[1]} does is not what the run does; load that of all of them together, under another name"
        )
    if meant := _TIMES_FOLDED.get(unseparated(name)):
        return f"metric {name!r} is not taken for {meant!r}, which jobs and other tables may have; if it is that, load it under that name"
    one = next((one for one in UNITS_OF_WORK if one in name.lower()), None)
    known = metric(name, unit) if one else None
    if known is None or known.kind != "time" or known.per != "run":
        return None
    return f"metric {name!r} counts as the time of a whole run; that of each {one} is called '{one}_time'"


def _unknown(name: str, unit: str | None) -> Metric:
    if unit is None:
        meant = _unit_in(name) or f"{unknown('metric', name, METRICS)}; another metric needs a 'unit' of time or per second"
        raise DataError(meant, field="metric")
    measured = parse_unit(unit)
    if measured.kind == "other":
        raise DataError(
            f"{unknown('metric', name, METRICS)}; in {unit!r} it is not known whether less or more is better: "
            "another metric needs a 'unit' of time (less is better) or per second (more is better)",
            field="metric",
        )
    if measured.kind == "time":
        of_run = measured.base == "s" and LATENCY not in name.lower()
        return Metric(name, measured.base, "lower", "run" if of_run else measured.per, "time")
    return Metric(name, measured.base, "higher", measured.per, "throughput")


def _unit_in(name: str) -> str | None:
    """How to write a metric whose name is, or ends with, a unit; ``None``: neither is so.

    >>> _unit_in("time_s")
    "unknown metric 'time_s'; write 'time', and 's' into the column 'unit'"
    """
    metric, _, unit = name.rpartition("_")
    known = known_unit(unit)
    if known and metric in METRICS:
        return f"unknown metric {name!r}; write {metric!r}, and {unit!r} into the column 'unit'"
    if not known or metric or known.kind == "other":
        return None
    usual = next((one.name for one in METRICS.values() if one.kind == "throughput" and one.unit == known.base), known.kind)
    return f"{name!r} is a unit, and goes into the column 'unit'; the metric may be {usual!r}"


def _allowed(metric: Metric) -> str:
    """The allowed units of a metric, for a message."""
    return f"{metric.unit}, or something else per second" if metric.is_rate else ", ".join(spellings_of(metric.unit))
