"""What systems tell of each other's throughput at batch sizes at which they did not measure an application.

Throughputs are natural logs, batch sizes are log2.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, Final

import numpy as np

from modak.arrays import Array

MOST_KEPT: Final = 256
"""Pairs of batch sizes whose effects are kept."""

Sizes = Mapping[float, float]
"""Throughputs of one application by batch size, ascending."""


def nearest(known: Sizes, size: float) -> tuple[float, float]:
    """Batch size and throughput of the measurement nearest to ``size``; of equally near ones the fastest."""
    return min(known.items(), key=lambda one: (abs(one[0] - size), -one[1]))


class Batches:
    """Throughputs of applications on several systems, each by batch size."""

    def __init__(self, systems: Sequence[Mapping[Any, Sizes]]) -> None:
        self.systems = systems
        self._several: dict[Any, list[Sizes]] = defaultdict(list)
        for application, known in chain.from_iterable(one.items() for one in systems):
            if len(known) > 1:
                self._several[application].append(known)
        self._of_all = lru_cache(MOST_KEPT)(lambda start, end: _effects(chain.from_iterable(self._several.values()), start, end))

    def at(self, application: Hashable, size: float) -> list[float]:
        """Throughputs at a batch size, one for each system; NaN where the application was not measured.

        Interpolated between measured sizes. Beyond them the nearest one counts, with the mean effect of the rest of the way elsewhere.
        """
        return [self._at(one[application], application, size) if application in one else np.nan for one in self.systems]

    def effects(self, application: Hashable, start: float, end: float) -> Array:
        """Throughput at ``end`` over that at ``start``, of each system that measured the application at such sizes; if none did, of each
        application that any of them measured there."""
        own = _effects(self._several.get(application, ()), start, end)
        return own if len(own) else self._of_all(start, end)

    def _at(self, known: Sizes, application: Hashable, size: float) -> float:
        if size in known:
            return known[size]
        held = min(max(size, min(known)), max(known))
        effects = self.effects(application, held, size) if held != size else np.zeros(0)
        return _between(known, held) + (float(effects.mean()) if len(effects) else 0.0)


def _effects(several: Iterable[Sizes], start: float, end: float) -> Array:
    low, high = sorted((start, end))
    return np.array([_between(known, end) - _between(known, start) for known in several if min(known) <= low and high <= max(known)])


def _between(known: Sizes, size: float) -> float:
    """The throughput at a size between the first and the last; of one number, NumPy's own interpolation takes ten times as long."""
    if size in known:
        return known[size]
    left, right = max(one for one in known if one < size), min(one for one in known if one > size)
    return known[left] + (known[right] - known[left]) * (size - left) / (right - left)
