"""Processor time of fitting and predicting, also relative to sorting a million floats, so that machines can be compared.

    python -m benchmarks.model_cost

The series are synthetic Amdahl curves with noise. Times are medians of processor time.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median

import numpy as np

from benchmarks.output import say
from modak.perfmodel.fitting.scaling import Series, evaluate, fit_many
from modak.perfmodel.forecasting.pooling import align_relatives, pool
from modak.perfmodel.intervals import half_widths

SERIES, SIZES, CANDIDATES, RELATIVES = 500, 8, 1000, 8
REPEATS = 7


def main() -> None:
    """Print the table."""
    series = made_up(SERIES)
    mixtures = fit_many(series)
    sizes = np.linspace(1, 600, CANDIDATES)
    few = np.unique(np.round(np.geomspace(1, 512, 40)))
    kin = align_relatives(series[0], series[1 : RELATIVES + 1])
    unit = seconds(lambda: np.sort(np.random.default_rng(0).random(1_000_000)))
    work: dict[str, Callable[[], object]] = {
        f"fit {SERIES} series of {SIZES} sizes, with validation": lambda: fit_many(series),
        "fit one series": lambda: fit_many(series[:1]),
        f"predict {CANDIDATES} candidates with interval": lambda: half_widths(evaluate(mixtures[0], sizes)),
        "predict 40 distinct sizes with interval": lambda: half_widths(evaluate(mixtures[0], few)),
        f"compare with {RELATIVES} relatives": lambda: align_relatives(series[0], series[1 : RELATIVES + 1]),
        f"pool {RELATIVES} relatives at {CANDIDATES} candidates": lambda: pool(evaluate(mixtures[0], sizes), 128.0, kin, sizes),
    }
    say(f"{'':55} {'ms':>9} {'x a sort of 10^6 floats':>24}")
    for name, run in work.items():
        took = seconds(run)
        say(f"{name:55} {1000 * took:9.3f} {took / unit:24.4f}")


def made_up(count: int) -> list[Series]:
    """Noisy Amdahl curves over 1 to 128 nodes."""
    chance = np.random.default_rng(1)
    sizes = 2.0 ** np.arange(SIZES)
    parts = chance.uniform(0, 0.05, count)
    return [Series(tuple(sizes), tuple((part + (1 - part) / sizes) * chance.lognormal(0, 0.03, SIZES))) for part in parts]


def seconds(run: Callable[[], object]) -> float:
    """Median CPU time of a few calls, after one to warm up."""
    run()
    took = []
    for _ in range(REPEATS):
        start = time.process_time()
        run()
        took.append(time.process_time() - start)
    return median(took)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    main()
