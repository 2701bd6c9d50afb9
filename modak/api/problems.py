"""Errors as `application/problem+json` (RFC 9457): one body for all of them, and nothing that was sent comes back raw.

A browser that asks for a page gets the same as a page.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

from modak.api import html
from modak.errors import Fault, ModakError, Unavailable, did_you_mean
from modak.text.faults import faults_in

OUT_OF_TIME: Final = "its answer took longer than MODAK_REQUEST_S"
"""For the log."""
MOST_FAULTS: Final = 100
"""Faults that one answer lists; the rest is counted."""
NOSNIFF: Final = {"X-Content-Type-Options": "nosniff"}


def add_handlers(app: FastAPI) -> None:
    """Make every error of ``app`` a problem document."""
    app.add_exception_handler(ModakError, _modak)
    app.add_exception_handler(RequestValidationError, _parameters)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, failed)


def answer(content: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON answer; NaN or infinity would be a bug and raises ``ValueError``."""
    return Response(_json(content), status, {**NOSNIFF, **(headers or {})}, "application/json")


def answer_document(document: Mapping[str, Any]) -> Response:
    """A document of the caller, which was read strictly, with our texts in it: needs no checks, so a faster writer is used."""
    return Response(to_json(document), 200, NOSNIFF, "application/json")


def answer_text(text: str) -> Response:
    """An answer from JSON text."""
    return Response(_bytes(text), 200, NOSNIFF, "application/json")


class ProblemResponse(Response):
    """The one error body: ``type, title, status, detail, errors``; for a browser that asks for a page, a page that says the same."""

    def __init__(
        self, status: int, title: str, faults: Sequence[Fault], headers: Mapping[str, str] | None = None, warnings: Sequence[Fault] = ()
    ) -> None:
        self._title, self._faults, self._also = title, faults[:MOST_FAULTS], headers or {}
        self._more = len(faults) - len(self._faults)
        content = {
            "type": f"urn:modak:problem:{title.replace(' ', '-')}",
            "title": title,
            "status": status,
            "detail": "; ".join(map(str, self._faults)),
            "errors": [*map(asdict, self._faults)],
        }
        if self._more:
            content["more_errors"] = self._more
        if warnings:
            content["warnings"] = [*map(asdict, warnings[:MOST_FAULTS])]
        super().__init__(_json(content), status, {**NOSNIFF, **self._also}, "application/problem+json")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it as what the request asks for."""
        if not html.is_wanted(scope):
            await super().__call__(scope, receive, send)
            return
        told = {"title": self._title, "faults": self._faults, "more": self._more, "locked": self.status_code == HTTPStatus.UNAUTHORIZED}
        page = html.page("error", scope, status=self.status_code, **told)
        page.headers.update(self._also)
        await page(scope, receive, send)


def _json(content: Any) -> bytes:
    return _bytes(json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def answer_to(error: ModakError, scope: Scope) -> Response:
    """The answer to an error."""
    headers = {401: {"WWW-Authenticate": "Bearer"}, 503: {"Retry-After": "5"}, 413: {"Connection": "close"}}.get(error.status)
    return ProblemResponse(error.status, error.title, public_faults(error, scope), headers, error.warnings)


def public_faults(error: ModakError, scope: Scope) -> Sequence[Fault]:
    """What callers are told. Why the service is unavailable is noted for its log only: it may name hosts, users and files."""
    if not isinstance(error, Unavailable):
        return error.faults
    note(scope, "; ".join(map(str, error.faults)))
    return (Fault("", error.public_message),) if error.public_message else error.faults


@contextmanager
def alone(at: str = "", called: Mapping[str, str] = MappingProxyType({})) -> Iterator[None]:
    """Of faults in an entry that is a document of its own, the places in it: without ``at``, which stands for it among others; some fields
    are ``called`` otherwise there, as are those of an entry that a query names."""
    try:
        yield
    except ModakError as error:
        places = [one.field.removeprefix(at).removeprefix(".") for one in error.faults]
        error.faults = tuple(Fault(called.get(place, place), one.message) for place, one in zip(places, error.faults, strict=True))
        raise


def note(scope: Scope, why: str) -> None:
    """Why a request is answered with 503, for the log (:mod:`modak.api.observe`)."""
    scope.setdefault("state", {})["why"] = why


# Starlette types handlers by the base class of all errors; each gets those that it is added for.


def _modak(request: Request, error: Any) -> Response:
    return answer_to(error, request.scope)


def _parameters(_: Request, error: Any) -> Response:
    faults = faults_in({**found, "loc": found["loc"][1:]} for found in error.errors())  # without "query" or "path"
    return ProblemResponse(422, "the request is wrong", faults)


def _http(request: Request, error: Any) -> Response:
    phrase = HTTPStatus(error.status_code).phrase.lower()
    detail, headers = phrase, error.headers
    if error.status_code == HTTPStatus.NOT_FOUND:
        known = [route.path for route in request.app.routes if getattr(route, "include_in_schema", False)]
        detail = f"no such address{did_you_mean(request.scope['path'], known)} /openapi.json lists all that there are"
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:  # the router names those of the first route that has the address
        methods = {method for route in routes_at(request.scope) for method in route.methods}
        headers = {"Allow": ", ".join(sorted(methods | ({"HEAD"} if "GET" in methods else set())))}
        detail = _INSTEAD.get((request.method, request.scope["path"]), f"allowed here: {headers['Allow']}")
    return ProblemResponse(error.status_code, phrase, [Fault("", detail)], headers)


_INSTEAD: Final = {
    ("POST", "/scaling_models"): "models are not sent, they are fitted to results: load times that were measured at several sizes "
    "(POST /results, or 'modak load'), then application.minimal_efficiency limits the ranks; without results, "
    "optimisation.objective.max_nodes does"
}
"""What to do at an address instead of what it does not allow."""


def routes_at(scope: Scope) -> Iterator[Any]:
    """The routes with the address of a request, whatever its method."""
    return (route for route in scope["app"].routes if route.matches(scope)[0] is not Match.NONE)


def failed(*_: object) -> ProblemResponse:
    """The answer to a request that MODAK could not work on because of an error of its own."""
    return ProblemResponse(500, "internal error", [Fault("", "MODAK failed; the service's log says where")])
