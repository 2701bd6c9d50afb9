"""What should be known of results that were loaded: systems that are not known, names in several spellings, metrics that predict nothing.

Each function judges what its arguments say; :mod:`modak.store.loadnotes` reads from the database what the notes rest on.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Final, NamedTuple

from modak.choosing.requirements import is_front_end
from modak.errors import nearest_name
from modak.facts import Layout, SeriesKey, System, canonical_name
from modak.grouping import grouped
from modak.ingest.columns import AGAIN, series_label
from modak.ingest.headings import layout_column
from modak.ingest.totals import TOTALS
from modak.ingest.values import DECIMAL_COMMA, NUMERIC
from modak.perfmodel.fitting.merging import canonical_setting
from modak.perfmodel.fitting.startup import positive_number
from modak.results.metrics import metric_of, misnamed
from modak.text.amounts import join_names

RATIOS: Final = ("speedup", "efficiency")
"""Metrics that are computed from times of several runs."""
SUMS: Final = frozenset(
    (
        *("total", "totals", "sum", "average", "mean", "median", "max", "maximum", "min", "minimum", "stdev"),
        *("summe", "gesamt", "mittelwert", "durchschnitt", "somme", "moyenne"),
    )
)
"""What the row below a table is called, which no application is."""
MOST: Final = 100
"""Most notes of one kind on names."""
TOO_FAST: Final = 1.5
"""Runs that take less than the work that they printed the speed of by more than this factor do less work: speeds that are those of the
last steps alone differ less from the average."""
SCATTER: Final = 2.0
"""Runs of one layout that differ by more than this factor contradict each other: repeats in public tables do so by 1.05, few by 1.3."""
MOST_GPUS, MOST_THREADS = 16, 1024
"""More GPUs, and more ranks or threads, than a node has."""
GROWS_EVENLY: Final = 1.1
"""A problem that grows with the size is as large for each rank or GPU, within this factor: meshes are not divided exactly."""
WITHIN: Final = ("ranks_per_node", "threads_per_rank", "gpus_per_node", "batch_size")
"""Counts within a node."""
LEAST_SIZES: Final = 3
"""Fewer numbers of nodes may show anything by chance."""
PARTS: Final[Mapping[str, float]] = {"accuracy": 1.0, "efficiency": 2.0}
"""The largest value of metrics that are parts of a whole; efficiencies may be a little above 1."""
MOST_NODES: Final = 200_000
"""More nodes than any system has: the largest so far had 158,976."""
GROWN, GROWS_AS = 8, 0.75
"""What takes longer on so many times as many nodes, by at least this power of their number: of 364 series of public tables with as many
sizes only six single collective operations (alltoall, gather) do, however badly the others scale."""
EVEN: Final = 1.25
"""Rates of each GPU differ by less than this factor up to a few dozen nodes, those of all of them by more."""
_NO_COMPUTERS: Final = f"if it counts something else, {AGAIN} '--map nodes=params.nodes'"
PROBLEM: Final = f"takes longer nearly as 'nodes' grow: are these computers, or the size of the problem? {_NO_COMPUTERS}"
_SEPARATED: Final = re.compile(r"[ ,'’]")
_THOUSANDS: Final = re.compile(r"[1-9][0-9]{0,2}([ ,'’][0-9]{3})+")
_NAMES: Final = {
    "mpi": "the MPI library ('openmpi 4.1'); processes are counted in 'ranks_per_node', of each node",
    "system": f"the system; if these are times of the CPU, as 'time' prints them, {AGAIN} '--map system='",
    "runtime": f"the container runtime; if these are run times, {AGAIN} '--map runtime='; as values they have '--map runtime=value'",
}
"""What columns name whose cells may be numbers by mistake."""
SHOWN: Final = 10
"""Most names in one note, and most notes of one kind on numbers."""


class Spelt(NamedTuple):
    """What is stored of the applications of a load."""

    applications: Sequence[str]
    """Of all results."""
    datasets: Sequence[tuple[str, str]]
    """Each with its application."""
    parameters: Sequence[tuple[str, Mapping[str, str]]]
    """Sets of parameters, each with its application."""


class Span(NamedTuple):
    """What counts within a node are for each node, where they are given with its number."""

    sizes: int
    """Different numbers of nodes."""
    least: float
    most: float


class Figures(NamedTuple):
    """Of the rows of a series that models use."""

    number: int
    rows: int
    sizes: int
    """Different numbers of nodes."""
    without_nodes: int
    most_nodes: int | None
    least: float
    most: float
    most_within: Mapping[str, int]
    """The largest count of each kind within a node; one that no row has is left out."""
    for_each_node: Mapping[str, Span]
    """The same counts divided by the number of nodes."""
    on_nodes: Sequence[tuple[int, float, float]] = ()
    """Each number of nodes, ascending, with its least and its largest value; only read if they :attr:`may_go_with_nodes`."""

    @property
    def may_go_with_nodes(self) -> bool:
        """Whether what the values are on each number of nodes may be worth a note: there are several, and the values differ as much."""
        return LEAST_SIZES <= self.sizes <= MOST and self.most >= 2 ** (LEAST_SIZES - 1) * self.least


class Scattered(NamedTuple):
    """Runs of a series with one layout."""

    number: int
    layout: Layout
    runs: int
    least: float
    most: float


class Paired(NamedTuple):
    """The mean time of runs with one layout, and what their work takes at the mean speed of the series that they printed, in seconds."""

    series: SeriesKey
    layout: Layout
    whole: float
    work: float


def on_systems(known: Sequence[System], named: Mapping[str, int], touched: Collection[SeriesKey]) -> Iterator[str]:
    """Notes on the systems of rows: ``known`` are those of the database, ``named`` those of the rows, each with the most ranks x threads on
    a node, ``touched`` the series of the rows."""
    yield from _unknown_systems(known, named)
    yield from _crowded(known, named)
    yield from _without_partition(known, touched)


def on_names(touched: Collection[SeriesKey], spelt: Spelt) -> Iterator[str]:
    """Notes on what series are called, beside their systems."""
    yield from _misnamed(touched)
    yield from _spellings(touched, spelt)
    yield from _front_ends(touched)
    yield from _ratios(touched)
    yield from _numbers_as_names(touched)
    yield from _counts_as_parameters(touched)
    yield from _sums(touched)


def on_numbers(known: Sequence[System], changed: Mapping[int, SeriesKey], figures: Iterable[Figures]) -> Iterator[str]:
    """Notes on numbers that can hardly be what their column says: more nodes than there are, percentages, counts over all nodes, a row that
    sums up the others."""
    found: dict[str, list[str]] = {}
    nodes_of = {name: sum(part.nodes for part in system.partitions) for system in known for name in system.folded_names}
    for one in figures:
        key = changed[one.number]
        said = (
            *(_beyond(key, one, nodes_of), _no_nodes(one), *_over_all_nodes(one), _percentage(key, one), _summed(one)),
            PROBLEM if _slower_with_nodes(key, one) else None,
            _of_each_gpu(key, one),
        )
        for what in filter(None, said):
            found.setdefault(what, []).append(series_label(key))
    yield from (f"{join_names(series, 1, '; ')}: {what}" for what, series in islice(found.items(), SHOWN))


def on_scatter(changed: Mapping[int, SeriesKey], scattered: Iterable[Scattered]) -> Iterator[str]:
    """A note for each layout whose runs, as models use them, differ by more than :data:`SCATTER`: none of them is known to be wrong."""
    found: list[str] = []
    for one in scattered:
        what = f"{series_label(changed[one.number])}{_at(one.layout)}"
        found.append(f"{what}: {one.runs} runs differ by a factor of {one.most / one.least:.1f} ({one.least:.6g} to {one.most:.6g})")
    way = "the models use all of them: 'modak results doubt' marks a wrong one; what they differ in on purpose is a column (params.NAME)"
    yield from (f"{text}; {way}" for text in found[:SHOWN])
    if len(found) > SHOWN:
        yield f"{len(found) - SHOWN} more layouts have runs that differ by a factor of more than {SCATTER:g}"


def _at(layout: Layout) -> str:
    return "".join(f", {name} {count}" for name, count in layout.model_dump(exclude_none=True).items())


def on_work(paired: Iterable[Paired]) -> Iterator[str]:
    """A note on each layout whose runs were over long before their work could be, at the speed that they printed."""
    found = []
    for one in paired:
        if one.work > TOO_FAST * one.whole:
            what = f"{series_label(one.series)}{_at(one.layout)}"
            found.append(f"{what}: at this speed the work takes {one.work:.3g} s, but the runs took {one.whole:.3g} s")
    way = "does the command do as much as the request says, and is the number that of all ranks?"
    yield from (f"{text}: {way}" for text in found[:SHOWN])


def on_growth(changed: Mapping[int, SeriesKey], sizes: Mapping[int, int | None]) -> Iterator[str]:
    """A note where each size of runs is a problem of its own: a parameter grows as the size does, mostly in weak scaling; or parameters
    differ at each, because they are no parameters but were measured, too, or follow from the size.

    ``sizes``: the GPUs of the run, or its ranks x threads, of series with :func:`numeric` parameters; ``None``: its runs have several.
    """
    numbers_of = {number: numeric(changed[number].params) for number in sizes}
    alike = grouped(sizes, lambda number: _label_without(changed[number], numbers_of[number]))
    found: dict[str, list[str]] = {}
    for label, members in alike.items():
        is_rate = metric_of(changed[members[0]]).is_rate
        if what := _growing([numbers_of[one] for one in members], [sizes[one] for one in members], is_rate):
            found.setdefault(what, []).append(label)
    yield from (f"{join_names(labels, 1, '; ')}: {what}" for what, labels in islice(found.items(), SHOWN))


def _growing(numbers: Sequence[Mapping[str, float]], sizes: Sequence[int | None], is_rate: bool) -> str:
    """How the numbers in the parameters of series, which are alike otherwise, go with their sizes; empty: they do not."""
    single = [(of, size) for of, size in zip(numbers, sizes, strict=True) if size is not None]
    if len({size for _, size in single}) < LEAST_SIZES:
        return ""
    shares = {name: [of.get(name, 0) / size for of, size in single] for name in numbers[0]}
    if name := next((name for name, of in shares.items() if 0 < max(of) <= GROWS_EVENLY * min(of)), None):
        weak = "" if is_rate else "; in weak scaling also '--set params.scaling=weak'"
        way = f"if it only counts them, or in weak scaling, {AGAIN} '--map OLD=' (without that column){weak}"
        return f"{name!r} grows as the ranks or GPUs do, so each size counts as a problem of its own; {way}"
    differing = [name for name in dict.fromkeys(chain.from_iterable(numbers)) if len({of.get(name) for of in numbers}) > 1]
    if len(single) < len(sizes) or not differing:  # the latter: one number in several spellings, which are told of as such
        return ""
    way = f"those that were measured, or follow from the size, are no parameters: {AGAIN} '--map OLD=' (without them)"
    return f"no two sizes have the same {join_names([*map(repr, differing)], SHOWN)}, so each counts as a problem of its own; {way}"


def numeric(params: Mapping[str, str]) -> Mapping[str, float]:
    """The parameters that are numbers above zero.

    >>> numeric({"atoms": "1e6", "solver": "cg", "shift": "-1"})
    {'atoms': 1000000.0}
    """
    return {name: number for name, text in params.items() if (number := positive_number(text)) is not None}


def _label_without(key: SeriesKey, numbers: Mapping[str, float]) -> str:
    """A series in one line, without parameters that are numbers."""
    return series_label(key.model_copy(update={"params": {name: value for name, value in key.params.items() if name not in numbers}}))


def _unknown_systems(known: Sequence[System], named: Collection[str]) -> Iterator[str]:
    """Notes on systems of the results that are not known by this name or alias, in any spelling: one for each that may be a slip."""
    folded = {name for system in known for name in system.folded_names}
    strange = sorted(name for name in named if canonical_name(name) not in folded)
    meant = {name: close for name in strange[:MOST] if (close := nearest_name(name, [system.name for system in known]))}
    for name, close in meant.items():
        yield f"unknown system {name!r}; did you mean {close!r}?; its rows are kept"
    if others := [repr(name) for name in strange if name not in meant]:
        one = len(others) == 1
        yield f"unknown system{'' if one else 's'} {join_names(others, SHOWN)}; {'its' if one else 'their'} rows are kept"


def _crowded(known: Sequence[System], named: Mapping[str, int]) -> Iterator[str]:
    """A note for each system with more ranks x threads on a node than any of its nodes runs at once: counts of a whole run, perhaps."""
    counts: dict[str, int] = {}
    for name, count in named.items():
        counts[canonical_name(name)] = max(count, counts.get(canonical_name(name), 0))
    for system in known:
        room = max(part.node.cores * part.node.threads_per_core for part in system.partitions)
        most = max(counts.get(name, 0) for name in system.folded_names)
        if most > room:
            text = f"{system.name}: up to {most} ranks x threads on a node, but its nodes run at most {room} at once"
            yield f"{text}; if ranks_per_node counts over all nodes, {AGAIN} '--map ranks_per_node=total_ranks'"


def _without_partition(known: Sequence[System], touched: Iterable[SeriesKey]) -> Iterator[str]:
    """A note for each system whose partitions have different nodes: results that name no partition count for each of them."""
    open_ = {canonical_name(key.system) for key in touched if key.system and not key.partition}
    for system in known:
        different = len({(part.node.processor, part.node.accelerator) for part in system.partitions}) > 1
        if different and not open_.isdisjoint(system.folded_names):
            names = ", ".join(part.name for part in system.partitions)
            yield f"{system.name} has partitions with different nodes ({names}); rows without 'partition' count as measured in any of them"


def _misnamed(touched: Iterable[SeriesKey]) -> tuple[str, ...]:
    """A note for each time that is called after a part of the run, or is another spelling of a known one."""
    said = dict.fromkeys(misnamed(key.metric, key.unit) for key in touched)
    return tuple(text for text in said if text)[:MOST]


def _spellings(touched: Collection[SeriesKey], spelt: Spelt) -> tuple[str, ...]:
    """A note for each application, and each data set and parameter of one, that other results spell in another way: models keep them
    apart."""
    applications = grouped(spelt.applications, canonical_name)
    datasets = grouped(spelt.datasets, lambda pair: (pair[0], canonical_name(pair[1])))
    said = dict.fromkeys(("application", tuple(applications[canonical_name(key.application)])) for key in touched)
    named = [(key.application, key.dataset) for key in touched if key.dataset is not None]
    alike = ((name, datasets[name, canonical_name(dataset)]) for name, dataset in named)
    said |= dict.fromkeys((f"data set of {name!r}", tuple(dataset for _, dataset in pairs)) for name, pairs in alike)
    said |= dict.fromkeys(_parameters(touched, spelt.parameters))
    return tuple(
        f"{what}: {', '.join(map(repr, several))} count as different ones; spell them alike if they are the same"
        for what, several in said
        if len(several) > 1
    )[:MOST]


def _parameters(touched: Collection[SeriesKey], given: Iterable[tuple[str, Mapping[str, str]]]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The parameters of these series, by name and by value, each with all its spellings in results of its application."""
    names: dict[tuple[str, str], dict[str, None]] = {}
    values: dict[tuple[str, str, str], dict[str, None]] = {}
    for application, params in given:
        for name, value in params.items():
            names.setdefault((application, canonical_name(name)), {}).setdefault(name)
            values.setdefault((application, name, _folded(value)), {}).setdefault(value)
    for key in touched:
        for name, value in key.params.items():
            yield f"parameter of {key.application!r}", tuple(names[key.application, canonical_name(name)])
            yield f"parameter {name!r} of {key.application!r}", _several(name, values[key.application, name, _folded(value)])


