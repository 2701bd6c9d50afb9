"""Answers against the truth: training on GPUs whose speed is a known law, of which MODAK sees a few noisy runs.

python -m benchmarks.training_worlds

Each world is one network on a cluster of 23 nodes with four GPUs. A step takes a batch on each GPU: its time is a sum of work, which falls
with half precision and a graph compiler, and of messages within and between nodes, with constants drawn at random; reading the data may
limit a node. One to three campaigns of runs tell of it, each in its own words: rates, times of epochs or of whole runs, with or without
precision, samples of an epoch, ranks, GPUs. Every time that :func:`modak.optimise.recommend` tells is compared with that of a new run.
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
from benchmarks.worlds import Truth, compared, row
from modak.dsl import Choice, Request
from modak.facts import Accelerator, Facts, Layout, Processor, Result, SeriesKey, System
from modak.knowledge import packaged_root, read_all
from modak.normalise import normalise
from modak.optimise import recommend
from modak.perfmodel import fit

WORLDS: Final = 150
QUESTIONS: Final = 4
SYSTEM: Final = "skylake-bronze-1080ti"
GPUS: Final = 4
SAMPLES: Final = 20_000_000
"""Of an epoch."""
FILLING: Final = tuple((1, gpus) for gpus in (1, 2, 4))
"""Nodes, and GPUs on each."""
LAYOUTS: Final = (
    FILLING,
    (*FILLING, (2, 4), (4, 4)),
    tuple((nodes, 4) for nodes in (1, 2, 4)),
    tuple((nodes, 4) for nodes in (2, 4, 8, 16)),
    tuple((nodes, gpus) for nodes in (1, 2, 4) for gpus in (2, 4)),
    ((1, 2), (2, 4)),
)


@dataclass(frozen=True)
class Law:
    """The rate of a training in samples a second: constants of one world."""

    rate: float
    """Of one GPU in single precision, if its batch is large."""
    half: float
    """The batch of a GPU with half of that rate."""
    amp: float
    """Factor of the rate in half precision, and the next with a graph compiler."""
    xla: float
    inside: float
    """Seconds of a step for each doubling of GPUs in a node, and the next of nodes."""
    between: float
    network: float
    """Seconds of a step on many nodes."""
    reading: float
    """The most samples a second that a node reads."""
    start_up: float
    noise: float
    """Standard deviation of the log of a run's time."""
    batch: int
    """Of a GPU, where results and request do not say it."""

    def samples_per_second(self, nodes: int, gpus: int, batch: int, *, amp: bool, xla: bool) -> float:
        """In one configuration."""
        step = (batch + self.half) / (self.rate * (self.amp if amp else 1) * (self.xla if xla else 1))
        step += self.inside * math.log2(gpus) + self.between * math.log2(nodes) + self.network * (1 - 1 / nodes)
        rate, most = nodes * gpus * batch / step, nodes * self.reading
        return float(rate / (1 + (rate / most) ** 4) ** 0.25)

    def run(self, chance: np.random.Generator, value: float) -> float:
        """What one run measures."""
        return float(value * math.exp(chance.normal(0, self.noise)))


def main(worlds: int = WORLDS) -> None:
    """Print what the answers are worth."""
    known = facts()
    told: dict[str, list[Truth]] = defaultdict(list)
    lost: list[float] = []
    for seed in range(worlds):
        for truths, regret in answers(seed, known):
            for one in truths:
                told[one.basis].append(one)
            lost.append(regret)
    say(f"{worlds} worlds; times predicted, by basis: errors of log time, and new runs in the 90 % interval, beyond it, beyond twice of it")
    for basis in sorted(told):
        say(f"{basis:14} {row(told[basis])}")
    say("\ntime, or node-hours, of the choice over those of the best configuration that the answer tells of, minus one, per cent")
    loss = 100 * (np.array(lost) - 1)
    p95, p99 = np.quantile(loss, (0.95, 0.99))
    say(f"{len(loss):5} answers: mean {loss.mean():5.1f}, p95 {p95:6.1f}, p99 {p99:6.1f}, worst {loss.max():6.1f}")


def answers(seed: int, facts: Facts) -> Iterator[tuple[list[Truth], float]]:
    """Of each request in one world: the predictions beside runs, and what is minimised, of the choice over the best one told."""
    chance = np.random.default_rng(seed)
    law = drawn(chance)
    says_batch, says_gpus = chance.random() < 0.6, chance.random() < 0.85
    results = [one for _ in range(int(chance.choice([1, 1, 2, 3]))) for one in _campaign(law, chance, says_batch, says_gpus)]
    known = replace(facts, version=f"world {seed}", models=fit(results), tried=tuple(results))
    for number in range(QUESTIONS):
        epochs, node_hours = int(chance.choice([5, 90])), bool(number % 2)
        request = _request(law, chance, epochs, says_batch=says_batch, says_gpus=says_gpus, node_hours=node_hours)
        choices = [one for one in recommend(request, known).choices if one.prediction.value]
        if not choices:
            continue
        times = [_time(one, law, epochs) for one in choices]
        goals = [time * (one.configuration.nodes if node_hours else 1) for time, one in zip(times, choices, strict=True)]
        new = np.random.default_rng((seed, number))  # of its own: questions do not depend on how many choices are told
        runs = (compared(one.prediction, _run(one, law, time, new)) for one, time in zip(choices, times, strict=True))
        yield [one for one in runs if one], goals[0] / min(goals)


