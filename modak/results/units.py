"""Units of results, of amounts of work, and of what a rate counts: their base units, and the factors that lead to these."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from modak.errors import DataError, did_you_mean

if TYPE_CHECKING:
    import numpy as np

Values = TypeVar("Values", float, "np.ndarray[Any, np.dtype[np.float64]]")
"""One value, or an array of them."""
Per = Literal["run", "epoch", "step", "sample"]
Kind = Literal["time", "throughput", "other"]


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


def _units(base: str, kind: Kind, factors: Mapping[str, float]) -> dict[str, Unit]:
    return {name: Unit(base, factor, kind) for name, factor in factors.items()}


_SI: Final = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_BINARY: Final = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50}
TIMES: Final = {
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
_CLIMATE: Final = {"year": 1.0, "years": 1.0, **dict.fromkeys(("month", "months"), 1 / 12), **dict.fromkeys(("day", "days"), 1 / 365)}
"""The same in years, for models of the climate."""
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
    **{word: (f"{word}s", None) for word in ("site", "voxel", "ray", "molecule", "ligand", "frame", "event", "file", "job")},
    **{word: (f"{word}s", None) for word in ("record", "row", "document", "word", "shot", "spike", "cycle", "draw")},
    **{f"{word}-step": (f"{word}-steps", None) for word in ("cell", "particle", "atom")},
    "zone-cycle": ("zone-cycles", None),
    **dict.fromkeys(("DOF", "DoF", "dof"), ("DOF", None)),
    "pt": ("points", None),
    "z": ("zones", None),
    "1": ("1", None),
}
_UNITS: Final[Mapping[str, Unit]] = {
    **_units("s", "time", TIMES),
    **_units("B", "other", _BYTES),
    **_units("B/s", "throughput", {f"{name}{end}": factor for name, factor in _BYTES.items() for end in _PER_SECOND}),
    **_units("B/s", "throughput", {f"{prefix}{word}/s": _SI[prefix] / 8 for prefix in "kMGT" for word in ("bit", "bits")}),
    **_units("FLOP/s", "throughput", _FLOPS),
    **_units("ns/day", "throughput", {f"{name}/{day}": size for name, size in _SIMULATED.items() for day in ("day", "d")}),
    **_units("ns/day", "throughput", {f"{name}/{hour}": 24 * size for name, size in _SIMULATED.items() for hour in ("hour", "h")}),
    **_units("years/day", "throughput", {"SYPD": 1.0, "SDPD": 1 / 365}),
    **_units("years/day", "throughput", {f"{name}/{day}": size for name, size in _CLIMATE.items() for day in ("day", "d")}),
    **_units("years/day", "throughput", {f"{name}/{hour}": 24 * size for name, size in _CLIMATE.items() for hour in ("hour", "h")}),
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
        shown = text[:_LONGEST]
        raise DataError(f"unknown unit {shown!r}{_meant(_PER.sub('/', shown))} known: {KNOWN_UNITS}", field="unit")
    return found


def known_unit(text: str) -> Unit | None:
    """The unit that ``text`` names; ``None``: it is not known. Looks for no similar one, which takes milliseconds."""
    if len(text) > _LONGEST:  # a file may have a megabyte there
        return None
    plain = _SECOND.sub("/s", _PER.sub("/", text))
    return _UNITS.get(plain) or _UNITS.get("/".join(map(_small, plain.split("/")))) or _rate(plain) or _time_for(plain)


def per_part_rate(text: str) -> tuple[str, str] | None:
    """Of a rate of each node, rank or GPU the unit of all of them together, and of which it is; ``None``: the text is none.

    >>> per_part_rate("tok/s/gpu"), per_part_rate("TFLOP/s per node"), per_part_rate("ms/step/GPU"), per_part_rate("tokens/s")
    (('tok/s', 'gpu'), ('TFLOP/s', 'node'), None, None)
    """
    found = _OF_ONE.fullmatch(_PER.sub("/", text[:_LONGEST]))
    known = known_unit(found[1]) if found else None
    part = _EACH.get(found[2].lower()) if found else None
    return (found[1], part) if found and part and known and known.kind == "throughput" else None


def aggregate_unit(text: str) -> str:
    """The unit of all of them together, of a rate of each node, rank or GPU; else the text."""
    each = per_part_rate(text)
    return each[0] if each else text


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


_LONGEST: Final = 100
"""Characters of a unit; none is nearly as long."""
_PER: Final = re.compile(r"\s*/\s*|\s+per\s+")
_SECOND: Final = re.compile(r"/(secs?|seconds?)$", re.IGNORECASE)
_BITS: Final = re.compile(r"([kKmMgGtT])b(ps|/s|/sec)")
"""Bits by the rules, and what some write for bytes: a guess would be wrong by a factor of eight."""
_OF_ONE: Final = re.compile(r"(.+/.+|.*FLOPS)/(gpu|device|core|node|rank|worker|chip|socket|thread|process)s?", re.IGNORECASE)
_EACH: Final = {"node": "node", "rank": "rank", "process": "rank", "gpu": "gpu", "device": "gpu"}
"""Parts of the machine that results count."""


KNOWN_UNITS: Final = (
    "ns, us, ms, s, min, h, days; s/epoch, ms/step, s/sample, h/ns, …; "
    "samples/s, images/s, steps/s, epochs/h, Mcells/s, tokens/s, …, 1/s (a figure of merit); "
    "FLOP/s, GFLOP/s, TFLOP/s, …; ns/day, SYPD; "
    "B, MB, GB, KiB, MiB, …; B/s, GB/s, …; J, kWh; W; 1, %"
)


def _rate(text: str) -> Unit | None:
    """A count per time: ``images/s``, ``steps/day``, ``Mcells/s``; ``None``: the text is none."""
    found = re.fullmatch(r"([A-Za-z1-]+)/([A-Za-z]+)", text)
    time = TIMES.get(_small(found[2]), 0) if found else 0
    if not found or time < 1:
        return None
    for prefix, word in (("", found[1]), (found[1][0], _small(found[1][1:])), ("", _small(found[1]))):
        known = _COUNTS.get(word) or _COUNTS.get(word.removesuffix("s"))
        if known and prefix in _THOUSANDS:
            return Unit(f"{known[0]}/s", _SI[prefix] / time, "throughput", known[1])
    return None


def _time_for(text: str) -> Unit | None:
    """A time per count: ``ms/step``, ``s/epoch``, ``h/ns``; ``None``: the text is none."""
    time, _, word = text.partition("/")
    factor, rate = TIMES.get(_small(time)), rate_of(word)
    if factor is None or rate is None or rate.base.startswith("1/"):
        return None
    return Unit(f"s/{Amount(1, rate.base.rpartition('/')[0]).one}", factor / rate.factor, "time", rate.per)


def _small(word: str) -> str:
    """A word in lower case; abbreviations such as ``MW`` and ``mW`` stay, since their case has a meaning."""
    return word.lower() if len(word) > 2 and word[1:].islower() else word


def rate_of(word: str) -> Unit | None:
    """The rate per second, or per day, that counts this unit; ``None``: there is none."""
    rates = (_UNITS.get(f"{word}/{time}") or _rate(f"{word}/{time}") for time in ("s", "day"))
    return next((rate for rate in rates if rate is not None and rate.kind == "throughput"), None)


def spellings_of(base: str) -> tuple[str, ...]:
    """The units with this base unit, one spelling of each."""
    found: dict[float, str] = {}
    for name, unit in _UNITS.items():
        if unit.base == base:
            found.setdefault(unit.factor, name)
    return tuple(found.values())


def singular(counts: str) -> str:
    """The singular of a counted unit.

    >>> singular("epochs"), singular("ns"), singular("1")
    ('epoch', 'ns', 'unit')
    """
    return {"ns": "ns", "1": "unit"}.get(counts, counts.removesuffix("s"))


_THOUSANDS: Final = ("", "k", "M", "G", "T")
_NUMBER: Final = re.compile(r"[0-9]{1,15}(\.[0-9]{1,15})?([eE][+-]?[0-9]{1,2})?")
_LARGEST_AMOUNT: Final = 1e30


@lru_cache(maxsize=256)
def parse_amount(text: str) -> Amount:
    """An amount of work: a number, and a unit that a rate can count (without one: plain units, as in ``1/s``).

    Raises :class:`modak.errors.DataError` unless the number is positive and the unit can be counted by a rate.

    >>> parse_amount("0.5us"), parse_amount("3 GFLOP"), parse_amount("12")
    (Amount(number=500.0, counts='ns'), Amount(number=3000000000.0, counts='FLOP'), Amount(number=12.0, counts='1'))
    """
    number = _NUMBER.match(text.strip())
    found = rate_of(number.string[number.end() :].strip() or "1") if number else None
    if number is None or found is None or not 0 < float(number[0]) <= _LARGEST_AMOUNT:
        counted = "what a rate counts, such as '500 ns', '30 years', '2e6 steps'; '1e9' for a rate in 1/s"
        raise DataError(f"{text!r}: allowed: a positive number and {counted}")
    return Amount(_scaled(float(number[0]), found.factor), found.base.rpartition("/")[0])


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
