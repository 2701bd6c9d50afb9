"""Worker processes whose end is noticed at once, whatever their supervisor is doing."""

from __future__ import annotations

from uvicorn.supervisors import multiprocess


class Worker(multiprocess.Process):
    """uvicorn's worker, whose supervisor asks it twice a second whether it answers, through a pipe."""

    def start(self) -> None:
        """Start the worker, and leave its end of the pipe to it: the answer of a worker that ends would be waited for in vain."""
        super().start()
        self.child_conn.close()


def use_own_workers() -> None:
    """Let uvicorn start such workers; it has no setting for that."""
    multiprocess.Process = Worker  # type: ignore[misc]
