"""The predicted time of the request's workload on every candidate, with interval and basis.

:func:`predict_candidates` predicts the time of one unit of work, which is the same for all requests that are :mod:`reduced to the same
<modak.choosing.reducedrequest>`. :func:`score` scales it to the workload of the request.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter
from typing import Any, Final, NamedTuple

import numpy as np

from modak.arrays import Array, Flags, Ints
from modak.choosing import switching
from modak.choosing.candidates import Candidates
from modak.choosing.nodes import node_power
from modak.choosing.nodeshare import node_shares
from modak.choosing.objective import Scored
from modak.choosing.reducedrequest import without_counts
from modak.choosing.requirements import carrier, graph_compilers, library
from modak.choosing.shapes import Shape
from modak.choosing.spending import rates
from modak.choosing.timelimits import is_continued, longest_run, start_up_s
from modak.choosing.workload import Units, of_one_kind, only_one, requested_lengths, units, with_problem
from modak.dsl import Basis, Prediction, Request
from modak.facts import Facts, canonical_name, parameters
from modak.perfmodel import Curve, Portion, Predictions, Predictor, Question, describe
from modak.perfmodel.fitting.startup import MOST_STARTING, StartUp, is_whole, maybe_part, start_up_correction
from modak.perfmodel.forecasting.censoring import CensoredRun
from modak.perfmodel.intervals import MOST, HalfWidths, TruncatedForecast
from modak.perfmodel.predictions import of_other_length, of_whole_time
from modak.prepared import prepared
from modak.target import Target

BLOCK: Final = 256
"""Number of sizes to predict together if a request gives its number of nodes: the next request will give another one."""


OF_CANDIDATES: Final = ("shape", "portion", "nodes", "value", "doublings", "basis")
"""The columns of :class:`CandidatePredictions` with a value for each candidate, beside the widths."""


class Reference(NamedTuple):
    """A size whose work efficiency may be relative to."""

    of: int
    """The portion whose efficiency may be."""
    shape: int
    """The place of its shape among those of the candidates."""
    portion: int
    """The one that has the size."""
    row: int
    """The place of the size there."""
    cost: float
    """Of a unit there; NaN if unknown."""
    nodes: int
    grows: bool
    """Whether the problem grows with the number of nodes."""
    basis: Basis

    @property
    def share(self) -> int:
        """The nodes that share one problem there; 1 in weak scaling."""
        return 1 if self.grows else self.nodes


@dataclass(frozen=True)
class CandidatePredictions:
    """Predictions of every candidate for one unit; columns of one length, sorted by nodes and then by the width of the interval."""

    candidates: Candidates
    predictions: tuple[Predictions, ...]
    """One for each portion: those of a shape's node counts, or of more, that rest on the same results; then those of other references."""
    shape: Ints
    portion: Ints
    nodes: Ints
    value: Array
    width: HalfWidths
    """As in :class:`modak.perfmodel.Predictions`."""
    doublings: Array
    basis: tuple[Basis, ...]
    references: tuple[Reference, ...]
    """What efficiency is relative to: the one with the least work."""
    given_start_up_s: float | None
    """The start-up time according to the system's file; ``None``: it gives none."""

    @cached_property
    def models(self) -> tuple[str | None, ...]:
        """For each portion, the model behind its predictions, in words."""
        return tuple(describe(each.curve) for each in self.predictions)

    @cached_property
    def start_ups(self) -> tuple[StartUp | None, ...]:
        """For each portion, the measured start-up time; ``None``: not measured."""
        return tuple(each.curve.start_up if each.curve else None for each in self.predictions)

    @cached_property
    def start_up_s(self) -> Array:
        """For each portion, its start-up time: measured, else according to the system's file; none where times of whole runs include it."""
        included = [
            each.curve is not None and is_whole(each.curve.series) and not maybe_part(each.curve.series) for each in self.predictions
        ]
        usual = np.where(included, 0.0, self.given_start_up_s or 0.0)
        return np.array([one.seconds if one else seconds for one, seconds in zip(self.start_ups, usual.tolist(), strict=True)])

    @cached_property
    def included(self) -> tuple[Array, Array] | None:
        """For each portion, the start-up that its times of whole runs include, and the doubt of it; 0 where nothing is known. ``None``: of
        all."""
        found = [each.curve.included if each.curve else None for each in self.predictions]
        if not any(found):
            return None
        return np.array([one.seconds if one else 0.0 for one in found]), np.array([one.doubt if one else 0.0 for one in found])

    @cached_property
    def own_start(self) -> Flags:
        """Which portions have a start-up that was measured in their own configuration."""
        return np.array([bool(one) and not each.differences for one, each in zip(self.start_ups, self.predictions, strict=True)])

    @cached_property
    def beside_s(self) -> Array:
        """For each candidate, what its job takes to start beside its predicted time, in seconds."""
        return np.array([start_up_s(self.given_start_up_s, one) for one in self.start_up_s.tolist()])[self.portion]

    @cached_property
    def shares(self) -> Array:
        """For each candidate, the nodes that share one problem; 1 in weak scaling."""
        return np.where(self.grows_each, 1.0, self.nodes)

    @cached_property
    def grows_each(self) -> Flags:
        """For each candidate, whether the problem grows with the number of nodes."""
        return np.asarray(self._grows[self.portion])

    @cached_property
    def most_efficient(self) -> Array:
        """For each candidate, the highest efficiency that may be told: superlinear scaling is believed only where it was measured."""
        seen = np.array([basis in ("measured", "interpolated") for basis in self.basis])
        return np.where(seen, np.inf, 1.0)

    @cached_property
    def whole(self) -> Flags | None:
        """Which portions are predicted from times of whole runs, which include an unknown start-up; ``None``: none of them."""
        curves = [each.curve for each in self.predictions]
        whole = [one is not None and not (one.start_up or one.included) and is_whole(one.series) for one in curves]
        return np.array(whole) if any(whole) else None

    @cached_property
    def grows(self) -> bool:
        """Whether the problem grows with the number of nodes, for all that is predicted."""
        portions = self.portion[np.isfinite(self.value)]
        return bool(portions.size and self._grows[portions].all())

    @cached_property
    def _grows(self) -> Flags:
        return np.array([each.curve is not None and each.curve.grows for each in self.predictions])


