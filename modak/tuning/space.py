"""The search space of a tuner: parameters with their values, whose combinations are the points of a finite grid."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Final, Literal

from modak import dsl
from modak.dsl import Value, Values
from modak.errors import RequestError
from modak.tuning.setting import in_words

FIELD: Final = "optimisation.autotuning.space"
MOST_VALUES: Final = 1000
MOST_PARAMETERS: Final = 50
LAYOUT: Final[Mapping[str, str]] = {"node_count": "nodes", "process_count_per_node": "ranks_per_node", "threads": "threads_per_rank"}
"""Counts of a request, and their columns in the results table."""

Kind = Literal["environment", "options", "layout"]
Point = tuple[int, ...]
"""An index into the values of each parameter."""


@dataclass(frozen=True)
class Parameter:
    """A parameter that a tuner may change. Its values keep their order; ``default`` is the index of the job's own value."""

    kind: Kind
    name: str
    values: tuple[Value, ...]
    default: int = 0

    @property
    def ordered(self) -> bool:
        """Whether the values are rising or falling numbers, so that neighbours are similar."""
        numbers = [value for value in self.values if not isinstance(value, str)]
        return len(numbers) == len(self.values) and numbers in (sorted(numbers), sorted(numbers, reverse=True))


@dataclass(frozen=True)
class Grid:
    """All parameters: the grid of their values."""

    parameters: tuple[Parameter, ...]

    @property
    def size(self) -> int:
        """The number of points of the grid."""
        return math.prod(len(one.values) for one in self.parameters)

    @property
    def default(self) -> Point:
        """The job's own setting."""
        return tuple(one.default for one in self.parameters)

    def points(self, most: int) -> Iterator[Point]:
        """All points, or if there are more than ``most``, so many that are spread evenly over every parameter.

        These are a rank-1 lattice: multiples, modulo the size of the grid, of a number near its golden section and coprime to it.
        """
        if self.size <= most:
            return map(self._point, range(self.size))
        golden = (math.isqrt(5 * self.size**2) - self.size) // 2
        step = next(one for one in count(golden) if math.gcd(one, self.size) == 1)
        return (self._point(at * step % self.size) for at in range(most))

    def beside(self, point: Point) -> Iterator[Point]:
        """The points that differ from this one by one step of one parameter."""
        for place, one in enumerate(self.parameters):
            for index in (point[place] - 1, point[place] + 1):
                if 0 <= index < len(one.values):
                    yield (*point[:place], index, *point[place + 1 :])

    def _point(self, number: int) -> Point:
        """The point of a number, in the order in which the last parameter changes first."""
        indices: list[int] = []
        for one in reversed(self.parameters):
            number, index = divmod(number, len(one.values))
            indices.append(index)
        return tuple(reversed(indices))

    def values(self, point: Point) -> dict[str, Value]:
        """The values at a point, by name of the parameter."""
        return {one.name: one.values[index] for one, index in zip(self.parameters, point, strict=True)}

    def in_words(self, point: Point) -> str:
        """A point as text: ``NAME=VALUE, …``."""
        return in_words(self.values(point))

    def of_kind(self, kind: Kind, point: Point) -> dict[str, Value]:
        """The values at a point for one kind of parameter."""
        return {one.name: one.values[index] for one, index in zip(self.parameters, point, strict=True) if one.kind == kind}


def space_of(asked: dsl.Space, setting: dsl.Setting, counts: Mapping[str, int | None]) -> Grid:
    """The grid of a request's space. ``setting`` and ``counts`` (by :data:`LAYOUT`'s names) are the job's own: its defaults.

    Raises :class:`modak.errors.RequestError` for an empty space, a range without a step and a count that is none.
    """
    own: Mapping[str, Mapping[str, Value | None]] = {"environment": setting.environment, "options": setting.options, "layout": counts}
    sections: tuple[tuple[Kind, Mapping[str, Values]], ...] = (
        ("environment", asked.environment),
        ("options", asked.options),
        ("layout", {str(name): values for name, values in asked.layout.items()}),
    )
    found = [_parameter(kind, name, values, own[kind].get(name)) for kind, named in sections for name, values in named.items()]
    if not found:
        raise RequestError("names at least one parameter: environment, options or layout", field=FIELD)
    if len(found) > MOST_PARAMETERS:
        raise RequestError(f"allowed: at most {MOST_PARAMETERS} parameters", field=FIELD)
    return Grid(tuple(found))


def _parameter(kind: Kind, name: str, asked: Values, own: Value | None) -> Parameter:
    field = f"{FIELD}.{kind}.{name}"
    values = tuple(dict.fromkeys(expanded(asked, field)))
    if kind == "layout" and any(not isinstance(value, int) or value < 1 for value in values):
        raise RequestError("counts: whole numbers from 1", field=field)
    return Parameter(kind, name, values, values.index(own) if own in values else 0)


def expanded(asked: Values, field: str) -> tuple[Value, ...]:
    """The values of a list or of steps. Raises :class:`modak.errors.RequestError` for steps without a value, or with too many."""
    if isinstance(asked, tuple):
        return asked
    if (asked.step is None) == (asked.factor is None):
        raise RequestError("either step or factor, beside low and high", field=field)
    if asked.high < asked.low or (asked.factor is not None and asked.low <= 0):
        raise RequestError("low is at most high, and above 0 where factor is given", field=field)
    steps = _steps(asked)
    if steps >= MOST_VALUES:
        by = "step" if asked.step else "factor"
        raise RequestError(f"allowed: at most {MOST_VALUES} values; low, high and {by} give more", field=field)
    if asked.step:
        numbers = [asked.low + at * asked.step for at in range(int(steps) + 1)]
    else:
        numbers = [asked.low * (asked.factor or 1.0) ** at for at in range(int(steps) + 1)]
    return tuple(int(number) if float(number).is_integer() else round(number, 12) for number in numbers)


def _steps(asked: dsl.Steps) -> float:
    """The number of steps from ``low`` to ``high``, perhaps infinite; a step that ends at ``high``, up to rounding, counts."""
    if asked.step is not None:
        return (asked.high - asked.low) / asked.step + 1e-9
    return math.log(asked.high / asked.low) / math.log(asked.factor or 2.0) + 1e-9
