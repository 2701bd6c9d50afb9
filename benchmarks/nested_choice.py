"""Nested cross-validation of the models' constants: they are chosen again without each collection, and tested on that collection.

python -m benchmarks.nested_choice --data DIR

They are chosen by the medians and 90th percentiles of the errors of two ways to extrapolate, relative to aims, and by gross errors.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from types import ModuleType

import numpy as np
import numpy.typing as npt

from benchmarks.model_quality import read_scaling
from benchmarks.output import say
from benchmarks.protocols import PROTOCOLS, forecasts
from modak.arrays import Array
from modak.perfmodel.fitting import nodestep, scaling
from modak.perfmodel.validation import evaluation
from modak.perfmodel.validation.evaluation import Observed

GRID: Mapping[tuple[ModuleType, str], tuple[float, ...]] = {
    (scaling, "POWER"): (3.0, 4.0, 6.0),
    (scaling, "CROWDED"): (0.0, 0.04, 0.08),
    (scaling, "CEILING"): (0.05, 0.1, 0.2, 9.0),
    (scaling, "CEILING_WITHIN"): (0.1, 0.3),
    (nodestep, "FRESH"): (0.0, 0.5, 0.75, 1.0),
    (nodestep, "NODE_SLOPE"): (0.03, 0.06),
}
"""Values of the models' constants that are tried."""
AIMS = {"largest two": (0.075, 0.32), "smaller half": (0.092, 0.39)}
"""Median and 90th percentile that are aimed at."""
GROSS = 20.0
"""Weight of the fraction of predictions with errors of more than 100 %, relative to these."""
Mask = npt.NDArray[np.bool_]


def main() -> None:
    """Print what is chosen without each collection, and how it does there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True, help="directory with the public tables")
    observed = read_scaling(parser.parse_args().data)
    if len({one.collection for one in observed if len(one.series.sizes) >= evaluation.LEAST_SIZES}) < 2:
        parser.error("--data: nested cross-validation needs longer series of two collections or more")
    names = {protocol: _collections(observed, protocol) for protocol in AIMS}
    tried = [dict(zip(GRID, values, strict=True)) for values in product(*GRID.values())]
    errors = [{protocol: _errors(observed, protocol, constants) for protocol in AIMS} for constants in tried]
    nested = {protocol: np.empty(len(owners)) for protocol, owners in names.items()}
    for out in sorted({one.collection for one in observed if any((owners == one.collection).any() for owners in names.values())}):
        seen = {protocol: owners != out for protocol, owners in names.items()}
        best = min(range(len(tried)), key=lambda place: _loss(errors[place], seen))
        say(f"without {out}: {', '.join(f'{name} {value:g}' for (_, name), value in tried[best].items())}")
        for protocol, mask in seen.items():
            nested[protocol][~mask] = errors[best][protocol][~mask]
    for protocol, found in nested.items():
        shipped = _errors(observed, protocol, {place: getattr(*place) for place in GRID})
        say(f"{protocol}: nested {_figures(found)}; as shipped {_figures(shipped)}")


def _errors(observed: Sequence[Observed], protocol: str, constants: Mapping[tuple[ModuleType, str], float]) -> Array:
    """Absolute relative errors with these constants."""
    usual = {place: getattr(*place) for place in constants}
    try:
        for place, value in constants.items():
            setattr(*place, value)
        todo = evaluation.tasks(observed, PROTOCOLS[protocol])
        found = forecasts(todo)
    finally:
        for place, value in usual.items():
            setattr(*place, value)
    pairs = zip(todo, found, strict=True)
    return np.concatenate([np.abs(forecast.value / np.array(task.actual) - 1) for task, forecast in pairs])


def _collections(observed: Sequence[Observed], protocol: str) -> npt.NDArray[np.str_]:
    return np.array([observed[task.place].collection for task in evaluation.tasks(observed, PROTOCOLS[protocol]) for _ in task.asked])


def _loss(errors: Mapping[str, Array], seen: Mapping[str, Mask]) -> float:
    kept = {protocol: errors[protocol][mask] for protocol, mask in seen.items()}
    return sum(
        float(np.median(one) / AIMS[protocol][0] + np.quantile(one, 0.9) / AIMS[protocol][1] + GROSS * np.mean(one > 1))
        for protocol, one in kept.items()
    )


def _figures(errors: Array) -> str:
    return f"{100 * np.median(errors):.1f} / {100 * np.quantile(errors, 0.9):.1f}, off by > 100 % {100 * np.mean(errors > 1):.1f} %"


if __name__ == "__main__":
    main()
