"""Coverage of intervals, and bias of forecasts, on synthetic runs with a known law and noise.

python -m benchmarks.synthetic
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping

import numpy as np

from benchmarks.output import say
from modak.arrays import Array
from modak.facts import Layout, Result, SeriesKey
from modak.perfmodel import Question, fit, predict
from modak.perfmodel.fitting.scaling import Series, evaluate, fit_many
from modak.perfmodel.intervals import half_widths

SIZES = (1, 2, 4, 8, 16)
DRAWS = 150
NOISES = (0.05, 0.1, 0.2)
REPEATS = {"no repeats": (1, 0), "three runs of another curve": (1, 3), "three runs": (3, 0)}
"""Runs at each size of the curve that is asked about, and of another one of the same application and system."""
LAWS: Mapping[str, Callable[[Array], Array]] = {
    "Amdahl, 3 % serial": lambda p: 0.03 + 0.97 / p,
    "boundaries, p^-2/3": lambda p: 0.2 * p ** (-2 / 3) + 0.8 / p,
    "a tree, log p": lambda p: 1 / p + 0.01 * np.log2(p),
    "all-to-all, p^1/2": lambda p: 1 / p + 0.002 * np.sqrt(p),
    "USL, turning": lambda p: (1 + 0.03 * (p - 1) + 0.0005 * p * (p - 1)) / p,
    "weak scaling, log p": lambda p: 1 + 0.03 * np.log2(p),
    "perfect": lambda p: 1 / p,
    "caches from 16 on": lambda p: np.where(p > 8, 0.75, 1.0) / p,
}
AHEAD = np.array([2.0, 4.0, 8.0])
LAW_NOISE = 0.05


def main() -> None:
    """Print both tables."""
    say("new runs at measured sizes inside the 90 % interval, per cent, by noise (one standard deviation)")
    for name, (own, other) in REPEATS.items():
        say(f"{name:32} " + "  ".join(f"{noise:.0%}: {100 * repeated(noise, own, other):3.0f}" for noise in NOISES))
    say(
        "\nforecasts 1, 2 and 3 doublings beyond four to six sizes: median error, per cent; mean log of measured over forecast cost;"
        " outside of the 90 % interval, per cent"
    )
    for name, law in LAWS.items():
        error, mean, slower, faster = beyond(law)
        say(
            f"{name:24} {_row(100 * error, '3.0f')}   {_row(mean, '+.2f')}"
            f"   slower {_row(100 * slower, '3.0f')}   faster {_row(100 * faster, '3.0f')}"
        )


def repeated(noise: float, own: int, other: int) -> float:
    """The fraction of new runs at measured sizes that are inside the interval."""
    chance = np.random.default_rng(1)
    held = []
    for _ in range(DRAWS):
        known = fit([*_runs(chance, noise, own, "one"), *_runs(chance, noise, other, "other")])
        found = predict(known, Question({"system": "here", "compiler": "one"}, Layout(ranks_per_node=4)), SIZES)
        miss = np.log([_cost(size) * np.exp(chance.normal(0, noise)) for size in SIZES] / found.value)
        held.append((miss <= found.width.above) & (miss >= -found.width.below))
    return float(np.mean(held))


def beyond(law: Callable[[Array], Array]) -> tuple[Array, Array, Array, Array]:
    """At each of :data:`AHEAD`: the median absolute and the mean log error, and the fractions slower and faster than the interval."""
    chance = np.random.default_rng(0)
    sizes = [np.exp2(np.arange(chance.integers(4, 7), dtype=np.float64)) for _ in range(DRAWS)]
    series = [Series(tuple(p), tuple(law(p) * np.exp(chance.normal(0, LAW_NOISE, len(p))))) for p in sizes]
    misses, sides = [], []
    for p, mixture in zip(sizes, fit_many(series), strict=True):
        forecast = evaluate(mixture, p[-1] * AHEAD)
        misses.append(np.log(law(p[-1] * AHEAD)) + chance.normal(0, LAW_NOISE, len(AHEAD)) - forecast.log_value)
        sides.append(half_widths(forecast))
    miss, below, above = np.array(misses), np.array([one.below for one in sides]), np.array([one.above for one in sides])
    error = np.median(np.abs(np.expm1(-miss)), axis=0)
    return error, miss.mean(axis=0), (miss > above).mean(axis=0), (miss < -below).mean(axis=0)


def _runs(chance: np.random.Generator, noise: float, repeats: int, compiler: str) -> list[Result]:
    key = SeriesKey(application="app", system="here", compiler=compiler, metric="wall_time", unit="s")
    every = [(size, _cost(size) * np.exp(chance.normal(0, noise))) for size in SIZES for _ in range(repeats)]
    return [Result(series=key, layout=Layout(nodes=size, ranks_per_node=4), value=value) for size, value in every]


def _cost(size: int) -> float:
    return 100 * (0.02 + 1 / size)


def _row(values: Array, pattern: str) -> str:
    return " ".join(f"{value:{pattern}}" for value in values)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    main()
