"""How large a problem is, as parameters tell it: a number, a grid, or a number with a suffix."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Final

from modak.perfmodel.fitting.startup import positive_number

_GRID: Final = re.compile(r"[0-9]{1,12}(?:\s?[x×*]\s?[0-9]{1,12}){1,4}")
_SHORT: Final = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,12})?)\s?([kmgbt])", re.IGNORECASE)
_SUFFIXES: Final = {"k": 1e3, "m": 1e6, "g": 1e9, "b": 1e9, "t": 1e12}


@lru_cache(maxsize=4096)
def magnitude(text: str | None) -> float | None:
    """The size that a parameter tells, of a grid the number of its points; ``None``: it tells none.

    >>> magnitude("4000"), magnitude("64x64x32"), magnitude("7B"), magnitude("760m"), magnitude("gmres")
    (4000.0, 131072.0, 7000000000.0, 760000000.0, None)
    """
    if text is None:
        return None
    if _GRID.fullmatch(text):
        return float(math.prod(map(int, re.findall(r"[0-9]+", text)))) or None
    short = _SHORT.fullmatch(text)
    return float(short[1]) * _SUFFIXES[short[2].lower()] or None if short else positive_number(text)
