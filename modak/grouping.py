"""Values grouped by what they have in common."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


def grouped(values: Iterable[Value], key: Callable[[Value], Key]) -> dict[Key, list[Value]]:
    """The values of each key, in their order; keys in the order of their first value.

    >>> grouped(["srun", "mpirun", "prun"], len)
    {4: ['srun', 'prun'], 6: ['mpirun']}
    """
    found: dict[Key, list[Value]] = {}
    for value in values:
        found.setdefault(key(value), []).append(value)
    return found
