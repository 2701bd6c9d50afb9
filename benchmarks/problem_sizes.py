"""Accuracy for problem sizes that nobody ran, on public tables of times over the size of a problem: some sizes are hidden and predicted.

Tables are CSV files with one row for each size of a program: ``origin`` (where it was published), ``series`` (what differs in the size
alone), ``n`` (the size; several numbers with semicolons between them), ``value`` and ``higher_better`` (1 for rates).
"""

from __future__ import annotations

import argparse
import csv
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from benchmarks.output import say
from modak.perfmodel import kriging, problems
from modak.perfmodel.forms import Array
from modak.perfmodel.matching import OTHER_SIZE, WORK_SPREAD, Z90

EXPONENTS = np.arange(0.25, 4.01, 0.25)
MOST_BEYOND = 6
"""Hidden sizes of one number of several that are asked about, at most."""


class Series(NamedTuple):
    """Costs of one program: logs of its sizes ``[k, m]`` and of its costs ``[k]``."""

    origin: str
    sizes: Array
    costs: Array


class Asked(NamedTuple):
    """A hidden size: log ratios of the visible sizes to it ``[k, m]``, their log costs ``[k]``, and its own."""

    away: Array
    costs: Array
    truth: float


Model = Callable[[Array, Array], tuple[float, float]]
"""From log ratios and log costs of visible sizes to a log cost and its standard deviation (NaN: the model gives none)."""


def law(away: Array, costs: Array) -> tuple[float, float]:
    """MODAK: the law over all visible sizes."""
    log_cost, deviation = problems.between(away, costs[:, None], np.full((len(costs), 1), kriging.REPEAT))
    return float(log_cost[0]), float(deviation[0])


def nearest(away: Array, costs: Array) -> tuple[float, float]:
    """The nearest size alone, as it answers where only one was measured."""
    distance = np.abs(away).sum(axis=1)
    return float(costs[distance.argmin()]), WORK_SPREAD["params"] * max(1.0, float(distance.min()) / OTHER_SIZE)


def power_law(away: Array, costs: Array) -> tuple[float, float]:
    """The line in logs through all visible sizes, by least squares."""
    return float(np.linalg.lstsq(np.column_stack([np.ones(len(away)), away]), costs, rcond=None)[0][0]), math.nan


def last_slope(away: Array, costs: Array) -> tuple[float, float]:
    """The line in logs through the two nearest sizes of one number; of several numbers :func:`power_law`."""
    two = np.argsort(np.abs(away).sum(axis=1))[:2]
    return power_law(away[two], costs[two]) if away.shape[1] == 1 else power_law(away, costs)


def additive(away: Array, costs: Array) -> tuple[float, float]:
    """``a + b n^c`` with positive ``a`` and ``b``, by least relative squares, for one number; the nearest size for several."""
    if away.shape[1] > 1:
        return nearest(away, costs)[0], math.nan
    designs = [np.column_stack([np.ones(len(away)), np.exp(power * away[:, 0])]) / np.exp(costs)[:, None] for power in EXPONENTS]
    fits = [nnls(design / design.max(axis=0), np.ones(len(away))) for design in designs]
    best = int(np.argmin([residual for _, residual in fits]))
    return float(np.log((fits[best][0] / designs[best].max(axis=0)).sum())), math.nan


MODELS: Mapping[str, Model] = {
    "MODAK": law,
    "nearest size": nearest,
    "power law": power_law,
    "last slope": last_slope,
    "a + b n^c": additive,
}


