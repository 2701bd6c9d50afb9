"""Complete a result table without values: one prediction per row."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np

from modak.cache import Cache
from modak.facts import Doubted, Layout, SeriesKey, same_name
from modak.grouping import grouped
from modak.perfmodel.curves import Curve
from modak.perfmodel.devices import Power
from modak.perfmodel.forms import Array
from modak.perfmodel.intervals import Z90, stretch
from modak.perfmodel.layouts import COUNTS
from modak.perfmodel.lengths import of_samples, scaled, with_length, with_samples
from modak.perfmodel.merging import same_setting
from modak.perfmodel.predict import Predictor
from modak.perfmodel.predictions import Portion, Predictions, surest
from modak.perfmodel.problems import apart
from modak.perfmodel.questions import SPREAD, Question, closed, doubted_of
from modak.perfmodel.startup import LENGTHS, SAME_TIME, WALL_TIME, is_whole
from modak.perfmodel.wording import describe, of_open, of_system, transfer_source
from modak.results.filters import PARAMETER
from modak.results.metrics import METRICS, Metric, metric, metric_of, to_base

OtherNodes = Callable[[str | None, str, bool], frozenset[str]]
"""System, partition, whether a run is on GPUs -> :attr:`modak.perfmodel.Question.elsewhere`."""
OFF: Final = "none"
"""A row's compiler if graph compilers are off; an empty cell leaves that open."""
WHOLE_RUNS: Final = frozenset(name for name, one in METRICS.items() if (one.kind, one.per) == ("time", "run"))
"""Metrics that say that they are the time of a whole run."""
MOST_PREDICTORS: Final = 16
"""So many of the last predictors are kept for further rows."""
MOST_TOGETHER: Final = 256
"""Each forecast is made for all numbers of nodes of the rows of an application, if these are at most so many."""
ADDED: Final = ("predicted", "lower", "upper", "unit", "basis", "model", "results_used", "extrapolation")
"""Columns that :func:`predict_rows` adds or fills."""

Row = Mapping[str, Any]
"""Columns of the results table with their values, text or typed; empty or absent is unknown."""


@dataclass(frozen=True)
class Reader:
    """How rows become questions."""

    graph_compilers: frozenset[str] = frozenset()
    """Those that are off in a row with compiler :data:`OFF`."""
    other_nodes: OtherNodes | None = None
    """Gives the partitions of a row's system with another kind of nodes."""

    def question(self, row: Row) -> Question:
        """The question that a row asks, for any number of nodes."""
        attributes: dict[str, Any] = {name: row[name] for name in SPREAD if name != "params" and row.get(name) not in (None, "")}
        off = same_name(attributes.get("compiler", "")) == OFF
        if off:
            del attributes["compiler"]
        if "hyperthreads" in attributes:
            attributes["hyperthreads"] = str(attributes["hyperthreads"]).lower() == "true"
        if "numa_mode" in attributes:
            attributes["numa_mode"] = int(attributes["numa_mode"])
        given = {name.removeprefix(PARAMETER): value for name, value in row.items() if name.startswith(PARAMETER)}
        if params := {name: str(value) for name, value in given.items() if value not in (None, "")}:
            attributes["params"] = params
        layout = Layout(**{name: count_in(row.get(name)) for name in COUNTS})
        there = row.get("partition") and self.other_nodes
        return Question(
            attributes,
            layout,
            row.get("metric") or None,
            without=self.graph_compilers if off else frozenset(),
            elsewhere=there(row.get("system"), row["partition"], bool(layout.gpus_per_node)) if there else frozenset(),
        )

    def groups(self, rows: Sequence[Row]) -> Iterable[tuple[Question, list[int]]]:
        """The questions of rows, and the places of the rows that ask each of them; these differ in their nodes alone."""
        questions = [self.question(row) for row in rows]

        def kind(place: int) -> Hashable:
            return rows[place]["application"], _counted(rows[place]), questions[place]

        return ((questions[places[0]], places) for places in grouped(range(len(rows)), kind).values())


USUAL: Final = Reader()
"""Without knowledge of graph compilers and of nodes."""


