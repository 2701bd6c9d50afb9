"""Differences between the knowledge that comes with MODAK and that in a database. What a site has changed stays.

A database is filled once. An entry counts as the package's for as long as nobody has replaced it: its row says who added it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from modak.errors import LONGEST_SHOWN, NotFound, did_you_mean
from modak.facts import Fact, Image, System
from modak.text.amounts import join_names

PRINCIPAL: Final = "packaged"
"""The principal of entries that came with MODAK."""

MOST_NAMED: Final = 10
"""Most differing entries that a message names."""

Standing = Literal["new", "newer", "changed here", "removed here", "name taken", "no longer packaged"]


@dataclass(frozen=True)
class Held:
    """An entry of a database: who added it, and when."""

    value: Fact
    by: str
    at: datetime


@dataclass(frozen=True)
class Difference:
    """An entry in which package and database differ. If it is new or no longer packaged, one side is missing."""

    kind: str
    """``system``, ``processor``, ``accelerator``, ``image`` or ``rule``."""
    name: str
    standing: Standing
    packaged: Fact | None
    held: Held | None
    """For the standing ``name taken``: the system that has the name."""

    def taken(self, *, replace: bool) -> bool:
        """Whether the package's entry is stored; with ``replace`` also if the entry was changed or removed here."""
        return self.standing in ("new", "newer") or (replace and self.standing in ("changed here", "removed here"))


def name_of(value: Fact) -> str:
    """The key of an entry: the reference of an image, otherwise the name."""
    return str(value.reference if isinstance(value, Image) else getattr(value, "name", ""))


def kind_of(value: Fact) -> str:
    """``system``, ``processor``, ``accelerator``, ``image`` or ``rule``."""
    return type(value).__name__.lower()


def differences(packaged: Iterable[Fact], held: Iterable[Held], removed: Collection[str] = ()) -> tuple[Difference, ...]:
    """The entries that differ, in the package's order, then those that it no longer has. Entries that a site added are no differences.

    ``removed``: kind and name of entries that were removed at some time.
    """
    there = {(kind_of(one.value), name_of(one.value)): one for one in held}
    names = {name: one for one in there.values() for name in _folded_names(one.value)}
    found = []
    for value in packaged:
        kind, name = key = kind_of(value), name_of(value)
        old = there.pop(key, None)
        if old and old.value == value:
            continue
        other = next((names[each] for each in _folded_names(value) if each in names and names[each] is not old), None)
        standing = "name taken" if other else _standing(old, removed=f"{kind} {name}" in removed)
        found.append(Difference(kind, name, standing, value, other or old))
    gone = (Difference(*key, "no longer packaged", None, one) for key, one in there.items() if one.by == PRINCIPAL)
    return (*found, *gone)


def _standing(old: Held | None, *, removed: bool) -> Standing:
    """The standing of a packaged entry that differs from the ``old`` one of the database; ``None``: there is none."""
    if old is None:
        return "removed here" if removed else "new"
    return "newer" if old.by == PRINCIPAL else "changed here"


def only_named(found: Sequence[Difference], names: Sequence[str]) -> tuple[Difference, ...]:
    """The differences with these names; without names, all. Raises :class:`~modak.errors.NotFound` if nothing differs in one."""
    differing = sorted({one.name for one in found})
    for name in names:
        if name not in differing:
            meant = did_you_mean(name, differing, "")
            others = join_names(differing, MOST_NAMED) if differing else "nothing"
            raise NotFound(
                f"no entry {name[:LONGEST_SHOWN]!r} differs from what this MODAK knows{meant}; what differs: {others}", field="NAME"
            )
    return tuple(one for one in found if not names or one.name in names)


def _folded_names(value: Fact) -> tuple[str, ...]:
    """All names of a system; other entries cannot be mistaken for each other."""
    return value.folded_names if isinstance(value, System) else ()
