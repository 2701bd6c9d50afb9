"""The end of the service, whoever asks for it: also where Ctrl-C is pressed twice, the database is closed in order."""

from __future__ import annotations

from asyncio import CancelledError

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Lifespan:
    """ASGI middleware: a server that ends at once cancels what waits for the end; that is the end."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything on; a cancelled wait of the lifespan is a shutdown."""

        async def received() -> Message:
            try:
                return await receive()
            except CancelledError:
                return {"type": "lifespan.shutdown"}

        await self._app(scope, received if scope["type"] == "lifespan" else receive, send)
