"""Routes that requests take without a detour: FastAPI describes them, and looks only after those that have a query.

What a request costs beyond its answer is mostly the way to the endpoint: dependencies, a thread of its own. These endpoints take
the request as it is and answer on the event loop, if that is short work on what is in memory; else in the one thread for that.
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
"""Bytes of a body that is worked on at once."""

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
    """Whether the database is open and in this machine's files, so that asking what is in memory does not wait."""
    return bool(request.app.state.opened())


async def one_at_a_time(request: Request, work: Callable[[Service], Answer]) -> Answer:
    """What ``work`` answers, in a thread: one request at a time, since they would only wait for each other's turn."""
    state = request.app.state
    if not hasattr(state, "turn"):
        state.turn = CapacityLimiter(1)
    return await run_sync(lambda: work(state.service()), limiter=state.turn)
