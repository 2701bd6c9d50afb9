"""Runs by their configuration, and what was measured in each.

A *configuration* is everything in a series except the application and its numeric parameters: system, framework, compiler, precision
and so on.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from operator import itemgetter
from statistics import median
from typing import Any, Final

import numpy as np

from modak.cache import Cache
from modak.facts import Layout, SeriesKey
from modak.perfmodel.fitting.cells import Cell
from modak.perfmodel.fitting.merging import SPELLINGS, canonical_setting
from modak.perfmodel.fitting.startup import LENGTHS, positive_number
from modak.perfmodel.unmeasured.batches import Sizes, nearest
from modak.results.filters import PARAMETER
from modak.results.metrics import metric_of
from modak.text.numbering import Numbers, shortened

FEATURES: Final[Mapping[str, tuple[str, ...]]] = {
    "operations": ("operations", "gmacs", "macs", "gflops", "flops"),
    "activations": ("activations", "macts"),
    "parameters": ("parameters", "mparams", "param_count"),
    "image": ("image", "img", "img_size", "image_size"),
}
"""Names of numeric parameters in the models, and their spellings after ``params.``; other positive parameters keep their names."""
_FEATURE: Final = {spelling: name for name, spellings in FEATURES.items() for spelling in spellings}
NO_IDENTITY: Final = frozenset({"batch", "operations", "activations", "parameters", *LENGTHS})
"""Parameters that do not tell which application it is: tables round counts differently, and batch sizes differ from device to device."""

MOST_LEARNED: Final = 512
"""Transfers and models of parameters that are kept: of each configuration two for each set of parameters, and for each batch size."""

Configuration = tuple[tuple[str, str], ...]
Identity = tuple[str, tuple[tuple[str, float], ...]]


@dataclass(frozen=True)
class RunKind:
    """One kind of run: its application, numeric parameters and configuration."""

    application: str
    numbers: tuple[tuple[str, float], ...]
    configuration: Configuration

    @cached_property
    def features(self) -> Mapping[str, float]:
        """The numbers by name."""
        return dict(self.numbers)

    def gives(self, names: Iterable[str]) -> bool:
        """Whether it has all of these parameters."""
        return self.features.keys() >= set(names)

    @cached_property
    def identity(self) -> Identity:
        """Identifies an application across configurations: its name, and parameters such as the image size."""
        return self.application, tuple(pair for pair in self.numbers if pair[0] not in NO_IDENTITY)


Described = Mapping[Identity, RunKind]
"""A run of each application, which tells its parameters."""


@dataclass(frozen=True)
class Throughputs:
    """Log throughputs of one configuration by run, and the database numbers of their results."""

    logs: Mapping[RunKind, float]
    result_ids: Numbers
    on_gpus: bool
    _kept: Cache = field(default_factory=partial(Cache, 16), repr=False, compare=False)
    """What :meth:`throughputs` has answered: each configuration is compared with all others."""

    @cached_property
    def identities(self) -> frozenset[Identity]:
        """The applications that were measured."""
        return frozenset(run.identity for run in self.logs)

    def throughputs(self, batch: float | None, *, all_sizes: bool) -> dict[Identity, Sizes]:
        """Log throughputs by application and log2 of the batch size: at all sizes, or at the one nearest to ``batch``."""
        of_any = bool(batch) and all_sizes and self._all_sized
        return self._kept.get((of_any or batch, all_sizes), lambda: self._throughputs(batch, all_sizes=all_sizes))

    @cached_property
    def _all_sized(self) -> bool:
        """Whether all runs tell their batch size, so that throughputs at all sizes are the same for any size that is asked for."""
        return all("batch" in run.features for run in self.logs)

    def _throughputs(self, batch: float | None, *, all_sizes: bool) -> dict[Identity, Sizes]:
        known = _by_batch(self, batch)
        return known if all_sizes else {identity: dict((nearest(sizes, doublings(batch)),)) for identity, sizes in known.items()}


@dataclass(frozen=True)
class MeasuredRuns:
    """Results by their configuration and run. What was measured is worked out once, for all that is asked about."""

    runs: Mapping[Configuration, Mapping[RunKind, Sequence[Cell]]]
    learned: Cache = field(default_factory=partial(Cache, MOST_LEARNED), repr=False, compare=False)
    """What :mod:`modak.perfmodel.unmeasured.unseen` learns from them: transfers and models of parameters, which tell of any application."""

    @cached_property
    def examples(self) -> Mapping[Configuration, Cell]:
        """Some results of each configuration, which have its labels."""
        return {name: next(iter(runs.values()))[0] for name, runs in self.runs.items()}

    @cached_property
    def measured(self) -> Mapping[Configuration, Throughputs]:
        """What was measured in each configuration."""
        return {name: _measured(runs) for name, runs in self.runs.items()}

    @cached_property
    def columns(self) -> Mapping[Configuration, Sequence[str]]:
        """The parameters that most of the runs of each configuration have."""
        return {configuration: common_columns(runs) for configuration, runs in self.runs.items()}

    @property
    def metrics(self) -> frozenset[str]:
        """Those of the results."""
        return frozenset(dict(configuration)["metric"] for configuration in self.runs)

    @cached_property
    def configurations(self) -> Mapping[Identity, Sequence[Configuration]]:
        """Those in which each application was measured."""
        found: dict[Identity, list[Configuration]] = defaultdict(list)
        for name, one in self.measured.items():
            for identity in one.identities:
                found[identity].append(name)
        return found

    @cached_property
    def sizes_vary(self) -> bool:
        """Whether an application was measured in a configuration with several batch sizes."""
        return any(len({run.identity for run in runs}) < len(runs) for runs in self.runs.values())

    @cached_property
    def described(self) -> Described:
        """Each application by its run with the most parameters."""
        every = sorted({run for runs in self.runs.values() for run in runs}, key=lambda run: (len(run.numbers), run.numbers))
        return {run.identity: run for run in every}


def run_of(series: SeriesKey | Mapping[str, Any], layout: Layout) -> RunKind:
    """The run of a series at a layout."""
    labels = series.model_dump() if isinstance(series, SeriesKey) else dict(series)
    numbers, words = _divided(labels.pop("params", None) or {})
    if layout.batch_size:
        numbers["batch"] = float(layout.batch_size)
    application = str(labels.pop("application"))
    labels |= {PARAMETER + name: text for name, text in words.items()}
    shape = {"ranks_per_node": layout.ranks_per_node, "gpus_per_node": layout.gpus_per_node, "nodes": layout.nodes}
    known = {**labels, **{name: value for name, value in shape.items() if value not in (None, 1)}}
    features = tuple(sorted(numbers.items()))
    spelt = ((name, SPELLINGS[name](value) if name in SPELLINGS else value) for name, value in known.items() if value is not None)
    return RunKind(application, features, tuple(sorted((name, str(value)) for name, value in spelt)))


def numbers_of(params: Mapping[str, Any]) -> dict[str, float]:
    """The positive numbers among parameters, by their names in the models."""
    return _divided(params)[0]


def words_of(params: Mapping[str, Any]) -> dict[str, str]:
    """The parameters that belong to the configuration: all except positive numbers."""
    return _divided(params)[1]


def by_configuration(cells: Iterable[Cell]) -> MeasuredRuns:
    """Results by their configuration and run."""
    found: dict[Configuration, dict[RunKind, list[Cell]]] = defaultdict(lambda: defaultdict(list))
    same: dict[Configuration, Configuration] = {}  # one object for all of its runs: thousands are kept
    for cell in cells:
        run = run_of(cell.series, cell.layout)
        run = replace(run, configuration=same.setdefault(run.configuration, run.configuration))
        found[run.configuration][run].append(cell)
    return MeasuredRuns(found)


def common_columns(runs: Iterable[RunKind]) -> list[str]:
    """Names of the parameters that most of the runs have."""
    listed = list(runs)
    counts = Counter(name for run in listed for name in run.features)
    return sorted(name for name, count in counts.items() if 2 * count > len(listed))


def costs(cells: Iterable[Cell]) -> Iterator[float]:
    """The cost of each result: seconds, or seconds per unit for a throughput."""
    for cell in cells:
        yield from map(metric_of(cell.series).cost, cell.values)


def _measured(runs: Mapping[RunKind, Sequence[Cell]]) -> Throughputs:
    logs = {run: -median(map(math.log, costs(cells))) for run, cells in runs.items()}
    every = [*chain.from_iterable(runs.values())]
    on_gpus = any(cell.layout.gpus_per_node for cell in every)
    return Throughputs(logs, shortened(chain.from_iterable(cell.ids for cell in every)), on_gpus)


def doublings(batch: float | None) -> float:
    """Log2 of a batch size; 0 if it is unknown."""
    return float(np.log2(batch)) if batch else 0.0


def _by_batch(one: Throughputs, batch: float | None) -> dict[Identity, Sizes]:
    """Log throughputs by application and log2 of the batch size, of several runs that of the fastest.

    Where no batch size is known of an application, nor ``batch``, its runs count as being of ``batch``.
    """
    named: dict[Identity, dict[float, float]] = defaultdict(dict)
    unnamed: dict[Identity, float] = {}
    for run, log in sorted(one.logs.items(), key=itemgetter(1)):
        if batch and "batch" in run.features:
            named[run.identity][doublings(run.features["batch"])] = log
        else:
            unnamed[run.identity] = log
    alone = {identity: {doublings(batch): log} for identity, log in unnamed.items()}
    return {**alone, **{identity: dict(sorted(known.items())) for identity, known in named.items()}}


def _divided(params: Mapping[str, Any]) -> tuple[dict[str, float], dict[str, str]]:
    """Positive numbers by their names in the models, and the other parameters in one spelling, which belong to the configuration."""
    numbers: dict[str, float] = {}
    words: dict[str, str] = {}
    for name, text in params.items():
        value = positive_number(str(text))
        if value is None:
            words[name] = canonical_setting(name, str(text))
        else:
            numbers[_FEATURE.get(name.lower(), name)] = value
    return numbers, words
