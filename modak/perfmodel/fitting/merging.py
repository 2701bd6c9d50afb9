"""Merge series of the same run of which some fill in fewer columns than others: their results are fitted as one curve.

A table of old timings names neither image nor runtime, the result of a MODAK job names both. A table has the time of an epoch, a job the
time of the whole run and its number of epochs. As separate curves, the one with more sizes would always answer, whatever new runs show.

A job that measures its total time and also prints the speed of its work gives both: the work is merged with other results of that work, and
the rest of the time is start-up (:mod:`modak.perfmodel.fitting.startup`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Any, Final, Literal, NamedTuple

from modak.facts import (
    Layout,
    SeriesKey,
    canonical_image,
    canonical_mpi,
    canonical_name,
    canonical_parameter,
    canonical_text,
    canonical_version,
)
from modak.grouping import grouped
from modak.perfmodel.fitting import startup
from modak.perfmodel.fitting.precisions import canonical_precision, exact_precision
from modak.perfmodel.fitting.startup import LENGTHS, PARTS, positive_number
from modak.results.filters import PARAMETER
from modak.results.metrics import metric_of

OPTIONAL: Final = ("framework_version", "image", "partition", "runtime", "hyperthreads")
"""Columns in which an empty cell may stand for any value."""
SPELLINGS: Final[Mapping[str, Callable[[str | None], Hashable]]] = {
    **dict.fromkeys(("system", "framework", "compiler"), canonical_name),
    "mpi": canonical_mpi,
    "precision": canonical_precision,
}
"""Columns in which one value has several spellings, with a function that gives the same for all of them."""
_EXACT: Final[Mapping[str, Callable[[str], Hashable]]] = {
    **SPELLINGS,
    "precision": exact_precision,
    **dict.fromkeys(("mpi_from", "runtime"), canonical_name),
    "image": canonical_image,
    "framework_version": canonical_version,
}
"""The same, with a function for labels that mean nothing but the same: mixed precisions are joined, but are several."""
COMPARED: Final = tuple(name for name in SeriesKey.model_fields if name not in (*OPTIONAL, *SPELLINGS, "params", "metric", "unit"))
"""Columns that are equal in all series of one run."""
RATE: Final = ("throughput", "samples/s")
"""Metric and unit of the rate of samples that follows from results per step."""
MOST_RUNS: Final = 8
"""If an empty cell may belong to more runs than these, it belongs to none of them."""


Values = tuple[object, ...]
"""The values of a series in the columns :data:`OPTIONAL`; ``None`` where empty."""
Measure = tuple[object, ...]
"""What series measure that differ in optional columns only: metric, unit and parameters."""


class Destination(NamedTuple):
    """The series into which results are merged, and what becomes of their values there."""

    series: SeriesKey
    factor: float = 1.0
    become: Literal["the same", "samples per second", "work per second"] = "the same"
    """``the same``: they are multiplied by ``factor``. ``samples per second``: so multiplied they are of steps, and a step has the batch of
    each worker. ``work per second``: they are times of whole runs, and ``factor`` is the work of one, in the unit of the series."""


def run_key(key: SeriesKey) -> Hashable:
    """Equal for all series that may be of the same run; :func:`destinations` decides whether they are."""
    spelt = (same(getattr(key, name)) for name, same in SPELLINGS.items())
    measured = () if metric_of(key).tells_cost else (key.metric, key.unit)
    return (*spelt, *measured, *(getattr(key, name) for name in COMPARED), *problem(key.params))


def problem(params: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The parameters without those for the length of a run, sorted by name, each in one spelling; part of :func:`run_key`."""
    return tuple(sorted((name, canonical_setting(name, text)) for name, text in without_length(params).items()))


def canonical_setting(name: str, text: str) -> str:
    """Equal for values of the parameter ``name`` that mean the same: as :func:`modak.facts.canonical_parameter`, and amounts in any unit.

    >>> (
    ...     canonical_setting("amount", "100 ns") == canonical_setting("amount", "0.1 us"),
    ...     canonical_setting("size", "10.0") == canonical_setting("size", "10"),
    ... )
    (True, True)
    """
    amount = startup.amount_of({name: text})
    return f"{amount.number:.15g} {amount.counts}" if amount else canonical_parameter(text)


