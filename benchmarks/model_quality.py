"""Errors and intervals of the performance models on public tables, compared with other models.

    python -m benchmarks.model_quality --data DIR [--extrap PYTHON] [--least-sizes N] [--calibrate]

``DIR`` holds the tables: CSV with the columns ``dataset, series, app, p, nodes, higher_better, value`` (repeats of one series and size are
replaced by their median; ``nodes`` and ``scale_unit``, the unit of ``p``, may be left out; other files are skipped), and tables of networks
(:mod:`benchmarks.parameter_quality`). ``PYTHON`` is an interpreter of an environment with ``extrap`` installed. ``--least-sizes`` uses only
series with so many sizes (5 by default), and prints errors only. ``--calibrate`` prints the constants of ``modak/perfmodel/intervals.py``
instead. Intervals are tested as shipped and, if there are several collections (``dataset``), by leaving one out: their coefficients for a
collection are fitted to the others.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks import parameter_quality
from benchmarks.calibration import fit_shape, fit_width
from benchmarks.output import say
from benchmarks.protocols import PROTOCOLS, every_prefix, forecasts, misses, with_relatives
from modak.arrays import Array
from modak.perfmodel import intervals
from modak.perfmodel.fitting.scaling import Forecast, Series
from modak.perfmodel.intervals import KNOTS, Calibration
from modak.perfmodel.validation import evaluation
from modak.perfmodel.validation.baselines import BASELINES
from modak.perfmodel.validation.evaluation import Observed, Task

SCALING = ("dataset", "series", "app", "p", "higher_better", "value")
NOT_CORES = ("nodes", "gpus")
"""Units of the optional column ``scale_unit`` that do not share the memory of a node."""
PART_OF_A_NODE = ("cores", "PEs/NUMA", "%NUMA")
"""Units of which the tables without numbers of nodes have one node each."""
SUSPECT = "_flagged768"
"""Ending of the names of series that contain a contradictory row; they are left out."""
LEAST_SHOWN = 3
SHORT_SIZES = (1, 2, 3, 4)
DOUBLINGS = (1e-9, 1.01, 2.01, 3.01)
DISAGREEMENT = (0.02, 0.05, 0.1, 0.2)


def main(words: Sequence[str] | None = None) -> None:
    """Read the tables, print the figures. ``words``: in place of those of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="directory with the public tables")
    parser.add_argument("--extrap", help="Python interpreter that has extrap installed")
    parser.add_argument("--least-sizes", type=int, help="judge only series with so many sizes, and only their errors")
    parser.add_argument("--calibrate", action="store_true", help="print the constants of the intervals")
    wish = parser.parse_args(words)
    observed, networks = read_scaling(wish.data), parameter_quality.tables(wish.data)
    least = wish.least_sizes or evaluation.LEAST_SIZES
    if not any(len(one.series.sizes) >= least for one in observed):
        if not networks:
            parser.error(f"--data: no CSV file in {wish.data} has a series of {least} sizes or more; columns needed: {', '.join(SCALING)}")
        observed = []
    if wish.calibrate:
        say(repr(calibrate(observed)))
        return
    if observed:
        scaling_quality(observed, wish.extrap, least)
    if observed and not wish.least_sizes:
        interval_quality(observed)
        signed_errors(observed)
    for table in networks if not wish.least_sizes else ():
        parameter_quality.report(table)


def read_scaling(folder: Path) -> list[Observed]:
    """Every scaling series in the CSV files of a folder."""
    observed = []
    for path in sorted(folder.glob("*.csv")):
        with path.open(newline="") as lines:
            rows = csv.DictReader(lines)
            if not set(SCALING) <= set(rows.fieldnames or ()):
                continue
            by_series: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
            for row in rows:
                if not row["series"].endswith(SUSPECT):
                    by_series[row["dataset"], row["series"]].append(row)
        observed += [_observed(rows) for rows in by_series.values()]
    return observed


