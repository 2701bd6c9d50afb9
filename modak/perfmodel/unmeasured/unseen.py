"""Runs without any result: an application in a configuration in which it was never run.

The applications that were measured in a configuration are calibration runs for a transfer from other configurations. An application that
these do not know is predicted from its parameters, if many others were measured or transferred
(:mod:`modak.perfmodel.unmeasured.parameters`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain
from typing import Final, NamedTuple

import numpy as np

from modak.arrays import Array
from modak.grouping import grouped
from modak.perfmodel.forecasting.repeats import RERUN_SPREAD
from modak.perfmodel.intervals import Z90
from modak.perfmodel.matching.dissimilarity import BATCH_SPREAD
from modak.perfmodel.unmeasured import parameters
from modak.perfmodel.unmeasured.batches import Batches, Sizes, nearest
from modak.perfmodel.unmeasured.configurations import (
    Configuration,
    Described,
    Identity,
    MeasuredRuns,
    RunKind,
    Throughputs,
    common_columns,
    doublings,
)
from modak.perfmodel.unmeasured.parameters import Estimate
from modak.text.amounts import counted
from modak.text.numbering import Numbers, merged

MANY: Final = 40
"""At least this many applications are needed for a model of their parameters."""
ENOUGH: Final = 400
"""What other configurations know is of no use to the model of one with at least this many measured applications."""
FEW: Final = 5
"""At least this many calibration runs are needed for a transfer."""
SHARED: Final = 5
"""A configuration is used for a transfer if it has at least this many of the calibration runs."""
MOST_RUNS: Final = 200
"""At most this many calibration runs are used, evenly spread over their throughputs: the time of a transfer grows with their square."""


@dataclass(frozen=True)
class RunEstimate:
    """An estimate for one run: log of cost (seconds, or seconds per unit of a rate), its half-width at 90 %, and its model.

    The half-width is never smaller than that of a measured result.
    """

    log_cost: float
    half_width: float
    model: str
    results_used: int
    result_ids: Numbers = ()
    """Database numbers of the results behind it, here and elsewhere."""


def transferable_metrics(known: MeasuredRuns, params: Collection[str]) -> frozenset[str]:
    """Metrics in which an application without results is told from such parameters (their names in the models), if for any configuration
    results of other systems tell more of it than those of the configuration alone."""
    told = {configuration: runs for configuration, runs in known.runs.items() if _tell_apart(params, known.columns[configuration])}
    if all(len({run.application for run in runs}) >= ENOUGH for runs in told.values()):
        return frozenset()
    return MeasuredRuns(told).metrics


def estimate_runs(asked: Sequence[RunKind], known: MeasuredRuns) -> tuple[RunEstimate | None, ...]:
    """An estimate or ``None`` for each run, from what is known in the runs' metrics."""
    found: dict[int, RunEstimate | None] = {}
    kinds = [(run.configuration, *run.features) for run in asked]
    for places in grouped(range(len(asked)), kinds.__getitem__).values():
        found.update(zip(places, _of_configuration([asked[place] for place in places], known), strict=True))
    return tuple(found[place] for place in range(len(asked)))


class CalibrationRuns(NamedTuple):
    """Which runs to measure first in a configuration, so that a transfer tells the others best."""

    places: tuple[int, ...]
    """Of these runs, in the order in which to measure them; each application once."""
    comparable: int
    """How many of these runs are of applications that other configurations know; of the rest only their parameters tell."""
    measured: int
    """Applications that were measured there and elsewhere."""
    others: int
    """How many more of these runs their parameters tell after :data:`FEW` such runs there; without ``places`` none of these is one."""


def calibrations(asked: Sequence[RunKind], known: MeasuredRuns, most: int, enough: float = math.inf) -> tuple[CalibrationRuns, ...]:
    """For each configuration of the asked runs the ``most`` runs to measure there; none where as many as ``enough`` were measured."""
    found = []
    every = cache(lambda: _compared(None, known, known.described.keys()))
    for places in grouped(range(len(asked)), [run.configuration for run in asked].__getitem__).values():
        here = _calibration([asked[place] for place in places], known, every, most, enough)
        found.append(here._replace(places=tuple(places[number] for number in here.places)))
    return tuple(found)


