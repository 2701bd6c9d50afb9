"""Predictions for the rows of a result table that has no values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from modak.choosing.nodes import node_gpus, node_kinds, node_power
from modak.choosing.requirements import graph_compilers
from modak.dsl import Notice
from modak.errors import DataError
from modak.facts import other_spellings
from modak.grouping import grouped
from modak.perfmodel.tables import rownotes
from modak.perfmodel.unmeasured.unseen import FEW
from modak.prepared import Prepared
from modak.results.units import aggregate_unit
from modak.service import records
from modak.store import Store
from modak.store.results import MOST_WITH_PARAMETERS
from modak.text.documents import Json

if TYPE_CHECKING:
    from modak.ingest.table import Point
    from modak.perfmodel.fitting.cells import Cell
    from modak.perfmodel.fitting.curves import Curve
    from modak.perfmodel.tables.rows import Reader, Row
    from modak.perfmodel.unmeasured.configurations import MeasuredRuns
    from modak.perfmodel.unmeasured.unseen import CalibrationRuns


def predictions(store: Store, facts: Prepared, content: bytes, name: str, *, most: int, level: float, go_on: Callable[[], None]) -> Json:
    """``rows``: those of the table, in their order, with predictions at this interval ``level``; and ``warnings``.

    ``name`` is what faults call the table; ``go_on`` is called between the predictions, and ends them if it raises. Raises
    :class:`~modak.errors.DataError`: faults ``name:LINE``, or more than ``most`` rows.
    """
    from modak.ingest.reading import points
    from modak.ingest.sources import from_bytes
    from modak.perfmodel.tables.completion import ADDED, count_only_doubted, predict_rows
    from modak.perfmodel.tables.improving import improve_rows
    from modak.perfmodel.tables.rows import Reader, count_open_columns, count_without_ranks, gpus_meant
    from modak.perfmodel.unmeasured.configurations import by_configuration

    asked = points(from_bytes(content, name), most)
    there = store.applications()
    given, of_names = _as_spelt(_rows(asked, facts), there)
    measured = {row["application"] for row in given}.intersection(there)  # others cost no query
    _, models = store.models_of(*sorted(measured))
    curves = {application: facts.with_own_names(found) for application, found in models.items()}
    given, of_data = _data_as_spelt(given, curves)
    gpus_there = node_gpus(facts)
    gpus = [gpus_meant(row, curves.get(row["application"], ()), gpus_there(row["system"], row["partition"])) for row in given]
    questions = [{**row, "gpus_per_node": count} if count else row for row, count in zip(given, gpus, strict=True)]

    reader = Reader(graph_compilers(), node_kinds(facts))
    failed = grouped(facts.with_own_names(store.failed(*measured)), lambda one: one.series.application)
    answered = predict_rows(questions, curves, level, node_power(facts), reader, go_on, failed)
    known = by_configuration(_with_parameters(store, questions, answered))
    answered = improve_rows(questions, answered, known, level, reader)

    rows = [
        {**records.given_cells(point), **_of_each({name: row[name] for name in ADDED}, point)}
        for point, row in zip(asked, answered, strict=True)
    ]
    doubted = {application: facts.with_own_names(found) for application, found in store.doubted(*measured).items()}
    systems = {*facts.systems, *(curve.series.system for found in curves.values() for curve in found if curve.series.system)}
    warnings = [
        *of_names,
        *of_data,
        *rownotes.weak_bases(answered),
        *rownotes.misspelling_warnings(answered, there, systems),
        *rownotes.only_doubted_warning(count_only_doubted(questions, answered, doubted, curves, reader), len(rows)),
        *rownotes.open_column_warnings(count_open_columns(questions, curves), len(rows)),
        *rownotes.counted_gpus(gpus),
        *rownotes.counted_ranks(count_without_ranks(questions, curves), len(rows)),
        *rownotes.calibrated_by_few(_lacking_runs(questions, answered, known, reader), len(rows)),
    ]
    return {"rows": rows, "level": level, "warnings": [warning.model_dump() for warning in warnings]}


def calibration(store: Store, facts: Prepared, content: bytes, name: str, *, most: int, number: int) -> Json:
    """``rows``: the ``number`` rows of the table (of each configuration in it) to measure first, in this order, with an empty ``value``;
    and ``notes``. Raises as :func:`predictions` does, and :class:`~modak.errors.DataError` if no row can be told from others.
    """
    from modak.ingest.reading import points
    from modak.ingest.sources import from_bytes
    from modak.perfmodel.tables.improving import calibrations_of
    from modak.perfmodel.tables.rows import Reader
    from modak.perfmodel.unmeasured.configurations import by_configuration

    asked = points(from_bytes(content, name), most)
    rows, of_names = _as_spelt(_rows(asked, facts), store.applications())
    known = by_configuration(_having_parameters(store, {row["metric"] for row in rows}))
    found = calibrations_of(rows, known, number, Reader(graph_compilers(), node_kinds(facts)))
    places = [place for one in found for place in one.places]
    if not places:
        told = any(one.comparable for one in found)
        raise DataError(rownotes.ALL_MEASURED if told else rownotes.NO_CALIBRATION, field=name)
    first = [{**records.given_cells(asked[place]), "value": None} for place in places]
    return {"rows": first, "notes": [*(one.message for one in of_names), *rownotes.calibration_notes(found, len(asked))]}


def _lacking_runs(questions: Sequence[Row], answered: Sequence[Row], known: MeasuredRuns, reader: Reader) -> Sequence[CalibrationRuns]:
    """For each configuration of rows with weak answers that has not enough runs, what a few would tell of these rows."""
    from modak.perfmodel.tables.improving import WEAK, calibrations_of

    weak = [row for row, answer in zip(questions, answered, strict=True) if answer["basis"] in WEAK]
    return calibrations_of(weak, known, 1, reader, enough=FEW) if known.runs else ()


def _rows(points: Sequence[Point], facts: Prepared) -> list[dict[str, Any]]:
    """The points under the columns of the results table, with their systems' own names."""

    def row(point: Point) -> dict[str, Any]:
        own = {"system": facts.own_name(point.series.system), "unit": point.unit and aggregate_unit(point.unit)}
        return records.columns_of(point.series.model_dump() | own) | point.layout.model_dump()

    return [row(point) for point in points]