def scaling_quality(observed: Sequence[Observed], extrap: str | None, least_sizes: int) -> None:
    """Errors and decisions of every model by every protocol."""
    for protocol, split in PROTOCOLS.items():
        todo = evaluation.tasks(observed, split, least_sizes)
        actual = np.concatenate([task.actual for task in todo])
        own = forecasts(todo)
        answers = {"MODAK": [one.value for one in own], "MODAK, no node counts": [one.value for one in forecasts(_blind(todo))]}
        if protocol != "each inner size":
            answers["MODAK, with relatives"] = [one.value for one in with_relatives(todo, observed, own)]
        for name, model in BASELINES.items():
            answers[name] = [model(np.array(t.shown.sizes), np.array(t.shown.costs), np.array(t.asked)) for t in todo]
        if extrap:
            answers["Extra-P"] = ask_extrap(extrap, todo)
            answers["Extra-P, of the work"] = ask_extrap(extrap, todo, power=1)
        say(f"\n{protocol}: {len(todo)} tasks, {len(actual)} predictions; absolute percentage error")
        say(f"{'model':24} {'median':>7} {'p90':>7} {'>100 %':>7} {'<= 0':>6} {'size that keeps 75 %':>21}")
        for name, values in answers.items():
            found = evaluation.summarise(actual, np.concatenate(values))
            right = evaluation.decisions(todo, observed, values)
            figures = (100 * found.median, 100 * found.p90, 100 * found.off_by_double, 100 * found.non_positive, 100 * right)
            say("{:24} {:7.1f} {:7.1f} {:7.1f} {:6.1f} {:19.1f} %".format(name, *figures))
        _by_collection(todo, observed, np.concatenate(answers["MODAK"]), actual)


def ask_extrap(python: str, todo: Sequence[Task], power: int = 0) -> list[Array]:
    """Extra-P's predictions, from another environment: of models of costs, or (``power`` 1) of costs times sizes.

    Both are divided by their first value, because Extra-P's search depends on the scale.
    """
    shown = [(np.array(task.shown.sizes), np.array(task.shown.costs)) for task in todo]
    relative = [costs / costs[0] * (sizes / sizes[0]) ** power for sizes, costs in shown]
    questions = [[task.shown.sizes, list(values), task.asked] for task, values in zip(todo, relative, strict=True)]
    worker = str(Path(__file__).with_name("extrap_worker.py"))
    done = subprocess.run([python, worker], input=json.dumps(questions), capture_output=True, text=True, check=True)  # noqa: S603
    return [
        np.array(row) * costs[0] * (sizes[0] / np.array(task.asked)) ** power
        for row, task, (sizes, costs) in zip(json.loads(done.stdout), todo, shown, strict=True)
    ]


def calibrate(observed: Sequence[Observed]) -> Calibration:
    """The constants of :mod:`modak.perfmodel.intervals`, from all series with three sizes or more."""
    return Judged(observed).calibration(None)


def calibrations(observed: Sequence[Observed]) -> dict[str, dict[str, Calibration]]:
    """The constants of the intervals for each collection: those fitted to all others, if these are enough; those that are shipped."""
    collections = sorted({one.collection for one in observed})
    shipped = {"as shipped": dict.fromkeys(collections, intervals.PUBLISHED)}
    judged = Judged(observed)
    if not all(map(judged.can_do, collections)):
        return shipped
    return {"unseen collection": {name: judged.calibration(name) for name in collections}, **shipped}