def _folded(value: str) -> str:
    """Equal for values of a parameter that may mean the same: numbers with a last zero, with a sign between thousands or a decimal comma,
    texts in another case."""
    plain = value
    if _THOUSANDS.fullmatch(value):
        plain = _SEPARATED.sub("", value)
    elif DECIMAL_COMMA.fullmatch(value):
        plain = value.replace(",", ".")
    try:
        return f"{float(plain):.15g}"
    except ValueError:
        return canonical_name(value).replace("-", "")


def _several(name: str, values: Iterable[str]) -> tuple[str, ...]:
    """The values of a parameter without those that count as the same as one before them."""
    return tuple({canonical_setting(name, value): value for value in reversed([*values])}.values())[::-1]


def _front_ends(touched: Iterable[SeriesKey]) -> tuple[str, ...]:
    """A note for each framework that runs on another one: results of a program that name now this one, now the other are kept apart."""
    said = dict.fromkeys(key.framework for key in touched if is_front_end(canonical_name(key.framework)))
    text = "results of it, and of the framework that it runs on, count as those of two programs: name one of them in all rows of a program"
    return tuple(f"framework {name!r}: {text}" for name in said)


def _ratios(touched: Iterable[SeriesKey]) -> tuple[str, ...]:
    """A note for each metric that predicts nothing. A speed-up over a baseline that it names tells what a switch does."""
    said = dict.fromkeys(key.metric for key in touched if key.metric in RATIOS and "baseline" not in key.params)
    return tuple(f"metric {name!r}: nothing is predicted from it; load the times or rates that it was computed from" for name in said)


