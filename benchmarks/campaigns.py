"""Runs that MODAK plans, until it plans no more: what its choice loses after each round, against programs whose run time is a known law.

python -m benchmarks.campaigns

Each round plans runs, "runs" them, loads their times and asks for the configuration. Its true time or node-hours are compared with those of
the best of all configurations, and with what a person finds who doubles the nodes. Nothing is known of a program at first. It is

- hybrid, with MPI and OpenMP, its layout and number of nodes open. The laws are those of :mod:`benchmarks.worlds`, of one problem size and
  one build, with times of minutes to hours; or
- a training on GPUs, which prints its rate. The laws are those of :mod:`benchmarks.training_worlds`, in single precision.

It is asked for the least time on a number of nodes (of the hybrid program), for the least time on all nodes (*open*), and for the fewest
node-hours within a deadline. Of the hybrid program on nodes of too little memory (*limited*), a part of each rank's and of the problem's,
runs fail at once, and are loaded as such.
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np

from benchmarks import training_worlds
from benchmarks.output import say
from benchmarks.worlds import CORES, NODES, SYSTEM, Law, drawn
from modak.dsl import Configuration, Request
from modak.errors import Infeasible
from modak.facts import Facts, FailedRuns, Layout, Result, SeriesKey
from modak.nextruns import next_runs
from modak.normalise import normalise
from modak.optimise import recommend
from modak.perfmodel import fit
from modak.results.failures import OUT_OF_MEMORY

WORLDS: Final = 30
ROUNDS: Final = 10
SHOWN: Final = (1, 2, 3, 5)
"""Rounds whose figures are printed, beside those of the last one."""
RANKS: Final = (1, 2, 4, 5, 8, 10, 20, 40)
"""Ranks per node of all layouts, which fill the cores of a node."""
SIZE: Final = 64
"""The problem size, in millions of cells."""
LONGER: Final = 10.0
"""How much longer runs take than those of the law: so that deadlines are minutes."""
SLACK: Final = 1.05
"""A deadline over the least time on some number of nodes: a choice with more doubt than this has to take more nodes."""
WORTH: Final = 0.5
"""The efficiency below which who doubles the nodes stops."""

Way = tuple[int, int]
"""Nodes, and what else is open: ranks, or GPUs, on each."""


@dataclass(frozen=True)
class Program:
    """A program of a known law on a system."""

    facts: Facts
    request: Callable[[dict[str, Any]], Request]
    """With an objective."""
    times: Mapping[Way, float]
    """The true time of every configuration, in seconds."""
    way: Callable[[Configuration], Way]
    result: Callable[[Configuration, float], Result]
    """Of a run that takes so many seconds."""
    noise: float
    """Standard deviation of the log of a run's time."""
    usual: int
    """What who doubles the nodes takes beside them."""
    failing: frozenset[Way] = frozenset()
    """Configurations that have too little memory."""

    def run(self, chance: np.random.Generator, way: Way) -> float:
        """The time of one run."""
        return float(self.times[way] * math.exp(chance.normal(0, self.noise)))


class Goal(NamedTuple):
    """What is asked for: the least time on at most ``most`` nodes, or with a ``deadline`` in seconds the fewest node-hours."""

    most: float = math.inf
    deadline: float = math.inf

    @property
    def objective(self) -> dict[str, Any]:
        """That of the request."""
        if math.isfinite(self.deadline):
            return {"minimise": "node_hours", "deadline": f"{self.deadline:.0f} s"}
        return {"minimise": "time", **({"max_nodes": int(self.most)} if math.isfinite(self.most) else {})}

    def score(self, way: Way, time: float) -> float:
        """What is minimised: seconds, or node-seconds; infinite if the configuration does not meet the constraint."""
        if way[0] > self.most or time > self.deadline:
            return math.inf
        return self.costs(way, time)

    def costs(self, way: Way, time: float) -> float:
        """The same whatever the constraint is."""
        return way[0] * time if math.isfinite(self.deadline) else time


class Round(NamedTuple):
    """What is known of a campaign after a round; a loss of NaN: nothing met the deadline by MODAK's own words."""

    loss: float
    late: bool
    runs: int
    hours: float
    """Node-hours of all runs so far."""
    failed: int
    """Runs of them that failed."""
    goes_on: bool
    """Whether the round had runs."""


