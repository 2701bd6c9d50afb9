"""Examples of bodies and answers for the OpenAPI document, in ``examples.json``; answers are real ones, cut short.

They are kept by the component that describes them, an answer also by method and address. Bodies that only one address takes have theirs
beside it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def add_examples(document: Mapping[str, Any]) -> None:
    """Add an example to every body and answer of an OpenAPI document that has none. The file is read here: not when the service starts."""
    kept = json.loads(Path(__file__).with_name("examples.json").read_text("utf-8"))
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            of_address = kept.get(f"{method.upper()} {path}")
            for part, own in ((operation.get("requestBody", {}), None), *((each, of_address) for each in operation["responses"].values())):
                for content in part.get("content", {}).values():
                    known = own or _made(content["schema"], kept)
                    if known is not None:
                        content.setdefault("example", known)


def _made(schema: Mapping[str, Any], kept: Mapping[str, Any]) -> Any:
    """The example of a component (of several, the first), of a list of one, or of a page of one; ``None`` for others."""
    match schema:
        case {"$ref": str(component)}:
            return kept.get(component.rpartition("/")[2])
        case {"anyOf": [first, *_]}:
            return _made(first, kept)
        case {"type": "array", "items": item}:
            return [_made(item, kept)]
        case {"properties": {"items": items}}:
            return {"items": _made(items, kept)}
    return None
