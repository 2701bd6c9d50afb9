"""Series that tell of one run, though some say less of it than others: what they measured is one curve.

A table of old timings names neither image nor runtime, the result of a job of MODAK's names both; the first tells the time of an epoch, the
second that of the whole run and how many epochs it had. Apart, the one with more sizes would answer for ever, whatever new runs show.

A job that times itself and prints how fast its work went tells both: the work joins what was measured of work, and the rest of the time is
what starting takes (:mod:`modak.perfmodel.startup`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import combinations, islice
from typing import Final, NamedTuple

from modak.facts import Layout, SeriesKey, same_mpi, same_name
from modak.perfmodel import startup
from modak.perfmodel.precisions import same_precision
from modak.perfmodel.startup import LENGTHS, number
from modak.results.metrics import metric

OPEN: Final = ("framework_version", "image", "partition", "runtime", "hyperthreads")
"""Columns that a result may leave empty and still be of the usual run."""
PARTS: Final = ("epoch", "step")
"""What a run is made of, where its results say how many: ``params.epochs``, ``params.steps``."""
SPELT: Final[Mapping[str, Callable[[str | None], Hashable]]] = {
    **dict.fromkeys(("system", "framework", "compiler"), same_name),
    "mpi": same_mpi,
    "precision": same_precision,
}
"""Columns in which one thing may be written in several ways, and what is the same for all of these."""
TOLD: Final = tuple(name for name in SeriesKey.model_fields if name not in (*OPEN, *SPELT, "params", "metric", "unit"))
"""Columns in which one run has one value."""
MOST_RUNS: Final = 8
"""Of more runs than these that an empty cell may mean, it is taken for none."""


Told = tuple[object, ...]
"""What a series says in the columns of :data:`OPEN`."""


class Place(NamedTuple):
    """The series that results are taken into, and what their values are multiplied by there."""

    series: SeriesKey
    factor: float = 1.0


def kin(key: SeriesKey) -> Hashable:
    """Equal for all series that may tell of one run: whether two of them do, the others may decide."""
    spelt = (same(getattr(key, name)) for name, same in SPELT.items())
    kind = metric(key.metric, key.unit).kind
    measured = () if kind in ("time", "throughput") else (key.metric, key.unit)
    return (*spelt, *measured, *(getattr(key, name) for name in TOLD), *problem(key.params))


def problem(params: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Parameters that do not say how long a run was, by name: equal for all series of one :func:`kin`."""
    return tuple(sorted((name, text) for name, text in params.items() if name not in LENGTHS))


def together(keys: Iterable[SeriesKey]) -> Mapping[str, tuple[Place, ...]]:
    """Where the results of each of ``keys`` (by its JSON) go: into the one series of all that tell of the same run, or into their own.

    That one series says what all of them say. Where an open column has several values there are several runs, and an empty cell is of any
    of them: its results go into each. Whole runs become times of their parts where such times were measured, too, unless they say
    themselves how fast their parts were. How long a run was is no matter of rates.
    """
    by_kin: dict[Hashable, dict[str, SeriesKey]] = defaultdict(dict)
    for key in keys:
        by_kin[kin(key)][key.model_dump_json()] = key
    found: dict[str, tuple[Place, ...]] = {}
    for group in by_kin.values():
        parts = {key.metric for key in group.values()}
        if len(group) == 1:
            found.update((name, (_by_part(key, parts),)) for name, key in group.items())
            continue
        timed = {id(wall) for wall, _ in startup.pairs([*group.values()])}
        groups: dict[Hashable, dict[str, Place]] = defaultdict(dict)
        for name, key in group.items():
            place = Place(key) if id(key) in timed else _by_part(key, parts)
            series = place.series
            groups[(series.metric, series.unit, *sorted(series.params.items()))][name] = place
        for members in groups.values():
            found.update(_of_runs(members))
    return found


def places(known: Mapping[int, SeriesKey]) -> Mapping[int, tuple[Place, ...]]:
    """The same by the numbers of series."""
    found = together(known.values())
    return {number: found[key.model_dump_json()] for number, key in known.items()}


def _of_runs(members: Mapping[str, Place]) -> Mapping[str, tuple[Place, ...]]:
    """The places of series (by their JSON) that are alike but for open columns."""
    found: dict[str, list[Place]] = {name: [] for name in members}
    said = {name: _open(place.series) for name, place in members.items()}
    for run, of_run in _runs(set(said.values())).items():
        here = [name for name in members if said[name] in of_run]
        one = _said(run, [members[name].series for name in here])
        for name in here:
            found[name].append(Place(one, members[name].factor))
    return {name: tuple(found[name]) or (place,) for name, place in members.items()}


