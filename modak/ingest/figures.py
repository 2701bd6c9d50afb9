"""A figure of merit that another tool reports: a row, or a note why it is none."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from modak.errors import DataError
from modak.ingest.documents import Found
from modak.results import metrics

_NUMBER: Final = re.compile(r"\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")


def figure(found: Found, line: int, name: str, value: str | None, unit: str | None, cells: Mapping[str, Any]) -> None:
    """Add a row for a figure, or a note: texts are no results, nor is a number whose better direction nobody knows.

    A unit that is not known makes a row all the same, which loading then refuses: a slip in a unit must not pass unseen.
    """
    if value is None or not _NUMBER.fullmatch(value):
        found.leave(line, f"{name!r} is not a number" if value else f"{name!r} has no value")
    elif why := _meaningless(name, unit or None):
        found.leave(line, f"{name!r} {why}")
    else:
        found.row(line, **cells, metric=name, value=value.strip(), unit=unit)


def _meaningless(name: str, unit: str | None) -> str | None:
    """Why the figure cannot be used although its unit is known (or not given)."""
    try:
        if unit is not None:
            metrics.parse_unit(unit)
    except DataError:
        return None
    try:
        metrics.metric(name, unit)
    except DataError:
        return f"in {unit!r} does not tell whether less or more is better" if unit else "has no unit"
    return None
