"""Examples of bodies and answers for the OpenAPI document, in ``examples.json``; answers are real ones, cut short.

They are kept by the component that describes them, an answer also by method and address, a body also by those and its media type.
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
            address = f"{method.upper()} {path}"
            sent = operation.get("requestBody", {}).get("content", {}).items()
            shown = [(f"{address} as {kind}", content) for kind, content in sent]
            shown += [(address, content) for each in operation["responses"].values() for content in each.get("content", {}).values()]
            for name, content in shown:
                known = kept.get(name) or _made(content["schema"], kept)
                if known is not None:
                    content.setdefault("example", known)


def _made(schema: Mapping[str, Any], kept: Mapping[str, Any]) -> Any:
    """The example of a component (of several, the first), of a list of one, or of a page of one; ``None`` for others."""
    match schema:
        case {"$ref": str(component)}:
            return kept.get(component.rpartition("/")[2])
        case {"anyOf": [first, *_]}:
            return _made(first, kept)
        case {"type": "array", "items": item} if (one := _made(item, kept)) is not None:
            return [one]
        case {"properties": {"items": items}} if (page := _made(items, kept)) is not None:
            return {"items": page}
    return None
