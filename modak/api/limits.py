"""Limits on every request, before it is interpreted: its time, the length of its headers, the rate of requests.

Plain ASGI, a few microseconds per request. The size of bodies is limited where they are read (:mod:`modak.api.bodies`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from http import HTTPStatus
from ipaddress import IPv6Address, ip_address
from itertools import chain
from time import monotonic
from typing import Final
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from modak.api.problems import OUT_OF_TIME, ProblemResponse, failed, note
from modak.errors import Fault

LONGEST_ADDRESS: Final = 8192
LONGEST_HEADERS: Final = 32_768
MOST_HEADERS: Final = 100
CALLERS: Final = 10_000
"""Most callers whose requests are counted; beyond that, the counts of the least active are dropped."""
RETRY_S: Final = 5
LONGEST_NAME: Final = 64
"""Characters of a caller's name that are kept."""


class RateLimit:
    """A limit of requests per minute for each caller, which may all come at once (a token bucket for each).

    Each worker counts for itself. Used on the event loop alone, so nothing is locked.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = monotonic) -> None:
        self._most, self._clock = float(per_minute), clock
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, caller: str, cost: float = 1.0) -> int:
        """Count a request; returns 0, or the seconds after which to try again. An empty caller is not counted."""
        if not self._most or not caller:
            return 0
        now = self._clock()
        left, at = self._left.get(caller, (self._most, now))
        left = min(self._most, left + (now - at) * self._most / 60.0)
        if left < 1.0:
            return 1 + int((1.0 - left) * 60.0 / self._most)
        self._left[caller] = (left - cost, now)
        if len(self._left) > CALLERS:
            self._forget(now)
        return 0

    def _forget(self, now: float) -> None:
        """Drop callers that sent nothing for a minute (their bucket is full), and the less active of the others."""
        recent = {caller: found for caller, found in self._left.items() if now - found[1] < 60.0}
        busiest = sorted(recent, key=lambda caller: recent[caller][0])[: CALLERS // 2]
        self._left = {caller: recent[caller] for caller in busiest}


@lru_cache(maxsize=4096)
def caller(host: str | None) -> str:
    """The name under which requests of an address are counted: of an IPv6 host its network, which has 2^64 addresses; empty for loopback.

    >>> caller("192.0.2.7"), caller("2001:db8:1:2:3::4"), caller("127.0.0.1"), caller("unknown")
    ('192.0.2.7', '2001:db8:1:2::', '', 'unknown')
    """
    if not host:  # a Unix socket has no address
        return ""
    try:
        address = ip_address(host)
    except ValueError:  # what a proxy says instead of an address
        return host[:LONGEST_NAME]
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        return caller(str(address.ipv4_mapped))
    if address.is_loopback:
        return ""
    return str(IPv6Address(int(address) >> 64 << 64)) if isinstance(address, IPv6Address) else str(address)


class RequestLimits:
    """ASGI middleware: refuses too long addresses and headers, and answers requests that take too long or fail.

    ``names``: those by which programs of this machine may call a service that listens on its loopback interface; ``None``: any.
    """

    def __init__(self, app: ASGIApp, request_s: float, names: frozenset[str] | None = None) -> None:
        self._app, self._request_s, self._names = app, request_s, names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, within the limits."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refused = _refused(scope, self._names)
        if refused:
            status, why = refused
            await ProblemResponse(status, HTTPStatus(status).phrase.lower(), [Fault("", why)])(scope, receive, send)
            return
        loop = asyncio.get_running_loop()
        until = loop.time() + self._request_s
        timed = _Timed(scope, receive, send, until)
        timer = loop.call_at(until, timed.expire)
        try:
            await self._app(scope, timed.receive, timed.send)
        except asyncio.CancelledError:  # the server stops, after the time that it gives to running requests
            note(scope, "the service stopped before it was done")
            await timed.end(ProblemResponse(503, "stopping", [Fault("", "the service stops; ask again")], {"Retry-After": str(RETRY_S)}))
        except Exception:
            await timed.end(failed())
            raise  # for the server's log
        finally:
            timer.cancel()
            await timed.answered()


def _refused(scope: Scope, names: frozenset[str] | None) -> tuple[int, str] | None:
    """The status for an address or headers that are refused, and why; ``None`` for others."""
    headers, query = scope["headers"], scope["query_string"]
    if len(scope.get("raw_path") or scope["path"]) + len(query) > LONGEST_ADDRESS:
        return 414, "that is too long"
    if len(headers) > MOST_HEADERS or sum(map(len, chain.from_iterable(headers))) > LONGEST_HEADERS:
        return 431, "that is too long"
    hosts = [value for name, value in headers if name == b"host"]
    if len(hosts) > 1 or (not hosts and scope.get("http_version") == "1.1"):  # proxies may have checked another one (RFC 9112, section 3.2)
        return 400, "a request has one Host header"
    if hosts and names is not None and _is_local(scope.get("server")) and not _is_ours(hosts[0], names):
        return 421, "call this service by its address, as localhost, or by the name in MODAK_PUBLIC_URL"
    if "\0" in scope["path"] or b"%00" in query:  # no name holds one, and PostgreSQL takes none in a text
        return 400, "an address that holds NUL"
    return None


def _is_local(server: tuple[str, int | None] | None) -> bool:
    """Whether a request came in at the loopback interface."""
    return server is not None and not caller(server[0])


@lru_cache(maxsize=64)
def _is_ours(host: bytes, names: frozenset[str]) -> bool:
    """Whether a Host header has an address or one of the names. Any other name may be that of a site whose pages lead the browser here by
    giving its own name this machine's address (DNS rebinding); the browser would let them read the answers.

    >>> [_is_ours(host, frozenset(("localhost",))) for host in (b"127.0.0.1:8000", b"[::1]", b"LocalHost.:80", b"a.example", b"[")]
    [True, True, True, False, False]
    """
    try:
        name = (urlsplit(f"//{host.decode('latin-1')}").hostname or "").rstrip(".")
    except ValueError:
        return False
    with suppress(ValueError):
        return bool(ip_address(name))
    return name in names


def _has_body(scope: Scope) -> bool:
    return any(name == b"transfer-encoding" or (name == b"content-length" and value != b"0") for name, value in scope["headers"])


class _Timed:
    """The channel of one request. When its time is over it answers by itself, and the application's later answer is dropped.

    The thread that works on the request cannot be stopped: it finishes its work.
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send, until: float) -> None:
        self._scope, self._receive, self._send, self._until = scope, receive, send, until
        self._arrived = self._started = self._over = False
        self._answering: asyncio.Task[None] | None = None

    async def receive(self) -> Message:
        """The next part of the request; after the time limit, a disconnect."""
        message = await self._receive()
        self._arrived = self._arrived or not message.get("more_body", False)
        return {"type": "http.disconnect"} if self._over else message

    async def send(self, message: Message) -> None:
        """Send the next part of the answer, unless the time is over. A connection that is closed while its caller still sends loses the
        answer: what is left of the body is read before the answer ends."""
        if self._over:
            return
        self._started = True
        ends = message["type"] == "http.response.body" and not message.get("more_body", False)
        if ends and not self._arrived and _has_body(self._scope):
            await self._send({**message, "more_body": True})
            await self._drop_rest()
            message = {"type": "http.response.body"}
        await self._send(message)

    async def _drop_rest(self) -> None:
        """Read the rest of the body, as long as the request has time, and drop it."""
        with suppress(TimeoutError):
            async with asyncio.timeout_at(self._until):
                while (await self.receive()).get("more_body", False):
                    pass

    def expire(self) -> None:
        """Answer, unless an answer has begun: 408 where the request is still arriving, else 503."""
        if not self._started:
            self._over = self._scope.setdefault("state", {})["over"] = True
            self._answering = asyncio.get_running_loop().create_task(self._answer())

    async def answered(self) -> None:
        """Wait until a request whose time is over is answered: a server answers 500 where the application ends before that."""
        if self._answering:
            await self._answering

    async def end(self, problem: ProblemResponse) -> None:
        """Answer that, unless an answer has begun."""
        if not self._started:
            await problem(self._scope, self._receive, self.send)

    async def _answer(self) -> None:
        if self._arrived or not _has_body(self._scope):
            note(self._scope, OUT_OF_TIME)
            late = ProblemResponse(503, "out of time", [Fault("", "the answer took too long")], {"Retry-After": str(RETRY_S)})
        else:
            late = ProblemResponse(408, "request timeout", [Fault("", "the request took too long to arrive")], {"Connection": "close"})
        await late(self._scope, self._receive, self._send)