def _calibration(asked: Sequence[RunKind], known: MeasuredRuns, every: Callable[[], Compared], most: int, enough: float) -> CalibrationRuns:
    """Of runs in one configuration. ``every``: what all configurations tell of another one; of many unknown ones it is asked once."""
    configuration, wanted = asked[0].configuration, {run.identity: place for place, run in enumerate(asked)}
    here = dict.fromkeys(run.identity for run in known.runs.get(configuration, ()))
    compared = _compared(configuration, known, here.keys() | wanted.keys())
    if not _distinguish(compared.columns):
        return CalibrationRuns((), 0, 0, _told_by_parameters(asked, every(), known.described) if len(here) < MANY else 0)
    comparable, others = sum(run.identity in compared.applications for run in asked), _told_by_parameters(asked, compared, known.described)
    rows = [one for one in {**here, **wanted} if one in compared.applications]
    there = sum(one in here for one in rows)
    if there >= enough:
        return CalibrationRuns((), comparable, there, 0)
    batch = next((run.features["batch"] for run in asked if "batch" in run.features), None)
    elsewhere = Batches([other.throughputs(batch, all_sizes=False) for other in compared.configurations])
    order = parameters.most_telling(
        np.array([elsewhere.at(one, doublings(batch)) for one in rows]),
        _table([known.described[identity] for identity in rows], compared.columns),
        np.array([one in here for one in rows]),
        most,
    )
    return CalibrationRuns(tuple(wanted[rows[number]] for number in order), comparable, there, others)


def _told_by_parameters(asked: Sequence[RunKind], compared: Compared, described: Described) -> int:
    """How many runs, of applications that nobody measured, others tell by their parameters once there are calibration runs."""
    if not _distinguish(compared.columns) or len(compared.applications) < MANY:
        return 0
    return sum(run.identity not in described and run.gives(compared.columns) for run in asked)


def _of_configuration(asked: Sequence[RunKind], known: MeasuredRuns) -> Sequence[RunEstimate | None]:
    """Estimates of runs in one configuration that have parameters of the same names: by a transfer, or else from their parameters."""
    configuration = asked[0].configuration
    here = known.measured.get(configuration)
    if here is None or len(here.logs) < FEW:
        return [None] * len(asked)
    answers: dict[RunKind, RunEstimate] = {}
    enough = len({run.application for run in here.logs}) >= ENOUGH
    from_others = not enough and _tell_apart(asked[0].features, known.columns[configuration])
    comparable = [run for run in asked if from_others or run.identity in known.described]
    by_batch = grouped(comparable, lambda run: run.features.get("batch") if known.sizes_vary else None)
    for batch, of_batch in by_batch.items():
        if transfer := known.learned.get((configuration, batch), partial(_transfer, configuration, batch, known)):
            answers.update(_transferred(of_batch, here, transfer))
            if not enough:
                answers.update(_from_parameters([run for run in of_batch if run not in answers], known, transfer))
    answers.update(_from_parameters([run for run in asked if run not in answers], known))
    return [answers.get(run) for run in asked]


class Transfer(NamedTuple):
    """What calibration runs in a configuration tell of the applications that others know."""

    logs: Mapping[Identity, float]
    """Their log throughputs here, at one batch size."""
    beside: Mapping[RunKind, float]
    """The same of those that were not measured here, each by its run with that batch size."""
    half_width: float
    """Of the 90 % interval of each."""
    calibration_runs: int
    elsewhere: Batches
    batch: float | None
    others: str
    """The other configurations, in words."""
    result_ids: Numbers
    """The results behind it, here and there."""


