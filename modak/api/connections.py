"""Connections of slow clients: uvicorn waits for headers for as long as they take, and reads them however long they are.

A connection is closed where a request's headers do not arrive in time, or are longer than any that would be answered.
"""

from __future__ import annotations

import asyncio
import os
from functools import cache
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from modak.api.limits import LONGEST_ADDRESS, LONGEST_HEADERS
from modak.settings import read_settings


class Connection(HttpToolsProtocol):
    """uvicorn's connection, with a time by which headers have to be there: from its beginning, and from a request's first byte."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._deadline: asyncio.TimerHandle | None = None
        self._head = 0
        """Bytes of headers that came."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Start waiting for the first request."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count what comes before headers are complete; between two requests, wait for the next once anything came."""
        if self._deadline is not None:
            self._head += len(data)
        super().data_received(data)
        if self._deadline is not None and self._head > LONGEST_ADDRESS + LONGEST_HEADERS:
            self._stop()
            self.transport.close()
        elif self._deadline is None and self._idle():
            self._wait()

    def on_message_begin(self) -> None:
        """A request begins: its headers have their own time."""
        super().on_message_begin()
        self._wait()

    def on_headers_complete(self) -> None:
        """They are there."""
        self._stop()
        super().on_headers_complete()

    def _idle(self) -> bool:
        cycle: Any = self.cycle  # none before the first request
        return cycle is None or cycle.response_complete

    def _wait(self) -> None:
        self._stop()
        self._deadline = self.loop.call_later(_patience(), self.transport.close)

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline, self._head = None, 0


@cache
def _patience() -> float:
    """Seconds for headers: uvicorn makes connections by itself, and has no room for our settings."""
    return read_settings(os.environ).header_s
