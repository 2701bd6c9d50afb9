"""The columns of the results table: their names, and what is wrong with the names in a file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import Final

from modak.errors import nearest
from modak.facts import SeriesKey
from modak.ingest.values import quoted
from modak.results import metrics

COLUMNS: Final = (
    "application",
    "dataset",
    "framework",
    "framework_version",
    "compiler",
    "image",
    "precision",
    "system",
    "partition",
    "nodes",
    "ranks_per_node",
    "threads_per_rank",
    "gpus_per_node",
    "batch_size",
    "mpi",
    "mpi_from",
    "hyperthreads",
    "numa_mode",
    "runtime",
    "metric",
    "value",
    "unit",
    "repeat",
    "measured_at",
    "source",
    "suspect",
)
"""All columns in the order in which they are written; ``params.NAME`` stand after ``dataset``."""
PARAMETER: Final = re.compile(r"params\.[A-Za-z0-9_][A-Za-z0-9_.+-]{0,63}")
SERIES: Final = tuple(name for name in COLUMNS if name in SeriesKey.model_fields and name not in ("metric", "unit"))
"""Columns that tell series apart, beside parameters, metric and unit."""
_BEFORE_PARAMETERS: Final = COLUMNS.index("dataset") + 1
_BRACKETS: Final = re.compile(r"\s*[\[(].*")


def header(parameters: Iterable[str]) -> tuple[str, ...]:
    """All columns in the order in which they are written, with those of these parameters, each as ``params.NAME``."""
    return (*COLUMNS[:_BEFORE_PARAMETERS], *sorted(parameters), *COLUMNS[_BEFORE_PARAMETERS:])


def is_known(name: str) -> bool:
    """Whether there is such a column, or may be such a parameter."""
    return name in COLUMNS or PARAMETER.fullmatch(name) is not None


def canonical(name: str) -> str:
    """The column of that name, ignoring case and blanks; a name that is no column stays as it is.

    >>> canonical("Ranks per node"), canonical("params.DT")
    ('ranks_per_node', 'params.DT')
    """
    folded = _folded(name)
    return folded if folded in COLUMNS else name


def _folded(name: str) -> str:
    return name.strip().lower().replace(" ", "_")[:60]


def header_faults(columns: Sequence[str], required: Sequence[str], *, loading: bool) -> Iterator[str]:
    """What is wrong with the names of the columns: unknown ones, each with its nearest, and required ones that are missing.

    ``loading``: the columns are those of a file that is loaded, where options can rename and fill them.
    """
    strange = [name for name in columns if not is_known(name)]
    for name in strange:
        known, measured = (*COLUMNS, "params.NAME"), _folded(_BRACKETS.sub("", name))
        near = nearest(name, known) or get_close_matches(_folded(name), known, n=1, cutoff=0)[0]
        hint = (
            f"; {measured} is a metric: name it in the column 'metric', its number goes into 'value'" if measured in metrics.METRICS else ""
        )
        how = "; '--map OLD=NEW' renames a column, '--map OLD=' leaves it out" if loading and name == strange[-1] else ""
        yield f"unknown column {quoted(name)}; the nearest known one is {near!r}{hint}{how}"
    missing = [name for name in required if name not in columns]
    if missing:
        filled = "".join(f"; '--set {name}=…' gives all rows one" for name in missing[:1] if loading and name != "value")
        yield f"no column {', '.join(map(repr, missing))}; the header (in JSON, a key of the records) must name it{filled}"
