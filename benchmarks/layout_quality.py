"""Accuracy for layouts that nobody ran, on public tables of one program in several layouts: some layouts are hidden and predicted.

    python -m benchmarks.layout_quality --data FOLDER

Tables are CSV files with one row for each run: ``origin`` (where it was published), ``series`` (what differs in layout and nodes alone),
``nodes``, ``ranks_per_node``, ``threads_per_rank``, ``gpus_per_node``, ``batch_size`` (empty: unknown), ``value``, ``higher_better`` (1 for
rates) and ``scaling`` (``weak``: the work grows with the workers). Predictions are those of the product: :func:`modak.perfmodel.predict`.

    python -m benchmarks.layout_quality --data FOLDER --relatives

predicts tables that share two layouts or more with another one of their origin, alone and with (at most three) others of these, as if they
were measured on another system.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.output import say
from benchmarks.problem_sizes import figures, quantile
from modak.arrays import Array
from modak.facts import Layout, Result, SeriesKey
from modak.grouping import grouped
from modak.perfmodel import Question, fit, predict
from modak.perfmodel.intervals import Z90
from modak.perfmodel.matching import layouts

COUNTS = ("nodes", *layouts.COUNTS)
LEAST_LAYOUTS = 4
"""Tables of fewer layouts are left out."""
MOST_RELATIVES = 3
LEAST_SHARED = 2
"""Layouts that a table shares with its relatives."""


class Table(NamedTuple):
    """The runs of one program on one machine: their layouts, and logs of their costs."""

    origin: str
    key: SeriesKey
    runs: Mapping[Layout, float]

    @property
    def layouts(self) -> list[Layout]:
        """The layouts on a node, in order of their counts."""
        return sorted({_on_a_node(run) for run in self.runs}, key=_order)


class Answer(NamedTuple):
    """Log cost of a hidden run and its standard deviation (NaN: the model gives none), its true log cost, and on how many nodes."""

    log_cost: float
    deviation: float
    truth: float
    nodes: int


class Task(NamedTuple):
    """What a model says of the hidden runs of a table, beside the log costs of the visible ones, each with its nodes."""

    answers: Sequence[Answer]
    visible: Sequence[tuple[int, float]]


Model = Callable[[Table, Sequence[Layout], Sequence[Layout]], Sequence[tuple[float, float]]]
"""From a table, its visible runs and runs to predict: log costs and their standard deviations."""


def modak(table: Table, visible: Sequence[Layout], asked: Sequence[Layout]) -> Sequence[tuple[float, float]]:
    """The product: fit, then predict."""
    return _predicted(table, _results(table, visible), asked)


def with_relatives(tables: Sequence[Table]) -> tuple[list[Table], Model]:
    """The tables that have relatives, and the product that knows all runs of these."""
    by_origin = grouped(tables, lambda one: (one.origin, one.key.metric))
    related: dict[int, list[Table]] = {}
    for table in tables:
        others = [one for one in by_origin[table.origin, table.key.metric] if one is not table]
        near = sorted((one for one in others if _shared(one, table) >= LEAST_SHARED), key=lambda one: -_shared(one, table))
        if near:
            related[id(table)] = near[:MOST_RELATIVES]

    def model(table: Table, visible: Sequence[Layout], asked: Sequence[Layout]) -> Sequence[tuple[float, float]]:
        results = _results(table, visible)
        for number, one in enumerate(related[id(table)]):
            there = table.key.model_copy(update={"system": f"elsewhere {number}"})
            results += _results(one._replace(key=there), list(one.runs))
        return _predicted(table, results, asked)

    return [one for one in tables if id(one) in related], model


def _shared(one: Table, other: Table) -> int:
    return len(set(one.layouts) & set(other.layouts))


def _results(table: Table, runs: Sequence[Layout]) -> list[Result]:
    sign = -1 if table.key.metric == "throughput" else 1
    return [Result(series=table.key, layout=run, value=math.exp(sign * table.runs[run])) for run in runs]


def _predicted(table: Table, results: Sequence[Result], asked: Sequence[Layout]) -> Sequence[tuple[float, float]]:
    curves, here = fit(results), {"system": table.key.system}
    found = [predict(curves, Question(here, _on_a_node(run), table.key.metric), [run.nodes or 1]) for run in asked]
    return [(math.log(one.value[0]), float(max(one.width.above[0], one.width.below[0])) / Z90) for one in found]


def nearest(table: Table, visible: Sequence[Layout], asked: Sequence[Layout]) -> Sequence[tuple[float, float]]:
    """The run with the least distance in doublings, and an even share of its work."""
    answers = []
    for run in asked:
        near = min(visible, key=lambda one: (float(np.abs(_logs([one])[0] - _logs([run])[0]).sum()), _order(one)))
        answers.append((table.runs[near] + _share(table, near) - _share(table, run), math.nan))
    return answers


def power_law(table: Table, visible: Sequence[Layout], asked: Sequence[Layout]) -> Sequence[tuple[float, float]]:
    """The plane in logs of the counts, by least squares with a small ridge."""
    logs = _logs([*visible, *asked])
    rows = logs[: len(visible)]
    costs = np.array([table.runs[run] for run in visible])
    centred = rows - rows.mean(axis=0)
    slope = np.linalg.solve(centred.T @ centred + 0.1 * np.eye(rows.shape[1]), centred.T @ (costs - costs.mean()))
    return [(float(costs.mean() + (one - rows.mean(axis=0)) @ slope), math.nan) for one in logs[len(visible) :]]


MODELS: Mapping[str, Model] = {"MODAK": modak, "nearest": nearest, "power law": power_law}


def _on_a_node(run: Layout) -> Layout:
    return run.model_copy(update={"nodes": None})


def _order(run: Layout) -> tuple[int, ...]:
    return tuple(getattr(run, name) or 0 for name in COUNTS)


def _logs(runs: Sequence[Layout]) -> Array:
    """Log2 of the counts of runs, ``[run, count]``; 0 where unknown."""
    return np.array([[math.log2(max(getattr(run, name) or 1, 0.5)) for name in COUNTS] for run in runs])


def _share(table: Table, run: Layout) -> float:
    """Log of the number of workers among which the work is shared."""
    workers = run.gpus_per_node or (run.ranks_per_node or 1) * (run.threads_per_rank or 1)
    return math.log((run.nodes or 1) * workers)


def read(folder: Path) -> list[Table]:
    """The tables of :data:`LEAST_LAYOUTS` layouts or more in a folder; of repeats the median counts."""
    logs: dict[tuple[str, str], dict[Layout, list[float]]] = defaultdict(lambda: defaultdict(list))
    keys: dict[tuple[str, str], SeriesKey] = {}
    for path in sorted(folder.glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                name = row["origin"], row["series"]
                layout = Layout.model_validate({"nodes": 1} | {count: int(row[count]) for count in COUNTS if row[count]})
                logs[name][layout].append(math.log(_cost(row, layout)))
                rate = bool(row["batch_size"]) or row["scaling"] == "weak"
                kind = {"metric": "throughput", "unit": "samples/s"} if rate else {"metric": "wall_time", "unit": "s"}
                keys.setdefault(name, SeriesKey(application=f"app {len(keys)}", system="here", **kind))
    tables = [Table(name[0], keys[name], {run: float(np.median(each)) for run, each in runs.items()}) for name, runs in logs.items()]
    return [one for one in tables if len(one.layouts) >= LEAST_LAYOUTS]


def _cost(row: Mapping[str, str], layout: Layout) -> float:
    """The time of a fixed amount of work, in any unit; times in tables of weak scaling are of a batch on each worker."""
    value = float(row["value"])
    if row["higher_better"] == "1":
        return 1 / value
    workers = (layout.nodes or 1) * (layout.gpus_per_node or layout.ranks_per_node or 1)
    return value / (workers * (layout.batch_size or 1)) if row["scaling"] == "weak" else value


def protocols(table: Table) -> Iterator[tuple[str, list[Layout]]]:
    """The name of a protocol and the layouts that it hides, in all their runs."""
    known = table.layouts
    for one in known:
        yield "each layout", [one]
    yield "every other", known[1::2]
    yield "every other", known[::2]
    yield "all but two", known[1:-1]
    yield from (("all but one", [other for other in known if other != one]) for one in known)
    thirds = len(known) // 3
    yield "upper third", known[-thirds:]
    yield "lower third", known[:thirds]


def tasks(table: Table, model: Model) -> dict[str, list[Task]]:
    """What a model says of the hidden runs of a table, by protocol."""
    found: dict[str, list[Task]] = defaultdict(list)
    for name, hidden in protocols(table):
        visible = [run for run in table.runs if _on_a_node(run) not in hidden]
        asked = [run for run in table.runs if _on_a_node(run) in hidden]
        pairs = zip(model(table, visible, asked), asked, strict=True)
        answers = [Answer(*said, table.runs[run], run.nodes or 1) for said, run in pairs]
        found[name].append(Task(answers, [(run.nodes or 1, table.runs[run]) for run in visible]))
    return found


def losses(task: Task, *, measured_alone: bool) -> list[float]:
    """By how much the chosen layout takes longer than the best one, in logs, for each number of nodes on which layouts are hidden.

    Chosen is the one with the least time, measured or predicted, or of the measured ones alone.
    """
    found = []
    for nodes in sorted({one.nodes for one in task.answers}):
        seen = [(cost, cost) for where, cost in task.visible if where == nodes]
        hidden = [(one.log_cost, one.truth) for one in task.answers if one.nodes == nodes]
        best = min(truth for _, truth in (*seen, *hidden))
        choices = seen if measured_alone else [*seen, *hidden]
        if seen:
            found.append(min(choices, key=itemgetter(0))[1] - best)
    return found


def report(tables: Sequence[Table], models: Mapping[str, Model]) -> None:
    """Print the errors and the choices of each model by protocol; every table counts alike."""
    say(f"{len(tables)} tables of {len({one.origin for one in tables})} origins, {sum(len(one.runs) for one in tables)} runs\n")
    heading = f"{'':12}{'tables':>8}{'model':>12}{'median':>9}{'p90':>9}{'>100 %':>9}{'covered':>9}{'width':>8}{'loss':>8}{'p90':>8}"
    say(f"{heading}   absolute errors, and time lost by the choice, in per cent")
    told = {title: [tasks(table, model) for table in tables] for title, model in models.items()}
    for name in told["MODAK"][0]:
        for title, of_tables in told.items():
            each = [[answer for task in found[name] for answer in task.answers] for found in of_tables]
            log_cost, deviation, truth, _ = np.array([answer for one in each for answer in one]).T
            errors = figures(log_cost - truth, deviation, _weights(each))
            lost = _lost([found[name] for found in of_tables], measured_alone=False)
            no_interval = "" if np.isfinite(deviation).all() else " " * 17
            say(f"{name if title == 'MODAK' else '':12}{len(each):8d}{title:>12}{errors}{no_interval}{lost}")
        say(f"{'':20}{'measured':>12}{'':44}{_lost([found[name] for found in told['MODAK']], measured_alone=True)}")


def _lost(of_tables: Sequence[Sequence[Task]], *, measured_alone: bool) -> str:
    """Mean and 90th percentile of the time that choices lose."""
    each = [[loss for task in found for loss in losses(task, measured_alone=measured_alone)] for found in of_tables]
    lost, weights = np.expm1(np.concatenate([np.array(one) for one in each])), _weights(each)
    return f"{100 * np.average(lost, weights=weights):8.1f}{100 * quantile(lost, weights, 0.9):8.1f}"


def _weights(each: Sequence[Sequence[object]]) -> Array:
    return np.concatenate([np.full(len(one), 1 / max(len(one), 1)) for one in each])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the tables")
    parser.add_argument("--relatives", action="store_true", help="tables with others of their origin, alone and with these")
    options = parser.parse_args()
    every = read(options.data)
    if options.relatives:
        some, related = with_relatives(every)
        report(some, {"MODAK": modak, "relatives": related})
    else:
        report(every, MODELS)
