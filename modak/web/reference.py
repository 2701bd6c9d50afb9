"""What the page of all addresses shows, from the OpenAPI document that programs read: both say the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

GROUPS: Final[Mapping[str, str]] = {
    "ask": "Ask",
    "plans": "Plans",
    "data": "Look at the data",
    "change": "Change the data",
    "builds": "Images to build",
    "published names": "Addresses of the published MODAK",
    "about": "About the service",
    "operations": "About the service",
}
"""Tags of the document and the headings for them, in order."""
_NO_BODY: Final[Mapping[str, Any]] = {"content": {}}


def reference(document: Mapping[str, Any], scope_of: Callable[[str, str], str | None]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Headings, each with its addresses. ``scope_of`` says which scope a method and a path need."""
    groups: dict[str, list[dict[str, Any]]] = {heading: [] for heading in GROUPS.values()}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            groups[GROUPS[operation["tags"][0]]].append(_operation(method.upper(), path, operation, scope_of(method.upper(), path)))
    return list(groups.items())


def _operation(method: str, path: str, operation: Mapping[str, Any], scope: str | None) -> dict[str, Any]:
    answers = {status: one for status, one in operation["responses"].items() if status.startswith("2")}
    return {
        "method": method,
        "path": path,
        "id": operation["operationId"],
        "summary": operation["summary"],
        "description": _pieces(operation.get("description", "")),
        "scope": scope,
        "parameters": [
            (one["name"], one["in"], _pieces(one.get("description", "")), _default(one["schema"]))
            for one in operation.get("parameters", ())
        ],
        "bodies": list(_examples(operation.get("requestBody", _NO_BODY))),
        "answers": [(status, one["description"], list(_examples({"content": {}, **one}))) for status, one in answers.items()],
    }


def _default(schema: Mapping[str, Any]) -> str:
    """The value that a parameter has where it is left out; empty: there is none, or it says nothing."""
    value = schema.get("default")
    return "" if value in (None, "") else json.dumps(value)


def _examples(content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Media types, each with an example."""
    for kind, one in content["content"].items():
        example = one.get("example", "")
        yield kind, example if isinstance(example, str) else json.dumps(example, indent=2, ensure_ascii=False)


def _pieces(text: str) -> list[tuple[bool, str]]:
    """Text in pieces: whether each stands between backticks, and the piece.

    >>> _pieces("see `id` there")
    [(False, 'see '), (True, 'id'), (False, ' there')]
    """
    return [(at % 2 == 1, piece) for at, piece in enumerate(text.split("`")) if piece]