def _runs(said: AbstractSet[Told]) -> Mapping[Told, AbstractSet[Told]]:
    """What is said in open columns of each run, and all that may be of it.

    Where nothing contradicts there is one run, and of it is told what all say. Else there is one for each that says most.
    """
    if not any(_contradict(*pair) for pair in combinations(said, 2)):
        return {tuple(column[0] if len(set(column)) == 1 else None for column in zip(*said, strict=True)): said}
    saying_most = (one for one in said if not any(_says(other, one) for other in said if other != one))
    most = sorted(islice(saying_most, MOST_RUNS + 1), key=str)
    return {run: {one for one in said if _says(run, one)} for run in most} if len(most) <= MOST_RUNS else {}


def layouts(known: Iterable[Layout]) -> Mapping[Layout, Layout]:
    """Layouts of one run, with what they leave empty as the others say it, where these say one thing.

    An empty batch is that of the others, and empty GPUs are none, where the others have no other count. Of ranks and threads on nodes with
    as many GPUs, one that is empty is that of the others, where all that say something lay on a node in one way. Results that say nothing
    of how they lay on a node stay by themselves: they may be of any way.
    """
    every = dict.fromkeys(known)
    batches, gpus = ({getattr(one, name) for one in every} - {None} for name in ("batch_size", "gpus_per_node"))
    filled = {"batch_size": next(iter(batches))} if len(batches) == 1 else {}
    filled |= {"gpus_per_node": 0} if gpus == {0} else {}
    found = {one: _with(one, filled) for one in every}
    ways: dict[int | None, set[tuple[int | None, int | None]]] = defaultdict(set)
    telling = {given: one for given, one in found.items() if one.ranks_per_node or one.threads_per_rank or one.gpus_per_node}
    for one in telling.values():
        ways[one.gpus_per_node].add((one.ranks_per_node, one.threads_per_rank))
    way = {count: _one_way(said) for count, said in ways.items() if len(said) > 1}
    return found | {given: _with(one, way.get(one.gpus_per_node, {})) for given, one in telling.items()}


def _one_way(said: Collection[tuple[int | None, int | None]]) -> Mapping[str, int]:
    """Ranks and threads on a node, where none of the pairs contradicts another one."""
    columns = [set(column) - {None} for column in zip(*said, strict=True)]
    if any(len(column) > 1 for column in columns):
        return {}
    named = zip(("ranks_per_node", "threads_per_rank"), columns, strict=True)
    return {name: count for name, column in named for count in column if count is not None}


def _with(layout: Layout, counts: Mapping[str, int]) -> Layout:
    """The layout with its empty counts filled in."""
    empty = {name: count for name, count in counts.items() if getattr(layout, name) is None}
    return layout.model_copy(update=empty) if empty else layout


def _by_part(key: SeriesKey, measured: Collection[str]) -> Place:
    """A whole run by its epochs or steps, where times of these were ``measured``; a time or rate of a part whatever the run's length."""
    kind = metric(key.metric, key.unit)
    if kind.kind not in ("time", "throughput"):
        return Place(key)
    if kind.kind != "time" or kind.per != "run":
        return Place(key.model_copy(update={"params": _without_length(key)}))
    for part in PARTS:
        count = number(key.params.get(f"{part}s"))
        if count and f"{part}_time" in measured:
            return Place(key.model_copy(update={"metric": f"{part}_time", "params": _without_length(key)}), 1 / count)
    return Place(key)


def _without_length(key: SeriesKey) -> dict[str, str]:
    return {name: text for name, text in key.params.items() if name not in LENGTHS}


def _open(key: SeriesKey) -> Told:
    """What it says in open columns; no hyper-threads are none, said or not."""
    return tuple(bool(key.hyperthreads) if name == "hyperthreads" else getattr(key, name) for name in OPEN)


def _said(run: Told, keys: Sequence[SeriesKey]) -> SeriesKey:
    """One series of a run, for all of it."""
    first = min(keys, key=lambda key: key.model_dump_json())
    unlike = [(name, told) for name, told in zip(OPEN, run, strict=True) if len({getattr(key, name) for key in keys}) > 1]
    return first.model_copy(update={name: told or None for name, told in unlike})


def _says(one: Told, other: Told) -> bool:
    """Whether the first says all that the other one says."""
    return all(less is None or less == more for more, less in zip(one, other, strict=True))


def _contradict(one: Told, other: Told) -> bool:
    return any(None not in pair and pair[0] != pair[1] for pair in zip(one, other, strict=True))
