"""The columns of the results table: their names, and what is wrong with the names in a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from modak.facts import SeriesKey
from modak.ingest import headings, hints
from modak.ingest.totals import TOTALS
from modak.ingest.values import NUMERIC, cell, quoted
from modak.results.filters import PARAMETERS
from modak.text.amounts import join_names

COLUMNS: Final[Mapping[str, str]] = {
    "application": "what ran",
    "dataset": "the data set, or problem",
    "framework": "tensorflow",
    "framework_version": "as text: 2.1",
    "compiler": "graph compilers or compiler switches: xla",
    "image": "the image's reference",
    "precision": "of numbers: fp32",
    "system": "name of the system",
    "partition": "its partition",
    "nodes": "nodes",
    "ranks_per_node": "ranks on each node",
    "threads_per_rank": "threads of each rank",
    "gpus_per_node": "GPUs used on each node",
    "batch_size": "samples of a worker (a rank, or a GPU where there are GPUs) in a step",
    "mpi": "MPI library and version: intel-mpi 2019",
    "mpi_from": "whose MPI",
    "hyperthreads": "whether a core's second thread was used",
    "numa_mode": "NUMA domains of a node",
    "runtime": "container runtime; none: no container",
    "metric": "what was measured: epoch_time, throughput, wall_time",
    "value": "in `unit`, or in the metric's own unit",
    "unit": "of `value`; not given: the metric's own",
    "repeat": "number of the repetition",
    "measured_at": "a date (from 00:00 UTC), or ISO 8601 with an offset",
    "source": "citation or file",
    "suspect": "why no model rests on it",
}
"""All columns in the order in which they are written, with their meaning; ``params.NAME`` stand after ``dataset``."""
REQUIRED: Final = ("application", "metric", "value")
"""Columns that a table has to have."""
MARKS: Final = ("doubt", "by_hand")
"""What rows have beside the columns, and no file: why no model uses a row, and whether somebody said so or confirmed it."""
AGAIN: Final = "load the file again with '--replace' and"
"""How rows are corrected that options can tell of: those of the same bytes replace them."""
_EVERY: Final = ", --map '*=' leaves out all that are not known"
_SHOWN: Final = 20
"""Columns that are named together."""
SERIES: Final = tuple(name for name in COLUMNS if name in SeriesKey.model_fields and name not in ("metric", "unit"))
"""Columns that tell series apart, beside parameters, metric and unit."""
MANY: Final = 3
"""Unknown columns from which on the options for all of them are shown together ..."""
MOST_TOGETHER: Final = 40
"""... and up to which."""


def header(parameters: Iterable[str]) -> tuple[str, ...]:
    """All columns in the order in which they are written, with those of these parameters, each as ``params.NAME``."""
    first = ("application", "dataset")
    return (*first, *sorted(parameters), *(name for name in COLUMNS if name not in first))


def is_known(name: str) -> bool:
    """Whether there is such a column, or may be such a parameter."""
    return name in COLUMNS or name in TOTALS or PARAMETERS.fullmatch(name) is not None


def canonical(name: str) -> str:
    """The column of that name, ignoring case and blanks, but for the name of a parameter; a name that is no column stays as it is.

    >>> canonical("Ranks per node"), canonical("Params. DT"), canonical("Params")
    ('ranks_per_node', 'params.DT', 'Params')
    """
    plain = headings.folded(name)
    first, dot, parameter = name.strip().partition(".")
    if plain in COLUMNS or plain in TOTALS:
        return plain
    return f"params.{parameter.strip()}" if dot and first.strip().lower() == "params" else name


def header_faults(columns: Sequence[str], required: Sequence[str], *, loading: bool) -> Iterator[tuple[str, str]]:
    """What is wrong with columns, as pairs of column and message: required ones that are missing, then unknown ones, each with its nearest.

    A caller may show only the first of them: what helps with all of them comes with the first that it helps with.
    ``loading``: the columns are those of a file that is loaded, where options can rename and fill them.
    """
    unknown = [name for name in columns if not is_known(name)]
    sizes = headings.sizes(unknown, some_known=len(unknown) < len(columns))
    strange = [name for name in unknown if name not in sizes]
    told = ("metric", "value") if loading and (sizes or headings.measured(strange)) else ()
    absent = [name for name in required if name not in columns]
    if missing := [name for name in absent if name not in told]:
        yield missing[0], _missing(missing, columns, loading=loading)
    if sizes:
        yield sizes[0], headings.wide(sizes, columns, loading=loading)
    meant = {name: hints.hint_for(name, COLUMNS, columns, loading=loading) for name in strange}
    if loading and not sizes and _help_together(strange):
        options = hints.combine_hints(meant, set(columns).difference(unknown), absent)
        yield strange[0], f"options to start from, if what is said below is right: {options}"
    yield from _unknown(meant, loading=loading)


def _help_together(strange: Sequence[str]) -> bool:
    """Whether options for all of these columns help: they are neither few nor very many, nor numbers, as a table without a header has."""
    return MANY <= len(strange) <= MOST_TOGETHER and not any(map(NUMERIC.fullmatch, strange))


def _unknown(meant: Mapping[str, hints.Hint | None], *, loading: bool) -> Iterator[tuple[str, str]]:
    """A message for each unknown column, with the text of its hint. ``loading``: those that may be anything share one, and the first
    message says how options rename columns."""
    said = {name: f"unknown column {quoted(name)}{f'; {hint.text}' if hint else ''}" for name, hint in meant.items()}
    anything = [name for name, hint in meant.items() if hint and hint.text.startswith(hints.OPEN)]
    if loading and len(anything) > 1:
        first, *others = anything
        shown = join_names([quoted(each) for each in anything], _SHOWN)
        called = hints.renaming(first, hints.parameter(first))
        said[first] = f"unknown columns {shown}; those that are parameters of the run are called 'params.NAME' ({called})"
        said = {name: text for name, text in said.items() if name not in others}
    names = f"; the columns are {', '.join(COLUMNS)}" if any(hint and hints.OPEN in hint.text for hint in meant.values()) else ""
    ways = f"{names}; '--map OLD=NEW' renames a column, '--map OLD=' leaves it out{_EVERY if len(meant) > 1 else ''}"
    for place, (name, text) in enumerate(said.items()):
        yield name, text if place or not loading else f"{text}{ways}"


def _missing(names: Sequence[str], columns: Sequence[str], *, loading: bool) -> str:
    """That columns are missing, and what gives the first of them. Values are missing only where a table is loaded."""
    why = ""
    if "value" in names:
        several = "of several columns of values load one after the other: --map NAME=value, with what sets it apart (--set compiler=NAME)"
        why = f": a row is one measured value; {several}"
        if "runtime" in columns:
            why += "; if 'runtime' holds times and no container runtimes, load it as them (--map runtime=value --set metric=run_time)"
    filled = f"; '--set {names[0]}=…' gives all rows one" if loading and names[0] != "value" else ""
    return f"no column {', '.join(map(repr, names))}{why}; the header (in JSON, a key of the records) must name it{filled}"


def series_label(key: SeriesKey) -> str:
    """A series in one line: its known columns, in their order, as in the results table.

    >>> series_label(SeriesKey(application="net", hyperthreads=True, metric="wall_time", unit="s"))
    'application net, hyperthreads true, metric wall_time, unit s'
    """
    known = key.model_dump(exclude_none=True, exclude={"params"})
    return ", ".join(f"{name} {cell(value)}" for name, value in (*known.items(), *sorted(key.params.items())))
