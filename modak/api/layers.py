"""Two small layers around the application: HEAD for every address that answers GET, and an orderly end."""

from __future__ import annotations

from asyncio import CancelledError

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Head:
    """ASGI middleware: answers HEAD as GET (RFC 9110, section 9.3.2), for load balancers and ``curl -I``; the server sends no body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on as GET."""
        if scope["type"] == "http" and scope["method"] == "HEAD":
            scope["asked"] = {**scope, "method": "GET"}  # the log and the figures, which tell HEAD from GET, take the route from it
        await self._app(scope.get("asked", scope), receive, send)


class Lifespan:
    """ASGI middleware: treats the cancellation of the lifespan, by a server that ends at once (Ctrl-C twice), as its shutdown: the database
    is closed then, too."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything on; a cancelled wait in the lifespan is a shutdown."""

        async def received() -> Message:
            try:
                return await receive()
            except CancelledError:
                return {"type": "lifespan.shutdown"}

        await self._app(scope, received if scope["type"] == "lifespan" else receive, send)
