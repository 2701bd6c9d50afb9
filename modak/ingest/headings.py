"""What the heading of a table tells: a count, a metric with its unit, a ratio, the sizes of a wide table.

What other tables call the columns and the metrics is in :mod:`modak.ingest.vocabulary`; what is said of an unknown heading, in
:mod:`modak.ingest.hints`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from modak.ingest import vocabulary
from modak.ingest.table import LAYOUT, MOST_COLUMNS
from modak.ingest.values import quoted
from modak.results import metrics
from modak.results.units import known_unit
from modak.text.amounts import join_names

MOST_NAMED: Final = 8
"""Headings that a message names."""
LONGEST: Final = 60
"""Letters of a heading that are looked at: no column or metric has a longer name, and searching a long one takes too much time."""
_OF_ONE: Final = re.compile(r"(.*)_per_(gpu|device|core|node|rank|worker|chip|socket|thread|process)(_per_.*)?")
"""A rate of a part of the machine, also ``tokens/GPU/s``."""
_COUNTED: Final = re.compile(r"[a-z]+s|tok|img|[kmgt]?b|[kmgt]?flop", re.IGNORECASE)
"""What a rate per second counts in a heading without its slash: ``tok_s`` is a rate, ``epoch_s`` a time."""
BRACKETS: Final = re.compile(r"\s*[\[(]\s*(?:(?!(?:d+[- ])?[a-z]+:)([A-Za-z0-9/%]{1,20}))?.*", re.IGNORECASE)
"""With the unit in them, which the parts of a clock (``[hh:mm:ss]``) are not."""
_PER_BEHIND: Final = re.compile(r"([^\[(]*)([\[(][^\])]*[\])])[ _]*(?:per[ _]|/)[ _]*([a-z]{1,20})", re.IGNORECASE)
"""What a time or a rate is of, behind its unit: ``Time [s] per epoch``."""
_IN: Final = re.compile(r"[ _]in[ _]([A-Za-z/%]{1,20})$", re.IGNORECASE)
"""A unit behind its word: ``Laufzeit in s``."""
BLANK: Final = re.compile(r"\s")
_SLASH: Final = re.compile("[ _]?/[ _]?")
_SIZE: Final = re.compile(
    r"(nodes?|ranks?|gpus?|procs?|process(?:es)?|cores?|cpus?|threads?|omp|mpi|n|p|np|t|times?|runs?|rep|repeat|repetition|trial|lauf|messung)?"
    r"[ _=#:-]*[0-9]{1,7}[ _-]?"
    r"(nodes?|ranks?|gpus?|procs?|process(?:es)?|cores?|cpus?|threads?|x[ _]?[a-z][a-z0-9]{0,15})?",
    re.IGNORECASE,
)
_AROUND: Final = re.compile(r"([^\[(]+)[\[(]([^\])]*)[\])](.*)")
"""A heading with something in brackets: ``Time (2 nodes) [s]``."""
_COUNTS: Final = ("nodes", "total_ranks", "ranks_per_node", "threads_per_rank", "total_gpus")
"""What headings that are sizes may count if they do not tell, the likeliest first; or they number repetitions."""
_COUNTED_BY: Final = {
    "node": ("nodes",),
    **dict.fromkeys(("thread", "omp"), ("threads_per_rank",)),
    **dict.fromkeys(("rank", "proc", "proces", "processe", "mpi", "np"), ("total_ranks", "ranks_per_node", "nodes")),
    **dict.fromkeys(("core", "cpu"), ("total_ranks", "ranks_per_node", "threads_per_rank")),
    "gpu": ("total_gpus", "gpus_per_node"),
    **dict.fromkeys(("run", "rep", "repeat", "repetition", "trial", "lauf", "messung"), ("repeat",)),
}
"""What words in headings that are sizes, without a last ``s``, count."""
_NUMBER_OF: Final = re.compile(
    r"(?P<number>(the_)?(number|no\.?|nr\.?)_of_|anzahl_(der_)?|numero_d[ei]_|nombre_de_|of_|total_|num_|no_|nr_|n_)?"
    r"(total_|cpu_|mpi_|omp_|openmp_|physical_|logical_)?"
    r"(?P<what>.+?)(?P<one>_(count|number))?"
)
"""A heading that says that it counts something: ``Number of CPU cores``, ``thread_count``."""
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
"""Between the words of a heading such as ``numTasks``."""
_LETTERS: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "æ": "ae", "ø": "oe", "å": "aa", "œ": "oe", "ł": "l"})
"""Letters that are written with others where there are only those of ASCII."""


def folded(name: str) -> str:
    """A heading in lower case, with underscores for blanks of any kind; the beginning of a long one."""
    return BLANK.sub("_", name.strip()[:LONGEST].strip().lower())


def sizes(unknown: Sequence[str], *, some_known: bool, rising: bool = True) -> list[str]:
    """The unknown headings that are sizes, side by side: a wide table has a column for each number of nodes. Numbers may also be the cells
    of a table without a header: two of them are headings only beside ``some_known`` ones. ``rising``: only in this order; else in any, each
    once. Headings with different units are none: their values are not of one column."""
    places = [place for place, name in enumerate(unknown) if _SIZE.fullmatch(BRACKETS.sub("", _sized(name)[0]).strip())]
    if len(places) < (2 if some_known else 3):
        return []
    found = unknown[places[0] : places[-1] + 1]
    side_by_side = len(found) == len(places) and len(_in_brackets(found)) == len({_sized(name)[1] for name in found}) == 1
    counts = [size(name) for name in found] if side_by_side else []
    return list(found) if side_by_side and (counts if rising else sorted(counts)) == sorted(set(counts)) else []


def size(name: str) -> int:
    """The number in a heading that is a size."""
    return int(re.findall("[0-9]+", _sized(name)[0])[0])


def _sized(name: str) -> tuple[str, str]:
    """A heading without what stands before a size in brackets, and that; what a number in brackets counts belongs to the size.

    >>> _sized("Time (2 nodes) [s]"), _sized("Run 1 (s)"), _sized("Run (1) [s]")
    (('2 nodes [s]', 'Time '), ('Run 1 (s)', ''), ('Run 1 [s]', ''))
    """
    found = _AROUND.fullmatch(name[:LONGEST])
    if not found or not _SIZE.fullmatch(found[2].strip()) or is_ratio(bare_name(name)):
        return name[:LONGEST], ""
    before, inside, behind = found[1], found[2].strip(), found[3]
    if inside.isdigit() and _SIZE.fullmatch(whole := f"{before.strip()} {inside}"):
        return f"{whole}{behind}", ""
    return f"{inside}{behind}", before


def counted_by(names: Sequence[str]) -> tuple[str, ...]:
    """The columns that may hold what headings that are sizes count, the likeliest first; empty: they do not tell.

    >>> counted_by(["1 node", "2 nodes"]), counted_by(["omp-1", "omp-8"]), counted_by(["1xV100", "8xV100"]), counted_by(["t1", "t2"])
    (('nodes',), ('threads_per_rank',), ('total_gpus', 'gpus_per_node'), ())
    """
    words = {word.lower().removesuffix("s") for name in names for word in re.findall("[A-Za-z]+", BRACKETS.sub("", _sized(name)[0]))}
    kinds = {"gpu" if re.search("[0-9] ?x", name.lower()) else "" for name in names} | words
    return next((columns for word, columns in _COUNTED_BY.items() if word in kinds), ())


def _counts(names: Sequence[str], columns: Collection[str]) -> tuple[str, ...]:
    """What headings that are sizes and do not tell what they count may count in a table of these columns, the likeliest first: repetitions
    if they are numbered through from 0, or from 1 beside a column of the layout."""
    others = [name for name in columns if name not in names]
    laid = {*map(layout_column, others), *(name for name in others if name in LAYOUT)} - {None, "batch_size"}
    may_be = [column for column in _COUNTS if column not in laid]
    numbers = [size(name) for name in names]
    repeated = numbers == [*range(len(names))] or (laid and numbers == [*range(1, len(names) + 1)])
    return ("repeat", *may_be) if repeated else (*may_be, "repeat")


def unit_of(names: Sequence[str]) -> str | None:
    """The unit in the brackets of all these headings: ``s`` of ``Run 1 (s)``, ``Run 2 (s)``; ``None``: they give none, or several."""
    units = _in_brackets(names)
    (unit,) = units if len(units) == 1 else (None,)
    return unit if unit and known_unit(unit) else None


def _in_brackets(names: Sequence[str]) -> set[str | None]:
    return {found[1] if (found := BRACKETS.search(_sized(name)[0])) else None for name in names}


def wide(names: Sequence[str], columns: Collection[str], *, loading: bool) -> str:
    """The message for headings that are sizes; ``columns``: all of the table."""
    shown = join_names([quoted(name) for name in names], MOST_NAMED)
    how = "a row is one measured value: write a row for each, with its size in 'nodes', or in the column of what it counts (pandas: melt)"
    if loading:
        counts = counted_by(names) or _counts(names, columns)
        kinds = f", or {' or '.join(counts[1:])} if they count so" if len(counts) != 1 else ""
        unit = "" if unit_of(names) else " --set unit=…"
        fill = "" if "metric" in columns else f" --set metric=…{unit}"
        how = f"'--wide {counts[0]}{fill}' makes each of their cells a row{kinds}"
    what = "runs" if "repeat" in counted_by(names) else "sizes"
    return f"columns {shown} are named after {what}; {how}"


@lru_cache(2 * MOST_COLUMNS)  # each heading is looked at once for every other one
def is_ratio(bare: str) -> bool:
    """Whether a heading is of what is computed from times: a speed-up, an efficiency, perfect scaling."""
    words = in_ascii(bare).split("_")
    ideal = words[0] in vocabulary.IDEAL and words[1:2] != [] and (words[1] == "scaling" or is_time(words[1:2]))
    return ideal or bare in vocabulary.RATIOS or not vocabulary.RATIO_WORDS.isdisjoint(words)


class _OfOne(NamedTuple):
    """A rate of a part of the machine."""

    metric: str
    unit: str | None
    """Of all parts together; ``None``: the heading does not tell."""
    part: str


@lru_cache(2 * MOST_COLUMNS)  # each heading is looked at once for every other one
def rate_of_one(name: str) -> _OfOne | None:
    """What a heading says is done by each part of the machine; ``None``: it says nothing of the kind.

    >>> rate_of_one("Tokens / sec / GPU"), rate_of_one("Throughput (T/s/GPU)"), rate_of_one("tokens/s")
    (_OfOne(metric='throughput', unit='tokens/sec', part='gpu'), _OfOne(metric='throughput', unit=None, part='gpu'), None)
    """
    inside = BRACKETS.search(name[:LONGEST])
    for text in (bare_name(name), _SLASH.sub("_per_", folded(inside[1] or "")) if inside else ""):
        if found := _OF_ONE.fullmatch(text):
            rate = f"{found[1]}{found[3] or ''}"
            measure = measure_of(rate.replace("_per_", "/"))
            if measure or is_rate(rate.split("_")) or is_rate(bare_name(name).split("_")):
                return _OfOne(measure.metric if measure else "throughput", measure.unit if measure else None, found[2])
    return None


def layout_column(name: str) -> str | None:
    """The column of the layout, or of what is counted over all nodes, whose count a heading, or a parameter of this name, gives; ``None``:
    it gives none.

    >>> layout_column("num_nodes"), layout_column("num_tasks"), layout_column("n_gpu"), layout_column("size")
    ('nodes', 'total_ranks', 'total_gpus', None)
    """
    return _counted(bare_name(name)) or _counted(bare_name(_CAMEL.sub("_", name[:LONGEST])))


def _counted(bare: str) -> str | None:
    plain = in_ascii(bare).replace("-", "_")
    found = _NUMBER_OF.fullmatch(plain)
    what = found["what"] if found else plain
    singular = [] if found and found["one"] else [what]  # a batch_count is no batch
    plural = [f"{what}s"] if found and (found["number"] or found["one"]) else []  # n_proc, core_count; an mpi_rank is one of them
    for word in (plain, *singular, *plural):
        if word in vocabulary.TOTALS:
            return "total_ranks"
        if word in vocabulary.GPU_TOTALS:
            return "total_gpus"
        column = vocabulary.COLUMN_OF.get(word)
        if column in LAYOUT:
            if "total_" not in plain or column == "nodes":
                return column
            return None if column == "batch_size" else "total_ranks"  # a batch is no count of ranks
    return None


def is_scatter(words: Sequence[str]) -> bool:
    """Whether the first or the last of several words is of scatter (``rate_std``), or the last says from how many values it is."""
    counted = words[-1] == "cnt" and "".join(words[:-1]) in vocabulary.METRIC_OF
    return counted or (len(words) > 1 and not vocabulary.SURE_SPREAD.isdisjoint((words[0], words[-1])))


def is_rate(words: Sequence[str]) -> bool:
    """Whether words are of a rate."""
    return not vocabulary.RATES.isdisjoint(words) or (len(words) > 2 and words[-2] == "per" and words[-1] in vocabulary.SECONDS)


def is_time(words: Sequence[str]) -> bool:
    """Whether words are of a time; node-hours and GPU seconds are times of a part of the machine, and added up."""
    of_parts = any(part in vocabulary.PARTS_OF_MACHINE and unit in vocabulary.TIMES for part, unit in pairwise(words))
    of_parts = of_parts or any(per == "per" and part not in vocabulary.PART_OF for per, part in pairwise(words))
    named = not {*vocabulary.TIME_WORDS, *vocabulary.TIME_ENDINGS}.isdisjoint(words) or any(word.endswith("time") for word in words)
    return not of_parts and named


def unit_in(name: str) -> str | None:
    """What a heading gives as the unit of its numbers, in whatever language; ``None``: nothing.

    >>> unit_in("Laufzeit (Minuten)"), unit_in("Dauer in Stunden"), unit_in("time_ms"), unit_in("Laufzeit")
    ('Minuten', 'Stunden', 'ms', None)
    """
    bracket, found = BRACKETS.search(name[:LONGEST]), measure_of(name)
    if bracket and bracket[1]:
        return _spelt(bracket[1])
    if bracket or found:
        return found.unit if found else None
    words = re.split(r"[_ ]+", name.strip()[:LONGEST])
    if len(words) < 2:
        return None
    return words[-1] if words[-1].lower() in vocabulary.TIME_ENDINGS or words[-2].lower() == "in" else None


def no_measurement(name: str) -> str:
    """Why the numbers below a heading are not what a run was measured at: they are a ratio, or of one part of the machine; else empty.

    >>> no_measurement("Speedup"), no_measurement("tokens/s/GPU"), no_measurement("time [s]")
    ('a ratio', 'a rate of each gpu', '')
    """
    if is_ratio(bare_name(name)):
        return "a ratio"
    return f"a rate of each {found.part}" if (found := rate_of_one(name)) else ""


def measured(names: Sequence[str]) -> list[str]:
    """The headings that are metrics from which something is predicted."""
    return [name for name in names if not is_ratio(bare_name(name)) and not rate_of_one(name) and measure_of(name)]


def bare_name(name: str) -> str:
    """A heading without its unit in brackets."""
    return _without_unit(name.strip()[:LONGEST])


def _in_order(name: str) -> str:
    """A heading with its unit at the end.

    >>> _in_order("Time [s] per epoch")
    'Time per epoch [s]'
    """
    return _PER_BEHIND.sub(lambda found: f"{found[1].strip()} per {found[3]} {found[2]}", name)


def _spelt(unit: str) -> str:
    """A unit in the case that it is known in, if it is known in another: ``S`` in a heading is ``s``."""
    return unit if known_unit(unit) else vocabulary.UNIT_OF.get(unit.lower(), unit)


@lru_cache(2 * MOST_COLUMNS)  # each heading is looked at once for every other one
def _without_unit(name: str) -> str:
    return _SLASH.sub("_per_", folded(BRACKETS.sub("", _in_order(name)).strip("#%- ")))


def in_ascii(bare: str) -> str:
    """A heading in the letters that the name of a parameter may have; other alphabets stay as they are.

    >>> in_ascii("bildgröße"), in_ascii("età")
    ('bildgroesse', 'eta')
    """
    spelt = unicodedata.normalize("NFKD", unicodedata.normalize("NFC", bare).translate(_LETTERS))
    return "".join(letter for letter in spelt if not unicodedata.combining(letter))


OF_RUNS: Final = [
    name for name, metric in metrics.METRICS.items() if metric.kind == "time" and name.removesuffix("_time") not in metrics.UNITS_OF_WORK
]
"""Metrics of the time of a whole run."""


class Measure(NamedTuple):
    """The metric that a heading names, and the unit that it gives, if any."""

    metric: str
    unit: str | None


def measure_of(name: str) -> Measure | None:
    """What a heading measures: ``wall_time [s]``, ``time_ms``, ``images_per_sec``."""
    return _measure_in(name.strip()[:LONGEST])


@lru_cache(2 * MOST_COLUMNS)  # each heading is looked at once for every other one
def _measure_in(name: str) -> Measure | None:
    """As :func:`measure_of`, of a heading that is not too long to be searched."""
    name = _IN.sub(r" [\1]", _in_order(name))
    bracket = BRACKETS.search(name)
    bare = BRACKETS.sub("", name).strip("# ")
    words = re.split(r"[_ ]+", bare.lower())
    if is_scatter(words) or (bracket and words[-1] in ("min", "max") and is_time(words[:-1])):  # the largest rate is often the result
        return None
    if len(words) > 1 and words[-1] in vocabulary.MIDDLES:
        bare = bare[: -len(words[-1])].rstrip("_ ")
    if metric := _metric(in_ascii(bare.lower()).replace("/", "per")):  # a time/step is no timestep
        return Measure(metric, _spelt(bracket[1]) if bracket and bracket[1] else None)
    if bare.lower() in vocabulary.TIMES:
        return Measure("time", bare.lower())
    in_brackets = _rate_in(bracket[1]) if bracket and bracket[1] else None
    return in_brackets or _metric_and_unit(bare) or _unit_of_rate(bare) or _unit_of_rate(_SLASH.sub("/", bare))


def _metric(words: str) -> str | None:
    """The metric that words name: ``Training time per epoch`` is the time of an epoch; ``None``: they name none."""
    plain = metrics.unseparated(words)
    time, per, part = plain.rpartition("per")
    if per and part in vocabulary.PART_OF and vocabulary.METRIC_OF.get(time) in OF_RUNS:
        return f"{vocabulary.PART_OF[part]}_time"
    return vocabulary.METRIC_OF.get(plain)


def _rate_in(unit: str) -> Measure | None:
    """The metric of a rate in this unit; ``None``: it is no rate."""
    known = known_unit(unit)
    if not known or known.kind != "throughput":
        return None
    return Measure({"FLOP/s": "performance", "B/s": "bandwidth"}.get(known.base, "throughput"), unit)


def _metric_and_unit(bare: str) -> Measure | None:
    """A metric and, as the last word, one of its units: ``time_ms``."""
    *_, last = re.split(r"[_ ]", bare)
    metric = _metric(bare.removesuffix(last))
    if not metric:
        return None
    units = (last, vocabulary.UNIT_OF.get(last.lower(), last))
    return next((Measure(metric, unit) for unit in units if metrics.known_metric(metric, unit)), None)


def _unit_of_rate(bare: str) -> Measure | None:
    """A heading that is a unit, or ends with one: ``images_per_sec``, ``train_samples_per_second``, ``tok_s``, ``s/epoch``."""
    words = re.split(r"[_ ]", bare)
    ends = ["_".join(words[first:]).replace("_per_", "/") for first in range(len(words))]
    if len(words) > 1 and words[-1] in ("s", "sec") and _COUNTED.fullmatch(words[-2]):
        ends.append(f"{vocabulary.UNIT_OF.get(words[-2].lower(), words[-2])}/s")
    for end in ends:
        unit = end if len(end) < 4 else vocabulary.UNIT_OF.get(end.lower(), end)
        known = known_unit(unit)
        if not known and end[:1] in "kmgt" and "/" in end[2:]:  # a heading in lower case: mcells_per_s
            unit = end if end[0] == "k" else f"{end[0].upper()}{end[1:]}"
            known = known_unit(unit)
        if rate := _rate_in(unit):
            return rate
        if known and known.kind == "time" and known.per in metrics.UNITS_OF_WORK:
            return Measure(f"{known.per}_time", unit)
    return None