def _transfer(configuration: Configuration, batch: float | None, known: MeasuredRuns) -> Transfer | None:
    """From results of the same applications in other configurations, for runs with this batch size; ``None`` if nothing is comparable.

    Calibration runs are held against throughputs elsewhere at their own batch size, and estimates are made from those at ``batch``.
    """
    here, size, described = known.measured[configuration], doublings(batch), known.described
    compared = _compared(configuration, known, here.identities)
    elsewhere = Batches([_comparable_throughputs(other, here, batch) for other in compared.configurations])
    known_there = [one for one in dict.fromkeys(chain.from_iterable(elsewhere.systems)) if one in compared.applications]
    if not known_there or not _distinguish(compared.columns):
        return None
    calibration = _calibration_runs(here, batch, known_there)
    # A row of the table is an application at a batch size: first those of the calibration runs, then those in question.
    rows = dict.fromkeys((*((run.identity, run.size) for run in calibration), *((identity, size) for identity in known_there)))
    estimate = parameters.transfer(
        np.array([elsewhere.at(*row) for row in rows]),
        _table([described[identity] for identity, _ in rows], compared.columns),
        np.arange(len(calibration)),
        np.array([run.log for run in calibration]),
    )
    logs = {one: float(log) for (one, of_size), log in zip(rows, estimate.log_throughput, strict=True) if of_size == size}
    unrun = ((described[one], log) for one, log in logs.items() if one not in here.identities)
    beside = {replace(run, numbers=_with_batch(run, batch), configuration=configuration): log for run, log in unrun}
    others = counted(len(compared.configurations), "other configuration")
    result_ids = merged(one.result_ids for one in (here, *compared.configurations))
    return Transfer(logs, beside, float(estimate.half_width[0]), len(calibration), elsewhere, batch, others, result_ids)


def _with_batch(run: RunKind, batch: float | None) -> tuple[tuple[str, float], ...]:
    """The numbers of a run, at that batch size: what it had elsewhere fitted the memory there."""
    numbers = {name: value for name, value in run.numbers if name != "batch"} | ({"batch": batch} if batch else {})
    return tuple(sorted(numbers.items()))


def _transferred(asked: Sequence[RunKind], here: Throughputs, transfer: Transfer) -> Mapping[RunKind, RunEstimate]:
    """Estimates of the applications that other configurations know."""
    known = [run for run in asked if run.identity in transfer.logs]
    answer = Estimate(np.array([transfer.logs[run.identity] for run in known]), _half_widths(known, here, transfer))
    model = f"{transfer.calibration_runs} calibration runs and {transfer.others}"
    return dict(zip(known, _as_estimates(answer, model, transfer.calibration_runs, transfer.result_ids), strict=True))


def _from_parameters(asked: Sequence[RunKind], known: MeasuredRuns, transfer: Transfer | None = None) -> Mapping[RunKind, RunEstimate]:
    """Estimates from the parameters of applications that were measured in the configuration, and of those that a transfer tells there."""
    if not asked:
        return {}
    configuration = asked[0].configuration
    names = frozenset(known.columns[configuration]).intersection(asked[0].features)
    key = (configuration, names, *([transfer.batch] if transfer else []))
    fitted = known.learned.get(key, lambda: _fitted(configuration, names, known, transfer))
    if fitted is None:
        return {}
    answer = parameters.predict(fitted.model, _table(asked, fitted.model.columns))
    if transfer:
        answer = Estimate(answer.log_throughput, np.hypot(answer.half_width, _half_widths(asked, known.measured[configuration], transfer)))
    return dict(zip(asked, _as_estimates(answer, fitted.in_words, fitted.measured, fitted.result_ids), strict=True))


class Fitted(NamedTuple):
    """A model of parameters, the number of runs in the configuration behind it, and the numbers of all results behind it."""

    model: parameters.ParameterModel
    in_words: str
    measured: int
    result_ids: Numbers


def _fitted(configuration: Configuration, names: Collection[str], known: MeasuredRuns, transfer: Transfer | None) -> Fitted | None:
    """Of runs in a configuration that give the parameters of these names.

    With a transfer that tells of none, there is no model: measured applications alone need no transfer.
    """
    here = known.measured[configuration]
    told = transfer.beside if transfer else {}
    unsized = {"batch"} if told and not any("batch" in run.features for run in told) else set()
    columns = [name for name in known.columns[configuration] if name in names and name not in unsized]
    fitted = {run: log for run, log in {**here.logs, **told}.items() if run.gives(columns)}
    if not _distinguish(columns) or len({run.application for run in fitted}) < MANY:
        return None
    measured = sum(run in here.logs for run in fitted)
    in_words, further = f"{len(columns)} parameters of {measured} runs", len(fitted) - measured
    if transfer and not further:
        return None
    model = parameters.fit(_table(list(fitted), columns), np.array(list(fitted.values())))
    if transfer is None:
        return Fitted(model, in_words, measured, here.result_ids)
    return Fitted(model, f"{in_words} and of {further} predicted by {transfer.others}", measured, transfer.result_ids)


