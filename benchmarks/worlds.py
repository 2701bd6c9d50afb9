"""Answers against the truth: programs whose run time is a known law, of which MODAK sees a few noisy runs.

python -m benchmarks.worlds

Each world is one MPI program on a cluster of 64 nodes with 40 cores. Its time is a sum of work (bound by cores or by memory), of messages
and of a serial part, with constants drawn at random; some of its layouts, builds, problem sizes and numbers of nodes were run. Requests are
answered by :func:`modak.optimise.recommend`, and every time that it tells is compared with that of a new run.
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from benchmarks.output import say
from modak.dsl import Choice, Prediction, Request
from modak.errors import Infeasible
from modak.facts import Facts, Layout, Result, SeriesKey, System
from modak.knowledge import packaged_root, read_all
from modak.normalise import normalise
from modak.optimise import recommend
from modak.perfmodel import fit

WORLDS: Final = 200
SYSTEM: Final = "intel-xeon-gold-6148"
NODES, CORES, DOMAINS = 64, 40, 2
LAYOUTS: Final = ((1, 40), (2, 20), (4, 10), (8, 5), (20, 2), (40, 1))
SIZES: Final = (16, 32, 64, 128, 256)
"""Problem sizes in millions of cells."""
STEPS: Final = 1000
QUESTIONS: Final = 4


@dataclass(frozen=True)
class Law:
    """The time of a program in seconds: constants of one world."""

    work: float
    """Core-seconds of a step for a million cells."""
    power: float
    """Of the problem size."""
    saturated: float
    """Cores that saturate the memory of a node."""
    per_thread: float
    """Work that each further thread of a rank adds."""
    latency: float
    surface: float
    all_to_all: float
    serial: float
    builds: tuple[float, ...]
    noise: float
    """Standard deviation of the log of a run's time."""

    def time(self, nodes: int, layout: tuple[int, int], size: int, build: int) -> float:
        """Of a whole run."""
        ranks, threads = layout
        cores = ranks * threads
        used = cores / (1 + (cores / self.saturated) ** 3) ** (1 / 3)
        waste = (1 + self.per_thread * (threads - 1)) * (1.25 if threads > CORES // DOMAINS else 1.0)
        step = self.work * size**self.power / (nodes * used) * waste * self.builds[build] + self.serial
        total = nodes * ranks
        if total > 1:
            far = 1.0 if nodes > 1 else 0.3
            step += far * (self.latency * math.log2(total) + self.surface * (size / total) ** (2 / 3) + self.all_to_all * total)
        return float(STEPS * step)

    def run(self, chance: np.random.Generator, time: float) -> float:
        """The time of one run."""
        return float(time * math.exp(chance.normal(0, self.noise)))


@dataclass(frozen=True)
class Truth:
    """One prediction beside a run: its basis, and logs of the run's time over the predicted one and over the ends of the interval."""

    basis: str
    error: float
    above: float
    below: float


def main(worlds: int = WORLDS) -> None:
    """Print what the answers are worth."""
    facts = systems()
    told: dict[str, list[Truth]] = defaultdict(list)
    lost: dict[str, list[float]] = defaultdict(list)
    for seed in range(worlds):
        for kind, truths, regret in answers(seed, facts):
            for one in truths:
                told[one.basis].append(one)
            lost[kind].append(regret)
    say(f"{worlds} worlds; times predicted, by basis: errors of log time, and new runs in the 90 % interval, beyond it, beyond twice of it")
    for basis in sorted(told):
        say(f"{basis:14} {row(told[basis])}")
    say("\ntime of the chosen layout and build over that of the best one that was run, at the chosen nodes, minus one, per cent")
    for kind, regrets in lost.items():
        loss = 100 * (np.array(regrets) - 1)
        p95, p99 = np.quantile(loss, (0.95, 0.99))
        say(f"{kind:24} {len(loss):4} answers: mean {loss.mean():5.1f}, p95 {p95:6.1f}, p99 {p99:6.1f}, worst {loss.max():6.1f}")


def answers(seed: int, facts: Facts) -> Iterator[tuple[str, list[Truth], float]]:
    """Of each request in one world: what is asked, the predictions beside runs, and the time of the choice over the best possible one."""
    chance = np.random.default_rng(seed)
    law, results, ways = _world(chance)
    known = replace(facts, version=f"world {seed}", models=tuple(fit(results)))
    measured = sorted({int(one.series.params["cells"]) // 1_000_000 for one in results})
    for number in range(QUESTIONS):
        size, nodes = int(chance.choice(measured)), int(chance.integers(1, NODES + 1))
        limits: dict[str, Any] = {"job_options": {"node_count": nodes}} if number % 2 else {}
        kind = "nodes given" if number % 2 else "nodes open"
        request = _request(size, limits, "time" if number < 2 else "node_hours")
        try:
            choices = recommend(request, known).choices
        except Infeasible:
            continue
        times = [law.time(choice.configuration.nodes, *_way(choice, size)) for choice in choices]
        new = np.random.default_rng((seed, number))  # of its own: questions do not depend on how many choices are told
        runs = (compared(choice.prediction, law.run(new, time)) for choice, time in zip(choices, times, strict=True))
        truths = [one for one in runs if one]
        chosen = choices[0].configuration
        best = min(law.time(chosen.nodes, layout, size, build) for layout, build in ways)
        yield kind, truths, law.time(chosen.nodes, *_way(choices[0], size)) / best


def drawn(chance: np.random.Generator) -> Law:
    """A law of random constants."""
    step = math.exp(chance.uniform(math.log(0.1), math.log(5)))  # of 64 million cells on one node
    return Law(
        work=step * CORES / 64,
        power=float(chance.choice([1.0, 1.0, 1.05, 1.2])),
        saturated=CORES * float(chance.uniform(0.3, 3)),
        per_thread=float(chance.choice([0, 0.01, 0.03])),
        latency=step * 0.002 * float(chance.lognormal(0, 1)),
        surface=step * 0.0013 * float(chance.lognormal(0, 1)),
        all_to_all=step * float(chance.choice([0, 0, 1e-4])),
        serial=step * float(chance.choice([0, 0, 0.003, 0.01])),
        builds=(1.0, float(chance.lognormal(-0.05, 0.12))),
        noise=float(chance.choice([0.02, 0.03, 0.05])),
    )


def _world(chance: np.random.Generator) -> tuple[Law, list[Result], list[tuple[tuple[int, int], int]]]:
    """A law, the runs of it that are known, and the layouts and builds among these."""
    law = drawn(chance)
    layouts = [LAYOUTS[at] for at in chance.choice(len(LAYOUTS), int(chance.integers(1, 5)), replace=False)]
    sizes = [int(one) for one in chance.choice(SIZES, int(chance.integers(1, 4)), replace=False)]
    results, ways = list[Result](), dict[tuple[tuple[int, int], int], None]()
    for place, size in enumerate(sizes):
        for build in range(int(chance.integers(1, 3))):
            for at, layout in enumerate(layouts):
                if at and place and chance.random() < 0.4:
                    continue
                ways[(layout, build)] = None
                results += [_result(law, chance, nodes, layout, size, build) for nodes in _numbers(chance)]
    return law, results, list(ways)


def _numbers(chance: np.random.Generator) -> Sequence[int]:
    """The numbers of nodes of runs: powers of two from one on, a few of these, a cluster of them, any, or a single one."""
    powers = [2**exponent for exponent in range(7)]
    match int(chance.choice(5, p=(0.35, 0.25, 0.15, 0.15, 0.1))):
        case 0:
            return powers[: int(chance.integers(3, 8))]
        case 1:
            return sorted(chance.choice(powers, int(chance.integers(2, 4)), replace=False).tolist())
        case 2:
            first = int(chance.integers(0, 5))
            return powers[first : first + 3]
        case 3:
            return sorted(set(chance.integers(1, NODES + 1, size=4).tolist()))
        case _:
            return [int(chance.choice(powers))]


def _result(law: Law, chance: np.random.Generator, nodes: int, layout: tuple[int, int], size: int, build: int) -> Result:
    params = {"cells": str(size * 1_000_000), "steps": str(STEPS)}
    key = SeriesKey(application="solver", system=SYSTEM, compiler=f"build-{build}", metric="wall_time", unit="s", params=params)
    there = Layout(nodes=nodes, ranks_per_node=layout[0], threads_per_rank=layout[1])
    return Result(series=key, layout=there, value=law.run(chance, law.time(nodes, layout, size, build)))


def _request(size: int, limits: dict[str, Any], minimise: str) -> Request:
    work = {"application": "solver", "steps": STEPS, "params": {"cells": size * 1_000_000}}
    asked = {"app_type": "hpc", "hpc": {"mpi": {}}, "workload": work, "objective": {"minimise": minimise}}
    job = {"application": {"app_tag": "solver", "app_type": "mpi"}, "target": {"name": SYSTEM}, "optimisation": asked, **limits}
    return normalise({"job": job}).request


def _way(choice: Choice, size: int) -> tuple[tuple[int, int], int, int]:
    """Layout, problem size and build of a choice."""
    chosen = choice.configuration
    return (chosen.ranks_per_node, chosen.threads_per_rank), size, int((chosen.compiler or "build-0")[-1])


def compared(told: Prediction, time: float) -> Truth | None:
    """A prediction beside a run; ``None``: nothing was predicted."""
    if told.value is None or told.lower is None or told.upper is None:
        return None
    return Truth(told.basis, math.log(time / told.value), math.log(told.upper / told.value), math.log(told.value / told.lower))


def row(truths: Sequence[Truth]) -> str:
    """The figures of predictions of one basis, in words."""
    error = np.array([one.error for one in truths])
    reach = np.array([one.above if one.error > 0 else one.below for one in truths])
    parts = {"in it": np.abs(error) <= reach, "slower": error > reach, "faster": error < -reach, "beyond twice": np.abs(error) > 2 * reach}
    shares = ", ".join(f"{name} {100 * part.mean():4.1f} %" for name, part in parts.items())
    return f"{len(truths):5} times: median {np.median(np.abs(error)):.3f}, mean {error.mean():+.3f}; {shares}"


def systems() -> Facts:
    """The packaged systems, of which no results are known."""
    return Facts(version="worlds", systems={one.name: one for one in read_all(packaged_root()).entries if isinstance(one, System)})


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    main()
