"""Series that tell of one run, though some say less of it than others: what they measured is one curve.

A table of old timings names neither image nor runtime, the result of a job of MODAK's names both; the first tells the time of an epoch, the
second that of the whole run and how many epochs it had. Apart, the one with more sizes would answer for ever, whatever new runs show.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, Final, NamedTuple

from modak.facts import Layout, SeriesKey
from modak.metrics import metric

OPEN: Final = ("framework_version", "image", "partition", "runtime", "hyperthreads")
"""Columns that a result may leave empty and still be of the usual run."""
PARTS: Final = ("epoch", "step")
"""What a run is made of, where its results say how many: ``params.epochs``, ``params.steps``."""
SPELT: Final = ("system", "framework", "compiler")
"""Columns in which neither case nor underscores for hyphens tell apart."""
TOLD: Final = tuple(name for name in SeriesKey.model_fields if name not in (*OPEN, *SPELT, "params"))
"""Columns in which one run has one value."""


class Place(NamedTuple):
    """The series that results are taken into, and what their values are multiplied by there."""

    series: SeriesKey
    factor: float = 1.0


def kin(key: SeriesKey) -> Hashable:
    """Equal for all series that may tell of one run: whether two of them do, the others may decide."""
    by_part = _by_part(key).series
    spelt = (str(getattr(by_part, name)).lower().replace("_", "-") for name in SPELT)
    return (*spelt, *(getattr(by_part, name) for name in TOLD), *sorted(by_part.params.items()))


def together(keys: Iterable[SeriesKey]) -> Mapping[str, Place]:
    """Where the results of each of ``keys`` (by its JSON) go: into the one series of all that tell of the same run, or into their own.

    That one series says what all of them say. Where an open column has several values it is not known of which of these runs an
    empty cell is: all stay apart. Whole runs become times of their parts where such times were measured, too.
    """
    by_kin: dict[Hashable, list[SeriesKey]] = defaultdict(list)
    for key in keys:
        by_kin[kin(key)].append(key)
    found: dict[str, Place] = {}
    for group in by_kin.values():
        measured = any(_by_part(key).series is key for key in group)
        groups: dict[Hashable, list[tuple[SeriesKey, Place]]] = defaultdict(list)
        for key in group:
            place = _by_part(key) if measured else Place(key)
            groups[(place.series.metric, *sorted(place.series.params.items()))].append((key, place))
        for members in groups.values():
            one = _common([place.series for _, place in members])
            found.update((key.model_dump_json(), Place(one, place.factor) if one else Place(key)) for key, place in members)
    return found


def layouts(known: Iterable[Layout]) -> Mapping[Layout, Layout]:
    """Layouts of one run, with an empty batch as that of the others, and empty GPUs as none, where the others have no other count."""
    every = dict.fromkeys(known)
    batches, gpus = ({getattr(one, name) for one in every} - {None} for name in ("batch_size", "gpus_per_node"))
    filled = {"batch_size": next(iter(batches))} if len(batches) == 1 else {}
    filled |= {"gpus_per_node": 0} if gpus == {0} else {}
    return {one: one.model_copy(update={name: count for name, count in filled.items() if getattr(one, name) is None}) for one in every}


def _by_part(key: SeriesKey) -> Place:
    """A whole run by its epochs or steps; the series itself, where it is of something else or does not say how many."""
    kind = metric(key.metric, key.unit)
    if kind.kind != "time" or kind.per != "run":
        return Place(key)
    for part in PARTS:
        count = _number(key.params.get(f"{part}s"))
        if count:
            params = {name: text for name, text in key.params.items() if name != f"{part}s"}
            return Place(key.model_copy(update={"metric": f"{part}_time", "params": params}), 1 / count)
    return Place(key)


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 < number < float("inf") else None


def _common(keys: Sequence[SeriesKey]) -> SeriesKey | None:
    """What all of them say, where no two say different things; ``None``: some do, or there is but one."""
    if len(keys) < 2 or any(_contradict(*pair) for pair in combinations({_open(key) for key in keys}, 2)):
        return None
    first = min(keys, key=lambda key: key.model_dump_json())
    said: dict[str, Any] = {name: getattr(first, name) for name in OPEN if len({getattr(key, name) for key in keys}) == 1}
    return first.model_copy(update={**dict.fromkeys(OPEN), **said})


def _open(key: SeriesKey) -> tuple[object, ...]:
    return (*(getattr(key, name) for name in OPEN if name != "hyperthreads"), bool(key.hyperthreads))


def _contradict(one: Sequence[object], other: Sequence[object]) -> bool:
    return any(None not in pair and pair[0] != pair[1] for pair in zip(one, other, strict=True))
