"""The check of a finished script: an independent parser must find in the text exactly what was planned.

``bash -n`` and shellcheck accept ``curl … | bash``. This module compares the syntax tree of the text (tree-sitter's
grammar of bash) with the events that :mod:`modak.script.bash` recorded when it made each line.

Each line is parsed together with a command after it, and both must be found. Then nothing in the line reaches beyond its end, and
lines one below the other mean what each means alone, so a line that is in every script is parsed once. A plain command is its words
with blanks between them: each word is parsed in its place (first, or after another word), and also once.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final

from modak.errors import RequestError
from modak.script.bash import Continued, Event, Expansion, Line, Part, Parts, merged
from modak.text.grammar import UNSOUND

if TYPE_CHECKING:
    from tree_sitter import Node

LONGEST_SCRIPT: Final = 1 << 20
LONGEST_HEADER: Final = 64
DIRECTIVE: Final = re.compile(r"#(?:SBATCH|PBS|BSUB|\$|\s*flux:)")
"""What a built-in scheduler would read as an option of the job. For other schedulers, the check also looks for their own prefix."""

_QUOTES: Final = re.compile(r"[\\\"'#]|[^\x20-\x7e]")
_GLOB: Final = re.compile(r"(?<!\\)[*?\[]|^~")
"""What a shell replaces by file names or by a home directory."""
_OPERATORS: Final = frozenset({"&&", "||", "|", "|&", "&", "!"})
_SILENT: Final = frozenset(
    {
        *("program", "list", "pipeline", "compound_statement", "redirected_statement", "comment", "command_name"),
        *("file_descriptor", "heredoc_start", "heredoc_body", "heredoc_content", "heredoc_end"),
    }
)
_WORDS: Final = frozenset(
    {"word", "number", "raw_string", "string", "string_content", "concatenation", "simple_expansion", "ansi_c_string", "variable_name"}
)
_EXPANSIONS: Final = frozenset({"expansion", "arithmetic_expansion"})


class Unparsable(ValueError):
    """Text that the parser cannot read as bash."""


def check_script(head: str, options: Sequence[tuple[str, ...]], body: Sequence[Line], prefix: str) -> str:
    """The text of a script from ``head`` (first line, options and comments) and ``body``.

    ``options`` are the words of each header line after ``prefix`` (``#SBATCH``). Raises :class:`modak.errors.RequestError` unless the
    text contains exactly these options, and its lines do what their events say.
    """
    below = "\n".join([line.text for line in body]) + "\n"
    if len(options) > LONGEST_HEADER or len(head) + len(below) > LONGEST_SCRIPT:
        raise _refused(f"it has more than {LONGEST_SCRIPT} characters or {LONGEST_HEADER} header lines")
    if _control(head) or header(head, prefix) != list(options):
        raise _refused("its header would not be read as planned")
    _check_each(body)
    if prefix and f"\n{prefix}" in f"\n{below}":
        raise _refused(_STRAY)
    return head + below


class Sound(Line):
    """Lines that have been checked, as one; made only by :func:`sound`."""


def sound(lines: Sequence[Line]) -> Sound:
    """The lines, checked, as one that is not checked again. Raises as :func:`check_line` does."""
    _check_each(lines)
    return Sound("\n".join([line.text for line in lines]))


class Start(Line):
    """The first words of commands, which have been checked; made only by :func:`start`."""


def start(line: Line) -> Start:
    """The words of a command, checked, as the start of commands in which they are not checked again. Raises as :func:`check_line` does."""
    if not _is_words(line, _NO_START):
        raise _refused("its command would not begin as planned")
    _check_words(line, _NO_START)
    return Start(line.text, line.events, line.words)


def _check_each(lines: Sequence[Line]) -> None:
    for line in lines:
        if isinstance(line, Sound) or _SOUND.get(line.text) == line.events:
            continue
        begun = line.start if isinstance(line, Continued) and isinstance(line.start, Start) else _NO_START
        if line.words and _is_words(line, begun):
            _check_words(line, begun)
        elif not _is_assignment(line):
            _check_once(line)


def check_line(line: Line) -> None:
    """Raises :class:`modak.errors.RequestError` unless the line does what its events say, and nothing in it reaches beyond its end."""
    if bad := _control(line.text):
        raise _refused(f"character {bad.start() + 1} of {line.text[:40]!a} is a control character")
    if any(DIRECTIVE.match(each) for each in line.text.split("\n")):
        raise _refused(_STRAY)
    try:
        found = meaning(f"{line.text}\n{_BEHIND}\n")
    except Unparsable as error:
        raise _refused(str(error)) from None
    if found != [*line.events, ("command", (_BEHIND,))]:
        raise _refused(f"it would not do what was planned: {_difference(found, line.events)}")


def _control(text: str) -> re.Match[str] | None:
    """The first sign of a text that no script may hold. It is none of the printable ones, which are quicker to recognise."""
    return None if text.replace("\n", "").isprintable() else UNSOUND.search(text)


def _is_assignment(line: Line) -> bool:
    """Whether the line is ``[export] NAME=value`` with a value that is literal for every shell, and is planned as such."""
    found = _ASSIGNMENT.fullmatch(line.text)
    exported: tuple[Event, ...] = (("export",),) if found and found[1] else ()
    return found is not None and line.events == (*exported, ("set", found[2], (found[3] or found[4],)))


def _is_words(line: Line, begun: Start) -> bool:
    """Whether a line is one command: the words of ``begun`` and its own, with blanks between them."""
    (command,) = line.events
    shown = " ".join((*begun.words, *line.words))
    return _CONTINUED.sub(" ", line.text) == shown and command[: 1 + len(begun.words)] == begun.events[0]


def _check_words(line: Line, begun: Start) -> None:
    """As :func:`check_line`, for the words behind those of ``begun``, one by one."""
    known = len(begun.words)
    (command,) = line.events
    for at, (shown, meant) in enumerate(zip(line.words, command[1 + known :], strict=True), start=known):
        if at and meant == (shown,) and _PLAIN.fullmatch(shown):
            continue
        word = Line(f"{_PROGRAM} {shown}", (("command", (_PROGRAM,), meant),)) if at else Line(shown, (("command", meant),))
        _check_once(word)


def _check_once(line: Line) -> None:
    """As :func:`check_line`; a line that passed is remembered, and not parsed again."""
    if _SOUND.get(line.text) == line.events:
        return
    check_line(line)
    if len(line.text) <= _LONGEST_CACHED_LINE:
        if len(_SOUND) >= _MOST_CACHED_LINES:
            _SOUND.clear()
        _SOUND[line.text] = line.events


_NO_START: Final = Start("", (("command",),))
_PROGRAM, _BEHIND = "modak_program", "modak_behind"
_CONTINUED: Final = re.compile(r" \\\n {4,8}")
_COMMAND: Final = re.compile(r"(?<=\n)(?!#)[^\S\n]*\S")
"""The beginning of the first line that is no comment and not empty."""
_ASSIGNMENT: Final = re.compile(r"(export )?([A-Z_]+)=(?:([A-Za-z0-9_./,-]+)|'([ -&(-~]+)')")
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./:,@%+=-]+")
"""A word that is literal for every shell if it is not the first."""
_STRAY: Final = "a line below its header reads as an option for a scheduler"
_LONGEST_CACHED_LINE: Final = 2000
"""Characters of the longest line that is remembered."""
_MOST_CACHED_LINES: Final = 2048
"""At most this many lines are remembered."""
_SOUND: Final[dict[str, tuple[Event, ...]]] = {}
"""Events of the lines that passed, by their text. A plain dictionary, because it is read for every line of every script."""


def header(text: str, prefix: str) -> list[tuple[str, ...]]:
    """Words of the options as a scheduler reads them: those of every line before the first command that starts with ``prefix``.

    Options of another scheduler, and options after the first command, are returned as ``("stray", LINE)``, which is never planned.
    """
    command = _COMMAND.search(text)
    above = text[: command.start()] if command else text
    first, *lines = above.split("\n")
    wrong = [] if first == "#!/bin/bash" else [("stray", first)]
    words = _option if len(text) <= _LONGEST_CACHED_LINE else _option.__wrapped__
    found = [option for line in lines if (option := words(line, prefix))]
    return [*wrong, *found, *(("stray", line) for line in text[len(above) :].split("\n") if words(line, prefix))]


@lru_cache(maxsize=1024)
def _option(line: str, prefix: str) -> tuple[str, ...]:
    """The words of an option; empty for a line that no scheduler reads. Lines with quotes are split by a shell's rules."""
    if prefix and line.startswith(prefix + " "):
        text = line[len(prefix) :]
        words = tuple(shlex.split(text, comments=True) if _QUOTES.search(text) else text.split())
        return words or ("stray", line)
    return ("stray", line) if DIRECTIVE.match(line) or (prefix and line.startswith(prefix)) else ()


def meaning(text: str) -> list[Event]:
    """Events of a text, in its order. Raises :class:`Unparsable`."""
    from tree_sitter import Parser

    tree = Parser(_language()).parse(text.encode())
    if tree.root_node.has_error:
        raise Unparsable(f"line {_first_error(tree.root_node).start_point[0] + 1} is no bash that can be checked")
    return list(_events(tree.root_node))


@cache
def _language() -> Any:
    import tree_sitter_bash
    from tree_sitter import Language

    return Language(tree_sitter_bash.language())


def _events(root: Node) -> Iterator[Event]:
    """Pre-order walk: the events of each node. It does not recurse: whether a text can be read must not depend on the caller's stack."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield from _own_events(node)
        waiting += reversed(_below(node))


def _own_events(node: Node) -> Iterator[Event]:
    """One event for each command, assignment, redirect and construct."""
    if not node.is_named:
        if node.type in _OPERATORS:
            yield (node.type,)
        return
    match node.type:
        case "command":
            beside = {"variable_assignment", "file_redirect"}
            yield ("command", *(decoded(child) for child in node.named_children if child.type not in beside))
        case "variable_assignment":
            yield ("set", _text(node.children[0]), decoded(node.children[-1]) if len(node.children) > 2 else ())
        case "file_redirect":
            yield ("redirect", *_redirect(node))
        case "heredoc_redirect":
            yield ("heredoc", *_heredoc(node))
        case "function_definition":
            yield ("function", _text(node.named_children[0]))
        case "declaration_command":
            yield (_text(node.children[0]), *(decoded(child) for child in node.named_children if child.type != "variable_assignment"))
        case "unset_command":
            yield ("unset", *map(_text, node.named_children))
        case "subshell" | "command_substitution" | "process_substitution" as construct:
            yield (construct,)
        case kind if kind not in _SILENT | _WORDS | _EXPANSIONS:
            yield (kind, "" if node.named_child_count else _text(node))


def _below(node: Node) -> Sequence[Node]:
    """The nodes whose events follow those of a node. Of an expansion, its outermost substitutions: the rest of it is part of its word."""
    if not node.is_named:
        return ()
    if node.type not in _EXPANSIONS:
        return node.children
    found: list[Node] = []
    waiting = [node]
    while waiting:
        inner = waiting.pop()
        if inner.type.endswith("_substitution"):
            found.append(inner)
        else:
            waiting += reversed(inner.named_children)
    return found


def decoded(node: Node) -> Parts:
    """The value of a word: literal text, and expansions. Anything else that bash would evaluate is an :class:`Expansion` with its text."""
    return merged(tuple(_parts(node)))


def _parts(node: Node) -> Iterator[Part]:
    kind, text = node.type, _text(node)
    if kind in {"command_name", "concatenation"}:
        end = node.start_byte
        for child in node.children:
            yield from _parts(child) if child.start_byte == end else (Expansion(text),)
            end = child.end_byte
    elif kind == "raw_string":
        yield text[1:-1]
    elif kind == "word" and _GLOB.search(text):
        yield Expansion(text)
    elif kind in {"word", "number", "string_content"}:
        yield re.sub(r'\\([$`"\\])' if kind == "string_content" else r"\\(.)", r"\1", text)
    elif kind == "string":
        yield from _inside(node)
    elif kind == "expansion":
        yield Expansion(text[2:-1])
    elif kind == "simple_expansion":
        yield Expansion(text[1:])
    else:
        yield Expansion(text)


def _inside(node: Node) -> Iterator[Part]:
    """Parts of a double-quoted string, with the blanks between them, for which the grammar has no nodes."""
    at = node.start_byte + 1
    raw = _text(node).encode()
    for child in node.named_children:
        yield raw[at - node.start_byte : child.start_byte - node.start_byte].decode()
        yield from _parts(child)
        at = child.end_byte
    yield raw[at - node.start_byte : -1].decode()


def _redirect(node: Node) -> tuple[str, str, Parts]:
    descriptor = next((_text(child) for child in node.children if child.type == "file_descriptor"), "")
    operator = next(child.type for child in node.children if not child.is_named)
    return descriptor, operator, decoded(node.children[-1])


def _heredoc(node: Node) -> tuple[str, str]:
    """Delimiter and text of a here-document: all lines between that of the operator and that of the closing delimiter."""
    start, end = (next((child for child in node.children if child.type == kind), node) for kind in ("heredoc_start", "heredoc_end"))
    raw = node.text or b""
    first = raw.find(b"\n", start.end_byte - node.start_byte) + 1
    return _text(start), raw[first : end.start_byte - node.start_byte].decode()


def _first_error(node: Node) -> Node:
    """The first node that is an error, or is missing."""
    while not (node.is_error or node.is_missing):
        inner = next((child for child in node.children if child.has_error), None)
        if inner is None:
            break
        node = inner
    return node


def _text(node: Node) -> str:
    return (node.text or b"").decode()


def _difference(found: Sequence[Event], planned: Sequence[Event]) -> str:
    for at, event in enumerate(found):
        if at >= len(planned) or event != planned[at]:
            return f"{event!r:.200} was not planned"
    return f"{planned[len(found)]!r:.200} is missing"


def _refused(why: str) -> RequestError:
    return RequestError(f"the script cannot be written safely: {why}", field="job")