def _half_widths(asked: Sequence[RunKind], here: Throughputs, transfer: Transfer) -> Array:
    """Half-widths of the 90 % interval of what a transfer tells, which are wider at other batch sizes."""
    return np.hypot(transfer.half_width, [Z90 * _batch_doubt(run, here, transfer.elsewhere) for run in asked])


class Shared(NamedTuple):
    """An application that was measured here and elsewhere."""

    identity: Identity
    size: float
    """Log2 of its batch size here."""
    log: float
    """Of its throughput here."""


def _calibration_runs(here: Throughputs, batch: float | None, known_there: Iterable[Identity]) -> list[Shared]:
    """Those of the applications ``known_there``, at the batch size nearest to ``batch``, the slowest first."""
    sizes = here.throughputs(batch, all_sizes=True)
    runs = [Shared(one, *nearest(sizes[one], doublings(batch))) for one in known_there if one in sizes]
    slowest_first = sorted(runs, key=lambda run: run.log)
    return [slowest_first[number] for number in parameters.thinned(len(slowest_first), MOST_RUNS)]


class Compared(NamedTuple):
    """What tells of a configuration."""

    configurations: list[Throughputs]
    """Others that share enough applications with it."""
    columns: list[str]
    """The parameters that most applications there have."""
    applications: AbstractSet[Identity]
    """Those that have all of these parameters, which alone can be compared."""


def _compared(configuration: Configuration | None, known: MeasuredRuns, here: AbstractSet[Identity]) -> Compared:
    """``here``: applications that are measured in the configuration, or are to be."""
    described = known.described
    shared = Counter(chain.from_iterable(known.configurations.get(identity, ()) for identity in here))
    names = sorted(name for name, count in shared.items() if count >= SHARED and name != configuration)
    sharing = [known.measured[name] for name in names]
    applications = dict.fromkeys(run.identity for other in sharing for run in other.logs)
    columns = [name for name in common_columns(described[identity] for identity in applications) if name != "batch"]
    comparable = {identity for identity in applications if described[identity].gives(columns)}
    return Compared([other for other in sharing if len(other.identities & here & comparable) >= SHARED], columns, comparable)


def _comparable_throughputs(other: Throughputs, here: Throughputs, batch: float | None) -> dict[Identity, Sizes]:
    """What a configuration tells of another one: throughputs at all batch sizes if both are on GPUs, else at the one nearest to ``batch``.

    What the batch size matters to a processor depends on its number of cores, and cannot be told from another one (decision 92).
    """
    return other.throughputs(batch, all_sizes=other.on_gpus and here.on_gpus)


def _batch_doubt(run: RunKind, here: Throughputs, elsewhere: Batches) -> float:
    """Standard deviation due to the batch size: how much other systems disagree about its effect between the nearest size measured here and
    that of the run, where :data:`BATCH_SPREAD` counts as one of them; 0 if either size is unknown."""
    asked, sizes = run.features.get("batch"), [other.features["batch"] for other in here.logs if "batch" in other.features]
    if not asked or not sizes:
        return 0.0
    end = doublings(asked)
    start = min(map(doublings, sizes), key=lambda size: abs(size - end))
    usual, effects = BATCH_SPREAD * abs(end - start), elsewhere.effects(run.identity, start, end)
    return math.sqrt(usual**2 / len(effects) + float(effects.var())) if len(effects) else usual


def _as_estimates(estimate: Estimate, model: str, results_used: int, numbers: Numbers) -> tuple[RunEstimate, ...]:
    pairs = zip(estimate.log_throughput, estimate.half_width, strict=True)
    return tuple(RunEstimate(-float(log), max(float(width), RERUN_SPREAD), model, results_used, numbers) for log, width in pairs)


def _distinguish(columns: Iterable[str]) -> bool:
    """Whether these parameters distinguish applications: sizes of batch and image do not."""
    return not {"batch", "image"}.issuperset(columns)


def _tell_apart(params: Collection[str], columns: Iterable[str]) -> bool:
    """Whether those of the parameters that are among the columns distinguish applications."""
    return _distinguish(name for name in columns if name in params)


def _table(runs: Sequence[RunKind], columns: Sequence[str]) -> dict[str, Array]:
    return {name: np.array([run.features[name] for run in runs]) for name in columns}
