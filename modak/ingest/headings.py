"""What an unknown heading of a table probably means: one hint each, or none, because a wrong one misleads.

What other tables call the columns and the metrics is in :mod:`modak.ingest.vocabulary`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from itertools import pairwise
from shlex import quote
from typing import Final, NamedTuple

from modak.ingest import vocabulary
from modak.ingest.table import LAYOUT, MOST_COLUMNS
from modak.ingest.totals import TOTALS
from modak.ingest.values import quoted
from modak.results import metrics
from modak.results.units import known_unit, per_part_rate
from modak.text.amounts import join_names

ALIKE: Final = 0.75
"""How similar a heading and a column have to be spelt: ``velue`` and ``value`` are by 0.8."""
_MOST: Final = 8
"""Headings that a message names."""
_LONGEST: Final = 60
"""Letters of a heading that are looked at: no column or metric has a longer name, and searching a long one takes too much time."""
_OF_ONE: Final = re.compile(r"(.*)_per_(gpu|device|core|node|rank|worker|chip|socket|thread|process)(_per_.*)?")
"""A rate of a part of the machine, also ``tokens/GPU/s``."""
_COUNTED: Final = re.compile(r"[a-z]+s|tok|img|[kmgt]?b|[kmgt]?flop", re.IGNORECASE)
"""What a rate per second counts in a heading without its slash: ``tok_s`` is a rate, ``epoch_s`` a time."""
_BRACKETS: Final = re.compile(r"\s*[\[(]\s*(?:(?!(?:d+[- ])?[a-z]+:)([A-Za-z0-9/%]{1,20}))?.*", re.IGNORECASE)
"""With the unit in them, which the parts of a clock (``[hh:mm:ss]``) are not."""
_PER_BEHIND: Final = re.compile(r"([^\[(]*)([\[(][^\])]*[\])])[ _]*(?:per[ _]|/)[ _]*([a-z]{1,20})", re.IGNORECASE)
"""What a time or a rate is of, behind its unit: ``Time [s] per epoch``."""
_IN: Final = re.compile(r"[ _]in[ _]([A-Za-z/%]{1,20})$", re.IGNORECASE)
"""A unit behind its word: ``Laufzeit in s``."""
_BLANK: Final = re.compile(r"\s")
_SLASH: Final = re.compile("[ _]?/[ _]?")
_UNNAMED: Final = re.compile(r"unnamed:?_?[0-9]+(_level_[0-9]+)?")
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
OPEN: Final = "if it is a parameter of the run"
"""In the hint for a heading that may be anything: a parameter, or a column in another language."""
_PARAMETER: Final = re.compile(r"[a-z0-9_][a-z0-9_.+-]{0,63}")


def folded(name: str) -> str:
    """A heading in lower case, with underscores for blanks of any kind; the beginning of a long one."""
    return _BLANK.sub("_", name.strip()[:_LONGEST].strip().lower())


def renaming(name: str, column: str) -> str:
    """The option that calls a heading otherwise, as a shell takes it; of a long heading the beginning, which is enough.

    >>> print(renaming("Größe", "params.groesse"), renaming("node's RAM", ""))
    --map 'Größe=params.groesse' --map 'node'"'"'s RAM='
    """
    shown = name if name.isprintable() else _BLANK.sub(" ", name)
    if not shown.isprintable():
        return f"--map {quoted(f'{name}={column}')}"  # nobody can type it
    pair = quote(f"{shown if len(shown) <= _LONGEST else shown.strip()[:_LONGEST].strip()}={column}")
    return "--map " + (pair if pair.startswith("'") else f"'{pair}'")


def sizes(unknown: Sequence[str], *, some_known: bool, rising: bool = True) -> list[str]:
    """The unknown headings that are sizes, side by side: a wide table has a column for each number of nodes. Numbers may also be the cells
    of a table without a header: two of them are headings only beside ``some_known`` ones. ``rising``: only in this order; else in any, each
    once. Headings with different units are none: their values are not of one column."""
    places = [place for place, name in enumerate(unknown) if _SIZE.fullmatch(_BRACKETS.sub("", _sized(name)[0]).strip())]
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
    found = _AROUND.fullmatch(name[:_LONGEST])
    if not found or not _SIZE.fullmatch(found[2].strip()) or _is_ratio(_bare(name)):
        return name[:_LONGEST], ""
    before, inside, behind = found[1], found[2].strip(), found[3]
    if inside.isdigit() and _SIZE.fullmatch(whole := f"{before.strip()} {inside}"):
        return f"{whole}{behind}", ""
    return f"{inside}{behind}", before


def counted_by(names: Sequence[str]) -> tuple[str, ...]:
    """The columns that may hold what headings that are sizes count, the likeliest first; empty: they do not tell.

    >>> counted_by(["1 node", "2 nodes"]), counted_by(["omp-1", "omp-8"]), counted_by(["1xV100", "8xV100"]), counted_by(["t1", "t2"])
    (('nodes',), ('threads_per_rank',), ('total_gpus', 'gpus_per_node'), ())
    """
    words = {word.lower().removesuffix("s") for name in names for word in re.findall("[A-Za-z]+", _BRACKETS.sub("", _sized(name)[0]))}
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
    return {found[1] if (found := _BRACKETS.search(_sized(name)[0])) else None for name in names}


def wide(names: Sequence[str], columns: Collection[str], *, loading: bool) -> str:
    """The message for headings that are sizes; ``columns``: all of the table."""
    shown = join_names([quoted(name) for name in names], _MOST)
    how = "a row is one measured value: write a row for each, with its size in 'nodes', or in the column of what it counts (pandas: melt)"
    if loading:
        counts = counted_by(names) or _counts(names, columns)
        kinds = f", or {' or '.join(counts[1:])} if they count so" if len(counts) != 1 else ""
        unit = "" if unit_of(names) else " --set unit=…"
        fill = "" if "metric" in columns else f" --set metric=…{unit}"
        how = f"'--wide {counts[0]}{fill}' makes each of their cells a row{kinds}"
    what = "runs" if "repeat" in counted_by(names) else "sizes"
    return f"columns {shown} are named after {what}; {how}"


class Hint(NamedTuple):
    """What an unknown heading probably is."""

    text: str
    """How to write or load it."""
    column: str | None = None
    """What to call it; empty: leave it out; ``None``: that cannot be told."""
    fill: tuple[str, ...] = ()
    """What else has to be set then, as ``COLUMN=VALUE``."""


def hint_for(name: str, columns: Collection[str], among: Sequence[str], *, loading: bool) -> Hint | None:
    """What an unknown heading probably is; ``None`` if that cannot be told. ``columns`` are the known ones, ``among`` the headings of the
    table; ``loading``: options can rename and fill columns. The first that has something to say counts."""
    bare, measure = _bare(name), _measured(name)
    no_value = loading and "value" not in among
    return (
        _ratio(bare)
        or _rate_of_one(name, among, no_value=no_value)
        or (_as_value(name, measure, among, no_value=no_value) if measure else None)
        or _grid(bare, among)
        or _total(name, loading=loading)
        or _said(bare)
        or _scatter(bare)
        or _column(name, bare, columns, among, loading=loading)
        or _parameter(name, bare, no_value=no_value)
    )


def combine_hints(hints: Mapping[str, Hint | None], known: Collection[str], missing: Sequence[str]) -> str:
    """The options of all hints, to start from; ``missing`` are required columns that the table lacks. What cannot be told is ``…``.

    Of several headings of one meaning the first has it, or the one that is ``known`` as it stands. Where none is known to be the value,
    what may be anything may be that.
    """
    options, taken = [], {*known}
    valueless = "value" in missing and all(hint is None or hint.column != "value" for hint in hints.values())
    for name, hint in hints.items():
        told = None if hint is None or (valueless and OPEN in hint.text) else hint.column
        column = "…" if told is None or told in taken else told
        options.append(renaming(name, column))
        if hint and column == hint.column != "":
            taken |= {column, *(one.partition("=")[0] for one in hint.fill)}
            options += [f"--set {one}" for one in hint.fill]
    options += ["--map '…=value'" if name == "value" else f"--set {name}=…" for name in missing if name not in taken]
    return " ".join(options)


# --- the hints, each for one kind of heading


def _ratio(bare: str) -> Hint | None:
    if not _is_ratio(bare):
        return None
    return Hint("nothing is predicted from it: leave it out, and load the times or rates that it was computed from", "")


@lru_cache(2 * MOST_COLUMNS)  # each heading is looked at once for every other one
def _is_ratio(bare: str) -> bool:
    words = _in_ascii(bare).split("_")
    ideal = words[0] in vocabulary.IDEAL and words[1:2] != [] and (words[1] == "scaling" or _is_time(words[1:2]))
    return ideal or bare in vocabulary.RATIOS or not vocabulary.RATIO_WORDS.isdisjoint(words)


def _rate_of_one(name: str, among: Sequence[str], *, no_value: bool) -> Hint | None:
    found = _of_one(name)
    if not found:
        return None
    metric, unit, part = found
    hint = "what each of them does is not what the run does: load that of all of them together"
    if not no_value or not metrics.METRICS[metric].is_rate or not per_part_rate(f"tokens/s/{part}"):
        return Hint(hint)
    fill = (f"metric={metric}", f"unit={unit}/{part}" if unit else f"unit=…/{part}")
    options = " ".join((renaming(name, "value"), *(f"--set {one}" for one in fill)))
    return Hint(f"{hint}, or {options}, which multiplies it by their number in each row", None if measured(among) else "value", fill)


class _OfOne(NamedTuple):
    """A rate of a part of the machine."""

    metric: str
    unit: str | None
    """Of all parts together; ``None``: the heading does not tell."""
    part: str


@lru_cache(2 * MOST_COLUMNS)  # each heading is looked at once for every other one
def _of_one(name: str) -> _OfOne | None:
    """What a heading says is done by each part of the machine; ``None``: it says nothing of the kind.

    >>> _of_one("Tokens / sec / GPU"), _of_one("Throughput (T/s/GPU)"), _of_one("tokens/s")
    (_OfOne(metric='throughput', unit='tokens/sec', part='gpu'), _OfOne(metric='throughput', unit=None, part='gpu'), None)
    """
    inside = _BRACKETS.search(name[:_LONGEST])
    for text in (_bare(name), _SLASH.sub("_per_", folded(inside[1] or "")) if inside else ""):
        if found := _OF_ONE.fullmatch(text):
            rate = f"{found[1]}{found[3] or ''}"
            measure = _measured(rate.replace("_per_", "/"))
            if measure or _is_rate(rate.split("_")) or _is_rate(_bare(name).split("_")):
                return _OfOne(measure.metric if measure else "throughput", measure.unit if measure else None, found[2])
    return None


def _grid(bare: str, among: Sequence[str]) -> Hint | None:
    """Of the sides of a grid of ranks, as HPL prints them."""
    sides = {"p", "q"}
    if bare not in sides or not sides <= {_bare(each) for each in among}:
        return None
    return Hint("the ranks are P x Q: write their product into 'total_ranks'")


def _total(name: str, *, loading: bool) -> Hint | None:
    column = layout_column(name)
    if column is None or column not in TOTALS:
        return None
    what, threads = ("ranks", ", threads of each rank 'threads_per_rank'") if column == "total_ranks" else ("GPUs", "")
    option = f" ({renaming(name, column)})" if loading else ""
    return Hint(f"{what} over all nodes are {column!r}{option}, on each node {TOTALS[column]!r}{threads}", column)


def layout_column(name: str) -> str | None:
    """The column of the layout, or of what is counted over all nodes, whose count a heading, or a parameter of this name, gives; ``None``:
    it gives none.

    >>> layout_column("num_nodes"), layout_column("num_tasks"), layout_column("n_gpu"), layout_column("size")
    ('nodes', 'total_ranks', 'total_gpus', None)
    """
    return _counted(_bare(name)) or _counted(_bare(_CAMEL.sub("_", name[:_LONGEST])))


def _counted(bare: str) -> str | None:
    plain = _in_ascii(bare).replace("-", "_")
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


def _said(bare: str) -> Hint | None:
    text = vocabulary.SAID.get(bare) or (vocabulary.ROW_NUMBERS if _UNNAMED.fullmatch(bare) else None)
    first, _, unit = bare.rpartition("_")
    if unit in vocabulary.TIME_ENDINGS and first in vocabulary.OF_CPU:
        text = vocabulary.CPU_TIME
    return Hint(text, "" if text in vocabulary.USELESS else None) if text else None


def _column(name: str, bare: str, columns: Collection[str], among: Sequence[str], *, loading: bool) -> Hint | None:
    other = bare.endswith("time") or bare in vocabulary.OTHER_WORDS  # a time is neither the runtime of containers nor a system
    spelt_alike = "" if other else _alike(bare, columns)
    near = vocabulary.COLUMN_OF.get(bare) or layout_column(name) or spelt_alike
    if not near:
        return None
    if near == "value" and near in among and near != spelt_alike:
        return Hint(vocabulary.COMPUTED, "")
    if near == "value" and near != spelt_alike and measured(among):
        return Hint(f"the nearest known one is {near!r}")  # a metric is that sooner than a result, which may be a checksum
    unit = unit_in(name) if near == "value" and loading else None
    fill = (f"unit={unit}",) if unit and known_unit(unit) else ()
    option = f" ({renaming(name, 'value')} --set {fill[0]})" if fill else ""
    return Hint(f"the nearest known one is {near!r}{option}", near, fill)


def _scatter(bare: str) -> Hint | None:
    words = bare.split("_")
    of_time = _is_time(words) and not vocabulary.SPREAD.isdisjoint(words)
    return Hint(vocabulary.SCATTER, "") if of_time or _is_scatter(words) else None


def _is_scatter(words: Sequence[str]) -> bool:
    """Whether the first or the last of several words is of scatter (``rate_std``), or the last says from how many values it is."""
    counted = words[-1] == "cnt" and "".join(words[:-1]) in vocabulary.METRIC_OF
    return counted or (len(words) > 1 and not vocabulary.SURE_SPREAD.isdisjoint((words[0], words[-1])))


def parameter(name: str) -> str:
    """The column of a parameter that a heading names.

    >>> parameter("Grid size [cells]"), parameter("params.Größe")
    ('params.grid_size', 'params.groesse')
    """
    return f"params.{_called(_in_ascii(_bare(name)))}"


def _called(heading: str) -> str:
    """A heading without what says that it is a parameter, also in others' tables."""
    return re.sub(r"^params[_.]", "", heading)


