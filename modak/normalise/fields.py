"""Readers of particular fields of a job: events, times, signals, dependencies, names of variables and resources, commands."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, Final

from modak import dsl
from modak.errors import Fault, ModakError, RequestError
from modak.normalise.sections import section_of
from modak.normalise.spellings import EMPTY, LEFT_OUT, Read, Reader, fold, is_blank, items, left_out, noted, shown, text, wrong
from modak.text import words
from modak.text.programs import TEXT_FOLLOWS

LONGEST_PROGRAM: Final = 200
"""Longest text of a program, in characters, whose words are cached."""
_SEVERAL_WORDS: Final = re.compile(r"--?[A-Za-z][\w-]* \S|[A-Za-z][\w.+-]* --?[A-Za-z]")
"""An option with its value, or a program with its option."""
_OF_WINDOWS: Final = re.compile(r"(?:^|[\s'\"=])[A-Za-z]:\\[\w.-]+[\\.]")
_LETTERS: Final[Mapping[str, tuple[str, ...]]] = {"a": ("fail",), "b": ("begin",), "e": ("end",), "n": ("none",)}
_EVENTS: Final[Mapping[str, tuple[str, ...]]] = {
    **{name: (name,) for name in dsl.JobOptions.allowed("request_event_notification")},
    "abort": ("fail",),
    "all": ("begin", "end", "fail", "requeue"),
    **{f"time_limit_{percent}": ("time_limit",) for percent in (50, 80, 90)},
}


def events(value: Any, path: str) -> Read:
    """Events for notification: Torque's letters (``abe``, ``n``) or Slurm's words, as text or list.

    Words in capitals that are not known are left out: Slurm has more than other schedulers.
    """
    entries, known = items(value), f"Torque's letters a, b, e, n together, or words: {', '.join(name.upper() for name in _EVENTS)}"
    found: list[str] = []
    notes: tuple[Fault, ...] = ()
    for entry in [None] if entries is None else entries:
        if not isinstance(entry, str):
            return wrong(path, known)
        meant = _meant(fold(entry))
        found += meant
        if meant and fold(entry).startswith("time_limit_"):
            notes += (Fault(path, f"{shown(entry)} is read as 'time_limit': the mail comes at the limit"),)
        elif not meant and re.fullmatch(r"[A-Z][A-Z_]+", entry):
            notes += (Fault(path, f"{shown(entry)} is unknown and is ignored; known: {known}"),)
        elif not meant:
            return wrong(path, known)
    events_ = tuple(dict.fromkeys(found))
    if "none" in events_ and len(events_) > 1:
        events_ = tuple(event for event in events_ if event != "none")
        notes += (Fault(path, "'none' is ignored, because other events are given"),)
    return Read(events_, notes)


def _meant(said: str) -> tuple[str, ...]:
    """The events that a word, or letters, mean; empty: none."""
    if said in _EVENTS:
        return _EVENTS[said]
    letters = [_LETTERS.get(letter, ()) for letter in said]
    return tuple(chain.from_iterable(letters)) if all(letters) else ()


def email(value: Any, path: str) -> Read:
    """One address. An object is a template that was not filled in (``get_input``), and left out."""
    if isinstance(value, Mapping):
        return left_out(path, "the address is an unfilled template; ignored")
    return text(value, path)


def joined(value: Any, path: str) -> Read:
    """Names or numbers with commas between them in a text, or as a list."""
    if isinstance(value, list | tuple) and all(isinstance(entry, str | int) and not isinstance(entry, bool) for entry in value):
        return noted(path, ",".join(map(str, value)), "the list is joined with commas") if value else Read(LEFT_OUT)
    got = text(value, path)
    bare = ",".join(map(str.strip, got.value.split(","))) if isinstance(got.value, str) else got.value
    return got if bare == got.value else noted(path, bare, "blanks around commas are ignored")


def begin(value: Any, path: str) -> Read:
    """When a job may start; ``2026-01-31 14:00`` and Torque's ``202601311400`` become ``2026-01-31T14:00``."""
    got = text(value, path)
    if not isinstance(got.value, str):
        return got
    found = re.fullmatch(r"([0-9]{4})-?([0-9]{2})-?([0-9]{2})[ T]?([0-9]{2}):?([0-9]{2})(?:[:.]([0-9]{2}))?", got.value, re.ASCII)
    if found:
        said = f"{found[1]}-{found[2]}-{found[3]}T{found[4]}:{found[5]}" + (f":{found[6]}" if found[6] else "")
        return Read(said) if said == value else noted(path, said, f"read as {said}")
    later = _LATER.fullmatch(got.value)
    said = f"now+{later[1]}{_UNITS.get(later[2][:1].lower(), '')}" if later else got.value
    return got if said == value else noted(path, said, f"read as {shown(said)}")


