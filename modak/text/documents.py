"""JSON documents: a strict reader, for request bodies, request files and data files; and one with a value changed."""

from __future__ import annotations

import json
import math
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final, NoReturn

from modak.errors import BadSyntax, RequestError

Json = dict[str, Any]
"""An object, to be written as JSON."""
DEEPEST: Final = 64
LONGEST_INTEGER: Final = 20

_HALF_PAIR: Final = re.compile("[\ud800-\udfff]")


def strict_json(text: bytes | str) -> Any:
    """The value of a JSON document in UTF-8. A byte order mark before it, which editors under Windows write, is none of its text (RFC 8259,
    section 8.1).

    Raises :class:`modak.errors.BadSyntax` (400) for text that is not JSON, and for what JSON readers disagree on: ``NaN``,
    ``Infinity`` and numbers beyond the range of a double, a key given twice, half of a surrogate pair, NUL, more than
    :data:`DEEPEST` levels, integers of more than :data:`LONGEST_INTEGER` digits.
    """
    document = _decoded(text)
    try:
        value = _DECODER.decode(document)
    except json.JSONDecodeError as error:
        raise BadSyntax(f"line {error.lineno}, column {error.colno}: not valid JSON: {why_not_json(error)}") from None
    except RecursionError:
        raise BadSyntax(f"more than {DEEPEST} levels") from None
    if "\\u" not in document and document.count("{") + document.count("[") <= DEEPEST:
        return value  # without escapes all texts are sound, with so few brackets the depth is small
    for found, depth in _values(value):
        if depth > DEEPEST:
            raise BadSyntax(f"more than {DEEPEST} levels")
        if isinstance(found, str):
            _check_text(found)
    return value


def why_not_json(error: json.JSONDecodeError) -> str:
    """What is wrong, without the place: in words for what people write often, which readers word differently or do not name."""
    before, after = error.doc[: error.pos].rstrip(), error.doc[error.pos : error.pos + 200].lstrip()
    comma = before.endswith(",") or after.startswith(",")
    end = after.removeprefix(",").lstrip()[:1]
    if comma and end in ("}", "]"):
        return f"a comma before the closing {end}"
    if not error.doc.strip():
        return "nothing is there"
    if not after:
        return "it ends before its last bracket is closed"
    if found := next((why for sign, why in _UNLIKE_JSON.items() if after.startswith(sign)), "" if before else _NO_DOCUMENT):
        return found
    if error.msg == "Extra data":
        return _NO_BRACES if before.startswith('"') else "more follows its end"
    if error.msg == "Expecting ',' delimiter":
        return _no_comma(before, after)
    if error.msg.startswith("Invalid control character"):
        return _NO_QUOTE if error.doc[error.pos] in "\r\n" else "control characters are written with a backslash: \\t for a tab"
    return error.msg[0].lower() + error.msg[1:]


def _no_comma(before: str, after: str) -> str:
    """What is wrong where a value, the end of what is ``before``, is followed by neither a comma nor the bracket that it needs."""
    word = after[0].isalnum() or after[0] in ":.%_"
    if before[-1].isdigit() and word:
        return "no number of JSON is written so; texts stand in double quotes"
    if after[0] in "}]":
        return f"a {'}' if after[0] == ']' else ']'} is missing before the {after[0]}"
    if before[-1] == '"' and word and after[0] != ":":
        return 'a " is missing further left, or a backslash before one within a text'
    return "a { is missing before the name" if after[0] == ":" else "a comma is missing"


_NO_DOCUMENT: Final = "a document begins with { or ["
_NO_BRACES: Final = "the { before it and the } behind it are missing"
"""Said of a part of a document: ``"optimisation": {…}``."""
_NO_QUOTE: Final = 'the closing " of a text is missing in this line; a line break within a text is written \\n'
_UNLIKE_JSON: Final[Mapping[str, str]] = {
    **dict.fromkeys(("//", "/*", "#"), "JSON has no comments"),
    "```": "the lines with ``` around it are none of it",
    **dict.fromkeys("'’‘“”", "names and texts stand in straight double quotes"),
    **{"True": "true is written in small letters", "False": "false is written in small letters", "None": "null is meant"},
}
"""How what is no JSON begins, and what to say of it."""


SCHEMA_KEY: Final = "$schema"
"""The key by which a document tells editors where its schema is."""


def without_schema(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The document without the key that only editors read."""
    return {key: value for key, value in document.items() if key != SCHEMA_KEY} if SCHEMA_KEY in document else document


def with_value(document: Any, path: tuple[str, ...], value: Any) -> Any:
    """``document`` with ``value`` at ``path``. Raises :class:`modak.errors.RequestError` if something on the path is not an object."""
    if not path:
        return value
    if document is not None and not isinstance(document, Mapping):
        raise RequestError("allowed: an object", field=path[0])
    section = document or {}
    return {**section, path[0]: with_value(section.get(path[0]), path[1:], value)}


def _decoded(text: bytes | str) -> str:
    if isinstance(text, bytes) and text.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise BadSyntax("text in UTF-16; save it as UTF-8")
    try:
        decoded = text if isinstance(text, str) else text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadSyntax(f"byte {error.start + 1}: not valid UTF-8") from None
    return decoded.removeprefix("\ufeff")


def _no_constant(name: str) -> NoReturn:
    raise BadSyntax(f"{name} is not a JSON number")


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise BadSyntax(f"the number {text[:40]} is beyond the range of a double")
    return value


def _integer(text: str) -> int:
    if len(text.lstrip("-")) > LONGEST_INTEGER:
        raise BadSyntax(f"an integer of more than {LONGEST_INTEGER} digits")
    return int(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise BadSyntax(f"the key {twice[:60]!a} appears twice in one object")
    return found


_DECODER: Final = json.JSONDecoder(parse_constant=_no_constant, parse_float=_float, parse_int=_integer, object_pairs_hook=_object)


def _values(value: Any) -> Iterator[tuple[Any, int]]:
    """Every value and key with its depth, without recursion."""
    waiting = [(value, 1)]
    while waiting:
        found, depth = waiting.pop()
        yield found, depth
        if isinstance(found, dict):
            waiting += [(inner, depth + 1) for pair in found.items() for inner in pair]
        elif isinstance(found, list):
            waiting += [(inner, depth + 1) for inner in found]


def _check_text(text: str) -> None:
    if "\0" in text:
        raise BadSyntax("a text holds NUL")
    if _HALF_PAIR.search(text):
        raise BadSyntax("a text holds half of a surrogate pair")