def canonical_label(column: str, text: str) -> Hashable:
    """Equal for texts of a column (``params.NAME`` for a parameter) that mean the same, whatever the systems' aliases are.

    >>> (
    ...     canonical_label("compiler", "GCC 9.3") == canonical_label("compiler", "gcc/9.3"),
    ...     canonical_label("dataset", "A b") == canonical_label("dataset", "a-b"),
    ... )
    (True, False)
    """
    if column.startswith(PARAMETER):
        return canonical_setting(column.removeprefix(PARAMETER), text)
    return _EXACT.get(column, canonical_text)(text)


def curve_label(name: str, value: Any) -> Hashable:
    """Equal for values of a column of results that one curve joins: in any spelling, and mixed precisions; all parameters are one value."""
    if name == "params":
        return frozenset((key, canonical_setting(key, text)) for key, text in value.items())
    return SPELLINGS[name](value) if name in SPELLINGS and value is not None else value


def destinations(keys: Iterable[SeriesKey]) -> Mapping[SeriesKey, tuple[Destination, ...]]:
    """For each of ``keys``, the series into which its results are merged; often only itself.

    Series of the same run have one destination, with the values of all of them. If an optional column has several values, there are several
    runs, and series in which it is empty are merged into each of them. Times of whole runs become times of their epochs or steps if such
    times were measured, too, unless their own runs also measured the speed of the work. Rates do not depend on the length of a run.
    Results per step are also rates of samples, unless the rate itself was measured. If it was, times of whole runs that are no short
    ones are also rates of their work, where this is known.
    """
    found: dict[SeriesKey, tuple[Destination, ...]] = {}
    for members in grouped(dict.fromkeys(keys), run_key).values():
        found |= _destinations_within(members)
    return found


def _destinations_within(members: Sequence[SeriesKey]) -> Mapping[SeriesKey, tuple[Destination, ...]]:
    """The destinations of series that may be of one run."""
    together = _measured_together(members)
    by_measure: dict[Measure, dict[SeriesKey, Destination]] = defaultdict(dict)
    for key in members:
        for one in _told_by(key, together):
            by_measure[_measure(one.series)][key] = one
    rated = any(measure[:2] == RATE for measure in by_measure)
    found: dict[SeriesKey, list[Destination]] = {key: [] for key in members}
    for alike in by_measure.values():
        for key, merged in _merged_by_run(alike).items():
            found[key] += merged if rated else _with_rate(merged)
    return {key: tuple(several) for key, several in found.items()}


def _measure(series: SeriesKey) -> Measure:
    return (series.metric, series.unit, *sorted((name, canonical_setting(name, text)) for name, text in series.params.items()))


class _Together(NamedTuple):
    """What series that may be of one run measured, taken together."""

    known: Collection[SeriesKey]
    metrics: Collection[str]
    rates: Sequence[tuple[str, str]]
    """Metric and unit of those that are rates, sorted."""
    with_start_up: Collection[SeriesKey]
    """Series of whole times whose runs also measured the speed of their work: the rest of the time is start-up."""
    may_lack_amount: bool
    """See :func:`_may_lack_amount`."""


def _measured_together(keys: Sequence[SeriesKey]) -> _Together:
    return _Together(
        known=set(keys),
        metrics={key.metric for key in keys},
        rates=sorted({(key.metric, key.unit) for key in keys if metric_of(key).is_rate}),
        with_start_up={wall for wall, work in startup.pairs(keys) if not startup.maybe_part(work)},
        may_lack_amount=_may_lack_amount(keys),
    )


def _told_by(key: SeriesKey, together: _Together) -> Iterator[Destination]:
    """Of what series its results are, beside what else was measured of the run."""
    if key in together.with_start_up:
        yield Destination(key)
    else:
        yield _per_part(key, together)
        yield from _as_rates(key, together)