def _of_each(answer: dict[str, Any], point: Point) -> dict[str, Any]:
    """The prediction of all parts together as that of each, if a point asks for a rate of each GPU, rank or node."""
    if point.unit is None or aggregate_unit(point.unit) == point.unit:
        return answer
    each = {name: answer[name] / point.parts for name in ("predicted", "lower", "upper") if answer[name] is not None}
    return answer | each | {"unit": point.unit}


def _as_spelt(rows: Sequence[dict[str, Any]], known: Collection[str]) -> tuple[list[dict[str, Any]], list[Notice]]:
    """The rows with applications as results spell them, if one that is ``known`` is the same in another spelling; and notices."""
    others = other_spellings({row["application"] for row in rows}, known)
    spelt = [{**row, "application": others.get(row["application"], row["application"])} for row in rows]
    return spelt, rownotes.spelling_warnings("application", others.items())


def _data_as_spelt(rows: Sequence[dict[str, Any]], curves: Mapping[str, Sequence[Curve]]) -> tuple[list[dict[str, Any]], list[Notice]]:
    """The same for data sets, as the results of each row's own application spell them."""
    asked = grouped((row for row in rows if row["dataset"] and row["application"] in curves), itemgetter("application"))
    others: dict[tuple[str, str], str] = {}
    for application, same in asked.items():
        known = {curve.series.dataset for curve in curves[application] if curve.series.dataset}
        for name, other in other_spellings({row["dataset"] for row in same}, known).items():
            others[application, name] = other
    spelt = [{**row, "dataset": others.get((row["application"], row["dataset"]), row["dataset"])} for row in rows]
    return spelt, rownotes.spelling_warnings("dataset", {(name, other) for (_, name), other in others.items()})


def _with_parameters(store: Store, questions: Sequence[Mapping[str, Any]], answered: Sequence[Mapping[str, Any]]) -> list[Cell]:
    """Results of any application in the metrics of those rows that have parameters and weak answers, at most
    :data:`MOST_WITH_PARAMETERS`."""
    from modak.perfmodel.tables.improving import WEAK

    rows = (row for row, answer in zip(questions, answered, strict=True) if answer["basis"] in WEAK)
    metrics = {row["metric"] for row in rows if any(name.startswith("params.") for name in row)}
    return _having_parameters(store, metrics)


def _having_parameters(store: Store, metrics: AbstractSet[str]) -> list[Cell]:
    """Results of any application with parameters, in these metrics, up to a bound."""
    found: list[Cell] = []
    left = MOST_WITH_PARAMETERS
    for metric in sorted(metrics):
        of_metric = store.having_parameters({"metric": metric}, left)
        found += of_metric
        left -= sum(len(cell.values) for cell in of_metric)
    return found
