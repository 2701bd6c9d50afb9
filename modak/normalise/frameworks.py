"""The framework of a request: the plug-in that a section names, and its options, which the plug-in's own model checks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final, get_args

from pydantic import AliasChoices, BaseModel, ValidationError

from modak import dsl, plugins
from modak.dsl.document import Fraction
from modak.errors import Fault, did_you_mean, unknown
from modak.normalise.sections import as_object, checked, label, spelt, unknown_keys
from modak.normalise.spellings import EMPTY, LEFT_OUT, Read, Reader, combine_readings, fold, is_blank, share, shown, spellings, version
from modak.normalise.unknown import framework_of
from modak.text.faults import join
from modak.text.grammar import VersionRange

_QUOTED: Final = re.compile("'([^']*)'")
"""A word in pydantic's list of allowed values."""
_LAYERS: Final = ("horovod", "deepspeed")
"""Distribution layers that a request can switch on by name."""


def framework(keys: Mapping[str, Any], asked: Any, parallel: tuple[str, ...], path: str) -> Read:
    """Name and options of the framework, and options of further plug-ins (OpenMP in an MPI application), from the keys of a section other
    than ``config`` and ``data``. ``asked`` and ``parallel`` are the framework and the parallelisation that ``config`` names."""
    known = {key: found for key in keys if (found := framework_of(key))}
    notes = unknown_keys([key for key in keys if key not in known], (*plugins.names("frameworks"), "config", "data"), path)
    first, twice = _each_once(((found.name, key) for key, found in known.items() if keys[key] is not None), path)
    variants = {key: known[key] for key in first.values()}
    wanted, more = _wanted(asked, parallel, variants, path)
    read = {key: _options(variant.options, keys[key], join(path, label(key))) for key, variant in variants.items()}
    options = {variants[key].name: got.value for key, got in read.items()}
    told = combine_readings(read.values())
    notes += twice + more + told.notes
    if wanted is None:
        return Read({}, notes, told.faults)
    own, beside, last = _beside(wanted, options, variants, path)
    written = {variant.name: join(path, label(key)) for key, variant in variants.items() if variant.name in (wanted.name, *beside)}
    return Read({"framework": wanted.name, "options": own, "further": beside, "written": written}, notes + last, told.faults)


def _each_once(named: Iterable[tuple[str, Any]], path: str) -> tuple[Mapping[str, Any], tuple[Fault, ...]]:
    """The first key of each name, and a note on each other key of the same one."""
    first: dict[str, Any] = {}
    notes: list[Fault] = []
    for name, key in named:
        if name in first:
            notes.append(Fault(join(path, label(key)), f"ignored: {first[name]!r} is given, too"))
        else:
            first[name] = key
    return first, tuple(notes)


def _wanted(asked: Any, parallel: tuple[str, ...], variants: Mapping[str, Any], path: str) -> tuple[Any, tuple[Fault, ...]]:
    """The framework of the section: the one that ``config`` names; else MPI, if it is among the parallelisations, or the first of them;
    else the first that has a key (distribution layers last)."""
    notes: tuple[Fault, ...] = ()
    if isinstance(asked, str):
        if found := framework_of(asked):
            return found, ()
        message = unknown("framework", asked[:60], plugins.names("frameworks"))
        notes = (Fault(join(path, "config", "ai_framework"), f"{message}; ignored"),)
    if parallel:
        return plugins.named("frameworks", "mpi" if "mpi" in parallel else parallel[0]), notes
    order = {"ai": 0, "parallel": 1, "distribution": 3}
    return min(variants.values(), key=lambda one: order[one.kind] + (one.kind == "parallel" and one.name != "mpi"), default=None), notes


def _beside(
    wanted: Any, options: Mapping[str, dsl.FrameworkOptions], variants: Mapping[str, Any], path: str
) -> tuple[dsl.FrameworkOptions, Mapping[str, dsl.FrameworkOptions], tuple[Fault, ...]]:
    """The framework's own options, to which a key of a distribution layer is added; options of further plug-ins; and notes."""
    own = options.get(wanted.name) or wanted.options()
    beside, notes = {}, []
    for key, variant in variants.items():
        if variant.name == wanted.name or variant.name not in options:
            continue
        if variant.kind == "parallel":
            beside[variant.name] = options[variant.name]
        elif variant.name in own.allowed("distribution"):
            own = own.model_copy(update={"distribution": variant.name})
            beside[variant.name] = options[variant.name]
            notes.append(Fault(join(path, label(key)), f"read as {wanted.name}'s option 'distribution': {variant.name!r}"))
        else:
            notes.append(Fault(join(path, label(key)), f"ignored: the framework is {wanted.name}"))
    return own, beside, tuple(notes)


