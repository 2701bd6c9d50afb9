"""Pydantic's findings as faults: one readable line each, with the dotted field and what is allowed there."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError

from modak.errors import Fault, ModakError, nearest_name
from modak.grouping import grouped
from modak.text.grammar import PATTERNS

SMALLEST: Final = 1e-30
"""Least amount: smaller ones than this become zero in a prediction."""

MOST_KEYS: Final = 6
"""If an object may have more keys, a fault does not list them."""

Model = TypeVar("Model", bound=BaseModel)

_BRANCH: Final = re.compile(
    r"str|int|float|bool|none|date|datetime|Variable|Joined|Steps"
    r"|constrained-.*|function-.*|(?:literal|tuple|dict|nullable|lax-or-strict)\[.*|\[key\]"
)
_OTHERWISE: Final[Mapping[str, str]] = {
    "gpus": "accelerators",
    **dict.fromkeys(("gpu", "gpu_type", "gpu_model"), "accelerator"),
    **dict.fromkeys(("cpu", "cpu_type", "cpu_model"), "processor"),
    **dict.fromkeys(("memory", "ram"), "memory_gb"),
    **dict.fromkeys(("image", "name", "path"), "reference"),
}
"""Keys of documents by other words for them."""
_ALLOWED: Final[Mapping[str, str]] = {
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "a whole number"),
    "int_parsing_size": "a whole number of at most 20 digits",
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
    "finite_number": "a finite number",
    "string_type": "text",
    "string_unicode": "text without halves of surrogate pairs",
    **dict.fromkeys(("tuple_type", "list_type"), "a list"),
    **dict.fromkeys(("mapping_type", "dict_type"), "an object"),
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
    "string_too_long": "at most {max_length} characters",
    "string_too_short": "at least {min_length} character(s)",
    "too_long": "at most {max_length} entries",
    "too_short": "at least {min_length} entry",
    "literal_error": "one of {expected}",
}
"""What is allowed where pydantic finds one of these faults."""


def validated(model: type[Model], values: Any, raising: type[ModakError], prefix: str = "") -> Model:
    """The values as that model. Raises ``raising`` with the faults of :func:`faults_of`."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise raising(faults=faults_of(error, prefix, model=model)) from None


def fault_in(grammar: Any, value: object) -> str:
    """Why a value is not of a grammar (a type of :mod:`modak.text.grammar`), or of a model; empty: it is."""
    try:
        _adapter(grammar).validate_python(value)
    except ValidationError as error:
        return str(faults_of(error)[0])
    return ""


@cache
def _adapter(grammar: Any) -> TypeAdapter[Any]:
    """The validator of a grammar, cached: to make one takes longer than to write a script."""
    return TypeAdapter(grammar)


def faults_of(error: ValidationError, prefix: str = "", *, model: type[BaseModel] | None = None) -> tuple[Fault, ...]:
    """One fault per field, sorted by field; ``prefix`` is the dotted path of the model in the document.

    With ``model`` a fault for an unknown key names the most similar known one. Messages do not repeat values of the document, unless a
    grammar shows a part of them.
    """
    return faults_in(error.errors(include_url=False, include_input=False), prefix, model)


def faults_in(errors: Iterable[Any], prefix: str = "", model: type[BaseModel] | None = None) -> tuple[Fault, ...]:
    """The same from the findings themselves, in the form of ``ValidationError.errors()``.

    Where something within a value is wrong, what is said of the value itself is left out: it is about branches of a union that were not
    meant, or about a list that is too short only because its items are wrong.
    """
    by_place = grouped(errors, lambda one: _place(one["loc"]))
    around = {place[:depth] for place in by_place for depth in range(len(place))}
    innermost = (one for place, found in by_place.items() if place not in around for one in found)
    by_field = grouped(innermost, lambda one: _field(one["loc"], prefix))
    said = {field: dict.fromkeys(_message(one, model) for one in found) for field, found in sorted(by_field.items())}
    return tuple(Fault(field, _alternatives(list(messages))) for field, messages in said.items())


def join(*parts: str) -> str:
    """Dotted path of the parts that are not empty."""
    return ".".join(filter(None, parts))


