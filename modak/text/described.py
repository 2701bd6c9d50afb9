"""Models whose fields are described by the text below each of them in the source."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise

from pydantic import BaseModel, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema


class Described(BaseModel):
    """A model whose JSON Schema, or :func:`described`, describes each field by the text below it.

    The source is read when one of them is asked for. pydantic's ``use_attribute_docstrings`` reads it at import, which took a sixth of the
    time in which the service starts.
    """

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The schema with the descriptions; one that a field states itself stays."""
        found = handler(schema)
        fields = handler.resolve_ref_schema(found).get("properties", {})
        for name, text in described(cls).items():
            if text and name in cls.model_fields:
                fields.get(cls.model_fields[name].alias or name, {}).setdefault("description", text)
        return found


def described(model: type[Described]) -> dict[str, str]:
    """The texts below the fields of a model, by their names; empty ones are below nothing."""
    texts: dict[str, str] = {}
    for kind in reversed(model.__mro__):
        texts |= _texts(kind.__module__).get(kind.__qualname__, {}) if issubclass(kind, Described) else {}
    return texts


@cache
def _texts(module: str) -> Mapping[str, Mapping[str, str]]:
    """Class -> field -> the text below it; empty without source, as of models that an interpreter was told."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (KeyError, OSError, TypeError):
        return {}
    return {each.name: dict(_below(each.body)) for each in tree.body if isinstance(each, ast.ClassDef)}


def _below(body: Sequence[ast.stmt]) -> Iterator[tuple[str, str]]:
    for field, text in pairwise((*body, ast.Pass())):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            said = text.value.value if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) else ""
            yield field.target.id, inspect.cleandoc(str(said))
