"""Connections of slow clients: uvicorn waits for headers for as long as they take, and reads them however long they are.

A connection is closed where a request's headers do not arrive in time, or are longer than any that would be answered; so it is
where what stands in a body beside its content (sizes of chunks, fields behind the last one) comes to more than that.
"""

from __future__ import annotations

import asyncio
import os
from functools import cache
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from modak.api.limits import LONGEST_ADDRESS, LONGEST_HEADERS
from modak.settings import read_settings

LONGEST: Final = LONGEST_ADDRESS + LONGEST_HEADERS
FRAMED: Final = 8
"""Bytes for each byte of a body's content: in chunks of one byte each takes six."""


class Connection(HttpToolsProtocol):
    """uvicorn's connection, with a time by which headers have to be there: from its beginning, and from a request's first byte."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._deadline: asyncio.TimerHandle | None = None
        self._head = 0
        """Bytes of headers that came."""
        self._beside = 0
        """Bytes that came behind the headers, and that no content explains."""

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
        else:
            self._beside += len(data)
        super().data_received(data)
        if self._beside > LONGEST or (self._deadline is not None and self._head > LONGEST):
            self._stop()
            self.transport.close()
        elif self._deadline is None and self._idle():
            self._wait()

    def on_message_begin(self) -> None:
        """A request begins: its headers have their own time."""
        super().on_message_begin()
        self._beside = 0
        self._wait()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A field of the headers. One behind the body is none: whoever passed the request on did not look at it (RFC 9110, 6.5.1)."""
        if self._deadline is not None:
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        """Content, which is counted where it is read."""
        self._beside = max(0, self._beside - FRAMED * len(body))
        super().on_body(body)

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