_LATER: Final = re.compile(r"now ?\+ ?([0-9]{1,6}) ?(m|mins?|minutes?|h|hrs?|hours?|d|days?|)", re.ASCII | re.IGNORECASE)
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days"}


def _signal_name(value: Any, path: str) -> Read:
    got = text(value, path)
    return Read(re.sub("^(B:)?(SIG)?", "", got.value.upper()), got.notes) if isinstance(got.value, str) else got


_SIGNAL_OBJECT: Final = section_of(dsl.Signal, name=_signal_name)
_SIGNAL: Final = re.compile(r"(?:B:)?(?:SIG)?([A-Z][A-Z0-9]{2,4})(?:@([0-9]{1,5}))?", re.ASCII)


def signal(value: Any, path: str) -> Read:
    """``{"name": "USR1", "seconds": 120}``, or Slurm's ``USR1@120`` (``B:USR1@120``, ``SIGUSR1@120``)."""
    if isinstance(value, Mapping):
        return _SIGNAL_OBJECT(value, path)
    found = _SIGNAL.fullmatch(value.strip().upper()) if isinstance(value, str) else None
    if not found:
        return wrong(path, "NAME@SECONDS before the limit, for instance USR1@120")
    said = {"name": found[1], **({"seconds": int(found[2])} if found[2] else {})}
    return Read(said)


def dependency(value: Any, path: str) -> Read:
    """``TYPE:JOB`` in any case, several in a text or a list; a job number alone means ``afterok``."""
    got = joined(value, path)
    if isinstance(got.value, str) and re.fullmatch(r"[0-9]+(\.[A-Za-z0-9.-]+)?", got.value):
        return noted(path, f"afterok:{got.value}", "read as 'afterok': start after that job has succeeded")
    lower = _CONDITION.sub(lambda found: found[0].lower(), got.value) if isinstance(got.value, str) else got.value
    return got if lower == got.value else noted(path, lower, f"read as {shown(lower)}")


_CONDITION: Final = re.compile(r"(?<![^,?])(?:(?:after|before)[a-z]*|singleton)(?![^,?:])", re.IGNORECASE)


def variables(value: Any, path: str) -> Read:
    """Names of environment variables, in text with commas or blanks, or in a list. A value (``NAME=…``) is refused."""
    entries = items(value)
    if entries is None or not all(isinstance(entry, str) for entry in entries):
        return wrong(path, "names of variables: text with commas between them, or a list")
    if any("=" in entry for entry in entries):
        return wrong(path, "names alone: NAME, not NAME=value; the value comes from the submitter's environment")
    return Read(tuple(dict.fromkeys(entry.strip() for entry in entries)))


def resources(value: Any, path: str) -> Read:
    """``NAME=VALUE`` in a list, or in text with commas or blanks; objects and Slurm's licences (``matlab:2``, ``matlab``) are read so."""
    if isinstance(value, Mapping):
        if not all(isinstance(said, str | int) and not isinstance(said, bool) for said in value.values()):
            return wrong(path, "an object with a text or a count for each name, or a list of NAME=VALUE")
        return noted(path, tuple(f"{name}={said}" for name, said in value.items()), "the object is read as a list of NAME=VALUE")
    entries = items(value)
    if entries is None or not all(isinstance(entry, str) for entry in entries):
        return wrong(path, "NAME=VALUE: text with commas between them, or a list")
    read = tuple(
        entry if "=" in entry else re.sub(r"^([^:]+)(?::([0-9]+))?$", lambda at: f"{at[1]}={at[2] or 1}", entry) for entry in entries
    )
    return Read(read) if list(read) == entries else noted(path, read, f"read as {shown(', '.join(read))}")


