"""Quality of decisions on public tables: each is made from a part of the measurements, and compared with the best by all of them.

    python -m benchmarks.decision_quality --data DIR

``DIR`` holds the tables that :mod:`benchmarks.model_quality` reads. Every choice is made by the code that makes it in the
product: candidates are scored by :func:`modak.choosing.scoring.score` and ranked by :func:`modak.choosing.objective.rank`, switches
are decided by :func:`modak.choosing.effects.effect`. It is compared with perfect scaling and Amdahl, which have no intervals, and
with always using the largest size.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks import switch_quality
from benchmarks.model_quality import read_scaling
from benchmarks.output import say
from benchmarks.protocols import PROTOCOLS
from modak import perfmodel
from modak.arrays import Array
from modak.choosing import scoring
from modak.choosing.candidates import Candidates
from modak.choosing.counts import StatedCounts
from modak.choosing.objective import Scored, rank, rank_closest
from modak.choosing.shapes import Shape
from modak.choosing.workload import Problem
from modak.dsl import Basis, Objective, Optimisation, Request, Workload
from modak.errors import Infeasible
from modak.facts import Facts, Layout, Result, SeriesKey
from modak.perfmodel.fitting.scaling import Series
from modak.perfmodel.intervals import HalfWidths
from modak.perfmodel.validation import evaluation
from modak.perfmodel.validation.baselines import BASELINES
from modak.perfmodel.validation.evaluation import Observed, Split, Task
from modak.target import Target

FASTEST_S = 5000.0
"""What the fastest run of a series is taken to last: deadlines are whole seconds."""
SLOWEST_S = 30e6
"""What the slowest run is taken to last at most: no request may have a deadline of more than a year."""
DEADLINES = 20
"""Drawn for each task, log-uniformly between the fastest and the slowest measured time."""
FEW = 80
"""Figures of fewer decisions are not printed."""
CONFIDENCE, KEEP = 0.9, 0.75
SYSTEM = "there"
INSIDE: Basis = "interpolated"


@dataclass(frozen=True)
class Case:
    """A series of which a part is hidden: the task, and all its measurements."""

    task: Task
    whole: Series
    relatives: tuple[Series, ...]
    deadlines: Array

    @property
    def sizes(self) -> Array:
        """All sizes that were measured."""
        return np.array(self.whole.sizes)

    @property
    def times(self) -> Array:
        """The measured time of each, in seconds."""
        return np.array(self.whole.costs)


FIGURES = (
    *("met", "met where promised", "met, hidden needed", "the same, promised", "no promise", "node-hours over best"),
    *("75 %: exact", "75 %: within a step"),
)
"""A deadline *needs* a hidden size if no size that is shown meets it; it is *promised* if MODAK says that its choice meets it at the
confidence."""
Decider = Callable[[Case], Scored]


def main() -> None:
    """Read the tables, print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="directory with the public tables")
    wish = parser.parse_args()
    observed = read_scaling(wish.data)
    deciders: dict[str, Decider] = {
        "MODAK": lambda case: predicted(case, ()),
        "MODAK, with relatives": lambda case: predicted(case, case.relatives),
        **{name: baseline(name) for name in ("perfect scaling", "Amdahl")},
        "use everything": everything,
    }
    for protocol, split in PROTOCOLS.items():
        cases = list(read_cases(observed, split))
        say(f"\n{protocol}: {len(cases)} tasks, {DEADLINES} deadlines each; per cent")
        say(("{:24}" + "{:>22}" * len(FIGURES)).format("", *FIGURES))
        for name, decider in deciders.items():
            say(f"{name:24}{judge(cases, decider)}")
    switch_quality.report(wish.data)


def read_cases(observed: Sequence[Observed], split: Split) -> Iterable[Case]:
    """The tasks, in seconds, each with deadlines and the other series of its application."""
    random = np.random.default_rng(0)
    families: dict[tuple[str, str], list[Series]] = defaultdict(list)
    for one in observed:
        families[one.collection, one.application].append(one.series)
    for task in evaluation.tasks(observed, split):
        one = observed[task.place]
        scale = min(FASTEST_S / min(one.series.costs), SLOWEST_S / max(one.series.costs))
        whole = scaled(one.series, scale)
        fastest, slowest = np.log([min(whole.costs), max(whole.costs)])
        deadlines = np.ceil(np.exp(random.uniform(fastest, slowest, DEADLINES)))
        others = tuple(scaled(series, scale) for series in families[one.collection, one.application] if series is not one.series)
        yield Case(replace(task, shown=scaled(task.shown, scale)), whole, others, deadlines)


def scaled(series: Series, factor: float) -> Series:
    """The series with its costs multiplied."""
    return replace(series, costs=tuple(cost * factor for cost in series.costs))


