"""Metrics and units: the meaning of a measured number, its base unit, and whether less or more is better.

A metric that is not in :data:`METRICS` may have any unit of time (less is better) or any rate (more is better).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeVar

from modak.errors import DataError, did_you_mean, unknown
from modak.results import failures

if TYPE_CHECKING:
    import numpy as np

    from modak.facts import SeriesKey

Values = TypeVar("Values", float, "np.ndarray[Any, np.dtype[np.float64]]")
"""One value, or an array of them."""
Better = Literal["lower", "higher"]
Per = Literal["run", "epoch", "step", "sample"]
Kind = Literal["time", "throughput", "other"]
PARTS: Final = ("epoch", "step", "sample")
"""Parts of a run that have metrics of their own: ``epoch_time`` and so on."""
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


@dataclass(frozen=True)
class Unit:
    """A unit: ``factor`` turns a value into the base unit."""

    base: str
    factor: float
    kind: Kind
    per: Per | None = None


@dataclass(frozen=True)
class Amount:
    """An amount of work: ``number`` of ``counts``, the part of a rate's base unit before its slash."""

    number: float
    counts: str

    @property
    def one(self) -> str:
        """The singular of its unit."""
        return singular(self.counts)


METRICS: Final[Mapping[str, Metric]] = {
    metric.name: metric
    for metric in (
        Metric(WALL_TIME, "s", "lower", "run", "time"),
        Metric("run_time", "s", "lower", "run", "time"),
        Metric("elapsed_time", "s", "lower", "run", "time"),
        Metric("time", "s", "lower", "run", "time"),
        Metric("training_time", "s", "lower", "run", "time"),
        Metric("time_to_solution", "s", "lower", "run", "time"),
        Metric("epoch_time", "s", "lower", "epoch", "time"),
        Metric("step_time", "s", "lower", "step", "time"),
        Metric("sample_time", "s", "lower", "sample", "time"),
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
        *(Metric(name, "1", "lower", None, "other") for name in failures.METRICS),
    )
}


