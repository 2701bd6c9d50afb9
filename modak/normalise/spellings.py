"""How values are spelt: one reader for each kind of value, from what callers send to the canonical value.

A reader takes the value as sent and the dotted path it stands at. It answers with a :class:`Read`: the canonical value,
notes where the value says the same in other words, faults where it cannot be used. Text that a reader shows again is
shortened and escaped.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Mapping
from enum import Enum
from functools import lru_cache
from typing import Any, Final, NamedTuple

from modak.errors import Fault, ModakError, RequestError, did_you_mean
from modak.text import words
from modak.text.grammar import duration, memory


class Absent(Enum):
    """The mark of a value that is left out: as if the key had not been there."""

    LEFT_OUT = "left out"


LEFT_OUT: Final = Absent.LEFT_OUT


class Read(NamedTuple):
    """A value as it was understood. ``notes`` and ``faults`` carry the path and one line each."""

    value: Any
    notes: tuple[Fault, ...] = ()
    faults: tuple[Fault, ...] = ()


Reader = Callable[[Any, str], Read]


def left_out(path: str, why: str) -> Read:
    """Nothing, and why."""
    return Read(LEFT_OUT, (Fault(path, why),))


def wrong(path: str, allowed: str) -> Read:
    """A value that cannot be used, and what could."""
    return Read(LEFT_OUT, faults=(Fault(path, allowed),))


def noted(path: str, value: Any, message: str) -> Read:
    """A value, and what was done to get it."""
    return Read(value, (Fault(path, message),))


def shown(value: Any) -> str:
    """A value for a message: ASCII, at most 40 characters."""
    return f"{value!a:.40}"


def fold(text: object) -> str:
    """A key or word without regard to case, blanks around it, and hyphens against underscores; at most 200 characters of it."""
    return _folded(str(text)[:200])


@lru_cache(maxsize=4096)
def _folded(text: str) -> str:
    return text.strip().lower().replace("-", "_").replace(" ", "_")


def text(value: Any, path: str) -> Read:
    """Text; a number becomes its digits. Empty text is left out."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return wrong(path, "text")
    if not isinstance(value, str):
        return noted(path, str(value), "the number is read as text")
    bare = value.strip(" ")
    if not value:
        return left_out(path, "empty text is ignored")
    return Read(value) if bare == value else noted(path, bare, "leading and trailing blanks are ignored")


