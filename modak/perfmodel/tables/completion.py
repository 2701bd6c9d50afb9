"""Complete a result table without values: one prediction per row."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from modak.arrays import Array
from modak.cache import Cache
from modak.facts import DoubtedResults, FailedRuns, canonical_name
from modak.grouping import grouped
from modak.perfmodel.fitting.curves import Curve
from modak.perfmodel.fitting.startup import SAME_TIME, WHOLE_RUNS
from modak.perfmodel.forecasting.censoring import CensoredRun, censored_runs, ran_on
from modak.perfmodel.intervals import Z90, TruncatedForecast
from modak.perfmodel.matching.devices import Power
from modak.perfmodel.matching.lengths import curves_telling, of_run, of_samples, scaled, with_length, with_samples
from modak.perfmodel.matching.questions import SPREAD, Question, doubted_of, with_switches_off
from modak.perfmodel.predict import Predictor
from modak.perfmodel.predictions import Portion, Predictions, narrowest
from modak.perfmodel.tables.rows import USUAL, Reader, Row, counted_unit, left_open, nodes_of
from modak.perfmodel.wording import describe, of_open, of_stop, of_system, transfer_source
from modak.results.failures import FAILED, OUT_OF_MEMORY, TRIES
from modak.results.metrics import WALL_TIME, Metric, metric_of
from modak.results.units import to_base

MOST_PREDICTORS: Final = 16
"""So many of the last predictors are kept for further rows."""
MOST_TOGETHER: Final = 256
"""Each forecast is made for all numbers of nodes of the rows of an application, if these are at most so many."""
ADDED: Final = ("predicted", "lower", "upper", "unit", "basis", "model", "results_used", "extrapolation")
"""Columns that :func:`predict_rows` adds or fills."""


def predict_rows(
    rows: Sequence[Row],
    curves: Mapping[str, Sequence[Curve]],
    level: float = 0.9,
    power: Power | None = None,
    reader: Reader = USUAL,
    go_on: Callable[[], None] = lambda: None,
    failed: Mapping[str, Sequence[FailedRuns]] = MappingProxyType({}),
) -> list[dict[str, Any]]:
    """Every row, in order, with :data:`ADDED` filled in; and whether a run that was stopped has ``refuted`` its prediction, and whether
    its runs ``failed``.

    ``curves``, and the runs that ``failed``, are those of each application by name. ``predicted``, ``lower`` and ``upper`` are in the row's
    unit (by default the metric's base unit); ``level`` is the probability that the interval contains the value of the next run. ``go_on``
    is called between the predictions, and ends them if it raises.
    """
    answered: list[dict[str, Any]] = [dict(row) for row in rows]
    predictors = _Predictors(rows, power)
    for asked, members in reader.groups(rows):
        one = rows[members[0]]
        unit = counted_unit(one)
        known = _of_place([curve for curve in curves.get(one["application"], ()) if unit in (None, curve.series.unit)], asked)
        several, nodes = left_open(one, known), np.array([nodes_of(rows[index]) for index in members], dtype=np.float64)
        stops = _stops(asked, known, failed.get(one["application"], ()))
        ended = _ended(asked, known, failed.get(one["application"], ()))
        go_on()
        for places, found in _predicted(asked, known, nodes, partial(predictors.of, one["application"])):
            predictions = _of_any_system(found, asked, known)
            told = _longer(predictions, stops, nodes[places])
            costs = np.array([told.bound(part) for part in (0.5, (1 - level) / 2, (1 + level) / 2)])
            origin = transfer_source(predictions, known) if "transferred" in predictions.basis else ""
            of_one = of_system(predictions, one.get("system")) + of_open(predictions, several)
            for place, index in enumerate(members[place] for place in places.tolist()):
                columns = _columns(predictions, costs[:, place], place, rows[index]) | {"refuted": bool(told.refuted[place])}
                columns["failed"] = bool(why := ended.get(nodes_of(rows[index]), ""))
                if columns["model"]:
                    columns["model"] += (
                        (origin if columns["basis"] == "transferred" else "") + of_one + of_stop(float(told.than[place])) + why
                    )
                if columns["refuted"]:
                    columns["basis"] = "heuristic"
                answered[index].update(columns)
    return answered


def count_only_doubted(
    rows: Sequence[Row],
    answered: Sequence[Row],
    doubted: Mapping[str, Sequence[DoubtedResults]],
    curves: Mapping[str, Sequence[Curve]],
    reader: Reader = USUAL,
) -> int:
    """How many rows have only doubted results of exactly their run. ``doubted`` are those of each application by name; the others as in
    :func:`predict_rows`."""
    of_size = {name: grouped(each, lambda one: one.layout.nodes or 1) for name, each in doubted.items() if each}
    count = 0
    for asked, members in reader.groups(rows) if of_size else ():
        name = rows[members[0]]["application"]
        known, question = of_size.get(name, {}), with_switches_off(curves.get(name, ()), asked)
        sizes = (nodes_of(rows[index]) for index in members if answered[index]["basis"] != "measured")
        count += sum(doubted_of(known.get(nodes, ()), question, nodes) > 0 for nodes in sizes)
    return count


class _Predictors:
    """Those of a table: rows often ask the same sizes of many problems, of which what they have in common is worked out once."""

    def __init__(self, rows: Sequence[Row], power: Power | None) -> None:
        by_application = grouped(rows, lambda row: row["application"])
        self._nodes = {name: np.unique([nodes_of(row) for row in of_name]) for name, of_name in by_application.items()}
        self._power, self._kept = power, Cache(MOST_PREDICTORS)

    def of(self, application: str, curves: Sequence[Curve], nodes: Array) -> Predictor:
        """From these curves of an application, on these nodes and on those of its other rows, unless these are too many."""
        every = self._nodes[application]
        together = every if len(every) <= MOST_TOGETHER else np.unique(nodes)
        return self._kept.get((together.tobytes(), *map(id, curves)), lambda: Predictor(curves, together, self._power))


def _predicted(
    asked: Question, curves: Sequence[Curve], nodes: Array, predictor: Callable[[Sequence[Curve], Array], Predictor]
) -> Sequence[Portion]:
    """The question answered from curves of its metric. If there is none and the metric is the time of a whole run, from what would answer
    for ``wall_time``, or from whole runs under any name that says so, whichever is surer: with wider intervals."""

    def of_metric(name: str | None, named: Sequence[Curve], wanted: str | None) -> list[Portion]:
        question, able = with_length(replace(asked, metric=name), named)
        question, samples = with_samples(question, able)
        found = predictor(able, nodes).portions(question, nodes)
        return [Portion(places, scaled(of_samples(each, samples), question, wanted)) for places, each in found]

    found = of_metric(asked.metric, curves, asked.metric)
    if found[0].found.curve is not None or asked.metric not in WHOLE_RUNS:
        return found
    others = [of_metric(WALL_TIME, curves, WALL_TIME), of_metric(None, curves_telling(curves, asked.metric), None)]
    known = [each for each in others if each[0].found.curve is not None]
    # Times under another name may be of somewhat more, or less, than the whole run in question.
    return [Portion(places, each.unlike_in("metric", math.log(SAME_TIME))) for places, each in narrowest(known)] if known else found


def _of_any_system(found: Predictions, asked: Question, curves: Sequence[Curve]) -> Predictions:
    """The predictions; if the question names no system, and results are of several, as wide as for a system that nobody measured."""
    systems = {canonical_name(curve.series.system) for curve in curves_telling(curves, asked.metric) if curve.series.system}
    if found.curve is None or "system" in asked.attributes or len(systems) < 2:
        return found
    return found.unlike_in("system", Z90 * SPREAD["system"])


def _of_place(curves: Sequence[Curve], question: Question) -> Sequence[Curve]:
    """For a question that names no system, the curves that name none if one of them answers it; else all."""
    unnamed = [one for one in curves_telling(curves, question.metric) if one.series.system is None]
    own = "system" not in question.attributes and any(question.is_of(one.series) for one in unnamed)
    return unnamed if own else curves


def _stops(asked: Question, curves: Sequence[Curve], failed: Sequence[FailedRuns]) -> list[CensoredRun]:
    """The runs that were stopped which tell how long the run takes, if its whole time is asked for."""
    if asked.metric not in WHOLE_RUNS or not failed:
        return []
    question = of_run(asked)
    return [one for one in censored_runs(question, curves, failed) if one.is_no_longer(question.lengths)]


def _ended(asked: Question, curves: Sequence[Curve], failed: Sequence[FailedRuns]) -> Mapping[int, str]:
    """The numbers of nodes on which runs failed, for want of memory or :data:`TRIES` times, and none ended well; what is said of each."""
    found: dict[int, str] = {}
    those = [one for one in failed if one.series.metric == OUT_OF_MEMORY or (one.series.metric == FAILED and one.count >= TRIES)]
    question = with_switches_off(curves, asked) if those else asked
    ran = ran_on(question, curves) if those else set()
    for one in those:
        nodes = one.layout.nodes or 1
        if nodes not in ran and question.may_have_been(one.series, one.layout):
            found[nodes] = "; its runs had too little memory" if one.series.metric == OUT_OF_MEMORY else "; its runs failed"
    return found


def _longer(found: Predictions, stops: Sequence[CensoredRun], nodes: Array) -> TruncatedForecast:
    """The predictions on these numbers of nodes, with what runs that were stopped show them to exceed."""
    grows = found.curve is not None and found.curve.grows
    least = np.max([one.least_s(nodes, grows) for one in stops], axis=0, initial=0.0)
    return TruncatedForecast(found.value, found.width, np.where(np.isfinite(found.value), least, 0.0))


def _columns(predictions: Predictions, costs: Array, place: int, row: Row) -> dict[str, Any]:
    """``costs``: the one at that place, with the ends of its interval."""
    curve = predictions.curve
    if curve is None or not np.isfinite(costs[0]):
        unit = row.get("unit") or (curve.series.unit if curve else None)
        return {**dict.fromkeys(ADDED), "unit": unit, "basis": "none", "results_used": 0}
    return {
        **in_unit(costs, metric_of(curve.series), row),
        "basis": predictions.basis[place],
        "model": describe(curve),
        "results_used": curve.results_used + predictions.other_results,
        "extrapolation": round(float(predictions.doublings[place]), 3),
    }


def in_unit(costs: Array, of: Metric, row: Row) -> dict[str, Any]:
    """A cost and the ends of its interval, as values in the unit of the row, else in that of the metric."""
    value, lower, upper = (1.0 / costs)[[0, 2, 1]] if of.is_rate else costs
    unit = row.get("unit") or of.unit
    scale = to_base(1.0, unit)
    return {"predicted": float(value / scale), "lower": float(lower / scale), "upper": float(upper / scale), "unit": unit}
