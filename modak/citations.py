"""Every figure of a system, a processor or an accelerator names its source: which figures have none, and which sources cover nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from pydantic import BaseModel

from modak.errors import Fault, unknown
from modak.text.faults import join

Steps = tuple[str, ...]
"""The path of a field, such as ``("partitions", "thin", "nodes")``."""


def unsourced(item: BaseModel) -> Iterator[Fault]:
    """Faults of an item that has ``sources``: figures that no source covers, and fields of sources that cover nothing (misspelt names)."""
    leaves = tuple(_leaves(item.model_dump(exclude={"sources"}, exclude_unset=True)))
    sources: Any = getattr(item, "sources", ())
    patterns = [tuple(pattern.split(".")) for source in sources for pattern in source.fields]
    for steps, value in leaves:
        if _is_figure(value) and not any(_covers(pattern, steps) for pattern in patterns):
            yield Fault(join(*steps), "no source covers this figure; name it in the fields of one of 'sources'")
    for pattern in patterns:
        if not any(_covers(pattern, steps) for steps, _ in leaves):
            known = {".".join(steps[: len(pattern)]) for steps, _ in leaves}
            yield Fault("sources", unknown("field", ".".join(pattern), known))


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


def _is_figure(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _covers(pattern: Steps, steps: Steps) -> bool:
    """Whether a field's path is at or below the pattern's; ``*`` in a pattern stands for any text within one step."""
    return len(pattern) <= len(steps) and all(map(fnmatchcase, steps, pattern))
