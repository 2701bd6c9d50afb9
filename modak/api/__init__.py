"""The REST service: HTTP in, HTTP out, nothing decided here. :func:`create_app` makes it from settings."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

import modak
from modak import schemas
from modak.api import native, published
from modak.api.problems import add_handlers
from modak.service import Service, open_service
from modak.settings import Settings, read_settings

SUMMARY: Final = "From measured results to a container, a configuration and a job script."


def create_app(settings: Settings, service: Service | None = None) -> FastAPI:
    """The application on ``service``, or on the database of the settings, which is opened at the first call that needs it."""
    app = FastAPI(
        title="MODAK",
        version=modak.__version__,
        description=SUMMARY,
        docs_url=None,  # these pages load their scripts from a public server, which a site without internet cannot reach
        redoc_url=None,
        redirect_slashes=False,
        telemetry={"auto_configure": False, "logs": False},
    )
    app.state.settings = settings
    app.state.service = (lambda: service) if service else _once(lambda: open_service(settings, plan_days=settings.plan_days))
    add_handlers(app)
    native.add_routes(app)
    published.add_routes(app)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


def app_from_environment() -> FastAPI:
    """The application as a server's worker makes it (``uvicorn --factory modak.api:app_from_environment``)."""
    return create_app(read_settings(os.environ))


def _once(make: Callable[[], Service]) -> Callable[[], Service]:
    """``make`` at the first call that succeeds, from whichever thread; its value ever after."""
    lock = threading.Lock()
    made: list[Service] = []

    def get() -> Service:
        with lock:
            if not made:
                made.append(make())
        return made[0]

    return get


def _openapi(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, with the schemas of the bodies that we read ourselves and the one error body."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        components = document.setdefault("components", {}).setdefault("schemas", {})
        components |= schemas.components("request", "response", "points") | {"problem": PROBLEM}
        error = {
            "description": "What is wrong",
            "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/problem"}}},
        }
        for operations in document["paths"].values():
            for operation in operations.values():
                operation["responses"] |= {"default": error}
                operation["responses"].pop("422", None)
        for unused in ("HTTPValidationError", "ValidationError"):
            components.pop(unused, None)
        app.openapi_schema = document
    return app.openapi_schema


PROBLEM: Final = {
    "type": "object",
    "description": "RFC 9457",
    "required": ["type", "title", "status", "detail", "errors"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "all faults in one text"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"field": {"type": "string"}, "message": {"type": "string"}},
                "required": ["field", "message"],
            },
        },
        "more_errors": {"type": "integer", "description": "how many more there are"},
    },
}
