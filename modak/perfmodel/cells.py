"""Cells, each with all results of a series at one layout; those of the same run are merged (:mod:`modak.perfmodel.merging`)."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from modak.facts import Layout, Result, SeriesKey
from modak.grouping import grouped
from modak.perfmodel import merging, startup
from modak.results.metrics import metric_of


@dataclass(frozen=True)
class Cell:
    """All usable results of a series at one layout. (A million rows make a few hundred cells.)"""

    series: SeriesKey
    layout: Layout
    values: array[float] = field(default_factory=lambda: array("d"))
    """In the base unit of the series' metric, in any order."""
    ids: array[int] = field(default_factory=lambda: array("q"))
    """Database numbers of the results that have one."""
    starting: array[float] = field(default_factory=lambda: array("d"))
    """Start-up times in seconds: of each run, the total time less that of its work."""


def of_results(results: Iterable[Result]) -> tuple[Cell, ...]:
    """One cell for each series and layout; suspect results are left out."""
    cells: dict[tuple[SeriesKey, Layout], Cell] = {}
    for result in results:
        if result.suspect is None:
            cell = cells.setdefault((result.series, result.layout), Cell(result.series, result.layout))
            cell.values.append(result.value)
            cell.ids.extend(() if result.id is None else (result.id,))
    return tuple(cells.values())


def gathered(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """The cells, with series of the same run merged (:mod:`modak.perfmodel.merging`): one per series and layout."""
    given = tuple(cells)
    destinations = merging.destinations(cell.series for cell in given)
    told = ((to, cell) for cell in _with_start(given) for to in destinations[cell.series])
    merged = (one for to, cell in told if (one := _merged_into(to, cell)))
    return tuple(one for members in grouped(merged, lambda cell: cell.series).values() for one in _gathered(members))


def _with_start(cells: Sequence[Cell]) -> Iterable[Cell]:
    """The cells, with start-up times where both the total time and the work of the same runs were measured."""
    by_series: dict[SeriesKey, dict[Layout, Cell]] = defaultdict(dict)
    for cell in cells:
        by_series[cell.series][cell.layout] = cell
    for whole, part in startup.pairs(by_series):
        walls, speeds = by_series[whole], by_series[part]
        both = walls.keys() & speeds.keys()
        medians = ([float(np.median(of[layout].values)) for layout in both] for of in (walls, speeds))
        if both and startup.maybe_part(part) and startup.of_a_part(*medians):
            continue
        for layout in both:
            wall, speed = walls[layout], speeds[layout]
            start_up_times = startup.start_up_times(wall.values, wall.ids, speed.values, speed.ids, part)
            speeds[layout] = replace(speed, starting=array("d", start_up_times))
    return (cell for of in by_series.values() for cell in of.values())


def _merged_into(to: merging.Destination, cell: Cell) -> Cell | None:
    """The cell as one of the series that it is merged into; ``None``: its results tell nothing of that.

    Results of steps tell samples per second if they give the batch of a worker and the number of workers: a step does more work the more
    workers there are, so its time alone does not show how the work scales. Times of whole runs tell the rate of their work unless they are
    too short for that (:data:`startup.LEAST_RUN`).
    """
    values, ids = np.array(cell.values), cell.ids
    match to.become:
        case "the same":
            values = values * to.factor
        case "samples per second":
            samples = _samples_of_step(cell.layout)
            if not samples:
                return None
            values = samples * values if metric_of(cell.series).is_rate else samples / (values * to.factor)
        case "work per second":
            long = values >= startup.LEAST_RUN
            if not long.any():
                return None
            ids = array("q", np.array(ids)[long]) if len(ids) == len(values) else ids
            values = to.factor / values[long]
    return replace(cell, series=to.series, values=array("d", values.tolist()), ids=ids)


def _samples_of_step(layout: Layout) -> int:
    """Of all workers; 0: not known."""
    return (layout.batch_size or 0) * (layout.nodes or 0) * (layout.gpus_per_node or layout.ranks_per_node or 0)


def _gathered(members: Sequence[Cell]) -> Iterable[Cell]:
    """One cell for each layout, of cells of one series."""
    completed = merging.completed(cell.layout for cell in members)
    found: dict[Layout, Cell] = {}
    for cell in members:
        layout = completed[cell.layout]
        one = found.setdefault(layout, Cell(cell.series, layout))
        one.values.extend(cell.values)
        one.ids.extend(cell.ids)
        one.starting.extend(cell.starting)
    return found.values()