def _parameter(name: str, bare: str, *, no_value: bool) -> Hint | None:
    """Of a heading that may be anything. What looks like a time may be the value, where the table has none; ``params_lr``, of others'
    tables, is a parameter ``lr``, and ``params_nodes`` the number of nodes."""
    called = _in_ascii(bare)
    plain = _called(called)
    words = called.split("_")
    if not _PARAMETER.fullmatch(plain) or plain.startswith("params"):
        return None
    if plain in LAYOUT:
        return Hint(f"the nearest known one is {plain!r}", plain)
    value = ""
    if no_value and _is_rate(words):
        value = f"if it is a rate, {renaming(name, 'value')} --set metric=throughput --set unit=…; "
    elif no_value and (_is_time(words) or _in_time(name)):
        value = _time_of(name, words)
    return Hint(f"{value}{OPEN}, call it 'params.{plain}'", None if value else f"params.{plain}")


def _is_rate(words: Sequence[str]) -> bool:
    return not vocabulary.RATES.isdisjoint(words) or (len(words) > 2 and words[-2] == "per" and words[-1] in vocabulary.SECONDS)


def _is_time(words: Sequence[str]) -> bool:
    """Whether words are of a time; node-hours and GPU seconds are times of a part of the machine, and added up."""
    of_parts = any(part in vocabulary.PARTS_OF_MACHINE and unit in vocabulary.TIMES for part, unit in pairwise(words))
    of_parts = of_parts or any(per == "per" and part not in vocabulary.PART_OF for per, part in pairwise(words))
    named = not {*vocabulary.TIME_WORDS, *vocabulary.TIME_ENDINGS}.isdisjoint(words) or any(word.endswith("time") for word in words)
    return not of_parts and named


