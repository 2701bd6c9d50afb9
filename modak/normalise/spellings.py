"""Readers of values: one for each kind of value, from what callers send to the canonical value.

A reader takes the value as sent and its dotted path. It returns a :class:`Read`: the canonical value, notes if the value was in another
spelling, faults if it cannot be used. Values in messages are shortened and escaped.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from modak.dsl.document import LONGEST_S, SHORTEST_S
from modak.errors import Fault, did_you_mean
from modak.facts import canonical_version
from modak.text.units import NO, YES, duration, memory

MOST_SHOWN: Final = 40
"""Characters of a value in a message."""
LEFT_OUT: Final = object()
"""Marks a value that is left out: as if the key had not been there."""


class Read(NamedTuple):
    """A value as it was understood. ``notes`` and ``faults`` carry the path and one line each."""

    value: Any
    notes: tuple[Fault, ...] = ()
    faults: tuple[Fault, ...] = ()


Reader = Callable[[Any, str], Read]
EMPTY: Final = "empty text is ignored"


def left_out(path: str, why: str) -> Read:
    """A value that is left out, with the reason."""
    return Read(LEFT_OUT, (Fault(path, why),))


def is_blank(value: Any) -> bool:
    """Whether a value is text without a sign: templates write it where they have no value."""
    return isinstance(value, str) and not value.strip()


def wrong(path: str, allowed: str) -> Read:
    """A value that cannot be used, with what is allowed."""
    return refused(path, f"allowed: {allowed}")


def refused(path: str, message: str) -> Read:
    """A value that cannot be used, with the reason."""
    return Read(LEFT_OUT, faults=(Fault(path, message),))


def noted(path: str, value: Any, message: str) -> Read:
    """A value, with a note on how it was read."""
    return Read(value, (Fault(path, message),))


def shown(value: Any) -> str:
    """A value for a message: ASCII, and ``…`` where it is cut; ``true`` and ``false`` as JSON writes them."""
    whole = str(value).lower() if isinstance(value, bool) else ascii(value)
    return whole if len(whole) <= MOST_SHOWN else f"{whole[: MOST_SHOWN - 1]}…"


def fold(text: object) -> str:
    """A key or word without regard to case, blanks around it, and hyphens against underscores; at most 200 characters of it."""
    return _folded(str(text)[:200])


@lru_cache(maxsize=4096)
def _folded(text: str) -> str:
    return text.strip().lower().replace("-", "_").replace(" ", "_")


_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def parted(key: object) -> str:
    """A key whose words begin with capitals, with underscores between them.

    >>> parted("nodeCount"), parted("node_count")
    ('node_Count', 'node_count')
    """
    return _CAMEL.sub("_", str(key)[:200])


def name_of(key: object, names: Mapping[str, str]) -> str | None:
    """What a key is called in :func:`spellings`, also if its words begin with capitals; ``None``: it is none of them."""
    return names.get(fold(key)) or names.get(fold(parted(key)))


def spellings(known: Iterable[str], others: Mapping[str, str] | None = None) -> Mapping[str, str]:
    """Folded spelling -> name; ``others`` maps further spellings to names."""
    return {fold(name): name for name in known} | {fold(other): name for other, name in (others or {}).items()}


def text(value: Any, path: str) -> Read:
    """Text; a number becomes its digits. Blank text is left out."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return wrong(path, "text")
    if not isinstance(value, str):
        return noted(path, str(value), "the number is read as text")
    if is_blank(value):
        return left_out(path, EMPTY)
    bare = value.strip(" ")
    return Read(value) if bare == value else noted(path, bare, "leading and trailing blanks are ignored")


