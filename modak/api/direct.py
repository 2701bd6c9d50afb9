"""Fast routes: requests without a query bypass FastAPI's layers and its search for a route; FastAPI still describes them.

The overhead of a request is mostly dependencies and a thread of its own. These endpoints take the request as it is, and answer on the
event loop if that is quick (:data:`SHORT` bodies, facts in memory), otherwise in one thread for all of them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final, TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import FastAPI, Request
from fastapi.routing import APIRoute
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from modak.api.problems import OUT_OF_TIME, answer_to
from modak.errors import ModakError, Unavailable
from modak.service import Service

SHORT: Final = 16_384
"""Largest body, in bytes, that is answered on the event loop."""

Answer = TypeVar("Answer")
Endpoint = Callable[..., Awaitable[Response]]


class DirectRoute(APIRoute):
    """A route to an endpoint ``async (request) -> Response``, whose further parameters are queries and have defaults."""


class Direct:
    """ASGI middleware: calls the endpoints of direct routes."""

    def __init__(self, app: ASGIApp, routes: Iterable[BaseRoute]) -> None:
        self._app = app
        direct = (route for route in routes if isinstance(route, DirectRoute))
        self._routes = {(method, route.path): route for route in direct for method in route.methods or ()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for a direct route; pass on others, and all if OpenTelemetry is attached, which FastAPI tells the route."""
        route = self._routes.get((scope["method"], scope["path"])) if scope["type"] == "http" else None
        if route is None or scope["query_string"] or "fastapi.telemetry" in scope:
            await self._app(scope, receive, send)
            return
        scope["route"] = route
        try:
            response = await route.endpoint(Request(scope, receive, send))
        except ModakError as error:
            response = answer_to(error, scope)
        await response(scope, receive, send)


def add_direct(app: FastAPI, path: str, endpoint: Endpoint, **options: Any) -> None:
    """Add a direct route to ``app``."""
    app.router.add_api_route(path, endpoint, route_class_override=DirectRoute, **options)


async def one_at_a_time(request: Request, work: Callable[[Service], Answer], queue: str = "turn") -> Answer:
    """The result of ``work`` in a thread: one request of a queue at a time, since Python runs one thread at a time anyway.

    Those that wait hold no thread, so requests of other kinds do not wait for them. For those whose time ends meanwhile nothing is done.
    """
    state = request.app.state
    if not hasattr(state, queue):
        setattr(state, queue, CapacityLimiter(1))

    def begun() -> Answer:
        in_time(request)
        return work(state.service())

    return await run_sync(begun, limiter=getattr(state, queue))


def in_time(request: Request) -> None:
    """Raises :class:`~modak.errors.Unavailable` if the request's time is over: nobody waits for what is done for it."""
    if request.scope.get("state", {}).get("over"):  # set by modak.api.limits, which has answered
        raise Unavailable(OUT_OF_TIME)