def _in_time(name: str) -> bool:
    """Whether the unit in a heading's brackets is one of time: ``total(s)``."""
    unit = unit_in(name) if _BRACKETS.search(name[:_LONGEST]) else None
    known = known_unit(unit) if unit else None
    return known is not None and known.base == "s"


def _time_of(name: str, words: Sequence[str]) -> str:
    """How to load a heading that may be a time: of a part of the run where its ``words`` name one, else of the whole run."""
    part = next((vocabulary.PART_OF[word] for word in words if word in vocabulary.PART_OF), None)
    metric, of = (f"{part}_time", f"each {part}") if part else ("time", "the whole run")
    told = unit_in(name)
    unit = words[-1] if words[-1] in vocabulary.TIME_ENDINGS else told if told and known_unit(told) else "…"
    return f"if it is the time of {of}, {renaming(name, 'value')} --set metric={metric} --set unit={unit}; "


def _as_value(name: str, measure: Measure, among: Sequence[str], *, no_value: bool) -> Hint:
    """The hint for a heading that is a metric, with its unit if it has one; ``no_value``: an option can make it the value."""
    metric, unit = measure
    hint = f"{metric} is a metric: name it in the column 'metric', its number goes into 'value'"
    if not no_value:
        return Hint(hint, "")
    several = measured(among)
    left_out = [*(each for each in several if each != name), *(each for each in among if _is_ratio(_bare(each)))]
    fill = (f"metric={metric}", *([f"unit={unit if known_unit(unit) else '…'}"] if unit else []))
    options = [renaming(name, "value"), *(f"--set {each}" for each in fill), *(renaming(each, "") for each in left_out[:_MOST])]
    if len(left_out) > _MOST:
        options.append("…")
    ways = "; ".join([" ".join(options), *_beside_value(name, measure, several)])
    return Hint(f"{hint} ({ways})", "value" if _likeliest(several) == name else "", fill)


