"""What bash text does, as an independent parser reads it (tree-sitter's grammar of bash): events, as :mod:`modak.script.bash` has them.

Each node of the syntax tree has at most one event. The kinds of nodes that need a reader are in :data:`_READERS`; a kind that nobody
thought of gives an event under its own name, so that :mod:`modak.script.checker` refuses it where it was not planned.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from modak.script.bash import Event, Expansion, Part, Parts, merged

if TYPE_CHECKING:
    from tree_sitter import Node


class Unparsable(ValueError):
    """Text that the parser cannot read as bash."""


def parse_events(text: str) -> list[Event]:
    """Events of a text, in its order. Raises :class:`Unparsable`.

    >>> parse_events("A=1 && ls $HOME >out")
    [('set', 'A', ('1',)), ('&&',), ('command', ('ls',), (Expansion(text='HOME'),)), ('redirect', '', '>', ('out',))]
    """
    from tree_sitter import Parser

    content = text.encode()
    root = Parser(_language()).parse(content).root_node
    nodes = list(_in_order(root))
    wrong = _first_error(root) if root.has_error else next((node for node in nodes if _is_misread(node, content)), None)
    if wrong:
        raise Unparsable(f"line {wrong.start_point[0] + 1} is no bash that can be checked")
    return [event for node in nodes if (event := _event(node))]


@cache
def _language() -> Any:
    import tree_sitter_bash
    from tree_sitter import Language

    return Language(tree_sitter_bash.language())


def _first_error(node: Node) -> Node:
    """The first node that is an error, or is missing."""
    while not (node.is_error or node.is_missing):
        inner = next((child for child in node.children if child.has_error), None)
        if inner is None:
            break
        node = inner
    return node


_RESERVED: Final = frozenset({b"then", b"elif", b"else", b"fi", b"do", b"done", b"esac"})


def _is_misread(node: Node, content: bytes) -> bool:
    """Whether the grammar takes a reserved word for a command, or a line that has more than its delimiter for a here-document's end."""
    if node.type == "heredoc_end":
        return content[node.end_byte : node.end_byte + 1] not in (b"", b"\n")
    return node.type == "command_name" and node.text in _RESERVED


# --- the nodes that may have an event


def _in_order(root: Node) -> Iterator[Node]:
    """The nodes in the order of the text, each before those below it.

    It does not recurse: whether a text can be read must not depend on the caller's stack.
    """
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(_below(node))


def _below(node: Node) -> Sequence[Node]:
    if not node.is_named:
        return ()
    return _substitutions_in(node) if node.type in _EXPANSIONS else node.children


def _substitutions_in(expansion: Node) -> Sequence[Node]:
    """The outermost substitutions in ``${…}`` or ``$((…))``: they run commands, the rest is part of the word."""
    found: list[Node] = []
    waiting = [expansion]
    while waiting:
        inner = waiting.pop()
        if inner.type.endswith("_substitution"):
            found.append(inner)
        else:
            waiting += reversed(inner.named_children)
    return found


# --- the event of a node


def _event(node: Node) -> Event | None:
    """What a node does beside what those below it do; ``None``: nothing."""
    if not node.is_named:
        return (node.type,) if node.type in _OPERATORS else None
    if node.type in _SILENT or node.type in _WORDS or node.type in _EXPANSIONS:
        return None
    return _READERS.get(node.type, _other)(node)


def _command(node: Node) -> Event:
    """``("command", word, …)``; its assignments and redirects have events of their own."""
    return ("command", *(decoded(child) for child in node.named_children if child.type not in ("variable_assignment", "file_redirect")))


def _assignment(node: Node) -> Event:
    """``("set", name, word)``, from a name, ``=`` and, unless it is empty, a value."""
    name, _, *value = node.children
    return ("set", _text(name), decoded(value[-1]) if value else ())


def _redirect(node: Node) -> Event:
    """``("redirect", descriptor, operator, word)``; the descriptor is empty where the text has none."""
    descriptor = _child(node, "file_descriptor")
    operator = next(child.type for child in node.children if not child.is_named)
    return ("redirect", _text(descriptor) if descriptor else "", operator, decoded(node.children[-1]))


