"""Every figure of a system, a processor or an accelerator names its source: which figures have none, and which sources cover nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from fnmatch import fnmatchcase
from typing import Any, Final

from pydantic import BaseModel

from modak.errors import Fault, unknown
from modak.text.faults import join

Steps = tuple[str, ...]
"""The path of a field, such as ``("partitions", "thin", "nodes")``."""
MOST_MISSPELT: Final = 20
"""Fields of sources that are named as unknown."""
_SPECIAL: Final = re.compile(r"[*?[]")
"""What makes a name a pattern."""


def unsourced(item: BaseModel) -> Iterator[Fault]:
    """Faults of an item that has ``sources``: figures that no source covers, and fields of sources that cover nothing (misspelt names)."""
    leaves = tuple(_leaves(item.model_dump(exclude={"sources"}, exclude_unset=True)))
    sources: Any = getattr(item, "sources", ())
    paths = {path for steps, _ in leaves for path in _to(steps)}
    reached = {name: _reached(tuple(name.split(".")), paths) for source in sources for name in source.fields}
    covered = {path for found in reached.values() for path in found}
    for steps, value in leaves:
        is_figure = isinstance(value, int | float) and not isinstance(value, bool)
        if is_figure and covered.isdisjoint(_to(steps)):
            yield Fault(join(*steps), "no source covers this figure; name it in the fields of one of 'sources'")
    misspelt = [name for name, found in reached.items() if not found]
    for name in misspelt[:MOST_MISSPELT]:  # each is compared with all
        known = {".".join(steps[: name.count(".") + 1]) for steps, _ in leaves}
        yield Fault("sources", unknown("field", name, known))
    if len(misspelt) > MOST_MISSPELT:
        yield Fault("sources", f"{len(misspelt) - MOST_MISSPELT} more unknown fields")


def label(item: object, number: int) -> str:
    """What a path calls an item of an array: its name (an image: its reference), or its number. Names may be wrong themselves."""
    named = item if isinstance(item, Mapping) else {}
    names = (named[key] for key in ("name", "reference", "family") if isinstance(named.get(key), str))
    return next((re.sub(r"[^!-~]", "?", name[:200]) for name in names), str(number))


def _leaves(value: object, steps: Steps = ()) -> Iterator[tuple[Steps, object]]:
    """The values that hold no others, each with its path."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, (*steps, str(key)))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for number, inner in enumerate(value):
            yield from _leaves(inner, (*steps, label(inner, number)))
    else:
        yield steps, value


def _to(steps: Steps) -> Iterator[Steps]:
    """The paths from the first step to the last."""
    return (steps[:length] for length in range(1, len(steps) + 1))


def _reached(pattern: Steps, paths: Set[Steps]) -> Set[Steps]:
    """The paths that a field of a source names; it covers them and all below. ``*`` stands for any text within one step."""
    if not any(map(_SPECIAL.search, pattern)):
        return paths & {pattern}
    return {path for path in paths if len(path) == len(pattern) and all(map(fnmatchcase, path, pattern))}
