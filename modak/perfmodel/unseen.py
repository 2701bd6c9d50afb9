"""Runs without any result: an application in a configuration in which it was never run.

A *configuration* is everything in a series except the application and its numeric parameters: system, framework, compiler, precision
and so on. If many applications were measured in it, throughput is predicted from parameters. If few were, these are calibration runs for
a transfer from other configurations (:mod:`modak.perfmodel.parameters`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any

import numpy as np

from modak.facts import Layout, Result, SeriesKey
from modak.perfmodel import parameters
from modak.perfmodel.curves import cost
from modak.perfmodel.forms import Array
from modak.perfmodel.merging import SPELLINGS
from modak.perfmodel.parameters import Estimate
from modak.perfmodel.predict import NOISE
from modak.perfmodel.startup import number
from modak.text.numbering import Numbers, shortened, spelt_out

FEATURES: Mapping[str, tuple[str, ...]] = {
    "operations": ("operations", "gmacs", "macs", "gflops", "flops"),
    "activations": ("activations", "macts"),
    "parameters": ("parameters", "mparams", "param_count"),
    "image": ("image", "img", "img_size", "image_size"),
}
"""Names of numeric parameters in the models, and their spellings after ``params.``; other positive parameters keep their names."""
_FEATURE = {spelling: name for name, spellings in FEATURES.items() for spelling in spellings}
MANY = 40
"""A configuration with at least this many measured applications has a model of its own."""
FEW = 5
"""At least this many calibration runs are needed for a transfer."""
SHARED = 5
"""A configuration is used for a transfer if it has at least this many of the calibration runs."""

Configuration = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Run:
    """One kind of run: its application, numeric parameters and configuration."""

    application: str
    numbers: tuple[tuple[str, float], ...]
    configuration: Configuration

    @cached_property
    def features(self) -> Mapping[str, float]:
        """The numbers by name."""
        return dict(self.numbers)

    @property
    def identity(self) -> tuple[str, float | None]:
        """Identifies an application across configurations: name and image size. Batch sizes differ from device to device."""
        return self.application, self.features.get("image")


Known = Mapping[Configuration, Mapping[Run, Sequence[Result]]]
"""Results by their configuration and run."""


@dataclass(frozen=True)
class Guess:
    """An estimate for one run: log of cost (seconds, or seconds per unit of a rate), its half-width at 90 %, and its model.

    The half-width is never smaller than that of a measured result.
    """

    log_cost: float
    half_width: float
    model: str
    results_used: int
    result_ids: Numbers = ()
    """Database numbers of the results behind it, here and elsewhere."""


@dataclass(frozen=True)
class Measured:
    """Log throughputs of one configuration by run, and the database numbers of their results."""

    logs: Mapping[Run, float]
    result_ids: Numbers


def run_of(series: SeriesKey | Mapping[str, Any], layout: Layout) -> Run:
    """The run of a series at a layout."""
    labels = series.model_dump() if isinstance(series, SeriesKey) else dict(series)
    numbers, words = _divided(labels.pop("params", None) or {})
    if layout.batch_size:
        numbers["batch"] = float(layout.batch_size)
    application = str(labels.pop("application"))
    labels |= {f"params.{name}": text for name, text in words.items()}
    shape = {"ranks_per_node": layout.ranks_per_node, "gpus_per_node": layout.gpus_per_node, "nodes": layout.nodes}
    known = {**labels, **{name: value for name, value in shape.items() if value not in (None, 1)}}
    features = tuple(sorted(numbers.items()))
    told = ((name, SPELLINGS[name](value) if name in SPELLINGS else value) for name, value in known.items() if value is not None)
    return Run(application, features, tuple(sorted((name, str(value)) for name, value in told)))


def numbers_of(params: Mapping[str, Any]) -> dict[str, float]:
    """The positive numbers among parameters, by their names in the models."""
    return _divided(params)[0]


def need_others(results: Sequence[Result]) -> bool:
    """Whether a configuration of these results has too few applications for a model of its own, so that other systems are needed."""
    return any(len({run.application for run in runs}) < MANY for runs in by_configuration(results).values())


def words_of(params: Mapping[str, Any]) -> dict[str, str]:
    """The parameters that belong to the configuration: all except positive numbers."""
    return _divided(params)[1]


def guesses(asked: Sequence[Run], results: Sequence[Result]) -> tuple[Guess | None, ...]:
    """An estimate or ``None`` for each run, from all results of the metric; suspect results are left out."""
    return guesses_from(asked, by_configuration(results))


def by_configuration(results: Iterable[Result]) -> Known:
    """Results by their configuration and run; suspect ones are left out."""
    found: dict[Configuration, dict[Run, list[Result]]] = defaultdict(lambda: defaultdict(list))
    for result in results:
        if result.suspect is None:
            run = run_of(result.series, result.layout)
            found[run.configuration][run].append(result)
    return found


def guesses_from(asked: Sequence[Run], known: Known) -> tuple[Guess | None, ...]:
    """As :func:`guesses`, from results that are grouped by :func:`by_configuration`."""
    measured = {name: _measured(runs) for name, runs in known.items()}
    places_of: dict[Configuration, list[int]] = defaultdict(list)
    for place, run in enumerate(asked):
        places_of[run.configuration].append(place)
    found: dict[int, Guess | None] = {}
    for configuration, places in sorted(places_of.items()):
        found.update(zip(places, _of_configuration([asked[place] for place in places], configuration, measured), strict=False))
    return tuple(found.get(place) for place in range(len(asked)))


def _measured(runs: Mapping[Run, Sequence[Result]]) -> Measured:
    logs = {run: -float(np.median(np.log([cost(result) for result in found]))) for run, found in runs.items()}
    return Measured(logs, shortened(result.id for found in runs.values() for result in found if result.id is not None))


def _of_configuration(
    asked: Sequence[Run], configuration: Configuration, measured: Mapping[Configuration, Measured]
) -> tuple[Guess | None, ...]:
    if configuration not in measured:
        return ()
    here = measured[configuration].logs
    columns = _shared_columns([*asked, *here])
    if len({run.application for run in here}) >= MANY and columns:
        model = parameters.fit(_table(list(here), columns), np.array(list(here.values())))
        told = parameters.predict(model, _table(asked, columns))
        return _told(told, f"{len(columns)} parameters of {len(here)} runs", len(here), [measured[configuration]])
    return _transferred(asked, configuration, measured) if len(here) >= FEW else ()


def _transferred(
    asked: Sequence[Run], configuration: Configuration, measured: Mapping[Configuration, Measured]
) -> tuple[Guess | None, ...]:
    """Estimates from calibration runs here, and from results of the same applications in other configurations.

    How the configurations differ follows from all applications there, not only from those that are asked about.
    """
    here = _by_identity(measured[configuration])
    others = [other for name, other in sorted(measured.items(), key=itemgetter(0)) if name != configuration]
    heard_of = [other for other in others if len(here.keys() & _by_identity(other)) >= SHARED]
    elsewhere = [_by_identity(other) for other in heard_of]
    heard = dict.fromkeys(identity for known in elsewhere for identity in known)
    calibration = [identity for identity in here if identity in heard]
    wanted = [run.identity for run in asked if run.identity in heard]
    described = {run.identity: run for one in measured.values() for run in one.logs}
    columns = [name for name in _shared_columns([described[identity] for identity in (*calibration, *wanted)]) if name != "batch"]
    if not wanted or not columns:
        return ()
    comparable = (identity for identity in heard if described[identity].features.keys() >= set(columns))
    identities = list(dict.fromkeys((*calibration, *comparable)))
    matrix = np.array([[known.get(identity, np.nan) for known in elsewhere] for identity in identities])
    logs = np.array([here[identity] for identity in calibration])
    table = _table([described[identity] for identity in identities], columns)
    estimate = parameters.transfer(matrix, table, np.arange(len(calibration)), logs)
    place = {identity: k for k, identity in enumerate(identities)}
    chosen = [place[identity] for identity in wanted]
    answer = Estimate(estimate.log_throughput[chosen], estimate.half_width[chosen])
    model = f"{len(calibration)} calibration runs and {len(elsewhere)} other configurations"
    told = dict(zip(wanted, _told(answer, model, len(calibration), [measured[configuration], *heard_of]), strict=True))
    return tuple(told.get(run.identity) for run in asked)


def _by_identity(one: Measured) -> dict[tuple[str, float | None], float]:
    return {run.identity: log for run, log in one.logs.items()}


def _told(estimate: Estimate, model: str, results_used: int, behind: Iterable[Measured]) -> tuple[Guess, ...]:
    numbers = shortened(number for one in behind for number in spelt_out(one.result_ids))
    pairs = zip(estimate.log_throughput, estimate.half_width, strict=True)
    return tuple(Guess(-float(log), max(float(width), NOISE), model, results_used, numbers) for log, width in pairs)


def _shared_columns(runs: Sequence[Run]) -> list[str]:
    """Names of the parameters that all runs have; empty if only batch and image size, which do not distinguish applications."""
    shared = set.intersection(*(set(run.features) for run in runs)) if runs else set()
    return sorted(shared) if shared - {"batch", "image"} else []


def _table(runs: Sequence[Run], columns: Sequence[str]) -> dict[str, Array]:
    return {name: np.array([run.features[name] for run in runs]) for name in columns}


def _divided(params: Mapping[str, Any]) -> tuple[dict[str, float], dict[str, str]]:
    """Positive numbers by their names in the models, and the other parameters, which belong to the configuration."""
    numbers: dict[str, float] = {}
    words: dict[str, str] = {}
    for name, text in params.items():
        value = number(str(text))
        if value is None:
            words[name] = str(text)
        else:
            numbers[_FEATURE.get(name.lower(), name)] = value
    return numbers, words
