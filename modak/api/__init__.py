"""The REST service: HTTP in, HTTP out; decisions are made elsewhere. :func:`create_app` makes it from settings."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from typing import Any, Final

from fastapi import Depends, FastAPI
from fastapi.middleware.cors import CORSMiddleware

import modak
from modak.api import builds, description, native, pages, published, writing
from modak.api.access import guard, issuer_of
from modak.api.direct import Direct
from modak.api.layers import Head, Lifespan
from modak.api.observe import add_observation
from modak.api.problems import add_handlers, answer
from modak.api.queries import only_known
from modak.auth.oidc import Issuer
from modak.errors import DataError
from modak.garbage import collect_rarely
from modak.service import Service, open_service
from modak.settings import Settings, read_settings, split_list
from modak.text.amounts import printable

LOG: Final = logging.getLogger("modak.serve")
BROWSERS: Final[dict[str, Any]] = {
    "allow_methods": ["GET", "HEAD", "POST", "DELETE"],
    "allow_headers": ["Authorization", "Content-Type", "If-None-Match"],
    "expose_headers": ["ETag", "Location", "Retry-After", "X-Request-ID"],
}
"""What pages of another site may send and read (cross-origin resource sharing), where settings name that site. Never cookies."""


def create_app(settings: Settings, issuer: Issuer | None = None) -> FastAPI:
    """The application on the database of the settings, which is opened at the first call that needs it.

    ``issuer``: whose tokens are believed; by default that of the settings, if they name one.
    """
    database = _Database(settings)
    app = FastAPI(
        title="MODAK",
        version=modak.__version__,
        description=description.DESCRIPTION,
        openapi_url=None,  # FastAPI's own route writes the document for each request
        docs_url=None,  # these pages load their scripts from a public server, which a site without internet cannot reach
        redoc_url=None,
        redirect_slashes=False,
        dependencies=[Depends(only_known)],
        generate_unique_id_function=description.operation_id,
        telemetry={"auto_configure": False, "logs": False},
        lifespan=database.lifespan,
    )
    app.state.settings = settings
    app.state.service, app.state.at_hand = database.service, database.at_hand
    add_handlers(app)
    published.add_routes(app)  # first of all: an address is looked for in this order, and these are asked for most
    native.add_routes(app)
    builds.add_routes(app)
    writing.add_routes(app)
    pages.add_routes(app)
    app.add_middleware(Direct, routes=app.routes)
    app.add_middleware(Head)
    guard(app, issuer or issuer_of(settings))
    if settings.browser_origins:
        app.add_middleware(CORSMiddleware, allow_origins=split_list(settings.browser_origins), **BROWSERS)
    add_observation(app)
    app.add_middleware(Lifespan)
    app.openapi = cache(lambda: description.document(app))  # type: ignore[method-assign]
    app.state.openapi = cache(lambda: answer(app.openapi()).body)
    return app


def app_from_environment() -> FastAPI:
    """The application for a worker of a server (``uvicorn --factory modak.api:app_from_environment``).

    Settings that have become wrong end the worker with a line in the log that names them.
    """
    collect_rarely()
    try:
        settings = read_settings(os.environ)
    except DataError as error:
        LOG.critical("no worker starts with these settings: %s", printable(str(error)))
        sys.exit(1)
    return create_app(settings)


class _Database:
    """The use cases, opened by the first call that succeeds, in any thread."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._opened: Service | None = None
        self._lock = threading.Lock()

    @asynccontextmanager
    async def lifespan(self, _app: FastAPI) -> AsyncIterator[None]:
        """Close what was opened here when the server has answered its last request."""
        yield
        with self._lock:
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    def service(self) -> Service:
        """The use cases. Raises :class:`~modak.errors.Unavailable` where the database does not answer."""
        with self._lock:
            if self._opened is None:
                # `modak serve` has made it: a file that is missing by now is somewhere else, and an empty one would be taken for it
                self._opened = open_service(self._settings, plan_days=self._settings.plan_days, make=False)
            return self._opened

    def at_hand(self) -> Service | None:
        """The use cases if they are open and wait for no database server."""
        opened = self._opened  # another thread may close it meanwhile
        return opened if opened is not None and opened.store.watch.local else None