def _beside_value(name: str, measure: Measure, several: Sequence[str]) -> Iterator[str]:
    """What else to know where a heading becomes the value; ``several``: the headings that are metrics, and this one."""
    metric, unit = measure
    base = metrics.METRICS[metric].unit
    if not unit and base not in ("s", "1"):
        yield f"in {base}, unless --set unit=… says another unit"
    if any(each != name for each in several):
        yield "load the file once for each such column"
    if unit == "min" and not _BRACKETS.search(name):
        yield "if it is a minimum and not in minutes, leave it out"


def _likeliest(found: Sequence[str]) -> str:
    """Of headings that are metrics the first; one that only says time may be a simulated one, or a clock's, beside the time of a run."""
    times = [each for each in found if _bare(each) != "time" and (told := _measured(each)) and told.metric in _OF_RUNS]
    return times[0] if times and _bare(found[0]) == "time" else found[0]


def _alike(bare: str, columns: Collection[str]) -> str | None:
    """The column that is spelt nearly so."""
    compact = {column.replace("_", ""): column for column in columns}
    found = get_close_matches(metrics.unseparated(bare), compact, n=1, cutoff=ALIKE)
    return compact[found[0]] if found else None


# --- what else a heading tells


def unit_in(name: str) -> str | None:
    """What a heading gives as the unit of its numbers, in whatever language; ``None``: nothing.

    >>> unit_in("Laufzeit (Minuten)"), unit_in("Dauer in Stunden"), unit_in("time_ms"), unit_in("Laufzeit")
    ('Minuten', 'Stunden', 'ms', None)
    """
    bracket, found = _BRACKETS.search(name[:_LONGEST]), _measured(name)
    if bracket and bracket[1]:
        return _spelt(bracket[1])
    if bracket or found:
        return found.unit if found else None
    words = re.split(r"[_ ]+", name.strip()[:_LONGEST])
    if len(words) < 2:
        return None
    return words[-1] if words[-1].lower() in vocabulary.TIME_ENDINGS or words[-2].lower() == "in" else None