class Judged:
    """The data for a calibration: forecasts of all kinds, their errors, and the collections of their series."""

    def __init__(self, observed: Sequence[Observed]) -> None:
        outer = evaluation.tasks(observed, every_prefix, least_sizes=3)
        inner = evaluation.tasks(observed, evaluation.each_inner, least_sizes=4)
        alone, between = forecasts(outer), forecasts(inner)
        together = with_relatives(outer, observed, alone)
        helped = [k for k, one in enumerate(together) if one.relatives]
        self.error_known = np.concatenate([~np.isnan(answer.error) for answer in alone])
        """Whether the forecasts ``outside`` have a validation error: their series show three sizes or more."""
        self.kinds = {
            "outside": self._table(observed, outer, alone),
            "inside": self._table(observed, inner, between),
            "pooled": self._table(observed, [outer[k] for k in helped], [together[k] for k in helped]),
        }

    def can_do(self, without: str) -> bool:
        """Whether there are forecasts of all kinds for other collections."""
        return all((names != without).any() for *_, names in self.kinds.values())

    def calibration(self, without: str | None) -> Calibration:
        """Fitted to all collections but one."""
        widths = {kind: self._width(kind, without) for kind in self.kinds}
        rows, miss, weight, names = self.kinds["outside"]
        seen = (names != without) & self.error_known
        shape = fit_shape(np.abs(miss[seen]) / intervals.beyond_sizes(rows[seen], widths["outside"]), weight[seen])
        return Calibration(shape=shape, **widths)

    def _width(self, kind: str, without: str | None) -> tuple[float, ...]:
        rows, miss, weight, names = self.kinds[kind]
        seen = names != without
        return fit_width(rows[seen], miss[seen], weight[seen])

    def _table(self, observed: Sequence[Observed], todo: Sequence[Task], answers: Sequence[Forecast]) -> tuple[Array, Array, Array, Any]:
        """Feature rows, errors, weights and collections. All series have equal weight, whatever their number of predictions."""
        if not todo:
            return np.empty((0, len(intervals.FEATURES))), np.empty(0), np.empty(0), np.empty(0, dtype=str)
        per_series = Counter(place for task in todo for place in [task.place] * len(task.asked))
        rows = np.vstack([intervals.features(answer) for answer in answers])
        names = np.array([observed[task.place].collection for task in todo for _ in task.asked])
        weight = np.array([1 / per_series[task.place] for task in todo for _ in task.asked])
        return rows, misses(todo, answers), weight / weight.mean(), names


def interval_quality(observed: Sequence[Observed]) -> None:
    """Coverage and width at 90 %, as shipped and leaving one collection out; the width by doublings and by disagreement."""
    chosen = calibrations(observed)
    short_series(observed, chosen)
    for protocol, pooled in (("largest two", False), ("smaller half", False), ("each inner size", False), ("largest two", True)):
        todo = evaluation.tasks(observed, PROTOCOLS[protocol])
        answers = forecasts(todo)
        if pooled:
            answers = with_relatives(todo, observed, answers)
        names = [observed[task.place].collection for task in todo for _ in task.asked]
        miss = misses(todo, answers)
        each: list[intervals.HalfWidths] = []
        for title, of_collection in chosen.items():
            each = [
                intervals.half_widths(one, calibration=of_collection[observed[task.place].collection])
                for one, task in zip(answers, todo, strict=True)
            ]
            found = evaluation.coverage(miss, intervals.HalfWidths.joined(each), names)
            by = ", ".join(f"{name} {100 * part:.0f}" for name, part in found.by_collection.items())
            what = f"{protocol}{', with relatives' if pooled else ''}; {title}"
            say(f"\n90 % intervals, {what}: coverage {100 * found.overall:.1f} %, median half-width x{found.median_width:.2f}; {by}")
        width = intervals.HalfWidths.joined(each)
        say(f"  slower than that {100 * np.mean(miss > width.above):.1f} %, faster {100 * np.mean(miss < -width.below):.1f} %")
        doublings = np.concatenate([one.doublings.ravel() for one in answers])
        disagreement = np.concatenate([one.disagreement.ravel() for one in answers])
        for by_what, edges, name in ((doublings, DOUBLINGS, "doublings"), (disagreement, DISAGREEMENT, "disagreement")):
            ends = pairwise((-np.inf, *edges, np.inf))
            for one in evaluation.bins(miss, width, by_what, edges, [f"{low:g} <= {name} < {high:g}" for low, high in ends]):
                held = f"coverage {100 * one.coverage:3.0f} %"
                say(f"  {one.name:32} n {one.count:4d}  width x{one.median_width:5.2f}  {held}  median error {100 * one.median_error:.1f}")


