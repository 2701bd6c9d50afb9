"""Curves for plots: measured points, the forecast with its interval, and perfect scaling, in the unit of the metric.

The forecast is the fitted line, also at measured sizes (where predictions give the measured value instead).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from modak.arrays import Array
from modak.facts import FailedRuns, canonical_name
from modak.grouping import grouped
from modak.perfmodel.fitting.cellgroups import VARYING, size_of
from modak.perfmodel.fitting.curves import Curve
from modak.perfmodel.fitting.startup import WHOLE_RUNS
from modak.perfmodel.forecasting.censoring import censored_runs
from modak.perfmodel.forecasting.curveset import CurveSet
from modak.perfmodel.forecasting.forecasts import PooledForecast, pooled_forecast
from modak.perfmodel.matching.lengths import of_run
from modak.perfmodel.matching.questions import Question, stated_by
from modak.results.metrics import metric_of
from modak.text.amounts import longer

POINTS: Final = 97
"""Number of points of a line."""
BEYOND: Final = 2.0
"""A line ends at this times the largest measured size: one doubling, as far as configurations are chosen without being asked for."""
LABELS: Final = (
    *("application", "dataset", "params", "system", "partition", "framework", "framework_version", "image", "compiler", "precision"),
    *("mpi", "numa_mode", "hyperthreads", "runtime"),
)


@dataclass(frozen=True)
class PlotLine:
    """One curve of a plot. ``x`` are sizes, ``y`` values in ``unit``; ``better`` is ``lower`` or ``higher``."""

    label: str
    metric: str
    unit: str
    better: str
    scale: str
    """What ``x`` counts: nodes, ranks, GPUs or threads."""
    measured_x: tuple[float, ...]
    measured_y: tuple[float, ...]
    stopped_x: tuple[float, ...]
    """Sizes at which runs were stopped, and none has ended ..."""
    stopped_y: tuple[float, ...]
    """... and the longest of them after how long; ``y`` is more than that there."""
    x: tuple[float, ...]
    y: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    perfect: tuple[float, ...]
    """Perfect scaling from the smallest measured size, at ``x``."""
    shifted: str | None
    """What runs take since a day, if values from before are scaled to that."""


def plot_lines(
    curves: Sequence[Curve],
    known: Sequence[Curve] = (),
    level: float = 0.9,
    graph_compilers: Collection[str] = (),
    failed: Sequence[FailedRuns] = (),
) -> tuple[PlotLine, ...]:
    """One line per curve, with its :func:`curve_labels`; ``known`` are all curves of the application, which improve the forecasts, and
    ``failed`` its failed runs, of which those that were stopped are drawn."""
    names = curve_labels(curves, graph_compilers)
    others = {application: CurveSet(those) for application, those in grouped(known, lambda curve: curve.series.application).items()}
    beside = [others.get(curve.series.application, CurveSet(())) for curve in curves]
    return tuple(_line(*each, level, failed) for each in zip(curves, names, beside, strict=True))


def in_pictures(curves: Iterable[Curve], *, all_sizes: bool = False) -> dict[tuple[str, str], list[Curve]]:
    """Curves by what one picture can show, their metric and kind of size: the picture with the most sizes first, and in it such curves,
    of equal ones the best at their largest size.

    Curves of one size are left out, unless ``all_sizes`` or there are no others.
    """
    every = list(curves)
    shown = sorted([one for one in every if all_sizes or len(one.sizes) > 1] or every, key=lambda one: (-len(one.sizes), one.costs[-1]))
    found = grouped(shown, lambda curve: (curve.series.metric, str(curve.scale)))
    return dict(sorted(found.items(), key=lambda picture: -sum(len(one.sizes) for one in picture[1])))


def title(curves: Sequence[Curve]) -> str:
    """What a picture of curves shows: applications and systems."""
    names = [
        sorted({str(value) for value in values if value})
        for values in zip(*((curve.series.application, curve.series.system) for curve in curves), strict=True)
    ]
    applications, systems = (", ".join(found) if len(found) < 4 else f"{len(found)} different" for found in names)
    return f"{applications} on {systems}" if systems else applications


def curve_labels(curves: Sequence[Curve], graph_compilers: Collection[str] = ()) -> tuple[str, ...]:
    """A unique label for each curve: its layout, and the attributes in which the curves differ.

    ``graph_compilers``: their names, as :func:`modak.facts.canonical_name` spells them. Results that name no compiler ran without these, if
    others ran with one; but every program was built by some compiler, which results need not state.
    """
    switched = any(canonical_name(curve.series.compiler) in graph_compilers for curve in curves if curve.series.compiler)
    none = "no compiler" if switched else "compiler not stated"
    parts = [{name: _part(curve, name) or (none if name == "compiler" else "") for name in LABELS} for curve in curves]
    telling = [name for name in LABELS if len({each[name] for each in parts}) > 1]
    labels, seen = list[str](), Counter[str]()
    for curve, each in zip(curves, parts, strict=True):
        text = ", ".join(filter(None, [_layout(curve), *(each[name] for name in telling)])) or curve.series.application
        seen[text] += 1
        labels.append(f"{text} ({seen[text]})" if seen[text] > 1 else text)
    return tuple(labels)


def _layout(curve: Curve) -> str:
    lay = curve.layout
    counts = ((lay.ranks_per_node, "rank"), (lay.threads_per_rank, "thread"), (lay.gpus_per_node, "GPU"))
    parts = [f"{count} {word}{'s' if count > 1 else ''}" for count, word in counts if count]
    per_gpu = f"ranks per GPU {curve.ranks_per_gpu:g}" if curve.ranks_per_gpu else ""
    return ", ".join(filter(None, [" × ".join(parts), per_gpu, f"batch {lay.batch_size}" if lay.batch_size else ""]))


def _part(curve: Curve, name: str) -> str:
    value = getattr(curve.series, name)
    match name:
        case "hyperthreads":
            return "hyper-threads" if value else ""
        case "mpi":
            return f"{value or 'MPI'} of the {curve.series.mpi_from}" if curve.series.mpi_from else value or ""
        case "runtime" if value == "none":
            return "no container"
        case "numa_mode":
            return f"{value} NUMA domains" if value else ""
        case "params":
            return ", ".join(f"{key} {text}" for key, text in sorted(value.items()))
    return str(value) if value is not None else ""


def _line(curve: Curve, label: str, others: CurveSet, level: float, failed: Sequence[FailedRuns]) -> PlotLine:
    first, last, moved = curve.sizes[0], curve.sizes[-1], curve.shifted
    # Rounded: 8 nodes are among the powers as 7.999999999999999.
    sizes = np.unique(np.concatenate([np.geomspace(first, BEYOND * last, POINTS), curve.sizes]).round(9))
    known = list(others)
    same = [one for one in known if one.costs == curve.costs and one == curve]  # most differ in costs, which are compared in no time
    forecast = _forecast(curve, sizes, others.without(*same))
    stopped = sorted(_stopped(curve, known or [curve], failed).items())
    width = forecast.width.at_level(level)
    measured = metric_of(curve.series)
    sign = -1.0 if measured.is_rate else 1.0
    values = np.exp(sign * np.array([forecast.log_value, forecast.log_value - width.below, forecast.log_value + width.above]))
    return PlotLine(
        label=label,
        metric=curve.series.metric,
        unit=curve.series.unit,
        better=measured.better,
        scale=curve.scale,
        measured_x=curve.sizes,
        measured_y=tuple(cost**sign for cost in curve.costs),
        stopped_x=tuple(size for size, _ in stopped),
        stopped_y=tuple(seconds for _, seconds in stopped),
        x=tuple(sizes.tolist()),
        y=tuple(values[0].tolist()),
        lower=tuple(values.min(axis=0).tolist()),
        upper=tuple(values.max(axis=0).tolist()),
        perfect=tuple(((curve.costs[0] * first / sizes) ** sign).tolist()),
        shifted=longer(moved.ratio, moved.since, sure=moved.sure) if moved else None,
    )


def _forecast(curve: Curve, sizes: Array, others: CurveSet) -> PooledForecast:
    """The curve's forecast, beyond its measured sizes pooled with related curves."""
    # More threads are in the same ranks, and these on the same nodes; what ran on one node only goes on there, as in a row that names none.
    stays = curve.scale == "threads" or (curve.scale != "nodes" and max(curve.nodes) == 1)
    nodes = np.full(sizes.shape, max(curve.nodes)) if stays else np.ceil(sizes / max(curve.per_node))
    return pooled_forecast(curve, others, sizes, nodes)


def _stopped(curve: Curve, known: Sequence[Curve], failed: Iterable[FailedRuns]) -> dict[float, float]:
    """After how long runs were stopped that would be points of the curve, by their size: the longest."""
    found, varying = dict[float, float](), VARYING[curve.scale]
    if curve.series.metric not in WHOLE_RUNS:
        return found
    asked = of_run(Question(stated_by(curve.series), curve.layout))
    for one in failed:
        sized = varying is None or getattr(one.layout, varying) is not None
        if sized and one.series.application == curve.series.application and asked.may_have_been(one.series, one.layout):
            layout = one.layout.model_copy(update={**curve.layout.model_dump(exclude_none=True), "nodes": None})
            for run in censored_runs(replace(asked, layout=layout), known, [one]):
                if run.is_no_longer(asked.lengths):
                    size = size_of(one.layout, curve.scale)
                    found[size] = max(run.seconds, found.get(size, 0.0))
    return found
