"""The work to predict: data, training, lengths, the number that the application prints."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from modak.dsl.document import MOST_SET, Amount, CellText, Count, Document, Prose
from modak.errors import DataError
from modak.results.metrics import WALL_TIME, Metric, metric
from modak.results.units import aggregate_unit, parse_amount
from modak.text.grammar import MetricPattern, Name, SoundText

AUTO: Final = "auto"
"""The value of a parameter that is chosen among the measured ones."""
GIVEN: Final = ("epochs", "steps", "amount", "samples", "scaling", "build", "baseline")
"""Parameters that say how much work a run is, or are chosen by other fields."""
Files = Annotated[int, Field(ge=1, le=10**12, strict=True)]


class Config(Document):
    """The kind of training, and the network."""

    type: Literal["image_classification", "object_detection", "translation", "recommendation", "reinforcement_learning", "other"] | None = (
        None
    )
    """The kind of training."""
    distributed_training: bool | None = None
    """Whether several processes train together."""
    parallelisation: tuple[Literal["mpi", "openmp", "openacc", "opencl"], ...] = ()
    layers: Count | None = None
    """Number of layers of the network; used for sizing."""
    parameters: Amount | None = None
    """Number of trainable weights of the network."""


class Etl(Document):
    """Input pipeline."""

    prefetch: int | bool | None = None
    """Number of batches that are read ahead, or whether any are."""
    cache: int | bool | None = None
    """Whether samples are kept in memory after reading."""


class Data(Document):
    """The data set of a training run."""

    location: Prose | None = None
    """Where the data set is stored."""
    basename: Prose | None = None
    """Common name of its files."""
    train: Amount | None = None
    """Number of samples for training."""
    test: Amount | None = None
    """Number of samples for testing."""
    size_bytes: Annotated[float, Field(gt=0, le=1e18, allow_inf_nan=False)] | None = None
    files: Files | None = None
    """Number of files of the data set."""
    etl: Etl | None = None


class PrintedMetric(Document):
    """A number that the application prints."""

    name: Name
    """Name of the metric."""
    unit: Prose
    """Unit of the number: ``samples/s``."""
    pattern: MetricPattern
    """An extended regular expression; its group is the number, read from the last line that matches."""

    @field_validator("name")
    @classmethod
    def _of_the_program(cls, name: str) -> str:
        if name == WALL_TIME:
            raise ValueError(f"allowed: any other, as the script itself measures {WALL_TIME}; call what the program prints run_time")
        return name

    @field_validator("unit")
    @classmethod
    def _of_the_metric(cls, unit: str, info: ValidationInfo) -> str:
        try:
            metric(info.data.get("name", ""), aggregate_unit(unit))
        except DataError as error:
            raise ValueError(error.faults[0].message) from None
        return unit

    @property
    def measure(self) -> Metric:
        """What is measured; of a rate of each GPU, node or rank that of all of them, which its result becomes."""
        return metric(self.name, aggregate_unit(self.unit))


def _amount(text: str) -> str:
    try:
        parse_amount(text)
    except DataError as error:
        raise ValueError(error.faults[0].message) from None
    return text


WorkAmount = Annotated[SoundText, Field(max_length=64, examples=["500 ns", "2e6 steps", "3 PFLOP"]), AfterValidator(_amount)]
"""A positive number and what a rate counts; see :func:`modak.results.units.parse_amount`."""


class Workload(Document):
    """The work to predict; ``epochs`` multiplies a time per epoch, ``samples`` and ``amount`` turn rates into times."""

    application: CellText | None = None
    """The application whose results are used, as they name it. Default: ``application.app_tag``."""
    dataset: CellText | None = None
    """The data set or problem; times of different ones are never compared."""
    epochs: Amount | None = None
    """Number of epochs; multiplies a time per epoch."""
    steps: Amount | None = None
    """Number of steps; multiplies a time per step."""
    samples: Amount | None = None
    """Samples per epoch; turns a throughput into a time."""
    amount: WorkAmount | None = None
    """The work of the whole run in the unit that a rate counts, for instance ``500 ns``; turns the rate into a time."""
    batch_size: Count | None = None
    """Batch size per worker: per GPU, or per rank on nodes without GPUs."""
    precision: Name | None = None
    """Precision of numbers: ``fp32``, ``fp16``; ``auto``: the one that results show to be faster."""
    compiler: CellText | None = None
    """The compiler that the application was built with, as in results: ``gcc-8.3``; ``auto``: the fastest measured."""
    params: Annotated[Mapping[Name, Annotated[float, Field(allow_inf_nan=False)] | CellText], Field(max_length=MOST_SET)] = {}
    """Further parameters of the results, by name; ``auto``: the value that results show to be the best."""
    memory_per_rank_gb: Amount | None = None
    """Memory of the node that one rank needs, in GB."""
    memory_per_gpu_gb: Amount | None = None
    """Memory of a GPU that one rank needs, in GB."""
    memory_aside_gb: Amount | None = None
    """Other use of a node's memory in GB, such as an image or data unpacked into tmpfs."""
    metric: PrintedMetric | None = None
    """A number in the application's output, or in ``application.metric_file``, to be written into the job's result file."""

    @field_validator("params")
    @classmethod
    def _may_be_open(cls, params: Mapping[str, float | str]) -> Mapping[str, float | str]:
        left = [name for name, value in params.items() if value == AUTO]
        if given := [name for name in left if name in GIVEN]:
            raise ValueError(f"{given[0]} is not chosen: auto is for how a program does its work, not for how much, nor for builds")
        if left and (others := sorted(params.keys() - variables_of(params).values())):
            raise ValueError(f"{' and '.join(others)} are one variable ({variable_of(others[0])}): auto needs names of its own")
        return params

    @property
    def named(self) -> dict[str, float | str]:
        """The parameters that have a value."""
        return {name: value for name, value in self.params.items() if value != AUTO}

    @property
    def open_params(self) -> tuple[str, ...]:
        """Names of the others, which are chosen."""
        return tuple(sorted([name for name, value in self.params.items() if value == AUTO]))


def variable_of(name: str) -> str:
    """The variable that has the value of a parameter in a job.

    >>> variable_of("tp"), variable_of("micro-batch")
    ('MODAK_PARAM_TP', 'MODAK_PARAM_MICRO_BATCH')
    """
    return f"MODAK_PARAM_{re.sub('[^A-Z0-9]', '_', name.upper())}"


def variables_of(names: Collection[str]) -> dict[str, str]:
    """The variables of parameters, each with the name of its parameter; without those that several would have."""
    counts = Counter(variable_of(name) for name in names)
    return {variable: name for name in names if counts[variable := variable_of(name)] == 1}
