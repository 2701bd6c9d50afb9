"""Regular expressions meet texts that anybody sends. One that may share a long text between two repetitions in many ways tries all of them
where the text does not match in the end, and a match cannot be interrupted.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import modak

ASCII = "".join(map(chr, range(128)))
parser: Any = importlib.import_module("re._parser")
compiler: Any = importlib.import_module("re._compiler")
REPEATS = (parser.MAX_REPEAT, parser.MIN_REPEAT)
LETTERS = (parser.LITERAL, parser.NOT_LITERAL, parser.ANY, parser.IN)


class Part(NamedTuple):
    """Of a pattern: whether it may be empty, and the letters of endless repetitions with which it may begin and end."""

    empty: bool
    first: tuple[frozenset[str], ...] = ()
    last: tuple[frozenset[str], ...] = ()


class Shared(Exception):
    """Two endless repetitions, one behind the other, take the same letters."""


def patterns() -> Iterator[tuple[str, int]]:
    """Those of all modules: constants, also in tables, and what is given to ``re``'s functions."""
    for module in pkgutil.walk_packages(modak.__path__, "modak."):
        if module.name != "modak.__main__":
            found = importlib.import_module(module.name)
            yield from (each for value in vars(found).values() for each in within(value))
            for node in ast.walk(ast.parse(Path(found.__file__ or "").read_text(encoding="utf-8"))):
                match node:
                    case ast.Call(ast.Attribute(ast.Name("re")), [ast.Constant(str(text)), *_]):
                        yield text, 0


def within(value: object) -> Iterator[tuple[str, int]]:
    """The patterns that a value of a module is, or has."""
    if isinstance(value, re.Pattern):
        yield (value.pattern if isinstance(value.pattern, str) else value.pattern.decode("latin-1")), value.flags
    elif isinstance(value, tuple | list):
        for each in value:
            yield from within(each)
    elif isinstance(value, dict):
        yield from within([*value, *value.values()])


def joined(parts: Any, state: Any) -> Part:
    """A sequence of parts. Raises :class:`Shared`."""
    whole = Part(empty=True)
    for each in parts:
        part = read(each[0], each[1], state)
        if any(left & right for left in whole.last for right in part.first):
            raise Shared
        first = (*whole.first, *part.first) if whole.empty else whole.first
        last = (*whole.last, *part.last) if part.empty else part.last
        whole = Part(whole.empty and part.empty, first, last)
    return whole


def read(kind: Any, value: Any, state: Any) -> Part:
    """One part. Raises :class:`Shared`."""
    if kind in LETTERS:
        return Part(empty=False)
    if kind in REPEATS:
        least, most, inner = value
        part = joined(inner, state)
        if most is parser.MAXREPEAT and len(inner) == 1 and inner[0][0] in LETTERS:
            taken = (letters(repr(inner[0]), compiler.compile(parser.SubPattern(state, [inner[0]]), state.flags)),)
            return Part(least == 0, taken, taken)
        if most is parser.MAXREPEAT and any(left & right for left in part.last for right in part.first):
            raise Shared
        return part._replace(empty=least == 0 or part.empty)
    if kind is parser.SUBPATTERN:
        return joined(value[3], state)
    if kind is parser.BRANCH:
        ways = [joined(each, state) for each in value[1]]
        first, last = (one for way in ways for one in way.first), (one for way in ways for one in way.last)
        return Part(any(way.empty for way in ways), tuple(first), tuple(last))
    return Part(empty=True)


@cache
def letters(_: str, one: re.Pattern[str]) -> frozenset[str]:
    """Those that a part of one letter takes."""
    return frozenset(filter(one.fullmatch, ASCII))


def shares(pattern: str, flags: int = 0) -> bool:
    """Whether two repetitions share letters; a last one that takes all but line breaks cannot fail."""
    tree = parser.parse(re.sub(r"\.[*+]\)?\Z", "", pattern) + ")" * pattern.endswith((".*)", ".+)")), flags)
    try:
        joined(tree, tree.state)
    except Shared:
        return True
    return False


@pytest.mark.parametrize("pattern", [r"[0-9]+\.?[0-9]*", r"\s*(\(x\))?\s*", "(a*)*", "(?:a|b+)+", r"x\s*.*y"])
def test_a_pattern_that_shares_is_found(pattern: str) -> None:
    """However the repetitions meet."""
    assert shares(pattern)


def test_no_pattern_shares_a_text_between_two_repetitions() -> None:
    """In all of MODAK."""
    found = sorted(set(patterns()))
    assert len(found) > 300
    assert [pattern for pattern, flags in found if shares(pattern, flags)] == []