def drawn(chance: np.random.Generator) -> Law:
    """A law of random constants."""
    rate = math.exp(chance.uniform(math.log(100), math.log(2000)))
    step = 64 / rate
    return Law(
        rate=rate,
        half=float(chance.uniform(2, 30)),
        amp=float(chance.uniform(1.1, 2.8)),
        xla=float(chance.choice([0.95, 1.05, 1.2, 1.4])),
        inside=step * float(chance.choice([0.005, 0.02, 0.06])),
        between=step * float(chance.choice([0.01, 0.04, 0.1])),
        network=step * float(chance.choice([0, 0.05, 0.3])),
        reading=rate * GPUS * float(chance.choice([0.9, 2, 10, 10])),
        start_up=float(chance.uniform(20, 60)),
        noise=float(chance.choice([0.01, 0.02, 0.03])),
        batch=int(chance.choice([32, 64, 128])),
    )


def _campaign(law: Law, chance: np.random.Generator, says_batch: bool, says_gpus: bool) -> Iterator[Result]:
    """Runs that one person made, who describes all of them in the same way."""
    metric = str(chance.choice(["rate", "epoch", "whole", "both"]))
    says_single, says_samples, says_ranks = chance.random(3) < 0.5
    precisions = [(False,), (True,), (False, True)][int(chance.choice(3, p=[0.5, 0.25, 0.25]))]
    compilers = [(False,), (True,), (False, True)][int(chance.choice(3, p=[0.6, 0.15, 0.25]))]
    several = says_batch and chance.random() < 0.5
    batches = sorted(chance.choice([16, 32, 64, 128, 256], 2, replace=False).tolist()) if several else [law.batch]
    layouts, epochs = LAYOUTS[int(chance.integers(len(LAYOUTS)))], int(chance.choice([5, 20]))
    params = {"samples": str(SAMPLES)} if says_samples else {}
    params |= {"epochs": str(epochs)} if metric in ("whole", "both") else {}
    params |= {"amount": f"{epochs * SAMPLES} samples"} if metric == "both" else {}
    for amp in precisions:
        for xla in compilers:
            labels: dict[str, Any] = {"application": "net", "system": SYSTEM, "framework": "tensorflow", "params": params}
            labels |= {"precision": "amp" if amp else "fp32" if says_single else None, "compiler": "xla" if xla else None}
            for batch in batches:
                for nodes, gpus in layouts if says_gpus else sorted({(nodes, GPUS) for nodes, _ in layouts}):
                    rate = law.run(chance, law.samples_per_second(nodes, gpus, batch, amp=amp, xla=xla))
                    counts = {"gpus_per_node": gpus, "ranks_per_node": gpus if says_ranks else None} if says_gpus else {}
                    layout = Layout(nodes=nodes, batch_size=batch if says_batch else None, **counts)
                    if metric in ("rate", "both"):
                        yield _result(labels, layout, "throughput", "samples/s", rate)
                    if metric == "epoch":
                        yield _result(labels, layout, "epoch_time", "s", SAMPLES / rate)
                    if metric in ("whole", "both"):
                        yield _result(labels, layout, "wall_time", "s", law.start_up + epochs * SAMPLES / rate)


def _result(labels: dict[str, Any], layout: Layout, metric: str, unit: str, value: float) -> Result:
    return Result(series=SeriesKey(metric=metric, unit=unit, **labels), layout=layout, value=value)


def _request(law: Law, chance: np.random.Generator, epochs: int, *, says_batch: bool, says_gpus: bool, node_hours: bool) -> Request:
    """Precision, graph compiler, batch size, GPUs and nodes are given, or left open; a batch or GPUs that results leave open are theirs."""
    work = {"application": "net", "epochs": epochs, "samples": SAMPLES}
    work |= [{}, {"precision": "fp32"}, {"precision": "amp"}, {"precision": "auto"}][int(chance.choice(4))]
    batch = int(chance.choice([0, 32, 64, 256] if says_batch else [0, law.batch]))
    work |= {"batch_size": batch} if batch else {}
    switched: tuple[dict[str, Any], ...] = ({}, {"xla": True}, {"xla": False}, {"xla": "auto"})
    xla = switched[int(chance.choice(4))]
    gpus, nodes = int(chance.choice([0, 0, 1, 4] if says_gpus else [0, GPUS])), int(chance.choice([0, 0, 0, 1, 2, 8]))
    options = ({"request_gpus": gpus} if gpus else {}) | ({"node_count": nodes} if nodes else {})
    training = {"config": {"distributed_training": True}, "tensorflow": {"distribution": "horovod", **xla}}
    asked = {"app_type": "ai_training", "ai_training": training, "workload": work}
    asked |= {"objective": {"minimise": "node_hours" if node_hours else "time"}}
    job = {"application": {"app_tag": "net", "app_type": "python"}, "target": {"name": SYSTEM}, "optimisation": asked}
    return normalise({"job": {**job, **({"job_options": options} if options else {})}}).request


def _time(choice: Choice, law: Law, epochs: int) -> float:
    """Seconds of the run without its start-up."""
    chosen = choice.configuration
    gpus, batch = chosen.gpus_per_node or GPUS, chosen.batch_size or law.batch
    rate = law.samples_per_second(chosen.nodes, gpus, batch, amp=chosen.precision == "amp", xla=chosen.compiler == "xla")
    return epochs * SAMPLES / rate


def _run(choice: Choice, law: Law, time: float, chance: np.random.Generator) -> float:
    """Seconds of one run, with its start-up if the answer's time has one."""
    told = choice.prediction
    return law.run(chance, time) + (law.start_up if told.start_up or told.per == "run" else 0)


def facts() -> Facts:
    """The packaged systems and hardware, of which no results are known."""
    entries: Sequence[object] = read_all(packaged_root()).entries
    return Facts(
        version="worlds",
        systems={one.name: one for one in entries if isinstance(one, System)},
        processors={one.name: one for one in entries if isinstance(one, Processor)},
        accelerators={one.name: one for one in entries if isinstance(one, Accelerator)},
    )


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    main()