@dataclass(frozen=True)
class Evidence:
    """Scored candidates with the predictions behind them, and for each portion the units that turn these into the time of the workload."""

    scored: Scored
    columns: CandidatePredictions
    units: tuple[Units | None, ...]
    least: Reference | None
    """The size with the least work, which efficiencies are relative to; ``None``: nothing was measured."""
    inference: bool = False
    """Whether a run over all samples is a pass and no epoch."""

    @cached_property
    def known(self) -> bool:
        """Whether any candidate has a predicted time."""
        return any(self.units[one.portion] is not None and math.isfinite(one.cost) for one in self.columns.references)

    @cached_property
    def of_work(self) -> tuple[Array, Array]:
        """For each candidate, how the half-width of its time follows from that of its work: a factor, and what comes in quadrature."""
        columns, portion = self.columns, self.columns.portion
        share = np.where(columns.own_start[portion], 1 - columns.start_up_s[portion] / self.scored.time, 1.0)
        if columns.included is not None:
            scale = np.array([unit.count * unit.unit_scale if unit else math.nan for unit in self.units])[portion]
            of_value = columns.value * scale / (self.scored.time - columns.start_up_s[portion])
            share = np.where(columns.included[0][portion] > 0, share * of_value, share)
        beside = self.scored.width.middle**2 - (columns.width.middle * share) ** 2
        return share, np.sqrt(np.fmax(beside, 0.0))

    def predictions_at(self, index: int) -> Predictions:
        """The predictions for one unit of work that one candidate is among."""
        return self.columns.predictions[int(self.columns.portion[index])]

    def units_at(self, index: int) -> Units | None:
        """The units that turn these into the time of the workload."""
        return self.units[int(self.columns.portion[index])]

    def per(self, index: int) -> str | None:
        """What the time of one candidate is counted by: ``epoch``, ``step``, ``run``, …; ``None``: no prediction."""
        unit = self.units_at(index)
        if unit is None or not np.isfinite(self.scored.time[index]):
            return None
        return _counted_by(unit, inference=self.inference)

    def cost_at(self, index: int) -> float:
        """The cost of one unit of work on one candidate, by its predicted time, with the start-up that is in times of whole runs; NaN: no
        prediction."""
        unit, start_up = self.units_at(index), self.start_up(index)
        included = start_up - float(self.columns.start_up_s[self.columns.portion[index]])
        return included + (float(self.scored.time[index]) - start_up) / (unit.count * unit.unit_scale) if unit else math.nan

    def upper(self, index: int) -> float | None:
        """Upper end of one candidate's interval in seconds; ``None``: no prediction."""
        time = float(self.scored.time[index])
        known = self.units_at(index) is not None and math.isfinite(time)
        return time * math.exp(float(self.scored.width.above[index])) if known else None

    def start_up(self, index: int) -> float:
        """The seconds of one candidate's time that are known to be start-up."""
        columns, portion = self.columns, int(self.columns.portion[index])
        added = float(columns.start_up_s[portion])
        if columns.included is None:
            return added
        return added + float(min(columns.included[0][portion], MOST_STARTING * columns.value[index]))

    def prediction(self, index: int) -> Prediction:
        """The prediction of one candidate, in the form of the answer."""
        scored, portion, unit, per = self.scored, int(self.columns.portion[index]), self.units_at(index), self.per(index)
        if unit is None or per is None:
            return Prediction()
        time, start_up, found = float(scored.time[index]), self.start_up(index), self.predictions_at(index)
        return Prediction(
            value=time,
            lower=time * math.exp(-float(scored.width.below[index])),
            upper=time * math.exp(float(scored.width.above[index])),
            start_up=start_up or None,
            per_unit=(time - start_up) / unit.count,
            per=per,
            basis=scored.basis[index],
            model=self.columns.models[portion],
            results_used=found.curve.results_used + found.other_results if found.curve else 0,
            extrapolation=round(float(scored.doublings[index]), 3),
            longer_than=None if scored.predicted is None else float(scored.predicted.than[index]) or None,
        )


