"""Limits on connections, and on headers: uvicorn waits for headers for any time, and reads them however long they are.

A connection is closed if a request's headers do not arrive in time or are too long, or if a body has too much beside its content
(sizes of chunks, fields behind the last chunk).
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, Final

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from modak.api.limits import LONGEST_ADDRESS, LONGEST_HEADERS, RETRY_S
from modak.api.problems import ProblemResponse
from modak.errors import Fault
from modak.settings import Settings

LONGEST: Final = LONGEST_ADDRESS + LONGEST_HEADERS
LAST_S: Final = 1.0
"""Seconds for the first request of a connection that was opened just before the worker ends: others need not know that it does."""
TOO_MANY: Final = ProblemResponse(
    503,
    "too many connections",
    [Fault("", "the service has as many connections as it takes; ask again")],
    {"Retry-After": str(RETRY_S), "Connection": "close"},
)
FRAMED: Final = 8
"""Bytes that a body may take for each byte of content: a chunk of one byte takes six."""


class Connection(HttpToolsProtocol):
    """uvicorn's connection with a time limit for headers, from the start of the connection and from the first byte of each request."""

    def __init__(self, config: Config, *arguments: Any, **named: Any) -> None:
        super().__init__(config, *arguments, **named)
        settings: Settings = config.loaded_app.state.settings  # as the worker read them at its start: by now they may be others, or wrong
        self._patience, self._most, self._serving = settings.header_s, settings.max_connections, self.app
        self._deadline: asyncio.TimerHandle | None = None
        self._head = 0
        """Bytes of headers so far."""
        self._beside = 0
        """Bytes behind the headers that are more than the content explains."""
        self._last = False
        """Whether the worker ends after the request that is awaited."""
        self._open: deque[Any] = deque()
        """Requests that are not answered yet: uvicorn tells only the newest that the caller hung up, and answers the others in vain."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Start waiting for the first request."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting; nobody reads the answers any more."""
        self._stop()
        for cycle in self._open:
            cycle.disconnected = True
            cycle.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count bytes; between two requests, start the time limit at the first byte of the next."""
        if self._deadline is not None:
            self._head += len(data)
        else:
            self._beside += len(data)
        super().data_received(data)
        if self._beside > LONGEST or (self._deadline is not None and self._head > LONGEST):
            self.transport.close()
        elif self._deadline is None and self._idle():
            self._wait()

    def on_message_begin(self) -> None:
        """A request begins: its headers have their own time."""
        super().on_message_begin()
        self._beside = 0
        self._wait()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header field. Fields behind the body are ignored: a proxy may not have checked them (RFC 9110, section 6.5.1)."""
        if self._deadline is not None:
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        """Content, which is counted where it is read."""
        self._beside = max(0, self._beside - FRAMED * len(body))
        super().on_body(body)

    def on_headers_complete(self) -> None:
        """The headers are complete."""
        self._stop()
        full = max(len(self.connections), len(self.tasks)) > self._most
        self.app = TOO_MANY if full else self._serving
        if full:
            self.logger.warning("a request is refused: there are MODAK_MAX_CONNECTIONS (%d) connections", self._most)
        super().on_headers_complete()
        while self._open and self._open[0].response_complete:  # they are answered in turn
            self._open.popleft()
        newest: Any = self.cycle  # none if the first request asks for another protocol
        if newest is not None:
            self._open.append(newest)
        if self._last:
            super().shutdown()

    def shutdown(self) -> None:
        """End after the request that is under way, or after the first one if that has not arrived yet."""
        if self.cycle is None:
            self._last = True
            self._wait()
        else:
            super().shutdown()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP request, or has a method that nobody knows, with a problem document instead of uvicorn's plain text."""
        answer = ProblemResponse(400, "bad request", [Fault("", "no valid HTTP request, or an unknown method")], {"Connection": "close"})
        head = b"".join(b"%s: %s\r\n" % field for field in (*self.server_state.default_headers, *answer.raw_headers))
        self.transport.write(b"HTTP/1.1 400 Bad Request\r\n" + head + b"\r\n" + answer.body)
        self.transport.close()

    def _idle(self) -> bool:
        cycle: Any = self.cycle  # none before the first request
        return cycle is None or cycle.response_complete

    def _wait(self) -> None:
        self._stop()
        self._deadline = self.loop.call_later(LAST_S if self._last else self._patience, self.transport.close)

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline, self._head = None, 0