def no_measurement(name: str) -> str:
    """Why the numbers below a heading are not what a run was measured at: they are a ratio, or of one part of the machine; else empty.

    >>> no_measurement("Speedup"), no_measurement("tokens/s/GPU"), no_measurement("time [s]")
    ('a ratio', 'a rate of each gpu', '')
    """
    if _is_ratio(_bare(name)):
        return "a ratio"
    return f"a rate of each {found.part}" if (found := _of_one(name)) else ""


def measured(names: Sequence[str]) -> list[str]:
    """The headings that are metrics from which something is predicted."""
    return [name for name in names if not _is_ratio(_bare(name)) and not _of_one(name) and _measured(name)]


def _bare(name: str) -> str:
    """A heading without its unit in brackets."""
    return _without_unit(name.strip()[:_LONGEST])


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
    return _SLASH.sub("_per_", folded(_BRACKETS.sub("", _in_order(name)).strip("#%- ")))


def _in_ascii(bare: str) -> str:
    """A heading in the letters that the name of a parameter may have; other alphabets stay as they are.

    >>> _in_ascii("bildgröße"), _in_ascii("età")
    ('bildgroesse', 'eta')
    """
    spelt = unicodedata.normalize("NFKD", unicodedata.normalize("NFC", bare).translate(_LETTERS))
    return "".join(letter for letter in spelt if not unicodedata.combining(letter))