def predict_candidates(
    request: Request, target: Target, candidates: Candidates, facts: Facts, asked: Hashable = None
) -> CandidatePredictions:
    """Predict every candidate of a request, for the problem of the candidates: one call of the model per shape, for all its node counts.

    ``asked``: a cache key, equal for requests that differ only in counts. With it, predictions at a given number of nodes are cached, with
    those for the sizes around it.
    """
    nodes = candidates.given.nodes
    if asked is None or not nodes or request.optimisation.workload.open_params:
        return _columns(request, target, candidates, facts)
    first = nodes - (nodes - 1) % BLOCK
    sizes = np.arange(first, first + BLOCK)
    around = replace(candidates, nodes=(sizes,) * len(candidates.shapes))
    block = prepared(facts).blocks.get((asked, candidates.shapes, first), lambda: _columns(request, target, around, facts))
    return _on_nodes(block, nodes, candidates)


def _on_nodes(block: CandidatePredictions, nodes: int, candidates: Candidates) -> CandidatePredictions:
    """The rows of one size, which has one for each shape, with the references of these alone."""
    shapes = len(candidates.shapes)
    start = (nodes - int(block.nodes[0])) * shapes
    rows = slice(start, start + shapes)
    columns = {name: getattr(block, name)[rows] for name in OF_CANDIDATES}
    here = set(block.portion[rows].tolist())
    references = tuple(one for one in block.references if one.of in here)
    return replace(block, candidates=candidates, width=block.width.at(rows), references=references, **columns)


def _columns(request: Request, target: Target, candidates: Candidates, facts: Facts) -> CandidatePredictions:
    request = without_counts(with_problem(request, candidates.problem))
    curves, power, tried = usable_curves(request, target, facts.models), node_power(facts), candidates.tried

    def predicted(shape: Shape, sizes: Ints, predictor: Predictor) -> Iterator[Portion]:
        """The effect of switches that were not measured there is predicted from other runs."""
        asked = question(request, target, switching.evidence_for(shape, tried))
        for places, found in predictor.portions(asked, sizes):
            yield Portion(places, switching.apply_effects(found, request, target, shape, sizes[places], tried))

    def alone(shape: Shape, size: int) -> Predictions:
        ((_, found),) = predicted(shape, np.array([size]), Predictor(curves, [size], power))
        return found

    pairs = candidates.pairs
    of_all = Predictor(curves, np.concatenate(candidates.nodes), power)
    found = [(place, portion) for place, (shape, sizes) in enumerate(pairs) for portion in predicted(shape, sizes, of_all)]
    predictions, references = _references(found, pairs, target.job_nodes or (1, math.inf), alone)
    counts = [len(portion.places) for _, portion in found]
    shape = np.repeat([place for place, _ in found], counts)
    nodes = np.concatenate([pairs[place][1][portion.places] for place, portion in found])
    width = HalfWidths.joined(portion.found.width for _, portion in found)
    order = np.lexsort((width.above, nodes))
    basis = [name for _, portion in found for name in portion.found.basis]
    return CandidatePredictions(
        candidates,
        predictions=predictions,
        shape=shape[order],
        portion=np.repeat(np.arange(len(found)), counts)[order],
        nodes=nodes[order],
        value=np.concatenate([portion.found.value for _, portion in found])[order],
        width=width.at(order),
        doublings=np.concatenate([portion.found.doublings for _, portion in found])[order],
        basis=tuple(basis[index] for index in order),
        references=references,
        given_start_up_s=target.system.start_up_s if target.system else None,
    )


