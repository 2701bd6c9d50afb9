"""Readers of objects: known keys in any spelling; ``null`` values are left out, and so are unknown keys, with a note."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from types import UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import to_json

from modak.dsl.document import Bytes, Document, Fraction, Seconds
from modak.errors import BadSyntax, Fault
from modak.grouping import grouped
from modak.normalise.spellings import (
    EMPTY,
    LEFT_OUT,
    Read,
    Reader,
    each,
    flag,
    is_blank,
    name_of,
    number,
    seconds,
    share,
    size,
    spellings,
    text,
    whole,
    wrong,
)
from modak.normalise.unknown import unknown_key
from modak.text.documents import strict_json
from modak.text.faults import an_object, faults_of, join

MOST_NOTES: Final = 20
"""Number of unknown keys that are named; the others are counted."""

_LONGEST_CACHED_VALUE: Final = 1000
"""Longest object, in characters of JSON, whose reading is cached."""

OBJECT: Final = (dict, Mapping)
"""Types of objects; ``dict`` comes first because it is recognised faster."""


def section(fields: Mapping[str, Reader], model: type[BaseModel] | None = None, *, also: Mapping[str, str] | None = None) -> Reader:
    """A reader of objects with ``fields``; ``also`` maps further spellings of keys to fields.

    With ``model`` the value is an instance of it, and what it refuses are faults at the paths that the caller wrote.
    """

    others = spellings(fields, also)

    def read(value: Any, path: str) -> Read:
        opened = as_object(value, path, fields)
        if opened.faults:
            return opened
        given = opened.value
        keys, odd = spelt(given, fields, path, others)
        before = f"{path}." if path else ""
        values: dict[str, Any] = {}
        notes: list[Fault] = [*opened.notes, *odd]
        faults: list[Fault] = []
        for name, key in keys.items():
            found, its_notes, its_faults = fields[name](given[key], before + (name if key == name else label(key)))
            if found is not LEFT_OUT:
                values[name] = found
            notes += its_notes
            faults += its_faults
        if model is None:
            return Read(values, tuple(notes), tuple(faults))
        return checked(model, values, path, keys, Read(LEFT_OUT, tuple(notes), tuple(faults)))

    return read


def fields_of(model: type[Document], **particular: Reader) -> Mapping[str, Reader]:
    """The readers of a model's fields: by their types, but for those of ``particular`` fields. Raises ``TypeError`` for one of no field."""
    if of_none := particular.keys() - model.model_fields.keys():
        raise TypeError(f"{model.__name__} has no field {', '.join(sorted(of_none))}")
    return {field.alias or name: particular.get(name) or _reader_of(field.annotation) for name, field in model.model_fields.items()}


def section_of(model: type[Document], *, also: Mapping[str, str] | None = None, **particular: Reader) -> Reader:
    """A reader of objects that are of a model: see :func:`section` and :func:`fields_of`."""
    return section(fields_of(model, **particular), model, also=also)


def _reader_of(kind: Any) -> Reader:
    """The reader of values of a type. A type that none of these is needs a reader of its own."""
    if get_origin(kind) in (Union, UnionType):
        kind = get_args(kind)[0]  # the other one is None
    if kind in (Seconds, Bytes, Fraction):
        return seconds if kind == Seconds else size if kind == Bytes else share
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if get_origin(kind) is tuple:
        return each(_reader_of(get_args(kind)[0]))
    return section_of(kind) if issubclass(kind, Document) else _PLAIN[kind]


_PLAIN: Final[Mapping[type, Reader]] = {bool: flag, int: whole, float: number, str: text}


def remembered(reader: Reader) -> Reader:
    """The reader, with a cache for short objects: many requests have the same target or framework."""

    @lru_cache(maxsize=512)
    def once(text: bytes, path: str) -> Read:
        return reader(json.loads(text), path)

    def read(value: Any, path: str) -> Read:
        text = _as_json(value)
        return once(text, path) if 0 < len(text) <= _LONGEST_CACHED_VALUE else reader(value, path)

    return read