def _numbers_as_names(touched: Iterable[SeriesKey]) -> Iterator[str]:
    """A note for each column of names in which numbers stand: they are counts of processes, or times."""
    for column, meaning in _NAMES.items():
        numbers = dict.fromkeys(repr(name) for key in touched if (name := getattr(key, column)) and NUMERIC.fullmatch(name))
        if numbers:
            yield f"{column} {join_names(list(numbers), SHOWN)}: the column names {meaning}"


def _counts_as_parameters(touched: Iterable[SeriesKey]) -> Iterator[str]:
    """A note for each parameter with several values that is called like a count of the layout: each value is a problem of its own."""
    values: dict[str, dict[str, None]] = {}
    for key in touched:
        for name, value in key.params.items():
            values.setdefault(name, {})[value] = None
    for name, found in values.items():
        column = layout_column(name)
        if column is not None and column != "batch_size" and len(found) > 1:
            way = f"if it is a count of the layout, load it as {column!r}"
            yield f"parameter {name!r}: runs with {join_names(list(found), SHOWN)} count as different problems; {way}"


def _sums(touched: Iterable[SeriesKey]) -> Iterator[str]:
    """A note for each application that is called like the last row of a spreadsheet."""
    for name in dict.fromkeys(key.application for key in touched if canonical_name(key.application) in SUMS):
        way = f"if it sums up other rows, take it out ('modak results doubt', 'modak results list --application {name}' has its number)"
        yield f"application {name!r} counts as one of its own; {way}"


