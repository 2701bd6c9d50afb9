"""The effect of a switch on the run time, estimated from pairs of results that differ only in this switch.

A pair is the log of a ratio, ln(time with / time without). The ratio of a run is predicted from all known pairs, its own and
others', by a Gaussian process. Its covariance expresses how much two runs have in common: the application, the system, the software and
the size. Pairs of unlike runs have little weight and give a wide interval; without any pair the switch stays off.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from modak.arrays import Array, Ints
from modak.dsl import Basis
from modak.facts import Result, canonical_name
from modak.grouping import grouped
from modak.perfmodel.fitting.merging import SPELLINGS, canonical_label
from modak.perfmodel.intervals import Z90
from modak.results.comparison import compare
from modak.results.filters import PARAMETER
from modak.results.metrics import metric
from modak.text.amounts import counted

OFF: Final = "none"
"""The value of an empty column when results are paired."""
EVERYWHERE: Final = 0.2
"""Standard deviation of the log ratio of a switch, before anything is known of it: published ones lie between 0.5 and 1.2."""
SHARED: Final[Mapping[str, float]] = {
    "application": 0.15,
    "system": 0.1,
    "software": 0.1,
    "application and system": 0.1,
    "run": 0.1,
}
"""Standard deviations of the parts of the log ratio that runs share if they agree in these; the last two the less, the more their sizes
differ. Chosen with :data:`NOISE` on public tables, see
docs/decision-quality.md; half or twice as much changes few choices."""
NOISE: Final = 0.05
"""Standard deviation of one measured log ratio: replicates differ by about 5 %."""
PRIOR: Final = EVERYWHERE**2 + sum(deviation**2 for deviation in SHARED.values())
"""Variance of the log ratio before any pair is known."""
DOUBLINGS: Final = 3.0
"""Doublings of the size over which the covariance of the parts ``application and system`` and ``run`` falls to 1/e."""
MOST: Final = 120
"""Only this many pairs are used, those with the largest covariance."""
SOFTWARE: Final = ("framework", "framework_version", "precision", "dataset", "runtime")


@dataclass(frozen=True)
class RunContext:
    """The run in which a switch was tried, or is considered; ``None``: unknown."""

    application: str | None = None
    system: str | None = None
    software: tuple[str | None, ...] = (None,) * len(SOFTWARE)
    size: float | None = None
    """Workers: nodes times GPUs or ranks in a node."""


@dataclass(frozen=True)
class SwitchPair:
    """One comparison: ``log_ratio`` is ln(time with the switch / time without)."""

    run: RunContext
    log_ratio: float


@dataclass(frozen=True)
class Effect:
    """The predicted effect of a switch: log ratio of times, its interval, and numbers of pairs, applications and systems."""

    log_ratio: float
    spread: float
    """Half the width of the 90 % interval of the log ratio."""
    basis: Basis
    pairs: int
    applications: int
    systems: int

    @property
    def helps(self) -> bool:
        """Whether it is more likely to save time than to cost it."""
        return self.log_ratio < 0

    def __str__(self) -> str:
        of = f"{counted(self.applications, 'application')}, {counted(self.systems, 'system')}"
        return in_words(self.log_ratio, self.spread, f"{self.basis}: {counted(self.pairs, 'pair')}, {of}")


def in_words(log_ratio: float, spread: float, rests: str) -> str:
    """The effect of a switch in words, with interval and basis; ``log_ratio`` and ``spread`` as in :class:`Effect`."""
    low, high = math.exp(log_ratio - spread), math.exp(log_ratio + spread)
    return f"{math.exp(log_ratio):.2f} x the time without it (90% interval {low:.2f} to {high:.2f}; {rests})"


def pairs(results: Iterable[Result], column: str, on: str, off: str = OFF) -> tuple[SwitchPair, ...]:
    """Pairs of results that differ only in ``column``, and in how they spell the rest: its value is ``on`` in one and ``off`` in the other.

    ``column`` is a column of the result table (``compiler``, ``precision``, ``params.NAME``). A published speed-up whose row has the value
    ``on`` counts as a pair: its baseline is named in the row and has no row of its own.
    """
    records = [_record(result, column) for result in results if result.suspect is None]
    timed = [one for one in records if metric(one["metric"], one["unit"]).tells_cost]
    filled = [{**one, column: one.get(column) or off} for one in timed]
    compared = [_pair(pair.equal, pair.ratio) for pair in compare(filled, column, (off, on))]
    published = [one for one in records if one["metric"] == "speedup" and one.get(column) == on and one.get("params.baseline")]
    return (*compared, *(SwitchPair(_run(one), -math.log(one["value"])) for one in published))


def effect(known: Sequence[SwitchPair], asked: RunContext) -> Effect | None:
    """The predicted effect of the switch on the run ``asked``; ``None`` without any pair."""
    if not known:
        return None
    runs = [pair.run for pair in known]
    (there,) = _completed(asked, runs, [asked.size])
    used = [runs[place] for place in _nearest(_covariance(runs, [there]))[0]]
    log_ratio, spread = log_ratios(known, asked, [asked.size])
    return Effect(
        log_ratio=float(log_ratio[0]),
        spread=float(spread[0]),
        basis=_basis(used, there),
        pairs=len(used),
        applications=len({run.application for run in used}),
        systems=len({canonical_name(run.system) for run in used}),
    )


def log_ratios(known: Sequence[SwitchPair], asked: RunContext, sizes: Sequence[float | None]) -> tuple[Array, Array]:
    """The predicted log ratios of the run ``asked`` at each of these sizes, and half the widths of their 90 % intervals.

    Without any pair: 0, and what is known before anything is measured.
    """
    runs, ratios = [pair.run for pair in known], np.array([pair.log_ratio for pair in known])
    to_asked = _covariance(runs, _completed(asked, runs, sizes))
    mean, variance = np.zeros(len(sizes)), np.full(len(sizes), PRIOR)
    nearest = _nearest(to_asked)
    for columns in grouped(range(len(sizes)), lambda column: nearest[column].tobytes()).values():
        places = nearest[columns[0]]  # of all these runs
        used = [runs[place] for place in places]
        among, here = _covariance(used, used) + NOISE**2 * np.eye(len(used)), to_asked[np.ix_(places, columns)]
        weights = np.linalg.solve(among, here)
        mean[columns] = weights.T @ ratios[places]
        variance[columns] -= np.sum(weights * here, axis=0)
    return mean, Z90 * np.sqrt(variance + NOISE**2)


def _nearest(to_asked: Array) -> Ints:
    """For each run that is asked about the pairs with the largest covariance ``[pair, run]``, at most :data:`MOST`, in their order."""
    return np.sort(np.argsort(-to_asked, axis=0, kind="stable")[:MOST].T, axis=1)


def _record(result: Result, column: str) -> dict[str, Any]:
    """A result as one flat record of the results table, with labels in one spelling; mixed precisions are one in the ``column`` alone."""
    labels = result.series.model_dump(exclude={"params"}) | {PARAMETER + name: text for name, text in result.series.params.items()}
    for name, value in labels.items():
        if isinstance(value, str):
            labels[name] = SPELLINGS.get(name, str)(value) if name == column else canonical_label(name, value)
    return {**labels, **result.layout.model_dump(), "value": result.value, "repeat": result.repeat}


def _pair(equal: Mapping[str, Any], ratio: float) -> SwitchPair:
    """A pair from a ratio of medians; ratios of throughputs are inverted, since a pair compares times."""
    less = metric(equal["metric"], equal.get("unit")).better == "lower"
    return SwitchPair(_run(equal), math.log(ratio) if less else -math.log(ratio))


def _run(record: Mapping[str, Any]) -> RunContext:
    workers = record.get("gpus_per_node") or record.get("ranks_per_node") or 1
    size = float(record["nodes"] * workers) if record.get("nodes") else None
    return RunContext(record.get("application"), record.get("system"), tuple(record.get(name) for name in SOFTWARE), size)


def _completed(asked: RunContext, runs: Sequence[RunContext], sizes: Sequence[float | None]) -> list[RunContext]:
    """The run at each of these sizes, with unknown values taken from the nearest known run of its application and system that does not
    contradict it."""
    own = [run for run in runs if (run.application, canonical_name(run.system)) == (asked.application, canonical_name(asked.system))]
    consistent = [run for run in own if all(text in (None, known) for text, known in zip(asked.software, run.software, strict=True))]
    if not consistent:
        return [replace(asked, size=size) for size in sizes]
    nearest = np.argmin(_doublings([size or 1.0 for size in sizes], [run.size or 1.0 for run in consistent]), axis=1)
    return [
        replace(asked, software=consistent[at].software, size=size or consistent[at].size) for size, at in zip(sizes, nearest, strict=True)
    ]


def _covariance(one: Sequence[RunContext], other: Sequence[RunContext]) -> Array:
    """Covariance of log ratios, ``[one, other]``; unknown labels are equal to each other only."""
    application = _equal([run.application for run in one], [run.application for run in other])
    system = _equal([canonical_name(run.system) for run in one], [canonical_name(run.system) for run in other])
    software = _equal([run.software for run in one], [run.software for run in other])
    near = np.exp(-_doublings([run.size or 1.0 for run in one], [run.size or 1.0 for run in other]) / DOUBLINGS)
    shared = {
        "application": application,
        "system": system,
        "software": system * software,
        "application and system": application * system * near,
        "run": application * system * software * near,
    }
    return np.asarray(EVERYWHERE**2 + sum(SHARED[name] ** 2 * part for name, part in shared.items()))


def _equal(one: Sequence[Any], other: Sequence[Any]) -> Array:
    numbers = {text: number for number, text in enumerate(dict.fromkeys((*one, *other)))}
    left, right = (np.array([numbers[text] for text in texts]) for texts in (one, other))
    return np.asarray(left[:, None] == right[None], dtype=np.float64)


def _doublings(one: Sequence[float], other: Sequence[float]) -> Array:
    """How many doublings sizes are apart, ``[one, other]``."""
    return np.asarray(np.abs(np.log2(one)[:, None] - np.log2(other)[None]))


def _basis(used: Sequence[RunContext], asked: RunContext) -> Basis:
    """With pairs of the same application and system: measured, interpolated or extrapolated by size; else transferred."""
    own = [run for run in used if run.application == asked.application and canonical_name(run.system) == canonical_name(asked.system)]
    if not own or asked.application is None:
        return "transferred"
    sizes = [run.size for run in own if run.size is not None]
    if asked.size is None or not sizes or asked.size in sizes:
        return "measured"
    return "interpolated" if min(sizes) < asked.size < max(sizes) else "extrapolated"