def command_line(names: Collection[str], *, program: bool) -> Reader:
    """A reader of commands: text is split into words as in bash; the entries of a list are literal words.

    A short program is cached: many requests have the same, with other arguments.
    """

    def read(value: Any, path: str) -> Read:
        try:
            found, notes = _command_words(value, path, names)
            if program and found:
                words.check_program(found, field=path)
        except ModakError as error:
            return Read(LEFT_OUT, faults=error.faults)
        if program and not found:
            return left_out(path, EMPTY) if is_blank(value) else wrong(path, "a program's name")
        return Read(found, notes)

    once = lru_cache(maxsize=512)(read)

    def read_program(value: Any, path: str) -> Read:
        return once(value, path) if isinstance(value, str) and len(value) <= LONGEST_PROGRAM else read(value, path)

    return read_program if program else read


def one_word(names: Collection[str]) -> Reader:
    """A reader of paths: one word, which may contain ``${NAME}``, and is not an option."""

    def read(value: Any, path: str) -> Read:
        got = command_line(names, program=False)(value, path) if isinstance(value, str) else Read(())
        if got.faults or (len(got.value) == 1 and got.value[0] and not words.lead(got.value[0]).startswith("-")):
            return got if got.faults else Read(got.value[0], got.notes)
        return wrong(path, "one path, which may not begin with '-' (write ./-name); put quotes around blanks")

    return read


def _command_words(value: Any, path: str, names: Collection[str]) -> tuple[tuple[words.Word, ...], tuple[Fault, ...]]:
    if isinstance(value, str):
        return words.parse(value, field=path, names=names), tuple(_of_windows(value, path))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return (str(value),), (Fault(path, "the number is read as text"),)
    if not isinstance(value, list | tuple) or not all(isinstance(entry, str) for entry in value):
        raise RequestError("allowed: a command line as text, or a list of texts", field=path)
    if len(value) > words.MOST_WORDS:
        raise RequestError(f"allowed: at most {words.MOST_WORDS} words", field=path)
    return tuple(value), tuple(_of_a_list(value, path))


def _of_a_list(value: Sequence[str], path: str) -> Iterator[Fault]:
    """Warnings if the entries of a list seem to be more than the words of one command."""
    if any("${" in entry for entry in value):
        yield Fault(path, "words of a list are taken literally; write the command as one text to expand ${NAME}")
    several = next((entry for at, entry in enumerate(value) if (" " in entry and not at) or _SEVERAL_WORDS.match(entry)), None)
    if several is not None and not any(map(TEXT_FOLLOWS.fullmatch, value)):
        way = "write the command as one text, and several commands as sh -c 'first && second'"
        yield Fault(path, f"each entry of a list is one word of the same command, also {shown(several)}: {way}")


def _of_windows(command: str, path: str) -> Iterator[Fault]:
    """A warning if a command names a file as on the user's own computer."""
    if _OF_WINDOWS.search(command):
        yield Fault(
            path, "a path of Windows means nothing there: write where the file is on the system, with /; in a shell, \\ only quotes"
        )


def source(value: Any, path: str) -> Read:
    """Where an application's sources are; ``$HOME/app`` becomes ``${HOME}/app``."""
    got = text(value, path)
    if not isinstance(got.value, str):
        return got
    braced = re.sub(r"^(?:~(?=/)|\$HOME\b|\$\{HOME\})", "${HOME}", got.value)
    braced = re.sub(r"^\$([A-Z_][A-Z0-9_]*)", r"${\1}", braced)
    return got if braced == value else noted(path, braced, f"read as {shown(braced)}")
