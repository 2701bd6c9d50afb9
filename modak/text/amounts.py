"""Numbers written for people: lengths of time, sizes, counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any


def format_duration(seconds: float | None) -> str:
    """A length of time with three digits: no prediction has more.

    >>> format_duration(0.25), format_duration(116), format_duration(3292), format_duration(9060)
    ('0.25 s', '116 s', '54.9 min', '2.52 h')
    """
    if seconds is None:
        return "unknown"
    unit, length = _time_unit(seconds)
    return f"{format_number(seconds / length)} {unit}"


def spans(least: float | None, most: float | None) -> str:
    """From one length of time to another one, in the unit of those between them.

    >>> spans(3007, 3604), spans(103, 192), spans(250, 400), spans(None, None)
    ('50.1 – 60.1 min', '103 – 192 s', '4.17 – 6.67 min', '')
    """
    if least is None or most is None:
        return ""
    unit, length = _time_unit(math.sqrt(least * most))
    return f"{format_number(least / length)} – {format_number(most / length)} {unit}"


def _time_unit(seconds: float) -> tuple[str, int]:
    """The unit in which a length of time is written, and its seconds."""
    if seconds < 300:
        return "s", 1
    return ("min", 60) if seconds < 7200 else ("h", 3600)


def format_bytes(number: float) -> str:
    """Bytes in decimal units, three digits.

    >>> format_bytes(3e15), format_bytes(42e9), format_bytes(999.6e6), format_bytes(33_000)
    ('3 PB', '42 GB', '1 GB', '33 kB')
    """
    for unit, factor in (("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= 0.9995 * factor:
            return f"{format_number(number / factor)} {unit}"
    return f"{format_number(number)} B"


def format_number(number: float, digits: int = 3) -> str:
    """A number with so many significant digits, and with all before its point: nobody reads ``1.23e+04 node-hours``.

    >>> format_number(0.01234), format_number(21.94), format_number(999.6), format_number(12345.6)
    ('0.0123', '21.9', '1000', '12346')
    """
    return f"{number:.{digits}g}" if abs(number) < 10**digits - 0.5 else f"{number:.0f}"


def counted(number: float, thing: str) -> str:
    """A number of things, in the singular or plural.

    >>> counted(1, "node"), counted(2, "node"), counted(1.5, "doubling"), counted(1234.5, "node-hour")
    ('1 node', '2 nodes', '1.5 doublings', '1234 node-hours')
    """
    shown = format_number(number) if number % 1 else f"{number:.0f}"
    return f"{shown} {thing}" if shown == "1" else f"{shown} {thing}s"


def counted_range(least: int, most: int, thing: str) -> str:
    """How many things there may be.

    >>> counted_range(1, 8, "node"), counted_range(1, 1, "node")
    ('1 to 8 nodes', '1 node')
    """
    return f"{least} to {counted(most, thing)}" if least < most else counted(most, thing)


def percent(part: float) -> str:
    """A fraction as a percentage, not rounded: figures of a request keep their digits.

    >>> percent(0.9), percent(0.995)
    ('90%', '99.5%')
    """
    return f"{100 * part:.12g}%"


def share(part: float | None) -> str | None:
    """A fraction as a percentage of two or three digits; ``None``: there is none.

    >>> share(0.0341), share(0.5), share(None)
    ('3.4%', '50%', None)
    """
    if part is None:
        return None
    return f"{100 * part:.1f}%" if part < 0.0995 else f"{100 * part:.0f}%"


def longer(ratio: float, since: object, *, sure: bool = True) -> str:
    """A ratio of the times since a day to those before it, in words.

    >>> longer(1.15, "2026-03-11"), longer(0.87, "2026-03-11", sure=False)
    ('15% longer since 2026-03-11', 'perhaps 13% less time since 2026-03-11')
    """
    return f"{'' if sure else 'perhaps '}{100 * abs(ratio - 1):.0f}% {'longer' if ratio > 1 else 'less time'} since {since}"


def either_way(factor: float) -> str:
    """A factor by which something may be more, or less.

    >>> either_way(1.2)
    '× 1.20'
    """
    return f"× {factor:.2f}"


def as_given(number: float) -> str:
    """A figure of a request with all its digits: a confidence of 0.9999999999 is not 1.

    >>> as_given(0.9999999999), as_given(20.0), as_given(1234567.0)
    ('0.9999999999', '20', '1234567')
    """
    return repr(number if isinstance(number, int) else float(number)).removesuffix(".0")


def join_names(names: Sequence[str], most: int, between: str = ", ") -> str:
    """The first names, and the number of the others.

    >>> join_names(["a", "b", "c"], 2), join_names(["a"], 2)
    ('a, b and 1 more', 'a')
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{between.join(names[:most])}{more}"


def cell(value: Any) -> str:
    """A value as text: numbers with four significant figures."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return format_number(value, 4)
    if isinstance(value, list | tuple):
        return ", ".join(map(cell, value))
    return printable(str(value))


def printable(text: str) -> str:
    """A text as one line without control characters, which data, file names and other programs' output may contain."""
    return text if text.isprintable() else "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)