def score(request: Request, target: Target, predicted: CandidatePredictions) -> Evidence:
    """The time of the request's workload on every candidate: start-up (measured, else from the system's file) plus units x cost."""
    per_portion = tuple([units(request, each.curve) if each.curve else None for each in predicted.predictions])
    scale = np.array([unit.count * unit.unit_scale if unit else math.nan for unit in per_portion])
    basis, stopped, told = predicted.basis, _least_s(request, predicted), None
    if stopped is None:
        time, width = _times(predicted, scale)
    else:
        told = _longer(predicted, scale, _of_whole_run(request, per_portion), stopped)
        time, width = told.interval()
        basis = tuple(["heuristic" if refuted else each for refuted, each in zip(told.refuted.tolist(), basis, strict=True)])
    times = _reference_times(request, predicted, scale, per_portion)
    parts = node_shares(request, target, predicted.candidates.shapes)
    least_work, least, efficiency = _least_work(predicted, time, times, parts)
    scored = Scored(
        shape=predicted.shape,
        nodes=predicted.nodes,
        time=time,
        width=width,
        doublings=predicted.doublings,
        efficiency=efficiency,
        basis=basis,
        rates=rates(target),
        taken=None if parts is None else predicted.nodes * _parts_of_candidates(predicted, parts),
        of_nodes=None if parts is None else _least_work(predicted, time, times)[2],
        most_nodes=predicted.candidates.most_nodes,
        grows=predicted.grows,
        least_work=least_work,
        longest=longest_run(request, target),
        start=predicted.beside_s,
        stopped=stopped,
        predicted=told,
    )
    return Evidence(scored, predicted, per_portion, least, request.optimisation.app_type == "ai_inference")


def _least_work(
    predicted: CandidatePredictions, time: Array, times: Sequence[float], parts: Array | None = None
) -> tuple[float, Reference | None, Array]:
    """The least work known, by the ``times`` of the references, where it is, and the efficiency of each candidate relative to it.
    ``parts``: of a node, as :func:`node_shares` has them; ``None``: whole nodes."""
    of_shape = np.ones((2, len(predicted.candidates.shapes))) if parts is None else parts
    work = (
        (each * (one.share if one.grows else one.share * float(of_shape[int(one.nodes > 1), one.shape])), one)
        for each, one in zip(times, predicted.references, strict=True)
        if not math.isnan(each)
    )
    least_work, least = min(work, key=itemgetter(0), default=(math.inf, None))
    shares = predicted.shares
    if parts is not None:
        shares = np.where(predicted.grows_each, 1.0, predicted.nodes * _parts_of_candidates(predicted, parts))
    return least_work, least, np.minimum(least_work / (time * shares), predicted.most_efficient)


def _parts_of_candidates(predicted: CandidatePredictions, parts: Array) -> Array:
    """The part of a node for each candidate, of those that :func:`node_shares` gives for each shape."""
    return np.asarray(parts[(predicted.nodes > 1).astype(int), predicted.shape])


def _reference_times(request: Request, predicted: CandidatePredictions, scale: Array, per_portion: Sequence[Units | None]) -> list[float]:
    """The whole time of each reference, in seconds; NaN: unknown."""
    if not predicted.references or (predicted.included is None and not predicted.candidates.stopped):  # a few numbers are no arrays
        starts, factors = predicted.start_up_s.tolist(), scale.tolist()
        return [starts[one.portion] + one.cost * factors[one.portion] for one in predicted.references]
    among = _references_as_columns(predicted)
    least = _least_s(request, among)
    found = _times(among, scale)[0] if least is None else _longer(among, scale, _of_whole_run(request, per_portion), least).bound(0.5)
    return list(map(float, found))


