"""Lines of bash, each with its meaning: the text, and the events that a parser must find in it.

A :class:`Line` is made from words, never by pasting text together. Its events are recorded when it is made, so that
:mod:`modak.script.checker` can compare the finished script with them. Of text of MODAK's own that is not a plain command
the parser finds the events: :func:`modak.script.shelltext.ours`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from modak.text import words
from modak.text.words import Word, variable, word

Event = tuple[Any, ...]
"""``("command", word, …)``, ``("set", name, word)``, ``("redirect", descriptor, operator, word)``, ``("heredoc", delimiter, body)`` or
the kind of a construct, for instance ``("||",)``. A word is a tuple of its parts."""

_DECLARES: Final = frozenset({"declare", "typeset", "export", "readonly", "local", "unset", "unsetenv"})
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./:+-]+")
_DONE: Final = ": # a false condition on the last line is not an error"
STOP: Final = "modak_stop"
WIDEST: Final = 120
INDENT: Final = "    "


@dataclass(frozen=True)
class Expansion:
    """What the parser finds between the braces of an expansion: ``SINGULARITY_DIR:-.``."""

    text: str


Part = str | Expansion
Parts = tuple[Part, ...]


@dataclass(frozen=True)
class Line:
    """One or more lines of a script, and what they do in the order of the text."""

    text: str
    events: tuple[Event, ...] = ()
    words: tuple[str, ...] = ()
    """Of a command of the request: its words, quoted as in the text. Empty for other lines."""

    def __hash__(self) -> int:
        """Of the text alone, because Python caches the hash of a text: lines are looked up often."""
        return hash(self.text)


cached: Final = lru_cache(maxsize=2048)
"""Caches lines of MODAK's own words that are checked when they are made. Not for words of a request, which may be long."""


BLANK: Final = Line("")
_TO_NOTHING: Final[Event] = ("redirect", "", ">", ("/dev/null",))
_ERRORS_TOO: Final[Event] = ("redirect", "2", ">&", ("1",))


def parts(of: Word) -> Parts:
    """The parts of a word that the parser must find: literal text, and expansions."""
    if isinstance(of, str):
        return (of,) if of else ()
    return merged([part if isinstance(part, str) else Expansion(part.expanded) for part in of.parts])


def merged(of: Sequence[Part]) -> Parts:
    """Neighbouring literals as one, empty ones left out."""
    if len(of) == 1 and of[0] != "":
        return (of[0],)
    found: list[Part] = []
    for part in of:
        if isinstance(part, str) and found and isinstance(found[-1], str):
            found[-1] += part
        elif part != "":
            found.append(part)
    return tuple(found)


def run(*command: Word) -> Line:
    """A command of our own words."""
    line = command_line(command)
    return Line(line.text, line.events)


def command_line(command: Sequence[Word], breaks: Sequence[int] | None = None) -> Line:
    """A command. ``breaks``: positions of words that start a new line of text; with it, lines that are too long are broken, too."""
    shown, meant = _quoted_words(command)
    return Line(" ".join(shown) if breaks is None else _flowed(shown, breaks), (("command", *meant),), shown)


def continued(start: Line, command: Sequence[Word]) -> Line:
    """The command with the words of ``start`` and then, on a new line, of ``command``."""
    shown, meant = _quoted_words(command, at_start=False)
    return Line(f"{start.text} \\\n{_flowed(shown, indent=INDENT)}", ((*start.events[0], *meant),), (*start.words, *shown))


def assign(name: str, *value: Word) -> Line:
    """``NAME=value``."""
    meant = parts(word(*value))
    return Line(f"{name}={_quoted(meant)}", (("set", name, meant),))


def export(name: str, *value: Word) -> Line:
    """``export NAME=value``."""
    line = assign(name, *value)
    return Line(f"export {line.text}", (("export",), *line.events))


def quiet(line: Line) -> Line:
    """The line with its output thrown away."""
    return _extended(line, " >/dev/null 2>&1", _TO_NOTHING, _ERRORS_TOO)


def either(first: Line, second: Line) -> Line:
    """``first || second``."""
    return _extended(first, f" || {second.text}", ("||",), *second.events)


def piped(first: Line, second: Line) -> Line:
    """``first | second``."""
    return _extended(first, f" \\\n    | {second.text}", ("|",), *second.events)


def both(line: Line) -> Line:
    """``line 2>&1``."""
    return _extended(line, " 2>&1", _ERRORS_TOO)


def holds(line: Line, text: str) -> Line:
    """Whether the output of the line, on either stream, contains a text. All of it is read: a pipe closed early would fail the command."""
    found = run("grep", "-F", "-e", text)
    return _extended(both(line), f" | {found.text} >/dev/null", ("|",), *found.events, _TO_NOTHING)


def into(line: Line, output: Word, errors: Word) -> Line:
    """``line >output 2>errors``."""
    files: tuple[Event, ...] = (("redirect", "", ">", parts(output)), ("redirect", "2", ">", parts(errors)))
    return _extended(line, f" >{words.shell(output)} 2>{words.shell(errors)}", *files)


def without_input(line: Line) -> Line:
    """``line </dev/null``."""
    return _extended(line, " </dev/null", ("redirect", "", "<", ("/dev/null",)))