def main(worlds: int = WORLDS) -> None:
    """Print what choices lose after each round."""
    say(f"{worlds} worlds; time, or node-hours, of the choice over those of the best configuration, minus one, per cent")
    facts = training_worlds.facts()
    for kind in (hybrid, training):
        found = defaultdict[str, list[tuple[list[Round], Round]]](list)
        for seed in range(worlds):
            for objective, rounds, doubled in kind(seed, facts):
                found[objective].append((rounds, doubled))
        for objective, played in found.items():
            for number in range(ROUNDS):
                if number + 1 in SHOWN or number + 1 == ROUNDS:
                    name = f"round {number + 1}" if number + 1 < ROUNDS else "the last round"
                    rounds = [each[number] if number < len(each) else each[-1]._replace(goes_on=False) for each, _ in played]
                    say(f"{kind.__name__:8} {objective:10} {name:14}: {_in_words(rounds)}")
            say(f"{kind.__name__:8} {objective:10} {'nodes doubled':14}: {_in_words([doubled for _, doubled in played])}")


def _in_words(rounds: Sequence[Round]) -> str:
    loss = 100 * np.array([one.loss for one in rounds if not math.isnan(one.loss)])
    loss = loss if len(loss) else np.array([math.nan])  # the first runs of all failed
    p90, p95 = np.quantile(loss, (0.9, 0.95))
    return (
        f"{np.mean([one.runs for one in rounds]):4.1f} runs, {np.mean([one.hours for one in rounds]):5.0f} node-hours; "
        f"{np.mean([one.failed for one in rounds]):3.1f} failed; "
        f"{np.isfinite(loss).sum():3} answers: mean {loss.mean():5.1f}, median {np.median(loss):5.1f}, p90 {p90:5.1f}, p95 {p95:5.1f}, "
        f"worst {loss.max():6.1f}; {sum(one.late for one in rounds)} late; {sum(one.goes_on for one in rounds)} had runs"
    )


Played = tuple[str, list[Round], Round]
"""An objective, the rounds of its campaign, and what doubling the nodes finds."""


def hybrid(seed: int, facts: Facts) -> Iterator[Played]:
    """The campaigns of a hybrid MPI program."""
    chance = np.random.default_rng((seed, 1))
    law = replace(drawn(chance), power=1.0)
    times = {(nodes, ranks): _time(law, nodes, ranks) for nodes in range(1, NODES + 1) for ranks in RANKS}

    def result(run: Configuration, time: float) -> Result:
        key = SeriesKey(application="solver", system=SYSTEM, metric="wall_time", unit="s", mpi=run.mpi, mpi_from=run.mpi_from)
        return Result(series=key, layout=_layout(run), value=time)

    facts = replace(facts, version=f"hybrid {seed}")
    program = Program(facts, _request, times, lambda run: (run.nodes, run.ranks_per_node), result, law.noise, max(RANKS))
    most, given = int(chance.choice((4, 8, 16, 32))), int(chance.choice((2, 4, 8, 16)))
    yield _played("time", program, Goal(most=most), chance)
    yield _played("node-hours", program, _deadline(program, given), chance)
    yield _played("open", program, Goal(), chance)
    problem, of_rank = math.exp(chance.uniform(math.log(0.5), math.log(8))), chance.uniform(0.002, 0.02)
    too_large = frozenset(way for way in times if problem / way[0] + of_rank * way[1] > 1)
    limited = replace(program, facts=replace(facts, version=f"limited {seed}"), failing=too_large)
    yield _played("limited", limited, Goal(most=32), chance)


def training(seed: int, facts: Facts) -> Iterator[Played]:
    """Those of a training on GPUs."""
    chance = np.random.default_rng((seed, 3))
    facts = replace(facts, version=f"training {seed}")
    law, samples = training_worlds.drawn(chance), training_worlds.SAMPLES
    ways = [
        (nodes, gpus)
        for nodes in range(1, facts.systems[training_worlds.SYSTEM].default_partition.nodes + 1)
        for gpus in range(1, training_worlds.GPUS + 1)
    ]
    times = {way: samples / law.samples_per_second(*way, law.batch, amp=False, xla=False) for way in ways}

    def result(run: Configuration, time: float) -> Result:
        layout = _layout(run).model_copy(update={"gpus_per_node": run.gpus_per_node, "batch_size": law.batch})
        key = SeriesKey(application="net", system=training_worlds.SYSTEM, framework="tensorflow", metric="throughput", unit="samples/s")
        return Result(series=key, layout=layout, value=samples / time)

    def request(objective: dict[str, Any]) -> Request:
        printed = {"name": "throughput", "unit": "samples/s", "pattern": "rate: ([0-9.]+)"}
        work = {"application": "net", "epochs": 1, "samples": samples, "batch_size": law.batch, "metric": printed}
        learnt = {"config": {"distributed_training": True}, "tensorflow": {"distribution": "horovod"}}
        asked = {"app_type": "ai_training", "ai_training": learnt, "workload": work, "objective": objective}
        return _normalised({"app_tag": "net", "app_type": "python"}, training_worlds.SYSTEM, asked)

    program = Program(facts, request, times, lambda run: (run.nodes, run.gpus_per_node), result, law.noise, training_worlds.GPUS)
    given = int(chance.choice((2, 4, 8, 16)))
    yield _played("node-hours", program, _deadline(program, given), chance)
    yield _played("open", program, Goal(), chance)