def _as_json(value: Any) -> bytes:
    """An object as JSON; empty for other values, and for an object that has no JSON."""
    try:
        return to_json(value) if isinstance(value, dict) else b""
    except ValueError:
        return b""


def as_object(value: Any, path: str, keys: Collection[str] = ()) -> Read:
    """An object as it is, ``null`` and blank text as an empty one, the text of an object as that object. ``keys`` are for messages."""
    if value is None or isinstance(value, OBJECT):
        return Read(value or {})
    if isinstance(value, str):
        try:
            inner = strict_json(value) if value.strip() else {}
        except BadSyntax as error:
            if value.lstrip().startswith("{"):
                return wrong(path, f"{an_object(keys)}; its text cannot be read: {error}")
            inner = None
        if isinstance(inner, Mapping):
            return Read(inner, (Fault(path, "the text is read as the object in it"),))
    return wrong(path, an_object(keys))


def spelt(
    given: Mapping[Any, Any], known: Collection[str], path: str, others: Mapping[str, str]
) -> tuple[dict[str, Any], tuple[Fault, ...]]:
    """Field -> the key it was written as, in the document's order, without ``null``, and without blank text where another spelling has a
    value; and notes on keys.

    ``others`` are the :func:`spellings` of ``known``.
    """
    if all(map(known.__contains__, given)) and None not in given.values():
        return dict(zip(given, given, strict=True)), ()
    names = {key: key if key in known else name_of(key, others) for key in given}
    written = {key: name for key, name in names.items() if name is not None and given[key] is not None}
    used = {name: _used(same, name, given) for name, same in grouped(written, written.__getitem__).items()}
    keys: dict[str, Any] = {}
    notes: list[Fault] = []
    for key, name in written.items():
        if key == used[name]:
            keys[name] = key
            why = "" if str(key).replace("-", "_") == name else f"the key is read as {name!r}"
        elif is_blank(given[key]) and not is_blank(given[used[name]]):
            why = EMPTY
        else:
            why = f"ignored: {name!r} is given, too"
        if why:
            notes.append(Fault(join(path, label(key)), why))
    return keys, tuple(notes) + unknown_keys([key for key, name in names.items() if name is None], known, path)


def _used(same: Sequence[Any], name: str, given: Mapping[Any, Any]) -> Any:
    """Of the spellings of a field the first that counts: one with a value before one without, then the field's own."""
    return min(same, key=lambda key: (is_blank(given[key]), key != name))


def unknown_keys(keys: list[Any], known: Collection[str], path: str) -> tuple[Fault, ...]:
    """A note for each of the first :data:`MOST_NOTES` unknown keys, and one for the rest."""
    notes = [Fault(join(path, label(key)), unknown_key(str(key), known)) for key in keys[:MOST_NOTES]]
    if len(keys) > MOST_NOTES:
        notes.append(Fault(path, f"{len(keys) - MOST_NOTES} more unknown keys are ignored"))
    return tuple(notes)


_ODD: Final = re.compile(r"[^!-~]")


def label(key: Any) -> str:
    """A key as part of a path: printable ASCII without blanks, at most 60 characters."""
    return _ODD.sub("?", str(key)[:60]) or "?"


def checked(model: type[BaseModel], values: Mapping[str, Any], path: str, keys: Mapping[str, Any], so_far: Read) -> Read:
    """``values`` as an instance of ``model``, with the notes and faults so far; ``keys`` are the fields as they were written.

    With faults, the instance holds the values unchecked: readers of other sections look at them to report their own faults.
    """
    try:
        return Read(model.__pydantic_validator__.validate_python(values), so_far.notes, so_far.faults)
    except ValidationError as error:
        refused = {fault.field for fault in so_far.faults}  # their values are left out, so the model finds them missing
        found = []
        for fault in faults_of(error, model=model):
            first, _, rest = fault.field.partition(".")
            found.append(Fault(join(path, label(keys.get(first, first)), rest), fault.message))
        faults = tuple(fault for fault in found if fault.field not in refused)
        return Read(model.model_construct(**values), so_far.notes, so_far.faults + faults)