def short_series(observed: Sequence[Observed], chosen: Mapping[str, Mapping[str, Calibration]]) -> None:
    """Coverage of predictions from the first one, two, … sizes of longer series, by doublings: for users with few results."""
    todo = evaluation.tasks(observed, every_prefix, least_sizes=3)
    answers = forecasts(todo)
    say("\n90 % intervals beyond the first sizes of a series, by doublings: predictions, coverage, of which slower, width")
    for sizes, (title, of_collection) in product(SHORT_SIZES, chosen.items()):
        pairs = [(task, answer) for task, answer in zip(todo, answers, strict=True) if len(task.shown.sizes) == sizes]
        if not pairs:
            continue
        miss = misses(*zip(*pairs, strict=True))
        far = np.concatenate([answer.doublings.ravel() for _, answer in pairs])
        each = [intervals.half_widths(answer, calibration=of_collection[observed[task.place].collection]) for task, answer in pairs]
        width, cells = intervals.HalfWidths.joined(each), []
        for low, high in zip(DOUBLINGS, (*DOUBLINGS[1:], np.inf), strict=True):
            here = (far >= low) & (far < high)
            if not here.any():
                cells.append(f"{0:4d}{'':24}")
                continue
            held, slower = 100 * width.holds(miss)[here].mean(), 100 * (miss > width.above)[here].mean()
            cells.append(f"{here.sum():4d} {held:5.1f} % ({slower:4.1f} %) x{np.exp(np.median(width.middle[here])):.2f}")
        say(f"{sizes} sizes, {title:18} {'  |  '.join(cells)}")


def signed_errors(observed: Sequence[Observed]) -> None:
    """Mean and median of log(measured cost / forecast cost) by doublings beyond three sizes or more, for each collection.

    Every series has equal weight in a mean.
    """
    todo = [task for task in evaluation.tasks(observed, every_prefix) if len(task.shown.sizes) >= LEAST_SHOWN]
    answers = forecasts(todo)
    miss, far = misses(todo, answers), np.concatenate([one.doublings.ravel() for one in answers])
    owners = np.array([task.place for task in todo for _ in task.asked])
    names = np.array([observed[place].collection for place in owners])
    say("\nlog of measured over forecast cost by doublings beyond the sizes shown: predictions, mean, median (positive: slower)")
    for name in ("all", *np.unique(names)):
        cells = []
        for low, high in zip(DOUBLINGS, (*DOUBLINGS[1:], np.inf), strict=True):
            here = (far >= low) & (far < high) & ((names == name) | (name == "all"))
            per_series = Counter(owners[here])
            if not here.any():
                cells.append(f"{0:4d}{'':14}")
                continue
            mean = np.average(miss[here], weights=[1 / per_series[owner] for owner in owners[here]])
            cells.append(f"{here.sum():4d} {mean:+.3f} {np.median(miss[here]):+.3f}")
        say(f"{name:24} {'  |  '.join(cells)}")


def _by_collection(todo: Sequence[Task], observed: Sequence[Observed], predicted: Array, actual: Array) -> None:
    names = np.array([observed[task.place].collection for task in todo for _ in task.asked])
    parts = []
    for name in np.unique(names):
        found = evaluation.summarise(actual[names == name], predicted[names == name])
        parts.append(f"{name} {100 * found.median:.1f}/{100 * found.p90:.0f}")
    say("MODAK by collection (median/p90): " + ", ".join(parts))


def _observed(rows: Sequence[dict[str, str]]) -> Observed:
    costs: dict[float, list[float]] = defaultdict(list)
    nodes: dict[float, str] = {}
    for row in rows:
        value = float(row["value"])
        costs[float(row["p"])].append(1 / value if row["higher_better"] == "1" else value)
        nodes[float(row["p"])] = row.get("nodes") or ""
    sizes, unit = tuple(sorted(costs)), rows[0].get("scale_unit") or "nodes"
    if unit in PART_OF_A_NODE and not any(nodes.values()):
        nodes = dict.fromkeys(nodes, "1")
    known = all(nodes[size] for size in sizes)
    counts = tuple(int(float(nodes[size])) for size in sizes) if known else None
    series = Series(sizes, tuple(median(costs[size]) for size in sizes), counts, unit not in NOT_CORES)
    return Observed(series, rows[0]["dataset"], rows[0]["app"])


def _blind(todo: Sequence[Task]) -> list[Task]:
    return [replace(task, shown=replace(task.shown, nodes=None), nodes=None) for task in todo]


if __name__ == "__main__":
    assert len(KNOTS) == len(intervals.PUBLISHED.shape)  # noqa: S101
    main()
