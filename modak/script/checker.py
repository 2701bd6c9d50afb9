"""The check of a finished script: an independent parser must find in the text exactly what was planned.

``bash -n`` and shellcheck accept ``curl … | bash``. This module compares what the text does (:mod:`modak.script.meaning`) with the
events that :mod:`modak.script.bash` recorded when it made each line.

Each line is parsed together with a command after it, and both must be found. Then nothing in the line reaches beyond its end, and
lines one below the other mean what each means alone, so a line that is in every script is parsed once. A plain command is its words
with blanks between them: each word is parsed in its place (first, or after another word), and also once. Words that are literal by
what they consist of are not parsed.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from functools import cache
from itertools import zip_longest
from typing import Final

from modak import plugins
from modak.errors import RequestError
from modak.script.bash import Event, Line
from modak.script.meaning import Unparsable, parse_events
from modak.text.grammar import UNSOUND

LONGEST_SCRIPT: Final = 1 << 20
"""Characters, of which the check reads each: its time is in proportion to them."""
_PROGRAM, _BEHIND = "modak_program", "modak_behind"
"""Commands before a word, and behind a line, that is parsed alone."""
_CONTINUED: Final = re.compile(r" \\\n {4,8}")
"""How a command goes on in the next line."""
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./:,@%+=-]+")
"""A word that is literal for every shell if it is not the first."""
_ASSIGNMENT: Final = re.compile(rf"([A-Za-z_][A-Za-z0-9_]*)=(?:({_PLAIN.pattern})|'([^'\n]+)')")
"""A variable that is set to such a word, or to what stands between single quotes, which is literal too."""
_LONGEST_CACHED_LINE: Final = 2000
"""Characters of the longest line that is remembered."""
_MOST_CACHED_LINES: Final = 2048
"""At most this many lines are remembered."""
_PASSED: Final[dict[str, tuple[Event, ...]]] = {}
"""Events of the lines that passed, by their text. A plain dictionary, because it is read for every line of every script."""


class CheckedLine(Line):
    """Lines that have been checked, as one; made only by :func:`checked`."""


def check_script(head: str, options: Sequence[tuple[str, ...]], body: Sequence[Line], prefix: str) -> str:
    """The text of a script from ``head`` (first line, options and comments) and ``body``.

    ``options`` are the words of each header line after ``prefix`` (``#SBATCH``). Raises :class:`modak.errors.RequestError` unless the
    text contains exactly these options, and its lines do what their events say.
    """
    below = "\n".join([line.text for line in body]) + "\n"
    if len(head) + len(below) > LONGEST_SCRIPT:
        raise _refused(f"it has more than {LONGEST_SCRIPT} characters, with what rules add to it")
    if _control(head) or header(head, prefix) != list(options):
        raise _refused("its header would not be read as planned")
    _check_each(body)
    return head + below


def checked(lines: Sequence[Line]) -> CheckedLine:
    """The lines, checked, as one that is not checked again. Raises as :func:`check_line` does."""
    _check_each(lines)
    return CheckedLine("\n".join([line.text for line in lines]))


def check_line(line: Line) -> None:
    """Raises :class:`modak.errors.RequestError` unless the line does what its events say, and nothing in it reaches beyond its end."""
    if bad := _control(line.text):
        raise _refused(f"character {bad.start() + 1} of {line.text[:40]!a} is a control character")
    if any(map(is_directive, line.text.split("\n"))):
        raise _refused("a line below its header reads as an option for a scheduler")
    try:
        found = parse_events(f"{line.text}\n{_BEHIND}\n")
    except Unparsable as error:
        raise _refused(str(error)) from None
    planned: list[Event] = [*line.events, ("command", (_BEHIND,))]
    if found != planned:
        raise _refused(f"it would not do what was planned: {_difference(found, planned)}")


def is_directive(line: str) -> bool:
    """Whether a scheduler would read a line as an option of the job: whichever, because which one will read it is not known for sure."""
    return _directive().match(line) is not None


@cache
def _directive() -> re.Pattern[str]:
    """What the options of all schedulers begin with."""
    return re.compile("|".join(each.option_start for each in plugins.all_of("schedulers") if each.prefix))


# --- the check of lines, the quick ways first


def _check_each(lines: Sequence[Line]) -> None:
    for line in lines:
        if isinstance(line, CheckedLine) or _PASSED.get(line.text) == line.events:
            continue
        if line.words and _is_its_words(line):
            _check_words(line)
        elif not is_assignment(line):
            _check_once(line)


def is_assignment(line: Line) -> bool:
    """Whether a line does no more than what is planned: set one variable to a literal text."""
    found = _ASSIGNMENT.fullmatch(line.text)
    if found is None or _control(line.text):
        return False
    name, plain, quoted = found.groups()
    return line.events == (("set", name, (quoted if plain is None else plain,)),)


def _is_its_words(line: Line) -> bool:
    """Whether a line is one command: its words, with blanks between them."""
    (event,) = line.events
    return event[0] == "command" and _CONTINUED.sub(" ", line.text) == " ".join(line.words)


def _check_words(line: Line) -> None:
    """As :func:`check_line`, for the words of a command one by one."""
    ((_, *command),) = line.events
    (program, first), *others = zip(line.words, command, strict=True)
    _check_once(Line(program, (("command", first),)))
    for shown, meant in others:
        if meant != (shown,) or not _PLAIN.fullmatch(shown):
            _check_once(Line(f"{_PROGRAM} {shown}", (("command", (_PROGRAM,), meant),)))


def _check_once(line: Line) -> None:
    """As :func:`check_line`; a line that passed is remembered, and not parsed again."""
    if _PASSED.get(line.text) == line.events:
        return
    check_line(line)
    if len(line.text) <= _LONGEST_CACHED_LINE:
        if len(_PASSED) >= _MOST_CACHED_LINES:
            _PASSED.clear()
        _PASSED[line.text] = line.events


def _control(text: str) -> re.Match[str] | None:
    """The first sign of a text that no script may hold. It is none of the printable ones, which are quicker to recognise."""
    return None if text.replace("\n", "").isprintable() else UNSOUND.search(text)


# --- the header

_QUOTES: Final = re.compile(r"[\\\"'#]|[^\x20-\x7e]")


def header(text: str, prefix: str) -> list[tuple[str, ...]]:
    """Words of the options as a scheduler reads them: those of every line that starts with ``prefix``.

    Options of another scheduler, and lines that are no comments, are returned as ``("stray", LINE)``, which is never planned.
    """
    first, *lines = text.removesuffix("\n").split("\n")
    wrong = [] if first == "#!/bin/bash" else [("stray", first)]
    return [*wrong, *[option for line in lines if (option := _option(line, prefix))]]


def _option(line: str, prefix: str) -> tuple[str, ...]:
    """The words of an option; empty for a comment that no scheduler reads. Lines with quotes are split by a shell's rules."""
    if prefix and line.startswith(prefix + " "):
        text = line[len(prefix) :]
        words = tuple(shlex.split(text, comments=True) if _QUOTES.search(text) else text.split())
        return words or ("stray", line)
    return ("stray", line) if is_directive(line) or not line.startswith("#") else ()


# --- what is said of a script that is refused


def _difference(found: Sequence[Event], planned: Sequence[Event]) -> str:
    """The first event in which two lists that are not equal differ."""
    event, expected = next((event, expected) for event, expected in zip_longest(found, planned) if event != expected)
    return f"{expected!r:.200} is missing" if event is None else f"{event!r:.200} was not planned"


def _refused(why: str) -> RequestError:
    return RequestError(f"the script cannot be written safely: {why}", field="job")
