"""Find a plug-in by name: a scheduler, launcher, container runtime, framework, or format of result files.

The built-ins of ``modak.<kind>.BUILTIN`` come first, then those that installed packages register under the entry point group
``modak.<kind>``: objects of the type of that kind. Two plug-ins of the same name are an error.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, Final, Literal, overload

from modak.errors import Conflict, UnknownName

if TYPE_CHECKING:
    from modak.frameworks import Framework
    from modak.launchers import Launcher
    from modak.runtimes import Runtime
    from modak.schedulers import Scheduler

TITLES: Final = {
    "schedulers": "scheduler",
    "launchers": "launcher",
    "runtimes": "container runtime",
    "frameworks": "framework",
    "ingest": "format",
}
"""Each kind of plug-in, and what one is called in messages."""


@overload
def find(kind: Literal["schedulers"], name: str) -> Scheduler: ...
@overload
def find(kind: Literal["launchers"], name: str) -> Launcher: ...
@overload
def find(kind: Literal["runtimes"], name: str) -> Runtime: ...
@overload
def find(kind: Literal["frameworks"], name: str) -> Framework: ...
@overload
def find(kind: str, name: str) -> Any: ...
def find(kind: str, name: str) -> Any:
    """The variant with that name or alias. Raises :class:`modak.errors.UnknownName` that lists the supported names."""
    found = _by_name(kind).get(name)
    if found is not None:
        return found
    raise UnknownName(TITLES[kind], name, names(kind))


def named(kind: str, name: str) -> Any | None:
    """The variant with that name or alias; ``None``: there is none."""
    return _by_name(kind).get(name)


def names(kind: str) -> tuple[str, ...]:
    """Names of all variants of a kind, built-ins first; aliases are left out."""
    return tuple(variant.name for variant in all_of(kind))


def aliases(kind: str) -> dict[str, str]:
    """The other accepted names of all variants of a kind, each with the variant's own."""
    return {alias: variant.name for variant in all_of(kind) for alias in called(variant)[1:]}


@cache
def all_of(kind: str) -> tuple[Any, ...]:
    """All variants of a kind: built-ins, then those of other packages in the order of their names."""
    return joined(kind, import_module(f"modak.{kind}").BUILTIN, _installed(kind))


@cache
def _by_name(kind: str) -> dict[str, Any]:
    return {name: variant for variant in all_of(kind) for name in called(variant)}


def joined(kind: str, builtin: Iterable[Any], installed: Iterable[Any]) -> tuple[Any, ...]:
    """Both together. Raises :class:`modak.errors.Conflict` if two variants have the same name."""
    found: dict[str, Any] = {}
    variants = (*builtin, *installed)
    for variant in variants:
        for name in called(variant):
            if name in found:
                first, second = (f"{type(one).__module__}.{type(one).__qualname__}" for one in (found[name], variant))
                raise Conflict(f"two variants of {TITLES[kind]} are called {name!r}: {first} and {second}")
            found[name] = variant
    return variants


def called(variant: Any) -> tuple[str, ...]:
    """Name and aliases of a variant."""
    return (variant.name, *getattr(variant, "aliases", ()))


@cache
def _installed(kind: str) -> tuple[Any, ...]:
    """Plug-ins of other packages; cached, because what is installed does not change while a program runs."""
    found = sorted(entry_points(group=f"modak.{kind}"), key=lambda point: (point.name, point.value))
    return tuple(map(loaded, found))


def loaded(point: EntryPoint) -> Any:
    """The object that an entry point names. Raises :class:`modak.errors.Conflict` if its package fails to load, with any exception."""
    try:
        return point.load()
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        raise Conflict(f"the package that offers {point.value!r} under {point.group} cannot be loaded: {why}") from error
