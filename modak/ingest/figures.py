"""Figures of merit that other tools report: each becomes a row, or a note that says why it is left out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from modak.errors import DataError
from modak.ingest.documents import Found
from modak.results import metrics

_NUMBER: Final = re.compile(r"\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")


def figure(found: Found, line: int, name: str, value: str | None, unit: str | None, cells: Mapping[str, Any]) -> None:
    """Add a row for a figure; or a note if it is not a number, or if nothing tells whether less or more of it is better.

    A figure with an unknown unit becomes a row, which loading then refuses: a misspelt unit must be noticed.
    """
    if value is None or not _NUMBER.fullmatch(value):
        found.leave(line, f"{name!r} is not a number" if value else f"{name!r} has no value")
    elif why := _meaningless(name, unit or None):
        found.leave(line, f"{name!r} {why}")
    else:
        found.row(line, **cells, metric=name, value=value.strip(), unit=unit)


def _meaningless(name: str, unit: str | None) -> str | None:
    """Why a figure with a known unit, or without one, cannot be used; ``None``: it can, or its unit is unknown."""
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
