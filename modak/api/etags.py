"""Conditional requests: facts that a caller has already are not sent again (RFC 9110, section 13: ``ETag``, ``If-None-Match``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from fastapi import Request
from starlette.responses import Response

from modak import __version__
from modak.api.direct import one_at_a_time
from modak.api.openapi import Responses, json_response
from modak.api.problems import answer
from modak.service import Service

_ETAG: Final = {"ETag": {"description": "for `If-None-Match` of the next call", "schema": {"type": "string"}}}


def tagged(schema: dict[str, Any]) -> Responses:
    """The OpenAPI entry of such answers."""
    known: Responses = {304: {"description": "Nothing has changed since the answer with the tag that `If-None-Match` names"}}
    return {**json_response(schema, "What is known; the tag changes with the data", headers=_ETAG), **known}


async def unless_known(request: Request, find: Callable[[Service], Any], queue: str) -> Response:
    """The answer of ``find``, or 304 if the caller names the tag of the facts that answer now.

    One request of a queue at a time: to find one curve may take as long as to read all of them, and those who wait hold no thread.
    """
    return await one_at_a_time(request, lambda service: _unless_known(request, service, find), queue)


def _unless_known(request: Request, service: Service, find: Callable[[Service], Any]) -> Response:
    """The same. While new facts are still being read, the older ones answer, under their own tag.

    It is read first: what is found is as new or newer.
    """
    tag = f'"{__version__}-{service.facts().version}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    given = {each.strip().removeprefix("W/") for line in request.headers.getlist("if-none-match") for each in line.split(",")}
    found = None if tag in given else find(service)  # "*" means any that exists: an unknown name is an error with it, too
    return Response(status_code=304, headers=headers) if given & {tag, "*"} else answer(found, headers=headers)
