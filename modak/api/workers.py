"""Worker processes whose end is noticed at once, whatever their supervisor is doing, and that may take their time to start."""

from __future__ import annotations

from signal import SIGINT, SIGTERM, signal
from threading import Event
from typing import Final

from uvicorn.supervisors import multiprocess

STARTING_S: Final = 600
"""Seconds for which a worker may start, before a restart is given up and the old workers stay."""


class Worker(multiprocess.Process):
    """uvicorn's worker, whose supervisor asks it twice a second whether it answers, through a pipe."""

    _answered = False

    def ping(self, timeout: float = 5) -> bool:
        """Whether the worker answers in time. One that still starts cannot, and starting another on a busy machine takes longer still."""
        answers = super().ping(timeout)
        self._answered = self._answered or answers
        return answers or not self._answered

    def wait_until_ready(self, timeout: float, should_exit: Event | None = None) -> bool:
        """Whether the worker serves: by then, or as long as starting takes on a busy machine. Ending the service does not wait for it:
        the supervisor looks at signals only between restarts."""
        ended = should_exit or Event()
        before = {ending: signal(ending, lambda *_: ended.set()) for ending in (SIGINT, SIGTERM)}
        try:
            return super().wait_until_ready(max(timeout, STARTING_S), ended)
        finally:
            for ending, handler in before.items():
                signal(ending, handler)

    def start(self) -> None:
        """Start the worker, and leave its end of the pipe to it: the answer of a worker that ends would be waited for in vain."""
        super().start()
        self.child_conn.close()


def use_own_workers() -> None:
    """Let uvicorn start such workers; it has no setting for that."""
    multiprocess.Process = Worker  # type: ignore[misc]