def _least_s(request: Request, predicted: CandidatePredictions) -> Array | None:
    """For each candidate, the seconds that it takes at least, because runs were stopped; 0: nothing is known. ``None``: of any."""
    if not predicted.candidates.stopped:
        return None
    least = np.zeros(predicted.nodes.shape)
    for place, one in telling(request, predicted.candidates.stopped):
        least = np.maximum(least, one.least_s(predicted.nodes, predicted.grows_each) * (predicted.shape == place))
    return least if least.any() else None


def telling(request: Request, stopped: Iterable[tuple[int, CensoredRun]]) -> list[tuple[int, CensoredRun]]:
    """The stopped runs that had as much to do as the request or less; none if other jobs continue what is stopped."""
    asked = requested_lengths(request.optimisation.workload)
    return [] if is_continued(request) else [(place, one) for place, one in stopped if one.is_no_longer(asked)]


def _of_whole_run(request: Request, per_portion: Iterable[Units | None]) -> Flags:
    """For each portion, whether its time is that of the whole run, and not of an epoch, or step, because the request gives no number."""
    work, inference = request.optimisation.workload, request.optimisation.app_type == "ai_inference"
    return np.array([one is not None and only_one(work, _counted_by(one, inference=inference)) is None for one in per_portion])


def _counted_by(unit: Units, *, inference: bool) -> str:
    """What times in these units are counted by."""
    return "pass" if inference and unit.per == "epoch" else unit.per


def _references_as_columns(predicted: CandidatePredictions) -> CandidatePredictions:
    """The references, of which there is one at least, in the place of the candidates."""
    those = [(one, slice(one.row, one.row + 1), predicted.predictions[one.portion]) for one in predicted.references]
    return replace(
        predicted,
        shape=np.array([one.shape for one, _, _ in those]),
        portion=np.array([one.portion for one, _, _ in those]),
        nodes=np.array([one.nodes for one, _, _ in those]),
        value=np.concatenate([found.value[row] for _, row, found in those]),
        width=HalfWidths.joined(found.width.at(row) for _, row, found in those),
        doublings=np.concatenate([found.doublings[row] for _, row, found in those]),
        basis=tuple([one.basis for one, _, _ in those]),
    )


def _times(predicted: CandidatePredictions, scale: Array) -> tuple[Array, HalfWidths]:
    """The whole times, with the half-widths of their intervals; ``scale``: for each portion, from one unit to the workload."""
    of_work, width = _of_work(predicted, scale)
    time = predicted.start_up_s[predicted.portion] + of_work
    return time, _of_length(predicted, scale, _with_start(predicted, time, width))


def _longer(predicted: CandidatePredictions, scale: Array, whole: Flags, least: Array) -> TruncatedForecast:
    """The same, each known to be longer than the ``least`` seconds, if the times of its portion are of ``whole`` runs."""
    time, width = _times(predicted, scale)
    return TruncatedForecast(time, width, np.where(np.isfinite(time) & whole[predicted.portion], least, 0.0))


def _of_work(predicted: CandidatePredictions, scale: Array) -> tuple[Array, HalfWidths]:
    """The times without a start-up that is added to them; one that they include is not scaled with the work."""
    each = scale[predicted.portion]
    if predicted.included is None:
        return predicted.value * each, predicted.width
    return of_other_length(predicted.width, predicted.value, each, *(known[predicted.portion] for known in predicted.included))


def _with_start(predicted: CandidatePredictions, time: Array, width: HalfWidths) -> HalfWidths:
    """Half-widths of the whole time: those of work and of a measured start-up, each by its share.

    A start-up that was not measured in this configuration tells no share: then those of the work apply to the whole time.
    """
    if not any(predicted.start_ups):
        return width
    doubt = np.array([one.doubt if one else 0.0 for one in predicted.start_ups])
    each = [of_portion[predicted.portion] for of_portion in (predicted.start_up_s, doubt, predicted.own_start)]
    return of_whole_time(width, time, *each)


def _of_length(predicted: CandidatePredictions, scale: Array, width: HalfWidths) -> HalfWidths:
    """Half-widths, wider if whole runs of another length were measured: the shorter a run, the larger its unknown start-up."""
    if predicted.whole is None:
        return width
    parts = start_up_correction(np.where(predicted.whole, scale, 1.0)[predicted.portion], predicted.value)
    wider = width.each(np.hypot, HalfWidths(below=np.fmin(parts, 0.0), above=np.fmax(parts, 0.0)))
    return wider.each(lambda side: np.minimum(side, MOST))


