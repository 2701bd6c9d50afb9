"""Lists of host names, as schedulers write them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sized
from itertools import product
from typing import Final

_ITEM: Final = re.compile(r"(?:[^,\[]|\[[^\]]*\])+")
_BRACKETS: Final = re.compile(r"\[([^\]]*)\]")


def expand_nodes(nodes: str) -> tuple[str, ...]:
    """Host names of a node list, each once: ``n[01-03],m7`` -> n01, n02, n03, m7.

    >>> expand_nodes("n[01-03],m7,n02")
    ('n01', 'n02', 'n03', 'm7')
    >>> expand_nodes("x1b[0-1]n[0,3]")
    ('x1b0n0', 'x1b0n3', 'x1b1n0', 'x1b1n3')
    """
    return tuple(dict.fromkeys("".join(name) for parts in _parts(nodes) for name in product(*parts)))


def count_nodes(nodes: str) -> int:
    """The number of host names in a node list, with those that are named twice; no name is made. Raises :class:`ValueError` for a range
    that falls."""
    return sum(math.prod(map(len, parts)) for parts in _parts(nodes))


def with_one_range(nodes: str) -> str:
    """The list for a scheduler that reads one pair of brackets in a name: the last one is kept, the others are written out.

    >>> with_one_range("x1b[0-1]n[0-3],m[07-12],login")
    'x1b0n[0-3],x1b1n[0-3],m[07-12],login'
    """
    items = (item.rpartition("[") for item in _ITEM.findall(nodes))
    return ",".join(first + bracket + rest for before, bracket, rest in items for first in expand_nodes(before) or ("",))


def _parts(nodes: str) -> Iterator[list[tuple[str, ...] | _Indices]]:
    """The parts of each item of a node list, with the texts that each of them may be."""
    for item in _ITEM.findall(nodes):
        texts = _BRACKETS.split(item)  # every second one stood in brackets
        yield [_Indices(text) if place % 2 else (text,) for place, text in enumerate(texts)]


class _Indices(Sized, Iterable[str]):
    """The indices that ranges name, ``01-03,7``, with their zeros. Ranges may be long: none is made before it is asked for."""

    def __init__(self, ranges: str) -> None:
        pairs = [(first, last or first) for first, _, last in (part.partition("-") for part in ranges.split(","))]
        self._ranges = [(len(first), range(int(first), int(last) + 1)) for first, last in pairs]
        if not all(indices for _, indices in self._ranges):
            raise ValueError("a range falls")

    def __len__(self) -> int:
        return sum(len(indices) for _, indices in self._ranges)

    def __iter__(self) -> Iterator[str]:
        return (f"{index:0{digits}d}" for digits, indices in self._ranges for index in indices)
