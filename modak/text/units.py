"""Lengths of time, sizes of memory or data, and switches: the spellings that are read, and the form of times that Slurm reads.

Units of results are in :mod:`modak.results.units`.
"""

from __future__ import annotations

import re
from math import ceil
from typing import Final

YES: Final = frozenset({"true", "yes", "on", "y", "t", "1"})
NO: Final = frozenset({"false", "no", "off", "n", "f", "0"})
_CLOCK: Final = re.compile(r"(?:([0-9]{1,4})(?:-| days?,? ))?([0-9]{1,5}):([0-5]?[0-9])(?::([0-5]?[0-9]))?")
_BARE: Final = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,6})?")
_PARTS: Final = re.compile(
    "".join(rf"(?:({_BARE.pattern})\s*(?:{words})\s*)?" for words in ("d|days?", "h|hrs?|hours?", "m|mins?|minutes?", "s|secs?|seconds?"))
)
_ISO: Final = re.compile(rf"p(?:({_BARE.pattern})d)?(?:t(?:({_BARE.pattern})h)?(?:({_BARE.pattern})m)?(?:({_BARE.pattern})s)?)?")
"""ISO 8601, without years, months and weeks."""
_SECONDS: Final = (86400, 3600, 60, 1)


def duration(text: str) -> int:
    """Seconds of ``[d-]hh:mm:ss``, ``1 day, 6:00:00``, ``hh:mm``, ``26 h``, ``2 days``, ``1 h 30 min``, ``PT1H30M`` (ISO 8601) or a number
    of seconds; parts of seconds round up.

    >>> duration("1-06:00:00"), duration("30:00:00"), duration("1:00"), duration("90"), duration("1.5 h"), duration("2 days")
    (108000, 108000, 3600, 90, 5400, 172800)
    >>> duration("1 day, 6:00:00"), duration("1h30m"), duration("54 min 52 s"), duration("PT1H30M"), duration("P1DT12H")
    (108000, 5400, 3292, 5400, 129600)
    """
    bare = text.strip().lower()
    if found := _CLOCK.fullmatch(bare):
        return int(found[1] or 0) * 86400 + int(found[2]) * 3600 + int(found[3]) * 60 + int(found[4] or 0)
    if _BARE.fullmatch(bare):
        return ceil(float(bare))
    found = _PARTS.fullmatch(bare) or _ISO.fullmatch(bare)
    if found and any(found.groups()):
        return ceil(sum(float(part or 0) * unit for part, unit in zip(found.groups(), _SECONDS, strict=True)))
    raise ValueError(f"{text!r:.40} is not a duration; allowed: hh:mm:ss, d-hh:mm:ss, hh:mm, 26 h, 2 days, 1 h 30 min, PT1H30M or seconds")


_LENGTH: Final = re.compile(
    r"(?:(?P<days>[0-9]{1,4})(?:-| days?,? ))?(?P<hours>[0-9]{1,4}):(?P<minutes>[0-5]?[0-9]):(?P<seconds>[0-5]?[0-9](?:[.,][0-9]{1,9})?)"
)
_SHORT_LENGTH: Final = re.compile(r"(?P<minutes>[0-9]{1,4}):(?P<seconds>[0-5]?[0-9][.,][0-9]{1,9})")
"""A clock that tells by itself which part is which, because of its part of a second."""
_SPELT: Final = re.compile(
    r"(?:(?P<days>[0-9]{1,4}) ?d(?:ays?)?)?,? ?(?:(?P<hours>[0-9]{1,5}) ?h)?,? ?"
    r"(?:(?P<minutes>[0-9]{1,6}) ?m(?:in)?)?,? ?(?:(?P<seconds>[0-9]{1,6}(?:[.,][0-9]{1,9})?) ?s)?"
)
"""A length in parts with their units."""
_UNITS: Final = dict(zip(("days", "hours", "minutes", "seconds"), _SECONDS, strict=True))


def length(text: str) -> float | None:
    """Seconds of ``[d-]h:mm:ss``, ``m:ss.f`` and ``1h 2m 3.5s``, as clocks and programs print measured times, of a fraction all digits;
    ``None`` for any other text, also for ``9:07`` (minutes and seconds, or hours and minutes) and a number with one unit.

    >>> length("00:09:07.7"), length("1-02:03:04"), length("1 day, 2:03:04"), length("1m23.4s"), length("9:07.5")
    (547.7, 93784.0, 93784.0, 83.4, 547.5)
    >>> length("9:07"), length("1.5s"), length("812")
    (None, None, None)
    """
    found = _LENGTH.fullmatch(text) or _SHORT_LENGTH.fullmatch(text) or _SPELT.fullmatch(text.lower())
    parts = {unit: float(part.replace(",", ".")) for unit, part in found.groupdict().items() if part} if found else {}
    return round(sum(number * _UNITS[unit] for unit, number in parts.items()), 9) if len(parts) > 1 else None


_ELAPSED: Final = re.compile(r"(?:([0-9]{1,5})-)?(?:([0-9]{1,5}):)?([0-9]{1,2}):([0-9]{2})(?:\.[0-9]+)?")


def elapsed(text: str) -> int | None:
    """Seconds of ``[d-][hh:]mm:ss``, as Slurm prints lengths of time; ``None`` for any other text.

    >>> elapsed("2-00:00:00"), elapsed("30:00"), elapsed("UNLIMITED")
    (172800, 1800, None)
    """
    found = _ELAPSED.fullmatch(text)
    if not found:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


_MEMORY: Final = {
    **{"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "p": 10**15},
    **{"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40, "pi": 2**50},
}


def memory(text: str) -> int:
    """Bytes of ``10 GB``, ``10G``, ``10 GByte``, ``512MiB``, ``3 PB`` (without an ``i``: powers of ten).

    >>> memory("10 GBytes"), memory("512MiB"), memory("3 PB")
    (10000000000, 536870912, 3000000000000000)
    """
    found = re.fullmatch(r"([0-9]{1,16}(?:\.[0-9]{1,6})?)\s*([kmgtp]?i?)(?:b|bytes?)?", text.strip().lower(), re.ASCII)
    if not found or found[2] not in _MEMORY:
        raise ValueError(f"{text!r:.40} is not a size; allowed: 10 GB, 10G, 512MiB")
    return round(float(found[1]) * _MEMORY[found[2]])


def clock(seconds: int) -> str:
    """``D-HH:MM:SS`` (days left out below one day): what Slurm reads.

    >>> clock(108000), clock(5400)
    ('1-06:00:00', '01:30:00')
    """
    days, rest = divmod(int(seconds), 86400)
    text = f"{rest // 3600:02d}:{rest % 3600 // 60:02d}:{rest % 60:02d}"
    return f"{days}-{text}" if days else text
