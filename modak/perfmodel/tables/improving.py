"""Rows of a result table whose run was never measured: better predictions of these, from results of other applications.

Each row becomes a run in a configuration, which :mod:`modak.perfmodel.unmeasured.unseen` estimates.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Final

import numpy as np

from modak.perfmodel.fitting.cells import Cell
from modak.perfmodel.intervals import stretch
from modak.perfmodel.matching.questions import Question
from modak.perfmodel.tables.completion import in_unit
from modak.perfmodel.tables.rows import USUAL, Reader, Row, count_in
from modak.perfmodel.unmeasured.configurations import Configuration, MeasuredRuns, RunKind, costs, run_of, words_of
from modak.perfmodel.unmeasured.unseen import CalibrationRuns, RunEstimate, calibrations, estimate_runs
from modak.results.metrics import Metric, metric

WEAK: Final = ("none", "transferred", "heuristic")
"""Bases that an estimate from parameters may improve."""


def improve_rows(
    rows: Sequence[Row],
    answered: Sequence[Row],
    known: MeasuredRuns,
    level: float = 0.9,
    reader: Reader = USUAL,
) -> list[dict[str, Any]]:
    """``answered`` with better predictions for runs without results, from what is ``known`` in their metrics.

    ``level`` and ``reader`` as in :func:`predict_rows`. A prediction is better if there was none, or if its interval is narrower.
    Its basis is ``transferred``. What a run that was stopped has refuted stays.
    """
    improvable = (place for place, row in enumerate(answered) if row["basis"] in WEAK and not row.get("refuted"))
    weak = [place for place in improvable if rows[place].get("metric")]
    runs = _runs([rows[place] for place in weak], known, reader)
    changed = [dict(row) for row in answered]
    for place, guess in zip(weak, estimate_runs(runs, known), strict=True):
        estimate = _guessed(guess, rows[place], level) if guess else None
        if estimate and (answered[place]["basis"] == "none" or _width(estimate) < _width(answered[place])):
            changed[place].update(estimate)
    return changed


def calibrations_of(
    rows: Sequence[Row], known: MeasuredRuns, most: int, reader: Reader = USUAL, enough: float = math.inf
) -> tuple[CalibrationRuns, ...]:
    """For each configuration of the rows, which name their metrics, the ``most`` rows to measure there.

    ``known``: results of these metrics, with parameters; ``enough`` as in :func:`modak.perfmodel.unmeasured.unseen.calibrations`.
    """
    return calibrations(_runs(rows, known, reader), known, most, enough)


def _width(row: Row) -> float:
    """Of its interval, as a factor."""
    return float(row["upper"] / row["lower"])


def _runs(rows: Sequence[Row], known: MeasuredRuns, reader: Reader) -> list[RunKind]:
    """The runs of rows, with the labels that results of them would have."""
    meant: dict[Hashable, Configuration] = {}
    found = []
    for question, run in (_asked(row, reader) for row in rows):
        kind = (run.configuration, question.layout, question.without)
        if kind not in meant:
            meant[kind] = _meant(question, run, known)
        found.append(replace(run, configuration=meant[kind]))
    return found


def _meant(question: Question, run: RunKind, known: MeasuredRuns) -> Configuration:
    """The configuration of a run, as results call it.

    A row may give more than results do (no GPUs, no hyper-threads, ranks per node). If no configuration has exactly its labels, the one of
    its system is taken that it does not contradict; of several the one with the most runs, of equals the most expensive one.
    """
    if run.configuration in known.runs or not question.attributes.get("system"):
        return run.configuration
    return max(_alike(known.examples, question), key=lambda one: (*_weight(known.runs[one]), one), default=run.configuration)


def _asked(row: Row, reader: Reader) -> tuple[Question, RunKind]:
    """A row as a question about any application, and as a run of its own."""
    question = reader.question(row)
    asked = _metric_in(row)
    layout = question.layout.model_copy(update={"nodes": count_in(row.get("nodes"))})
    labels = {"application": row["application"], "metric": asked.name, "unit": asked.unit}
    open_ = {**question.attributes, "unit": asked.unit, "params": words_of(question.params)}
    any_ = replace(question, attributes=open_, layout=layout.model_copy(update={"batch_size": None}), metric=asked.name)
    return any_, run_of({**question.attributes, **labels}, layout)


def _weight(runs: Mapping[RunKind, Sequence[Cell]]) -> tuple[int, float]:
    """A sort key of configurations that does not depend on names: the number of runs, then their total cost."""
    return len(runs), sum(costs(chain.from_iterable(runs.values())))


def _alike(examples: Mapping[Configuration, Cell], question: Question) -> list[Configuration]:
    """Configurations that do not contradict a question; if possible, only those without switches that it does not name."""
    plain = replace(question, plain=True)
    alike = [one for one, example in examples.items() if _may_be_of(example, question)]
    return [one for one in alike if _may_be_of(examples[one], plain)] or alike


def _may_be_of(cell: Cell, question: Question) -> bool:
    """Whether results of another application may have the configuration of the question."""
    same = (cell.series.metric, cell.series.unit) == (question.metric, question.attributes["unit"])
    nodes = (cell.layout.nodes or 1) == (question.layout.nodes or 1)
    return same and nodes and question.agrees(cell.series.model_copy(update={"params": words_of(cell.series.params)}), cell.layout)


def _metric_in(row: Row) -> Metric:
    """The metric of a row that names one."""
    return metric(str(row["metric"]), row.get("unit") or None)


def _guessed(guess: RunEstimate, row: Row, level: float) -> dict[str, Any]:
    reach = stretch(level) * guess.half_width
    rests = {"basis": "transferred", "model": guess.model, "results_used": guess.results_used, "extrapolation": 0.0}
    return {**in_unit(np.exp(guess.log_cost + np.array([0.0, -reach, reach])), _metric_in(row), row), **rests}
