"""Find a variant of a door (``schedulers``, ``launchers``, ``runtimes``, ``frameworks``, ``ingest``) by name.

The built-ins of ``modak.<door>.BUILTIN`` come first, then what installed packages offer under the entry point group
``modak.<door>``: an object that keeps the door's Protocol. Two variants of one name are an error, never a silent override.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from modak.errors import Conflict, UnknownName

WHAT: Final = {
    "schedulers": "scheduler",
    "launchers": "launcher",
    "runtimes": "container runtime",
    "frameworks": "framework",
    "ingest": "format",
}
"""Each door, and what one of its variants is called in messages."""


def find(door: str, name: str) -> Any:
    """The variant with that name or alias. Raises :class:`modak.errors.UnknownName` that lists the supported names."""
    found = _by_name(door).get(name)
    if found is not None:
        return found
    raise UnknownName(WHAT[door], name, names(door))


def names(door: str) -> tuple[str, ...]:
    """Names of all variants of a door, built-ins first; aliases are left out."""
    return tuple(variant.name for variant in all_of(door))


@cache
def all_of(door: str) -> tuple[Any, ...]:
    """All variants of a door: built-ins, then those of other packages in the order of their names."""
    return joined(door, import_module(f"modak.{door}").BUILTIN, _installed(door))


@cache
def _by_name(door: str) -> dict[str, Any]:
    return {name: variant for variant in all_of(door) for name in called(variant)}


def joined(door: str, builtin: Iterable[Any], installed: Iterable[Any]) -> tuple[Any, ...]:
    """Both together. Raises :class:`modak.errors.Conflict` where two variants have one name."""
    found: dict[str, Any] = {}
    variants = (*builtin, *installed)
    for variant in variants:
        for name in called(variant):
            if name in found:
                raise Conflict(f"two variants of {WHAT[door]} are called {name!r}: {_origin(found[name])} and {_origin(variant)}")
            found[name] = variant
    return variants


def called(variant: Any) -> tuple[str, ...]:
    """Name and aliases of a variant."""
    return (variant.name, *getattr(variant, "aliases", ()))


@cache
def _installed(door: str) -> tuple[Any, ...]:
    """What other packages offer; what is installed does not change while a program runs."""
    found = sorted(entry_points(group=f"modak.{door}"), key=lambda point: (point.name, point.value))
    return tuple(map(loaded, found))


def loaded(point: EntryPoint) -> Any:
    """The object that an entry point names. Raises :class:`modak.errors.Conflict` where its package fails, which code of others may do
    in any way."""
    try:
        return point.load()
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        raise Conflict(f"the package that offers {point.value!r} under {point.group} cannot be loaded: {why}") from error


def _origin(variant: Any) -> str:
    return f"{type(variant).__module__}.{type(variant).__qualname__}"