def whole(value: Any, path: str) -> Read:
    """A whole number (in JSON ``4.0`` is one: many writers know no other numbers), also as text (``"4"``)."""
    if isinstance(value, int) and not isinstance(value, bool):
        return Read(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return Read(int(value))
    if is_blank(value):
        return left_out(path, EMPTY)
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?[0-9]{1,18}(?:\.0{1,6})?\s*", value, re.ASCII):
        return noted(path, int(float(value)), f"the text is read as the number {int(float(value))}")
    return wrong(path, "a whole number")


def number(value: Any, path: str) -> Read:
    """A finite number, also as text."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Read(value) if math.isfinite(value) else wrong(path, "a finite number")
    if is_blank(value):
        return left_out(path, EMPTY)
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?[0-9]{1,18}(?:\.[0-9]{1,18})?(?:[eE][+-]?[0-9]{1,2})?\s*", value, re.ASCII):
        return noted(path, float(value), f"the text is read as the number {float(value):g}")
    return wrong(path, "a number")


_SHARE: Final = re.compile(r"\s*([0-9]{1,3}(?:\.[0-9]{1,6})?)\s*%\s*", re.ASCII)


def share(value: Any, path: str) -> Read:
    """A fraction, also as a percentage (``"90 %"``)."""
    if isinstance(value, int | float) and 1 < value <= 100:
        return wrong(path, f"a fraction of 1; {value:g}% is {value / 100:g}")
    found = _SHARE.fullmatch(value) if isinstance(value, str) else None
    return noted(path, float(found[1]) / 100, f"read as {float(found[1]) / 100:g}") if found else number(value, path)


def flag(value: Any, path: str) -> Read:
    """True or false, also as text or as 1 and 0."""
    if isinstance(value, bool):
        return Read(value)
    said = fold(str(value)) if isinstance(value, str | int) else None
    if said == "":
        return left_out(path, EMPTY)
    if said in YES or said in NO:
        return noted(path, said in YES, f"read as {str(said in YES).lower()}")
    return wrong(path, "true or false")


def seconds(value: Any, path: str) -> Read:
    """A duration in whole seconds in any way of :func:`modak.text.units.duration`, or as a number."""
    if is_blank(value):
        return left_out(path, EMPTY)
    if isinstance(value, str):
        try:
            found = duration(value)
        except ValueError as error:
            return refused(path, str(error))
        note = None if ":" in value and not re.search(r"\s", value) else f"read as {found} seconds"
    elif isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        found = math.ceil(value)
        note = None if found == value else f"rounded up to {found} seconds"
    else:
        return wrong(path, "a duration: hh:mm:ss, d-hh:mm:ss, hh:mm, 26 h, 2 days, 1 h 30 min or seconds")
    if not SHORTEST_S <= found <= LONGEST_S:
        minutes = 0 < found < SHORTEST_S and str(value).strip().isdecimal()
        hint = f"; {found} counts seconds: {found} minutes are '00:{found:02}:00'" if minutes else ""
        return wrong(path, f"from one minute to one year{hint}")
    return noted(path, found, note) if note else Read(found)


def size(value: Any, path: str) -> Read:
    """Bytes of ``10 GB``, ``10G``, ``512MiB``; a number without a unit is bytes."""
    if is_blank(value):
        return left_out(path, EMPTY)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        return wrong(path, "a size with its unit: 10 GB, 10G, 512MiB")
    try:
        found = memory(str(value))
    except ValueError as error:
        return refused(path, str(error))
    if found < 1_000_000:
        return wrong(path, "at least 1 MB; a size without a unit is bytes: write 10 GB, 10G, 512MiB")
    return noted(path, found, "a size without a unit is read as bytes") if str(value).strip().isdigit() else Read(found)


def gigabytes(value: Any, path: str) -> Read:
    """A number of GB, also as a size with its unit (``"4 GiB"``)."""
    if not isinstance(value, str) or not value.strip()[-1:].isalpha():
        return number(value, path)
    try:
        found = memory(value) / 10**9
    except ValueError as error:
        return refused(path, str(error))
    return noted(path, found, f"read as {found:g} GB")


def items(value: Any) -> list[Any] | None:
    """The entries of a list, of ``"[mpi, openmp]"``, or of words with commas or blanks between them."""
    if isinstance(value, list | tuple):
        return [entry for entry in value if entry is not None]
    if isinstance(value, str):
        return [entry for entry in re.split(r"[\s,;\"']+", value.strip().removeprefix("[").removesuffix("]")) if entry]
    return None


def choice(known: Collection[str], others: Mapping[str, str] | None = None, *, otherwise: str | None = None) -> Reader:
    """One of ``known``; ``others`` are further spellings. Unknown values are left out, or read as ``otherwise``, with a note."""
    names = spellings(known, others)

    def read(value: Any, path: str) -> Read:
        if not isinstance(value, str):
            return wrong(path, f"one of {', '.join(known)}")
        found = names.get(fold(value))
        if found is None:
            kept = LEFT_OUT if otherwise is None else otherwise
            done = "is ignored" if otherwise is None else f"is read as {otherwise!r}"
            return noted(path, kept, f"{shown(value)} is unknown and {done}{did_you_mean(value, names.values())} known: {', '.join(known)}")
        return Read(found) if found == value else noted(path, found, f"{shown(value)} is read as {found!r}")

    return read


def several(one: Reader) -> Reader:
    """A tuple of what ``one`` reads: from a list, text in brackets, or text with commas."""

    def read(value: Any, path: str) -> Read:
        entries = items(value)
        if entries is None:
            return wrong(path, "text or a list of texts")
        got = combine_readings([one(entry, path) for entry in entries])
        return got._replace(value=tuple(dict.fromkeys(got.value)))

    return read


def combine_readings(found: Collection[Read]) -> Read:
    """The values of several readings, without those that are left out, with all their notes and faults."""
    values = tuple(got.value for got in found if got.value is not LEFT_OUT)
    return Read(values, tuple(note for got in found for note in got.notes), tuple(fault for got in found for fault in got.faults))


MOST_ENTRIES: Final = 100
"""Largest number of objects in a list."""


def each(one: Reader) -> Reader:
    """A tuple of what ``one`` reads, from a list of at most :data:`MOST_ENTRIES`; paths count its entries."""

    def read(value: Any, path: str) -> Read:
        if not isinstance(value, list | tuple):
            return wrong(path, "a list")
        if len(value) > MOST_ENTRIES:
            return wrong(path, f"at most {MOST_ENTRIES} entries")
        return combine_readings([one(entry, f"{path}.{at}") for at, entry in enumerate(value)])

    return read


def listed(one: Reader) -> Reader:
    """As :func:`each`, also from text in brackets or with commas."""
    of_list = each(one)

    def read(value: Any, path: str) -> Read:
        if is_blank(value):
            return left_out(path, EMPTY)
        if not isinstance(value, str):
            return of_list(value, path)
        return of_list(items(value), path)._replace(notes=(Fault(path, "the text is read as a list"),))

    return read


def version(value: Any, path: str) -> Read:
    """A version or range as text, without the ``v`` of a tag; ``latest`` and ``any`` are left out."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return noted(path, str(value), f"the number is read as the version '{value}'; write versions as text (2.10 is not 2.1)")
    got = text(value, path)
    if fold(got.value) in {"latest", "any", "newest", "*"}:
        return left_out(path, f"{shown(value)} is not a version: ignored, and the version is chosen")
    plain = canonical_version(got.value) if isinstance(got.value, str) else got.value
    return got if plain == got.value else noted(path, plain, f"{shown(value)} is read as {shown(plain)}")


def prose(value: Any, path: str) -> Read:
    """Free text; other values are kept as their JSON."""
    if isinstance(value, str):
        return Read(value)
    return noted(path, json.dumps(value, default=str), "kept as JSON text")
