"""The other curves of an application, which forecasts of each of its curves look at: what these have in common is worked out once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from modak.cache import Cache
from modak.perfmodel.fitting.curves import Curve

MOST: Final = 16
"""More than is worked out from all curves."""
Found = TypeVar("Found")


class CurveSet:
    """The ``curves`` of an application, of which some may be left out."""

    def __init__(self, curves: Sequence[Curve], out: frozenset[int] = frozenset(), shared: Cache | None = None) -> None:
        self._curves, self._shared = curves, shared or Cache(MOST)
        self.out = out
        """The places of those that are left out."""

    def __iter__(self) -> Iterator[Curve]:
        return (curve for place, curve in enumerate(self._curves) if place not in self.out)

    def of_all(self, compute: Callable[[Sequence[Curve]], Found]) -> Found:
        """What a function makes of all curves, also of those that are left out: once for each function."""
        return self._shared.get(compute, lambda: compute(self._curves))

    def without(self, *curves: Curve) -> CurveSet:
        """The same without these."""
        places = self.of_all(_places)
        return CurveSet(self._curves, self.out.union(places[id(one)] for one in curves if id(one) in places), self._shared)


def _places(curves: Sequence[Curve]) -> Mapping[int, int]:
    return {id(curve): place for place, curve in enumerate(curves)}
