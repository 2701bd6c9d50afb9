"""Runs that MODAK plans, until it plans no more: what its choice loses after each round, against programs whose run time is a known law.

python -m benchmarks.campaigns

Nothing is known of a hybrid MPI program at first, and its layout and number of nodes are open. Each round plans runs, "runs" them, loads
their times and asks for the configuration: for the least time on a number of nodes, or for the fewest node-hours within a deadline. Its
true time or node-hours are compared with those of the best of all configurations. The laws are those of :mod:`benchmarks.worlds`, of one
problem size and one build, with times of minutes to hours.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np

from benchmarks.output import say
from benchmarks.worlds import CORES, NODES, SYSTEM, Law, drawn, systems
from modak.dsl import Configuration, Request
from modak.errors import Infeasible
from modak.facts import Facts, Layout, Result, SeriesKey
from modak.nextruns import next_runs
from modak.normalise import normalise
from modak.optimise import recommend
from modak.perfmodel import fit

WORLDS: Final = 60
ROUNDS: Final = 5
RANKS: Final = (1, 2, 4, 5, 8, 10, 20, 40)
"""Ranks per node of all layouts, which fill the cores of a node."""
SIZE: Final = 64
"""The problem size, in millions of cells."""
LONGER: Final = 10.0
"""How much longer runs take than those of the law: so that deadlines are minutes."""
SLACK: Final = 1.05
"""A deadline over the least time on some number of nodes: a choice with more doubt than this has to take more nodes."""


class Round(NamedTuple):
    """What is known of a campaign after a round; a loss of NaN: nothing met the deadline by MODAK's own words."""

    loss: float
    late: bool
    runs: int
    goes_on: bool
    """Whether the round had runs."""


def main(worlds: int = WORLDS) -> None:
    """Print what choices lose after each round."""
    facts, found = systems(), defaultdict[tuple[str, int], list[Round]](list)
    for seed in range(worlds):
        for objective, rounds in campaigns(seed, facts):
            for number in range(ROUNDS):
                last = rounds[min(number, len(rounds) - 1)]
                found[objective, number].append(last if number < len(rounds) else last._replace(goes_on=False))
    say(f"{worlds} worlds; time, or node-hours, of the choice over those of the best configuration, minus one, per cent")
    for (objective, number), rounds in sorted(found.items()):
        loss = 100 * np.array([one.loss for one in rounds if not math.isnan(one.loss)])
        p90, p95 = np.quantile(loss, (0.9, 0.95))
        say(
            f"{objective:10} after round {number + 1}: {np.mean([one.runs for one in rounds]):4.1f} runs; {len(loss):3} answers: "
            f"mean {loss.mean():5.1f}, median {np.median(loss):5.1f}, p90 {p90:5.1f}, p95 {p95:5.1f}, worst {loss.max():6.1f}; "
            f"{sum(one.late for one in rounds)} late; {sum(one.goes_on for one in rounds)} had runs"
        )


def campaigns(seed: int, facts: Facts) -> Iterator[tuple[str, list[Round]]]:
    """The rounds of both objectives in one world."""
    facts = replace(facts, version=f"world {seed}")
    chance = np.random.default_rng((seed, 1))
    law = replace(drawn(chance), power=1.0)
    times = {(nodes, ranks): _time(law, nodes, ranks) for nodes in range(1, NODES + 1) for ranks in RANKS}
    most, given = int(chance.choice((4, 8, 16, 32))), int(chance.choice((2, 4, 8, 16)))
    deadline = SLACK * min(time for (nodes, _), time in times.items() if nodes == given)
    least = min(time for (nodes, _), time in times.items() if nodes <= most)
    fewest = min(nodes * time for (nodes, _), time in times.items() if time <= deadline)
    yield "time", _rounds(law, chance, _request({"minimise": "time", "max_nodes": most}), facts, least, None)
    wanted = _request({"minimise": "node_hours", "deadline": f"{deadline:.0f} s"})
    yield "node-hours", _rounds(law, chance, wanted, facts, fewest, deadline)


def _rounds(law: Law, chance: np.random.Generator, request: Request, facts: Facts, best: float, deadline: float | None) -> list[Round]:
    """One campaign. ``best``: the least time in seconds, or with a deadline the fewest node-seconds."""
    results, found = list[Result](), list[Round]()
    while len(found) < ROUNDS and (not found or found[-1].goes_on):
        runs = _planned(request, _with(facts, results))
        results += [_result(law, chance, run) for run in runs]
        loss, late = math.nan, False
        try:
            chosen = recommend(request, _with(facts, results)).choices[0].configuration
        except Infeasible:
            pass
        else:
            time = _time(law, chosen.nodes, chosen.ranks_per_node)
            loss, late = (time if deadline is None else chosen.nodes * time) / best - 1, deadline is not None and time > deadline
        found.append(Round(loss, late, len(results), bool(runs)))
    return found


def _planned(request: Request, facts: Facts) -> list[Configuration]:
    try:
        return [one.choice.configuration for one in next_runs(request, facts).proposals]
    except Infeasible:
        return []


def _with(facts: Facts, results: list[Result]) -> Facts:
    """The facts with the results; of another version, since what is worked out of facts is kept by that."""
    return replace(facts, version=f"{facts.version}: {[one.value for one in results]}", models=tuple(fit(results)))


def _time(law: Law, nodes: int, ranks: int) -> float:
    return LONGER * law.time(nodes, (ranks, CORES // ranks), SIZE, 0)


def _result(law: Law, chance: np.random.Generator, run: Configuration) -> Result:
    key = SeriesKey(application="solver", system=SYSTEM, metric="wall_time", unit="s", mpi=run.mpi, mpi_from=run.mpi_from)
    layout = Layout(nodes=run.nodes, ranks_per_node=run.ranks_per_node, threads_per_rank=run.threads_per_rank)
    return Result(series=key, layout=layout, value=law.run(chance, _time(law, run.nodes, run.ranks_per_node)))


def _request(objective: dict[str, Any]) -> Request:
    asked = {"app_type": "hpc", "hpc": {"mpi": {}, "openmp": {}}, "workload": {"application": "solver"}, "objective": objective}
    target = {"name": SYSTEM, "container_runtime": "none"}
    return normalise({"job": {"application": {"app_tag": "solver", "app_type": "mpi"}, "target": target, "optimisation": asked}}).request


if __name__ == "__main__":
    main()
