"""A count of running work, for whoever has to wait until there is none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition


class Underway:
    """How many pieces of work are running, in any threads."""

    def __init__(self) -> None:
        self._count, self._changed = 0, Condition()

    @contextmanager
    def one(self) -> Iterator[None]:
        """Count one more while the block runs."""
        with self._changed:
            self._count += 1
        try:
            yield
        finally:
            with self._changed:
                self._count -= 1
                self._changed.notify_all()

    def wait(self) -> None:
        """Wait until none is running."""
        with self._changed:
            self._changed.wait_for(lambda: not self._count)