def whole(value: Any, path: str) -> Read:
    """A whole number (in JSON ``4.0`` is one: many writers know no other numbers), also as text (``"4"``)."""
    if isinstance(value, int) and not isinstance(value, bool):
        return Read(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return Read(int(value))
    if isinstance(value, str) and not value.strip():
        return left_out(path, "empty text is ignored")
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?[0-9]{1,18}(?:\.0{1,6})?\s*", value, re.ASCII):
        return noted(path, int(float(value)), f"the text is read as the number {int(float(value))}")
    return wrong(path, "a whole number")


def number(value: Any, path: str) -> Read:
    """A finite number, also as text."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Read(value) if math.isfinite(value) else wrong(path, "a finite number")
    if isinstance(value, str) and not value.strip():
        return left_out(path, "empty text is ignored")
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?[0-9]{1,18}(?:\.[0-9]{1,18})?(?:[eE][+-]?[0-9]{1,2})?\s*", value, re.ASCII):
        return noted(path, float(value), f"the text is read as the number {float(value):g}")
    return wrong(path, "a number")


_TRUE: Final = frozenset({"true", "yes", "on", "1"})
_FALSE: Final = frozenset({"false", "no", "off", "0"})


def flag(value: Any, path: str) -> Read:
    """True or false, also as text or as 1 and 0."""
    if isinstance(value, bool):
        return Read(value)
    said = fold(str(value)) if isinstance(value, str | int) else None
    if said == "":
        return left_out(path, "empty text is ignored")
    if said in _TRUE or said in _FALSE:
        return noted(path, said in _TRUE, f"read as {str(said in _TRUE).lower()}")
    return wrong(path, "true or false")


def seconds(value: Any, path: str) -> Read:
    """A duration in whole seconds from ``[d-]hh:mm:ss``, ``hh:mm``, ``26 h``, ``90 min`` or a number of seconds."""
    try:
        if isinstance(value, str):
            found = duration(value)
            return Read(found) if ":" in value and value == value.strip() else noted(path, found, f"read as {found} seconds")
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            whole_ = math.ceil(value)
            return Read(whole_) if whole_ == value else noted(path, whole_, f"rounded up to {whole_} seconds")
    except ValueError as fault:
        return wrong(path, str(fault))
    return wrong(path, "a duration: hh:mm:ss, d-hh:mm:ss, hh:mm, 26 h, 90 min or seconds")


def size(value: Any, path: str) -> Read:
    """Bytes of ``10 GB``, ``10G``, ``512MiB``; a number without a unit is bytes."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        return wrong(path, "a size with its unit: 10 GB, 10G, 512MiB")
    try:
        found = memory(str(value))
    except ValueError as fault:
        return wrong(path, str(fault))
    if found < 1_000_000:
        return wrong(path, "at least 1 MB; a size without a unit is bytes: write 10 GB, 10G, 512MiB")
    return noted(path, found, "a size without a unit is read as bytes") if str(value).strip().isdigit() else Read(found)


def items(value: Any) -> list[Any] | None:
    """The entries of a list, of ``"[mpi, openmp]"``, or of words with commas or blanks between them."""
    if isinstance(value, list | tuple):
        return [entry for entry in value if entry is not None]
    if isinstance(value, str):
        return [entry for entry in re.split(r"[\s,;\"']+", value.strip().removeprefix("[").removesuffix("]")) if entry]
    return None


def choice(known: Collection[str], others: Mapping[str, str] | None = None, *, otherwise: str | None = None) -> Reader:
    """One of ``known``; ``others`` are further spellings. What is unknown is left out (or is ``otherwise``), with a note."""
    spellings = {fold(name): name for name in known} | {fold(key): name for key, name in (others or {}).items()}

    def read(value: Any, path: str) -> Read:
        if not isinstance(value, str):
            return wrong(path, f"one of {', '.join(known)}")
        found = spellings.get(fold(value))
        if found is None:
            kept = LEFT_OUT if otherwise is None else otherwise
            done = "is ignored" if otherwise is None else f"is read as {otherwise!r}"
            return noted(
                path, kept, f"{shown(value)} is unknown and {done}{did_you_mean(value, spellings.values())} known: {', '.join(known)}"
            )
        return Read(found) if found == value else noted(path, found, f"{shown(value)} is read as {found!r}")

    return read


def several(one: Reader) -> Reader:
    """A tuple of what ``one`` reads: from a list, text in brackets, or text with commas."""

    def read(value: Any, path: str) -> Read:
        entries = items(value)
        if entries is None:
            return wrong(path, "text or a list of texts")
        found = [one(entry, path) for entry in entries]
        notes, faults = tuple(note for got in found for note in got.notes), tuple(fault for got in found for fault in got.faults)
        return Read(tuple(dict.fromkeys(got.value for got in found if got.value is not LEFT_OUT)), notes, faults)

    return read


MOST_ENTRIES: Final = 100
"""Objects in one list."""


def each(one: Reader) -> Reader:
    """A tuple of what ``one`` reads, from a list of at most :data:`MOST_ENTRIES`; paths count its entries."""

    def read(value: Any, path: str) -> Read:
        if not isinstance(value, list | tuple):
            return wrong(path, "a list")
        if len(value) > MOST_ENTRIES:
            return wrong(path, f"at most {MOST_ENTRIES} entries")
        found = [one(entry, f"{path}.{at}") for at, entry in enumerate(value)]
        notes, faults = tuple(note for got in found for note in got.notes), tuple(fault for got in found for fault in got.faults)
        return Read(tuple(got.value for got in found if got.value is not LEFT_OUT), notes, faults)

    return read


_LETTERS: Final[Mapping[str, tuple[str, ...]]] = {"a": ("fail",), "b": ("begin",), "e": ("end",), "n": ("none",)}
_EVENTS: Final[Mapping[str, tuple[str, ...]]] = {
    **{name: (name,) for name in ("begin", "end", "fail", "requeue", "time_limit", "array_tasks", "none")},
    "abort": ("fail",),
    "all": ("begin", "end", "fail", "requeue"),
    **{f"time_limit_{percent}": ("time_limit",) for percent in (50, 80, 90)},
}


def events(value: Any, path: str) -> Read:
    """Events to be told of: Torque's letters (``abe``, ``n``) or Slurm's words, as text or list."""
    entries = items(value)
    found: list[str] = []
    for entry in [None] if entries is None else entries:
        said = fold(entry) if isinstance(entry, str) else ""
        if said in _EVENTS:
            found += _EVENTS[said]
        elif said and set(said) <= set(_LETTERS):
            found += [event for letter in said for event in _LETTERS[letter]]
        else:
            return wrong(path, f"Torque's letters a, b, e, n together, or words: {', '.join(name.upper() for name in _EVENTS)}")
    events_ = tuple(dict.fromkeys(found))
    if "none" in events_ and len(events_) > 1:
        events_ = tuple(event for event in events_ if event != "none")
        return noted(path, events_, "'none' is ignored, because other events are given")
    return Read(events_)


def email(value: Any, path: str) -> Read:
    """One address; an object is what an unresolved ``get_input`` leaves behind."""
    if isinstance(value, Mapping):
        return left_out(path, "the address is an unfilled template; ignored")
    return text(value, path)


def host_list(value: Any, path: str) -> Read:
    """Host names in a text, or as a list."""
    if isinstance(value, list | tuple) and all(isinstance(entry, str) for entry in value):
        return noted(path, ",".join(value), "the list is joined with commas") if value else Read(LEFT_OUT)
    return text(value, path)


def begin(value: Any, path: str) -> Read:
    """When a job may start; ``2026-01-31 14:00`` and Torque's ``202601311400`` become ``2026-01-31T14:00``."""
    got = text(value, path)
    if not isinstance(got.value, str):
        return got
    found = re.fullmatch(r"([0-9]{4})-?([0-9]{2})-?([0-9]{2})[ T]?([0-9]{2}):?([0-9]{2})(?:[:.]([0-9]{2}))?", got.value, re.ASCII)
    if found:
        said = f"{found[1]}-{found[2]}-{found[3]}T{found[4]}:{found[5]}" + (f":{found[6]}" if found[6] else "")
        return Read(said) if said == value else noted(path, said, f"read as {said}")
    singular = re.sub(r"(minute|hour|day)$", r"\1s", got.value)
    return got if singular == value else noted(path, singular, f"read as {shown(singular)}")


_SIGNAL: Final = re.compile(r"(?:B:)?(?:SIG)?([A-Z][A-Z0-9]{2,4})(?:@([0-9]{1,5}))?", re.ASCII)


def signal(value: Any, path: str) -> Read:
    """``{"name": "USR1", "seconds": 120}``, or Slurm's ``USR1@120`` (``B:USR1@120``, ``SIGUSR1@120``)."""
    if isinstance(value, Mapping):
        known = {"name": value.get("name"), "seconds": value.get("seconds")}
        given = {key: each for key, each in known.items() if each is not None}
        return Read(given) if value.keys() <= known.keys() else wrong(path, "an object with name and seconds, or USR1@120")
    found = _SIGNAL.fullmatch(value.strip().upper()) if isinstance(value, str) else None
    if not found:
        return wrong(path, "NAME@SECONDS before the limit, for instance USR1@120")
    said = {"name": found[1], **({"seconds": int(found[2])} if found[2] else {})}
    return Read(said)


def dependency(value: Any, path: str) -> Read:
    """Scheduler's ``TYPE:JOB``; a bare job number means after its success."""
    got = text(value, path)
    if isinstance(got.value, str) and re.fullmatch(r"[0-9]+(\.[A-Za-z0-9.-]+)?", got.value):
        return noted(path, f"afterok:{got.value}", "read as 'afterok': start after that job has succeeded")
    return got


def variables(value: Any, path: str) -> Read:
    """Names of environment variables, in text with commas or blanks, or in a list. A value (``NAME=…``) is refused."""
    entries = items(value)
    if entries is None or not all(isinstance(entry, str) for entry in entries):
        return wrong(path, "names of variables: text with commas between them, or a list")
    if any("=" in entry for entry in entries):
        return wrong(path, "names alone: NAME, not NAME=value; the value comes from the submitter's environment")
    return Read(tuple(dict.fromkeys(entry.strip() for entry in entries)))


def command_line(names: Collection[str], *, program: bool) -> Reader:
    """Words of a command: text is parsed as bash would, a list is taken word by word, literally."""

    def read(value: Any, path: str) -> Read:
        try:
            found, notes = _command_words(value, path, names)
            if program and found:
                words.check_program(found, field=path)
        except ModakError as fault:
            return Read(LEFT_OUT, faults=fault.faults)
        if program and not found:
            return wrong(path, "a program's name")
        return Read(found, notes)

    return read


def one_word(names: Collection[str]) -> Reader:
    """A path as one word, in which ``${NAME}`` may stand; never an option."""

    def read(value: Any, path: str) -> Read:
        got = command_line(names, program=False)(value if isinstance(value, str) else None, path)
        if got.faults or (len(got.value) == 1 and not words.lead(got.value[0]).startswith("-")):
            return got if got.faults else Read(got.value[0], got.notes)
        return wrong(path, "one path; put quotes around blanks")

    return read


def _command_words(value: Any, path: str, names: Collection[str]) -> tuple[tuple[words.Word, ...], tuple[Fault, ...]]:
    if isinstance(value, str):
        return words.parse(value, field=path, names=names), ()
    if isinstance(value, int | float) and not isinstance(value, bool):
        return (str(value),), (Fault(path, "the number is read as text"),)
    if not isinstance(value, list | tuple) or not all(isinstance(entry, str) for entry in value):
        raise RequestError("a command line as text, or a list of texts", field=path)
    if len(value) > words.MOST_WORDS:
        raise RequestError(f"at most {words.MOST_WORDS} words", field=path)
    if any("${" in entry for entry in value):
        return tuple(value), (Fault(path, "words of a list are taken literally; write the command as one text to expand ${NAME}"),)
    return tuple(value), ()


def source(value: Any, path: str) -> Read:
    """Where an application's sources are; ``$HOME/app`` becomes ``${HOME}/app``."""
    got = text(value, path)
    if not isinstance(got.value, str):
        return got
    braced = re.sub(r"^(?:~(?=/)|\$HOME\b|\$\{HOME\})", "${HOME}", got.value)
    braced = re.sub(r"^\$([A-Z_][A-Z0-9_]*)", r"${\1}", braced)
    return got if braced == value else noted(path, braced, f"read as {shown(braced)}")


def version(value: Any, path: str) -> Read:
    """A version or range as text; ``latest`` and ``any`` say nothing."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return noted(path, str(value), f"the number is read as the version '{value}'; write versions as text (2.10 is not 2.1)")
    got = text(value, path)
    if isinstance(got.value, str) and fold(got.value) in {"latest", "any", "newest", "*"}:
        return left_out(path, f"{shown(value)} is not a version: ignored, and the version is chosen")
    return got


def prose(value: Any, path: str) -> Read:
    """Text of somebody else's: anything that is no text is kept as its JSON."""
    if isinstance(value, str):
        return Read(value)
    return noted(path, json.dumps(value, default=str), "kept as JSON text")