def predicted(case: Case, relatives: Sequence[Series]) -> Scored:
    """MODAK's columns for all sizes, from the sizes that are shown."""
    shown = [place for place, size in enumerate(case.whole.sizes) if size in case.task.shown.sizes]
    results = [
        *as_results(case.whole, 0, shown),
        *(result for number, one in enumerate(relatives, 1) for result in as_results(one, number)),
    ]
    facts = Facts(version="", models=perfmodel.fit(results))
    shapes: dict[Shape, list[int]] = defaultdict(list)
    for place, size in enumerate(case.whole.sizes):
        nodes, gpus = layout_of(case.whole, place, size)
        shapes[Shape(ranks_per_node=1, threads_per_rank=1, gpus_per_node=gpus)].append(nodes)
    request, problem = Request(optimisation=Optimisation(workload=Workload(application="app"))), Problem(params={"series": "0"})
    candidates = Candidates(tuple(shapes), tuple(np.array(nodes) for nodes in shapes.values()), StatedCounts(), problem=problem)
    target = Target(name=SYSTEM)
    scored = scoring.score(request, target, scoring.predict_candidates(request, target, candidates, facts)).scored
    shapes_of = [candidates.shapes[int(shape)].gpus_per_node for shape in scored.shape]
    found = {(gpus, int(nodes)): place for place, (gpus, nodes) in enumerate(zip(shapes_of, scored.nodes, strict=True))}
    order = [found[gpus, nodes] for nodes, gpus in (layout_of(case.whole, k, size) for k, size in enumerate(case.whole.sizes))]
    return columns(case, scored.time[order], scored.width.at(np.array(order)))


def columns(case: Case, time: Array, width: HalfWidths) -> Scored:
    """Times as columns to rank: efficiency is relative to the smallest size."""
    sizes = case.sizes
    count = len(sizes)
    return Scored(
        shape=np.zeros(count, dtype=np.int64),
        nodes=sizes.astype(np.int64),
        time=time,
        width=width,
        doublings=np.zeros(count),
        efficiency=time[0] * sizes[0] / (time * sizes),
        basis=(INSIDE,) * count,
    )


def as_results(series: Series, number: int, places: Iterable[int] | None = None) -> Iterable[Result]:
    """A series (or some places of it) as results of one application; its number tells it from its relatives."""
    key = SeriesKey(application="app", system=SYSTEM, params={"series": str(number)}, metric="wall_time", unit="s")
    for place in range(len(series.sizes)) if places is None else places:
        nodes, gpus = layout_of(series, place, series.sizes[place])
        yield Result(series=key, layout=Layout(nodes=nodes, gpus_per_node=gpus or None), value=series.costs[place])


def layout_of(series: Series, place: int, size: float) -> tuple[int, int]:
    """Nodes, and GPUs (or ranks) in each; sizes that count nodes, or whose nodes are unknown, have no GPUs."""
    nodes = series.nodes[place] if series.nodes and series.nodes != series.sizes else None
    return (int(size), 0) if nodes is None else (nodes, int(size // nodes))


def baseline(name: str) -> Decider:
    """A decider with one of the other models: measured times where they are shown, the model's elsewhere."""
    model = BASELINES[name]

    def decide(case: Case) -> Scored:
        shown, time = case.task.shown, case.times.copy()
        time[np.searchsorted(case.sizes, case.task.asked)] = model(np.array(shown.sizes), np.array(shown.costs), np.array(case.task.asked))
        return columns(case, time, HalfWidths(*np.zeros((2, len(time)))))

    return decide


def everything(case: Case) -> Scored:
    """The largest size and nothing else."""
    time = np.where(case.sizes < case.sizes[-1], 1e12, 1.0)
    return columns(case, time, HalfWidths(*np.zeros((2, len(time)))))


def judge(cases: Sequence[Case], decider: Decider) -> str:
    """Figures of the decisions: deadlines with least node-hours, and the fastest size with 75 % efficiency."""
    met, promises, needed, over, steps = [], [], [], [], []
    for case in cases:
        columns_ = decider(case)
        hindsight = columns(case, case.times, HalfWidths(*np.zeros((2, len(case.sizes)))))
        fastest_shown = min(case.task.shown.costs)
        for deadline in case.deadlines:
            objective = Objective(minimise="node_hours", deadline=int(deadline), confidence=CONFIDENCE)
            chosen, promised = choice(columns_, objective)
            best, _ = choice(hindsight, objective)
            met.append(case.times[chosen] <= deadline)
            promises.append(promised)
            needed.append(deadline < fastest_shown)
            over.append(case.times[chosen] * case.sizes[chosen] / (case.times[best] * case.sizes[best]) - 1)
        keep = Objective(minimise="time", min_efficiency=KEEP)
        steps.append(abs(choice(columns_, keep)[0] - choice(hindsight, keep)[0]))
    kept, sure, hidden = (np.array(each, dtype=bool) for each in (met, promises, needed))
    exact, near = np.array(steps) == 0, np.array(steps) <= 1
    parts = (kept, kept[sure], kept[hidden], kept[hidden & sure], ~sure, over, exact, near)
    figures = [100 * float(np.mean(part)) if len(part) >= FEW else np.nan for part in parts]
    return ("{:22.1f}" * len(FIGURES)).format(*figures)


def choice(scored: Scored, objective: Objective) -> tuple[int, bool]:
    """The chosen place, and whether it is promised to meet the objective; else the closest is taken, as the answer proposes."""
    try:
        return int(rank(scored, objective).order[0]), True
    except Infeasible:
        return rank_closest(scored, objective).best, False


if __name__ == "__main__":
    main()
