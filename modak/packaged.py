"""What a newer MODAK brings along, held against what a database has: the site's own stays, whatever the package says.

A database is filled once. From then on an entry is the package's for as long as nobody replaced it, which its row tells: who added it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from modak.errors import UnknownName
from modak.facts import Fact, Image, System
from modak.perfmodel.matching import same_name

PRINCIPAL: Final = "packaged"
"""Who added what came with MODAK."""

Standing = Literal["new", "newer", "changed here", "name taken", "no longer packaged"]


@dataclass(frozen=True)
class Held:
    """An entry of a database: since when, and from whom."""

    value: Fact
    by: str
    at: datetime


@dataclass(frozen=True)
class Difference:
    """An entry in which the package and the database differ; of one that is new, or no longer packaged, one side is missing."""

    kind: str
    """``system``, ``processor``, ``accelerator``, ``image`` or ``rule``."""
    name: str
    standing: Standing
    packaged: Fact | None
    held: Held | None
    """Where the ``name`` is ``taken``: the system that has it."""

    def taken(self, *, replace: bool) -> bool:
        """Whether the package's entry is taken in; with ``replace`` also where it was changed here."""
        return self.standing in ("new", "newer") or (replace and self.standing == "changed here")


def name_of(value: Fact) -> str:
    """What an entry is found by: an image's reference, else the name."""
    return str(value.reference if isinstance(value, Image) else getattr(value, "name", ""))


def kind_of(value: Fact) -> str:
    """What people call its kind."""
    return type(value).__name__.lower()


def differences(packaged: Iterable[Fact], held: Iterable[Held]) -> tuple[Difference, ...]:
    """Where the two differ: in the package's order, and then what it no longer has. Entries of the site's own making are none."""
    there = {(kind_of(one.value), name_of(one.value)): one for one in held}
    names = {name: one for one in there.values() for name in _names(one.value)}
    found = []
    for value in packaged:
        kind, name = key = kind_of(value), name_of(value)
        old = there.pop(key, None)
        if old is not None and old.value == value:
            continue
        other = next((names[each] for each in _names(value) if each in names and names[each] is not old), None)
        standing: Standing = "new" if old is None else "newer" if old.by == PRINCIPAL else "changed here"
        found.append(Difference(kind, name, "name taken", value, other) if other else Difference(kind, name, standing, value, old))
    gone = (Difference(*key, "no longer packaged", None, one) for key, one in there.items() if one.by == PRINCIPAL)
    return (*found, *gone)


def chosen(found: Sequence[Difference], names: Sequence[str]) -> tuple[Difference, ...]:
    """Those with these names; all of them where none is given. Raises :class:`~modak.errors.UnknownName` where one differs in nothing."""
    for name in names:
        if name not in {one.name for one in found}:
            raise UnknownName("entry that differs", name, {one.name for one in found}, field="NAME")
    return tuple(one for one in found if not names or one.name in names)


def _names(value: Fact) -> tuple[str, ...]:
    """All that a system is called by; other entries cannot be mistaken for each other."""
    return tuple(map(same_name, (value.name, *value.aliases))) if isinstance(value, System) else ()
