"""An orderly end of the service: the database is closed also if Ctrl-C is pressed twice."""

from __future__ import annotations

from asyncio import CancelledError

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Lifespan:
    """ASGI middleware: treats the cancellation of the lifespan by a server that ends at once as its shutdown."""

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
