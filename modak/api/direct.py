"""Fast routes, which bypass FastAPI's handling of requests without a query; FastAPI still describes them.

The overhead of a request is mostly dependencies and a thread of its own. These endpoints take the request as it is, and answer on the
event loop if that is quick (:data:`SHORT` bodies, facts in memory), otherwise in one thread for all of them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import FastAPI, Request
from fastapi.routing import APIRoute
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from modak.service import Service

SHORT: Final = 16_384
"""Largest body, in bytes, that is answered on the event loop."""

Answer = TypeVar("Answer")
Endpoint = Callable[..., Awaitable[Response]]


class DirectRoute(APIRoute):
    """A route to an endpoint ``async (request) -> Response``, whose further parameters are queries and have defaults."""

    def __init__(self, path: str, endpoint: Endpoint, **told: Any) -> None:
        super().__init__(path, endpoint, **told)
        queried = self.app

        async def direct(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["query_string"]:
                await queried(scope, receive, send)
            else:
                response = await endpoint(Request(scope, receive, send))
                await response(scope, receive, send)

        self.app = direct


def add_direct(app: FastAPI, path: str, endpoint: Endpoint, **told: Any) -> None:
    """Add a direct route to ``app``."""
    app.router.add_api_route(path, endpoint, route_class_override=DirectRoute, **told)


def is_open(request: Request) -> bool:
    """Whether the database is open and local, so that using what is in memory does not wait."""
    return bool(request.app.state.opened())


async def one_at_a_time(request: Request, work: Callable[[Service], Answer]) -> Answer:
    """The result of ``work`` in a thread: one request at a time, since Python runs one thread at a time anyway."""
    state = request.app.state
    if not hasattr(state, "turn"):
        state.turn = CapacityLimiter(1)
    return await run_sync(lambda: work(state.service()), limiter=state.turn)
