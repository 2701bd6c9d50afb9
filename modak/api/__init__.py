"""The REST service: HTTP in, HTTP out; decisions are made elsewhere. :func:`create_app` makes it from settings."""

from __future__ import annotations

import gc
import logging
import os
import re
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from typing import Any, Final

from fastapi import Depends, FastAPI
from fastapi.middleware.cors import CORSMiddleware
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

import modak
from modak import schemas
from modak.api import answers, builds, native, openapi, pages, published, writing
from modak.api.access import RESULT, guard, issuer_of, scope_of
from modak.api.direct import Direct
from modak.api.examples import add_examples
from modak.api.layers import Head, Lifespan
from modak.api.observe import add_observation
from modak.api.problems import add_handlers, answer
from modak.api.queries import only_known
from modak.auth.oidc import Issuer
from modak.errors import DataError
from modak.service import Service, open_service
from modak.settings import Settings, read_settings, split_list
from modak.text.amounts import printable
from modak.web.reference import GROUPS

LOG: Final = logging.getLogger("modak.serve")
YOUNG: Final = 20_000
"""New objects after which Python's garbage collector looks for cycles: those of several requests. Its default of 700 is reached several
times within one request, while all of them are still in use."""
BROWSERS: Final[dict[str, Any]] = {
    "allow_methods": ["GET", "HEAD", "POST", "DELETE"],
    "allow_headers": ["Authorization", "Content-Type", "If-None-Match"],
    "expose_headers": ["ETag", "Location", "Retry-After", "X-Request-ID"],
}
"""What pages of another site may send and read (cross-origin resource sharing), where settings name that site. Never cookies."""
DESCRIPTION: Final = """Choose container, configuration and job script from measured results.

**First requests.** `POST /optimise` answers a request document with the configuration, its predicted time, the reasons and the job script;
`POST /validations` checks a document, `POST /recommendations` ranks the configurations. `GET /schema/request` is the schema for editors.

**Errors** are `application/problem+json` for every address. 400: no JSON, or JSON that readers interpret differently; 401: a token is
needed, or this one is unknown; 403: its scope does not allow this; 404: unknown address or name; 409: the values do not fit together, the
system, or what is there; 413, 415: body too large, or of another type; 422: a value is wrong, `field` says which; 429, 503: try again after
`Retry-After` seconds. Warnings are part of good answers; `strict=true` makes them errors.

**Tokens** are sent as `Authorization: Bearer …`. `security` names the scope that an address needs: `read`, `optimise`, `load` or `admin`,
which includes the others; `result` is a token of `POST /plans/{id}/token`, for one result of that plan.

**Lists** come in pages: send `next` of an answer as `cursor` to get the following page; the last one has no `next`. Systems, images, rules
and models have an `ETag`: send it as `If-None-Match` to get 304 where nothing has changed.
"""


def create_app(settings: Settings, issuer: Issuer | None = None) -> FastAPI:
    """The application on the database of the settings, which is opened at the first call that needs it.

    ``issuer``: whose tokens are believed; by default that of the settings, if they name one.
    """
    database = _Database(settings)
    app = FastAPI(
        title="MODAK",
        version=modak.__version__,
        description=DESCRIPTION,
        openapi_url=None,  # FastAPI's own route writes the document for each request
        docs_url=None,  # these pages load their scripts from a public server, which a site without internet cannot reach
        redoc_url=None,
        redirect_slashes=False,
        dependencies=[Depends(only_known)],
        generate_unique_id_function=_operation_id,
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
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    app.state.openapi = cache(lambda: answer(app.openapi()).body)
    return app


def app_from_environment() -> FastAPI:
    """The application for a worker of a server (``uvicorn --factory modak.api:app_from_environment``).

    Settings that have become wrong end the worker with a line in the log that names them.
    """
    gc.set_threshold(YOUNG)
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
                self._opened = open_service(self._settings, plan_days=self._settings.plan_days)
            return self._opened

    def at_hand(self) -> Service | None:
        """The use cases if they are open and wait for no database server."""
        opened = self._opened  # another thread may close it meanwhile
        return opened if opened is not None and opened.store.watch.local else None


def _operation_id(route: APIRoute) -> str:
    """The name of an operation in generated clients: its method and the words of its address."""
    return "_".join([min(route.methods or {""}).lower(), *re.findall(r"\w+", route.path_format)])


def _openapi(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, with the schemas of the bodies that we read ourselves and the one error body."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        components = document.setdefault("components", {}).setdefault("schemas", {})
        components |= schemas.components("request", "response", "points", "result", "sizing", "system", "image", "rule")
        components |= {**answers.components(), **builds.schemas(), **published.schemas()}
        document["components"]["securitySchemes"] = {"token": TOKEN}
        document["security"] = [{}, {"token": []}] if app.state.settings.anonymous else [{"token": []}]
        document["tags"] = [{"name": name, "description": heading} for name, heading in GROUPS.items()]
        if app.state.settings.public_url:
            document["servers"] = [{"url": app.state.settings.public_url}]
        add_examples(document)
        error = {
            "description": "What is wrong",
            "content": {"application/problem+json": {"schema": openapi.ref("problem")}},
            "headers": {"Retry-After": {"description": "of 429 and 503: seconds after which to try again", "schema": {"type": "integer"}}},
        }
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                needed = scope_of(method.upper(), path)
                operation["responses"] |= {"default": error}
                operation["responses"].pop("422", None)
                for response in operation["responses"].values():
                    response["headers"] = {**response.get("headers", {}), "X-Request-ID": REQUEST_ID}
                operation["security"] = _security(needed, anonymous=app.state.settings.anonymous)
        for unused in ("HTTPValidationError", "ValidationError"):
            components.pop(unused, None)
        app.openapi_schema = document
    return app.openapi_schema


def _security(needed: str | None, *, anonymous: bool) -> list[dict[str, list[str]]]:
    """What a request needs, in OpenAPI's words: one of these, each a token with a scope, or nothing."""
    if needed is None:
        return [{}]
    scopes = [needed, "load"] if needed == RESULT else [needed]
    nothing: list[dict[str, list[str]]] = [{}] if anonymous and needed in ("read", "optimise") else []
    return [*nothing, *({"token": [scope]} for scope in scopes)]


REQUEST_ID: Final = {"description": "names the request in logs; that of the request where it gave one", "schema": openapi.TEXT}
TOKEN: Final = {"type": "http", "scheme": "bearer", "description": "a key of `modak token create`, or a token of the site's issuer"}