def _beyond(key: SeriesKey, one: Figures, nodes_of: Mapping[str, int]) -> str | None:
    there = nodes_of.get(canonical_name(key.system), MOST_NODES)
    if (one.most_nodes or 0) <= there:
        return None
    has = f"{key.system} has {there}" if canonical_name(key.system) in nodes_of else f"no system has more than {there}"
    return f"up to {one.most_nodes} nodes, but {has}: is it the column 'nodes'? {_NO_COMPUTERS}"


def _no_nodes(one: Figures) -> str | None:
    """That results without numbers of nodes count as runs on one node: of series over ranks or GPUs, and where a node has no such room."""
    if one.without_nodes < one.rows:
        return None
    within = one.most_within
    if within.get("gpus_per_node", 0) > MOST_GPUS:
        what = f"more than {MOST_GPUS} gpus_per_node"
    elif within.get("ranks_per_node", 1) * within.get("threads_per_rank", 1) > MOST_THREADS:
        what = f"more than {MOST_THREADS} ranks x threads on a node"
    elif one.rows >= LEAST_SIZES and max(within.get("ranks_per_node", 0), within.get("gpus_per_node", 0)) > 1:
        way = "take these rows out ('modak results doubt'), and load them with their numbers"
        return f"no result names 'nodes', so each counts as a run on one node; if some are not, {way}"
    else:
        return None
    return f"{what}: without 'nodes' each result counts as a run on one node; give their number, and the counts of each"


