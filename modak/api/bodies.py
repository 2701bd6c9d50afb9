"""Request bodies: read to a limit, then parsed by the one strict reader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import Depends, Request

from modak.errors import BadSyntax, ModakError
from modak.text.documents import strict_json


class TooLarge(ModakError):
    """The body is larger than the service reads."""

    status = 413
    title = "the body is too large"


class WrongType(ModakError):
    """This address does not take bodies of that type."""

    status = 415
    title = "the body's type is wrong"


@dataclass(frozen=True)
class RawBody:
    """A body as it was sent: media type (lower case, without parameters), bytes, and the header with the type."""

    kind: str
    content: bytes
    header: str = ""


async def read(request: Request) -> RawBody:
    """The body of a request, up to the limit of the settings."""
    return await _read_to(request, request.app.state.settings.max_body_bytes)


async def _read_load(request: Request) -> RawBody:
    return await _read_to(request, request.app.state.settings.max_load_bytes)


async def _read_to(request: Request, limit: int) -> RawBody:
    sent = dict(reversed(request.scope["headers"]))  # the first of several with one name counts
    if sent.get(b"content-encoding", b"").strip().lower() not in (b"identity", b""):
        raise WrongType("of no kind that is read; send the body as it is", field="Content-Encoding")
    declared = sent.get(b"content-length", b"0")
    if not declared.isdigit() or int(declared[:18]) > limit:
        raise TooLarge(f"the body may have at most {limit} bytes")
    chunks, size, more = [], 0, True
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":  # nobody gets the answer, but log and metrics shall not count it as our error
            raise BadSyntax("the body is cut off")
        chunk, more = message.get("body", b""), message.get("more_body", False)
        size += len(chunk)
        if size > limit:
            raise TooLarge(f"the body may have at most {limit} bytes")
        chunks.append(chunk)
    header = sent.get(b"content-type", b"application/json").decode("latin-1")
    return RawBody(header.split(";")[0].strip().lower(), b"".join(chunks), header)


TABLES: Final = {"text/csv": "body.csv", "application/json": "body.json", "application/x-ndjson": "body.jsonl"}
"""Kinds of bodies that are a table, each with the name that faults call it by."""
Body = Annotated[RawBody, Depends(read)]
"""Read before the endpoint starts, on the event loop; parsed by the endpoint, in its thread."""
LoadBody = Annotated[RawBody, Depends(_read_load)]
"""The same, with the larger limit for results."""


def document(body: RawBody) -> Any:
    """The JSON document of a body. Raises :class:`~modak.errors.BadSyntax` for one that cannot be read."""
    if body.kind != "application/json" and not body.kind.endswith("+json"):
        raise WrongType("send JSON, with the header 'Content-Type: application/json'")
    return strict_json(body.content)


def table(body: RawBody) -> tuple[bytes, str]:
    """A results table and a file name for it, from which faults and the recognition of formats start."""
    if body.kind in TABLES:
        return body.content, TABLES[body.kind]
    raise WrongType(f"send {' or '.join(TABLES)}")
