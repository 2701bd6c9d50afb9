"""From results to fitted curves: one curve for each series and layout.

This module decides which results make a curve; :mod:`modak.perfmodel.scaling` fits its forms and weighs them.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np

from modak.facts import Fact, Layout, Result, SeriesKey
from modak.perfmodel import merging, scaling, startup
from modak.perfmodel.forms import FORMS
from modak.perfmodel.scaling import Mixture
from modak.perfmodel.startup import StartUp
from modak.results.metrics import metric
from modak.text.numbering import Numbers, shortened

Scale = Literal["nodes", "ranks", "gpus", "threads"]
VARYING: Mapping[Scale, str | None] = {"nodes": None, "ranks": "ranks_per_node", "gpus": "gpus_per_node", "threads": "threads_per_rank"}
"""The count within a node that varies along a curve of each scale."""


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


class Scatter(Fact):
    """Scatter of repeated runs: the pooled standard deviation of log costs, and its degrees of freedom."""

    deviation: float
    freedom: int


class Part(NamedTuple):
    """The cells of one curve: the count that varies (``scale``), and the layout that they share."""

    cells: list[Cell]
    layout: Layout
    scale: Scale
    ranks_per_gpu: float | None = None
    """As in :class:`Curve`."""

    @property
    def series(self) -> SeriesKey:
        """That of its cells."""
        return self.cells[0].series


class Table(NamedTuple):
    """The measured values of one curve, at each of its sizes."""

    sizes: tuple[float, ...]
    costs: tuple[float, ...]
    """Medians."""
    repeats: tuple[int, ...]
    nodes: tuple[int, ...]
    """The largest number of nodes at each size."""
    scatter: Scatter | None


FIT_VERSION = 15
"""Raised whenever :func:`fit` gives other curves for the same results; stored curves of another version are fitted again."""
FEW_SIZES = 3
"""With this many sizes or fewer, the series alone says little about scaling: basis ``heuristic``, wide interval."""


class Estimated(Fact):
    """The model behind a curve that was not measured, and the half-width of the 90 % interval of its log cost."""

    model: str
    half_width: float


class Curve(Fact):
    """One scaling curve: a series at one layout shape, over its sizes. Stored as JSON; never a pickle.

    ``costs`` are medians over repeats, in seconds (per sample for throughputs), one for each of ``sizes``.
    ``layout`` holds what is the same for all sizes; the count that varies is ``scale``.
    """

    series: SeriesKey
    layout: Layout
    scale: Scale
    sizes: tuple[float, ...]
    costs: tuple[float, ...]
    repeats: tuple[int, ...]
    nodes: tuple[int, ...]
    """The most nodes at each size."""
    mixture: Mixture
    """The forms' coefficients and weights."""
    scatter: Scatter | None = None
    """``None``: nothing was repeated."""
    result_ids: Numbers = ()
    """Database numbers of its results."""
    estimated: Estimated | None = None
    """Set if its only point is not measured: see :mod:`modak.perfmodel.estimated`."""
    start_up: StartUp | None = None
    """Start-up time of its runs, which costs do not include; ``None``: unknown."""
    ranks_per_gpu: float | None = None
    """Of a curve over GPUs with another number of ranks per node for each number of GPUs; ``None``: see ``layout``."""

    @property
    def results_used(self) -> int:
        """Number of results behind the curve."""
        return sum(self.repeats)

    @property
    def on_gpus(self) -> bool | None:
        """Whether the runs used GPUs; ``None``: unknown."""
        gpus = self.layout.gpus_per_node
        return True if self.scale == "gpus" else None if gpus is None else gpus > 0

    def layout_on(self, gpus: int | None) -> Layout:
        """The layout, with the ranks per node that go with so many GPUs per node."""
        ranks = round((self.ranks_per_gpu or 0) * (gpus or 0))
        return self.layout.model_copy(update={"ranks_per_node": ranks}) if ranks else self.layout

    @property
    def grows(self) -> bool:
        """Whether costs are times of weak scaling, where the problem grows with the size and perfect scaling is a constant time.

        Rates of work scale in the same way in strong and weak scaling.
        """
        return _grows(self)

    @property
    def per_batch(self) -> bool:
        """Whether costs are of steps that take a batch on each worker: the work grows with their number."""
        return _per_batch(self)

    @property
    def measured(self) -> scaling.Series:
        """The measured values as input of the models: of weak scaling, costs are divided by the size."""
        return _measured(self, self)

    @property
    def amdahl(self) -> tuple[float, float]:
        """``(a, b)`` of the one form ``a + b / p``, seconds: the part that does not scale, and the part that is divided."""
        form = next(k for k, form in enumerate(FORMS) if getattr(form, "exponents", None) == (0.0, -1.0))
        serial, divided = self.mixture.coefficients[form]
        return serial, divided * self.sizes[-1]