def predict_rows(
    rows: Sequence[Row],
    curves: Mapping[str, Sequence[Curve]],
    level: float = 0.9,
    power: Power | None = None,
    reader: Reader = USUAL,
    go_on: Callable[[], None] = lambda: None,
) -> list[dict[str, Any]]:
    """Every row, in order, with :data:`ADDED` filled in.

    ``curves`` are those of each application by name. ``predicted``, ``lower`` and ``upper`` are in the row's unit (by default the metric's
    base unit); ``level`` is the probability that the interval contains the value of the next run. ``go_on`` is called between the
    predictions, and ends them if it raises.
    """
    answered: list[dict[str, Any]] = [dict(row) for row in rows]
    predictors = _Predictors(rows, power)
    for asked, members in reader.groups(rows):
        one = rows[members[0]]
        unit = _counted(one)
        known = _of_place([curve for curve in curves.get(one["application"], ()) if unit in (None, curve.series.unit)], asked)
        several, nodes = _open(one, known), np.array([_nodes(rows[index]) for index in members], dtype=np.float64)
        go_on()
        for places, found in _predicted(asked, known, nodes, partial(predictors.of, one["application"])):
            predictions = _of_any_system(found, asked, known)
            origin = transfer_source(predictions, known) if "transferred" in predictions.basis else ""
            of_one = of_system(predictions, one.get("system")) + of_open(predictions, several)
            for place, index in enumerate(members[place] for place in places.tolist()):
                columns = _columns(predictions, place, rows[index], level)
                if columns["model"]:
                    columns["model"] += (origin if columns["basis"] == "transferred" else "") + of_one
                answered[index].update(columns)
    return answered


def only_doubted(
    rows: Sequence[Row],
    answered: Sequence[Row],
    doubted: Mapping[str, Sequence[Doubted]],
    curves: Mapping[str, Sequence[Curve]],
    reader: Reader = USUAL,
) -> int:
    """How many rows have only doubted results of exactly their run. ``doubted`` are those of each application by name; the others as in
    :func:`predict_rows`."""
    of_size = {name: grouped(each, lambda one: one.layout.nodes or 1) for name, each in doubted.items() if each}
    count = 0
    for asked, members in reader.groups(rows) if of_size else ():
        name = rows[members[0]]["application"]
        known, question = of_size.get(name, {}), closed(curves.get(name, ()), asked)
        sizes = (_nodes(rows[index]) for index in members if answered[index]["basis"] != "measured")
        count += sum(doubted_of(known.get(nodes, ()), question, nodes) > 0 for nodes in sizes)
    return count


class _Predictors:
    """Those of a table: rows often ask the same sizes of many problems, of which what they have in common is worked out once."""

    def __init__(self, rows: Sequence[Row], power: Power | None) -> None:
        by_application = grouped(rows, lambda row: row["application"])
        self._nodes = {name: np.unique([_nodes(row) for row in of_name]) for name, of_name in by_application.items()}
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
    others = [of_metric(WALL_TIME, curves, WALL_TIME), of_metric(None, _of_metric(curves, asked.metric), None)]
    known = [each for each in others if each[0].found.curve is not None]
    # Times under another name may be of somewhat more, or less, than the whole run in question.
    return [Portion(places, each.unlike_in("metric", math.log(SAME_TIME))) for places, each in surest(known)] if known else found


def _of_any_system(found: Predictions, asked: Question, curves: Sequence[Curve]) -> Predictions:
    """The predictions; if the question names no system, and results are of several, as wide as for a system that nobody measured."""
    systems = {same_name(curve.series.system) for curve in _of_metric(curves, asked.metric) if curve.series.system}
    if found.curve is None or "system" in asked.attributes or len(systems) < 2:
        return found
    return found.unlike_in("system", Z90 * SPREAD["system"])


def _of_metric(curves: Sequence[Curve], name: str | None) -> list[Curve]:
    """The curves of a metric (``None``: of any); if there is none of the time of a whole run, those of whole runs under other names."""
    found = [curve for curve in curves if name in (None, curve.series.metric)]
    if found or name not in WHOLE_RUNS:
        return found
    return [curve for curve in curves if curve.series.metric in WHOLE_RUNS and is_whole(curve.series)]


def _of_place(curves: Sequence[Curve], question: Question) -> Sequence[Curve]:
    """For a question that names no system, the curves that name none if one of them answers it; else all."""
    unnamed = [one for one in _of_metric(curves, question.metric) if one.series.system is None]
    own = "system" not in question.attributes and any(question.is_of(one.series) for one in unnamed)
    return unnamed if own else curves


def gpus_meant(row: Row, curves: Sequence[Curve], there: int | None) -> int | None:
    """The GPUs per node to assume for a row that gives nodes but no GPUs; ``None``: none to assume.

    For results over GPUs, nodes alone do not determine a size: then all GPUs of a node are assumed (``there``); if their number is unknown,
    the most that results of that system had, or one. Results over nodes of that system give their GPUs themselves.
    """
    if row.get("nodes") is None or row.get("gpus_per_node") is not None or there == 0:
        return None
    asked, here = _measured(curves, row.get("metric"), row.get("system"))
    if any(curve.layout.gpus_per_node for curve in here) or not any(curve.scale == "gpus" for curve in asked):
        return None
    return there or max((max(curve.per_node) for curve in here if curve.scale == "gpus"), default=1)


