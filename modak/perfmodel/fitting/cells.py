"""Cells, each with all results of a series at one layout; those of the same run are merged (:mod:`modak.perfmodel.fitting.merging`)."""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from modak.arrays import Array, median
from modak.facts import Layout, NotedShift, Result, SeriesKey
from modak.grouping import grouped
from modak.perfmodel.fitting import merging, startup
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
    included: startup.StartUp | None = None
    """The start-up time that is in the values, which are of whole runs; ``None``: not known."""
    unsure: float = 0.0
    """Relative standard error of all values together, from which a start-up was taken that was not measured itself, or which are scaled to
    a shift that other series show."""
    shifted: NotedShift | None = None
    """The shift that values from before are scaled to."""


def cells_of_results(results: Iterable[Result]) -> tuple[Cell, ...]:
    """One cell for each series and layout; suspect results are left out."""
    cells: dict[tuple[SeriesKey, Layout], Cell] = {}
    for result in results:
        if result.suspect is None:
            cell = cells.setdefault((result.series, result.layout), Cell(result.series, result.layout))
            cell.values.append(result.value)
            cell.ids.extend(() if result.id is None else (result.id,))
    return tuple(cells.values())


def merge_cells(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """The cells, with series of the same run merged (:mod:`modak.perfmodel.fitting.merging`): one per series and layout."""
    given = tuple(cells)
    destinations = merging.destinations(cell.series for cell in given)
    told = ((to, cell) for cell in _by_length(_with_start(given)) for to in destinations[cell.series])
    merged = (one for to, cell in told if (one := _merged_into(to, cell)))
    by_series = grouped(merged, lambda cell: cell.series).values()
    return tuple(_as_one(layout, here) for members in by_series for layout, here in _by_layout(members).items())


def _with_start(cells: Sequence[Cell]) -> Sequence[Cell]:
    """The cells, with start-up times where both the total time and the work of the same runs were measured."""
    by_series: dict[SeriesKey, dict[Layout, Cell]] = defaultdict(dict)
    for cell in cells:
        by_series[cell.series][cell.layout] = cell
    for whole, part in startup.pairs(by_series):
        walls, speeds = by_series[whole], by_series[part]
        both = walls.keys() & speeds.keys()
        medians = ([median(of[layout].values) for layout in both] for of in (walls, speeds))
        if both and startup.maybe_part(part) and startup.of_a_part(*medians):
            continue
        for layout in both:
            wall, speed = walls[layout], speeds[layout]
            start_up_times = startup.start_up_times(wall.values, wall.ids, speed.values, speed.ids, part)
            speeds[layout] = replace(speed, starting=array("d", start_up_times))
    return [cell for of in by_series.values() for cell in of.values()]


def _by_length(cells: Sequence[Cell]) -> Iterator[Cell]:
    """The cells, with the start-up that runs of several lengths show: in their layout or, if that had runs of one length only, in others.

    Times of whole runs stay as they are, and tell what is included. Speeds and times of parts that are averages over a run, and the worse
    the shorter it was, become those of the work alone.
    """
    runs = _whatever_their_length(dict.fromkeys(cell.series for cell in cells))
    for of_run in grouped(cells, lambda cell: runs[cell.series]).values():
        lengths = startup.common_lengths({cell.series for cell in of_run})
        if len(set(lengths.values())) < 2:
            yield from of_run
            continue
        by_layout = _by_layout(of_run)
        shown = {layout: _start_up(here, lengths) for layout, here in by_layout.items()}
        usual = startup.usual([one for one in shown.values() if one])
        for layout, here in by_layout.items():
            start_up = shown[layout] or usual
            yield from _apart(here, start_up, lengths) if start_up else here


def _whatever_their_length(several: Iterable[SeriesKey]) -> Mapping[SeriesKey, Hashable]:
    """Equal for series whose runs differ in their length alone; one that does not tell the length of its runs is alone."""
    found: dict[SeriesKey, Hashable] = {}
    for of_run, members in grouped(several, _but_length).items():
        one_run = merging.is_one_run(members)
        found |= {series: of_run if one_run else (of_run, merging.optional_values(series)) for series in members}
    return found


def _but_length(series: SeriesKey) -> Hashable:
    """What is equal for series of the same metric that may be of the same run, of any length."""
    if series.params.keys().isdisjoint(startup.LENGTHS) or not metric_of(series).tells_cost or startup.maybe_part(series):
        return series
    return merging.run_key(series), series.metric, series.unit


def _start_up(cells: Iterable[Cell], lengths: Mapping[SeriesKey, float]) -> startup.StartUp | None:
    """The start-up that cells of one layout show; ``lengths``: of the runs of each series."""
    runs: dict[float, list[float]] = defaultdict(list)
    for cell in cells:
        runs[lengths[cell.series]] += _seconds(cell, lengths[cell.series]).tolist()
    return startup.of_lengths(runs)


def _seconds(cell: Cell, length: float) -> Array:
    """The seconds that its runs took, or their work."""
    costs = metric_of(cell.series).cost(np.array(cell.values))
    return costs if startup.is_whole(cell.series) else costs * length


def _apart(cells: Sequence[Cell], start_up: startup.StartUp, lengths: Mapping[SeriesKey, float]) -> Sequence[Cell]:
    """Cells of one layout, whose runs have a start-up, told apart from their work.

    Of averages over runs that are mostly start-up, only those over the longest runs tell the work.
    """
    if startup.is_whole(cells[0].series):
        return [replace(cell, included=start_up) for cell in cells]
    if not start_up.shows:
        return cells
    parts = [start_up.seconds / _seconds(cell, lengths[cell.series]) for cell in cells]
    most = max(startup.MOSTLY, min(part.max() for part in parts))
    told = [(cell, part) for cell, part in zip(cells, parts, strict=True) if part.max() <= most]
    return [_of_work(cell, start_up, np.minimum(part, startup.MOST_STARTING)) for cell, part in told]


def _of_work(cell: Cell, start_up: startup.StartUp, part: Array) -> Cell:
    """The cell with values of the work alone; the start-up is a ``part`` of each of its runs."""
    values = np.array(cell.values)
    values = values / (1 - part) if metric_of(cell.series).is_rate else values * (1 - part)
    starting = np.array(cell.starting or np.zeros_like(values)) + start_up.seconds
    unsure = math.hypot(cell.unsure, start_up.error / start_up.seconds * median(part / (1 - part)))
    return replace(cell, values=array("d", values.tolist()), starting=array("d", starting.tolist()), unsure=unsure)


def _merged_into(to: merging.Destination, cell: Cell) -> Cell | None:
    """The cell as one of the series that it is merged into; ``None``: its results tell nothing of that.

    Results of steps tell samples per second if they give the batch of a worker and the number of workers: a step does more work the more
    workers there are, so its time alone does not show how the work scales. Times of whole runs tell the rate of their work unless they are
    too short for that (:data:`startup.LEAST_RUN`).
    """
    if cell.included and not startup.is_whole(to.series):
        part = cell.included.seconds / np.array(cell.values)
        leaves_work = cell.included.shows and part.max() <= startup.MOST_STARTING
        cell = replace(_of_work(cell, cell.included, part) if leaves_work else cell, included=None)
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


def _by_layout(of_run: Sequence[Cell]) -> Mapping[Layout, Sequence[Cell]]:
    completed = merging.completed(cell.layout for cell in of_run)
    return grouped(of_run, lambda cell: completed[cell.layout])


def _as_one(layout: Layout, several: Sequence[Cell]) -> Cell:
    """One cell, of those of one series."""
    included = startup.usual([cell.included for cell in several if cell.included])
    shifted = next((cell.shifted for cell in several if cell.shifted), None)
    one = Cell(several[0].series, layout, included=included, unsure=min(cell.unsure for cell in several), shifted=shifted)
    for cell in several:
        one.values.extend(cell.values)
        one.ids.extend(cell.ids)
        one.starting.extend(cell.starting)
    return one
