"""What still runs when a database is to be closed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition


class Underway:
    """How many pieces of work are under way, in whichever threads."""

    def __init__(self) -> None:
        self._count, self._changed = 0, Condition()

    @contextmanager
    def one(self) -> Iterator[None]:
        """One more, until the end of the block."""
        with self._changed:
            self._count += 1
        try:
            yield
        finally:
            with self._changed:
                self._count -= 1
                self._changed.notify_all()

    def wait(self) -> None:
        """Return when there is none."""
        with self._changed:
            self._changed.wait_for(lambda: not self._count)