def _options(model: type[dsl.FrameworkOptions], value: Any, path: str) -> Read:
    """The plug-in's options; unknown keys and values are left out, numbers and switches may be text."""
    opened = as_object(value, path)
    if not isinstance(opened.value, Mapping):
        return Read(model(), faults=opened.faults)
    content, layer = _layer(model, opened.value, path)
    fields, others = _fields(model)
    written, notes = spelt(content, fields, path, others)
    with_value_first = sorted(written.items(), key=lambda pair: (is_blank(content[pair[1]]), fields[pair[0]] != pair[0]))
    keys, twice = _each_once(((fields[name], key) for name, key in with_value_first), path)
    notes += layer + twice
    at = {name: join(path, label(key)) for name, key in keys.items()}
    given = {name: content[key] for name, key in keys.items()}
    here = _read_here(model, given, at)
    notes += here.notes
    if here.faults:
        return Read(model(), notes, here.faults)
    usable, left = _usable(model, {**given, **here.value})
    notes += opened.notes + tuple(Fault(at[name], why) for name, why in left.items())
    read = checked(model, usable, path, {name: label(key) for name, key in keys.items()}, Read(LEFT_OUT, notes))
    if read.faults:
        return read
    pairs = ((name, given[name], getattr(read.value, name, None)) for name in usable if name not in here.value)
    changed = (Fault(at[name], f"{shown(old)} is read as {shown(new)}") for name, old, new in pairs if not _is_same(new, old))
    return read._replace(notes=(*read.notes, *changed))


def _read_here(model: type[dsl.FrameworkOptions], given: Mapping[str, Any], at: Mapping[str, str]) -> Read:
    """The values of the fields that have a reader of their own (``None``: left out), up to the first that cannot be used."""
    values: dict[str, Any] = {}
    notes: tuple[Fault, ...] = ()
    for name, reader in _readers(model).items():
        if name in given:
            got = reader(given[name], at[name])
            notes += got.notes
            if got.faults:
                return Read(values, notes, got.faults)
            values[name] = None if got.value is LEFT_OUT else got.value
    return Read(values, notes)


def _layer(model: type[dsl.FrameworkOptions], content: Mapping[str, Any], path: str) -> tuple[Mapping[str, Any], tuple[Fault, ...]]:
    """The content with a distribution layer in the form of a switch (``"horovod": true``) as the option ``distribution``, unless that is
    given, too; a note if that says another layer."""
    key = next((key for key in content if fold(key) in _LAYERS and str(content[key]).lower() in ("true", "false")), None)
    if key is None or "distribution" not in model.model_fields or fold(key) in model.model_fields:
        return content, ()
    rest, at = {name: value for name, value in content.items() if name != key}, join(path, label(key))
    own = [name for name in rest if fold(name) == "distribution"]
    given = next((name for name in own if rest[name] is not None and not is_blank(rest[name])), None)
    is_on = str(content[key]).lower() == "true"
    if given is not None:
        agree = is_on == (fold(rest[given]) == fold(key))
        return rest, () if agree else (Fault(at, f"ignored: {given!r} is given, too"),)
    if not is_on:
        return rest, (Fault(at, "ignored: no distribution is requested"),)
    for name in own:
        del rest[name]
    return {"distribution": fold(key), **rest}, (Fault(at, f"is read as the option 'distribution': {fold(key)!r}"),)


@cache
def _fields(model: type[BaseModel]) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Every key of the plug-in (names and aliases) -> its field; and the spellings of the keys."""
    found = {name: name for name in model.model_fields}
    for name, field in model.model_fields.items():
        aliases = field.validation_alias.choices if isinstance(field.validation_alias, AliasChoices) else [field.validation_alias]
        found |= {alias: name for alias in aliases if isinstance(alias, str)}
    return found, spellings(found)


@cache
def _readers(model: type[BaseModel]) -> Mapping[str, Reader]:
    """The readers of fields whose values have more spellings than the model takes: versions and fractions."""
    kinds = {name: (field.annotation, *get_args(field.annotation)) for name, field in model.model_fields.items()}
    return {name: reader for name, kind in kinds.items() for one, reader in ((VersionRange, version), (Fraction, share)) if one in kind}


def _is_same(new: Any, old: Any) -> bool:
    """Whether a value is read as it was given; a number also where 2.0 is read as 2."""
    return bool(new == old) and (type(new) is type(old) or not (isinstance(old, bool | str) or isinstance(new, bool | str)))


def _usable(model: type[BaseModel], values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Values that the model accepts: words in its spelling, numbers as text for fields that are text, unknown words left out; and the
    reason for each that is left out."""
    left = {name: EMPTY for name, value in values.items() if is_blank(value)}
    usable = {name: "auto" if fold(value) == "auto" else value for name, value in values.items() if name not in left}
    try:
        model.model_validate(usable)
    except ValidationError as error:
        for one in error.errors(include_url=False):
            name = str(one["loc"][0]) if len(one["loc"]) == 1 else ""
            said = usable.get(name)
            if one["type"] == "literal_error" and isinstance(said, str):
                known = one["ctx"]["expected"]
                words = _QUOTED.findall(known)
                if same := [word for word in words if fold(word) == fold(said)]:
                    usable[name] = same[0]
                else:
                    del usable[name]
                    left[name] = f"{shown(said)} is unknown and ignored{did_you_mean(said, words)} known: {known}"
            elif one["type"] == "string_type" and isinstance(said, int | float) and not isinstance(said, bool):
                usable[name] = str(said)
    return usable, left