def _per_part(key: SeriesKey, together: _Together) -> Destination:
    """For the time of a whole run, that of its epochs or steps if such times were measured, too. Without the length of the run.

    Else itself, but without the amount if epochs or steps tell its length, and that of other runs without any amount.
    """
    if not metric_of(key).tells_cost:
        return Destination(key)
    if not startup.is_whole(key):
        return Destination(key.model_copy(update={"params": without_length(key.params)}))
    if startup.maybe_part(key):
        return Destination(key)
    counts = _counts(key)
    for part, count in counts.items():
        if f"{part}_time" in together.metrics:
            return Destination(key.model_copy(update={"metric": f"{part}_time", "params": without_length(key.params)}), 1 / count)
    if together.may_lack_amount and counts:
        return Destination(key.model_copy(update={"params": {name: text for name, text in key.params.items() if name != "amount"}}))
    return Destination(key)


def _counts(key: SeriesKey) -> dict[str, float]:
    """Numbers of the parts of a whole run; empty if they are not given, or if the series is of no whole runs."""
    counts = {part: positive_number(key.params.get(f"{part}s")) for part in PARTS} if startup.is_whole(key) else {}
    return {part: count for part, count in counts.items() if count}


def _may_lack_amount(keys: Iterable[SeriesKey]) -> bool:
    """Whether some runs of known epochs or steps give no amount, and those of the others are as large for each epoch, or step."""
    lacking = False
    kinds: set[tuple[str, str]] = set()
    sizes: set[tuple[str, str, str]] = set()
    for key in keys:
        counts = _counts(key)
        if not counts:
            continue
        part, count = next(iter(counts.items()))
        amount = startup.amount_of(key.params)
        if amount:
            kinds.add((part, amount.counts))
            sizes.add((part, amount.counts, f"{amount.number / count:.9g}"))
        else:
            lacking = True
    return lacking and len(sizes) == len(kinds)


def _as_rates(key: SeriesKey, together: _Together) -> Iterator[Destination]:
    """For the time of a whole run of known work, the measured rates that count it, unless a series gives them itself."""
    if not startup.is_whole(key) or startup.maybe_part(key):
        return
    for name, unit in together.rates:
        rate = key.model_copy(update={"metric": name, "unit": unit})
        done = startup.work(rate)
        if done and rate not in together.known:
            yield Destination(rate.model_copy(update={"params": without_length(key.params)}), done, "work per second")


def _with_rate(several: tuple[Destination, ...]) -> tuple[Destination, ...]:
    """The destinations; for those of steps, also the rate of samples in these steps."""
    of_steps = [one for one in several if metric_of(one.series).per == "step"]
    name, unit = RATE
    rates = [one.series.model_copy(update={"metric": name, "unit": unit}) for one in of_steps]
    return *several, *(Destination(rate, one.factor, "samples per second") for rate, one in zip(rates, of_steps, strict=True))


def without_length(params: Mapping[str, str]) -> dict[str, str]:
    """The parameters without those that give the length of a run."""
    return {name: text for name, text in params.items() if name not in LENGTHS}


def _merged_by_run(members: Mapping[SeriesKey, Destination]) -> Mapping[SeriesKey, tuple[Destination, ...]]:
    """The destinations of series that differ only in optional columns."""
    found: dict[SeriesKey, list[Destination]] = {key: [] for key in members}
    values = {key: optional_values(destination.series) for key, destination in members.items()}
    for run, of_run in _runs(set(values.values())).items():
        here = [key for key in members if values[key] in of_run]
        one = _series_of(run, [members[key].series for key in here])
        for key in here:
            found[key].append(members[key]._replace(series=one))
    return {key: tuple(found[key]) or (destination,) for key, destination in members.items()}


def _runs(values: AbstractSet[Values]) -> Mapping[Values, AbstractSet[Values]]:
    """For each run, by its values, the values of all series that may be of it.

    Without contradictions there is one run, with the values on which all agree. Otherwise each of the most complete values is a run.
    """
    if _agree(values):
        return {tuple(column[0] if len(set(column)) == 1 else None for column in zip(*values, strict=True)): values}
    complete = (one for one in values if not any(_includes(other, one) for other in values if other != one))
    runs = sorted(islice(complete, MOST_RUNS + 1), key=str)
    return {run: {one for one in values if _includes(run, one)} for run in runs} if len(runs) <= MOST_RUNS else {}


def is_one_run(keys: Iterable[SeriesKey]) -> bool:
    """Whether series that may be of one run (:func:`run_key`) are of one: no optional column has several values."""
    return _agree({optional_values(key) for key in keys})


