"""Rows of a results table without values, as questions; and what they leave open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from modak.facts import Layout, SeriesKey, canonical_name
from modak.facts.results import FLAGS, NUMBERS
from modak.grouping import grouped
from modak.perfmodel.fitting.curves import Curve
from modak.perfmodel.fitting.merging import canonical_setting
from modak.perfmodel.fitting.startup import LENGTHS
from modak.perfmodel.laws.problems import number_ratios
from modak.perfmodel.matching.layouts import COUNTS
from modak.perfmodel.matching.lengths import curves_telling
from modak.perfmodel.matching.questions import SPREAD, Question
from modak.results.filters import PARAMETER
from modak.results.metrics import metric

OtherNodes = Callable[[str | None, str, bool], frozenset[str]]
"""System, partition, whether a run is on GPUs -> :attr:`modak.perfmodel.Question.elsewhere`."""
OFF: Final = "none"
"""A row's compiler if graph compilers are off; an empty cell leaves that open."""

Row = Mapping[str, Any]
"""Columns of the results table with their values, text or typed; empty or absent is unknown."""


_TYPED: Final[Mapping[str, Callable[[Any], Any]]] = {
    **dict.fromkeys(FLAGS, lambda cell: str(cell).lower() == "true"),
    **dict.fromkeys(NUMBERS, int),
}
"""How cells are read that are no texts."""


@dataclass(frozen=True)
class Reader:
    """How rows become questions."""

    graph_compilers: frozenset[str] = frozenset()
    """Those that are off in a row with compiler :data:`OFF`."""
    other_nodes: OtherNodes | None = None
    """Gives the partitions of a row's system with another kind of nodes."""

    def question(self, row: Row) -> Question:
        """The question that a row asks, for any number of nodes."""
        given = {name: value for name, value in row.items() if value not in (None, "")}
        attributes = {name: given[name] for name in SPREAD if name != "params" and name in given}
        attributes |= {name: read(given[name]) for name, read in _TYPED.items() if name in given}
        off = canonical_name(given.get("compiler", "")) == OFF
        if off:
            del attributes["compiler"]
        if params := {name.removeprefix(PARAMETER): str(value) for name, value in given.items() if name.startswith(PARAMETER)}:
            attributes["params"] = params
        layout = Layout(**{name: count_in(given.get(name)) for name in COUNTS})
        elsewhere = frozenset[str]()
        if self.other_nodes and "partition" in given:
            elsewhere = self.other_nodes(given.get("system"), given["partition"], bool(layout.gpus_per_node))
        return Question(
            attributes,
            layout,
            given.get("metric"),
            without=self.graph_compilers if off else frozenset(),
            elsewhere=elsewhere,
        )

    def groups(self, rows: Sequence[Row]) -> Iterable[tuple[Question, list[int]]]:
        """The questions of rows, and the places of the rows that ask each of them; these differ in their nodes alone."""
        questions = [self.question(row) for row in rows]

        def kind(place: int) -> Hashable:
            return rows[place]["application"], counted_unit(rows[place]), questions[place]

        return ((questions[places[0]], places) for places in grouped(range(len(rows)), kind).values())


USUAL: Final = Reader()
"""Without knowledge of graph compilers and of nodes."""


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


def count_without_ranks(rows: Sequence[Row], curves: Mapping[str, Sequence[Curve]]) -> int:
    """The number of rows that give no ranks, and are answered as of one on each node: all results (of their system, if there are some) are
    over ranks."""
    kinds = Counter((row["application"], row.get("metric"), row.get("system")) for row in rows if row.get("ranks_per_node") is None)
    known = {kind: _measured(curves.get(kind[0], ()), *kind[1:]) for kind in kinds}
    over = [kind for kind, (asked, here) in known.items() if asked and all(curve.scale == "ranks" for curve in here or asked)]
    return sum(kinds[kind] for kind in over)


def count_open_columns(rows: Sequence[Row], curves: Mapping[str, Sequence[Curve]]) -> Counter[str]:
    """The number of rows that leave open the data set, or a parameter, although there are results for several; by column."""
    found: Counter[str] = Counter()
    kinds = ((row["application"], row.get("metric"), row.get("system"), *sorted(_given(row).items())) for row in rows)
    for (name, kind, system, *given), count in Counter(kinds).items():
        row = {"metric": kind, "system": system, **dict(given)}
        found.update(dict.fromkeys(left_open(row, curves.get(name, ())), count))
    return found


def _given(row: Row) -> dict[str, str]:
    """The data set and the parameters that a row names, by column."""
    cells = ((name, value) for name, value in row.items() if name == "dataset" or name.startswith(PARAMETER))
    return {name: str(value) for name, value in cells if value not in (None, "")}


def left_open(row: Row, curves: Sequence[Curve]) -> dict[str, int]:
    """The number of data sets, and of values of each parameter, of the results of a row's metric on its system (if there are none, on all
    systems), where the row names none and there are several; by column. A parameter that some of them lack is off in the row."""
    given = _given(row)
    asked, here = _measured(curves, row.get("metric") or None, row.get("system"))
    known = [curve.series for curve in here or asked]
    columns = sorted(_columns_of(known) - given.keys())
    if not columns:
        return {}  # nothing to look for among many results
    params = {name.removeprefix(PARAMETER): value for name, value in given.items() if name != "dataset"}
    alike = [series for series in known if number_ratios(params, series.params) is not None]
    several = {column: _values(column, alike) for column in columns}
    return {column: len(values) for column, values in several.items() if len(values) > 1}


def _columns_of(those: Sequence[SeriesKey]) -> set[str]:
    """The columns of parameters, without the length of a run, that series have; and that of the data set, if they have several."""
    datasets = {series.dataset for series in those if series.dataset}
    params = {name for series in those for name in series.params}.difference(LENGTHS)
    return {*(PARAMETER + name for name in params), *(("dataset",) if len(datasets) > 1 else ())}


def _values(column: str, those: Sequence[SeriesKey]) -> set[str]:
    """The data sets of series; or the values of a parameter, each in one spelling, and none if some series lack it."""
    if column == "dataset":
        return {series.dataset for series in those if series.dataset}
    name = column.removeprefix(PARAMETER)
    texts = [series.params[name] for series in those if name in series.params]
    return {canonical_setting(name, text) for text in texts} if len(texts) == len(those) else set()


def _measured(curves: Sequence[Curve], metric_name: str | None, system: str | None) -> tuple[list[Curve], list[Curve]]:
    """The measured curves of a metric (``None``: of any), and those of them on a system."""
    asked = [curve for curve in curves_telling(curves, metric_name) if curve.estimated is None]
    return asked, [curve for curve in asked if canonical_name(curve.series.system) == canonical_name(system)]


def counted_unit(row: Row) -> str | None:
    """The base unit that a row asks for (``tokens/s`` is not ``samples/s``); ``None``: any."""
    unit = row.get("unit")
    return metric(str(row["metric"]), str(unit)).unit if unit else None


def nodes_of(row: Row) -> int:
    """The nodes that a row asks for; not given: one."""
    return count_in(row.get("nodes")) or 1


def count_in(value: Any) -> int | None:
    """The count in a cell; ``None``: it is empty."""
    return None if value in (None, "") else int(value)
