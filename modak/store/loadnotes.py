"""What the notes of a load rest on, read from the database; :mod:`modak.ingest.loadnotes` makes them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from sqlalchemy import Connection, case, func, select

from modak.facts import SeriesKey, System
from modak.ingest.loadnotes import (
    SCATTER,
    WITHIN,
    Figures,
    Paired,
    Scattered,
    Span,
    Spelt,
    numeric,
    on_growth,
    on_names,
    on_numbers,
    on_scatter,
    on_systems,
    on_work,
)
from modak.ingest.table import LAYOUT, UNKNOWN, layout
from modak.perfmodel.fitting import startup
from modak.results import failures
from modak.results.metrics import metric_of
from modak.store import catalogue
from modak.store.engine import chunks
from modak.store.schema import STANDING, results, series


def notes_of_load(connection: Connection, named: Mapping[str, int], changed: Mapping[int, SeriesKey]) -> Iterator[str]:
    """Notes on a load: ``named`` are the systems of its rows, each with the most ranks x threads on a node, ``changed`` the series that
    the rows are of, by number."""
    known, touched = catalogue.read(connection, System, sound=True), changed.values()
    yield from on_systems(known, named, touched)
    yield from on_names(touched, _spelt(connection, touched))
    yield from on_numbers(known, changed, _figures(connection, changed))
    values = [number for number, key in changed.items() if key.metric not in failures.METRICS]
    yield from on_scatter(changed, _scattered(connection, values))
    yield from on_work(_paired(connection, {key: number for number, key in changed.items()}))
    yield from on_growth(changed, _sizes(connection, [number for number, key in changed.items() if numeric(key.params)]))


def _spelt(connection: Connection, touched: Collection[SeriesKey]) -> Spelt:
    applications = connection.scalars(select(series.c.application).distinct().order_by(series.c.application)).all()
    datasets: list[tuple[str, str]] = []
    named = select(series.c.application, series.c.dataset).where(series.c.dataset.is_not(None)).distinct().order_by(series.c.dataset)
    for part in chunks(sorted({key.application for key in touched})):  # not of all: a database may hold many
        datasets += connection.execute(named.where(series.c.application.in_(part)))
    parameters: list[tuple[str, Mapping[str, str]]] = []
    given = select(series.c.application, series.c.params).where(series.c.params != "{}").distinct().order_by(series.c.params)
    for part in chunks(sorted({key.application for key in touched if key.params})):
        rows = connection.execute(given.where(series.c.application.in_(part)))
        parameters += ((application, json.loads(text)) for application, text in rows)
    return Spelt(applications, datasets, parameters)


def _figures(connection: Connection, changed: Mapping[int, SeriesKey]) -> Iterator[Figures]:
    nodes, value = func.nullif(results.c.nodes, UNKNOWN), results.c.value
    ratios = [func.nullif(func.nullif(results.c[name], UNKNOWN), 0) * 1.0 / nodes for name in WITHIN]
    empty = func.sum(case((nodes.is_(None), 1), else_=0))
    columns = (func.count(), func.count(nodes.distinct()), empty, func.max(nodes), func.min(value), func.max(value))
    most = [func.max(results.c[name]) for name in WITHIN]
    spans = [
        edge for ratio in ratios for edge in (func.count(case((ratio.is_not(None), nodes)).distinct()), func.min(ratio), func.max(ratio))
    ]
    for numbers in chunks(list(changed)):
        chosen = select(results.c.series_id, *columns, *most, *spans).where(results.c.series_id.in_(numbers), STANDING)
        found = []
        for row in connection.execute(chosen.group_by(results.c.series_id).order_by(results.c.series_id)):
            number, rows, sizes, without, largest, least, greatest, *rest = row
            within, edges = rest[: len(WITHIN)], rest[len(WITHIN) :]
            most_within = {name: count for name, count in zip(WITHIN, within, strict=True) if count != UNKNOWN}
            for_each_node = {name: Span(*edges[3 * at : 3 * at + 3]) for at, name in enumerate(WITHIN)}
            found.append(Figures(number, rows, sizes, without, largest, least, greatest, most_within, for_each_node))
        on_nodes = _on_nodes(connection, [one.number for one in found if one.may_go_with_nodes])
        yield from (one._replace(on_nodes=on_nodes.get(one.number, ())) for one in found)


def _on_nodes(connection: Connection, numbers: Sequence[int]) -> Mapping[int, Sequence[tuple[int, float, float]]]:
    """Of each series its numbers of nodes, ascending, with the least and the largest value."""
    columns = (results.c.series_id, results.c.nodes)
    chosen = select(*columns, func.min(results.c.value), func.max(results.c.value)).where(results.c.series_id.in_(numbers), STANDING)
    found: dict[int, list[tuple[int, float, float]]] = defaultdict(list)
    for number, nodes, least, most in connection.execute(chosen.group_by(*columns).order_by(*columns)):
        found[number].append((nodes, least, most))
    return found


def _scattered(connection: Connection, changed: Sequence[int]) -> Iterator[Scattered]:
    columns = [results.c[name] for name in LAYOUT]
    least, most = func.min(results.c.value), func.max(results.c.value)
    for numbers in chunks(changed):
        chosen = select(results.c.series_id, func.count(), least, most, *columns).where(results.c.series_id.in_(numbers), STANDING)
        rows = connection.execute(
            chosen.group_by(results.c.series_id, *columns).having(most > SCATTER * least).order_by(results.c.series_id)
        )
        for number, runs, fewest, largest, *counts in rows:
            yield Scattered(number, layout(counts), runs, fewest, largest)


def _paired(connection: Connection, numbers: Mapping[SeriesKey, int]) -> Iterator[Paired]:
    """The layouts of runs whose time and speed were measured. Times that may be of a part, or a sum over ranks (``cpu_time``), are none."""
    both = [(whole, speed) for whole, speed in startup.pairs(numbers) if not startup.maybe_part(speed)]
    columns = [results.c[name] for name in LAYOUT]
    means: dict[int, dict[tuple[int, ...], float]] = defaultdict(dict)
    for part in chunks(sorted({numbers[key] for pair in both for key in pair})):
        chosen = select(results.c.series_id, func.avg(results.c.value), *columns).where(results.c.series_id.in_(part), STANDING)
        for number, mean, *counts in connection.execute(chosen.group_by(results.c.series_id, *columns).order_by(*columns)):
            means[number][tuple(counts)] = mean
    for whole, speed in both:
        took, amount, measured = means[numbers[whole]], startup.work(speed) or 0.0, metric_of(speed)
        for at, mean in means[numbers[speed]].items():
            if at in took:
                yield Paired(speed, layout(at), took[at], amount * measured.cost(mean))


def _sizes(connection: Connection, numbers: Sequence[int]) -> Mapping[int, int | None]:
    """The GPUs of the run, or its ranks x threads, of each series; ``None``: its runs have several."""
    counts = {name: func.coalesce(func.nullif(results.c[name], UNKNOWN), 1) for name in LAYOUT}
    gpus = counts["nodes"] * counts["gpus_per_node"]
    cores = counts["nodes"] * counts["ranks_per_node"] * counts["threads_per_rank"]
    size = case((results.c.gpus_per_node > 0, gpus), else_=cores)
    found: dict[int, int | None] = {}
    for part in chunks(list(numbers)):
        chosen = select(results.c.series_id, func.min(size), func.max(size)).where(results.c.series_id.in_(part), STANDING)
        rows = connection.execute(chosen.group_by(results.c.series_id).order_by(results.c.series_id))
        found.update({number: least if least == most else None for number, least, most in rows})
    return found
