"""Accuracy for problem sizes that nobody ran, on public tables of times over the size of a problem: some sizes are hidden and predicted.

Tables are CSV files with one row for each size of a program: ``origin`` (where it was published), ``series`` (what differs in the size
alone), ``n`` (the size; several numbers with semicolons between them), ``value`` and ``higher_better`` (1 for rates). Series with the same
``group`` (may be left out) are variants of one program: most sizes of one are hidden, and those of the others are known.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from benchmarks.output import say
from modak.arrays import Array
from modak.grouping import grouped
from modak.perfmodel.intervals import Z90
from modak.perfmodel.laws import kriging, problemlaw, problems
from modak.perfmodel.matching.dissimilarity import OTHER_SIZE, WORK_SPREAD
from modak.perfmodel.matching.questions import SPREAD

EXPONENTS = np.arange(0.25, 4.01, 0.25)
MOST_ASKED: Final = 8
"""Hidden sizes of a series that are asked about at most, where all combinations of several numbers are hidden alike."""
OWN: Final = (1, 2, 3)
"""Known sizes of a variant of a program of which the others are hidden."""


class Series(NamedTuple):
    """Costs of one program: logs of its sizes ``[k, m]`` and of its costs ``[k]``."""

    origin: str
    group: str
    sizes: Array
    costs: Array


class Asked(NamedTuple):
    """A hidden size: log ratios of the visible sizes to it ``[k, m]``, their log costs ``[k]``, and its own."""

    away: Array
    costs: Array
    truth: float
    kind: npt.NDArray[np.int_]
    """``[k]``: 0 for sizes of the same program, another number for each of its variants."""

    @property
    def own(self) -> Asked:
        """The same without variants."""
        return self._replace(away=self.away[self.kind == 0], costs=self.costs[self.kind == 0], kind=self.kind[self.kind == 0])


Model = Callable[[Asked], tuple[float, float]]
"""A log cost and its standard deviation (NaN: the model gives none)."""


def law(asked: Asked) -> tuple[float, float]:
    """MODAK: the law over all visible sizes, or over the own ones alone if that is surer."""
    own = asked.own
    laws = [_law(one) for one in ((asked, own) if len(own.costs) > 1 and len(own.costs) < len(asked.costs) else (asked,))]
    return min(laws, key=lambda found: found[1])


def _law(asked: Asked) -> tuple[float, float]:
    unlike = np.where(asked.kind > 0, SPREAD["params"], 0.0)
    tails = kriging.UNLIKE if asked.kind.any() else np.ones((1, 2))
    ratios = problemlaw.ratios_of(asked.away, asked.kind, unlike, np.zeros((len(unlike), 1)), tails)
    log_cost, deviation = problemlaw.krige_problem(asked.away, asked.costs[:, None], np.full((len(unlike), 1), kriging.REPEAT), ratios)
    return float(log_cost[0]), float(deviation[0])


def nearest(asked: Asked) -> tuple[float, float]:
    """The nearest size alone, as it answers where only one was measured."""
    distance = np.abs(asked.own.away).sum(axis=1)
    return float(asked.own.costs[distance.argmin()]), WORK_SPREAD["params"] * max(1.0, float(distance.min()) / OTHER_SIZE)


def power_law(asked: Asked) -> tuple[float, float]:
    """The line in logs through all visible sizes, by least squares."""
    away = asked.own.away
    return float(np.linalg.lstsq(np.column_stack([np.ones(len(away)), away]), asked.own.costs, rcond=None)[0][0]), math.nan


def last_slope(asked: Asked) -> tuple[float, float]:
    """The line in logs through the two nearest sizes of one number; of several numbers :func:`power_law`."""
    own = asked.own
    two = np.argsort(np.abs(own.away).sum(axis=1))[:2]
    return power_law(own._replace(away=own.away[two], costs=own.costs[two], kind=own.kind[two]) if own.away.shape[1] == 1 else own)


def additive(asked: Asked) -> tuple[float, float]:
    """``a + b n^c`` with positive ``a`` and ``b``, by least relative squares, for one number; the nearest size for several."""
    away, costs = asked.own.away, asked.own.costs
    if away.shape[1] > 1:
        return nearest(asked)[0], math.nan
    designs = [np.column_stack([np.ones(len(away)), np.exp(power * away[:, 0])]) / np.exp(costs)[:, None] for power in EXPONENTS]
    fits = [nnls(design / design.max(axis=0), np.ones(len(away))) for design in designs]
    best = int(np.argmin([residual for _, residual in fits]))
    return float(np.log((fits[best][0] / designs[best].max(axis=0)).sum())), math.nan


def constant_ratio(asked: Asked) -> tuple[float, float]:
    """The cost of the first variant that ran the hidden size, times its ratio at the nearest size of both; else :func:`nearest`."""
    own, *others = [_at(asked, kind) for kind in range(1 + int(asked.kind.max()))]
    there = (0.0,) * asked.away.shape[1]
    for other in others:
        if there in other and (common := own.keys() & other.keys()):
            size = min(common, key=lambda away: (sum(map(abs, away)), away))
            return other[there] + own[size] - other[size], math.nan
    return nearest(asked)[0], math.nan


def _at(asked: Asked, kind: int) -> Mapping[tuple[float, ...], float]:
    """Costs of a kind, by how far its sizes are away."""
    chosen = asked.kind == kind
    return dict(zip(map(tuple, asked.away[chosen].tolist()), asked.costs[chosen].tolist(), strict=True))


MODELS: Mapping[str, Model] = {
    "MODAK": law,
    "nearest size": nearest,
    "power law": power_law,
    "last slope": last_slope,
    "a + b n^c": additive,
    "constant ratio": constant_ratio,
}


def read(folder: Path) -> list[Series]:
    """The series of three sizes or more in a folder of tables."""
    values: dict[tuple[str, str, str], dict[tuple[float, ...], list[float]]] = defaultdict(lambda: defaultdict(list))
    for path in sorted(folder.glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                cost = 1 / float(row["value"]) if row["higher_better"] == "1" else float(row["value"])
                values[row["origin"], row.get("group") or "", row["series"]][tuple(map(float, row["n"].split(";")))].append(cost)
    found = []
    for (origin, group, _), of_size in values.items():
        sizes = sorted(of_size)
        if len(sizes) >= 3:
            found.append(Series(origin, group, np.log(np.array(sizes)), np.log([np.median(of_size[size]) for size in sizes])))
    return found


def protocols(one: Series) -> Iterator[tuple[str, list[int], int]]:
    """What is hidden of a series: the name of the protocol, the visible sizes, the hidden one that is predicted."""
    count, numbers = one.sizes.shape
    every = range(count)
    if numbers > 1:
        yield from _protocols_of_several(one.sizes)
        return
    yield "largest", list(every[:-1]), count - 1
    yield "smallest", list(every[1:]), 0
    if count > 3:
        yield from (("two largest", list(every[:-2]), count - place) for place in (1, 2))
    for place in every[1:-1]:
        yield "each inner", [k for k in every if k != place], place
    for place in every[:-2]:
        yield "next after two", [place, place + 1], place + 2


def _protocols_of_several(sizes: Array) -> Iterator[tuple[str, list[int], int]]:
    """The same for several numbers of three values or more each."""
    every, values = range(len(sizes)), [sorted(set(column)) for column in sizes.T]
    if min(map(len, values)) < 3:
        return
    inner = [k for k in every if all(low < size < high for size, (low, *_, high) in zip(sizes[k], values, strict=True))]
    for name, places in (("inner", inner), ("at an edge", [k for k in every if k not in inner])):
        yield from ((f"several numbers, each {name}", [k for k in every if k != place], place) for place in _some(places))
    largest = [sizes[:, j] == of_one[-1] for j, of_one in enumerate(values)]
    for top in largest:
        visible = [k for k in every if not top[k]]
        if len(visible) >= 3:
            yield from (("several numbers, largest of one", visible, k) for k in _some([k for k in every if top[k]]))
    visible = [k for k in every if not any(top[k] for top in largest)]
    if len(visible) >= 3 and all(np.ptp(sizes[visible], axis=0)):
        yield from (("several numbers, largest of all", visible, k) for k in every if all(top[k] for top in largest))
    corner = [low for low, *_ in values]
    wanted = [corner, *([*corner[:j], of_one[1], *corner[j + 1 :]] for j, of_one in enumerate(values))]
    visible = [k for k in every if sizes[k].tolist() in wanted]
    if len(visible) == len(wanted):
        yield from (("several numbers, all but the smallest", visible, k) for k in _some([k for k in every if k not in visible]))


def _some(places: Sequence[int]) -> list[int]:
    """At most :data:`MOST_ASKED` of several places, as far apart as possible."""
    return [places[k] for k in sorted({round(k) for k in np.linspace(0, len(places) - 1, min(len(places), MOST_ASKED))})]


def asked(one: Series, visible: Sequence[int], hidden: int, variants: Sequence[Series] = ()) -> Asked:
    """The question, with the nearest visible sizes; and with those of variants, as many as MODAK uses."""
    parts = [(one.sizes[list(visible)], one.costs[list(visible)]), *((other.sizes, other.costs) for other in variants)]
    near: list[tuple[Array, Array]] = []
    for sizes, costs in parts:
        if sum(len(part) for part, _ in near[1:]) < problems.MOST_PROBLEMS:
            away = sizes - one.sizes[hidden]
            order = np.argsort(np.abs(away).sum(axis=1), kind="stable")[: problems.MOST_PROBLEMS]
            near.append((away[order], costs[order]))
    kind = np.repeat(np.arange(len(near)), [len(part) for part, _ in near])
    return Asked(np.concatenate([part for part, _ in near]), np.concatenate([part for _, part in near]), float(one.costs[hidden]), kind)


def of_variants(one: Series, variants: Sequence[Series]) -> Iterator[tuple[str, Asked]]:
    """Questions about a program of which few sizes are known: the smallest ones, or some between all."""
    order = np.argsort(one.sizes.sum(axis=1), kind="stable").tolist()
    most_first = sorted((other for other in variants if other.sizes.shape[1] == one.sizes.shape[1]), key=lambda other: -len(other.costs))
    for known in OWN if most_first else ():
        between = [order[round((k + 0.5) * len(order) / known - 0.5)] for k in range(known)]
        for name, visible in (("smallest", order[:known]), ("between", between)):
            hidden = _some([k for k in order if k not in visible])
            yield from ((f"{known} of a variant, {name}", asked(one, visible, k, most_first)) for k in hidden)


def report(series: Sequence[Series]) -> None:
    """Print the errors of each model by protocol; every series counts alike."""
    questions: dict[str, list[list[Asked]]] = defaultdict(list)
    by_group = grouped(series, lambda one: (one.origin, one.group))
    for one in series:
        of_one: dict[str, list[Asked]] = defaultdict(list)
        for name, visible, hidden in protocols(one):
            of_one[name].append(asked(one, visible, hidden))
        for name, question in of_variants(one, [other for other in by_group[one.origin, one.group] if one.group and other is not one]):
            of_one[name].append(question)
        for name, each in of_one.items():
            questions[name].append(each)
    say(f"{len(series)} series of {len({one.origin for one in series})} origins\n")
    say(f"{'':38}{'series':>8}{'model':>16}{'median':>9}{'p90':>9}{'>100 %':>9}{'covered':>9}{'width':>8}   absolute errors in per cent")
    for name, of_series in sorted(questions.items()):
        weights = np.concatenate([np.full(len(each), 1 / len(each)) for each in of_series])
        flat = [one for each in of_series for one in each]
        for title, model in MODELS.items():
            if model is constant_ratio and not flat[0].kind.any():
                continue
            answers = np.array([model(one) for one in flat])
            misses = answers[:, 0] - np.array([one.truth for one in flat])
            say(f"{name if title == 'MODAK' else '':38}{len(of_series):8d}{title:>16}{figures(misses, answers[:, 1], weights)}")


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