def _place(loc: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """The keys on the way to a value, without the names of union branches, which are not keys."""
    return tuple(key for key in loc if isinstance(key, int) or not _BRANCH.fullmatch(key))


def _field(loc: tuple[int | str, ...], prefix: str) -> str:
    """The same as a path."""
    return join(prefix, *(re.sub(r"[^!-~]", "?", str(key)[:60]) for key in _place(loc)))


def _alternatives(messages: Sequence[str]) -> str:
    """Faults of the branches of a union as one sentence."""
    return " or ".join((messages[0], *(message.removeprefix("allowed: ") for message in messages[1:])))


def _message(one: Any, model: type[BaseModel] | None) -> str:
    match one["type"]:
        case "extra_forbidden":
            return _unknown_key(one["loc"], model)
        case "missing":
            return f"is required{_choice(one['loc'], model)}"
        case "value_error":
            return str(one["ctx"]["error"])
    return f"allowed: {_allowed(one, model)}"


def _allowed(one: Any, model: type[BaseModel] | None) -> str:
    if one["type"] == "string_pattern_mismatch":
        return PATTERNS.get(one["ctx"]["pattern"], f"text that matches {one['ctx']['pattern']}")
    if one["type"] == "greater_than_equal" and one["ctx"]["ge"] == SMALLEST:
        return "more than 0"
    if one["type"] in ("model_type", "model_attributes_type"):
        return an_object(_keys(one["loc"], model))
    of_text = one["type"] == "too_long" and one["ctx"]["field_type"] == "Value"  # a text's length, looked at after its characters
    if one["type"] == "literal_error" and " or " not in one["ctx"]["expected"]:
        return str(one["ctx"]["expected"])
    template = _ALLOWED.get("string_too_long" if of_text else one["type"])
    return template.format_map(one.get("ctx", {})) if template else str(one["msg"]).replace("Input should be ", "")


def _choice(loc: tuple[int | str, ...], model: type[BaseModel] | None) -> str:
    """The words of a field that allows only some, or the keys of its objects, for a message."""
    here = _model_at(loc[:-1], model)
    field = here.model_fields.get(str(loc[-1])) if here else None
    words = get_args(field.annotation) if field and get_origin(field.annotation) is Literal else ()
    if words:
        return f": one of {', '.join(map(repr, words[:-1]))} or {words[-1]!r}"
    if not 0 < len(keys := _keys(loc, model)) <= MOST_KEYS or field is None:
        return ""
    return f": {'a list, each ' if get_origin(field.annotation) is tuple else ''}{an_object(keys)}"


def _unknown_key(loc: tuple[int | str, ...], model: type[BaseModel] | None) -> str:
    key, known = str(loc[-1]), sorted(_keys(loc[:-1], model))
    meant = _OTHERWISE.get(key.lower(), key)
    own = [word for word in (meant, f"{key}s", key.removesuffix("s")) if word in known][:1]
    here = _model_at(loc[:-1], model)
    deeper = [*_places_of(key, here)] or [*_places_of(meant, here)]
    close = own or deeper or list(filter(None, [nearest_name(key, known)]))
    hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
    return f"unknown key{hint}" + (f"; known: {', '.join(known)}" if known and not hint else "")


def _places_of(key: str, model: type[BaseModel] | None, at: str = "") -> Iterator[str]:
    """The dotted paths of a key within a model that does not know it itself."""
    for name, field in model.model_fields.items() if model else ():
        inner, here = _model_in(field.annotation), join(at, field.alias or name)
        if inner is not None and inner is not model:
            if key in inner.model_fields:
                yield join(here, key)
            yield from _places_of(key, inner, here)


def an_object(keys: Collection[str] = ()) -> str:
    """An object as what is allowed, with its keys if they are few.

    >>> an_object(["name", "unit"]), an_object()
    ('an object with name, unit', 'an object')
    """
    return f"an object with {', '.join(keys)}" if 0 < len(keys) <= MOST_KEYS else "an object"


def _keys(loc: tuple[int | str, ...], model: type[BaseModel] | None) -> list[str]:
    """Keys of the model at ``loc`` below ``model``, in its order; empty if there is no model."""
    here = _model_at(loc, model)
    return [field.alias or name for name, field in here.model_fields.items()] if here else []


def _model_at(loc: tuple[int | str, ...], model: type[BaseModel] | None) -> type[BaseModel] | None:
    """The model at ``loc`` below ``model``."""
    here = model
    for key in loc:
        if here is not None and isinstance(key, str) and key in here.model_fields:
            here = _model_in(here.model_fields[key].annotation)
    return here


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The first model inside an annotation: of ``tuple[Partition, ...] | None`` it is ``Partition``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for inner in get_args(annotation) if (found := _model_in(inner))), None)
