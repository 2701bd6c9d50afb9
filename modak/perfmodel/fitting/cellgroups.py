"""Which cells of a series make a curve: those that differ in one count alone."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from modak.facts import Layout, SeriesKey
from modak.grouping import grouped
from modak.perfmodel.fitting import startup
from modak.perfmodel.fitting.cells import Cell
from modak.results.metrics import metric_of

Scale = Literal["nodes", "ranks", "gpus", "threads"]
VARYING: Final[Mapping[Scale, str | None]] = {
    "nodes": None,
    "ranks": "ranks_per_node",
    "gpus": "gpus_per_node",
    "threads": "threads_per_rank",
}
"""The count within a node that varies along a curve of each scale."""


class CellGroup(NamedTuple):
    """The cells of one curve: the count that varies (``scale``), and the layout that they share."""

    cells: list[Cell]
    layout: Layout
    scale: Scale
    ranks_per_gpu: float | None = None
    """This and the next as in :class:`~modak.perfmodel.Curve`."""
    threads_on: tuple[tuple[int, int], ...] = ()

    @property
    def series(self) -> SeriesKey:
        """That of its cells."""
        return self.cells[0].series


def split_cells(cells: Sequence[Cell]) -> list[CellGroup]:
    """Cells of one series, divided so that one count varies in each part.

    GPU runs that first fill a node and then several nodes are one curve over GPUs; the models separate the step between nodes from the
    slope. Cells with the same ranks, threads, GPUs and batch size are a curve over nodes. The others have only one node count for their
    layout: with equal threads, GPU runs with as many ranks per node or per GPU become curves over GPUs, the rest curves over ranks; of
    several ways to one size, all but one are curves of their own. Where nothing ran on several numbers of nodes, and no run that leaves its
    GPUs open is beside runs on GPUs, runs that differ only in their threads become curves over threads.
    """
    by_batch = grouped(cells, lambda cell: _key(cell.layout.batch_size, 1 if cell.layout.gpus_per_node else 0))
    gpus = {cell.layout.gpus_per_node for cell in cells}
    over_threads = len({cell.layout.nodes for cell in cells}) == 1 and not (None in gpus and any(gpus))
    filled, over_nodes, others = list[CellGroup](), list[CellGroup](), list[CellGroup]()
    for family in (family for key in sorted(by_batch) for family in _families(by_batch[key])):
        if filling := _filling(family):
            filled.append(_within_node(filling))
        done = {id(cell) for cell in filling}
        several, rest = _over_several_nodes([cell for cell in family if id(cell) not in done])
        over_nodes += map(_over_nodes, several)
        others += [part for line in _lines(rest, over_threads) for part in _parts_of(line)]
    return [*filled, *sorted(over_nodes, key=lambda part: _shape_key(part.layout)), *others]


def _over_several_nodes(cells: Sequence[Cell]) -> tuple[list[list[Cell]], list[Cell]]:
    """Groups of cells with the same counts within a node on several numbers of nodes, and the other cells, by their counts."""
    several, others = list[list[Cell]](), list[Cell]()
    for _, group in sorted(grouped(cells, lambda cell: _shape_key(cell.layout)).items()):
        if len({cell.layout.nodes for cell in group}) > 1:
            several.append(group)
        else:
            others += group
    return several, others


def _parts_of(line: Sequence[Cell]) -> Iterator[CellGroup]:
    """The curve within a node of cells that :func:`_lines` put together, and one of its own for each other way to one size."""
    group, others = _one_way(line)
    yield _within_node(group)
    yield from (_over_nodes([cell]) for cell in others)


def _over_nodes(group: list[Cell]) -> CellGroup:
    """Cells with the same counts within a node."""
    return CellGroup(group, group[0].layout.model_copy(update={"nodes": None}), "nodes")


def _lines(cells: Sequence[Cell], over_threads: bool) -> list[list[Cell]]:
    """Parts of the cells, each with as many threads throughout, or (if ``over_threads``, and not on GPUs) as many ranks. The part with the
    most cells comes first, of equal ones that of equal threads; then those with the most cells that are in none yet. A cell may be in two:
    one rank of one thread begins a line of ranks and one of threads.
    """
    lines: dict[tuple[int, ...], list[Cell]] = defaultdict(list)
    for cell in cells:
        lay = cell.layout
        lines[_key(0, lay.threads_per_rank)].append(cell)
        if over_threads and lay.threads_per_rank and not (lay.gpus_per_node or per_batch(cell.series, cell.layout)):
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
    ordered = _commonest_first(cells, "nodes")
    scale = _scale_within(cells)
    chosen = {id(of_size[0]) for of_size in grouped(ordered, lambda cell: size_of(cell.layout, scale)).values()}
    return [cell for cell in cells if id(cell) in chosen], [cell for cell in ordered if id(cell) not in chosen]


def _commonest_first(cells: Sequence[Cell], name: str) -> list[Cell]:
    """The cells by how many have the same count of that name, else by their layouts."""
    counts = Counter(getattr(cell.layout, name) for cell in cells)
    return sorted(cells, key=lambda cell: (-counts[getattr(cell.layout, name)], _key(*cell.layout.model_dump().values())))


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
    found = grouped(_commonest_first(on_gpus, "threads_per_rank"), lambda cell: (cell.layout.nodes, cell.layout.gpus_per_node))
    several = len({gpus for _, gpus in found}) > 1
    once = len({size_of(ways[0].layout, "gpus") for ways in found.values()}) == len(found)
    chosen = {id(ways[0]) for ways in found.values()} if several and once else set()
    return [cell for cell in cells if id(cell) in chosen]


def _within_node(group: list[Cell]) -> CellGroup:
    first, scale = group[0].layout, _scale_within(group)
    if scale == "gpus":
        ranks, share = _ranks_over_gpus(group)
        threads = _common(group, "threads_per_rank")
        layout = Layout(ranks_per_node=ranks, threads_per_rank=threads, batch_size=first.batch_size)
        return CellGroup(group, layout, "gpus", share, () if threads else _threads_over_gpus(group))
    gpus = _common(group, "gpus_per_node")
    if scale == "threads":
        return CellGroup(group, Layout(ranks_per_node=first.ranks_per_node, gpus_per_node=gpus, batch_size=first.batch_size), "threads")
    if len({cell.layout.ranks_per_node for cell in group}) == 1:
        return _over_nodes(group)
    return CellGroup(group, Layout(threads_per_rank=first.threads_per_rank, gpus_per_node=gpus, batch_size=first.batch_size), "ranks")


def _ranks_over_gpus(cells: Sequence[Cell]) -> tuple[int | None, float | None]:
    """Ranks per node that cells of a curve over GPUs have in common, else ranks per GPU; cells that do not give theirs have these, too.

    Neither, if the cells that give theirs have both in common, and some do not give theirs: either may be meant.
    """
    given = [cell.layout for cell in cells if cell.layout.ranks_per_gpu]
    ranks, shares = {layout.ranks_per_node for layout in given}, {layout.ranks_per_gpu for layout in given}
    if len(ranks) == 1 and (len(shares) > 1 or len(given) == len(cells)):
        return ranks.pop(), None
    return None, shares.pop() if len(shares) == 1 < len(ranks) else None


def _threads_over_gpus(cells: Sequence[Cell]) -> tuple[tuple[int, int], ...]:
    """Numbers of GPUs per node with the threads per rank that all their cells have."""
    by_gpus = grouped(cells, lambda cell: cell.layout.gpus_per_node or 0)
    return tuple((gpus, threads) for gpus in sorted(by_gpus) if (threads := _common(by_gpus[gpus], "threads_per_rank")))


def _common(group: Sequence[Cell], name: str) -> int | None:
    values = {getattr(cell.layout, name) for cell in group}
    return values.pop() if len(values) == 1 else None


def _shape_key(layout: Layout) -> tuple[int, ...]:
    return _key(layout.ranks_per_node, layout.threads_per_rank, layout.gpus_per_node, layout.batch_size)


def _key(*values: int | None) -> tuple[int, ...]:
    return tuple(-1 if value is None else value for value in values)


def size_of(layout: Layout, scale: Scale) -> float:
    """The size of a layout on a curve's axis; unknown counts are 1."""
    return float((layout.nodes or 1) * on_node(layout, scale))


def on_node(layout: Layout, scale: Scale) -> int:
    """The part of that size on each node."""
    name = VARYING[scale]
    return (getattr(layout, name) or 1) if name else 1


def per_batch(series: SeriesKey, layout: Layout) -> bool:
    """Whether results are of steps that take a batch on each worker, or of requests, of which each worker answers its own."""
    return metric_of(series).of_request or (layout.batch_size is not None and startup.of_steps(series))
