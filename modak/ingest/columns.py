"""The columns of the results table: their names, and what is wrong with the names in a file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
_BRACKETS: Final = re.compile(r"\s*[\[(]\s*([A-Za-z0-9/%]{1,20})?.*")
_METRICS: Final = {name.replace("_", ""): name for name in metrics.METRICS}
_OTHERWISE: Final[Mapping[str, str]] = {
    **dict.fromkeys(("app", "code", "program", "benchmark", "model"), "application"),
    **dict.fromkeys(("problem", "input", "case"), "dataset"),
    **dict.fromkeys(("cluster", "machine"), "system"),
    **dict.fromkeys(("nnodes", "num_nodes", "node_count"), "nodes"),
    **dict.fromkeys(("ppn", "tasks_per_node", "ntasks_per_node", "procs_per_node", "processes_per_node"), "ranks_per_node"),
    **dict.fromkeys(("threads", "omp_threads", "omp_num_threads", "cpus_per_task"), "threads_per_rank"),
    **dict.fromkeys(("date", "day", "timestamp"), "measured_at"),
    **dict.fromkeys(("comment", "remark", "note", "notes"), "source"),
}
"""What other tables call a column."""
_TOTALS: Final = ("ranks", "mpi_ranks", "tasks", "ntasks", "np", "procs", "nprocs", "processes", "cores", "ncores", "cpus")
"""Columns of other tables that count over all nodes; a similar name here means something else."""


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


def header_faults(columns: Sequence[str], required: Sequence[str], *, loading: bool) -> Iterator[tuple[str, str]]:
    """What is wrong with columns, as pairs of column and message: unknown ones, each with its nearest, and required ones that are missing.

    ``loading``: the columns are those of a file that is loaded, where options can rename and fill them.
    """
    strange = [name for name in columns if not is_known(name)]
    for name in strange:
        how = "; '--map OLD=NEW' renames a column, '--map OLD=' leaves it out" if loading and name == strange[-1] else ""
        yield name, f"unknown column {quoted(name)}{_meant(name, loading=loading)}{how}"
    missing = [name for name in required if name not in columns]
    if missing:
        filled = "".join(f"; '--set {name}=…' gives all rows one" for name in missing[:1] if loading and name != "value")
        one = ": a row is one measured value" if "value" in missing else ""
        yield missing[0], f"no column {', '.join(map(repr, missing))}{one}; the header (in JSON, a key of the records) must name it{filled}"


def _meant(name: str, *, loading: bool) -> str:
    """What an unknown column probably is, and how to write or load it; empty if that cannot be told."""
    bare = _folded(_BRACKETS.sub("", name).strip("#"))
    measured = _METRICS.get(bare.replace("_", ""))
    if measured:
        unit = _BRACKETS.search(name)
        options = f"--map {quoted(f'{name}=value')} --set metric={measured}{f' --set unit={unit[1]}' if unit and unit[1] else ''}"
        load = f" ({options})" if loading else ""
        return f"; {measured} is a metric: name it in the column 'metric', its number goes into 'value'{load}"
    if bare in _TOTALS:
        return "; if it counts over all nodes, divide it by them: the columns are 'ranks_per_node' and 'threads_per_rank'"
    near = _OTHERWISE.get(bare) or nearest(bare, (*COLUMNS, "params.NAME"))
    return f"; the nearest known one is {near!r}" if near else ""
