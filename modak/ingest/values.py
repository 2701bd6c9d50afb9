"""What a cell of the results table may hold: text to value and back, column by column.

A fault in a cell says what is allowed there and, where that can be guessed, how to write what was meant.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from modak.facts import canonical_image, canonical_name, canonical_text, canonical_version
from modak.facts.results import FLAGS, LONGEST_LABEL, NUMBERS
from modak.ingest.table import LAYOUT
from modak.ingest.totals import TOTALS
from modak.text.units import NO, YES, length

Reader = Callable[[str], Any]
"""Text, stripped and not empty, to its value. Raises ``ValueError`` that says what is allowed."""

COUNTS: Final = (*LAYOUT, "repeat")
"""Columns of whole numbers that are stored as such."""
WHOLE: Final = (*COUNTS, *NUMBERS)
"""Columns of whole numbers."""
PLACEHOLDERS: Final = frozenset(
    ("none", "null", "nil", "nan", "na", "n/a", "#n/a", "n.a.", "-", "--", "–", "—", "?", "unknown", "not available")
)
"""What people write, in any case, into a cell for which they have no value."""
LITERAL: Final = ("application", "metric", "value", "source")
"""Columns without placeholders: such a word is a name there, or a fault."""
MEANINGFUL: Final[Mapping[str, tuple[str, ...]]] = {"runtime": ("none",), "suspect": ("?", "unknown")}
"""Placeholders that are values in a column: no container, a doubt without a reason. In a parameter, ``none`` is one."""
NUMERIC: Final = re.compile(r"[+-]?[0-9.]+([eE][+-]?[0-9]+)?")
"""What looks like a number, and does not begin a formula."""
DECIMAL_COMMA: Final = re.compile(r"[+-]?[0-9]+,[0-9]+([eE][+-]?[0-9]{1,4})?")

NO_VALUE: Final = PLACEHOLDERS | {""}
"""What stands in place of the value of a run of which nothing is known."""

_LARGEST_COUNT: Final = 10_000_000
SMALLEST_VALUE, LARGEST_VALUE = 1e-30, 1e30
"""Beyond what anything measures; products and quotients of such numbers can be computed."""
_WHOLE: Final = re.compile(r"(0|[1-9][0-9]{0,9})(\.0{1,2})?")
"""Not ``1.000``, which may be a thousand."""
_DECIMAL: Final = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DAY_FIRST: Final = re.compile(r"([0-9]{1,2})\. ?([0-9]{1,2})\. ?([0-9]{4})")
_INSTANT: Final = re.compile(_DATE.pattern + r"[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?(Z|[+-][01][0-9](:?[0-5][0-9])?)")
_THOUSANDS: Final = re.compile(r"[1-9][0-9]{0,2}([ ,.'’_\u00a0\u2009\u202f][0-9]{3})+([.,][0-9]+)?")
_TWO_PARTS: Final = re.compile(r"([0-9]{1,4}):([0-5][0-9])")
_WITH_UNIT: Final = re.compile(r"([+-]?(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][+-]?[0-9]{1,4})?)\s*([A-Za-zµμ%][^0-9]{0,19})")
_WITH_SPREAD: Final = re.compile(r"([+-]?[0-9.]+(?:[eE][+-]?[0-9]{1,4})?)\s*(?:±|\+/?-|\([0-9.]+\)).*")
_SEVERAL: Final = re.compile(r"[0-9]{1,7}( ?[x×*] ?[0-9]{1,7}){1,3}")
_SPLIT: Final = "; each count has a column of its own: nodes, ranks_per_node, threads_per_rank, gpus_per_node"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EARLIEST: Final = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


class Seconds(float):
    """A value that its cell gives as a length of time (``0:09:07.7``), so that it has its unit already."""


def reader(column: str, now: datetime) -> Reader:
    """What reads the cells of a column; ``now`` bounds ``measured_at``."""
    if column == "measured_at":
        return lambda text: _instant(text, now)
    return _READERS.get(column, _label)


def cell(value: Any) -> str:
    """A value as it is written: nothing for what is unknown, numbers in full, instants in ISO 8601.

    >>> cell(None), cell(True), cell(0.1), cell(datetime(2026, 3, 1, tzinfo=UTC))
    ('', 'true', '0.1', '2026-03-01T00:00:00Z')
    """
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else value.isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else str(value)


def is_placeholder(column: str, text: str, meaningful: Mapping[str, tuple[str, ...]]) -> bool:
    """Whether a cell says that its value is unknown; ``meaningful`` as :data:`MEANINGFUL`."""
    word = text.lower()
    if word not in PLACEHOLDERS or column in LITERAL:
        return False
    return word not in meaningful.get(column, ("none",) if column.startswith("params.") else ())


def quoted(text: str) -> str:
    """A cell as a message shows it: in quotes, control characters escaped, at most 60 characters."""
    return ascii(text) if len(text) <= 60 else f"{text[:60]!a}…"


def _text(longest: int) -> Reader:
    def read(text: str) -> str:
        if len(text) > longest:
            raise ValueError(f"longer than {longest} characters")
        if not text.isprintable():
            odd = next(letter for letter in text if not letter.isprintable())
            raise ValueError(f"contains an unprintable character ({unicodedata.name(odd, '').lower() or f'U+{ord(odd):04X}'})")
        return text

    return read


def _label(text: str) -> str:
    """A text by which results are told apart."""
    return canonical_text(_text(LONGEST_LABEL)(text))


def _whole(least: int) -> Reader:
    def read(text: str) -> int:
        found = _WHOLE.fullmatch(text)
        if not found or not least <= int(found[1]) <= _LARGEST_COUNT:
            hint = _hint(text) if _THOUSANDS.fullmatch(text) else _SPLIT if _SEVERAL.fullmatch(text) else ""
            raise ValueError(f"allowed: a whole number from {least} to {_LARGEST_COUNT}{hint}")
        return int(found[1])

    return read


def _value(text: str) -> float:
    if _DECIMAL.fullmatch(text):
        value = float(text)
    elif (seconds := length(text)) is not None:
        value = Seconds(seconds)
    else:
        raise ValueError(f"allowed: a finite positive number such as 12.5 or 1.25e1{_hint(text)}")
    if not SMALLEST_VALUE <= value <= LARGEST_VALUE:
        raise ValueError(f"allowed: a finite positive number, from {SMALLEST_VALUE:g} to {LARGEST_VALUE:g}")
    return value


def _hint(text: str) -> str:
    """How to write what is not a plain number; empty where that cannot be told."""
    if not any(letter.isdigit() for letter in text):
        return "; empty where a run gave none, 'failed' or 'OOM' where it failed"
    if DECIMAL_COMMA.fullmatch(text):
        return "; with a decimal point, and without a sign between thousands"
    if _THOUSANDS.fullmatch(text):
        return "; without a sign between thousands"
    two = _TWO_PARTS.fullmatch(text)
    if two:
        return f"; minutes and seconds are written 0:{two[1]:0>2}:{two[2]}, hours and minutes {two[1]}:{two[2]}:00"
    spread = _WITH_SPREAD.fullmatch(text)
    if spread:
        return f"; without its scatter, which is computed from repeats: {spread[1]}"
    both = _WITH_UNIT.fullmatch(text)
    return f"; its unit goes into the column 'unit': {both[1]} and {both[2]}" if both else ""


def _instant(text: str, now: datetime) -> int:
    """Microseconds since 1970 in UTC; a date is its first instant in UTC."""
    if _DATE.fullmatch(text):
        text = f"{text}T00:00Z"
    if not _INSTANT.fullmatch(text):
        meant = _DAY_FIRST.fullmatch(text)
        hint = f"; the year first: {meant[3]}-{meant[2]:0>2}-{meant[1]:0>2}" if meant else ""
        allowed = "a date (2026-03-01), or ISO 8601 with an offset: 2026-03-01T12:00:00+01:00, 2026-03-01T11:00:00Z"
        raise ValueError(f"allowed: {allowed}{hint}")
    try:
        instant = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"no date: {error}") from None
    if not _EARLIEST <= instant <= now + timedelta(days=1):
        raise ValueError("allowed: from the year 2000 to 24 hours from now")
    return (instant - _EPOCH) // _MICROSECOND


def _boolean(text: str) -> bool:
    if text.lower() not in YES | NO:
        raise ValueError("allowed: true, false")
    return text.lower() in YES


def _mpi_from(text: str) -> str:
    if text.lower() not in ("host", "container"):
        raise ValueError("allowed: host, container")
    return text.lower()


_READERS: Final[Mapping[str, Reader]] = {
    **{name: _whole(0 if name in ("gpus_per_node", "total_gpus", "repeat") else 1) for name in (*WHOLE, *TOTALS)},
    **dict.fromkeys(FLAGS, _boolean),
    "mpi_from": _mpi_from,
    "runtime": lambda text: canonical_name(_label(text)),
    "image": lambda text: canonical_image(_label(text)),
    "framework_version": lambda text: canonical_version(_label(text)),
    "value": _value,
    "source": _text(1000),
    "suspect": _text(500),
}
"""Of the columns that are not a text of ordinary length."""