def read(folder: Path) -> list[Series]:
    """The series of three sizes or more in a folder of tables."""
    values: dict[str, dict[tuple[float, ...], list[float]]] = defaultdict(lambda: defaultdict(list))
    origins: dict[str, str] = {}
    for path in sorted(folder.glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                cost = 1 / float(row["value"]) if row["higher_better"] == "1" else float(row["value"])
                values[row["series"]][tuple(map(float, row["n"].split(";")))].append(cost)
                origins[row["series"]] = row["origin"]
    found = []
    for name, of_size in values.items():
        sizes = sorted(of_size)
        if len(sizes) >= 3:
            found.append(Series(origins[name], np.log(np.array(sizes)), np.log([np.median(of_size[size]) for size in sizes])))
    return found


def protocols(one: Series) -> Iterator[tuple[str, list[int], int]]:
    """What is hidden of a series: the name of the protocol, the visible sizes, the hidden one that is predicted."""
    count, numbers = one.sizes.shape
    every = range(count)
    if numbers > 1:
        for place in every:
            yield "several numbers, each", [k for k in every if k != place], place
        for column in one.sizes.T:
            hidden = [k for k in every if column[k] == column.max()]
            if len(hidden) <= count - 3:
                yield from (("several numbers, largest of one", [k for k in every if k not in hidden], k) for k in hidden[:MOST_BEYOND])
        return
    yield "largest", list(every[:-1]), count - 1
    yield "smallest", list(every[1:]), 0
    if count > 3:
        yield from (("two largest", list(every[:-2]), count - place) for place in (1, 2))
    for place in every[1:-1]:
        yield "each inner", [k for k in every if k != place], place
    for place in every[:-2]:
        yield "next after two", [place, place + 1], place + 2


def asked(one: Series, visible: Sequence[int], hidden: int) -> Asked:
    """The question, with the nearest visible sizes."""
    away = one.sizes - one.sizes[hidden]
    near = sorted(visible, key=lambda place: float(np.abs(away[place]).sum()))[: problems.MOST_PROBLEMS]
    return Asked(away[near], one.costs[near], float(one.costs[hidden]))


def report(series: Sequence[Series]) -> None:
    """Print the errors of each model by protocol; every series counts alike."""
    questions: dict[str, list[list[Asked]]] = defaultdict(list)
    for one in series:
        of_one: dict[str, list[Asked]] = defaultdict(list)
        for name, visible, hidden in protocols(one):
            of_one[name].append(asked(one, visible, hidden))
        for name, each in of_one.items():
            questions[name].append(each)
    say(f"{len(series)} series of {len({one.origin for one in series})} origins\n")
    say(f"{'':33}{'series':>8}{'model':>16}{'median':>9}{'p90':>9}{'>100 %':>9}{'covered':>9}{'width':>8}   absolute errors in per cent")
    for name, of_series in questions.items():
        weights = np.concatenate([np.full(len(each), 1 / len(each)) for each in of_series])
        flat = [one for each in of_series for one in each]
        for title, model in MODELS.items():
            answers = np.array([model(one.away, one.costs) for one in flat])
            misses = answers[:, 0] - np.array([one.truth for one in flat])
            say(f"{name if title == 'MODAK' else '':33}{len(of_series):8d}{title:>16}{figures(misses, answers[:, 1], weights)}")


def figures(misses: Array, deviations: Array, weights: Array) -> str:
    """Median, 90th percentile and share of gross errors of a cost, coverage and median half-width of its 90 % intervals."""
    errors = 100 * np.abs(np.expm1(misses))
    parts = (
        f"{quantile(errors, weights, 0.5):9.1f}{quantile(errors, weights, 0.9):9.1f}{100 * np.average(errors > 100, weights=weights):9.1f}"
    )
    if np.isnan(deviations).all():
        return parts
    covered = 100 * np.average(np.abs(misses) <= Z90 * deviations, weights=weights)
    return f"{parts}{covered:9.1f}{'×' + format(math.exp(Z90 * quantile(deviations, weights, 0.5)), '.2f'):>8}"


def quantile(values: Array, weights: Array, probability: float) -> float:
    """A quantile of weighted values."""
    order = np.argsort(values)
    return float(values[order][np.searchsorted(np.cumsum(weights[order]) / weights.sum(), probability)])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the tables")
    report(read(parser.parse_args().data))
