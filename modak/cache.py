"""A bounded cache. Each belongs to an immutable value, and is discarded together with it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, Final, TypeVar

Answer = TypeVar("Answer")
_NOTHING: Final = object()
"""In place of a result that is not stored: ``None`` may be one."""


class Cache:
    """At most ``most`` results of a pure function, by key; the oldest goes first. Thread-safe; two threads may compute the same result.

    All results of a key come from one ``compute``, which says their type.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._found: dict[Hashable, Any] = {}
        self._lock = Lock()

    def get(self, key: Hashable, compute: Callable[[], Answer]) -> Answer:
        """The result for a key, from ``compute`` if it is not stored."""
        found: Answer = self._found.get(key, _NOTHING)
        if found is _NOTHING:
            found = compute()
            with self._lock:
                self._found[key] = found
                if len(self._found) > self._most:
                    del self._found[next(iter(self._found))]
        return found