def _over_all_nodes(one: Figures) -> Iterator[str]:
    """Counts that grow as the number of nodes does, over three numbers or more."""
    for name, each in one.for_each_node.items():
        if each.sizes < LEAST_SIZES or each.least != each.most:
            continue
        grows = f"{name} grows as the nodes do ({each.least:g} for each)"
        if name == "batch_size":
            yield f"{grows}: it is that of each worker; divide a global batch by the workers"
        else:
            total = next((total for total, column in TOTALS.items() if column == name), None)
            way = f"{AGAIN} '--map {name}={total}'" if total else "divide it by them"
            yield f"{grows}: if it counts over all nodes, {way}"


def _percentage(key: SeriesKey, one: Figures) -> str | None:
    if one.most <= PARTS.get(key.metric, math.inf):
        return None
    return f"{key.metric} up to {one.most:g}, where 1 is all: load percentages with the unit %, and with --replace"


def _summed(one: Figures) -> str | None:
    if one.without_nodes != 1 or one.sizes < 2:
        return None
    return "one result without 'nodes', which counts for any number of them; if it sums up the others, take it out ('modak results doubt')"


def _of_each_gpu(key: SeriesKey, one: Figures) -> str | None:
    """What is said of a rate that is nearly the same on many times the nodes with GPUs, as what one GPU does is."""
    gpus = one.for_each_node.get("gpus_per_node")
    several = gpus and gpus.sizes >= LEAST_SIZES and gpus.most >= GROWN * gpus.least and (one.most_nodes or 0) >= GROWN
    if not several or one.most > EVEN * one.least or not metric_of(key).is_rate or key.unit == "B/s":
        return None
    return f"hardly faster on more nodes: if the values are of each GPU, {AGAIN} '/GPU' behind their unit, as in tokens/s/GPU"


def _slower_with_nodes(key: SeriesKey, one: Figures) -> bool:
    """Whether runs take longer on more nodes, at each step and nearly as many times as these: so does a problem that grows."""
    cost = metric_of(key)
    several = one.may_go_with_nodes and one.most >= GROWN**GROWS_AS * one.least and not one.without_nodes
    if not several or not cost.tells_cost or cost.of_request or "scaling" in key.params:
        return False
    nodes, least, most = zip(*one.on_nodes, strict=True)
    costs = [1 / value for value in most] if cost.is_rate else list(least)
    grown = nodes[-1] / nodes[0]
    return grown >= GROWN and costs == sorted(costs) and costs[-1] >= costs[0] * grown**GROWS_AS
