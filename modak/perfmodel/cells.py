"""Cells, each with all results of a series at one layout; those of the same run are merged (:mod:`modak.perfmodel.merging`)."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from modak.facts import Layout, SeriesKey
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


def gathered(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """The cells, with series of the same run merged (:mod:`modak.perfmodel.merging`): one per series and layout."""
    given = tuple(cells)
    destinations = merging.destinations({cell.series.model_dump_json(): cell.series for cell in given}.values())
    by_series: dict[str, list[tuple[Cell, merging.Destination]]] = defaultdict(list)
    for cell in _with_start(given):
        for to in destinations[cell.series.model_dump_json()]:
            changed = _of_samples(cell, to) if to.of_steps else _of_work(cell, to) if to.of_amount else (cell, to)
            if changed:
                by_series[to.series.model_dump_json()].append(changed)
    return tuple(one for members in by_series.values() for one in _gathered(members))


def _with_start(cells: Sequence[Cell]) -> Iterable[Cell]:
    """The cells, with start-up times where both the total time and the work of the same runs were measured."""
    by_series: dict[str, dict[Layout, Cell]] = defaultdict(dict)
    for cell in cells:
        by_series[cell.series.model_dump_json()][cell.layout] = cell
    for whole, part in startup.pairs([next(iter(of.values())).series for of in by_series.values()]):
        walls, speeds = (by_series[key.model_dump_json()] for key in (whole, part))
        both = walls.keys() & speeds.keys()
        medians = ([float(np.median(of[layout].values)) for layout in both] for of in (walls, speeds))
        if both and startup.maybe_part(part) and startup.of_a_part(*medians):
            continue
        for layout in both:
            wall, speed = walls[layout], speeds[layout]
            start_up_times = startup.start_up_times(wall.values, wall.ids, speed.values, speed.ids, part)
            speeds[layout] = replace(speed, starting=array("d", start_up_times))
    return (cell for of in by_series.values() for cell in of.values())


def _of_samples(cell: Cell, to: merging.Destination) -> tuple[Cell, merging.Destination] | None:
    """Results per step as samples per second; ``None`` if they do not give the batch of a worker and the number of workers.

    With the batch of each worker, a step does more work the more workers there are: its time does not show how the work scales.
    """
    layout = cell.layout
    samples = (layout.batch_size or 0) * (layout.nodes or 0) * (layout.gpus_per_node or layout.ranks_per_node or 0)
    if not samples:
        return None
    values = np.array(cell.values)
    rates = samples * values if metric_of(cell.series).is_rate else samples / (values * to.factor)
    return replace(cell, values=array("d", rates)), merging.Destination(to.series)


def _of_work(cell: Cell, to: merging.Destination) -> tuple[Cell, merging.Destination] | None:
    """Times of whole runs as rates of their work; ``None`` if all of them are too short for that (:data:`startup.LEAST_RUN`)."""
    times = np.array(cell.values)
    long = times >= startup.LEAST_RUN
    if not long.any():
        return None
    ids = array("q", np.array(cell.ids)[long]) if len(cell.ids) == len(times) else cell.ids
    return replace(cell, values=array("d", to.factor / times[long]), ids=ids), merging.Destination(to.series)


def _gathered(members: Sequence[tuple[Cell, merging.Destination]]) -> Iterable[Cell]:
    """One cell for each layout, of cells that are merged into one series."""
    completed = merging.completed(cell.layout for cell, _ in members)
    found: dict[Layout, Cell] = {}
    for cell, to in members:
        layout = completed[cell.layout]
        one = found.setdefault(layout, Cell(to.series, layout))
        one.values.extend(value * to.factor for value in cell.values)
        one.ids.extend(cell.ids)
        one.starting.extend(cell.starting)
    return found.values()