def of_one_rank(rows: Sequence[Row], curves: Mapping[str, Sequence[Curve]]) -> int:
    """The number of rows that give no ranks, and are answered as of one on each node: all results (of their system, if there are some) are
    over ranks."""
    kinds = Counter((row["application"], row.get("metric"), row.get("system")) for row in rows if row.get("ranks_per_node") is None)
    known = {kind: _measured(curves.get(kind[0], ()), *kind[1:]) for kind in kinds}
    over = [kind for kind, (asked, here) in known.items() if asked and all(curve.scale == "ranks" for curve in here or asked)]
    return sum(kinds[kind] for kind in over)


def of_several(rows: Sequence[Row], curves: Mapping[str, Sequence[Curve]]) -> Counter[str]:
    """The number of rows that leave open the data set, or a parameter, although there are results for several; by column."""
    found: Counter[str] = Counter()
    kinds = ((row["application"], row.get("metric"), row.get("system"), *sorted(_given(row).items())) for row in rows)
    for (name, kind, system, *given), count in Counter(kinds).items():
        row = {"metric": kind, "system": system, **dict(given)}
        found.update(dict.fromkeys(_open(row, curves.get(name, ())), count))
    return found


def _given(row: Row) -> dict[str, str]:
    """The data set and the parameters that a row names, by column."""
    cells = ((name, value) for name, value in row.items() if name == "dataset" or name.startswith(PARAMETER))
    return {name: str(value) for name, value in cells if value not in (None, "")}


def _open(row: Row, curves: Sequence[Curve]) -> dict[str, int]:
    """The number of data sets, and of values of each parameter, of the results of a row's metric on its system (if there are none, on all
    systems), where the row names none and there are several; by column. A parameter that some of them lack is off in the row."""
    given = _given(row)
    asked, here = _measured(curves, row.get("metric") or None, row.get("system"))
    params = {name.removeprefix(PARAMETER): value for name, value in given.items() if name != "dataset"}
    known = here or asked
    one_dataset = "dataset" in given or len({one.series.dataset for one in known if one.series.dataset}) < 2
    if one_dataset and not {name for one in known for name in one.series.params}.difference(params, LENGTHS):
        return {}  # nothing to look for among many results
    alike = [one.series for one in known if apart(params, one.series.params) is not None]
    names = {name for series in alike for name in series.params}.difference(params, LENGTHS)
    several = {} if "dataset" in given else {"dataset": {series.dataset for series in alike if series.dataset}}
    several |= {PARAMETER + name: _settings(name, alike) for name in sorted(names)}
    return {name: len(values) for name, values in several.items() if len(values) > 1}


def _settings(name: str, those: Sequence[SeriesKey]) -> set[str]:
    """The values of a parameter, each in one spelling; none if some series lack it."""
    texts = [series.params[name] for series in those if name in series.params]
    return {same_setting(name, text) for text in texts} if len(texts) == len(those) else set()


def _measured(curves: Sequence[Curve], metric_name: str | None, system: str | None) -> tuple[list[Curve], list[Curve]]:
    """The measured curves of a metric (``None``: of any), and those of them on a system."""
    asked = [curve for curve in _of_metric(curves, metric_name) if curve.estimated is None]
    return asked, [curve for curve in asked if same_name(curve.series.system) == same_name(system)]


def _counted(row: Row) -> str | None:
    """The base unit that a row asks for (``tokens/s`` is not ``samples/s``); ``None``: any."""
    unit = row.get("unit")
    return metric(str(row["metric"]), str(unit)).unit if unit else None


def _nodes(row: Row) -> int:
    return count_in(row.get("nodes")) or 1


def count_in(value: Any) -> int | None:
    """The count in a cell; ``None``: it is empty."""
    return None if value in (None, "") else int(value)


def _columns(predictions: Predictions, place: int, row: Row, level: float) -> dict[str, Any]:
    curve = predictions.curve
    if curve is None or not np.isfinite(predictions.value[place]):
        unit = row.get("unit") or (curve.series.unit if curve else None)
        return {**dict.fromkeys(ADDED), "unit": unit, "basis": "none", "results_used": 0}
    reach = stretch(level) * np.array([0.0, -predictions.width.below[place], predictions.width.above[place]])
    return {
        **in_unit(predictions.value[place] * np.exp(reach), metric_of(curve.series), row),
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
