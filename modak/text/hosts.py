"""Lists of host names, as schedulers write them."""

from __future__ import annotations

import re
from collections.abc import Sequence


def expand_nodes(nodes: str) -> tuple[str, ...]:
    """Host names of a node list, each once: ``n[01-03],m7`` -> n01, n02, n03, m7.

    >>> expand_nodes("n[01-03],m7,n02")
    ('n01', 'n02', 'n03', 'm7')
    """
    found: list[str] = []
    for item in re.findall(r"[^,\[]+(?:\[[^\]]*\])?", nodes):
        base, _, ranges = item.partition("[")
        found += [base + index for part in ranges.rstrip("]").split(",") for index in _indices(part)]
    return tuple(dict.fromkeys(found))


def _indices(part: str) -> Sequence[str]:
    first, _, last = part.partition("-")
    return [first] if not last else [f"{index:0{len(first)}d}" for index in range(int(first), int(last) + 1)]