def optional_values(key: SeriesKey) -> Values:
    """Its values in optional columns; empty hyper-threads are none."""
    return tuple(bool(key.hyperthreads) if name == "hyperthreads" else getattr(key, name) for name in OPTIONAL)


def _series_of(run: Values, keys: Sequence[SeriesKey]) -> SeriesKey:
    """The series of a run, from all that are merged into it."""
    first = min(keys, key=SeriesKey.model_dump_json)
    unlike = [(name, value) for name, value in zip(OPTIONAL, run, strict=True) if len({getattr(key, name) for key in keys}) > 1]
    return first.model_copy(update={name: value or None for name, value in unlike})


def _includes(one: Values, other: Values) -> bool:
    """Whether the first values include all that are not empty in the other ones."""
    return all(less is None or less == more for more, less in zip(one, other, strict=True))


def _agree(values: AbstractSet[Values]) -> bool:
    """Whether no column has several values, beside empty ones."""
    return all(len({*column} - {None}) < 2 for column in zip(*values, strict=True))


def completed(known: Iterable[Layout]) -> Mapping[Layout, Layout]:
    """Each layout of a run, with its empty counts taken from the other layouts if these agree.

    An empty batch size is that of the others, and empty GPUs are none, if the others have no other count. Among layouts with as many GPUs
    per node, an empty number of ranks or threads is that of the others, if all of them agree, and on GPUs if all layouts have as many ranks
    per GPU, or per node. Layouts without any of these counts may be any layout: they get none. An empty number of nodes counts as one.
    """
    given = [*dict.fromkeys(known)]
    everywhere = _same_everywhere(given)
    found = {one: _with(one, everywhere) for one in given}
    pairs: dict[int | None, set[tuple[int | None, int | None]]] = defaultdict(set)
    partial = {one: filled for one, filled in found.items() if filled.ranks_per_node or filled.threads_per_rank or filled.gpus_per_node}
    for filled in partial.values():
        pairs[filled.gpus_per_node].add((filled.ranks_per_node, filled.threads_per_rank))
    alike = _alike_on_gpus(given)
    agreed = {gpus: _agreed(of_gpus) for gpus, of_gpus in pairs.items() if alike or not gpus}
    found |= {one: _with(filled, agreed.get(filled.gpus_per_node, {})) for one, filled in partial.items()}
    return {one: _with(filled, {"nodes": 1}) for one, filled in found.items()}


def _same_everywhere(layouts: Collection[Layout]) -> Mapping[str, int]:
    """The batch size, if all layouts that give one give the same, and no GPUs, if none of them has any."""
    batches = {one.batch_size for one in layouts if one.batch_size is not None}
    gpus = {one.gpus_per_node for one in layouts if one.gpus_per_node is not None}
    return {**({"batch_size": batches.pop()} if len(batches) == 1 else {}), **({"gpus_per_node": 0} if gpus == {0} else {})}


def _alike_on_gpus(layouts: Collection[Layout]) -> bool:
    """Whether all layouts have as many ranks per GPU, or those with GPUs as many per node, as far as they tell."""
    per_gpu = {one.ranks_per_gpu for one in layouts if one.ranks_per_gpu is not None}
    per_node = {one.ranks_per_node for one in layouts if one.gpus_per_node and one.ranks_per_node is not None}
    return len(per_gpu) < 2 or len(per_node) < 2


def _agreed(pairs: Collection[tuple[int | None, int | None]]) -> Mapping[str, int]:
    """Ranks per node and threads per rank, from pairs of them; empty if two pairs contradict each other."""
    ranks = {of_ranks for of_ranks, _ in pairs if of_ranks is not None}
    threads = {of_threads for _, of_threads in pairs if of_threads is not None}
    if len(ranks) > 1 or len(threads) > 1:
        return {}
    return {name: count for name, counts in (("ranks_per_node", ranks), ("threads_per_rank", threads)) for count in counts}


def _with(layout: Layout, counts: Mapping[str, int]) -> Layout:
    """The layout with its empty counts filled in."""
    empty = {name: count for name, count in counts.items() if getattr(layout, name) is None}
    return layout.model_copy(update=empty) if empty else layout