def behind(line: Line) -> Line:
    """The line in the background."""
    return _extended(line, " &", ("&",))


def need(check: Line, status: int, *message: Word) -> Line:
    """A check; if it fails, the job ends with ``status`` and a message that says what to do."""
    stated = word(*message)
    stop = run(STOP, str(status), stated)
    said = f"{STOP} {status} {_prose(stated)}"
    return Line(f"{check.text} ||\n    {said}", (*check.events, ("||",), *stop.events))


def installed(program: str, status: int, advice: str) -> Line:
    """A check that a shell finds the program; if not, the job ends as with :func:`need`."""
    return need(quiet(run("command", "-v", program)), status, advice)


def require(name: str, why: str) -> Line:
    """Stops with the message ``why`` (MODAK's own text, without quotes) if the variable is not set."""
    return run(":", variable(name, f":?{why}"))


def comment(text: str) -> Line:
    """A comment."""
    return Line(f"# {text}")


def function(name: str, body: Line) -> Line:
    """``name() { body }``; a false condition on the last line of the body is not an error."""
    return Line(f"{name}() {{\n{body.text}\n{_DONE}\n}}", (("function", name), *body.events, ("command", (":",))))


def shell_function(name: str, *body: Line) -> Line:
    """``name() { first && second }``, with the exit status of these commands."""
    events: list[Event] = [("function", name)]
    for at, line in enumerate(body):
        events += [*((("&&",),) if at else ()), *line.events]
    return Line(f"{name}() {{\n" + " &&\n".join(f"    {line.text}" for line in body) + "\n}", tuple(events))


def subshell(body: Line) -> Line:
    """``( set -u; body )``: variables that the body sets do not outlive it."""
    return Line(f"(\nset -u\n{body.text}\n{_DONE}\n)", (("subshell",), ("command", ("set",), ("-u",)), *body.events, ("command", (":",))))


def write(file: Word, text: str, delimiter: str) -> Line:
    """Writes the text to a file, unchanged: the shell interprets nothing in it.

    As a here-document; text that begins with a backslash is printed instead, because the parser cannot read such a here-document.
    """
    body = text if text.endswith("\n") else text + "\n"
    to: Event = ("redirect", "", ">", parts(file))
    if body.lstrip().startswith("\\"):
        printed = command_line(("printf", "%s", body))
        return Line(f"{printed.text} >{words.shell(file)}", (*printed.events, to))
    events: tuple[Event, ...] = (("command", ("cat",)), to, ("heredoc", f"'{delimiter}'", body))
    return Line(f"cat >{words.shell(file)} <<'{delimiter}'\n{body}{delimiter}", events)


def joined_lines(lines: Sequence[Line]) -> Line:
    """Several lines as one :class:`Line`."""
    return Line("\n".join(line.text for line in lines), tuple(event for line in lines for event in line.events))


def _extended(line: Line, text: str, *events: Event) -> Line:
    """The line with more text at its end, and what that does."""
    return Line(line.text + text, (*line.events, *events))


def _quoted_words(command: Sequence[Word], *, at_start: bool = True) -> tuple[tuple[str, ...], tuple[Parts, ...]]:
    """The words, quoted, and their parts; ``at_start``: whether the first of them is the program."""
    shown = tuple(_quoted_word(each, at_start and place == 0) for place, each in enumerate(command))
    return shown, tuple(map(parts, command))


def _quoted_word(of: Word, first: bool) -> str:
    """The word as text; quoted if a shell, or the parser that checks the script, could take the bare word for something else."""
    text = words.shell(of)
    if text != of:
        return text  # quoted already, or with variables
    special = (of in _DECLARES or not _PLAIN.fullmatch(of)) if first else of in ("=", "==")
    return f"'{of}'" if special else text


def _flowed(shown: Sequence[str], breaks: Sequence[int] = (), indent: str = "") -> str:
    """Words as lines of text, the first of which has the given indent. A line that starts at a break is indented once, one that continues
    a long line twice; an option and its value stay on one line."""
    line = indent + " ".join(shown)
    if not breaks and len(line) < WIDEST:
        return line
    lines: list[str] = []
    for at, each in enumerate(shown):
        if not lines:
            lines.append(indent + each)
        elif at in breaks:
            lines.append(INDENT + each)
        elif len(lines[-1]) + len(each) >= WIDEST and not _takes_value(shown[at - 1]):
            lines.append(2 * INDENT + each)
        else:
            lines[-1] += f" {each}"
    return " \\\n".join(lines)


def _takes_value(word: str) -> bool:
    """Whether the next word may be the value of this one, an option."""
    return word.startswith("-") and "=" not in word


def _quoted(value: Parts) -> str:
    return "".join([f'"${{{part.text}}}"' if isinstance(part, Expansion) else shlex.quote(part) for part in value]) or "''"


def _prose(message: Word) -> str:
    """A message in double quotes, which are easier to read than single ones; in single quotes if it contains special characters."""
    said = (message,) if isinstance(message, str) else message.parts
    if any(set(part) & set('"\\$`!\n') for part in said if isinstance(part, str)):
        return words.shell(message)
    return '"' + "".join([part if isinstance(part, str) else f"${{{part.expanded}}}" for part in said]) + '"'