def fit(results: Iterable[Result]) -> tuple[Curve, ...]:
    """All curves of ``results``, as :func:`fit_cells` gives them; suspect results are left out."""
    cells: dict[str, Cell] = {}
    for result in results:
        if result.suspect is None:
            cell = cells.setdefault(result.series.model_dump_json() + result.layout.model_dump_json(), Cell(result.series, result.layout))
            cell.values.append(result.value)
            cell.ids.extend(() if result.id is None else (result.id,))
    return fit_cells(gathered(cells.values()))


def gathered(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """The cells, with series of the same run merged (:mod:`modak.perfmodel.merging`): one per series and layout."""
    given = tuple(cells)
    destinations = merging.destinations({cell.series.model_dump_json(): cell.series for cell in given}.values())
    by_series: dict[str, list[tuple[Cell, merging.Destination]]] = defaultdict(list)
    for cell in _with_start(given):
        for to in destinations[cell.series.model_dump_json()]:
            told = _of_samples(cell, to) if to.of_steps else _of_work(cell, to) if to.of_amount else (cell, to)
            if told:
                by_series[to.series.model_dump_json()].append(told)
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
            left = startup.left(wall.values, wall.ids, speed.values, speed.ids, part)
            speeds[layout] = replace(speed, starting=array("d", left))
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
    rates = samples * values if _is_rate(cell.series) else samples / (values * to.factor)
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
    series, alone = members[0][1].series, members[0][0].series
    of_one = merging.completed(cell.layout for cell, _ in members)
    as_given = all(cell.series == alone and to.factor == 1 and of_one[cell.layout] == cell.layout for cell, to in members)
    if as_given:
        return [cell if cell.series == series else replace(cell, series=series) for cell, _ in members]
    found: dict[Layout, Cell] = {}
    for cell, to in members:
        layout = of_one[cell.layout]
        one = found.setdefault(layout, Cell(to.series, layout))
        one.values.extend(value * to.factor for value in cell.values)
        one.ids.extend(cell.ids)
        one.starting.extend(cell.starting)
    return found.values()


def fit_cells(cells: Iterable[Cell]) -> tuple[Curve, ...]:
    """All curves of ``cells``, in a deterministic order; there is one cell per series and layout.

    Series whose metric is neither a time nor a throughput have no curve.
    """
    by_series: dict[str, list[Cell]] = defaultdict(list)
    for cell in cells:
        if metric(cell.series.metric, cell.series.unit).kind in ("time", "throughput"):
            by_series[cell.series.model_dump_json()].append(cell)
    parts = [part for key in sorted(by_series) for part in _shapes(by_series[key])]
    tables = [_table(part.cells, part.scale) for part in parts]
    mixtures = scaling.fit_many([_measured(table, part) for table, part in zip(tables, parts, strict=True)])
    usual = {key: _start_up(of_series) for key, of_series in by_series.items()}
    return tuple(
        _curve(part, table, mixture, usual[part.series.model_dump_json()])
        for part, table, mixture in zip(parts, tables, mixtures, strict=True)
    )


def _start_up(cells: Iterable[Cell]) -> StartUp | None:
    return startup.of_runs([seconds for cell in cells for seconds in cell.starting])


def _measured(of: Table | Curve, part: Part | Curve) -> scaling.Series:
    """The series as input of the models; nodes are given if sizes count something else."""
    costs = tuple(cost / size for cost, size in zip(of.costs, of.sizes, strict=True)) if _grows(part) else of.costs
    return scaling.Series(of.sizes, costs, of.nodes if part.scale != "nodes" else None)


def _grows(of: Part | Curve) -> bool:
    marked = of.series.params.get("scaling")
    weak = marked is not None and marked.lower() == "weak"
    return (weak and not _is_rate(of.series)) or _per_batch(of)


def _per_batch(of: Part | Curve | Cell) -> bool:
    return of.layout.batch_size is not None and startup.of_steps(of.series)


def _curve(part: Part, table: Table, mixture: Mixture, usual: StartUp | None) -> Curve:
    """The fitted curve; ``usual`` is the start-up time of the whole series, for curves whose own runs do not give it."""
    return Curve(
        series=part.series,
        layout=part.layout,
        scale=part.scale,
        ranks_per_gpu=part.ranks_per_gpu,
        **table._asdict(),
        mixture=mixture,
        result_ids=shortened(number for cell in part.cells for number in cell.ids),
        start_up=_start_up(part.cells) or usual,
    )


def cost(result: Result) -> float:
    """The cost of a result: seconds, or seconds per unit for a throughput."""
    return 1.0 / result.value if _is_rate(result.series) else result.value


def _is_rate(series: SeriesKey) -> bool:
    return metric(series.metric, series.unit).kind == "throughput"


def _shapes(cells: Sequence[Cell]) -> list[Part]:
    """Cells of one series, divided so that one count varies in each part.

    GPU runs that first fill a node and then several nodes are one curve over GPUs; the models separate the step between nodes from the
    slope. Cells with the same ranks, threads, GPUs and batch size are a curve over nodes. The others have only one node count for their
    layout: with equal threads, GPU runs with as many ranks per node or per GPU become curves over GPUs, the rest curves over ranks; of
    several ways to one size, all but one are curves of their own. Where nothing ran on several numbers of nodes, and no run that leaves its
    GPUs open is beside runs on GPUs, runs that differ only in their threads become curves over threads.
    """
    by_batch: dict[tuple[int, ...], list[Cell]] = defaultdict(list)
    for cell in cells:
        by_batch[_key(cell.layout.batch_size, 1 if cell.layout.gpus_per_node else 0)].append(cell)
    parts: list[Part] = []
    by_shape: dict[tuple[int, ...], list[Cell]] = defaultdict(list)
    families = [family for key in sorted(by_batch) for family in _families(by_batch[key])]
    for number, family in enumerate(families):
        filling = _filling(family)
        parts += [_within_node(filling)] if filling else []
        chosen = {id(cell) for cell in filling}
        for cell in family:
            lay = cell.layout
            if id(cell) not in chosen:
                by_shape[_key(lay.ranks_per_node, lay.threads_per_rank, lay.gpus_per_node, lay.batch_size, number)].append(cell)
    rest: dict[int, list[Cell]] = defaultdict(list)
    for key in sorted(by_shape):
        group = by_shape[key]
        lay = group[0].layout
        if len({cell.layout.nodes for cell in group}) > 1:
            parts.append(Part(group, lay.model_copy(update={"nodes": None}), "nodes"))
        else:
            rest[key[-1]].extend(group)
    gpus = {cell.layout.gpus_per_node for cell in cells}
    over_threads = len({cell.layout.nodes for cell in cells}) == 1 and not (None in gpus and any(gpus))
    for line in (line for number in sorted(rest) for line in _lines(rest[number], over_threads)):
        group, others = _one_way(line)
        parts.append(_within_node(group))
        parts += [Part([cell], cell.layout.model_copy(update={"nodes": None}), "nodes") for cell in others]
    return parts


def _lines(cells: Sequence[Cell], over_threads: bool) -> list[list[Cell]]:
    """Parts of the cells, each with as many threads throughout, or (if ``over_threads``, and not on GPUs) as many ranks. The part with the
    most cells comes first, of equal ones that of equal threads; then those with the most cells that are in none yet. A cell may be in two:
    one rank of one thread begins a line of ranks and one of threads.
    """
    lines: dict[tuple[int, ...], list[Cell]] = defaultdict(list)
    for cell in cells:
        lay = cell.layout
        lines[_key(0, lay.threads_per_rank)].append(cell)
        if over_threads and lay.threads_per_rank and not (lay.gpus_per_node or _per_batch(cell)):
            lines[_key(1, lay.ranks_per_node)].append(cell)
    left, found = {id(cell) for cell in cells}, []
    while left:
        new = {key: sum(id(cell) in left for cell in line) for key, line in lines.items()}
        found.append(lines.pop(min(lines, key=lambda key: (-new[key], key))))
        left -= {id(cell) for cell in found[-1]}
    return found


def _one_way(cells: Sequence[Cell]) -> tuple[list[Cell], list[Cell]]:
    """One cell for each number of ranks, GPUs or threads, and the others: as many on more nodes, or with other ranks, take another time.

    The cells on the number of nodes that most of them have come first, then those on the fewest nodes.
    """
    common = Counter(cell.layout.nodes for cell in cells)
    ordered = sorted(cells, key=lambda cell: (-common[cell.layout.nodes], _key(*cell.layout.model_dump().values())))
    found: dict[float, Cell] = {}
    for cell in ordered:
        found.setdefault(size_of(cell.layout, _scale_within(cells)), cell)
    chosen = {id(cell) for cell in found.values()}
    return [cell for cell in cells if id(cell) in chosen], [cell for cell in ordered if id(cell) not in chosen]


def _scale_within(cells: Sequence[Cell]) -> Scale:
    """The count that varies within a node, among cells of which :func:`_lines` made a part."""
    if cells[0].layout.gpus_per_node:
        return "gpus"
    return "ranks" if _common(cells, "threads_per_rank") or cells[0].layout.threads_per_rank is None else "threads"


def _families(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Cells of one batch size, divided so that all of a part have as many ranks per GPU, or per node; without GPUs, all in one part.

    The part with the most cells comes first. Cells that do not give their ranks may be of the one part; of several, they are another one.
    """
    left = [cell for cell in cells if cell.layout.ranks_per_gpu]
    silent = [cell for cell in cells if not cell.layout.ranks_per_gpu]
    found: list[list[Cell]] = []
    while left:
        counts = Counter(one for cell in left for one in _ranks(cell.layout))
        most = min(counts, key=lambda one: (-counts[one], one))
        found.append([cell for cell in left if most in _ranks(cell.layout)])
        left = [cell for cell in left if most not in _ranks(cell.layout)]
    if len(found) == 1:
        return [found[0] + silent]
    return [*found, silent] if silent else found


def _ranks(layout: Layout) -> tuple[tuple[str, float], ...]:
    """Ranks per GPU and per node, by name."""
    return ("per GPU", layout.ranks_per_gpu or 0.0), ("per node", float(layout.ranks_per_node or 0))


def _filling(cells: Sequence[Cell]) -> list[Cell]:
    """A curve over GPUs, with several counts of GPUs per node and each total reached in one way; empty if the cells make none.

    Of the cells on the same GPUs it has one: with the number of threads that most cells have.
    """
    on_gpus = [cell for cell in cells if cell.layout.gpus_per_node]
    threads = Counter(cell.layout.threads_per_rank for cell in on_gpus)
    found: dict[tuple[int | None, int | None], Cell] = {}
    for cell in sorted(on_gpus, key=lambda cell: (-threads[cell.layout.threads_per_rank], _key(*cell.layout.model_dump().values()))):
        found.setdefault((cell.layout.nodes, cell.layout.gpus_per_node), cell)
    several = len({gpus for _, gpus in found}) > 1
    once = len({size_of(cell.layout, "gpus") for cell in found.values()}) == len(found)
    chosen = {id(cell) for cell in found.values()} if several and once else set()
    return [cell for cell in cells if id(cell) in chosen]


def _within_node(group: list[Cell]) -> Part:
    first, scale = group[0].layout, _scale_within(group)
    if scale == "gpus":
        ranks, share = _ranks_over_gpus(group)
        threads = _common(group, "threads_per_rank")
        return Part(group, Layout(ranks_per_node=ranks, threads_per_rank=threads, batch_size=first.batch_size), "gpus", share)
    gpus = _common(group, "gpus_per_node")
    if scale == "threads":
        return Part(group, Layout(ranks_per_node=first.ranks_per_node, gpus_per_node=gpus, batch_size=first.batch_size), "threads")
    if len({cell.layout.ranks_per_node for cell in group}) == 1:
        return Part(group, first.model_copy(update={"nodes": None}), "nodes")
    return Part(group, Layout(threads_per_rank=first.threads_per_rank, gpus_per_node=gpus, batch_size=first.batch_size), "ranks")


def _ranks_over_gpus(cells: Sequence[Cell]) -> tuple[int | None, float | None]:
    """Ranks per node that cells of a curve over GPUs have in common, else ranks per GPU; cells that do not give theirs have these, too.

    Neither, if the cells that give theirs have both in common, and some do not give theirs: either may be meant.
    """
    given = [cell.layout for cell in cells if cell.layout.ranks_per_gpu]
    ranks, shares = {layout.ranks_per_node for layout in given}, {layout.ranks_per_gpu for layout in given}
    if len(ranks) == 1 and (len(shares) > 1 or len(given) == len(cells)):
        return ranks.pop(), None
    return None, shares.pop() if len(shares) == 1 < len(ranks) else None


def _common(group: Sequence[Cell], name: str) -> int | None:
    values = {getattr(cell.layout, name) for cell in group}
    return values.pop() if len(values) == 1 else None


def _key(*values: int | None) -> tuple[int, ...]:
    return tuple(-1 if value is None else value for value in values)


def size_of(layout: Layout, scale: Scale) -> float:
    """The size of a layout on a curve's axis; unknown counts are 1."""
    nodes = layout.nodes or 1
    name = VARYING[scale]
    return float(nodes * ((getattr(layout, name) or 1) if name else 1))


def _table(cells: Sequence[Cell], scale: Scale) -> Table:
    by_size: dict[float, list[Cell]] = defaultdict(list)
    for cell in cells:
        by_size[size_of(cell.layout, scale)].append(cell)
    sizes = tuple(sorted(by_size))
    values = [np.concatenate([cell.values for cell in by_size[size]]) for size in sizes]
    rate = _is_rate(cells[0].series)
    costs = tuple(float(np.median(1.0 / each if rate else each)) for each in values)
    nodes = tuple(max(cell.layout.nodes or 1 for cell in by_size[size]) for size in sizes)
    return Table(sizes, costs, tuple(map(len, values)), nodes, _scatter(cells))


def _scatter(cells: Sequence[Cell]) -> Scatter | None:
    logs = [np.log(cell.values) for cell in cells if len(cell.values) > 1]
    freedom = sum(len(each) - 1 for each in logs)
    squares = sum(float(((each - each.mean()) ** 2).sum()) for each in logs)
    return Scatter(deviation=math.sqrt(squares / freedom), freedom=freedom) if freedom else None