def unseparated(name: str) -> str:
    """A name in lower case without its separators."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


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
    """The same; ``None`` where :func:`metric` raises."""
    try:
        return metric(name, unit)
    except DataError:
        return None


def metric_of(series: SeriesKey) -> Metric:
    """The metric of a series. Raises as :func:`metric`."""
    return metric(series.metric, series.unit)


def singular(counts: str) -> str:
    """The singular of a counted unit.

    >>> singular("epochs"), singular("ns"), singular("1")
    ('epoch', 'ns', 'unit')
    """
    return {"ns": "ns", "1": "unit"}.get(counts, counts.removesuffix("s"))


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
        return WorkUnit(left, _TIMES[right])
    found = _rate_of(right) if metric.kind == "time" and left else None
    return WorkUnit(found.base.rpartition("/")[0], 1.0) if found else None


@lru_cache(maxsize=256)
def parse_amount(text: str) -> Amount:
    """An amount of work: a number, and a unit that a rate can count (without one: plain units, as in ``1/s``).

    Raises :class:`modak.errors.DataError` unless the number is positive and the unit can be counted by a rate.

    >>> parse_amount("0.5us"), parse_amount("3 GFLOP"), parse_amount("12")
    (Amount(number=500.0, counts='ns'), Amount(number=3000000000.0, counts='FLOP'), Amount(number=12.0, counts='1'))
    """
    number = _NUMBER.match(text.strip())
    found = _rate_of(number.string[number.end() :].strip() or "1") if number else None
    if number is None or found is None or not 0 < float(number[0]) <= _LARGEST_AMOUNT:
        raise DataError(f"{text!r}: allowed: a positive number and what a rate counts, such as '500 ns', '2e6 steps', '3 PFLOP'")
    return Amount(_scaled(float(number[0]), found.factor), found.base.rpartition("/")[0])


def misnamed(name: str, unit: str | None) -> str | None:
    """A warning for a metric that counts as the time of a whole run although its name mentions a part of one, and for another spelling of a
    known time; else ``None``.

    >>> misnamed("seconds_per_epoch", "s")
    "metric 'seconds_per_epoch' counts as the time of a whole run; that of each epoch is called 'epoch_time'"
    """
    of_one = None if name in METRICS else _PART_OF_MACHINE.fullmatch(unseparated(name))
    if of_one:
        return (
            f"metric {name!r}: what each {of_one[1]} does is not what the run does; load that of all of them together, under another name"
        )
    meant = None if name in METRICS else _TIMES_FOLDED.get(unseparated(name))
    if meant:
        return f"metric {name!r} is not taken for {meant!r}, which jobs and other tables may have; if it is that, load it under that name"
    part = next((part for part in PARTS if part in name.lower()), None)
    known = None if part is None or name in METRICS else metric(name, unit)
    if known is None or known.kind != "time" or known.per != "run":
        return None
    return f"metric {name!r} counts as the time of a whole run; that of each {part} is called '{part}_time'"


def to_base(value: Values, unit: str | None) -> Values:
    """``value`` (or an array of values), measured in ``unit`` (``None``: the base unit), in the base unit of its metric.

    >>> to_base(1500.0, "ms"), to_base(2.0, "TFLOP/s")
    (1.5, 2000000000000.0)
    """
    return value if unit is None else _scaled(value, parse_unit(unit).factor)


def from_base(value: Values, unit: str) -> Values:
    """``value`` (or an array of values), in the base unit of its metric, measured in ``unit``: the inverse of :func:`to_base`.

    >>> from_base(1.5, "ms"), from_base(90.0, "min")
    (1500.0, 1.5)
    """
    return _scaled(value, 1 / parse_unit(unit).factor)


def _scaled(value: Values, factor: float) -> Values:
    # A division by a whole number is exact where a multiplication by its inverse is not: 1500 ms are 1.5 s, not 1.5000000000000002.
    inverse = round(1 / factor)
    return value / inverse if inverse > 1 and math.isclose(inverse * factor, 1, rel_tol=1e-12) else value * factor


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


def _units(base: str, kind: Kind, factors: Mapping[str, float]) -> dict[str, Unit]:
    return {name: Unit(base, factor, kind) for name, factor in factors.items()}


_SI: Final = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_BINARY: Final = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50}
_TIMES: Final = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
    **dict.fromkeys(("ms", "msec", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("us", "µs", "μs", "usec", "microsecond", "microseconds"), 1e-6),
    **dict.fromkeys(("ns", "nsec", "nanosecond", "nanoseconds"), 1e-9),
}
_SIMULATED: Final = {"ps": 1e-3, "ns": 1.0, "us": 1e3, "µs": 1e3, "μs": 1e3, "ms": 1e6}
"""Units of simulated time, in nanoseconds, in which molecular dynamics counts its work."""
_BYTES: Final = {
    f"{prefix}{word}": factor for prefix, factor in {**_SI, "K": 1e3, **_BINARY}.items() for word in ("B", "Byte", "Bytes", "byte", "bytes")
}
_FLOPS_WORDS: Final = ("FLOPS", "FLOPs", "Flops", "flops")
_FLOP_WORDS: Final = (*_FLOPS_WORDS, *(f"{word}/s" for word in (*_FLOPS_WORDS, "FLOP", "Flop", "flop")))
_PER_SECOND: Final = ("/s", "ps")
_FLOPS: Final = {f"{prefix}{word}": factor for prefix, factor in _SI.items() for word in _FLOP_WORDS}
_COUNTS: Final[Mapping[str, tuple[str, Per | None]]] = {
    **dict.fromkeys(("sample", "image", "img", "imgs", "sequence", "seq", "sentence", "example"), ("samples", "sample")),
    **dict.fromkeys(("step", "timestep", "iteration", "iter", "it", "batch", "batche"), ("steps", "step")),
    "epoch": ("epochs", "epoch"),
    **dict.fromkeys(("token", "tok"), ("tokens", None)),
    **dict.fromkeys(("request", "req"), ("requests", None)),
    "operation": ("operations", None),
    "op": ("operations", None),
    "item": ("items", None),
    **dict.fromkeys(("update", "LUP", "UP"), ("updates", None)),
    **dict.fromkeys(("query", "querie"), ("queries", None)),
    **dict.fromkeys(("message", "msg"), ("messages", None)),
    **dict.fromkeys(("transaction", "txn"), ("transactions", None)),
    **{word: (f"{word}s", None) for word in ("cell", "zone", "point", "element", "particle", "photon", "atom", "lookup", "edge")},
    **{word: (f"{word}s", None) for word in ("site", "voxel", "ray", "molecule", "ligand", "frame", "event", "file", "record", "job")},
    **{f"{word}-step": (f"{word}-steps", None) for word in ("cell", "particle", "atom")},
    "zone-cycle": ("zone-cycles", None),
    **dict.fromkeys(("DOF", "DoF", "dof"), ("DOF", None)),
    "pt": ("points", None),
    "1": ("1", None),
}
_UNITS: Final[Mapping[str, Unit]] = {
    **_units("s", "time", _TIMES),
    **_units("B", "other", _BYTES),
    **_units("B/s", "throughput", {f"{name}{end}": factor for name, factor in _BYTES.items() for end in _PER_SECOND}),
    **_units("B/s", "throughput", {f"{prefix}bit/s": _SI[prefix] / 8 for prefix in "kMGT"}),
    **_units("FLOP/s", "throughput", _FLOPS),
    **_units("ns/day", "throughput", {f"{name}/{day}": size for name, size in _SIMULATED.items() for day in ("day", "d")}),
    **_units("ns/day", "throughput", {f"{name}/{hour}": 24 * size for name, size in _SIMULATED.items() for hour in ("hour", "h")}),
    **_units("years/day", "throughput", {"years/day": 1.0, "SYPD": 1.0, "SDPD": 1 / 365}),
    **_units("tau/day", "throughput", {"tau/day": 1.0}),
    **_units("updates/s", "throughput", {f"{prefix}{word}": _SI[prefix] for prefix in "kMGT" for word in ("UPS", "LUPS", "FLUPS")}),
    **_units("edges/s", "throughput", {f"{prefix}TEPS": _SI[prefix] for prefix in ("", *"kMGT")}),
    **_units("operations/s", "throughput", {f"{prefix}{word}": _SI[prefix] for prefix in ("", *"kMGT") for word in ("IOPS", "OPS")}),
    **_units("frames/s", "throughput", {"fps": 1.0, "FPS": 1.0}),
    **_units("queries/s", "throughput", {"qps": 1.0, "QPS": 1.0}),
    **_units("J", "other", {"J": 1.0, "joule": 1.0, "joules": 1.0, "kJ": 1e3, "MJ": 1e6, "GJ": 1e9}),
    **_units("J", "other", {"Wh": 3600.0, "kWh": 3.6e6, "MWh": 3.6e9}),
    **_units("W", "other", {"mW": 1e-3, "W": 1.0, "watt": 1.0, "watts": 1.0, "kW": 1e3, "MW": 1e6}),
    **_units("1", "other", {"1": 1.0, "%": 0.01, "percent": 0.01, "x": 1.0}),
    "Hz": Unit("1/s", 1.0, "throughput"),
}


def parse_unit(text: str) -> Unit:
    """The unit that ``text`` names; raises :class:`modak.errors.DataError` for one that is not known.

    >>> parse_unit("images/min").base, parse_unit("GFLOP/s").factor, parse_unit("ms per iteration").base
    ('samples/s', 1000000000.0, 's/step')
    """
    found = known_unit(text)
    if found is None:
        raise DataError(f"unknown unit {text!r}{_meant(_PER.sub('/', text))} known: {KNOWN_UNITS}", field="unit")
    return found


def known_unit(text: str) -> Unit | None:
    """The unit that ``text`` names; ``None``: it is not known. Looks for no similar one, which takes milliseconds."""
    plain = _SECOND.sub("/s", _PER.sub("/", text))
    return _UNITS.get(plain) or _UNITS.get("/".join(map(_small, plain.split("/")))) or _rate(plain) or _time_for(plain)


def _meant(text: str) -> str:
    """A hint for an unknown unit."""
    of_one = _OF_ONE.fullmatch(text)
    if of_one:
        return f": what each {of_one[2]} does is not what the run does; give that of all of them together, in {of_one[1]};"
    bits = _BITS.fullmatch(text)
    if bits:
        prefix = bits[1].upper().replace("K", "k")
        return f": bits are '{prefix}bit/s', bytes '{prefix}B/s';"
    if ":" in text:
        return ": a value that is written as a clock shows it (0:09:07) is in seconds, and needs no unit;"
    return did_you_mean(text, (*_UNITS, *(f"{word}s/s" for word in _COUNTS)))


_PART_OF_MACHINE: Final = re.compile(r".+per(gpu|device|core|node|rank|worker|chip|socket|thread|process)")
_PER: Final = re.compile(r"\s*/\s*|\s+per\s+")
_SECOND: Final = re.compile(r"/(secs?|seconds?)$", re.IGNORECASE)
_BITS: Final = re.compile(r"([kKmMgGtT])b(ps|/s|/sec)")
"""Bits by the rules, and what some write for bytes: a guess would be wrong by a factor of eight."""
_OF_ONE: Final = re.compile(r"(.+/.+|.*FLOPS)/(GPU|gpu|device|core|node|rank|worker|chip|socket|thread|process)s?")


KNOWN_UNITS: Final = (
    "ns, us, ms, s, min, h, days; s/epoch, ms/step, s/sample, h/ns, …; "
    "samples/s, images/s, steps/s, epochs/h, Mcells/s, tokens/s, …, 1/s (a figure of merit); "
    "FLOP/s, GFLOP/s, TFLOP/s, …; ns/day, SYPD; "
    "B, MB, GB, KiB, MiB, …; B/s, GB/s, …; J, kWh; W; 1, %"
)


def _rate(text: str) -> Unit | None:
    """A count per time: ``images/s``, ``steps/day``, ``Mcells/s``; ``None``: the text is none."""
    found = re.fullmatch(r"([A-Za-z1-]+)/([A-Za-z]+)", text)
    time = _TIMES.get(_small(found[2]), 0) if found else 0
    if not found or time < 1:
        return None
    for prefix, word in (("", found[1]), (found[1][0], found[1][1:]), ("", _small(found[1]))):
        known = _COUNTS.get(word) or _COUNTS.get(word.removesuffix("s"))
        if known and prefix in _THOUSANDS:
            return Unit(f"{known[0]}/s", _SI[prefix] / time, "throughput", known[1])
    return None


def _time_for(text: str) -> Unit | None:
    """A time per count: ``ms/step``, ``s/epoch``, ``h/ns``; ``None``: the text is none."""
    time, _, word = text.partition("/")
    factor, rate = _TIMES.get(_small(time)), _rate_of(word)
    if factor is None or rate is None or rate.base.startswith("1/"):
        return None
    return Unit(f"s/{Amount(1, rate.base.rpartition('/')[0]).one}", factor / rate.factor, "time", rate.per)


def _small(word: str) -> str:
    """A word in lower case; abbreviations such as ``MW`` and ``mW`` stay, since their case has a meaning."""
    return word.lower() if len(word) > 2 and word[1:].islower() else word


def _rate_of(word: str) -> Unit | None:
    """The rate per second, or per day, that counts this unit; ``None``: there is none."""
    rates = (_UNITS.get(f"{word}/{time}") or _rate(f"{word}/{time}") for time in ("s", "day"))
    return next((rate for rate in rates if rate is not None and rate.kind == "throughput"), None)


_THOUSANDS: Final = ("", "k", "M", "G", "T")
_NUMBER: Final = re.compile(r"[0-9]{1,15}(\.[0-9]{1,15})?([eE][+-]?[0-9]{1,2})?")
_LARGEST_AMOUNT: Final = 1e30


def _allowed(metric: Metric) -> str:
    """The allowed units of a metric, for a message."""
    if metric.kind == "throughput":
        return f"{metric.unit}, or something else per second"
    spellings: dict[float, str] = {}
    for name, unit in _UNITS.items():
        if unit.base == metric.unit:
            spellings.setdefault(unit.factor, name)
    return ", ".join(spellings.values())
