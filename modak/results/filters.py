"""Which results are meant: texts of columns, and of parameters as ``params.NAME``."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final

from modak.errors import RequestError, nearest_of_many, unknown
from modak.facts import SeriesKey, canonical_name
from modak.facts.results import FLAGS, NUMBERS

COLUMNS: Final = tuple(name for name in SeriesKey.model_fields if name not in ("params", "unit", *FLAGS, *NUMBERS))
"""Columns of results that can be filtered by, beside ``params.NAME``."""
PARAMETER: Final = "params."
"""Before the name of a parameter in the name of its column."""
PARAMETERS: Final = re.compile(r"params\.[A-Za-z0-9_][A-Za-z0-9_.+-]{0,63}")
"""What columns of parameters are called."""


def check_filters(names: Iterable[str]) -> None:
    """Raise :class:`modak.errors.RequestError` for a name that is neither one of :data:`COLUMNS` nor ``params.NAME``."""
    for name in names:
        if not PARAMETERS.fullmatch(name) and name not in COLUMNS:
            raise RequestError(unknown("filter", name, (*COLUMNS, "params.NAME")), field=ascii(name[:100])[1:-1])


def none_of(filters: Mapping[str, str], names_in: Callable[[str], Collection[str]], what: str = "results") -> str:
    """The message if no result matches the filters, with names that may be meant: of those that are known in a column."""
    near = [repr(other) for name, text in filters.items() if (other := _meant(name, text, names_in(name)))]
    given = f" with {', '.join(f'{name} {text!r}' for name, text in filters.items())}" if filters else ""
    return f"no {what}{given}" + (f" (did you mean {', '.join(near)}?)" if near else "")


def _meant(column: str, text: str, known: Collection[str]) -> str | None:
    """The known name that is probably meant by a text in a filter; ``None``: it is one, or like none."""
    if column == "system":
        text, known = canonical_name(text), set(map(canonical_name, known))
    return None if text in known else nearest_of_many(text, known)
