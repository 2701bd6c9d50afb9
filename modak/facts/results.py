"""Measured results: their series, layout and value."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from operator import itemgetter
from typing import Annotated, Final, Literal, get_args

from pydantic import Field

from modak.facts.fact import Count, Fact
from modak.text.amounts import as_given


class Layout(Fact):
    """How a job lies on its nodes. ``None``: unknown (results), or left to be chosen (requests)."""

    nodes: Count | None = None
    ranks_per_node: Count | None = None
    threads_per_rank: Count | None = None
    gpus_per_node: Annotated[int, Field(ge=0)] | None = None
    batch_size: Count | None = None
    """Per worker: per rank, or per GPU where there are GPUs."""

    @property
    def ranks_per_gpu(self) -> float | None:
        """``None``: unknown, or no GPUs."""
        return self.ranks_per_node / self.gpus_per_node if self.ranks_per_node and self.gpus_per_node else None


LONGEST_LABEL: Final = 200
Text = Annotated[str, Field(min_length=1, max_length=LONGEST_LABEL)]
"""Labels of results: any printable text."""


def parameter(value: float | str) -> str:
    """The value of a parameter as results write it, with all its digits.

    >>> parameter(100.0), parameter(0.1), parameter(1234567890123456.0), parameter("1M")
    ('100', '0.1', '1234567890123456', '1M')
    """
    return value if isinstance(value, str) else as_given(value)


def parameters(values: Mapping[str, float | str]) -> dict[str, str]:
    """The parameters of a request as results write them, each by :func:`parameter`."""
    return {name: parameter(value) for name, value in values.items()}


class SeriesKey(Fact):
    """What is equal in all results of a series: everything but layout, value, repeat, time and source."""

    application: Text
    dataset: Text | None = None
    params: Mapping[str, str] = {}
    framework: Text | None = None
    framework_version: Text | None = None
    compiler: Text | None = None
    image: Text | None = None
    precision: Text | None = None
    system: Text | None = None
    partition: Text | None = None
    mpi: Text | None = None
    mpi_from: Literal["host", "container"] | None = None
    hyperthreads: bool | None = None
    numa_mode: Count | None = None
    runtime: Text | None = None
    metric: Text
    unit: Text

    def __hash__(self) -> int:
        """Of all fields; parameters are a mapping, which has no hash of its own."""
        return hash((_all_but_params(self.__dict__), frozenset(self.params.items())))


def _of_kind(kind: type) -> tuple[str, ...]:
    """The fields that hold this, or nothing."""
    kinds = {
        name: [getattr(one, "__origin__", one) for one in get_args(field.annotation)] for name, field in SeriesKey.model_fields.items()
    }
    return tuple(name for name, found in kinds.items() if found == [kind, type(None)])


FLAGS: Final = _of_kind(bool)
"""What is true or false of the runs of a series."""
NUMBERS: Final = _of_kind(int)
"""What is a whole number, and no count of the layout."""
_all_but_params: Final = itemgetter(*(name for name in SeriesKey.model_fields if name != "params"))


class Result(Fact):
    """One measured value (in the metric's base unit) and where it comes from."""

    series: SeriesKey
    layout: Layout
    value: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    repeat: Annotated[int, Field(ge=0)] | None = None
    measured_at: datetime | None = None
    source: str | None = None
    id: int | None = None
    """The store's number; not given: not stored yet."""
    suspect: str | None = None
    """Why this row is kept out of fits; not given: it is used."""
    doubted: bool = False
    """Whether that is a doubt of the store, which can be lifted, and not of the row's file."""
    by_hand: bool = False
    """Whether somebody doubted or confirmed it, so that no load judges it."""


class FailedRuns(Fact):
    """The failed or stopped runs of a series at one layout; its metric is one of :data:`modak.results.failures.METRICS`."""

    series: SeriesKey
    layout: Layout
    count: int
    longest_s: float = 0.0
    """After how long the longest of those that were stopped was."""


class DoubtedResults(Fact):
    """The doubted results of a series at one layout, which no model uses until they are confirmed."""

    series: SeriesKey
    layout: Layout
    count: int


class NotedShift(Fact):
    """A day since which runs take longer, or less: models count results from before as what they would be since then."""

    since: date
    ratio: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    """Of what they take since then to what they took before."""
    sure: bool = True
    """Otherwise it may pass, and models count results from before as half-way to what they would be since then."""
