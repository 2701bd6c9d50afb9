"""What an unknown heading of a table probably means: one hint each, or none, because a wrong one misleads.

:mod:`modak.ingest.headings` says what a heading tells.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from shlex import quote
from typing import Final, NamedTuple

from modak.ingest import vocabulary
from modak.ingest.headings import (
    BLANK,
    BRACKETS,
    LONGEST,
    MOST_NAMED,
    OF_RUNS,
    Measure,
    bare_name,
    in_ascii,
    is_rate,
    is_ratio,
    is_scatter,
    is_time,
    layout_column,
    measure_of,
    measured,
    rate_of_one,
    unit_in,
)
from modak.ingest.table import LAYOUT
from modak.ingest.totals import TOTALS
from modak.ingest.values import quoted
from modak.results import metrics
from modak.results.units import known_unit, per_part_rate

ALIKE: Final = 0.75
"""How similar a heading and a column have to be spelt: ``velue`` and ``value`` are by 0.8."""
_UNNAMED: Final = re.compile(r"unnamed:?_?[0-9]+(_level_[0-9]+)?")
OPEN: Final = "if it is a parameter of the run"
"""In the hint for a heading that may be anything: a parameter, or a column in another language."""
_PARAMETER: Final = re.compile(r"[a-z0-9_][a-z0-9_.+-]{0,63}")


def renaming(name: str, column: str) -> str:
    """The option that calls a heading otherwise, as a shell takes it; of a long heading the beginning, which is enough.

    >>> print(renaming("Größe", "params.groesse"), renaming("node's RAM", ""))
    --map 'Größe=params.groesse' --map 'node'"'"'s RAM='
    """
    shown = name if name.isprintable() else BLANK.sub(" ", name)
    if not shown.isprintable():
        return f"--map {quoted(f'{name}={column}')}"  # nobody can type it
    pair = quote(f"{shown if len(shown) <= LONGEST else shown.strip()[:LONGEST].strip()}={column}")
    return "--map " + (pair if pair.startswith("'") else f"'{pair}'")


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
    bare, measure = bare_name(name), measure_of(name)
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


def _ratio(bare: str) -> Hint | None:
    if not is_ratio(bare):
        return None
    return Hint("nothing is predicted from it: leave it out, and load the times or rates that it was computed from", "")


def _rate_of_one(name: str, among: Sequence[str], *, no_value: bool) -> Hint | None:
    found = rate_of_one(name)
    if not found:
        return None
    metric, unit, part = found
    hint = "what each of them does is not what the run does: load that of all of them together"
    if not no_value or not metrics.METRICS[metric].is_rate or not per_part_rate(f"tokens/s/{part}"):
        return Hint(hint)
    fill = (f"metric={metric}", f"unit={unit}/{part}" if unit else f"unit=…/{part}")
    options = " ".join((renaming(name, "value"), *(f"--set {one}" for one in fill)))
    return Hint(f"{hint}, or {options}, which multiplies it by their number in each row", None if measured(among) else "value", fill)


def _grid(bare: str, among: Sequence[str]) -> Hint | None:
    """Of the sides of a grid of ranks, as HPL prints them."""
    sides = {"p", "q"}
    if bare not in sides or not sides <= {bare_name(each) for each in among}:
        return None
    return Hint("the ranks are P x Q: write their product into 'total_ranks'")


def _total(name: str, *, loading: bool) -> Hint | None:
    column = layout_column(name)
    if column is None or column not in TOTALS:
        return None
    what, threads = ("ranks", ", threads of each rank 'threads_per_rank'") if column == "total_ranks" else ("GPUs", "")
    option = f" ({renaming(name, column)})" if loading else ""
    return Hint(f"{what} over all nodes are {column!r}{option}, on each node {TOTALS[column]!r}{threads}", column)


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
    of_time = is_time(words) and not vocabulary.SPREAD.isdisjoint(words)
    return Hint(vocabulary.SCATTER, "") if of_time or is_scatter(words) else None


def parameter(name: str) -> str:
    """The column of a parameter that a heading names.

    >>> parameter("Grid size [cells]"), parameter("params.Größe")
    ('params.grid_size', 'params.groesse')
    """
    return f"params.{_called(in_ascii(bare_name(name)))}"


def _called(heading: str) -> str:
    """A heading without what says that it is a parameter, also in others' tables."""
    return re.sub(r"^params[_.]", "", heading)


def _parameter(name: str, bare: str, *, no_value: bool) -> Hint | None:
    """Of a heading that may be anything. What looks like a time may be the value, where the table has none; ``params_lr``, of others'
    tables, is a parameter ``lr``, and ``params_nodes`` the number of nodes."""
    called = in_ascii(bare)
    plain = _called(called)
    words = called.split("_")
    if not _PARAMETER.fullmatch(plain) or plain.startswith("params"):
        return None
    if plain in LAYOUT:
        return Hint(f"the nearest known one is {plain!r}", plain)
    value = ""
    if no_value and is_rate(words):
        value = f"if it is a rate, {renaming(name, 'value')} --set metric=throughput --set unit=…; "
    elif no_value and (is_time(words) or _in_time(name)):
        value = _time_of(name, words)
    return Hint(f"{value}{OPEN}, call it 'params.{plain}'", None if value else f"params.{plain}")


def _in_time(name: str) -> bool:
    """Whether the unit in a heading's brackets is one of time: ``total(s)``."""
    unit = unit_in(name) if BRACKETS.search(name[:LONGEST]) else None
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
    left_out = [*(each for each in several if each != name), *(each for each in among if is_ratio(bare_name(each)))]
    fill = (f"metric={metric}", *([f"unit={unit if known_unit(unit) else '…'}"] if unit else []))
    options = [renaming(name, "value"), *(f"--set {each}" for each in fill), *(renaming(each, "") for each in left_out[:MOST_NAMED])]
    if len(left_out) > MOST_NAMED:
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
    if unit == "min" and not BRACKETS.search(name):
        yield "if it is a minimum and not in minutes, leave it out"


def _likeliest(found: Sequence[str]) -> str:
    """Of headings that are metrics the first; one that only says time may be a simulated one, or a clock's, beside the time of a run."""
    times = [each for each in found if bare_name(each) != "time" and (told := measure_of(each)) and told.metric in OF_RUNS]
    return times[0] if times and bare_name(found[0]) == "time" else found[0]


def _alike(bare: str, columns: Collection[str]) -> str | None:
    """The column that is spelt nearly so."""
    compact = {column.replace("_", ""): column for column in columns}
    found = get_close_matches(metrics.unseparated(bare), compact, n=1, cutoff=ALIKE)
    return compact[found[0]] if found else None
