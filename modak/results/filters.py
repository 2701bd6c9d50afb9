"""Which results are meant: exact texts of columns, and of parameters as ``params.NAME``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from modak.errors import RequestError, unknown
from modak.facts import SeriesKey

COLUMNS: Final = tuple(name for name in SeriesKey.model_fields if name not in ("params", "hyperthreads", "numa_mode", "unit"))
"""Columns of results that can be filtered by, beside ``params.NAME``."""
PARAMETER: Final = "params."


def check(names: Iterable[str]) -> None:
    """Raise :class:`modak.errors.RequestError` for a name that is neither one of :data:`COLUMNS` nor ``params.NAME``."""
    for name in names:
        if not name.startswith(PARAMETER) and name not in COLUMNS:
            raise RequestError(unknown("filter", name, (*COLUMNS, "params.NAME")), field=ascii(name[:100])[1:-1])
