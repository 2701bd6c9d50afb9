"""What the OpenAPI entries of addresses are made of: schemas, bodies and answers.

An answer reads as a list of its fields, those that may be absent marked as such::

    object_of("a file", name=text("as it was sent"), rows=whole("read"), already_loaded=Maybe(text("when")))

They are not made from pydantic models: answers are plain JSON values, which no model has to read again. Typed dictionaries would do, but
pydantic takes those of the standard library from Python 3.12 on only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from modak.schemas import Schema

Responses = dict[int | str, dict[str, Any]]

TEXT: Final[Schema] = {"type": "string"}
BOOLEAN: Final[Schema] = {"type": "boolean"}
NUMBER: Final[Schema] = {"type": "number"}
INTEGER: Final[Schema] = {"type": "integer"}


class Maybe(NamedTuple):
    """The schema of a property that an object need not have."""

    schema: Schema


def object_of(description: str = "", /, **properties: Schema | Maybe) -> Schema:
    """An object, and what its properties are."""
    return {
        "type": "object",
        "required": [name for name, one in properties.items() if not isinstance(one, Maybe)],
        "properties": {name: one.schema if isinstance(one, Maybe) else one for name, one in properties.items()},
        **({"description": description} if description else {}),
    }


def ref(name: str) -> Schema:
    """A reference to a component."""
    return {"$ref": f"#/components/schemas/{name}"}


def text(description: str, **also: Any) -> Schema:
    """A text."""
    return {**TEXT, "description": description, **also}


def time(description: str) -> Schema:
    """A time."""
    return text(description, format="date-time")


def whole(description: str) -> Schema:
    """A count."""
    return {**INTEGER, "minimum": 0, "description": description}


def number(description: str) -> Schema:
    """A number."""
    return {**NUMBER, "description": description}


def boolean(description: str) -> Schema:
    """True or false."""
    return {**BOOLEAN, "description": description}


def one_of(description: str, *words: str) -> Schema:
    """One of these words."""
    return {"enum": list(words), "description": description}


def list_of(of: Schema, description: str) -> Schema:
    """A list."""
    return {"type": "array", "items": of, "description": description}


def by_name(of: Schema, description: str) -> Schema:
    """An object with any names, and the same kind of value under each."""
    return {"type": "object", "additionalProperties": of, "description": description}


def page_of(name: str) -> Schema:
    """A page of a list of components."""
    items = {"type": "array", "items": ref(name)}
    return object_of(items=items, next=Maybe(text("`cursor` of the next page; left out on the last one")))


def request_body(schema: Schema) -> dict[str, Any]:
    """The OpenAPI entry of a body in JSON that we read ourselves."""
    return request_bodies({"application/json": schema})


def request_bodies(kinds: Mapping[str, Schema]) -> dict[str, Any]:
    """The OpenAPI entry of a body that is of one of these media types, each with its schema."""
    return {"requestBody": {"required": True, "content": {kind: {"schema": schema} for kind, schema in kinds.items()}}}


def json_response(
    schema: Schema, description: str = "The answer", *, status: int = 200, headers: Mapping[str, Schema] | None = None, **also: Any
) -> Responses:
    """The OpenAPI entry of an answer in JSON."""
    entry: dict[str, Any] = {"description": description, "content": {"application/json": {"schema": schema, **also}}}
    return {status: entry | ({"headers": dict(headers)} if headers else {})}