def _deadline(program: Program, given: int) -> Goal:
    """The fewest node-hours within a deadline that some configuration on so many nodes meets."""
    return Goal(deadline=SLACK * min(time for (nodes, _), time in program.times.items() if nodes == given))


def _played(name: str, program: Program, goal: Goal, chance: np.random.Generator) -> Played:
    best = min(goal.score(way, time) for way, time in program.times.items() if way not in program.failing)
    return name, list(_rounds(program, goal, chance, best)), _doubled(program, goal, chance.spawn(1)[0], best)


def _rounds(program: Program, goal: Goal, chance: np.random.Generator, best: float) -> Iterator[Round]:
    """One campaign. ``best``: the least time in seconds, or with a deadline the fewest node-seconds."""
    results, failed, request, runs, hours = list[Result](), list[FailedRuns](), program.request(goal.objective), 0, 0.0
    for _ in range(ROUNDS):
        planned = _planned(request, _with(program.facts, results, failed))
        for run in planned:
            time = program.run(chance, program.way(run))
            if program.way(run) in program.failing:
                failed.append(_too_large(program.result(run, time)))
            else:
                results.append(program.result(run, time))
                hours += run.nodes * time / 3600
            runs += 1
        loss, late = math.nan, False
        try:
            chosen = recommend(request, _with(program.facts, results, failed)).choices[0].configuration
        except Infeasible:
            pass
        else:
            way = program.way(chosen)
            late = program.times[way] > goal.deadline
            loss = math.nan if way in program.failing else goal.costs(way, program.times[way]) / best - 1
        yield Round(loss, late, runs, hours, len(failed), bool(planned))
        if not planned:
            return


def _doubled(program: Program, goal: Goal, chance: np.random.Generator, best: float) -> Round:
    """What is found without a model: nodes are doubled from one on, until half of them are wasted; the best of these runs is the choice."""
    times: dict[Way, float] = {}
    way, failed = (1, program.usual), 0
    while way in program.times and way[0] <= goal.most:
        if way in program.failing:
            way, failed = (2 * way[0], program.usual), failed + 1
            continue
        times[way] = program.run(chance, way)
        if min(nodes * time for (nodes, _), time in times.items()) < WORTH * way[0] * times[way]:
            break
        way = (2 * way[0], program.usual)
    hours = sum(nodes * time for (nodes, _), time in times.items()) / 3600
    if not times:
        return Round(math.nan, False, failed, hours, failed, False)
    chosen = min(times, key=lambda way: goal.score(way, times[way]))
    if math.isinf(goal.score(chosen, times[chosen])):
        return Round(math.nan, False, failed + len(times), hours, failed, False)
    loss = goal.costs(chosen, program.times[chosen]) / best - 1
    return Round(loss, program.times[chosen] > goal.deadline, failed + len(times), hours, failed, False)


def _planned(request: Request, facts: Facts) -> list[Configuration]:
    try:
        return [one.choice.configuration for one in next_runs(request, facts).proposals]
    except Infeasible:
        return []


def _with(facts: Facts, results: list[Result], failed: list[FailedRuns]) -> Facts:
    """The facts with the results; of another version, since what is worked out of facts is kept by that."""
    version = f"{facts.version}: {[one.value for one in results]}, {len(failed)}"
    return replace(facts, version=version, models=tuple(fit(results)), failed=tuple(failed))


def _too_large(result: Result) -> FailedRuns:
    """That a run had too little memory, in place of its result."""
    return FailedRuns(series=result.series.model_copy(update={"metric": OUT_OF_MEMORY, "unit": "1"}), layout=result.layout, count=1)


def _time(law: Law, nodes: int, ranks: int) -> float:
    return LONGER * law.time(nodes, (ranks, CORES // ranks), SIZE, 0)


def _layout(run: Configuration) -> Layout:
    return Layout(nodes=run.nodes, ranks_per_node=run.ranks_per_node, threads_per_rank=run.threads_per_rank)


def _request(objective: dict[str, Any]) -> Request:
    asked = {"app_type": "hpc", "hpc": {"mpi": {}, "openmp": {}}, "workload": {"application": "solver"}, "objective": objective}
    return _normalised({"app_tag": "solver", "app_type": "mpi"}, SYSTEM, asked)


def _normalised(application: dict[str, Any], system: str, asked: dict[str, Any]) -> Request:
    target = {"name": system, "container_runtime": "none"}
    return normalise({"job": {"application": application, "target": target, "optimisation": asked}}).request


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    main()
