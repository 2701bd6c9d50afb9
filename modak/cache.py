"""Bounded caches that belong to an immutable value: what was computed from the value is discarded together with it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Answer = TypeVar("Answer")


class Cache(Generic[Key, Answer]):
    """The newest answers of a pure function, by its argument; asked from several threads, it may work one out twice."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._found: dict[Key, Answer] = {}
        self._lock = Lock()

    def get(self, key: Key, work_out: Callable[[], Answer]) -> Answer:
        """The answer for a key; the oldest makes room where there are more than ``most``."""
        found = self._found.get(key)
        if found is not None:
            return found
        found = work_out()
        with self._lock:
            self._found[key] = found
            if len(self._found) > self._most:
                del self._found[next(iter(self._found))]
        return found