def _heredoc(node: Node) -> Event:
    """``("heredoc", delimiter, body)``; the body is all lines between that of the operator and that of the closing delimiter."""
    delimiter, end = _child(node, "heredoc_start") or node, _child(node, "heredoc_end") or node
    text = node.text or b""
    body = text.find(b"\n", delimiter.end_byte - node.start_byte) + 1
    return ("heredoc", _text(delimiter), text[body : end.start_byte - node.start_byte].decode())


def _declaration(node: Node) -> Event:
    """``("export", word, …)``, or ``declare``, ``local``, …; what is assigned has an event of its own."""
    return (_text(node.children[0]), *(decoded(child) for child in node.named_children if child.type != "variable_assignment"))


def _other(node: Node) -> Event:
    """The kind of any other construct; of one that has no parts, also its text."""
    return (node.type, "" if node.named_child_count else _text(node))


_OPERATORS: Final = frozenset({"&&", "||", "|", "|&", "&", "!"})
_SILENT: Final = frozenset(
    {
        "program", "list", "pipeline", "compound_statement", "redirected_statement", "comment", "command_name",
        "file_descriptor", "heredoc_start", "heredoc_body", "heredoc_content", "heredoc_end",
    }
)  # fmt: skip
"""Nodes that only hold others, and parts that the event of another node tells."""
_WORDS: Final = frozenset(
    {"word", "number", "raw_string", "string", "string_content", "concatenation", "simple_expansion", "ansi_c_string", "variable_name"}
)
"""Words and their parts: the event of what they stand in has them."""
_EXPANSIONS: Final = frozenset({"expansion", "arithmetic_expansion"})
"""The same, but there may be substitutions in them."""
_READERS: Final[Mapping[str, Callable[[Node], Event]]] = {
    "command": _command,
    "variable_assignment": _assignment,
    "file_redirect": _redirect,
    "heredoc_redirect": _heredoc,
    "function_definition": lambda node: ("function", _text(node.named_children[0])),  # what it does follows
    "declaration_command": _declaration,
    "unset_command": lambda node: ("unset", *map(_text, node.named_children)),
    **dict.fromkeys(("subshell", "command_substitution", "process_substitution"), lambda node: (node.type,)),  # likewise
}


# --- the value of a word

_GLOB: Final = re.compile(r"(?<!\\)[*?\[]|^~")
"""What a shell replaces by file names or by a home directory."""
_ESCAPED: Final = re.compile(r"\\(.)")
_ESCAPED_IN_QUOTES: Final = re.compile(r'\\([$`"\\])')


def decoded(node: Node) -> Parts:
    """The value of a word: literal text, and expansions. Anything else that bash would evaluate is an :class:`Expansion` with its text."""
    return merged(tuple(_parts(node)))


def _parts(node: Node) -> Iterator[Part]:
    text = _text(node)
    match node.type:
        case "command_name" | "concatenation":
            yield from _adjoining(node)
        case "raw_string":
            yield text[1:-1]
        case "string":
            yield from _inside(node)
        case "string_content":
            yield _ESCAPED_IN_QUOTES.sub(r"\1", text)
        case "word" if _GLOB.search(text):
            yield Expansion(text)
        case "word" | "number":
            yield _ESCAPED.sub(r"\1", text)
        case "expansion":
            yield Expansion(text[2:-1])
        case "simple_expansion":
            yield Expansion(text[1:])
        case _:
            yield Expansion(text)


def _adjoining(node: Node) -> Iterator[Part]:
    """Parts of a word of several pieces. Text between them, for which the grammar has no nodes, makes all of it an expansion."""
    end = node.start_byte
    for child in node.children:
        if child.start_byte == end:
            yield from _parts(child)
        else:
            yield Expansion(_text(node))
        end = child.end_byte


def _inside(node: Node) -> Iterator[Part]:
    """Parts of a double-quoted string, with the blanks between them, for which the grammar has no nodes."""
    raw, start = node.text or b"", node.start_byte
    at = 1
    for child in node.named_children:
        yield raw[at : child.start_byte - start].decode()
        yield from _parts(child)
        at = child.end_byte - start
    yield raw[at:-1].decode()


def _child(node: Node, kind: str) -> Node | None:
    """The first child of a kind."""
    return next((child for child in node.children if child.type == kind), None)


def _text(node: Node) -> str:
    return (node.text or b"").decode()