def question(request: Request, target: Target, shape: Shape) -> Question:
    """The question to the models about a shape; graph compilers that it does not have are off."""
    work, framework = request.optimisation.workload, carrier(request)
    image = request.application.container_runtime if framework is None and target.runtime else None
    attributes: dict[str, Any] = {
        "system": target.name,
        "partition": target.partition.name if target.partition else None,
        "dataset": work.dataset,
        "params": {**parameters(work.named), **dict(shape.params)} or None,
        "framework": shape.framework or (framework.framework if framework else None),
        "framework_version": shape.framework_version,
        "compiler": shape.compiler,
        "precision": shape.precision,
        "mpi": shape.mpi,
        "mpi_from": shape.mpi_from,
        "hyperthreads": shape.hyperthreads,
        "numa_mode": shape.numa_mode,
        "image": image,
        "runtime": _runtime(request, target, image),
    }
    known = {name: value for name, value in attributes.items() if value is not None}
    elsewhere = target.other_nodes(shape.gpus_per_node > 0)
    crowded = target.node is not None and target.node.needs_hyperthreads(shape.ranks_per_node * shape.threads_per_rank)
    return Question(
        known,
        shape.layout,
        without=graph_compilers(),
        elsewhere=elsewhere,
        lengths=requested_lengths(work),
        scales_epochs=work.samples is not None,
        crowded=crowded,
    )


def _runtime(request: Request, target: Target, image: str | None) -> str | None:
    """The runtime as results name it, ``none`` without a container; ``None``: it is open, because an image is still to be chosen."""
    if target.runtime is None or not (image or carrier(request) or library(request)):
        return "none"
    return target.runtime.name if image else None


def usable_curves(request: Request, target: Target, curves: Sequence[Curve]) -> tuple[Curve, ...]:
    """Curves that can be turned into the workload's time: those of one kind, measured on the target if any are.

    If neither results nor facts of the target are known, there is nothing to transfer to. Curves that are only estimated from parameters
    count on their own system only. For a target without a name only results that name no system count.
    """
    names = target.names
    eligible = [one for one in curves if canonical_name(one.series.system) in names or (one.estimated is None and target.name is not None)]
    found = of_one_kind(request, eligible, names)
    here = any(canonical_name(curve.series.system) in names for curve in found)
    return found if target.system is not None or here else ()


def _references(
    found: Sequence[tuple[int, Portion]],
    pairs: Sequence[tuple[Shape, Ints]],
    bounds: tuple[int, float],
    alone: Callable[[Shape, int], Predictions],
) -> tuple[tuple[Predictions, ...], tuple[Reference, ...]]:
    """The predictions of all portions, and the sizes that efficiency may be relative to.

    ``found``: the portions of the candidates, each with the place of its shape among ``pairs`` of shapes and sizes. A reference that is no
    candidate is a further portion: it may rest on other results, in other units or with another start-up.
    """
    predictions, references = [portion.found for _, portion in found], list[Reference]()
    rows = {  # of a shape and a size: the portion, and the row there
        (place, size): (number, row)
        for number, (place, portion) in enumerate(found)
        for row, size in enumerate(pairs[place][1][portion.places].tolist())
    }
    for of, (place, portion) in enumerate(found):
        for size in _reference_sizes(portion.found, bounds):
            if (place, size) not in rows:
                rows[place, size] = len(predictions), 0
                predictions.append(alone(pairs[place][0], size))
            number, row = rows[place, size]
            one = predictions[number]
            grows = one.curve is not None and one.curve.grows
            references.append(Reference(of, place, number, row, float(one.value[row]), size, grows, one.basis[row]))
    return tuple(predictions), tuple(references)


def _reference_sizes(found: Predictions, bounds: tuple[int, float]) -> list[int]:
    """Sizes that efficiency may be relative to; none if nothing was measured. ``bounds``: the fewest and the most nodes of a job.

    They are the smallest measured size and, because a smaller one usually has less work, half of it, which is as far as sizes beyond the
    measured ones are considered. If a job cannot have as many nodes as were measured, it is the fewest that it can have instead.
    """
    if found.curve is None:
        return []
    least, most = bounds
    below = least if most < found.smallest else max(least, -(-found.smallest // 2))
    return sorted({found.smallest, min(below, found.smallest)})