# --- which metric a heading is


_OF_RUNS: Final = [
    name for name, metric in metrics.METRICS.items() if metric.kind == "time" and name.removesuffix("_time") not in metrics.UNITS_OF_WORK
]
"""Metrics of the time of a whole run."""


class Measure(NamedTuple):
    """The metric that a heading names, and the unit that it gives, if any."""

    metric: str
    unit: str | None


def _measured(name: str) -> Measure | None:
    """What a heading measures: ``wall_time [s]``, ``time_ms``, ``images_per_sec``."""
    return _measure_in(name.strip()[:_LONGEST])


@lru_cache(2 * MOST_COLUMNS)  # each heading is looked at once for every other one
def _measure_in(name: str) -> Measure | None:
    """As :func:`_measured`, of a heading that is not too long to be searched."""
    name = _IN.sub(r" [\1]", _in_order(name))
    bracket = _BRACKETS.search(name)
    bare = _BRACKETS.sub("", name).strip("# ")
    words = re.split(r"[_ ]+", bare.lower())
    if _is_scatter(words) or (bracket and words[-1] in ("min", "max") and _is_time(words[:-1])):  # the largest rate is often the result
        return None
    if len(words) > 1 and words[-1] in vocabulary.MIDDLES:
        bare = bare[: -len(words[-1])].rstrip("_ ")
    if metric := _metric(_in_ascii(bare.lower()).replace("/", "per")):  # a time/step is no timestep
        return Measure(metric, _spelt(bracket[1]) if bracket and bracket[1] else None)
    if bare.lower() in vocabulary.TIMES:
        return Measure("time", bare.lower())
    in_brackets = _rate_in(bracket[1]) if bracket and bracket[1] else None
    return in_brackets or _metric_and_unit(bare) or _unit_of_rate(bare) or _unit_of_rate(_SLASH.sub("/", bare))


def _metric(words: str) -> str | None:
    """The metric that words name: ``Training time per epoch`` is the time of an epoch; ``None``: they name none."""
    plain = metrics.unseparated(words)
    time, per, part = plain.rpartition("per")
    if per and part in vocabulary.PART_OF and vocabulary.METRIC_OF.get(time) in _OF_RUNS:
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
