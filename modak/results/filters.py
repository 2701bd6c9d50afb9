"""Which results are meant: texts of columns, and of parameters as ``params.NAME``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from modak.errors import RequestError, unknown
from modak.facts import SeriesKey
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
